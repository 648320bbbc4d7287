"""Statements of a body; loops and conditions among them, with the names of the user's.

A loop is `for t in range(length):` or `while condition:`. A carried value is one variable, called
as the result of the loop is. It is bound before the loop, and at the end of each step. Arrays that
rows are stacked in are made before the loop; so are lists, where the number of steps is not known.

A loop of float64 scalars runs on Python floats where that pays: arrays that it slices are lists.

A condition is `if`, `elif` and `else`. Each side binds the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from tracejit.codegen.expressions import Expressions
from tracejit.codegen.floats import FLOAT64, StepExpressions, loop_pays
from tracejit.codegen.marks import mark_lines, marked
from tracejit.codegen.names import UNUSED, variables
from tracejit.codegen.tile_functions import empty_text
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import location_text
from tracejit.ops.control_flow import STACK_ROW, While, is_counted
from tracejit.ops.op import literal
from tracejit.schedule.loop_plan import ConditionPlan, LoopPlan
from tracejit.schedule.plan import Plan


def statement_lines(
    node: Node, plan: Plan, names: Mapping[Value, str], spell: Expressions, reserved: Set[str]
) -> list[str]:
    """The lines of the statement of a node; no variable in a body has a name that is `reserved`."""
    if node in plan.inner:
        owner = plan.inner[node]
        if isinstance(owner, LoopPlan):
            return [*_loop_lines(node, plan, owner, names, reserved, spell)]
        return [*_condition_lines(node, owner, names, reserved, spell)]
    if node.op is STACK_ROW:
        write = spell.rows[node.params["number"]]
        return [] if write is None else [write(spell.operand(node.operands[0]))]
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
    heads = _heads(choice, len(graphs)) if is_number else [f"if {choice}:", "else:"]
    for head, graph, plan in zip(heads, graphs, condition.plans, strict=True):
        given = dict(zip(graph.inputs, bound, strict=True))
        wanted = dict(zip(plan.results, results, strict=True))
        known = {**given, **variables(plan, taken - set(results), given, wanted)}
        inner = _inside(spell, plan, known)
        lines = _body_lines(plan, known, inner, taken)
        values = [
            f"({inner.operand(value)}).copy()" if number in plan.copies else inner.operand(value)
            for number, value in enumerate(plan.results)
        ]
        lines += _assignment(results, values)
        yield head
        for line in lines or ["pass"]:
            yield f"    {line}"
        spell.imports.update(inner.imports)


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


def _assignment(names: Sequence[str], values: Sequence[str]) -> list[str]:
    """The statement that binds several names at once, if any of them has another value yet."""
    pairs = [(name, text) for name, text in zip(names, values, strict=True) if name != text]
    if not pairs:
        return []
    targets, texts = zip(*pairs, strict=True)
    return [f"{', '.join(targets)} = {', '.join(texts)}"]


def _loop_lines(
    node: Node,
    plan: Plan,
    loop: LoopPlan,
    names: Mapping[Value, str],
    reserved: Set[str],
    spell: Expressions,
) -> Iterator[str]:
    """The statements of a loop, one of those of `plan`."""
    params = node.params
    in_floats = loop.in_place and is_counted(node) and loop_pays(node, loop.plan)
    graph = params["body"].graph
    first, count = params["invariants"], params["carried"]
    middle = first + count
    fixed, carried = graph.inputs[:first], graph.inputs[first:middle]
    sliced, step = graph.inputs[middle:-1], graph.inputs[-1]
    operands = spell.operands(node)
    if in_floats:
        operands = [_in_floats(value, spell) for value in node.operands]
    results = [names[value] for value in node.results]
    given: dict[Value, str] = {}
    taken = {*reserved, *names.values()}
    inside = loop.plan
    read = {value for value in graph.inputs if inside.readers[value]}
    if loop.condition is not None:
        test = params["condition"].graph
        tested = {value for value in test.inputs if loop.condition.readers[value]}
        read.update(
            v for v, other in zip(graph.inputs, test.inputs, strict=True) if other in tested
        )
    around = [*fixed, *sliced]
    texts = [*operands[:first], *operands[middle : len(graph.inputs) - 1]]
    lines, named = _named(around, texts, [value in read for value in around], taken)
    yield from lines
    bound = dict(zip(around, named, strict=True))
    given.update((value, bound[value]) for value in fixed if value in read)
    given.update(zip(carried, results, strict=False))
    for number, name in enumerate(results[:count]):
        text = operands[first + number]
        copy = ".copy()" if number in loop.begun else ""
        if text != name or copy:
            yield f"{name} = ({text}){copy}"
    steps = operands[-1] if len(operands) == len(graph.inputs) else None
    for name, value in zip(results[count:], node.results[count:], strict=True):
        if value.type.form != "list":
            yield f"{name} = {spell.bind(empty_text(value.type))}"
        elif isinstance(node.op, While):
            yield f"{name} = []"
        else:
            yield f"{name} = [None] * {literal(params['length']) if steps is None else steps}"
    if "size" in params:  # sizes in the text are of this name until the end of the step
        given[step] = name = _free(step.base or "t", taken)
        graph.sizes.symbols[params["size"]].name = name
        taken.add(name)
    wanted = dict(zip(inside.results, results, strict=False))
    known = {**given, **variables(inside, taken - set(results[:count]), given, wanted)}
    kind = StepExpressions if in_floats else type(spell)
    inner = kind(known.__getitem__, inside.inlined, spell.number_name)
    inner.rows = [
        _stacked(name, value, known[step], isinstance(node.op, While), inside, fixed)
        if number not in loop.rows
        else None
        for number, (name, value) in enumerate(
            zip(results[count:], graph.outputs[count:], strict=True)
        )
    ]
    for number, buffer in loop.rows.items():
        known[buffer] = f"{results[count + number]}[{known[step]}]"
    if loop.condition is None:
        lines = []
        numbers = f"range({literal(params['length']) if steps is None else steps})"
        yield f"for {known[step]} in {f'reversed({numbers})' if params['reverse'] else numbers}:"
    else:
        others = dict(zip(test.inputs, [given.get(v, UNUSED) for v in graph.inputs], strict=True))
        head, lines = _test_lines(loop.condition, others, taken, spell)
        yield from head
    lines += [
        f"{known[value]} = {bound[value]}[{known[step]}]"
        + ("" if in_floats else _item(value, operand))
        for value, operand in zip(sliced, node.operands[middle:], strict=False)
        if value in read
    ]
    lines += _body_lines(inside, known, inner, taken)
    values = [
        f"({inner.operand(value)}).copy()" if number in loop.copied else inner.operand(value)
        for number, value in enumerate(inside.results)
    ]
    lines += _assignment(results[:count], values)
    for line in lines or ["pass"]:
        yield f"    {line}"
    spell.imports.update(inner.imports)
    for number in sorted(loop.detached):
        yield f"{results[number]} = {results[number]}.copy()"
    for name, value in zip(results[:count], node.results, strict=False):
        if in_floats and value.type is FLOAT64 and plan.readers[value]:
            yield spell.bind(f"{name} = np.float64({name})")


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
    inner = _inside(spell, plan, known)
    result = plan.results[0]
    made = result.node
    place: list[str] = []
    if made is not None and made in plan.statements[-1:] and made.op.statements is None:
        plan = plan._replace(statements=plan.statements[:-1])
        place, text = _place_lines(made), marked(made, inner.expression(made))
    else:
        text = inner.operand(result)
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
