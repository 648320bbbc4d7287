"""Random programs that decide: ifs in ifs, loops that data ends, early returns, integers of data,
exceptions, helpers with branches; compiled, they are what Python computes, on the path that each
input takes, and their gradients are those of that path.

A program uses the same five names throughout, so that every path is valid: arrays `u` and `v` of
three elements, numbers `s` and `t`, an integer argument `n`; and draws from a generator, which ends
in the state that Python leaves it in. Run with complex numbers, which NumPy orders by their real
parts, the same text gives derivatives by complex step.

60 programs in every run, 1,500 with `-m nightly`. A program that fails is printed as Python.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.programs import ANALYTIC, COMPLEX_STEP
from tests.support.compare import assert_same
from tracejit.specialise.fallback import Fallback

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:.* has made 5 kernels:tracejit.support.errors.TracejitWarning"
    ),
    pytest.mark.filterwarnings(
        "ignore:.* has been recorded again:tracejit.support.errors.TracejitWarning"
    ),
]

FEW = settings(
    max_examples=by_day(5, 36),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=1_500, derandomize=False, print_blob=True)
DEEPEST = 3
MOST_STATEMENTS = 14
INPUTS = 5
ROUNDING = 1e-12
SLOPES = 1e-9

_numbers = itertools.count()

# {s} is a number, {u} an array, {c} a constant, {k} an index.
CONDITIONS = (
    "{s} > {c}", "{s} <= {t}", "np.mean({u}) > {c}", "{u}[{k}] < {s}", "np.any({u} > {c})",
    "np.all({u} < {c})", "{s} > {c} and {t} < 0.5", "{s} > 0.5 or {u}[{k}] > {c}",
    "not {u}[0] > {v}[1]", "-0.5 < {s} < 0.8", "abs({s}) > 0.3", "n > 1", "n == 1 and {s} > {c}",
    "int(np.argmax({u})) == {k}", "np.max({u}) > {c}", "{s} == {s}", "np.argmin({u})",
    "len({u}) == 3 and {s} > {c}", "any(e > {c} for e in {u})", "all(e < 0.5 for e in {u})",
    "(({s} > {t}) == (n > 1))", "int({s} * 3) % 2 == 0", "{u}[{k}] in ({s}, {u}[0])",
    "np.sum({u} > {c}) >= 2", "max({u}) > {s}", "{s} != {t} and n",
    "rng.uniform() < 0.5",
)  # fmt: skip
NUMBERS = (
    "np.sin({s})", "{s} * np.cos({t})", "{s} + 0.5 * {t}", "{u}[{k}]", "np.mean({u} * np.sin({v}))",
    "np.tanh({s}) - {c}", "{u}[int(np.argmax({v}))]", "min({s}, {t})", "max({u})",
    "sorted({u})[{k}]", "sum([np.sin(e) for e in {u} if e > {c}])", "({s} if {if} else {t})",
    "ramp({s}, {t})", "rules[int(np.argmin({u}))]({s})", "0.5 * n * np.sin({s})",
    "{s} / ({t} * {t} + 1.0)", "np.mean({u})", "next((e for e in {u} if e > {c}), {s})",
    "min({u}[0], {s}, {c})", "np.max({u}, initial={c}) * {s}", "descend({s}, {k})",
    "{s} * rng.normal()", "rng.uniform(-1, 1)",
)  # fmt: skip
ARRAYS = (
    "np.sin({u})", "{u} * np.tanh({v})", "{u} + 0.5 * {s}", "{u}[::-1]", "np.roll({u}, {k})",
    "np.where({u} > {c}, {v}, {s})", "np.roll({u}, int(np.argmax({v})))", "{u} * ({v} > {c})",
    "np.stack([{s}, {t}, {u}[{k}]])", "np.stack([ramp(e, {s}) for e in {u}])", "{u} - np.mean({u})",
    "np.concatenate([{u}[:{k}], {v}[{k}:]])", "({u} if {if} else {v})", "{u} / (1.0 + {v} * {v})",
    "np.stack(sorted({u}))", "{u}[[int(np.argmax({v})), 0, {k}]]", "{u} * (0.5 * n)",
    "{u} + rng.normal(size=3)",
)  # fmt: skip
HELPERS = """
def ramp(a, b):
    if a > b:
        return 0.5 * (a - b)
    return a * 0.25


def descend(a, depth):
    if depth == 3 or a < -0.5:
        return a
    return np.sin(descend(a - 0.4, depth + 1)) + 0.1 * a


class Found(Exception):
    pass


rules = [np.sin, np.tanh, lambda a: -a if a > 0 else 0.5 * a]
"""


class Branching:
    """A program being made, as lines of Python."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.seed = draw(st.integers(0, 2**16))
        self.left = draw(st.integers(3, MOST_STATEMENTS))
        self.lines: list[str] = []

    # Making

    def one(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def text(self, choices: Sequence[str]) -> str:
        """An expression with names and constants in their places."""
        chosen = self.one(choices)
        condition = self.text(CONDITIONS) if "{if}" in chosen else ""
        s, t = self.one(("s", "t", "a")), self.one(("s", "t"))
        u, v = self.one(("u", "v", "x")), self.one(("u", "v"))
        c, k = self.one((0.0, 0.2, -0.3, 0.7)), self.one((0, 1, 2))
        words = {"s": s, "t": t, "u": u, "v": v, "c": c, "k": k, "if": condition}
        return str(chosen.format(**words))

    def block(self, depth: int, loops: int) -> None:
        """A few statements at this depth, inside so many loops."""
        start = len(self.lines)
        for _ in range(self.one((1, 1, 2, 3))):
            if self.left:
                self.left -= 1
                self.one(STATEMENTS if depth < DEEPEST else SIMPLE)(self, depth, loops)
        if len(self.lines) == start:
            self.add(depth, "pass")

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    # Running

    @property
    def source(self) -> str:
        head = [
            "def program(x, a, n, rng):",
            "    u, v, s, t = x * 1.0, np.cos(x), a * 0.5, np.sum(x)",
        ]
        last = "    return np.mean(u * np.sin(v + 0.3)) + s * 0.7 - np.cos(t) + n"
        return HELPERS + "\n\n" + "\n".join([*head, *self.lines, last]) + "\n"

    def __repr__(self) -> str:
        return f"\n# seed {self.seed}{self.source}"

    def compiled(self, **names: Any) -> Callable[..., Any]:
        filename = f"<branching {next(_numbers)}>"
        text = self.source
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        space: dict[str, Any] = {"np": np, "__name__": "program", **names}
        exec(compile(text, filename, "exec"), space)
        made: Callable[..., Any] = space["program"]
        return made

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self.compiled()

    @cached_property
    def analytic(self) -> Callable[..., Any]:
        """The program on complex numbers."""
        return self.compiled(np=ANALYTIC, int=lambda z: int(np.real(z)))

    @cached_property
    def inputs(self) -> list[tuple[Any, ...]]:
        """Arguments of several calls but for the generator, the first of them twice."""
        rng = np.random.default_rng(self.seed)
        made = [(rng.normal(size=3), np.float64(rng.normal()), k % 3) for k in range(INPUTS)]
        return [*made, made[0]]


def _assign(made: Branching, depth: int, loops: int) -> None:
    if made.draw(st.booleans()):
        made.add(depth, f"{made.one(('s', 't'))} = {made.text(NUMBERS)}")
    else:
        made.add(depth, f"{made.one(('u', 'v'))} = {made.text(ARRAYS)}")


def _write(made: Branching, depth: int, loops: int) -> None:
    name = made.one(("u", "v"))
    made.add(depth, f"{name} = {name}.copy()")
    made.add(depth, f"{name}[{made.one((0, 1, 2))}] {made.one(('=', '+='))} {made.text(NUMBERS)}")


def _if(made: Branching, depth: int, loops: int) -> None:
    made.add(depth, f"if {made.text(CONDITIONS)}:")
    made.block(depth + 1, loops)
    if made.draw(st.booleans()):
        made.add(depth, f"elif {made.text(CONDITIONS)}:")
        made.block(depth + 1, loops)
    if made.draw(st.booleans()):
        made.add(depth, "else:")
        made.block(depth + 1, loops)


def _while(made: Branching, depth: int, loops: int) -> None:
    counter = f"k{depth}"
    made.add(depth, f"{counter} = 0")
    made.add(depth, f"while {counter} < {made.one((2, 4))} and ({made.text(CONDITIONS)}):")
    made.add(depth + 1, f"{counter} += 1")
    made.block(depth + 1, loops + 1)
    if made.draw(st.booleans()):
        made.add(depth, "else:")
        made.block(depth + 1, loops)


def _for(made: Branching, depth: int, loops: int) -> None:
    kinds = "range(2)", "range(n)", "range(int(abs(s)) % 3)", "range(int(np.argmax(u)) + 1)"
    name = f"i{depth}"
    if made.draw(st.booleans()):
        made.add(depth, f"for {name} in {made.one(kinds)}:")
        made.add(depth + 1, f"s = s * 0.5 + {name}")
    else:
        made.add(depth, f"for {name} in {made.one(('x', 'u', 'v[1:]'))}:")
        made.add(depth + 1, f"t = t * 0.5 + {name}")
    made.block(depth + 1, loops + 1)
    if made.draw(st.booleans()):
        made.add(depth, "else:")
        made.block(depth + 1, loops)


def _leave(made: Branching, depth: int, loops: int) -> None:
    exits = ["return {}", "return {} * 1.5", 'raise ValueError(f"{{n}} {{int(t)}}")']
    made.add(depth, f"if {made.text(CONDITIONS)}:")
    if loops and made.draw(st.booleans()):
        made.add(depth + 1, made.one(("break", "continue")))
    else:
        made.add(depth + 1, made.one(exits).format(made.text(NUMBERS)))


def _try(made: Branching, depth: int, loops: int) -> None:
    made.add(depth, "try:")
    made.block(depth + 1, loops)
    made.add(depth + 1, f"if {made.text(CONDITIONS)}:")
    made.add(depth + 2, f"raise {made.one(('Found', 'ValueError', 'Found(n)'))}")
    made.add(depth, f"except {made.one(('Found', 'Exception'))}:")
    made.block(depth + 1, loops)


def _solve(made: Branching, depth: int, loops: int) -> None:
    """What only the kernel can raise: for a singular matrix."""
    matrix = made.text(("np.eye(2) * (1.0 * ({s} > {c}))",))
    right = made.text(("np.stack([{s}, {t}])", "{u}[:2]"))
    made.add(depth, "try:")
    made.add(depth + 1, f"s = np.linalg.solve({matrix}, {right})[0]")
    made.add(depth, f"except {made.one(('np.linalg.LinAlgError', 'ValueError', 'Found'))}:")
    made.block(depth + 1, loops)


Statement = Callable[[Branching, int, int], None]
SIMPLE: tuple[Statement, ...] = (_assign, _assign, _assign, _write)
STATEMENTS: tuple[Statement, ...] = (*SIMPLE, _if, _if, _if, _while, _for, _leave, _try, _solve)


@st.composite
def branchings(draw: Any) -> Branching:
    """A program of a few blocks."""
    made = Branching(draw)
    while made.left:
        made.block(1, 0)
    return made


# What holds


def outcome(function: Callable[..., Any], arguments: Sequence[Any], seed: int) -> Any:
    """What a call gives, or the exception that it ends in; and where it leaves the generator."""
    rng = np.random.default_rng(seed)
    try:
        result = function(*arguments, rng)
    except Exception as error:
        result = type(error).__name__, str(error)
    return result, repr(rng.bit_generator.state)


def check_values(made: Branching) -> None:
    """Each input takes the path that it takes in Python, when it is recorded and later; Python is
    asked only for its exceptions, and after those of kernels."""
    compiled = tj.function(made.function, cache=False)
    ask = Mock(side_effect=made.function)
    with patch.object(Fallback, "call", lambda self, args, *rest: ask(*args)):
        for number, arguments in enumerate(made.inputs):
            before = [np.copy(value) for value in arguments]
            expected = outcome(made.function, arguments, number)
            assert_same(outcome(compiled, arguments, number), expected, ROUNDING)
            for old, value in zip(before, arguments, strict=True):
                np.testing.assert_array_equal(old, value)
            raises = isinstance(expected[0], tuple) or "np.linalg" in made.source
            assert raises or not ask.called
            ask.reset_mock()


def check_gradients(made: Branching) -> None:
    """The slope of each path along a random direction, against complex step."""
    both = tj.value_and_grad(tj.function(made.function, cache=False), argnums=(0, 1))
    rng = np.random.default_rng(made.seed + 1)
    for number, (x, a, n) in enumerate(made.inputs):
        expected, state = outcome(made.function, (x, a, n), number)
        found, mine = outcome(both, (x, a, n), number)
        assert mine == state
        if isinstance(expected, tuple):
            assert found == expected
            continue
        if type(expected) is int:  # the sum of nothing: no floating number, as without branches
            assert found[0] == "GradientError"
            continue
        value, slopes = found
        assert_same(np.float64(value), np.float64(expected), ROUNDING)
        dx, da = rng.normal(size=3), rng.normal()
        step = 1j * COMPLEX_STEP
        moved = x + step * dx, np.complex128(a + step * da), n
        slope = float(np.imag(outcome(made.analytic, moved, number)[0])) / COMPLEX_STEP
        along = np.sum(slopes[0] * dx) + slopes[1] * da
        scale = 1.0 + np.sum(np.abs(slopes[0] * dx)) + abs(slopes[1] * da)
        assert abs(along - slope) <= SLOPES * scale, (x, a, n, along, slope)


def check(made: Branching) -> None:
    check_values(made)
    check_gradients(made)


@FEW
@given(branchings())
def test_programs_that_decide_are_pythons_and_their_gradients_are_right(made: Branching) -> None:
    check(made)


@pytest.mark.nightly
@MANY
@given(branchings())
def test_nightly_programs_that_decide(made: Branching) -> None:
    check(made)
