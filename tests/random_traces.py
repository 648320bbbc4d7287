"""Random programs of several traces: views, aliases, writes in place, breaks, recursion, loops that
are recorded trip by trip, and several ifs, on data and on values. Each is called on its paths in
random order, and compared with NumPy, its gradients with complex step.

python -m tests.random_traces COUNT [SEED]      compare so many programs, each with a new seed
"""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import tracejit as tj
from tests.random_loops import program_of
from tracejit.support.cost_model import assuming

STEP = 1e-30
LARGEST = 1e6
ROUNDING = 1e-11
SLOPES = 1e-9

HEAD = """
def cell(u, v):
    return np.tanh(v * np.sin(u) * np.exp(-u * u) + np.cos(u) * u)


def program(d, w, A):
    def descend(u, i):
        if i == 4 or d[i] > {c}:
            return {u}
        return cell(descend({v}, i + 1), {row})

    u, v, t = w * 1.0, A[1], np.sum(w) * 0.5
    b, B, p, P = w.copy(), A.copy(), {p}, {P}
    z, seen = {z}, []
"""
LAST = "    return np.sum(u * np.sin(v)) + np.sum(b * p) * 0.3 + np.sum(B * P) * 0.1 + t"
VECTORS = ("u", "v", "u", "v", "b", "z", "p", "P[{k}]", "B[{k}]", "P[:, {k}]")
VIEWS = (
    "A[{k}]", "A[:, {k}]", "A.T[{k}]", "w[::-1]", "np.diag(A)", "A.reshape(-1)[{k}:{k} + 4]", "w",
    "A[::-1, {k}]", "np.diagonal(A.T)", "A.ravel()[{k}::4]", "A[1:][{k} % 3]", "A[-1]",
    "w.reshape(2, 2).T.ravel()", "np.diag(A[::-1])", "w[None][0]", "w.reshape(4, 1)[:, 0]",
    "np.swapaxes(A, 0, 1)[{k}]",
)  # fmt: skip
MATRICES = ("A", "A.T", "A[::-1]", "A.reshape(-1).reshape(4, 4)", "A[:, ::-1]", "A.T[::-1]")
OWN = (
    "b", "b[::-1]", "B[{k}]", "B[:, {k}]", "B.T[{k}]", "np.diagonal(B).copy()",
    "B.reshape(-1)[{k}:{k} + 4]",
)  # fmt: skip
CONSTANTS = ("0.0", "0.3", "-0.4", "0.7")


class Source:
    """The text of a program being made."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.left = self.pick.randint(3, 8)
        self.lines: list[str] = []

    def one(self, choices: Sequence[str]) -> str:
        """One of these, with a number for {k}."""
        return self.pick.choice(choices).replace("{k}", str(self.pick.randrange(4)))

    def vector(self, depth: int = 0) -> str:
        """An expression for four numbers."""
        if depth > 1 or self.pick.random() < 0.35:
            return self.one(VECTORS if self.pick.random() < 0.6 else VIEWS)
        left, right = self.vector(depth + 1), self.vector(depth + 1)
        return self.pick.choice(
            (
                f"np.sin({left})",
                f"np.tanh({left} + {right})",
                f"({left} * {right})",
                f"({left} - 0.5 * {right})",
                f"cell({left}, {right})",
                f"cell(cell({left}, {right}), {right})",
                f"(A @ {left})",
                f"({left} @ P.T)",
                f"np.roll({left}, 1)",
                f"({left} + 0.3 * t)",
                f"np.exp(-{left} * {left})",
                f"np.concatenate([{left}[2:], {right}[:2]])",
                f"np.where(d[:4] > 0.1, {left}, {right})",
                f"({left})[::-1]",
            )
        )

    def number(self) -> str:
        """An expression for a number."""
        forms = ("np.sum({})", "({})[1]", "np.mean({}) + 0.5 * t", "0.5 * np.dot({}, w)")
        return self.pick.choice(forms).format(self.vector(1))

    def condition(self, step: str = "") -> str:
        """A condition on the data, mostly, or on what is computed."""
        data = f"d[{step}]" if step and self.pick.random() < 0.8 else self.one(("d[{k}]",))
        state = self.pick.choice((*[data] * 6, "t", self.one(("u[{k}]", "v[{k}]")), "np.sum(u)"))
        text = f"{state} > {self.pick.choice(CONSTANTS)}"
        if self.pick.random() < 0.15:
            text += f" and {self.condition(step)}"
        return text

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def block(self, depth: int, step: str) -> None:
        """A few statements, in the loop of `step` if there is one."""
        for _ in range(self.pick.randint(1, 2)):
            self.left -= 1
            kinds = SIMPLE if depth > 2 or self.left < 1 else DECIDING if depth == 1 else STATEMENTS
            self.pick.choice(kinds)(self, depth, step)

    @property
    def text(self) -> str:
        names = {
            "c": self.pick.choice(CONSTANTS),
            "u": self.pick.choice(("u", "cell(u, p)", "u[::-1]", "w[::-1] * u")),
            "v": self.pick.choice(("u * 0.9", "cell(u, w)", "np.sin(u) + P[1]")),
            "row": self.pick.choice(("A[i]", "P[i]", "A.T[i]", "A[i][::-1]", "B[i]")),
            "p": self.one(VIEWS),
            "P": self.one(MATRICES),
            "z": self.one(OWN),
        }
        while self.left > 0:
            self.block(1, "")
        return HEAD.format(**names) + "\n".join([*self.lines, LAST]) + "\n"


def _assign(made: Source, depth: int, step: str) -> None:
    kind = made.pick.random()
    if kind < 0.55:
        made.add(depth, f"{made.pick.choice('uv')} = {made.vector()}")
    elif kind < 0.7:
        made.add(depth, f"t = {made.number()}")
    elif kind < 0.8:
        made.add(depth, f"p = {made.one(VIEWS)}")
    elif kind < 0.9:
        made.add(depth, "u, v = v, u")
    else:
        made.add(depth, f"z = {made.one(OWN)}")


def _write(made: Source, depth: int, step: str) -> None:
    vector = made.vector(1)
    # Copies, because NumPy itself goes wrong where a row is assigned a column of the same array.
    forms = (
        "b[1:] += 0.3 * ({})[:-1]", "b[{k}] = t", "z += 0.2 * {}", "z[::-1] = np.copy({})",
        "B[{k}] = np.copy({})", "B[:, {k}] += {}", "b *= {}", "B *= 0.9",
        "z[:2] = np.copy(({})[2:])", "b[d[:4] > 0.0] = 0.5", "B[1:] -= 0.1 * {}",
        "np.add.at(b, [0, 0, 2], ({})[1])",
    )  # fmt: skip
    made.add(depth, made.one(forms).format(vector))


def _if(made: Source, depth: int, step: str) -> None:
    made.add(depth, f"if {made.condition(step)}:")
    made.block(depth + 1, step)
    if made.pick.random() < 0.4:
        made.add(depth, "else:")
        made.block(depth + 1, step)


def _for(made: Source, depth: int, step: str) -> None:
    name = f"i{depth}"
    if made.pick.random() < 0.6:
        made.add(depth, f"for {name} in range({made.pick.choice((3, 4))}):")
        row = made.pick.choice(("A", "P", "B", "A.T"))
        made.add(depth + 1, f"u = cell(u, {row}[{name}])")
    else:
        rows = made.pick.choice(("A", "P", "A.T", "A[1:]", "B"))
        made.add(depth, f"for {name}, row in enumerate({rows}):")
        made.add(depth + 1, "v = np.tanh(v * row + u)")
    made.block(depth + 1, name)
    made.add(depth + 1, f"if {made.condition(name)}:")
    made.add(depth + 2, made.pick.choice(("break", "break", "continue")))
    if made.pick.random() < 0.7:
        made.block(depth + 1, name)


def _while(made: Source, depth: int, step: str) -> None:
    name = f"j{depth}"
    made.add(depth, f"{name} = 0")
    made.add(depth, f"while {name} < 4 and {made.condition(name)}:")
    made.add(depth + 1, "seen.append(u)")
    made.add(depth + 1, f"u = cell(seen[-1], {made.one(VIEWS)}) * 0.9")
    made.block(depth + 1, name)
    made.add(depth + 1, f"{name} += 1")


def _leave(made: Source, depth: int, step: str) -> None:
    made.add(depth, f"if {made.condition(step)}:")
    made.add(depth + 1, f"return {made.number()} + t")


def _descend(made: Source, depth: int, step: str) -> None:
    made.add(depth, f"{made.pick.choice('uv')} = descend({made.vector(1)}, {step or 0})")


Statement = Callable[[Source, int, str], None]
SIMPLE: tuple[Statement, ...] = (_assign, _assign, _write)
DECIDING: tuple[Statement, ...] = (
    _if,
    _if,
    _if,
    _for,
    _for,
    _for,
    _while,
    _while,
    _leave,
    _descend,
)
STATEMENTS = (*SIMPLE, *DECIDING)


# What holds

Both = tuple[Any, Any, Any]


def _watching(f: Callable[..., Any], d: Any, w: Any, a: Any) -> Both:
    w, a = tj.constant(w), tj.constant(a)
    with tj.GradientTape() as tape:
        tape.watch([w, a])
        y = f(d, w, a)
    return y, *tape.gradient(y, [w, a], unconnected_gradients="zero")


def _pulled(f: Callable[..., Any], d: Any, w: Any, a: Any) -> Both:
    y, pull = tj.vjp(f, d, w, a)
    return y, *pull(1.0)[1:]


def _both(f: Callable[..., Any]) -> Callable[..., Both]:
    both = tj.value_and_grad(f, argnums=(1, 2))

    def flat(*arguments: Any) -> Both:
        value, (w, a) = both(*arguments)
        return value, w, a

    return flat


def _slopes(f: Callable[..., Any]) -> Callable[..., Both]:
    slopes = tj.grad(f, argnums=(1, 2))
    return lambda *arguments: (None, *slopes(*arguments))


Make = Callable[[Callable[..., Any], Callable[..., Any]], Callable[..., Both]]
MODES: dict[str, Make] = {
    "value_and_grad": lambda f, compiled: _both(compiled(f)),
    "grad": lambda f, compiled: _slopes(compiled(f)),
    "grad of plain": lambda f, compiled: _slopes(f),
    "vjp": lambda f, compiled: partial(_pulled, compiled(f)),
    "tape": lambda f, compiled: partial(_watching, compiled(f)),
    "value_and_grad inside": lambda f, compiled: compiled(_both(f)),
    "grad inside": lambda f, compiled: compiled(_slopes(f)),
    "grad of function inside": lambda f, compiled: compiled(_slopes(compiled(f))),
    "tape inside": lambda f, compiled: compiled(partial(_watching, f)),
}
"""How gradients are asked for: of a function, and of what compiles functions."""
FIGURES: tuple[dict[str, int], ...] = (
    {}, {"inline_elements": 2}, {"many_nodes": 0}, {"inline_elements": 2, "many_nodes": 0},
)  # fmt: skip
"""Cost models: with updates in place of small arrays, and with two calls for value and gradient."""


class Expected:
    """What NumPy computes for one call, and the slope along a direction by complex step."""

    def __init__(self, f: Callable[..., Any], arguments: Sequence[np.ndarray], number: int) -> None:
        d, w, a = self.arguments = arguments
        rng = np.random.default_rng(number)
        self.directions = rng.normal(size=w.shape), rng.normal(size=a.shape)
        self.value = f(*[one.copy() for one in arguments])
        moved = [
            one + 1j * STEP * along for one, along in zip((w, a), self.directions, strict=True)
        ]
        self.slope = float(np.imag(f(d, *moved))) / STEP

    def is_tame(self) -> bool:
        """Return whether rounding does not grow beyond what is compared."""
        return bool(abs(self.value) < LARGEST and abs(self.slope) < LARGEST)

    def value_differs(self, found: Any, exact: bool) -> str:
        """The difference of a value; empty where there is none."""
        value = np.asarray(found)
        wanted = np.asarray(self.value)
        if exact and value.tobytes() != wanted.tobytes():
            return f"value {found!r}, not the bits of {self.value!r}"
        if not abs(value - wanted) <= ROUNDING * (1.0 + abs(wanted)):
            return f"value {found!r}, not {self.value!r}"
        return ""

    def slope_differs(self, gradients: Sequence[Any]) -> str:
        """The difference of the slope along the direction."""
        parts = [np.asarray(g) * v for g, v in zip(gradients, self.directions, strict=True)]
        slope, scale = sum(map(np.sum, parts)), 1.0 + sum(np.sum(np.abs(part)) for part in parts)
        return (
            "" if abs(slope - self.slope) <= SLOPES * scale else f"slope {slope}, not {self.slope}"
        )


def text_of(seed: int) -> str:
    """The program of a seed."""
    return Source(seed).text


def calls_of(f: Callable[..., Any], seed: int) -> list[Expected]:
    """Calls of 3 to 12 sets of data, and what is expected of them."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([3, 4, 5, 6, 8, 12], p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05]))
    scales = (5, 1.0), (4, 0.7), ((4, 4), 0.5)
    sets = [[rng.normal(size=size) * scale for size, scale in scales] for _ in range(count)]
    return [Expected(f, arguments, k) for k, arguments in enumerate(sets)]


def differences(seed: int) -> Iterator[str]:
    """The ways in which the compiled program of a seed differs from NumPy's."""
    f = program_of(text_of(seed), seed)
    with np.errstate(all="ignore"):
        calls = [call for call in calls_of(f, seed) if call.is_tame()]
        pick = random.Random(seed)
        if not calls:  # all values are too large to compare
            return
        order = [*pick.sample(calls, len(calls)), *pick.choices(calls, k=len(calls) + 2)]
        exact = pick.random() < 0.4
        options = {"exact": exact, "memory_budget": pick.choice((None, None, 0, 100))}
        compiled = partial(tj.function, cache=False, **options)
        with assuming(**pick.choice(FIGURES)):
            if exact:
                values = compiled(f)
                for number, call in enumerate(order):
                    problem = call.value_differs(values(*call.arguments), exact)
                    if problem:
                        yield f"call {number}: {problem}"
            mode = pick.choice(list(MODES))
            gradients = MODES[mode](f, compiled)
            for number, call in enumerate(order):
                value, *found = gradients(*call.arguments)
                problem = "" if value is None else call.value_differs(value, False)
                problem = problem or call.slope_differs(found)
                if problem:
                    yield f"{mode} with {options}, call {number}: {problem}"


def differs(seed: int) -> str:
    """The first difference of a program; empty where there is none."""
    try:
        return next(differences(seed), "")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    """Compare programs, and print those that differ."""
    os.environ |= {"TRACEJIT_STRICT": "1", "TRACEJIT_CACHE": "0"}
    warnings.simplefilter("ignore")
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = 0
    for seed in range(first, first + count):
        problem = differs(seed)
        if problem:
            found += 1
            sys.stdout.write(f"--- {seed}: {problem}\n{text_of(seed)}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{found} of {count} programs differ, from seed {first} on\n")


if __name__ == "__main__":
    main()
