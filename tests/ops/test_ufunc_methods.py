"""The methods of ufuncs and the keywords of their calls: what is refused, and what is masked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, record, run
from tests.rows import each_row
from tests.support.compare import same_for_each
from tracejit.ops.base.loops import masked_call
from tracejit.ops.base.op import HANDLERS
from tracejit.support.errors import IndexShapeError, ShapeError, UnsupportedError, ValueNeededError

MATRIX = np.array([[1.5, 0.25, 3.0], [0.5, 2.0, 1.25]])
MASK = np.array([[True, False, True], [False, True, True]])
UFUNCS = [function for function in vars(np).values() if isinstance(function, np.ufunc)]
DTYPES = ("?", "u1", "i4", "f2", "f4", "f8", "c16")


def test_every_ufunc_is_recorded() -> None:
    assert [ufunc.__name__ for ufunc in UFUNCS if ufunc not in HANDLERS] == []


def outcome(call: Any, x: Any) -> Any:
    """What NumPy answers, None for an error."""
    try:
        with np.errstate(all="ignore"):
            return call(x)
    except (TypeError, ValueError):
        return None


# Of power and arctan2 along contiguous numbers, NumPy's own results are wrong.
WRONG_IN_NUMPY = ("power", "arctan2")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@each_row("dtype", DTYPES)
@each_row(
    "call",
    [
        lambda f, x: f.reduce(x),
        lambda f, x: f.reduce(x, -1, keepdims=True),
        lambda f, x: f.reduce(x, axis=None),
        lambda f, x: f.reduce(x, axis=1, initial=2),
        lambda f, x: f.reduce(x, dtype=np.float64),
        lambda f, x: f.accumulate(x, axis=1),
        lambda f, x: f.reduceat(x, [1, 0], axis=1),
        lambda f, x: f.outer(x, x[0]),
        lambda f, x: f.outer(2, x),
    ],
)
def test_methods_answer_as_numpy_does_or_refuse(call: Any, dtype: str) -> None:
    x = (MATRIX * 2).astype(dtype)
    for ufunc in dict.fromkeys(UFUNCS):
        if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
            continue
        expected = outcome(lambda x, f=ufunc: call(f, x), x)
        try:
            graph, _ = record(lambda x, f=ufunc: call(f, x), x)
        except UnsupportedError as error:
            known = ufunc.__name__ in WRONG_IN_NUMPY or "for complex128" in str(error)
            assert expected is None or known, ufunc
            continue
        except ShapeError:
            assert expected is None, ufunc
            continue
        with np.errstate(all="ignore"):
            found = interpret(graph, x)[0]
        assert type(found) is type(expected), ufunc
        assert found.dtype == expected.dtype, ufunc
        np.testing.assert_array_equal(found, expected)


@each_row(
    ("call", "error", "text"),
    [
        (lambda x: np.add(x, x, where=MASK), UnsupportedError, "where= without out="),
        (lambda x: np.sqrt(x, where=MASK), UnsupportedError, r"np\.where\(mask"),
        (lambda x: np.add(x, x, order="F"), UnsupportedError, "order='F'"),
        (lambda x: np.add(x, x, subok=1), UnsupportedError, "'subok' must be a boolean"),
        (lambda x: np.add(x, x, dtype=np.int32), UnsupportedError, "rule 'same_kind'"),
        (lambda x: np.add(x, x, dtype="f4", casting="safe"), UnsupportedError, "rule 'safe'"),
        (lambda x: np.add(x, np.float32(1), casting="no"), UnsupportedError, "casting rule 'no'"),
        (lambda x: np.add(x, x, casting="so"), ShapeError, "casting must be one of"),
        (lambda x: np.less(x, x, dtype=np.float32), UnsupportedError, "No loop matching"),
        (lambda x: np.add(x, x, signature="dd->f"), UnsupportedError, "did not contain a loop"),
        (lambda x: np.matmul(x, x.T, axes=[0]), UnsupportedError, "keyword axes"),
        (lambda x: np.isnat(x), UnsupportedError, "only defined for dates and times"),
        (lambda x: np.subtract.reduce(x, axis=None), ShapeError, "not reorderable"),
        (lambda x: np.subtract.reduce(x[:0]), ShapeError, "zero-size array to reduction"),
        (lambda x: np.add.reduce(x[:0], initial=None), ShapeError, "which has no identity"),
        (lambda x: np.max(x, where=MASK), ShapeError, "does not have an identity"),
        (lambda x: np.max(x[:0], where=False), ShapeError, "does not have an identity"),
        (lambda x: np.sum(x, where=x), UnsupportedError, "Cannot cast array data"),
        (lambda x: np.sum(x, where=MASK[:, None]), ShapeError, "where"),
        (lambda x: np.sum(x[:1], where=MASK), ShapeError, "does not broadcast"),
        (lambda x: np.sum(x, initial=[1.0]), ShapeError, "initial must be a number"),
        (lambda x: np.sum(x, initial=2j), UnsupportedError, "complex"),
        (lambda x: np.arctan2.reduce(x), UnsupportedError, "NumPy's own results are wrong"),
        (lambda x: np.power.reduceat(x, [0]), UnsupportedError, r"np\.power\.accumulate"),
        (lambda x: np.fmod.reduce(x, initial=1, where=MASK), UnsupportedError, "where="),
        (lambda x: np.copysign.reduce(x, axis=(), initial=1), UnsupportedError, "initial="),
        (lambda x: np.add.reduce(x + 1j, dtype=float, where=MASK), UnsupportedError, "complex128"),
        (lambda x: np.add.accumulate(x, axis=None), ShapeError, "multiple axes"),
        (lambda x: np.hypot.accumulate(x[0, 0]), UnsupportedError, "accumulate on a scalar"),
        (lambda x: np.add.reduceat(x[0, 0], [0]), UnsupportedError, "reduceat on a scalar"),
        (lambda x: np.add.reduceat(x, [2]), IndexShapeError, r"out-of-bounds in add\.reduceat"),
        (lambda x: np.add.reduceat(x, [[0]]), ShapeError, "one-dimensional"),
        (lambda x: np.frompyfunc(abs, 1, 1)(x), UnsupportedError, "the ufunc abs"),
        (lambda x: np.vectorize(abs)(x), ValueNeededError, "asarray"),
        (lambda x: np.i0(x * 1j), UnsupportedError, "not supported for complex values"),
        (lambda x: np.unwrap(x, period=x[0, 0]), UnsupportedError, "recorded period"),
        (lambda x: np.unwrap(x[0, 0]), ShapeError, "at least one dimensional"),
        (lambda x: np.real_if_close(x * 1j), UnsupportedError, "depends on the values"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, MATRIX)


@pytest.mark.usefixtures("as_written")
def test_indices_of_reduceat_that_are_recorded_are_refused_as_written() -> None:
    with pytest.raises(UnsupportedError, match="depends on indices"):
        run(lambda x: np.add.reduceat(x, x[0].astype(int)), MATRIX)


def test_indices_of_reduceat_have_a_recording_for_each_pattern() -> None:
    same_for_each(
        lambda x: np.add.reduceat(x, x[0].astype(int), axis=1),
        np.array([[1.5, 0.25, 2.0], [0.5, 2.0, 1.25]]),
        np.array([[0.5, 2.25, 1.0], [0.5, 2.0, 1.25]]),
    )


def test_indices_of_reduceat_are_checked_as_numpy_does() -> None:
    with pytest.raises(IndexShapeError, match=r"out-of-bounds in add\.reduceat"):
        run(lambda x: np.add.reduceat(x, x[0].astype(int)), MATRIX)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="before NumPy 2.1")
def test_cumulative_sums_of_matrices_need_an_axis() -> None:
    with pytest.raises(ShapeError, match="need an axis"):
        run(lambda x: np.cumulative_sum(x), MATRIX)


def test_the_derivative_of_i0_is_exact_to_rounding() -> None:
    """By I1's series, and where x is large by the ratio that its recurrence gives."""
    x = np.array([1e-12, 1e-3, 0.5, 2.0, 7.9, 8.1, 20.0])
    n = np.arange(1.0, 60.0)
    terms = np.cumprod((x[:, None] / 2) ** 2 / (n * (n + 1)), axis=1)
    expected = x / 2 * (1 + terms.sum(axis=1))
    np.testing.assert_allclose(tj.grad(lambda x: np.sum(np.i0(x)))(x), expected, rtol=1e-13)
    large = np.array([50.0, 300.0, 709.0])
    ratio = np.zeros(3)
    for order in range(4000, 0, -1):
        ratio = 1 / (2 * order / large + ratio)
    found = tj.grad(lambda x: np.sum(np.i0(x)))(large)
    np.testing.assert_allclose(found, np.i0(large) * ratio, rtol=1e-12)


def test_comparisons_that_python_reads_are_computed_eagerly() -> None:
    x, y = tj.constant([1.0, np.nan]), tj.constant([1.0, 2.0])
    assert np.allclose(y, np.array([1.0, 2.0 + 1e-9])) is True
    assert np.allclose(x, x, equal_nan=True) is True
    assert np.array_equal(y, y) is True
    assert np.array_equal(y, tj.constant([1.0])) is False
    assert np.array_equal(x, x) is False
    assert np.array_equal(x, x, equal_nan=True) is True
    assert np.array_equiv(y, tj.constant([[1.0, 2.0]] * 3)) is True
    assert np.array_equiv(y, tj.constant([1.0, 2.0, 3.0])) is False


@pytest.mark.parametrize(
    ("ufunc", "good", "bad"),
    [
        (np.log, (2.0,), (-1.0,)),
        (np.sqrt, (2.0,), (0.0,)),
        (np.arcsin, (0.5,), (1.0,)),
        (np.arccos, (0.5,), (2.0,)),
        (np.arctanh, (0.5,), (1.0,)),
        (np.arccosh, (1.5,), (1.0,)),
        (np.reciprocal, (2.0,), (0.0,)),
        (np.divide, (2.0, 3.0), (1.0, 0.0)),
        (np.power, (2.0, 3.0), (-1.0, 0.5)),
        (np.hypot, (2.0, 3.0), (np.inf, 0.0)),
        (np.remainder, (2.0, 1.5), (2.0, 0.0)),
        (np.multiply, (2.0, 1.5), (np.nan, np.inf)),
    ],
)
def test_nothing_comes_from_where_a_mask_does_not_hold(
    ufunc: np.ufunc, good: tuple[float, ...], bad: tuple[float, ...]
) -> None:
    """Warnings are errors here."""
    mask = np.array([True, False])
    xs = [np.array(pair) for pair in zip(good, bad, strict=True)]

    def chosen(*xs: Any) -> Any:
        return np.sum(np.where(mask, masked_call(ufunc, xs, mask), 0.0))

    argnums = tuple(range(len(xs)))
    assert tj.function(chosen)(*xs) == ufunc(*good)
    found = tj.grad(chosen, argnums=argnums)(*xs)
    expected = tj.grad(lambda *xs: ufunc(*xs), argnums=argnums)(*good)
    for grad, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(grad, [wanted, 0.0])


@pytest.mark.parametrize("missing", [np.nan, np.inf])
@pytest.mark.parametrize(
    "call",
    [
        np.sum,
        np.prod,
        np.mean,
        np.var,
        np.std,
        lambda x, where: np.max(x, where=where, initial=0.0),
        lambda x, where: np.hypot.reduce(x, where=where),
        lambda x, where: np.logaddexp.reduce(x, where=where),
        lambda x, where: np.divide.reduce(x, where=where, initial=2.0),
    ],
)
def test_what_a_mask_leaves_out_has_no_part_in_the_gradient(call: Any, missing: float) -> None:
    x = np.array([1.5, missing, 2.0])
    mask = np.array([True, False, True])
    found = tj.grad(lambda x: call(x, where=mask))(x)
    kept = tj.grad(lambda x: call(x, where=np.array([True, True])))(x[mask])
    np.testing.assert_allclose(found, [kept[0], 0.0, kept[1]])


@pytest.mark.parametrize(
    ("call", "x", "expected"),
    [
        (lambda x: np.maximum.accumulate(x)[-1], [1.0, 3.0, 2.0, 3.0], [0.0, 0.5, 0.0, 0.5]),
        (lambda x: np.max(x, initial=3.0), [1.0, 3.0, 2.0, 3.0], [0.0, 1 / 3, 0.0, 1 / 3]),
        (lambda x: np.hypot.reduce(x), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.logaddexp.reduce(x), [-np.inf, -np.inf], [0.0, 0.0]),
        (lambda x: np.logaddexp.reduce(x), [-np.inf, 2.0], [0.0, 1.0]),
        (lambda x: np.std(x, where=np.array([True, True])), [2.0, 2.0], [0.0, 0.0]),
        (lambda x: np.multiply.reduceat(x, [0, 2])[0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (lambda x: np.multiply.reduceat(x, [0, 2])[0], [0.0, 4.0, 2.0], [4.0, 0.0, 0.0]),
    ],
)
def test_singular_points(call: Any, x: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(tj.grad(call)(np.array(x)), expected)


def test_a_masked_sum_is_linear_in_forward_mode() -> None:
    @tj.custom_gradient
    def triple(x: Any) -> Any:
        return x * 3.0, lambda dy: np.sum(dy, where=np.array([True, False])) * np.ones_like(x)

    x = tj.constant([1.0, 2.0])
    with tj.ForwardAccumulator(x, tj.constant([1.0, 10.0])) as forward:
        y = triple(x)
    np.testing.assert_array_equal(forward.jvp(y).numpy(), [11.0, 0.0])


def test_a_masked_call_keeps_the_dtype() -> None:
    x = np.array([1.5, 0.0], np.float32)
    mask = np.array([True, False])
    for y in (0, 0.0, np.int8([2, 0]), np.array([True, False])):
        graph, _ = record(lambda x, y=y: masked_call(np.multiply, (x, y), mask), x)
        assert graph.outputs[0].type.dtype == np.multiply(x, y).dtype
    graph, _ = record(lambda x: masked_call(np.add, (x, 1), mask, dtype=np.float64), x)
    assert graph.outputs[0].type.dtype == np.float64
    graph, _ = record(lambda m: masked_call(np.divide, (x, 2.0), m), mask)
    np.testing.assert_array_equal(interpret(graph, mask)[0], np.array([0.75, 1.0], np.float32))
