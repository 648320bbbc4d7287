"""Programs of the kinds that autograd's libraries are."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracejit.autograd as ag
import tracejit.autograd.numpy as anp
from tracejit.specialise import twins
from tracejit.specialise.specialiser import MOST_CONSTANTS

TIMES = np.array([1.0, 2.0, 3.5, 0.5])
EVENTS = np.array([True, False, True, True])


class Fitter:
    """A survival model: methods that differentiate one another, and masks of events."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def cumulative(self, params: Any, times: Any) -> Any:
        rate, shape = params
        return (times / (rate * self.scale)) ** shape

    def hazard(self, *args: Any) -> Any:
        return ag.elementwise_grad(self.cumulative, argnum=1)(*args)

    def loss(self, params: Any, times: Any, events: Any) -> Any:
        observed = anp.log(self.hazard(params, times[events])).sum()
        return (self.cumulative(params, times).sum() - observed) / len(times)


def wanted(params: Any, scale: float) -> Any:
    rate, shape = params[0] * scale, params[1]
    ratio = TIMES / rate
    hazard = np.log(shape / rate * ratio[EVENTS] ** (shape - 1.0)).sum()
    return ((ratio**shape).sum() - hazard) / 4


@pytest.fixture(autouse=True)
def alone() -> None:
    twins._families.clear()


def test_a_fit_of_another_object_is_not_recorded_again() -> None:
    params = np.array([2.0, 1.5])
    for number, scale in enumerate((1.0, 1.0, 3.0)):
        slope = ag.value_and_grad(Fitter(scale).loss)
        curve = ag.hessian(Fitter(scale).loss)
        value, gradient = slope(params, TIMES, EVENTS)
        np.testing.assert_allclose(value, wanted(params, scale))
        for k in range(2):
            step = np.eye(2)[k] * 1e-6
            difference = wanted(params + step, scale) - wanted(params - step, scale)
            np.testing.assert_allclose(gradient[k], difference / 2e-6, rtol=1e-6)
        assert curve(params, TIMES, EVENTS).shape == (2, 2)
        recorded = 0 if number == 1 else 1
        assert (slope.tracing_count, curve.tracing_count) == (recorded, recorded)


def test_integers_and_other_events_are_taken() -> None:
    slope = ag.value_and_grad(Fitter(1.0).loss)
    params = np.array([2.0, 1.5])
    for events in (EVENTS, ~EVENTS, EVENTS):
        found = slope(params, np.array([1, 2, 3, 5]), events)
        again = ag.value_and_grad(Fitter(1.0).loss)(params, np.array([1.0, 2.0, 3.0, 5.0]), events)
        np.testing.assert_allclose(found[0], again[0])
        np.testing.assert_allclose(found[1], again[1])


class Columns:
    """A table of pandas that answers arrays."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __getitem__(self, name: str) -> Any:
        return self.table[name].values

    def where(self, rows: Any) -> Columns:
        return Columns(self.table[rows])


def regression(params: Any, y: Any, late: Any, columns: Any, penalty: Any = None) -> Any:
    every = columns["a"] * params["a"] + columns["b"] * params["b"] - y
    some = columns.where(late > 1)["a"] * params["a"]
    return anp.sum(every**2) + anp.sum(some) + penalty(params)


class Penalised:
    def __init__(self, k: float) -> None:
        self.k = k

    def penalty(self, params: Any) -> Any:
        return self.k * params["a"] ** 2


def test_tables_may_be_indexed_by_what_is_not_differentiated() -> None:
    pandas = pytest.importorskip("pandas")
    y, late = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3])

    def fit(a: Any, k: float = 2.0) -> tuple[Any, Any]:
        table = pandas.DataFrame({"a": a, "b": [1.0, 1.0, 1.0]})
        loss = partial(regression, penalty=Penalised(k).penalty)
        slope = ag.grad(loss)
        params = {"a": 0.5, "b": 0.25}
        found = [slope(params, y, late, Columns(table)) for _ in range(2)]
        rest = a * 0.5 + 0.25 - y
        np.testing.assert_allclose(found[0]["a"], 2.0 * rest @ a + a[1:].sum() + 2.0 * k * 0.5)
        np.testing.assert_allclose(found[1]["b"], 2.0 * rest.sum())
        table.loc[0, "a"] = 9.0
        changed = table["a"].values
        rest = changed * 0.5 + 0.25 - y
        np.testing.assert_allclose(slope(params, y, late, Columns(table))["b"], 2.0 * rest.sum())
        return slope, table

    a = np.array([1.0, 2.0, 4.0])
    first, _ = fit(a)
    again, _ = fit(a)
    assert again.tracing_count < first.tracing_count
    fit(a + 1.0)
    fit(a, k=3.0)


def test_a_gradient_of_a_gradient_of_another_problem_is_not_recorded_again() -> None:
    def problem(matrix: Any) -> Any:
        def cost(x: Any) -> Any:
            return -x @ matrix @ x

        return cost

    def product_of(cost: Any) -> Any:
        gradient = ag.grad(cost, argnum=[0])

        def dotted(*args: Any) -> Any:
            *points, vectors = args
            pairs = zip(gradient(*points), vectors, strict=True)
            return anp.sum([anp.tensordot(g, v, axes=v.ndim) for g, v in pairs])

        return ag.grad(dotted, argnum=[0])

    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    counts = []
    for k in (1.0, 2.0, 3.0):
        matrix = np.array([[2.0, 1.0], [1.0, 3.0]]) * k
        product = product_of(problem(matrix))
        np.testing.assert_allclose(product(x, [v])[0], -2.0 * matrix @ v)
        counts.append(product.tracing_count)
    assert counts == [1, 0, 0]


def test_a_stochastic_fit_records_once() -> None:
    def loss(params: Any, batch: Any) -> Any:
        return anp.mean((batch[:, 0] * params["w"] + params["b"] - batch[:, 1]) ** 2)

    slope = ag.grad(loss)
    params = {"w": 0.0, "b": 0.0}
    for seed in range(5):
        batch = np.random.default_rng(seed).normal(size=(8, 2))
        found = slope(params, batch)
        np.testing.assert_allclose(found["b"], -2.0 * batch[:, 1].mean())
    assert slope.tracing_count == 1


def sizes(params: Any, rows: Any, k: Any) -> Any:
    return params * math.fsum(memoryview(rows)) * k


def test_arrays_for_compiled_code_are_taken_as_they_are() -> None:
    slope = ag.grad(sizes)
    for number in range(12):
        rows = np.arange(3.0) + number
        for _ in range(2):
            assert slope(2.0, rows, np.float64(2.0)) == 2.0 * rows.sum()
    assert slope.tracing_count <= MOST_CONSTANTS
