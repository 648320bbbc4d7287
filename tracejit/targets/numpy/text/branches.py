"""Branches in a generated function: the `if` statements between segments, and their indentation.

Every trace ends in `return`, so no `if` needs an `else`: the shorter side of a decision is
indented, the longer follows it. A side that no call has taken raises. So indentation grows at most
with the logarithm of the length, and a loop whose number of iterations depends on data is flat.
"""

from __future__ import annotations

from typing import Any

from tracejit.ir.branches import Branches, Decision
from tracejit.ir.graph import Node

UNRECORDED = "BranchNotRecorded"
CLASS = f'''
class {UNRECORDED}(NotImplementedError):
    """A way that no call had taken when this was recorded: which decision, its outcome, where."""

    def __str__(self):
        decision, outcome, line = self.args
        text = "%s: this module has no code for a decision that is %s here. " % (line, outcome)
        return text + "Call the function so where tracejit is installed, and save its kernel again."
'''


class BranchText:
    """The position in the text of a function: `depth` is the indentation of the current segment."""

    def __init__(self, branches: Branches) -> None:
        """Begin in the first segment of `branches`."""
        self.depth = 0
        self.segment = 0
        self._branches = branches
        self._sides: dict[int, tuple[list[str], int, int]] = {}

    def decide(self, node: Node, text: str) -> None:
        """A decision on the expression `text`."""
        decision = self._branches.decisions[node.params["number"]]
        is_pair = len(decision.sides) > 1 and all(
            self._branches.ends[segment] == segment + 1 for _, segment in decision.sides
        )
        for position, (outcome, segment) in enumerate(decision.sides):
            is_last = position == len(decision.sides) - 1
            condition = _condition(text, outcome)
            if not is_last:
                lines, deeper = [f"if {condition}:"], 1
            elif type(outcome) is bool and position:
                lines, deeper = (["else:"], 1) if is_pair else ([], 0)
            else:
                lines, deeper = _or_raise(decision, node, text, outcome), 0
            self._sides[segment] = lines, self.depth, deeper

    def enter(self, node: Node) -> list[str]:
        """The lines that open the segment of `node`, if it is a new one."""
        segment = node.segment
        if segment == self.segment or not self._branches.decisions:
            return []
        self.segment = segment
        lines, outer, deeper = self._sides[segment]
        self.depth = outer + deeper
        return ["    " * outer + line for line in lines]


def _condition(text: str, outcome: Any) -> str:
    if type(outcome) is bool:
        return text if outcome else f"not {text}"
    return f"{text} == {outcome}"


def _or_raise(decision: Decision, node: Node, text: str, outcome: Any) -> list[str]:
    """The lines that raise where the outcome is not that of the last side."""
    where = node.where.short if node.where is not None else ""
    if type(outcome) is bool:
        other, found = _condition(text, not outcome), repr(not outcome)
    else:
        other, found = f"{text} != {outcome}", text
    return [f"if {other}:", f"    raise {UNRECORDED}({decision.number}, {found}, {where!r})"]
