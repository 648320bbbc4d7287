"""Random programs whose Jacobians are taken sparse and dense: indexing, gathers, writes and adding
at places, reshapes, joins, conditions, loops, reductions, products, choices, sums along, sorts,
transforms, markers, batches within.

python -m tests.random_jacobians COUNT [SEED]      compare so many programs, each with a new seed
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.random_loops import program_of

SIZE = 8
ROUNDING = 1e-11
STATEMENTS = (
    "{a} = np.sin({b}) * {c}",
    "{a} = {b}[{places}] * {c}",
    "{a} = {b}[np.arange(8)[::-1]] + {c}[K]",
    "{a} = np.roll({b}, {k})",
    "{a} = np.concatenate([{b}[{k}:], {c}[:{k}]])",
    "{a} = np.where(MASK, {b}, {c} ** 2)",
    "{a} = np.where({b} > 0.1, {b} * {c}, {c})",
    "{a} = np.where(d > 0.0, {b}, {c}[::-1])",
    "{a} = {b}.reshape(2, 4).T.ravel()",
    "{a} = np.stack([{b}[:4], {c}[4:]], axis={bit}).reshape(-1)",
    "{a} = np.repeat(np.sum({b}.reshape(4, 2) ** 2, axis={bit}), {of_bit})",
    "{a} = np.max({b}.reshape(2, 4), axis=0)[np.tile(np.arange(4), 2)] * {c}",
    "{a} = BAND @ {b}",
    "{a} = {b} @ BAND * {c}",
    "{a} = S @ ({b} * {c})",
    "{a} = np.cumsum({b} * MASK)",
    "{a} = np.cumsum({b}.reshape(4, 2), axis={bit}).ravel()",
    "{a} = np.sort({b}.reshape(2, 4), axis={bit}).reshape(8)",
    "{a} = {b}[np.argsort(d)]",
    "{a} = np.take_along_axis({b}.reshape(2, 4), W, axis=1).ravel()",
    "{a} = np.fft.irfft(np.fft.rfft({b} * MASK), 8)",
    "{a} = np.convolve({b}, [1.0, {k}.0, 0.5], 'same')",
    "{a} = np.diff({b}, prepend={c}[{k}])",
    "{a} = np.pad({b}[2:-2] * {c}[1:5], 2, mode='wrap')",
    "{a} = np.einsum('ij,j->i', np.outer({b}, {c})[:, {places}], MASK * 1.0)",
    "{a} = np.outer({b}[:2], {c}[:4]).ravel()",
    "{a} = np.zeros(8); {a}[{places}] = {b}",
    "{a} = {b} * 1.0; {a}[::2] += {c}[:4]; {a}[{k}] = {b}[0] * {c}[1]",
    "{a} = {b} * 1.0; np.add.at({a}, {places}, {c})",
    "{a} = {b} * 1.0; {a}[MASK] = {c}[MASK] ** 2",
    "{a} = np.interp(d, np.arange(8.0), {b}) + {c}",
    "{a} = cube({b}) * {c}",
    "{a} = tj.stop_gradient({b}) * {c} + {b}",
    "{a} = tj.vmap(lambda r: np.sum(r * r[::-1]) * r)({b}.reshape(2, 4)).ravel()",
    "{a} = tj.vmap(lambda r, s: r[{bit}] * s)({b}.reshape(4, 2), {c}.reshape(4, 2)).ravel()",
    "{a} = {b} * np.tril(np.ones((8, 8)))[{k}] + np.linalg.norm({c}[:2])",
    "{a} = np.linalg.solve(np.diag({b}[:2] ** 2 + 1.0), {c}.reshape(2, 4)).ravel()",
    "{a} = np.lib.stride_tricks.sliding_window_view(np.pad({b}, 1), 3).sum(-1)",
    "{a} = {b} if d[{k}] > 0.0 else {c} * {b}[0]",
    "{a} = {b} * {c} if {b}[{k}] > 0.2 else {c}[::-1] * 1.0",
    "{a} = np.array([{b}[0] * {c}[{k}], *{c}[1:7], {b}[{k}]])",
    "{a} = np.prod({b}.reshape(2, 2, 2) + 2.0, axis={bit}).ravel()[np.arange(8) % 4] + {c}",
    "{a} = np.kron({b}[:2], {c}[:4])",
    "{a} = np.cross({b}[:3], {c}[1:4])[np.arange(8) % 3] + {c}",
    "{a} = np.select([MASK, {b} > 0.0], [{b}, {c}], 0.5)",
    "{a} = np.clip({b}, -0.5, 0.5) + np.minimum({b}, {c})",
    "{a} = {b}[np.argsort({c})] * {b}",
    "{a} = {c} * {b}[np.argmax({c})]",
    "{a} = {b}[np.searchsorted(np.sort(d), 0.0) % 8] * {c}",
    "{a} = np.choose(K % 2, [{b}, {c}])",
    "{a} = np.bincount(P, weights={b}, minlength=8) * {c}",
    "{a} = np.add.reduceat({b}, [0, 3, 4, 6]).repeat(2) * {c}",
    "{a} = np.maximum.accumulate({b}) * {c}",
    "{a} = np.gradient({b})",
    "{a} = np.tensordot({b}.reshape(2, 4), {c}.reshape(4, 2), 1).ravel()[K % 4]",
    "{a} = np.diagonal(np.outer({b}, {c}), {bit})[P % 7]",
    "{a} = np.einsum('ij,ij->i', np.stack([{b}, {c}], 1), np.stack([{c}, {c}], 1))",
    "{a} = np.linalg.inv(np.outer({b}[:2], {c}[:2]) + 3.0 * np.eye(2)).ravel()[K % 4] * {b}",
    "{a} = {b} * 1.0; np.put_along_axis({a}, K[:3], {c}[:3], 0)",
    "{a} = tj.function(lambda r, s: r[::2] * s[1::2])({b}, {c})[K % 4]",
    "{a} = tj.grad(lambda r: np.sum(r[1:] ** 2 * r[:-1]))({b}) * {c}",
    "{a} = tj.jvp(lambda r: r[K] * r, ({b},), ({c},))[1]",
    "{a} = tj.vmap(lambda r: tj.vmap(lambda s: s * r[0] + r)(r)[0])({b}.reshape(4, 2)).ravel()",
    "{a} = np.where(np.isnan({b} / {b}), 0.0, {b} / ({c} + 2.0))",
    "{a} = np.partition({b}, {k}) * {c}",
    "{a} = np.unwrap({b} * 4.0) + {c}",
    "{a} = np.polyval({c}[:3], {b})",
    "{a} = np.histogram(d, bins=8, weights={b})[0] * {c}",
    "{a} = np.matmul({b}.reshape(2, 2, 2), {c}.reshape(2, 2, 2)).ravel()",
)
LOOPS = (
    """
    for i in range({n}):
        {a} = np.roll({b}, i) * {c}""",
    """
    {b} = {b} * 1.0
    for i in range({k}, 7):
        {b}[i] = {b}[i - 1] * {c}[i + 1] + {a}[i]""",
    """
    {a} = {a} * 1.0
    for i in range(8):
        {a}[P[i]] += {b}[i] * {c}[P[7 - i]]""",
    """
    def step(u, r):
        return np.roll(u, 1) * r[0] + {b} * r[1], u[{k}] * r
    {a}, rows = tj.scan(step, {a}, np.reshape({c}, (4, 2)))
    {b} = rows.ravel() * {b}""",
    """
    def body(i, u):
        return u * 1.0 + np.roll(u, 1) * {c}[i % 8]
    {a} = tj.fori_loop(0, {n}, body, {a})""",
    """
    for i, j in enumerate(K):
        if {b}[i] > {c}[j]:
            {a} = {a} * {b}[j] + {c}""",
    """
    def body(r):
        s = r * 1.0
        for i in range(3):
            s = s + r[i] * np.roll(s, i)
        return s
    {a} = tj.vmap(body)({b}.reshape(2, 4)).ravel() * {c}""",
    """
    rows = []
    for i in range(8):
        rows.append({b}[i] * {c}[(i + {k}) % 8] if i % 2 else {b}[0])
    {a} = np.array(rows)""",
    """
    while np.sum({a} ** 2) < {k}.0:
        {a} = {a} * 1.5 + np.roll({a}, {k}) + 0.1""",
)
RESULTS = (
    "u", "u * v", "np.concatenate([u, v, t])", "u[::2] * t[1::2]", "np.sum(u * v) * t[:3]",
    "np.outer(u[:3], v[:2])", "u[0] * v[1] * t[2]", "u[:0]", "np.sum(u * t)",
    "np.stack([u, v])[:, {places}]",
)  # fmt: skip
PRELUDE = """
def program(x, d):
    u, v, t = x * 1.0, x[::-1] ** 2, np.cos(x)"""


@tj.custom_gradient
def cube(x: Any) -> Any:
    return x**3, lambda g: 3.0 * g * x**2


def tables() -> dict[str, Any]:
    """The names that programs read."""
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(3)
    return {
        "tj": tj, "cube": cube, "MASK": np.arange(SIZE) % 3 == 0,
        "BAND": np.triu(np.tril(rng.random((SIZE, SIZE)) + 0.1, 1), -1),
        "S": sparse.random_array((SIZE, SIZE), density=0.3, random_state=rng, format="csr"),
        "K": np.array([3, 1, 4, 1, 5, 7, 2, 6]), "P": np.array([2, 7, 1, 2, 0, 4, 5, 2]),
        "W": np.array([[3, 0, 1, 1], [2, 2, 0, 3]]),
    }  # fmt: skip


def text_of(seed: int) -> str:
    """The Python of a program."""
    draw = random.Random(seed)

    def filled(text: str) -> str:
        a, b, c = (draw.choice("uvt") for _ in range(3))
        bit, n = draw.randrange(2), draw.choice((2, 3, 60))
        places = draw.choice(("K", "P", "K[::-1]", "P - 8"))
        words = {"a": a, "b": b, "c": c, "bit": bit, "places": places, "n": n}
        return text.format(k=draw.randrange(1, 5), of_bit=(4, 2)[bit], **words)

    lines = [PRELUDE]
    for _ in range(draw.randrange(1, 5)):
        if draw.random() < 0.3:
            lines.append(filled(draw.choice(LOOPS)))
        else:
            lines.append("\n    " + filled(draw.choice(STATEMENTS)))
    return "".join([*lines, "\n    return ", filled(draw.choice(RESULTS)), "\n"])


def differs(seed: int) -> str:
    """The first difference between sparse and dense derivatives; empty where there is none. A
    second point has the kernels and the patterns of the first."""
    try:
        _compare(seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _compare(seed: int) -> None:
    program = program_of(text_of(seed), seed)
    program.__globals__.update(tables())
    rng = np.random.default_rng(seed)
    d = rng.normal(size=SIZE)
    points = [rng.uniform(-0.6, 0.6, SIZE) for _ in range(2)]

    def loss(x: Any, d: Any) -> Any:
        y = np.reshape(program(x, d), -1)
        return np.sum(y * y * np.linspace(0.5, 1.5, y.shape[0]))

    pairs = [
        (tj.jacobian(program, mode=mode, sparse=True), tj.jacobian(program, mode=mode))
        for mode in ("auto", "fwd", "rev")
    ]
    pairs.append((tj.hessian(loss, sparse=True), tj.hessian(loss)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for sparse, dense in pairs:
            for x in (*points, points[0]):
                agree(sparse(x, d), dense(x, d))


def agree(found: Any, expected: Any) -> None:
    """Assert that a sparse matrix is a dense one of any shape, where that did not overflow."""
    expected = np.reshape(expected, found.shape)
    there = np.isfinite(expected)
    largest = np.max(np.abs(expected), initial=1.0, where=there)
    tolerance = {"rtol": ROUNDING, "atol": ROUNDING * largest}
    np.testing.assert_allclose(found.toarray()[there], expected[there], **tolerance)


def main() -> None:
    """Compare programs, and print those that differ."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    problems = {seed: differs(seed) for seed in range(first, first + count)}
    for seed, problem in problems.items():
        if problem:
            sys.stdout.write(f"--- {seed}: {problem}\n{text_of(seed)}\n")


if __name__ == "__main__":
    main()
