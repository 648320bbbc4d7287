"""Maximum likelihood of a mixture of Gaussians, on data ten times as large as a worker's memory.

There is no E-step and no M-step: the log likelihood is written down, and SciPy's L-BFGS climbs
along its gradient. The logarithm of a sum over components stands inside the mean over rows, so
each block has its part of the value and of the gradient. Needs Dask and SciPy:
pip install 'tracejit[dask,scipy]'. Run: python examples/dask_gaussian_mixture.py
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

import tracejit as tj
import tracejit.dask as td

COMPONENTS, COLUMNS = 3, 8


def log_sum_exp(a, axis):
    top = tj.stop_gradient(np.max(a, axis=axis, keepdims=True))
    return np.log(np.sum(np.exp(a - top), axis=axis)) + np.squeeze(top, axis)


def unravel(flat):
    k, d = COMPONENTS, COLUMNS
    log_scale, mean = flat[k : k + k * d].reshape(k, d), flat[k + k * d :].reshape(k, d)
    return {"logit": flat[:k], "log_scale": log_scale, "mean": mean}


def ravel(p):
    return np.concatenate([p[name].ravel() for name in ("logit", "log_scale", "mean")])


def loss(flat, x):
    """Minus the mean log likelihood of the rows of `x`; densities by products of matrices."""
    p = unravel(flat)
    precision = np.exp(-2.0 * p["log_scale"])
    squares = (x * x) @ precision.T - 2.0 * (x @ (p["mean"] * precision).T)
    offset = np.sum(0.5 * p["mean"] ** 2 * precision + p["log_scale"], axis=1)
    log_density = -0.5 * squares - offset - 0.5 * COLUMNS * np.log(2.0 * np.pi)
    log_weight = p["logit"] - log_sum_exp(p["logit"], 0)
    return -np.mean(log_sum_exp(log_density + log_weight, 1))


def rows_of(numbers, table):
    return table[numbers]


def write(folder, rows, block, truth):
    """Write rows that are drawn from the mixture, a .npy file for each block."""
    rng = da.random.default_rng(0)
    component = rng.choice(COMPONENTS, size=rows, p=truth["weight"], chunks=block)
    noise = rng.normal(size=(rows, COLUMNS), chunks=(block, COLUMNS))
    mean, scale = (
        component.map_blocks(rows_of, table, new_axis=1, chunks=noise.chunks, dtype=float)
        for table in (truth["mean"], truth["scale"])
    )
    da.to_npy_stack(folder, mean + scale * noise)


def peak():
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(rows=30_000, block=4_000, **cluster):
    rng = np.random.default_rng(4)
    truth = {
        "weight": np.array([0.5, 0.3, 0.2]),
        "mean": rng.normal(0, 2, (COMPONENTS, COLUMNS)),
        "scale": rng.uniform(0.5, 1.5, (COMPONENTS, COLUMNS)),
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(dashboard_address=":0", threads_per_worker=1, **cluster) as workers,
        Client(workers) as client,
    ):
        write(folder, rows, block, truth)
        x = da.from_npy_stack(folder)
        guess = {
            "logit": np.zeros(COMPONENTS),
            "log_scale": np.zeros((COMPONENTS, COLUMNS)),
            "mean": truth["mean"] + rng.normal(0, 1, (COMPONENTS, COLUMNS)),
        }
        fit = td.value_and_grad(loss)
        start = time.perf_counter()
        result = minimize(fit, ravel(guess), args=(x,), jac=True, method="L-BFGS-B")
        seconds = (time.perf_counter() - start) / result.nfev
        peaks = client.run(peak)

    p = unravel(result.x)
    weight = np.exp(p["logit"] - log_sum_exp(p["logit"], 0))
    error = np.max(np.abs(p["mean"] - truth["mean"]))
    print(f"{rows:,} rows in {x.numblocks[0]} blocks, {x.nbytes / 1e6:,.0f} MB")
    print(f"{result.nit} iterations, {result.nfev} calls of {seconds:.2f} s")
    print("peak memory of the workers:", *(f"{one:.0f} MB" for one in peaks.values()))
    print(f"log likelihood {-result.fun:.4f}, weights {np.round(weight, 3)}, ", end="")
    print(f"largest error of a mean {error:.4f}")
    return result, weight, error


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        main(rows=63_000_000, block=100_000, n_workers=2, memory_limit="400MB")
    else:
        main(n_workers=2)
