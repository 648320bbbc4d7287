"""Window of a tape: the part of a recording that the tape sees.

A window holds the values it watches and the nodes computed from them while it was open, in order.
A recorder shows it every operation (`Recorder.windows`): a node belongs to a window if an operand
was watched, or computed from what was watched, at that moment. What a window holds dies with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import count
from typing import Any

from tracejit.ir.graph import Held, Node, Value
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import FIXED_RULES, IDENTITY, OVERRIDE, inputs_of

_numbers = count(1)


class Window:
    """The watched values, the values computed from them (`known` is both), and the nodes.

    `reads` holds, for every Variable watched, the Variable and the values that its reads gave, one
    for each value it had; `accessed` says whether trainable Variables are watched by being read.
    """

    __slots__ = (
        "__weakref__",
        "accessed",
        "is_in_order",
        "known",
        "nodes",
        "number",
        "numbers",
        "places",
        "reads",
        "stands",
        "values",
        "watched",
        "words",
    )

    def __init__(self, accessed: bool = True) -> None:
        """Begin with no watched value."""
        self.accessed = accessed
        self.clear()

    def clear(self) -> None:
        """Forget everything: what is computed from now on is none of what was."""
        self.number = next(_numbers)
        self.known: set[Value] = set()
        self.watched: set[Value] = set()
        self.nodes: list[Node] = []
        self.reads: dict[int, tuple[Any, list[Value]]] = {}
        self.words: list[Any] = []
        self.places: dict[Value, int] = {}
        self.values: list[Value] = []
        self.numbers: list[Any] = []
        self.is_in_order = True
        self.stands: dict[Sight, Node] = {}

    def watch(self, value: Value) -> None:
        """Record what is computed from `value` from now on."""
        if value.type.is_inexact:
            self.known.add(value)
            self.watched.add(value)

    def watch_variable(self, variable: Any, value: Value) -> None:
        """Watch a Variable, whose value now is `value`."""
        self.reads.setdefault(id(variable), (variable, []))
        self.note_read(variable, value)

    def note_read(self, variable: Any, value: Value) -> None:
        """A Variable was read."""
        if id(variable) not in self.reads:
            if not (self.accessed and variable.trainable):
                return
            self.reads[id(variable)] = (variable, [])
        values = self.reads[id(variable)][1]
        if value.type.is_inexact and value not in values:
            values.append(value)
            self.known.add(value)

    def values_of(self, variable: Any) -> Sequence[Value]:
        """The values that reads of a Variable gave."""
        return self.reads.get(id(variable), (variable, ()))[1]

    def sees(self, operands: Sequence[Value]) -> bool:
        """Return whether an operation on `operands` depends on a watched value."""
        return not self.known.isdisjoint(operands)

    def knows(self, value: Value) -> bool:
        """Return whether `value` is watched, or computed from a watched value."""
        return value in self.known

    def reaches(self, value: Value) -> bool:
        """Return whether `value` is on this tape, or one that this window stands for."""
        return value in self.known

    def add(self, node: Node) -> None:
        """Hold a node that this window sees."""
        self.nodes.append(node)
        if node.op.vjp == ():
            return
        for value in node.results:
            if value.type.is_inexact:
                self.known.add(value)

    def hold(self, node: Node, params: str) -> None:
        """Hold an eager node, and take note of its structure; `params` are its parameters as
        text."""
        words, places, values = self.words, self.places, self.values
        self.nodes.append(node)
        words += (node.op, node.where, params)
        for value in node.operands:
            place = places.get(value)
            if place is None:
                place = self.place(value)
                words.append(value.type)
            words.append(place)
        connects = node.op.vjp != ()
        for value in node.results:
            places[value] = len(values)
            values.append(value)
            if connects and value.type.is_inexact:
                self.known.add(value)

    def replace(self, node: Node, nodes: Sequence[Node]) -> None:
        """Hold those of `nodes` that this window sees in the place of `node`."""
        place = next(k for k, one in enumerate(self.nodes) if one is node)
        self.known.difference_update(node.results)
        seen = [one for one in nodes if self.sees(inputs_of(one)) and self._connect(one)]
        self.nodes[place : place + 1] = seen
        self.is_in_order = False

    def _connect(self, node: Node) -> bool:
        """Know what a node computes of what is known."""
        if node.op.vjp != ():
            self.known.update(value for value in node.results if value.type.is_inexact)
        if node.op is OVERRIDE and node.params["grad"].sight is not None:
            node.params["grad"].sight.note(node, [self])
        return True

    def put_in_order(self) -> None:
        """Take note of the structure once more, after nodes were replaced."""
        if not self.is_in_order:
            nodes, self.nodes = self.nodes, []
            self.words, self.places, self.values, self.numbers = [], {}, [], []
            for node in nodes:
                self.hold(node, parameters_as_text(node.op, node.params))
            nodes[:], self.nodes = self.nodes, nodes
            self.is_in_order = True

    def place(self, value: Value) -> int:
        """The place of `value`, a new one if it was not met before."""
        known = self.places.get(value)
        if known is None:
            known = self.places[value] = len(self.values)
            self.values.append(value)
            if value.type.form == "weak":
                self.numbers.append(value.data or repr(value.data))
        return known


def parameters_as_text(op: Op, params: dict[str, Any]) -> str:
    """The parameters of an operation as they tell windows of different structure from each
    other."""
    if op is not OVERRIDE:
        return repr(params) if params else ""
    marker = params["grad"]
    return f"{params['outputs']} {marker.name}" if marker.rule in FIXED_RULES else "by a rule"


class Sight:
    """An operation on eager tapes that stands for many: its node, and the windows that hold it.

    What it has computed on the way and something else reads becomes a result of it, so that all
    cotangents of a value meet in one rule.
    """

    def __init__(self) -> None:
        """Begin with no tape that holds it."""
        self._windows: list[weakref.ref[Window]] = []

    def note(self, node: Node, windows: Sequence[Window]) -> None:
        """The operation is `node`, and `windows` hold it, too."""
        for window in windows:
            window.stands[self] = node
            self._windows.append(weakref.ref(window))

    def holders(self) -> list[Window]:
        """The windows that hold it still."""
        windows = [reference() for reference in self._windows]
        return [window for window in windows if window is not None and self in window.stands]

    def unfold(self, nodes: Sequence[Node], again: Sequence[Value]) -> None:
        """Let `nodes`, which have computed the results once more, as `again`, stand in the place of
        the operation, so that a rule of the user's among them gets the sum of all cotangents."""
        for window in self.holders():
            node = window.stands.pop(self)
            pairs = enumerate(zip(again, node.results, strict=True))
            links = [
                Node.of(IDENTITY, (value,), {"number": k}, (result,), node.where)
                for k, (value, result) in pairs
            ]
            window.replace(node, [*nodes, *links])

    def add(self, values: Sequence[Value]) -> None:
        """Let `values` be results, too."""
        holders = self.holders()
        for node in {id(one): one for one in (x.stands[self] for x in holders)}.values():
            count = node.params["outputs"]
            own = [Held(value.type, value.data) for value in values]
            node.operands = (*node.operands[:count], *own, *node.operands[count:])
            node.params = node.params | {"outputs": count + len(values)}
            node.results += tuple(values)
        for window in holders:
            if not window.known.isdisjoint(window.stands[self].results):
                window.known.update(value for value in values if value.type.is_inexact)


class Whole(Window):
    """The record of an eager program under tapes: all that is computed, and the values that every
    Variable had."""

    __slots__ = ()

    def note_read(self, variable: Any, value: Value) -> None:
        """A Variable was read, whatever it is."""
        self.reads.setdefault(id(variable), (variable, []))
        super().note_read(variable, value)

    def sees(self, operands: Sequence[Value]) -> bool:
        """Everything."""
        return True

    def knows(self, value: Value) -> bool:
        """As all that is recorded, it may be differentiated by."""
        return value.type.is_inexact


class Sieve(Window):
    """In place of the open windows while a recompute region runs forward: it holds no node, and
    gathers what the region uses of what they know."""

    __slots__ = ("inputs", "windows")

    def __init__(self, windows: Sequence[Window]) -> None:
        """Stand in for the open `windows`."""
        super().__init__()
        self.windows = windows
        self.inputs: dict[Value, None] = {}

    def note_read(self, variable: Any, value: Value) -> None:
        """A Variable was read; the windows watch it."""
        for window in self.windows:
            window.note_read(variable, value)

    def sees(self, operands: Sequence[Value]) -> bool:
        """Gather the operands that the windows know."""
        for window in self.windows:
            self.inputs.update(dict.fromkeys(filter(window.knows, operands)))
        return False

    def reaches(self, value: Value) -> bool:
        """Return whether a window has `value`."""
        return any(window.reaches(value) for window in self.windows)

    def knows(self, value: Value) -> bool:
        """Return whether `value` may be on a tape: inside, anything may be."""
        return value.type.is_inexact
