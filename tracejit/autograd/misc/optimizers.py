"""Optimisers of autograd.misc: plain loops that take the gradient as a function of (x, step).

The parameters may be any container of arrays. `callback(x, step, gradient)` is called at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.autograd.misc.flatten import flatten


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Return an optimiser of vectors as one of containers of arrays.

    >>> halve = unflatten_optimizer(lambda grad, x, callback: x - 0.5 * grad(x, 0))
    >>> halve(lambda x, i: x, {"a": 4.0})
    {'a': np.float64(2.0)}
    """

    @functools.wraps(optimize)
    def optimized(
        grad: Callable[..., Any], x0: Any, callback: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        start, unflatten = flatten(x0)

        def slope(x: Any, step: int) -> Any:
            return flatten(grad(unflatten(x), step))[0]

        def told(x: Any, step: int, gradient: Any) -> None:
            callback(unflatten(x), step, unflatten(gradient))

        seen = None if callback is None else told
        return unflatten(optimize(slope, start, seen, *args, **kwargs))

    return optimized


@unflatten_optimizer
def sgd(
    grad: Callable[..., Any],
    x: Any,
    callback: Any = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Minimise by gradient descent with momentum.

    >>> abs(float(sgd(lambda x, i: x, 1.0))) < 0.01
    True
    """
    velocity = np.zeros(len(x))
    for step in range(num_iters):
        gradient = grad(x, step)
        if callback is not None:
            callback(x, step, gradient)
        velocity = mass * velocity - (1.0 - mass) * gradient
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Callable[..., Any],
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Minimise with steps divided by the running root mean square of the gradient.

    >>> abs(float(rmsprop(lambda x, i: x, 1.0))) < 0.1
    True
    """
    average = np.ones(len(x))
    for step in range(num_iters):
        gradient = grad(x, step)
        if callback is not None:
            callback(x, step, gradient)
        average = average * gamma + gradient**2 * (1 - gamma)
        x = x - step_size * gradient / (np.sqrt(average) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Callable[..., Any],
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Minimise by Adam: momentum, and steps divided by the root mean square of the gradient.

    >>> round(float(adam(lambda x, i: x, 1.0, step_size=0.1)), 1)
    0.0
    """
    mean, square = np.zeros(len(x)), np.zeros(len(x))
    for step in range(num_iters):
        gradient = grad(x, step)
        if callback is not None:
            callback(x, step, gradient)
        mean = (1 - b1) * gradient + b1 * mean
        square = (1 - b2) * gradient**2 + b2 * square
        mean_hat = mean / (1 - b1 ** (step + 1))
        square_hat = square / (1 - b2 ** (step + 1))
        x = x - step_size * mean_hat / (np.sqrt(square_hat) + eps)
    return x
