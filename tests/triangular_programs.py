"""Random programs with loops over parts of arrays whose sizes differ from step to step.

python -m tests.triangular_programs COUNT [SEED]      compare so many, each with a new seed, against
                                                      NumPy and against loops that go step by step
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.support.cost_model import assuming

SIZE = 12
PARTS = (":i", ":i + 1", "i:", "i + 1:", ":")
ROLLED: dict[str, Any] = {
    "least_rolled_nodes": 20,
    "least_sized_nodes": 10,
    "rolled_nodes_of_large": 1,
    "least_rolled_steps": 6,
}


def vector(pick: random.Random, row: str, part: str, depth: int = 0) -> str:
    """An expression for the elements of a `part` of a row."""
    simple = (
        f"{pick.choice('abbcd')}[{row}, {part}]",
        f"{pick.choice('abbcd')}[{part}, {row}]",
        f"x[{part}]",
    )
    if depth > 1:
        return pick.choice(simple)
    left, right = (vector(pick, row, part, depth + 1) for _ in range(2))
    inner = pick.choice(PARTS)
    return pick.choice(
        (
            *simple,
            *simple,
            f"({left} {pick.choice('+-*')} {right})",
            f"np.tanh({left})",
            f"x[i] * {left}",
            f"(b[{row}, {inner}] @ {pick.choice('abc')}[{inner}, {part}])",
            f"(b[:, {part}].T @ {pick.choice('ab')}[:, {row}])",
            f"(a + {pick.choice(('b.T', 'a.T'))})[{row}, {part}]",
            f"np.max(np.reshape(x, (n, 1)) * {pick.choice(('x', 'b', 'b.T'))}, axis=0)[{part}]",
        )
    )


def statement(pick: random.Random, row: str) -> str:
    """A statement of the body, which may be a loop."""
    part, target = pick.choice(PARTS), pick.choice("ccd")
    inner, update = pick.choice(PARTS), pick.choice(("=", "+=", "+=", "-=", "*="))
    value = vector(pick, row, part)
    number = pick.choice(
        (f"np.sum(c[i, {inner}] * x[{inner}])", f"b[i, {inner}] @ x[{inner}]", "x[i] * b[i, i]")
    )
    nested = pick.choice(
        (
            f"{target}[{part}, j] += x[j] * {value}",
            f"{target}[i, j] += {value} @ {pick.choice('abc')}[{part}, j]",
            f"s[j] = {value} @ b[{part}, j]",
            f"{target}[i, {part}] += b[i, j] * a[{part}, j]",
        )
    )
    return pick.choice(
        (
            f"{target}[{row}, {part}] {update} {value}",
            f"{target}[{row}, {part}] {update} {value}",
            f"{target}[{part}, {row}] {update} {value}",
            f"{target}[{part}, {row}] = {pick.choice('cd')}[{row}, {part}] = {value}",
            f"s[{row}] {pick.choice(('=', '+='))} {number}",
            f"{target}[{part}, :] += np.outer({value}, x)",
            f"{target}[{part}, {part}] += np.outer({pick.choice((value, f'x[{part}]'))}, {value})",
            f"for j in range(n - {pick.choice('01')}):\n            {nested}",
        )
    )


def text(pick: random.Random) -> str:
    """A program: a loop over the rows of matrices."""
    first, last = pick.choice("0012"), pick.choice("0012")
    row = pick.choice(("i", "i", "i - 1", "i + 1")) if "0" not in (first, last) else "i"
    lines = [statement(pick, row) for _ in range(pick.randint(1, 4))]
    lines += ["c[i, :] += s"] * (pick.random() < 0.3)
    body = "\n".join(f"        {line}" for line in lines)
    initial = pick.choice(("np.eye(n)", "b * 1.5"))
    return (
        "def program(a, b, x):\n"
        "    n = a.shape[0]\n"
        f"    c, d, s = a.copy(), {initial}, np.zeros(n)\n"
        f"    for i in range({first}, n - {last}):\n{body}\n"
        "    w = np.reshape(np.arange(n * n), (n, n))\n"
        "    return np.sum(np.cos(c) * np.sin(w)) + np.sum(d * np.cos(w)) + np.sum(s * x)\n"
    )


def made(source: str, numpy: Any) -> Callable[..., Any]:
    """The function of a program."""
    name = f"<triangular {hash((source, numpy.__name__))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": numpy}
    exec(compile(source, name, "exec"), space)
    found: Callable[..., Any] = space["program"]
    return found


def arguments(seed: int) -> list[Any]:
    """Two matrices and a row."""
    rng = np.random.default_rng(seed)
    return [0.3 * rng.normal(size=shape) for shape in ((SIZE, SIZE), (SIZE, SIZE), (SIZE,))]


def difference(source: str, given: list[Any]) -> float:
    """The greatest difference of value and gradients from those of NumPy and of a loop that goes
    step by step, as a part of them."""
    expected = made(source, np)(*given)
    beside = made(source, np)(*[x * (1.0 + 1e-13) for x in given])
    if not abs(beside - expected) < 1e-11 * max(1.0, abs(expected)):
        return 0.0  # rounding decides
    f = made(source, tnp)
    with assuming(**ROLLED):
        value, gradients = tj.value_and_grad(tj.function(f, cache=False), (0, 1, 2))(*given)
        alone = tj.function(f, cache=False)(*given)
    with assuming(**ROLLED, compared_steps=0):
        others = tj.value_and_grad(tj.function(f, cache=False), (0, 1, 2))(*given)[1]
    pairs = [(value, expected), (alone, expected), *zip(gradients, others, strict=True)]
    found = [np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))) for a, b in pairs]
    return float("inf") if np.isnan(found).any() else float(max(found))


def main(count: int, first: int = 0) -> None:
    """Print each program that differs, or raises."""
    for seed in range(first, first + count):
        source = text(random.Random(seed))
        try:
            found = difference(source, arguments(seed))
        except Exception as error:
            print(f"{seed}: {type(error).__name__} {error}\n{source}")
        else:
            if found > 1e-8:
                print(f"{seed}: differs by {found}\n{source}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
