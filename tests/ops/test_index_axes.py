"""The axes of indexing: what whole slices keep, arrays bring, and parts mix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.sizes import Sizes
from tracejit.ir.types import ArrayType
from tracejit.ops import index_axes
from tracejit.ops.axes import axis_rule
from tracejit.ops.op import OPS

F8, INT, BOOL = map(np.dtype, ("f8", "i8", "b1"))
ALL = ("slice", None, None, None)
ROWS = ArrayType((Sizes().symbol(64), 5, 2), F8)
LABELS, MASK = ArrayType(ROWS.shape[:1], INT), ArrayType(ROWS.shape[:1], BOOL)
NUMBER = ArrayType((), F8)
N = ROWS.shape[:1]
"""Only in a tuple is a free size left alone by pytest."""


def rule(name: str, *types: ArrayType, **params: Any) -> str:
    """The rule of an op in letters."""
    return str(axis_rule(OPS[name], types, params))


def test_parts_of_an_axis_are_mixed() -> None:
    expected: list[tuple[Any, str]] = [
        ((ALL, 1), "a_b->ab"),
        ((("slice", 0, N[0], 1), 1), "a_b->ab"),
        ((("slice", None, None, -1),), "_ab->_ab"),
        ((("slice", 1, None, None),), "_ab->_ab"),
        ((("slice", None, N[0] - 1, None),), "None"),
        (("...", ("slice", None, None, 2)), "ab_->ab_"),
        ((None, "...", 0), "ab_->_ab"),
        ((0,), "_ab->ab"),
    ]
    assert [rule("getitem", ROWS, index=index) for index, _ in expected] == [
        text for _, text in expected
    ]


def test_index_arrays_bring_their_axes() -> None:
    table = ArrayType((5, 3), F8)
    assert rule("take_at", table, LABELS, index=("{1}",), unique=False) == "_a,b->ba"
    assert rule("take", table, LABELS, axis=1, unique=False) == "a_,b->ab"
    column, row = ArrayType((*N, 1), INT), ArrayType((1, 3), INT)
    assert rule("take_at", table, column, row, index=("{1}", "{2}"), unique=False) == "__,a_,_b->ab"
    # Where arrays do not stand together, their axes come first.
    assert rule("take_at", ROWS, LABELS, index=(0, ALL, "{1}"), unique=False) == "_a_,b->ba"


def test_adjoints_add_up_what_blocks_place() -> None:
    table = {"shape": (5, 3), "index": ("{1}",)}
    assert rule("add_at", ArrayType((*N, 3), F8), LABELS, **table) == "ab,a->_b by add"
    assert rule("put_at", ArrayType((*N, 3), F8), LABELS, **table) == "ab,a->_b by add"
    assert rule("put_slice", LABELS, shape=(*N, 4), index=(ALL, 1)) == "a->a_"
    places = ArrayType((*N, 1), INT)
    assert rule("take_along_axis", ArrayType((*N, 4), F8), places, axis=1) == "a_,a_->a_"
    shapes = {"shape": (*N, 4), "axis": 1}
    assert rule("add_along_axis", ArrayType((*N, 1), F8), places, **shapes) == "a_,a_->a_"


def test_writes_keep_the_axes_that_they_cover() -> None:
    table, column = ArrayType((*N, 4), F8), ArrayType(N, F8)
    assert rule("set_item", table, column, index=(ALL, 1), unique=True) == "a_,a->a_"
    assert rule("set_item", table, NUMBER, index=(ALL, 1), unique=True) == "a_,->a_"
    assert rule("add_item", table, LABELS, table, index=("{1}",), unique=False) == "_a,_,_a->_a"
    assert rule("set_item", table, MASK, NUMBER, index=("{1}",), unique=True) == "ab,a,->ab"
    assert rule("set_item", table, MASK, column, index=("{1}",), unique=True) == "None"


def test_a_slice_is_whole_by_its_bounds() -> None:
    (n,) = N
    assert index_axes.is_whole(ALL, n)
    assert index_axes.is_whole(("slice", 0, 2 * n - n, None), n)
    assert not index_axes.is_whole(("slice", None, 2 * n, 2), n)
