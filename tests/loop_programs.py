"""Programs with loops, over `scan` and `fori_loop`: those of one node, or unrolled.

Each is a function of LOOPS or UNROLLED that makes the function of arrays to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj

R = np.random.default_rng(0)
VECTOR, MATRIX, SQUARE = R.normal(size=4), R.normal(size=(3, 4)), R.normal(size=(4, 4))


class Program(NamedTuple):
    """A program and its arguments."""

    make: Callable[[Any], Callable[..., Any]]
    args: tuple[np.ndarray, ...]


PROGRAMS: dict[str, Program] = {}


def program(*args: np.ndarray) -> Callable[..., Any]:
    """Enter a program into the table."""

    def enter(make: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
        PROGRAMS[make.__name__] = Program(make, args)
        return make

    return enter


@program(VECTOR)
def swapped(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        a, b = loops.fori_loop(0, 5, lambda i, c: (c[1], c[0] * 2.0 + i), (x, x * 3.0))
        return a * b

    return f


@program(VECTOR)
def handed_through(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (c, y), ys = loops.scan(lambda c, e: ((c[0] + e, c[1]), c[1]), (0.0, x), x)
        return c * y + np.sum(ys)

    return f


@program(VECTOR)
def returned_twice(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (a, b), ys = loops.scan(lambda c, e: ((c[0] * e, c[0] + c[1]), (c[0], c[0])), (x, x), x)
        return a + b + ys[0].sum(0) * ys[1].sum(0)

    return f


@program(VECTOR)
def updated_copy(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            v = u.copy()
            v[1:] = v[1:] * 0.5 + u[:-1]
            v[0] = np.sin(u[0])
            return v

        return loops.fori_loop(0, 4, step, x)

    return f


@program(VECTOR)
def updated_at_the_step(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            v = u.copy()
            v[i] = v[i] * u[i - 1] + x[i]
            return v

        return loops.fori_loop(0, 4, step, x)

    return f


@program(MATRIX, VECTOR)
def containers(loops: Any) -> Callable[..., Any]:
    def f(m: Any, v: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            d = {"h": np.tanh(c["h"] + e[0]), "n": [c["n"][0] + 1, c["n"][1] * 2.0]}
            return d, (d["h"], None, {"q": np.sum(c["h"]) * e[1]})

        c, (hs, _, q) = loops.scan(step, {"h": v, "n": [0, 1.0]}, (m, m[:, 0]))
        return c["h"] * c["n"][0] + hs.sum(0) * c["n"][1] + q["q"].sum()

    return f


@program(VECTOR.astype("f4"))
def single_precision(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c * 0.5 + e, c * e), 0.0, x)
        return c * ys

    return f


@program(VECTOR.astype("f4"))
def a_wider_carry(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c * np.float64(0.5) + e, e * 2), np.float64(0.1), x)
        return c * ys

    return f


@program(VECTOR + 1j * VECTOR[::-1])
def complex_numbers(loops: Any) -> Callable[..., Any]:
    def f(z: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c * e + 1j, np.conj(c) * e), 1.0 + 0j, z)
        return np.abs(c) + np.abs(ys)

    return f


@program(VECTOR)
def real_to_complex(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c * np.exp(1j * e) + 0.1, c), 1.0 + 0.5j, x)
        return c.real * ys.imag + c.imag

    return f


@program(VECTOR)
def counted(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (n, s), ys = loops.scan(
            lambda c, e: ((c[0] + 1, c[1] + e * c[0]), c[0]), (np.int64(1), 0.0), x
        )
        return s * ys * n

    return f


@program(VECTOR)
def counted_by_python(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (n, s), ys = loops.scan(lambda c, e: ((c[0] + 1, c[1] + e * c[0]), c[0]), (1, 0.0), x)
        return s * ys * n

    return f


@program(VECTOR)
def a_truth_value_carried(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (_, s), ys = loops.scan(
            lambda c, e: (((e > 0), np.where(c[0], c[1] + e, c[1] * 0.5)), c[0]),
            (np.bool_(False), 0.0),
            x,
        )
        return np.where(ys, s * x, s)

    return f


@program(VECTOR)
def sorted_steps(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            s = np.sort(c * e)
            return s + 0.1 * c, s.cumsum()

        c, ys = loops.scan(step, x, x)
        return c * ys.sum(0)

    return f


@program(SQUARE, MATRIX)
def solved(loops: Any) -> Callable[..., Any]:
    def f(w: Any, m: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            c = np.linalg.solve(w @ w.T + np.eye(4) * (1 + c @ c), e + c)
            return c, np.linalg.norm(c)

        c, ys = loops.scan(step, np.zeros(4), m)
        return c * ys.sum()

    return f


@program(VECTOR)
def kinks(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            c = np.maximum(c * 0.9, np.sqrt(np.abs(e)))
            return c, np.clip(c, -0.5, 0.9)

        c, ys = loops.scan(step, 0.0, x)
        return c + ys

    return f


@program(VECTOR)
def an_unread_carry(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (a, _), ys = loops.scan(lambda c, e: ((c[0] * e, c[1] + np.sin(c[0])), c[0]), (1.0, 0.0), x)
        return a * ys

    return f


@program(VECTOR)
def a_constant_carry(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        (a, b), ys = loops.scan(
            lambda c, e: ((c[0] * e, np.ones(2)), c[1] * c[0]), (1.0, np.zeros(2)), x
        )
        return a * ys.sum() + b.sum() * x

    return f


@program(VECTOR)
def an_invariant_returned(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        y = np.sin(x)
        a, ys = loops.scan(lambda c, e: (y, y * 2.0), x, length=3)
        return a * ys.sum(0)

    return f


@program(VECTOR)
def one_step(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        a, ys = loops.scan(lambda c, e: (c * e, c), x, x[:1])
        return a * ys.sum(0)

    return f


@program(VECTOR)
def taken_at_places(loops: Any) -> Callable[..., Any]:
    idx = np.array([2, 0, 3, 1])

    def f(x: Any) -> Any:
        a, ys = loops.scan(lambda c, k: (c * 0.5 + x[k], c), 0.0, idx)
        return a * ys.sum() * x

    return f


@program(VECTOR)
def backwards(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        a, ys = loops.scan(lambda c, e: (c * 0.5 + e, c * e), 0.0, x, reverse=True)
        return a * ys

    return f


@program(VECTOR)
def one_after_another(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        a, ys = loops.scan(lambda c, e: (c * 0.5 + e, c * e), 0.0, x)
        b, zs = loops.scan(lambda c, e: (np.sin(c + e), c * a), a, ys, reverse=True)
        return b * zs * ys

    return f


@program(VECTOR)
def a_loop_of_loops(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        for _ in range(3):
            x = loops.scan(lambda c, e: (c * 0.5 + e, c * e), 0.1, x)[1]
        return x

    return f


@program(np.array([0.0, 1.0, -0.0, 2.0]))
def zeros(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        a, ys = loops.scan(lambda c, e: (c * e, np.sqrt(np.abs(e)) * c), 1.0, x)
        return a * ys

    return f


@program(MATRIX)
def nested_three_deep(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def outer(s: Any, row: Any) -> Any:
            def inner(c: Any, e: Any) -> Any:
                def innermost(t: Any, d: Any) -> Any:
                    return d * 0.7 + np.sin(e * d) * t

                c = loops.fori_loop(0, 3, innermost, c)
                return c * s, c

            c, cs = loops.scan(inner, s, row)
            return np.tanh(c), cs

        s, q = loops.scan(outer, 0.3, x)
        return q * s

    return f


@program(VECTOR)
def the_step_compared(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return loops.fori_loop(
            0, 4, lambda i, c: np.where(np.arange(4) == i, c * x, c + 0.1 * i), x
        )

    return f


@program(VECTOR)
def stacked_arrays(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c + np.outer(x, x) * e, c @ x), np.zeros((4, 4)), x)
        return c @ ys.sum(0)

    return f


@program(VECTOR)
def a_variable(loops: Any) -> Callable[..., Any]:
    v = tj.Variable(1.5)

    def f(x: Any) -> Any:
        c, ys = loops.scan(lambda c, e: (c * v + e, c * v), 0.0, x)
        return c * ys

    return f


@program(VECTOR)
def methods(loops: Any) -> Callable[..., Any]:
    class Cell:
        def __init__(s: Any) -> Any:
            s.k = 0.7

        def __call__(s: Any, c: Any, e: Any) -> Any:
            return s.go(c, e), c

        def go(s: Any, c: Any, e: Any) -> Any:
            return c * s.k + e

    cell = Cell()

    def f(x: Any) -> Any:
        c, ys = loops.scan(cell, 0.0, x)
        d, zs = loops.scan(cell.__call__, 1.0, ys)
        return c * ys + zs * d

    return f


@program(VECTOR)
def views(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        y = np.outer(x, x)
        c, ys = loops.scan(lambda c, e: (c + e[::-1], e.T), np.zeros(4), y.T)
        return c * ys[1:, 0].sum()

    return f
