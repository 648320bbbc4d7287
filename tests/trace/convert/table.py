"""Programs of plain NumPy, SciPy and Python with their arguments, and how each is judged.

A row **works** where `tj.function` and `tj.grad` of it, each called twice, answer what plain NumPy
does and what differences say. It is **refused** where a call raises an error of tracejit's. It is
**wrong** otherwise, and none may be.
"""

from __future__ import annotations

import copy
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.trace.structure.trees import flatten, unflatten


@dataclass(frozen=True)
class Row:
    """A function, its arguments, and the reason why it is refused, if it is."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    refused: str = ""
    slopes: bool = True


@dataclass
class Table:
    """Rows by the name of their function."""

    rows: dict[str, Row] = field(default_factory=dict)

    def __call__(
        self, *args: Any, refused: str = "", slopes: bool = True, name: str = ""
    ) -> Callable[[Any], Any]:
        """Add the function below with these arguments. `refused` has the reason for which it is
        not recorded; without `slopes` its result does not depend smoothly on its arguments."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            key = name or function.__name__
            assert key not in self.rows, key
            self.rows[key] = Row(key, function, args, refused, slopes)
            return function

        return add


@dataclass(frozen=True)
class Verdict:
    """A row is `works`, `refused` or `wrong`, and why."""

    word: str
    reason: str = ""


def judge(row: Row) -> Verdict:
    """Run a row plainly, recorded and differentiated, twice each, and compare."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = row.function(*fresh(row.args))
        recorded = tj.function(row.function)
        for _ in range(2):
            try:
                found = recorded(*fresh(row.args))
            except tj.TracejitError as error:
                return Verdict("refused", f"{type(error).__name__}: {error}")
            except Exception as error:
                return Verdict("wrong", f"raised {type(error).__name__}: {error}")
            if problem := difference(found, expected):
                return Verdict("wrong", problem)
        return _slopes(row, expected)


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, which a function may write to."""
    return copy.deepcopy(args)


def difference(found: Any, expected: Any) -> str:
    """Say how two results differ, in values, types or structure; "" where they do not."""
    leaves, structure = flatten(found)
    wanted, like = flatten(expected)
    if structure != like:
        return f"{structure} for {like}"
    for one, other in zip(leaves, wanted, strict=True):
        if type(one) is not type(other):
            return f"{type(one).__name__} {one!r} for {type(other).__name__} {other!r}"
        if isinstance(other, (np.ndarray, np.generic)) and one.dtype != other.dtype:
            return f"{one.dtype} for {other.dtype}"
        if isinstance(other, (np.ndarray, np.generic, int, float, complex)):
            if np.shape(one) != np.shape(other):
                return f"shape {np.shape(one)} for {np.shape(other)}"
            if not np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True):
                return f"{one!r} for {other!r}"
        elif isinstance(other, (str, bytes)) and one != other:
            return f"{one!r} for {other!r}"
    return ""


def _slopes(row: Row, expected: Any) -> Verdict:
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    weights = [
        rng.uniform(0.5, 1.5, np.shape(leaf)) if _is_floating(leaf) else None
        for leaf in flatten(expected)[0]
    ]
    leaves, structure = flatten(row.args)
    moving = [_is_floating(leaf) for leaf in leaves]
    if not row.slopes or not any(moving) or all(weight is None for weight in weights):
        return Verdict("works")

    def loss(*args: Any) -> Any:
        results = flatten(row.function(*args))[0]
        pairs = zip(weights, results, strict=True)
        return sum(np.sum(np.real(w * y)) for w, y in pairs if w is not None)

    numbers = tuple(
        number
        for number, arg in enumerate(row.args)
        if (inside := flatten(arg)[0]) and all(map(_is_floating, inside))
    )
    if not numbers:
        return Verdict("works")
    gradient = tj.grad(loss, numbers)
    directions = [
        rng.uniform(-1, 1, np.shape(leaf)) if moves else None
        for leaf, moves in zip(leaves, moving, strict=True)
    ]
    chosen = {id(leaf) for number in numbers for leaf in flatten(row.args[number])[0]}

    def moved(step: float) -> float:
        pairs = zip(leaves, directions, strict=True)
        values = [
            copy.deepcopy(leaf)
            if direction is None or id(leaf) not in chosen
            else type(leaf)(leaf + step * direction)
            if np.ndim(leaf) == 0
            else np.asarray(leaf + step * direction, dtype=leaf.dtype)
            for leaf, direction in pairs
        ]
        return float(loss(*unflatten(structure, values)))

    step = 1e-3
    slope = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
    for _ in range(2):
        try:
            found = gradient(*fresh(row.args))
        except tj.TracejitError as error:
            return Verdict("refused", f"gradient, {type(error).__name__}: {error}")
        except Exception as error:
            return Verdict("wrong", f"gradient raised {type(error).__name__}: {error}")
        wanted = [d for leaf, d in zip(leaves, directions, strict=True) if id(leaf) in chosen]
        got = flatten(found)[0]
        total = sum(np.sum(g * d) for g, d in zip(got, wanted, strict=True))
        scale = sum(np.sum(np.abs(g * d)) for g, d in zip(got, wanted, strict=True))
        if not abs(total - slope) <= 1e-6 * max(scale, abs(slope)) + 1e-8:
            return Verdict("wrong", f"gradient {total!r} for {slope!r}")
    return Verdict("works")


def _is_floating(leaf: Any) -> bool:
    return type(leaf) is float or (
        isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind == "f"
    )
