"""float16: values are NumPy's own, and gradients those of float64, wherever float16 can hold them.

What a rule computes on the way may leave float16 (65,504 is its largest number) where neither the
value nor the gradient does: sizes, products of sizes, products of many factors.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from table import Sample

import tracejit as tj
from tests.by_day import by_day, some_by_day
from tests.ops.cases import TABLES

HALF, LARGEST = np.float16, 65_504.0
SAMPLES_OF_AN_OP = 1
SCALES = (1.0, 30.0)
# These choose among elements that rounding to float16 has made equal, one or another.
CHOOSING = ("sort", "argsort", "partition", "median", "nanmedian", "quantile", "percentile")


def is_floating(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.floating)) and leaf.dtype.kind == "f"


def samples() -> Iterator[Sample]:
    """The first samples of each op on floating arrays."""
    seen: Counter[str] = Counter()
    for name, table in TABLES.items():
        if "scipy" in name:
            continue
        for sample in table:
            if sample.op.startswith("lower_half"):  # of the LAPACK, by no name of NumPy's
                continue
            if sample.differentiable and any(map(is_floating, sample.args)):
                seen[sample.op] += 1
                if seen[sample.op] <= SAMPLES_OF_AN_OP:
                    yield sample


SAMPLES = list(samples())


def rounded(leaf: Any, scale: float, dtype: Any) -> Any:
    """A floating leaf as float16 has it, scaled, in a dtype."""
    return (leaf * leaf.dtype.type(scale)).astype(HALF).astype(dtype) if is_floating(leaf) else leaf


def pulled(call: Callable[..., Any], args: tuple[Any, ...], cotangent: Any) -> list[Any]:
    """The cotangents of the floating arguments, in double precision."""
    moving = [k for k, leaf in enumerate(args) if is_floating(leaf)]

    def of_moving(*given: Any) -> Any:
        every = list(args)
        for k, leaf in zip(moving, given, strict=True):
            every[k] = leaf
        return call(*every)

    pullback = tj.vjp(of_moving, *[args[k] for k in moving])[1]
    return [np.asarray(g, dtype="f8") for g in pullback(cotangent)]


def in_double(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with floating leaves in double precision."""
    return tuple(leaf.astype("f8") if is_floating(leaf) else leaf for leaf in args)


def values_of(call: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """NumPy's value in float16 and in double precision; None where there is none in float16."""
    try:
        value, exact = call(*args), call(*in_double(args))
    except TypeError:
        return None  # the LAPACK knows no float16
    if type(value) in (tuple, list) or not (is_floating(value) and is_floating(exact)):
        return None
    return value, exact


def bounds(exact: Any, tolerance: float) -> dict[str, float]:
    """The bound by which a value may differ from the exact one."""
    return {"rtol": tolerance, "atol": tolerance * np.max(np.abs(exact), initial=0.0)}


def is_comparable(call: Callable[..., Any], args: tuple[Any, ...], tolerance: float) -> bool:
    """Tell if NumPy's value in float16 is that of float64 up to rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = values_of(call, args)
    return values is not None and np.allclose(*values, **bounds(values[1], tolerance))


def check_gradient(call: Callable[..., Any], args: tuple[Any, ...], tolerance: float) -> None:
    """Compare the value with NumPy's, and where it is comparable the gradient with that of
    float64."""
    exact_args = in_double(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = values_of(call, args)
        if values is None:
            return
        value, exact = values
        found = tj.function(call)(*args)
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(value))
        if not np.allclose(value, exact, **bounds(exact, tolerance)):
            return
        np.testing.assert_allclose(found, value, **bounds(exact, tolerance))
        seed = np.random.default_rng(4).uniform(0.5, 1.0, np.shape(exact))
        halves = pulled(call, args, seed.astype(value.dtype)[()])
        doubles = pulled(call, exact_args, seed.astype(exact.dtype)[()])
    for half, double in zip(halves, doubles, strict=True):
        size = float(np.max(np.abs(double), initial=0.0))
        if not 1e-2 < size < LARGEST / 2.0:
            continue
        assert np.all(np.isfinite(half))
        np.testing.assert_allclose(half, double, rtol=0.0, atol=4.0 * tolerance * size)


COMPARED = [one for one in SAMPLES if not any(word in one.op for word in CHOOSING)]
SCALED = list(itertools.product(COMPARED, SCALES))
BY_DAY = [SCALED[2 * number + number // 2 % 2] for number in range(len(COMPARED))]
"""Each sample in one of the scales: two samples in one, the next two in the other."""
BY_NIGHT = [SCALED[2 * number + 1 - number // 2 % 2] for number in range(len(COMPARED))]


def name_of(given: Any) -> str:
    return given.op if isinstance(given, Sample) else str(given)


@pytest.mark.parametrize(("sample", "scale"), by_day(BY_DAY[::8], BY_DAY), ids=name_of)
def test_a_sample_in_float16(sample: Sample, scale: float) -> None:
    check_sample(sample, scale)


@pytest.mark.nightly
@pytest.mark.parametrize(("sample", "scale"), BY_NIGHT, ids=name_of)
def test_a_sample_in_the_other_scale(sample: Sample, scale: float) -> None:
    check_sample(sample, scale)


def check_sample(sample: Sample, scale: float) -> None:
    """The gradient in float16."""
    args = tuple(rounded(leaf, scale, HALF) for leaf in sample.args)
    check_gradient(sample.call, args, 0.02)


def test_most_ops_have_a_sample_to_compare() -> None:
    names = {
        sample.op
        for sample in SAMPLES
        if is_comparable(sample.call, tuple(rounded(x, 1.0, HALF) for x in sample.args), 0.02)
    }
    assert len(names) > 250, sorted(names)


# Many elements

SIZES = (300, 3000, 70_000)
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "std": lambda x: np.std(x / 20.0),
    "std, ddof": lambda x: np.std(x / 20.0, ddof=1),
    "std of rows": lambda x: np.std(np.reshape(x, (10, -1)), axis=1),
    "var": lambda x: np.var(x / 20.0),
    "nanmean": np.nanmean,
    "nanstd": lambda x: np.nanstd(x / 20.0),
    "max": np.max,
    "min of ties": lambda x: np.min(np.abs(x) // 100.0),
    "maximum reduced": lambda x: np.maximum.reduce(np.minimum(x, 0.0), initial=-1.0),
    "running maximum": lambda x: np.maximum.accumulate(np.minimum(x, 0.0))[-1],
    "ptp": np.ptp,
    "prod": lambda x: np.prod(1.0 + x / 1e4),
    "cumprod": lambda x: np.cumprod(1.0 + x / 1e4)[-1],
    "cumsum": lambda x: np.cumsum(x / 100.0)[::1000],
    "average": lambda x: np.average(x, weights=np.ones_like(x) / 1e3),
    "norm": lambda x: np.linalg.norm(x / 100.0),
    "trapezoid": lambda x: np.trapezoid(x, dx=1e-3),
    "logaddexp": lambda x: np.logaddexp.reduce(x[:300]),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", some_by_day(REDUCTIONS, 2))
def test_many_elements_in_float16(name: str, size: int) -> None:
    x = np.random.default_rng(size).normal(size=size).astype(HALF) * HALF(10.0)
    call = REDUCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, exact = call(x), call(x.astype("f8"))
        found = tj.function(call)(x)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(value))
        if not np.allclose(value, exact, rtol=0.05, atol=0.05):
            return  # NumPy's own value has left float16
        seed = np.full(np.shape(exact), 1000.0)
        (half,) = pulled(call, (x,), seed.astype(value.dtype)[()])
        (double,) = pulled(call, (x.astype("f8"),), seed[()])
    there = np.abs(double) < LARGEST
    atol = 0.1 * np.max(np.abs(double[there])) + 1e-6
    np.testing.assert_allclose(half[there], double[there], rtol=0.0, atol=atol)


def test_the_number_of_elements_times_the_deviation_may_leave_float16() -> None:
    x = np.linspace(-0.9, 0.9, 100_001).astype(HALF)
    found, exact = tj.grad(np.std)(x), tj.grad(np.std)(x.astype("f8"))
    np.testing.assert_allclose(found[-1], exact[-1], rtol=0.01)
    pushed = tj.jvp(np.std, (x,), (x,))[1]
    np.testing.assert_allclose(pushed, np.std(x.astype("f8")), rtol=0.01)


@pytest.mark.parametrize(
    "call",
    [
        np.max,
        np.min,
        np.nanmax,
        lambda x: np.maximum.reduce(x, initial=0.0),
        lambda x: np.maximum.accumulate(x)[-1],
    ],
)
def test_more_ties_than_float16_counts_share_equally(call: Callable[[Any], Any]) -> None:
    x = np.ones(70_000, HALF)
    (found,) = pulled(call, (x,), HALF(1000.0))
    np.testing.assert_allclose(found, 1000.0 / 70_000, rtol=0.01)
    pushed = tj.jvp(call, (x,), (x,))[1]
    np.testing.assert_allclose(pushed, 1.0, rtol=0.01)
