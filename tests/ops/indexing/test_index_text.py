"""Gathering and adding up rows: every spelling computes NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row

TABLES = {
    "few columns": ((40, 3), (500,)),
    "many columns": ((40, 20), (100,)),
    "blocks": ((10, 3, 5), (70,)),
    "batches of rows": ((30, 4), (20, 9)),
    "few rows": ((30, 4), (5,)),
    "one column": ((30, 1), (900,)),
    "numbers": ((30,), (900,)),
}
KINDS = ["int8", "int32", "int64", "uint8", "uint64"]


def spread(shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers of many sizes, infinities and zeros of both signs."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-30, 30, shape)
    special = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0], size=shape)
    return np.where(rng.random(shape) < 0.02, special, x).astype(dtype)


def weighted(x: Any, places: Any, weights: Any) -> Any:
    """Some rows of a table."""
    return np.sum(x[places] * weights)


@each_row("kind", KINDS)
@each_row("table", TABLES)
@each_row("dtype", ["f4", "f8"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_have_the_bits_of_numpy(table: str, kind: str, dtype: str) -> None:
    """The gathered rows, and the sums of cotangents by row."""
    shape, count = TABLES[table]
    rng = np.random.default_rng(5)
    low = 0 if kind.startswith("u") else -shape[0]
    places = rng.integers(low, shape[0], count).astype(kind)
    x, weights = spread(shape, dtype), spread((*count, *shape[1:]), dtype)
    gathered = tj.function(lambda x, places: x[places])
    np.testing.assert_array_equal(gathered(x, places), x[places])
    assert gathered(x, places).dtype == x.dtype
    bar = tj.grad(tj.function(weighted))(x, places, weights)
    expected = np.zeros(shape, dtype)
    np.add.at(expected, places, weights)
    np.testing.assert_array_equal(bar, expected)
    assert bar.dtype == x.dtype


def test_rows_outside_raise() -> None:
    """A row that a table has not raises what NumPy raises, also where only the sums are asked."""
    x, weights = np.ones((10, 3)), np.ones((400, 3))
    for places in (np.full(400, 10), np.full(400, -11)):
        with pytest.raises(IndexError, match="out of bounds"):
            tj.grad(tj.function(weighted))(x, places, weights)


def test_spellings() -> None:
    """`take` for many rows, columns one by one, an array made flat for more of them."""
    places = np.arange(400) % 10

    def source(columns: int) -> str:
        f = tj.value_and_grad(tj.function(weighted))
        arguments = np.ones((10, columns)), places, np.ones((400, columns))
        f(*arguments)
        return str(f.kernel(*arguments).source)

    assert "x.take(places, axis=0)" in source(3)
    assert "    for column in range(3):\n        add.at(x_bar[:, column], places, " in source(3)
    assert (
        "add.at(x_bar.reshape(-1), (places[..., None] * 20 + arange(20)).reshape(-1), "
        in " ".join(source(20).split()).replace("( ", "(")
    )


def test_few_rows_of_a_large_table_are_not_taken() -> None:
    """`take` would copy a table that is not contiguous."""
    f = tj.function(lambda x, places: x[places])
    x, places = np.ones((1000, 3)), np.arange(5)
    f(x, places)
    assert "x[places]" in f.kernel(x, places).source


def test_tables_in_any_order() -> None:
    """Transposed tables and indices, and views with steps."""
    f = tj.value_and_grad(tj.function(lambda x, places: np.sum(np.sin(x[places]))))
    wide = np.random.default_rng(1).normal(size=(3, 40))
    places = (np.arange(600) % 20).reshape(20, 30).T
    for x in (wide.T, wide.T[::2], np.asfortranarray(wide.T)):
        value, bar = f(x, places)
        expected = np.zeros(x.shape)
        np.add.at(expected, places, np.cos(x[places]))
        np.testing.assert_allclose(value, np.sum(np.sin(x[places])), rtol=1e-12)
        np.testing.assert_allclose(bar, expected, rtol=1e-14)


PARTS: dict[str, tuple[Any, Any, str]] = {
    "one column": (lambda i: (i, 4), (600,), "add.at(y[:, 4], places, values)"),
    "the last column": (lambda i: (i, -1), (600,), "add.at(y[:, -1], places, values)"),
    "one row": (lambda i: (2, i), (600,), "add.at(y[2, :], places, values)"),
    "some columns": (lambda i: (i, slice(1, 4)), (600, 3), "for column in range(1, 4):"),
    "the last columns": (lambda i: (i, slice(-2, None)), (600, 2), "for column in range(4, 6):"),
    "all columns": (lambda i: i, (600, 6), "for column in range(6):"),
    "a row for all": (lambda i: (i, slice(1, 4)), (3,), "add.at(y, (places, slice(1, 4)), values)"),
    "each other column": (lambda i: (i, slice(0, 6, 2)), (600, 3), "slice(0, 6, 2)), values)"),
    "few elements": (lambda i: (i[:9], slice(1, 4)), (9, 3), "slice(1, 4)), values)"),
}


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("index, shape, text", PARTS.values(), ids=PARTS)
def test_parts_of_rows_have_the_bits_of_numpy(
    index: Any, shape: tuple[int, ...], text: str, ufunc: Any
) -> None:
    places = np.random.default_rng(0).integers(0, 6, 600)
    x, values = spread((6, 6), "f8"), spread(shape, "f8")

    def f(x: Any, places: Any, values: Any) -> Any:
        y = x.copy()
        ufunc.at(y, index(places), values)
        return y

    with np.errstate(all="ignore"):
        found = tj.function(f)
        np.testing.assert_array_equal(found(x, places, values), f(x, places, values))
        np.testing.assert_array_equal(found(x.T, places, values), f(x.T, places, values))
    assert text.replace("add.at", f"{ufunc.__name__}.at") in found.kernels[0].source


def test_cotangents_of_columns_are_added_up_in_one_array() -> None:
    def f(x: Any, places: Any) -> Any:
        return np.sum(np.sin(x[places, 1]) * x[places, 0] + np.sum(np.cos(x[places, 2:4]), axis=1))

    places = np.random.default_rng(0).integers(0, 6, 600)
    x = np.random.default_rng(1).normal(size=(6, 5))
    slope = tj.grad(f)
    slope(x, places)
    tj.check_grads(lambda x: f(x, places), x)
    backward = slope.source.split("def backward")[1].split("\ndef ")[0]
    assert backward.count("zeros(") == 1
