"""Random functions that are hard to ship: their texts, names, arguments and results are such as a
generator of source text may stumble over."""

from __future__ import annotations

import dataclasses
import enum
import linecache
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

TEXTS = (
    "",
    "'",
    '"',
    '"""',
    "'''",
    "\\",
    'ends in a quote"',
    "ends in a backslash\\",
    "two\nlines",
    "one\r\ntwo\rthree\n",
    "a line\n    \"\"\"\n    return 1\n'''",
    "\tTabs,\fform feeds\v and \x1b[31mcolours\x1b[0m\x00",
    "grüße, λ, 数, \U0001f600, \u2028\u202e, \ud800",
    "{braces} %s {0!r} #comment, (open [brackets {",
    ", ".join(f"word {number} + {number}" for number in range(40)),
    "\n".join(
        f"row {number} of (a long text, with brackets and 'quotes' = " for number in range(9)
    ),
    "x" * 400,
    "elif , = if :\n pass",
)
NAMES = ("f", "x", "call", "misfit", "ndarray", "größe", "λ", "_", "type", "a" * 70, "found")
BYTES = (b"", b"\x00\xff'\"\\\n", bytes(range(256)))
INTS = (0, -1, 2**63, -(2**70), 10**40)
FLOATS = (float("inf"), float("-inf"), float("nan"), -0.0, 5e-324, 1.7976931348623157e308)
COMPLEXES = (complex("inf"), complex(float("nan"), -0.0), 1j, complex(-0.0, -0.0))
CONSTANTS = (None, True, Ellipsis, *TEXTS, *BYTES, *INTS, *FLOATS, *COMPLEXES)
SCALARS = (
    np.float16(0.1),
    np.float32("inf"),
    np.float64("nan"),
    np.int8(-128),
    np.uint64(2**64 - 1),
    np.complex64(1 - 2j),
    np.complex128(complex("nan")),
    np.bool_(True),
)
REFUSED = (
    np.datetime64("2024-02-29T12:00"),
    np.timedelta64(3, "D"),
    np.datetime64("NaT", "D"),
    np.timedelta64(7, "s"),
    np.datetime64("1066-10-14", "25s"),
    np.datetime64("2024", "Y"),
    np.longdouble(1) / 3,
    np.clongdouble(1j) / 3,
)
"""Results that a module may decline."""
DTYPES = ("f8", "f4", "f2", "c16", "c8", "i8", "i4", "u1", "?", "g")


class Colour(enum.Enum):
    """An enumeration of the user's."""

    RED = "red"


class Pair(NamedTuple):
    """A tuple with names."""

    first: Any
    second: Any


@dataclasses.dataclass
class Holder:
    """A dataclass of the user's."""

    weight: Any
    label: str


class Case(NamedTuple):
    """A function, the arguments of one call, and the values in it that a module may decline."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    declined: list[Any]


def case(seed: int) -> Case:
    """The function with this number."""
    return _Writer(random.Random(seed), seed).case()


class _Writer:
    """Writes one function; `space` has the globals that it reads."""

    def __init__(self, draw: random.Random, seed: int) -> None:
        self.draw = draw
        self.seed = seed
        self.space: dict[str, Any] = {"np": np, "Holder": Holder, "Pair": Pair}
        self.declined: list[Any] = []
        self.names = draw.sample(NAMES, len(NAMES))

    def array(self) -> Any:
        """An array with odd numbers, or with none."""
        rng = np.random.default_rng(self.draw.randrange(2**32))
        shape = self.draw.choice([(3,), (3,), (), (0, 3), (1, 3)])
        kind = np.dtype(self.draw.choice(DTYPES))
        found = rng.integers(-9 * (kind.kind not in "u?"), 9, shape).astype(kind)
        if kind.kind in "fc" and found.size and self.draw.random() < 0.4:
            found.flat[0] = self.draw.choice(FLOATS[:4])
        return np.asarray(found)

    def spelled(self, value: Any) -> str:
        """An expression for a constant: its literal, or a global name."""
        if type(value) in (str, int, bytes) and self.draw.random() < 0.5:
            return repr(value)
        name = f"GLOBAL_{len(self.space)}"
        self.space[name] = value
        return name

    def parameters(self) -> tuple[list[str], list[Any], dict[str, Any], list[str]]:
        """The words of the parameter list, the arguments, and the expressions of arrays."""
        draw = self.draw
        first = self.names.pop()
        words, args, kwargs, arrays = [first], [self.array()], {}, [first]
        if draw.random() < 0.2:
            words.append("/")
        for _ in range(draw.randrange(4)):
            name = self.names.pop()
            value, reads = self.argument(name)
            words.append(name)
            args.append(value)
            arrays += reads
        if draw.random() < 0.3:
            words.append("*rest")
            args += [self.array() for _ in range(draw.randrange(3))]
        elif draw.random() < 0.5:
            words.append("*")
        if words[-1].startswith("*"):
            name = self.names.pop()
            words.append(f"{name}={self.spelled(draw.choice(CONSTANTS))}")
            if draw.random() < 0.5:
                kwargs[name] = draw.choice(CONSTANTS)
        if draw.random() < 0.2:
            words.append("**options")
            kwargs["scale"] = self.array()
            arrays.append("options['scale']")
        return words, args, kwargs, arrays

    def argument(self, name: str) -> tuple[Any, list[str]]:
        """An argument of some kind, and what of it is an array."""
        draw = self.draw
        key = draw.choice(TEXTS)
        match draw.randrange(10):
            case 0:
                return draw.choice(CONSTANTS), []
            case 1:
                return {key: self.array(), "b": [self.array()]}, [f"{name}[{key!r}]"]
            case 2:
                return Holder(self.array(), key), [f"{name}.weight"]
            case 3:
                return Pair(self.array(), draw.choice(CONSTANTS)), [f"{name}.first"]
            case 4:
                return draw.choice(SCALARS), [name]
            case 5:
                return slice(0, draw.choice([1, None])), []
            case 6:
                return Colour.RED, []
            case 7:
                return draw.choice([np.dtype("f4"), np.float32, np.sin]), []
            case 8:
                return draw.choice([2, 0.5, 1j, True]), [name]
        return self.array(), [name]

    def value(self, arrays: list[str], depth: int = 0) -> str:
        """An expression for a result."""
        draw = self.draw
        kind = draw.randrange(12 if depth < 3 else 6)
        below = (
            [self.value(arrays, depth + 1) for _ in range(draw.randrange(3))] if kind > 5 else []
        )
        match kind:
            case 0:
                return self.spelled(draw.choice(CONSTANTS))
            case 1:
                return self.spelled(draw.choice(SCALARS))
            case 2 if draw.random() < 0.15:
                self.declined.append(draw.choice(REFUSED))
                return self.spelled(self.declined[-1])
            case 3:
                constant = self.spelled(self.array())
                return f"({draw.choice(arrays)} * {constant}.sum())"
            case 6:
                return f"[{', '.join(below)}]"
            case 7:
                return f"({''.join(f'{one}, ' for one in below)})"
            case 8:
                keys = draw.sample([*TEXTS, 1, None, 2.5, b"k"], len(below))
                pairs = zip(keys, below, strict=True)
                return f"{{{', '.join(f'{key!r}: {one}' for key, one in pairs)}}}"
            case 9:
                return f"Pair({self.value(arrays, depth + 1)}, {draw.choice(arrays)} * 2)"
            case 10:
                self.space["OrderedDict"] = OrderedDict
                return f"OrderedDict(z={self.value(arrays, depth + 1)}, a=1)"
            case 11:
                return f"slice({draw.choice(arrays)} * 3, None)"
        return (
            f"({draw.choice(arrays)} + {draw.choice(arrays)} * {draw.choice(['2', '1.5', '1j'])})"
        )

    def case(self) -> Case:
        """The function and a call of it."""
        name = self.draw.choice([*NAMES, "n" * 300, "loss"])
        words, args, kwargs, arrays = self.parameters()
        result = self.value(arrays)
        local = self.names.pop()
        long = " + ".join([arrays[0]] * self.draw.choice([1, 2, 60]))
        lines = [
            f"def {name}({', '.join(words)}):",
            f"    {self.draw.choice(TEXTS)!r}",
            f"    {local} = {long} * 2  # {self.draw.choice(TEXTS)!r}",
            f"    return {result}, {local}",
        ]
        text = "\n".join(lines) + "\n"
        file = f"<shipped {self.seed}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        self.space["__name__"] = "shipped"
        exec(compile(text, file, "exec"), self.space)
        return Case(self.space[name], tuple(args), kwargs, self.declined)
