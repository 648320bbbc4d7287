"""Random programs: sparse Jacobians and Hessians have what dense ones have.

9 programs in every run, 2,000 with `-m nightly`. A program that fails is printed as Python.
"""

from __future__ import annotations

import pytest

from tests.random_jacobians import differs, text_of


@pytest.fixture(autouse=True)
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of random programs are not kept."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


@pytest.mark.parametrize("seed", (0, 1, 3, 4, 5, 6, 7, 8, 10))
def test_random_programs(seed: int) -> None:
    assert differs(seed) == "", text_of(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_nightly_random_programs(first: int) -> None:
    problems = {seed: differs(seed) for seed in range(first, first + 100)}
    found = {seed: problem for seed, problem in problems.items() if problem}
    assert not found, (found, *map(text_of, found))
