"""Dask arrays among the arguments: rows, blocks, and what is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")

import tracejit.dask as td  # noqa: E402
from tracejit.dask.arguments import is_dask, split_of  # noqa: E402
from tracejit.support.errors import ArgumentError  # noqa: E402

X = np.arange(40.0).reshape(10, 4)


def test_rows_are_the_axis_in_blocks() -> None:
    split = split_of("f", {"x": da.from_array(X, chunks=(10, 2)), "w": da.ones(5, chunks=5)})
    assert split.axes == {"x": 1}
    assert split.chunks == (2, 2) and split.rows == 4
    assert split.whole == ("w",)


def test_arrays_of_one_block_have_their_rows_first() -> None:
    arrays = {
        "scale": da.from_array(np.array(2.0)),
        "x": da.from_array(X, chunks=-1),
        "y": da.ones(10, chunks=10),
        "w": da.ones(4, chunks=4),
    }
    split = split_of("f", arrays)
    assert split.axes == {"x": 0, "y": 0}
    assert split.chunks == (10,)
    assert split.whole == ("scale", "w")


def test_an_array_of_one_block_beside_others_is_whole() -> None:
    split = split_of("f", {"x": da.from_array(X, chunks=(5, 4)), "y": da.ones(10, chunks=10)})
    assert split.axes == {"x": 0} and split.whole == ("y",)


def unknown_rows() -> Any:
    x = da.from_array(X[:, 0], chunks=5)
    return x[x > 3]


REFUSED: dict[str, tuple[Any, str]] = {
    "two axes": (lambda: {"x": da.from_array(X, chunks=(5, 2))}, "split along the axes 0, 1"),
    "unknown rows": (lambda: {"x": unknown_rows()}, r"not known[\s\S]*x\.compute_chunk_sizes\(\)"),
    "masked": (lambda: {"x": da.ma.masked_array(da.ones(4, chunks=2))}, "are of MaskedArray"),
    "objects": (lambda: {"x": da.from_array(np.array(["a", "b"]), chunks=1)}, "has dtype"),
    "byte order": (lambda: {"x": da.ones(4, chunks=2, dtype=">f8")}, "has dtype >f8"),
    "no rows": (lambda: {"x": da.from_array(np.array(2.0))}, "no Dask array has rows"),
    "other rows": (
        lambda: {"x": da.ones(4, chunks=2), "y": da.ones(6, chunks=3)},
        "x has 4 rows, y has 6",
    ),
    "other blocks": (
        lambda: {"x": da.ones(4, chunks=2), "y": da.ones(4, chunks=(1, 3))},
        r"in different blocks[\s\S]*y\.rechunk\(\{0: x\.chunks\[0\]\}\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_row_of_blocks_is_refused(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(TypeError, match=words) as caught:
        split_of("loss", make())
    assert isinstance(caught.value, tj.TracejitError)
    assert str(caught.value).startswith("loss cannot be called on these Dask arrays")


def test_what_dask_advises_helps() -> None:
    x = unknown_rows().compute_chunk_sizes()
    assert split_of("f", {"x": x}).chunks == (4, 5)


def test_dask_arrays_are_known() -> None:
    assert is_dask(da.ones(3)) and not is_dask(np.ones(3)) and not is_dask(None)


def test_tensors_beside_dask_arrays_are_refused() -> None:
    weights = tj.constant(np.ones(2))
    with tj.GradientTape() as tape:
        tape.watch(weights)
        with pytest.raises(ArgumentError, match="w is a Tensor"):
            td.function(lambda w, x: np.sum(x @ w))(weights, da.ones((4, 2), chunks=(2, 2)))
