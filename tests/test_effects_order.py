"""Effects take place in program order, once: assignments, callbacks, draws.

Plain Python is the measure: what a program answers, what its callbacks see (the Variables, too),
and what Variables and generators hold afterwards, call after call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.support.compare import assert_same
from tests.tensorflow.modes import MODES, Program, plain

X = np.array([1.0, -2.0, 0.5])
EYE, SINGULAR = np.eye(2), np.zeros((2, 2))
F8 = tj.TensorSpec((3,), float)
NUMBER = tj.TensorSpec((), float)
EVERY_MODE = pytest.mark.parametrize("mode", MODES)
Wrap = Callable[[Any], Any]
WRAPS: dict[str, Wrap] = {"eager": lambda f: f, "compiled": tj.function}


@pytest.fixture(params=list(WRAPS))
def wrap(request: pytest.FixtureRequest) -> Wrap:
    """A function as it is, or compiled."""
    return WRAPS[request.param]


class Trouble(Exception):
    """Of a test's own."""


class World:
    """What a program touches: two Variables, a generator, and a log of what its callbacks saw."""

    def __init__(self) -> None:
        self.v = tj.Variable(1.0, name="v")
        self.w = tj.Variable(X, name="w")
        self.rng = tj.random.default_rng(5)
        self.log: list[Any] = []

    def see(self, tag: str, *values: Any) -> None:
        """Log the values, and what everything is at the moment."""
        self.log.append((tag, *map(listed, values), *self.now()))

    def now(self) -> tuple[Any, ...]:
        """The Variables and the generator."""
        state = repr(self.rng.bit_generator.state)
        return float(self.v.numpy()), self.w.numpy().tolist(), state

    def ask(self, tag: str, x: Any) -> Any:
        """Log it, and answer something."""
        self.see(tag, x)
        return x * 2.0

    def fail(self, *values: Any) -> Any:
        """Log it, and fail."""
        self.see("fail", *values)
        raise Trouble


def listed(value: Any) -> Any:
    """An array as something that can be compared."""
    return plain(value).tolist() if hasattr(plain(value), "tolist") else value


def history(program: Callable[..., Any], wrap: Wrap, *args: Any, calls: int = 3) -> list[Any]:
    """What every call of program(world, *args) answered or raised, and left behind."""
    world, found = World(), list[Any]()
    f = wrap(lambda *args: program(world, *args))
    for _ in range(calls):
        try:
            found.append(listed(f(*args)))
        except (Trouble, KeyError, np.linalg.LinAlgError) as error:
            found.append(repr(error))
        found.append((list(world.log), world.now()))
        world.log.clear()
    return found


# Programs without errors


def assigned_twice(world: World, x: Any) -> Any:
    world.v.assign(np.sum(x))
    world.v.assign(x[0] + 1.0)
    return x * world.v


def assigned_and_read_between(world: World, x: Any) -> Any:
    before = world.v * 1.0
    world.v.assign(before + np.sum(x))
    between = world.v * 1.0
    world.v.assign_add(between)
    return before + 10.0 * between + 100.0 * world.v


def assigned_from_each_other(world: World, x: Any) -> Any:
    v, w = world.v * 1.0, world.w * 1.0
    world.v.assign(np.sum(w))
    world.w.assign(w * v)
    return world.w * world.v


def parts_of_a_variable(world: World, x: Any) -> Any:
    world.w.assign(np.concatenate([world.w[1:], world.v.read_value().reshape(1)]))
    world.v.assign(world.w[0])
    return world.w + x


def callbacks_between_assignments(world: World, x: Any) -> Any:
    tj.callback(world.see, "a")
    world.v.assign(np.sum(x))
    tj.callback(world.see, "b", world.v)
    world.w.assign_add(x)
    world.v.assign(world.v * 2.0)
    tj.callback(world.see, "c", world.v, world.w)
    world.v.assign_sub(1.0)
    return world.v + x


def a_callback_sees_what_is_overwritten(world: World, x: Any) -> Any:
    world.v.assign(5.0)
    tj.callback(world.see, "five")
    world.v.assign(6.0)
    world.v.assign(7.0)
    tj.callback(world.see, "seven")
    return x


def nothing_but_effects(world: World, x: Any) -> Any:
    world.rng.random(2)
    tj.callback(world.see, "a")
    world.v.assign_add(1.0)
    return 1.0


def callbacks_that_draw(world: World, x: Any) -> Any:
    """Compiled, a callback is called after all that the function draws."""
    y = x * world.rng.normal() * world.rng.normal()
    tj.callback(lambda: world.see("a", world.rng.normal()))
    return y


def draws_alone(world: World, x: Any) -> Any:
    world.rng.random(3)
    y = x * world.rng.normal(size=3)
    world.rng.integers(5)
    return y


def draws_that_are_assigned(world: World, x: Any) -> Any:
    world.v.assign(world.rng.normal())
    world.w.assign(world.rng.normal(world.v, 2.0, 3))
    return x * world.v + world.w


def answers_between_draws(world: World, x: Any) -> Any:
    e = world.rng.normal(size=3)
    y = tj.callback(lambda a: world.ask("asked", a), x * e, result=F8)
    return y * world.rng.random() + tj.callback(lambda a: world.ask("again", a), y, result=F8)


def answers_between_assignments(world: World, x: Any) -> Any:
    world.v.assign(np.sum(x))
    y = tj.callback(lambda a: world.ask("first", a), x, result=F8)
    world.v.assign_add(y[0])
    z = tj.callback(lambda a: world.ask("second", a), y, result=F8)
    world.w.assign(z)
    return y + z * world.v


def answers_between_callbacks(world: World, x: Any) -> Any:
    tj.callback(world.see, "a", x)
    y = tj.callback(lambda a: world.ask("b", a), x, result=F8)
    tj.callback(world.see, "c", y)
    world.w.assign(y)
    z = tj.callback(lambda a: world.ask("d", a), y, result=F8)
    tj.callback(world.see, "e", z)
    return y + z


def answers_nobody_reads(world: World, x: Any) -> Any:
    world.v.assign_add(1.0)
    tj.callback(lambda a: world.ask("ignored", a), x, result=F8)
    world.v.assign_add(1.0)
    return x


def in_functions_that_are_called(world: World, x: Any) -> Any:
    @tj.function
    def inner(x: Any) -> Any:
        tj.callback(world.see, "inner", x)
        world.v.assign_add(x[0])
        return x * world.v

    y = inner(x)
    tj.callback(world.see, "between", y)
    return inner(y)


def a_callback_that_assigns(world: World, x: Any) -> Any:
    tj.callback(lambda a: world.w.assign(a * 3.0), x)
    tj.callback(world.see, "after")
    return x


def in_a_loop(world: World, x: Any) -> Any:
    for k in range(3):
        world.v.assign_add(k)
        tj.callback(world.see, "loop", k, world.v)
        x = x * world.v
    return x


PROGRAMS = [
    assigned_twice,
    assigned_and_read_between,
    assigned_from_each_other,
    parts_of_a_variable,
    callbacks_between_assignments,
    a_callback_sees_what_is_overwritten,
    nothing_but_effects,
    callbacks_that_draw,
    draws_alone,
    draws_that_are_assigned,
    answers_between_draws,
    answers_between_assignments,
    answers_between_callbacks,
    answers_nobody_reads,
    in_functions_that_are_called,
    a_callback_that_assigns,
    in_a_loop,
]
EVERY_PROGRAM = pytest.mark.parametrize(
    "program", some_by_day(PROGRAMS, 2), ids=lambda f: f.__name__
)


@EVERY_PROGRAM
def test_a_compiled_program_has_the_history_of_the_plain_one(program: Any) -> None:
    assert history(program, tj.function, X) == history(program, WRAPS["eager"], X)


@EVERY_PROGRAM
def test_tensors_as_arguments_change_nothing(program: Any) -> None:
    x = tj.constant(X)
    assert history(program, tj.function, x) == history(program, WRAPS["eager"], x)
    assert history(program, tj.function, x) == history(program, tj.function, X)


@EVERY_PROGRAM
def test_a_tape_changes_nothing(program: Any) -> None:
    def taped(wrap: Wrap) -> Wrap:
        def wrapped(f: Any) -> Any:
            inner = wrap(f)

            def call(x: Any) -> Any:
                x = tj.constant(x)
                with tj.GradientTape() as tape:
                    tape.watch(x)
                    return inner(x)

            return call

        return wrapped

    expected = history(program, WRAPS["eager"], X)
    assert history(program, taped(WRAPS["eager"]), X) == expected
    assert history(program, taped(tj.function), X) == expected


def gradients(program: Any, region: Wrap, mode: str) -> list[Any]:
    """Per call the value and gradients of a program whose answers are stopped, and the history."""
    world, found = World(), list[Any]()
    inside = region(lambda x: program(world, tj.stop_gradient(x)) * np.cos(x))
    way, take, _ = MODES[mode]
    run = way(take, Program(lambda x: inside(x) * 2.0, [tj.constant(X)], [world.v, world.w]))
    for _ in range(3):
        y, slopes = plain(run())
        found.append((listed(y), [None if g is None else g.round(12).tolist() for g in slopes]))
        found.append((list(world.log), world.now()))
        world.log.clear()
    return found


@EVERY_MODE
@EVERY_PROGRAM
def test_a_gradient_repeats_nothing(program: Any, mode: str) -> None:
    """The history of its value alone, and the same gradients in every mode."""
    found = gradients(program, lambda f: f, mode)
    assert found == gradients(program, lambda f: f, "E")
    alone = history(lambda world, x: program(world, x) * np.cos(x) * 2.0, WRAPS["eager"], X)
    assert found[1::2] == alone[1::2]


@EVERY_MODE
@EVERY_PROGRAM
def test_a_region_that_is_computed_again_repeats_nothing(program: Any, mode: str) -> None:
    expected = gradients(program, lambda f: f, "E")
    assert gradients(program, tj.recompute_grad, mode) == expected


@EVERY_PROGRAM
def test_value_and_grad_repeats_nothing(program: Any) -> None:
    def once(f: Any) -> Any:
        @tj.value_and_grad
        @partial(tj.function, exact=True)
        def both(x: Any) -> Any:
            return np.sum(f(tj.stop_gradient(x)) * np.cos(x))

        return lambda x: both(x)[0]

    def value(f: Any) -> Any:
        return lambda x: np.sum(f(x) * np.cos(x))

    assert history(program, once, X) == history(program, value, X)


# Programs that end in an error


def fails_in_a_callback(world: World, x: Any, m: Any) -> Any:
    tj.callback(world.see, "before")
    world.v.assign_add(1.0)
    tj.callback(world.fail, x)
    world.v.assign(9.0)
    tj.callback(world.see, "after")
    return x


def fails_in_an_answer(world: World, x: Any, m: Any) -> Any:
    tj.callback(world.see, "before")
    world.v.assign_add(1.0)
    y = tj.callback(world.fail, x, result=F8)
    world.v.assign(9.0)
    tj.callback(world.see, "after")
    return y


def fails_in_numpy(world: World, x: Any, m: Any) -> Any:
    tj.callback(world.see, "before")
    world.v.assign_add(1.0)
    y = np.linalg.inv(m)
    world.v.assign(9.0)
    tj.callback(world.see, "after")
    return y


def fails_in_numpy_after_a_draw(world: World, x: Any, m: Any) -> Any:
    world.v.assign(world.rng.normal())
    y = np.linalg.inv(m)
    world.v.assign(world.rng.normal())
    return y


def fails_in_numpy_after_an_answer(world: World, x: Any, m: Any) -> Any:
    world.v.assign_add(1.0)
    y = tj.callback(lambda a: world.ask("asked", a), x, result=F8)
    z = np.linalg.inv(m)
    world.v.assign(9.0)
    return y[:2] @ z


def fails_in_python(world: World, x: Any, m: Any) -> Any:
    tj.callback(world.see, "before")
    world.v.assign_add(1.0)
    if x.ndim == 1:
        raise Trouble
    return x


def raises_what_a_callback_raised(world: World, x: Any, m: Any) -> Any:
    def missing() -> Any:
        raise KeyError("k")

    world.v.assign_add(1.0)
    return x * tj.callback(missing, result=NUMBER)


def catches_what_numpy_raises(world: World, x: Any, m: Any) -> Any:
    world.v.assign_add(1.0)
    try:
        return np.linalg.inv(m)
    except np.linalg.LinAlgError:
        world.v.assign(-1.0)
        tj.callback(world.see, "caught")
        return m


def catches_what_numpy_raises_after_a_draw(world: World, x: Any, m: Any) -> Any:
    e = world.rng.normal()
    try:
        return np.linalg.inv(m) * e
    except np.linalg.LinAlgError:
        return m + world.rng.normal()


def fails_after_all(world: World, x: Any, m: Any) -> Any:
    tj.callback(world.see, "a")
    world.v.assign_add(1.0)
    world.w.assign(world.w + np.sum(np.linalg.inv(m)))
    tj.callback(world.fail)
    return x


FAILING = [
    fails_in_a_callback,
    fails_in_an_answer,
    fails_in_numpy,
    fails_in_numpy_after_a_draw,
    fails_in_numpy_after_an_answer,
    fails_in_python,
    raises_what_a_callback_raised,
    catches_what_numpy_raises,
    catches_what_numpy_raises_after_a_draw,
    fails_after_all,
]


@pytest.mark.parametrize("matrix", [EYE, SINGULAR], ids=["regular", "singular"])
@pytest.mark.parametrize("program", FAILING, ids=lambda f: f.__name__)
def test_what_came_before_an_error_stands_and_nothing_after_it_happens(
    program: Any, matrix: Any
) -> None:
    args = tj.constant(X), tj.constant(matrix)
    expected = history(program, WRAPS["eager"], *args)
    assert history(program, tj.function, *args) == expected
    assert history(program, tj.function, X, matrix) == expected


def test_an_error_now_and_then() -> None:
    """A kernel goes on where it was."""
    worlds = World(), World()
    fs = [
        wrap(lambda x, m, world=world: fails_in_numpy_after_a_draw(world, x, m))
        for world, wrap in zip(worlds, WRAPS.values(), strict=True)
    ]
    for m in (EYE, SINGULAR, 2.0 * EYE, SINGULAR, EYE):
        for f in fs:
            with pytest.raises(np.linalg.LinAlgError) if m is SINGULAR else nullcontext():
                f(tj.constant(X), tj.constant(m))
        assert worlds[0].now() == worlds[1].now()


def test_a_gradient_that_fails_calls_back_once() -> None:
    world = World()

    def loss(x: Any, m: Any) -> Any:
        y = tj.callback(lambda a: world.ask("asked", a), tj.stop_gradient(x), result=F8)
        return np.sum(x * y) * np.sum(np.linalg.inv(m))

    with pytest.raises(np.linalg.LinAlgError):
        tj.value_and_grad(loss)(X, SINGULAR)
    assert len(world.log) == 1


# Assignments


@pytest.mark.parametrize("kind", list(WRAPS))
def test_an_assigned_array_is_a_copy(kind: str) -> None:
    """Neither an argument, a result nor a captured array is what a Variable holds."""
    v, captured = tj.Variable(X), X.copy()

    @WRAPS[kind]
    def f(x: Any) -> Any:
        v.assign(x)
        tj.callback(lambda a: None, x)
        return tj.callback(lambda a: a, x, result=F8), x

    x = X.copy()
    f(x)
    x += 1.0
    assert_same(v.numpy(), X)
    g = WRAPS[kind](lambda: v.assign(captured))
    g()
    captured += 1.0
    assert_same(v.numpy(), X)


def test_what_is_returned_is_not_what_is_held() -> None:
    v = tj.Variable(X)

    @tj.function
    def f(x: Any) -> Any:
        v.assign(x * 2.0)
        return v, v * 1.0

    first, _ = f(X)
    first += 1.0
    assert_same(v.numpy(), 2.0 * X)


def test_a_variable_that_is_created_while_others_are_assigned(wrap: Wrap) -> None:
    held: list[tj.Variable] = []
    v = tj.Variable(1.0)

    @wrap
    def f(x: Any) -> Any:
        if not held:
            held.append(tj.Variable(np.ones(3)))
        held[0].assign_add(x)
        v.assign_add(1.0)
        return held[0] * v

    for k in range(1, 4):
        assert_same(plain(f(X)), (1.0 + k * X) * (1.0 + k))


def test_assignments_in_turns_with_plain_python(wrap: Wrap) -> None:
    v = tj.Variable(1.0)
    f = wrap(lambda x: x * v.assign_add(1.0))
    for k in range(1, 4):
        assert_same(plain(f(X)), X * (1.0 + 2 * k - 1.0))
        v.assign_add(1.0)


@EVERY_MODE
def test_assignments_cut_gradients_between_effects(mode: str) -> None:
    """Each read of a Variable is a read of the same source."""
    v = tj.Variable(3.0)
    seen: list[Any] = []

    def f(x: Any) -> Any:
        v.assign(3.0)
        before = v * x
        tj.callback(seen.append, before)
        v.assign(np.sum(x) * v)
        tj.callback(seen.append, v)
        return np.sum(before) + v * np.sum(x)

    way, take, _ = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], [v]))
    for _ in range(2):
        seen.clear()
        y, (found, found_v) = plain(run())
        total = np.sum(X)
        np.testing.assert_allclose(y, 3.0 * total + 3.0 * total**2, rtol=1e-14)
        np.testing.assert_allclose(found, np.full(3, 3.0 + 3.0 * total), rtol=1e-14)
        np.testing.assert_allclose(found_v, 2.0 * total, rtol=1e-14)
        assert_same([plain(one) for one in seen], [3.0 * X, np.float64(3.0 * total)])


# Threads


def test_threads_with_worlds_of_their_own() -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = history(in_functions_that_are_called, tj.function, X + k, calls=10)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        expected = history(in_functions_that_are_called, WRAPS["eager"], X + k, calls=10)
        assert found[k] == expected


def test_threads_keep_the_order_of_each_call() -> None:
    """Calls interleave; within a thread effects are in order, each once."""
    log: list[Any] = []

    def answer(a: Any) -> Any:
        log.append(("b", a[0]))
        return a

    @tj.function
    def f(x: Any) -> Any:
        tj.callback(lambda a: log.append(("a", a[0])), x)
        y = tj.callback(answer, x, result=F8)
        tj.callback(lambda a: log.append(("c", a[0])), y)
        return y

    f(X)
    log.clear()

    def work(k: int) -> None:
        for _ in range(20):
            f(X + k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log) == 4 * 20 * 3
    for k in range(4):
        mine = [tag for tag, first in log if first == X[0] + k]
        assert "".join(mine) == 20 * "abc"
