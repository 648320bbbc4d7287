"""Rules of `statistics`, read when a function of it is first called."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.ops.elementwise.python_math import MATH_OPS, math_fsum
from tracejit.trace.convert.numbers import operand, python_number, sumprod
from tracejit.trace.convert.rules import rule
from tracejit.trace.tensor.tensor import TENSORS


def _data(data: Iterable[Any], least: int = 1) -> list[Any]:
    """The numbers of a sample, of which there are at least so many."""
    numbers = list(data)
    if len(numbers) < least:
        raise statistics.StatisticsError(f"at least {least} data points are needed")
    return numbers


def _like_first(number: Any, data: list[Any]) -> Any:
    """A statistic in the type that Python's has: that of the numbers, if they are all of one."""
    kinds = {one.dtype.type for one in data if type(one) in TENSORS and one.type.form != "weak"}
    if not kinds:
        return python_number(number, float)
    return np.multiply(number, kinds.pop()(1))


@rule(statistics.fmean, of_iterables=True)
def _fmean(data: Iterable[Any], weights: Any = None) -> Any:
    numbers = list(map(operand, _data(data)))
    if weights is None:
        return math_fsum(*numbers) / len(numbers)
    weights = list(map(operand, weights))
    if hasattr(math, "sumprod"):
        return sumprod(numbers, weights) / math_fsum(*weights)
    products = [w * x for w, x in zip(weights, numbers, strict=True)]
    return math_fsum(*products) / math_fsum(*weights)


@rule(statistics.mean, of_iterables=True)
def _mean(data: Iterable[Any]) -> Any:
    numbers = _data(data)
    return _like_first(_fmean(numbers), numbers)


def _spread(data: list[Any], center: Any, degrees: int) -> Any:
    center = _fmean(data) if center is None else center
    return math_fsum(*[(operand(x) - center) ** 2 for x in data]) / degrees


@rule(statistics.pvariance, of_iterables=True)
def _pvariance(data: Iterable[Any], mu: Any = None) -> Any:
    numbers = _data(data)
    return _like_first(_spread(numbers, mu, len(numbers)), numbers)


@rule(statistics.variance, of_iterables=True)
def _variance(data: Iterable[Any], xbar: Any = None) -> Any:
    numbers = _data(data, 2)
    return _like_first(_spread(numbers, xbar, len(numbers) - 1), numbers)


@rule(statistics.pstdev, of_iterables=True)
def _pstdev(data: Iterable[Any], mu: Any = None) -> Any:
    numbers = _data(data)
    return MATH_OPS["sqrt"](_spread(numbers, mu, len(numbers)))


@rule(statistics.stdev, of_iterables=True)
def _stdev(data: Iterable[Any], xbar: Any = None) -> Any:
    numbers = _data(data, 2)
    return MATH_OPS["sqrt"](_spread(numbers, xbar, len(numbers) - 1))


@rule(statistics.geometric_mean, of_iterables=True)
def _geometric_mean(data: Iterable[Any]) -> Any:
    return MATH_OPS["exp"](_fmean([MATH_OPS["log"](operand(x)) for x in _data(data)]))


@rule(statistics.harmonic_mean, of_iterables=True)
def _harmonic_mean(data: Iterable[Any], weights: Any = None) -> Any:
    numbers = _data(data)
    weights = [1] * len(numbers) if weights is None else list(weights)
    total = sum(weights) / math_fsum(*[w / x for w, x in zip(weights, numbers, strict=True)])
    return _like_first(total, numbers)
