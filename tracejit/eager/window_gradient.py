"""The gradient of the operations on an eager tape, compiled once per structure.

The structure of a window (operations, lines, parameters, types, how they hang together), with the
places of targets and sources in it, is the key of a kernel that computes the gradients from the
window's own values: nothing is computed again that the forward run has computed. Python numbers are
constants of the kernel at first, and arguments once they have been seen to differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.batch.batch import Batch
from tracejit.autodiff.request.request import like, ones_like
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.compiler.kernel import make_kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.eager.targets import Reads, filled, gradients_by, sums_by
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import NOWHERE, Origin
from tracejit.ir.types import ArrayType
from tracejit.ops.control.marker_ops import inputs_of, is_ruled
from tracejit.passes.framework.dce import needed_nodes
from tracejit.passes.framework.extract import extract
from tracejit.support.errors import UnsupportedError
from tracejit.support.memo import Table
from tracejit.trace.recording.eager import EAGER, eager_tensor
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.recording.variable import Variable
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import TENSORS, Tensor


class WindowGradient(NamedTuple):
    """A kernel for windows of one structure; None if nothing is connected.

    `arguments` are the places of what it takes among the window's values, after which come the
    seeds; `results` are per source the number of its result, None if unconnected. `numbers` are
    the Python numbers that it was made for, but for those in `dynamic`, which are arguments.
    """

    kernel: Callable[..., Any] | None
    arguments: list[int]
    results: list[int | None]
    numbers: list[Any]
    dynamic: frozenset[int]


BY_RULE: Any = type("ByRule", (), {})()
"""In place of a kernel: rules of the user's are on the way, which no structure tells apart."""

_compiled = Table()

Names = Callable[[], Mapping[Value, str]]


def compiled_gradients(
    window: Window,
    ys: Sequence[Value],
    xs: Sequence[Value],
    seeds: Sequence[Any],
    names: Names,
    known_so_far: Sequence[Any] = (),
    units: np.ndarray | None = None,
) -> list[Tensor | None] | None:
    """The gradients of ys with respect to xs along an eager window's nodes; None if they are to
    be computed by rules of the user's. A seed is a Tensor, or None for ones; `names` says what the
    user calls values; `known_so_far` are as `gradients` takes them. For `units`, which hold one
    seed of the only y after another, the gradients for each, along a first axis."""
    window.put_in_order()
    places = [window.place(value) for value in (*ys, *xs)]
    extra = (*seeds, *known_so_far)
    extra_types = tuple([None if one is None else one.type for one in extra])
    kind = None if units is None else (units.shape, units.tobytes())
    key = (tuple(window.words), tuple(places), len(ys), extra_types, kind)
    known = _compiled.get(key)
    if known is None or (known is not BY_RULE and not _fits(known, window.numbers)):
        dynamic = frozenset() if known is None else known.dynamic | _changed(known, window.numbers)
        ends = ys, xs, seeds, known_so_far
        known = _compile(window, *ends, units, names(), dynamic)
        letters = sum(len(word) for word in window.words if type(word) is str)
        size = 10 * len(window.words) + letters + (0 if units is None else units.nbytes)
        _compiled.keep(key, known, 1 + size // 1000)
    if known is BY_RULE:
        return None
    if known.kernel is None:
        return [None] * len(xs)
    values, count = window.values, len(window.values)
    given = [one._value for one in extra if one is not None]
    found = known.kernel(
        *[(values[k] if k < count else given[k - count]).data for k in known.arguments]
    )
    results = (found,) if sum(place is not None for place in known.results) == 1 else found
    return [
        None if place is None else eager_tensor(results[place], _type_of(x, units))
        for place, x in zip(known.results, xs, strict=True)
    ]


def _type_of(x: Value, units: np.ndarray | None) -> ArrayType:
    """The type of a gradient with respect to x, or of those for all units."""
    return x.type if units is None else ArrayType((len(units), *x.type.shape), x.type.dtype)


def gradients_for(
    units: np.ndarray,
    y: Tensor,
    xs: Sequence[Tensor],
    recording: Recording,
    nodes: Sequence[Node] | None = None,
) -> list[Any]:
    """The gradients of y with respect to xs for each cotangent in `units`, along a first axis; None
    where unconnected. UnsupportedError where something on the way cannot be batched."""
    batch = Batch(recording, len(units))
    given = Tensor(recording.graph.constant(units), recording)
    with batch.recorded():
        found = gradients([y], xs, [batch.placeholder(given)], nodes)
        pairs = zip(found, xs, strict=True)
        answers = [None if g is None else like(g, x) for g, x in pairs]
    return [None if g is None else batch.everywhere(g) for g in answers]


def _fits(known: WindowGradient, numbers: Sequence[Any]) -> bool:
    return known.numbers == numbers or known.dynamic.issuperset(_changed(known, numbers))


def _changed(known: WindowGradient, numbers: Sequence[Any]) -> set[int]:
    """The positions of numbers that differ from those the kernel was made for."""
    pairs = enumerate(zip(known.numbers, numbers, strict=True))
    return {position for position, (old, new) in pairs if old != new}


def _between(nodes: Sequence[Node], ys: Sequence[Value], xs: Sequence[Value]) -> list[Node]:
    """The nodes that lead from xs to ys."""
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
            kept.append(node)
            needed.update(inputs_of(node))
    return kept[::-1]


def _compile(
    window: Window,
    ys: Sequence[Value],
    xs: Sequence[Value],
    seeds: Sequence[Any],
    known_so_far: Sequence[Any],
    units: np.ndarray | None,
    names: Mapping[Value, str],
    dynamic: frozenset[int],
) -> Any:
    """Differentiate the nodes in a recording of its own, and make a kernel of the adjoint nodes."""
    nodes = _between(window.nodes, ys, xs)
    if any(map(is_ruled, nodes)):
        return BY_RULE
    origin = _origin(nodes)
    recording = Recording(f"{origin.name.rpartition('.')[2]}_gradient")
    recording.graph.files = EAGER.graph.files
    copies = _copied(window, nodes, ys, xs, recording, names, dynamic)
    forward = {copies[v]: place for v, place in window.places.items() if v in copies}

    def given(value: Value, one: Any) -> Tensor:
        """An argument for a cotangent of `value`, after the window's values."""
        argument = recording.argument(f"{names.get(value, 'a')}_bar", one.type)
        forward[argument._value] = len(window.values) + sum(
            place >= len(window.values) for place in forward.values()
        )
        return argument

    targets, sources = ([Tensor(copies[v], recording) for v in values] for values in (ys, xs))
    cotangents = [
        ones_like(target) if seed is None else given(y, seed)
        for y, target, seed in zip(ys, targets, seeds, strict=True)
    ]
    so_far = [
        None if one is None else given(x, one) for x, one in zip(xs, known_so_far, strict=False)
    ]
    with recording, recording.at(NOWHERE):
        if units is None:
            found = gradients(targets, sources, cotangents, known=so_far)
            pairs = zip(found, sources, strict=True)
            answers = [None if g is None else like(g, x) for g, x in pairs]
        else:
            try:
                answers = gradients_for(units, targets[0], sources, recording)
            except UnsupportedError:
                return BY_RULE
    outputs = [g._value for g in answers if g is not None]
    count = iter(range(len(outputs)))
    results = [None if g is None else next(count) for g in answers]
    numbers = list(window.numbers)
    if not outputs:
        return WindowGradient(None, [], results, numbers, dynamic)
    graph = recording.finish(outputs)
    backward = needed_nodes(graph.nodes, outputs, forward)
    used = {value for node in backward for value in node.operands}.union(outputs)
    inputs = [v for v in forward if v in used and not isinstance(v, Constant)]
    graph.nodes = backward  # what the window holds is over
    graph = extract(graph, graph.name, inputs, outputs)
    kernel = make_kernel(Recorded(graph, origin, len(outputs)))
    return WindowGradient(kernel.forward, [forward[v] for v in inputs], results, numbers, dynamic)


def _copied(
    window: Window,
    nodes: Sequence[Node],
    ys: Sequence[Value],
    xs: Sequence[Value],
    recording: Recording,
    names: Mapping[Value, str],
    dynamic: frozenset[int],
) -> dict[Value, Value]:
    """The values of `nodes`, and the ends, in a recording: from the eager ones. What computes one
    of the xs stands for nothing else that computes the same."""
    made = {result for node in nodes for result in node.results}
    sources = set(xs)
    weak = [value for value in window.values if value.type.form == "weak"]
    numbers = {value: number for number, value in enumerate(weak)}
    copies: dict[Value, Value] = {}
    for value in (*[value for node in nodes for value in node.operands], *ys, *xs):
        if value in copies or value in made:
            continue
        if value in numbers and numbers[value] not in dynamic:
            copies[value] = recording.graph.constant(value.data)
        else:
            name = names.get(value, "c" if value in numbers else "a")
            copies[value] = recording.argument(name, value.type, value.data)._value
    for node in nodes:
        operands = tuple([copies[value] for value in node.operands])
        types = [value.type for value in node.results]
        apart = () if sources.isdisjoint(node.results) else (len(copies),)
        new = recording.graph.emit(node.op, operands, node.params, types, node.where, tapes=apart)
        for old, result in zip(node.results, new.results, strict=True):
            copies[old] = result
            result.label = result.label or names.get(old, "")
    return copies


def _origin(nodes: Sequence[Node]) -> Origin:
    """The user's function that computed the last of `nodes`."""
    found = [node.where for node in nodes if node.where is not None]
    return places.origin_at(found[-1], EAGER.graph.files) if found else Origin("tape")


def source_gradients(
    window: Window,
    recorder: Recorder,
    ys: Sequence[Tensor],
    sources: Sequence[Any],
    seeds: Sequence[Any],
    reads: Reads,
    zeros: bool,
) -> list[Any]:
    """Per source the gradient of the sum of all ys, of its type: None, or zeros, where the window
    does not know it."""

    def found(
        ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any]
    ) -> Sequence[Tensor | None]:
        known = [x for x in xs if x._value in window.known]
        answers = iter(differentiated(recorder, window, ys, known, seeds))
        return [next(answers) if x._value in window.known else None for x in xs]

    return gradients_by(found, recorder, ys, sources, seeds, reads, zeros)


def differentiated(
    recorder: Recorder,
    window: Window,
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    seeds: Sequence[Any],
) -> Sequence[Tensor | None]:
    """The gradients along the window's nodes: by a kernel, where nothing records them and no rule
    of the user's is on the way."""
    reached = [(y, seed) for y, seed in zip(ys, seeds, strict=True) if y._value in window.known]
    if not reached or not xs:
        return [None] * len(xs)
    ys, seeds = [y for y, _ in reached], [seed for _, seed in reached]
    if recorder is EAGER and current_recording() is None and not EAGER.windows:
        y_values, x_values = [y._value for y in ys], [x._value for x in xs]
        found = compiled_gradients(window, y_values, x_values, seeds, local_names)
        if found is not None:
            return found
    return gradients(ys, xs, filled(seeds, ys), window.nodes)


def local_names() -> Mapping[Value, str]:
    """The names of Tensors and Variables in the user's running function."""
    frame = places.user_frame()
    named: dict[Value, str] = {}
    for name, local in (frame.f_locals if frame is not None else {}).items():
        if type(local) in TENSORS:
            named.setdefault(local._value, name)
        elif type(local) is Variable:
            named.setdefault(local.held, local.name or name)
    return named


def unit_cotangents(shape: tuple[int, ...], y: Tensor) -> np.ndarray:
    """For each element of an array of this shape, which the last axes of y have, its cotangent: one
    there, zero elsewhere."""
    size = math.prod(shape)
    units = np.eye(size, dtype=y.dtype).reshape(size, *[1] * (y.ndim - len(shape)), *shape)
    return np.ascontiguousarray(np.broadcast_to(units, (size, *y.shape)))


class NotBatched(Exception):
    """Unit cotangents are taken one after another."""


def gradient_rows(
    window: Window,
    recorder: Recorder,
    y: Tensor,
    sources: Sequence[Any],
    units: np.ndarray,
    reads: Reads,
    single: Callable[[Tensor], list[Any]],
) -> list[Any]:
    """Per source the gradients of y for each cotangent in `units`, along a first axis: in one pass,
    or, where something cannot be batched, one after another, as `single` takes them; None if
    unconnected."""
    if not len(units):
        return [None] * len(sources)

    def batched(
        ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any]
    ) -> Sequence[Tensor | None]:
        known = [x for x in xs if x._value in window.known]
        if not (ys and known and y._value in window.known):
            return [None] * len(xs)
        found: Sequence[Any] | None
        if isinstance(recorder, Recording):
            found = gradients_for(units, y, known, recorder, window.nodes)
        elif recorder is EAGER and current_recording() is None and not EAGER.windows:
            values = [x._value for x in known]
            found = compiled_gradients(window, [y._value], values, [None], local_names, (), units)
            if found is None:
                raise NotBatched
        else:
            raise NotBatched
        answers = iter(found)
        return [next(answers) if x._value in window.known else None for x in xs]

    try:
        return sums_by(batched, recorder, [y], sources, [None], reads)
    except (NotBatched, UnsupportedError):
        pass
    rows = []
    for unit in units:
        seed = unit if y.type.form == "array" else unit[()]
        rows.append(single(Tensor(recorder.lift(seed), recorder)))
    return [None if column[0] is None else np.stack(column) for column in zip(*rows, strict=True)]
