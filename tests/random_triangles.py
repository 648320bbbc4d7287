"""Random programs with loops whose slices grow or shrink from step to step, as those of Cholesky's
method: what they compute rolled and unrolled.

python -m tests.random_triangles COUNT [SEED]      compare so many programs, each with a new seed
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.random_loops import program_of
from tests.unrolled import unrolled
from tracejit.support.cost_model import assuming

NUMBERS = ("0.5", "s", "c[k]", "A[k, k]", "x[k]", "1.5", "0.1 * k", "W[k, k - 1]")
PARTS = {
    ":k": ("x[:k]", "c[:k]", "A[k, :k]", "A[:k, k]", "W[k, :k]", "W[:k, k]", "A[n - 1 - k, :k]"),
    "k:": ("x[k:]", "c[k:]", "A[k, k:]", "A[k:, k]", "W[k, k:]", "W[k:, k]", "A[0, k:]"),
    "k + 1:": ("x[k + 1:]", "c[k + 1:]", "A[k, k + 1:]", "W[k + 1:, k]", "c[k:-1]"),
}


HEADS = ("range(k)", "range(k + 1, n)", "range(k, n)", "range(n)", "range(k - 1, -1, -1)")
INNER = (
    "W[k, j] -= 0.1 * (W[k, :j] @ W[:j, j])",
    "x[j] = 0.5 * x[j] + 0.1 * A[k, j] * s",
    "W[:, j] -= 0.01 * A[:, k] * W[k, j]",
    "s = s + 0.01 * W[j, k] * x[j]",
    "W[k, j] /= 1.0 + W[j, j] ** 2",
    "x[:k] += 0.01 * A[j, :k]",
    "x[j] += 0.01 * k * np.sin(c[j])",
    "s = 0.9 * s + 0.01 * np.sum(W[j, :k] * A[k, :k])",
    "W[j, j:] = 0.9 * W[j, j:] + 0.01 * x[k] * A[j, j:]",
)


def inner(pick: random.Random) -> list[str]:
    """A loop in a step."""
    lines = [f"for j in {pick.choice(HEADS)}:"]
    return [*lines, *["    " + pick.choice(INNER) for _ in range(pick.randint(1, 3))]]


def part(pick: random.Random, span: str, depth: int = 0) -> str:
    """An expression for numbers along a part of an axis."""
    if depth > 1 or pick.random() < 0.3:
        return pick.choice(PARTS[span])
    one, other = part(pick, span, depth + 1), part(pick, span, depth + 1)
    span_2 = pick.choice(list(PARTS))
    return pick.choice(
        (
            f"np.sin({one})",
            f"({one} * {other})",
            f"({one} - {number(pick, depth + 1)} * {other})",
            f"({one} + {pick.choice(NUMBERS)})",
            f"np.flip({one})",
            f"{one}[::-1]",
            f"np.cumsum({one})",
            f"np.where({one} > 0, {one}, {other})",
            f"({pick.choice('AW')}[{span}, {span_2}] @ {part(pick, span_2, depth + 1)})",
            f"({part(pick, span_2, depth + 1)} @ {pick.choice('AW')}[{span_2}, {span}])",
            f"np.maximum({one}, {other})",
            f"helper({one})",
        )
    )


def number(pick: random.Random, depth: int = 0) -> str:
    """An expression for a number."""
    if depth > 1 or pick.random() < 0.2:
        return pick.choice(NUMBERS)
    span = pick.choice(list(PARTS))
    one, other = part(pick, span, depth + 1), part(pick, span, depth + 1)
    return pick.choice(
        (
            f"({one} @ {other})",
            f"np.sum({one})",
            f"np.mean({part(pick, 'k:', depth + 1)})",
            f"np.dot({one}, {other})",
            f"np.tanh({number(pick, depth + 1)})",
            f"np.max({part(pick, 'k:', depth + 1)})",
            f"np.sum({pick.choice('AW')}[{span}, {pick.choice(list(PARTS))}] ** 2)",
            f"np.sqrt(1.0 + np.sum({one} ** 2))",
        )
    )


def statements(pick: random.Random) -> list[str]:
    """The statements of a step."""
    found: list[str] = []
    for _ in range(pick.randint(1, 4)):
        kind, span = pick.randrange(13), pick.choice(list(PARTS))
        if kind < 2:
            found.append(f"x[k] = 0.1 * {number(pick)}")
        elif kind == 2:
            found.append(f"s = 0.5 * s + 0.01 * {number(pick)}")
        elif kind == 3:
            found.append(f"x[{span}] {pick.choice(('+=', '-=', '='))} 0.1 * {part(pick, span)}")
        elif kind == 4:
            found.append(f"W[{span}, k] {pick.choice(('+=', '-=', '='))} 0.1 * {part(pick, span)}")
        elif kind == 5:
            found.append(f"W[k, {span}] {pick.choice(('+=', '='))} 0.1 * {part(pick, span)}")
        elif kind == 6:
            other = pick.choice(list(PARTS))
            product = f"np.outer({part(pick, span)}, {part(pick, other)})"
            found.append(f"W[{span}, {other}] -= 0.01 * {product}")
        elif kind == 7:
            found.append(f"W[k, k] = 1.0 + 0.1 * np.tanh({number(pick)})")
        elif kind == 8:
            found.append(f"p = 0.1 * {part(pick, span)}")
            found.append(f"s = s + p @ {part(pick, span)}")
        elif kind == 9:
            found.append("if k % 2 == 0:")
            found += ["    " + line for line in statements(pick)]
        elif kind < 12:
            found += inner(pick)
        else:
            found.append(f"W[k + 1:, k] = W[k, k + 1:] = 0.1 * {part(pick, 'k + 1:')}")
    return found


def text_of(seed: int) -> str:
    """A program."""
    pick = random.Random(seed)
    head = pick.choice(("range(n)", "range(1, n)", "range(n - 1)", "range(n - 1, -1, -1)"))
    lines = ["def program(A, c):", "    n = len(c)", "    s = np.float64(0.3)"]
    lines += ["    x, W = tnp.array(c), tnp.array(A)"]
    lines += ["    def helper(v):", f"        return {pick.choice(('np.cos(v)', 'v + 0.1 * s'))}"]
    lines.append(f"    for k in {head}:")
    lines += ["        " + line for line in statements(pick)]
    return "\n".join([*lines, "    return np.sum(x * x) + s + np.sum(np.sin(W))", ""])


def computed(f: Callable[..., Any], n: int, second: bool) -> list[np.ndarray]:
    """The value, the gradient and derivatives of other kinds."""
    rng = np.random.default_rng(n)
    matrix, c = rng.normal(size=(n, n)) * 0.5, rng.normal(size=n) * 0.5
    value, found = tj.value_and_grad(lambda *given: f(*given), argnums=(0, 1))(matrix, c)
    answers = [value, *found]
    if second:
        answers.append(tj.hvp(lambda c: f(matrix, c), (c,), (np.ones(n),)))
        answers.append(tj.jvp(lambda c: f(matrix, c), (c,), (np.ones(n),))[1])
        answers.append(tj.vmap(lambda c: f(matrix, c))(np.stack([c, 0.5 * c])))
    return [np.asarray(one) for one in answers]


def differs(seed: int, n: int, second: bool) -> str:
    """The differences of a program rolled from unrolled; empty where there are none."""
    f = program_of(text_of(seed), seed)
    with np.errstate(all="ignore"):
        with unrolled():
            try:
                wanted = computed(f, n, second)
            except (tj.TracejitError, RecursionError, IndexError, ValueError):
                return ""
        with assuming(least_rolled_nodes=20, least_sized_nodes=20):
            found = computed(f, n, second)
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"part {number} is {other.dtype} {other.shape}, not {one.dtype} {one.shape}"
        scale = np.max(np.abs(one), initial=1.0)
        if np.isfinite(scale) and not np.allclose(one, other, rtol=1e-8, atol=1e-10 * scale):
            return f"part {number} differs by {np.max(np.abs(one - other))} of {scale}"
    return ""


def main(count: int, seed: int) -> None:
    """Compare programs."""
    for number in range(seed, seed + count):
        problem = differs(number, 9 + number % 7, second=not number % 3)
        if problem:
            sys.stdout.write(f"--- {number}: {problem}\n{text_of(number)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else random.randrange(10**9))
