"""Random programs with loops that have effects, as Python source: globals, nonlocals, iterators,
other names of one object, properties, containers, helpers, and writes in place.

python -m tests.trace.control_flow.effect_programs COUNT [SEED]     compare so many programs with
plain Python

A program is run by NumPy and by tracejit, call after call, each in a module of its own. Values must
have the same bits and types, and what is left behind in globals must be the same.
"""

from __future__ import annotations

import linecache
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

import tracejit as tj
from tests.support.differences import along

HEAD = '''
COUNT, TOTAL = 0, 0.0
LOG, STATE, SEEN = [], {"k": 0.0}, set()
ITEMS, ROWS = [0.9, 0.8, 0.7, 0.6], np.arange(6.0).reshape(3, 2) / 8
MEMO = {}


class Box:
    """Attributes, and ways to read them that change the object."""

    def __init__(self):
        self.n, self.rate, self.items = 0, 0.5, [1.0, 2.0]

    @property
    def counted(self):
        self.n += 1
        return 0.1 * self.n

    def __getitem__(self, key):
        self.n += 1
        return 0.1 * self.n + key

    def __len__(self):
        self.n += 1
        return self.n

    def __iter__(self):
        self.n += 1
        return iter([0.1, 0.2 * self.n])

    def __call__(self, v):
        self.n += 1
        return v * 0.5 + self.n

    def scaled(self, v):
        return v * self.rate

    def noted(self, v):
        self.n += 1
        return v * self.rate


class Quiet:
    """Attributes alone."""

    rate, order = 0.25, 2

    def scaled(self, v):
        return v * self.rate + self.order


BOX, QUIET = Box(), Quiet()


def plain(v):
    return v * 0.5 + 0.1


def chosen(v):
    if v > 2.0:
        return v - 1.0
    return v * 0.75


def counting(v):
    global COUNT
    COUNT += 1
    return v * 0.5


def keeping(v, seen=[]):
    seen += [1]
    return v + 0.1 * len(seen)


def shifted(row):
    row += 1.0
    return row


def put(place, key, v):
    place[key] = v
    return v


def memoised(k):
    if k not in MEMO:
        MEMO[k] = 0.1 * k
    return MEMO[k]


def summed(v, n=2):
    total = 0.0
    for k in range(n):
        total = total + v * k
    return total


def settled(v):
    n = 0
    while v > 1.0:
        v = v * 0.5
        n = n + 1
    return v + n
'''

NUMBERS = (
    "s = s + 0.1 * x", "s = 0.5 * s + a", "a = a * 0.9 + s", "n += 1", "n = n + 2", "n = n * 3 % 7",
    "s, a = a, s", "a = plain(a)", "a = chosen(a) * 0.5", "s += a", "s = s + np.sin(a)",
    "best = x", "best = max(n, 1)", "best = a", "half = x / 2.0", "s = s + summed(x)",
    "s = s + QUIET.scaled(a)", "s = s + BOX.rate", "s = BOX.scaled(s)", "a = -a", "s = 1",
    "s = 0.0", "n = 0", "last = n", "s = s + ITEMS[1]", "s = s + STATE['k']", "a = abs(s - a)",
    "s = s + float(n)", "s = s + np.sum(v)", "v = v * 0.5 + a", "w = v.copy()",
    "s = s + ROWS[1, 0]",
    "a = min(a, 4.0)", "k = n", "s = s + n / 2", "n = n // 2 + 3", "flag = a > s", "s = s / 3",
    "w = v * 2.0\nw[0] = a\nv = w * 0.5", "w = v + 1.0\nw += a\ns = s + w[1]", "v = w", "w = v",
    "s = s + (a if x > 2.0 else 0.5)", "s = s + settled(a)", "last = s", "s = s + last",
    "s = s * np.float32(0.5)", "flag = True", "n = n + flag", "a = a ** 2 * 0.1", "s = s - best",
)  # fmt: skip
EFFECTS = (
    "COUNT += 1", "TOTAL = TOTAL + 0.5", "COUNT = n", "kept = kept + 1", "LOG.append(1)",
    "LOG += [1]", "seen += [1.0]", "seen += [x]", "seen *= 2\nseen = seen[:3]", "seen.append(x)",
    "seen = seen + [1.0]", "STATE['k'] = STATE['k'] + 1.0", "known['k'] = known['k'] + 1.0",
    "known |= {n: 1.0}", "same['k'] += 1.0", "other = known\nother['k'] = other['k'] + 1.0",
    "found |= {n}", "SEEN.add(n)", "s = s + len(list(backwards))", "s = s + sum(list(made))",
    "s = s + len(list(pairs))", "s = s + next(numbers)", "for q in numbers:\n    s = s + q",
    "s = s + BOX.counted", "s = s + BOX[1]", "s = s + len(BOX)", "a = BOX(a) * 0.1",
    "for q in BOX:\n    s = s + q", "s = BOX.noted(s)", "a = counting(a)", "s = keeping(s) * 0.5",
    "for row in local:\n    row += 1.0", "s = s + np.sum(shifted(local[0]))", "local[0] = 1.0",
    "row = local[1]\nrow *= 2.0", "put(local, 0, 0.5)", "s = s + put(known, 'k', 2.0)",
    "s = s + memoised(n)", "if first is x:\n    n = n + 1", "if a is s:\n    n = n + 1",
    "t = s\nif t is s:\n    n = n + 5", "u[0] = 0.5", "u += 0.1", "row = u\nrow *= 0.5",
    "view[0] = 2.0", "np.add(local, 1.0, local)", "np.multiply(v, 0.5, out=v)", "u, v = v, u",
    "setattr(BOX, 'rate', 0.3)", "BOX.rate = 0.4", "bump()", "s = s + len(BOX.items)",
    "BOX.items += [1.0]", "s = s + (n in seen)", "(lambda: LOG.append(2))()",
    "s = s + sum([q for q in numbers])", "del LOG[:]", "for row in u:\n    row += 1.0",
    "seen.extend(numbers)", "local.sort()", "s = s + len({*seen})",
    "BOX.last = s", "BOX.rate = 0.5 * n", "BOX.items = [s]", "Box.made = n", "ROWS[0, 0] = 0.25",
    "ROWS[:] = ROWS * 0.5", "MEMO.clear()", "s = s + 1 // (3 - n)", "FOUND = n", "s = s + FOUND",
    "if n > 2:\n    raise ValueError", "s = s + np.linalg.inv(np.eye(2) * (x > 1.0))[0, 0]",
)  # fmt: skip
RESULTS = ("x", "s", "a", "n", "best", "np.sum(v)", "np.sum(u)", "len(seen)", "known['k']", "kept",
           "half", "last", "np.sum(local)", "COUNT", "BOX.n", "flag", "np.sum(w)", "np.sum(view)",
           "k", "s * np.float32(2.0)", "n + 1", "v[0]")  # fmt: skip
STARTS = ("0", "0.0", "1.5", "x", "np.float64(0.5)", "np.float32(0.5)", "True", "None")
FIRST = (
    "first, u, v = x, x * np.arange(1.0, 4.0), x + np.zeros(3)",
    "view, seen, known, found = u[1:], [], {'k': 0.0}, set()",
    "same, local = known, np.arange(6.0).reshape(3, 2)",
    "backwards, made = reversed([1.0, 2.0]), (q for q in (0.1, 0.2, 0.3))",
    "pairs, numbers = zip([1.0], [2.0]), iter([0.1 * q for q in range(40)])",
)
CALLS = (9.0, 1.6, 0.7, 3.5, 9.0)


def indented(text: str, depth: int) -> list[str]:
    """The lines of a statement, further to the right."""
    return ["    " * depth + line for line in text.split("\n")]


class Writer:
    """The writer of one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.has_effects = self.random.random() < 0.6

    def statement(self) -> str:
        """A statement that computes, or has an effect."""
        is_effect = self.has_effects and self.random.random() < 0.3
        return self.random.choice(EFFECTS if is_effect else NUMBERS)

    def block(self, depth: int, level: int = 0) -> list[str]:
        """The statements of a body."""
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.15 and level < 2:
                test = self.random.choice(("x > 2.0", "s < a", "n > 1", "a > 0.5 and s > 0.1"))
                lines += indented(f"if {test}:", depth) + self.block(depth + 1, level + 1)
                if self.random.random() < 0.5:
                    lines += indented("else:", depth) + self.block(depth + 1, level + 1)
            elif kind < 0.22 and level < 2:
                lines += indented("for k in range(2):", depth) + self.block(depth + 1, level + 1)
            elif kind < 0.25 and level == 0:
                lines += indented("if x > 5.0:\n    x = x * 0.4\n    continue", depth)
            elif kind < 0.32 and level == 0:
                test = self.random.choice(("y > 0.8", "y > 0.8 and n < 9", "n < 5 and y > 0.8"))
                lines += indented(f"y = x\nwhile {test}:", depth) + self.block(depth + 1, 2)
                lines += indented("n = n + 1\ny = y * 0.4", depth + 1)
            else:
                lines += indented(self.statement(), depth)
        return lines

    def loop(self, depth: int) -> list[str]:
        """A loop, whose steps make x smaller."""
        kind, body = self.random.choice("wwwafffbde"), self.block(depth + 1)
        smaller = indented(self.random.choice(("x = x * 0.6", "x = x / 2.0 - 0.01")), depth + 1)
        if kind in "wa":
            tests = ("x > 1.0", "not x < 1.0") if kind == "w" else ("x > 1.0 and n < 6",)
            return [*indented(f"while {self.random.choice(tests)}:", depth), *body, *smaller]
        if kind == "b":
            leave = indented("if x < 1.0:\n    break", depth + 1)
            return [*indented("while True:", depth), *smaller, *leave, *body, *smaller]
        if kind == "d":
            return [*indented("for k in range(3):", depth), *body, *smaller]
        head = "for k in range(8):" if kind == "f" else "for q in (0.1, 0.2, 0.3, 0.4, 0.5):"
        found = [*indented(head, depth), *body, *smaller]
        found += indented("if x < 1.0:\n    break", depth + 1)
        if self.random.random() < 0.3:
            found += indented("else:", depth) + self.block(depth + 1, 2)
        return found

    def program(self) -> str:
        """The text of a module with a function `program` of one number."""
        pick = self.random
        used = pick.choice(("0", "0.0", "x", "np.float64(0.5)"))
        lines = ["def outer():", "    kept = 0", "    def program(x):"]
        start = f"s, a, n = {pick.choice(STARTS[:6])}, {pick.choice(('x', '0.5', used))}, 0"
        first = (
            start,
            f"best, flag = {pick.choice(STARTS)}, False",
            *FIRST,
        )
        for text in first:
            lines += indented(text, 2)
        if pick.random() < 0.8:
            lines += indented("half, last, k, w = 0.0, 0, 0, v * 1.0", 2)
        if self.has_effects and pick.random() < 0.3:
            lines += indented("def bump():\n    nonlocal n\n    n = n + 1", 2)
        lines += self.loop(2)
        if pick.random() < 0.3:
            lines += indented(pick.choice(("x = first * 0.9", "a = a + 0.5", "v[0] = 3.0")), 2)
        if pick.random() < 0.3:
            lines += self.loop(2)
        results = pick.sample(RESULTS, pick.randint(4, 8))
        return text_of(lines, results)


def text_of(lines: list[str], results: list[str]) -> str:
    """The text of a module."""
    for name in ("COUNT", "TOTAL", "LOG", "FOUND", "kept"):
        if any(line.strip().startswith((f"{name} =", f"{name} +=")) for line in lines[3:]):
            lines.insert(3, f"        {'nonlocal' if name == 'kept' else 'global'} {name}")
    returned = indented(f"return {', '.join(results)},", 2)
    return "\n".join([HEAD, *lines, *returned, "    return program", ""])


def one_statement(statement: str) -> str:
    """The text of a module with a loop that has one statement besides its counter."""
    lines = ["def outer():", "    kept = 0", "    def program(x):"]
    for text in FIRST:
        lines += indented(text, 2)
    lines += indented("s, a, n, best, flag, half, last, k = 0.5, x, 0, 0, False, 0.0, 0, 0", 2)
    lines += indented("w = v * 1.0\ndef bump():\n    nonlocal kept\n    kept = kept + 1", 2)
    lines += [*indented("while x > 1.0:", 2), *indented(statement, 3), *indented("x = x / 2.0", 3)]
    return text_of(lines, [*RESULTS])


def module_of(seed: int, text: str) -> dict[str, Any]:
    """The globals of a module with this text, whose lines Python can show."""
    name = f"<effects {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"np": np, "tj": tj, "__name__": "effects"}
    exec(compile(text, name, "exec"), space)
    return space


def bits_of(array: np.ndarray) -> str:
    """The bits of an array; of objects there are none to compare."""
    return "" if array.dtype == object else array.tobytes().hex()


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """The results of a call by type and bits, or the type of its error."""
    try:
        found = call()
    except tj.TracejitError:
        raise
    except Exception as error:
        return (type(error).__name__,)
    return tuple([f"{type(one)} {one!r} {bits_of(np.asarray(one))}" for one in found])


def left_behind(space: dict[str, Any]) -> dict[str, str]:
    """The state of a module."""
    names = ("COUNT", "TOTAL", "LOG", "STATE", "SEEN", "ITEMS", "ROWS", "MEMO")
    found = {name: repr(space[name]) for name in names}
    found |= {name: repr(space.get(name)) for name in ("FOUND", "SHOWN")}
    found |= {"Box.made": repr(vars(space["Box"]).get("made"))}
    found |= {f"BOX.{name}": repr(value) for name, value in vars(space["BOX"]).items()}
    return found | {"default": repr(space["keeping"].__defaults__)}


def total_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the results of a program."""
    return lambda x, *more: sum([1.0 * np.sum(one) for one in program(x, *more)]) + 0.0 * x


def on_a_tape(f: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative by what Python runs."""

    def derivative(number: Any, *more: Any) -> Any:
        x = tj.constant(number)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *more)
        return tape.gradient(y, x).numpy()

    return derivative


def one_number(number: float) -> tuple[Any, ...]:
    """The arguments of a program of one number."""
    return (np.float64(number),)


Given = Callable[[float], tuple[Any, ...]]


def differs(
    seed: int,
    text: str = "",
    numbers: Sequence[float] = CALLS,
    count: int = 3,
    given: Given = one_number,
) -> str | None:
    """The first difference between tracejit and plain Python, in calls with what is given for so
    many of these numbers; None where the program is refused, and empty where there is none."""
    text = text or Writer(seed).program()
    here, there = module_of(seed, text), module_of(seed, text)
    plain, recorded = here["outer"](), there["outer"]()
    compiled = tj.function(recorded, exact=True, cache=False)
    pick = random.Random(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in pick.sample(numbers, count):
            mine, its = given(number), given(number)
            wanted = outcome(lambda: plain(*mine))  # noqa: B023
            try:
                found = outcome(lambda: compiled(*its))  # noqa: B023
            except tj.TracejitError as error:
                return None if is_refusal(error) else f"{type(error).__name__}: {error}"
            for got, right in zip_longest(found, wanted):
                if got != right:
                    return f"at {number} a result is {got}, not {right}"
            if repr(its) != repr(mine):
                return f"at {number} the arguments are {its}, not {mine}"
            state = left_behind(there)
            for name, value in left_behind(here).items():
                if state[name] != value:
                    return f"at {number} it leaves {name} as {state[name]}, not {value}"
        if seed % 4 == 0 and len(wanted) > 1:
            return slopes_differ(text, seed, numbers[seed % 3 : seed % 3 + 2], given)
        return ""


def is_refusal(error: tj.TracejitError) -> bool:
    """Return whether an error is one that tells the user what to write."""
    return type(error).__name__ != "StrictError" and "Fix:" in str(error)


def slopes_differ(
    text: str, seed: int, numbers: Sequence[float], given: Given = one_number
) -> str | None:
    """The difference between derivatives of the compiled function, on a tape, and by differences,
    which only a program that leaves nothing behind has."""
    space = module_of(seed, text)
    plain, here, there = (total_of(module_of(seed, text)["outer"]()) for _ in range(3))
    alone, before = total_of(space["outer"]()), left_behind(space)
    by_tape, compiled, is_taped = on_a_tape(here), tj.grad(there), True
    for number in numbers:
        try:
            plain(*given(number))
        except Exception:  # which the values have compared
            return ""
        try:
            wanted = by_tape(*given(number)) if is_taped else None
        except (tj.TracejitError, TypeError, AttributeError):
            # A tape refuses more, and takes a list times an integer of NumPy's for an array.
            is_taped = False
        try:
            found = compiled(*given(number))
        except tj.TracejitError as error:
            return None if is_refusal(error) else f"{type(error).__name__}: {error}"
        if is_taped and not np.allclose(found, wanted, rtol=1e-7, atol=1e-9, equal_nan=True):
            return f"its derivative at {number} is {found}, and on a tape {wanted}"
        one, other = (
            along(lambda x: alone(*given(x)[:1], *given(number)[1:]), number, 1.0, step)  # noqa: B023
            for step in (1e-4, 1e-5)
        )
        is_smooth = np.isclose(one, other, rtol=1e-6, atol=1e-6) and left_behind(space) == before
        if is_smooth and not np.isclose(found, other, rtol=1e-5, atol=1e-5):
            return f"its derivative at {number} is {found}, and by differences {other}"
    return ""


def main() -> None:
    """Compare programs, and print those that differ."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    refused = failed = 0
    for seed in range(first, first + count):
        problem = differs(seed)
        refused += problem is None
        if problem:
            failed += 1
            text = Writer(seed).program().removeprefix(HEAD)
            sys.stdout.write(f"--- {seed}: {problem}\n{text}\n")
    sys.stdout.write(f"{count} programs from seed {first}: {refused} refused, {failed} differ\n")


if __name__ == "__main__":
    main()
