"""SplitFunction: a compiled function that takes Dask arrays beside NumPy's."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import dask
import numpy as np

from tracejit.dask.arguments import Split, is_dask, refuse_tensor, split_of
from tracejit.dask.blocks import BlockTasks
from tracejit.dask.graph import ROWS, Bundle, Call, Tasks
from tracejit.ir.sizes import evaluated
from tracejit.runtime.dispatch import Output, numpy_generator
from tracejit.sharding.program import Program, compile_program
from tracejit.sharding.recording import Input, record_split
from tracejit.sharding.stages import Source
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, without_frames
from tracejit.trace.arguments.signature import EXAMPLE, Leaf, TensorSpec
from tracejit.trace.source.places import PACKAGE
from tracejit.trace.structure.trees import flatten, map_tree, unflatten
from tracejit.trace.tensor.tensor import TENSORS

MOST_PROGRAMS = 64
"""So many programs of a function are kept."""


class _Known(NamedTuple):
    """A program with the calls that it is for, of so many rows alone where there are any."""

    request: SpecialisationRequest
    axes: Mapping[str, int]
    program: Program
    rows: int = 0

    def fits(self, request: SpecialisationRequest, split: Split) -> bool:
        """Return whether a call can run it."""
        mine, its = self.request.call, request.call
        recorded = self.program.recording.recorded
        return (
            self.axes == split.axes
            and self.rows in (0, split.rows)
            and mine.structures == its.structures
            and all(map(self._takes, mine.leaves, its.leaves))
            and (recorded.identity is None or recorded.identity.check(its))
            and self.program.recording.holds(split.rows)
        )

    def _takes(self, one: Leaf, other: Leaf) -> bool:
        recorded = self.program.recording.recorded
        in_order = one.name in recorded.in_order and isinstance(other.value, np.ndarray)
        return one.takes(other, one.guards(recorded.fixed.get(one.name), in_order))


class SplitFunction:
    """A function that takes NumPy arrays, and Dask arrays that are split along their rows.

    `tracejit.dask.function` and its gradients return one. A call returns a NumPy array if the
    result is the same for all blocks, and a Dask array if it is split. With `compute=False` nothing
    is computed, and the call returns `Delayed` values and Dask arrays.

    Examples
    --------
    >>> import dask.array as da
    >>> import tracejit.dask as td
    >>> td.function(lambda x: x.sum())
    <tracejit function lambda_ on Dask arrays>
    """

    def __init__(
        self,
        function: Function[..., Any],
        compute: bool = True,
        memory_budget: int | None = None,
    ) -> None:
        """Nothing is recorded before the first call."""
        functools.update_wrapper(self, function.python, updated=())
        self.function = function
        self.compute = compute
        self.memory_budget = memory_budget
        self._callee = Callee(
            function.python, function.request, function.options, function._callee.form
        )
        self._known: list[_Known] = []

    def __repr__(self) -> str:
        return f"<tracejit function {self.function.name} on Dask arrays>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        leaves = flatten((args, kwargs))[0]
        if not any(map(is_dask, leaves)):
            return self.function(*args, **kwargs)
        try:
            return _Results(self._prepared(args, kwargs)).answer(self.compute)
        except TracejitError as error:
            # The scheduler of processes wraps what a task has raised.
            plain = getattr(error, "exception", error)
            raise without_frames(plain, PACKAGE) from error.__cause__

    def stages(self, /, *args: Any, **kwargs: Any) -> Program:
        """Return the stages of a call with these arguments, without making it.

        Parameters
        ----------
        *args : arrays
            The arguments.
        **kwargs : arrays
            Keyword arguments.

        Returns
        -------
        Program
            The stages, which `print` shows.

        Examples
        --------
        >>> import dask.array as da
        >>> import tracejit.dask as td
        >>> total = td.function(lambda x: x.sum())
        >>> print(total.stages(da.ones(6, chunks=2)))
        # at first, on every block; combined: out by add
        ...
        """
        return self._prepared(args, kwargs).program

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call with these arguments, and its program."""
        callee = self._callee
        arguments = callee.bind(args, kwargs)
        given = callee.take_apart(map_tree(_specs({}), arguments))[0]
        values = flatten(list(arguments.values()))[0]
        pairs = zip([leaf.name for leaf in given.leaves], values, strict=True)
        dasks = {name: value for name, value in pairs if is_dask(value)}
        for leaf, value in zip(given.leaves, values, strict=True):
            if type(value) in TENSORS:
                refuse_tensor(callee.name, leaf.path)
        split = split_of(callee.name, dasks)
        axes = {id(dasks[name]): axis for name, axis in split.axes.items()}
        request = callee.note(map_tree(_specs(axes), arguments))
        program, found = self._program(request, split)
        inputs = program.recording.inputs
        numbers = range(len(inputs))
        return Call(
            program=program,
            arguments=found,
            first_row=next((k for k in numbers if inputs[k].is_first_row), None),
            dasks={k: dasks[inputs[k].leaf] for k in numbers if inputs[k].leaf in dasks},
            axes={k: split.axes[inputs[k].leaf] for k in numbers if inputs[k].leaf in split.axes},
            split=split,
            function=callee.name,
            label=_label(callee.name, program.recording.origin.place),
        )

    def _program(self, request: SpecialisationRequest, split: Split) -> tuple[Program, list[Any]]:
        """The program of a call, recorded and compiled where none is known, and its arguments."""
        for known in self._known:
            if known.fits(request, split):
                found = _arguments(known.program, request, split)
                if known.program.takes(found):
                    return known.program, found
        options = self.function.options
        recording = record_split(self._callee, options, request, split.axes, split.rows)
        program = compile_program(recording, options, split.rows, self.memory_budget)
        rows = split.rows if self.memory_budget else 0
        others = [one for one in self._known if one.program.recording.is_unchanged()]
        known = _Known(request, dict(split.axes), program, rows)
        self._known = [known, *others[: MOST_PROGRAMS - 1]]
        return program, _arguments(program, request, split)


def _arguments(program: Program, request: SpecialisationRequest, split: Split) -> list[Any]:
    """The arguments of a program, by the number of the input."""
    leaves = {leaf.name: leaf for leaf in request.call.leaves}
    inputs = program.recording.inputs
    return [_argument(one, leaves, request.differentiated, split) for one in inputs]


def _specs(axes: Mapping[int, int]) -> Callable[[Any], Any]:
    """The function that describes Dask arrays, one array always by one spec. Those in `axes`, by
    id, may have any number of rows along that axis."""
    found: dict[int, TensorSpec] = {}

    def spec(leaf: Any) -> Any:
        if not is_dask(leaf):
            return leaf
        if id(leaf) not in found:
            axis = axes.get(id(leaf))
            # Sizes that Dask does not know are refused by the names that this gives.
            sizes = [EXAMPLE if math.isnan(size) else size for size in leaf.shape]
            shape = [EXAMPLE if k == axis else size for k, size in enumerate(sizes)]
            found[id(leaf)] = TensorSpec(shape, leaf.dtype)
        return found[id(leaf)]

    return spec


def _argument(
    one: Input, leaves: Mapping[str, Leaf], differentiated: frozenset[str], split: Split
) -> Any:
    """The value of an input of the graph, as a kernel takes it; None of Dask arrays, and of the
    number of the first row of a block."""
    if one.leaf:
        leaf = leaves[one.leaf]
        if isinstance(leaf.value, TensorSpec):
            return None
        value = leaf.value if leaf.given is None else np.asarray(leaf.value)
        if leaf.role == "generator":
            return numpy_generator(value)
        if leaf.role == "number" and leaf.name in differentiated:
            return one.value.type.dtype.type(value)
        return _owned(value)
    if one.hidden is not None:
        names = [name for name in one.hidden.path.split(".") if name]
        return _owned(functools.reduce(getattr, names, one.hidden.holder))
    if one.size is not None:
        return evaluated(one.size, {ROWS: split.rows})
    return None


def _label(function: str, place: str) -> str:
    """The words that Dask shows of the tasks of a function: its name and line."""
    line = place.rpartition(":")[2]
    return f"{function.lstrip('_') or 'function'}:{line}" if line else function


def _owned(value: Any) -> Any:
    """A value that nobody else writes to: what is computed later is computed of what an argument
    is now, and a result is the caller's own."""
    return value.copy() if type(value) is np.ndarray else value


class _Results:
    """The results of a call: where each of them, by its places in what was recorded, is from."""

    def __init__(self, call: Call) -> None:
        """Find the results that are split."""
        recording = call.program.recording
        types = [value.type for value in recording.graph.outputs]
        self.call = call
        self.sources = list(
            zip(recording.places, call.program.results, types, strict=False)
        )  # not what Python decides by
        self.is_split = [source.kind in ("kept", "block") for _, source, _ in self.sources]
        self.blocks = BlockTasks(call.dasks, call.axes)

    def answer(self, compute: bool) -> Any:
        """The user's results."""
        known = self._computed() if compute else {}
        tasks = Tasks(self.call, self.blocks, known)
        made: dict[tuple[int, ...], Any] = {}
        for number, (place, source, type) in enumerate(self.sources):
            if source.kind == "block":
                made[tuple(place)] = self.call.dasks[source.number].copy()
            elif self.is_split[number]:
                made[tuple(place)] = tasks.array(source, number, type)
            elif compute:
                made[tuple(place)] = _owned(self._value(source, known))
            else:
                made[tuple(place)] = tasks.delayed(tasks.whole(source, number))
        built = [_built(output, made) for output in self.call.program.recording.outputs]
        return built[0] if len(built) == 1 else tuple(built)

    def _computed(self) -> dict[Bundle, Any]:
        """Compute the values for all blocks that results need, split ones, too."""
        stages = [one.stage for one in self.call.program.stages if one.stage.is_map]
        levels = {s.level for (_, s, _) in self.sources if s.kind == "kept"}
        needed: list[Source] = []
        for (_, source, _), is_split in zip(self.sources, self.is_split, strict=True):
            needed += [] if is_split else [source]
        for stage in stages:
            needed += stage.inputs if stage.level in levels else ()
        bundles = [one for one in map(self.call.bundle_of, needed) if one is not None]
        bundles = list(dict.fromkeys(bundles))
        if not bundles:
            return {}
        (values,) = dask.compute(Tasks(self.call, self.blocks).gathered(bundles))
        return dict(zip(bundles, values, strict=True))

    def _value(self, source: Source, known: Mapping[Bundle, Any]) -> Any:
        bundle = self.call.bundle_of(source)
        if bundle is None:
            return self.call.value_of(source)
        return known[bundle] if source.kind == "argument" else known[bundle][source.number]


def _built(output: Output, made: Mapping[tuple[int, ...], Any]) -> Any:
    leaves = [made[tuple(value)] if kind == "result" else value for kind, value in output.leaves]
    return unflatten(output.structure, leaves)
