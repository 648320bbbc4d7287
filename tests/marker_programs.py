"""Random programs of gradient markers, tapes and Variables, as Python source: the generator of
tests/test_marker_programs.py.

A program defines Variables and constants, functions with the four markers in them, and `drive`,
which calls them under tapes, may assign Variables in between, and answers values and gradients of
first, second and sometimes third order. It is written with a few names of its own (`tape`,
`custom_gradient`, `sin`, ...), so that it runs on tracejit here and on TensorFlow
(tests/marker_programs_by_tensorflow.py). `inner` and `outer` are what a mode makes of its functions
(nothing, `function`, `recompute`), and `whole` what it makes of `drive`.

A kind of drive is an entry of DRIVES, a way to run a program one of MODES: other kinds, such as
forward mode, are added there.
"""

from __future__ import annotations

import itertools
import linecache
import random
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj

_numbers = itertools.count()


class MarkerProgram(NamedTuple):
    """A program as text. It is `for_tensorflow` if it has nothing that TensorFlow has not, and
    `for_gradients` if the text has `by_gradients`, which answers as `drive` does by gradients of
    the recording instead of tapes."""

    seed: int
    text: str
    for_tensorflow: bool
    for_gradients: bool

    def __repr__(self) -> str:
        return f"\n# program {self.seed}\n{self.text}"


class Writer:
    """Writes one program; `lines` are what there is of it."""

    def __init__(self, seed: int) -> None:
        """The program of this number."""
        self.random = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.count = 0
        self.for_tensorflow = True
        self.is_vector = self.chance(0.4)
        self.markers: list[str] = []
        self.functions: list[str] = []
        self.trainable = ["v"]
        self.variables = ["v"]
        self.constants = ["k"]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of them."""
        return self.random.choice(choices)

    def some(self, choices: Sequence[Any], least: int = 1) -> list[Any]:
        """Some of them, in their order."""
        number = self.random.randint(least, len(choices))
        chosen = set(self.random.sample(range(len(choices)), number))
        return [one for k, one in enumerate(choices) if k in chosen]

    def number(self) -> str:
        """A number that is neither small nor large, nor round."""
        return f"{self.pick((-1, 1)) * self.random.uniform(0.3, 1.7):.3f}"

    def data(self) -> str:
        """The value of an argument, a constant or a Variable."""
        return f"[{self.number()}, {self.number()}]" if self.is_vector else self.number()

    def name(self, letter: str) -> str:
        """A name that is new."""
        self.count += 1
        return f"{letter}{self.count}"

    def add(self, text: str, depth: int = 0) -> None:
        """Write lines."""
        self.lines += textwrap.indent(text, "    " * depth).splitlines()

    # Expressions

    def plain(self, known: Sequence[str]) -> str:
        """An operation without a marker."""
        a, b = self.pick(known), self.pick(known)
        return str(
            self.pick(
                (
                    f"sin({a})",
                    f"{a} * {b}",
                    f"{a} + {b}",
                    f"{a} - {self.number()} * {b}",
                    f"square({a}) * 0.5",
                    f"exp(-square({a}))",
                    f"{a} * {self.number()}",
                )
            )
        )

    def marked(self, known: Sequence[str]) -> str:
        """A call of a marker or of a function that was defined before."""
        a, b = self.pick(known), self.pick(known)
        called = self.pick([*self.markers, *self.functions, "stop", "stop"])
        if called in ("stop",) or called.startswith("P"):
            return f"{called}({a})"
        if called.endswith("_pair"):
            return f"{called}({a}, {b})[{self.pick((0, 1))}]"
        return f"{called}({a}, {b})" if called.endswith("_two") else f"{called}({a})"

    def expression(self, known: Sequence[str]) -> str:
        """Any."""
        return self.marked(known) if self.chance(0.55) else self.plain(known)

    def body(self, parameters: Sequence[str], steps: int, reads: float = 0.4) -> list[str]:
        """Assignments to local names, and what is known at the end."""
        known = list(parameters)
        if self.chance(reads):
            known.append(self.pick([*self.variables, *self.constants]))
        for _ in range(steps):
            new = self.name("t")
            self.add(f"{new} = {self.expression(known)}", 1)
            known.append(new)
        return known

    # Definitions

    def custom_gradient(self) -> None:
        """A custom gradient with a random rule."""
        two = self.chance(0.3)
        pair = self.chance(0.15)
        name = self.name("R") + ("_pair" if pair else "_two" if two else "")
        parameters = ["a", "b"] if two or pair else ["a"]
        reads = self.chance(0.25)
        self.add(f"@custom_gradient\ndef {name}({', '.join(parameters)}):")
        known = self.body(parameters, self.random.randint(0, 1), 0.0)
        factor = f" * {self.pick(self.trainable)}" if reads else ""
        value = f"{self.pick(('sin', ''))}({known[-1]} * {self.number()}){factor}"
        self.add(f"r = {value}", 1)
        known.append("r")
        seeds = ["d", "e"] if pair else ["d"]
        self.add(f"def rule({', '.join(seeds)}, variables=None):", 1)
        answers = [self.answer(known, seeds) for _ in parameters]
        if len(answers) > 1 and self.chance(0.2):
            answers[self.pick((0, 1))] = "None"
        answer = answers[0] if len(answers) == 1 else f"({', '.join(answers)})"
        self.add(f"found = {answer}", 2)
        factors = f"[d * {self.number()} for _ in variables]"
        self.add(f"return (found, {factors}) if variables else found", 2)
        results = f"(r, {known[0]} * 0.7)" if pair else "r"
        self.add(f"return {results}, rule", 1)
        self.markers.append(name)

    def answer(self, known: Sequence[str], seeds: Sequence[str]) -> str:
        """What a rule answers for one input: linear in the cotangent, clipped, or reading values;
        it may decide, and may call what was defined before."""
        d = seeds[0] if len(seeds) == 1 else f"({seeds[0]} + 0.5 * {seeds[1]})"
        values = [*known, *self.constants, *self.variables]
        kind = self.random.random()
        if kind < 0.3:
            return f"clip({d} * {self.number()}, -0.83, 0.91)"
        if kind < 0.45:
            return f"clip({d}, -0.57, 0.71) * {self.pick(values)}"
        if kind < 0.6:
            return f"{d} * sin({self.pick(values)})"
        if kind < 0.7:
            return f"{d} * {self.pick(values)} * {self.pick(known)}"
        if kind < 0.75 and self.markers:
            return self.marked([d])
        if kind < 0.78:
            self.for_tensorflow = False
            return f"({d} if total({self.pick(known)}) > 0.05 else clip({d}, -0.4, 0.3))"
        if kind < 0.8:
            self.for_tensorflow = False
            return f"({d} * 2.1 if total({d}) > 0.45 else {d} * {self.pick(values)})"
        return f"{d} * {self.number()}"

    def pass_through(self) -> None:
        """A grad_pass_through."""
        name = self.name("P")
        inside = self.pick(("sin(a * 1.3)", "square(a)", "a * 0.4 + 0.2"))
        self.add(f"{name} = pass_through(lambda a: {inside})")
        self.markers.append(name)

    def function(self, wrapper: str) -> None:
        """A function of one argument or two."""
        two = self.chance(0.4)
        name = self.name("g") + ("_two" if two else "")
        parameters = ["a", "b"] if two else ["a"]
        self.add(f"@{wrapper}\ndef {name}({', '.join(parameters)}):")
        known = self.body(parameters, self.random.randint(1, 4))
        self.add(f"return {known[-1]} + 0.3 * {self.pick(known)}", 1)
        self.functions.append(name)

    def main(self) -> None:
        """`f`, which the drive calls: it may assign a Variable, and be a gradient itself."""
        self.add("@outer\ndef f(x, y):")
        known = self.body(["x", "y"], self.random.randint(1, 4))
        if self.chance(0.25):
            self.add(f"{self.pick(self.variables)}.assign({self.pick(known)} * 0.6)", 1)
            new = self.name("t")
            self.add(f"{new} = {self.expression([*known, *self.variables])}", 1)
            known.append(new)
        if self.chance(0.2):
            self.add("with tape() as inside:", 1)
            self.add("inside.watch(x)", 2)
            new = self.name("t")
            self.add(f"{new} = {self.expression([*known[-2:], 'x'])}", 2)
            self.add(f"n = or_zeros(inside.gradient({new}, x), x)", 1)
            known += [new, "n"]
        last = f"{known[-1]} + 0.4 * {self.pick(known)}"
        if self.chance(0.2):
            self.add(f"return {last}, {self.expression(known)}", 1)
            self.add("f_pair = f\ndef f(x, y):\n    p, q = f_pair(x, y)\n    return p + 0.3 * q")
        else:
            self.add(f"return {last}", 1)

    def assignment(self, depth: int) -> None:
        """A Variable gets another value, perhaps."""
        if self.chance(0.3):
            variable = self.pick(self.variables)
            self.add(f"{variable}.assign({variable} * 0.8 + {self.data_expression()})", depth)

    def data_expression(self) -> str:
        """A constant of the program's shape."""
        return f"c({self.data()})"

    def sources(self) -> str:
        """Sources as a list."""
        return f"[{', '.join(self.some(['x', 'y', *self.variables]))}]"

    def write(self) -> MarkerProgram:
        """The whole program."""
        self.add(f"v = V({self.data()})\nk = c({self.data()})")
        if self.chance(0.5):
            trainable = self.chance(0.5)
            self.add(f"w = V({self.data()}, trainable={trainable})")
            self.variables.append("w")
            if trainable:
                self.trainable.append("w")
        for _ in range(self.random.randint(1, 3)):
            self.custom_gradient() if self.chance(0.8) else self.pass_through()
        for _ in range(self.random.randint(0, 2)):
            self.function("inner" if self.chance(0.5) else "recompute")
        self.main()
        drive = self.pick([name for name, (weight, _) in DRIVES.items() for _ in range(weight)])
        for_gradients = bool(DRIVES[drive][1](self))
        by = "by_gradients" if for_gradients else "None"
        self.add(f"return drive, {by}, [c({self.data()}), c({self.data()})]")
        text = "\n".join(self.lines) + "\n"
        return MarkerProgram(self.seed, text, self.for_tensorflow, for_gradients)


# What a drive does. True where it has written `by_gradients`, too.


def nested(writer: Writer) -> bool:
    """A tape around a tape: first and second order of one call, by what both modes of asking
    know."""
    t = f"square(or_zeros(k[0], x)) * 0.5 + {writer.number()} * z + {writer.number()} * x"
    late = writer.chance(0.3)
    writer.add("def drive(x, y):\n    with tape() as o:\n        o.watch([x, y])")
    writer.add("with tape() as i:\n    i.watch([x, y])\n    z = f(x, y)", 2)
    before = len(writer.lines)
    if late:
        writer.assignment(2)
    between = writer.lines[before:]
    writer.add("k = i.gradient(z, [x, y, v])", 2)
    writer.add(f"t = {t}", 2)
    writer.add("return [z, *k, *o.gradient(t, [x, y, v])]", 1)
    writer.add("def by_gradients(x, y):\n    z = f(x, y)")
    writer.lines += [line[4:] for line in between]
    writer.add("k = gradients(z, [x, y, v])", 1)
    writer.add(f"t = {t}", 1)
    writer.add("return [z, *k, *gradients(t, [x, y, v])]", 1)
    return True


def several(writer: Writer) -> bool:
    """Persistent tapes, several targets and sources, one after another, twice called."""
    writer.add("def drive(x, y):\n    found = []")
    writer.add("with tape(persistent=True) as o:\n    o.watch(x)", 1)
    if writer.chance(0.7):
        writer.add("o.watch(y)", 2)
    if "w" in writer.variables and writer.chance(0.5):
        writer.add("o.watch(w)", 2)
    writer.add("with tape(persistent=True) as i:\n    i.watch([x, y])", 2)
    writer.add("z = f(x, y)", 3)
    second = writer.chance(0.6)
    if second:
        writer.assignment(3)
        writer.add(f"u = f({writer.pick(('y, x', 'z, y', 'x, x'))})", 3)
    targets = ["z", "u"] if second else ["z"]
    inside = writer.chance(0.3)
    terms = []
    for _ in range(writer.random.randint(1, 3)):
        depth = 3 if inside else 2
        writer.assignment(depth)
        name, chosen = writer.name("k"), writer.some(targets)
        target = chosen[0] if len(chosen) == 1 else f"[{', '.join(chosen)}]"
        writer.add(f"{name} = i.gradient({target}, {writer.sources()})", depth)
        writer.add(f"found += {name}", depth)
        terms.append(f"total_of({name}, x)")
    terms += writer.some(targets, 0)
    writer.add(f"t = {' + '.join(terms)}", 2)
    writer.assignment(1)
    for _ in range(writer.random.randint(1, 2)):
        target = writer.pick(["t", "t", *targets])
        writer.add(f"found += o.gradient({target}, {writer.sources()})", 1)
    writer.add(f"return [{', '.join(targets)}, *found]", 1)
    return False


def opened_later(writer: Writer) -> bool:
    """A tape that is opened between the call and its gradient, or was stopped during the call: it
    sees the gradient alone."""
    if writer.chance(0.5):
        writer.add("def drive(x, y):\n    with tape(persistent=True) as i:")
        writer.add("i.watch([x, y])\nz = f(x, y)", 2)
        writer.add("with tape() as o:\n    o.watch([x, y])", 1)
    else:
        writer.add("def drive(x, y):\n    with tape() as o:\n        o.watch([x, y])")
        writer.add("with o.stop_recording():", 2)
        writer.add("with tape(persistent=True) as i:\n    i.watch([x, y])\n    z = f(x, y)", 3)
    writer.add("u = f(y, x)" if writer.chance(0.4) else "u = x * y", 2)
    writer.add("k = i.gradient(z, [x, y])", 2)
    writer.add("t = total_of(k, x) + u", 2)
    writer.add("return [z, *k, *o.gradient(t, [x, y])]", 1)
    return False


def third_order(writer: Writer) -> bool:
    """Three tapes, each around the other; sums of all that is known."""
    writer.add("def drive(x, y):\n    with tape() as p:\n        p.watch([x, y])")
    writer.add("with tape() as o:\n    o.watch([x, y])", 2)
    writer.add("with tape() as i:\n    i.watch([x, y])\n    z = f(x, y)", 3)
    writer.add("k = i.gradient(z, [x, y])", 3)
    writer.add(f"t = total_of(k, x) + {writer.number()} * z", 3)
    writer.add("l = o.gradient(t, [x, y])", 2)
    writer.add(f"s = total_of(l, x) + {writer.number()} * t + square(z) * 0.3", 2)
    writer.add("return [z, *k, *l, *p.gradient(s, [x, y])]", 1)
    return False


# By name, how often it is chosen, and what writes it.
DRIVES: dict[str, tuple[int, Callable[[Writer], bool]]] = {
    "nested": (4, nested),
    "several": (5, several),
    "opened later": (1, opened_later),
    "third order": (1, third_order),
}


def marker_program(seed: int) -> MarkerProgram:
    """The program of that number."""
    return Writer(seed).write()


# Modes


class Mode(NamedTuple):
    """What becomes of the functions that the program calls inside others, of the one that its drive
    calls, and of the drive; `by_gradients` stands in the drive's place."""

    inner: Callable[[Any], Any]
    outer: Callable[[Any], Any]
    whole: Callable[[Any], Any]
    by_gradients: bool = False


def same(f: Any) -> Any:
    """The function itself."""
    return f


def recomputed_function(f: Any) -> Any:
    """A compiled function that is computed again for its gradient."""
    return tj.recompute_grad(tj.function(f))


def function_of_recomputed(f: Any) -> Any:
    """The same the other way round."""
    return tj.function(tj.recompute_grad(f))


MODES = {
    "E": Mode(same, same, same),
    "FO": Mode(same, tj.function, same),
    "FF": Mode(tj.function, tj.function, same),
    "FN": Mode(tj.function, same, same),
    "FI": Mode(same, same, tj.function),
    "FA": Mode(tj.function, tj.function, tj.function),
    "TG": Mode(same, same, tj.function, by_gradients=True),
    "R": Mode(same, tj.recompute_grad, same),
    "RF": Mode(same, recomputed_function, same),
    "FR": Mode(tj.recompute_grad, function_of_recomputed, same),
    "RI": Mode(tj.recompute_grad, tj.recompute_grad, tj.function),
}


class Failure(NamedTuple):
    """An error as data."""

    type: str
    text: str


def or_zeros(gradient: Any, like: Any) -> Any:
    """A gradient, or zeros where it is None."""
    return np.zeros_like(like) if gradient is None else gradient


def total_of(found: Sequence[Any], like: Any) -> Any:
    """The sum of the gradients that are not None, no two of one weight."""
    total = np.zeros_like(like)
    for number, gradient in enumerate(found):
        if gradient is not None:
            total = total + gradient * (1.0 + 0.25 * number)
    return total


NAMES: dict[str, Any] = {
    "V": lambda value, **words: tj.Variable(np.asarray(value, float)[()], **words),
    "c": lambda value: tj.constant(np.asarray(value, float)[()]),
    "clip": np.clip,
    "custom_gradient": tj.custom_gradient,
    "exp": np.exp,
    "gradients": tj.gradients,
    "or_zeros": or_zeros,
    "pass_through": tj.grad_pass_through,
    "recompute": tj.recompute_grad,
    "sin": np.sin,
    "square": np.square,
    "stop": tj.stop_gradient,
    "tape": tj.GradientTape,
    "total": np.sum,
    "total_of": total_of,
}


def made(text: str, names: dict[str, Any]) -> Any:
    """What a program returns, run where tracebacks and tracejit can read it."""
    source = "def program():\n" + textwrap.indent(text, "    ")
    filename = f"<marker program {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space = {**names, "__name__": "marker_program"}
    exec(compile(source, filename, "exec"), space)
    program: Any = space["program"]
    return program()


def run(program: MarkerProgram, mode: Mode) -> Any:
    """What the program answers, twice: numbers and None in a list, or a Failure. Its Variables go
    on from the first time to the second."""
    names = NAMES | {"inner": mode.inner, "outer": mode.outer}
    try:
        drive, by_gradients, args = made(program.text, names)
        whole = mode.whole(by_gradients if mode.by_gradients else drive)
        return [plain(whole(*args)) for _ in range(2)]
    except Exception as error:
        return Failure(type(error).__name__, str(error))


def plain(found: Sequence[Any]) -> list[Any]:
    """Results as arrays, or None."""
    return [None if one is None else np.asarray(one.numpy()) for one in found]
