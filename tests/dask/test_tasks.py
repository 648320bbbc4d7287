"""Tasks: what a worker does with a stage, and what it says of a block."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import ERRORS, fail

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")

import dask  # noqa: E402

import tracejit.dask as td  # noqa: E402
from tests.rows import each_row  # noqa: E402
from tracejit.dask import tasks  # noqa: E402

X = np.arange(40.0).reshape(10, 4)


def solved(a: Any) -> Any:
    return np.sum(np.linalg.inv(a))


def told(blocks: Any, dtype: Any = float, chunks: Any = ((2, 2), (3,))) -> Any:
    """A Dask array whose blocks are these, whatever Dask is told of them."""
    parts = [dask.delayed(block) for block in blocks]
    arrays = [
        da.from_delayed(part, (rows, *[sizes[0] for sizes in chunks[1:]]), dtype=dtype)
        for part, rows in zip(parts, chunks[0], strict=True)
    ]
    return da.concatenate(arrays)


def test_a_block_that_raises_is_named_with_the_line() -> None:
    singular = np.stack([np.eye(2), np.eye(2), np.zeros((2, 2)), np.eye(2)])
    summed = td.function(solved)
    with pytest.raises(RuntimeError, match="Singular matrix") as caught:
        summed(da.from_array(singular, chunks=(2, 2, 2)))
    text = str(caught.value)
    assert (
        "solved failed on block 1, rows 2 to 3: at solved:1  return np.sum(np.linalg.inv(a))"
        in text
    )
    assert "LinAlgError" in text and type(caught.value).__name__ == "BlockError"


def test_what_runs_once_and_raises_is_named_with_the_line() -> None:
    def fitted(x: Any) -> Any:
        return np.linalg.inv(x.T @ x)

    with pytest.raises(RuntimeError, match="Singular matrix") as caught:
        td.function(fitted)(da.ones((6, 2), chunks=(2, 2)))
    text = str(caught.value)
    assert "same for all blocks: at fitted:1  return np.linalg.inv(x.T @ x)" in text
    assert "x.blocks[number]" not in text


WRONG: dict[str, tuple[Any, str]] = {
    "dtype": (np.ones((2, 3), "f4"), r"x is float32 \(2, 3\) there, but Dask expects float64 \(2"),
    "rows": (np.ones((5, 3)), r"x is float64 \(5, 3\) there, but Dask expects float64 \(2, 3\)"),
    "columns": (np.ones((2, 4)), r"x is float64 \(2, 4\) there"),
    "masked": (np.ma.ones((2, 3)), "x is a MaskedArray there"),
    "list": ([[1.0] * 3] * 2, "x is a list there"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_block_that_is_not_what_dask_was_told_is_named(name: str) -> None:
    block, words = WRONG[name]
    x = told([np.ones((2, 3)), block])
    with pytest.raises(RuntimeError, match="failed on block 1, rows 2 to 3: " + words):
        td.function(lambda x: np.sum(x))(x)


def test_subclasses_that_are_arrays_are_taken() -> None:
    x = told([np.ones((2, 3)), np.ones((2, 3)).view(np.recarray)])
    assert td.function(lambda x: np.sum(x))(x) == 12.0


def test_a_kernel_is_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    load = tasks.load_sealed

    def counting(name: str, text: str, npz: Any) -> Any:
        loaded.append(name)
        return load(name, text, npz)

    monkeypatch.setattr(tasks, "load_sealed", counting)
    summed = td.function(lambda x: np.sum(np.cos(x * 1.2345)))
    x = da.from_array(X, chunks=(1, 4))
    with dask.config.set(scheduler="threads", num_workers=4):
        for _ in range(3):
            summed(x)
    assert len(loaded) == 1


def test_an_edited_kernel_is_not_run() -> None:
    call = td.function(lambda x: np.sum(x * 3.25))._prepared((da.from_array(X, chunks=(5, 4)),), {})
    kernel = call.program.stages[0].kernel
    text = kernel.source.replace("3.25", "4.25")
    assert text != kernel.source
    stage = tasks.StageTask("f", kernel.name, text, None, (), (), 1, ())
    with pytest.raises(ImportError, match="was changed after tracejit wrote it"):
        stage.run(None, ())


def test_few_kernels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_KERNELS", 2)
    monkeypatch.setattr(tasks, "_LOADED", type(tasks._LOADED)())
    x = da.from_array(X, chunks=(5, 4))
    for factor in (2.5, 3.5, 4.5, 5.5):
        td.function(lambda x, factor=factor: np.sum(x * factor))(x)
    assert len(tasks._LOADED) == 2


@each_row("row", ERRORS)
def test_errors_travel_between_processes(row: str) -> None:
    words: dict[str, object] = {}
    while True:  # a row names the words it needs
        try:
            error = fail(row, None, **words)
            break
        except KeyError as missing:
            words[missing.args[0]] = "something"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert again.row == row and dict(again.words) == dict(error.words)


def test_parts_are_combined_in_their_order() -> None:
    found = tasks.combine(("add", "maximum"), (1.0, 5.0, "split"), (2.0, 3.0, "split"))
    assert found == (3.0, 5.0)
    assert tasks.part((1, 2), 1) == 2 and tasks.parts((1, 2, 3), 2) == (1, 2)
    assert tasks.gathered(1, 2) == (1, 2)


def test_a_block_knows_its_place() -> None:
    assert str(tasks.Place(3, 30, 10)) == "block 3, rows 30 to 39"
    assert str(tasks.Place(3, 30, 0)) == "block 3"


def test_refusals_are_of_tracejit() -> None:
    assert issubclass(ERRORS["block"].error, tj.TracejitError)


def test_a_signal_handler_may_load_a_kernel_while_one_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load, inner = tasks.load_sealed, []
    x = da.from_array(X, chunks=(5, 4))

    def interrupted(*args: Any) -> Any:
        if not inner:
            inner.append(None)
            inner[:] = [summed(x)]
        return load(*args)

    summed = td.function(lambda x: np.sum(x * 1.75))
    monkeypatch.setattr(tasks, "load_sealed", interrupted)
    with dask.config.set(scheduler="synchronous"):
        assert summed(x) == inner[0] == np.sum(X * 1.75)
