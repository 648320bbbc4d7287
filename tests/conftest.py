"""What every test needs: the op table, filled, and the helpers of tests/ops on the path."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

import tracejit.ops  # noqa: F401  fills the tables of ops that recordings look into
from tracejit.autodiff.request.rules import RULES_FOR_NUMPY
from tracejit.runtime import blas
from tracejit.trace.recording.eager import EAGER

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
pytest.register_assert_rewrite("tests.support")


# A test may take so many seconds of processor time by day; what does not pays for it elsewhere.
BUDGET = 0.5
# Files whose tests may take longer: they look at processes, a cluster, or the whole package.
SLOW = {
    "test_typing.py", "test_graph.py", "test_pages.py", "test_architecture.py", "test_words.py",
    "test_axes_rules.py", "test_traits.py", "test_examples.py", "test_kernel.py",
}  # fmt: skip
# What is alive is frozen, at the start of a module, after so many seconds of tests.
BETWEEN_FREEZES = 6.0
# By day garbage is collected after so many objects: at Python's own 700, it takes a tenth of all.
RARELY = 5_000, 40, 20
# The process of xdist that this is.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
TOOK = "processor seconds"


def is_by_day(config: pytest.Config) -> bool:
    """Return whether `-m` leaves the nightly tests out."""
    return "not nightly" in config.getoption("markexpr").replace("nightly or not nightly", "")


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests.by_day, which test modules import, whether it is day."""
    by_day = is_by_day(config)
    os.environ["TESTS_BY_NIGHT"] = "0" if by_day else "1"
    if by_day:  # threads for matrices of a few rows wait for a processor that the other tests have
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(*RARELY)
    # A run of the suite tries the same programs everywhere; nightly runs ask for others themselves.
    settings.register_profile(
        "same",
        derandomize=True,
        deadline=None,
        database=None,
        max_examples=20 if by_day else 100,
    )
    settings.load_profile("same")


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Generate the nightly tests, tens of thousands, only where they are not deselected."""
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())}
    return [] if is_by_day(collector.config) and "nightly" in marks else None


def seconds() -> float:
    """The processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test and tell what became of it, and how long it took, in one report: what passes has
    three otherwise, and a process of xdist sends six messages for it."""
    names: dict[str, Any] = {"nodeid": item.nodeid, "location": item.location}
    if not WORKER:
        item.ihook.pytest_runtest_logstart(**names)
    begun = seconds()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    told = [one for one in reports if one.when == "call" or not one.passed] or reports[-1:]
    told[-1].user_properties.append((TOOK, seconds() - begun))
    for report in told:
        item.ihook.pytest_runtest_logreport(report=report)
    if not WORKER:
        item.ihook.pytest_runtest_logfinish(**names)
    return True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the tests that take longer than their budget by day."""
    over = [
        (took, report.nodeid)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, took in getattr(report, "user_properties", ())
        if name == TOOK
        and took > BUDGET
        and Path(report.nodeid.partition("::")[0]).name not in SLOW
    ]
    if over and is_by_day(config):
        terminalreporter.section(f"over the budget of {BUDGET} seconds a test: see tests/by_day.py")
        for took, name in sorted(over, reverse=True):
            terminalreporter.line(f"{took:5.2f} s  {name}")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Import test modules from the last to the first in every second process of xdist: what one
    has compiled is bytecode for the other, which comes from the other end."""
    report = yield
    if WORKER[-1:] in set("13579") and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Put the tests in one order in every process, those of the files of long tests first: the last
    ones keep no other process waiting."""
    if WORKER:
        items.sort(key=file_of)
    yield
    items.sort(key=lambda item: item.path.name not in SLOW)


def file_of(item: pytest.Item) -> tuple[Path, str]:
    """The file that a test stands in, and what it was collected as."""
    return item.path, type(item.getparent(pytest.File)).__name__


def pytest_unconfigure() -> None:
    """Remove the kernels of this run."""
    shutil.rmtree(CACHE, ignore_errors=True)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are written to files, as without TRACEJIT_CACHE."""
    monkeypatch.delenv("TRACEJIT_CACHE", raising=False)


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions run as they are written, without conversion."""
    monkeypatch.setenv("TRACEJIT_CONVERT", "0")


@pytest.fixture
def threads_of_blas() -> Iterator[None]:
    """NumPy's OpenBLAS, if it is one, has two threads, as where no test runs beside it."""
    library = blas.find()
    before = library.get_threads() if library else 0
    if library:
        library.set_threads(2)
        assert library.get_threads() == 2
    yield
    if library:
        library.set_threads(before)


def pytest_runtest_teardown() -> None:
    """No test leaves a tape open."""
    assert EAGER.windows == ()


frozen = [0.0]


@pytest.fixture(autouse=True, scope="module")
def rules_of_one_module() -> Iterator[None]:
    """No recording reads what the rules of another module's tests read, and no collection of
    garbage walks all that earlier modules' tests have left."""
    now = time.process_time()
    if now - frozen[-1] > BETWEEN_FREEZES:
        gc.collect()
        gc.freeze()
        frozen.append(now)
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
