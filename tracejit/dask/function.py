"""SplitFunction: a compiled function that takes Dask arrays beside NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np

from tracejit.dask.arguments import Split, is_dask, split_of
from tracejit.dask.graph import FIRST_ROW, ROWS, Bundle, Call, Tasks, array, bundles_of, delayed
from tracejit.ir.sizes import evaluated
from tracejit.runtime.dispatch import Output
from tracejit.sharding.program import Program, compile_program
from tracejit.sharding.recording import Input, record_split
from tracejit.sharding.stages import Source
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, without_frames
from tracejit.trace.signature import Leaf, TensorSpec
from tracejit.trace.trees import flatten, map_tree, unflatten

PACKAGE = __package__.partition(".")[0]


class _Known(NamedTuple):
    """A program with the calls that it is for, of so many rows alone where there are any."""

    request: SpecialisationRequest
    axes: dict[str, int]
    program: Program
    rows: int = 0

    def fits(self, request: SpecialisationRequest, split: Split) -> bool:
        """Return whether a call can run it."""
        mine, its = self.request.call, request.call
        return (
            self.axes == split.axes
            and self.rows in (0, split.rows)
            and mine.structures == its.structures
            and all(map(self._takes, mine.leaves, its.leaves))
            and self.program.recording.holds(split.rows)
        )

    def _takes(self, one: Leaf, other: Leaf) -> bool:
        """Return whether an argument can be another one: of split arrays the rows may differ."""
        axis = self.axes.get(one.name)
        if axis is None:
            fixed = self.program.recording.recorded.fixed
            return one.takes(other, one.guards(fixed.get(one.name)))
        assert one.type is not None and other.type is not None
        shapes = [[*type.shape[:axis], *type.shape[axis + 1 :]] for type in (one.type, other.type)]
        return shapes[0] == shapes[1] and one.type.dtype == other.type.dtype


class SplitFunction:
    """A function on Dask arrays that are split along their rows, and NumPy arrays.

    Called, it returns NumPy where the result is the same for all blocks, and Dask arrays where it
    is split; with `compute=False` nothing is computed, and results are Dask's `Delayed` and arrays.
    """

    def __init__(
        self,
        function: Function[..., Any],
        compute: bool = True,
        memory_budget: int | None = None,
    ) -> None:
        """Nothing is recorded before the first call."""
        self.memory_budget = memory_budget
        functools.update_wrapper(self, function.python, updated=())
        self.function = function
        self.compute = compute
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
            call, arrays, outputs, types = self._prepared(args, kwargs)
            return _Results(call, arrays, outputs, types).answer(self.compute)
        except TracejitError as error:
            raise without_frames(error, PACKAGE) from error.__cause__

    def stages(self, /, *args: Any, **kwargs: Any) -> Program:
        """The stages of a call with these arguments, which is not made; `print` shows them."""
        return self._prepared(args, kwargs)[0].program

    def _prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Call, list[Any], Any, Any]:
        callee = self._callee
        arguments = callee.bind(args, kwargs)
        given = callee.take_apart(map_tree(_as_spec, arguments))[0]
        values, _ = flatten(list(arguments.values()))
        dasks = {
            leaf.name: value
            for leaf, value in zip(given.leaves, values, strict=True)
            if is_dask(value)
        }
        split = split_of(callee.name, dasks)
        request = callee.note(map_tree(_as_spec, arguments))
        by_name = dict(zip([leaf.name for leaf in request.call.leaves], values, strict=True))
        program, found = self._program(request, split, by_name)
        inputs = program.recording.inputs
        axes = {
            number: split.axes[one.leaf]
            for number, one in enumerate(inputs)
            if one.leaf in split.axes
        }
        label = f"{callee.name}"
        arrays = list(dasks.values())
        recording = program.recording
        call = Call(program, found, split, axes, label, callee.name)
        return call, arrays, recording.outputs, recording.places

    def _program(
        self, request: SpecialisationRequest, split: Split, values: dict[str, Any]
    ) -> tuple[Program, list[Any]]:
        """The program for a call with these values by leaf name, and its arguments."""
        for known in self._known:
            if known.fits(request, split):
                found = _arguments(known.program, values, split)
                if known.program.takes(found):
                    return known.program, found
        options = self.function.options
        recording = record_split(self._callee, options, request, split.axes, split.rows)
        program = compile_program(recording, options, split.rows, self.memory_budget)
        rows = split.rows if self.memory_budget else 0
        self._known.insert(0, _Known(request, dict(split.axes), program, rows))
        return program, _arguments(program, values, split)


def _arguments(program: Program, values: dict[str, Any], split: Split) -> list[Any]:
    """The arguments of a program, by the number of the input."""
    return [_value_of(one, values, split) for one in program.recording.inputs]


def _as_spec(leaf: Any) -> Any:
    return TensorSpec(leaf.shape, leaf.dtype) if is_dask(leaf) else leaf


def _value_of(one: Input, by_name: dict[str, Any], split: Split) -> Any:
    if one.leaf:
        value = by_name[one.leaf]
        if type(value) is float and one.value.type.form != "weak":
            return one.value.type.dtype.type(value)
        return value
    if one.hidden is not None:
        return functools.reduce(getattr, one.hidden.path.split(".")[1:], one.hidden.holder)
    if one.size is not None:
        return evaluated(one.size, {ROWS: split.rows})
    return FIRST_ROW


class _Results:
    """The results of a call."""

    def __init__(self, call: Call, arrays: list[Any], outputs: Any, places: Any) -> None:
        program = call.program
        self.call, self.arrays, self.outputs = call, arrays, outputs
        self.types = [value.type for value in program.recording.graph.outputs]
        pairs = zip(program.results, self.types, strict=True)
        self.sources = dict(zip(places, pairs, strict=False))  # not what Python decides by

    def answer(self, compute: bool) -> Any:
        """The user's results."""
        split = {p: (s, t) for p, (s, t) in self.sources.items() if s.kind in ("kept", "block")}
        whole = {p: s for p, (s, _) in self.sources.items() if p not in split}
        tasks = Tasks(self.call)
        known: dict[Bundle, Any] = {}
        if compute:
            needed = bundles_of(whole.values())
            levels = [s.level for s, _ in split.values() if s.kind == "kept"]
            for one in self.call.program.stages:
                if one.stage.is_map and one.stage.level in levels:
                    needed += bundles_of(one.stage.inputs)
            needed = list(dict.fromkeys(needed))
            values = self._computed(tasks, needed)
            known = dict(zip(needed, values, strict=True))
            tasks = Tasks(self.call, known)
        made: dict[Any, Any] = {}
        for place, source in whole.items():
            made[place] = self._whole(source, known, tasks, compute)
        for place, (source, type) in split.items():
            made[place] = array(tasks, source, type, self.arrays)
        built = [_built(output, made) for output in self.outputs]
        return built[0] if len(built) == 1 else tuple(built)

    def _computed(self, tasks: Tasks, needed: list[Bundle]) -> list[Any]:
        if not needed:
            return []
        keys = [tasks.bundle(one) for one in needed]
        name = tasks.name("values")
        tasks.graph[name] = (_all, keys)
        (found,) = dask.compute(delayed(tasks, name, self.arrays))
        return list(found)

    def _whole(self, source: Source, known: dict[Bundle, Any], tasks: Tasks, compute: bool) -> Any:
        if source.kind == "constant":
            return source.data
        if source.kind == "argument":
            return self.call.arguments[source.number]
        if compute:
            return known[source.kind, source.level][source.number]
        key = tasks.bundle((source.kind, source.level))
        name = tasks.name("value", source.kind, source.level, source.number)
        tasks.graph[name] = (_part, key, source.number)
        return delayed(tasks, name, self.arrays)


def _all(values: list[Any]) -> list[Any]:
    return values


def _part(values: Any, number: int) -> Any:
    return values[number]


def _built(output: Output, made: dict[Any, Any]) -> Any:
    leaves = [made[tuple(value)] if kind == "result" else value for kind, value in output.leaves]
    return unflatten(output.structure, leaves)
