"""Recording of a function on split arguments: one symbol for the rows of all of them.

What comes out is a graph without markers and without a cotangent to wait for, and where each of
its inputs comes from.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tracejit.compiler.pipeline import EXACT_PASSES, one_of
from tracejit.ir.dims import Dim, key_of
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.location import Origin
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import ArrayType
from tracejit.ops.base.sized import arange
from tracejit.ops.control.branches import DECIDE, ENSURE
from tracejit.ops.elementwise.weak import SIZE
from tracejit.passes.framework.driver import run_in_turn
from tracejit.passes.framework.emission import emit
from tracejit.passes.framework.rebuild import rebuild
from tracejit.runtime.dispatch import Output
from tracejit.sharding.formulas import expand_formulas
from tracejit.specialise.callee import Callee, SpecialisationRequest
from tracejit.specialise.read_guards import guard_of
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.specialise.tracer import TRIES, Tracer
from tracejit.support.errors import TracejitError, Where, fail
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import Leaf
from tracejit.trace.recording.decisions import Hidden

INT: Final = ArrayType((), np.dtype("i8"), "weak")
FIRST_ROW: Final = "first_row"
ROWS: Final = "n"
"""The name of the symbol of the rows."""


class Input(NamedTuple):
    """The origin of an input of the graph: the argument of the call of this name (`leaf`), an array
    that the function captures (`hidden`), the number that a size has over all rows (`size`), or the
    number of the first row of a block."""

    value: Value
    leaf: str = ""
    hidden: Hidden | None = None
    size: Any = None

    @property
    def is_first_row(self) -> bool:
        """Return whether it is the number of the first row of a block."""
        return not self.leaf and self.hidden is None and self.size is None


class SplitRecording(NamedTuple):
    """A function recorded on split arguments: the graph, its inputs, how the user's results are
    built of its outputs, and whether what the function captures is still what it was.

    The last outputs of the graph are what Python has `decided` by, with these outcomes.
    """

    graph: Graph
    origin: Origin
    inputs: list[Input]
    outputs: Sequence[Output]
    places: Sequence[tuple[int, ...]]
    recorded: RecordedCall
    decided: Sequence[Any] = ()

    def holds(self, rows: int) -> bool:
        """Return whether it is right for so many rows and what the function captures now."""
        sizes = self.recorded.sizes
        if sizes is None:
            return False
        count = sizes.symbols[0]
        is_alike = (rows == 0) == (count.number == 0) and rows >= (count.least or 0)
        return is_alike and sizes.hold({ROWS: rows}) and self.is_unchanged()

    def is_unchanged(self) -> bool:
        """Return whether what the function captures is unchanged."""
        guard = guard_of(self.recorded, ())
        return guard is None or guard()


def record_split(
    callee: Callee,
    options: Options,
    request: SpecialisationRequest,
    split: Mapping[str, int],
    rows: int,
) -> SplitRecording:
    """Record a call, in which the arguments in `split`, by name, have `rows` rows along an axis of
    this number.

    Raises what the function raises, and UnsupportedError where it needs the number of rows.
    """
    tracer = Tracer(callee, options)
    one, sizes, leaves = _recorded(tracer, request, split, rows)
    if sizes.free() != [0]:
        reason = sizes.reasons.get(0)
        where = reason if type(reason) is Where else None
        raise fail("rows-needed", where, function=callee.name, rows=rows)
    finished = one.finished
    if finished.commits:
        raise fail("rows-effect", None, function=callee.name)
    recorded = finished.recorded
    inputs = []
    names = {leaf.name for leaf in leaves}
    hidden = {each.value: each for each in one.hidden}
    for value in recorded.graph.inputs:
        if value is recorded.seed:
            continue
        leaf_name = value.name if value.name in names and value not in hidden else ""
        inputs.append(Input(value, leaf_name, hidden.get(value)))
    seeds = {} if recorded.seed is None else {recorded.seed: one_of(recorded.seed.type)}
    leaves_read = [leaf for output in finished.outputs for leaf in output.leaves]
    read = {tuple(value) for kind, value in leaves_read if kind == "result"}
    wanted = [k for k, place in enumerate(finished.places) if tuple(place) in read]
    sizes.is_over = False
    try:
        graph, inputs, decided = _prepared(recorded.graph, inputs, seeds, wanted)
    finally:
        sizes.end()
    found = [finished.places[k] for k in wanted]
    return SplitRecording(graph, recorded.origin, inputs, finished.outputs, found, one, decided)


def _recorded(
    tracer: Tracer,
    request: SpecialisationRequest,
    split: Mapping[str, int],
    rows: int,
    tries: int = TRIES,
) -> tuple[RecordedCall, Sizes, list[Leaf]]:
    """The recording with its sizes and arguments. It is tried again where random numbers were drawn
    meanwhile, because the threads of a cluster in this process draw some."""
    sizes = Sizes()
    sizes.stay_free = True
    count = sizes.symbol(rows, ROWS, least=min(rows, 1))
    leaves = []
    for leaf in request.call.leaves:
        if leaf.name in split:
            assert leaf.type is not None
            shape: list[Any] = list(leaf.type.shape)
            shape[split[leaf.name]] = count
            leaf = leaf._replace(type=ArrayType(tuple(shape), leaf.type.dtype, leaf.type.form))
        leaves.append(leaf)
    call = request.call._replace(leaves=leaves)
    try:
        return tracer.record(request._replace(call=call, sizes=sizes)), sizes, leaves
    except TracejitError as error:
        if error.row != "random" or threading.active_count() == 1 or not tries:
            raise
    return _recorded(tracer, request, split, rows, tries - 1)


def _prepared(
    graph: Graph, inputs: list[Input], seeds: Mapping[Value, Any], wanted: Sequence[int]
) -> tuple[Graph, list[Input], list[Any]]:
    """The graph with sizes as inputs, row numbers counted from the first row of the block, and
    without what the `wanted` outputs do not need; the outcomes of decisions, the numbers they were
    made by being the last of its outputs."""
    new_inputs: dict[Any, Input] = {}

    def size_input(new: Graph, size: Any) -> Value:
        key = ("size", key_of(size))
        if key not in new_inputs:
            name = "rows" if len(size.key) == 1 and size.key[0][1] == 1 else "size"
            new_inputs[key] = Input(new.add_input(name, INT), size=size)
        return new_inputs[key].value

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        if node.op is SIZE and type(node.params["value"]) is Dim:
            return [size_input(new, node.params["value"])]
        if node.op is arange:
            return row_numbers(new, node)
        return None

    def row_numbers(new: Graph, node: Node) -> Sequence[Value] | None:
        start, stop, dtype = (node.params[name] for name in ("start", "stop", "dtype"))
        operands: tuple[Value, ...] = ()
        if type(stop - start) is Dim:
            if not new_inputs.get(FIRST_ROW):
                new_inputs[FIRST_ROW] = Input(new.add_input(FIRST_ROW, INT))
            operands = (new_inputs[FIRST_ROW].value,)
        first, length = (0, stop - start) if type(start) is Dim else (start, stop)
        rows = emit(new, node, arange, operands, start=first, stop=length, dtype=dtype)
        if type(start) is Dim:
            rows = emit(new, node, "add", (rows, size_input(new, start)))
        return [rows]

    decided: list[tuple[Value, Any]] = []

    def without_effects(
        new: Graph, node: Node, operands: tuple[Value, ...]
    ) -> Sequence[Value] | None:
        if node.op is DECIDE:
            decided.append((operands[0], node.params["outcome"]))
            return [new.constant(node.params["outcome"])]
        return [new.constant(True)] if node.op is ENSURE else None  # what nothing reads is left out

    graph = rebuild(graph, without_effects, seeds)
    graph.outputs = [*[graph.outputs[k] for k in wanted], *[value for value, _ in decided]]
    graph = expand_formulas(run_in_turn(graph, EXACT_PASSES))
    new = rebuild(graph, rewrite)
    new = run_in_turn(new, EXACT_PASSES)
    new.assign_names()
    by_name = {value.name: value for value in new.inputs}
    found = [*inputs, *new_inputs.values()]
    named = [one._replace(value=by_name[one.value.name]) for one in found]
    return new, named, [outcome for _, outcome in decided]
