"""Value and gradient of functions of data in rows: in blocks, however many, what NumPy says."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tests.sharding.statistics  # noqa: F401  fills the table
from tests.by_day import by_day, some_by_day
from tests.sharding.driver import SplitProgram, block_sizes, differences, whole
from tests.sharding.functions import FUNCTIONS

ROWS = 131


@functools.cache
def program(name: str) -> SplitProgram:
    """The program of a function, one for all numbers of blocks."""
    case = FUNCTIONS[name]
    return SplitProgram(case.differentiated(), case.arguments(ROWS))


@functools.cache
def expected(name: str) -> Any:
    """The results on whole arrays."""
    case = FUNCTIONS[name]
    return case.differentiated()(*whole(case.arguments(ROWS)))


@pytest.mark.parametrize("name", some_by_day(FUNCTIONS, 2))
def test_blocks_give_what_the_whole_gives(name: str) -> None:
    for blocks in by_day((7,), (1, 2, 7, 64, ROWS)):
        with np.errstate(all="ignore"):
            found = program(name).run(block_sizes(ROWS, blocks))
        assert list(differences(found, expected(name), 1e-12)) == [], f"{blocks} blocks"
