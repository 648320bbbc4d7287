"""Flow: the `if` statements between segments, and how far each segment is indented.

Every way ends in `return`, so nothing that follows an `if` needs an `else`: of two sides the
shorter is indented, the longer follows it. A side that no call has taken raises. So the text is as
deep as the logarithm of its length at most, and a loop that is left after a number of rounds that
depends on data is flat.
"""

from __future__ import annotations

from typing import Any

from tracejit.ir.graph import Branches, Decision, Node

UNRECORDED = "BranchNotRecorded"
CLASS = f'''
class {UNRECORDED}(NotImplementedError):
    """A way that no call had taken when this was recorded: which decision, its outcome, where."""
'''


class Flow:
    """Where the text is: `depth` is the indentation of the current segment."""

    def __init__(self, branches: Branches) -> None:
        """At the beginning of the first segment."""
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

    def enter(self, segment: int) -> list[str]:
        """The lines between what stood before and `segment`."""
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
    """What raises where the outcome is another than that of the last side."""
    where = node.where.short if node.where is not None else ""
    if type(outcome) is bool:
        other, found = _condition(text, not outcome), repr(not outcome)
    else:
        other, found = f"{text} != {outcome}", text
    return [f"if {other}:", f"    raise {UNRECORDED}({decision.number}, {found}, {where!r})"]
