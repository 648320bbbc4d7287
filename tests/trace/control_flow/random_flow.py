"""Random programs with control flow on data, as Python source: nested `if`, conditional
expressions, `and` and `or` whose operands have effects, loops with `break`, `continue` and `return`
at any depth, variables bound on one side, other names of one array, writes in place, lists,
closures, helpers that return early, and `try` and `with` around all that.

python -m tests.trace.control_flow.random_flow COUNT [SEED]     compare so many programs with plain
Python

A program is called with several numbers and arrays, which take different ways, and again. Values
must have the same bits and types, what is left behind must be the same, in the same ORDER, and so
must gradients.
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.trace.control_flow.effect_programs import HEAD as NAMES
from tests.trace.control_flow.effect_programs import differs, indented, slopes_differ

HEAD = (
    NAMES
    + '''
SHOWN = []


def show(*numbers):
    SHOWN.append([float(v) for v in numbers])


class Wrong(Exception):
    """An error that programs raise and catch."""


class Within:
    """Note where a block begins and ends."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        LOG.append("in " + self.name)
        return self

    def __exit__(self, *error):
        LOG.append("out " + self.name)
        return self.name == "quiet" and error[0] is Wrong


def noted(name, v):
    LOG.append(name)
    return v


def early(v, w):
    if v > w:
        return v * 0.5
    if v < -1.0:
        LOG.append("early")
        return -0.25
    for k in range(3):
        v = v * 0.7 + 0.1
        if v > 0.8:
            return v + k
    return 0.75 * v


def placed(v):
    if v > 1.5:
        return 2
    elif v > 0.4:
        return 1
    return 0


def nudge(row, v):
    if v > 0.5:
        row[0] += 0.25
    return row


def halved(v):
    n = 0
    while True:
        if abs(v) < 0.5:
            break
        v, n = v * 0.5, n + 1
        if n > 5:
            return v, n
    return v, n


def inner(v):
    return v if v > 0.3 else halved(v + 1.0)[0]
'''
)

VARIABLES = ("a", "b", "c", "a", "b", "x")
LEAVES = (*VARIABLES, "u[0]", "u[1]", "w[-1]", "0.5", "1.25", "n", "k", "np.sum(u)", "m", "u.max()")
LIMITS = ("0.2", "1.0", "-0.5", "0.6", "2.0")
STATEMENTS = (
    "n += 1", "n = n + 2", "k = n", "m = {e}", "m = 1", "m = 0.5", "m = True", "m = n", "m = -m",
    "a, b = b, a", "(a, b), c = (b, c), a", "a, *rest = [b, c, a]\nb = sum(rest) * 0.3",
    "a = b = {e}", "t = {e}", "t = {e}\ndel t", "c = c + t", "flag = {t}", "flag = not flag",
    "flag = bool({t})", "n = n + flag", "n = n + placed({v})", "{v}, n = halved({v})",
    "a = early({v}, b)", "b = inner({v}) * 0.5", "c = early(early(a, c), {v})", "n = -n",
    "u = u * 0.5 + {v}", "u = np.where(u > {v}, u, w)", "w = u", "w = u[1:]", "w = u[::-1]",
    "w = u.copy()", "u, w = w, u", "u[0] += 0.1", "u[0] = {v}", "u += 0.1 * {v}", "u[1:] *= 0.5",
    "w[-1] = {v}", "w -= 0.1", "y = u\ny[0] += 1.0", "y = u\ny *= 0.5", "y = w[:1]\ny[0] = {e}",
    "u = nudge(u, {v})", "u = u - w[0]", "row[n % 2] = {v}", "row += 0.1", "u[placed({v})] += 0.3",
    "y = rows[0]\ny += {v} * 0.1", "v[0] += 0.5", "v[1] = {v}", "w = v", "a = a + 0.1 * v[1]",
    "np.multiply(u, 0.5, out=u)", "a = a + np.sum(rows) * 0.1", "seen.append({v})",
    "seen = [*seen, {v}]", "seen += [{v}, 0.5]", "own = []\nown.append({e})", "own.append({v})",
    "own[-1:] = [{v}]", "own = [{v}] * placed(b)", "own = [0.5] * np.sum(u > 0.2)",
    "own = own * np.argmax(u)", "b = b + 0.1 * sum(seen)", "n = n + len(seen)", "seen = seen[:2]",
    "c = seen.pop() if seen else c", "pair = (a, b)", "a = a + 0.1 * pair[1]", "table['a'] = {v}",
    "b = b + 0.1 * table['a']", "table['n'] += 1", "n = n + table['n']", "f = lambda: a * 0.5 + b",
    "f = lambda y=b: y - a", "made.append(lambda: {v})", "c = f() * 0.5",
    "c = c + 0.1 * sum([g() for g in made])", "bump()", "b = scaled({v})", "f = early_of({v})",
    "a = min({v}, {e})", "b = max(b, {e}, 0.1)", "b = max(n, {v})", "c = sorted([a, b, c])[1]",
    "c = abs({v})", "a = float({v})", "n = int({v}) + 1", "c = {v} if {t} else 1", "c = {v} or {e}",
    "b = {v} and {e}", "a = a if {t} else (b if {t} else c)", "a = a + ({t})",
    "b = b * ({t}) + 0.1", "u = u if {t} else w", "c = [a, b][{t}]", "c = (a, b, c)[placed({v})]",
    "a = a / (1.0 + n * n)", "c = c + any([a > 1.0, b > 1.0])", "c = c + all(q > 0.0 for q in u)",
    "a = sum(q for q in u if q > 0.2)", "seen = [q for q in seen if q > 0.2]",
    "assert {v} == {v} or {t}", "s = {v}\ns += 1", "own = [q if q > {v} else {v} for q in u]",
    "c = 0.3 * sum(q if q > 0.3 else -q for q in u)", "own = [k * q if {t} else k for q in u]",
    "b = max(abs(q) if q < {v} else q for q in (a, b, c))", "m = m + any(u > {v})",
    "seen = [(q if q > 0.1 else {v}) * 0.5 for i, q in enumerate(seen)]",
    "b = sorted([a, {v}, c], reverse=True)[0]", "a = sorted(u, key=lambda q: q * q)[1]",
)  # fmt: skip
EFFECTS = (
    "LOG.append('{i}')", "LOG.append('{i}')", "LOG.append('{i}')", "COUNT += 1",
    "TOTAL = TOTAL + 0.5", "STATE['k'] = STATE['k'] + 1.0", "BOX.n += 1", "BOX.rate = 0.5",
    "a = BOX.noted(a) * 0.3", "a = counting(a)", "b = keeping(b) * 0.5", "c = c + BOX.counted",
    "ROWS[0] *= 0.5", "SEEN.add(n)", "LOG[-1:] = ['{i}']", "LOG.extend('{i}')",
    "a = noted('{i}', {v})", "COUNT = n", "BOX.items.append(1.0)", "LOG.append(n)",
    "tj.callback(show, {v}, b)", "tj.callback(show, np.sum(u))",
    "LOG.append('{i}' if {t} else '-')", "ITEMS[0] += 0.1", "c = next(numbers)",
    "LOG.append(len(seen))",
)  # fmt: skip
RESULT = (
    "a, b, c, n, m, k, flag, np.sum(u), np.sum(w), len(seen), sum(seen), np.sum(rows), sum(own)"
)
CALLS = (9.013, 1.607, 0.7031, 3.511, -2.203, 0.1009, 9.013, 1.607, -2.203)


class Writer:
    """The writer of one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.effects = self.random.choice((0.0, 0.0, 0.1, 0.25))
        self.left = self.random.randint(6, 16)
        self.count = 0

    def expression(self, depth: int = 0) -> str:
        """A number."""
        pick = self.random
        if depth > 1 or pick.random() < 0.35:
            return pick.choice(LEAVES)
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        forms = (
            f"({one} + {other})",
            f"({one} - 0.5 * {other})",
            f"0.5 * {one} * np.tanh({other})",
            f"np.sin({one})",
            f"np.exp(-({one}) ** 2)",
            f"({one} if {self.test(depth + 1)} else {other})",
            f"max({one}, {other})",
            f"min({one}, 0.5)",
            f"early({one}, {other})",
            f"inner({one})",
            f"QUIET.scaled({one})",
        )
        return pick.choice(forms)

    def operand(self) -> str:
        """A comparison, perhaps with an effect."""
        pick, self.count = self.random, self.count + 1
        v, limit = pick.choice(VARIABLES), pick.choice(LIMITS)
        forms = [f"{v} > {limit}"] * 4 + [
            f"{v} < {pick.choice(VARIABLES)}", f"0.0 < {v} <= {limit}", f"u[1] > {limit}",
            "n % 2 == 0", "flag", f"np.any(u > {limit})", f"np.all(w < {limit})",
            f"abs({v}) >= {limit}", "n < 3", "seen", f"placed({v}) == 1",
            f"early({v}, b) > {limit}", f"min({v}, b) > {limit}", f"({v} > {limit}) == (b > 0.3)",
            f"isinstance({v}, float)", f"{v} != {v}", f"(y := {v}) > {limit}",
        ]  # fmt: skip
        chosen = pick.choice(forms)
        if self.effects and pick.random() < 0.3:
            return f"noted('t{self.count}', {chosen})"
        return chosen

    def test(self, depth: int = 0) -> str:
        """A condition."""
        chosen = self.random.random()
        if depth > 1 or chosen < 0.65:
            return self.operand()
        if chosen < 0.75:
            return f"not ({self.test(depth + 1)})"
        word = self.random.choice(("and", "or"))
        return f"({self.test(depth + 1)}) {word} ({self.test(depth + 1)})"

    def filled(self, text: str) -> str:
        """A statement with its places filled."""
        self.count += 1
        text = text.replace("{i}", str(self.count))
        while "{v}" in text:
            text = text.replace("{v}", self.random.choice(VARIABLES), 1)
        while "{t}" in text:
            text = text.replace("{t}", self.test(1), 1)
        while "{e}" in text:
            text = text.replace("{e}", self.expression(), 1)
        return text

    def simple(self) -> str:
        """A statement that computes, or has an effect."""
        pick = self.random
        if pick.random() < self.effects:
            return self.filled(pick.choice(EFFECTS))
        if pick.random() < 0.4:
            operator = pick.choice(("=", "=", "+=", "-=", "*= 0.5 *"))
            return f"{pick.choice('abc')} {operator} {self.expression()}"
        return self.filled(pick.choice(STATEMENTS))

    def block(self, depth: int, loops: int, level: int) -> list[str]:
        """The statements of a body, in so many loops."""
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, loops, level)
        return lines

    def statement(self, depth: int, loops: int, level: int) -> list[str]:
        """A statement, at so deep a level."""
        pick = self.random
        self.left -= 1
        kind = 0.0 if self.left < 0 or level > 3 else pick.random()
        if kind < 0.35:
            return indented(self.simple(), depth)
        if kind < 0.62:
            return self.choice(depth, loops, level)
        if kind < 0.85 and loops < 3:
            return self.loop(depth, loops, level)
        if kind < 0.92 and loops:
            leave = pick.choice(("break", "continue", "break", f"return {RESULT}"))
            return indented(f"if {self.test()}:\n    {leave}", depth)
        if kind < 0.94:
            return indented(f"if {self.test()}:\n    return {RESULT}", depth)
        if kind < 0.96:
            return indented(f"if {self.test()}:\n    raise Wrong('here', n)", depth)
        return self.guarded(depth, loops, level)

    def choice(self, depth: int, loops: int, level: int) -> list[str]:
        """An `if` with its other sides."""
        lines = indented(f"if {self.test()}:", depth) + self.block(depth + 1, loops, level + 1)
        while self.random.random() < 0.25:
            lines += indented(f"elif {self.test()}:", depth)
            lines += self.block(depth + 1, loops, level + 1)
        if self.random.random() < 0.55:
            lines += indented("else:", depth) + self.block(depth + 1, loops, level + 1)
        if self.random.random() < 0.15:
            only = self.random.choice(("only = a", "only = n", "only = u[0]"))
            lines += indented(f"if {self.test()}:\n    {only}\n    known = True", depth)
            lines += indented("if known:\n    c = c * 0.5 + only", depth)
        return lines

    def loop(self, depth: int, loops: int, level: int) -> list[str]:
        """A loop of few steps."""
        pick, self.count = self.random, self.count + 1
        i, v = f"i{self.count}", pick.choice("abc")
        lines: list[str] = []
        if pick.random() < 0.45:
            tests = (f"{v} > 0.3", f"abs({v}) > 0.2", self.test(), f"{v} > 0.3 and flag", "True")
            test = pick.choice(tests)
            bounded = f"while {i} < 5 and ({test}):" if pick.random() < 0.5 else f"while {test}:"
            lines += indented(f"{i} = 0\n{bounded}", depth)
            lines += indented(f"{i} = {i} + 1\nif {i} > 6:\n    break\n{v} = {v} * 0.6", depth + 1)
        else:
            number = pick.choice(("3", "2", "4", "n % 4", "placed(x) + 2", "len(seen) % 4"))
            heads = (
                f"for {i} in range({number}):", f"for {i} in range({number}):", f"for {i} in u:",
                f"for {i} in [a, b, 0.5]:", f"for {i}, z in enumerate(u):", f"for {i} in seen[:3]:",
                f"for {i}, z in zip(range(3), (a, 0.1, b)):", f"for {i} in rows:",
                f"for k in range({number}):",
            )  # fmt: skip
            head = pick.choice(heads)
            lines += indented(head, depth)
            if i in head and pick.random() < 0.6:
                lines += indented(f"{v} = {v} * 0.7 + 0.1 * np.sum({i})", depth + 1)
            if "z in" in head and pick.random() < 0.6:
                lines += indented("c = c + 0.1 * z", depth + 1)
        lines += self.block(depth + 1, loops + 1, level + 1)
        if pick.random() < 0.2:
            lines += indented("else:", depth) + self.block(depth + 1, loops, level + 1)
        return lines

    def guarded(self, depth: int, loops: int, level: int) -> list[str]:
        """A `try` or a `with` around a body."""
        pick, body = self.random, self.block(depth + 1, loops, level + 1)
        if pick.random() < 0.4:
            name = pick.choice(("'quiet'", "'loud'"))
            return [*indented(f"with Within({name}):", depth), *body]
        leave = indented(f"if {self.test()}:\n    raise Wrong", depth + 1)
        lines = [*indented("try:", depth), *body, *(leave if pick.random() < 0.5 else [])]
        lines += indented("except Wrong:", depth) + indented(self.simple(), depth + 1)
        if pick.random() < 0.3:
            lines += indented("else:", depth) + indented(self.simple(), depth + 1)
        if pick.random() < 0.4:
            lines += indented("finally:", depth) + indented(self.simple(), depth + 1)
        return lines

    def program(self) -> str:
        """The text of a module with a function `program` of a number and an array."""
        array = self.random.choice(("v * 1.0", "v", "x * np.array([0.1, 0.4, -0.2])", "x * v"))
        start = self.random.choice(("0.5 * x", "0.5", "1", "np.float64(0.25)", "x"))
        first = (
            "global COUNT, TOTAL",
            f"a, b, c, n, m, k = x * 0.7, 0.3 * x + 0.2, {start}, 0, 0, 0",
            "flag, known = False, False",
            f"u, rows = {array}, np.zeros((2, 3))",
            "w, row, y, t, own = u + 1.0, rows[1], u, a, [0.5]",
            "seen, made, pair, table = [], [], (a, b), {'a': 0.5, 'n': 0}",
            "f, numbers = (lambda: 0.5), iter([0.1 * q for q in range(99)])",
            "def bump():\n    nonlocal n, a\n    n = n + 1\n    a = a * 0.5",
            "def scaled(z):\n    if z > b:\n        return z * c\n    return z * 0.5",
            "def early_of(v):\n    return lambda: early(v, a)",
        )
        lines = ["def outer():", "    def program(x, v):"]
        for text in first:
            lines += indented(text, 2)
        for _ in range(self.random.randint(2, 4)):
            lines += self.statement(2, 0, 0)
        lines += self.choice(2, 0, 0) if self.random.random() < 0.5 else self.loop(2, 0, 0)
        returned = indented(f"return {RESULT}", 2)
        return "\n".join([HEAD, *lines, *returned, "    return program", ""])


def given(seed: int) -> Callable[[float], tuple[Any, ...]]:
    """The arguments of a program for a number: NumPy's, or Python's, or an array without axes, and
    an array."""
    kinds: tuple[Callable[[float], Any], ...] = (
        np.float64,
        np.float64,
        float,
        np.float64,
        np.array,
    )
    kind = kinds[seed // 2 % len(kinds)]
    return lambda number: (kind(number), np.array([0.3 * number, 0.5, -0.2]))


def flow_differs(seed: int) -> str | None:
    """The first difference between tracejit and plain Python; None where the program is refused,
    and empty where there is none."""
    text = Writer(seed).program()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = differs(seed, text, CALLS, 6, given(seed))
        if problem == "" and seed % 2:
            return slopes_differ(text, seed, CALLS[seed % 5 : seed % 5 + 3], given(seed))
        return problem


def main() -> None:
    """Compare programs, and print those that differ."""
    os.environ |= {"TRACEJIT_STRICT": "1", "TRACEJIT_CACHE": "0"}
    warnings.simplefilter("ignore")
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    counts: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            problem = flow_differs(seed)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        counts["refused" if problem is None else "differ" if problem else "same"] += 1
        if problem:
            text = Writer(seed).program().removeprefix(HEAD)
            sys.stdout.write(f"--- {seed}: {problem}\n{text}\n")
            sys.stdout.flush()
    refused, failed = counts["refused"], counts["differ"]
    sys.stdout.write(f"{count} programs from seed {first}: {refused} refused, {failed} differ\n")


if __name__ == "__main__":
    main()
