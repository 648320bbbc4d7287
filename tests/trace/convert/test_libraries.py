"""Functions of SciPy that are recorded by rule, and those that are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import UnsupportedError

stats = pytest.importorskip("scipy.stats")
linalg = pytest.importorskip("scipy.linalg")
optimize = pytest.importorskip("scipy.optimize")
signal = pytest.importorskip("scipy.signal")

X = np.array([1.5, 0.4, 2.25])
FROZEN = stats.norm(0.5, 2.0)


def test_distributions_are_recorded_by_formulas() -> None:
    def loss(x: Any) -> Any:
        inner = stats.norm(x[0], x[1]).logpdf(0.3) + FROZEN.logpdf(x[1])
        return inner + np.sum(stats.gamma.logpdf(x, 2.0))

    value, slope = tj.value_and_grad(loss)(X)
    assert value == pytest.approx(loss(X), rel=1e-12)
    steps = 1e-6 * np.eye(3)
    expected = [(loss(X + step) - loss(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def test_a_solver_is_refused_where_what_it_solves_is_recorded() -> None:
    def root(x: Any) -> Any:
        return optimize.leastsq(lambda v: v**3 - x[0], 3.0)[0]

    with pytest.raises(UnsupportedError, match=r"scipy\.optimize\.leastsq"):
        tj.function(root)(X)
    plain = tj.function(lambda x: x * optimize.brentq(lambda v: v**3 - 2.0, 0.0, 3.0))
    np.testing.assert_allclose(plain(X), X * 2.0 ** (1 / 3))


def test_code_of_c_is_refused_by_the_name_that_the_user_wrote() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.signal\.find_peaks"):
        tj.function(lambda x: signal.find_peaks(x)[0])(X)


def test_code_of_c_keeps_its_state() -> None:
    """ARPACK writes its progress into a dict: a copy would look as if it had converged."""
    sparse_linalg = pytest.importorskip("scipy.sparse.linalg")
    matrix = pytest.importorskip("scipy.sparse").csr_array(np.diag(np.arange(1.0, 9.0)))
    with pytest.raises(UnsupportedError, match=r"^scipy\.sparse\.linalg\.eigsh is not recorded"):
        tj.function(lambda x: sparse_linalg.eigsh(matrix * x[0], k=2)[0])(X)


def test_classes_are_refused_by_their_names() -> None:
    interpolate = pytest.importorskip("scipy.interpolate")
    with pytest.raises(UnsupportedError, match=r"^scipy\.interpolate\.BPoly is not recorded"):
        tj.function(lambda x: interpolate.BPoly(x[:, None], [0.0, 1.0])(0.5))(X)


def test_what_may_be_overwritten_is_not() -> None:
    matrix = np.diag(X)
    kept = matrix.copy()
    found = tj.function(lambda a: linalg.inv(a, overwrite_a=True) + a)(matrix)
    np.testing.assert_allclose(found, np.linalg.inv(kept) + kept)


def test_checks_look_at_what_is_captured() -> None:
    """They hold for as long as that is the same."""
    table, wanted = np.array([1.0, 2.0]), [2.0, 4.0]

    def f(x: Any) -> Any:
        np.testing.assert_allclose(np.asarray(table) * 2, wanted)
        np.testing.assert_array_less(np.zeros(2), np.array(wanted))
        return x * table

    compiled = tj.function(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(np.ones(2)), [1.0, 2.0])
    table[0] = 5.0
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compiled(np.ones(2))
    table[0] = 1.0
    np.testing.assert_array_equal(compiled(np.ones(2)), [1.0, 2.0])
    np.testing.assert_array_equal(tj.grad(lambda x: np.sum(f(x)))(np.ones(2)), [1.0, 2.0])


def test_checks_of_arguments_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"np\.testing\.assert_allclose is not"):
        tj.function(lambda x: np.testing.assert_allclose(x, 1.0))(np.ones(2))


def test_code_of_c_gets_what_is_captured() -> None:
    table = np.array([1.0, 7.0, 2.0])

    def f(x: Any) -> Any:
        return x * signal.medfilt(np.asarray(table), 3)

    compiled = tj.function(f)
    for number in (1.0, 1.0, 9.0):
        table[0] = number
        np.testing.assert_array_equal(compiled(np.ones(3)), f(np.ones(3)))


def test_what_draws_is_refused_by_the_users_name() -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="the extra docs is not installed")

    def loss(x: Any) -> Any:
        plt.plot(x, x * 2.0)
        return np.sum(x)

    with pytest.raises(UnsupportedError, match=r"^plt\.plot is not recorded") as caught:
        tj.grad(loss)(X)
    assert "tj.callback(plt.plot, x, x * 2.0)" in str(caught.value)


def test_tables_of_plain_numbers_are_made_while_recording() -> None:
    pd = pytest.importorskip("pandas", reason="the extra test is not installed")

    def loss(x: Any) -> Any:
        return np.sum(x * pd.Series([1.0, 2.0, 3.0]).to_numpy())

    assert tj.grad(loss)(X).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(UnsupportedError, match=r"^pd\.Series is not recorded"):
        tj.grad(lambda x: pd.Series(x).sum())(X)
