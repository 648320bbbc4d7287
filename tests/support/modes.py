"""Each program in every mode, with one answer.

`everywhere` takes gradients under an eager tape, with a tape around a `tj.function` of the program,
with the tape inside a `tj.function`, by `tj.gradients` inside one, and, on NumPy arrays, by
`tj.grad`. By day a test leaves out one of the three that compile. `moved` takes tangents eagerly,
around a compiled function, and inside one. Each runs twice, so that compiled code answers, too,
and not only the run that recorded it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.support.compare import assert_same
from tracejit.trace.structure.trees import flatten, map_tree, unflatten

Program = Callable[..., Any]


# Gradients


class Answer(NamedTuple):
    """The value of a program; `orders[0]` its gradients by arguments and Variables, `orders[n]`
    those of the first gradient of the order before, by arguments. None where unconnected."""

    value: Any
    orders: list[list[Any]]

    @property
    def gradients(self) -> list[Any]:
        """Those of first order."""
        return self.orders[0]


def inexact(leaf: Any) -> bool:
    """Whether a leaf is an array, Tensor or Variable that can have a gradient."""
    return hasattr(leaf, "dtype") and leaf.dtype.kind in "fc"


def _targets(value: Any) -> list[Any]:
    kinds = tj.Tensor, tj.Variable
    return [leaf for leaf in flatten(value)[0] if isinstance(leaf, kinds) and inexact(leaf)]


def _climb(f: Program, xs: Any, variables: Any, order: int) -> list[Any]:
    """The value and the gradients of each order, by nested tapes."""
    if order == 0:
        return [f(*xs)]
    with tj.GradientTape() as tape:
        tape.watch([leaf for leaf in flatten(xs)[0] if inexact(leaf)])
        found = _climb(f, xs, variables, order - 1)
    target, sources = (found[-1], [*xs, *variables]) if order == 1 else (found[-1][:1], [*xs])
    return [*found, tape.gradient(_targets(target), sources)]


def _climb_in_a_recording(f: Program, xs: Any, variables: Any, order: int) -> list[Any]:
    """The same by tj.gradients."""
    found = [f(*xs)]
    for n in range(order):
        target, sources = (found[-1][:1], [*xs]) if n else (found[-1], [*xs, *variables])
        slopes = tj.gradients(_targets(target), sources)
        found.append(unflatten(flatten(sources)[1], slopes))
    return found


def eager(f: Program, xs: Any, variables: Any, order: int) -> Any:
    """The gradients by tapes."""
    return lambda: _climb(f, xs, variables, order)


def tape_around(f: Program, xs: Any, variables: Any, order: int) -> Any:
    """The gradients by tapes around a compiled function."""
    compiled = tj.function(f)
    return lambda: _climb(compiled, xs, variables, order)


def tape_inside(f: Program, xs: Any, variables: Any, order: int) -> Any:
    """The gradients by tapes inside a compiled function."""
    compiled = tj.function(lambda *xs: _climb(f, xs, variables, order))
    return lambda: compiled(*xs)


def gradients_inside(f: Program, xs: Any, variables: Any, order: int) -> Any:
    """The gradients by tj.gradients inside a compiled function."""
    compiled = tj.function(lambda *xs: _climb_in_a_recording(f, xs, variables, order))
    return lambda: compiled(*xs)


MODES = [eager, tape_around, tape_inside, gradients_inside]


def modes() -> list[Any]:
    """All modes by night. By day each test leaves out one of those that compile, by its name."""
    name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    left_out = 1 + zlib.crc32(name.encode()) % (len(MODES) - 1)
    return by_day([mode for mode in MODES if mode is not MODES[left_out]], MODES)


def constants(arguments: Sequence[Any]) -> Any:
    """The arrays and scalars among arguments as Tensors."""
    return map_tree(
        lambda leaf: tj.constant(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf,
        tuple(arguments),
    )


def _arrays(found: Any) -> Any:
    return map_tree(lambda leaf: np.array(leaf) if hasattr(leaf, "dtype") else leaf, found)


def _agree(found: Any, expected: Any, mode: str) -> None:
    found_leaves, found_structure = flatten(found)
    leaves, structure = flatten(expected)
    assert found_structure == structure, mode
    for mine, theirs in zip(found_leaves, leaves, strict=True):
        if not hasattr(theirs, "dtype"):
            assert repr(mine) == repr(theirs), (mode, found, expected)
            continue
        assert mine is not None, (mode, found, expected)
        shapes = (mine.dtype, mine.shape), (theirs.dtype, theirs.shape)
        assert shapes[0] == shapes[1], (mode, found, expected)
        tolerance = 8 * float(np.finfo(theirs.dtype).eps) if inexact(theirs) else 0.0
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=0.0, err_msg=mode)


def _runs(run: Any, variables: Sequence[Any], mode: str) -> Any:
    """What a program answers, twice the same; the Variables have their values back afterwards."""
    before = [variable.numpy() for variable in variables]
    answers = []
    for _ in range(2):
        try:
            answers.append(_arrays(run()))
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)
    _agree(answers[1], answers[0], f"{mode}, second call")
    return answers[0]


def _by_grad(f: Program, arguments: Sequence[Any], order: int) -> list[list[Any]] | None:
    """The gradients of each order on NumPy arrays; None where tj.grad does not apply."""
    kinds = [np.asarray(leaf).dtype.kind for leaf in arguments]
    argnums = tuple(k for k, kind in enumerate(kinds) if kind == "f")
    if not argnums or argnums[0] or any(kind not in "fiub" for kind in kinds):
        return None

    def total(*xs: Any) -> Any:
        return sum((np.sum(y) for y in flatten(f(*xs))[0] if inexact(y)), 0.0)

    found: list[list[Any]] = []
    function: Any = total
    for _ in range(order):
        slope: Any = tj.grad(function, argnums)
        answer = slope(*arguments)
        _agree(_arrays(slope(*arguments)), _arrays(answer), "tj.grad, second call")
        gradients: list[Any] = [None] * len(arguments)
        for k, gradient in zip(argnums, answer, strict=True):
            gradients[k] = np.array(gradient)
        found.append(gradients)
        function = _first_of(slope)
    return found


def _first_of(slope: Callable[..., Any]) -> Callable[..., Any]:
    def total(*xs: Any) -> Any:
        return np.sum(slope(*xs)[0])

    return total


def _zeros_for_none(gradients: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    return [
        np.zeros_like(x) if gradient is None and inexact(np.asarray(x)) else gradient
        for gradient, x in zip(gradients, arguments, strict=False)
    ]


def everywhere(
    f: Program, *arguments: Any, variables: Sequence[Any] = (), order: int = 1, grad: bool = True
) -> Answer:
    """The one answer of all modes; `grad=False` leaves out tj.grad."""
    xs = constants(arguments)
    answers = []
    for mode in modes():
        run = mode(f, xs, variables, order)
        answers.append(_runs(run, variables, mode.__name__))
        _agree(answers[-1], answers[0], mode.__name__)
    value, *orders = answers[0]
    by_grad = _by_grad(f, arguments, order) if grad else None
    for n, found in enumerate(by_grad or []):
        _agree(found, _zeros_for_none(orders[n], arguments), "tj.grad")
    return Answer(value, orders)


def _error(run: Program) -> Exception:
    try:
        found = run()
    except Exception as error:
        return error
    raise AssertionError(f"no error, but {found}")


def error_everywhere(
    f: Program,
    *arguments: Any,
    variables: Sequence[Any] = (),
    order: int = 1,
    grad: bool = True,
    part: Callable[[Any], object] = str,
) -> Exception:
    """The one error of all modes: its type and its text are the same, or that part of it."""

    def program(*xs: Any) -> Any:
        return f(*xs)  # the line that is cited where f itself is a custom gradient

    xs = constants(arguments)
    runs: list[Program] = [mode(program, xs, variables, order) for mode in modes()]
    if grad:
        runs.append(lambda: _by_grad(program, arguments, order))
    errors = [_error(run) for run in runs for _ in range(2)]
    for error in errors[1:]:
        assert (type(error), part(error)) == (type(errors[0]), part(errors[0]))
    return errors[0]


def drained(queue: SimpleQueue[Any]) -> list[Any]:
    """What a program put into a queue. A list would be part of what the program depends on, and
    make compiled functions record again at every call."""
    return [queue.get() for _ in range(queue.qsize())]


def check(found: Sequence[Any], *expected: Any) -> None:
    """Gradients against the expected ones: numbers, lists of numbers, arrays, None."""
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        if theirs is None or mine is None:
            assert mine is theirs, (found, expected)
            continue
        assert mine.shape == np.shape(theirs), (found, expected)
        if hasattr(theirs, "dtype"):
            assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=0.0)


# Tangents


def value(f: Program, xs: Sequence[Any]) -> Any:
    """f(*xs), on one line for all modes: errors name it."""
    return f(*xs)


def tangents_of(f: Program, xs: Sequence[Any], dots: Sequence[Any]) -> Any:
    """The tangents of f(*xs) when xs move along dots."""
    with tj.ForwardAccumulator(list(xs), list(dots)) as accumulator:
        y = value(f, xs)
    return accumulator.jvp(y)


def runs_of(f: Program, xs: Sequence[Any], dots: Sequence[Any]) -> list[Program]:
    """The same eagerly, around a compiled function, and inside one."""
    tensors, moving = [tj.constant(x) for x in xs], [tj.constant(dot) for dot in dots]
    compiled = tj.function(lambda *xs: f(*xs))
    count = len(xs)
    inside = tj.function(lambda *both: tangents_of(f, both[:count], both[count:]))
    return [
        lambda: tangents_of(f, tensors, moving),
        lambda: tangents_of(compiled, tensors, moving),
        lambda: inside(*xs, *dots),
    ]


def arrays(found: Any) -> Any:
    """Tensors as arrays; None as it is."""
    return map_tree(lambda leaf: leaf.numpy() if isinstance(leaf, tj.Tensor) else leaf, found)


def moved(f: Program, *xs: Any, along: Sequence[Any] | None = None) -> Any:
    """The one answer of all modes, the second call's, too; along ones if nothing is said."""
    dots = [np.ones_like(x) for x in xs] if along is None else along
    runs = runs_of(f, xs, dots)
    expected = arrays(runs[0]())
    for run in runs:
        for _ in range(2):
            assert_same(arrays(run()), expected)
    return expected


def refused(f: Program, *xs: Any) -> Exception:
    """The one error of all modes: its type and its text."""
    errors = []
    for run in runs_of(f, xs, [np.ones_like(x) for x in xs]):
        for _ in range(2):
            with pytest.raises(Exception) as caught:
                run()
            errors.append(caught.value)
    assert {(type(error), str(error)) for error in errors} == {(type(errors[0]), str(errors[0]))}
    return errors[0]
