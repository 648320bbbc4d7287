"""Guards of arrays: dtype, shape, order in memory, contents. `guards.py` says what a guard is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.ir.dims import Dim, symbol_of
from tracejit.trace.capture.access_paths import Bind
from tracejit.trace.capture.guards import CAPTURED, KIND, Difference, Guard, Sentence, kind_of
from tracejit.trace.sparse_products import is_like_matrix

CONTENTS = Sentence(
    "contents",
    "the contents of {what} had changed",
    then="What the function computes from it outside of recorded operations is a constant.",
    fix="pass it as an argument, or hold it in a tj.Variable.",
)
RANK = Sentence(
    "rank",
    "{what} had shape {now}",
    "{was}",
    "Every number of dimensions has a kernel of its own.",
    "add or drop axes before the call: {what}[None], {what}[0].",
)


@dataclass(frozen=True, slots=True, eq=False)
class HasDtype(Guard):
    """An array of a dtype."""

    wanted: np.dtype[Any]

    sentence = Sentence(
        "dtype",
        "{what} had dtype {now}",
        "{was}",
        fix="convert it before the call, {what}.astype(np.{was}).",
    )
    captured = CAPTURED._replace(because="{what} was of dtype {was} and became of dtype {now}")
    repeats = True

    def check(self, value: Any) -> bool:
        return bool(value.dtype == self.wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        dtype = bind(self.wanted)
        return f"({value}.dtype is {dtype} or {again or value}.dtype == {dtype})"

    def wants(self) -> str:
        return str(self.wanted)

    def finds(self, value: Any) -> str:
        return str(value.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class HasShape(Guard):
    """An array of a shape. A dimension that is free has a lower bound; `FreeSizes` names it, and
    tests what holds between dimensions."""

    wanted: tuple[Any, ...]

    sentence = Sentence("shape", "{what} had shape {now}", "{was}", "{detail}.", "{fix}")
    captured = CAPTURED._replace(because="{what} was of shape {was} and became of shape {now}")

    def check(self, value: Any) -> bool:
        if len(value.shape) != len(self.wanted):
            return False
        return all(map(_is_of_size, value.shape, self.wanted))

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        sizes = {axis: n for axis, n in enumerate(self.wanted) if type(n) is not Dim}
        if len(sizes) == len(self.wanted) > 1:
            return f"{value}.shape == {self.wanted!r}"
        tests = [f"{value}.ndim == {len(self.wanted)}"]
        if len(sizes) == len(self.wanted):  # without the tuple that shape makes
            tests += [f"{bind(len)}({value}) == {size}" for size in sizes.values()]
        else:
            tests += [f"{value}.shape[{axis}] == {size}" for axis, size in sizes.items()]
        return " and ".join(tests)

    def wants(self) -> str:
        return _shape_text(self.wanted)

    def finds(self, value: Any) -> str:
        return _shape_text(value.shape)

    def explain(self, what: str, value: Any) -> Difference:
        found = Guard.explain(self, what, value)
        if len(value.shape) != len(self.wanted):
            return found._replace(sentence=RANK)
        return found._replace(detail="A dimension that changes is free from then on")


def _is_of_size(given: int | None, wanted: Any) -> bool:
    """Tell if a dimension may be this large. One that is only described may be any size (None)."""
    if type(wanted) is not Dim:
        return bool(given == wanted)
    symbol = symbol_of(wanted)
    return given is None or symbol is None or given >= symbol.least


def _shape_text(shape: tuple[Any, ...]) -> str:
    """A shape as Python shows it, free dimensions as any."""
    words = [str(size) if type(size) is int else "any" for size in shape]
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


@dataclass(frozen=True, slots=True, eq=False)
class InOrder(Guard):
    """An array whose elements lie in C order in memory; one that is only described does."""

    sentence = Sentence(
        "order",
        "{what} did not lie in C order in memory",
        "an array that does",
        "The function reshapes or writes to {what}, which depends on the order.",
        "pass np.ascontiguousarray({what}).",
    )

    def check(self, value: Any) -> bool:
        return hasattr(type(value), "__tracejit_class__") or bool(value.flags.c_contiguous)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        return f"{value}.flags.c_contiguous"

    def wants(self) -> str:
        return "in C order"

    def finds(self, value: Any) -> str:
        return "in another order"


@dataclass(frozen=True, slots=True, eq=False)
class IsLikeMatrix(Guard):
    """A sparse matrix of the class, the shape and the dtype of another."""

    wanted: Any

    sentence = KIND
    repeats = True

    def check(self, value: Any) -> bool:
        return is_like_matrix(self.wanted, value)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        wanted, again = self.wanted, again or value
        return (
            f"{bind(type)}({value}) is {bind(type(wanted))}"
            f" and {again}.shape == {wanted.shape!r} and {again}.dtype == {bind(wanted.dtype)}"
        )

    def wants(self) -> str:
        return self.finds(self.wanted)

    def finds(self, value: Any) -> str:
        return f"{kind_of(value)} {value.dtype}{[*value.shape]}"


@dataclass(frozen=True, slots=True, eq=False)
class HasContents(Guard):
    """An array, a buffer or a cache that holds what it held when a copy was made: `compare` tells
    them apart, and the copy itself an array in one piece. `bytes` are those that are compared."""

    wanted: Any
    bytes: int = 0
    compare: Callable[[Any, Any], bool] | None = None

    captured = CONTENTS

    def check(self, value: Any) -> bool:
        if self.compare is None:
            return bool(self.wanted == value)
        return self.compare(value, self.wanted)

    def spelling(self, value: str, bind: Bind, again: str = "") -> str:
        if self.compare is None:
            return f"{bind(self.wanted)} == {value}"
        return f"{bind(self.compare)}({value}, {bind(self.wanted)})"

    def wants(self) -> str:
        return "as it was"

    def finds(self, value: Any) -> str:
        return "of other contents"
