"""The axes of indexing: what whole slices keep, arrays bring, and parts mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.program import Program
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import ArrayType
from tracejit.ops.base.axes import axis_rule
from tracejit.ops.base.op import OPS
from tracejit.ops.indexing import index_axes

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


def by_rows(name: str, start: int = 0, **params: Any) -> Any:
    """The formula of an op at the numbers of the rows, where these are recorded as such."""

    def call(x: Any, labels: Any) -> Any:
        numbers = {"start": start, "stop": 3, "dtype": INT}
        if type(x) is np.ndarray:
            rows = np.arange(start, 3)
            return OPS[name].evaluate(x, rows, labels, index=("{1}", "{2}"), **params)
        rows = x.__tracejit_record__(OPS["arange"], (), numbers)
        formula: Any = OPS[name].formula
        return formula(x, rows, labels, index=("{1}", "{2}"), **params)

    return call


@pytest.mark.parametrize(("name", "shape"), [("take_at", (3, 4)), ("take_at", (3, 4, 2)),
    ("put_at", (3,)), ("add_at", (3, 2))])  # fmt: skip
def test_an_element_of_each_row_is_taken_along_the_other_axis(name: str, shape: Any) -> None:
    params = {"unique": True} if name == "take_at" else {"shape": (3, 4, *shape[1:])}
    x, labels = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), np.array([2, -1, 0])
    program = Program(by_rows(name, **params), (x, labels), 0)
    np.testing.assert_array_equal(program.value()[0], program.expected[0][0])
    assert {"take_along_axis", "add_along_axis"} & {
        node.op.name for node in program.recorded[0].nodes
    }


def test_other_places_in_rows_have_no_formula() -> None:
    x, labels = np.ones((3, 4)), np.array([2, 1])
    program = Program(by_rows("take_at", start=1, unique=True), (x, labels), 0)
    assert program.recorded[1] == [NotImplemented]
    formula: Any = OPS["take_at"].formula
    assert formula(x, labels, labels, index=("{1}", "{2}"), unique=True) is NotImplemented


def test_a_slice_is_whole_by_its_bounds() -> None:
    (n,) = N
    assert index_axes.is_whole(ALL, n)
    assert index_axes.is_whole(("slice", 0, 2 * n - n, None), n)
    assert not index_axes.is_whole(("slice", None, 2 * n, 2), n)
