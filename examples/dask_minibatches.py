"""Train a neural network on a cluster, with minibatches that are blocks of a Dask array.

A batch is a few blocks, chosen anew for each step: `x.blocks[numbers]`. Each worker computes the
gradient of its blocks, the sum comes back, and the parameters, a dict of arrays, travel with the
next batch. Dask reads a batch from the disk when it is needed. Needs Dask:
pip install 'tracejit[dask]'. Run: python examples/dask_minibatches.py
With `large` behind it, it writes 4 GB into a temporary folder, for workers of 400 MB.
"""

import resource
import sys
import tempfile
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import tracejit.dask as td

COLUMNS, HIDDEN = 16, 64


def predict(p, x):
    return np.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, y):
    return np.mean((predict(p, x) - y) ** 2)


def write(folder, rows, block):
    """Write inputs and noisy answers, a .npy file for each block."""
    rng = da.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, size=(rows, COLUMNS), chunks=(block, COLUMNS))
    noise = rng.normal(0, 0.1, size=rows, chunks=block)
    da.to_npy_stack(f"{folder}/x", x)
    da.to_npy_stack(f"{folder}/y", da.sin(3.0 * x[:, 0]) + x[:, 1] * x[:, 2] + noise)


def peak():
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(rows=40_000, block=1_000, steps=400, rate=0.01, **cluster):
    rng = np.random.default_rng(0)
    p = {
        "w1": rng.normal(0, 1 / np.sqrt(COLUMNS), (COLUMNS, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(0, 1 / np.sqrt(HIDDEN), HIDDEN),
        "b2": np.zeros(()),
    }
    mean = {name: np.zeros_like(p[name]) for name in p}  # of the gradient, and of its square
    square = {name: np.zeros_like(p[name]) for name in p}
    slope = td.value_and_grad(loss)
    history = []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(dashboard_address=":0", threads_per_worker=1, **cluster) as workers,
        Client(workers) as client,
    ):
        write(folder, rows, block)
        x, y = (da.from_npy_stack(f"{folder}/{name}") for name in "xy")
        start = time.perf_counter()
        for step in range(1, steps + 1):
            batch = rng.choice(x.numblocks[0], 2, replace=False)
            value, g = slope(p, x.blocks[batch], y.blocks[batch])
            history.append(float(value))
            for name in p:  # Adam
                mean[name] += 0.1 * (g[name] - mean[name])
                square[name] += 0.01 * (g[name] ** 2 - square[name])
                size = np.sqrt(square[name] / (1 - 0.99**step)) + 1e-8
                p[name] = p[name] - rate * mean[name] / (1 - 0.9**step) / size
        seconds = (time.perf_counter() - start) / steps
        peaks = client.run(peak)

    print(f"{rows:,} rows in {x.numblocks[0]} blocks, {(x.nbytes + y.nbytes) / 1e6:,.0f} MB")
    print(f"{steps} steps of {2 * block:,} rows, {1e3 * seconds:.0f} ms each")
    print("peak memory of the workers:", *(f"{one:.0f} MB" for one in peaks.values()))
    print(f"loss {history[0]:.3f} -> {np.mean(history[-20:]):.4f}; the noise alone is 0.0100")
    return history, p


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        main(rows=30_000_000, block=20_000, n_workers=2, memory_limit="400MB")
    else:
        main(n_workers=2)
