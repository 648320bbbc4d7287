"""Programs for tests/process_replay.py that no other table has: loops of 3 to 100 steps, vmaps,
Jacobians, eager tapes, exports, and functions with `exact=True`.

They use the public names of tracejit and NumPy alone: the replay runs this file in the tree of
another commit, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
import tracejit.numpy as tnp

Program = Callable[..., Any]
Arguments = tuple[Any, ...]
Generates = Callable[[], object]


def data(*shape: int) -> np.ndarray:
    """Small numbers, always the same for a shape."""
    count = int(np.prod(shape))
    return (0.4 * np.sin(1.0 + np.arange(count))).reshape(shape)


# Loops. Each takes its first argument as what is differentiated, and the number of steps last.


def recurrence(w, u, xs, n):
    h = np.zeros(len(w))
    for t in range(n):
        h = np.tanh(w @ h + u @ xs[t])
    return np.sum(h**2)


def batched_recurrence(w, x, h, n):
    for _ in range(n):
        h = np.tanh(h @ w + x)
    return np.sum(h**2)


def heat(u, n):
    for _ in range(n):
        v = u.copy()
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = v
    return np.sum(u**2)


def stencil(u, n):
    for _ in range(n):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = u + 0.1 * (around - 4 * u)
    return np.sum(u**2)


def momentum(w, x, y, n):
    v = np.zeros_like(w)
    for _ in range(n):
        v = 0.9 * v - 0.1 * (x.T @ (x @ w - y)) / len(y)
        w = w + v
    return np.sum((x @ w - y) ** 2)


def runge_kutta(y, a, n):
    def slope(t, y):
        return np.sin(t) * y + a @ y

    for i in range(n):
        t = 0.01 * i
        k1 = slope(t, y)
        k2 = slope(t + 0.005, y + 0.005 * k1)
        k3 = slope(t + 0.01, y + 0.01 * k2)
        y = y + 0.01 / 6 * (k1 + 4 * k2 + k3)
    return np.sum(y)


def collected(u, h, n):
    hs = []
    for _ in range(n):
        h = np.tanh(h @ u)
        hs.append(h)
    return np.sum(np.stack(hs) ** 2)


def nested(a, h, n):
    for _ in range(n):
        u = h
        for _ in range(4):
            u = np.tanh(a @ u + h)
        h = h + 0.1 * u
    return np.sum(h)


def filled(x, w, n):
    out = tnp.zeros((n, len(w)))
    for t in range(n):
        x = np.sin(x) * w
        out[t] = x
    return np.sum(out**2)


def logistic(x, n):
    for _ in range(n):
        x = 3.1 * x * (1 - x)
    return np.sum(x)


def by_column(a, s, n):
    for t in range(n):
        s = np.cos(s) * a[:, t] + a[0, t]
    return np.sum(s)


def scanned(w, xs, n):
    def step(h, x):
        h = np.tanh(h @ w + x)
        return h, np.sum(h)

    h, sums = tj.scan(step, np.zeros(len(w)), xs)
    return np.sum(h) + np.sum(sums**2)


def counted(x, n):
    return np.sum(tj.fori_loop(0, n, lambda i, c: np.sin(c) + 0.1 * i, x))


def decides_inside(x, w, n):
    for _ in range(n):
        x = np.sin(x) * w
        if np.sum(x) > 0.1:
            x = x - 0.05
    return np.sum(x**2)


def decides_after(x, w, n):
    for _ in range(n):
        x = np.sin(x) * w + 0.1
    return np.sum(x) if np.max(x) > 0.2 else np.sum(x**2)


def ends_by_data(x, n):
    for _ in range(n):
        x = 0.8 * x
        if np.max(np.abs(x)) < 0.05:
            break
    return np.sum(x**2)


def tape_inside(w, x, n):
    for _ in range(n):
        with tj.GradientTape() as tape:
            tape.watch(w)
            loss = np.sum(np.tanh(x @ w) ** 2)
        w = w - 0.1 * tape.gradient(loss, w)
    return np.sum(w**2)


def grad_inside(w, x, n):
    slope = tj.grad(lambda w: np.sum(np.tanh(x @ w) ** 2))
    for _ in range(n):
        w = w - 0.1 * slope(w)
    return np.sum(w**2)


LOOPS: tuple[tuple[Program, Arguments, tuple[int, ...]], ...] = (
    (recurrence, (data(4, 4), data(4, 3), data(100, 3)), (3, 10, 24, 100)),
    (batched_recurrence, (data(32, 32), data(64, 32), data(64, 32)), (24, 50)),
    (heat, (data(30),), (3, 24, 50)),
    (heat, (data(10_000),), (24, 100)),
    (stencil, (data(6, 6),), (10, 50)),
    (stencil, (data(100, 100),), (10, 24)),
    (momentum, (data(3), data(6, 3), data(6)), (5, 40)),
    (runge_kutta, (data(4), data(4, 4)), (6, 30)),
    (collected, (data(5, 5), data(5)), (3, 32)),
    (nested, (data(5, 5), data(5)), (12,)),
    (filled, (data(3), data(3)), (40,)),
    (logistic, (np.float64(0.3),), (20, 100)),
    (by_column, (data(4, 100), data(4)), (3, 60)),
    (scanned, (data(4, 4), data(30, 4)), (30,)),
    (counted, (data(6),), (25,)),
    (decides_inside, (data(3), data(3) + 1), (4,)),
    (decides_after, (data(3), data(3) + 1), (40,)),
    (ends_by_data, (data(4),), (30,)),
    (tape_inside, (data(3), data(5, 3)), (3, 40)),
    (grad_inside, (data(3), data(5, 3)), (40,)),
)  # fmt: skip
EXACT_LOOPS: tuple[tuple[Program, Arguments, tuple[int, ...]], ...] = (
    (recurrence, (data(4, 4), data(4, 3), data(100, 3)), (24, 100)),
    (heat, (data(30),), (50,)),
    (stencil, (data(100, 100),), (10,)),
    (momentum, (data(3), data(6, 3), data(6)), (40,)),
    (filled, (data(3), data(3)), (24,)),
)


def by_rows(w, xs):
    """A loop over a free number of rows."""
    h = np.zeros(4)
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h**2)


def over_free_width(x):
    """A loop of 24 steps on an array of a free length."""
    for _ in range(24):
        x = np.sin(x) + 0.1 * np.mean(x)
    return np.sum(x**2)


FREE: tuple[tuple[Program, tuple[Any, ...], tuple[Arguments, ...]], ...] = (
    (by_rows, ((4, 4), (None, 4)), ((data(4, 4), data(24, 4)), (data(4, 4), data(25, 4)))),
    (over_free_width, ((None,),), ((data(8),), (data(9),))),
)


# Functions of arrays.


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return weights / np.sum(weights, axis=1, keepdims=True) @ v


def cross_entropy(z, y):
    z = z - np.max(z, axis=-1, keepdims=True)
    return -np.sum((z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))) * y, axis=-1)


def normalised(x, scale):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * scale


FUNCTIONS: dict[str, tuple[Program, Arguments]] = {
    "product": (lambda x, w: np.tanh(x @ w), (data(5), data(5, 4))),
    "attention": (attention, (data(6, 4), data(7, 4), data(7, 3))),
    "cross-entropy": (cross_entropy, (data(6, 4), data(6, 4))),
    "normalised": (normalised, (data(6, 8), data(8))),
    "quadratic": (lambda x, a: x @ a @ x * np.sin(x), (data(5), data(5, 5))),
    "convolution": (lambda x, k: np.convolve(x, k, "valid"), (data(12), data(3))),
    "gather": (lambda x: x[[0, 2, 2, 1]] * x[1:5], (data(6),)),
    "masked": (lambda x: np.where(x > 0, x * x, np.sin(x)), (data(9),)),
    "maximum": (lambda x, y: np.maximum(x, y) + np.max(x), (data(7), data(7) * 2)),
    "cumulative": (lambda x: np.cumsum(x) * np.cumprod(1 + x), (data(6),)),
    "solve": (
        lambda b, a: np.linalg.solve(a, b),
        (data(4), np.eye(4) * 3 + data(4, 4)),
    ),
    "determinant": (
        lambda a: np.log(np.linalg.det(a)) + np.linalg.inv(a)[0],
        (np.eye(3) * 2 + data(3, 3),),
    ),
    "einsum": (lambda a, b: np.einsum("ij,jk,k->i", a, b, b[0]), (data(3, 4), data(4, 4))),
    "transform": (lambda x: np.abs(np.fft.rfft(x)) ** 2, (data(8),)),
    "blocks": (
        lambda x, y: np.concatenate([x * y, np.outer(x, y).sum(0)]).reshape(2, -1),
        (data(4), data(4)),
    ),
    "sorted": (lambda x: np.sort(x)[::-1] * np.arange(5.0), (data(5),)),
    "windows": (
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(-1),
        (data(10),),
    ),
    "polynomial": (lambda x, c: c[0] + x * (c[1] + x * (c[2] + x * c[3])), (data(6), data(4))),
    "distances": (
        lambda x, y: np.sqrt(np.sum((x[:, None] - y) ** 2, -1)),
        (data(4, 3), data(5, 3) + 0.3),
    ),
    # At the edge of what is written in one expression: see `inline_elements` of the cost model.
    "255-elements": (lambda x, y: np.sin(x * y) * np.exp(-x) + y, (data(255), data(255))),
    "powers": (lambda x, p: (1 + x * x) ** p / (2 + np.cos(x)), (data(5), data(5))),
}  # fmt: skip


def total(f: Program) -> Program:
    """The sum of the squares of what `f` answers."""
    return lambda *args: np.sum(f(*args) ** 2)


def batch(x: np.ndarray) -> np.ndarray:
    """Three arrays like `x`, along a new first axis."""
    return np.stack([x, x * 1.5, x + 0.125])


def run(f: Program, options: dict[str, Any], *calls: Arguments) -> None:
    """Generate the modules of a function, and of its value and gradient, for each call."""
    made = tj.function(f, **options)
    slopes = tj.value_and_grad(tj.function(f, **options))
    for call in calls:
        made(*call)
        slopes(*call)


def of_steps(f: Program, steps: int) -> Program:
    """A loop of so many steps as a function of its arrays."""

    def loop(*arrays):
        return f(*arrays, steps)

    return loop


def run_vmap(f: Program, args: Arguments) -> None:
    """Generate the modules of a batch, and of gradients for a batch of the first argument."""
    axes = (0, *[None] * (len(args) - 1))
    tj.vmap(f)(*map(batch, args))
    tj.vmap(tj.grad(total(f)), in_axes=axes)(batch(args[0]), *args[1:])


def run_jacobian(f: Program, args: Arguments) -> None:
    """Generate the modules of Jacobians by both modes, and of the Hessian of a sum."""
    tj.jacrev(f)(*args)
    tj.jacfwd(f)(*args)
    tj.hessian(total(f))(*args)


def run_window(f: Program, args: Arguments) -> None:
    """Generate the modules of an eager tape's gradient, again as its window is met again."""
    for _ in range(3):
        sources = [tj.constant(one) for one in args]
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            y = f(*sources)
            loss = np.sum(y * y)
        tape.gradient(loss, sources)
        tape.jacobian(y, sources[0])


def run_export(f: Program, args: Arguments) -> None:
    """Write a module to be shipped, next to the kernels."""
    folder = Path(os.environ["TRACEJIT_CACHE_DIR"])
    tj.export(total(f), *args, path=folder / "shipped.py")


def more_programs() -> Iterator[tuple[str, Generates]]:
    """Every program of this file: its name, and a call that generates its modules."""
    for kind, table, options in (("loop", LOOPS, {}), ("exact-loop", EXACT_LOOPS, {"exact": True})):
        for f, args, counts in table:
            size = max(np.size(one) for one in args)
            for steps in counts:
                loop = of_steps(f, steps)
                yield f"{kind}-{f.__name__}-{size}-{steps}", partial(run, loop, options, args)
    for f, shapes, calls in FREE:
        signature = [tj.TensorSpec(shape, np.float64) for shape in shapes]
        yield f"free-loop-{f.__name__}", partial(run, f, {"input_signature": signature}, *calls)
    for name, (f, args) in FUNCTIONS.items():
        yield f"vmap-{name}", partial(run_vmap, f, args)
        yield f"jacobian-{name}", partial(run_jacobian, f, args)
        yield f"window-{name}", partial(run_window, f, args)
        yield f"export-{name}", partial(run_export, f, args)
        yield f"exact-{name}", partial(run, total(f), {"exact": True}, args)
