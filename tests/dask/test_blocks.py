"""Blocks: what is loaded within the task that reads it, and what is shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")

import dask  # noqa: E402

import tracejit.dask as td  # noqa: E402
from tracejit.dask.blocks import BlockTasks  # noqa: E402


class OnDisk:
    """An array that counts how often each of its parts is read."""

    shape, dtype, ndim = (12, 3), np.dtype(float), 2

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.data = np.arange(36.0).reshape(12, 3)

    def __getitem__(self, index: Any) -> Any:
        if index[0].stop:  # Dask reads nothing to learn the dtype
            self.reads.append(index[0].start)
        return self.data[index]


def spread(x: Any) -> Any:
    return np.sum((x - np.mean(x, axis=0)) ** 2)


def test_loads_are_part_of_the_task_that_reads_them() -> None:
    x, y = da.from_array(OnDisk(), chunks=(3, 3)) * 2 + 1, da.ones(12, chunks=3)
    found = BlockTasks({0: x, 1: y}, [0, 1])
    assert set(found._own) == {0, 1, 2, 3}
    left = found.tasks(0)
    assert [type(node).__name__ for node in left.values()] == ["DataNode"]  # the array itself


def test_each_stage_loads_a_block_once() -> None:
    disk = OnDisk()
    with dask.config.set(scheduler="sync"):
        assert td.function(spread)(da.from_array(disk, chunks=(3, 3))) == spread(disk.data)
    assert sorted(disk.reads) == sorted([0, 3, 6, 9] * 2)


def test_an_array_and_what_is_computed_of_it_are_loaded_together() -> None:
    disk = OnDisk()
    x = da.from_array(disk, chunks=(3, 3))
    with dask.config.set(scheduler="sync"):
        found = td.function(lambda x, y: np.sum(x.T * y))(x, x.cumsum(axis=1)[:, 2])
    assert found == np.sum(disk.data.T * disk.data.sum(axis=1))
    assert set(BlockTasks({0: x, 1: x[:, 0]}, [0, 1])._own) == {0, 1, 2, 3}


def test_what_blocks_share_is_computed_once_a_level() -> None:
    disk = OnDisk()
    raw = da.from_array(disk, chunks=(3, 3))
    x = raw - raw.mean(axis=0)
    found = BlockTasks({0: x}, [0])
    assert found.shared(0) == {} and found.shared(1)
    assert not set(found.shared(1).values()) & set(found.graph)
    with dask.config.set(scheduler="sync"):
        value = td.function(spread)(x)
    np.testing.assert_allclose(value, spread(disk.data), rtol=1e-14)
    assert sorted(disk.reads) == sorted([0, 3, 6, 9] * 2)


def test_an_array_passed_twice_is_one() -> None:
    x = da.from_array(OnDisk(), chunks=(3, 3))
    assert td.function(lambda a, b: np.sum(a * b))(x, x) == np.sum(np.arange(36.0) ** 2)


@pytest.mark.parametrize("active", [True, False])
def test_dask_may_be_told_not_to_fuse(active: bool) -> None:
    x = (da.from_array(OnDisk(), chunks=(3, 3)) + 1.0)[2:]
    with dask.config.set({"optimization.fuse.active": active, "scheduler": "sync"}):
        value = td.function(spread)(x)
    np.testing.assert_allclose(value, spread(np.arange(36.0).reshape(12, 3)[2:]), rtol=1e-14)


def test_shared_tasks_have_names_of_their_level() -> None:
    raw = da.ones((4, 2), chunks=(2, 2))
    x = raw - raw.sum()
    names = BlockTasks({0: x}, [0]).shared(2)
    assert all(str(new).count("-level-2") == 1 for new in names.values())
    assert len(set(names.values())) == len(names)
