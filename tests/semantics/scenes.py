"""What a program of tests/semantics is, and how one is played.

A scene is a function of a `Stage`: it defines plain NumPy functions, hands them to the stage, which
makes them callable in one mode or another, and calls them as a user would, changing what they read
between calls. What each call gave, what it raised and what it left in its arguments stands in the
stage's record; what the scene returns is the state it ends in. Two modes agree where their records
and end states do.
"""

from __future__ import annotations

import copy
import dataclasses
import types
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.support.differences import slopes

BITS = 1e-13
SLOPE = 2e-7
STEP = 4e-3


class Scene(NamedTuple):
    """A program; `smooth` says that its calls return a float to differentiate."""

    name: str
    play: Callable[[Any], Any]
    smooth: bool


SCENES: dict[str, Scene] = {}


def scene(play: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a program whose values are compared."""
    return _add(play, False)


def smooth(play: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a program whose values and slopes are compared: each call returns a float."""
    return _add(play, True)


def _add(play: Callable[[Any], Any], differentiable: bool) -> Callable[[Any], Any]:
    name = play.__name__
    assert name not in SCENES, name
    SCENES[name] = Scene(name, play, differentiable)
    return play


class Outcome(NamedTuple):
    """One call: ("returned", value) or ("raised", type, text), and the arguments afterwards."""

    answer: tuple[Any, ...]
    arguments: Any


class Stage:
    """What makes functions callable in one mode, and notes how each call went."""

    def __init__(self, make: Callable[[Callable[..., Any], Any], Callable[..., Any]]) -> None:
        """`make(python, wrt)` is what is called in place of `python`."""
        self.make = make
        self.record: list[Outcome] = []

    def __call__(self, python: Callable[..., Any] | None = None, *, wrt: Any = 0) -> Any:
        """`python` on this stage, also as a decorator; slopes are taken by the arguments `wrt`."""
        if python is None:
            return lambda given: self(given, wrt=wrt)
        return Actor(self.make(python, wrt), self.record)


class Actor:
    """A function on stage; a method where a class holds it."""

    def __init__(self, run: Callable[..., Any], record: list[Outcome]) -> None:
        """Calls of `run`, noted in `record`."""
        self.run = run
        self.record = record

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result; None where the call raises."""
        result = None
        try:
            with np.errstate(all="ignore"):
                result = self.run(*args, **kwargs)
            answer = ("returned", described(result))
        except Exception as error:
            answer = ("raised", type(error).__name__, str(error))
        self.record.append(Outcome(answer, described((args, kwargs))))
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as a Python function does."""
        return self if instance is None else types.MethodType(self, instance)


def described(value: Any) -> Any:
    """A copy of `value` that nothing changes later: objects as their classes and attributes."""
    if type(value) is tj.Variable:
        return ("Variable", value.numpy())
    if isinstance(value, tj.Tensor):
        return value.numpy()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return ("Generator", repr(value.bit_generator.state))
    if isinstance(value, dict):
        return {key: described(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, Enum):
        return value
    if dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        if isinstance(value, (type, types.FunctionType, types.ModuleType)):
            return value
        return [type(value).__name__, described(vars(value))]
    return copy.copy(value)


# Modes


def plain(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """The function itself."""
    return python


def compiled(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """The function, recorded."""
    return tj.function(python, cache=False)


def sloped(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """Value and gradient, recorded."""
    both = tj.value_and_grad(tj.function(python, cache=False), argnums=wrt)

    def run(*args: Any, **kwargs: Any) -> Any:
        value, slopes = both(*args, **kwargs)
        return value, slopes if isinstance(wrt, tuple) else (slopes,)

    return run


def taped_around(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """Value and gradient by a tape around the function, recorded."""
    return taped(tj.function(python, cache=False), wrt)


def taped(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """Value and gradient by an eager tape: no kernel of the function is made."""

    def run(*args: Any, **kwargs: Any) -> Any:
        places = wrt if isinstance(wrt, tuple) else (wrt,)
        values = list(args)
        with tj.GradientTape() as tape:
            for place in places:
                values[place] = tj.constant(args[place])
                tape.watch(values[place])
            value = python(*values, **kwargs)
        if not isinstance(value, tj.Tensor):  # a path that returns a number of its own
            return value, tuple(np.zeros(np.shape(args[place])) for place in places)
        sources = [values[place] for place in places]
        slopes = tape.gradient(value, sources, unconnected_gradients="zero")
        return value.numpy(), tuple(slopes)

    return run


def differenced(python: Callable[..., Any], wrt: Any) -> Callable[..., Any]:
    """Value and gradient by plain Python and differences."""

    def run(*args: Any, **kwargs: Any) -> Any:
        places = wrt if isinstance(wrt, tuple) else (wrt,)
        slopes = tuple(_slope(python, args, kwargs, place) for place in places)
        return python(*args, **kwargs), slopes

    return run


def _slope(python: Callable[..., Any], args: Sequence[Any], kwargs: Any, place: int) -> Any:
    """The derivative by argument `place`, an array or a number, by differences."""

    def moved(value: Any) -> float:
        return float(python(*args[:place], value, *args[place + 1 :], **kwargs))

    return slopes(moved, args[place], STEP)


# Agreement


def perform(one: Scene, make: Callable[..., Any]) -> tuple[list[Outcome], Any]:
    """The record of a scene in a mode, and the state it ends in."""
    stage = Stage(make)
    state = described(one.play(stage))
    assert stage.record, f"{one.name} calls nothing"
    return stage.record, state


def assert_agree(found: Any, expected: Any, where: str = "") -> None:
    """The same values, to 1e-13, in the same types and structures, through containers."""
    assert type(found) is type(expected), (where, found, expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected), (where, found, expected)
        for key, value in expected.items():
            assert type(next(k for k in found if k == key)) is type(key), (where, key)
            assert_agree(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), (where, found, expected)
        for number, (mine, numpys) in enumerate(zip(found, expected, strict=True)):
            assert_agree(mine, numpys, f"{where}[{number}]")
    elif isinstance(expected, (np.ndarray, np.generic, float, complex)):
        mine, numpys = np.asarray(found), np.asarray(expected)
        assert (mine.dtype, mine.shape) == (numpys.dtype, numpys.shape), (where, found, expected)
        if numpys.dtype.kind not in "fc":
            assert np.array_equal(mine, numpys), (where, found, expected)
            return
        bound = BITS if numpys.dtype.itemsize >= 8 else 1e-6
        scale = float(np.max(np.abs(numpys), initial=0.0, where=np.isfinite(numpys)))
        np.testing.assert_allclose(mine, numpys, rtol=0.0, atol=bound * scale, err_msg=where)
        zeros = numpys == 0
        signs = [np.signbit(np.real(x)) & zeros for x in (mine, numpys)]
        assert np.array_equal(*signs), (where, found, expected)
    else:
        assert repr(found) == repr(expected) or found == expected, (where, found, expected)


def assert_slopes(found: Outcome, expected: Outcome, precise: bool, where: str) -> None:
    """The value and gradient of a call; gradients to the precision of differences, or `precise`."""
    assert found.answer[0] == expected.answer[0], (where, found.answer, expected.answer)
    if expected.answer[0] == "raised":
        assert found.answer == expected.answer, (where, found.answer, expected.answer)
        return
    (_, value, slopes), (_, right, rights) = found.answer[1], expected.answer[1]
    assert_agree(np.float64(value), np.float64(right), where)
    for mine, numpys in zip(slopes[1:], rights[1:], strict=True):
        bound = (1e-11 if precise else SLOPE) * max(1.0, float(np.max(np.abs(numpys), initial=0.0)))
        assert np.shape(mine) == np.shape(numpys), (where, mine, numpys)
        np.testing.assert_allclose(mine, numpys, rtol=0.0, atol=bound, err_msg=where)


def assert_same_story(one: Scene) -> int:
    """Recorded, a scene goes as under plain Python; how many of its calls raise."""
    expected, wanted = perform(one, plain)
    found, state = perform(one, compiled)
    for number, (mine, pythons) in enumerate(zip(found, expected, strict=True)):
        where = f"{one.name}, call {number}"
        if "raised" in (mine.answer[0], pythons.answer[0]):
            assert mine.answer == pythons.answer, (where, mine.answer, pythons.answer)
        assert_agree(mine.answer, pythons.answer, where)
        assert_agree(mine.arguments, pythons.arguments, f"{where}, arguments")
    assert_agree(state, wanted, f"{one.name}, final state")
    return sum(pythons.answer[0] == "raised" for pythons in expected)


def assert_same_slopes(one: Scene) -> None:
    """Recorded, by an eager tape, and by a tape around what is recorded, the gradients of a scene
    are those of the path taken."""
    expected, _ = perform(one, differenced)
    tapes, _ = perform(one, taped)
    found, _ = perform(one, sloped)
    around, _ = perform(one, taped_around)
    for number, right in enumerate(expected):
        where = f"{one.name}, call {number}"
        assert_slopes(tapes[number], right, False, f"{where}, by a tape")
        assert_slopes(found[number], right, False, where)
        assert_slopes(found[number], tapes[number], True, f"{where}, against a tape")
        assert_slopes(around[number], tapes[number], True, f"{where}, by a tape around")
