"""The Dask graph of a call: its tasks and their names, the same bits everywhere, and faults."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

import dask  # noqa: E402
from dask.diagnostics import Callback, ProgressBar  # noqa: E402
from dask.utils import key_split  # noqa: E402

import tracejit.dask as td  # noqa: E402
from tracejit.dask.blocks import BlockTasks  # noqa: E402
from tracejit.dask.graph import Tasks  # noqa: E402

RNG = np.random.default_rng(22)
X, Y, W = RNG.normal(size=(330, 5)), np.sign(RNG.normal(size=330)), RNG.normal(size=5)
# By day processes are forked from a server that has imported what each of them needs.
START = by_day("forkserver" if hasattr(os, "fork") else "spawn", "spawn")
SETTINGS = {
    "distributed.worker.multiprocessing-method": START,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.log1p(np.exp(-y * ((x - np.mean(x, axis=0)) @ w)))) + 0.1 * np.sum(w**2)


def arrays(rows: int = 10) -> tuple[Any, Any]:
    return da.from_array(X, chunks=(rows, 5)), da.from_array(Y, chunks=rows)


def tasks_of(call: Any) -> dict[Any, Any]:
    """The tasks that compute the values of a call."""
    tasks = Tasks(call, BlockTasks(call.dasks, call.axes))
    last = max(one.stage.level for one in call.program.stages)
    lazy = tasks.gathered([("head", last)])
    graph, keys = dict(lazy.__dask_graph__()), lazy.__dask_keys__()
    return dask.optimization.cull(graph, keys)[0]


class Names(Callback):
    """The names of the tasks that ran."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def _posttask(self, key: Any, *rest: Any) -> None:
        self.found.append(key)


def test_tasks_are_named_after_the_function_and_its_line() -> None:
    names = Names()
    with dask.config.set(scheduler="sync"), names:
        td.grad(loss)(W, *arrays())
    line = loss.__code__.co_firstlineno
    shown = {key_split(key) for key in names.found}
    assert {f"loss:{line}-map", f"loss:{line}-combine", f"loss:{line}-once"} <= shown
    assert all(name.startswith(f"loss:{line}") for name in shown)


def test_the_progress_bar_of_dask_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with dask.config.set(scheduler="threads"), ProgressBar(dt=0.01):
        td.grad(loss)(W, *arrays())
    assert "100% Completed" in capsys.readouterr().out


@pytest.mark.parametrize("count", [1, 7, 64, 330])
def test_tasks_per_block_are_bounded(count: int) -> None:
    rows = -(-330 // count)
    call = td.grad(loss)._prepared((W, *arrays(rows)), {})
    blocks = len(call.split.chunks)
    maps = [one for one in call.program.stages if one.stage.is_map]
    assert len(maps) == 2
    # A task of each stage for each block, a sixteenth to combine, and few that are there once.
    assert len(tasks_of(call)) <= blocks * len(maps) * (1 + 1 / 15) + 16
    assert len(tasks_of(call)) <= 6 * blocks + 16


def test_a_graph_grows_by_as_much_for_each_block() -> None:
    call = td.grad(loss)._prepared((W, *arrays(1)), {})
    few = td.grad(loss)._prepared((W, *arrays(2)), {})
    assert len(tasks_of(call)) - len(tasks_of(few)) == pytest.approx(165 * 2 * (1 + 1 / 15), abs=4)


def test_calls_share_no_names() -> None:
    slope = td.grad(loss, compute=False)
    one, other = slope(W, *arrays()), slope(W * 2.0, *arrays())
    mine = {key for key in dict(one.__dask_graph__()) if "loss" in str(key)}
    assert not mine & dict(other.__dask_graph__()).keys()
    first, second = dask.compute(one, other, scheduler="sync")
    np.testing.assert_allclose(first, tj.grad(loss)(W, X, Y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(second, tj.grad(loss)(W * 2.0, X, Y), rtol=1e-12, atol=1e-14)


def bits(found: Any) -> bytes:
    value, slope = found
    return value.tobytes() + slope.tobytes()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        dask.config.set(SETTINGS),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with ProcessPoolExecutor(1, multiprocessing.get_context(START)) as pool:
        yield pool


def test_the_bits_depend_on_the_blocks_alone(cluster: Any) -> None:
    both = td.value_and_grad(loss)
    found = []
    for scheduler in by_day(("sync", "threads"), ("sync", "threads", "threads", "processes")):
        with dask.config.set(scheduler=scheduler, num_workers=2):
            found.append(bits(both(W, *arrays())))
    with distributed.Client(cluster, set_as_default=True) as client:
        found.append(bits(both(W, *arrays())))
        cluster.scale(2)  # a worker that joins late
        client.wait_for_workers(2)
        found += [bits(both(W, *arrays())) for _ in range(2)]
        found.append(bits(both(W, *dask.persist(*arrays()))))
        assert left_on(client) == []
    assert len(set(found)) == 1


def left_on(client: Any) -> list[Any]:
    """The keys that a scheduler still knows after a while."""
    for _ in range(100):
        keys = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        if not keys:
            return []
        time.sleep(0.05)
    return keys


def loaded_in_worker() -> int:
    """The kernels that were imported in this process."""
    from tracejit.dask import tasks

    return len(tasks._LOADED)


def test_a_worker_imports_a_kernel_once(cluster: Any) -> None:
    with distributed.Client(cluster) as client:
        summed = td.function(lambda x: np.sum(np.cos(x * 1.2345)))
        before = client.run(loaded_in_worker)
        for _ in range(3):
            summed(arrays()[0])
        after = client.run(loaded_in_worker)
    assert all(after[worker] - before[worker] <= 1 for worker in before)
    assert any(after[worker] - before[worker] == 1 for worker in before)


@pytest.mark.parametrize("scheduler", ["processes", "distributed"])
def test_errors_of_other_processes_are_told_as_here(
    scheduler: str, cluster: Any, processes: Any
) -> None:
    inverted = td.function(lambda a: np.sum(np.linalg.inv(a)))
    pool = processes if scheduler == "processes" else None
    singular = da.from_array(np.stack([np.eye(2), np.zeros((2, 2))]), chunks=(1, 2, 2))
    with distributed.Client(cluster, set_as_default=scheduler == "distributed"):
        pool = {"pool": processes} if scheduler == "processes" else {}
        with (
            dask.config.set(scheduler=scheduler, **pool),
            pytest.raises(tj.TracejitError) as caught,
        ):
            inverted(singular)
    assert type(caught.value).__name__ == "BlockError"
    assert "failed on block 1, rows 1 to 1: at " in str(caught.value)
    assert "LinAlgError: Singular matrix" in str(caught.value)


def slow(block: Any) -> Any:
    time.sleep(0.01)
    return block


def run_and_kill(wait: float) -> bytes:
    """The bits of a call during which one of two workers is killed, which leaves nothing."""
    x, y = arrays()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as workers,
        distributed.Client(workers) as client,
    ):
        nannies = list(workers.workers.values())
        pids = [nanny.pid for nanny in nannies]
        killer = threading.Timer(wait, os.kill, (pids[0], 9))
        killer.start()
        found = bits(td.value_and_grad(loss)(W, x.map_blocks(slow, dtype=float), y))
        killer.join()
        assert left_on(client) == []
        pids += [nanny.pid for nanny in nannies if nanny.pid is not None]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    return found


@pytest.mark.stress
def test_killed_workers_change_no_bit_and_leave_nothing(tmp_path: Path) -> None:
    with dask.config.set(scheduler="sync"):
        wanted = bits(td.value_and_grad(loss)(W, *arrays()))
    choose = random.Random(22)
    with dask.config.set({**SETTINGS, "temporary-directory": str(tmp_path)}):
        for _ in range(30):
            assert run_and_kill(choose.uniform(0.0, 0.5)) == wanted
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and one.suffix != ".lock"]


def npy_block(file: str, columns: int, block_info: Any = None) -> Any:
    start, stop = block_info[None]["array-location"][0]
    return np.load(file, mmap_mode="r")[start:stop]


def on_disk(kind: str, folder: Path) -> Any:
    """The rows X on disk as a Dask array."""
    if kind == "npy":
        np.save(folder / "x.npy", X)
        chunks = da.ones(X.shape, chunks=(33, 5)).chunks
        return da.map_blocks(npy_block, str(folder / "x.npy"), 5, chunks=chunks, dtype=float)
    if kind == "zarr":
        zarr = pytest.importorskip("zarr", reason="zarr is not installed")
        array = zarr.open(
            str(folder / "x.zarr"), mode="w", shape=X.shape, chunks=(33, 5), dtype="f8"
        )
        array[:] = X
        return da.from_zarr(str(folder / "x.zarr"))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe is not installed")
    for part in range(10):
        frame = pandas.DataFrame(X[part * 33 : part * 33 + 33], columns=list("abcde"))
        frame.to_parquet(folder / f"part.{part}.parquet")
    return dd.read_parquet(folder).to_dask_array(lengths=True)


@pytest.mark.parametrize("kind", by_day(["npy"], ["npy", "zarr", "parquet"]))
def test_arrays_on_disk(kind: str, cluster: Any, processes: Any, tmp_path: Path) -> None:
    x, y = on_disk(kind, tmp_path), da.from_array(Y, chunks=33)
    both = td.value_and_grad(loss)
    found = []
    for settings in (
        {"scheduler": "sync"},
        {"scheduler": "threads"},
        {"scheduler": "processes", "pool": processes},
    ):
        with dask.config.set(settings):
            found.append(both(W, x, y))
    with distributed.Client(cluster, set_as_default=True):
        found.append(both(W, x, y))
    assert len(set(map(bits, found))) == 1
    value, slope = found[0]
    wanted, wanted_slope = tj.value_and_grad(loss)(W, X, Y)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-12, atol=1e-14)
