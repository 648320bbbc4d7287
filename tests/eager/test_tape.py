"""Gradient tapes: what they record, what they answer, what they refuse."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import close
from tests.support.errors import refusal
from tests.support.graphs import ops_of
from tracejit.eager.targets import UnconnectedGradients, wants_zeros
from tracejit.support.errors import (
    LeakedTensorError,
    SeedError,
    TapeArgumentError,
    TapeError,
    TapeStateError,
    TracejitError,
    WatchError,
)
from tracejit.support.words import a
from tracejit.trace.recording.eager import EAGER

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])


class Pair(NamedTuple):
    x: Any
    y: Any


@dataclass
class Weights:
    w: Any
    b: Any


def taped(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A tape on which f(*args) was computed from watched Tensors, these, and the result."""
    xs = [tj.constant(one) for one in args]
    with tj.GradientTape(**options) as tape:
        tape.watch(xs)
        y = f(*xs)
    return tape, xs, y


# Structures


def test_sources_of_any_structure_are_answered_in_it() -> None:
    def program(x: Any, y: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch((x, y))
            z = np.sum(x * y)
        structure = {"pair": Pair(x, [y]), "weights": Weights(w=y, b=(x,)), "none": ()}
        return tape.gradient(z, structure)

    for found in (program(tj.constant(X), tj.constant(Y)), tj.function(program)(X, Y)):
        assert list(found) == ["pair", "weights", "none"]
        assert type(found["pair"]) is Pair
        close(found["pair"].x, Y)
        close(found["pair"].y[0], X)
        close(found["weights"].w, X)
        close(found["weights"].b[0], Y)
        assert found["none"] == ()


def test_watch_takes_structures_of_tensors_and_variables() -> None:
    x, v = tj.constant(X), tj.Variable(Y, trainable=False)
    with tj.GradientTape() as tape:
        tape.watch({"p": Pair(x, [v])})
        z = np.sum(x * v)
    gx, gv = tape.gradient(z, (x, v))
    close(gx, Y)
    close(gv, X)


def test_the_gradient_by_itself_is_the_seed() -> None:
    tape, (x,), _ = taped(lambda x: x * 2.0, X, persistent=True)
    close(tape.gradient(x, x), np.ones(3))
    close(tape.gradient(x, x, output_gradients=Y), Y)
    close(tape.gradient([x, x], [x])[0], 2.0 * np.ones(3))


def test_targets_that_do_not_depend_on_anything_watched() -> None:
    tape, (x,), _ = taped(lambda x: x * 2.0, X, persistent=True)
    other = tj.constant(Y) * 3.0
    assert tape.gradient(other, x) is None
    assert tape.gradient(other, other) is None
    assert tape.gradient(x, other) is None
    close(tape.gradient([other, x], x), np.ones(3))
    close(tape.gradient(other, x, unconnected_gradients="zero"), np.zeros(3))


def test_a_tape_that_was_never_entered_knows_nothing() -> None:
    x = tj.constant(X)
    assert tj.GradientTape().gradient(x, x) is None
    assert tj.GradientTape().watched_variables() == ()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("form", ["array", "0-d", "scalar"])
def test_gradients_have_the_type_of_the_source(dtype: str, form: str) -> None:
    start = X.astype(dtype)
    data = {"array": start, "0-d": np.array(start[1]), "scalar": start[1]}[form]
    tape, (x,), y = taped(lambda x: np.sum(np.real(x * x) * np.float64(3.0)), data)
    gradient = tape.gradient(y, x)
    close(gradient, np.conj(np.asarray(6.0 * data, dtype)))
    assert gradient.type is x.type


def test_a_real_source_has_a_real_gradient() -> None:
    tape, (x,), y = taped(lambda x: np.sum(np.abs(np.exp(1j * x) * x) ** 2), X)
    close(tape.gradient(y, x), 2.0 * X)


def test_integer_sources_and_targets_have_no_gradient() -> None:
    tape, (x, n), y = taped(
        lambda x, n: x * n, X, 1.0 * np.arange(3), persistent=True, watch_accessed_variables=False
    )
    count = np.argmax(x)
    assert tape.gradient(count, x) is None
    assert tape.gradient(y, np.arange(3) + tj.constant(1)) is None
    close(tape.gradient([count, y], n), X)
    close(tape.gradient(count, x, unconnected_gradients="zero"), np.zeros(3))


def test_zeros_have_the_types_of_the_sources() -> None:
    sources = [tj.constant(X.astype("f4")), tj.constant(1), tj.Variable(np.ones((2, 1), "c8"))]
    tape, (x,), y = taped(lambda x: x * 2.0, X)
    found = tape.gradient(y, [x, *sources], unconnected_gradients=UnconnectedGradients.ZERO)
    for zero, source in zip(found[1:], sources, strict=True):
        close(zero, np.zeros(source.shape, source.dtype))


# Seeds

A = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("targets", "seeds"),
    [
        ("list", "list"),
        ("list", "tuple"),
        ("dict", "dict"),
        ("dict", "list"),
        ("pair", "pair"),
        ("pair", "list"),
        ("nested", "nested"),
        ("nested", "list"),
    ],
)
def test_seeds_come_in_the_structure_of_the_targets_or_flat(targets: str, seeds: str) -> None:
    def build(kind: str, x: Any, y: Any) -> Any:
        return {
            "list": [x, y],
            "tuple": (x, y),
            "dict": {"b": y, "a": x},
            "pair": Pair(x, y),
            "nested": [[x], {"y": y}],
        }[kind]

    def program(x: Any, y: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch([x, y])
            target = build(targets, x * 2.0, y * 3.0)
        return tape.gradient(target, [x, y], output_gradients=build(seeds, Y, None))

    for found in (program(tj.constant(X), tj.constant(X)), tj.function(program)(X, X)):
        close(found[0], 2.0 * Y)
        close(found[1], 3.0 * np.ones(3))


@pytest.mark.parametrize(
    "seed",
    [Y, tj.constant(Y), tj.Variable(Y), Y.tolist(), (*Y.tolist(),), [Y], (tj.constant(Y),)],
    ids=["array", "Tensor", "Variable", "list", "tuple", "[array]", "(Tensor,)"],
)
def test_what_can_be_the_seed_of_one_target(seed: Any) -> None:
    tape, (x,), y = taped(lambda x: x * 2.0, X)
    close(tape.gradient(y, x, output_gradients=seed), 2.0 * Y)


@pytest.mark.parametrize("seed", [3, 3.0, np.float64(3.0), np.array(3.0), tj.constant(3.0)])
@pytest.mark.parametrize("start", [np.float32(2.0), np.array(2.0), np.float64(2.0)])
def test_numbers_are_seeds_of_scalars(seed: Any, start: Any) -> None:
    strong = type(seed) not in (int, float)
    tape, (x,), y = taped(lambda x: x * x, start)
    if strong and start.dtype != seed.dtype:
        assert "dtype float64" in str(refusal(SeedError, lambda: tape.gradient(y, x, seed)))
    else:
        gradient = tape.gradient(y, x, output_gradients=seed)
        close(gradient, np.asarray(12.0, start.dtype))
        assert gradient.type is x.type


@pytest.mark.parametrize(
    ("seed", "problem"),
    [
        (1.0, "shape (), its target (3,)"),
        (np.ones(1), "shape (1,), its target (3,)"),
        (np.ones((1, 3)), "shape (1, 3), its target (3,)"),
        (np.ones(3, "f4"), "dtype float32, its target float64"),
        (np.ones(3, "c16"), "dtype complex128, its target float64"),
        ("ones", "a cotangent is a str"),
        ([Y, Y], "2 cotangents in another structure than 1 targets"),
        ([], "0 cotangents in another structure than 1 targets"),
    ],
)
def test_seeds_that_do_not_fit_name_the_line(seed: Any, problem: str) -> None:
    tape, (x,), y = taped(lambda x: x * 2.0, X, persistent=True)
    error = refusal(SeedError, lambda: tape.gradient(y, x, output_gradients=seed))
    assert problem in str(error)
    assert "tape.gradient(y, x, output_gradients=seed)" in error.where.text
    close(tape.gradient(y, x), 2.0 * np.ones(3))


def test_a_complex_number_is_no_seed_of_a_real_target() -> None:
    tape, (x,), y = taped(lambda x: x * x, 3.0)
    refusal(SeedError, lambda: tape.gradient(y, x, output_gradients=1j))


def test_a_seed_may_be_changed_afterwards() -> None:
    tape, (x,), y = taped(lambda x: x, X)
    seed = Y.copy()
    gradient = tape.gradient(y, x, output_gradients=seed)
    seed[:] = 0.0
    close(gradient, Y)


def test_the_gradient_depends_on_the_seed() -> None:
    seed = tj.constant(Y)
    with tj.GradientTape() as outer:
        outer.watch(seed)
        tape, (x,), y = taped(lambda x: np.sin(x), X)
        gradient = tape.gradient(y, x, output_gradients=seed)
    close(outer.gradient(gradient, seed), np.cos(X))


def test_words_for_the_unconnected() -> None:
    for word in ("none", "zero"):
        assert wants_zeros(word) is (word == "zero")
        assert wants_zeros(UnconnectedGradients(word)) is (word == "zero")
    tape, (x,), y = taped(lambda x: x, X)
    error = refusal(SeedError, lambda: tape.gradient(y, x, unconnected_gradients=None))
    assert "Unknown value for unconnected_gradients: None" in str(error)
    assert "unconnected_gradients=None" in error.where.text


# Errors


def test_errors_name_the_call_the_argument_and_the_line() -> None:
    tape, (x,), y = taped(lambda x: x * x, X, persistent=True)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: tape.gradient(X, x), "tape.gradient: target must hold"),
        (lambda: tape.gradient(y, [x, X]), "tape.gradient: sources must hold"),
        (lambda: tape.jacobian(X, x), "tape.jacobian: target must hold"),
        (lambda: tape.jacobian(y, X), "tape.jacobian: sources must hold"),
        (lambda: tape.batch_jacobian(X, x), "tape.batch_jacobian: target must hold"),
        (lambda: tape.batch_jacobian(y, X), "tape.batch_jacobian: source must hold"),
    ]
    for call, text in cases:
        error = refusal(TapeArgumentError, call)
        assert text in str(error)
        assert "got an ndarray" in str(error) or "got an ndarray" in str(error)
        assert "tj.constant(...)" in str(error)
        assert error.where.text.strip().startswith("(lambda: tape.")


def test_gradients_names_its_arguments() -> None:
    def f(x: Any) -> Any:
        return tj.gradients(x * x, x, stop_gradients=[2.0])

    error = refusal(TapeArgumentError, lambda: tj.function(f)(X))
    assert "tj.gradients: stop_gradients must hold" in str(error)


@pytest.mark.parametrize("given", [X, 1.0, np.float64(1.0), {1.0}])
def test_watching_what_is_no_tensor_names_the_fix_and_the_line(given: Any) -> None:
    with tj.GradientTape() as tape:
        error = refusal(WatchError, lambda: tape.watch([tj.constant(1.0), given]))
    assert f"was given {a(type(given).__name__)}" in str(error)
    assert "x = tj.constant(x)" in str(error)
    assert "tape.watch(" in error.where.text


@pytest.mark.parametrize("dtype", [int, bool, np.uint8])
def test_a_warning_names_the_line_that_watches_integers(dtype: Any) -> None:
    x = tj.constant([1, 0], dtype=dtype)
    with tj.GradientTape() as tape, pytest.warns(UserWarning, match=str(x.dtype)) as caught:
        tape.watch(x)
    assert caught[0].filename == __file__
    assert tape.gradient(x * 1.0, x) is None


def test_a_tape_that_was_used_names_the_line() -> None:
    tape, (x,), y = taped(lambda x: x * x, X)
    tape.gradient(y, x)
    for call in (tape.gradient, tape.jacobian, tape.batch_jacobian):
        error = refusal(TapeError, lambda call=call: call(y, x))
        assert "can only be used to compute one set" in str(error)
        assert "GradientTape(persistent=True)" in str(error)
        assert "call(y, x)" in error.where.text


def test_a_refused_question_does_not_use_up_the_tape() -> None:
    tape, (x,), y = taped(lambda x: x * x, X)
    refusal(TapeArgumentError, lambda: tape.gradient(y, X))
    refusal(SeedError, lambda: tape.gradient(y, x, output_gradients=np.ones(2)))
    close(tape.gradient(y, x), 2.0 * X)


# Jacobians


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 0)])
@pytest.mark.parametrize("source", [(), (2,), (2, 2)])
def test_the_jacobian_has_the_shape_of_target_and_source(
    shape: tuple[int, ...], source: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(1)
    start = rng.normal(size=source)
    weights = rng.normal(size=(*shape, *source))
    axes = tuple(range(len(shape), len(shape) + len(source)))

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * weights, axis=axes)

    def program(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    for found in (program(tj.constant(start)), tj.function(program)(start)):
        close(found, np.asarray(np.cos(start) * weights))


def test_jacobians_of_several_sources() -> None:
    v, n = tj.Variable(Y), tj.Variable(Y, trainable=False)
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.cumsum(x * v * n)
    found = tape.jacobian(y, {"x": x, "v": v, "n": n})
    lower = np.tril(np.ones((3, 3)))
    close(found["x"], lower * (Y * Y))
    close(found["v"], lower * (X * Y))
    assert found["n"] is None


def test_a_jacobian_of_float32_stays_float32() -> None:
    tape, (x,), y = taped(lambda x: x * x, X.astype("f4"))
    close(tape.jacobian(y, x), np.diag(2.0 * X).astype("f4"))


def test_a_jacobian_of_a_jacobian() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        first = inner.jacobian(y, x)
    second = np.zeros((3, 3, 3))
    second[np.arange(3), np.arange(3), np.arange(3)] = 6.0 * X
    close(first, np.diag(3.0 * X**2))
    close(outer.jacobian(first, x), second)


def test_a_persistent_tape_gives_jacobian_after_jacobian() -> None:
    tape, (x,), y = taped(lambda x: x * x, X, persistent=True)
    for _ in range(2):
        close(tape.jacobian(y, x), np.diag(2.0 * X))
        close(tape.gradient(y, x), 2.0 * X)


def test_the_jacobian_of_what_is_unconnected() -> None:
    tape, (x,), y = taped(lambda x: np.floor(x), X, persistent=True)
    assert tape.jacobian(y, x) is None
    close(tape.jacobian(y, x, unconnected_gradients="zero"), np.zeros((3, 3)))


def test_batch_jacobian_is_the_diagonal_of_the_jacobian() -> None:
    rng = np.random.default_rng(2)
    start, w = rng.normal(size=(4, 3)), rng.normal(size=(3, 2, 2))

    def program(x: Any) -> Any:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.tensordot(np.tanh(x), w, 1)
        return tape.batch_jacobian(y, x), tape.jacobian(y, x)

    for batch, whole in (program(tj.constant(start)), tj.function(program)(start)):
        rows = np.arange(4)
        array = whole.numpy() if isinstance(whole, tj.Tensor) else whole
        close(batch, array[rows, :, :, rows])


def test_batch_jacobian_by_a_variable() -> None:
    v = tj.Variable(A)
    with tj.GradientTape() as tape:
        y = v * v
    expected = np.array([np.diag(2.0 * row) for row in A])
    close(tape.batch_jacobian(y, v), expected)


@pytest.mark.parametrize("width", [0, 2])
def test_batch_jacobians_without_rows_or_columns(width: int) -> None:
    tape, (x,), y = taped(lambda x: x[:, :width] * 2.0, np.ones((3, 2)), persistent=True)
    expected = 2.0 * np.broadcast_to(np.eye(2)[:width], (3, width, 2))
    close(tape.batch_jacobian(y, x), expected)
    tape, (x,), y = taped(lambda x: x * 2.0, np.ones((0, 2)))
    close(tape.batch_jacobian(y, x), np.zeros((0, 2, 2)))


@pytest.mark.parametrize("side", ["target", "source"])
@pytest.mark.parametrize("given", ["list", "empty", "pair"])
def test_batch_jacobian_takes_one_tensor(side: str, given: str) -> None:
    tape, (x,), y = taped(lambda x: x * x, A)
    target, source = y, x
    if side == "target":
        target = {"list": [y], "empty": [], "pair": (y, y)}[given]
    else:
        source = {"list": [x], "empty": [], "pair": (x, x)}[given]
    error = refusal(TapeArgumentError, lambda: tape.batch_jacobian(target, source))
    assert f"tape.batch_jacobian: {side} must hold" in str(error)


# Persistence


def test_a_persistent_tape_answers_again_and_again() -> None:
    tape, (x, y), z = taped(lambda x, y: np.sum(x * y), X, Y, persistent=True)
    for _ in range(3):
        close(tape.gradient(z, x), Y)
        close(tape.gradient(z, y), X)


def test_answers_share_no_memory() -> None:
    tape, (x,), y = taped(lambda x: x * 1.0, X, persistent=True)
    first, second = (np.asarray(tape.gradient(x, [x, x])[0]) for _ in range(2))
    a, b = (np.asarray(one) for one in tape.gradient(y, [x, x]))
    for one, other in ((first, second), (a, b), (a, np.asarray(x)), (a, np.asarray(y))):
        assert not np.shares_memory(one, other)


def test_what_is_computed_after_the_block_is_not_recorded() -> None:
    tape, (x,), y = taped(lambda x: x * x, X)
    assert tape.gradient(y * 2.0, x) is None


def test_a_used_tape_lets_go_and_knows_its_variables() -> None:
    v = tj.Variable(X)
    with tj.GradientTape() as tape:
        y = v * v
    assert repr(tape) == "<GradientTape, 1 operations>"
    tape.gradient(y, v)
    assert repr(tape) == "<GradientTape, 0 operations>"
    assert len(tape.watched_variables()) == 1


def test_the_numbers_of_the_program_may_change_from_tape_to_tape() -> None:
    """One line with other numbers is another gradient, though the operations are the same."""
    for number in (2, 3, 3.0, 2.5, 0, 0.0, -1, 1, True, np.nan, 2, 0.5):
        tape, (x,), y = taped(lambda x, number=number: x**number * number, X + 3.0)
        exact = np.asarray((X + 3.0) ** (float(number) - 1.0) * float(number) ** 2)
        close(tape.gradient(y, x), exact)


def test_long_tables_that_differ_in_the_middle_are_not_confused() -> None:
    start = np.arange(5000.0)
    for middle in (7, 11):
        index = np.arange(5000)
        index[2500] = middle
        for call in (
            lambda x, index=index: x[index],
            lambda x, index=index: np.take(x, index),
            lambda x, index=index: x[list(index)],
            lambda x, index=index: x[index > 20],
        ):
            tape, (x,), y = taped(call, start)
            expected = np.zeros(5000)
            np.add.at(expected, call(np.arange(5000)), 1.0)
            close(tape.gradient(y, x), expected)


# Nesting


def test_mixed_second_derivatives() -> None:
    def program(x: Any, y: Any) -> Any:
        with tj.GradientTape() as outer:
            outer.watch([x, y])
            with tj.GradientTape() as inner:
                inner.watch([x, y])
                z = np.sum(np.sin(x) * y * y)
            gx = inner.gradient(z, x)
        return outer.gradient(gx, [x, y])

    for found in (program(tj.constant(X), tj.constant(Y)), tj.function(program)(X, Y)):
        close(found[0], -np.sin(X) * Y * Y)
        close(found[1], 2.0 * np.cos(X) * Y)


def test_an_inner_tape_does_not_see_what_the_outer_one_watches() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as inner:
            y = x * x
    assert inner.gradient(y, x) is None
    close(outer.gradient(y, x), 2.0 * X)


def test_a_gradient_after_the_outer_block_is_not_recorded() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as inner:
            inner.watch(x)
            y = x**3
    g = inner.gradient(y, x)
    close(g, 3.0 * X**2)
    assert outer.gradient(g, x) is None


def test_tapes_may_close_in_any_order() -> None:
    x = tj.constant(X)
    first, second = tj.GradientTape(), tj.GradientTape()
    first.__enter__()
    second.__enter__()
    first.watch(x)
    second.watch(x)
    y = x * x
    first.__exit__(None, None, None)
    z = y * x
    second.__exit__(None, None, None)
    assert first.gradient(z, x) is None
    close(second.gradient(z, x), 3.0 * X**2)


def test_an_outer_persistent_tape_sees_every_inner_gradient() -> None:
    v = tj.Variable(X)
    with tj.GradientTape(persistent=True) as outer:
        slopes = []
        for power in (2, 3):
            with tj.GradientTape() as inner:
                y = np.sum(v**power)
            slopes.append(inner.gradient(y, v))
    close(outer.gradient(slopes[0], v), 2.0 * np.ones(3))
    close(outer.gradient(slopes[1], v), 6.0 * X)


def test_third_order_unconnected_is_none() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as inner:
            inner.watch(x)
            y = x * 2.0
        g = inner.gradient(y, x)
    close(g, 2.0 * np.ones(3))
    assert outer.gradient(g, x) is None


# The block


def test_an_exception_closes_the_tape_and_keeps_what_was_recorded() -> None:
    x = tj.constant(X)
    tape = tj.GradientTape()
    with pytest.raises(ZeroDivisionError), tape:
        tape.watch(x)
        y = x * x
        raise ZeroDivisionError
    assert EAGER.windows == ()
    close(tape.gradient(y, x), 2.0 * X)


def test_recording_goes_on_after_an_exception_while_it_was_stopped() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(KeyError), tape.stop_recording():
            y = x * 5.0
            raise KeyError
        z = x * x
    close(tape.gradient([y, z], x), 2.0 * X)


def test_stopping_one_tape_does_not_stop_another() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as a, tj.GradientTape() as b:
        a.watch(x)
        b.watch(x)
        with a.stop_recording():
            y = x * x
    assert a.gradient(y, x) is None
    close(b.gradient(y, x), 2.0 * X)


def test_watching_and_resetting_while_recording_is_stopped_is_refused() -> None:
    with tj.GradientTape() as tape, tape.stop_recording():
        for call in (lambda: tape.watch(tj.constant(X)), tape.reset):
            assert "the tape is not recording" in str(refusal(TapeStateError, call))


def test_an_active_tape_is_not_entered_and_stays_active() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        error = refusal(TapeStateError, tape.__enter__)
        y = x * x
    assert "cannot be entered again" in str(error)
    close(tape.gradient(y, x), 2.0 * X)


def test_a_tape_entered_again_goes_on_with_what_it_watches() -> None:
    x, v = tj.constant(X), tj.Variable(Y)
    tape = tj.GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * v
    outside = y * 7.0
    for power in (2, 3):
        with tape:
            z = y**power
        close(tape.gradient(z, x), power * (X * Y) ** (power - 1) * Y)
        close(tape.gradient([z, outside], v), power * (X * Y) ** (power - 1) * X)


def test_reset_begins_anew() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = x * 3.0
    close(tape.gradient([y, z], x), 3.0 * np.ones(3))


# Threads


def in_thread(f: Callable[[], Any]) -> Any:
    """What f returns on another thread; its error, too."""
    found: list[Any] = []

    def target() -> None:
        try:
            found.append(f())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def test_a_tape_does_not_see_what_another_thread_computes() -> None:
    x, v = tj.constant(X), tj.Variable(Y)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = in_thread(lambda: x * v)
        z = x * 2.0
    assert tape.gradient([y], [x, v]) == [None, None]
    assert tape.watched_variables() == ()
    close(z, 2.0 * X)


def test_each_thread_has_its_own_tapes() -> None:
    v = tj.Variable(X)
    barrier = threading.Barrier(2, timeout=30)

    def work(power: int) -> Any:
        with tj.GradientTape() as tape:
            barrier.wait()
            y = v**power
            barrier.wait()
        return tape.gradient(y, v).numpy()

    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda power=power: found.update({power: work(power)}))
        for power in (2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    close(found[2], 2.0 * X)
    close(found[3], 3.0 * X**2)


def test_a_tape_may_be_asked_on_another_thread() -> None:
    tape, (x,), y = taped(lambda x: x * x, X)
    close(in_thread(lambda: tape.gradient(y, x)), 2.0 * X)


def test_arrays_may_be_read_on_a_thread_that_records_nothing() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        assert in_thread(lambda: float(x[1])) == -2.0
        refusal(TracejitError, lambda: float(x[1]))


# In a function


def test_a_tape_in_a_function_is_the_gradient_of_the_recording() -> None:
    @tj.function
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(np.sin(x) * x)
        return tape.gradient(y, x)

    @tj.function
    def plain(x: Any) -> Any:
        return tj.grad(lambda x: np.sum(np.sin(x) * x))(x)

    for start in (X, Y, X):
        np.testing.assert_array_equal(slope(start), plain(start))
    assert slope.tracing_count == 1
    kernels = slope.kernel(X), plain.kernel(X)
    tape, grad = (ops_of(kernel.graph) for kernel in kernels)
    assert tape == [name for name in grad if name != "identity"]


def test_watching_an_array_in_a_function_is_refused() -> None:
    def f(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(Y)
        return x

    assert "tj.constant" in str(refusal(WatchError, lambda: tj.function(f)(X)))


def test_a_tape_of_a_function_ends_with_it() -> None:
    kept = queue.SimpleQueue[Any]()

    @tj.function
    def f(x: Any) -> Any:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
        kept.put((tape, x, y))
        return y

    f(X)
    tape, x, y = kept.get()
    refusal(LeakedTensorError, lambda: tape.gradient(y, x))


def test_a_tape_closed_before_the_call_is_asked_inside() -> None:
    tape, (x,), y = taped(lambda x: np.sin(x), X, persistent=True)

    @tj.function
    def f(scale: Any) -> Any:
        return tape.gradient(y, x) * scale

    for scale in (Y, X):
        close(f(scale), np.cos(X) * scale)


def test_a_tape_may_be_used_in_two_functions_after_each_other() -> None:
    tape = tj.GradientTape(persistent=True)

    def f(x: Any) -> Any:
        with tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    for _ in range(2):
        close(tj.function(f)(X), 2.0 * X)
        close(f(tj.constant(X)), 2.0 * X)


def test_an_error_in_a_function_leaves_no_tape_open() -> None:
    def f(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            raise KeyError("inside")

    for call in (lambda: f(tj.constant(X)), lambda: tj.function(f)(X)):
        assert refusal(KeyError, call).args == ("inside",)
    tape, (x,), y = taped(lambda x: x * x, X)
    close(tape.gradient(y, x), 2.0 * X)


def test_tapes_in_functions_in_functions() -> None:
    @tj.function
    def slope(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    @tj.function
    def second(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = slope(x)
        return tape.gradient(y, x)

    close(second(X), 6.0 * X)
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = second(x)
    close(tape.gradient(y, x), 6.0 * np.ones(3))


def test_gradients_differentiates_by_any_tensor_of_the_recording() -> None:
    @tj.function
    def f(x: Any) -> Any:
        h = np.sin(x)
        y = h * h * x
        return tj.gradients(y, [h, x], stop_gradients=h), tj.gradients(y, x)

    partial, total = f(X)
    close(partial[0], 2.0 * np.sin(X) * X)
    close(partial[1], np.sin(X) ** 2)
    close(total[0], np.sin(X) ** 2 + 2.0 * np.sin(X) * np.cos(X) * X)


def test_gradients_sums_all_reads_of_a_variable() -> None:
    v = tj.Variable(X)

    @tj.function
    def f() -> Any:
        a = v * v
        v.assign(Y)
        return tj.gradients(a + v * v, v)

    close(f()[0], 2.0 * X + 2.0 * Y)


# Constants


def test_constant_copies() -> None:
    start = X.copy()
    x = tj.constant(start)
    start[0] = 99.0
    close(x, X)
    assert not np.asarray(x).flags.writeable


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (1, {}, np.int64(1)),
        (1.5, {}, np.float64(1.5)),
        (True, {}, np.bool_(True)),
        (1j, {}, np.complex128(1j)),
        ([1, 2], {}, np.array([1, 2])),
        ([1, 2], {"dtype": "f4"}, np.array([1, 2], "f4")),
        (np.float32(2.0), {}, np.float32(2.0)),
        (1.0, {"shape": (2, 2)}, np.ones((2, 2))),
        ([1.0, 2.0], {"shape": (3, 2)}, np.array([[1.0, 2.0]] * 3)),
    ],
)
def test_constants_are_what_numpy_makes(value: Any, options: Any, expected: Any) -> None:
    close(tj.constant(value, **options), expected)

    @tj.function
    def f() -> Any:
        return tj.constant(value, **options)

    close(f(), expected)


@pytest.mark.parametrize("value", ["text", None, [None], {"a": 1}, np.array(["x"])])
def test_what_is_no_array_is_no_constant(value: Any) -> None:
    with pytest.raises(TypeError, match=r"the value of tj\.constant"):
        tj.constant(value)


def test_a_constant_of_a_tensor_or_variable_is_off_the_tape() -> None:
    v = tj.Variable(X)
    with tj.GradientTape() as tape:
        y = tj.constant(v) * 2.0
        z = tj.constant(y)
    close(z, 2.0 * X)
    assert tape.gradient(z, v) is None
    assert tape.watched_variables() == ()


def rows_of_jacobians(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with every row of a Jacobian that is computed by itself."""
    rows: list[int] = []
    one = tj.GradientTape._gradients

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        rows.append(1)
        return one(self, *args, **options)

    monkeypatch.setattr(tj.GradientTape, "_gradients", counted)
    return rows


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_jacobian_is_one_pass(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.tanh(x) * np.sum(x)
        return tape.jacobian(y, x)

    rows = rows_of_jacobians(monkeypatch)
    x = np.array([0.5, -1.0, 2.0])
    found = program(tj.constant(x)).numpy() if mode == "eager" else tj.function(program)(x)
    slope = np.diag((1.0 - np.tanh(x) ** 2) * np.sum(x)) + np.tanh(x)[:, None]
    np.testing.assert_allclose(found, slope, rtol=1e-14)
    assert not rows


def test_a_jacobian_by_rules_that_need_values_goes_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @tj.custom_gradient
    def looked_at(x: Any) -> Any:
        return x * 2.0, lambda upstream: upstream * (2.0 if float(np.sum(upstream)) > 0 else 0.0)

    rows = rows_of_jacobians(monkeypatch)
    x = tj.constant(np.array([0.5, -1.0]))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = looked_at(x)
    np.testing.assert_array_equal(tape.jacobian(y, x).numpy(), 2.0 * np.eye(2))
    assert len(rows) == 2


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_what_is_computed_again_after_a_reset_is_on_the_tape(mode: str) -> None:
    def program(x: Any) -> Any:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            before = np.sum(x * x)
            tape.reset()
            tape.watch(x)
            after = np.sum(x * x)
        return tape.gradient(after, x), tape.gradient(before, x)

    found, forgotten = program(tj.constant(X)) if mode == "eager" else tj.function(program)(X)
    close(found, 2.0 * X)
    assert forgotten is None


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_constant_of_a_tensor_is_one_in_every_mode(mode: str) -> None:
    v = tj.Variable(Y)

    def program(x: Any) -> Any:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            c, d = tj.constant(x * 2.0), tj.constant(v, dtype="f4", shape=(2, 3))
            tape.watch(c)
            y = np.sum(c * c * x) + np.sum(d)
        return tape.gradient(y, [x, c, v, d]), d

    (by_x, by_c, by_v, by_d), d = (
        program(tj.constant(X)) if mode == "eager" else tj.function(program)(X)
    )
    close(by_x, 4.0 * X * X)
    close(by_c, 4.0 * X * X)
    assert (by_v, by_d) == (None, None)
    close(d, np.broadcast_to(Y, (2, 3)).astype("f4"))


def test_a_variable_that_is_not_trainable_is_a_constant_in_every_mode() -> None:
    v, w = tj.Variable(2.0, trainable=False), tj.Variable(3.0)

    def by_tape(x: Any) -> Any:
        with tj.GradientTape() as tape:
            y = x * v * v * w
        return tape.gradient(y, [v, w])

    def by_gradients(x: Any) -> Any:
        return tj.gradients(x * v * v * w, [v, w])

    def by_python(x: Any) -> Any:
        try:
            np.linalg.cholesky(-x * np.eye(2))
        except np.linalg.LinAlgError:
            return tj.gradients(x * v * v * w, [v, w])

    x = tj.constant(5.0)
    f = tj.function(lambda x: x * v * v * w)
    with tj.GradientTape() as tape:
        y = f(x)
    for found in (
        by_tape(x),
        tape.gradient(y, [v, w]),
        *[tj.function(one)(x) for one in (by_tape, by_gradients, by_python)],
    ):
        assert found[0] is None
        assert float(found[1]) == 20.0
