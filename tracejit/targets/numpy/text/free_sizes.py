"""Free dimensions in a generated function: their names, and the lines at its head that read them
off its arguments: `n = x.shape[0]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tracejit.ir.dims import size_text
from tracejit.ir.graph import Value
from tracejit.ir.sizes import Sizes
from tracejit.ops.elementwise.weak import SIZE
from tracejit.support.parsing import parse
from tracejit.targets.numpy.plan.plan import Plan


def free_names(sizes: Sizes | None) -> set[str]:
    """The names of the free dimensions."""
    return set() if sizes is None else {sizes.symbols[index].name for index in sizes.free()}


def words_of(names: Mapping[Value, str]) -> list[str]:
    """The names of values, except free dimensions and what is computed from them. An expression
    stands for each of those."""
    return [
        name for value, name in names.items() if value.node is None or value.node.op is not SIZE
    ]


def size_names(plan: Plan) -> dict[Value, str]:
    """The sizes that a body hands on or is handed, by their own names."""
    found = {}
    left = [value for node in plan.leaves for value in node.operands]
    for value in (*plan.inputs, *plan.kept, *left):
        if value.node is not None and value.node.op is SIZE:
            found[value] = size_text(value.node.params["value"])
    return found


def size_lines(
    lines: Sequence[str], free: set[str], plan: Plan, names: Mapping[Value, str]
) -> Iterator[str]:
    """The statements that bind what `lines` use of the `free` dimensions."""
    if not free:
        return
    tree = parse("\n".join(lines))
    used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    missing = free & used - {names[value] for value in plan.inputs}
    for value in plan.inputs:
        for axis, text in enumerate(map(size_text, value.type.shape)):
            if text in missing:
                missing.remove(text)
                yield f"{text} = {names[value]}.shape[{axis}]"
    assert not missing, missing
