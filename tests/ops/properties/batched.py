"""Every op for a batch is the op for one element after the other, on every sample of the tables.

A batch has three elements: the arguments of the sample, and others like them. `vmap` of the call is
compared with a Python loop over NumPy, and its gradient with that of the loop; forward mode with
reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tests.interpret import Run, interpret, is_input, run
from tests.ops.cases import Case
from tests.ops.program import Program, in_form, inner, is_floating, magnitude, quiet, zeros
from tests.ops.properties.recorded import assert_close
from tests.ops.properties.registry import sample_property
from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.graph import Graph
from tracejit.ir.types import type_of
from tracejit.ops.base import sized  # noqa: F401
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.dce import drop_dead
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.tensor import Tensor

SIZE = 3


def is_array(leaf: Any) -> bool:
    """Return whether a leaf is an array or a NumPy scalar."""
    kind = type_of(leaf)
    return kind is not None and kind.form != "weak" and is_input(leaf)


def _scaled(leaf: Any, number: int) -> Any:
    """The leaf, each element of it a little larger or smaller, if it is of floating numbers."""
    factor = 1 + 1e-3 * (3 - 2 * number)
    return leaf * leaf.dtype.type(factor) if is_floating(leaf) else leaf


def _flipped(leaf: Any, number: int) -> Any:
    """The leaf scaled, and once in reverse order along all axes."""
    return np.flip(_scaled(leaf, number)) if number == 1 else _scaled(leaf, number)


def is_result(leaf: Any) -> bool:
    """Tell if a leaf of a result is an array or a number."""
    return isinstance(leaf, Tensor) or type_of(leaf) is not None


class Batched:
    """A call for a batch: `there` says of each leaf of its arguments whether it has the batch."""

    def __init__(self, call: Callable[..., Any], args: Any, there: Sequence[bool]) -> None:
        """`call(*args)`, made a batch of."""
        self.call = call
        self.there = there
        leaves, self.structure = flatten(args)
        self.leaves = self._wholes(leaves)

    def _wholes(self, leaves: list[Any]) -> list[Any]:
        """The leaves, with the batch in front: permuted where NumPy takes that, else scaled."""
        with quiet():
            outputs = flatten(self.call(*unflatten(self.structure, leaves)))[0]
            for change in (_flipped, _scaled):
                others = [
                    [change(leaf, k) if moved else leaf for leaf, moved in self._pairs(leaves)]
                    for k in (1, 2)
                ]
                if all(self._is_alike(other, outputs) for other in others):
                    break
        return [
            np.stack((leaf, *changed)) if moved else leaf
            for (leaf, moved), *changed in zip(self._pairs(leaves), *others, strict=True)
        ]

    def _pairs(self, leaves: list[Any]) -> list[tuple[Any, bool]]:
        return list(zip(leaves, self.there, strict=True))

    def _is_alike(self, leaves: list[Any], outputs: list[Any]) -> bool:
        """Tell if results are numbers, and of the same types, as for the sample."""
        try:
            found = flatten(self.call(*unflatten(self.structure, leaves)))[0]
        except (ValueError, IndexError, np.linalg.LinAlgError):
            return False
        return len(found) == len(outputs) and all(
            type_of(y) is type_of(z)
            and (type_of(y) is None or np.sum(np.isfinite(y)) == np.sum(np.isfinite(z)))
            for y, z in zip(found, outputs, strict=True)
        )

    @property
    def pairs(self) -> list[tuple[Any, bool]]:
        """The leaves, and whether each has the batch."""
        return self._pairs(self.leaves)

    def element(self, number: int) -> list[Any]:
        """The leaves of one element."""
        return [leaf[number] if moved else leaf for leaf, moved in self.pairs]

    def elements(self, leaves: list[Any], batch: Batch) -> list[Any]:
        """The leaves of one element while a batch is recorded."""
        return [batch.placeholder(x) if moved else x for x, moved in self._pairs(leaves)]

    def __call__(self, *args: Any) -> Any:
        """The loop, on arrays; batched, on Tensors."""
        leaves = flatten(args)[0]
        recorded = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if not recorded:
            return self._looped(leaves)
        size = next(x.shape[0] for x, moved in self._pairs(leaves) if moved)
        batch = Batch(recorded[0]._recording, size)
        with batch.recorded():
            ones = self.elements(leaves, batch)
            found, structure = flatten(self.call(*unflatten(self.structure, ones)))
        return unflatten(structure, [batch.everywhere(y) if is_result(y) else y for y in found])

    def _looped(self, leaves: list[Any]) -> Any:
        """The call for one element after the other, its results stacked."""
        answers = []
        for k in range(SIZE):
            ones = [x[k] if moved else x for x, moved in self._pairs(leaves)]
            with quiet():
                answers.append(flatten(self.call(*unflatten(self.structure, ones))))
        columns = zip(*(found for found, _ in answers), strict=True)
        stacked = [np.stack(parts) if is_result(parts[0]) else parts[0] for parts in columns]
        return unflatten(answers[0][1], stacked)


class BatchedProgram(Program):
    """A batched call as graphs, without what was recorded for one element."""

    def __init__(self, case: Case, there: Sequence[bool]) -> None:
        """The call of a sample, with a batch for the leaves that are `there`."""
        batched = Batched(case.sample.call, case.sample.args, there)
        super().__init__(batched, unflatten(batched.structure, batched.leaves), case.seed)
        self.batched = batched
        self.case = case

    def mapped(self) -> set[str]:
        """The names of NumPy's ops that are mapped over one element after the other; which of
        SciPy's are depends on its version."""
        graphs = [self.recorded[0]] + ([self.first[0]] if self.case.order else [])
        ops = {node.op for graph in graphs for node in graph.nodes if node.op.library == "np"}
        return {op.name.removeprefix("map_") for op in ops if op.name.startswith("map_")}

    def empty_value(self) -> list[Any]:
        """The results for a batch of no elements."""
        leaves = [leaf[:0] if moved else leaf for leaf, moved in self.batched.pairs]
        with quiet():
            started = run(self.batched, *unflatten(self.batched.structure, leaves), name="empty")
            graph = self._finish(started, started.tensors)
            return interpret(graph, *filter(is_input, leaves))

    @cached_property
    def one(self) -> Program:
        """The call of the first element."""
        structure = self.batched.structure
        return Program(self.batched.call, unflatten(structure, self.batched.element(0)), 0)

    @cached_property
    def used_seeds(self) -> list[Any]:
        """The seeds of those results that are NumPy's for one element: not of Python numbers."""
        pairs = zip(self.one.expected[0], self.expected[0], strict=True)
        are_numpys = [is_floating(y) for y, whole in pairs if is_floating(whole)]
        return [seed for seed, is_numpys in zip(self.seeds, are_numpys, strict=True) if is_numpys]

    def looped_gradient(self) -> list[Any]:
        """The gradient by a loop: of each element, one after the other."""
        batched = self.batched
        graph, present = self.one.first
        kinds = [value.type for value in graph.inputs[len(self.one.leaves) :]]
        rows: list[list[Any]] = []
        for k in range(SIZE):
            leaves = [leaf for leaf in batched.element(k) if is_input(leaf)]
            parts = [g[k] for g in self.used_seeds]
            seeds = [in_form(g, kind.form) for g, kind in zip(parts, kinds, strict=True)]
            with quiet():
                answers = iter(interpret(graph, *leaves, *seeds))
            movers = [leaves[number] for number in self.moving]
            rows.append(
                [
                    next(answers) if there else zeros(x)
                    for x, there in zip(movers, present, strict=True)
                ]
            )
        return [np.stack(parts) for parts in zip(*rows, strict=True)]

    def summed(self, rows: Sequence[Any]) -> list[Any]:
        """The gradient of a batch, from that of each element: what has no batch is used by all."""
        inputs = [there for leaf, there in self.batched.pairs if is_input(leaf)]
        pairs = zip(self.moving, rows, strict=True)
        return [row if inputs[number] else sum(row) for number, row in pairs]

    def gradient_of_each(self) -> list[Any]:
        """The gradient of each element, by the reverse pass for one, batched."""

        def derive(ys: list[Tensor], xs: list[Tensor], batch: Batch, seeds: list[Any]) -> list[Any]:
            found = gradients(ys, xs, [batch.placeholder(seed) for seed in seeds])
            return [np.zeros_like(x) if g is None else g for x, g in zip(xs, found, strict=True)]

        return self._derived(derive, self.used_seeds)

    def tangent_of_each(self) -> list[Any]:
        """The derivative of each element along the directions, by the forward pass, batched."""
        there = [moved for leaf, moved in self.batched.pairs if is_floating(leaf)]

        def derive(ys: list[Tensor], xs: list[Tensor], batch: Batch, dots: list[Any]) -> list[Any]:
            pairs = zip(dots, there, strict=True)
            found = tangents(ys, xs, [batch.placeholder(v) if moved else v for v, moved in pairs])
            return [np.zeros_like(y) if v is None else v for y, v in zip(ys, found, strict=True)]

        return self._derived(derive, self.directions)

    def _derived(self, derive: Callable[..., list[Any]], given: Sequence[Any]) -> list[Any]:
        """The answer of `derive` for the results and floating inputs of each element."""
        batched = self.batched

        def call(args: Any, given: list[Any]) -> list[Any]:
            leaves = flatten(args)[0]
            batch = Batch(given[0]._recording, SIZE)
            with batch.recorded():
                ones = batched.elements(leaves, batch)
                found = flatten(batched.call(*unflatten(batched.structure, ones)))[0]
                ys = [y for y in found if isinstance(y, Tensor) and y.type.is_inexact]
                xs = [
                    x for x, whole in zip(ones, batched.leaves, strict=True) if is_floating(whole)
                ]
                answers = derive([y for y in ys if y.type.form != "weak"], xs, batch, given)
            return [batch.everywhere(answer) for answer in answers]

        args = unflatten(batched.structure, batched.leaves)
        with quiet():
            started = run(call, args, list(given), name="derived")
            return interpret(self._finish(started, started.tensors), *self.leaves, *given)

    def _finish(self, started: Run, outputs: Sequence[Tensor | None]) -> Graph:
        return drop_dead(super()._finish(started, outputs))


def batched(case: Case, there: tuple[bool, ...]) -> BatchedProgram:
    """The call of a sample with a batch for the leaves that are `there`, made once."""
    if there not in case.shared:
        case.shared[there] = BatchedProgram(case, there)
    program: BatchedProgram = case.shared[there]
    return program


def choices(case: Case) -> list[tuple[bool, ...]]:
    """Which leaves are batched: all that are floating, the first, the last."""
    leaves = case.leaves
    places = [k for k, leaf in enumerate(leaves) if is_floating(leaf)]
    places = places or [k for k, leaf in enumerate(leaves) if is_array(leaf)]
    if not places:
        return []
    every = tuple(k for k, leaf in enumerate(leaves) if is_array(leaf))
    chosen = {tuple(places): None, (places[0],): None, (places[-1],): None, every: None}
    return [tuple(k in moved for k in range(len(leaves))) for moved in chosen]


def assert_near(actual: Any, expected: Any, dtype: Any = None) -> None:
    """The same type, and equal up to the rounding of the largest element."""
    assert (np.shape(actual), actual.dtype) == (np.shape(expected), expected.dtype)
    if expected.dtype.kind not in "fc":
        assert np.array_equal(actual, expected)
        return
    tolerance = 5e3 * np.finfo(dtype or expected.dtype).eps
    with quiet():
        size = np.max(np.abs(expected), initial=1e-300, where=np.isfinite(expected))
        assert np.allclose(actual, expected, tolerance, tolerance * size, equal_nan=True)


# Ops that are mapped over one element after the other, and why.
MAPPED = {
    **dict.fromkeys(
        ("histogram", "histogram_bin_edges", "histogram_of_weights"),
        "NumPy makes one at a time",
    ),
    **dict.fromkeys(
        ("residuals_of_full_rank", "roots", "without_leading_zeros"),
        "the data of each element decide whether it is refused",
    ),
    **dict.fromkeys(
        (name for name in OPS if name.startswith("weighted_")), "weights of each element's own"
    ),
    **dict.fromkeys(
        ("solveh_banded", "solve_toeplitz", "solve_circulant", "scipy_solve",
         "solve_triangular", "solve_sylvester", "solve_continuous_lyapunov",
         "solve_discrete_lyapunov", "cho_solve", "scipy_det", "scipy_pinv", "scipy_lstsq",
         "lstsq_residuals", "lstsq_rank", "lstsq_values", "scipy_norm", "scipy_matrix_norm", "lu",
         "lu_factor", "lu_solve", "expm_frechet", "expm_beside_frechet", "scipy_qr", "polar",
         "orthogonal_procrustes", "solve_continuous_are", "solve_discrete_are", "scipy_eigh",
         "scipy_eigvalsh", "eigh_pair", "eigvalsh_pair", "scipy_eigvals", "scipy_eig",
         "scipy_svd", "scipy_svdvals", "eigh_tridiagonal", "eigvalsh_tridiagonal"),
        "not every SciPy takes stacks of matrices",
    ),
    **dict.fromkeys(
        ("signal_convolve", "signal_fftconvolve", "signal_oaconvolve",
         "signal_convolve2d", "signal_correlate", "signal_correlate2d"),
        "SciPy filters one at a time",
    ),
    **dict.fromkeys(
        ("polynomial_polyadd", "polynomial_polysub", "polynomial_polymul", "chebadd", "chebsub",
         "chebmul", "legadd", "legsub", "legmul", "hermadd", "hermsub", "hermmul", "hermeadd",
         "hermesub", "hermemul", "lagadd", "lagsub", "lagmul"),
        "NumPy makes one series at a time",
    ),
}  # fmt: skip
# Ops whose rules do not cover every case, and which.
MAPPED_IN_PART = {
    **dict.fromkeys(("nanquantile", "nanpercentile"), "q of two dimensions together with keepdims"),
    **dict.fromkeys((name for name in OPS if name.endswith("e_at")), "q of each element's own"),
    "gradient_at": "places of each element's own",
    "digitize": "bins of each element's own",
    "interp": "a curve of each element's own",
    "lfilter": "coefficients of each element's own",
    "lstsq": "a matrix of each element's own",
    "isin": "test elements of each element's own",
    "reduce": "a first value of each element's own",
    "searchsorted": "sorted arrays of each element's own",
    "solve_banded": "a matrix of each element's own",
}


def lowest_precision(program: Program) -> Any:
    """The floating dtype of the fewest digits in which something is computed."""
    dtypes = {value.type.dtype.name for value in program.recorded[0].values()}
    for names, dtype in ((("float16",), np.float16), (("float32", "complex64"), np.float32)):
        if dtypes.intersection(names):
            return dtype
    return None


def assert_transposed(program: BatchedProgram, dots: list[Any], grads: list[Any], low: Any) -> None:
    """Tangents of the results along the directions fit the gradients."""
    seeds = program.seeds if len(dots) == len(program.seeds) else program.used_seeds
    forward = sum(inner(seed, dot) for seed, dot in zip(seeds, dots, strict=True))
    pairs = list(zip(grads, program.directions, strict=True))
    reverse = sum(inner(grad, direction) for grad, direction in pairs)
    scale = sum(magnitude(grad, direction) for grad, direction in pairs)
    if np.isfinite(reverse):
        assert_close(forward, reverse, scale, 2e-3 if low else 1e-10)


@sample_property(lambda case: choices(case), every=16)
def a_batch_is_a_loop(case: Case) -> None:
    """With all that is floating, and with one of the other choices: another for each sample."""
    first, *others = choices(case)
    assert_loop(case, first)
    if others:
        assert_loop(case, others[case.number % len(others)])


@sample_property(lambda case: len(choices(case)) > 2, every=0)
def a_batch_of_any_operands_is_a_loop(case: Case) -> None:
    for there in choices(case):
        assert_loop(case, there)


def assert_loop(case: Case, there: tuple[bool, ...]) -> None:
    """A batch of the leaves that are `there` has the values and gradients of a loop."""
    program = batched(case, there)
    for actual, expected in zip(program.value(), program.expected[0], strict=True):
        if is_result(expected):
            assert_near(actual, np.asarray(expected))
    assert program.mapped() <= MAPPED.keys() | MAPPED_IN_PART.keys()
    if case.order < 1:
        return
    low = lowest_precision(program)
    rows = program.looped_gradient()
    found = program.gradient_here
    for actual, expected in zip(found, program.summed(rows), strict=True):
        assert_near(actual, expected, low)
    assert_transposed(program, program.tangent(), found, low)


@sample_property(lambda case: case.order >= 1, every=16)
def derivatives_for_a_batch_are_a_loop(case: Case) -> None:
    program = batched(case, choices(case)[0])
    if not program.used_seeds:
        return
    low = lowest_precision(program)
    rows = program.looped_gradient()
    for actual, expected in zip(program.gradient_of_each(), rows, strict=True):
        assert_near(actual, expected, low)
    assert_transposed(program, program.tangent_of_each(), program.summed(rows), low)


# What NumPy or SciPy computes otherwise, or not at all, where there are no numbers.
NOT_FOR_NONE = {
    "factorial": "of no integers are integers",
    "logsumexp": "of no numbers along several axes raises an error of SciPy's own",
}


@sample_property(lambda case: choices(case) and case.sample.op not in NOT_FOR_NONE, every=16)
def a_batch_may_be_empty(case: Case) -> None:
    program = batched(case, choices(case)[0])
    wholes = [y for y in program.expected[0] if is_result(y)]
    for actual, whole in zip(program.empty_value(), wholes, strict=True):
        assert_near(actual, whole[:0])
