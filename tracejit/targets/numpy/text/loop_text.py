"""Statements of a body; loops and conditions among them, with the names of the user's.

A loop is `for t in range(length):` or `while condition:`. A carried value is one variable, called
as the result of the loop is. It is bound before the loop, and at the end of each step. Arrays that
rows are stacked in are made before the loop; so are lists, where the number of steps is not known.

A loop of float64 scalars runs on Python floats where that pays: arrays that it slices are lists.

A condition is `if`, `elif` and `else`. Each side binds the results. Where a step begins with the
question whether an earlier one has ended the loop, after which nothing changes, the loop is left.

What a routine of SciPy's calls are functions before the statement that calls it; they read the
variables around them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from itertools import takewhile
from typing import NamedTuple

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import location_text
from tracejit.ops.base.op import literal
from tracejit.ops.control.control_flow import (
    STACK_ROW,
    While,
    body_inputs,
    is_condition,
    is_counted,
)
from tracejit.targets.numpy.plan.loop_plan import ConditionPlan, LoopPlan, RoutinePlan
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.text.bindings import verify_bindings
from tracejit.targets.numpy.text.expressions import Expressions
from tracejit.targets.numpy.text.floats import FLOAT64, StepExpressions, loop_pays
from tracejit.targets.numpy.text.names import UNUSED, variables
from tracejit.targets.numpy.text.tile_functions import empty_text
from tracejit.text.marks import mark_lines, marked

_SIDES = ("    ", "else:", "elif ", "#")


def statement_lines(
    node: Node, plan: Plan, names: Mapping[Value, str], spell: Expressions, reserved: Set[str]
) -> list[str]:
    """The lines of the statement of a node; no variable in a body has a name that is `reserved`."""
    if node in plan.inner:
        owner = plan.inner[node]
        if isinstance(owner, LoopPlan):
            return [*_LoopText(node, plan, owner, names, reserved, spell).lines()]
        if isinstance(owner, RoutinePlan):
            used = [names[value] if plan.readers[value] else UNUSED for value in node.results]
            return [*_routine_lines(node, owner, used, names, reserved, spell)]
        return [*_condition_lines(node, owner, names, reserved, spell)]
    if node.op is STACK_ROW:
        return [spell.rows[node.params["number"]](spell.operand(node.operands[0]))]
    used = [names[value] if plan.readers[value] else UNUSED for value in node.results]
    if node.op.effect and set(used) == {UNUSED}:
        return [spell.expression(node)]
    several = node.op.effect or len(used) > 1
    targets = ", ".join(used if several else [names[value] for value in node.results])
    buffer = plan.overwrites.get(node)
    if buffer is not None:
        return spell.in_place(node, buffer, targets)
    if node.op.statements is not None:
        return spell.statements(node, targets)
    return [f"{targets} = {spell.expression(node)}"]


def _body_lines(
    plan: Plan, names: Mapping[Value, str], spell: Expressions, reserved: Set[str]
) -> list[str]:
    """The statements of a body."""
    lines = []
    previous = None
    for node in plan.statements:
        if node.where is not None and node.where != previous:
            lines += _place_lines(node)
            previous = node.where
        lines += mark_lines(node, statement_lines(node, plan, names, spell, reserved))
    return lines


def _condition_lines(
    node: Node,
    condition: ConditionPlan,
    names: Mapping[Value, str],
    reserved: Set[str],
    spell: Expressions,
) -> Iterator[str]:
    """The statements of a condition."""
    choice, *operands = spell.operands(node)
    results = [names[value] for value in node.results]
    taken = {*reserved, *names.values()}
    graphs = [body.graph for body in node.params["bodies"]]
    read = [
        any(plan.readers[value] for plan, value in zip(condition.plans, column, strict=True))
        for column in zip(*[graph.inputs for graph in graphs], strict=True)
    ]
    lines, bound = _named(graphs[0].inputs, operands, read, taken)
    yield from lines
    is_number = node.operands[0].type.dtype.kind != "b"
    if is_number and not choice.isidentifier():
        name = _free("index", taken)
        yield f"{name} = {choice}"
        taken.add(choice := name)
    test = spell.test(node.operands[0])
    heads = _heads(choice, len(graphs)) if is_number else [f"if {test}:", "else:"]
    blocks: list[list[str]] = []
    values: list[dict[str, str]] = []
    for graph, plan in zip(graphs, condition.plans, strict=True):
        given = dict(zip(graph.inputs, bound, strict=True))
        wanted = dict(zip(plan.results, results, strict=True))
        known = {**given, **variables(plan, taken - set(results), given, wanted)}
        verify_bindings(plan, known, given)
        inner = _inside(spell, plan, known)
        blocks.append(_body_lines(plan, known, inner, taken))
        values.append(dict(zip(results, _results(plan, plan.copies, inner), strict=True)))
        spell.imports.update(inner.imports)
    if node is spell.over:
        yield from [*blocks[1], *_assignment(values[1])]
        return
    chosen = "" if is_number or any(blocks) else _chosen(test, *values)
    if chosen:
        yield chosen
        return
    sides = [[*lines, *_assignment(ends)] for lines, ends in zip(blocks, values, strict=True)]
    for head, lines in zip(heads, sides, strict=True):
        if following := _elif(lines) if head == "else:" else []:
            yield from following
            continue
        yield head
        for line in lines or ["pass"]:
            yield f"    {line}"


def _elif(lines: Sequence[str]) -> list[str]:
    """The lines of another side that is one condition, as further sides; none if it is more."""
    comments = [*takewhile(lambda line: line.startswith("#"), lines)]
    first, *others = lines[len(comments) :] or [""]
    is_one = first.startswith("if ") and all(line.startswith(_SIDES) for line in others)
    return [*comments, f"el{first}", *others] if is_one else []


def _chosen(test: str, first: Mapping[str, str], second: Mapping[str, str]) -> str:
    """The statement that binds one or two names to either of two values each; nothing for more."""
    names = [name for name in first if not name == first[name] == second[name]]
    sides = [", ".join(side[name] for name in names) for side in (first, second)]
    one, other = sides if len(names) == 1 else [f"({side})" for side in sides]
    line = f"{', '.join(names)} = {one} if {test} else {other}"
    return line if len(names) in (1, 2) else ""


def _routine_lines(
    node: Node,
    routine: RoutinePlan,
    results: Sequence[str],
    names: Mapping[Value, str],
    reserved: Set[str],
    spell: Expressions,
) -> Iterator[str]:
    """The functions that a routine calls, and the statement that calls it."""
    operands = spell.operands(node)
    first = node.params["invariants"]
    taken = {*reserved, *names.values()}
    graphs = [body.graph for body in routine.functions.values()]
    read = [
        any(plan.readers[value] for plan, value in zip(routine.plans, column, strict=True))
        for column in zip(*[graph.inputs[:first] for graph in graphs], strict=True)
    ]
    lines, bound = _named(graphs[0].inputs[:first], operands[:first], read, taken)
    yield from lines
    functions = {}
    for (name, body), plan in zip(routine.functions.items(), routine.plans, strict=True):
        functions[name] = _free(body.name, taken)
        taken.add(functions[name])
        around = dict(zip(body.graph.inputs, bound, strict=False))
        known = {**around, **variables(plan, taken, around)}
        verify_bindings(plan, known, around)
        inner = _inside(spell, plan, known)
        parameters = ", ".join(known[value] for value in body.graph.inputs[first:])
        yield f"def {functions[name]}({parameters}):"
        for line in _body_lines(plan, known, inner, taken):
            yield f"    {line}"
        returned = ", ".join(_results(plan, plan.copies, inner))
        yield f"    return {returned}"
        spell.imports.update(inner.imports)
    (call,) = node.op.statement_lines([value.type for value in node.operands], node.params)
    call = spell.bind(call).format(*operands[first:], **functions)
    yield f"{', '.join(results)} = {call}"


def _named(
    values: Sequence[Value], texts: Sequence[str], read: Sequence[bool], taken: set[str]
) -> tuple[list[str], list[str]]:
    """The statements that give names to what a body reads of the values around, and these names;
    an expression that no body reads stays one."""
    lines, names = [], []
    for value, text, is_read in zip(values, texts, read, strict=True):
        if is_read and not text.isidentifier():
            name = _free(_list_name(text) or value.base or "a", taken)
            taken.add(name)
            lines.append(f"{name} = {text}")
            text = name
        names.append(text)
    return lines, names


def _heads(choice: str, number: int) -> list[str]:
    """The lines that begin the sides of a condition on an integer."""
    if number == 1:
        return ["if True:"]
    between = [f"elif {choice} == {k}:" for k in range(1, number - 1)]
    return [f"if {choice} <= 0:", *between, "else:"]


def _inside(spell: Expressions, plan: Plan, known: Mapping[Value, str]) -> Expressions:
    """The spelling of what stands inside a body."""
    return type(spell)(known.__getitem__, plan.inlined, spell.number_name)


def _assignment(values: Mapping[str, str]) -> list[str]:
    """The statement that binds several names at once, if any of them has another value yet."""
    pairs = [(name, text) for name, text in values.items() if name != text]
    if not pairs:
        return []
    targets, texts = zip(*pairs, strict=True)
    return [f"{', '.join(targets)} = {', '.join(texts)}"]


class _LoopText:
    """The text of one loop, which is a statement of `plan`."""

    def __init__(
        self,
        node: Node,
        plan: Plan,
        loop: LoopPlan,
        names: Mapping[Value, str],
        reserved: Set[str],
        spell: Expressions,
    ) -> None:
        self.node, self.plan, self.loop, self.spell = node, plan, loop, spell
        self.in_floats = loop.in_place and is_counted(node) and loop_pays(node, loop.plan)
        self.appends = isinstance(node.op, While)
        graph = node.params["body"].graph
        self.inputs, self.step, self.outputs = body_inputs(node), graph.inputs[-1], graph.outputs
        self.symbols = graph.sizes
        count = len(self.inputs.carried)
        results = [names[value] for value in node.results]
        self.carried, self.stacks = results[:count], results[count:]
        self.operands = (
            [_in_floats(value, spell) for value in node.operands]
            if self.in_floats
            else spell.operands(node)
        )
        is_free = len(self.operands) == len(graph.inputs)
        self.length = self.operands.pop() if is_free else literal(node.params.get("length"))
        self.taken = {*reserved, *names.values()}
        self.read = self._read_by_bodies()
        self.bound: dict[Value, str] = {}

    def lines(self) -> Iterator[str]:
        """The statements before the loop, the loop, and those after it."""
        yield from self._operand_lines()
        yield from self._initial_lines()
        yield from self._stack_lines()
        known = self._names_in_a_step()
        inner = self._spelling_of_a_step(known)
        head, tests = self._head(known)
        yield from head
        body = [
            *tests,
            *self._leaving_lines(known, inner),
            *self._element_lines(known),
            *_body_lines(self.loop.plan, known, inner, self.taken),
            *self._next_lines(inner),
        ]
        for line in body or ["pass"]:
            yield f"    {line}"
        self.spell.imports.update(inner.imports)
        yield from self._final_lines()

    def _read_by_bodies(self) -> set[Value]:
        """The inputs of the step that it reads, or its condition."""
        inputs, loop = self.node.params["body"].graph.inputs, self.loop
        read = {value for value in inputs if loop.plan.readers[value]}
        if loop.condition is not None:
            tested = self.node.params["condition"].graph.inputs
            pairs = zip(inputs, tested, strict=True)
            read |= {value for value, other in pairs if loop.condition.readers[other]}
        return read

    def _operand_lines(self) -> list[str]:
        """The statements that name the invariants, and the arrays whose elements are taken."""
        first, count = len(self.inputs.invariants), len(self.carried)
        values = [*self.inputs.invariants, *self.inputs.sliced]
        texts = [*self.operands[:first], *self.operands[first + count :]]
        lines, bound = _named(values, texts, [value in self.read for value in values], self.taken)
        self.bound = dict(zip(values, bound, strict=True))
        return lines

    def _initial_lines(self) -> Iterator[str]:
        """The statements that bind the carried values before the first step."""
        first = len(self.inputs.invariants)
        for number, name in enumerate(self.carried):
            text = self.operands[first + number]
            copy = ".copy()" if number in self.loop.begun else ""
            if text != name or copy:
                yield f"{name} = ({text}){copy}"

    def _stack_lines(self) -> Iterator[str]:
        """The statements that make the arrays and lists that rows are stacked in."""
        for name, value in zip(self.stacks, self.node.results[len(self.carried) :], strict=True):
            if value.type.form != "list":
                yield f"{name} = {self.spell.bind(empty_text(value.type))}"
            elif self.appends:
                yield f"{name} = []"
            else:
                yield f"{name} = [None] * {self.length}"

    def _names_from_around(self) -> dict[Value, str]:
        """The names of the invariants that are read, and of the carried values."""
        fixed = {v: self.bound[v] for v in self.inputs.invariants if v in self.read}
        return {**fixed, **dict(zip(self.inputs.carried, self.carried, strict=True))}

    def _names_in_a_step(self) -> dict[Value, str]:
        """The names of all values of a step."""
        given = self._names_from_around()
        is_read_last = self.stacks and not self.appends
        if is_read_last or "size" in self.node.params:  # the step has this name until it ends
            given[self.step] = name = _free(self.step.base or "t", self.taken)
            self.taken.add(name)
            if "size" in self.node.params:  # as sizes in the text do
                self.symbols.symbols[self.node.params["size"]].name = name
        inside = self.loop.plan
        wanted = dict(zip(inside.results, self.carried, strict=False))
        taken = self.taken - set(self.carried)
        known = {**given, **variables(inside, taken, given, wanted)}
        fixed = [value for value in self.inputs.invariants if value in self.read]
        verify_bindings(inside, known, fixed, at_end=fixed)
        return known

    def _spelling_of_a_step(self, known: Mapping[Value, str]) -> Expressions:
        """The spelling of expressions in a step, and of the rows that it stacks."""
        inside = self.loop.plan
        kind = StepExpressions if self.in_floats else type(self.spell)
        inner = kind(known.__getitem__, inside.inlined, self.spell.number_name)
        fixed, step = self.inputs.invariants, known[self.step]
        rows = zip(self.stacks, self.outputs[len(self.carried) :], strict=True)
        inner.rows = [
            _stacked(name, value, step, self.appends, inside, fixed) for name, value in rows
        ]
        return inner

    def _head(self, known: Mapping[Value, str]) -> tuple[list[str], list[str]]:
        """The lines that begin the loop, and those at the start of a step that may end it."""
        if self.loop.condition is None:
            steps = f"range({self.length})"
            steps = f"reversed({steps})" if self.node.params["reverse"] else steps
            return [f"for {known[self.step]} in {steps}:"], []
        inputs = self.node.params["body"].graph.inputs
        tested = self.node.params["condition"].graph.inputs
        around = self._names_from_around()
        pairs = zip(tested, inputs, strict=True)
        given = {value: around.get(outer, UNUSED) for value, outer in pairs}
        return _test_lines(self.loop.condition, given, self.taken, self.spell)

    def _leaving_lines(self, known: Mapping[Value, str], inner: Expressions) -> list[str]:
        """The statements that leave the loop where an earlier step has ended it: all later rows are
        what this one is."""
        found = None if self.appends else ended_by(self.node)
        if found is None or found.node not in self.loop.plan.inner:
            return []
        inner.over = found.node
        step = known[self.step]
        rows = zip(self.stacks, found.stacked, strict=True)
        filled = [f"{name}[{step}:] = {inner.operand(value)}" for name, value in rows]
        choice = inner.test(found.node.operands[0])
        return [f"if {choice}:", *[f"    {line}" for line in (*filled, "break")]]

    def _element_lines(self, known: Mapping[Value, str]) -> Iterator[str]:
        """The statements that take the elements of this step."""
        first = len(self.inputs.invariants) + len(self.carried)
        for value, operand in zip(self.inputs.sliced, self.node.operands[first:], strict=False):
            if value in self.read:
                item = "" if self.in_floats else _item(value, operand)
                yield f"{known[value]} = {self.bound[value]}[{known[self.step]}]{item}"

    def _next_lines(self, inner: Expressions) -> list[str]:
        """The statement that binds the carried values for the next step."""
        results = _results(self.loop.plan, self.loop.copied, inner)
        return _assignment(dict(zip(self.carried, results, strict=True)))

    def _final_lines(self) -> Iterator[str]:
        """The statements that make the results what the rest of the function takes them for."""
        for number in sorted(self.loop.detached):
            yield f"{self.carried[number]} = {self.carried[number]}.copy()"
        for name, value in zip(self.carried, self.node.results, strict=False):
            if self.in_floats and value.type is FLOAT64 and self.plan.readers[value]:
                yield self.spell.bind(f"{name} = np.float64({name})")


class Ended(NamedTuple):
    """The condition by which a step asks if an earlier one has ended the loop, and what each row is
    from there on."""

    node: Node
    stacked: Sequence[Value]


def ended_by(loop: Node) -> Ended | None:
    """The condition on a carried value that, if it is true, leaves all carried values as they are;
    None if a loop has none."""
    params, graph = loop.params, loop.params["body"].graph
    if params["reverse"] or "size" in params or any(node.op.effect for node in graph.nodes):
        return None
    inputs = body_inputs(loop)
    known = {*inputs.carried, *inputs.invariants}
    count = len(inputs.carried)
    for node in graph.nodes:
        if is_condition(node) and node.operands[0] in inputs.carried:
            after = [_after(value, node) for value in graph.outputs]
            is_over = all(a is b for a, b in zip(after, inputs.carried, strict=False))
            rows = after[count:]
            if is_over and all(row in known or isinstance(row, Constant) for row in rows):
                return Ended(node, [row for row in rows if row is not None])
    return None


def _after(value: Value, condition: Node) -> Value | None:
    """A value of a step where the first side of a condition is taken; None if it is computed."""
    if value.node is None:
        return value
    if value.node is not condition:
        return None
    side = condition.params["bodies"][0].graph
    result = side.outputs[condition.results.index(value)]
    given = dict(zip(side.inputs, condition.operands[1:], strict=True))
    return result if isinstance(result, Constant) else given.get(result)


def _results(plan: Plan, copied: Collection[int], spell: Expressions) -> list[str]:
    """The expressions for the results of a body; those of the numbers `copied` as copies."""
    texts = [spell.operand(value) for value in plan.results]
    return [f"({text}).copy()" if k in copied else text for k, text in enumerate(texts)]


def _in_floats(operand: Value, spell: Expressions) -> str:
    """An operand of a loop as a Python number, or as a list of such."""
    text = spell.operand(operand, strong=False)
    if operand.type.form == "array":
        return f"({text}).tolist()"
    is_python = isinstance(operand, Constant) or operand.type.form == "weak"
    return text if is_python else f"float({text})"


def _list_name(text: str) -> str:
    """A name for a list of the numbers of an array that has a name."""
    name = text.removesuffix(").tolist()").removeprefix("(")
    return f"{name}_list" if name != text and name.isidentifier() else ""


def _test_lines(
    plan: Plan, given: Mapping[Value, str], taken: Set[str], spell: Expressions
) -> tuple[list[str], list[str]]:
    """The lines that begin a loop on a condition, and the statements at the start of a step that
    end it: none where the condition is one expression."""
    known = {**given, **variables(plan, taken, given)}
    verify_bindings(plan, known, given)
    inner = _inside(spell, plan, known)
    result = plan.results[0]
    made = result.node
    place: list[str] = []
    if made is not None and made in plan.statements[-1:] and made.op.statements is None:
        plan = plan._replace(statements=plan.statements[:-1])
        place, text = _place_lines(made), marked(made, inner.tested(made))
    else:
        text = inner.test(result)
    lines = _body_lines(plan, known, inner, taken)
    spell.imports.update(inner.imports)
    if not lines:
        return [*place, f"while {text}:"], []
    return ["while True:"], [*lines, *place, f"if not ({text}):", "    break"]


def _place_lines(node: Node) -> list[str]:
    """The comment that shows the user's line."""
    return [] if node.where is None else [f"# {location_text(node.where).rstrip()}"]


def _stacked(
    name: str, value: Value, step: str, appends: bool, plan: Plan, fixed: Sequence[Value]
) -> Callable[[str], str]:
    """The statement that stacks a row of the list or array `name`; a list gets a copy of what may
    be updated in place later."""
    root = plan.storages.root(value)
    copied = value.type.form == "array" and bool(plan.kept and root in fixed)
    if value.type.form == "array" and value.type.sizes is not None:
        copied = root is not value or value.node is None or root in updated_roots(plan)

    def statement(text: str) -> str:
        row = f"({text}).copy()" if copied else text
        return f"{name}.append({row})" if appends else f"{name}[{step}] = {row}"

    return statement


def updated_roots(plan: Plan) -> set[Value]:
    """The storages of what statements update in place."""
    return {plan.storages.root(value) for value in plan.overwrites.values()}


def _item(value: Value, operand: Value) -> str:
    """The end of the expression that takes an element, of a Python number from an array for one."""
    return ".item()" if value.type.form == "weak" and operand.type.form != "list" else ""


def _free(base: str, taken: Set[str]) -> str:
    """`base`, with a number where it is taken."""
    number, name = 0, base
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
