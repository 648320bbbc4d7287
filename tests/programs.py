"""Random NumPy programs, as Python source: the generator of tests/test_programs.py.

A program is a function of one to four arguments (arrays of any layout, NumPy scalars, Python
numbers) whose body is 5 to 30 assignments `v3 = np.tanh(v1)`. It is run by NumPy while it is made,
so that every value is finite and moderate, and far enough from a kink (of `np.abs`, `np.maximum`,
a comparison) for derivatives to exist.

`Program.analytic` is the same text run with complex numbers: functions that are not analytic are
replaced by their continuation, so that complex step gives derivatives to the last digits.
"""

from __future__ import annotations

import itertools
import linecache
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.scipy import special

MARGIN = 0.02
LARGEST = 30.0
MOST_ELEMENTS = 6000
COMPLEX_STEP = 1e-30

_numbers = itertools.count()


class Argument(NamedTuple):
    """A parameter and what is passed for it; `moves` says that it is differentiated."""

    name: str
    value: Any
    moves: bool


class Program:
    """One random function, as source and as a function.

    `tidy` says that every array in it is in C order. Where it is not, an array that NumPy makes and
    one that compiled code makes may lie differently in memory: the elements are the same, but a sum
    over them may differ in the last digits.
    """

    def __init__(
        self, arguments: Sequence[Argument], lines: Sequence[str], results: str, tidy: bool
    ) -> None:
        """The function of `arguments` with the body `lines`, returning the expression `results`."""
        self.arguments = arguments
        self.lines = lines
        self.results = results
        self.tidy = tidy

    def __repr__(self) -> str:
        given = [f"# {one.name} = {_shown(one.value)}" for one in self.arguments]
        return "\n".join(["", *given, self.source(self.results)])

    def source(self, returned: str) -> str:
        """The text of the function returning the expression `returned`."""
        head = f"def program({', '.join(one.name for one in self.arguments)}):"
        return "\n    ".join([head, *self.lines, f"return {returned}"]) + "\n"

    def compiled(self, returned: str, **names: Any) -> Callable[..., Any]:
        """The function made of the text, which tracebacks and tracejit can read."""
        text = self.source(returned)
        filename = f"<program {next(_numbers)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        space = {"np": np, "tj": tj, "special": special, "__name__": "program", **names}
        exec(compile(text, filename, "exec"), space)
        made: Callable[..., Any] = space["program"]
        return made

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The program: containers of arrays and numbers in, a tuple or dict of arrays out."""
        return self.compiled(self.results)

    @cached_property
    def loss_text(self) -> str:
        """A scalar that depends on all that the program returns, differently on each element."""
        values = re.findall(r"\bv\d*\b", self.results)
        return " + ".join(f"np.sum(np.sin({value} + 0.3))" for value in values)

    @cached_property
    def loss(self) -> Callable[..., Any]:
        """The program's scalar."""
        return self.compiled(self.loss_text)

    @cached_property
    def analytic(self) -> Callable[..., Any]:
        """The scalar on complex numbers."""
        return self.compiled(self.loss_text, np=ANALYTIC, tj=SimpleNamespace(recompute_grad=_same))

    def assert_computed(self, found: Any, expected: Any, dtype: Any = np.float64) -> None:
        """`found` is what NumPy computes, nearly as precisely as `dtype` is: to 1e-12 in double
        precision. To the bit it is with `exact=True`."""
        bound = 4500 if self.tidy else 10_000
        assert_same(found, expected, bound * float(np.finfo(dtype).eps))

    @property
    def values(self) -> list[Any]:
        """What is passed, in order."""
        return [one.value for one in self.arguments]

    @property
    def moving(self) -> tuple[int, ...]:
        """The numbers of the arguments to differentiate."""
        return tuple(number for number, one in enumerate(self.arguments) if one.moves)

    def derivative(self, number: int, direction: Any) -> float:
        """The derivative of the loss as argument `number` moves along `direction`, by complex
        step."""
        values = list(self.values)
        values[number] = values[number] + 1j * COMPLEX_STEP * direction
        return float(np.imag(self.analytic(*values))) / COMPLEX_STEP

    def in_float32(self) -> list[Any]:
        """The arguments with float32 in place of float64 arrays and NumPy scalars."""
        return [_as_float32(value) for value in self.values]


def _shown(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    layout = "contiguous" if value.flags.c_contiguous else f"strides {value.strides}"
    return f"{value.dtype} {value.shape}, {layout}, from {value.flat[:3].tolist()}"


def _as_float32(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        # Strided views of strided arrays: what is tested of float64 is tested of float32.
        return np.asarray(value).astype(np.float32) if value.dtype == np.float64 else value
    return np.float32(value) if type(value) is np.float64 else value


# The complex continuation of what NumPy defines for real numbers only, or by conjugation


def _same(function: Any) -> Any:
    return function


def _variance(x: Any, **words: Any) -> Any:
    axis = words.get("axis")
    return np.mean(np.square(x - np.mean(x, axis=axis, keepdims=True)), **words)


class Analytic:
    """NumPy, whose functions that are not analytic are continued from the real line."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    abs = staticmethod(lambda z: z * np.sign(np.real(z)))
    sign = staticmethod(lambda z: np.sign(np.real(z)))
    floor = staticmethod(lambda z: np.floor(np.real(z)))
    vdot = staticmethod(lambda x, y: np.dot(np.ravel(x), np.ravel(y)))
    hypot = staticmethod(lambda x, y: np.sqrt(x * x + y * y))
    logaddexp = staticmethod(lambda x, y: np.log(np.exp(x) + np.exp(y)))
    var = staticmethod(_variance)
    std = staticmethod(lambda x, **words: np.sqrt(_variance(x, **words)))
    linalg = SimpleNamespace(
        norm=lambda x, **words: np.sqrt(np.sum(x * x, **words)),
        inv=np.linalg.inv,
        solve=np.linalg.solve,
        LinAlgError=np.linalg.LinAlgError,
    )


ANALYTIC = Analytic()


# Making one


class Build:
    """A program being made: its lines, and every value so far with its sample."""

    def __init__(self, draw: Any, arguments: Sequence[Argument]) -> None:
        self.draw = draw
        self.arguments = arguments
        self.lines: list[str] = []
        self.tidy = all(np.asarray(one.value).flags.c_contiguous for one in arguments)
        self.known: dict[str, Any] = {one.name: one.value for one in arguments}

    def evaluate(self, text: str) -> Any:
        """The expression on the samples; None where NumPy refuses it or it is not tame."""
        with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                value = eval(text, {"np": np, "tj": tj, "special": special, **self.known})
            except (SyntaxError, ValueError, LookupError, TypeError, AttributeError):
                return None
            except (ArithmeticError, Warning):
                return None
        array = np.asarray(value)
        if array.dtype.kind != "f" or array.size > MOST_ELEMENTS or not np.isfinite(array).all():
            return None
        return value

    def pick(self, *, arrays: bool = False, ndim: int = 0) -> str:
        """The name of a value so far, one of the last; empty where there is none of this kind."""
        wanted = (np.ndarray, np.generic) if arrays else object
        names = [
            name
            for name, value in self.known.items()
            if np.ndim(value) >= ndim and isinstance(value, wanted)
        ]
        if not names:
            return ""
        back = min(self.draw(st.integers(0, 7)), len(names) - 1)
        return names[len(names) - 1 - back]

    def add(self, text: str) -> bool:
        """One more line, if it can be computed; large values are tamed."""
        value = self.evaluate(text)
        if value is None:
            return False
        if np.size(value) and np.max(np.abs(value)) > LARGEST:
            text = f"np.tanh(0.1 * ({text}))"
            value = self.evaluate(text)
        self.tidy = self.tidy and np.asarray(value).flags.c_contiguous
        name = self.draw(st.sampled_from((f"v{len(self.lines)}", f"v{len(self.lines)}", "v")))
        self.known.pop(name, None)
        self.known[name] = value
        self.lines.append(f"{name} = {text}")
        return True

    def repeat(self) -> None:
        """A loop that updates the last value."""
        name = list(self.known)[-1]
        update = f"np.sin({name}) * 0.5 + {name}"
        for _ in range(2):
            self.known[name] = self.evaluate(update)
        self.lines.append(f"for _ in range(2): {name} = {update}")

    def far(self, difference: Any) -> bool:
        """Whether no element is close to zero, where a kink would be."""
        return bool(np.all(np.abs(difference) > MARGIN))


Kind = Callable[[Build], str]

SMOOTH = (
    "np.sin({0})", "np.cos({0})", "np.tanh({0})", "np.arctan({0})", "np.exp(-{0} * {0})",
    "np.log({0} * {0} + 1.5)", "np.sqrt({0} * {0} + 0.5)", "-{0}", "+{0}", "{0} ** 2", "{0} ** 3",
    "np.square({0})", "np.reciprocal({0} * {0} + 1)", "np.expm1(np.sin({0}))",
    "np.log1p({0} * {0})", "np.arcsinh({0})", "np.sinh(np.tanh({0}))", "np.cosh(np.sin({0}))",
    "np.exp(np.sin({0}))", "np.arcsin(0.9 * np.sin({0}))", "1.0 / (1.0 + np.exp(-np.tanh({0})))",
    "(({0} * {0}) + 1) ** -0.5", "2.0 ** np.sin({0})",
    "tj.recompute_grad(lambda a: np.sin(a) * np.cos(a + 0.1))({0})",
    "np.mean({0}) * np.ones_like({0}) + {0}", "np.linalg.norm({0}) + 0.25 * {0}",
)  # fmt: skip
WEAK = (
    "{0} * 2", "3 * {0}", "{0} + 1.5", "1 - {0}", "{0} / 4", "2.5 / ({0} * {0} + 1)", "{0} - 0.25",
    "0.5 * {0} + 1", "{0} * True", "np.add({0}, 1)", "np.multiply(0.5, {0})", "{0} * np.pi",
    "sum([{0} * k for k in (1, 0.25)])", "np.float64(0.5) * {0}", "{0} + np.array([0.5])",
)  # fmt: skip
BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1} * {1} + 1)", "np.add({0}, {1})",
    "np.multiply({0}, {1})", "np.subtract({0}, {1})", "np.hypot({0}, {1} + 35.0)",
    "(lambda a, b: np.tanh(a) * b)({0}, {1})",
    "np.logaddexp({0}, {1})", "np.sin({0}) * np.cos({1})", "({0} * {0} + 0.5) ** np.sin({1})",
)  # fmt: skip
REDUCTIONS = (
    "np.sum({0}, axis={1}, keepdims={2})", "np.mean({0}, axis={1}, keepdims={2})",
    "np.var({0}, axis={1}, keepdims={2})", "np.prod(np.sin({0}), axis={1}, keepdims={2})",
    "{0}.sum(axis={1}, keepdims={2})", "{0}.mean(axis={1}, keepdims={2})",
    "np.linalg.norm({0} + 1.0, axis={1}, keepdims={2})", "np.cumsum({0}, axis={1})",
)  # fmt: skip
SHAPES = (
    "np.reshape({0}, -1)", "{0}.reshape(-1, 1)", "np.transpose({0})", "{0}.T", "{0}[None]",
    "{0}[..., None]", "np.expand_dims({0}, 0)", "np.squeeze({0})", "np.ravel({0})",
    "np.repeat(np.atleast_1d({0}), 2, axis=-1)", "np.tile({0}, 2)", "np.cumsum({0})",
    "np.flip({0})", "np.flip({0}, axis=0)", "np.atleast_2d({0})", "{0}.copy()",
    "np.roll({0}, 1, axis=0)", "np.pad({0}, 1)", "np.swapaxes({0}, 0, -1)",
    "np.moveaxis({0}, 0, -1)", "np.broadcast_to({0}, (2, *np.shape({0})))",
    "np.zeros_like({0}) + {0}", "np.full_like({0}, 0.5) * {0}",
)  # fmt: skip
INDICES = (
    "{0}[0]", "{0}[-1]", "{0}[1:]", "{0}[:-1]", "{0}[::-1]", "{0}[..., 0]", "{0}[..., ::2]",
    "{0}[[0, -1, 0]]", "{0}[np.array([0, 0])]", "{0}[:, 0]", "{0}[0, ..., None]",
    "{0}[:, [0, 0, -1]]",
    "sum({0}[:3])", "sum([row * 0.5 for row in {0}[:2]])",
    "np.take({0}, [0, 0], axis=0)", "{0}[np.arange({0}.shape[0]) % 2 == 0]",
)  # fmt: skip
JOINS = (
    "np.concatenate(({0}, {1}))", "np.concatenate([{0}, {1}], axis=-1)", "np.stack([{0}, {1}])",
    "np.stack(({0}, {0}), axis=-1)", "np.concatenate([{0}, {0}], axis=0)",
    "np.vstack(({0}, {1}))", "np.hstack(({0}, {1}))",
)  # fmt: skip
PRODUCTS = (
    "{0} @ {1}", "{0} @ {1}.T", "{0}.T @ {1}", "{0} @ {0}.T", "np.dot({0}, {1})",
    "np.inner({0}, {1})", "np.outer({0}, np.ravel({1})[:4])", "np.matmul({0}, np.sin({1}))",
    "np.einsum('ij,ij->i', {0}, {0})", "np.tensordot({0}, {1}, axes=1)", "{0}.dot({1})",
    "np.vdot({0}, np.sin({0}))", "np.einsum('...i,...i', {0}, {1})",
    "np.linalg.inv(np.tanh({0} @ {0}.T) + 30.0 * np.eye({0}.shape[0]))",
    "np.linalg.solve(np.tanh({0} @ {0}.T) + 30.0 * np.eye({0}.shape[0]), {1}.T)",
)  # fmt: skip


def unary(build: Build) -> str:
    return build.draw(st.sampled_from(SMOOTH)).format(build.pick())


def weak(build: Build) -> str:
    return build.draw(st.sampled_from(WEAK)).format(build.pick())


def binary(build: Build) -> str:
    return build.draw(st.sampled_from(BINARY)).format(build.pick(), build.pick())


def reduction(build: Build) -> str:
    value = build.pick(arrays=True, ndim=1)
    if not value:
        return ""
    ndim = np.ndim(build.known[value])
    axes = [None, *range(-ndim, ndim), *([(0, ndim - 1)] if ndim > 1 else [])]
    axis, keep = build.draw(st.sampled_from(axes)), build.draw(st.booleans())
    return build.draw(st.sampled_from(REDUCTIONS)).format(value, axis, keep)


def shape(build: Build) -> str:
    return build.draw(st.sampled_from(SHAPES)).format(build.pick(arrays=True))


def index(build: Build) -> str:
    return build.draw(st.sampled_from(INDICES)).format(build.pick(arrays=True, ndim=1))


def join(build: Build) -> str:
    return build.draw(st.sampled_from(JOINS)).format(build.pick(ndim=1), build.pick(ndim=1))


def product(build: Build) -> str:
    first, second = build.pick(arrays=True, ndim=1), build.pick(arrays=True, ndim=1)
    return build.draw(st.sampled_from(PRODUCTS)).format(first, second)


def kinked(build: Build) -> str:
    """Functions with a kink, away from it."""
    value, other = build.pick(), build.pick()
    x, y = build.known[value], build.known[other]
    try:
        difference = np.subtract(x, y)
    except ValueError:
        difference = np.zeros(1)
    choices = []
    if build.far(x):
        choices += [f"np.abs({value})", f"np.sign({value}) * {value}", f"np.maximum({value}, 0.0)"]
        choices += [f"np.where({value} > 0, {value}, 0.1 * {value})", f"{value} * ({value} < 0)"]
        choices += [f"np.minimum(0, {value})"]
    if build.far(difference):
        choices += [f"np.maximum({value}, {other})", f"np.minimum({other}, {value})"]
        choices += [f"np.where({value} > {other}, np.sin({value}), {other})"]
    if build.far(x - 0.5) and build.far(x + 0.5):
        choices += [f"np.clip({value}, -0.5, 0.5)", f"np.floor({value} + 0.5) * {value}"]
    flat = np.sort(np.ravel(x))
    if np.ndim(x) and build.far(np.diff(flat)) and isinstance(x, np.ndarray):
        choices += [f"np.max({value}, axis=-1)", f"np.min({value})", f"np.sort({value}, axis=0)"]
        choices += [f"{value}.max(axis=0, keepdims=True)"]
    return build.draw(st.sampled_from(choices)) if choices else ""


KINDS: tuple[Kind, ...] = (
    unary, unary, weak, binary, binary, reduction, shape, index, join, product, kinked,
)  # fmt: skip

SMALL = ((), (1,), (3,), (2, 3), (3, 3), (3, 1), (1, 3), (2, 1, 3), (4,))
LARGE = ((300,), (17, 20), (1, 300), (20, 17), (300, 1), (16, 17), (17, 17), (2, 9, 17))


@st.composite
def arrays(draw: Any, shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """A float64 array of one of `shapes`, contiguous, transposed, reversed or strided."""
    size = draw(st.sampled_from(shapes))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    layout = draw(st.sampled_from(("C", "C", "F", "reversed", "strided")))
    if layout == "strided" and size:
        return rng.normal(size=(*size[:-1], 2 * size[-1]))[..., ::2]
    values = rng.normal(size=size)
    if layout == "F":
        return np.asfortranarray(values)
    return values[::-1] if layout == "reversed" and size else values


@st.composite
def arguments(draw: Any) -> list[Argument]:
    """One or two arrays, and perhaps an array once more, a scalar, a float, an int."""
    shapes = draw(st.sampled_from((SMALL, SMALL, LARGE)))
    made = [Argument("x", np.asarray(draw(arrays(shapes))), True)]
    if draw(st.booleans()):
        made.append(Argument("y", np.asarray(draw(arrays(shapes))), True))
    extra = draw(st.sampled_from(("none", "twice", "scalar", "float", "int", "both")))
    if extra == "twice":
        made.append(Argument("again", made[0].value, True))
    if extra in ("scalar", "both"):
        made.append(Argument("a", np.float64(draw(st.sampled_from((0.7, -1.25)))), True))
    if extra in ("float", "both"):
        made.append(Argument("s", draw(st.sampled_from((0.6, 1.4))), draw(st.booleans())))
    if extra == "int":
        made.append(Argument("n", draw(st.sampled_from((2, 3))), False))
    return made


@st.composite
def programs(
    draw: Any,
    kinds: Sequence[Kind] = KINDS,
    given: st.SearchStrategy[list[Argument]] | None = None,
    lengths: tuple[int, int] = (5, 30),
) -> Program:
    """A program of 5 to 30 operations."""
    build = Build(draw, draw(arguments() if given is None else given))
    for _ in range(draw(st.integers(*lengths))):
        attempts = (build.add(draw(st.sampled_from(kinds))(build)) for _ in range(4))
        if not any(attempts):
            build.add(f"np.sin({build.pick()})")
        if draw(st.integers(0, 9)) == 9:
            build.repeat()
    names = [name for name in build.known if name.startswith("v")]
    last, other = names[-1], draw(st.sampled_from(names))
    form = draw(st.sampled_from(("{0}", "{0}", "({0}, {1})", "({0}, {0})", "dict(a={0}, b={1})")))
    return Program(build.arguments, build.lines, form.format(last, other), build.tidy)
