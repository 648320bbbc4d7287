"""Decisions of Python on recorded values: `if t > 0`, `range(n)`.

What the value is computed from, the prefix, is computed then on the arguments of the call: node by
node, by the lines that the ops are spelled with, nothing twice, and nothing that nobody asked for.
Random numbers are drawn from copies of the generators. The outcome is recorded, a `decide`: what
follows in the recording is one way through the function.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import in_numbers
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.subgraph import Placeholder
from tracejit.ir.types import HANDLE, WEAK_TYPES
from tracejit.ops.control.branches import AS_INTEGER, AS_PATTERN, DECIDE
from tracejit.ops.control.effects import CALLBACK


class Hidden(NamedTuple):
    """An argument of the kernel that is none of the user's: the input that stands for it, the
    object that holds it, and the path from the object to the array."""

    value: Value
    holder: Any
    path: str = ""


FROZEN = "every later call would use the value of this one"


class Unknown(Exception):
    """The value depends on something unknown: an argument that was only described, a cotangent,
    one element of a batch, or what a step of a loop begins with. The argument is that value."""

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        value: Value = self.args[0]
        if value.node is None and not isinstance(value, Placeholder):
            return "the arguments are only described, so there is no value to decide on"
        return "it is different for each element of a batch, or each step of a loop"


class Failed(BaseException):
    """Computing it raised (the cause), or what it depends on can be asked only once: the call is
    for plain Python. No `except Exception` of the user's is meant.

    `row` and `detail` tell why, as `CAUSES` in `tracejit/specialise/uncompiled.py` lists it.
    """

    def __init__(self, row: str, detail: str = "") -> None:
        """The call is for plain Python for this reason."""
        super().__init__(row, detail)
        self.row = row
        self.detail = detail


class Prefix:
    """The values of a recording that were computed."""

    def __init__(self, nodes: Sequence[Node], read: Callable[[Value], Any]) -> None:
        """Nothing computed yet; `read(input)` returns an argument, or raises Unknown."""
        self._nodes = nodes
        self._read = read
        self._known: dict[Value, Any] = {}
        self.unknown: set[Value] = set()
        self._effects = 0
        self._generators: dict[int, Any] = {}

    def note(self, known: Mapping[Value, Any]) -> None:
        """These values were computed already."""
        self._known.update(known)

    def forget(self) -> None:
        """Nothing is asked any more: let go of the arrays."""
        self._known.clear()

    def rewind(self, number: int) -> None:
        """Nodes from this number on have been taken out of the recording."""
        self._effects = min(self._effects, number)

    def hide(self, value: Value) -> None:
        """`value` stands for more than what it is computed from."""
        self.unknown.add(value)

    def __getitem__(self, value: Value) -> Any:
        """Evaluate `value` for this call.

        Raises Unknown or Failed.
        """
        pending = [value]
        while pending:
            one = pending[-1]
            if self._is_known(one):
                pending.pop()
                continue
            if one in self.unknown:
                raise Unknown(one)
            if one.node is None:
                self._known[one] = self._argument(one)
                continue
            missing = [x for x in one.node.operands if not self._is_known(x)]
            if one.node.op.effect and not missing:
                missing = self._before(one.node)
            if missing:
                pending += missing
            else:
                self._compute(one.node)
        return self._data(value)

    def _is_known(self, value: Value) -> bool:
        return isinstance(value, Constant) or value in self._known

    def _data(self, value: Value) -> Any:
        return value.data if isinstance(value, Constant) else self._known[value]

    def _argument(self, value: Value) -> Any:
        found = self._read(value)
        if value.type is HANDLE and isinstance(found, np.random.Generator):
            found = self._generators.setdefault(id(found), copy.deepcopy(found))
        return found

    def _before(self, node: Node) -> list[Value]:
        """The first draw before `node` that was not made yet."""
        while self._nodes[self._effects] is not node:
            earlier = self._nodes[self._effects]
            is_draw = earlier.op.effect and earlier.op is not CALLBACK
            if is_draw and any(value.type is HANDLE for value in earlier.operands):
                if not self._is_known(earlier.results[0]):
                    return [earlier.results[0]]
            self._effects += 1
        return []

    def _compute(self, node: Node) -> None:
        if node.op is CALLBACK:
            raise Failed("decision", "the result of a callback")
        operands = [self._data(value) for value in node.operands]
        try:
            with np.errstate(all="ignore"):
                answer = node.op.evaluate(*operands, **in_numbers(node.params))
        except Exception as error:
            raise Failed("prefix") from error
        answers = (answer,) if len(node.results) == 1 else answer
        self._known.update(zip(node.results, answers, strict=True))


class Decisions:
    """The decisions of a recording. `given` is what its inputs are in this call; what depends on
    the cotangents `seeds` is for Python to decide."""

    def __init__(self, graph: Graph, hidden: Mapping[int, Hidden], forced: Sequence[Any]) -> None:
        """Nothing yet; the first outcomes will be those `forced`, whatever is computed here: those
        that the kernel itself has met, which may round otherwise."""
        self.given: dict[Value, Any] = {}
        self.prefix = Prefix(graph.nodes, self._argument)
        self._hidden = hidden
        self._forced = forced
        self._outcomes: dict[tuple[Value, type], Any] = {}
        self.failed: Failed | None = None
        self.has_read = False
        self.seeds: set[Value] = set()

    def __len__(self) -> int:
        return len(self._outcomes)

    def followed_by(
        self, graph: Graph, hidden: Mapping[int, Hidden], known: Mapping[Value, Any], forced: Any
    ) -> Decisions:
        """Decisions for what is recorded after these, in a call where values are what is `known`;
        the first have the outcomes `forced`. What was asked before is not asked again."""
        later = Decisions(graph, hidden, [*self._outcomes.values(), *forced])
        later._outcomes.update(self._outcomes)
        later.prefix.note(known)
        return later

    def decide(self, tensor: Any, convert: Callable[[Any], Any]) -> Any:
        """`convert` of what `tensor` is, asked once. Raises Unknown or Failed."""
        kind: type = bool if convert is bool else int
        key = tensor._value, kind
        if key in self._outcomes:
            return self._outcomes[key]
        number = len(self._outcomes)
        if number < len(self._forced) and type(self._forced[number]) is kind:
            outcome = self._forced[number]
        else:
            self._forced = self._forced[:number]
            try:
                outcome = convert(self.prefix[tensor._value])
            except Failed as failed:
                self.failed = failed
                raise
            except Unknown as unknown:
                if unknown.args[0] not in self.seeds:
                    raise
                self.failed = Failed("decision", "a cotangent")
                raise self.failed from None
        self._outcomes[key] = outcome
        node = tensor._value.node
        if kind is int and (node is None or node.op is not AS_PATTERN):
            if tensor.type is not WEAK_TYPES[int]:
                tensor = AS_INTEGER(tensor)
            tensor._value.name_result("count")
        DECIDE(tensor, outcome=outcome)
        return outcome

    def number(self, value: Value) -> Any:
        """The data of `value` in this call. Raises Unknown or Failed."""
        try:
            return self.prefix[value]
        except Failed as failed:
            self.failed = failed
            raise

    def _argument(self, value: Value) -> Any:
        """The array or number that an input of the graph is in this call."""
        if value in self.given:
            return self.given[value]
        for hidden in self._hidden.values():
            if hidden.value is value:
                path, holder = hidden.path, hidden.holder
                return operator.attrgetter(path[1:])(holder) if path else holder
        raise Unknown(value)
