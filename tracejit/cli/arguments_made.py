"""Arguments for a kernel, made from its SIGNATURE: random arrays with finite results."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.cli.output import Refusal
from tracejit.compiler.kernel import Kernel
from tracejit.ir.types import ArrayType, parse_type

SMALLEST_SIZE = 4
_NAME = re.compile(r"[A-Za-z_]\w*")

Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


def _covariance(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Symmetric positive definite matrices where the shape allows it, else positive numbers."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return rng.uniform(0.1, 0.9, shape)
    root = rng.standard_normal(shape)
    return root @ np.swapaxes(root, -1, -2) + shape[-1] * np.eye(shape[-1])


DRAWS: dict[str, Draw] = {
    "standard normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform in (0.1, 0.9)": lambda rng, shape: rng.uniform(0.1, 0.9, shape),
    "uniform in (1.1, 2)": lambda rng, shape: rng.uniform(1.1, 2.0, shape),
    "positive definite": _covariance,
}


def arguments_for(kernel: Kernel, sizes: Mapping[str, int] | None = None) -> list[Any]:
    """Arguments on which `kernel` answers finite numbers, in the order of its signature."""
    return next(found for _, found in attempts(kernel, sizes))


def attempts(
    kernel: Kernel, sizes: Mapping[str, int] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """The ways to draw arguments on which `kernel` answers finite numbers, in words, and these.
    Raises Refusal if there is none."""
    inputs: Mapping[str, str] = kernel.signature["inputs"]
    types = {name: _type_of(name, text, sizes or {}) for name, text in inputs.items()}
    problem, is_found = "", False
    for words, draw in DRAWS.items():
        rng = np.random.default_rng(0)
        drawn = [_value(rng, type, draw) for type in types.values()]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = kernel.forward(*drawn)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".partition("\n")[0]
            continue
        value = answer[0] if "gradient" in kernel.signature else answer
        if all(np.all(np.isfinite(leaf)) for leaf in leaves(value)):
            is_found = True
            yield words, drawn
        else:
            problem = "it returns inf or nan"
    if not is_found:
        raise Refusal(
            f"no random arguments were found for {kernel.name} ({problem}). Give arguments: "
            "--arguments FILE.npz, with an array for each name in its SIGNATURE.",
            1,
        )


def leaves(value: Any) -> list[Any]:
    """The arrays in a result."""
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, tuple) else [value]


def _type_of(name: str, text: str, sizes: Mapping[str, int]) -> ArrayType:
    """The type of an argument, with a size for each dimension that may have any."""
    if text == "handle":
        raise Refusal(
            f"{name} is not an array, so it cannot be drawn at random; give --arguments", 1
        )
    shape = text.partition("[")[2]
    known: Any = {name: size_of(name, sizes) for name in _NAME.findall(shape)}
    return parse_type(text, known)


def size_of(name: str, sizes: Mapping[str, int]) -> int:
    """The size of a free dimension: as given, else one that no other letter has."""
    return sizes.get(name, SMALLEST_SIZE + sum(map(ord, name)) % 7)


def _value(rng: np.random.Generator, type: ArrayType, draw: Draw) -> Any:
    """A random argument of one type."""
    shape = tuple(int(size) for size in type.shape)
    kind = type.dtype.kind
    if kind == "b":
        drawn: Any = rng.integers(0, 2, shape).astype(bool)
    elif kind in "iu":
        drawn = rng.integers(0, 2, shape).astype(type.dtype)
    elif kind == "c":
        drawn = (draw(rng, shape) + 1j * draw(rng, shape)).astype(type.dtype)
    else:
        drawn = np.asarray(draw(rng, shape)).astype(type.dtype)
    array = np.asarray(drawn, type.dtype)
    if type.form == "array":
        return array
    if type.form == "list":
        return array.tolist()
    return array.item() if type.form == "weak" else array[()]


def saved_arguments(kernel: Kernel, path: str) -> list[Any]:
    """The arguments in an `.npz` file, by their names."""
    file = Path(path)
    if not file.is_file():
        raise Refusal(f"there is no file {path}")
    inputs: Mapping[str, str] = kernel.signature["inputs"]
    with np.load(file) as held:
        missing = [name for name in inputs if name not in held]
        if missing:
            raise Refusal(f"{path} has no {', '.join(missing)}: {kernel.name} takes {inputs}")
        arrays = [(held[name], text) for name, text in inputs.items()]
    return [
        array.item() if text.startswith("~") else array[()] if "[" not in text else array
        for array, text in arrays
    ]
