"""Random programs that write in place: to arrays, to views and views of views, by slices, masks and
index arrays, with reads between; compiled and eager, they are what NumPy computes, they leave their
arguments as NumPy does, and their gradients are right.

30 programs in every run, thousands with `-m nightly`. A program that fails is printed as Python.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day
from tests.support.compare import assert_same
from tests.support.differences import extrapolated
from tracejit.support.errors import InPlaceError

FEW = settings(
    max_examples=by_day(5, 20),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=2_000, derandomize=False, print_blob=True)
SHAPES = {"a": (6,), "b": (6,), "m": (3, 4), "k": (4, 3)}
LARGEST = 30.0

_numbers = itertools.count()

# {0} is an array, {1} something to write into it or into its part.
VIEWS = {
    1: (
        "{0}[1:]", "{0}[::-1]", "{0}[::2]", "{0}[None]", "{0}[:, None]", "{0}[2:5]", "{0}[-3:]",
        "{0}[...]", "{0}[:]", "{0}.T", "{0}[4:1:-1]", "{0}[0, ...]", "{0}.reshape(2, -1)",
        "np.expand_dims({0}, 0)", "{0}.reshape(-1, 1)",
    ),
    2: (
        "{0}[1]", "{0}[:, 1]", "{0}[1:, ::2]", "{0}.T", "np.transpose({0})", "{0}[::-1]",
        "{0}[..., -1]", "{0}[0, 1:]", "{0}[:, None, :2]", "np.swapaxes({0}, 0, 1)", "{0}[-1][::-1]",
        "{0}[:2, 1:3]", "{0}.mT", "np.flip({0})", "{0}[1:2]", "{0}.copy().ravel()",
        "{0}.copy().reshape(-1)", "np.squeeze({0}[:, 1:2])", "{0}.reshape(-1)", "np.rot90({0})",
        "[one for one in {0}][1]", "np.moveaxis({0}, 0, 1)", "{0}[0, ..., 1]",
    ),
    3: ("{0}[0]", "{0}[:, 0]", "{0}[..., 0]", "{0}.T", "np.squeeze({0})", "{0}[:, :, ::-1]"),
    0: ("{0}[...]", "{0}[()]", "{0}[None]", "{0}.reshape(1)"),
}  # fmt: skip
FRESH = (
    "{0}.copy()", "{0} * 1.5", "np.sin({0})", "np.zeros_like({0})", "tnp.zeros({0}.shape)",
    "np.where({0} > 0.1, {0}, 0.3)", "{0} + 0.0", "np.full_like({0}, 0.5)", "tnp.array({0})",
    "+{0}", "tnp.ones({0}.shape)", "np.cos({0}).T", "{0}.astype(float)", "tnp.asarray({0}.T * 0.9)",
    "np.concatenate([{0}, {0}])", "np.roll({0}, 1)", "np.stack([{0}, {0}])",
    "tnp.array({0}, copy=True)",
    "np.take({0}, [0, 1], axis=0)", "{0}[[1, 0]]", "np.sum({0}, axis=0)", "np.cumsum({0}, axis=0)",
    "np.maximum({0}, 0.2)", "np.pad({0}, 1)", "np.broadcast_to({0}, (2, *{0}.shape))",
)  # fmt: skip
PARTS = {
    0: ("...", "()"),
    1: (
        ":", "...", "0", "-1", "1:", "::2", "::-1", ":-1", "[0, 1]", "[1, 0, 1]", "[-1, 0]",
        "np.array([True, False] * 9)[:len({0})]", "{0} > 0.2", "np.abs({0}) < 0.5", "None", "1:2",
        "np.argsort({0})", "np.argmax({0})", "..., 0", "2:0:-1", "[0, -1, 0]", "0:0",
        "np.array([], int)", "None, ::2", "np.array([[0, 1], [1, 0]])",
    ),
    2: (
        ":", "...", "0", "-1", "1:", ":, 0", "0, 1", "..., 1", ":, ::2", "::-1", "1:, 1:",
        "[0, 1]", ":, [1, 0]", "[0, 1], [1, 1]", "{0} > 0.2", "None", ":, None, 0", "[1, 1]",
        "np.array([[0], [1]]), np.array([0, 1])", "np.arange(len({0})), np.argmax({0}, axis=1)",
        "0, [1, 0]", "[0, 1], 1:", "np.array([True, False] * 9)[:len({0})]", "1, ::-1",
        "{0}[:, 0] > 0.1", "np.argsort({0}[:, 0])", ":, np.argmax({0}[0])", "[0, 0], None, [0, 0]",
        "np.array([True, False] * 9)[:len({0})], 0",
    ),
    3: (":", "0", "..., 0", ":, 0", "0, :, 1:", "[0]", "{0} < 0.3", "..., [1, 0]", "0, [0], :"),
}  # fmt: skip
OPERATORS = ("=", "=", "=", "+=", "-=", "*=")
MASKED = ("{0} > 0.2", "np.abs({0}) < 0.5")


class Writing:
    """A program being made: its lines, run by NumPy as they are made."""

    def __init__(self, draw: Any, seed: int) -> None:
        self.draw = draw
        self.seed = seed
        self.lines: list[str] = []
        self.names = list(SHAPES)
        self.space: dict[str, Any] = {"np": np, "tnp": tnp, **self.arguments()}

    def arguments(self, dtype: Any = float) -> dict[str, Any]:
        """The arguments; k is in Fortran order, b strided."""
        rng = np.random.default_rng(self.seed)
        values = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
        if np.dtype(dtype).kind == "c":
            values = {name: x + 0.3j * x[::-1] for name, x in values.items()}
        values = {name: x.astype(dtype) for name, x in values.items()}
        return values | {"k": np.asfortranarray(values["k"]), "b": np.repeat(values["b"], 2)[::2]}

    def __repr__(self) -> str:
        return "\n".join(["", f"# seed {self.seed}", self.source])

    # Making

    def one(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(tuple(choices)))

    def pick(self, *ndims: int) -> str:
        """A variable that is an array, of one of these numbers of axes if they are given."""
        arrays = [x for x in self.names if isinstance(self.space[x], np.ndarray)]
        return str(self.one([x for x in arrays if self.space[x].ndim in ndims or not ndims]))

    def value(self, shape: tuple[int, ...]) -> str:
        """An expression that fits into `shape`."""
        fitting = [x for x in self.names if _spreads(np.shape(self.space[x]), shape)]
        choices = [
            "0.25",
            "2",
            f"{self.pick(1)}[0]",
            f"{self.pick(2)}[0, 1]",
            f"np.sum({self.pick(1)})",
        ]
        choices += [f"np.sin({x})" for x in fitting] + fitting * 2 + [f"{x} * 0.5" for x in fitting]
        choices += [f"{x}[::-1]" for x in fitting if np.ndim(self.space[x])]
        choices += [f"{self.one(fitting)} * {self.one(fitting)}"] if fitting else []
        return str(self.one(choices))

    def add(self, line: str) -> bool:
        """One more line, if NumPy takes it and the values stay moderate."""
        space = dict(self.space)
        arrays = {id(x): x.copy() for x in space.values() if isinstance(x, np.ndarray)}
        try:
            with np.errstate(all="raise", under="ignore"):
                exec(line, space)
            values = [space[name] for name in {*self.names, *_bound(line)}]
            good = all(np.size(x) <= 60 and np.ndim(x) <= 3 for x in values)
            good = good and all(np.all(np.abs(x) < LARGEST) for x in values)
        except (ValueError, IndexError, TypeError, ArithmeticError):
            good = False
        if good:
            self.space = space
            self.names = list(dict.fromkeys([*self.names, *_bound(line)]))
            self.lines.append(line)
        else:
            for x in self.space.values():
                if id(x) in arrays and x.flags.writeable:
                    x[...] = arrays[id(x)]
        return good

    def statement(self) -> str:
        return str(self.one(STATEMENTS)(self))

    def target(self) -> tuple[str, tuple[int, ...]]:
        """A part of an array, as text, and its shape."""
        x = self.pick()
        text = f"{x}[{self.one(PARTS[self.space[x].ndim]).format(x)}]"
        try:
            return text, np.shape(eval(text, dict(self.space)))
        except (IndexError, ValueError):
            return text, ()

    # Running

    @property
    def source(self) -> str:
        arrays = [x for x in self.names if isinstance(self.space[x], np.ndarray)]
        returned = ", ".join(dict.fromkeys([*arrays[-8:], *SHAPES]))
        lines = [f"def program({', '.join(SHAPES)}):", *self.lines, f"return [{returned}]"]
        return "\n    ".join(lines) + "\n"

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The program; its results are all its arrays."""
        filename = f"<writing {next(_numbers)}>"
        text = self.source
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        space: dict[str, Any] = {"np": np, "tnp": tnp, "__name__": "program"}
        exec(compile(text, filename, "exec"), space)
        made: Callable[..., Any] = space["program"]
        return made

    def loss(self, *values: Any) -> Any:
        """A number that depends on all results."""
        return sum(
            np.sum(np.sin(x + 0.3) * np.cos(np.arange(x.size) + n).reshape(x.shape))
            for n, x in enumerate(self.function(*values))
        )


def _spreads(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


def _bound(line: str) -> list[str]:
    """The variable that a line of this test's binds."""
    name, equals, _ = line.partition(" = ")
    return [name] if equals and name.isidentifier() else []


def _view(made: Writing) -> str:
    x = made.pick()
    return f"{made.one(('u', 'v', 'w'))} = {made.one(VIEWS[made.space[x].ndim]).format(x)}"


def _fresh(made: Writing) -> str:
    return f"{made.one(('p', 'q', 'u'))} = {made.one(FRESH).format(made.pick())}"


def _number(made: Writing) -> str:
    return f"{made.one(('s', 't'))} = {made.value(())}"


def _item(made: Writing) -> str:
    text, shape = made.target()
    if "<" in text or ">" in text:  # how many elements is not known while it is recorded
        return f"{text} {made.one(OPERATORS)} {made.value(())}"
    return f"{text} {made.one(OPERATORS)} {made.value(shape)}"


def _whole(made: Writing) -> str:
    x = made.pick() if made.draw(st.booleans()) else made.one(made.names)
    return f"{x} {made.one(('+=', '-=', '*='))} {made.value(np.shape(made.space[x]))}"


def _out(made: Writing) -> str:
    x = made.pick()
    shape = made.space[x].shape
    first, second = made.value(shape), made.value(shape)
    where = f", where={made.one(MASKED).format(x)}" if made.draw(st.booleans()) else ""
    return made.one(
        (
            f"np.sin({first}, out={x}{where})",
            f"np.add({first}, {second}, out={x}{where})",
            f"np.multiply({x}, {second}, {x})",
            f"np.copyto({x}, {first}{where})",
            f"np.clip({x}, -0.5, 0.7, out={x})",
            f"np.putmask({x}, {made.one(MASKED).format(x)}, {first})",
        )
    )


def _method(made: Writing) -> str:
    x, y = made.pick(1, 2), made.pick(2)
    value = made.value(made.space[x].shape[1:])
    return made.one(
        (
            f"{x}.sort()",
            f"{x}.fill({made.value(())})",
            f"np.add.at({x}, [0, 1, 0], {value})",
            f"np.multiply.at({x}, [1, 0], {value})",
            f"np.subtract.at({x}, np.argmax({x}.ravel()) % len({x}), {value})",
            f"np.fill_diagonal({y}, {made.value(())})",
            f"np.put_along_axis({y}, np.argmax({y}, axis=1)[:, None], {made.value(())}, 1)",
            f"np.put({x}, [0, -1], {made.value(())})",
            f"np.place({x}, {x} > 0.3, {made.value(())})",
        )
    )


def _swap(made: Writing) -> str:
    x, y = made.pick(1, 2), made.pick()
    return made.one(
        (
            f"{x}[0], {x}[1] = {x}[1], {x}[0]",
            f"{x}[[0, 1]] = {x}[[1, 0]]",
            f"{x}[:] = {x}[::-1]",
            f"{x}[1:] = {x}[:-1]",
            f"{x}[1:] += {x}[:-1]",
            f"{x}[:-1] *= {x}[1:]",
            f"{x}, {y} = {y}, {x}",
        )
    )


def _loop(made: Writing) -> str:
    x, y = made.pick(1, 2), made.pick(1, 2)
    return made.one(
        (
            f"for i in range(1, len({x})): {x}[i] += {x}[i - 1] * 0.5",
            f"for row in {x}: row *= {made.value(())}",
            f"for i, one in enumerate({y}): {x}[i] = one",
            f"for one, other in zip({x}, {y}): one -= other",
            f"for i in range(2): {x}[i], {y}[i] = {y}[i], {x}[i]",
        )
    )


STATEMENTS: tuple[Callable[[Writing], str], ...] = (
    _view, _view, _fresh, _number, _item, _item, _item, _whole, _out, _method, _swap, _loop,
)  # fmt: skip


@st.composite
def writings(draw: Any, most: int = 14) -> Writing:
    """A program of a few lines."""
    made = Writing(draw, draw(st.integers(0, 2**16)))
    for _ in range(draw(st.integers(2, most))):
        made.add(made.statement())
    return made


# What holds


def check_values(made: Writing, dtype: Any = float) -> None:
    """Recorded and eager: the results, and what becomes of the arguments."""
    for seed in (made.seed, made.seed + 1):
        made.seed = seed
        plain = made.arguments(dtype)
        expected = made.function(*plain.values())
        for options, bound in (({"exact": True}, 0.0), ({}, 1e-12)):
            recorded = made.__dict__.setdefault(
                f"recorded_{bound}_{np.dtype(dtype)}",
                tj.function(made.function, cache=False, **options),
            )
            for _ in range(2):
                mine = made.arguments(dtype)
                found = recorded(*mine.values())
                assert_same(found, expected, bound * 1e4 if dtype is np.float32 else bound)
                assert_same(mine, plain, bound * 1e4 if dtype is np.float32 else bound)
    eager = [tj.constant(x) for x in made.arguments(dtype).values()]
    found = made.function(*eager)
    assert_same([np.array(x) for x in found], expected)
    assert_same([np.array(x) for x in eager], list(plain.values()))


def check_gradients(made: Writing, order: int = 1) -> None:
    """Reverse mode against differences, by a function, by a tape, and by the kernel's two halves;
    of second order, too."""
    values = made.arguments()
    rng = np.random.default_rng(made.seed + 7)
    directions = {name: rng.normal(size=x.shape) for name, x in values.items()}

    def moved(step: float) -> float:
        return float(
            made.loss(*[x + step * directions[name] for name, x in made.arguments().items()])
        )

    places = tuple(range(len(values)))
    compiled = tj.value_and_grad(tj.function(made.loss, cache=False), argnums=places)
    mine = made.arguments()
    value, found = compiled(*mine.values())
    plain = made.arguments()
    np.testing.assert_allclose(value, made.loss(*plain.values()), rtol=1e-11, atol=1e-11)
    assert_same(mine, plain, 1e-12)
    with tj.GradientTape() as tape:
        watched = [tj.constant(x) for x in values.values()]
        for x in watched:
            tape.watch(x)
        y = made.loss(*[x * 1.0 for x in watched])
    taped = tape.gradient(y, watched, unconnected_gradients="zero")
    for one, other in zip(found, taped, strict=True):
        np.testing.assert_allclose(one, np.asarray(other), rtol=1e-10, atol=1e-10)
    kernel = compiled.kernel(*made.arguments().values())
    _, kept = kernel.forward(*made.arguments().values())
    halves = kernel.backward(kept)
    for one, other, again in zip(found, halves, kernel.backward(kept), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13 * np.max(np.abs(other)))
        np.testing.assert_array_equal(other, again)
    slope = sum(float(np.sum(g * d)) for g, d in zip(found, directions.values(), strict=True))
    _compare(slope, moved)
    if order == 2:

        def along(*args: Any) -> Any:
            parts = tj.grad(made.loss, argnums=places)(*args)
            return sum(np.sum(g * d) for g, d in zip(parts, directions.values(), strict=True))

        found = tj.grad(along, argnums=places)(*made.arguments().values())
        slope = sum(float(np.sum(g * d)) for g, d in zip(found, directions.values(), strict=True))

        def moved_slope(step: float) -> float:
            there = [x + step * directions[name] for name, x in made.arguments().items()]
            _, parts = compiled(*there)
            return sum(
                float(np.sum(g * d)) for g, d in zip(parts, directions.values(), strict=True)
            )

        _compare(slope, moved_slope)


def _compare(slope: float, function: Callable[[float], float]) -> None:
    """A derivative against differences, where these agree among themselves: no mask or order
    changes."""
    coarse, fine = (extrapolated(function, step) for step in (1e-3, 4e-4))
    scale = 1e-6 * max(1.0, abs(fine))
    assume(abs(coarse - fine) < scale)
    assert abs(slope - fine) <= 10 * scale, (slope, fine)


def check(made: Writing, order: int = 1) -> None:
    """All of it; what tracejit does not guess is left out."""
    assume(made.lines)
    try:
        check_values(made)
        check_gradients(made, order)
    except InPlaceError as error:
        assume("a view or a copy" not in str(error))
        raise


@FEW
@given(writings())
def test_programs_that_write_are_numpys_and_their_gradients_are_right(made: Writing) -> None:
    check(made)


@settings(FEW, max_examples=by_day(1, 3))
@given(writings(8))
def test_second_derivatives_of_programs_that_write(made: Writing) -> None:
    check(made, 2)


@pytest.mark.nightly
@MANY
@given(writings())
def test_nightly_programs_that_write(made: Writing) -> None:
    check(made)


@pytest.mark.nightly
@settings(MANY, max_examples=1_000)
@given(writings(8))
def test_nightly_second_derivatives_of_programs_that_write(made: Writing) -> None:
    check(made, 2)
