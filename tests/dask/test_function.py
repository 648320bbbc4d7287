"""SplitFunction: calls as a user makes them, and what they return."""

from __future__ import annotations

import dataclasses
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")

import dask  # noqa: E402
from dask.delayed import Delayed  # noqa: E402

import tracejit.dask as td  # noqa: E402
from tracejit.support.errors import ArgumentError  # noqa: E402

RNG = np.random.default_rng(22)
X = RNG.normal(size=(97, 5))
Y = np.sign(RNG.normal(size=97))
W = RNG.normal(size=5)
BLOCKS = [(97,), (50, 47), (14,) * 6 + (13,), (1,) * 97, (0, 60, 0, 36, 1, 0)]


def loss(w: Any, x: Any, y: Any) -> Any:
    z = (x - np.mean(x, axis=0)) / np.sqrt(np.mean((x - np.mean(x, axis=0)) ** 2, axis=0))
    return np.mean(np.log1p(np.exp(-y * (z @ w)))) + 0.1 * np.sum(w**2)


def blocks(array: Any, rows: Any = 14, axis: int = 0) -> Any:
    return da.from_array(
        array, chunks={axis: rows, **{k: -1 for k in range(array.ndim) if k != axis}}
    )


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("rows", BLOCKS, ids=lambda rows: str(len(rows)))
def test_value_and_gradients_are_those_of_numpy(rows: tuple[int, ...]) -> None:
    value, (by_w, by_x) = td.value_and_grad(loss, (0, 1))(W, blocks(X, rows), blocks(Y, rows))
    wanted, (wanted_w, wanted_x) = tj.value_and_grad(loss, (0, 1))(W, X, Y)
    assert type(value) is np.float64 and type(by_w) is np.ndarray and isinstance(by_x, da.Array)
    assert by_x.chunks == (rows, (5,)) and by_x.dtype == np.float64
    same(value, wanted)
    same(by_w, wanted_w)
    same(by_x, wanted_x)


def test_rows_may_be_any_axis() -> None:
    centred = td.function(lambda x, y: (x - np.mean(x, axis=1, keepdims=True), np.sum(x @ y)))
    rest, total = centred(blocks(X.T, 14, 1), blocks(Y))
    same(rest, X.T - X.T.mean(axis=1, keepdims=True))
    same(total, np.sum(X.T @ Y))


def test_no_rows_are_empty_arrays() -> None:
    total, doubled = td.function(lambda x: (np.sum(x, axis=0), x * 2.0))(blocks(X[:0], (0,)))
    same(total, np.zeros(5))
    assert doubled.compute().shape == (0, 5)


def test_blocks_without_rows_have_no_largest_element() -> None:
    largest, rest = td.function(lambda x: (np.max(x, axis=0), np.exp(x - np.max(x, axis=0))))(
        blocks(X, (0, 60, 0, 37))
    )
    same(largest, X.max(axis=0))
    same(rest, np.exp(X - X.max(axis=0)))


@dataclasses.dataclass
class Data:
    x: Any
    y: Any


def test_arguments_in_containers() -> None:
    def fit(params: Any, data: Data) -> Any:
        return {"loss": np.mean((data.x @ params["w"] + params["b"] - data.y) ** 2)}["loss"]

    params = {"w": W, "b": 0.5}
    value, slope = td.value_and_grad(fit)(params, Data(blocks(X), blocks(Y)))
    wanted, wanted_slope = tj.value_and_grad(fit)(params, Data(X, Y))
    same(value, wanted)
    same(slope["w"], wanted_slope["w"])
    same(slope["b"], wanted_slope["b"])
    assert set(slope) == {"w", "b"}


@pytest.mark.parametrize("number", [2.0, np.float64(2.0), np.float32(2.0)])
def test_numbers_may_be_differentiated_by(number: Any) -> None:
    def scaled(a: Any, x: Any) -> Any:
        return np.sum((a * x) ** 2)

    slope = td.grad(scaled)
    for factor in (1, 3):
        found = slope(number * factor, blocks(X))
        wanted = tj.grad(scaled)(number * factor, X)
        assert type(found) is type(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if found.dtype == float else 1e-6)


def test_numpy_arguments_alone_are_for_tracejit() -> None:
    same(td.grad(loss)(W, X, Y), tj.grad(loss)(W, X, Y))


def test_what_is_captured_is_read_at_each_call() -> None:
    weights = W.copy()
    scale = tj.Variable(2.0)

    class Model:
        bias = np.ones(97)[:5].copy()

    model = Model()
    total = td.function(lambda x: np.sum(x @ weights * scale + np.sum(x * model.bias, axis=1)))
    x = blocks(X)

    def wanted() -> Any:
        return np.sum(X @ weights * float(scale.numpy()) + np.sum(X * model.bias, axis=1))

    same(total(x), wanted())
    weights *= 3.0
    scale.assign(5.0)
    same(total(x), wanted())
    model.bias = np.arange(5.0)
    same(total(x), wanted())


def test_one_program_serves_any_number_of_rows_and_blocks() -> None:
    slope = td.grad(loss)
    for rows in (97, 60, 31):
        for size in (7, 13):
            same(
                slope(W, blocks(X[:rows], size), blocks(Y[:rows], size)),
                tj.grad(loss)(W, X[:rows], Y[:rows]),
            )
    assert len(slope._known) == 1
    slope(W.astype("f4"), blocks(X), blocks(Y))
    assert len(slope._known) == 2


def test_few_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[td.SplitFunction.__module__], "MOST_PROGRAMS", 2)
    total = td.function(lambda x, power: np.sum(x) if power == "one" else np.sum(x * x))
    for _ in range(2):
        for columns in (2, 3, 4):
            same(total(blocks(X[:, :columns]), power="one"), np.sum(X[:, :columns]))
    assert len(total._known) == 2


def test_results_are_the_callers_own() -> None:
    both = td.function(lambda w, x: (w, w, np.sum(x, axis=0), x))
    x = blocks(X)
    first, second, total, back = both(W, x)
    assert first is not second and first is not W
    for array in (first, second, total):
        array += 1.0  # writable
    same(first, W + 1.0)
    same(second, W + 1.0)
    assert back is not x and isinstance(back, da.Array)
    back[:] = 0.0
    same(x, X)


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    reads = []

    class Disk:
        shape, dtype, ndim = X.shape, X.dtype, 2

        def __getitem__(self, index: Any) -> Any:
            reads.append(index)
            return X[index]

    x = da.from_array(Disk(), chunks=(14, 5), meta=X[:0])
    value, (by_w, by_x) = td.value_and_grad(loss, (0, 1), compute=False)(W, x, blocks(Y))
    assert not reads
    assert isinstance(value, Delayed) and isinstance(by_w, Delayed) and isinstance(by_x, da.Array)
    wanted, (wanted_w, wanted_x) = tj.value_and_grad(loss, (0, 1))(W, X, Y)
    found = dask.compute(value, by_w, by_x)
    for one, other in zip(found, (wanted, wanted_w, wanted_x), strict=True):
        same(one, other)


def test_lazy_results_are_computed_of_the_arguments_of_the_call() -> None:
    w = W.copy()
    lazy = td.function(lambda w, x: (np.sum(x @ w), x @ w), compute=False)(w, blocks(X))
    split = td.function(lambda w, x: x @ w)(w, blocks(X))
    w[:] = 0.0
    same(lazy[0].compute(), np.sum(X @ W))
    same(lazy[1], X @ W)
    same(split, X @ W)


def test_lazy_results_compose_with_other_work() -> None:
    x = blocks(X)
    lazy = td.function(lambda w, x: (np.sum(x @ w), np.tanh(x @ w)), compute=False)
    (one, z), (other, _) = lazy(W, x), lazy(2.0 * W, x)
    total = dask.delayed(lambda a, b: a + b)(one, other) + (z + x[:, 0]).sum()
    same(total.compute(), 3.0 * np.sum(X @ W) + np.sum(np.tanh(X @ W) + X[:, 0]))
    kept, again = dask.persist(z, one)
    same(kept, np.tanh(X @ W))
    same(again.compute(), np.sum(X @ W))


def test_results_may_be_arguments() -> None:
    hidden = td.function(lambda w, x: np.tanh(x @ w))(W, blocks(X))
    same(td.function(lambda h, y: np.sum(h * y))(hidden, blocks(Y)), np.sum(np.tanh(X @ W) * Y))


def test_whole_dask_arrays_are_arguments_and_results() -> None:
    w = da.from_array(W, chunks=5) * 2.0
    total, back = td.function(lambda w, x: (np.sum(x @ w), w))(w, blocks(X))
    same(total, np.sum(X @ W) * 2.0)
    assert type(back) is np.ndarray
    same(back, W * 2.0)


def test_several_threads_call_one_function() -> None:
    slope, wanted = td.grad(loss), tj.grad(loss)(W, X, Y)
    found: list[Any] = []

    def run(rows: int) -> None:
        found.extend(slope(W, blocks(X, rows), blocks(Y, rows)) for _ in range(3))

    threads = [threading.Thread(target=run, args=(rows,)) for rows in (97, 50, 14, 7, 33, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 18
    for one in found:
        same(one, wanted)


def test_constants_and_numbers_are_results() -> None:
    fixed = td.function(lambda x: (np.arange(3.0), 7, x.shape[0], "word", np.sum(x)))
    table, seven, rows, word, total = fixed(blocks(X))
    assert (seven, rows, word) == (7, 97, "word")
    same(table, np.arange(3.0))
    same(total, np.sum(X))


def test_the_user_meets_their_own_line() -> None:
    try:
        td.function(lambda x: np.sort(x, axis=0))(blocks(X))
    except tj.TracejitError as error:
        frames = traceback.extract_tb(error.__traceback__)
        text = str(error)
    assert [Path(frame.filename).name for frame in frames] == ["test_function.py", "function.py"]
    assert "td.function(lambda x: np.sort(x, axis=0))" in text


def test_stages_can_be_printed() -> None:
    program = td.value_and_grad(loss).stages(W, blocks(X), blocks(Y))
    assert "def forward(" in str(program) and "on every block" in str(program)


@pytest.mark.parametrize("make", [td.function, td.value_and_grad, td.grad])
def test_unknown_rows_are_refused_with_the_cure(make: Any) -> None:
    x = da.from_array(np.arange(8.0), chunks=4)
    some = x[x > 2.0]
    total = make(lambda w, x: np.sum(w * x["some"]))
    with pytest.raises(ArgumentError, match=r"not known[\s\S]*compute_chunk_sizes\(\)"):
        total(1.5, {"some": some})
    known = some.compute_chunk_sizes()
    total(1.5, {"some": known})
