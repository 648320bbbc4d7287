"""Calls that checkers report, each on a line that ends in `# wrong`, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import tracejit as tj
import tracejit.numpy as tnp

Vector = NDArray[np.float64]


@tj.function
def scalar(w: Vector, k: float = 2.0) -> np.float64:
    return np.sum(w) * k


class Model:
    @tj.function
    def energy(self, w: Vector) -> np.float64:
        return np.sum(w)


def never_called(w: Vector) -> None:
    scalar("text")  # wrong
    scalar(w, k="text")  # wrong
    scalar()  # wrong
    scalar(w, other=2.0)  # wrong
    Model().energy("text")  # wrong
    tj.grad(scalar)("text")  # wrong
    tj.grad(scalar)(w, other=2.0)  # wrong
    tj.grad(scalar)(w).append(1.0)  # wrong
    tj.grad(3)  # wrong
    tj.grad(lambda: 1.0)  # wrong
    tj.grad(scalar, argnums="w")  # wrong
    tj.value_and_grad(scalar)(w)[1].keys()  # wrong
    tj.jacobian(scalar)()  # wrong
    tj.hessian(scalar, mode="fwd")  # wrong
    tj.vjp(scalar.python, "text")  # wrong
    tj.cond(True, scalar.python, scalar.python, "text")  # wrong
    tj.function(exakt=True)  # wrong
    tj.function(threads="many")  # wrong
    tj.Variable(object())  # wrong
    tj.constant(1.0).sum(axis="rows")  # wrong
    tj.constant(1.0).sume()  # wrong
    with tj.GradientTape() as tape:
        y = tj.constant(1.0)
    tape.gradient(y, y).numpy()  # wrong
    tape.gradient(y, y, unconnected_gradients="zeros")  # wrong
    tj.random.default_rng(0).norml()  # wrong
    tnp.zeroes(3)  # wrong
    tnp.zeros("text")  # wrong
