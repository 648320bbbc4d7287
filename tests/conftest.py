"""What every test needs: the op table, filled, and the helpers of tests/ops on the path."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import tracejit.ops  # noqa: F401  fills the tables of ops that recordings look into
from tests.fallbacks import watched
from tracejit.trace.eager import EAGER

# A run of the suite tries the same programs everywhere; nightly runs ask for others themselves.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")

TABLES = Path(__file__).parent / "ops"

# The sample tables say `from table import Sample`; tests/ops/test_table.py imports them, not
# pytest.
sys.path.insert(0, str(TABLES))
collect_ignore_glob = [
    "ops/samples_*.py",
    "ops/table.py",
    "*jax_driver.py",
    "*marker_programs_by_tensorflow.py",
    "benchmarks/adapters/for_*.py",
]


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels stay in memory."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


@pytest.fixture(autouse=True)
def no_open_tape() -> Iterator[None]:
    """No test leaves a tape open."""
    yield
    assert EAGER.windows == ()


# Where what kernels compute is tested, and not what becomes of their errors.
WATCHED = frozenset(
    """test_aliasing_attacks test_function test_idioms test_improve test_kernel test_optimisations
    test_programs test_slices test_tiles""".split()
)


@pytest.fixture(autouse=True)
def no_hidden_error(request: pytest.FixtureRequest) -> Iterator[None]:
    """No kernel raises where Python does not, in the modules that are watched."""
    if request.node.path.stem not in WATCHED:
        yield
        return
    with watched() as hidden:
        yield
    if hidden:
        pytest.fail(f"a kernel raised where Python does not:\n{hidden[0]}", pytrace=False)


def pytest_collection_finish() -> None:
    """Leave the tests themselves, tens of thousands, out of every collection of garbage."""
    gc.collect()
    gc.freeze()
