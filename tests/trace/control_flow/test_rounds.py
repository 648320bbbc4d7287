"""Loops `for` of which one step is recorded for all: values and gradients, one recording for all
numbers of steps, what is refused, and what is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.differences import extrapolated
from tracejit.support.cost_model import assuming

X = np.random.default_rng(0).random(20) + 0.1


def slope(f: Callable[[float], Any]) -> Any:
    """The derivative at zero, by differences."""
    return extrapolated(f, 1e-4)


@pytest.fixture(autouse=True)
def short_loops() -> Iterator[None]:
    """Record one step of short loops, too."""
    with assuming(
        recorded_steps=1, recorded_outer_steps=1, recorded_known_steps=1, recorded_nodes=1
    ):
        yield


def recurrence(x: Any, a: Any) -> Any:
    h, total = 0.0, 0.0
    for i in range(len(x)):
        h = a * h + x[i]
        total = total + h * h
    return total


def elements(x: Any, a: Any) -> Any:
    h = 0.0
    for v in x:
        h = a * h + v
        if h > 0.6:
            h = h * 0.5
    return h


def filled(x: Any, a: Any) -> Any:
    out = np.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * out[i - 1] + x[i - 1] * x[i]
    return out.sum()


def from_the_end(x: Any, a: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i - 1] * a
    return total


def gathered(x: Any, a: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[(i * 7) % 5] * a
    return total


def backwards(x: Any, a: Any) -> Any:
    h = 0.0
    for i in reversed(range(len(x))):
        h = h * a + x[i]
    for i in range(len(x) - 1, 0, -2):
        h = h * a + x[i]
    return h


def left(x: Any, a: Any) -> Any:
    h = a
    for i in range(len(x)):
        after = h * 0.7 + x[i]
        if after > 1.2:
            break
        h = after
    return h * after


def returned(x: Any, a: Any) -> Any:
    for i in range(len(x)):
        a = a * 1.3
        if a > 2.0:
            return a * x[i]
    return a


def skipped(x: Any, a: Any) -> Any:
    total = 0.0
    for i, v in enumerate(x):
        if v < 0.5:
            continue
        total = total + v * a * i
    return total


def several(x: Any, a: Any) -> Any:
    total = 0.0
    for i, (u, v) in enumerate(zip(x, x[::-1], strict=True), start=1):
        total = total * a + u * v / i
    return total


def of_numbers(x: Any, a: Any) -> Any:
    total = 0.0
    for w in [0.5, 0.25, 2.0, 1.0]:
        total = total * a + x[0] * w
    for k in (3, 1, 2):
        total = total + x[k] * k
    return total


def of_constants(x: Any, a: Any) -> Any:
    total = 0.0
    for t in np.linspace(0.0, 1.0, 7):
        total = total * a + t * x[1]
    return total


def rows(x: Any, a: Any) -> Any:
    total = np.zeros(3)
    for row in np.outer(x, np.arange(3.0)):
        total = total * a + row
    return total.sum()


def variables_after(x: Any, a: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        y = x[i] * a
        total = total * a + y
    total = total + i * y
    for i in range(3):
        y = x[i] + a
        total = total + y
    return total * y


def nested(x: Any, a: Any) -> Any:
    table = np.zeros((5, 4))
    for i in range(1, 5):
        for j in range(1, 4):
            table[i, j] = max(table[i - 1, j] * a, table[i, j - 1] + x[i + j])
    return table.sum()


def triangle(x: Any, a: Any) -> Any:
    total = 0.0
    for i in range(6):
        for j in range(i):
            total = total + x[i] * x[j] * a
    return total


def closures(x: Any, a: Any) -> Any:
    def step(h: Any, v: Any) -> Any:
        return h * a + (v if v > 0.4 else 0.1)

    h = 0.0
    for v in x:
        h = step(h, v)
    return h


def appended(x: Any, a: Any) -> Any:
    h, out = x[0], []
    for v in x:
        h = a * h + v
        out.append(h)
    return np.sum(np.array(out) ** 2)


def trajectory(x: Any, a: Any) -> Any:
    y = np.array([1.0, 0.0])
    ys = [y]
    for k in range(len(x)):
        y = y + 0.01 * np.array([y[1], -a * y[0] + x[k]])
        ys.append(y)
    return (np.array(ys) ** 2).sum() + len(ys) + ys[3][0]


def pairs_appended(x: Any, a: Any) -> Any:
    h, pairs, sines = x[0], [], []
    for v in x:
        h = a * h + v
        pairs.append((h, h * v))
        sines.append(np.sin(h))
    return sum(p * q for p, q in pairs) + np.stack(sines).sum()


def two_in_a_step(x: Any, a: Any) -> Any:
    out, pairs = [x[0]], []
    for i, v in enumerate(x):
        out.append(v * a)
        out.append(np.sin(out[-1]))
        pairs.append((v, a))
        out.append(v * i)
        pairs.append((a, out[-1]))
    return np.sum(np.array(out) * np.arange(61.0)) + sum(p * q for p, q in pairs)


def of_choices(x: Any, a: Any) -> Any:
    v = a * 0.5
    low = [v if v > 0.5 else a * v for v in x]
    rows = np.array([(i if u > w else a) * u for i, (u, w) in enumerate(zip(x, low, strict=True))])
    most = max(u if u < 0.5 else 1.0 - u for u in x)
    return sum(u * u if u > 0.3 else -u for u in rows) + np.sum(low) * most * v


def last_read(x: Any, a: Any) -> Any:
    out = [x[0]]
    for v in x[1:]:
        out.append(out[-1] * a + v)
    return np.sum(out)


def numbers_appended(x: Any, a: Any) -> Any:
    t, times, counts, values = 0.0, [], [], []
    for i, v in enumerate(x):
        t = t + 0.1
        times.append(t)
        counts.append(i * 2)
        values.append(v * a * t)
    return np.sum(np.array(times) * np.array(values)) + counts[3] * times[-1] + sum(counts)


def rows_of_rows(x: Any, a: Any) -> Any:
    rows = []
    for i in range(6):
        row = []
        for j in range(5):
            row.append(x[i] * x[j] * a)  # noqa: PERF401
        rows.append(np.array(row))
    return np.sum(np.array(rows) ** 2)


LOOPS = [
    appended, trajectory, pairs_appended, two_in_a_step, of_choices, last_read, numbers_appended,
    rows_of_rows,
    recurrence, elements, filled, from_the_end, gathered, backwards, left, returned, skipped,
    several, of_numbers, of_constants, rows, variables_after, nested, triangle, closures,
]  # fmt: skip


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    step = tj.function(tj.value_and_grad(f, argnums=(0, 1)))
    other = np.random.default_rng(1).random(20)
    for x, a in ((X, 0.5), (X[::-1].copy(), 1.1), (X * 0.1, 0.2)):
        value, (x_bar, a_bar) = step(x, a)
        np.testing.assert_allclose(value, f(x, a), rtol=1e-12)
        along = slope(lambda t: f(x + t * other, a))  # noqa: B023
        np.testing.assert_allclose(x_bar @ other, along, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(a_bar, slope(lambda t: f(x, a + t)), rtol=1e-6)  # noqa: B023
    assert step.tracing_count == 1


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_bits_and_types_where_exact(f: Callable[..., Any]) -> None:
    exact = tj.function(f, exact=True)
    for a in (0.5, 1.1, 0.2):
        found, wanted = exact(X, a), f(X, a)
        assert (type(found), found.hex()) == (type(wanted), wanted.hex())


def test_second_order_and_batches() -> None:
    def f(x: Any) -> Any:
        h = x[0] * 0.1
        for i in range(6):
            h = np.sin(h) + x[i] * h * h
        return h

    x = X[:6]
    hessian = tj.hessian(f)(x)
    for k in range(6):
        unit = np.eye(6)[k]
        column = (tj.grad(f)(x + 1e-5 * unit) - tj.grad(f)(x - 1e-5 * unit)) / 2e-5
        np.testing.assert_allclose(hessian[:, k], column, rtol=1e-5, atol=1e-7)
    batch = np.stack([x, x * 0.5, x + 0.3])
    np.testing.assert_allclose(tj.vmap(f)(batch), [f(one) for one in batch], rtol=1e-12)


def test_the_gradient_of_a_gather_adds_up_in_one_array() -> None:
    with assuming(recorded_known_steps=1):
        step = tj.value_and_grad(gathered, argnums=(0,))
        step(X, 0.5)
    assert "bincount" in step.source
    assert "zeros((" not in step.source


# Numbers of steps that differ


def summed(x: Any, n: Any) -> Any:
    h = x[0]
    for i in range(n):
        h = h * 0.9 + np.sin(h) * i
    return h


def until(x: Any, n: Any) -> Any:
    h = x[0]
    for _ in range(n):
        h = h * 0.5 + x[1]
        if h < 0.3:
            break
    return h


def below(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i):
            total = total + x[i] * x[j]
    return total


@pytest.mark.parametrize("f", [summed, until, below], ids=lambda f: f.__name__)
def test_any_number_of_steps_after_the_second(f: Callable[..., Any]) -> None:
    step = tj.function(tj.value_and_grad(f))
    other = np.random.default_rng(1).random(20)
    for n in (5, 9, 2, 0, 7, 12, 1):
        value, x_bar = step(X, n)
        np.testing.assert_allclose(value, f(X, n), rtol=1e-12)
        along = slope(lambda t: f(X + t * other, n))  # noqa: B023
        np.testing.assert_allclose(x_bar @ other, along, rtol=1e-5, atol=1e-7)
    assert step.tracing_count == 2


@pytest.mark.parametrize("f", [recurrence, elements, filled, several], ids=lambda f: f.__name__)
def test_any_size_after_the_second(f: Callable[..., Any]) -> None:
    step = tj.function(tj.value_and_grad(f, argnums=(0, 1)))
    for n in (5, 9, 2, 7, 20, 11):
        value, (x_bar, a_bar) = step(X[:n], 0.5)
        np.testing.assert_allclose(value, f(X[:n], 0.5), rtol=1e-12)
        assert x_bar.shape == (n,)
        by_a = slope(lambda t: f(X[:n], 0.5 + t))  # noqa: B023
        np.testing.assert_allclose(a_bar, by_a, rtol=1e-6, atol=1e-8)
    assert step.tracing_count == 2


def test_elements_that_are_numbered_from_a_recorded_number_on() -> None:
    def numbered(x: Any, n: Any) -> Any:
        total = 0.0
        for i, v in enumerate(x, n):
            total = total + i * v
        return total

    compiled = tj.function(numbered)
    for n in (1, 3, 5):
        np.testing.assert_allclose(compiled(X, n), numbered(X, n), rtol=1e-12)


def test_a_variable_that_no_step_has_bound() -> None:
    def last(x: Any, n: Any) -> Any:
        for i in range(n):
            y = x[0] * i
        return y

    compiled = tj.function(last)
    for n in (5, 9, 3):
        assert compiled(X, n) == last(X, n)
    with pytest.raises(UnboundLocalError):
        compiled(X, 0)
    assert compiled(X, 4) == last(X, 4)


def bound_after_a_jump(x: Any, a: Any) -> Any:
    for v in x:
        if v > a:
            break
        y = v * a
    return y


def bound_on_a_side(x: Any, a: Any) -> Any:
    total = 0.0
    for v in x:
        if v > a:
            y = v * a
            total = total + y
    return total * y


def bound_by_a_loop_inside(x: Any, a: Any) -> Any:
    total = 0.0
    for v in x:
        if v > a:
            for y in (v, v * a):
                total = total + y
            for z in x[:3]:
                total = total * z
    return total * y + z


def bound_while(x: Any, a: Any) -> Any:
    k = 0
    while x[0] < a and k < 6:
        y, k = x[1] * k, k + 1
        a = a * 0.5
    return y


BOUND_PERHAPS = [bound_after_a_jump, bound_on_a_side, bound_by_a_loop_inside, bound_while]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("f", BOUND_PERHAPS, ids=lambda f: f.__name__)
def test_a_variable_that_steps_may_not_bind(f: Callable[..., Any], first: bool) -> None:
    """The first call may be one that binds it, or one that does not."""
    bound, unbound = (0.9, 0.0) if f in BOUND_PERHAPS[::3] else (0.5, 2.0)
    compiled = tj.function(f)
    for a in (bound, unbound, bound) if first else (unbound, bound, unbound):
        if a == bound:
            np.testing.assert_allclose(compiled(X, a), f(X, a), rtol=1e-12)
            assert tj.grad(f, argnums=1)(X, a) == pytest.approx(slope(lambda t: f(X, a + t)))  # noqa: B023
        else:
            with pytest.raises(UnboundLocalError):
                compiled(X, a)
    assert compiled.tracing_count == 1


def test_an_index_that_is_out_of_bounds_is_pythons_error() -> None:
    compiled = tj.function(lambda x, n: _taken(x, n))
    assert compiled(X, 5) == compiled(X, 6) - X[5]
    with pytest.raises(IndexError):
        compiled(X, 21)
    with pytest.raises(IndexError):
        tj.function(lambda x: _taken(x, 25))(X)


def _taken(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        total = total + x[i]
    return total


# What goes step by step


def test_a_long_loop_is_recorded_at_once() -> None:
    with assuming():

        def long(x: Any) -> Any:
            h = x[0]
            for k in range(20_000):
                h = h + 1e-4 * np.sin(h * k) if h > 0 else h * 0.5
            return h

        compiled = tj.function(long, exact=True)
        assert compiled(X) == long(X)
        assert len(compiled.source.splitlines()) < 60


def printed(x: Any, log: list[int]) -> Any:
    for i in range(5):
        x = x * 0.5
        log.append(i)
    return x


def rows_written(x: Any, log: list[int]) -> Any:
    a = np.outer(x, np.arange(3.0))
    for row in a:
        row *= 0.5
    return a.sum()


def array_written(x: Any, log: list[int]) -> Any:
    a, total = np.outer(x, np.arange(3.0)), 0.0
    for i, row in enumerate(a):
        a[(i + 1) % 20] = row * 0.5
        total = total + row.sum()
    return total


def written_after(x: Any, log: list[int]) -> Any:
    y, out = np.zeros(2), []
    for v in x:
        y += v
        out.append(y)
    return np.sum(out)


def changed_later(x: Any, log: list[int]) -> Any:
    y, out = np.zeros(2), []
    for v in x:
        y = y + v
        out.append(y)
    out[-1][0] = 5.0
    return np.sum(out) + y[0]


def twice(x: Any, log: list[int]) -> Any:
    out = []
    for v in x:
        out.append(v)
        out.append(v * 2.0)
    return np.sum(out)


def sometimes(x: Any, log: list[int]) -> Any:
    out = []
    for v in x:
        if v > 0.5:
            out.append(v)  # noqa: PERF401
    return np.sum(out)


def length_read(x: Any, log: list[int]) -> Any:
    out, total = [], 0.0
    for v in x:
        out.append(v)
        total = total + len(out) * v + out[0]
    return total


def sliced(x: Any, log: list[int]) -> Any:
    total = 0.0
    for i in range(5):
        total = total + np.sum(x[i:])
    return total


def advanced(x: Any, log: list[int]) -> Any:
    pairs = zip(x, x, strict=False)
    next(pairs)
    total = 0.0
    for u, v in pairs:
        total = total + u * v
    return total + len(list(pairs))


@pytest.mark.parametrize(
    "f",
    [
        printed,
        rows_written,
        array_written,
        sliced,
        advanced,
        written_after,
        changed_later,
        twice,
        sometimes,
        length_read,
    ],
    ids=lambda f: f.__name__,
)
def test_steps_that_cannot_stand_for_others_are_recorded_one_by_one(f: Callable[..., Any]) -> None:
    compiled, mine, its = tj.function(f, exact=True), list[int](), list[int]()
    for x in (X, X * 2.0):
        np.testing.assert_array_equal(compiled(x, its), f(x, mine))
    assert its == mine


def test_a_short_loop_with_conditions_that_python_knows_is_written_out() -> None:
    def alternating(x: Any) -> Any:
        for i in range(20):
            x = x * 1.5 if i % 2 == 0 else x - 0.1
        return x

    with assuming(recorded_steps=1, recorded_known_steps=64):
        compiled = tj.function(alternating)
        compiled(X)
    assert "    if " not in compiled.source
    assert "step by step" not in compiled.explain()


def test_a_short_loop_on_large_arrays_is_written_out() -> None:
    def smoothed(u: Any) -> Any:
        for _ in range(20):
            u = u + 0.1 * np.sin(u)
        return u

    with assuming(recorded_steps=1, recorded_known_steps=64):
        small, large = tj.function(smoothed), tj.function(smoothed)
        small(X)
        large(np.ones(1000))
    assert "range(20)" in small.source
    assert "range(20)" not in large.source


def test_a_recurrence_of_matrix_products_is_one_loop_whatever_its_arrays() -> None:
    def recurrent(h: Any, w: Any) -> Any:
        for _ in range(20):
            h = np.tanh(h @ w)
        return h

    def summed(h: Any, w: Any) -> Any:
        total = np.zeros(w.shape)
        for k in range(20):
            total = total + h[k] @ w
        return total

    def powers(x: Any, w: Any) -> Any:
        for _ in range(20):
            x = 0.5 * (x + 1.0 / x)
        return x @ w

    with assuming(recorded_steps=1, recorded_known_steps=64):
        for python, shape, is_loop in (
            (recurrent, (40, 40), True),
            (recurrent, (2500, 40), False),  # in tiles
            (summed, (20, 40, 40), False),
            (powers, (40, 40), False),
        ):
            compiled = tj.function(python)
            compiled(np.ones(shape), np.ones((40, 40)))
            assert ("range(20)" in compiled.source) == is_loop


def test_explain_tells_why_steps_are_recorded_one_by_one() -> None:
    def extended(x: Any) -> Any:
        log = list[int]()
        for i in range(5):
            x = x * 0.5
            log.extend([i])
        return x * len(log)

    compiled = tj.function(extended)
    compiled(X)
    assert (
        "`for i in range(5):` in extended is recorded step by step, because `log.extend([i])` "
        "changes an object that it did not make. To record one step for all: let the body only "
        "compute"
    ) in compiled.explain()


def test_a_bound_of_numpy_and_an_index_of_numpy() -> None:
    """As the sizes of things that are put into a bag."""

    def bag(values: Any, sizes: Any) -> Any:
        best = np.zeros(9)
        for value, size in zip(values, sizes, strict=True):
            for room in range(8, size - 1, -1):
                if best[room - size] + value > best[room]:
                    best[room] = best[room - size] + value
        return best[8]

    compiled = tj.value_and_grad(bag)
    rng = np.random.default_rng(0)
    for _ in range(4):
        values, sizes = rng.uniform(1.0, 9.0, 5), rng.integers(1, 5, 5)
        value, gradient = compiled(values, sizes)
        np.testing.assert_allclose(value, bag(values, sizes), rtol=1e-12)
        assert set(gradient) <= {0.0, 1.0} and np.isclose(gradient @ values, value)
    assert compiled.tracing_count == 1


def test_a_name_that_is_bound_again_before_it_is_read_is_not_handed_on() -> None:
    """An inner loop that may have no step would have to give it a value."""

    def f(x: Any) -> Any:
        s = 0.0
        for k in range(20):
            for i in range(k, 5):
                part = x[i] * 0.5**k
                s = s + part
            for i in range(3):
                part = x[i]
            if s > 0.0:
                last = part * 0.1
                s = s + last
            else:
                other = s * 0.5
                s = s + other
        for i in range(2):
            part = x[i]
            s = s + part
        return s

    compiled = tj.value_and_grad(f)
    x = np.linspace(-0.3, 1.0, 5)
    value, gradient = compiled(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(np.sum(gradient * x), value, rtol=1e-12)
    assert "step by step" not in str(compiled.explain())


def test_loops_in_the_steps_of_a_loop_run_once() -> None:
    """The loop around stacks what the derivative reads of them."""

    def f(x: Any, w: Any) -> Any:
        for _ in range(20):
            y = x
            for _ in range(30):
                y = np.sin(w * y) + 0.1 * y
            x = x * 0.9 + y
        return np.sum(x)

    compiled = tj.grad(f, argnums=1)
    x, w = np.linspace(0.1, 1.0, 4), np.linspace(0.2, 0.6, 4)
    w_bar = compiled(x, w)
    text = str(compiled.source)
    backward = text[text.index("def backward") : text.index("def value_and_grad")]
    inner = [line for line in backward.splitlines() if re.match(r" +for .*range\(30\)", line)]
    assert len(inner) == 1 and "reversed" in inner[0]
    step = 1e-6
    slope = (f(x, w + step) - f(x, w - step)) / (2 * step)
    np.testing.assert_allclose(np.sum(w_bar), slope, rtol=1e-6)
