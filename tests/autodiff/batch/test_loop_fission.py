"""Loop fission: loops split into what is computed for all steps at once and what is left, against
unrolled loops of Python's and kernels that keep every bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import all_alike, all_close, assert_close_to_exact, code, with_special
from tests.by_day import by_day
from tests.support.arrays import normals
from tracejit.compiler import pipeline
from tracejit.support.cost_model import assuming

FEW = settings(
    max_examples=by_day(8, 30),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=1_000, derandomize=False, print_blob=True)
T, N = 7, 4


def unrolled(step: Callable[..., Any], carry: Any, xs: Any) -> Any:
    """`tj.scan` step by step, one copy of the body for each."""
    rows = []
    for x in xs:
        carry, y = step(carry, x)
        rows.append(y)
    return carry, np.stack(rows)


def kernel(f: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """The code of `f` with its gradients in all arguments."""
    compiled = tj.value_and_grad(tj.function(f, cache=False), tuple(range(len(arguments))))
    compiled(*arguments)
    return code(compiled)


def bodies(text: str) -> list[str]:
    """The bodies of the loops of generated code, those of the gradient in one function."""
    lines = text.splitlines()
    found: list[list[str]] = []
    for line in lines:
        if re.match(r"    for .*:", line):
            found.append([])
        elif line.startswith("        ") and found:
            found[-1].append(line)
    return ["\n".join(body) for body in found]


def check(f: Callable[..., Any], arguments: Sequence[Any], loops: int) -> str:
    """`f(scan, ...)` is right, with this many loops left, and more to compute in them where they
    are not split; the code."""
    assert_close_to_exact(lambda *a: f(tj.scan, *a), arguments, grad=len(arguments))
    argnums = tuple(range(len(arguments)))
    found = tj.value_and_grad(lambda *a: f(tj.scan, *a), argnums)(*arguments)
    expected = tj.value_and_grad(lambda *a: f(unrolled, *a), argnums)(*arguments)
    all_close(found, expected, np.float64)
    text = kernel(lambda *a: f(tj.scan, *a), arguments)
    assert len(bodies(text)) == loops
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "split_loops", lambda graph: graph)
        whole = kernel(lambda *a: f(tj.scan, *a), arguments)
    lines = "\n".join(bodies(whole)).count("\n")
    assert lines > "\n".join(bodies(text)).count("\n") or text == whole
    return text


# Each transformation


def rnn(scan: Any, w: Any, u: Any, v: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w @ h + u @ x)
        return h, v @ h

    return np.sum(scan(step, np.zeros(len(w)), xs)[1] ** 2)


def test_a_recurrence_keeps_only_its_own_product() -> None:
    text = check(rnn, normals((N, N), (N, 3), (2, N), (T, 3)), loops=2)
    forward, backward = bodies(text)
    assert forward.count(".dot(") == backward.count(".dot(") == 1
    assert "outer" not in text
    assert "tanh" not in backward


def test_sums_of_products_of_matrices_are_one_product() -> None:
    def f(scan: Any, w: Any, u: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(h @ w + x @ u)
            return h, h

        return np.sum(scan(step, np.zeros((2, N)), xs)[1] ** 2)

    text = check(f, normals((N, N), (3, N), (T, 2, 3)), loops=2)
    forward, backward = bodies(text)
    assert forward.count(".dot(") == backward.count(".dot(") == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda c, x: (c, np.exp(-x * x)),
        lambda c, x: (c, np.outer(x, x) @ x),
        lambda c, x: (c + np.outer(x, np.tanh(x)), np.sum(x)),
        lambda c, x: (c - x[:, None] * x, np.sum(x)),
        lambda c, x: (c + np.sin(x), x),
        lambda c, x: (c + x @ x, x),
        lambda c, x: (c + x[0] * x + 1.5, x),
    ],
)
def test_a_loop_that_hands_on_nothing_is_its_body_for_all_steps(step: Any) -> None:
    def f(scan: Any, xs: Any) -> Any:
        first = step(0.0, np.ones(N))[0] * 0.0
        c, ys = scan(step, first, xs)
        return np.sum(c**2) + np.sum(np.sin(ys))

    check(f, normals((T, N)), loops=0)


def test_loops_without_carried_values_of_loops_with_them_are_one_loop() -> None:
    def f(scan: Any, w: Any, xs: Any) -> Any:
        def sequence(total: Any, rows: Any) -> Any:
            def step(h: Any, x: Any) -> Any:
                h = np.tanh(w @ h + x)
                return h, h

            h, hs = scan(step, np.zeros(N), rows)
            return total + np.sum(h), np.sum(hs, axis=0)

        total, sums = scan(sequence, 0.0, xs)
        return total + np.sum(sums**2)

    arguments = normals((N, N), (5, T, N))
    assert_close_to_exact(lambda *a: f(tj.scan, *a), arguments, grad=2)
    found = tj.value_and_grad(lambda *a: f(tj.scan, *a), (0, 1))(*arguments)
    all_close(found, tj.value_and_grad(lambda *a: f(unrolled, *a), (0, 1))(*arguments), np.float64)
    text = kernel(lambda *a: f(tj.scan, *a), arguments)
    assert f"range({T})" in text
    assert "range(5)" not in text


def test_loops_of_conditions_stay() -> None:
    def f(xs: Any, limit: Any) -> Any:
        def sequence(total: Any, rows: Any) -> Any:
            def step(h: Any, x: Any) -> Any:
                h = tj.cond(np.sum(x) > limit, lambda h: h + x, lambda h: h * 2.0, h)
                return h, h

            return total, scan_sum(step, rows)

        return np.sum(tj.scan(sequence, 0.0, xs)[1] ** 2)

    def scan_sum(step: Any, rows: Any) -> Any:
        return tj.scan(step, np.ones(N), rows)[0]

    xs, limit = normals((5, T, N))[0], 0.1
    assert_close_to_exact(f, (xs, limit), grad=1)
    compiled = tj.function(f, cache=False)
    compiled(xs, limit)
    assert "range(5)" in compiled.source


def test_sums_begin_with_any_value() -> None:
    def f(scan: Any, a: Any, xs: Any) -> Any:
        c, _ = scan(lambda c, x: (c + np.outer(x, x), x), a, xs)
        return np.sum(c**3)

    check(f, normals((N, N), (T, N)), loops=0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "step",
    [
        lambda c, x: (c + x, np.sin(c) * x),
        lambda c, x: (c - x * x + 1.5, c * x),
        lambda c, x: (c + x, c + x),
        lambda c, x: (x, x - c),
        lambda c, x: (np.cos(x), x * c * c),
        lambda c, x: (x, x),
    ],
)
def test_what_a_step_begins_with_may_be_known_before_the_loop(step: Any, reverse: bool) -> None:
    def f(scan: Any, a: Any, xs: Any) -> Any:
        c, ys = scan(step, a, xs[::-1] if reverse and scan is unrolled else xs)
        return np.sum(c**2) + np.sum(np.sin(ys[::-1] if reverse and scan is unrolled else ys))

    def scan(step: Any, a: Any, xs: Any) -> Any:
        return tj.scan(step, a, xs, reverse=reverse)

    arguments = normals(N, (T, N))
    assert_close_to_exact(lambda *a: f(scan, *a), arguments, grad=2)
    found = tj.value_and_grad(lambda *a: f(scan, *a), (0, 1))(*arguments)
    all_close(found, tj.value_and_grad(lambda *a: f(unrolled, *a), (0, 1))(*arguments), np.float64)
    assert not bodies(kernel(lambda *a: f(scan, *a), arguments))


def test_known_carries_follow_from_each_other() -> None:
    def f(scan: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            before, last, place, count = carry
            y = (x - 2 * last + before) * count + place
            return (last, x, place + last * 0.1, count + 1), np.tanh(y)

        first = np.zeros(N), np.ones(N), np.zeros(N), 0.0
        (_, _, place, count), ys = scan(step, first, xs)
        return np.sum(ys) + np.sum(place) * count

    check(f, normals((T, N)), loops=0)


def test_elements_by_the_number_of_the_step_are_slices() -> None:
    def f(x: Any) -> Any:
        def step(i: Any, v: Any) -> Any:
            return v + x[i] * x[i - 1] - x[T - 1 - i] * np.sin(x[2 * i]) * (i + 1) ** 2

        return tj.fori_loop(1, T, step, 0.0)

    x = normals(2 * T)[0]
    assert_close_to_exact(f, (x,), grad=1)
    text = kernel(f, (x,))
    assert not bodies(text)
    assert "x[1:7]" in text
    assert "x[5::-1]" in text
    assert "x[2:13:2]" in text


def covariance(data: Any) -> Any:
    """The covariance of columns, number by number."""
    rows, columns = data.shape
    data = data - np.mean(data, axis=0)

    def outer(i: Any, c: Any) -> Any:
        def inner(j: Any, c: Any) -> Any:
            c = c.copy()
            c[i, j] = data[:, i] @ data[:, j] / (rows - 1)
            return c

        return tj.fori_loop(0, columns, inner, c)

    return tj.fori_loop(0, columns, outer, np.zeros((columns, columns)))


def test_a_loop_of_loops_over_columns_is_a_product() -> None:
    (data,) = normals((9, 5))
    np.testing.assert_allclose(tj.function(covariance)(data), np.cov(data.T), atol=1e-14)
    assert_close_to_exact(lambda data: np.sum(covariance(data) ** 3), (data,), grad=1)
    assert not bodies(kernel(lambda data: np.sum(covariance(data) ** 3), (data,)))


def test_rows_of_their_own_are_written_at_once() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, out: Any) -> Any:
            out = out.copy()
            out[i + 1] = out[i + 1] * 3 + x[i] * i
            return out

        return np.sum(tj.fori_loop(0, T, step, a) ** 2)

    arguments = normals((T + 2, N), (T, N))
    assert_close_to_exact(f, arguments, grad=2)
    assert not bodies(kernel(f, arguments))


def test_rows_that_another_step_has_written_are_read_in_the_loop() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, out: Any) -> Any:
            out = out.copy()
            out[i + 1] = np.sin(out[i]) + x[i]
            return out

        return np.sum(tj.fori_loop(0, T, step, a) ** 2)

    arguments = normals((T + 1, N), (T, N))
    assert_close_to_exact(f, arguments, grad=2)
    assert len(bodies(kernel(f, arguments))) == 2


def test_rows_that_are_written_twice_keep_their_order() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, out: Any) -> Any:
            out = out.copy()
            out[i] = x[i]
            out[i + 1] = x[i] * 2
            return out

        return np.sum(tj.fori_loop(0, T, step, a) ** 2)

    assert_close_to_exact(f, normals((T + 1, N), (T, N)), grad=2)


def test_numbers_of_python_keep_their_meaning() -> None:
    """Numbers that follow from the step give way to the dtype of arrays, and are as large as
    Python's."""

    def f(x: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + x[i] * (i * 0.1) + x[i] * (10**12 * i**3 % 7) - 2**40 * (i // 3)

        return tj.fori_loop(0, T, step, np.float32(0))

    (x,) = normals(T)
    assert_close_to_exact(f, (x.astype(np.float32),), grad=1)
    expected = sum(
        x[i] * (i * 0.1) + x[i] * (10**12 * i**3 % 7) - 2**40 * (i // 3) for i in range(T)
    )
    assert tj.function(f)(x.astype(np.float32)) == pytest.approx(expected, rel=1e-6)


def test_numbers_that_are_carried_are_counted_where_the_loop_reads_them() -> None:
    def f(scan: Any, w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, rate, count, product = carry
            h = np.tanh(w @ h * rate + x * count)
            return (h, rate * 0.9, count + 1, product * (count + 40)), x * rate + product % 7

        (h, rate, count, product), ys = scan(step, (np.ones(N), 0.5, 1, 10**6), xs)
        return np.sum(ys**2) + np.sum(h) * rate * count + product / 1e20

    text = check(f, normals((N, N), (T, N)), loops=2)
    assert "rate" in bodies(text)[0]
    assert " = a_1[" not in bodies(text)[0]


def test_division_by_the_first_step_raises_as_in_python() -> None:
    def f(x: Any) -> Any:
        return tj.fori_loop(0, T, lambda i, total: total + x * (1 / i), x)

    with pytest.raises(ZeroDivisionError):
        tj.function(f)(normals(N)[0])


# What stays


def test_draws_take_place_at_each_step() -> None:
    def f(xs: Any, rng: Any) -> Any:
        _, ys = tj.scan(lambda c, x: (c, x * rng.normal(size=N)), 0.0, xs)
        return ys

    (xs,) = normals((T, N))
    found = tj.function(f)(xs, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(found, [x * rng.normal(size=N) for x in xs])


def test_long_rows_stay_in_the_loop() -> None:
    def f(scan: Any, xs: Any) -> Any:
        _, ys = scan(lambda c, x: (c, np.tanh(x) * 2), 0.0, xs)
        return np.sum(ys**2)

    arguments = normals((T, N))
    with assuming(step_bytes=8 * N - 1, cached_steps=8 * N * T - 1):
        assert len(bodies(kernel(lambda xs: f(tj.scan, xs), arguments))) == 2
    with assuming(step_bytes=8 * N, cached_steps=8 * N * T - 1):
        assert not bodies(kernel(lambda xs: f(tj.scan, xs), arguments))
    with assuming(step_bytes=8 * N, cached_steps=8 * N * T - 1, loop_bytes=8 * N * T - 1):
        assert len(bodies(kernel(lambda xs: f(tj.scan, xs), arguments))) == 2


def test_exact_kernels_are_not_split() -> None:
    def f(xs: Any) -> Any:
        return tj.scan(lambda c, x: (c + x, np.sin(x)), 0.0, xs)

    for exact in (True, False):
        compiled = tj.function(f, exact=exact, cache=False)
        compiled(normals(T)[0])
        assert ("for t in" in compiled.source) == exact


def test_the_length_may_change() -> None:
    compiled = tj.value_and_grad(tj.function(rnn_scan), (0, 1, 2, 3))
    for length in (T, 3, 1, T + 1):
        arguments = normals((N, N), (N, 3), (2, N), (length, 3))
        expected = tj.value_and_grad(tj.function(rnn_scan, exact=True), (0, 1, 2, 3))(*arguments)
        all_close(compiled(*arguments), expected, np.float64)


def rnn_scan(w: Any, u: Any, v: Any, xs: Any) -> Any:
    return rnn(tj.scan, w, u, v, xs)


# Random bodies

LINES: tuple[Callable[..., Any], ...] = (
    lambda h, c, x, t, w, a: np.tanh(w @ h + x),
    lambda h, c, x, t, w, a: np.sin(h) * a + w @ x,
    lambda h, c, x, t, w, a: np.where(x > a, h, x * t),
    lambda h, c, x, t, w, a: np.concatenate([h[1:], x[:1]]) * 0.5,
    lambda h, c, x, t, w, a: x @ w * (t + 0.5) - np.maximum(h, 0.0),
    lambda h, c, x, t, w, a: h[::-1] + np.outer(x, a) @ x,
    lambda h, c, x, t, w, a: x * 2 - a,
    lambda h, c, x, t, w, a: np.cumsum(x) + (a @ x) * h,
    lambda h, c, x, t, w, a: h - w[t % N] * x,
    lambda h, c, x, t, w, a: (w * x).T @ h / (1.0 + np.sum(a * a)),
)
SUMS: tuple[Callable[..., Any], ...] = (
    lambda c, h, y, x, t, w: c + np.outer(y, x),
    lambda c, h, y, x, t, w: c - y[:, None] * h + w,
    lambda c, h, y, x, t, w: c + (np.outer(y, h) - np.outer(x, x)),
    lambda c, h, y, x, t, w: c * 0.5 + y,
    lambda c, h, y, x, t, w: c + y @ x * w,
    lambda c, h, y, x, t, w: c + w * t,
    lambda c, h, y, x, t, w: c + 1.5,
    lambda c, h, y, x, t, w: np.outer(h, x),
    lambda c, h, y, x, t, w: c + w[:, 1] * y,
)
ENDS: tuple[Callable[..., Any], ...] = (
    lambda h, y, x: y,
    lambda h, y, x: w_like(y) + x,
    lambda h, y, x: np.sum(y * h),
    lambda h, y, x: (h * x)[1:3],
    lambda h, y, x: x,
)


def w_like(y: Any) -> Any:
    return np.outer(y, y) @ y


BODIES: dict[str, Any] = dict(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=3),
    is_handed_on=st.booleans(),
    total=st.sampled_from(SUMS),
    end=st.sampled_from(ENDS),
    length=st.integers(1, 6),
    dtype=st.sampled_from([np.float64, np.float32]),
    reverse=st.booleans(),
    special=st.sampled_from([0, 0, 1]),
    seed=st.integers(0, 1000),
)


@FEW
@given(**BODIES)
def test_random_bodies(**drawn: Any) -> None:
    check_random_bodies(**drawn)


@pytest.mark.nightly
@MANY
@given(**BODIES)
def test_nightly_random_bodies(**drawn: Any) -> None:
    check_random_bodies(**drawn)


def check_random_bodies(
    lines: Any,
    is_handed_on: bool,
    total: Any,
    end: Any,
    length: int,
    dtype: Any,
    reverse: bool,
    special: int,
    seed: int,
) -> None:
    """A scan whose body has these lines is what the exact kernel computes."""

    def f(w: Any, a: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c, t = carry
            y = h
            for line in lines:
                y = line(y, c, x, 2, w, a)
            c = total(c, h, y, x, t, w)
            return (y if is_handed_on else h, c, t + 1), end(h, y, x)

        first = np.zeros_like(a), np.zeros_like(w), np.zeros_like(a[0])
        (h, c, _), ys = tj.scan(step, first, xs, reverse=reverse)
        means = np.mean(np.tanh(h)) + np.mean(np.tanh(c)) + np.mean(np.tanh(ys))
        return means + 4.0  # above 1, for means that cancel have no digits to compare

    rng = np.random.default_rng(seed)
    w = (rng.normal(size=(N, N)) / 2).astype(dtype)
    a = rng.normal(size=N).astype(dtype)
    xs = rng.normal(size=(length, N)).astype(dtype)
    if special:
        xs = with_special(rng, xs, special)
        with np.errstate(all="ignore"):
            found, expected = [
                tj.value_and_grad(tj.function(f, exact=exact, cache=False), (0, 1, 2))(w, a, xs)
                for exact in (False, True)
            ]
        all_alike(found, expected, [np.isfinite])
    else:
        assert_close_to_exact(f, (w, a, xs), grad=3)


BODIES_BY_NUMBER: dict[str, Any] = dict(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=2),
    total=st.sampled_from(SUMS),
    shift=st.integers(0, 2),
    length=st.integers(1, 5),
    writes=st.booleans(),
    seed=st.integers(0, 1000),
)


@FEW
@given(**BODIES_BY_NUMBER)
def test_random_bodies_by_number(**drawn: Any) -> None:
    check_random_bodies_by_number(**drawn)


@pytest.mark.nightly
@MANY
@given(**BODIES_BY_NUMBER)
def test_nightly_random_bodies_by_number(**drawn: Any) -> None:
    check_random_bodies_by_number(**drawn)


def check_random_bodies_by_number(
    lines: Any, total: Any, shift: int, length: int, writes: bool, seed: int
) -> None:
    """Loops by number, one in the other, are what the exact kernel computes."""

    def f(w: Any, a: Any, xs: Any) -> Any:
        def outer(i: Any, value: Any) -> Any:
            def inner(j: Any, value: Any) -> Any:
                c, out = value
                y = xs[i] if writes else out[i]
                for line in lines:
                    y = line(y, c, xs[j + shift], j, w, a)
                out = out.copy()
                out[i, j] = np.sum(y)
                return total(c, a, y, xs[i], i, w), out

            return tj.fori_loop(0, N, inner, value)

        c, out = tj.fori_loop(0, length, outer, (np.zeros_like(w), np.ones((length, N))))
        return np.mean(np.tanh(c)) + np.mean(np.tanh(out))

    rng = np.random.default_rng(seed)
    w, a = rng.normal(size=(N, N)) / 2, rng.normal(size=N)
    xs = rng.normal(size=(max(length, N) + shift, N))
    assert_close_to_exact(f, (w, a, xs), grad=3)
