"""tj.callback: called with arrays of its own, once per call; its answer checked, and a constant."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import assert_same
from tests.tensorflow.modes import MODES, Program, plain
from tracejit.support.errors import CallbackError, NoGradientError

X = np.array([1.0, -2.0, 0.5])
M = np.arange(6.0).reshape(2, 3)
F4 = np.float32
F8 = tj.TensorSpec((3,), float)
NUMBER = tj.TensorSpec((), float)
EVERY_MODE = pytest.mark.parametrize("mode", MODES)
Wrap = Callable[[Any], Any]
WRAPS: dict[str, Wrap] = {"eager": lambda f: f, "compiled": tj.function}


@pytest.fixture(params=list(WRAPS))
def wrap(request: pytest.FixtureRequest) -> Wrap:
    """A function as it is, or compiled."""
    return WRAPS[request.param]


class Calls:
    """A callback that keeps what it is called with, and answers `answer(*args)`."""

    def __init__(self, answer: Callable[..., Any] | None = None) -> None:
        self.answer = answer
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        self.seen.append(args)
        return None if self.answer is None else self.answer(*args)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Box:
    w: Any
    name: str


class Trouble(Exception):
    """Of a test's own."""


# How it is called


def test_it_is_called_once_per_call(wrap: Wrap) -> None:
    calls = Calls()

    @wrap
    def f(x: Any) -> Any:
        tj.callback(calls, np.sum(x), x)
        return x * 2.0

    for k in range(1, 5):
        assert_same(f(k * X), k * X * 2.0)
        assert len(calls.seen) == k
        assert_same(calls.seen[-1], (np.sum(k * X), k * X))


def test_other_shapes_and_dtypes(wrap: Wrap) -> None:
    calls = Calls()

    @wrap
    def f(x: Any) -> Any:
        tj.callback(calls, x)
        return np.sum(x)

    given = [X, M, X.astype(F4), X, np.float64(2.0), 3.0, 4.0, 5.0]
    for x in given:
        f(x)
    assert_same([args[0] for args in calls.seen], given)


def test_recording_for_a_kernel_calls_nothing() -> None:
    calls = Calls(lambda x: x)

    @tj.function
    def f(x: Any) -> Any:
        tj.callback(calls, x)
        return tj.callback(calls, x, result=F8)

    f.kernel(X)
    assert calls.seen == []


def test_arguments_are_any_structure_of_arrays_and_objects(wrap: Wrap) -> None:
    calls, thing, v = Calls(), object(), tj.Variable(X)

    @wrap
    def f(x: Any, n: Any) -> Any:
        tj.callback(calls, "tag", {"x": x, "none": None}, [x[0] * 1.0, 1.5, 3], Pair(x, thing))
        tj.callback(calls, Box(x + 1.0, "box"), n, v, (), {}, float, calls)
        return x

    for n in (1, 2, 3):
        calls.seen.clear()
        f(X, n)
        first, second = calls.seen
        assert first[0] == "tag"
        assert_same(first[1]["x"], X)
        assert first[1]["none"] is None
        assert_same(first[2], [X[0] * 1.0, 1.5, 3])
        assert type(first[3]) is Pair
        assert_same(first[3].a, X)
        assert first[3].b is thing
        assert type(second[0]) is Box
        assert second[0].name == "box"
        assert_same(second[0].w, X + 1.0)
        assert second[1] == n
        assert type(second[1]) is int
        assert_same(second[2], X)
        assert second[3:6] == ((), {}, float)
        assert second[6] is calls


def test_numbers_and_scalars_keep_their_types(wrap: Wrap) -> None:
    calls = Calls()

    @wrap
    def f(x: Any, n: Any) -> Any:
        tj.callback(calls, np.sum(x), n, n + 1, n * 0.5, x[0], x > 0.0, len(x))
        return x

    for n in (1, 2, 3):
        f(X, n)
        assert_same(calls.seen[-1], (np.sum(X), n, n + 1, n * 0.5, X[0], X > 0.0, 3))


def test_constants_and_captured_arrays(wrap: Wrap) -> None:
    calls, captured = Calls(), X.copy()

    @wrap
    def f(x: Any) -> Any:
        tj.callback(calls, captured, np.ones(2), [1.0, 2.0])
        return x

    for _ in range(2):
        f(X)
        captured += 1.0
    assert_same([args[0] for args in calls.seen], [X, X + 1.0])
    assert_same(calls.seen[0][1:], (np.ones(2), [1.0, 2.0]))


def test_what_it_is_given_is_its_own(wrap: Wrap) -> None:
    """It may write into it, and keep it: neither the program nor another callback sees that."""
    calls, x = Calls(), X.copy()

    def spoil(a: Any) -> None:
        a.fill(99.0)

    @wrap
    def f(x: Any) -> Any:
        y = x * 2.0
        tj.callback(spoil, x)
        tj.callback(spoil, y)
        tj.callback(calls, x, y)
        tj.callback(lambda a: (spoil(a), a)[1], x, result=F8)
        return x, y

    for _ in range(2):
        assert_same(f(x), (X, X * 2.0))
        assert_same(x, X)
    x += 1.0
    for args in calls.seen:
        assert_same(args, (X, X * 2.0))


KINDS: dict[str, Callable[[Calls], Any]] = {
    "object": lambda calls: calls,
    "method": lambda calls: calls.__call__,
    "lambda": lambda calls: lambda x: calls(x),
    "partial": lambda calls: functools.partial(calls),
    "builtin": lambda calls: calls.seen.append,
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_callable(kind: str, wrap: Wrap) -> None:
    calls = Calls()
    called = KINDS[kind](calls)

    @wrap
    def f(x: Any) -> Any:
        tj.callback(called, x)
        return x

    for _ in range(2):
        f(X)
    assert_same([x for (x,) in calls.seen] if kind != "builtin" else calls.seen, [X, X])


def test_it_answers_nothing_where_no_result_is_named(wrap: Wrap) -> None:
    found = []

    @wrap
    def f(x: Any) -> Any:
        found.append(tj.callback(lambda x: 5.0, x))
        return x

    f(X)
    assert found == [None]


def test_without_arguments(wrap: Wrap) -> None:
    calls = Calls(lambda: 2.5)

    @wrap
    def f(x: Any) -> Any:
        tj.callback(calls)
        return x * tj.callback(calls, result=NUMBER)

    for k in (1, 2):
        assert_same(f(X), X * 2.5)
        assert len(calls.seen) == 2 * k


def test_in_functions_that_are_called(wrap: Wrap) -> None:
    calls = Calls()

    def tell(x: Any) -> Any:
        tj.callback(calls, x)
        return x + 1.0

    inner = tj.function(tell)
    f = wrap(lambda x: tell(inner(x)) * 2.0)
    for k in (1, 2):
        assert_same(f(X), (X + 2.0) * 2.0)
        assert_same([args[0] for args in calls.seen], k * [X, X + 1.0])


def test_a_method_with_effects(wrap: Wrap) -> None:
    class Model:
        def __init__(self) -> None:
            self.history: list[Any] = []

        def loss(self, x: Any) -> Any:
            y = np.sum(x * x)
            tj.callback(self.history.append, y)
            return y

    models = Model(), Model()
    for model in models:
        f = wrap(model.loss)
        f(X)
        f(2.0 * X)
    for model in models:
        assert_same(model.history, [np.sum(X * X), np.sum(4.0 * X * X)])


def test_in_threads() -> None:
    def answer(x: Any) -> Any:
        seen.append((threading.get_ident(), x[0]))
        return x * 2.0

    seen: list[Any] = []
    wrong: list[Any] = []
    f = tj.function(lambda x: tj.callback(answer, x, result=F8) + 1.0)
    f(X)
    seen.clear()

    def work(k: int) -> None:
        x = X + k
        found = [f(x) for _ in range(30)]
        wrong.extend(k for y in found if not np.array_equal(y, x * 2.0 + 1.0))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(seen) == 180
    for k in range(6):
        assert len({thread for thread, first in seen if first == X[0] + k}) == 1


# Its answer


RESULTS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "array": (F8, lambda x: x + 1.0),
    "no dimensions": (NUMBER, lambda x: np.sum(x)),
    "tuple": ((F8, NUMBER), lambda x: (x * 2.0, x.max())),
    "list": ([F8, F8], lambda x: [x, -x]),
    "one in a tuple": ((F8,), lambda x: (x,)),
    "dict": ({"b": F8, "a": NUMBER}, lambda x: {"b": x + 1.0, "a": x[0]}),
    "named": (Pair(F8, (NUMBER, F8)), lambda x: Pair(x, (x[1], 3.0 * x))),
    "integers": (tj.TensorSpec((3,), np.int64), lambda x: np.argsort(x)),
    "booleans": (tj.TensorSpec((3,), bool), lambda x: x > 0.0),
    "float32": (tj.TensorSpec((3,), F4), lambda x: x.astype(F4)),
    "complex": (tj.TensorSpec((3,), complex), lambda x: x * 1j),
    "empty": (tj.TensorSpec((0, 2), float), lambda x: np.ones((0, 2))),
    "larger": (tj.TensorSpec((2, 3), float), lambda x: np.stack([x, x])),
}


def arrays(answer: Any) -> Any:
    """An answer with arrays for its scalars, as the specs say."""
    if isinstance(answer, dict):
        return {key: arrays(value) for key, value in answer.items()}
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return type(answer)(*map(arrays, answer))
    if isinstance(answer, (list, tuple)):
        return type(answer)(map(arrays, answer))
    return np.asarray(answer)


@each_row("name", RESULTS)
def test_an_answer_has_the_structure_of_its_result(name: str, wrap: Wrap) -> None:
    result, answer = RESULTS[name]
    f = wrap(lambda x: tj.callback(answer, x, result=result))
    for k in (1.0, 2.0):
        assert_same(f(k * X), arrays(answer(k * X)))


def test_an_answer_is_an_array_to_compute_with(wrap: Wrap) -> None:
    def answer(x: Any) -> Any:
        return {"u": x + 1.0, "v": (x.sum(), np.int64(3))}

    specs = {"u": F8, "v": (NUMBER, tj.TensorSpec((), np.int64))}

    @wrap
    def f(x: Any) -> Any:
        found = tj.callback(answer, x, result=specs)
        return found["u"] * x, found["v"][0] + 1.0, x[:1] * found["v"][1], found["u"].shape

    for k in (1.0, 2.0):
        x = k * X
        assert_same(f(x), ((x + 1.0) * x, np.sum(x) + 1.0, x[:1] * 3, (3,)))


@pytest.mark.parametrize("used", [(), (0,), (1,), (2,), (0, 2)])
def test_each_of_several_answers(used: tuple[int, ...]) -> None:
    calls = Calls(lambda x: (x, 2.0 * x, 3.0 * x))

    @tj.function
    def f(x: Any) -> Any:
        found = tj.callback(calls, x, result=(F8, F8, F8))
        return x + sum(found[k] for k in used)

    for count in (1, 2):
        np.testing.assert_allclose(f(X), X + sum((k + 1.0) * X for k in used), rtol=1e-15)
        assert len(calls.seen) == count


def test_an_answer_that_nobody_uses_is_asked_for_all_the_same(wrap: Wrap) -> None:
    calls = Calls(lambda x: x)

    @wrap
    def f(x: Any) -> Any:
        tj.callback(calls, x, result=F8)
        return x

    for count in (1, 2):
        f(X)
        assert len(calls.seen) == count


def test_equal_callbacks_are_two_calls(wrap: Wrap) -> None:
    """What is computed twice is one operation elsewhere."""
    calls = Calls(lambda x: x * len(calls.seen))
    f = wrap(lambda x: tj.callback(calls, x, result=F8) + tj.callback(calls, x, result=F8))
    assert_same(f(X), X * 1 + X * 2)
    assert_same(f(X), X * 3 + X * 4)


def test_numbers_are_answers_where_they_fit(wrap: Wrap) -> None:
    for number, dtype in ((3.5, float), (3, float), (3, np.int64), (True, bool), (2, complex)):
        f = wrap(
            lambda x, n=number, t=dtype: tj.callback(lambda _: n, x, result=tj.TensorSpec((), t))
        )
        assert_same(f(X), np.array(number, dtype))
    f = wrap(lambda x: tj.callback(lambda _: 3.5, x, result=tj.TensorSpec((), F4)))
    assert_same(f(X), np.array(3.5, F4))


def test_an_answer_is_copied(wrap: Wrap) -> None:
    """Neither what it keeps nor what it was given is the result."""
    kept = X.copy()

    @wrap
    def f(x: Any) -> Any:
        return (
            tj.callback(lambda _: kept, x, result=F8),
            tj.callback(lambda a: a, x, result=F8),
            tj.callback(lambda a: (a, a), x, result=(F8, F8)),
        )

    x = X.copy()
    one, other, (first, second) = f(x)
    kept += 1.0
    for found in (one, other, first, second):
        assert_same(found, X)
        assert not np.shares_memory(found, x)
    assert not np.shares_memory(first, second)


def test_the_result_may_be_described_by_a_tensor() -> None:
    f = tj.function(lambda x: tj.callback(np.sin, x, result=x) * 2.0)
    for x in (X, M, X.astype(F4)):
        assert_same(f(x), np.sin(x) * 2.0)


def test_views_of_an_answer(wrap: Wrap) -> None:
    f = wrap(lambda x: tj.callback(lambda a: a[::-1], x, result=F8))
    assert_same(f(X), X[::-1])


# Answers that do not fit


WRONG: dict[str, tuple[Any, Callable[..., Any], str]] = {
    "shape": (F8, lambda x: x[:2], r"shape \(2,\)"),
    "number of dimensions": (F8, lambda x: x[:, None], r"shape \(3, 1\)"),
    "scalar": (F8, lambda x: 1.0, r"shape \(\)"),
    "dtype": (F8, lambda x: x.astype(F4), "dtype float32"),
    "integers": (F8, lambda x: np.arange(3), "dtype int64"),
    "byte order": (F8, lambda x: x.astype(">f8"), "dtype >f8"),
    "scalar dtype": (NUMBER, lambda x: np.int64(1), "dtype int64"),
    "none": (F8, lambda x: None, "NoneType"),
    "text": (F8, lambda x: "abc", "str"),
    "tensor of another library": (F8, lambda x: np.ma.array(x), "MaskedArray"),
    "tuple for array": (F8, lambda x: (x, x), "structure"),
    "array for tuple": ((F8, F8), lambda x: x, "structure"),
    "too few": ((F8, F8), lambda x: (x,), "structure"),
    "other keys": ({"a": F8}, lambda x: {"b": x}, "structure"),
    "float for int": (tj.TensorSpec((), np.int64), lambda x: 3.7, "returned 3.7"),
    "complex for float": (NUMBER, lambda x: 1j, "returned 1j"),
    "too large": (tj.TensorSpec((), np.uint8), lambda x: 300, "returned 300"),
    "nan for int": (tj.TensorSpec((), np.int64), lambda x: float("nan"), "returned nan"),
}


@each_row("name", WRONG)
def test_an_answer_that_does_not_fit_is_named(name: str, wrap: Wrap) -> None:
    result, answer, problem = WRONG[name]

    def measured(x: Any) -> Any:
        return answer(x)

    f = wrap(lambda x: tj.callback(measured, x, result=result))
    for _ in range(2):
        with pytest.raises(CallbackError, match=problem) as caught:
            f(X)
        assert isinstance(caught.value, ValueError)
        assert "the callback measured returned" in str(caught.value)
        assert "tj.callback(measured, x, result=result)" in str(caught.value)


def test_the_name_of_a_callable_object_is_that_of_its_class(wrap: Wrap) -> None:
    calls = Calls(lambda x: x[:2])
    with pytest.raises(CallbackError, match="the callback Calls returned"):
        wrap(lambda x: tj.callback(calls, x, result=F8))(X)


@pytest.mark.parametrize("result", ["f8[3]", float, 3.0, (F8, "f8")])
def test_a_result_is_described_by_specs(result: Any, wrap: Wrap) -> None:
    with pytest.raises(TypeError, match="TensorSpec"):
        wrap(lambda x: tj.callback(lambda a: a, x, result=result))(X)


# Errors in it


@pytest.mark.parametrize("result", [None, F8], ids=["no result", "result"])
def test_an_exception_keeps_its_type_and_text(result: Any, wrap: Wrap) -> None:
    error = Trouble("the disk is full")

    def fails(x: Any) -> Any:
        raise error

    @wrap
    def f(x: Any) -> Any:
        found = tj.callback(fails, x, result=result)
        return x if found is None else found

    for _ in range(2):
        with pytest.raises(Trouble, match="the disk is full") as caught:
            f(X)
        assert caught.value is error


@pytest.mark.parametrize("result", [None, F8], ids=["no result", "result"])
def test_one_that_fails_is_called_once(result: Any, wrap: Wrap) -> None:
    calls = Calls()

    def fails(x: Any) -> Any:
        calls(x)
        raise Trouble

    @wrap
    def f(x: Any) -> Any:
        tj.callback(fails, x, result=result)
        return x

    for count in (1, 2, 3):
        with pytest.raises(Trouble):
            f(X)
        assert len(calls.seen) == count


def test_one_that_fails_now_and_then() -> None:
    def answer(x: Any) -> Any:
        if x[0] < 0.0:
            raise Trouble
        return x

    f = tj.function(lambda x: tj.callback(answer, x, result=F8) * 2.0)
    assert_same(f(X), X * 2.0)
    with pytest.raises(Trouble):
        f(-X)
    assert_same(f(X), X * 2.0)
    assert f.tracing_count == 1


# Gradients


@EVERY_MODE
def test_it_is_called_once_by_a_gradient(mode: str) -> None:
    calls, answers = Calls(), Calls(np.cos)

    def f(x: Any) -> Any:
        y = np.sin(x)
        tj.callback(calls, y)
        return y * tj.callback(answers, tj.stop_gradient(x), result=F8)

    way, take, twice = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for count in (1, 2, 3):
        y, (found,) = plain(run())
        np.testing.assert_allclose(y, np.sin(X) * np.cos(X), rtol=1e-15)
        np.testing.assert_allclose(found, np.cos(X) ** 2, rtol=1e-15)
        assert len(calls.seen) == len(answers.seen) == count
        assert_same(calls.seen[-1], (np.sin(X),))
    calls.seen.clear()
    answers.seen.clear()
    (found,) = plain(way(twice, Program(f, [tj.constant(X)], []))())
    np.testing.assert_allclose(found, -np.sin(X) * np.cos(X), rtol=1e-15)
    assert len(calls.seen) == len(answers.seen) == 1


def test_value_and_grad_calls_once() -> None:
    calls, answers = Calls(), Calls(np.cos)

    def f(x: Any) -> Any:
        tj.callback(calls, x)
        return np.sum(np.sin(x) * tj.callback(answers, tj.stop_gradient(x), result=F8))

    both, slope = tj.value_and_grad(f), tj.grad(f)
    for count in (1, 2):
        np.testing.assert_allclose(both(X)[1], np.cos(X) ** 2, rtol=1e-15)
        assert len(calls.seen) == len(answers.seen) == 2 * count - 1
        np.testing.assert_allclose(slope(X), np.cos(X) ** 2, rtol=1e-15)
        assert len(calls.seen) == len(answers.seen) == 2 * count


def test_the_backward_part_of_a_kernel_does_not_ask_again() -> None:
    answers = Calls(np.cos)

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * tj.callback(answers, tj.stop_gradient(x), result=F8))

    kernel = tj.value_and_grad(f).kernel(X)
    backward = kernel.source.split("def backward")[1].split("def value_and_grad")[0]
    assert "callback(" not in "\n".join(
        line for line in backward.splitlines() if not line.strip().startswith("#")
    )


@EVERY_MODE
def test_differentiating_through_an_answer_names_it_and_the_line(mode: str) -> None:
    def f(x: Any) -> Any:
        y = tj.callback(np.sin, x, result=F8)
        return np.sum(y)

    way, take, _ = MODES[mode]
    with pytest.raises(LookupError) as caught:
        way(take, Program(f, [tj.constant(X)], []))()
    assert type(caught.value) is NoGradientError
    assert "no gradient is known for callback" in str(caught.value)
    assert "y = tj.callback(np.sin, x, result=F8)" in str(caught.value)


@EVERY_MODE
def test_stop_gradient_cuts_it(mode: str) -> None:
    def before(x: Any) -> Any:
        return np.sum(tj.callback(np.sin, tj.stop_gradient(x), result=F8) * x)

    def after(x: Any) -> Any:
        return np.sum(tj.stop_gradient(tj.callback(np.sin, x, result=F8)) * x)

    way, take, _ = MODES[mode]
    for f in (before, after):
        (found,) = plain(way(take, Program(f, [tj.constant(X)], []))())[1]
        np.testing.assert_allclose(found, np.sin(X), rtol=1e-15)


@EVERY_MODE
def test_a_custom_gradient_gives_it_a_rule(mode: str) -> None:
    @tj.custom_gradient
    def sine(x: Any) -> Any:
        y = tj.callback(np.sin, x, result=F8)
        return y, lambda g: g * tj.callback(np.cos, x, result=F8)

    way, take, _ = MODES[mode]
    run = way(take, Program(lambda x: sine(x) * x, [tj.constant(X)], []))
    for _ in range(2):
        y, (found,) = plain(run())
        np.testing.assert_allclose(y, np.sin(X) * X, rtol=1e-15)
        np.testing.assert_allclose(found, np.sin(X) + X * np.cos(X), rtol=1e-15)


@EVERY_MODE
def test_a_callback_in_a_rule_shows_the_cotangent(mode: str) -> None:
    calls = Calls()

    @tj.custom_gradient
    def shown(x: Any) -> Any:
        def grad(g: Any) -> Any:
            tj.callback(calls, g)
            return g

        return x * 1.0, grad

    way, take, _ = MODES[mode]
    run = way(take, Program(lambda x: shown(np.sin(x)) * 3.0, [tj.constant(X)], []))
    for count in (1, 2):
        _, (found,) = plain(run())
        np.testing.assert_allclose(found, 3.0 * np.cos(X), rtol=1e-15)
        assert len(calls.seen) == count
        assert_same(calls.seen[-1], (np.full(3, 3.0),))


@EVERY_MODE
def test_integers_in_an_answer_are_not_connected(mode: str) -> None:
    def f(x: Any) -> Any:
        order = tj.callback(np.argsort, x, result=tj.TensorSpec((3,), np.int64))
        return np.sum(order * x)

    way, take, _ = MODES[mode]
    (found,) = plain(way(take, Program(f, [tj.constant(X)], []))())[1]
    np.testing.assert_array_equal(found, np.argsort(X))


@EVERY_MODE
def test_no_tape_sees_what_it_computes(mode: str) -> None:
    v = tj.Variable(2.0)

    def inside(x: Any) -> Any:
        return (v * tj.constant(x)).numpy()

    def f(x: Any) -> Any:
        return np.sum(x * tj.callback(inside, tj.stop_gradient(x), result=F8))

    way, take, _ = MODES[mode]
    _, (found, found_v) = plain(way(take, Program(f, [tj.constant(X)], [v]))())
    np.testing.assert_allclose(found, 2.0 * X, rtol=1e-15)
    assert found_v is None


@EVERY_MODE
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_computed_again_calls_nothing_again(mode: str, nested: bool) -> None:
    calls, answers = Calls(), Calls(np.cos)

    @tj.recompute_grad
    def region(x: Any) -> Any:
        y = np.sin(x)
        tj.callback(calls, y)
        return y * tj.callback(answers, tj.stop_gradient(x), result=F8)

    f = tj.recompute_grad(lambda x: region(x) * 2.0) if nested else lambda x: region(x) * 2.0
    way, take, _ = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for count in (1, 2):
        y, (found,) = plain(run())
        np.testing.assert_allclose(y, 2.0 * np.sin(X) * np.cos(X), rtol=1e-15)
        np.testing.assert_allclose(found, 2.0 * np.cos(X) ** 2, rtol=1e-15)
        assert len(calls.seen) == len(answers.seen) == count


# What it may do


def test_it_may_compute_gradients_and_call_functions(wrap: Wrap) -> None:
    slope = tj.grad(lambda z: np.sum(np.sin(z)))
    f = wrap(lambda x: tj.callback(slope, x, result=F8))
    for x in (X, 2.0 * X):
        np.testing.assert_allclose(f(x), np.cos(x), rtol=1e-15)


def test_it_may_call_the_function_that_calls_it() -> None:
    @tj.function
    def up(x: Any) -> Any:
        return tj.callback(lambda a: a if a[0] > 5.0 else up(a + 1.0), x, result=F8)

    assert_same(up(X), X + 5.0)


def test_it_may_open_a_tape(wrap: Wrap) -> None:
    def slope(a: Any) -> Any:
        x = tj.constant(a)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x**2)
        return tape.gradient(y, x).numpy()

    f = wrap(lambda x: tj.callback(slope, x, result=F8))
    assert_same(f(X), 2.0 * X)


# Outside functions


def test_outside_functions_arrays_stay_arrays_and_tensors_tensors() -> None:
    calls = Calls(lambda x: x * 2.0)
    assert_same(tj.callback(calls, X, result=F8), 2.0 * X)
    found = tj.callback(calls, tj.constant(X), result=F8)
    assert isinstance(found, tj.Tensor)
    assert_same(found.numpy(), 2.0 * X)
    found = tj.callback(calls, tj.Variable(X), result=F8)
    assert_same(found.numpy(), 2.0 * X)
    assert all(type(args[0]) is np.ndarray for args in calls.seen)
    assert tj.callback(calls, X) is None
    assert len(calls.seen) == 4


def test_outside_functions_it_gets_copies_too() -> None:
    x = X.copy()
    tj.callback(lambda a: a.fill(9.0), x)
    assert_same(x, X)
    t = tj.constant(X)
    tj.callback(lambda a: a.fill(9.0), t)
    assert_same(t.numpy(), X)


# The generated text


def test_a_call_is_a_line_of_the_module() -> None:
    f = tj.function(lambda x: tj.callback(np.sort, x * 2.0, result=F8) + 1.0)
    assert "= sort(x * c2)\n" in f.kernel(X).source
