"""The gradients of eager tapes: one kernel per structure, however often, whatever the values."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day
from tests.programs import Program, programs
from tests.support.compare import assert_same, close
from tests.support.running import taped
from tracejit.eager import window_gradient
from tracejit.support.memo import Table
from tracejit.trace.recording import eager

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The kernels made from here on; none is known at first."""
    made: list[Any] = []
    make = window_gradient.make_kernel

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(make(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(window_gradient, "_compiled", Table())
    monkeypatch.setattr(window_gradient, "make_kernel", counted)
    return made


def gradient(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The gradients of f(*xs) by the Tensors xs of `args`; of one alone, not in a list."""
    _, found = taped(f, *args, **options)
    return found if len(found) > 1 else found[0]


# One kernel per structure


def test_one_kernel_for_thousands_of_steps(
    kernels: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    w = tj.Variable(ONE, name="w")
    expected = ONE.copy()
    for step in range(2000):
        with tj.GradientTape() as tape:
            y = np.sum((w * X - Y) ** 2)
        w.assign_sub(0.001 * tape.gradient(y, w))
        expected = expected - 0.001 * (2 * (expected * X - Y) * X)
        if step % 500 == 0:
            close(w, expected)
    close(w, expected)
    assert len(kernels) == 1
    assert len(list(tmp_path.rglob("*.py"))) == 1


def test_the_same_structure_on_other_lines_is_another_kernel(kernels: list[Any]) -> None:
    def short(x: Any) -> Any:
        return np.sin(x) * x

    def long(x: Any) -> Any:
        y = np.sin(x)
        return y * x

    for _ in range(2):
        for f in (short, long):
            close(gradient(f, X), np.cos(X) * X + np.sin(X))
    # The kernels cite the lines that they differentiate.
    first, second = (kernel.source for kernel in kernels)
    assert "return np.sin(x) * x" in first
    assert "y = np.sin(x)" in second


def test_the_same_lines_with_another_way_through_them(kernels: list[Any]) -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sin(x)
        return x

    for _ in range(2):
        for n in (1, 2, 3):
            found = gradient(lambda x, n=n: f(x, n), X)
            expected, x = ONE, X
            for _ in range(n):
                expected, x = expected * np.cos(x), np.sin(x)
            close(found, expected)
    assert len(kernels) == 3


def test_the_same_operations_on_other_operands(kernels: list[Any]) -> None:
    def f(which: int) -> Callable[..., Any]:
        return lambda x, y: np.sin(x if which else y) * (y if which < 2 else x)

    expected = {
        0: (None, np.cos(Y) * Y + np.sin(Y)),
        1: (np.cos(X) * Y, np.sin(X)),
        2: (np.cos(X) * X + np.sin(X), None),
    }
    for _ in range(2):
        for which, wanted in expected.items():
            for found, one in zip(gradient(f(which), X, Y), wanted, strict=True):
                assert (found is None) == (one is None)
                if one is not None:
                    close(found, one)
    assert len(kernels) == 3


def test_one_array_twice_is_not_two_arrays(kernels: list[Any]) -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y

    x, y = tj.constant(X), tj.constant(Y)
    for _ in range(2):
        with tj.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            square, product = f(x, x), f(x, y)
        close(tape.gradient(square, x), 2 * X)
        close(tape.gradient(product, x), Y)
    assert len(kernels) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda: (X.astype("f4"),),
        lambda: (np.array([X, Y]),),
        lambda: (np.array(0.5),),
        lambda: (np.float64(0.5),),
        lambda: (X + 1j,),
        lambda: (np.empty((0, 3)),),
    ],
    ids=["float32", "2-d", "0-d", "scalar", "complex", "empty"],
)
def test_another_type_is_another_kernel(kernels: list[Any], change: Callable[[], Any]) -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * x

    other = change()[0]
    for _ in range(2):
        close(gradient(f, X), np.cos(X) * X + np.sin(X))
        wanted = np.cos(other) * other + np.sin(other)
        close(gradient(f, other), np.conj(wanted) if np.iscomplexobj(other) else wanted)
    assert len(kernels) == 2


def test_sources_and_targets_in_any_order(kernels: list[Any]) -> None:
    x, y = tj.constant(X), tj.constant(Y)
    answers = {"x": X * 0 + Y + np.cos(X), "y": X, "x of p": Y, "x of s": np.cos(X)}
    for _ in range(2):
        with tj.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            product, sine = x * y, np.sin(x)
        for targets in ([product, sine], [sine, product]):
            for sources, names in (([x, y], "xy"), ([y, x], "yx"), ([y, y, x], "yyx")):
                for found, name in zip(tape.gradient(targets, sources), names, strict=True):
                    close(found, answers[name])
        close(tape.gradient(product, x), answers["x of p"])
        close(tape.gradient(sine, x), answers["x of s"])
        assert tape.gradient(sine, y) is None
        close(tape.gradient([product, product], y), 2 * X)
    # Two orders of targets by three of sources, x by either, and the product twice.
    assert len(kernels) == 9


def test_a_value_on_the_way_is_a_source() -> None:
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = np.sin(x)
        y = h**2 * x
    close(tape.gradient(y, h), 2 * np.sin(X) * X)
    found = tape.gradient(y, [x, h])
    close(found[0], 2 * np.sin(X) * np.cos(X) * X + np.sin(X) ** 2)
    close(found[1], 2 * np.sin(X) * X)
    close(tape.gradient([y, h], h), 2 * np.sin(X) * X + 1.0)


def test_values_used_after_the_question_do_not_change_it(kernels: list[Any]) -> None:
    """A persistent tape that goes on holds more each time: each length is a structure."""
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sin(x)
        for k in range(4):
            close(tape.gradient(y, x), np.cos(X))
            y = np.sin(x) * (k + 1.0) / (k + 1.0)


def test_unconnected_structures_need_no_kernel(kernels: list[Any]) -> None:
    x, y = tj.constant(X), tj.constant(Y)
    for _ in range(2):
        with tj.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = np.sin(x)
        assert tape.gradient(z, y) is None
        assert tape.gradient(np.floor(x), x) is None
    assert kernels == []
    assert all(known.kernel is None for known in window_gradient._compiled.values())


# Seeds


def test_seeds_are_arguments_of_the_kernel(kernels: list[Any]) -> None:
    def f(x: Any) -> Any:
        return np.sin(x)

    for _ in range(2):
        close(gradient(f, X), np.cos(X))
        for seed in (X, Y, np.zeros(3), [1.0, 2.0, 3.0]):
            close(gradient(f, X, output_gradients=seed), seed * np.cos(X))
    assert len(kernels) == 2


def test_some_targets_have_seeds_and_others_ones(kernels: list[Any]) -> None:
    x = tj.constant(X)
    for _ in range(2):
        for seeds in ([Y, None], [None, Y], [Y, Y], None):
            with tj.GradientTape() as tape:
                tape.watch(x)
                targets = [np.sin(x), x**2]
            a, b = (ONE if seed is None else seed for seed in seeds or [None, None])
            found = tape.gradient(targets, x, output_gradients=seeds)
            close(found, a * np.cos(X) + b * 2 * X)
    assert len(kernels) == 4


# Python numbers


def scaled(number: Any) -> Callable[[Any], Any]:
    """A program with a Python number, the same for all."""
    return lambda x: np.sin(x) * number


def test_a_number_is_constant_until_it_changes(kernels: list[Any]) -> None:
    for number in (0.5, 0.5, 0.25, 0.125, 0.5, -3.0):
        close(gradient(scaled(number), X), number * np.cos(X))
        assert len(kernels) == (1 if number == 0.5 and len(kernels) < 2 else 2)
    first, second = (kernel.source for kernel in kernels)
    assert "0.5" in first
    assert "0.5" not in second


def test_only_the_numbers_that_change_become_arguments(kernels: list[Any]) -> None:
    def f(a: float, b: float) -> Callable[[Any], Any]:
        return lambda x: np.sin(x * a) * b

    for a, b in ((7.0, 0.5), (7.0, 0.25), (7.0, 0.75), (9.0, 0.75), (11.0, 0.5)):
        close(gradient(f(a, b), X), a * b * np.cos(a * X))
    assert len(kernels) == 3
    assert "7.0" in kernels[1].source
    assert "7.0" not in kernels[2].source


@pytest.mark.parametrize(
    "numbers",
    [
        (0.0, -0.0, 0.0, -0.0),
        (-0.0, 0.0),
        (math.nan, 1.0, math.nan, math.inf, -math.inf),
        (1.0, math.nan, math.nan),
        (2, 3, 2, 0, -1),
        (1, 1.0, True, 1, False, 0, 0.0, -0.0),
        (True, 1, 2.0),
        (1e308, 1e-320),
        (2**40, -(2**62)),
    ],
    ids=repr,
)
def test_numbers_of_every_kind(numbers: tuple[Any, ...]) -> None:
    for number in numbers:
        with np.errstate(all="ignore"):
            found = gradient(scaled(number), X)
            assert_same(found.numpy(), number * np.cos(X))


def test_complex_numbers_that_change() -> None:
    for number in (1.0 + 2.0j, 1.0, -1j, 1j, 0j, 3):
        close(gradient(scaled(number), X), np.real(number) * np.cos(X))
        close(gradient(scaled(number), X + 1j), np.conj(number * np.cos(X + 1j)))


@pytest.mark.parametrize(
    "numbers", [(2, 3, 0, 1, -1), (0.5, 2.0, 0.0, -0.0, 1.0), (2, 2.0, True), (0, 2), (1, 0, 1)]
)
def test_exponents_that_change(numbers: tuple[Any, ...]) -> None:
    """What a rule does for one exponent (zero, one) is not done for the next."""
    x = np.array([1.5, -2.0, 0.25]) if all(n == int(n) for n in numbers) else np.abs(X)
    for n in numbers:
        with np.errstate(all="ignore"):
            found = gradient(lambda x, n=n: x**n, x)
        close(found, np.multiply(n, x ** (n - 1.0)))


def test_exponents_at_zero() -> None:
    for n in (2, 1, 3, 0, 2.0, 1.0, 0.0):
        found = gradient(lambda x, n=n: x**n, np.zeros(3))
        close(found, ONE if n == 1 else np.zeros(3))


def test_bases_that_change() -> None:
    for base in (2.0, 3.0, 1.0, 2, 3):
        found = gradient(lambda x, base=base: base**x, X)
        close(found, float(base) ** X * np.log(base))


def test_limits_that_change() -> None:
    """Numbers in the place where a derivative is decided."""
    for low, high in ((-1.0, 1.0), (-2.0, 0.5), (-2.5, 2.0), (0.75, 0.5)):
        found = gradient(lambda x, low=low, high=high: np.clip(x, low, high) * 2.0, X)
        inner = (low < X) & (high > X)
        edge = (low == X) | (high == X)
        np.testing.assert_array_equal(found.numpy()[~edge], 2.0 * inner[~edge])
    for k in (0, 1, 2, -1):
        close(gradient(lambda x, k=k: x[k] * x, X), X[k] + np.sum(X) * (np.arange(3) == k % 3))


def test_numbers_only_of_the_forward_run_do_not_matter(kernels: list[Any]) -> None:
    for number in (1.0, 2.0, 3.0, 4.0):
        close(gradient(lambda x, number=number: np.sin(x + number), X), np.cos(X + number))
    # The gradient takes the cosine of what the window holds.
    assert len(kernels) <= 2


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.array])
def test_numpy_numbers_are_arguments_at_once(kernels: list[Any], kind: Any) -> None:
    for number in (0, 1, 2, 3):
        factor = kind(number)
        found = gradient(lambda x, factor=factor: np.sin(x) * factor, X)
        close(found, number * np.cos(X))
    assert len(kernels) == 1


@settings(max_examples=by_day(20, 60))
@given(st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, 2.0, -3.0, 0.5])] * 3), max_size=6))
def test_any_sequence_of_numbers(sequence: list[tuple[float, float, float]]) -> None:
    """To the bit: whatever has become an argument, the operations are the same."""

    def f(x: Any, a: float, b: float, c: float) -> Any:
        return np.sin(x * a + b) * (x - c)

    for a, b, c in sequence:
        found = gradient(lambda x, a=a, b=b, c=c: f(x, a, b, c), X)
        wanted = (X - c) * np.cos(X * a + b) * a + np.sin(X * a + b)
        close(found, wanted)


# Markers


def test_stopped_and_passed_through_values_have_kernels(kernels: list[Any]) -> None:
    def stopped(x: Any) -> Any:
        return tj.stop_gradient(np.sin(x)) * x

    def passed(x: Any) -> Any:
        return tj.grad_pass_through(np.rint)(x * 2.0) * x

    for k in range(3):
        close(gradient(stopped, X + k), np.sin(X + k))
        close(gradient(passed, X + k), 2.0 * (X + k) + np.rint(2.0 * (X + k)))
    assert len(kernels) == 2
    assert window_gradient.BY_RULE not in window_gradient._compiled.values()


def test_stop_gradient_and_pass_through_are_not_taken_for_each_other(kernels: list[Any]) -> None:
    for mark, expected in ((tj.stop_gradient, X), (tj.grad_pass_through(lambda x: x), 2 * X)) * 2:
        close(gradient(lambda x, mark=mark: mark(x) * x, X), expected)
    assert len(kernels) == 2


def test_rules_of_the_users_are_run_each_time(kernels: list[Any]) -> None:
    seen = []

    def program(factor: float) -> Callable[[Any], Any]:
        @tj.custom_gradient
        def f(x: Any) -> Any:
            def rule(g: Any) -> Any:
                seen.append(factor)
                return g * factor

            return np.sin(x), rule

        return lambda x: f(x) * 2.0

    for factor in (3.0, 5.0, 7.0):
        close(gradient(program(factor), X), 2.0 * factor * ONE)
    assert seen == [3.0, 5.0, 7.0]
    assert kernels == []


def test_a_rule_that_is_not_on_the_way_leaves_the_kernel(kernels: list[Any]) -> None:
    @tj.custom_gradient
    def odd(x: Any) -> Any:
        def rule(g: Any) -> Any:
            raise AssertionError("nothing asks for it")

        return x * 2.0, rule

    x, y = tj.constant(X), tj.constant(Y)
    for _ in range(2):
        with tj.GradientTape() as tape:
            tape.watch([x, y])
            odd(x)
            z = odd(x) * np.sin(y)
        close(tape.gradient(z, y), 2 * X * np.cos(Y))
    assert len(kernels) == 1


def test_functions_and_recomputed_regions_on_the_way(kernels: list[Any]) -> None:
    f = tj.function(lambda x: np.sin(x))
    g = tj.recompute_grad(lambda x: np.exp(x))
    for k in range(3):
        found = gradient(lambda x: g(f(x)) * x, X + k)
        x = X + k
        close(found, np.exp(np.sin(x)) * (np.cos(x) * x + 1.0))
    # What is recomputed is a window of its own.
    assert len(kernels) == 1


def test_a_missing_rule_is_an_error_each_time(kernels: list[Any]) -> None:
    @tj.primitive
    def opaque(x: Any) -> Any:
        return x**2

    def f(x: Any, y: Any) -> Any:
        return opaque(x) * y

    for _ in range(2):
        with pytest.raises(LookupError, match="opaque"):
            gradient(f, X, Y)
    x, y = tj.constant(X), tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    close(tape.gradient(z, y), X**2)


def test_a_rule_registered_later_is_used() -> None:
    @tj.primitive
    def opaque(x: Any) -> Any:
        return x**2

    def f(x: Any) -> Any:
        return opaque(x)

    with pytest.raises(LookupError, match="opaque"):
        gradient(f, X)
    tj.register_gradient(opaque)(lambda op, dy: 2.0 * op.inputs[0] * dy)
    for k in range(2):
        close(gradient(f, X + k), 2.0 * (X + k))


# Nested tapes, Variables, threads


def test_an_outer_tape_records_and_the_last_gradient_is_compiled(kernels: list[Any]) -> None:
    x = tj.constant(X)
    for _ in range(3):
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = x**4
            first = inner.gradient(y, x)
        close(first, 4 * X**3)
        close(outer.gradient(first, x), 12 * X**2)
    assert len(kernels) == 1


def test_an_outer_tape_that_watches_nothing_of_it() -> None:
    x, other = tj.constant(X), tj.constant(Y)
    with tj.GradientTape() as outer:
        outer.watch(other)
        found = gradient(lambda x: x**2, X)
        z = other * found
    close(found, 2 * X)
    close(outer.gradient(z, other), 2 * X)
    assert x.shape == (3,)


def test_in_a_recording_nothing_is_compiled_by_itself(kernels: list[Any]) -> None:
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sin(x)
    f = tj.function(lambda z: tape.gradient(y, x) * z)
    close(f(Y), Y * np.cos(X))
    assert kernels == []


def test_reads_of_a_variable_are_summed(kernels: list[Any]) -> None:
    v = tj.Variable(X, name="v")
    for value in (X, Y):
        v.assign(value)
        with tj.GradientTape() as tape:
            first = v * 2.0
            v.assign(value + 1.0)
            second = v**2
            z = first * second
        close(tape.gradient(z, v), 2 * (value + 1) ** 2 + 2 * value * 2 * (value + 1))
    assert len(kernels) == 1


def test_an_array_changed_between_forward_run_and_gradient() -> None:
    a = Y.copy()
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * a
    a[:] = 99.0
    close(tape.gradient(y, x), Y * np.cos(X))


def test_results_are_read_only_and_share_no_memory() -> None:
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 1.0
        z = np.reshape(x, (3, 1))
    seed = np.array(Y)
    first, second = tape.gradient([y], [x], [seed])[0], tape.gradient([y], [x], [seed])[0]
    third = tape.gradient(z, x, seed.reshape(3, 1))
    arrays = [one._value.data for one in (first, second, third, x)]
    for number, one in enumerate(arrays):
        assert not np.may_share_memory(one, seed)
        assert not any(np.may_share_memory(one, other) for other in arrays[:number])


def test_the_table_of_kernels_does_not_grow_for_ever(
    kernels: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "LIMIT", 4)

    def f(x: Any) -> Any:
        return np.sin(x)

    for n in range(1, 8):
        close(gradient(f, np.ones(n)), np.cos(np.ones(n)))
    assert len(window_gradient._compiled) <= 4
    close(gradient(f, np.ones(1)), np.cos(np.ones(1)))


def test_the_kernel_speaks_the_users_names(kernels: list[Any]) -> None:
    w = tj.Variable(ONE, name="w")
    scale = tj.constant(Y)
    with tj.GradientTape() as tape:
        hidden = np.tanh(w * scale)
        loss = np.sum(hidden**2)
    gradient_of_w = tape.gradient(loss, w)
    close(gradient_of_w, 2 * np.tanh(Y) * (1 - np.tanh(Y) ** 2) * Y)
    source = kernels[0].source
    for word in ("hidden", "scale", "w_bar", "hidden = np.tanh(w * scale)"):
        assert word in source, word


# Random programs in four ways


def tensor(y: Any) -> Any:
    """A result that may depend on no Tensor, as one."""
    return y if isinstance(y, tj.Tensor) else tj.constant(y)


def eagerly(f: Callable[..., Any], args: list[Any], moving: tuple[int, ...]) -> Any:
    """f(*args) and its gradients by the `moving` args, by an eager tape around it."""
    args = [tj.constant(one) if k in moving else one for k, one in enumerate(args)]
    xs = [args[k] for k in moving]
    with tj.GradientTape() as tape:
        tape.watch(xs)
        y = tensor(f(*args))
    found = tape.gradient(y, xs, unconnected_gradients="zero")
    return [one.numpy() for one in (y, *found)]


def around(f: Callable[..., Any], args: list[Any], moving: tuple[int, ...]) -> Any:
    """The same by a tape around the compiled function."""
    return eagerly(tj.function(f, cache=False), args, moving)


def inside(f: Callable[..., Any], args: list[Any], moving: tuple[int, ...]) -> Any:
    """The same by a tape inside a compiled function."""

    @tj.function(cache=False)
    def both(*args: Any) -> Any:
        xs = [args[k] for k in moving]
        with tj.GradientTape() as tape:
            tape.watch(xs)
            y = tensor(f(*args))
        return [y, *tape.gradient(y, xs, unconnected_gradients="zero")]

    return both(*[np.asarray(one)[()] if k in moving else one for k, one in enumerate(args)])


def compiled(f: Callable[..., Any], args: list[Any], moving: tuple[int, ...]) -> Any:
    """The same by tj.value_and_grad."""
    y, found = tj.value_and_grad(tj.function(f, cache=False), moving)(*args)
    return [y, *found]


def check_same(found: list[Any], expected: list[Any], bound: float) -> None:
    """The same value and gradients; whether a 0-d one is an array is the arguments' affair."""
    pairs = [[np.asarray(one) for one in answer] for answer in (found, expected)]
    assert_same(*pairs, bound)


MANY = settings(max_examples=1_000, derandomize=False, print_blob=True)


@settings(max_examples=by_day(6, 24))
@given(programs())
def test_random_programs_have_one_gradient(program: Program) -> None:
    check_gradient(program)


@pytest.mark.nightly
@MANY
@given(programs())
def test_nightly_programs_have_one_gradient(program: Program) -> None:
    check_gradient(program)


def check_gradient(program: Program) -> None:
    """The same gradient in every way.

    To a few ulp: each way is one reverse pass over the same operations, but products and sums
    may go in another order.

    An eager tape is asked twice: its kernel is made the first time and used the second.
    """
    f, args, moving = program.loss, program.values, program.moving
    expected = compiled(f, args, moving)
    for way in (eagerly, eagerly, around, inside):
        check_same(way(f, args, moving), expected, 1e-13)


@settings(max_examples=by_day(2, 8))
@given(programs())
def test_random_programs_have_one_second_derivative(program: Program) -> None:
    check_second_derivative(program)


@pytest.mark.nightly
@MANY
@given(programs())
def test_nightly_programs_have_one_second_derivative(program: Program) -> None:
    check_second_derivative(program)


def check_second_derivative(program: Program) -> None:
    """The gradient of <gradient, c> for a constant c, in the same ways.

    Not to the bit: seen by a tape outside, the inner gradient's operations stand in another order
    among the others, and three cotangents or more are added in that order, to a few ulp of the
    largest.
    """
    number = program.moving[0]
    size = np.shape(program.values[number])
    c = np.linspace(-1.0, 1.0, math.prod(size)).reshape(size)

    def along(gradient: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: np.sum(gradient(*args) * c)

    def by_tape(f: Callable[..., Any]) -> Callable[..., Any]:
        def first(*args: Any) -> Any:
            with tj.GradientTape() as tape:
                tape.watch(args[number])
                y = tensor(f(*args))
            return tape.gradient(y, args[number], unconnected_gradients="zero")

        return first

    f, args, moving = program.loss, program.values, (number,)
    expected = compiled(along(tj.grad(f, number)), args, moving)
    for way, slope in (
        (eagerly, by_tape(f)),
        (eagerly, by_tape(tj.function(f, cache=False))),
        (eagerly, tj.grad(f, number)),
        (around, by_tape(f)),
        (inside, by_tape(f)),
    ):
        check_same(way(along(slope), args, moving), expected, 1e-12)


def test_a_tape_over_changing_shapes_and_numbers_keeps_little(
    kernels: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "LIMIT", 12)
    monkeypatch.setattr(eager, "_compiled", Table())
    for size in range(2, 22):
        x = tj.constant(np.arange(1.0, size))
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = tnp.sum(tnp.sin(x) * (0.1 * size))
        slope = tape.gradient(y, x)
        np.testing.assert_allclose(slope, np.cos(np.arange(1.0, size)) * (0.1 * size))
        assert len(window_gradient._compiled) <= 12 and len(eager._compiled) <= 12
    assert len(kernels) == 20
