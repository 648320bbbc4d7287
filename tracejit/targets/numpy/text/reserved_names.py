"""Names that no variable of a module may have: those that it imports, and those that loops in the
statements of ops assign to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import spelled
from tracejit.ir.graph import Constant, Node
from tracejit.ir.types import ArrayType
from tracejit.ops.base.op import literal
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.text.expressions import Expressions


def library_names(plans: Iterable[Plan]) -> set[str]:
    """Every name that the bodies of `plans` will import, so that no variable hides it."""
    spell = Expressions(lambda value: "_", set())
    seen: set[tuple[Any, ...]] = set()
    for plan in plans:
        if plan.inner:
            spell.bind("np.empty")
        for node in (*plan.statements, *plan.inlined):
            op, params = node.op, node.params
            is_plain = op.statements is None and isinstance(op.source, str)
            is_plain = is_plain and isinstance(op.inplace, str)
            types = [value.type for value in node.operands]
            if is_plain:
                spelled_by = op.name, *map(spelled, _dtypes(params) if params else ())
            else:
                spelled_by = op.name, *map(spelled, params.values()), *types
            if spelled_by not in seen:
                seen.add(spelled_by)
                for text in _spellings(node, types, is_plain):
                    spell.bind(text)
            if any([isinstance(value, Constant) for value in node.operands]):
                used = [v if isinstance(v, Constant) else v.type for v in node.operands]
                read = op.name, *used, *[value.type for value in node.results]
                if read not in seen:
                    seen.add(read)
                    spell.operands(node)
    return {*spell.imports}


def loop_names(plans: Iterable[Plan]) -> set[str]:
    """The names that loops in the statements of ops assign to."""
    found: set[str] = set()
    for plan in plans:
        for node in plan.statements:
            if node.op.statements is not None:
                types = [value.type for value in node.operands]
                for line in node.op.statement_lines(types, node.params):
                    word, _, rest = line.strip().removeprefix("for ").partition(" ")
                    if line.startswith(("for ", " ")) and rest.startswith(("in ", "= ")):
                        found.add(word)
    return found


def _spellings(node: Node, types: Sequence[ArrayType], is_plain: bool) -> Sequence[str]:
    """The texts in which a node's names of libraries stand, in which its operands do not matter.
    Those of what `is_plain` do not depend on other parameters than dtypes."""
    op, params = node.op, node.params
    if is_plain:
        return [str(op.source), str(op.inplace), *map(literal, _dtypes(params))]
    if op.statements is not None:
        return [*op.statement_lines(types, params)]
    return [op.template(types, params), op.inplace_template(types, params)]


def _dtypes(params: Mapping[str, Any]) -> list[Any]:
    return [value for value in params.values() if isinstance(value, np.dtype)]
