"""Batching: `Batch` turns a recording for one element into a recording for a whole batch.

The function runs on placeholders, of the types of one element. What it has recorded is then walked
in program order, and each op's `batch` says how it is applied to values that have the batch as
their first axis; what depends on no placeholder stays as it is:

- `"elementwise"`: the op itself, on operands of one rank;
- `"leading"`: the op itself, which takes any number of axes in front;
- a rule (moved, *operands, **params) -> result, `moved` saying which operands have the batch in
  front: results have it, too; NotImplemented means that it does not cover the case;
- None: the op for one element after the other, in a comprehension of the generated code. Its
  derivatives are those of the op, batched in their turn.

A loop becomes a loop over the whole batch (`autodiff/batch/batched_loops.py`), a condition one of
the whole batch, or a choice element by element (`autodiff/batch/batched_conditions.py`).

The nodes for one element are dead then. A custom gradient stays one: its rule is recorded for one
element when it is asked for, and batched with what the forward run has become. Random numbers are
drawn for each element, also where nothing else depends on one: the rule of a draw is told how many
`elements` there are and the `shape` for one. Assignments and callbacks are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from tracejit.autodiff.batch.batched_conditions import BatchedCondition
from tracejit.autodiff.batch.batched_loops import BatchedLoops
from tracejit.autodiff.forward import tangent
from tracejit.autodiff.reverse import adjoint
from tracejit.ir.graph import Node, Value
from tracejit.ir.subgraph import bodies_of, dependents
from tracejit.ir.types import HANDLE, ArrayType
from tracejit.ops.base.batching import Moved, aligned, size_of
from tracejit.ops.base.creation import filled, full
from tracejit.ops.base.infer import promote
from tracejit.ops.base.op import OPS, Applied, Each, Joint, Op
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import is_condition, is_loop
from tracejit.ops.control.marker_ops import FIXED_RULES, OVERRIDE, Marker
from tracejit.support.errors import fail
from tracejit.trace.control_flow.loops import in_region
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor


class Batch:
    """Record for a whole batch what one element records.

    `size` is the number of elements.
    """

    def __init__(self, recording: Recording, size: int, is_in_body: bool = False) -> None:
        """Begin with nothing batched; in the body of a loop where it `is_in_body`."""
        self.recording = recording
        self.size = size
        self.known: dict[Value, Value] = {}
        self._regions: dict[int, int] = {}
        self.is_in_body = is_in_body
        self._loops = BatchedLoops(recording, size, self.nested, is_in_body)

    def placeholder(self, whole: Tensor) -> Tensor:
        """One element of `whole`, whose first axis is the batch: a value to record on."""
        element = one_of(self.recording, ArrayType(whole.shape[1:], whole.dtype))
        self.known[element._value] = whole._value
        return element

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what follows for all elements at the end, though it is written for one."""
        with self.recording.recording_from(()) as nodes:
            yield
        self.extend(nodes)

    def extend(self, nodes: Sequence[Node]) -> None:
        """Record these nodes, each applied to one element, for all elements; what has an effect
        takes place for all instead of for one."""
        effects = {node for node in nodes if self._takes_place(node)}
        for node in list(nodes):
            if node in effects or self._differs(node):
                self._step(node)
        if effects:
            results = [value for node in effects for value in node.results]
            self.recording.graph.remove([*effects, *dependents(nodes, results)])

    def whole(self, tensor: Any) -> Tensor | None:
        """The batched form of a Tensor; None if it is the same for all elements."""
        value = self.known.get(self.recording.lift(tensor))
        return None if value is None else Tensor(value, self.recording)

    def everywhere(self, tensor: Any) -> Any:
        """The same, repeated for each element where it is the same for all."""
        found = self.whole(tensor)
        if found is not None:
            return found
        one: Any = Tensor(self.recording.lift(tensor), self.recording)
        return np.broadcast_to(one, (self.size, *one.shape))

    def _takes_place(self, node: Node) -> bool:
        """Return whether a node has an effect that is to take place for all elements: not that of
        a loop which extends one outside of the batch, whose effects have taken place."""
        if not node.op.effect or node.op is DECIDE:
            return False
        is_extension = any(body.base is not None for _, body in bodies_of(node))
        return not is_extension or self._loops.has_base_of(node)

    def nested(self) -> Batch:
        """A batch for a body."""
        batch = type(self)(self.recording, self.size, is_in_body=True)
        batch._regions = self._regions
        return batch

    def _differs(self, node: Node) -> bool:
        """Return whether an operand differs between the elements."""
        return any(operand in self.known for operand in node.operands)

    def _step(self, node: Node) -> None:
        recording = self.recording
        moved = tuple(operand in self.known for operand in node.operands)
        operands = [Tensor(self.known.get(v, v), recording) for v in node.operands]
        with recording.at(node.where), in_region(recording, self._region_of(node.region)):
            found = self._applied(node, moved, operands)
        for value, result in zip(node.results, _listed(found), strict=True):
            if result is None:
                continue
            if value.type is not HANDLE:
                assert result.shape == (self.size, *value.type.shape), (node, result.type)
            self.known[value] = batched = result._value
            if batched.node is not None and not batched.is_named:
                batched.label = value.label
                if value.derived is not None:
                    primal, suffix = value.derived
                    batched.derived = (self.known.get(primal, primal), suffix)

    def _region_of(self, region: int) -> int:
        """The region that `region`, if it is one, has become."""
        if region and region not in self._regions:
            self.recording.regions += 1
            self._regions[region] = self.recording.regions
        return self._regions.get(region, self.recording.region)

    def _applied(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Any:
        """The node's op on what its operands have become."""
        op = node.op
        if op is OVERRIDE:
            return self._override(node)
        if is_condition(node):
            return BatchedCondition(self, node, moved, operands).results()
        if is_loop(node):
            return self._loops.results(node, moved, operands)
        if op.effect:
            return self._effect(node, moved, operands)
        operands = _strong(node, moved, operands)
        if op.elementwise:
            rank = node.results[0].type.ndim
            return op(*aligned(moved, operands, rank), **node.params)
        if op.batch == "leading":
            return op(*operands, **node.params)
        if op.batch is not None:
            found = op.batch(moved, *operands, **node.params)
            if found is not NotImplemented:
                return found
        return self.one_by_one(node, moved, operands)

    def one_by_one(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Any:
        """The node's op for one element after the other, where no rule covers it."""
        if node.op.statements is not None:
            raise fail("no-batch", self.recording.here(), op=node.op.name)
        return mapped(node.op)(*operands, moved=tuple(moved), **node.params)

    def _effect(self, node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> Any:
        """An op with an effect, once for each element."""
        op = node.op
        if op.batch is None:
            raise fail("no-batch", self.recording.here(), op=op.name)
        assert callable(op.batch)
        shape = node.results[0].type.shape
        found = op.batch(moved, *operands, elements=self.size, shape=shape, **node.params)
        if found is not NotImplemented:
            return found
        return mapped(op)(*operands, moved=tuple(moved), count=self.size, **node.params)

    def _override(self, node: Node) -> Any:
        """A marker around what its values and inputs have become."""
        marker: Marker = node.params["grad"]
        operands = [self.everywhere(Tensor(value, self.recording)) for value in node.operands]
        if marker.rule not in FIXED_RULES:
            marker = Marker(marker.name, marker.note, self._rule(node, marker))
        return OVERRIDE(*operands, outputs=node.params["outputs"], grad=marker)

    def _rule(self, node: Node, marker: Marker) -> Callable[..., Sequence[Any]]:
        """A marker's rule, for all elements at once."""

        def rule(*cotangents: Any) -> list[Any]:
            graph = self.recording.graph
            start = len(graph.nodes)
            with self.recorded():
                ones = [None if g is None else self.placeholder(g) for g in cotangents]
                answers = marker.rule(*ones)
            if self.is_in_body:  # whose values for one element are nowhere
                graph.remove([n for n in graph.nodes[start:] if self._differs(n)])
            return [None if answer is None else self.everywhere(answer) for answer in answers]

        return rule


def one_of(recording: Recording, type: ArrayType) -> Tensor:
    """A Tensor that stands for one element of a batch, of this type."""
    if not type.shape:
        return recording.stand_in(type.dtype.type(0))
    params = {"shape": type.shape, "fill": 0, "dtype": type.dtype}
    return recording.stand_in(recording.record(full, (), params))


def _strong(node: Node, moved: Sequence[bool], operands: Sequence[Any]) -> list[Any]:
    """The operands of a node, what were Python's numbers in the dtype that it gives way to; as an
    index, and as what is written into an array, they stay integers."""
    if node.op.elements == "taken" or node.op.update is not None:
        return list(operands)
    weak = [there and v.type.form == "weak" for v, there in zip(node.operands, moved, strict=True)]
    if not any(weak):
        return list(operands)
    dtype = promote(*[value.type for value in node.operands if value.type is not HANDLE])
    return [
        x.astype(dtype) if gives_way and x.dtype != dtype else x
        for x, gives_way in zip(operands, weak, strict=True)
    ]


# One element after the other


def mapped(op: Op) -> Op:
    """The op that applies `op` to one element after the other: `moved` says which operands have
    the batch as their first axis. An op with an effect is told how many, the `count`.

    A handle that has the batch is a list of objects, one for each element.
    """
    return _mapped(op, op.vjp)


def _element(types: Sequence[ArrayType], moved: Sequence[bool]) -> list[ArrayType]:
    """The types of the operands for one element."""
    return [
        ArrayType(x.shape[1:], x.dtype, "array" if x.ndim > 1 else "scalar")
        if there and x is not HANDLE
        else x
        for x, there in zip(types, moved, strict=True)
    ]


@cache
def _mapped(op: Op, rules: Any) -> Op:
    """`mapped`, of an op with these rules: a user may have registered one since."""

    def infer(
        *types: ArrayType, moved: Sequence[bool], count: int = 0, **params: Any
    ) -> tuple[ArrayType, ...]:
        sizes = [x.shape[0] for x, there in zip(types, moved, strict=True) if there and x.shape]
        size = sizes[0] if sizes else count
        results = op.result_types(_element(types, moved), params)
        return tuple(x if x is HANDLE else ArrayType((size, *x.shape), x.dtype) for x in results)

    def source(
        types: Sequence[ArrayType], moved: Sequence[bool], count: int = 0, **params: Any
    ) -> str:
        """One call for each element, in a comprehension."""
        results = infer(*types, moved=moved, count=count, **params)
        if results[0] is not HANDLE and not results[0].shape[0]:
            return ", ".join(filled(result.shape, 0, result.dtype) for result in results)
        kinds = _element(types, moved)
        letters = [f"each{k}" if there else f"{{{k}}}" for k, there in enumerate(moved)]
        call = op.template(kinds, params).format(*letters)
        names = [letters[k] for k, there in enumerate(moved) if there]
        wholes = [f"{{{k}}}" for k, there in enumerate(moved) if there]
        over = f"zip({', '.join(wholes)})" if len(names) > 1 else (*wholes, f"range({count})")[0]
        rows = f"[{call} for {', '.join(names) or '_'} in {over}]"
        if results[0] is HANDLE:
            return rows
        return f"map(np.stack, zip(*{rows}))" if len(results) > 1 else f"np.stack({rows})"

    def joint(applied: Applied, *cotangents: Any) -> list[Any]:
        params = dict(applied.params)
        moved = params.pop("moved")
        params.pop("count", None)
        batch, gs, ys, ones = _elements(cotangents, applied.outputs, applied.inputs, moved)
        with batch.recorded():
            answers = op.vjp.rule(Applied(op.name, ones, ys, params), *gs)  # type: ignore[union-attr]
        return [None if answer is None else batch.everywhere(answer) for answer in answers]

    def vjp(
        k: int,
        g: Any,
        y: Any,
        /,
        *operands: Any,
        moved: Sequence[bool],
        count: int = 0,
        **params: Any,
    ) -> Any:
        rule = op.vjp_rule(k)
        if rule is None:
            return None
        batch, g, y, ones = _elements(g, y, operands, moved)
        with batch.recorded():
            answer = rule(g, y, *ones, **params)
            if answer is None:
                return None
            answer = adjoint.fit(answer, ones[k].type, batch.recording)
        return batch.everywhere(answer)

    def jvp(
        k: int,
        v: Any,
        y: Any,
        /,
        *operands: Any,
        moved: Sequence[bool],
        count: int = 0,
        **params: Any,
    ) -> Any:
        rule = op.jvp_rule(k)
        if rule is None:
            return None
        if not moved[k]:
            v = np.broadcast_to(v, (_first(y).shape[0], *v.shape))
        batch, v, y, ones = _elements(v, y, operands, moved)
        with batch.recorded():
            answer = rule(v, y, *ones, **params)
            several = isinstance(answer, tuple)
            parts = [
                None if part is None else tangent.fit(part, out.type, batch.recording)
                for part, out in zip(_listed(answer), _listed(y), strict=True)
            ]
        found = [None if part is None else batch.everywhere(part) for part in parts]
        return tuple(found) if several else found[0]

    def batch(
        outer: Moved,
        *operands: Any,
        moved: Sequence[bool],
        count: int = 0,
        elements: int = 0,
        shape: Any = None,
        **params: Any,
    ) -> Any:
        """Both batches as one."""
        both = tuple(outside or inside for outside, inside in zip(outer, moved, strict=True))
        pairs = list(zip(operands, outer, moved, strict=True))
        sizes = (
            elements or size_of(outer, operands),
            count or next(x.shape[outside] for x, outside, inside in pairs if inside),
        )
        if any(x.type is HANDLE and outside != inside for x, outside, inside in pairs):
            raise fail("no-batch", operands[0]._recording.here(), op=op.name)
        flat = [
            _one_batch(x, outside, inside, sizes)
            if (outside or inside) and x.type is not HANDLE
            else x
            for x, outside, inside in pairs
        ]
        total = {"count": sizes[0] * sizes[1]} if op.effect else {}
        found = made(*flat, moved=both, **total, **params)
        if isinstance(found, Tensor) and found.type is HANDLE:
            return found
        results = [np.reshape(part, (*sizes, *part.shape[1:])) for part in _listed(found)]
        return tuple(results) if isinstance(found, tuple) else results[0]

    made = Op(
        name=f"map_{op.name}",
        infer=infer,
        vjp=rules
        if rules in (None, ())
        else Joint(joint)
        if isinstance(rules, Joint)
        else Each(vjp),
        jvp=op.jvp if op.jvp is None or isinstance(op.jvp, str) else Each(jvp),
        batch=batch,
        source=source,
        library=op.library,
        cost=lambda *types, moved, count=0, **params: op.cost(*types, **params),
        effect=op.effect,
    )
    if OPS.get(op.name) is op:
        OPS[made.name] = made
    return made


def _one_batch(x: Any, outside: bool, inside: bool, sizes: tuple[int, int]) -> Any:
    """An operand with two batches in front, where it has one of them or both, as one batch."""
    rest = x.shape[outside + inside :]
    if not (outside and inside):
        x = np.broadcast_to(np.expand_dims(x, int(outside)), (*sizes, *rest))
    return np.reshape(x, (sizes[0] * sizes[1], *rest))


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, (tuple, list)) else (values,)


def _first(values: Any) -> Any:
    """A Tensor, or the first of several that is there."""
    return next(value for value in _listed(values) if value is not None)


def _elements(
    v: Any, y: Any, operands: Sequence[Any], moved: Sequence[bool]
) -> tuple[Batch, Any, Any, list[Any]]:
    """The arguments of an op's derivative rule for one element of a batch."""
    first = _first(v)
    batch = Batch(first._recording, first.shape[0])

    def one(values: Any) -> Any:
        if isinstance(values, (tuple, list)):
            return type(values)(map(one, values))
        return None if values is None else batch.placeholder(values)

    pairs = zip(operands, moved, strict=True)
    ones = [one(x) if there and x.type is not HANDLE else x for x, there in pairs]
    return batch, one(v), one(y), ones
