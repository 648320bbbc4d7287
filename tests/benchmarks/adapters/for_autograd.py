"""Workloads by autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as anp

from tests.benchmarks.workloads import Workload


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arguments that computes what the workload asks for."""
    loss = workload.make(anp)
    if workload.kind == "hvp":

        def product(w: Any, x: Any, y: Any, direction: Any) -> Any:
            return None, autograd.hessian_vector_product(lambda v: loss(v, x, y))(w, direction)

        return product
    if workload.kind == "vmap_grad":
        raise NotImplementedError("autograd has no vmap")
    return autograd.value_and_grad(loss, workload.argnums)
