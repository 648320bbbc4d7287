"""In-place code: arrays made by `tracejit.numpy`, then filled."""

from __future__ import annotations

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
