"""Loops in a generated function: `for t in range(length):` and the body, with the names of the
user's.

A carried value is one variable, called as the result of the loop is. It is bound before the loop,
and at the end of each step. Arrays that rows are stacked in are made before the loop. A loop of
float64 scalars runs on Python floats where that pays: arrays that it slices are lists then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from tracejit.codegen.expressions import Expressions
from tracejit.codegen.floats import FLOAT64, StepExpressions, loop_pays
from tracejit.codegen.names import UNUSED, variables
from tracejit.codegen.tile_functions import empty_text
from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.location import location_text
from tracejit.ops.control_flow import LOOP, STACK_ROW, body_inputs, loop_operands
from tracejit.ops.op import literal
from tracejit.schedule.plan import Plan


def statement_lines(
    node: Node, plan: Plan, names: Mapping[Value, str], spell: Expressions, reserved: Set[str]
) -> list[str]:
    """The lines of the statement of a node; no variable in a loop has a name that is `reserved`."""
    if node.op is LOOP:
        return [*_loop_lines(node, plan, names, reserved, spell)]
    if node.op is STACK_ROW:
        return [f"{spell.rows[node.params['number']]} = {spell.operand(node.operands[0])}"]
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


def _step_lines(
    plan: Plan, names: Mapping[Value, str], spell: Expressions, reserved: Set[str]
) -> list[str]:
    """The statements of a step of a loop."""
    lines = []
    previous = None
    for node in plan.statements:
        if node.where is not None and node.where != previous:
            lines.append(f"# {location_text(node.where).rstrip()}")
            previous = node.where
        lines += statement_lines(node, plan, names, spell, reserved)
    return lines


def _loop_lines(
    node: Node,
    plan: Plan,
    names: Mapping[Value, str],
    reserved: Set[str],
    spell: Expressions,
) -> Iterator[str]:
    """The statements of a loop, one of those of `plan`."""
    loop, params = plan.loops[node], node.params
    inside, count = loop.plan, params["carried"]
    in_floats = loop.in_place and loop_pays(node, inside)
    inputs, step = body_inputs(node), node.params["body"].graph.inputs[-1]
    operands = loop_operands(node)
    results = [names[value] for value in node.results]
    taken = {*reserved, *names.values()}
    bound: dict[Value, str] = {}
    for value, operand in zip(
        (*inputs.invariants, *inputs.sliced), (*operands.invariants, *operands.sliced), strict=True
    ):
        if not inside.readers[value]:
            continue
        text = base = spell.operand(operand)
        if in_floats:
            text = _in_floats(operand, text)
        if not text.isidentifier():
            is_list = text.endswith(".tolist()")
            base = base if base.isidentifier() else value.base or "a"
            name = _free(f"{base}_list" if is_list else base, taken)
            taken.add(name)
            yield f"{name} = {text}"
            text = name
        bound[value] = text
    for number, (name, value) in enumerate(zip(results, operands.carried, strict=False)):
        text = spell.operand(value, strong=not in_floats)
        if in_floats:
            text = _in_floats(value, text)
        copy = ".copy()" if number in loop.updated else ""
        if text != name or copy:
            yield f"{name} = ({text}){copy}"
    for name, value in zip(results[count:], node.results[count:], strict=True):
        yield f"{name} = {spell.bind(empty_text(value.type))}"
    given = {value: bound[value] for value in inputs.invariants if value in bound}
    given.update(zip(inputs.carried, results, strict=False))
    wanted = dict(zip(inside.results, results, strict=False))
    known = {**given, **variables(inside, taken - set(results[:count]), given, wanted)}
    kind = StepExpressions if in_floats else type(spell)
    inner = kind(known.__getitem__, inside.inlined, spell.number_name)
    inner.rows = tuple(f"{name}[{known[step]}]" for name in results[count:])
    steps = f"range({literal(params['length'])})"
    yield f"for {known[step]} in {f'reversed({steps})' if params['reverse'] else steps}:"
    lines = [
        f"{known[value]} = {bound[value]}[{known[step]}]{'' if in_floats else _item(value)}"
        for value in inputs.sliced
        if value in bound
    ]
    lines += _step_lines(inside, known, inner, taken)
    pairs = [
        (
            name,
            f"({inner.operand(value)}).copy()" if number in loop.copied else inner.operand(value),
        )
        for number, (name, value) in enumerate(zip(results, inside.results, strict=False))
    ]
    pairs = [(name, text) for name, text in pairs if name != text]
    if pairs:
        targets, values = zip(*pairs, strict=True)
        lines.append(f"{', '.join(targets)} = {', '.join(values)}")
    for line in lines or ["pass"]:
        yield f"    {line}"
    spell.imports.update(inner.imports)
    for number in sorted(loop.detached):
        yield f"{results[number]} = {results[number]}.copy()"
    for name, value in zip(results[:count], node.results, strict=False):
        if in_floats and value.type is FLOAT64 and plan.readers[value]:
            yield spell.bind(f"{name} = np.float64({name})")


def _in_floats(operand: Value, text: str) -> str:
    """An operand of a loop as a Python number, or as a list of such."""
    if operand.type.form == "array":
        return f"({text}).tolist()"
    is_python = isinstance(operand, Constant) or operand.type.form == "weak"
    return text if is_python else f"float({text})"


def _item(value: Value) -> str:
    """The end of the expression that takes an element, of a Python number for one."""
    return ".item()" if value.type.form == "weak" else ""


def _free(base: str, taken: Set[str]) -> str:
    """`base`, with a number where it is taken."""
    number, name = 0, base
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
