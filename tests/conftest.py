"""What every test needs: the op table, filled, and the helpers of tests/ops on the path."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import tracejit.ops  # noqa: F401  fills the tables of ops that recordings look into
from tracejit.autodiff.rules import RULES_FOR_NUMPY
from tracejit.trace.eager import EAGER

# A run of the suite tries the same programs everywhere; nightly runs ask for others themselves.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")

TABLES = Path(__file__).parent / "ops"

# No run reads what another has left, or leaves anything in the user's cache.
CACHE = Path(tempfile.mkdtemp(prefix="tracejit-tests.")).resolve()
os.environ["TRACEJIT_CACHE_DIR"] = str(CACHE)

# Kernels stay in memory, which is faster; tests of files ask for the fixture `files`.
os.environ["TRACEJIT_CACHE"] = "0"

# No fallback to Python hides a mistake of tracejit in a test; subprocesses inherit it.
os.environ["TRACEJIT_STRICT"] = "1"

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
if importlib.util.find_spec("dask") is None:
    collect_ignore_glob += ["benchmarks/dask_blocks.py", "messages/bad_inputs.py"]

# Their asserts tell what they compared, as those of the tests do.
for name in ("batched", "eager", "memory", "recorded"):
    pytest.register_assert_rewrite(f"tests.ops.properties.{name}")


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Generate the nightly tests, tens of thousands, only where they are not deselected."""
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())}
    by_day = "not nightly" in collector.config.getoption("markexpr")
    return [] if by_day and "nightly" in marks else None


def pytest_unconfigure() -> None:
    """Remove the kernels of this run."""
    shutil.rmtree(CACHE, ignore_errors=True)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are written to files, as without TRACEJIT_CACHE."""
    monkeypatch.delenv("TRACEJIT_CACHE", raising=False)


def pytest_runtest_teardown() -> None:
    """No test leaves a tape open."""
    assert EAGER.windows == ()


@pytest.fixture(autouse=True, scope="module")
def rules_of_one_module() -> Iterator[None]:
    """No recording reads what the rules of another module's tests read, and no collection of
    garbage walks what another module's tests have left."""
    gc.collect()
    gc.freeze()
    before = list(RULES_FOR_NUMPY)
    yield
    RULES_FOR_NUMPY[:] = before


def pytest_collection() -> None:
    """Collect no garbage meanwhile: tests are tens of thousands of objects that stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()
