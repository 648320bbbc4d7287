"""`tracejit demo`: trains a classifier of handwritten digits, and shows the code made for it.

`step` is all that is compiled, once for the first value of the learning rate and once for every
other. Frames of this file count as the user's (`trace/source/places.py`), so the generated module
cites its lines.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

import tracejit as tj

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the demo needs scikit-learn: pip install 'tracejit[demo]'", name=error.name
    ) from error

HIDDEN = 64
BATCH = 32
EPOCHS = 100
RATE = 0.5
PENALTY = 2e-4
ACCURACY = 0.96
KERNELS = 2

Array = NDArray[Any]
Parameters = dict[str, Array]


def scores(p: Parameters, x: Array) -> Any:
    """Logits: a score of each image in the rows of `x` for each digit."""
    h = np.tanh(x @ p["w1"] + p["b1"])
    return h @ p["w2"] + p["b2"]


def loss(p: Parameters, x: Array, y: Array) -> Any:
    """Mean cross-entropy of one-hot labels `y`, and a penalty on large weights."""
    logits = scores(p, x)
    logits = logits - tj.stop_gradient(np.max(logits, axis=1, keepdims=True))
    log_total = np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    error = np.mean(np.sum(y * (log_total - logits), axis=1))
    return error + PENALTY * (np.sum(p["w1"] ** 2) + np.sum(p["w2"] ** 2))


@tj.function
def step(p: Parameters, x: Array, y: Array, rate: float) -> tuple[Any, Parameters]:
    """One step down the gradient: the loss before it, and the parameters after it."""
    value, slope = tj.value_and_grad(loss)(p, x, y)
    new = {}
    for name in p:
        new[name] = p[name] - rate * slope[name]
    return value, new


class Digits(NamedTuple):
    """Images as rows of 64 float32 in [0, 1], the digits they show, and the fifth held out."""

    x: Array
    digit: Array
    test_x: Array
    test_digit: Array


class Epoch(NamedTuple):
    """The record of an epoch: its mean loss, and steps and seconds since the beginning."""

    number: int
    loss: float
    steps: int
    seconds: float


class Trained(NamedTuple):
    """The outcome: parameters, share of right answers on the held-out images, and the effort."""

    parameters: Parameters
    accuracy: float
    steps_per_second: float
    seconds: float
    kernels: list[tj.Kernel]


def digits() -> Digits:
    """The 1797 images that come with scikit-learn, in an order that is always the same."""
    x, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, digit = np.float32(x[order] / 16), digit[order]
    held_out = len(x) // 5
    return Digits(x[held_out:], digit[held_out:], x[:held_out], digit[:held_out])


def start(rng: np.random.Generator) -> Parameters:
    """Random weights and zero biases, float32."""
    return {
        "w1": rng.normal(0, 1 / 8, (64, HIDDEN)).astype(np.float32),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": rng.normal(0, 1 / 8, (HIDDEN, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }


def epochs_of(data: Digits, p: Parameters, count: int, rng: np.random.Generator) -> Iterator[Epoch]:
    """Train `p` in place, batch by batch, with a rate that falls along half a cosine."""
    one_hot = np.eye(10, dtype=np.float32)[data.digit]
    batches = len(data.x) // BATCH
    steps, began = 0, time.perf_counter()
    for number in range(1, count + 1):
        total = 0.0
        for rows in rng.permutation(len(data.x))[: batches * BATCH].reshape(batches, BATCH):
            rate = RATE * (1 + math.cos(math.pi * steps / (count * batches))) / 2
            value, new = step(p, data.x[rows], one_hot[rows], rate)
            p.update(new)
            total += float(value)
            steps += 1
        yield Epoch(number, total / batches, steps, time.perf_counter() - began)


def train(
    data: Digits, epochs: int = EPOCHS, report: Callable[[Epoch], None] = lambda epoch: None
) -> Trained:
    """Train from the start, with the same numbers each time; `report` is told of every epoch."""
    rng = np.random.default_rng(1)
    p = start(rng)
    for epoch in epochs_of(data, p, epochs, rng):
        report(epoch)
    right = np.argmax(scores(p, data.test_x), axis=1) == data.test_digit
    speed = epoch.steps / epoch.seconds
    return Trained(p, float(np.mean(right)), speed, epoch.seconds, step.kernels)


def progress(epoch: Epoch, count: int, stream: TextIO) -> None:
    """Show how far training is: one bar that grows on a terminal, else about twenty lines."""
    figures = f"loss {epoch.loss:.4f}  {epoch.steps / epoch.seconds:6.0f} steps/s"
    place = f"epoch {epoch.number:{len(str(count))}}/{count}"
    if not stream.isatty():
        if epoch.number % math.ceil(count / 20) == 0 or epoch.number == count:
            stream.write(f"{place}  {figures}\n")
        return
    done = 30 * epoch.number // count
    end = "\n" if epoch.number == count else ""
    stream.write(f"\r{place} [{'#' * done}{'.' * (30 - done)}]  {figures}{end}")
    stream.flush()


def main(epochs: int = EPOCHS) -> int:
    """Run the demo; 0 where it keeps what it promises, 1 where accuracy or kernels fall short."""
    data = digits()
    print(f"training on {len(data.x)} handwritten digits, float32, batches of {BATCH}", flush=True)
    trained = train(data, epochs, lambda epoch: progress(epoch, epochs, sys.stderr))
    if not trained.kernels:
        print("tracejit demo: TRACEJIT_DISABLE=1 keeps it from making kernels", file=sys.stderr)
        return 1
    kernel = trained.kernels[-1]
    print(f"\n{kernel.source}")
    print("This module computed the loss, its gradient and the new parameters in every step.")
    print(f"path              {kernel.path or 'none: it is kept in memory'}")
    print(f"kernels made      {len(trained.kernels)}")
    print(f"steps per second  {trained.steps_per_second:.0f}, {trained.seconds:.2f} s in all")
    print(f"test accuracy     {trained.accuracy:.1%}")
    kinds = {str(array.dtype) for array in trained.parameters.values()}
    failures = []
    if trained.accuracy < ACCURACY:
        failures.append(f"accuracy is below {ACCURACY:.0%} after {epochs} epochs")
    if len(trained.kernels) > KERNELS:
        failures.append(f"more than {KERNELS} kernels were made")
    if kinds != {"float32"}:
        failures.append(f"parameters are {', '.join(sorted(kinds))}, not float32")
    for failure in failures:
        print(f"tracejit demo: {failure}", file=sys.stderr)
    return 1 if failures else 0
