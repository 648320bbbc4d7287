"""Everyday NumPy, as people write it: each idiom of tests/idioms passes, or raises by name.

An idiom passes when its value is NumPy's, bit for bit where that is asked for, and its gradient
that of differences, compiled and under a tape. Never may one be silently wrong.
"""

from __future__ import annotations

import importlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.idioms.table import IDIOMS, IN_PLACE, Idiom
from tests.ops.program import draw, inner, is_floating, magnitude, quiet
from tests.support.compare import assert_same
from tests.support.differences import extrapolated
from tracejit.trace.structure.trees import flatten, unflatten

for path in sorted((Path(__file__).parent / "idioms").glob("*.py")):
    importlib.import_module(f"tests.idioms.{path.stem}")

# What raises, and what to write instead: plain NumPy gives no one a say in these.
REFUSED = {
    "columns_by_c_": "np.column_stack",
    "rotation_by_np_array": "np.stack, or array of tracejit.numpy",
    "vectorized_scalar_function": "np.where",
}

# What raises until the function is recorded. An idiom leaves this table when it passes: the test
# says so.
MISSING: dict[str, str] = {}


class Case:
    """An idiom with the loss that is differentiated: a sum with random weights of its results."""

    def __init__(self, name: str, idiom: Idiom) -> None:
        """Draws the weights and the directions by the idiom's name."""
        self.function, self.args = idiom
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        with quiet():
            self.value = self.function(*self.args)
        results = flatten(self.value)[0]
        self.weights = [draw(self.rng, y) if is_floating(y) else None for y in results]
        self.leaves, self.structure = flatten(self.args)
        self.moving = [k for k, arg in enumerate(self.args) if moves(arg)]
        self.directions = [draw(self.rng, x) if is_floating(x) else None for x in self.leaves]

    def loss(self, *args: Any) -> Any:
        """A real number."""
        results = flatten(self.function(*args))[0]
        pairs = zip(self.weights, results, strict=True)
        return sum(np.sum(np.real(w * y)) for w, y in pairs if w is not None)

    def moved(self, step: float) -> Any:
        """The loss where the arguments have moved along the directions."""
        pairs = zip(self.leaves, self.directions, strict=True)
        leaves = [x if v is None else x + step * v for x, v in pairs]
        return float(self.loss(*unflatten(self.structure, leaves)))

    def check_gradient(self, gradients: Any) -> None:
        """The gradients of the moving arguments are those of differences."""
        found = flatten(gradients)[0]
        moving = [v for v in self.directions if v is not None]
        pairs = list(zip(found, moving, strict=True))
        slope = sum(inner(g, v) for g, v in pairs)
        scale = sum(magnitude(g, v) for g, v in pairs)
        expected = extrapolated(self.moved, 1e-3)
        assert abs(slope - expected) <= 1e-6 * max(scale, abs(expected)) + 1e-9, (slope, expected)


def moves(arg: Any) -> bool:
    return any(map(is_floating, flatten(arg)[0]))


def check_values(case: Case) -> None:
    compiled = tj.function(case.function, cache=False)
    for _ in range(2):
        assert_close(compiled(*case.args), case.value)
    assert_same(tj.function(case.function, cache=False, exact=True)(*case.args), case.value)


def assert_close(found: Any, expected: Any) -> None:
    """The same up to rounding."""
    (ours, structure), (numpys, wanted) = flatten(found), flatten(expected)
    assert structure == wanted
    for one, other in zip(ours, numpys, strict=True):
        assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype)
        scale = np.nanmax(np.abs(other), initial=0.0)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * scale)


def check_gradients(case: Case) -> None:
    compiled = tj.grad(tj.function(case.loss, cache=False), argnums=tuple(case.moving))
    for _ in range(2):
        case.check_gradient(compiled(*case.args))
    leaves = [tj.constant(x) if is_floating(x) else x for x in case.leaves]
    sources = [x for x in leaves if isinstance(x, tj.Tensor)]
    with tj.GradientTape() as tape:
        tape.watch(sources)
        loss = case.loss(*unflatten(case.structure, leaves))
    found = tape.gradient(loss, sources, unconnected_gradients="zero")
    case.check_gradient([g.numpy() for g in found])


def check(name: str, idiom: Idiom) -> None:
    with quiet():
        case = Case(name, idiom)
        check_values(case)
        if case.moving:
            check_gradients(case)


ALL = IDIOMS | IN_PLACE


@pytest.mark.parametrize("name", some_by_day(ALL, 5))
def test_idioms_pass_or_raise_by_name(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(tj.TracejitError, match=r"needs a value|off the tape"):
            check(name, ALL[name])
    elif name in MISSING:
        with pytest.raises(tj.TracejitError, match=rf"np\.{MISSING[name]} "):
            check(name, ALL[name])
    else:
        check(name, ALL[name])


def test_of_150_idioms_146_pass() -> None:
    assert sorted({*REFUSED, *MISSING} - ALL.keys()) == []
    assert len(IDIOMS) >= 165
    assert len(REFUSED) / len(ALL) <= 4 / 150
