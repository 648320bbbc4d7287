"""primitive, register_gradient and no_gradient, in every mode."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tests.support.modes import check, drained, error_everywhere, everywhere, moved, refused
from tracejit.api.callbacks import CheckedCall
from tracejit.ops.base.op import DIRECT, HANDLERS
from tracejit.support.errors import (
    ArgumentError,
    CallbackError,
    NoGradientError,
    NotAnOpError,
    RegisteredError,
    RuleError,
    RuleTypeError,
)

# The functions of NumPy's that the tests here give rules.
REGISTERED = (np.unwrap, np.nanmedian, np.spacing, np.i0)


@pytest.fixture(autouse=True)
def same_handlers() -> Iterator[None]:
    """NumPy functions that a test registers are unknown before it, and afterwards what they
    were."""
    saved = [dict(HANDLERS), dict(DIRECT)]
    for function in REGISTERED:
        HANDLERS.pop(function, None)
        DIRECT.pop(function, None)
    yield
    for table, before in zip((HANDLERS, DIRECT), saved, strict=True):
        table.clear()
        table.update(before)


X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)


def cubes(x: Any) -> Any:
    """What cannot be recorded: a loop over numbers."""
    return np.array([float(element) ** 3 for element in x.ravel()], x.dtype).reshape(x.shape)


def ruled(f: Callable[..., Any], rule: Callable[..., Any], **options: Any) -> Any:
    """A fresh primitive with a rule."""
    made = tj.primitive(f, **options)
    tj.register_gradient(made)(rule)
    return made


def cube() -> Any:
    """A fresh primitive cube."""
    return ruled(cubes, lambda op, dy: 3.0 * op.inputs[0] ** 2 * dy)


# A primitive's values


def test_values_are_those_of_the_function() -> None:
    f = cube()
    assert_same(f(X), X**3)
    assert_same(f(x=X), X**3)
    compiled = tj.function(lambda x: f(x) * 2.0)
    for _ in range(2):
        assert_same(compiled(X), X**3 * 2.0)
    assert_same(f(tj.constant(X)).numpy(), X**3)


def test_it_is_called_with_plain_arrays_of_its_own() -> None:
    types: SimpleQueue[Any] = SimpleQueue()

    def f(x: Any) -> Any:
        types.put(type(x))
        x[:] = 0.0
        return x

    zeros = tj.primitive(f)
    x, given = tj.constant(X), X.copy()
    assert_same(zeros(x).numpy(), np.zeros(3))
    assert_same(x.numpy(), X)
    assert_same(tj.function(lambda x: (zeros(x), x))(given), (np.zeros(3), X))
    assert_same(given, X)
    assert set(drained(types)) == {np.ndarray}


def test_its_results_share_no_memory() -> None:
    """A buffer that it fills again at each call."""
    buffer = np.zeros(3)

    def f(x: Any) -> Any:
        buffer[:] = x
        return buffer

    filled = tj.primitive(f)
    for g in (lambda x: filled(tj.constant(x)).numpy(), tj.function(lambda x: filled(x))):
        first, second = g(X), g(Y)
        assert_same(first, X)
        assert_same(second, Y)


@pytest.mark.parametrize("size", [1, 4, 1, 0])
def test_shapes_may_differ_between_calls(size: int) -> None:
    f = cube()
    compiled = tj.function(lambda x: f(x))
    for count in (size, 3, size):
        x = np.full(count, 2.0)
        assert_same(compiled(x), x**3)
        assert_same(f(tj.constant(x)).numpy(), x**3)
        check(everywhere(f, x).gradients, 3 * x**2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64, np.bool_])
def test_dtypes_are_kept(dtype: Any) -> None:
    same = ruled(lambda x: x[::-1], lambda op, dy: dy[::-1])
    x = np.array([1, 0, 3]).astype(dtype)
    found = tj.function(lambda x: same(x))(x)
    assert_same(found, x[::-1])
    assert_same(same(tj.constant(x)).numpy(), x[::-1])


def test_float32_stays_float32_in_gradients() -> None:
    check(everywhere(cube(), X.astype(np.float32)).gradients, (3 * X**2).astype(np.float32))


def test_numpy_scalars_stay_scalars() -> None:
    square = ruled(lambda x: x * x, lambda op, dy: 2.0 * op.inputs[0] * dy)
    total = ruled(np.sum, lambda op, dy: np.broadcast_to(dy, op.inputs[0].shape))
    for x in (np.float64(3.0), np.float32(3.0)):
        found = tj.function(lambda x: square(x))(x)
        assert type(found) is type(x)
        assert found == 9.0
        assert type(tj.grad(lambda x: square(x))(x)) is type(x)
    assert type(tj.function(lambda x: total(x))(X)) is np.float64
    assert type(total(tj.constant(X)).numpy()) is np.float64
    check(everywhere(total, X).gradients, ONE)


def test_a_python_number_that_is_returned_is_a_scalar() -> None:
    count = tj.primitive(lambda x: float(np.count_nonzero(x)))
    found = tj.function(lambda x: count(x) * x)(X)
    assert_same(found, 3.0 * X)
    assert type(tj.function(lambda x: count(x))(X)) is np.float64


class Pair(NamedTuple):
    left: Any
    right: Any


def test_containers_in_and_out() -> None:
    def f(given: Any, *, extra: Any) -> Any:
        return Pair(given["a"][0] + extra, {"k": [given["b"]]})

    both = ruled(f, lambda op, dy, dk: (dy * 1.0, dk * 2.0, dy * 3.0))

    def program(x: Any, y: Any, z: Any) -> Any:
        found = both({"b": y, "a": (x, None)}, extra=z)
        assert type(found) is Pair
        return found.left + 10.0 * found.right["k"][0]

    answer = everywhere(program, X, Y, ONE)
    check([answer.value], X + 1.0 + 10.0 * Y)
    check(answer.gradients, ONE, 20.0 * ONE, 3.0 * ONE)


def test_a_result_that_is_told() -> None:
    """`result` spares the call with ones, which need not be possible."""
    calls: SimpleQueue[Any] = SimpleQueue()

    @tj.primitive(result={"values": tj.TensorSpec((2,)), "counts": tj.TensorSpec((2,), int)})
    def unique(x: Any) -> Any:
        calls.put(1)
        values, counts = np.unique(x, return_counts=True)
        return {"values": values, "counts": counts}

    x = np.array([2.0, 1.0, 2.0])
    found = tj.function(lambda x: unique(x))(x)
    assert_same(found, {"values": np.array([1.0, 2.0]), "counts": np.array([1, 2])})
    assert len(drained(calls)) == 1


def test_without_a_result_it_is_called_with_ones_before_its_first_call() -> None:
    calls: SimpleQueue[Any] = SimpleQueue()

    @tj.primitive
    def f(x: Any) -> Any:
        calls.put(x.tolist())
        return x * 2.0

    for x in (X, Y, X):
        f(tj.constant(x))
    assert drained(calls) == [[1.0] * 3, X.tolist(), Y.tolist(), X.tolist()]
    compiled = tj.function(lambda x: f(x))
    for x in (X, Y):
        compiled(x)
    assert drained(calls)[-2:] == [X.tolist(), Y.tolist()]
    compiled(X)
    assert drained(calls) == [X.tolist()]


def test_a_function_that_takes_no_ones_is_called_with_the_numbers_of_the_call() -> None:
    def roots(a: Any) -> Any:
        return np.linalg.cholesky(a) @ np.ones(2)

    f = ruled(roots, lambda op, dy: np.ones((2, 2)) * dy[0])
    a = np.array([[4.0, 2.0], [2.0, 5.0]])
    check(everywhere(lambda a: f(a + a.T), a).gradients, 2.0 * np.ones((2, 2)))
    assert_same(tj.function(lambda a: f(2.0 * a))(a), roots(2.0 * a))
    slope = tj.grad(lambda a: np.sum(tj.vjp(lambda b: b @ ONE[:2], a)[1](f(a))[0]))
    assert_same(slope(a), 2.0 * np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        tj.function(lambda a: f(a))(-a)


def test_integers_and_plain_arrays_may_decide_the_shape_of_the_result() -> None:
    f = ruled(lambda x, index: x[np.unique(index)], lambda op, dy: (3.0 * ONE, None))
    index = np.array([2, 0, 2])
    found = tj.value_and_grad(lambda x: np.sum(f(1.0 * x, index)))(X)
    assert_same(found, (X[0] + X[2], 3.0 * ONE))
    found = tj.value_and_grad(lambda x, index: np.sum(f(x, 2 - index)))(X, index)
    assert_same(found, (X[0] + X[2], 3.0 * ONE))


def test_what_nothing_needs_is_not_called() -> None:
    calls: SimpleQueue[Any] = SimpleQueue()

    @tj.primitive(result=tj.TensorSpec((3,)))
    def f(x: Any) -> Any:
        calls.put(1)
        return x

    def program(x: Any) -> Any:
        f(x)
        return x * 2.0

    assert_same(tj.function(program)(X), X * 2.0)
    assert drained(calls) == []


def test_it_is_called_once_for_equal_arguments_at_several_lines() -> None:
    calls: SimpleQueue[Any] = SimpleQueue()

    def counted(x: Any) -> Any:
        calls.put(1)
        return cubes(x)

    f = ruled(counted, lambda op, dy: 3.0 * f(op.inputs[0]) / op.inputs[0] * dy)

    def program(x: Any) -> Any:
        y = f(x)
        other = f(2.0 * x)
        return np.sum(y + other - f(x))

    slope = tj.grad(program)
    slope(X)
    drained(calls)
    np.testing.assert_allclose(slope(X), 24.0 * X**2, rtol=1e-15)
    assert len(drained(calls)) == 2


def test_a_ufunc_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(CheckedCall, "__call__")
    f = ruled(np.hypot, lambda op, dy: (2.0 * dy, f(*op.inputs) * dy))
    check(everywhere(f, X, Y).gradients, 2.0 * ONE, np.hypot(X, Y))
    compiled = tj.function(lambda x, y: f(x, y))
    for x, y in ((X, Y), (np.float64(3.0), np.float64(4.0)), (np.ones((2, 3)), X)):
        assert_same(compiled(x, y), np.hypot(x, y))


# Arguments that are no arrays


@pytest.mark.parametrize(("mode", "expected"), [("double", 2.0), ("triple", 3.0)])
def test_strings_and_numbers_reach_the_function_as_they_are(mode: str, expected: float) -> None:
    def f(x: Any, mode: str, n: int = 1, *, keep: bool = True, weight: float = 1.0) -> Any:
        assert [type(each) for each in (mode, n, keep, weight)] == [str, int, bool, float]
        factor = {"double": 2.0, "triple": 3.0}[mode] * n * weight
        return x * factor if keep else np.sum(x) * factor

    seen: SimpleQueue[Any] = SimpleQueue()

    def rule(op: Any, dy: Any) -> Any:
        seen.put((op.params["args"], op.params["kwargs"], len(op.inputs)))
        return 100.0 * dy * np.ones(3)

    scale = ruled(f, rule)
    check(everywhere(lambda x: scale(x, mode), X).gradients, 100.0 * ONE)
    answer = everywhere(lambda x: scale(x, mode, 5, keep=False, weight=0.5), X)
    check([answer.value], expected * 2.5 * np.sum(X))
    assert_same(scale(tj.constant(X), mode).numpy(), expected * X)
    first, *_, last = drained(seen)
    assert first == ((None, mode), {}, 1)
    assert last == ((None, mode, 5), {"keep": False, "weight": 0.5}, 1)


def test_axes_are_numbers_and_not_arrays() -> None:
    f = ruled(np.median, lambda op, dy: dy + np.zeros_like(op.inputs[0]))
    x = np.arange(6.0).reshape(2, 3)
    for words in ({"axis": 0}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True}, {"axis": -1}):
        run = functools.partial(f, **words)
        assert_same(tj.function(lambda x, run=run: run(x))(x), np.median(x, **words))
        assert_same(run(tj.constant(x)).numpy(), np.median(x, **words))


def test_a_number_that_changes_between_calls_of_a_function() -> None:
    """The rule finds it among the other arguments, although the function records it."""
    scale = ruled(lambda x, k: x * k, lambda op, dy: dy * op.params["args"][1] * 10.0)

    def program(x: Any, k: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = scale(x, k)
        return y, tape.gradient(y, x)

    for run in (program, tj.function(program)):
        for k in (4.0, 5.0, 6.0, -1.0):
            y, slope = run(tj.constant(X) if run is program else X, k)
            assert_same(np.asarray(y), k * X)
            assert_same(np.asarray(slope), 10.0 * k * ONE)


class Kind:
    """An object that says nothing of itself."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __repr__(self) -> str:
        return "Kind"


def test_objects_that_look_alike_are_told_apart() -> None:
    scale = tj.primitive(lambda x, kind: x * kind.factor)
    kinds = [Kind(2.0), Kind(5.0)]
    for kind in (*kinds, *kinds):
        assert_same(scale(tj.constant(X), kind).numpy(), kind.factor * X)
        assert_same(tj.function(lambda x, kind=kind: scale(x, kind))(X), kind.factor * X)


def test_numbers_that_are_equal_are_told_apart() -> None:
    kind_of = tj.primitive(lambda x, n: x * {bool: 1.0, int: 2.0, float: 3.0}[type(n)])
    for n, factor in [(True, 1.0), (1, 2.0), (1.0, 3.0), (True, 1.0), (1, 2.0)]:
        assert_same(kind_of(tj.constant(X), n).numpy(), factor * X)
    signed = tj.primitive(lambda x, n: np.copysign(x, n))
    for n in (0.0, -0.0, 0.0):
        assert_same(signed(tj.constant(X), n).numpy(), np.copysign(X, n))


# What can be a primitive


class Model:
    """Primitives as methods."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @tj.primitive
    def scaled(self, x: Any) -> Any:
        """Scale x."""
        return x * self.factor

    @staticmethod
    @tj.primitive
    def fixed(x: Any) -> Any:
        return x * 5.0

    @classmethod
    @tj.primitive
    def of_class(cls, x: Any) -> Any:
        assert cls is Model
        return x * 7.0


tj.register_gradient(Model.scaled)(lambda op, dy: dy * op.params["args"][0].factor * 10.0)


def test_methods_bind_to_their_instances() -> None:
    two, three = Model(2.0), Model(3.0)
    assert_same(two.scaled(X), 2.0 * X)
    assert_same(two.fixed(tj.constant(X)).numpy(), 5.0 * X)
    assert_same(Model.of_class(tj.constant(X)).numpy(), 7.0 * X)
    for model in (two, three, two):
        answer = everywhere(lambda x, model=model: model.scaled(x), X)
        check([answer.value, *answer.gradients], model.factor * X, 10.0 * model.factor * ONE)


class Doubler:
    def __call__(self, x: Any) -> Any:
        return x * 2.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2.0,
        functools.partial(np.multiply, 2.0),
        Doubler(),
        np.exp2,
        tj.function(lambda x: x * 2.0),
    ],
    ids=["lambda", "partial", "object", "ufunc", "function"],
)
def test_any_callable_can_be_a_primitive(f: Any) -> None:
    made = tj.primitive(f)
    assert_same(tj.function(lambda x: made(x))(X), np.asarray(f(X)))


def test_it_keeps_name_docstring_and_what_it_wraps() -> None:
    made = tj.primitive(cubes)
    assert made.__name__ == "cubes"
    assert made.__doc__ == cubes.__doc__
    assert made.__wrapped__ is cubes
    assert repr(made) == "<primitive cubes>"
    assert tj.primitive(made) is made
    assert "out = cubes(x)" in tj.function(lambda x: made(x)).kernel(X).source


def grad_of_square(x: Any) -> Any:
    return tj.grad(lambda x: np.sum(x**2))(x)


def taped_square(x: Any) -> Any:
    x = tj.constant(x)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    return tape.gradient(y, x).numpy()


@pytest.mark.parametrize("f", [grad_of_square, taped_square, tj.function(lambda x: x * 2.0)])
def test_what_a_primitive_differentiates_is_its_own_matter(f: Any) -> None:
    for made in (tj.primitive(f), tj.primitive(f, result=tj.TensorSpec((3,)))):
        compiled = tj.function(lambda x, made=made: made(x))
        for _ in range(2):
            assert_same(compiled(X), 2.0 * X)
        assert_same(made(tj.constant(X)).numpy(), 2.0 * X)
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = tj.stop_gradient(made(x)) * x
        assert_same(tape.gradient(y, x).numpy(), 2.0 * X)


def test_only_a_callable_can_be_a_primitive() -> None:
    with pytest.raises(ArgumentError, match=r"tj\.primitive needs a function, got int"):
        tj.primitive(3)


# Its gradients


def test_gradients_of_all_orders_in_every_mode() -> None:
    answer = everywhere(cube(), X, order=3)
    check([answer.value, *answer.gradients], X**3, 3 * X**2)
    check(answer.orders[1], 6 * X)
    check(answer.orders[2], 6.0 * ONE)


def test_a_rule_that_calls_a_primitive() -> None:
    slope = ruled(lambda x: np.cos(x), lambda op, dy: -np.sin(op.inputs[0]) * dy)
    sine = ruled(lambda x: np.sin(x), lambda op, dy: slope(op.inputs[0]) * dy)
    answer = everywhere(sine, X, order=2)
    check(answer.gradients, np.cos(X))
    check(answer.orders[1], -np.sin(X))


def test_a_rule_that_uses_the_outputs() -> None:
    exponential = ruled(lambda x: np.exp(x), lambda op, dy: op.outputs[0] * dy)
    answer = everywhere(exponential, X, order=3)
    for found in (answer.value, *answer.gradients, *answer.orders[1], *answer.orders[2]):
        np.testing.assert_allclose(found, np.exp(X), rtol=1e-14)


def test_forward_mode_transposes_the_rule() -> None:
    np.testing.assert_allclose(moved(cube(), X, along=[Y]), 3 * X**2 * Y, rtol=1e-14)
    tenfold = ruled(lambda x, y: x + y, lambda op, dy: (10.0 * dy, None))
    assert_same(moved(tenfold, X, Y, along=[Y, X]), 10.0 * Y)
    two = ruled(lambda x: (x * 2.0, x * 3.0), lambda op, g, h: g * 5.0 + h * 7.0)
    assert_same(moved(two, X, along=[Y]), (5.0 * Y, 7.0 * Y))


def test_forward_mode_of_higher_order_differentiates_the_rule() -> None:
    f = cube()

    def twice_forward(x: Any) -> Any:
        with tj.ForwardAccumulator(x, np.ones(3)) as outer:
            with tj.ForwardAccumulator(x, np.ones(3)) as inner:
                y = f(x)
            d = inner.jvp(y)
        return outer.jvp(d)

    def forward_over_reverse(x: Any) -> Any:
        with tj.ForwardAccumulator(x, np.ones(3)) as accumulator:
            with tj.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope = tape.gradient(y, x)
        return accumulator.jvp(slope)

    for program in (twice_forward, forward_over_reverse):
        check([program(tj.constant(X)).numpy(), tj.function(program)(X)], 6 * X, 6 * X)


def test_forward_mode_refuses_a_rule_that_is_not_linear() -> None:
    squared = ruled(cubes, lambda op, dy: dy * dy)
    error = refused(lambda x: squared(x), X)
    assert type(error) is RuleTypeError
    assert "the gradient rule of cubes is not linear in its cotangent" in str(error)
    assert "error = refused(lambda x: squared(x), X)" in str(error)
    check(everywhere(lambda x: squared(x) * 3.0, X).gradients, 9.0 * ONE)


def test_the_rule_sees_the_operation() -> None:
    seen: SimpleQueue[Any] = SimpleQueue()

    def f(x: Any, y: Any) -> Any:
        return {"b": np.argsort(x), "a": x * y, "c": np.sum(y)}

    def rule(op: Any, *dys: Any) -> Any:
        arrays = (*op.inputs, *op.outputs, *[dy for dy in dys if dy is not None])
        seen.put((op.type, [(each.shape, each.dtype.kind) for each in arrays], dys[1]))
        return dys[0] * op.inputs[1] + dys[2] * 0.0, dys[0] * op.inputs[0] + dys[2]

    several = ruled(f, rule)
    answer = everywhere(lambda x, y: several(x, y)["a"], X, Y)
    check(answer.gradients, Y, X)
    check(everywhere(lambda x, y: several(x, y)["c"] * 2.0, X, Y).gradients, 0.0 * X, 2.0 * ONE)
    inputs = [((3,), "f"), ((3,), "f")]
    outputs = [((3,), "f"), ((3,), "i"), ((), "f")]
    expected = ("f", [*inputs, *outputs, ((3,), "f"), ((), "f")], None)
    assert set(map(repr, drained(seen))) == {repr(expected)}


def test_an_integer_result_and_an_integer_argument_have_no_gradient() -> None:
    rank = ruled(np.argsort, lambda op, dy: 1 / 0)
    check(everywhere(rank, X, grad=False).gradients, None)
    pick = ruled(lambda k, x: x[k], lambda op, dy: (np.ones(()), dy * np.array([0.0, 0.0, 1.0])))
    check(everywhere(pick, np.array(2), X).gradients, None, [0.0, 0.0, 1.0])
    check(everywhere(lambda x: pick(np.array(2), x), X).gradients, [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda dy: [dy * 2.0, dy * 3.0], (2.0 * ONE, 3.0 * ONE)),
        (lambda dy: (dy * 2.0, None), (2.0 * ONE, None)),
        (lambda dy: (None, dy * 3.0), (None, 3.0 * ONE)),
        (lambda dy: (None, None), (None, None)),
        (lambda dy: None, None),
        (lambda dy: (2, 0.5), (2.0 * ONE, 0.5 * ONE)),
        (lambda dy: (dy.astype(np.float32), Y), (ONE, Y)),
    ],
)
def test_what_a_rule_may_answer(answer: Any, expected: Any) -> None:
    f = ruled(lambda x, y: x * y, lambda op, dy: answer(dy))
    if expected is None:
        assert type(error_everywhere(f, X, Y)) is RuleError
        return
    check(everywhere(f, X, Y).gradients, *expected)


def test_none_of_a_single_argument_is_unconnected() -> None:
    check(everywhere(ruled(cubes, lambda op, dy: None), X).gradients, None)


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda op, dy: (dy, dy), RuleError, "returned 2 gradients for 1 inputs (input 0)"),
        (lambda op, dy: (), RuleError, "returned 0 gradients for 1 inputs (input 0)"),
        (lambda op, dy: dy[:2], RuleError, "returned shape (2,) for input 0, which has shape (3,)"),
        (lambda op, dy: np.sum(dy), RuleError, "returned shape () for input 0"),
        (lambda op, dy: "text", RuleTypeError, "returned a str for input 0, which is float64"),
        (lambda op, dy: dy * 1j, RuleTypeError, "returned a complex gradient"),
    ],
)
def test_a_wrong_answer_names_the_function_and_the_line(rule: Any, error: Any, text: str) -> None:
    f = ruled(cubes, rule)
    found = error_everywhere(lambda x: f(x) * 2.0, X)
    assert type(found) is error
    assert str(found).startswith(f"the gradient rule of cubes {text}")
    assert "found = error_everywhere(lambda x: f(x) * 2.0, X)" in str(found)


def test_an_error_in_a_rule_keeps_its_type() -> None:
    def rule(op: Any, dy: Any) -> Any:
        raise ZeroDivisionError("mine")

    f = ruled(cubes, rule)
    assert repr(error_everywhere(lambda x: f(x), X)) == "ZeroDivisionError('mine')"


def test_a_rule_runs_once_per_differentiation_and_only_if_asked() -> None:
    runs: SimpleQueue[Any] = SimpleQueue()

    def rule(op: Any, dy: Any) -> Any:
        runs.put(1)
        return dy * 2.0

    f = ruled(cubes, rule)
    x, other = tj.constant(X), tj.constant(Y)
    for _ in range(3):
        with tj.GradientTape(persistent=True) as tape:
            tape.watch([x, other])
            y = f(x) * other
        tape.gradient(y, other)
        assert drained(runs) == []
        tape.gradient(y, x)
        assert drained(runs) == [1]
    tj.function(lambda x: f(x))(X)
    assert drained(runs) == []


def test_an_eager_rule_sees_numbers_and_what_it_closes_over_now() -> None:
    factor = [2.0]

    def rule(op: Any, dy: Any) -> Any:
        return dy * factor[0] * float(np.sum(op.inputs[0].numpy()))

    f = ruled(cubes, rule)
    for factor[0] in (2.0, 7.0, 2.0):
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        check([tape.gradient(y, x).numpy()], factor[0] * np.sum(X) * ONE)


def test_complex_cotangents_are_conjugate() -> None:
    """As those of a custom gradient: the rule of z -> w z is dy -> conj(w) dy."""
    w = 2.0 - 3.0j
    scale = ruled(lambda z: w * z, lambda op, dy: np.conj(w) * dy)
    z = X + 1j * Y
    plain = everywhere(lambda z: np.sum(np.abs(w * z)), z, grad=False).gradients
    found = everywhere(lambda z: np.sum(np.abs(scale(z))), z, grad=False).gradients
    np.testing.assert_allclose(found[0], plain[0], rtol=1e-13)
    check(everywhere(scale, z, grad=False).gradients, np.conj(w) * np.ones(3, complex))


def test_variables_are_read() -> None:
    f = cube()
    v = tj.Variable(X)
    assert_same(f(v).numpy(), X**3)
    answer = everywhere(lambda x: f(v) * x, Y, variables=[v])
    check([answer.value, *answer.gradients], X**3 * Y, X**3, 3 * X**2 * Y)


def test_recomputing_calls_it_again() -> None:
    calls: SimpleQueue[Any] = SimpleQueue()

    def counted(x: Any) -> Any:
        calls.put(1)
        return cubes(x)

    f = ruled(counted, lambda op, dy: 3.0 * op.inputs[0] ** 2 * dy)
    answer = everywhere(tj.recompute_grad(lambda x: f(x) * x), X, order=2)
    check([answer.value, *answer.gradients], X**4, 4 * X**3)
    check(answer.orders[1], 12 * X**2)
    drained(calls)
    slope = tj.grad(lambda x: np.sum(tj.recompute_grad(lambda x: f(x) * x)(x)))
    slope(X)
    drained(calls)
    slope(X)
    assert len(drained(calls)) == 2


def test_under_the_other_markers() -> None:
    f = cube()
    check(everywhere(lambda x: tj.stop_gradient(f(x)) * x, X).gradients, X**3)
    check(everywhere(tj.grad_pass_through(f), X).gradients, ONE)
    tenfold = tj.custom_gradient(lambda x: (f(x), lambda dy: 10.0 * f(x) * dy))
    answer = everywhere(tenfold, X, order=2)
    check(answer.gradients, 10.0 * X**3)
    check(answer.orders[1], 30.0 * X**2)


def test_a_jacobian_through_a_primitive() -> None:
    f, x = cube(), tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    check([tape.jacobian(y, x).numpy()], np.diag(3 * X**2))


def test_threads_share_primitives() -> None:
    f = cube()
    compiled = tj.function(lambda x: np.sum(f(x)))
    slope, found = tj.grad(compiled), {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = slope(number * X)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(1, 5):
        check([found[number]], 3 * (number * X) ** 2)


# Without a rule


def test_without_a_rule_a_gradient_is_a_lookup_error() -> None:
    opaque = tj.primitive(cubes)
    error = error_everywhere(lambda x: opaque(x) * 2.0, X)
    assert type(error) is NoGradientError
    assert isinstance(error, LookupError)
    assert str(error).startswith("no gradient is known for cubes, and the result depends on it.")
    assert "error = error_everywhere(lambda x: opaque(x) * 2.0, X)" in str(error)
    assert "tj.register_gradient" in str(error)
    same = refused(lambda x: opaque(x) * 2.0, X)
    assert type(same) is NoGradientError
    assert str(same).startswith("no gradient is known for cubes, and the result depends on it.")


@pytest.mark.parametrize(
    "cut",
    [
        lambda f: lambda x: tj.stop_gradient(f(x)) * x,
        lambda f: lambda x: f(tj.stop_gradient(x)) * x,
        lambda f: lambda x: f(np.round(x)) * x,
        lambda f: lambda x: f(X) * x,
        lambda f: tj.custom_gradient(lambda x: (f(x) * x, lambda dy: f(x) * dy)),
    ],
)
def test_without_a_rule_it_is_no_error_where_the_path_is_cut(cut: Any) -> None:
    opaque = tj.primitive(cubes)
    program = cut(opaque)
    expected = cubes(np.round(X)) if "round" in program.__code__.co_names else X**3
    check(everywhere(program, X).gradients, expected)


def test_without_a_rule_it_is_no_error_where_nobody_asks() -> None:
    opaque = tj.primitive(cubes)
    x, y = tj.constant(X), tj.constant(Y)

    def program(x: Any, y: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch([x, y])
            z = opaque(x) * y
        return tape.gradient(z, y)

    assert_same(program(x, y).numpy(), X**3)
    assert_same(tj.function(program)(X, Y), X**3)
    assert_same(tj.grad(lambda x, y: np.sum(opaque(x) * y), 1)(X, Y), X**3)


def test_a_rule_given_later_holds_for_what_was_computed_before() -> None:
    opaque = tj.primitive(cubes)
    compiled = tj.function(lambda x: opaque(x))
    x = tj.constant(X)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = opaque(x), compiled(x)
    for target in (y, z):
        with pytest.raises(LookupError, match="no gradient is known for cubes"):
            tape.gradient(target, x)
    slope = tj.grad(lambda x: np.sum(compiled(x)))
    with pytest.raises(LookupError, match="no gradient is known for cubes"):
        slope(X)
    tj.register_gradient(opaque)(lambda op, dy: dy * 5.0)
    for target in (y, z):
        assert_same(tape.gradient(target, x).numpy(), 5.0 * ONE)
    assert_same(slope(X), 5.0 * ONE)
    check(everywhere(opaque, X).gradients, 5.0 * ONE)


# no_gradient


def test_no_gradient_is_unconnected() -> None:
    flat = tj.primitive(cubes)
    assert tj.no_gradient(flat) is None
    answer = everywhere(flat, X)
    check([answer.value, *answer.gradients], X**3, None)
    assert_same(tj.grad(lambda x: np.sum(flat(x)))(X), np.zeros(3))
    check(everywhere(lambda x: flat(x) * x, X).gradients, X**3)
    assert moved(flat, X) is None
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = flat(x)
    found = tape.gradient(y, x, unconnected_gradients="zero")
    assert_same(found.numpy(), np.zeros(3))


# Functions of NumPy's


def test_a_numpy_function_gets_a_rule() -> None:
    """np.unwrap is not recorded without one."""
    with pytest.raises(TypeError, match=r"np\.unwrap is not recorded"):
        tj.function(np.unwrap)(X)
    assert tj.register_gradient(np.unwrap)(unit_rule := lambda op, dy: dy) is unit_rule
    x = np.array([0.0, 3.0, 7.0, 1.0])
    answer = everywhere(lambda x: np.unwrap(x) * x, x)
    check([answer.value, *answer.gradients], np.unwrap(x) * x, np.unwrap(x) + x)
    assert_same(np.unwrap(x), np.unwrap.__wrapped__(x))


def test_a_numpy_function_with_keywords() -> None:
    def rule(op: Any, dy: Any) -> Any:
        axis = op.params["kwargs"]["axis"]
        return np.expand_dims(dy, axis) / 3.0 + 0.0 * op.inputs[0]

    tj.register_gradient(np.nanmedian)(rule)
    x = np.arange(6.0).reshape(2, 3)
    answer = everywhere(lambda x: np.nanmedian(x, axis=1), x)
    check([answer.value, *answer.gradients], [1.0, 4.0], np.full((2, 3), 1 / 3))


def test_a_ufunc_gets_a_rule_or_none() -> None:
    tj.no_gradient(np.spacing)
    answer = everywhere(lambda x: np.spacing(x) + x, X)
    check([answer.value, *answer.gradients], np.spacing(X) + X, ONE)
    check(everywhere(np.spacing, X).gradients, None)


def test_a_scipy_function_gets_a_rule() -> None:
    linalg = pytest.importorskip("tracejit.scipy.linalg")
    scipys = linalg.cholesky_banded.__wrapped__
    band = np.array([[4.0, 5.0, 6.0], [1.0, 1.0, 0.0]])
    tj.register_gradient(linalg.cholesky_banded)(lambda op, dy: 2.0 * dy)
    for f in (linalg.cholesky_banded, scipys):
        found = tj.value_and_grad(lambda a, f=f: np.sum(f(1.0 * a, lower=True)))(band)
        assert_same(found, (np.sum(scipys(band, lower=True)), 2.0 * np.ones((2, 3))))
    with pytest.raises(RegisteredError):
        tj.register_gradient(scipys)(lambda op, dy: dy)
    with pytest.raises(RegisteredError):
        tj.register_gradient(linalg.solve)(lambda op, dy: dy)


def test_a_numpy_function_is_registered_for_methods_and_functions_alike() -> None:
    tj.register_gradient(np.i0)(lambda op, dy: 5.0 * dy)
    f = tj.function(lambda x: np.i0(x))
    assert_same(f(X), np.i0(X))
    check(everywhere(f, X).gradients, 5.0 * ONE)


# Registering


@pytest.mark.parametrize("again", ["register", "no_gradient"])
@pytest.mark.parametrize("first", ["register", "no_gradient"])
def test_a_second_rule_is_a_key_error(first: str, again: str) -> None:
    made = tj.primitive(cubes)

    def give(way: str) -> None:
        if way == "no_gradient":
            tj.no_gradient(made)
        else:
            tj.register_gradient(made)(lambda op, dy: dy * 9.0)

    give(first)
    with pytest.raises(RegisteredError, match=r"^cubes has a gradient rule already") as caught:
        give(again)
    assert isinstance(caught.value, KeyError)
    assert "tj.custom_gradient" in str(caught.value)
    expected = None if first == "no_gradient" else 9.0 * ONE
    check(everywhere(made, X).gradients, expected)


@pytest.mark.parametrize("function", [np.sin, np.floor, np.mean, np.linalg.inv, np.einsum])
def test_a_function_that_has_a_rule_gets_no_other(function: Any) -> None:
    with pytest.raises(KeyError, match=f"{function.__name__} has a gradient rule already"):
        tj.register_gradient(function)(lambda op, dy: dy)
    with pytest.raises(KeyError, match=f"{function.__name__} has a gradient rule already"):
        tj.no_gradient(function)


@pytest.mark.parametrize(
    "function",
    [3, "sin", None, [], cubes, Model, tj.function(cubes), np.float64, np.ndarray, np.frombuffer],
    ids=lambda function: getattr(function, "__name__", str(function)),
)
def test_what_is_no_operation_has_no_rule(function: Any) -> None:
    handlers = dict(HANDLERS)
    for give in (tj.register_gradient, tj.no_gradient):
        with pytest.raises(
            NotAnOpError, match="is not an operation, so it cannot have a rule"
        ) as caught:
            give(function)
        assert isinstance(caught.value, TypeError)
        assert "tj.primitive" in str(caught.value)
    assert handlers == HANDLERS


def test_a_rule_must_be_callable() -> None:
    made = tj.primitive(cubes)
    with pytest.raises(ArgumentError, match="needs a function, got int"):
        tj.register_gradient(made)(3)
    tj.register_gradient(made)(lambda op, dy: dy)
    check(everywhere(made, X).gradients, ONE)


# A primitive that does not do as it says


@pytest.mark.parametrize(
    ("f", "result", "problem"),
    [
        (lambda x: x, tj.TensorSpec((2,)), r"returned shape \(3,\)"),
        (lambda x: x.astype(np.float32), tj.TensorSpec((3,)), "returned dtype float32"),
        (lambda x: (x, x), tj.TensorSpec((3,)), "returned 2 arrays in another structure"),
        (lambda x: x[x == 1.0], None, r"returned shape \(1,\)"),
        (lambda x: "text", None, "returned a str"),
        (lambda x: None, None, "returned a NoneType"),
        (lambda x: np.array([x, None], object), None, "returned an ndarray"),
    ],
)
def test_what_a_primitive_returns_is_checked(f: Any, result: Any, problem: str) -> None:
    made = tj.primitive(f, result=result)

    def program(x: Any) -> Any:
        return made(x)

    compiled = tj.function(program)
    x = tj.constant(X)
    errors = []
    for run in (lambda: program(x), lambda: compiled(x), lambda: compiled(X), lambda: compiled(X)):
        with pytest.raises(CallbackError, match=problem) as caught:
            run()
        assert isinstance(caught.value, ValueError)
        errors.append(str(caught.value))
    assert "return made(x)" in errors[0]
    assert len(set(errors)) == 1


@pytest.mark.parametrize("result", [None, tj.TensorSpec((3,))])
def test_an_error_in_a_primitive_keeps_its_type(result: Any) -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    made = tj.primitive(f, result=result)
    compiled = tj.function(lambda x: made(x))
    for run in (lambda: made(X), lambda: made(tj.constant(X)), lambda: compiled(X)):
        with pytest.raises(KeyError, match="mine"):
            run()


def test_a_primitive_keeps_no_array_alive() -> None:
    f = tj.primitive(lambda x: x * 2.0)
    x = tj.constant(np.ones(3))
    data = weakref.ref(x._value.data)
    f(x)
    del x
    gc.collect()
    assert data() is None


WEIGHTS = np.ones(2)


def test_an_array_that_a_rule_captures_may_change() -> None:
    twice = tj.primitive(lambda x: 2.0 * x)
    tj.register_gradient(twice)(lambda op, dy: dy * WEIGHTS)
    tj.register_gradient(np.unwrap)(lambda op, dy: dy * WEIGHTS)
    slopes = tj.grad(lambda x: np.sum(twice(x))), tj.grad(lambda x: np.sum(np.unwrap(x)))
    for slope in slopes:
        for weight in (1.0, 5.0):
            WEIGHTS[:] = weight
            np.testing.assert_array_equal(slope(np.ones(2)), np.full(2, weight))
