"""In-place code: arrays made by `tracejit.numpy`, then filled."""

from __future__ import annotations

import numpy as np

import tracejit.numpy as tnp
from tests.idioms.table import in_place, normal, positive


@in_place(normal(5))
def fill_in_a_loop(x):
    out = tnp.zeros(5)
    for i in range(5):
        out[i] = x[i] ** 2
    return out


@in_place(normal(3, 4))
def fill_rows(x):
    out = tnp.empty((3, 4))
    for i, row in enumerate(x):
        out[i] = row / tnp.sum(row**2)
    return out


@in_place(normal(6))
def recurrence(x):
    y = tnp.zeros(7)
    for t in range(6):
        y[t + 1] = 0.9 * y[t] + x[t]
    return y


@in_place(normal(4))
def augmented_assignment(x):
    y = x * 2.0
    y += x**2
    y[1:] *= 3.0
    return y


@in_place(normal(5))
def masked_assignment(x):
    y = x.copy()
    y[y < 0] = 0.0
    return y


@in_place(normal(3))
def array_of_expressions(x):
    return tnp.array([[tnp.cos(x[0]), -tnp.sin(x[0])], [x[1], x[2] * 2]])


@in_place(normal(4, 4))
def set_the_border(u):
    u = u.copy()
    u[0, :] = u[-1, :] = 0.0
    u[:, 0] = u[:, -1] = 1.0
    return u


@in_place(normal(6), normal(6))
def scatter_add(x, w):
    total = tnp.zeros(3)
    tnp.add.at(total, [0, 1, 0, 2, 1, 0], x * w)
    return total


@in_place(normal(4))
def fill_diagonal_of_zeros(x):
    a = tnp.zeros((4, 4))
    a[tnp.arange(4), tnp.arange(4)] = x
    a[0] += 1.0
    return a @ x


@in_place(positive(3))
def cholesky_by_loops(d):
    a = tnp.diag(d + 2.0) + 0.5
    root = tnp.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            rest = a[i, j] - root[i, :j] @ root[j, :j]
            root[i, j] = tnp.sqrt(rest) if i == j else rest / root[j, j]
    return root


@in_place(normal(5))
def out_keyword(x):
    y = tnp.empty_like(x)
    tnp.multiply(x, x, out=y)
    return y + x


@in_place(normal(6))
def write_through_a_view(x):
    y = x.copy()
    half = y[::2]
    half += 1.0
    half *= x[1::2]
    return y


@in_place(positive(5) + 2.0, normal(4), normal(4), normal(5))
def thomas_algorithm(main, lower, upper, right):
    c, d = tnp.zeros(4), tnp.zeros(5)
    c[0], d[0] = upper[0] / main[0], right[0] / main[0]
    for i in range(1, 5):
        scale = main[i] - lower[i - 1] * c[i - 1]
        if i < 4:
            c[i] = upper[i] / scale
        d[i] = (right[i] - lower[i - 1] * d[i - 1]) / scale
    x = tnp.zeros(5)
    x[-1] = d[-1]
    for i in range(3, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@in_place(normal(4), normal(4))
def gauss_seidel(x, b):
    x = x.copy()
    for _ in range(2):
        for i in range(1, 3):
            x[i] = 0.25 * (b[i] + x[i - 1] + x[i + 1])
    return x


@in_place(normal(4), normal(5))
def dynamic_time_warping(a, b):
    cost = tnp.full((5, 6), 1e6)
    cost[0, 0] = 0.0
    for i in range(4):
        for j in range(5):
            step = tnp.minimum(tnp.minimum(cost[i, j + 1], cost[i + 1, j]), cost[i, j])
            cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 + step
    return cost[4, 5]


@in_place(normal(4, 3))
def summed_area_table(image):
    table = tnp.zeros((5, 4))
    table[1:, 1:] = image.cumsum(axis=0).cumsum(axis=1)
    return table[2:, 2:] - table[:-2, 2:] - table[2:, :-2] + table[:-2, :-2]


@in_place(normal(3, 3))
def lu_by_loops(a):
    lower, upper = tnp.eye(3), a + 4.0 * tnp.eye(3)
    for k in range(2):
        for i in range(k + 1, 3):
            lower[i, k] = upper[i, k] / upper[k, k]
            upper[i] -= lower[i, k] * upper[k]
    return lower, upper


@in_place(normal(2), 6)
def trajectory_buffer(state, steps):
    path = tnp.empty((steps, 2))
    path[0] = state
    for k in range(1, steps):
        x, v = path[k - 1]
        path[k, 0] = x + 0.1 * v
        path[k, 1] = v - 0.1 * tnp.sin(x)
    return path


@in_place(normal(5, 5))
def jacobi_sweeps(u):
    u = u.copy()
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@in_place(normal(4, 3), normal(3))
def centre_columns_in_place(x, shift):
    x = x - shift
    x -= x.mean(axis=0)
    x /= tnp.linalg.norm(x, axis=0)
    return x


@in_place(normal(6))
def swap_halves(x):
    y = x.copy()
    y[:3], y[3:] = x[3:] * 2.0, x[:3]
    return y


@in_place(normal(5), normal(3))
def polynomial_product_by_loops(p, q):
    product = tnp.zeros(len(p) + len(q) - 1)
    for i, a in enumerate(p):
        product[i : i + len(q)] += a * q
    return product


@in_place(normal(6))
def clip_by_masks(x):
    y = x + 0.0
    y[y > 0.5] = 0.5
    y[y < -0.5] *= 0.1
    return y


@in_place(normal(3), normal(3))
def jacobian_by_rows(x, w):
    rows = tnp.zeros((3, 3))
    for i in range(3):
        rows[i, :] = w[i] * x
        rows[i, i] += 1.0
    return tnp.linalg.det(rows)


@in_place(np.float64(0.3))
def fibonacci_like(start):
    values = tnp.ones(8)
    values[0] = start
    for k in range(2, 8):
        values[k] = values[k - 1] + values[k - 2]
    return values[-1]
