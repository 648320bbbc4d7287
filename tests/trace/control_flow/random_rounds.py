"""Random programs with loops `for`, as Python source: over ranges of known and of recorded bounds,
arrays of different sizes, `zip`, `enumerate` and `reversed`, in one another, with jumps, with
elements read and written by the number of the step, and with variables that are read after them.

python -m tests.trace.control_flow.random_rounds COUNT [SEED]     compare so many programs with
plain Python

A program is called with numbers, counts and arrays of several sizes. Values must have the same bits
and types, what is left behind must be the same, and so must gradients.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.trace.control_flow.effect_programs import HEAD, differs, slopes_differ
from tracejit.support.cost_model import assuming

CALLS = (0.4, 3.5, -1.2, 0.9, 2.6, 1.7, 5.1, -0.3)
BOUNDS = (
    "n", "n", "len(v)", "v.shape[0]", "7", "3", "0", "n + 1", "1, len(v)", "1, n", "n, -1, -1",
    "0, n, 2", "5, n", "len(v) - 1", "n // 2", "-2, 2", "len(v) - 1, 0, -1",
)  # fmt: skip
HEADERS = (
    *(["for {i} in range({bound}):"] * 8), "for {e} in v:", "for {i}, {e} in enumerate(v):",
    "for {e}, {f} in zip(v, w):", "for {i} in reversed(range(n)):", "for {e} in [0.5, 0.25, 2.0]:",
    "for {e} in m.T:\n    {e} = {e}.sum()", "for {i}, ({e}, {f}) in enumerate(zip(v, w), n):",
    "for {i}, {e} in enumerate(w, 1):", "for {i}, {e} in zip(range(9), v):", "for {e} in v[1:]:",
    "for {e} in np.linspace(0.0, 1.0, 5):", "for {i}, {e} in zip([3, 1, 2], (0.5, 0.2, 0.1)):",
    "pairs = zip(v, w)\nfor {e}, {f} in pairs:",
)  # fmt: skip
LEAVES = (
    "s * 0.3", "np.sin(a)", "x", "t", "{i} * 0.1", "0.5", "float({i})", "1.0 / ({i} + 2)",
    "v[{i} % len(v)]", "out[{i}]", "out[{i} - 1]", "out[-1]", "m[0].sum()", "w[0]", "a / 2",
    "np.float64({i})", "k", "m[{i} % 3, -1]", "q", "{e}",
)  # fmt: skip
TESTS = (
    "s > {x}", "{x} < 0.4", "{i} > 1", "{i} % 2 == 0", "{i} == 0", "a < {x} and s > 0.1",
    "not s > 0.2", "n > 2", "{x} > 0.3 or {i} > 3", "k < 2",
)  # fmt: skip
STATEMENTS = (
    *(["s = s * 0.5 + {x}", "a = {x}"] * 2), "a, s = s, a * 0.5", "t = {x}", "t = 1", "t = 0.0",
    "out[{i} % len(out)] = {x}", "out[{i}] += 0.1", "out[{i}] = {x}", "out[{i} - 1] *= 0.5",
    "m[{i} % 3, 0] = {x}", "m[1] += 0.1 * s", "k = k + 1", "k = {i}", "q = {x}", "q = {x}\ns = q",
    "s = max(s, {x})", "s = min(a, {x}) + 0.1", "w = w * 0.5 + s * 0.1", "u = out[1:]\nu[0] = {x}",
    "u = out\nu += 0.1", "s = {x} if {t} else a", "seen.append({x})", "seen.append(s)",
    "s = s * 0.5 + seen[-1] * 0.1",
    "made.append((s, k))", "made.append(np.float64(s) * w)", "k = k + len(seen)",
    "seen.append({x})\nseen.append(s * 0.5)", "seen.append(k)\nk += 1\nseen.append({i})",
    "s = sum(sorted([s, {x}, a])[:2]) * 0.5", "s = s + any([s > {x}, {t}])",
    "k = k + all(out > -9.0)",
    "s = s * 0.1 + sum({x} if q > 0.2 else q for q in v)",
    "made.append(np.array([q if q > 0 else s for q in w]))",
    "made.append(w)", "found = {i}", "s += {x}",
    "w[0] = {x}", "out = out * 0.9", "LOG.append(k)", "known['k'] = s", "s = s + helped(a, {i})",
    "v = v * 0.9", "n = n + 1", "a = s if a > s else a", "s = np.abs(s) % 3.0", "assert s < 1e9",
    "assert {x} < 4.0 or {t}, k",
)  # fmt: skip
SLICES = (
    "out[{i}:] *= 0.9", "s = s + np.sum(v[:{i}])", "out[{i}:{i} + 2] = {x}", "u[0] = {x}",
    "m[1, {i}:] -= s * m[0, {i}:]", "s = s * 0.1 + v[:{i}] @ out[:{i}]", "w[:{i}] = w[:{i}][::-1]",
    "m[[0, {i} % 3]] = m[[{i} % 3, 0]]", "u = m[{i} % 3]", "s = s + u[0] * 0.1", "u = m.T[0]",
    "m[1] = {x} * u[-1]", "s = s + u @ u * 0.1", "out[{i} + 1:] = s * out[{i} + 1:]", "u = out[1:]",
    "m[:, {i}] = m[:, {i}] * 0.5", "out[-{i}:] += 0.1", "s = s + np.max(out[{i}:])",
    "w[{i}:] += v[{i}:] * a", "e = v[{i} - 1:] * 1.0\ns = s + e.sum()", "out[::2] = {x}",
    "p = int(np.argmax(v[{i}:]))\nv[[p, 0]] = v[[0, p]]", "u = m[0, 1:]", "u = u[::-1]",
)  # fmt: skip
"""Parts of arrays by the number of the step, and views that a step hands on."""
HELPERS = """
def helped(z, count):
    for r in range(count % 4):
        z = z * 0.5 + r
        if z > 2.0:
            return z * 0.1
    return z * 0.2
"""
INSIDE = 4
LOOPS = 3


def indented(lines: Sequence[str]) -> list[str]:
    """Lines further to the right."""
    return [f"    {line}" for line in lines]


class Writer:
    """One program."""

    def __init__(self, seed: int) -> None:
        """Begin with nothing written."""
        self.pick = random.Random(seed)
        self.names = 0
        self.statements = (*STATEMENTS, *SLICES * 3) if seed % 8 > 3 else STATEMENTS

    def program(self) -> str:
        """The program as a function of a number, a count and an array."""
        lines = [
            "s, a, t, k, q = x * 0.7, 0.3 * x + 0.2, 0.0, 0, 0.25",
            "v, w, out, m = v * x, v + 0.5, np.zeros(len(v) + 2), np.zeros((3, len(v)))",
            "seen, known, i, e, found, made = [x], {}, 2, 0.75, -1, []",
            "u, p = m[0], 1",
        ]
        if self.pick.random() < 0.3:
            lines.append(self.pick.choice(("del i", "del e", "t = None", "q = np.float64(q)")))
        elif self.pick.random() < 0.3:  # names that no step of a loop may bind
            lines[0] = lines[0].replace("t, k, q = ", "k = ").replace(" 0.0, 0, 0.25", " 0")
            lines[2] = lines[2].replace(" found,", "").replace(" -1,", "")
        for _ in range(self.pick.randint(1, 2)):
            lines += self.loop(0, "2")
            if self.pick.random() < 0.3:
                lines.append(self.pick.choice(("s = s + i", "t = e", "s = s * 0.5 + q", "k += i")))
        results = "s, a, t, k, q, n, found, np.sum(out), np.sum(m), np.sum(w), np.sum(u), out[0]"
        end = f"return {results}, len(seen), sum(seen), known.get('k', 0.0), sum(map(np.sum, made))"
        body = indented([*indented(lines), f"    {end}"])
        head = f"{HEAD}{HELPERS}\ndef outer():\n    def program(x, n, v):\n"
        return head + "\n".join(body) + "\n    return program\n"

    def loop(self, depth: int, around: str) -> list[str]:
        """A loop, so many of which are around it; the variable of the next is `around`."""
        pick = self.pick
        self.names += 1
        names = {"i": "i", "e": "e"} if pick.random() < 0.5 else {"i": f"i{self.names}"}
        names = {"e": f"e{self.names}", "f": f"f{self.names}", **names}
        bounds = (*BOUNDS, around, f"{around}, n", f"{around} + 1, len(v)") if depth else BOUNDS
        header = pick.choice(HEADERS).format(bound=pick.choice(bounds), **names)
        has_number = f" {names['i']}" in header.split(" in ")[0]
        number = names["i"] if has_number else "k"
        element = names["e"] if f"{names['e']}" in header.split(" in ")[0] else "s"
        body: list[str] = []
        for _ in range(pick.randint(1, INSIDE)):
            body += self.statement(number, element, depth)
        head = header.split("\n")
        start = [line for line in head if not line.startswith(" ")]
        first = [line.strip() for line in head if line.startswith(" ")]
        return [*start, *indented([*first, *body])]

    def statement(self, number: str, element: str, depth: int) -> list[str]:
        """A statement in a loop, in lines."""
        kind = self.pick.random()
        if kind < 0.15 and depth < LOOPS - 1:
            return self.loop(depth + 1, number)
        if kind < 0.3:
            jump = self.pick.choice(("break", "continue", "break", "return s, a, k, np.sum(out)"))
            return [f"if {self.test(number, element)}:", f"    {jump}"]
        if kind < 0.34:
            text = self.pick.choice(("'large'", "f'{s} in {k}'", "'at', k", "s"))
            return [f"if {self.test(number, element)}:", f"    raise ValueError({text})"]
        if kind < 0.52:
            inside = self.statement(number, element, depth)
            other = self.statement(number, element, depth) if kind < 0.43 else []
            lines = [f"if {self.test(number, element)}:", *indented(inside)]
            return [*lines, *(["else:", *indented(other)] if other else [])]
        one = self.pick.choice(self.statements)
        test = self.test(number, element)
        return one.format(i=number, e=element, x=self.leaf(number, element), t=test).split("\n")

    def test(self, number: str, element: str) -> str:
        """A condition."""
        return self.pick.choice(TESTS).format(i=number, x=self.leaf(number, element))

    def leaf(self, number: str, element: str) -> str:
        """An expression."""
        return self.pick.choice(LEAVES).format(i=number, e=element)


def given(number: float) -> tuple[Any, ...]:
    """The arguments of a call: a number, a count and an array, whose sizes go by the number."""
    size = 2 + int(abs(number) * 7) % 5
    return number, int(abs(number) * 10) % 7, np.linspace(-0.5, 1.0, size)


def given_alike(number: float) -> tuple[Any, ...]:
    """The same with a count and an array of one size."""
    return number, 5, np.linspace(-0.5, 1.0, 6) * (1.0 + 0.1 * number)


def rounds_differ(seed: int) -> str | None:
    """The first difference between tracejit and plain Python; None where the program is refused,
    and empty where there is none. Half of the programs record one step of short loops, too."""
    text = Writer(seed).program()
    names = ("recorded_steps", "recorded_outer_steps", "recorded_known_steps", "recorded_nodes")
    figures = dict.fromkeys(names if seed % 2 else (), 1)
    arguments = given_alike if seed % 16 > 7 else given
    with np.errstate(all="ignore"), warnings.catch_warnings(), assuming(**figures):
        warnings.simplefilter("ignore")
        problem = differs(seed, text, CALLS, 6, arguments)
        if problem == "" and seed % 4 < 2:
            return slopes_differ(text, seed, CALLS[seed % 5 : seed % 5 + 3], arguments)
        return problem


def main() -> None:
    """Compare programs, and print those that differ."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    refused = failed = 0
    for seed in range(first, first + count):
        try:
            problem = rounds_differ(seed)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        refused += problem is None
        if problem:
            failed += 1
            text = Writer(seed).program().partition("def outer")[2]
            sys.stdout.write(f"--- {seed}: {problem}\ndef outer{text}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{count} programs from seed {first}: {refused} refused, {failed} differ\n")


if __name__ == "__main__":
    main()
