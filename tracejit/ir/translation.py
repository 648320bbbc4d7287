"""Translation of sizes: the sizes of one recording in terms of another's, to join both in one
graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejit.ir.dims import Dim, FreeShape, size_text


class Translation:
    """From the free dimensions of one recording to those of another, by their numbers."""

    def __init__(self, sizes: Any, known: Mapping[int, int]) -> None:
        """Translate to the free dimensions of `sizes`."""
        self.sizes = sizes
        self.known = known

    def translated(self, value: Any) -> Any:
        """A size, or a parameter of a node in which there may be some."""
        if type(value) in (tuple, list, FreeShape):
            return type(value)(map(self.translated, value))
        if type(value) is not Dim:
            return value
        total: Any = 0
        for monomial, factor in value.key:
            product: Any = factor
            for index in monomial:
                product = product * self._symbol(value.sizes, index)
            total = total + product
        return total

    def _symbol(self, other: Any, index: int) -> Any:
        definition = other.symbols[index].definition
        if definition is None:
            return self.sizes.dim(self.known[index])
        relation, *operands = definition
        left, right = map(self.translated, operands)
        return left // right if relation == "//" else left % right

    def conditions(self, other: Any) -> list[str]:
        """The conditions of the other recording, as Python expressions over the names here."""
        return [
            f"{size_text(self.translated(left))} {relation} {size_text(self.translated(right))}"
            for left, relation, right in other.held()
        ]
