"""Kernels with every rewrite against exact ones: what a rewrite may change, and what not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.trace.structure.trees import flatten

SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, 1e-300)
FEW_TIMES = 8
KINDS = (np.isnan, np.isposinf, np.isneginf)
OF_INFINITE = (np.isfinite,)
"""What is the same of every element: which number it is not, or whether it is any."""


def assert_close_to_exact(f: Callable[..., Any], arguments: Sequence[Any], grad: int = 0) -> None:
    """`f` and its gradients in the first `grad` arguments are what the exact kernel computes:
    the same dtypes, shapes, types, infinities and nan, and all numbers up to rounding."""
    options = {"cache": False}
    improved: Any = tj.function(f, **options)
    exact: Any = tj.function(f, exact=True, **options)
    if grad:
        improved = tj.value_and_grad(improved, tuple(range(grad)))
        exact = tj.value_and_grad(exact, tuple(range(grad)))
    with np.errstate(all="ignore"):
        found, expected = flatten(improved(*arguments))[0], flatten(exact(*arguments))[0]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


def assert_close(found: Any, expected: Any, dtype: Any = None, least: float = 0.0) -> None:
    """The same but for rounding, relative to the largest number of all, as it is in `dtype` where
    some operands have that; differences up to `least` are allowed."""
    assert type(found) is type(expected)
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind == "c":
        assert_close(found.real, expected.real, dtype, least)
        assert_close(found.imag, expected.imag, dtype, least)
        return
    for test in KINDS:
        np.testing.assert_array_equal(test(found), test(expected))
    there = np.isfinite(expected)
    if not there.any():
        return
    largest = float(np.max(np.abs(expected[there])))
    tolerance = 1e-12 if (dtype or expected.dtype) == np.float64 else 2e-5
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(
            found[there] / (largest or 1.0),
            expected[there] / (largest or 1.0),
            rtol=0,
            atol=max(tolerance, least / (largest or 1.0)),
        )


def all_alike(found: Any, expected: Any, kinds: Sequence[Callable[..., Any]] = KINDS) -> None:
    """All leaves of the same types, with the same infinities and nan, or the same `kinds`: where
    there are numbers so large that the last digits of them are what matters, all else may differ.
    """
    one, other = flatten(found)[0], flatten(expected)[0]
    assert len(one) == len(other)
    for mine, exact in zip(one, other, strict=True):
        assert type(mine) is type(exact)
        mine, exact = np.asarray(mine), np.asarray(exact)
        assert (mine.dtype, mine.shape) == (exact.dtype, exact.shape)
        for test in kinds:
            np.testing.assert_array_equal(test(mine), test(exact))


def all_close(found: Any, expected: Any, dtype: Any, precise: Any = None) -> None:
    """All leaves the same but for rounding, or a few times what that of the exact kernel has made
    of the `precise` ones."""
    trees = found, expected, expected if precise is None else precise
    leaves = [flatten(one)[0] for one in trees]
    for mine, exact, double in zip(*leaves, strict=True):
        with np.errstate(all="ignore"):
            lost = np.abs(np.subtract(exact, double))
        least = FEW_TIMES * float(np.max(lost, initial=0.0, where=np.isfinite(lost)))
        assert_close(mine, exact, dtype, least)


def with_special(rng: np.random.Generator, x: np.ndarray, count: int) -> np.ndarray:
    """`x` with special values at `count` random places."""
    x = x.copy()
    with np.errstate(over="ignore"):
        x.reshape(-1)[rng.integers(0, x.size, count)] = rng.choice(SPECIAL, count)
    return x


def code(compiled: Any, function: str = "value_and_grad") -> str:
    """The statements of one function of a kernel, without comments."""
    text = compiled.kernels[0].source.partition(f"def {function}(")[2].partition("\ndef ")[0]
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
