"""The text of loops: names, rows, and loops of numbers that run on Python floats."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.support.cost_model import assuming

XS = np.random.default_rng(0).normal(size=50)


def text_of(function: Any, *arguments: Any) -> str:
    """The text of the kernel for these arguments, without comments."""
    function(*arguments)
    lines = function.source.split("\n")
    return "\n".join(line for line in lines if not line.strip().startswith("#"))


def filtered(q: Any, s: Any, xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        m, p = carry
        p = p + q
        k = p / (p + s)
        m = m + k * (x - m)
        return (m, (1 - k) * p), m * p

    (m, p), rows = tj.scan(step, (0.0, 1.0), xs)
    return m, p, rows


def filtered_by_numpy(q: Any, s: Any, xs: Any) -> Any:
    m, p, rows = np.float64(0.0), np.float64(1.0), []
    for x in xs:
        p = p + q
        k = p / (p + s)
        m = m + k * (x - m)
        rows.append(m * p)
        p = (1 - k) * p
    return m, p, np.array(rows)


def test_numbers_are_python_floats_in_a_loop_and_numpy_scalars_after_it() -> None:
    kernel = tj.function(filtered)
    q, s = np.float64(0.1), np.float64(0.5)
    text = text_of(kernel, q, s, XS)
    assert_same(kernel(q, s, XS), filtered_by_numpy(q, s, XS))
    assert "tolist()" in text
    assert "float(q)" in text


def test_a_division_by_zero_is_numpys() -> None:
    kernel = tj.function(filtered)
    kernel(np.float64(0.1), np.float64(0.5), XS)
    q, s = np.float64(-1.0), np.float64(-0.0)  # p + s is zero in the first step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = filtered_by_numpy(q, s, XS)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        found = kernel(q, s, XS)
    assert_same(found, expected)
    assert np.isnan(found[0])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_quotient_by_zero_has_the_sign_of_zero(zero: float) -> None:
    def step(s: Any, x: Any) -> Any:
        return s * 0.5 + x * x, 1.0 / (s * x)

    kernel = tj.function(lambda s, xs: tj.scan(step, s, xs))
    xs = np.full(40, 2.0)
    kernel(np.float64(1.0), xs)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        rows = kernel(np.float64(zero), xs)[1]
    assert rows[0] == np.copysign(np.inf, zero)


def test_a_few_steps_do_not_pay() -> None:
    kernel = tj.function(filtered)
    q, s = np.float64(0.1), np.float64(0.5)
    text = text_of(kernel, q, s, XS[:1])
    assert_same(kernel(q, s, XS[:1]), filtered_by_numpy(q, s, XS[:1]))
    assert "tolist" not in text


def test_exact_loops_are_of_numpys_numbers() -> None:
    kernel = tj.function(filtered, exact=True)
    q, s = np.float64(0.1), np.float64(0.5)
    assert "tolist" not in text_of(kernel, q, s, XS)
    assert_same(kernel(q, s, XS), filtered_by_numpy(q, s, XS))


def test_arrays_are_never_floats() -> None:
    def step(s: Any, x: Any) -> Any:
        return s * 0.5 + np.sum(x), s

    kernel = tj.function(lambda xs: tj.scan(step, 0.0, xs))
    xs = XS.reshape(10, 5)
    s, rows, expected = 0.0, [], []
    for x in xs:
        rows.append(s)
        s = s * 0.5 + np.sum(x)
    expected = [np.float64(s), np.array(rows)]
    for one, other in zip(kernel(xs), expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_float32_stays_float32() -> None:
    kernel = tj.function(lambda s, xs: tj.scan(lambda s, x: (s * x, s), s, xs))
    xs = np.full(40, 1.01, "f4")
    found, rows = kernel(np.float32(1.5), xs)
    assert found.dtype == rows.dtype == np.float32
    assert "tolist" not in kernel.source


def test_an_array_that_a_step_updates_keeps_its_name() -> None:
    def filled(u: Any) -> Any:
        def step(i: Any, u: Any) -> Any:
            v = u.copy()
            v[i] = np.sin(v[i - 1])
            return v

        return tj.fori_loop(0, 3, step, u)

    kernel = tj.function(filled)
    u = np.arange(4.0)
    text = text_of(kernel, u)
    expected = u.copy()
    for i in range(3):
        expected[i] = np.sin(expected[i - 1])
    np.testing.assert_array_equal(kernel(u), expected)
    loop = text.split("in range(3)")[1]
    assert "v = " not in loop


def halved(p: Any) -> Any:
    low, high = 0.0, p[0]
    for _ in range(60):
        middle = 0.5 * (low + high)
        excess = middle**3 + p[1] * middle - p[0]
        if abs(excess) < 1e-10:
            break
        if excess > 0:
            high = middle
        else:
            low = middle
    return middle


def test_a_loop_that_is_left_is_one_with_a_test() -> None:
    text = text_of(tj.function(halved), np.array([1.0, 2.0]))
    assert "while t < 60 and not is_over:" in text


def test_a_loop_is_left_where_an_earlier_step_has_ended_it() -> None:
    with assuming(recorded_steps=100, recorded_outer_steps=100):
        text = text_of(tj.function(halved), np.array([1.0, 2.0]))
        assert text.count("break") == 1
        gradient = tj.function(tj.value_and_grad(halved))
        gradient(np.array([1.0, 2.0]))
    for p in (np.array([1.0, 2.0]), np.array([0.4, 0.1]), np.array([2.0, 9.0])):
        value, slope = gradient(p)
        assert value == halved(p)
        with tj.GradientTape() as tape:
            tape.watch(q := tj.constant(p))
            wanted = halved(q)
        np.testing.assert_allclose(slope, tape.gradient(wanted, q), rtol=1e-12)
    (kernel,) = gradient.kernels
    assert "[t:] = " in kernel.source  # the rows of all steps that are left out


def test_a_loop_that_changes_after_its_end_is_not_left() -> None:
    def counted(x: Any) -> Any:
        total, steps = 0.0, 0
        for number in x:
            steps = steps + 1
            total = total if total > 4.0 else total + number
        return total * steps

    assert "break" not in text_of(tj.function(counted), np.abs(XS))
    assert tj.function(counted)(np.abs(XS)) == counted(np.abs(XS))


def test_a_condition_without_statements_is_one_line() -> None:
    @tj.function
    def least(x: Any, y: Any, z: Any) -> Any:
        if x > y:
            x, y = y, x
        return (x - z if x > z else z), y

    text = text_of(least, *np.float64([2.0, 1.0, 0.5]))
    assert "x_1, y_1 = (y, x) if x > y else (x, y)" in text
    for numbers in ([2.0, 1.0, 0.5], [1.0, 2.0, 1.5], [3.0, 2.5, 9.0]):
        assert least(*np.float64(numbers)) == least.python(*np.float64(numbers))


def test_another_side_that_is_one_condition_is_elif() -> None:
    @tj.function
    def by_parts(x: Any) -> Any:
        if x < 0.0:
            y = x * x
        elif x < 1.0:
            y = x + 1.0
        elif x < 2.0:
            y = x * 2.0
        else:
            y = x - 1.0
            if x > 4.0:
                y = y * x
        return y

    lines = [line.strip() for line in text_of(by_parts, np.float64(0.5)).split("\n")]
    heads = [line.split()[0] for line in lines if line.startswith(("if", "elif", "else"))]
    assert heads == ["if", "elif", "elif", "else:", "if", "else:"]
    for x in (-1.0, 0.5, 1.5, 3.0, 5.0):
        assert by_parts(np.float64(x)) == by_parts.python(np.float64(x))
