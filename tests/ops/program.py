"""A call as graphs (value, gradients, tangents), and the same derivatives from NumPy alone.

All derivatives are taken of one real number, the loss Re(sum(conj(seed) * output)) with a random
seed per floating output, along one random direction per floating input.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from tests.interpret import Observer, Run, interpret, is_input, run
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType, type_of
from tracejit.trace.structure.trees import Structure, flatten, unflatten
from tracejit.trace.tensor.tensor import Tensor

COMPLEX_STEP = 1e-30
LOW_PRECISION = ("float16", "float32", "complex64")
DOUBLE = {"f2": np.float64, "f4": np.float64, "c8": np.complex128}


class Program:
    """A call on one set of arguments. Graphs are recorded when first asked for, and kept."""

    def __init__(self, call: Callable[..., Any], args: tuple[Any, ...], seed: int) -> None:
        """`call(*args)`, with random numbers drawn from `seed`."""
        self.call = call
        self.args = args
        self.leaves = [leaf for leaf in flatten(args)[0] if is_input(leaf)]
        self.moving = [number for number, leaf in enumerate(self.leaves) if is_floating(leaf)]
        rng = np.random.default_rng(seed)
        self.seeds = [draw(rng, y) for y in self.expected[0] if is_floating(y)]
        self.directions = [draw(rng, self.leaves[number]) for number in self.moving]
        self.others = [draw(rng, self.leaves[number]) for number in self.moving]

    # NumPy's answers

    def plain(self, inputs: Sequence[Any]) -> tuple[list[Any], Structure]:
        """The call's result, taken apart, with `inputs` in place of the arrays and numbers in
        args."""
        leaves, structure = flatten(self.args)
        remaining = iter(inputs)
        values = [next(remaining) if is_input(leaf) else leaf for leaf in leaves]
        with quiet():
            return flatten(self.call(*unflatten(structure, values)))

    @cached_property
    def expected(self) -> tuple[list[Any], Structure]:
        """The call's result on its own arguments, taken apart."""
        return self.plain(self.leaves)

    def loss(self, inputs: Sequence[Any]) -> float:
        """What the gradient is of."""
        outputs = [y for y in self.plain(inputs)[0] if is_floating(y)]
        return sum(inner(seed, y) for seed, y in zip(self.seeds, outputs, strict=True))

    def moved(self, position: int, step: Any) -> list[Any]:
        """The inputs, in double precision, one of them moved by `step` along its direction."""
        inputs = [cast(leaf, DOUBLE) for leaf in self.leaves]
        number = self.moving[position]
        moved = inputs[number] + step * self.directions[position]
        inputs[number] = np.asarray(moved) if type(inputs[number]) is np.ndarray else moved
        return inputs

    def complex_step(self, position: int) -> float | None:
        """The derivative along a direction by complex step; None where NumPy does not keep to
        complex numbers."""
        if any(map(np.iscomplexobj, [*self.leaves, *self.seeds])):
            return None
        try:
            outputs, _ = self.plain(self.moved(position, 1j * COMPLEX_STEP))
        except (TypeError, ValueError):
            return None
        if any(np.asarray(y).dtype.kind == "f" for y in outputs):
            return None
        outputs = [y for y in outputs if is_floating(y)]
        pairs = zip(self.seeds, outputs, strict=True)
        return float(sum(np.sum(seed * np.imag(y)) for seed, y in pairs) / COMPLEX_STEP)

    # The graphs' answers

    def _run(self) -> Run:
        with quiet():
            return run(self.call, *self.args, name="sample")

    def _finish(self, started: Run, outputs: Sequence[Tensor | None]) -> Graph:
        """The graph of those outputs that are not None."""
        return started.recording.finish([y._value for y in outputs if y is not None])

    @cached_property
    def recorded(self) -> tuple[Graph, list[Any], Structure]:
        """The graph of the value; the leaves of what the call returned, Tensors among them; its
        structure."""
        started = self._run()
        graph = self._finish(started, started.tensors)
        return graph, started.leaves, started.structure

    def value(self, observe: Observer | None = None) -> list[Any]:
        """The leaves of the result, by the graph."""
        graph, leaves, _ = self.recorded
        with quiet():
            answers = iter(interpret(graph, *self.leaves, observe=observe))
        return [next(answers) if isinstance(leaf, Tensor) else leaf for leaf in leaves]

    @property
    def is_low_precision(self) -> bool:
        """Whether anything in the value is computed in less than double precision."""
        return any(value.type.dtype.name in LOW_PRECISION for value in self.recorded[0].values())

    def _differentiated(self, order: int) -> tuple[Graph, list[bool]]:
        """The graph of the gradients, or of those of <gradients, others>; which of them are not
        None."""
        started = self._run()
        xs = [started.inputs[number] for number in self.moving]
        found = _gradients(started, started.tensors, xs, "seed")
        for _ in range(order - 1):
            found = _gradients(started, [g for g in found if g is not None], xs, "other")
        graph = self._finish(started, found)
        return graph, [g is not None for g in found]

    @cached_property
    def first(self) -> tuple[Graph, list[bool]]:
        """The graph of the gradients, and which of them are not None."""
        return self._differentiated(1)

    @cached_property
    def second(self) -> tuple[Graph, list[bool]]:
        """The graph of the gradients of Re(sum(conj(other) * gradient)), and which are not None."""
        return self._differentiated(2)

    @cached_property
    def gradient_here(self) -> list[Any]:
        """The gradient of the loss at the call's own arguments, computed once."""
        return self.gradient(self.leaves)

    def gradient(self, inputs: Sequence[Any]) -> list[Any]:
        """The gradient of the loss at `inputs`, zeros where unconnected."""
        graph, present = self.first
        with quiet():
            answers = iter(interpret(graph, *inputs, *self.seeds))
        return [next(answers) if there else zeros(leaf) for leaf, there in self._movers(present)]

    def second_gradient(self) -> list[Any]:
        """The gradient of Re(sum(conj(other) * gradient)), zeros where unconnected."""
        graph, present = self.second
        kinds = [value.type for value in self.first[0].outputs]
        others = [u for u, there in zip(self.others, self.first[1], strict=True) if there]
        others = [in_form(u, kind.form) for u, kind in zip(others, kinds, strict=True)]
        with quiet():
            answers = iter(interpret(graph, *self.leaves, *self.seeds, *others))
        return [next(answers) if there else zeros(leaf) for leaf, there in self._movers(present)]

    def _movers(self, present: list[bool]) -> Iterator[tuple[Any, bool]]:
        return zip([self.leaves[number] for number in self.moving], present, strict=True)

    def tangent(self) -> list[Any]:
        """The derivative of each floating output along the directions, zeros where unconnected."""
        started = self._run()
        xs = [started.inputs[number] for number in self.moving]
        ys = [y for y in started.tensors if y.type.is_inexact]
        dots = [started.recording.argument(f"direction_{k}", x.type) for k, x in enumerate(xs)]
        found = tangents(ys, xs, dots) if ys and xs else []
        graph = self._finish(started, found)
        with quiet():
            answers = iter(interpret(graph, *self.leaves, *self.directions))
        dots_of = dict(zip([y._value for y in ys], found, strict=False))
        leaves = zip(started.leaves, self.expected[0], strict=True)
        return [
            next(answers)
            if isinstance(leaf, Tensor) and dots_of.get(leaf._value) is not None
            else zeros(y)
            for leaf, y in leaves
            if is_floating(y)
        ]


def _gradients(
    started: Run, outputs: Sequence[Tensor], xs: Sequence[Tensor], name: str
) -> list[Tensor | None]:
    """The gradients of the floating outputs, with a new input called `name_k` as seed of each."""
    ys = [y for y in outputs if y.type.is_inexact and y.type.form != "weak"]
    seeds = [started.recording.argument(f"{name}_{k}", y.type) for k, y in enumerate(ys)]
    return gradients(ys, xs, seeds) if ys and xs else [None] * len(xs)


def inner(a: Any, b: Any) -> float:
    """Re(sum(conj(a) * b)): the real inner product of two arrays."""
    return float(np.sum(np.conj(a) * b).real)


def magnitude(a: Any, b: Any) -> float:
    """The sum of |a * b|: what the rounding errors of the inner product are relative to."""
    return float(np.sum(np.abs(np.asarray(a) * b)))


@contextmanager
def quiet() -> Iterator[None]:
    """Without NumPy's own warnings: some samples are about what NumPy warns of."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def is_floating(leaf: Any) -> bool:
    """Whether a leaf is a floating or complex array or NumPy scalar."""
    kind = type_of(leaf)
    return kind is not None and kind.is_inexact and kind.form != "weak"


def zeros(leaf: Any) -> Any:
    """Zeros of the type of a leaf."""
    return cast(leaf, {}) * 0 if np.ndim(leaf) == 0 else np.zeros_like(leaf)


def in_form(leaf: Any, form: str) -> Any:
    """A leaf of one element as a NumPy scalar or a 0-d array."""
    return np.asarray(leaf) if form == "array" else np.asarray(leaf)[()]


def draw(rng: np.random.Generator, leaf: Any) -> Any:
    """Random numbers of modulus 0.3 to 1 of the type of a leaf."""
    kind: ArrayType | None = type_of(leaf)
    assert kind is not None
    values = rng.uniform(0.3, 1.0, kind.shape) * rng.choice([-1.0, 1.0], kind.shape)
    if kind.dtype.kind == "c":
        values = values * np.exp(1j * rng.uniform(0.0, 6.0, kind.shape))
    values = np.asarray(values).astype(kind.dtype)
    return in_form(values, kind.form)


def cast(leaf: Any, dtypes: dict[str, Any]) -> Any:
    """An array or NumPy scalar in the dtype that `dtypes` has for its own; anything else as it
    is."""
    kind = type_of(leaf)
    if kind is None or kind.form == "weak":
        return leaf
    dtype = dtypes.get(kind.dtype.str.lstrip("<>=|"))
    return leaf if dtype is None else leaf.astype(dtype)
