"""Random functions of data in rows: what is not refused is what NumPy computes."""

from __future__ import annotations

import pytest

from tests.by_day import by_day
from tests.sharding.random_programs import wrongs


@pytest.mark.parametrize("seed", range(by_day(5, 60)))
def test_blocks_compute_what_the_whole_computes(seed: int) -> None:
    assert [str(one) for one in wrongs(seed)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1000, 6000))
def test_more_of_them(seed: int) -> None:
    assert [str(one) for one in wrongs(seed)] == []
