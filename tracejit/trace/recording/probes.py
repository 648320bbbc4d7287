"""Probe: run a user's rule on placeholders, to see its effect on every cotangent at once.

Forward mode transposes a rule. It records it on cotangents that are not there, and what holds for
one cotangent must hold for all: Python may not look at what is computed from them (`if`, `while`,
`int`, `sorted`, `.numpy()`). While a probe is open every such question is refused.

An eager probe also takes note of which zeros are zeros by the text of the rule (`0.0`,
`np.zeros(3)`), and not by the data of this call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ops.control.marker_ops import dependent_results
from tracejit.trace.capture.captures import Captures
from tracejit.trace.recording.tape_window import Whole


class Probe(Whole):
    """The values computed from placeholders (`dependent`), and all nodes recorded meanwhile.

    `was_read` says that Python has asked for one of the dependent values; `zeros` are constants of
    the rule that are zero.
    """

    __slots__ = (
        "_captures",
        "_reads",
        "_seen",
        "_start",
        "dependent",
        "function",
        "was_read",
        "zeros",
    )

    def __init__(
        self,
        function: str,
        reads: Sequence[Any],
        placeholders: Iterable[Value],
        nodes: list[Node] | None = None,
    ) -> None:
        """A rule of `function` is about to run, which may read from what `reads` lists; its nodes
        will be appended to `nodes`, by default to the probe's own."""
        super().__init__()
        if nodes is not None:
            self.nodes = nodes
        self.function = function
        self.dependent = set(placeholders)
        self.zeros: set[Value] = set()
        self.was_read = False
        self._reads = reads
        self._captures: Captures | None = None
        self._start = self._seen = len(self.nodes)

    @property
    def recorded(self) -> list[Node]:
        """The nodes recorded so far."""
        return self.nodes[self._start :]

    def depends(self, value: Value) -> bool:
        """Return whether `value` is computed from a placeholder."""
        for node in self.nodes[self._seen :]:
            self.dependent.update(dependent_results(node, self.dependent))
        self._seen = len(self.nodes)
        return value in self.dependent

    def note_zeros(self, value: Value, operand: Any) -> None:
        """`value` stands for an array or NumPy scalar of zeros: of the rule's own, unless the
        array was there before."""
        if isinstance(operand, np.ndarray):
            if self._captures is None:
                self._captures = Captures(self._reads, limit=None, compares=False)
            if self._captures.sources_of(operand):
                return
        self.zeros.add(value)

    def knows(self, value: Value) -> bool:
        """Return whether reading `value` would lose a dependence."""
        return self.depends(value)

    def reaches(self, value: Value) -> bool:
        """Return whether `value` is computed from a placeholder."""
        return self.depends(value)
