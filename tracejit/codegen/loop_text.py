"""Loops in a generated function: `for t in range(length):` and the body, with the names of the
user's.

A carried value is one variable, called as the result of the loop is. It is bound before the loop,
and at the end of each step. Arrays that rows are stacked in are made before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from tracejit.codegen.expressions import Expressions
from tracejit.codegen.names import variables
from tracejit.codegen.tile_functions import empty_text
from tracejit.ir.graph import Node, Value
from tracejit.ops.op import literal
from tracejit.schedule.loop_plan import LoopPlan
from tracejit.schedule.plan import Plan

Write = Callable[[Plan, Mapping[Value, str], Expressions], list[str]]


class LoopNames(NamedTuple):
    """The names of the inputs of a body, in their order, and of all that a step computes."""

    carried: Sequence[str]
    sliced: Sequence[str]
    step: str
    all: Mapping[Value, str]


def loop_lines(
    node: Node,
    loop: LoopPlan,
    names: Mapping[Value, str],
    reserved: Set[str],
    spell: Expressions,
    write: Write,
) -> Iterator[str]:
    """The statements of a loop. `write` spells the statements of a step."""
    params = node.params
    graph = params["body"].graph
    first, count = params["invariants"], params["carried"]
    middle = first + count
    fixed, carried = graph.inputs[:first], graph.inputs[first:middle]
    sliced, step = graph.inputs[middle:-1], graph.inputs[-1]
    operands = spell.operands(node)
    results = [names[value] for value in node.results]
    given: dict[Value, str] = {}
    taken = reserved | set(names.values())
    inside = loop.plan
    read = {value for value in graph.inputs if inside.readers[value]}
    bound = {}
    for value, text in zip((*fixed, *sliced), (*operands[:first], *operands[middle:]), strict=True):
        if value not in read:
            continue
        if not text.isidentifier():
            name = _free(value.base or "a", taken)
            taken.add(name)
            yield f"{name} = {text}"
            text = name
        bound[value] = text
    given.update((value, bound[value]) for value in fixed if value in read)
    given.update(zip(carried, results, strict=False))
    for number, name in enumerate(results[:count]):
        text = operands[first + number]
        copy = ".copy()" if number in loop.updated else ""
        if text != name or copy:
            yield f"{name} = ({text}){copy}"
    for name, value in zip(results[count:], node.results[count:], strict=True):
        yield f"{name} = {spell.bind(empty_text(value.type))}"
    wanted = dict(zip(inside.results, results, strict=False))
    known = {**given, **variables(inside, taken - set(results[:count]), given, wanted)}
    kind = type(spell)
    inner = kind(known.__getitem__, inside.inlined, spell.number_name)
    inner.rows = tuple(f"{name}[{known[step]}]" for name in results[count:])
    steps = f"range({literal(params['length'])})"
    yield f"for {known[step]} in {f'reversed({steps})' if params['reverse'] else steps}:"
    lines = [
        f"{known[value]} = {bound[value]}[{known[step]}]{_item(value)}"
        for value in sliced
        if value in read
    ]
    lines += write(inside, known, inner)
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
