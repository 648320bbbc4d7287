"""Workloads by JAX: compiled, in the precision of the arguments, NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.benchmarks.workloads import Workload

jax.config.update("jax_enable_x64", True)
jax.block_until_ready(jnp.zeros(1))  # what the first use of the library costs is its import's


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arguments that computes what the workload asks for."""
    loss, argnums = workload.make(jnp), workload.argnums
    if workload.kind == "hvp":

        @jax.jit
        def product(w: Any, x: Any, y: Any, direction: Any) -> Any:
            slope = jax.grad(lambda point: loss(point, x, y))
            return jax.jvp(slope, (w,), (direction,))[1]

        return lambda *given: (None, np.asarray(product(*given)))
    if workload.kind == "vmap_grad":
        axes = tuple(None if number in argnums else 0 for number in range(len(arguments)))
        each = jax.jit(jax.vmap(jax.grad(loss, argnums=argnums), in_axes=axes))
        return lambda *given: (None, list(map(np.asarray, each(*given))))
    both = jax.jit(jax.value_and_grad(loss, argnums=argnums))

    def call(*given: Any) -> Any:
        value, slopes = both(*given)
        return np.asarray(value), list(map(np.asarray, slopes))

    return call
