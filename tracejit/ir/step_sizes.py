"""Sizes that differ from step to step of a loop: `a[:k]` has k elements in step k.

In the body of such a loop, types and parameters have Dims over one symbol: the number of the step,
between known bounds. So each question about them has an answer that is the same for all steps, or
it raises NotForAllSteps: then the loop is written out.

A size may be 0 or 1 in a step, but counts as any other: nothing is broadcast along an axis that has
other sizes in most steps, as that is an error in these.

>>> sizes = StepSizes()
>>> t = sizes.step(8)
>>> t + 1, t < 9, t == 9 - t, t == 1, t > -1, t < 1
((t+1), True, False, False, True, False)
>>> t < 5
Traceback (most recent call last):
    ...
tracejit.ir.step_sizes.NotForAllSteps: whether t < 5
>>> sizes.line()
'  steps t<8'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracejit.ir.dims import Dim, in_numbers, number_of, size_text, terms_of
from tracejit.ir.graph import Node
from tracejit.ir.sizes import SMALLEST, Sizes


class NotForAllSteps(BaseException):
    """A question about a size has different answers in different steps, or needs its number: the
    function must be recorded again. No `except Exception` of the user's is meant."""


class StepSizes(Sizes):
    """The sizes of one recording that differ from step to step of its loops. None is free. What is
    asked after the recording is answered for all steps, too: a tape differentiates what a call has
    recorded."""

    differ_in_steps = True

    def __init__(self, recording: Any = None) -> None:
        """No loop yet."""
        super().__init__(recording)
        self.is_asked = False
        self.last: dict[int, Any] = {}

    def step(self, length: Any, most: int = 0) -> Dim:
        """The number of a step of a new loop of so many; where that differs in the steps of a loop
        around it, `most` is the greatest."""
        dim = self.symbol(0, "t", 0)
        dim.symbol.most = (most or length) - 1
        self.last[dim.place] = length - 1
        return dim

    def most(self, size: Any) -> int:
        """The greatest that a size is in any step, if it grows or shrinks by the same number."""
        symbols = self._symbols_in(size)
        return max(self._numbers(size, symbols, everywhere=False)) if symbols else number_of(size)

    def free(self) -> list[int]:
        """None: every step of the loop is known."""
        return []

    def held(self) -> list[tuple[Any, str, Any]]:
        """No condition."""
        return []

    def assign_names(self, taken: Iterable[str]) -> None:
        """Leave the names to the text of the loop."""

    def pin(self, dim: Dim) -> int:
        """Refuse: there is no one number. What is left when the recording is over is a number."""
        if self.is_over:
            return dim.number
        raise NotForAllSteps(f"the number of {size_text(dim)}")

    def pin_all(self, reason: Any) -> None:
        """Refuse."""
        raise NotForAllSteps(str(reason)) from reason

    def line(self) -> str:
        """The symbols as they are printed under the head of a graph, with their bounds."""
        words = [
            f"{one.name}<{(one.most or 0) + 1}" for one in self.symbols if one.most is not None
        ]
        return f"  steps {' '.join(words)}" if words else ""

    def _ask(self, relation: str, difference: Dim, answer: bool, sides: tuple[Any, Any]) -> bool:
        left, right = sides
        symbols = self._symbols_in(difference)
        is_linear = all(len(one) < 2 for one, _ in difference.key)
        if len(symbols) == 1:
            numbers = [*self._numbers(difference, symbols, everywhere=True)]
            answers = {number == 0 if relation == "==" else number > 0 for number in numbers}
        elif is_linear:  # what holds at the corners holds between them
            numbers = [*self._numbers(difference, symbols, everywhere=False)]
            answers = {number > 0 for number in numbers}
            if relation == "==":
                answers = {False} if 0 not in numbers and len(answers) == 1 else set()
        else:
            answers = set()
        if len(answers) == 1:
            return answers.pop()
        if type(right) is int and right < SMALLEST + (relation == "<"):
            return False
        if type(left) is int and left < SMALLEST:
            return relation == "<"
        raise NotForAllSteps(f"whether {size_text(sides[0])} {relation} {size_text(sides[1])}")

    def _symbols_in(self, size: Any) -> list[int]:
        """The symbols that a size depends on, those of outer loops first."""
        found = {index for one, _ in terms_of(size).items() for index in one}
        return sorted(found.union(*[self._symbols_in(self.last[index]) for index in found]))

    def _numbers(self, size: Dim, symbols: Sequence[int], everywhere: bool) -> Iterator[int]:
        """The number of a size in each step, or in the first and last of each loop."""
        if not symbols:
            yield size.number
            return
        last = number_of(self.last[symbols[0]])
        for number in range(last + 1) if everywhere else (0, last):
            self.symbols[symbols[0]].number = number
            yield from self._numbers(size, symbols[1:], everywhere)


def at_step(graph: Any, symbol: int, number: int) -> None:
    """Let the loop of a symbol be in the step of this number."""
    assert graph.sizes is not None
    graph.sizes.symbols[symbol].number = number


def params_at(node: Node, graph: Any) -> dict[str, Any]:
    """The parameters of a node of `graph` in this call, and the step that its loops are in."""
    if graph.sizes is None:
        return node.params
    found: dict[str, Any] = in_numbers(node.params)
    return found
