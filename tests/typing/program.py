"""A user's program, as checkers read it: a small model, fitted in three ways."""

from __future__ import annotations

from numpy.typing import NDArray

import tracejit as tj
import tracejit.numpy as np
from tests.typing.truth import assert_type

Vector = NDArray[np.float64]
Weights = dict[str, Vector]


@tj.function
def predict(weights: Weights, x: Vector) -> Vector:
    """The output of a network with one hidden layer."""
    hidden = np.tanh(x @ weights["w1"] + weights["b1"])
    output: Vector = hidden @ weights["w2"]
    return output


@tj.function(name="loss")
def loss(weights: Weights, x: Vector, y: Vector, penalty: float = 0.0) -> np.float64:
    residual = predict(weights, x) - y
    return np.sum(residual**2) + penalty * np.sum(weights["w1"] ** 2)


class Model:
    """Keeps its weights; its method is compiled."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.rate = tj.Variable(0.1, trainable=False, name="rate")

    @tj.function
    def energy(self, x: Vector, scale: float = 1.0) -> Vector:
        return scale * x**2

    def step(self, x: Vector, y: Vector) -> np.float64:
        value, slopes = tj.value_and_grad(loss)(self.weights, x, y, penalty=1e-3)
        assert_type(value, np.float64)
        assert_type(slopes, Weights)
        for name, slope in slopes.items():
            self.weights[name] = self.weights[name] - 0.01 * slope
        return value


def train() -> None:
    rng = tj.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)), rng.normal(size=8)
    model = Model({"w1": rng.normal(size=(3, 4)), "b1": np.zeros(4), "w2": rng.normal(size=4)})
    first, last = model.step(x, y), model.step(x, y)
    assert last < first
    assert_type(predict(model.weights, x), Vector)
    assert_type(model.energy(x), Vector)
    assert_type(str(model.energy.source), str)
    assert_type([kernel.name for kernel in loss.kernels], list[str])
    slopes, by_x = tj.grad(loss, argnums=(0, 1))(model.weights, x=x, y=y)
    assert_type(slopes, Weights)
    assert_type(by_x, Vector)
    with tj.GradientTape() as tape:
        output = model.rate * x
    assert_type(tape.gradient(output, model.rate), tj.Tensor | None)
