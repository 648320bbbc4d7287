"""Workloads by the versions of an expert, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.by_hand import MAKERS
from tests.benchmarks.by_hand.machine import keep_freed_memory
from tests.benchmarks.workloads import Workload

keep_freed_memory()


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of such arguments that computes what the workload asks for."""
    maker = MAKERS.get(workload.make.__name__)
    if maker is None:
        raise NotImplementedError("nobody has written it by hand")
    return maker(*arguments)
