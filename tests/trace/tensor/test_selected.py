"""What a recorded mask selects: computed with, summed up, written back, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tests.support.differences import extrapolated

X = np.array([1.2, -2.1, 3.3, -0.5, 0.75])
M = np.random.default_rng(0).normal(size=(4, 3))


def scaled(x):
    y = x.copy()
    y[y < 0] *= 2.0
    return y


def guarded_log(x):
    y, m = np.zeros_like(x), x > 0
    y[m] = np.log(x[m])
    y[~m] = -1.0
    return y


def moments(x):
    r = x[x > -1]
    return np.stack(
        [np.mean(r), r.sum(), np.var(r), r.std(), np.prod(r), np.sum(np.sqrt(r + 1) * r)]
    )


def counts(x):
    r = x[x > 0]
    return x * np.sum(r > 0.8) + np.any(r > 2) + r.all()


def narrowed(x):
    r = x[x > -1]
    return x * np.sum(r[r > 0])


def several_arrays(x):
    y, m = x**2, x > 0.7
    z = y.copy()
    z[m] = y[m] / x[m] + np.maximum(x[m], 2.0) - np.where(x[m] > 2, x[m], 0.5)
    return z


def rows(m):
    positive = m[:, 0] > 0
    y = m.copy()
    y[positive] = m[0, 1] - y[positive] + np.add(m[0, 0], y[positive])
    return y * np.mean(m[positive])


def reciprocal_sum(x):
    """Without nan or infinity from what the mask leaves out."""
    z = np.where(x > 0, x, 0.0)
    return np.sum(1.0 / z[z != 0]) * x


def integers(x):
    k = np.floor(x).astype(int)
    k[k < 0] += 10  # no gradient: floor is piecewise constant
    return k * x


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    f.__name__: (f, X)
    for f in (
        scaled,
        guarded_log,
        moments,
        counts,
        narrowed,
        several_arrays,
        reciprocal_sum,
        integers,
    )
} | {"rows": (rows, M)}


@pytest.mark.parametrize(("f", "given"), PROGRAMS.values(), ids=PROGRAMS)
def test_values_and_gradients_are_numpys(f: Callable[[Any], Any], given: Any) -> None:
    recorded = tj.function(f)
    for sign in (1.0, -1.0, 0.3):
        expected = f(given * sign)
        found = recorded(given * sign)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    w = np.cos(np.arange(np.size(f(given))) + 1.0).reshape(np.shape(f(given)))
    direction = np.sin(np.arange(given.size) + 2.0).reshape(given.shape)
    slope = extrapolated(lambda step: float(np.sum(f(given + step * direction) * w)), 1e-3)
    found = tj.grad(lambda x: np.sum(f(x) * w))(given)
    assert abs(np.sum(found * direction) - slope) <= 1e-6 * max(1.0, abs(slope))


@pytest.mark.parametrize("f", [scaled, guarded_log, several_arrays, integers])
def test_elementwise_code_is_exact(f: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(tj.function(f, exact=True)(X), f(X))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a result": lambda x: x[x > 0],
    "in a container": lambda x: {"a": x[x > 0]},
    "another array": lambda x: x[x > 0] + x,
    "another mask": lambda x: x[x > 0] + x[x < 0],
    "written under another": lambda x: write(x.copy(), x > 0, x[x < 0]),
    "sorting": lambda x: np.sort(x[x > 0]),
    "length": lambda x: x * len(x[x > 0]),
    "size": lambda x: x * x[x > 0].size,
    "shape": lambda x: x.reshape(x[x > 0].shape),
    "maximum": lambda x: x * x[x > 0].max(),
    "element": lambda x: x * x[x > 0][0],
    "iteration": lambda x: sum(t for t in x[x > 0]),
    "truth": lambda x: x if x[x > 0] else -x,
    "axis": lambda x: x * np.sum(x[x > 0], axis=0),
    "ufunc keyword": lambda x: x * np.add(x[x > 0], 1.0, dtype=float).sum(),
    "accumulate": lambda x: np.add.accumulate(x[x > 0]),
    "asarray": lambda x: np.asarray(x[x > 0]),
}


def write(a: Any, index: Any, value: Any) -> Any:
    """`a` after a[index] = value."""
    a[index] = value
    return a


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_depends_on_the_length_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(tj.TracejitError, match=r"number of elements|selected by the mask"):
        tj.function(call)(X)


def test_writing_into_the_copy_is_refused() -> None:
    with pytest.raises(tj.TracejitError, match="writing into the copy that a mask selects"):
        tj.function(lambda x: write(x[x > 0], 0, 1.0))(X)


PATTERNS = [X, X[::-1], np.array([0.4, -1.0, -2.0, -0.3, -1.0]), np.array([-1.0, 1.5, -2.0, 3.0])]


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_converted_each_pattern_is_recorded(call: Callable[[Any], Any]) -> None:
    compiled, gradient = tj.function(call), tj.grad(lambda x: total(call(x)))
    for x in PATTERNS:
        try:
            expected = call(x)
        except ValueError:  # of NumPy's, which is raised here, too
            with pytest.raises(ValueError):
                compiled(x)
            continue
        assert_same(compiled(x), expected)
        direction = np.sin(np.arange(x.size) + 2.0)
        slope = extrapolated(lambda step, x=x, d=direction: total(call(x + step * d)), 1e-3)
        assert abs(gradient(x) @ direction - slope) <= 1e-6 * max(1.0, abs(slope))


def total(result: Any) -> Any:
    """A number that depends on all elements of a result."""
    result = result["a"] if isinstance(result, dict) else result
    return np.sum(result * np.cos(np.arange(np.size(result))).reshape(np.shape(result)))


@pytest.mark.usefixtures("as_written")
def test_sums_in_numpys_order_are_refused() -> None:
    with pytest.raises(tj.TracejitError, match="NumPy's own order"):
        tj.function(lambda x: np.sum(x[x > 0]), exact=True)(X)


def test_converted_sums_are_in_numpys_order() -> None:
    f = tj.function(lambda x: np.sum(x[x > 0]), exact=True)
    for x in (X, -X, X[::-1] * 0.1):
        assert_same(f(x), f.python(x))


def test_a_mask_that_is_known_selects_as_ever() -> None:
    known = X > 0
    assert tj.function(lambda x: x[known])(X).tolist() == X[known].tolist()
    t = tj.constant(X)
    assert t[t > 0].numpy().tolist() == X[X > 0].tolist()


def test_transforms_take_what_a_mask_selects() -> None:
    def power(p: Any, t: Any) -> Any:
        return np.sum(p * t**2)

    def total(p: Any, t: Any, mask: Any) -> Any:
        some = t[mask]
        pulled = tj.vjp(power, p, some)[1](1.0)[1]
        return np.sum(pulled) + np.sum(tj.grad(power, 1)(p, some)) + np.sum(np.sort(some))

    found = tj.value_and_grad(total)(2.0, np.arange(3.0), np.array([True, False, True]))
    np.testing.assert_allclose(found, (18.0, 8.0))


def test_scipy_takes_what_a_mask_selects() -> None:
    stats = pytest.importorskip("tracejit.scipy.stats")

    @tj.function
    def likelihood(x: Any, mask: Any) -> Any:
        return np.sum(stats.norm.logpdf(x[mask], loc=0.0, scale=1.0))

    x = np.array([0.0, 5.0, 1.0])
    for mask in (np.array([True, False, True]), np.array([True, True, False])):
        wanted = np.sum(-0.5 * x[mask] ** 2 - 0.5 * np.log(2.0 * np.pi))
        np.testing.assert_allclose(likelihood(x, mask), wanted)
