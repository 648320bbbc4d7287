"""Random programs with loops, as Python source over `loops.scan` and `loops.fori_loop`.

What they are after is aliasing: carries that are swapped, handed through, views of each other, of
an argument or of an array around the loop, written to as copies, and stacked while they are.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 3
Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((), (SIZE,), (SIZE, SIZE))


class Writer:
    """The writer of one program: its lines, and the variables in reach by shape."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def name(self, letter: str = "v") -> str:
        """A new variable."""
        self.count += 1
        return f"{letter}{self.count}"

    def program(self) -> str:
        """The text of `make`, which takes the loops and returns a function of x, w and s."""
        self.lines = ["def make(loops):", "    def f(x, w, s):"]
        scope = {(SIZE,): ["x"], (SIZE, SIZE): ["w"], (): ["s"]}
        for _ in range(self.random.randint(0, 2)):
            self.statement(scope, 2, 0)
        for _ in range(self.random.randint(1, 2)):
            self.loop(scope, 2, 0)
        for _ in range(self.random.randint(0, 2)):
            self.statement(scope, 2, 0)
        results = [self.pick(scope, shape) for shape in SHAPES] + [self.pick(scope, (SIZE,))]
        self.lines.append(f"        return {', '.join(results)}")
        self.lines.append("    return f")
        return "\n".join(self.lines) + "\n"

    def pick(self, scope: dict[Shape, list[str]], shape: Shape) -> str:
        """A variable of this shape, one of the latest more often."""
        names = scope[shape]
        return names[-1 - min(int(self.random.expovariate(0.5)), len(names) - 1)]

    def statement(self, scope: dict[Shape, list[str]], indent: int, depth: int) -> None:
        """A statement that makes one more variable."""
        kinds: list[Callable[..., str]] = [
            self.sum_of_two,
            self.sum_of_two,
            self.function,
            self.view,
            self.written,
            self.added_to,
            self.choice,
            self.fresh,
            self.alias,
        ]
        shape = self.random.choice(SHAPES)
        text = self.random.choice(kinds)(scope, shape)
        name = self.name()
        pad = "    " * indent
        first, *rest = text.split("\n")
        self.lines.append(f"{pad}{name} = {first}")
        self.lines += [f"{pad}{line.format(name)}" for line in rest]
        scope[shape].append(name)

    def sum_of_two(self, scope: Any, shape: Shape) -> str:
        one, other = self.pick(scope, shape), self.pick(scope, self.random.choice([shape, ()]))
        return f"np.tanh({one} {self.random.choice('+-*')} {other}) * 1.1"

    def function(self, scope: Any, shape: Shape) -> str:
        return (
            f"np.{self.random.choice(['sin', 'cos', 'tanh', 'square'])}({self.pick(scope, shape)})"
        )

    def view(self, scope: Any, shape: Shape) -> str:
        whole = self.pick(scope, (SIZE, SIZE))
        if shape == ():
            return f"{self.pick(scope, (SIZE,))}[{self.random.randrange(SIZE)}]"
        if shape == (SIZE,):
            row = f"{self.pick(scope, shape)}[::-1]"
            return self.random.choice([row, f"{whole}[1]", f"{whole}[:, 2]", f"np.diag({whole})"])
        return self.random.choice([f"{whole}.T", f"{whole}[::-1]", f"{whole}[:, ::-1]"])

    def written(self, scope: Any, shape: Shape) -> str:
        if not shape:
            return self.function(scope, shape)
        first = self.pick(scope, shape)
        other = self.pick(scope, shape[1:])
        index = self.random.choice(["0", "-1", "1"])
        return f"{first}.copy()\n{{0}}[{index}] = {other}"

    def added_to(self, scope: Any, shape: Shape) -> str:
        if not shape:
            return self.function(scope, shape)
        first, other = self.pick(scope, shape), self.pick(scope, shape)
        slices = self.random.choice(["[:]", "[1:]", "[:-1]"])
        return f"{first}.copy()\n{{0}}{slices} += np.sin({other}){slices}"

    def choice(self, scope: Any, shape: Shape) -> str:
        one, other = self.pick(scope, shape), self.pick(scope, shape)
        return f"np.where({one} > {other}, {one} * 0.5, {other})"

    def fresh(self, scope: Any, shape: Shape) -> str:
        if shape == (SIZE, SIZE):
            rows = [self.pick(scope, (SIZE,)) for _ in range(SIZE)]
            row = self.pick(scope, (SIZE,))
            matrix = self.pick(scope, shape)
            return self.random.choice(
                [
                    f"np.stack([{', '.join(rows)}])",
                    f"np.outer({row}, {rows[0]}) * 0.3",
                    f"np.tanh({matrix} @ {self.pick(scope, shape)})",
                ]
            )
        if shape == (SIZE,):
            matrix, row = self.pick(scope, (SIZE, SIZE)), self.pick(scope, shape)
            return self.random.choice(
                [
                    "np.zeros_like(x)",
                    f"np.tanh({matrix} @ {row})",
                    f"np.sum({matrix}, axis=1) * 0.3",
                ]
            )
        return self.random.choice([f"np.sum({self.pick(scope, (SIZE,))}) * 0.3", "np.cos(s)"])

    def alias(self, scope: Any, shape: Shape) -> str:
        return self.pick(scope, shape)

    def loop(self, scope: dict[Shape, list[str]], indent: int, depth: int) -> None:
        """A loop, whose last carry and stacked rows are variables of what follows."""
        pad = "    " * indent
        shapes = [self.random.choice(SHAPES) for _ in range(self.random.randint(1, 3))]
        names = [self.name("c") for _ in shapes]
        step, element, t = self.name("step"), self.name("e"), self.name("i")
        is_scan = self.random.random() < 0.7
        carry = f"({', '.join(names)},)"
        inner = {shape: list(known) for shape, known in scope.items()}
        if is_scan:
            of_rows = self.random.random() < 0.5
            xs = self.pick(scope, (SIZE, SIZE) if of_rows else (SIZE,))
            inner[(SIZE,) if of_rows else ()].append(element)
            self.lines.append(f"{pad}def {step}(carry, {element}):")
        else:
            self.lines.append(f"{pad}def {step}({t}, carry):")
        self.lines.append(f"{pad}    {carry} = carry")
        if not is_scan:
            self.lines.append(f"{pad}    {element} = {self.pick(scope, (SIZE,))}[{t}] + {t} * 0.1")
            inner[()].append(element)
        for name, shape in zip(names, shapes, strict=True):
            inner[shape].append(name)
        for _ in range(self.random.randint(1, 4)):
            self.statement(inner, indent + 1, depth)
        if depth < 1 and self.random.random() < 0.4:
            self.loop(inner, indent + 1, depth + 1)
            self.statement(inner, indent + 1, depth)
        new = [self.pick(inner, shape) for shape in shapes]
        initial = [self.pick(scope, shape) for shape in shapes]
        after = [self.name() for _ in shapes]
        begin = f"({', '.join(initial)},)"
        returned = f"({', '.join(new)},)"
        if is_scan:
            row_shapes = [self.random.choice(SHAPES[:2]) for _ in range(self.random.randint(0, 2))]
            rows = [self.pick(inner, shape) for shape in row_shapes]
            stacked = [self.name("r") for _ in row_shapes]
            self.lines.append(f"{pad}    return {returned}, ({''.join(f'{r}, ' for r in rows)})")
            options = self.random.choice(["", ", reverse=True"])
            self.lines.append(
                f"{pad}({''.join(f'{v}, ' for v in after)}), ({''.join(f'{r}, ' for r in stacked)})"
                f" = loops.scan({step}, {begin}, {xs}{options})"
            )
            for name, shape in zip(stacked, row_shapes, strict=True):
                scope[(SIZE, *shape)].append(name)
        else:
            self.lines.append(f"{pad}    return {returned}")
            self.lines.append(
                f"{pad}({''.join(f'{v}, ' for v in after)}) = "
                f"loops.fori_loop(0, {SIZE}, {step}, {begin})"
            )
        for name, shape in zip(after, shapes, strict=True):
            scope[shape].append(name)


def make_of(seed: int) -> tuple[str, Callable[[Any], Callable[..., Any]]]:
    """The text of a random program, and its `make`."""
    text = Writer(seed).program()
    filename = f"<loop attack {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, filename, "exec"), space)
    return text, space["make"]


def arguments() -> tuple[np.ndarray, np.ndarray, Any]:
    """x, w and s."""
    numbers = np.random.default_rng(5)
    return numbers.normal(size=SIZE), numbers.normal(size=(SIZE, SIZE)), np.float64(0.7)
