"""Checked kernels: the same bits, and the first value that is not finite."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same_bits
from tests.support.running import kernel_of
from tests.test_golden import PROGRAMS
from tracejit.compiler.kernel import Kernel
from tracejit.debug.switch import SWITCH
from tracejit.ir.types import parse_type
from tracejit.support.errors import NonFiniteError

X = np.array([0.0, 1.0, 4.0])
HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden_kernels_answer_the_same_bits(name: str) -> None:
    kernel = PROGRAMS[name].kernel()
    rng = np.random.default_rng(0)
    arrays: list[Any] = []
    for text in kernel.signature["inputs"].values():
        kind = parse_type(text)
        drawn = rng.integers(0, 2, kind.shape) if kind.dtype.kind == "i" else rng.random(kind.shape)
        arrays.append(np.asarray(drawn, kind.dtype)[()])
    checked = kernel.checked()
    plain = kernel.forward(*arrays)
    assert_same_bits(checked.forward(*arrays), plain)
    if "gradient" in kernel.signature:
        assert_same_bits(checked.value_and_grad(*arrays), kernel.value_and_grad(*arrays))
        assert_same_bits(checked.backward(plain[1]), kernel.backward(plain[1]))
    assert checked.source == kernel.source


def mixed(x: Any, w: Any) -> Any:
    """Loops, updates in place, branches and tiles."""
    total = x * 0.5
    for k in range(4):
        total = np.tanh(total @ w + k) + x
        if k == 2:
            total = np.where(total > 0, total, np.exp(total))
    total[0] += np.sum(w)
    return np.sum(np.sort(total, axis=0) * np.linalg.solve(w, x.T).T) + np.sum(np.cumsum(x))


def test_a_mixed_program_answers_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(6, 4)), rng.normal(size=(4, 4)) + 4 * np.eye(4)
    kernel = tj.value_and_grad(tj.function(mixed, cache=False), (0, 1)).kernel(x, w)
    assert_same_bits(kernel.checked().value_and_grad(x, w), kernel.value_and_grad(x, w))


def test_tiles_answer_the_same_bits_and_are_checked() -> None:
    def tiled(x: Any) -> Any:
        return np.sum(np.log(np.exp(-x) * np.cos(x) + 2.0))

    x = np.linspace(0.0, 1.0, 900_000)
    kernel = kernel_of(tiled, x, threads=2)
    assert "in_turn(tile_1" in kernel.source
    checked = kernel.checked()
    assert_same_bits(checked.value_and_grad(x), kernel.value_and_grad(x))
    x[800_000] = -800.0
    with pytest.raises(NonFiniteError, match="exp"):
        checked.value_and_grad(x)


def test_loops_are_checked_in_each_step() -> None:
    def grown(x: Any) -> Any:
        return np.sum(tj.fori_loop(0, 100, lambda k, c: c * x * 10.0, x))

    kernel = kernel_of(grown, X)
    assert "for " in kernel.source
    assert_same_bits(kernel.checked().forward(X * 0.05), kernel.forward(X * 0.05))
    with pytest.raises(NonFiniteError, match="inf in 3 elements") as caught:
        kernel.checked().value_and_grad(X * 1e3 + 1.0)
    assert "e+30" in str(caught.value), "the range of the last step that was finite"


def logs(x: Any) -> Any:
    shifted = x - 1.0
    return np.sum(np.log(shifted + 1.0))


def test_the_error_names_the_users_line_the_generated_line_and_the_ranges() -> None:
    kernel = kernel_of(logs, X)
    with pytest.raises(NonFiniteError) as caught:
        kernel.checked().value_and_grad(X)
    text = str(caught.value)
    line = logs.__code__.co_firstlineno + 2
    assert f"  {HERE}:{line}   return np.sum(np.log(shifted + 1.0))" in text
    found = re.search(r"`(.*)` \(.*:(\d+)\)", text)
    assert found is not None
    assert kernel.source.split("\n")[int(found[2]) - 1].strip() == found[1]
    assert "has 1 inf in 3 elements" in text and "f8[3] from 0 to 4" in text
    assert isinstance(caught.value, FloatingPointError)
    assert isinstance(caught.value, tj.TracejitError)


def test_the_traceback_ends_in_the_generated_line() -> None:
    kernel = kernel_of(logs, X)
    with pytest.raises(NonFiniteError) as caught:
        kernel.checked().forward(X)
    frames = [one.filename for one in traceback.extract_tb(caught.tb)]
    assert kernel.module.__file__ in frames


def test_a_gradient_that_is_not_finite_while_the_value_is() -> None:
    kernel = kernel_of(lambda x: np.sum(np.sqrt(x)), X)
    for run in (kernel.checked().value_and_grad, halves(kernel.checked())):
        with pytest.raises(NonFiniteError, match="but the gradient of lambda is not fin") as caught:
            run(X)
    with pytest.raises(NonFiniteError, match=r"^the value is 3, but the gradient") as caught:
        kernel.checked().value_and_grad(X)
    assert "0 to 2" in str(caught.value)
    assert_same_bits(kernel.checked().forward(X), kernel.forward(X))


def halves(kernel: Kernel) -> Callable[..., Any]:
    """Forward and backward, one after the other."""
    return lambda *arrays: kernel.backward(kernel.forward(*arrays)[1])


def test_an_overflow_of_the_value_is_none_of_the_gradient() -> None:
    kernel = kernel_of(lambda x: np.sum(np.exp(x)), X)
    with pytest.raises(NonFiniteError, match=r"^exp") as caught:
        kernel.checked().value_and_grad(X * 1e3)
    assert "but the gradient" not in str(caught.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_argument_that_is_not_finite_is_named(bad: float) -> None:
    kernel = kernel_of(lambda x, weights: np.sum(x * weights), X, X)
    with pytest.raises(NonFiniteError, match=r"^argument weights of lambda holds 1 ") as caught:
        kernel.checked().value_and_grad(X, np.array([1.0, bad, 1.0]))
    assert "`" not in str(caught.value)


def test_a_residual_that_is_not_finite_is_named() -> None:
    kernel = kernel_of(lambda x: np.sum(x * x), X)
    with pytest.raises(NonFiniteError, match=r"^residual x of lambda holds 1 nan"):
        kernel.checked().backward((np.array([1.0, np.nan, 2.0]),))
    with pytest.raises(NonFiniteError, match=r"^argument out_bar of lambda holds 1 nan"):
        kernel.checked().backward((X,), np.nan)


@pytest.mark.parametrize(
    "function",
    [
        np.nanmean,
        np.nansum,
        lambda x: np.sum(np.where(np.isnan(x), 0.0, x)),
        lambda x: np.nan_to_num(x).sum(),
    ],
)
def test_nan_on_purpose_is_no_event(function: Callable[..., Any]) -> None:
    x = np.array([1.0, np.nan, 3.0])
    kernel = kernel_of(function, x)
    assert_same_bits(kernel.checked().value_and_grad(x), kernel.value_and_grad(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(np.exp(np.where(x > 0, x, -np.inf))),
        lambda x: np.max(np.where(x > 0, x, -np.inf)),
        lambda x: np.sum(np.minimum(x, np.inf)),
        lambda x: np.where(x > 0, x, np.inf),
    ],
)
def test_infinite_constants_are_no_event(function: Callable[..., Any]) -> None:
    kernel = tj.function(function, cache=False).kernel(X)
    assert_same_bits(kernel.checked().forward(X), kernel.forward(X))


def test_infinities_that_cancel_are_an_event() -> None:
    kernel = tj.function(lambda x, y: x - y, cache=False).kernel(X, X)
    with pytest.raises(NonFiniteError, match="hold no nan"):
        kernel.checked().forward(np.full(3, np.inf), np.full(3, np.inf))


def masked(x: Any) -> Any:
    return np.sum(np.where(x > 0, np.log(x), 0.0))


def test_the_side_that_where_leaves_out_is_an_event_but_not_with_results_only() -> None:
    kernel = kernel_of(masked, X)
    with pytest.raises(NonFiniteError, match=r"^log"):
        kernel.checked().forward(X)
    assert_same_bits(kernel.checked(results_only=True).value_and_grad(X), kernel.value_and_grad(X))


def test_a_kernel_that_a_callback_calls_is_not_checked_with_the_one_around_it() -> None:
    inner = tj.function(lambda x: np.log(x), cache=False)

    def outer(x: Any) -> Any:
        found = tj.callback(lambda a: np.exp(inner(a)), x, result=tj.TensorSpec((3,)))
        return found * 2.0

    around = tj.function(outer, cache=False)
    around(X)
    (made,) = around._table.compiled
    arrays = made.arrays((X,), {})
    checked = made.kernel.checked()
    SWITCH.count_blocks(1)  # as another thread does, whose checks are not for this one
    try:
        assert np.array_equal(checked.forward(*arrays), np.exp(np.log(X)) * 2.0)
    finally:
        SWITCH.count_blocks(-1)


def test_results_only_names_the_operation_that_the_result_comes_from() -> None:
    def two(x: Any) -> Any:
        kept = np.where(x > 0, np.log(x), 0.0)
        return np.sum(kept) + np.sum(1.0 / (x - 4.0))

    kernel = kernel_of(two, X)
    with pytest.raises(NonFiniteError) as caught:
        kernel.checked(results_only=True).forward(X)
    assert "np.sum(1.0 / (x - 4.0))" in str(caught.value)


def test_operands_are_shown_as_they_were_before_an_update_in_place() -> None:
    def updated(x: Any) -> Any:
        y = x * 2.0 + 1.0
        y = np.exp(y * 100.0)
        return np.sum(y)

    x = np.full((40, 40), 5.0)
    kernel = tj.function(updated, cache=False).kernel(x)
    with pytest.raises(NonFiniteError, match=r"f8\[40,40\] 1100\.$|f8\[40,40\] 1100\b"):
        kernel.checked().forward(x)


def test_single_and_complex_numbers_and_numbers_alone() -> None:
    single = kernel_of(lambda x: np.sum(x * np.float32(1e30)), X.astype("f4"))
    with pytest.raises(NonFiniteError, match="inf"):
        single.checked().forward(X.astype("f4") * np.float32(1e10))
    number = kernel_of(lambda x: np.log(x) * 2.0, np.float64(1.0))
    with pytest.raises(NonFiniteError, match=r"^log\(x\) is infinite") as caught:
        number.checked().value_and_grad(np.float64(0.0))
    assert caught.value.__context__ is None
    spectrum = tj.function(lambda x: 1.0 / np.fft.fft(x), cache=False).kernel(X)
    with pytest.raises(NonFiniteError, match="3 elements"):
        spectrum.checked().forward(np.zeros(3))


def test_a_checked_kernel_stays_checked_after_debug_nans() -> None:
    kernel = kernel_of(logs, X)
    with tj.debug_nans():
        checked = kernel.checked()
        with pytest.raises(NonFiniteError):
            checked.forward(X)
    with pytest.raises(NonFiniteError):
        checked.forward(X)
    assert kernel.forward(X)[0] == -np.inf


def test_branches_that_were_not_recorded_are_recorded_under_debug_nans() -> None:
    def by_sign(x: Any) -> Any:
        return np.sum(np.log(x)) if x.sum() > 0 else np.sum(x * x)

    f = tj.value_and_grad(tj.function(by_sign, cache=False))
    with tj.debug_nans():
        assert f(X + 1.0)[0] > 0.0
        assert f(-X)[0] == 17.0
        with pytest.raises(NonFiniteError):
            f(X)


def test_draws_are_the_same_and_given_back_after_an_error() -> None:
    def noisy(x: Any, rng: Any) -> Any:
        return np.sum(np.log(x) + rng.normal(size=3))

    f = tj.function(noisy, cache=False)
    x = X + 1.0
    plain = [f(x, rng) for rng in [np.random.default_rng(1)] for _ in range(2)]
    rng = np.random.default_rng(1)
    with tj.debug_nans():
        found = [f(x, rng)]
        with pytest.raises(NonFiniteError):
            f(X, rng)
        found.append(f(x, rng))
    assert found == plain


def test_numpy_is_silent_in_a_checked_call_alone() -> None:
    kernel = tj.function(lambda x: np.log(x), cache=False).kernel(X)
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NonFiniteError):
            kernel.checked().forward(X)
        with pytest.raises(RuntimeWarning):
            kernel.forward(X)
