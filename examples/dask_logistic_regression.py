"""Logistic regression on data ten times as large as the memory of a worker, fitted by SciPy.

`loss` is plain NumPy, and nothing in it knows of blocks. `td.value_and_grad(loss)` reads the data
from the disk, a block at a time, and adds up the gradients of the blocks on a cluster; L-BFGS sees
a float and an array. What is the same in every call, the mean and standard deviation of each
column, is computed once, by `td.function`. Needs Dask and SciPy:
pip install 'tracejit[dask,scipy]'. Run: python examples/dask_logistic_regression.py
With `large` behind it, it writes 4 GB into a temporary folder, for workers of 400 MB.
"""

import resource
import sys
import tempfile
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from scipy.optimize import minimize

import tracejit.dask as td

COLUMNS = 20


def moments(x):
    return np.mean(x, axis=0), np.std(x, axis=0)


def loss(w, x, y, mean, std):
    """Mean of log(1 + exp(-margin)) for labels y of -1 and 1, and a penalty on large weights."""
    margin = y * ((x - mean) / std @ w[1:] + w[0])
    return np.mean(np.logaddexp(0.0, -margin)) + 1e-4 * np.sum(w[1:] ** 2)


def write(folder, rows, block, weights):
    """Write features and labels, a .npy file for each block."""
    rng = da.random.default_rng(0)
    z = rng.normal(size=(rows, COLUMNS), chunks=(block, COLUMNS))
    margin = z @ weights + rng.logistic(size=rows, chunks=block)
    da.to_npy_stack(f"{folder}/x", 5.0 + z * np.arange(1, COLUMNS + 1))
    da.to_npy_stack(f"{folder}/y", da.sign(margin))


def peak():
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(rows=40_000, block=3_000, **cluster):
    weights = np.random.default_rng(1).normal(0, 0.5, COLUMNS)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(dashboard_address=":0", threads_per_worker=1, **cluster) as workers,
        Client(workers) as client,
    ):
        write(folder, rows, block, weights)
        x, y = (da.from_npy_stack(f"{folder}/{name}") for name in "xy")
        mean, std = td.function(moments)(x)
        fit = td.value_and_grad(loss)
        start = time.perf_counter()
        result = minimize(
            fit, np.zeros(COLUMNS + 1), args=(x, y, mean, std), jac=True, method="L-BFGS-B"
        )
        seconds = (time.perf_counter() - start) / result.nfev
        peaks = client.run(peak)

    error = np.max(np.abs(result.x[1:] - weights))
    print(f"{rows:,} rows in {x.numblocks[0]} blocks, {(x.nbytes + y.nbytes) / 1e6:,.0f} MB")
    print(f"{result.nit} iterations, {result.nfev} calls of {seconds:.2f} s")
    print("peak memory of the workers:", *(f"{one:.0f} MB" for one in peaks.values()))
    print(f"loss {result.fun:.6f}, largest error of a weight {error:.4f}")
    return result, error


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        main(rows=25_000_000, block=50_000, n_workers=2, memory_limit="400MB")
    else:
        main(n_workers=2)
