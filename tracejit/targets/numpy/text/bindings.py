"""Bindings: every name that a statement reads holds the value that the statement means.

`verify_bindings` follows a body along each of its paths, whenever one is written. What a path binds
is taken back where the next one begins. No module is written in which a name holds nothing on some
path, or another value, or an array that a statement has updated since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import location_text
from tracejit.ir.types import HANDLE
from tracejit.ops.control.branches import DECIDE
from tracejit.ops.control.control_flow import loop_operands
from tracejit.ops.elementwise.weak import SIZE
from tracejit.support.errors import fail
from tracejit.targets.numpy.plan.loop_plan import LoopPlan
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.text.names import UNUSED

UPDATED = Value(HANDLE)
"""A name holds this in the place of an array that a statement has updated."""


def verify_bindings(
    plan: Plan,
    names: Mapping[Value, str],
    shared: Iterable[Value] = (),
    released: Mapping[int, Sequence[str]] | None = None,
    at_end: Iterable[Value] = (),
) -> None:
    """Raise GraphError if a statement of `plan` may read what it does not mean.

    Inputs that are `shared` may be the same variable of the code around the body. The names
    `released` are deleted before the statements of these numbers. Besides results and residuals,
    the values `at_end` are read at the end of the body. A size is what `free_sizes.py` writes.
    """
    bindings = _Bindings(plan, names)
    bindings.begin(set(shared))
    held, decides = bindings.held, bool(plan.branches.decisions)
    deleted = released or {}
    for number, node in enumerate(plan.statements):
        if decides and node.segment != bindings.segment:
            bindings.enter(node)
        if number in deleted:
            bindings.delete(deleted[number], node)
        if not held.issuperset(node.operands):
            bindings.read(node.operands, node)
        bindings.write(node)
        if decides and node.op is DECIDE:
            bindings.decide(node)
    bindings.read([*plan.results, *plan.kept, *at_end], None)


class _Bindings:
    """The values that names hold on the path to the statement at hand, as they were computed: a
    name loses its value where a statement updates the memory of it."""

    def __init__(self, plan: Plan, names: Mapping[Value, str]) -> None:
        self.held: set[Value | None] = set()
        self.segment = 0
        self._plan = plan
        self._names = names
        self._by_name: dict[str, Value | None] = {}
        self._sharing: dict[Value, Value] = {}
        self._changes: list[tuple[str, Value | None] | tuple[Value, list[Value]]] = []
        self._begins: dict[int, int] = {}
        self._updates = {node: [operand] for node, operand in plan.overwrites.items()}
        for node, inner in plan.inner.items():
            if isinstance(inner, LoopPlan):
                initial = loop_operands(node).carried
                self._updates[node] = [initial[number] for number in inner.taken]
        operands = [operand for several in self._updates.values() for operand in several]
        self._views: dict[Value, list[Value]] = {plan.storages.root(v): [] for v in operands}

    def begin(self, shared: set[Value]) -> None:
        """Bind the inputs, and the rows of stacks in which statements compute."""
        rows = [value for value in self._plan.overwrites.values() if value.node is None]
        for value in dict.fromkeys([*self._plan.inputs, *rows]):
            name = self._names[value]
            holder = self._by_name.get(name)
            if name == UNUSED or (value.node is not None and value.node.op is SIZE):
                continue
            if holder is None:
                self._hold(value)
            elif value in shared and holder in shared:
                self._sharing[value] = holder
            elif self._plan.readers[value]:
                raise self._refused(f"{name} holds two inputs at once")

    def enter(self, node: Node) -> None:
        """Go back to the decision that the segment of `node` follows."""
        self.segment = node.segment
        if self.segment not in self._begins:
            raise self._refused("no decision stands before a segment", node)
        while len(self._changes) > self._begins[self.segment]:
            change = self._changes.pop()
            if isinstance(change[0], str):
                self._bind(change[0], change[1])
                self._changes.pop()
            else:
                self._views[change[0]] = change[1]

    def decide(self, node: Node) -> None:
        """The segments after a decision begin with what is held there."""
        decision = self._plan.branches.decisions[node.params["number"]]
        self._begins.update({segment: len(self._changes) for _, segment in decision.sides})

    def delete(self, names: Sequence[str], node: Node) -> None:
        """Delete names before the statement of `node`."""
        for name in names:
            if self._by_name.get(name) is None:
                raise self._refused(f"{name}, which is deleted, holds nothing", node)
            self._bind(name, None)

    def read(self, values: Sequence[Value], node: Node | None) -> None:
        """Read values through inlined expressions, in the statement of `node` or at the end."""
        held, inlined = self.held, self._plan.inlined
        values = list(values)
        for value in values:
            if value in held:
                continue
            made = value.node
            if made is not None and (made in inlined or made.op is SIZE):
                values += made.operands
            elif isinstance(value, Constant):
                held.add(value)
            elif self._sharing.get(value, value) not in held:
                name = self._names.get(value, "no variable")
                raise self._refused(f"{name} does not hold {value!r}, which is read", node)

    def write(self, node: Node) -> None:
        """Update arrays in the statement of `node`, and bind its results."""
        updated = self._updates.get(node, ()) if self._updates else ()
        for operand in updated:
            root = self._plan.storages.root(operand)
            for value in self._views[root]:
                if value in self.held:
                    self._bind(self._names[value], UPDATED)
            self._changes.append((root, self._views[root]))
            self._views[root] = []
        for value in node.results:
            self._hold(value)
        if node.op.statements is not None and node not in self._plan.overwrites:
            # A statement of several lines reads operands after it has bound the results.
            self.read([value for value in node.operands if value not in updated], node)

    def _hold(self, value: Value) -> None:
        """Let the name of `value` hold it."""
        self._bind(self._names[value], value)
        if self._views:
            self._views.get(self._plan.storages.root(value), []).append(value)

    def _bind(self, name: str, value: Value | None) -> None:
        """Let `name` hold `value`, and note the value that it held before."""
        before = self._by_name.get(name)
        self._changes.append((name, before))
        self.held.discard(before)
        self.held.add(value)
        self._by_name[name] = value

    def _refused(self, problem: str, node: Node | None = None) -> Exception:
        if node is not None:
            where = "" if node.where is None else f" ({location_text(node.where)})"
            problem = f"{problem}, at {node.op.name}{where}"
        return fail("graph", None, problem=problem)
