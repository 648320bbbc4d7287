"""Workloads by TensorFlow's NumPy under tf.function, compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from tests.benchmarks.workloads import Workload

tnp.experimental_enable_numpy_behavior()


class Algebra:
    """What of numpy.linalg TensorFlow has under other names."""

    cholesky = staticmethod(tf.linalg.cholesky)
    slogdet = staticmethod(tf.linalg.slogdet)

    @staticmethod
    def solve(a: Any, b: Any) -> Any:
        """The solution for a matrix or a vector."""
        return tf.linalg.solve(a, b[:, None])[:, 0] if b.ndim == 1 else tf.linalg.solve(a, b)


class Namespace:
    """tensorflow.experimental.numpy and linear algebra."""

    linalg = Algebra

    def __getattr__(self, name: str) -> Any:
        return getattr(tnp, name)


def compiled(workload: Workload, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of the arguments that computes what the workload asks for."""
    loss, argnums = workload.make(Namespace()), workload.argnums
    if workload.kind != "value_and_grad":
        raise NotImplementedError("not written for TensorFlow")

    @tf.function(jit_compile=True)
    def both(*given: Any) -> Any:
        with tf.GradientTape() as tape:
            moving = [given[number] for number in argnums]
            tape.watch(moving)
            value = loss(*given)
        return value, tape.gradient(value, moving)

    def call(*given: Any) -> Any:
        value, slopes = both(*map(tf.convert_to_tensor, given))
        return value.numpy(), [tf.convert_to_tensor(slope).numpy() for slope in slopes]

    return call
