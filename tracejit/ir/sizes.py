"""Sizes that are not known before the call: polynomials in symbols, and the conditions recorded on
them.

A shape has a `Dim` for a dimension that a recording keeps free. It is not an int, so that nothing
reads its number unnoticed: arithmetic with ints and other Dims gives Dims, equal polynomials are
equal, and every other question (`==`, `<`, a number for `range`) is answered by the number of the
call that is being recorded and noted in its `Sizes`, as something that must hold wherever the
recording is used again. A free dimension is 2 at least, so most questions about 0 and 1, which
broadcasting asks, are answered by that alone.

What pins a symbol down, or makes two of them one, is carried through the whole recording: it is as
if the symbol had never been there.

>>> sizes = Sizes()
>>> n, m = sizes.symbol(64), sizes.symbol(64)
>>> (n + 1) * 3 - n, (2 * n) // 2 == n, n == 1
(Dim(2*n+3), True, False)
>>> n > 10, n % 8 == 0, sizes.conditions()
(True, True, ['n > 10', 'n%8 == 0'])
>>> n == m, m + n, sizes.conditions()
(True, Dim(2*n), ['n > 10', 'n%8 == 0'])
>>> [0] * n == [0] * 64, n + 1
(True, 65)
"""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from tracejit.ir.dims import (
    Dim,
    Terms,
    key_of,
    number_of,
    quotient_of,
    size_text,
    terms_of,
)
from tracejit.ir.translation import Translation

SMALLEST: Final = 2
"""A dimension that is smaller is never free."""

MODULE_NAMES: Final = frozenset(("residuals", "SIGNATURE", "constants", "load"))
"""Names that have another meaning in generated modules."""

_NUMBERED = re.compile(r"_.*|c_\d+|each\d+")

NAMES: Final = ("n", "m", "k", "p", "q", "r", "s", "t", "u", "v")

RELATIONS: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
"""The relations between sizes."""


class SizeNeeded(Exception):
    """The number of a free dimension is needed after the recording has ended."""


class Symbol:
    """A free dimension, or a quotient or remainder of such by its `definition`.

    `number` is what it is in this call, `least` how much it is at least wherever the recording
    holds, `most` how much at most, None if that is not known. `label` is what the user calls it.
    """

    __slots__ = ("definition", "label", "least", "most", "name", "number")

    def __init__(
        self, number: int, least: int | None, definition: tuple[str, Any, Any] | None = None
    ) -> None:
        """Make a symbol without a name."""
        self.number = number
        self.least = least
        self.most: int | None = None
        self.definition = definition
        self.label = self.name = ""


class Sizes:
    """The free dimensions of one recording and what must hold of them.

    `recording` is who records: it says where the user's program is, makes a Tensor of a Dim, and is
    told when a symbol is pinned down. None once it is over: a Dim is a number from then on. Where
    dimensions `stay_free`, loops that would pin them down are written out instead.
    """

    differ_in_steps = False

    def __init__(self, recording: Any = None) -> None:
        """Begin without free dimensions."""
        self.recording = recording
        self.symbols: list[Symbol] = []
        self.solved: dict[int, Any] = {}
        self.reasons: dict[int, Any] = {}
        self.types: dict[Any, Any] = {}
        self.is_over = False
        self.is_asked = True
        self.stay_free = False
        self.guards: list[tuple[Any, str, Any]] = []
        self._answers: dict[tuple[str, Any], bool] = {}
        self._defined: dict[tuple[str, Any, Any], int] = {}

    def symbol(self, number: int, name: str = "", least: int = SMALLEST) -> Dim:
        """A new free dimension, which is `number` in this call and `least` or more in any."""
        symbol = Symbol(number, least)
        symbol.name = name or NAMES[len(self.symbols) % len(NAMES)]
        if any(symbol.name == other.name for other in self.symbols):
            symbol.name += f"_{len(self.symbols)}"
        self.symbols.append(symbol)
        return self.dim(len(self.symbols) - 1)

    def dim(self, index: int) -> Dim:
        """A symbol by its number as a size."""
        return Dim(self, {(index,): 1})

    def free(self) -> list[int]:
        """The numbers of the free dimensions that are not pinned down."""
        return [
            index
            for index, symbol in enumerate(self.symbols)
            if symbol.definition is None and index not in self.solved
        ]

    def conditions(self, prefix: str = "") -> list[str]:
        """The conditions on the symbols, as Python over their names, with a prefix before each."""
        sides = [
            (size_text(left, prefix), relation, size_text(right, prefix))
            for left, relation, right in self.held()
        ]
        return [" ".join(words) for words in dict.fromkeys(sides)]

    def held(self) -> list[tuple[Any, str, Any]]:
        """The conditions: left side, relation, right side."""
        found: list[tuple[Any, str, Any]] = [
            (self.dim(index), ">", least - 1)
            for index in self.free()
            if (least := self.symbols[index].least) is not None and least > SMALLEST
        ]
        for left, relation, right in self.guards:
            sides = self.resolved(left), self.resolved(right)
            if any(type(side) is Dim for side in sides):
                found.append((sides[0], relation, sides[1]))
        return found

    def ranges(self) -> list[str]:
        """The least that every free dimension is known to be, as Python: n > 1."""
        return [f"{self.symbols[k].name} > {(self.symbols[k].least or 0) - 1}" for k in self.free()]

    def hold(self, numbers: Mapping[str, int]) -> bool:
        """Return whether the conditions hold for these numbers, given by the names of the
        symbols."""
        return all(
            RELATIONS[relation](evaluated(left, numbers), evaluated(right, numbers))
            for left, relation, right in self.held()
        )

    def assign_names(self, taken: Iterable[str]) -> None:
        """Name every free dimension as the user does, or n, m, ..., avoiding what is taken, when
        the recording is over."""
        if not self.is_asked:
            return
        used = set(taken)
        for index in self.free():
            symbol = self.symbols[index]
            candidates = [symbol.label] if _is_free_name(symbol.label, used) else []
            candidates += [name for name in NAMES if _is_free_name(name, used)]
            candidates += [f"size_{index}"]
            symbol.name = candidates[0]
            used.add(symbol.name)
        self.freeze()

    def symbols_for(self, other: Sizes) -> Translation | None:
        """The free dimensions here that those of another are, in order; None if they are not
        as many, or something else holds of them."""
        mine, others = self.free(), other.free()
        if len(mine) != len(others):
            return None
        found = Translation(self, dict(zip(others, mine, strict=True)))
        return found if self.conditions() == found.conditions(other) else None

    # What is asked

    def freeze(self) -> None:
        """Answer nothing any more that is not known already: SizeNeeded."""
        self.is_asked = False

    def end(self) -> None:
        """Be done: what is left of Dims are numbers."""
        self.is_over, self.recording = True, None

    def pin(self, dim: Dim) -> int:
        """The number of a Dim: what it is made of is known from here on."""
        number = dim.number
        if not self.is_over:
            unknown = self._free_in(self.resolved(dim))
            where = self.recording.here() if unknown and self.recording is not None else None
            self._solve({index: self.symbols[index].number for index in unknown})
            self.reasons.update(dict.fromkeys(unknown, where))
        return number

    def pin_all(self, reason: Any) -> None:
        """Take every free dimension for its number, at last."""
        for index in self.free():
            self.reasons[index] = reason
            self.solved[index] = self.symbols[index].number

    def reason(self, dim: Dim) -> Any:
        """The place in the user's program that needed the number of a free dimension; None if
        the dimension was only found equal to another."""
        ((index,), _), *_ = dim.key
        other = self.solved.get(index)
        return self.reason(other) if type(other) is Dim else self.reasons.get(index)

    def are_equal(self, left: Any, right: Any) -> bool:
        """Return whether two sizes are equal."""
        difference = self.resolved(left - right)
        if type(difference) is not Dim:
            return bool(difference == 0)
        if self.is_over and not self.differ_in_steps:
            return difference.number == 0
        if difference.least() > 0 or (-difference).least() > 0:
            return False
        return self._ask("==", difference, difference.number == 0, (left, right))

    def is_less(self, left: Any, right: Any) -> bool:
        """Return whether `left` is smaller than `right`."""
        difference = self.resolved(right - left)
        if type(difference) is not Dim:
            return bool(difference > 0)
        if self.is_over and not self.differ_in_steps:
            return difference.number > 0
        if difference.least() > 0:
            return True
        if (-difference).least() >= 0:
            return False
        return self._ask("<", difference, difference.number > 0, (left, right))

    def _ask(self, relation: str, difference: Dim, answer: bool, sides: tuple[Any, Any]) -> bool:
        key = relation, difference.key
        known = self._answers.get(key)
        if known is not None:
            return known
        if not self.is_asked:
            raise SizeNeeded(f"whether {size_text(sides[0])} {relation} {size_text(sides[1])}")
        self._answers[key] = answer
        if not (self._solved_by(difference) if relation == "==" and answer else False):
            if not self._bounded_by(relation, difference, answer):
                opposite = {"==": "!=", "<": ">="}
                self.guards.append((sides[0], relation if answer else opposite[relation], sides[1]))
        return answer

    def _solved_by(self, difference: Dim) -> bool:
        """Return whether a difference of zero fixes a symbol, or makes two symbols equal."""
        terms = dict(difference.key)
        rest = terms.pop((), 0)
        if any(len(one) != 1 or self.symbols[one[0]].definition for one in terms):
            return False
        if len(terms) == 1:
            ((index,),) = terms
            if self.stay_free and self.recording is not None:
                self.reasons.setdefault(index, self.recording.here())
            self._solve({index: self.symbols[index].number})
            return True
        if len(terms) == 2 and not rest and sum(terms.values()) == 0:
            (first,), (second,) = sorted(terms)
            mine, other = self.symbols[first], self.symbols[second]
            mine.least = max(mine.least or 0, other.least or 0)
            mine.label = mine.label or other.label
            self._solve({second: self.dim(first)})
            return True
        return False

    def _bounded_by(self, relation: str, difference: Dim, answer: bool) -> bool:
        """Return whether the answer is no more than a lower bound of one symbol."""
        terms = dict(difference.key)
        rest = terms.pop((), 0)
        if len(terms) != 1:
            return False
        ((monomial, factor),) = terms.items()
        symbol = self.symbols[monomial[0]]
        if len(monomial) != 1 or symbol.least is None or symbol.definition is not None:
            return False
        if relation == "==":
            root = -rest // factor
            if root == symbol.least and not rest % factor:
                symbol.least += 1
            return bool(rest % factor) or root < symbol.least
        if answer == (factor > 0):  # factor * symbol + rest >= 1, or -(...) >= 0
            sign, bound = (1, 1 - rest) if answer else (-1, rest)
            symbol.least = max(symbol.least, -(-bound // (sign * factor)))
            return True
        return False

    def _solve(self, found: dict[int, Any]) -> None:
        if not found:
            return
        if not self.is_asked:
            raise SizeNeeded(", ".join(self.symbols[index].name for index in found))
        self.solved |= found
        self._answers.clear()
        if self.recording is not None:
            self.recording.retype()

    def _free_in(self, size: Any) -> set[int]:
        """The free dimensions that a size depends on."""
        found: set[int] = set()
        for index in {i for one, _ in size.key for i in one} if type(size) is Dim else ():
            definition = self.symbols[index].definition
            if definition is None:
                found.add(index)
            else:
                found |= self._free_in(definition[1]) | self._free_in(definition[2])
        return found

    # Arithmetic

    def resolved(self, size: Any) -> Any:
        """A size with what is known by now put in."""
        if type(size) is not Dim or not self.solved:
            return size
        if not any(self._is_changed(index) for one, _ in size.key for index in one):
            return size
        total: Any = 0
        for monomial, factor in size.key:
            product: Any = factor
            for index in monomial:
                product = product * self._now(index)
            total = total + product
        return total

    def _is_changed(self, index: int) -> bool:
        return not self.solved.keys().isdisjoint(self._free_in(self.dim(index)))

    def _now(self, index: int) -> Any:
        """The current meaning of a symbol: itself, another symbol or a number."""
        if index in self.solved:
            return self.resolved(self.solved[index])
        definition = self.symbols[index].definition
        if definition is None:
            return self.dim(index)
        relation, *operands = definition
        left, right = (self.resolved(operand) for operand in operands)
        if left is operands[0] and right is operands[1]:
            return self.dim(index)
        return left // right if relation == "//" else left % right

    def divided(self, left: Any, right: Any) -> Any:
        """left // right."""
        left, right = self.resolved(left), self.resolved(right)
        if type(left) is not Dim and type(right) is not Dim:
            return left // right
        if right == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        whole, rest = self._split(left, right)
        if type(rest) is not Dim and type(right) is not Dim:
            return whole + rest // right
        return (
            whole
            if type(rest) is not Dim and rest == 0
            else whole + self._define("//", rest, right)
        )

    def remainder(self, left: Any, right: Any) -> Any:
        """left % right."""
        left, right = self.resolved(left), self.resolved(right)
        if type(left) is not Dim and type(right) is not Dim:
            return left % right
        if right == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        rest = self._split(left, right)[1]
        if type(rest) is not Dim and type(right) is not Dim:
            return rest % right
        return 0 if type(rest) is not Dim and rest == 0 else self._define("%", rest, right)

    def _split(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Two sizes, the first times `right` plus the second being `left`."""
        divisor = terms_of(right)
        if len(divisor) > 1:
            return (1, 0) if terms_of(left) == divisor else (0, left)
        ((monomial, factor),) = divisor.items()
        whole: Terms = {}
        rest: Terms = {}
        for one, count in terms_of(left).items():
            quotient = quotient_of(one, monomial)
            if quotient is None or count % factor:
                rest[one] = count
            else:
                whole[quotient] = count // factor
        return self.size(whole), self.size(rest)

    def _define(self, relation: str, left: Any, right: Any) -> Any:
        key = relation, key_of(left), key_of(right)
        index = self._defined.get(key)
        if index is None:
            number = number_of(left) // number_of(right)
            least = None
            if relation == "%":
                number = number_of(left) % number_of(right)
                least = 0 if right > 0 else None
            elif type(right) is not Dim and right > 0 and left.least() > -np.inf:
                least = int(left.least()) // right
            self.symbols.append(Symbol(number, least, (relation, left, right)))
            index = self._defined[key] = len(self.symbols) - 1
        return self.dim(index)

    def size(self, terms: Terms) -> Any:
        """The size with these terms: an int where it has no symbol."""
        kept = {one: factor for one, factor in terms.items() if factor}
        if not kept or set(kept) == {()}:
            return kept.get((), 0)
        return Dim(self, kept)


def evaluated(size: Any, numbers: Mapping[str, int]) -> int:
    """The number that a size is where its symbols are these numbers, by name."""
    if type(size) is not Dim:
        return int(size)
    total = 0
    for monomial, factor in size.key:
        for symbol in [size.sizes.symbols[index] for index in monomial]:
            if symbol.definition is None:
                factor *= numbers[symbol.name]
            else:
                left, right = (evaluated(side, numbers) for side in symbol.definition[1:])
                factor *= left // right if symbol.definition[0] == "//" else left % right
        total += factor
    return total


def _is_free_name(name: str, used: set[str]) -> bool:
    """Return whether a size may be called `name` in generated code."""
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or name in used:
        return False
    taken = hasattr(np, name) or hasattr(builtins, name) or name in MODULE_NAMES
    return not taken and _NUMBERED.fullmatch(name) is None
