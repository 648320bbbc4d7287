"""Random graphs, recorded step by step: views of views, broadcasts, reductions, values used again
or returned twice. What an optimiser must not get wrong shows in them sooner than in real code.

`compiled` turns the plan of one into a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

from tracejit.cache.key import constants_bytes
from tracejit.cache.modules import load_text
from tracejit.ir.graph import Graph
from tracejit.ir.location import Location, Origin
from tracejit.ir.types import type_of
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.text.module import Body, render
from tracejit.text.header import Facts
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

LARGE, SMALL = (20, 16), (3, 2)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, -2.5)
NUMBERS = (1.0, -1.0, 0.5, 2.0, 0.0, -0.0, 3, 1)

UNARY: tuple[Callable[[Any], Any], ...] = (
    np.negative, np.tanh, np.exp, np.sign, np.abs, np.square, np.sqrt,
)  # fmt: skip
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.less,
    lambda a, b: a + a, lambda a, b: a * a, lambda a, b: a - -b, lambda a, b: a + -b,
    lambda a, b: np.where(a < b, a, b),
)  # fmt: skip
VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda a: a.T, lambda a: a.reshape(-1), lambda a: a.ravel(), lambda a: a[None],
    lambda a: a[..., ::-1], lambda a: a[1:], lambda a: np.expand_dims(a, 0), lambda a: a[...],
    lambda a: np.broadcast_to(a, (2, *a.shape)), lambda a: a.reshape(a.shape[::-1]),
    lambda a: np.squeeze(a), lambda a: a.real, lambda a: a[-1], lambda a: np.expand_dims(a, -1),
)  # fmt: skip
OTHERS: tuple[Callable[[Any], Any], ...] = (
    lambda a: np.sum(a), lambda a: np.sum(a, axis=0), lambda a: np.sum(a, axis=-1, keepdims=True),
    lambda a: np.max(a, axis=0), lambda a: a.astype(np.float32), lambda a: a.copy(),
    lambda a: np.concatenate([a, a]), lambda a: np.zeros_like(a), lambda a: np.flip(a, 0),
    lambda a: a * 1.0, lambda a: 1.0 * a, lambda a: a / 1.0, lambda a: a.astype(a.dtype),
    lambda a: a[:, None] if a.ndim == 1 else a, lambda a: np.sum(a[None], axis=0),
    lambda a: a.T.T, lambda a: a.reshape(-1).reshape(a.shape), lambda a: _in_form(a),
)  # fmt: skip
ELEMENTS = 2000


def _in_form(a: Any) -> Any:
    """One element in another form, as the reverse pass asks for it."""
    if a.shape:
        return a.astype(np.float64)
    if a.type.form == "array":
        return as_element(a)
    dtype = np.dtype(np.float32 if a.dtype == np.float64 else np.float64)
    return (
        as_array(a) if a.type.form == "scalar" and a.dtype == dtype else as_scalar(a, dtype=dtype)
    )


def random_inputs(random: Random, special: bool = False) -> list[Any]:
    """A few arrays, some large enough to be updated in place, and a number of either kind."""
    chosen = [LARGE, *random.sample([LARGE, LARGE, LARGE[1:], SMALL, (), (1, 16)], 3)]
    dtypes = [np.float64, np.float64, np.float32, np.int64]
    rng = np.random.default_rng(random.randrange(1000))
    arrays = [rng.normal(size=shape) for shape in chosen]
    if special:
        arrays = [rng.choice(SPECIAL, shape) for shape in chosen]
    kinds = [np.float64, *random.choices(dtypes, k=3)]
    with np.errstate(all="ignore"):
        arrays = [
            np.asarray(np.nan_to_num(a) if kind is np.int64 else a).astype(kind)
            for a, kind in zip(arrays, kinds, strict=True)
        ]
    if random.random() < 0.3:
        arrays[0] = np.asfortranarray(arrays[0])
    return [*arrays, random.choice((0.1, -0.0, 3)), np.float32(random.choice((0.1, -0.0)))]


def random_graph(random: Random, inputs: Sequence[Any], steps: int) -> Graph:
    """A graph of about `steps` nodes on inputs of these types, with a few outputs."""
    recording = Recording("f")
    tensors: list[Any] = []
    for number, data in enumerate(inputs):
        kind = type_of(data)
        assert kind is not None
        tensors.append(recording.argument(f"x{number}", kind, data))
    while len(tensors) < steps:
        place = Location("tests.f", len(tensors) // random.randint(1, 3), "a line of the user's")
        with recording.at(place):
            made = _step(random, tensors)
        if not isinstance(made, Tensor) or made.size > ELEMENTS:
            continue
        if random.random() < 0.3 and made._value.node is not None:
            made._value.label = random.choice("abh")
        tensors.append(made)
    outputs = random.choices(tensors, k=random.randint(1, 4))
    return recording.finish([tensor._value for tensor in outputs])


def _step(random: Random, tensors: Sequence[Any]) -> Any:
    """One more value, of some that are there; None where the drawn operation does not fit."""
    one, other = random.choices(tensors[-6:] if random.random() < 0.7 else tensors, k=2)
    kind = random.randrange(6)
    try:
        if kind == 0:
            return random.choice(UNARY)(one)
        if kind == 1:
            return random.choice(BINARY)(one, other)
        if kind == 2:
            number = random.choice(NUMBERS)
            return random.choice(BINARY)(*random.sample((one, number), 2))
        if one.type.form == "weak":
            return _in_form(one)
        if kind == 3:
            return random.choice(OTHERS)(one)
        return random.choice(VIEWS)(one)
    except (ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError):
        return None


def compiled(plan: Plan) -> ModuleType:
    """A module of one function `forward`, which runs a plan and returns (results, kept)."""
    results, kept = len(plan.results), len(plan.kept)
    body = Body("forward", "Return {results}.", plan, [(results, False), (kept, False)])
    facts = Facts("f", Origin("tests.f"), "0", "", "", plan.inputs, plan.results, None, None)
    module = render(facts, [body])
    constants = constants_bytes(module.constants) if module.constants else None
    return load_text("f", module.text, None, constants)
