"""Functions as tests run them: compiled, with their gradients, or on a tape."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.interpret import interpret, run
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.compiler.kernel import Kernel
from tracejit.trace.tensor.tensor import Tensor


def kernel_of(function: Callable[..., Any], *args: Any, argnums: Any = 0, **options: Any) -> Kernel:
    """The kernel of value and gradient for these arguments, which is in no file."""
    compiled = tj.function(function, cache=False, **options)
    return tj.value_and_grad(compiled, argnums).kernel(*args)


def taped(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, list[Any]]:
    """What a function answers on a tape, and its gradients by all arguments."""
    tensors = [tj.constant(each) for each in args]
    with tj.GradientTape() as tape:
        tape.watch(tensors)
        result = function(*tensors)
    return result, tape.gradient(result, tensors, **options)


def of_value_and_gradient(function: Callable[..., Any], x: Any) -> Any:
    """The gradient of f(x) plus its gradient."""
    with tj.GradientTape() as outer:
        outer.watch(x)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        both = tape.gradient(y, x) + y
    return outer.gradient(both, x)


def derivative(call: Callable[..., Any], x: Any, *directions: Any) -> Any:
    """The gradient of `call(x)`, then of its inner product with each direction in turn."""
    started = run(call, x)
    recording, (y,), (argument,) = started.recording, started.tensors, started.inputs
    for direction in (None, *directions):
        seed = np.ones_like(y.type.dtype.type(1)) if direction is None else direction
        (gradient,) = gradients([y], [argument], [Tensor(recording.lift(seed), recording)])
        if gradient is None:
            return np.zeros_like(x)
        y = gradient
    return interpret(started.finish(y), x)[-1]


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that a call, made once before, has allocated at once."""
    call()
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
