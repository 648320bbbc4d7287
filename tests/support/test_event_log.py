"""Events of the making of kernels: what is logged, and who hears it."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python
from tracejit.support.event_log import is_heard, log


def test_nobody_listens_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_LOG", raising=False)
    assert not any(map(is_heard, ("compile", "guards", "fallback")))
    log("compile", lambda: pytest.fail("made a text for nobody"))


def test_a_kernel_is_logged_with_its_reason(caplog: Any) -> None:
    f = tj.function(lambda x: x * 2.0)
    with caplog.at_level(logging.INFO, logger="tracejit"):
        f(np.ones(3))
        f(np.ones(3, np.float32))
    made, failed, again = [(one.name, one.getMessage()) for one in caplog.records]
    assert made[0] == again[0] == "tracejit.compile" and failed[0] == "tracejit.guards"
    assert "made for the first call: x f8[3] (recorded in " in made[1]
    assert "generated, kept in memory in " in made[1]
    assert "test_event_log.py:" in made[1]
    assert "x had dtype float32; kernel 1 has float64" in failed[1]
    assert "because x had dtype float32; kernel 1 has float64" in again[1]


def test_a_kernel_from_the_cache_is_logged_as_such(tmp_path: Any, files: None, caplog: Any) -> None:
    with tj.config(cache_dir=tmp_path), caplog.at_level(logging.INFO, logger="tracejit.compile"):
        for _ in range(2):
            tj.function(abs_of)(np.ones(3))
    first, second = [one.getMessage() for one in caplog.records]
    assert ", generated in " in first and ", read from the cache in " in second


def abs_of(x: Any) -> Any:
    return np.abs(x)


def test_a_fallback_is_logged(caplog: Any) -> None:
    counts = [0]

    @tj.function
    def counted(x):
        counts[0] += 1
        return x

    with caplog.at_level(logging.INFO, logger="tracejit.fallback"):
        counted(np.ones(3))
    (record,) = caplog.records
    assert record.name == "tracejit.fallback"
    assert "without keeping a kernel because the function itself changes" in record.getMessage()
    assert "test_event_log.py:" in record.getMessage()


def test_the_setting_writes_to_stderr(capsys: Any) -> None:
    with tj.config(log="compile"):
        tj.function(lambda x: x + 3.0)(np.ones(3))
    tj.function(lambda x: x + 4.0)(np.ones(3))
    err = capsys.readouterr().err
    assert err.startswith("tracejit.compile: lambda_: ") and err.count("\n") == 1
    logger = logging.getLogger("tracejit.compile")
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)


def test_logging_is_not_imported_for_nothing() -> None:
    script = "import sys, numpy, tracejit as tj\n"
    script += "tj.function(lambda x: x)(numpy.ones(3))\n"
    script += "assert 'logging' not in sys.modules"
    python(script)
