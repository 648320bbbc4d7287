"""Programs on blocks of NumPy arrays, and what NumPy says: what the tests of sharding share.

`Rows(array)` among the arguments stands for an array that is split along its first axis, and
`Rows(array, 1)` for one that is split along axis 1.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.ir.sizes import evaluated
from tracejit.runtime.dispatch import Output
from tracejit.sharding.analysis import analyse, row_axis
from tracejit.sharding.program import FAN_IN, Program, combine_parts, compile_program
from tracejit.sharding.recording import Input, record_split
from tracejit.sharding.stages import Source
from tracejit.specialise.callee import Callee
from tracejit.specialise.function import Function
from tracejit.trace.arguments.signature import TensorSpec
from tracejit.trace.structure.trees import flatten, map_tree, unflatten


class Rows:
    """An array among the arguments that is split along its rows."""

    def __init__(self, array: Any, axis: int = 0) -> None:
        """Let the rows be in this axis."""
        self.array, self.axis = np.asarray(array), axis

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.array.shape[self.axis])

    def block(self, first: int, end: int) -> Any:
        """The rows from `first` to `end`."""
        return self.array[(slice(None),) * self.axis + (slice(first, end),)]


def whole(arguments: Any) -> Any:
    """Arguments with the arrays themselves in the place of `Rows`."""
    return map_tree(lambda leaf: leaf.array if type(leaf) is Rows else leaf, arguments)


def as_specs(arguments: Any) -> Any:
    """Arguments with the types of split arrays, whose elements no recording sees."""
    return map_tree(
        lambda leaf: TensorSpec(leaf.array.shape, leaf.array.dtype) if type(leaf) is Rows else leaf,
        arguments,
    )


def run_blocks(
    program: Program, arguments: Sequence[Any], blocks: Sequence[Sequence[Any]]
) -> list[Any]:
    """The results of a program: `arguments` are those of its inputs that are not split, `blocks`
    have for each block the arguments that are; None stands for the others. Split results are lists
    of blocks."""
    made: dict[tuple[str, int], Any] = {}

    def taken(source: Source, block: Sequence[Any] | None, place: int) -> Any:
        match source.kind:
            case "constant":
                return source.data
            case "argument":
                given = arguments[source.number]
                return given if block is None or given is not None else block[source.number]
            case "block":
                return (
                    [one[source.number] for one in blocks]
                    if block is None
                    else block[source.number]
                )
            case "kept":
                found = [one[source.number] for one in made["kept", source.level]]
                return found if block is None else found[place]
        return made[source.kind, source.level][source.number]

    for one in program.stages:
        stage = one.stage
        if not stage.is_map:
            made["head", stage.level] = one(*[taken(s, None, 0) for s in stage.inputs])
            continue
        outputs = [
            one(*[taken(source, block, place) for source in stage.inputs])
            for place, block in enumerate(blocks)
        ]
        made["kept", stage.level] = outputs
        parts = [output[: len(stage.combine)] for output in outputs]
        while len(parts) > 1:
            parts = [
                combine_parts(stage.combine, parts[k : k + FAN_IN])
                for k in range(0, len(parts), FAN_IN)
            ]
        made["combined", stage.level] = parts[0]
    return [taken(source, None, 0) for source in program.results]


class SplitProgram:
    """A function recorded on some arguments, some of which are split, and cut into stages.

    It runs on any blocks of arrays of the same number of rows.
    """

    def __init__(self, f: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Record and compile."""
        function = f if isinstance(f, Function) else tj.function(f)
        options = function.options
        form = function._callee.form
        self.callee = Callee(function.python, function.request, options, form)
        bound = self.callee.bind(tuple(arguments), {})
        request = self.callee.note(as_specs(bound))
        leaves, _ = flatten(list(bound.values()))
        names = [leaf.name for leaf in request.call.leaves]
        self.arguments = dict(zip(names, leaves, strict=True))
        self.split = {k: v for k, v in self.arguments.items() if type(v) is Rows}
        (self.rows,) = {leaf.count for leaf in self.split.values()}
        axes = {name: leaf.axis for name, leaf in self.split.items()}
        self.recording = record_split(self.callee, options, request, axes, self.rows)
        self.program: Program = compile_program(self.recording, options)

    @functools.cached_property
    def rounds(self) -> int:
        """The number of rounds of combining."""
        found = analyse(self.recording.graph)
        return max([one.level for one in found.placements.values()], default=0)

    def run(self, sizes: Sequence[int]) -> Any:
        """The results on blocks of so many rows, split ones put together."""
        assert sum(sizes) == self.rows
        edges = list(itertools.accumulate(sizes, initial=0))
        inputs = self.recording.inputs
        fixed = [self._fixed(one) for one in inputs]
        blocks = [
            [self._in_block(one, first, end) for one in inputs]
            for first, end in itertools.pairwise(edges)
        ]
        results = run_blocks(self.program, fixed, blocks)
        types = [value.type for value in self.recording.graph.outputs]
        joined = [
            np.concatenate(found, axis=row_axis(type)) if row_axis(type) is not None else found
            for found, type in zip(results, types, strict=True)
        ]
        # The numbers that Python decides by are outputs, too, behind the results.
        count = len(self.recording.places)
        made = dict(zip(map(tuple, self.recording.places), joined[:count], strict=True))
        built = [_built(output, made) for output in self.recording.outputs]
        return built[0] if len(built) == 1 else tuple(built)

    def _fixed(self, one: Input) -> Any:
        if one.is_first_row or one.leaf in self.split:
            return None
        if one.leaf:
            value = self.arguments[one.leaf]
            is_weak = one.value.type.form == "weak"
            return (
                value if is_weak or type(value) is not float else one.value.type.dtype.type(value)
            )
        if one.hidden is not None:
            return functools.reduce(getattr, one.hidden.path.split(".")[1:], one.hidden.holder)
        return evaluated(one.size, {"n": self.rows})

    def _in_block(self, one: Input, first: int, end: int) -> Any:
        if one.is_first_row:
            return first
        return self.split[one.leaf].block(first, end) if one.leaf in self.split else None


def _built(output: Output, made: dict[Any, Any]) -> Any:
    leaves = [made[tuple(value)] if kind == "result" else value for kind, value in output.leaves]
    return unflatten(output.structure, leaves)


def block_sizes(rows: int, count: int) -> list[int]:
    """The sizes of so many ragged blocks, of at least one row where there are enough.

    >>> block_sizes(3, 5)
    [1, 1, 1]
    """
    if count >= rows:
        return [1] * rows
    pick = np.random.default_rng(count)
    inner = 1 + np.sort(pick.choice(rows - 1, count - 1, replace=False))
    if count > 2:
        inner[0] = 1
    return [int(size) for size in np.diff([0, *inner, rows])]


def leaves_of(tree: Any) -> list[Any]:
    """The arrays of a result."""
    return [np.asarray(leaf) for leaf in flatten(tree)[0]]


def differences(found: Any, expected: Any, tolerance: float) -> Iterator[str]:
    """Where two results differ by more than rounding, relative to the largest element."""
    if flatten(found)[1] != flatten(expected)[1]:
        yield f"{flatten(found)[1]} is not {flatten(expected)[1]}"
        return
    pairs = zip(leaves_of(found), leaves_of(expected), strict=True)
    for number, (one, other) in enumerate(pairs):
        if one.shape != other.shape or one.dtype != other.dtype:
            yield f"result {number}: {one.dtype} {one.shape} is not {other.dtype} {other.shape}"
        elif one.dtype.kind not in "fc":
            if not np.array_equal(one, other):
                yield f"result {number}: {one} is not {other}"
        else:
            finite = np.abs(other[np.isfinite(other)])
            size = max(finite.max(initial=0.0), 1.0)
            bound = tolerance if one.dtype.char in "dD" else 1e-5
            if not np.allclose(one, other, rtol=bound, atol=bound * size, equal_nan=True):
                yield f"result {number}: {one} is not {other}"
