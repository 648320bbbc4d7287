"""Random programs with loops of Python's: their text, and what it computes rolled and unrolled.

python -m tests.random_loops COUNT [SEED]      compare so many programs, each with a new seed
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
from tests.unrolled import unrolled
from tracejit.support.cost_model import assuming

ROWS = ("X[t]", "Y[t]", "x", "X[n - 1 - t]", "X[t - 1]", "X[(2 * t) % n]", "X[:, 0][:3]", "X[0]")
NUMBERS = ("0.5", "0.1 * t", "F[t]", "float(t + 1)", "c[t]", "s", "r", "1.5")


def vector(pick: random.Random, depth: int = 0) -> str:
    """An expression for three numbers."""
    if depth > 2 or pick.random() < 0.3:
        return pick.choice(("a", "b", "u", "a", *ROWS))
    left, right = vector(pick, depth + 1), vector(pick, depth + 1)
    number = pick.choice(NUMBERS)
    return pick.choice(
        (
            f"np.sin({left})",
            f"np.tanh({left} + {right})",
            f"({left} * {right})",
            f"({left} - {number} * {right})",
            f"(M @ {left})",
            f"({left} @ M.T)",
            f"helper({left}, {right})",
            f"({left} + {number})",
            f"np.where({left} > 0, {left}, {right})",
            f"np.exp(-{left} * {left})",
            f"{left}[::-1]",
        )
    )


def statements(pick: random.Random, depth: int = 0) -> list[str]:
    """The statements of a step."""
    found: list[str] = []
    for _ in range(pick.randint(1, 4)):
        kind = pick.choice((*range(13), 0, 1, 2, 3, 4, 6, 7, 8, 10))
        if kind < 4:
            found.append(f"{pick.choice('ab')} = 0.5 * {vector(pick)}")
        elif kind == 4:
            found.append(f"s = 0.5 * s + 0.1 * np.sum({vector(pick)})")
        elif kind == 5:
            found.append(f"u[{pick.choice(('1:', ':2', '0', 't % 3', ':'))}] = 0.1")
        elif kind == 6:
            found.append("u[:-1] = 0.5 * u[1:] + 0.1 * a[0]")
        elif kind == 7:
            found.append(f"z[t] = {vector(pick)}")
        elif kind == 8:
            found.append(f"out.append({pick.choice((vector(pick), 'a', 's'))})")
        elif kind == 9:
            found.append(f"if t % {pick.choice((2, 3, 5))} == 0:")
            found += ["    " + line for line in statements(pick, depth + 1)]
        elif kind == 10:
            found.append("a, b = b, a")
        elif kind == 11 and not depth:
            found.append(f"for k in range({pick.choice((2, 5, 6))}):")
            found += ["    " + line for line in statements(pick, depth + 1)]
        elif kind == 12:
            found.append("r = r * 0.9")
        else:
            found.append("u += 0.1 * a")
    return found


HEADS = (
    "for t in range(n):",
    "for t, x in enumerate(X):",
    "for t, (x, y) in enumerate(zip(X, Y)):",
)
RESULTS = (
    "np.sum(a * b)",
    "s",
    "np.sum(z)",
    "np.sum(u * u)",
    "sum([np.sum(o) for o in out])",
    "np.sum(np.array([np.sum(o) for o in out[1:]] + [s]))",
    "np.sum(out[-1])",
    "np.sum(b)",
)


def text_of(seed: int) -> str:
    """A program."""
    pick = random.Random(seed)
    first = pick.choice(("np.float64(0.3)", "np.float64(0.3)", "0.3", "0"))
    lines = ["def program(a, M, X, Y, c, F):", "    n = len(X)", f"    s, r = {first}, 0.9"]
    lines.append(f"    b = {pick.choice(('a * 2.0', 'a * 2.0', 'a * 2.0', '0.0'))}")
    lines += ["    x = X[0]", "    out = [a * 0.5]"]
    lines += ["    u, z = tnp.array(a), tnp.zeros((n, 3))"]
    lines += [
        "    def helper(p, q):",
        f"        return {pick.choice(('np.cos(p) * q', 'p + 0.1 * q * b'))}",
    ]
    for _ in range(pick.choice((1, 1, 2))):
        lines.append("    " + pick.choice(HEADS))
        lines += ["        " + line for line in statements(pick)]
    chosen = pick.sample(RESULTS, pick.randint(1, 3))
    return "\n".join([*lines, f"    return {' + '.join(chosen)}", ""])


def program_of(text: str, number: int) -> Callable[..., Any]:
    """The function, whose lines Python can show."""
    name = f"<loops {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"np": np, "tnp": tnp}
    exec(compile(text, name, "exec"), space)
    program: Callable[..., Any] = space["program"]
    return program


def arguments(n: int) -> tuple[Any, ...]:
    """Arguments for n steps."""
    rng = np.random.default_rng(n)
    a, m, x, y, c = (rng.normal(size=s) * 0.5 for s in ((3,), (3, 3), (n, 3), (n, 3), (n,)))
    return a, m, x, y, c, [0.3 + 0.1 * (k * k % 5) for k in range(n)]


def computed(f: Callable[..., Any], n: int, second: bool) -> list[np.ndarray]:
    """The value, the gradient and a second derivative."""
    args = arguments(n)
    value, found = tj.value_and_grad(lambda *given: f(*given), argnums=(0, 1, 2, 4))(*args)
    answers = [np.asarray(value), *found]
    if second:
        rest = args[1:]
        answers.append(tj.hvp(lambda a: f(a, *rest), (args[0],), (np.ones(3),)))
        answers.append(tj.jvp(lambda a: f(a, *rest), (args[0],), (np.ones(3),))[1])
    return [np.asarray(one) for one in answers]


def differs(seed: int, n: int, second: bool) -> str:
    """The differences of a program rolled from unrolled; empty where there are none."""
    f = program_of(text_of(seed), seed)
    with np.errstate(all="ignore"):
        with unrolled():
            try:
                wanted = computed(f, n, second)
            except (tj.TracejitError, RecursionError, IndexError, ValueError, TypeError):
                return ""
        with assuming(least_rolled_steps=4, least_rolled_nodes=8):
            found = computed(f, n, second)
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"result {number} is {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        if not np.allclose(one, other, rtol=1e-8, atol=1e-10, equal_nan=True):
            return f"result {number} differs by {np.abs(one - other).max()}"
    return ""


def main() -> None:
    """Compare programs, and print those that differ."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for seed in range(first, first + count):
        try:
            problem = differs(seed, 14 + seed % 7, seed % 4 == 0)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            sys.stdout.write(f"--- {seed}: {problem}\n{text_of(seed)}\n")


if __name__ == "__main__":
    main()
