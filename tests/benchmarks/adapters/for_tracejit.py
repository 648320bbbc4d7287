"""Workloads by tracejit: plain NumPy functions under its transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.benchmarks.workloads import Workload


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arguments that computes what the workload asks for."""
    loss, argnums = workload.make(np), workload.argnums
    if workload.kind == "hvp":

        @tj.function
        def product(w: Any, x: Any, y: Any, direction: Any) -> Any:
            return tj.hvp(lambda point: loss(point, x, y), w, direction)

        return lambda *given: (None, product(*given))
    if workload.kind == "vmap_grad":
        axes = tuple(None if number in argnums else 0 for number in range(len(arguments)))
        each = tj.vmap(tj.grad(loss, argnums=argnums), in_axes=axes)
        return lambda *given: (None, each(*given))
    return tj.value_and_grad(loss, argnums=argnums)
