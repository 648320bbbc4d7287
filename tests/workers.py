"""Functions, methods and transforms that tests send to worker processes, which import them here."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import tracejit as tj


def plain(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


@tj.function
def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


@tj.function(name="scaled", exact=True)
def scaled(x: Any) -> Any:
    return x * 2.0


@tj.function
@tj.custom_gradient
def tripled(x: Any) -> Any:
    return x * 2.0, lambda dy: 3.0 * dy


def total(x: Any) -> Any:
    return np.sum(tripled(x))


slope = tj.value_and_grad(loss)
hessian = tj.hessian(plain)


class Model:
    """Weights, with functions of all kinds."""

    def __init__(self) -> None:
        self.weights = np.ones(3)
        self.step = tj.function(self.plain_step)

    @tj.function
    def loss(self, x: Any) -> Any:
        return np.sum(self.weights * x)

    def plain_step(self, x: Any) -> Any:
        return x + self.weights

    @staticmethod
    @tj.function
    def doubled(x: Any) -> Any:
        return x * 2.0

    @classmethod
    @tj.function
    def named(cls, x: Any) -> Any:
        return x * len(cls.__name__)


def applied(f: Any, *args: Any) -> Any:
    """f(*args), in the process that runs this."""
    return f(*args)


def forward(kernel: Any, *args: Any) -> Any:
    """What a kernel computes."""
    return kernel.forward(*args)


def traced(f: Any, *args: Any) -> tuple[int, int]:
    """The process, and how often f was recorded there after a call."""
    f(*args)
    return os.getpid(), f.tracing_count
