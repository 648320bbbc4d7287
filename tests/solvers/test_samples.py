"""Each sample: its value against SciPy's own, its derivatives against differences, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.solvers.samples import SAMPLES, Sample

STEP = 1e-4
NIGHTLY = pytest.mark.nightly
SECOND = ("brentq", "root", "quad", "limits", "time in the rate", "odeint of a state first")
"""The samples whose second derivatives and batches are tried by day, too."""


def jacobian_by_differences(f: Any, xs: tuple[Any, ...]) -> list[Any]:
    """The derivatives of `f` by the elements of each of `xs`, in a last axis."""
    found = []
    for k, x in enumerate(xs):
        columns = []
        for number in range(np.size(x)):
            moved = []
            for sign in (1.0, -1.0):
                shifted = np.array(x, float)
                shifted.reshape(-1)[number] += sign * STEP
                shifted = shifted if np.ndim(x) else float(shifted)
                moved.append(np.asarray(f(*xs[:k], shifted, *xs[k + 1 :])))
            columns.append((moved[0] - moved[1]) / (2 * STEP))
        found.append(np.stack(columns, axis=-1))
    return found


def check(found: Any, expected: Any, noise: float) -> None:
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=noise * scale)


@pytest.mark.parametrize("name", SAMPLES)
def test_values_and_derivatives(name: str) -> None:
    """Differences are those of the generated code, whose solvers have exact slopes."""
    f, xs, rtol, noise = SAMPLES[name]
    compiled: Any = tj.function(f)
    value = np.asarray(compiled(*xs))
    np.testing.assert_allclose(value, f(*xs), rtol=rtol, atol=rtol)
    expected = jacobian_by_differences(compiled, xs)
    dy = np.cos(np.arange(value.size)).reshape(value.shape)
    pulled = tj.vjp(f, *xs)[1](dy if value.shape else float(dy))
    for g, wanted, x in zip(pulled, expected, xs, strict=True):
        by_element = np.tensordot(dy, wanted, axes=value.ndim)
        check(g, by_element.reshape(np.shape(x)), noise)
    dots = [np.sin(1.0 + np.arange(np.size(x))).reshape(np.shape(x))[()] for x in xs]
    _, pushed = tj.jvp(f, xs, tuple(dots))
    check(
        pushed,
        sum(wanted @ np.reshape(dot, -1) for wanted, dot in zip(expected, dots, strict=True)),
        noise,
    )


def _marked(name: str) -> Any:
    return name if name in SECOND else pytest.param(name, marks=NIGHTLY)


@pytest.mark.parametrize("name", [*map(_marked, SAMPLES)])
def test_second_derivatives(name: str) -> None:
    sample = SAMPLES[name]

    def total(*xs: Any) -> Any:
        y = np.asarray(sample.f(*xs)).reshape(-1)
        return np.sum(np.cos(np.arange(y.shape[0])) * y * y)

    slope = tj.grad(total)
    expected = jacobian_by_differences(slope, sample.xs)[0]
    shape = (*np.shape(sample.xs[0]), *np.shape(sample.xs[0]))
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    found = tj.hessian(total)(*sample.xs)
    np.testing.assert_allclose(found, expected.reshape(shape), rtol=1e-3, atol=1e-4 * scale)
    backward = tj.jacrev(slope)(*sample.xs)
    np.testing.assert_allclose(backward, expected.reshape(shape), rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("name", [*map(_marked, SAMPLES)])
def test_batches(name: str) -> None:
    f, xs = SAMPLES[name][:2]
    batch = [np.stack([np.asarray(x), 1.01 * np.asarray(x)]) for x in xs]
    slope = tj.grad(lambda *xs: np.sum(f(*xs)))
    for function in (f, slope):
        compiled: Any = tj.function(function)
        found = tj.vmap(function)(*batch)
        for k in range(2):
            each = compiled(*[x[k] for x in batch])
            np.testing.assert_allclose(found[k], each, rtol=1e-7, atol=1e-9)


def test_every_sample_has_a_name_of_its_own() -> None:
    assert all(isinstance(sample, Sample) for sample in SAMPLES.values())
    assert len(SAMPLES) >= 60
