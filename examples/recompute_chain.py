"""A deep chain of layers whose inner arrays are computed again instead of kept.

The gradient of a chain needs every array on the way. `recompute_grad` around a block keeps the
block's input only and runs the block once more when its gradient is due: the same numbers to the
last bit, much less memory, and a third more arithmetic.
Run: python examples/recompute_chain.py
"""

import tracemalloc
from time import perf_counter

import numpy as np

import tracejit as tj


def block(x, w):
    """Two layers with a gate and a residual connection: eight arrays of the size of x."""
    h = np.tanh(x @ w)
    gate = np.exp(-h * h)
    return x + gate * np.sin(h @ w.T)


def chain(block):
    """The loss of 16 blocks, each with its own weights."""

    def loss(weights, x):
        for w in weights:
            x = block(x, w)
        return np.mean(x * x)

    return loss


def measured(f, *args):
    """What f answers, its peak memory in MB, and its time."""
    f(*args)
    tracemalloc.start()
    answer = f(*args)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    start = perf_counter()
    f(*args)
    return answer, peak, perf_counter() - start


def main(depth=16, rows=1000, width=64):
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, width**-0.5, (width, width)) for _ in range(depth)]
    x = rng.normal(size=(rows, width))

    kept = measured(tj.value_and_grad(chain(block)), weights, x)
    again = measured(tj.value_and_grad(chain(tj.recompute_grad(block))), weights, x)
    np.testing.assert_allclose(again[0][0], kept[0][0], rtol=1e-14)
    for a, b in zip(kept[0][1], again[0][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    assert again[1] < 0.5 * kept[1]

    for name, (_, peak, seconds) in (("kept", kept), ("computed again", again)):
        print(f"{name:>15}: peak {peak:5.1f} MB, {1000 * seconds:.0f} ms")
    return kept, again


if __name__ == "__main__":
    main()
