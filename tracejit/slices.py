"""The gradient of what an eager tape holds, compiled once per structure.

A slice is the part of a window that leads from sources to targets. Its structure (operations,
parameters, types, lines, how they hang together) is the key of a kernel that computes the gradients
from the slice's own values: nothing is computed again that the forward run has computed. Python
numbers are constants of the kernel at first, and arguments once they have been seen to differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.adjoint import gradients
from tracejit.differentiate import like, ones_like
from tracejit.ir.graph import NOWHERE, Constant, Node, Value
from tracejit.kernel import make_kernel
from tracejit.ops.markers import FIXED_RULES, OVERRIDE, inputs_of
from tracejit.passes.dce import needed_nodes
from tracejit.passes.extract import extract
from tracejit.pipeline import Recorded
from tracejit.trace.eager import EAGER, eager_tensor
from tracejit.trace.record import Recording
from tracejit.trace.tensor import Tensor

LIMIT = 10_000


class Slice(NamedTuple):
    """The nodes between sources and targets, and all their values in order of first use."""

    nodes: list[Node]
    values: list[Value]
    numbers: list[Any]
    key: tuple[Any, ...]


class Compiled(NamedTuple):
    """A kernel for slices of one structure.

    `arguments` are the places in a slice's values, and after them those of the seeds, of what it
    takes; `results` are per source the number of its result, None where unconnected. `numbers` are
    the Python numbers that it was made for, but for those in `dynamic`, which are arguments.
    """

    kernel: Callable[..., Any] | None
    arguments: list[int]
    results: list[int | None]
    numbers: list[Any]
    dynamic: frozenset[int]


_compiled: dict[tuple[Any, ...], Compiled] = {}


def slice_of(nodes: Sequence[Node], ys: Sequence[Value], xs: Sequence[Value]) -> Slice | None:
    """The part of `nodes` between xs and ys; None where the user's rules are on the way, which are
    not known by their structure."""
    active = set(xs)
    reached = []
    for node in nodes:
        if not active.isdisjoint(inputs_of(node)):
            reached.append(node)
            active.update(node.results)
    needed = set(ys)
    kept = []
    for node in reversed(reached):
        if not needed.isdisjoint(node.results):
            if node.op is OVERRIDE and node.params["grad"].rule not in FIXED_RULES:
                return None
            kept.append(node)
            needed.update(inputs_of(node))
    kept.reverse()
    places: dict[Value, int] = {}
    numbers: list[Any] = []
    words: list[Any] = []
    for node in kept:
        params = _params_key(node) if node.params else ""
        words += (node.op, node.where, params)
        for value in (*node.operands, *node.results):
            place = places.get(value)
            if place is None:
                place = places[value] = len(places)
                words.append(value.type)
                if value.type.form == "weak":
                    numbers.append(value.data or repr(value.data))
            words.append(place)
    for value in (*ys, *xs):
        if value not in places:
            places[value] = len(places)
            words.append(value.type)
        words.append(places[value])
    words += (len(ys), len(xs))
    return Slice(kept, list(places), numbers, tuple(words))


def _params_key(node: Node) -> str:
    """The parameters as text; of a marker, its rule."""
    if node.op is OVERRIDE:
        marker = node.params["grad"]
        return f"{node.params['outputs']} {FIXED_RULES.index(marker.rule)} {marker.name}"
    return repr(node.params)


def compiled_gradients(
    part: Slice, ys: Sequence[Value], xs: Sequence[Value], seeds: Sequence[Any], names: Names
) -> list[Tensor | None]:
    """The gradients of ys with respect to xs, values of `part`; a seed is a Tensor, or None for
    ones. `names` says what the user calls values."""
    key = (part.key, tuple([None if seed is None else seed.type for seed in seeds]))
    known = _compiled.get(key)
    if known is None or not _fits(known, part.numbers):
        dynamic = frozenset() if known is None else known.dynamic | _changed(known, part.numbers)
        if len(_compiled) >= LIMIT:
            _compiled.clear()
        known = _compiled[key] = _compile(part, ys, xs, seeds, names(), dynamic)
    if known.kernel is None:
        return [None] * len(xs)
    data = [value.data for value in part.values]
    data += [seed._value.data for seed in seeds if seed is not None]
    found = known.kernel(*[data[place] for place in known.arguments])
    results = (found,) if sum(place is not None for place in known.results) == 1 else found
    return [
        None if place is None else eager_tensor(results[place], x.type)
        for place, x in zip(known.results, xs, strict=True)
    ]


Names = Callable[[], Mapping[Value, str]]


def _fits(known: Compiled, numbers: Sequence[Any]) -> bool:
    if known.numbers == numbers:
        return True
    return known.dynamic.issuperset(_changed(known, numbers))


def _changed(known: Compiled, numbers: Sequence[Any]) -> set[int]:
    """The positions of numbers that differ from those the kernel was made for."""
    pairs = enumerate(zip(known.numbers, numbers, strict=True))
    return {position for position, (old, new) in pairs if old != new}


def _compile(
    part: Slice,
    ys: Sequence[Value],
    xs: Sequence[Value],
    seeds: Sequence[Any],
    names: Mapping[Value, str],
    dynamic: frozenset[int],
) -> Compiled:
    """Differentiate the slice in a recording of its own, and make a kernel of the adjoint nodes."""
    origin = _origin(part.nodes)
    recording = Recording(f"{origin.rpartition('.')[2]}_gradient")
    recording.graph.files = EAGER.graph.files
    copies, forward = _copied(part, recording, names, dynamic)
    cotangents = []
    for y, seed in zip(ys, seeds, strict=True):
        if seed is None:
            seed = ones_like(Tensor(copies[y], recording))
        else:
            seed = recording.argument(f"{names.get(y, 'out')}_bar", seed.type)
            forward.append(seed._value)
        cotangents.append(seed)
    sources = [Tensor(copies[x], recording) for x in xs]
    with recording, recording.at(NOWHERE):
        found = gradients([Tensor(copies[y], recording) for y in ys], sources, cotangents)
        answers = [None if g is None else like(g, x) for g, x in zip(found, sources, strict=True)]
    outputs = [g._value for g in answers if g is not None]
    graph = recording.finish(outputs)
    count = iter(range(len(outputs)))
    results = [None if g is None else next(count) for g in answers]
    if not outputs:
        return Compiled(None, [], results, part.numbers, dynamic)
    backward = needed_nodes(graph.nodes, outputs, forward)
    used = {value for node in backward for value in node.operands}.union(outputs)
    inputs = [v for v in dict.fromkeys(forward) if v in used and not isinstance(v, Constant)]
    graph = extract(graph, graph.name, inputs, outputs)
    kernel = make_kernel(Recorded(graph, origin, len(outputs)))
    places = {value: place for place, value in enumerate(forward)}
    return Compiled(
        kernel.forward, [places[value] for value in inputs], results, part.numbers, dynamic
    )


def _copied(
    part: Slice, recording: Recording, names: Mapping[Value, str], dynamic: frozenset[int]
) -> tuple[dict[Value, Value], list[Value]]:
    """The slice's values in a recording: from the eager ones, and in their order."""
    made = {result for node in part.nodes for result in node.results}
    copies: dict[Value, Value] = {}
    number = 0
    for value in part.values:
        if value.type.form == "weak":
            if number in dynamic:
                copies[value] = recording.argument("c", value.type, value.data)._value
            else:
                copies[value] = recording.graph.constant(value.data)
            number += 1
        elif value not in made:
            copies[value] = recording.argument(names.get(value, "a"), value.type)._value
    for node in part.nodes:
        operands = tuple([copies[value] for value in node.operands])
        types = [value.type for value in node.results]
        new = recording.graph.emit(node.op, operands, node.params, types, node.where)
        for old, result in zip(node.results, new.results, strict=True):
            copies[old] = result
            result.label = result.label or names.get(old, "")
    return copies, [copies[value] for value in part.values]


def _origin(nodes: Sequence[Node]) -> str:
    """The user's function that computed the last of `nodes`."""
    places = [node.where.function for node in nodes if node.where is not None]
    return places[-1] if places else "tape"
