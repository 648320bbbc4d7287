"""What TensorFlow's grad_pass_through, recompute_grad and stop_gradient do, one test per numbered
fact: programs of gradients in four modes that must agree (see modes.py), others where they stand.

Where tracejit does better than TensorFlow, the test says so.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.compare import alike, assert_same
from tests.tensorflow.modes import MODES, Program, plain
from tests.tensorflow.namespace import V, c

EVERY_MODE = pytest.mark.parametrize("mode", MODES)
sg = tj.stop_gradient


def first(make: Callable[[], Program], mode: str) -> Any:
    """The value and the gradients of a fresh program."""
    way, take, _ = MODES[mode]
    with np.errstate(all="ignore"):
        return plain(way(take, make())())


def second(make: Callable[[], Program], mode: str) -> Any:
    """The gradients of its first gradient by its arguments."""
    way, _, take = MODES[mode]
    with np.errstate(all="ignore"):
        return plain(way(take, make())())


def arr(*numbers: float) -> Any:
    return np.array(numbers)


class Fact(NamedTuple):
    """A program with its value, its gradients, and its second order: "" where there is none to
    compare."""

    make: Callable[[], Program]
    y: Any
    grads: list[Any]
    second: Any = ""


def check(fact: Fact, mode: str) -> None:
    alike(first(fact.make, mode), [fact.y, fact.grads])
    if fact.second != "":
        alike(second(fact.make, mode), fact.second)


# Programs of grad_pass_through


def assigned_203() -> Program:
    """The documented x.assign: the value is the argument's, x itself gets nothing."""
    x = V(1.0, name="x")
    return Program(lambda z: tj.grad_pass_through(x.assign)(z**2), [c(3.0)], [x])


def moving_average_204() -> Program:
    avg = V(10.0, trainable=False)

    def moving_average(x: Any) -> Any:
        return avg.assign(avg * 0.9 + x * 0.1)

    return Program(lambda x: tj.grad_pass_through(moving_average)(x) * 3.0, [c(20.0)], [])


def polynomial_205() -> Program:
    return Program(tj.grad_pass_through(lambda x: np.square(x) + 2.0 * x), [c(3.0)], [])


def relu_206() -> Program:
    @tj.grad_pass_through
    def custom_relu(x: Any) -> Any:
        return np.maximum(x, 0.0)

    return Program(lambda x: 3.0 * custom_relu(x) + 2.0, [c([-1.0, 0.0, 2.0, 4.0])], [])


def crosswise_208() -> Program:
    """Cotangent number i goes to argument number i, whatever f does."""

    def g(x: Any, y: Any) -> Any:
        a, b = tj.grad_pass_through(lambda x, y: (y * 100.0, x * 1000.0))(x, y)
        return a * 3.0 + b * 5.0

    return Program(g, [c(2.0), c(3.0)], [])


def dicts_209() -> Program:
    """Leaves are in order of sorted keys: p is matched with a, q with b."""

    def g(x: Any, y: Any) -> Any:
        renamed = tj.grad_pass_through(lambda d: {"q": d["a"] * 7.0, "p": d["b"] * 8.0})
        r = renamed({"a": x, "b": y})
        return r["q"] * 3.0 + r["p"] * 5.0

    return Program(g, [c(2.0), c(3.0)], [])


def cast_211() -> Program:
    """The cotangent is cast back to the argument's dtype, which TensorFlow leaves out."""
    return Program(tj.grad_pass_through(lambda x: x.astype(np.float32)), [c(3.0)], [])


def keyword_212() -> Program:
    return Program(lambda x: tj.grad_pass_through(lambda x, k=1.0: x * k)(x, k=5.0), [c(3.0)], [])


def tensor_by_keyword_212() -> Program:
    """An array by keyword is an argument like any other."""

    def g(x: Any, y: Any) -> Any:
        a, b = tj.grad_pass_through(lambda x, y: (x * 7.0, y * 8.0))(x, y=y)
        return a * 3.0 + b * 5.0

    return Program(g, [c(2.0), c(3.0)], [])


def variable_213() -> Program:
    w = V(4.0)
    return Program(tj.grad_pass_through(lambda x: x * w), [c(3.0)], [w])


def floor_214() -> Program:
    return Program(lambda x: tj.grad_pass_through(np.floor)(x * x) * x, [c(1.5)], [])


PASS_THROUGH: Mapping[str, Fact] = {
    "203": Fact(assigned_203, 9.0, [6.0, None], [2.0]),
    "204": Fact(moving_average_204, 33.0, [3.0], [None]),
    "205": Fact(polynomial_205, 15.0, [1.0], [None]),
    "206": Fact(relu_206, arr(2.0, 2.0, 8.0, 14.0), [3.0 * np.ones(4)], [None]),
    "208": Fact(crosswise_208, 10900.0, [3.0, 5.0], [None, None]),
    "209": Fact(dicts_209, 162.0, [5.0, 3.0], [None, None]),
    "211": Fact(cast_211, np.float32(3.0), [1.0], [None]),
    "212": Fact(keyword_212, 15.0, [1.0], [None]),
    "212 with a tensor": Fact(tensor_by_keyword_212, 14.0 * 3 + 24.0 * 5, [3.0, 5.0]),
    "213": Fact(variable_213, 12.0, [1.0, None], [None]),
    "214": Fact(floor_214, 3.0, [6.5], [9.0]),
}


@EVERY_MODE
@each_row("number", PASS_THROUGH)
def test_fact_of_grad_pass_through(number: str, mode: str) -> None:
    check(PASS_THROUGH[number], mode)


@EVERY_MODE
def test_203_and_204_assign_once(mode: str) -> None:
    given = assigned_203()
    first(lambda: given, mode)
    alike(given.variables[0].numpy(), 9.0)
    avg = V(10.0, trainable=False)

    @tj.grad_pass_through
    def moving_average(x: Any) -> Any:
        return avg.assign(avg * 0.9 + x * 0.1)

    given = Program(moving_average, [c(20.0)], [])
    alike(first(lambda: given, mode), [11.0, [1.0]])
    alike(avg.numpy(), 11.0)
    alike(first(lambda: given, mode)[0], 11.0 * 0.9 + 2.0)
    alike(avg.numpy(), 11.9)


@EVERY_MODE
@pytest.mark.parametrize(
    ("number", "function", "args", "problem"),
    [
        ("207", lambda x, y: x * y, (2.0, 3.0), "1 results for 2 array arguments"),
        ("210", np.sum, ([1.0, 2.0, 3.0],), r"result 0 has shape \(\), its argument \(3,\)"),
    ],
    ids=["207", "210"],
)
def test_207_and_210_results_that_do_not_match_are_refused_at_the_call(
    number: str, function: Any, args: Any, problem: str, mode: str
) -> None:
    """TensorFlow fails at the gradient, in each mode otherwise, or not at all."""

    def make() -> Program:
        return Program(tj.grad_pass_through(function), [c(x) for x in args], [])

    with pytest.raises(ValueError, match=problem):
        first(make, mode)
    with pytest.raises(ValueError, match=problem):
        make().f(*make().args)


def test_215_attributes_and_methods() -> None:
    def base(x: Any) -> Any:
        "doc"
        return x

    g = tj.grad_pass_through(base)
    assert (g.__name__, g.__doc__, g.__wrapped__ is base) == ("base", "doc", True)

    class A:
        @tj.grad_pass_through
        def m(self, x: Any) -> Any:
            return x * 5.0

    assert A().m(c(2.0)).numpy() == 10.0

    def make() -> Program:
        return Program(A().m, [c(2.0)], [])

    for mode in MODES:
        alike(first(make, mode), [10.0, [1.0]])


# Programs of recompute_grad


def chain_216() -> Program:
    """Four times f one after the other: r = y**4."""
    y = V(2.0)
    g = tj.recompute_grad(lambda x: x * y)
    return Program(lambda x: g(g(g(g(x)))), [c(1.0)], [y])


def variable_217() -> Program:
    w = V([1.0, 2.0])
    return Program(tj.recompute_grad(lambda x: np.sin(x * w) * x), [c([0.5, 1.5])], [w])


def keyword_219() -> Program:
    f = tj.recompute_grad(lambda x, k=1.0: x * x * k)
    return Program(lambda x: f(x, k=5.0), [c(3.0)], [])


def tensor_by_keyword_219() -> Program:
    f = tj.recompute_grad(lambda x, *, k: x * x * k)
    return Program(lambda x, k: f(x, k=k), [c(3.0), c(5.0)], [])


def closure_220() -> Program:
    """What f closes over has its gradient, which TensorFlow loses."""
    return Program(lambda x, k: tj.recompute_grad(lambda a: a * a * k)(x), [c(2.0), c(5.0)], [])


def ignored_221() -> Program:
    return Program(tj.recompute_grad(lambda x, z: x * x), [c(3.0), c([1.0, 2.0])], [])


def several_222() -> Program:
    w, u = V(4.0, name="w"), V(5.0, name="u")

    def g(x: Any) -> Any:
        a, b = tj.recompute_grad(lambda x: (x * w, x * x * u))(x)
        return a * 2.0 + b

    return Program(g, [c(3.0)], [w, u])


def number_223() -> Program:
    f = tj.recompute_grad(lambda a, k: a * a * k)
    return Program(lambda x: f(x, 3.0), [c(2.0)], [])


def integer_224() -> Program:
    f = tj.recompute_grad(lambda a, i: a * i.astype(np.float64))
    return Program(f, [c(2.0), tj.constant(3)], [])


def power_225() -> Program:
    return Program(tj.recompute_grad(lambda x: x**4), [c(2.0)], [])


def inner_gradient_226() -> Program:
    """By w first, so that the second order is that of the first gradient by w."""
    f = tj.recompute_grad(lambda w, x: x * w**3)
    return Program(f, [c(3.0), c(2.0)], [])


def nested_228() -> Program:
    inner = tj.recompute_grad(lambda x: x * x)
    return Program(tj.recompute_grad(lambda x: inner(inner(x))), [c(2.0)], [])


def assigned_231() -> Program:
    n = V(0.0, trainable=False)

    def f(x: Any) -> Any:
        n.assign_add(1.0)
        return x * n

    return Program(tj.recompute_grad(f), [c(2.0)], [])


def changed_232() -> Program:
    """The gradient belongs to the values that w had at the call, which TensorFlow forgets."""
    w = V(3.0)
    f = tj.recompute_grad(lambda a: a * w * w)

    def g(x: Any) -> Any:
        y = f(x)
        w.assign(10.0)
        return y

    return Program(g, [c(2.0)], [w])


def rule_233() -> Program:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: dy * 10.0

    return Program(tj.recompute_grad(lambda x: f(x) * 3.0), [c(2.0)], [])


def loop_234() -> Program:
    w = V(1.5)
    h = tj.recompute_grad(lambda x: x * w)

    def g(x: Any) -> Any:
        for _ in range(3):
            x = h(x)
        return x

    return Program(g, [c(2.0)], [w])


_X, _W = arr(0.5, 1.5), arr(1.0, 2.0)
_XW = _X * _W

RECOMPUTE: Mapping[str, Fact] = {
    "216": Fact(chain_216, 16.0, [16.0, 32.0], [None]),
    "217": Fact(
        variable_217,
        np.sin(_XW) * _X,
        [_W * np.cos(_XW) * _X + np.sin(_XW), np.cos(_XW) * _X * _X],
        [2 * _W * np.cos(_XW) - _W**2 * _X * np.sin(_XW)],
    ),
    "219": Fact(keyword_219, 45.0, [30.0], [10.0]),
    "219 with a tensor": Fact(tensor_by_keyword_219, 45.0, [30.0, 9.0], [10.0, 6.0]),
    "220": Fact(closure_220, 20.0, [20.0, 4.0], [10.0, 4.0]),
    "221": Fact(ignored_221, 9.0, [6.0, None], [2.0, None]),
    "222": Fact(several_222, 69.0, [38.0, 6.0, 9.0], [10.0]),
    "223": Fact(number_223, 12.0, [12.0], [6.0]),
    "224": Fact(integer_224, 6.0, [3.0, None], [None, None]),
    "225": Fact(power_225, 16.0, [32.0], [48.0]),
    "226": Fact(inner_gradient_226, 54.0, [54.0, 27.0], [36.0, 27.0]),
    "228": Fact(nested_228, 16.0, [32.0], [48.0]),
    "231": Fact(assigned_231, 2.0, [1.0], [None]),
    "232": Fact(changed_232, 18.0, [9.0, 12.0], [None]),
    "233": Fact(rule_233, 12.0, [30.0], [None]),
    "234": Fact(loop_234, 6.75, [3.375, 13.5], [None]),
}


@EVERY_MODE
@each_row("number", RECOMPUTE)
def test_fact_of_recompute_grad(number: str, mode: str) -> None:
    check(RECOMPUTE[number], mode)


def test_216_f_runs_once_forward_and_once_for_the_gradient() -> None:
    runs = []
    y = V(2.0)

    @tj.recompute_grad
    def g(x: Any) -> Any:
        runs.append(1)
        return x * y

    with tj.GradientTape() as tape:
        r = c(1.0)
        for _ in range(4):
            r = g(r)
    assert len(runs) == 4
    alike(plain([r, tape.gradient(r, [y])]), [16.0, [32.0]])
    assert len(runs) == 8


class Counted:
    """f of fact 218: how often Python runs it, and how often its assignment takes place.

    The runs are counted where a recording does not look: a function that changes an attribute or a
    list is recorded at each call.
    """

    def __init__(self) -> None:
        self.written = V(0.0, trainable=False)
        self.g = tj.recompute_grad(self.f)

    def f(self, x: Any) -> Any:
        print("f")  # noqa: T201
        self.written.assign_add(1.0)
        return x * x * x

    def count(self, run: Callable[[], Any]) -> tuple[int, float]:
        self.written.assign(0.0)
        with redirect_stdout(StringIO()) as printed:
            run()
        return printed.getvalue().count("f"), float(self.written.numpy())

    def taped(self, g: Any, times: int) -> None:
        x = c(2.0)
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = g(x)
        for _ in range(times):
            alike(plain(tape.gradient(y, x)), 12.0)


def test_218_runs_and_assignments_of_eager_calls() -> None:
    """The assignment takes place in the forward run only; TensorFlow repeats it."""
    counted = Counted()
    g = counted.g
    assert counted.count(lambda: counted.taped(g, 0)) == (1, 1.0)
    assert counted.count(lambda: counted.taped(g, 1)) == (2, 1.0)
    assert counted.count(lambda: counted.taped(g, 2)) == (3, 1.0)
    assert counted.count(lambda: g(c(2.0))) == (1, 1.0)
    assert counted.count(lambda: g(np.float64(2.0))) == (1, 1.0)


def test_218_runs_and_assignments_of_compiled_calls() -> None:
    """Python runs f while recording, only; the assignment takes place once at every call."""
    counted = Counted()
    compiled = tj.function(counted.g)
    assert counted.count(lambda: counted.taped(compiled, 1)) == (1, 1.0)
    assert counted.count(lambda: counted.taped(compiled, 2)) == (0, 1.0)

    @tj.function
    def inside(x: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = counted.g(x)
        return tape.gradient(y, x)

    @tj.function
    def by_gradients(x: Any) -> Any:
        return tj.gradients(counted.g(x), x)[0]

    def taken(whole: Any) -> tuple[int, float]:
        return counted.count(lambda: alike(plain(whole(c(2.0))), 12.0))

    assert [taken(inside), taken(inside)] == [(1, 1.0), (0, 1.0)]
    assert [taken(by_gradients), taken(by_gradients)] == [(1, 1.0), (0, 1.0)]


def test_226_second_order_by_a_variable_read_inside() -> None:
    w = V(3.0)
    g = tj.recompute_grad(lambda x: x * w**3)

    def both(x: Any) -> Any:
        with tj.GradientTape() as outer:
            with tj.GradientTape() as tape:
                y = g(x)
            d = tape.gradient(y, w)
        return d, outer.gradient(d, w)

    alike(plain(both(c(2.0))), [54.0, 36.0])
    alike(plain(tj.function(both)(c(2.0))), [54.0, 36.0])


def test_228_how_often_nested_functions_run() -> None:
    """The outer region runs once more; the inner ones for that, and once each of their own."""
    runs = {"inner": 0, "outer": 0}

    @tj.recompute_grad
    def inner(x: Any) -> Any:
        runs["inner"] += 1
        return x * x

    @tj.recompute_grad
    def outer(x: Any) -> Any:
        runs["outer"] += 1
        return inner(inner(x))

    x = c(2.0)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert runs == {"inner": 2, "outer": 1}
    alike(plain([y, tape.gradient(y, x)]), [16.0, 32.0])
    assert runs == {"inner": 6, "outer": 2}


@pytest.mark.parametrize(("recompute", "arrays"), [(True, 5), (False, 20)])
def test_229_what_an_eager_tape_keeps_of_a_chain(recompute: bool, arrays: int) -> None:
    """Twenty results kept, or the last one and what is on its way."""

    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x)
        return x

    x = c(np.ones(10_000))
    tracemalloc.start()
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = (tj.recompute_grad(f) if recompute else f)(x)
    kept = tracemalloc.get_traced_memory()[0] / 80_000
    tracemalloc.stop()
    assert kept < arrays if recompute else kept >= arrays
    assert tape.gradient(y, x) is not None


def test_230_the_same_random_numbers_are_drawn_again() -> None:
    """TensorFlow draws new ones, so that its gradient belongs to another sample."""
    masks: list[Any] = []
    generator = np.random.default_rng(1)

    def f(x: Any) -> Any:
        mask = (generator.uniform(size=8) > 0.5).astype(np.float64)
        masks.append(mask)
        return x * mask

    x = c(np.ones(8))
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = tj.recompute_grad(f)(x)
    found = tape.gradient(y, x)
    assert len(masks) == 2
    assert 0 < masks[0].sum() < 8
    assert_same(masks[1], masks[0])
    assert_same(found.numpy(), masks[0])


@EVERY_MODE
def test_231_an_assignment_takes_place_once(mode: str) -> None:
    n = V(0.0, trainable=False)

    def f(x: Any) -> Any:
        n.assign_add(1.0)
        return x * n

    given = Program(tj.recompute_grad(f), [c(2.0)], [])
    alike(first(lambda: given, mode), [2.0, [1.0]])
    alike(n.numpy(), 1.0)
    alike(first(lambda: given, mode), [4.0, [2.0]])
    alike(n.numpy(), 2.0)


# Programs of stop_gradient


def softmax(x: Any) -> Any:
    e = np.exp(x)
    return e / np.sum(e)


def stable_softmax(x: Any) -> Any:
    e = np.exp(x - sg(np.max(x)))
    return (e / np.sum(e))[0]


def stopped_variable_243() -> Program:
    v = V(4.0)
    return Program(lambda x: x * sg(v) + v * 3.0, [c(2.0)], [v])


def rule_not_called_244() -> Program:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            raise RuntimeError("called")

        return x * x, grad

    return Program(lambda x: sg(f(x)) + x, [c(2.0)], [])


def stopped_in_the_body_245() -> Program:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return sg(x * x), lambda dy: dy * 10.0

    return Program(f, [c(2.0)], [])


def stopped_in_the_rule_246() -> Program:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x**3, lambda dy: dy * sg(3.0 * x * x)

    return Program(f, [c(2.0)], [])


def zeros_248() -> Program:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.copy(x), lambda dy: np.zeros_like(dy)

    return Program(f, [c(3.0)], [])


_NAN = np.array([np.nan, np.nan])
_P = softmax(arr(-1.0, 0.0, 0.0))

STOP: Mapping[str, Fact] = {
    "235": Fact(lambda: Program(lambda x: sg(x * x), [c(3.0)], []), 9.0, [None], None),
    # None at second order in every mode; TensorFlow answers zeros in one of them.
    "236": Fact(lambda: Program(lambda x: x * sg(x), [c(3.0)], []), 9.0, [3.0], [None]),
    "237": Fact(
        lambda: Program(lambda x: softmax(x)[0], [c([1000.0, 1001.0])], []), np.nan, [_NAN]
    ),
    "238": Fact(
        lambda: Program(stable_softmax, [c([1000.0, 1001.0, 1001.0])], []),
        _P[0],
        [_P[0] * (arr(1.0, 0.0, 0.0) - _P)],
    ),
    "239": Fact(
        lambda: Program(lambda x: (x + sg(np.round(x) - x)) ** 2.0, [c([1.4, 2.6])], []),
        arr(1.0, 9.0),
        [arr(2.0, 6.0)],
        [arr(2.0, 2.0)],
    ),
    "240": Fact(lambda: Program(lambda x: np.exp(x - sg(x)), [c(5.0)], []), 1.0, [1.0], [1.0]),
    "243": Fact(stopped_variable_243, 20.0, [4.0, 3.0], [None]),
    "244": Fact(rule_not_called_244, 6.0, [1.0], [None]),
    "245": Fact(stopped_in_the_body_245, 4.0, [10.0], [None]),
    "246": Fact(stopped_in_the_rule_246, 8.0, [12.0], [None]),
    "248": Fact(zeros_248, 3.0, [0.0]),
}


@EVERY_MODE
@each_row("number", STOP)
def test_fact_of_stop_gradient(number: str, mode: str) -> None:
    check(STOP[number], mode)


@EVERY_MODE
def test_238_second_order_is_that_of_the_softmax(mode: str) -> None:
    """Sum of the Hessian's rows, which is zero: the softmax does not change along (1, 1, 1)."""
    given = STOP["238"].make
    found = second(given, mode)
    assert len(found) == 1
    np.testing.assert_allclose(found[0], np.zeros(3), rtol=0.0, atol=1e-16)


def test_241_containers_are_mapped() -> None:
    """TensorFlow packs a list into one array, and refuses what is ragged, dicts and None."""
    assert [isinstance(x, tj.Tensor) for x in sg([c(1.0), c(2.0)])] == [True, True]
    alike(plain(sg((c(1.0), c([1.0, 2.0])))), [1.0, arr(1.0, 2.0)])
    alike(sg({"a": c(1.0)})["a"].numpy(), 1.0)
    assert sg(None) is None


def test_242_every_dtype_is_taken() -> None:
    alike(sg(tj.constant(3)).numpy(), np.int64(3))
    alike(sg(tj.constant(True)).numpy(), True)
    assert_same(sg("s"), "s")
    assert_same(sg(3.5), 3.5)
    array = arr(1.0, 2.0)
    assert sg(array) is array
    stopped = sg(V(4.0))
    assert isinstance(stopped, tj.Tensor)
    alike(stopped.numpy(), 4.0)


def test_247_by_what_is_stopped() -> None:
    """A tape must watch it; tj.gradients needs nothing."""
    x = c(3.0)
    with tj.GradientTape() as unaware:
        unaware.watch(x)
        s = sg(x)
        y = s * s * x
    alike(plain(unaware.gradient(y, [s, x])), [None, 9.0])
    with tj.GradientTape() as watching:
        watching.watch(x)
        s = sg(x)
        watching.watch(s)
        y = s * s * x
    alike(plain(watching.gradient(y, [s, x])), [18.0, 9.0])

    def by_tape(x: Any, watched: bool) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            s = sg(x)
            if watched:
                tape.watch(s)
            y = s * s * x
        return tape.gradient(y, [s, x])

    def by_gradients(x: Any) -> Any:
        s = sg(x)
        return tj.gradients(s * s * x, [s, x])

    alike(plain(tj.function(by_tape)(x, False)), [None, 9.0])
    alike(plain(tj.function(by_tape)(x, True)), [18.0, 9.0])
    alike(plain(tj.function(by_gradients)(x)), [18.0, 9.0])
