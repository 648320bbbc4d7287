"""Loops on data: those whose body only computes have one recording for all numbers of trips; others
have one for each, and are right."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day, some_by_day

NUMBERS = [7.0, 3.0, 0.3, 2.0, 27.0, 1.5, 5.5, 9.7, 4.4, 6.1, 12.0]


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-9 * a:
        x = 0.5 * (x + a / x)
    return x


def bisection(c: Any) -> Any:
    low, high = 0.0, c + 1.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if middle * middle > c:
            high = middle
        else:
            low = middle
    return low


def counter_last(x: Any) -> Any:
    i = 0
    y = x
    while y > 0.01 and i < 20:
        y = y * 0.7
        i += 1
    return y + i


def counter_first(x: Any) -> Any:
    i = 0
    while i < 30 and x > 0.5:
        x = x - 0.3 * np.sin(x)
        i = i + 1
    return x * i


def forever(x: Any) -> Any:
    while True:
        y = np.cos(x)
        error = np.abs(y - x)
        x = y
        if error < 1e-8:
            break
    return x + error


def vector(x: Any) -> Any:
    r = x * np.arange(1.0, 4.0)
    while np.sum(r**2) > 0.1:
        r = r * 0.5 + 0.01 * np.sin(r)
    return np.sum(r * np.arange(3.0))


def made_in_the_body(x: Any) -> Any:
    while x > 1.0:
        half = x / 2
        x = half - 0.1
    return x


def collatz(n: Any) -> Any:
    s = 0.0
    while n > 1.0:
        if n % 2.0 == 0.0:
            n = n / 2.0
        else:
            n = 3.0 * n - 4.0 if n < 1.9 else n * 0.4
        s = s + n
    return s


def nested(x: Any) -> Any:
    total = 0.0
    while x > 1.0:
        y = x
        while y > 0.5:
            y = y * 0.4
        total = total + y
        x = x - 0.7
    return total


def shrunk(x: Any) -> Any:
    if x > 2.0:
        return x - 1.0
    return x * 0.8


def with_helper(x: Any) -> Any:
    while x > 1.0:
        x = shrunk(x)
    return x


def arithmetic_geometric_mean(x: Any) -> Any:
    a, b = x, 1.0
    while abs(a - b) > 1e-9:
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    return a


def the_one_before(x: Any) -> Any:
    old = x
    while old > 0.1:
        before = old
        old = np.sin(before) * 0.9
    return old * x


def continued(x: Any) -> Any:
    s = 0.0
    while x > 0.5:
        x = x * 0.9
        if x > 2.0:
            continue
        s = s + x
    return s


def negated(x: Any) -> Any:
    while not x < 0.5:
        x = x * 0.6 + 0.01 * np.tanh(x)
    return x


class Solver:
    """An object whose attributes a loop reads."""

    def __init__(self) -> None:
        self.factor = 0.5

    def step(self, x: Any) -> Any:
        return x * self.factor

    def __call__(self, x: Any) -> Any:
        while x > 0.7:
            x = self.step(x)
        return x


def newton_to_convergence(a: Any) -> Any:
    x = a + 1.0
    for _ in range(100):
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-10:
            break
    return x


def series(x: Any) -> Any:
    term = total = 1.0 + 0.0 * x
    for k in range(1, 60):
        term = term * x / k
        total = total + term
        if abs(term) < 1e-12:
            break
    return total


def at_most_a_few(x: Any) -> Any:
    """Both ends of the loop are met: by the test, and by the range."""
    most = 4
    for k in range(2, 3 * most - 1, 3):
        x = 0.6 * x + 0.01 * k
        if x < 0.3:
            break
    return x * k


def downwards_with_a_branch(x: Any) -> Any:
    for k in range(20, -1, -2):
        if x > 1.0:
            x = x * 0.7
        else:
            x = x - 0.02 * k
        if x < 0.2:
            break
    return x + k


def with_an_else(x: Any) -> Any:
    for k in range(6):  # noqa: B007
        x = x * 0.6
        if x < 0.3:
            break
    else:
        x = x * 100.0
    return x + k


def breaks_in_the_middle(x: Any) -> Any:
    while x > 1.0:
        x = x * 0.8
        if x < 2.0:
            break
    return x


def two_names_of_one_array(x: Any) -> Any:
    a = x * np.ones(2)
    b = a
    while a[0] > 1.0:
        a *= 0.5
    return b.sum() + 0.0 * x


def tried(x: Any) -> Any:
    try:
        while x > 1.0:
            x = x * 0.5
    except ValueError:
        return 0.0
    return x


def captured_by_a_closure(x: Any) -> Any:
    def half() -> Any:
        return x * 0.5

    while x > 1.0:
        x = half()
    return x


def mixed_test(x: Any) -> Any:
    y = x
    while x > 2.0 or y > 1.0:
        x, y = x * 0.7, y * 0.6
    return x + y


def asks_twice(x: Any) -> Any:
    while (x if x > 3.0 else 2.0 * x) > 1.0:
        x = x * 0.5
    return x


def takes_the_larger(x: Any) -> Any:
    y = x * 0.3
    while max(x, y) > 1.0:
        x, y = x * 0.5, y * 0.9
    return x - y


def chained(x: Any) -> Any:
    while 0.2 < x < 30.0:
        x = x * 0.5
    return x


def chained_inside(x: Any) -> Any:
    while x > 1.0:
        y = x
        while y > 0.5:
            half = y * 0.5
            y = half if 0.6 < half < 3.0 else half * 0.9
        x = x * 0.5 + 0.1 * y
    return x


def on_one_line(x: Any) -> Any:
    while x > 1.0:
        y = x
        while y > 0.5: y = y * 0.5  # fmt: skip  # noqa: E701
        x = x * 0.5 + 0.1 * y
    return x


def breaks_over_a_list(x: Any) -> Any:
    for factor in [0.9, 0.8, 0.5, 0.4, 0.2]:
        x = x * factor
        if x < 1.0:
            break
    return x


def breaks_before_the_end(x: Any) -> Any:
    for k in range(9):
        if x < 1.0:
            break
        x = x * 0.7 - 0.01 * k
    return x


def notes_that_it_breaks(x: Any) -> Any:
    found = 0.0
    for _ in range(9):
        x = x * 0.7
        if x < 1.0:
            found = 1.0
            break
    return x + found


def moves_its_bound(x: Any) -> Any:
    n = 9
    for _ in range(n):
        x, n = x * 0.7, 3
        if x < 1.0:
            break
    return x + n


WITH_TEST: list[Callable[[Any], Any]] = [
    newton, bisection, counter_last, counter_first, forever, vector, made_in_the_body, collatz,
    nested, with_helper, arithmetic_geometric_mean, the_one_before, continued, negated,
    Solver(),
    breaks_in_the_middle, two_names_of_one_array, tried, captured_by_a_closure, mixed_test,
    asks_twice, takes_the_larger, chained, chained_inside, on_one_line,
]  # fmt: skip
LEFT: list[Callable[[Any], Any]] = [
    newton_to_convergence, series, at_most_a_few, downwards_with_a_branch, breaks_over_a_list,
    breaks_before_the_end, notes_that_it_breaks, moves_its_bound, with_an_else,
]  # fmt: skip
ONCE = WITH_TEST + LEFT


def name_of(f: Any) -> str:
    return str(getattr(f, "__name__", type(f).__name__))


def has_while(source: str) -> bool:
    """Return whether a statement of a module is a `while`."""
    return any(line.strip().startswith("while ") for line in source.splitlines())


def slope_step_by_step(f: Callable[[Any], Any], number: float) -> Any:
    """The derivative of all that Python runs for this number."""
    x = tj.constant(number)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = f(x) + 0.0 * x
    slope = tape.gradient(y, x)
    return 0.0 if slope is None else slope.numpy()


@pytest.mark.parametrize("f", some_by_day(ONCE, 2), ids=name_of)
def test_one_recording_serves_every_number_of_trips(f: Callable[[Any], Any]) -> None:
    recorded = tj.function(f)
    gradient = tj.value_and_grad(f)
    for number in NUMBERS:
        np.testing.assert_allclose(recorded(np.float64(number)), f(number), rtol=1e-12, atol=1e-12)
        value, slope = gradient(number)
        np.testing.assert_allclose(value, f(number), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(slope, slope_step_by_step(f, number), rtol=1e-9, atol=1e-12)
    for each in (recorded, gradient):
        (kernel,) = each.kernels
        assert has_while(kernel.source) or f in LEFT
        assert kernel.source.count("\n") < 500
        assert "raise BranchNotRecorded(" not in kernel.source


@pytest.mark.parametrize("f", some_by_day(ONCE), ids=name_of)
def test_forward_mode(f: Callable[[Any], Any]) -> None:
    for number in NUMBERS[: by_day(2, 4)]:
        value, tangent = tj.jvp(f, (number,), (1.0,))
        np.testing.assert_allclose(value, f(number), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(tangent, tj.grad(f)(number), rtol=1e-9, atol=1e-12)


def appended(x: Any) -> Any:
    out = []
    while x > 1.0:
        out.append(x)
        x = x * 0.5
    return sum(out) + x


CALLS = {"count": 0}


def counting(x: Any) -> Any:
    CALLS["count"] += 1
    return x * 0.5


def calls_with_an_effect(x: Any) -> Any:
    while x > 1.0:
        x = counting(x)
    return x


MEMO: dict[int, float] = {}


def memoised(k: int) -> float:
    if k not in MEMO:
        MEMO[k] = 0.1 * k
    return MEMO[k]


def reads_a_memo(x: Any) -> Any:
    k = 0
    while x > 1.0:
        x = x - 0.5 - memoised(k)
        k += 1
    return x


def formatted_counter(x: Any) -> Any:
    k = 0
    while x > 1.0:
        x = x * (0.5 + 0.01 * len(f"{k}"))
        k += 1
    return x


def quiet_in_the_body(x: Any) -> Any:
    while x > 1.0:
        with np.errstate(all="ignore"):
            x = x * 0.5
    return x


def takes_from_an_iterator(x: Any) -> Any:
    factors = iter([0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1])
    while x > 1.0:
        x = x * next(factors)
    return x


def raises_in_the_body(x: Any) -> Any:
    while x > 1.0:
        x = x * 0.5
        if x > 1e6:
            raise ValueError("too large")
    return x


def changes_its_kind(x: Any) -> Any:
    label = "a"
    while x > 1.0:
        x = x * 0.5
        label = label + "b"
    return x * len(label)


class Counted:
    """An object whose method changes it."""

    def __init__(self) -> None:
        self.calls = 0

    def step(self, x: Any) -> Any:
        self.calls += 1
        return x * 0.5

    def __call__(self, x: Any) -> Any:
        while x > 1.0:
            x = self.step(x)
        return x


TRIP_BY_TRIP: list[Callable[[Any], Any]] = [
    appended, calls_with_an_effect, reads_a_memo, formatted_counter, quiet_in_the_body,
    takes_from_an_iterator, raises_in_the_body, changes_its_kind, Counted(),
]  # fmt: skip


@pytest.mark.parametrize("f", TRIP_BY_TRIP, ids=name_of)
@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_what_is_recorded_trip_by_trip_is_right(f: Callable[[Any], Any], monkeypatch: Any) -> None:
    monkeypatch.delenv("TRACEJIT_STRICT", raising=False)
    recorded = tj.function(f)
    for number in [*NUMBERS, *NUMBERS]:
        np.testing.assert_allclose(recorded(np.float64(number)), f(number), rtol=1e-12)


@pytest.mark.parametrize("inner", [tj.grad, tj.jacfwd])
def test_a_particle_that_falls(inner: Any) -> None:
    """A simulation whose force is a gradient, and whose end depends on data (Siskind and
    Pearlmutter, 2008), by which it is differentiated in both modes."""

    def landing(w: Any) -> Any:
        charges = tnp.stack((tnp.stack((10.0 + 0.0 * w, 10.0 - w)), tnp.array([10.0, 0.0])))

        def potential(x: Any) -> Any:
            return tnp.sum(1.0 / tnp.sqrt(tnp.sum((x - charges) ** 2, axis=1)))

        x = tnp.array([0.0, 8.0]) + 0.0 * w
        v = tnp.array([0.75, 0.0]) + 0.0 * w
        new = x + 0.1 * v
        while new[1] > 0:
            v = v - 0.1 * inner(potential)(x)
            x = new
            new = x + 0.1 * v
        end = x - x[1] / v[1] * v
        return end[0] ** 2

    fall = tj.value_and_grad(landing)
    for w in (0.0, 0.1, 0.3):
        value, slope = fall(w)
        near = (fall(w + 1e-6)[0] - fall(w - 1e-6)[0]) / 2e-6
        np.testing.assert_allclose(slope, near, rtol=1e-6)
        np.testing.assert_allclose(tj.jvp(landing, (w,), (1.0,)), (value, slope), rtol=1e-9)
    assert len(fall.kernels) == 1
    assert has_while(fall.source)


def test_a_part_of_the_test_that_may_raise_is_asked_last() -> None:
    def first_small(x: Any) -> Any:
        i = 0
        while i < 5 and x[i] > 0.5 and x[4 - i] > 0.1:
            i += 1
        return i * 1.0

    recorded = tj.function(first_small)
    for small in (2, 5, 0, 4):
        x = np.where(np.arange(5) == small, 0.2, 0.9)
        assert recorded(x) == first_small(x) == small
    x = np.where(np.arange(5) == 3, 0.0, 0.9)
    assert recorded(x) == first_small(x) == 1
    assert len(recorded.kernels) == 1
    assert has_while(recorded.source)
    assert "plain Python" not in recorded.explain()


def test_a_loop_may_not_end() -> None:
    """The recording of a loop that this call would never leave ends: one step is recorded."""
    rate = by_day(0.9999, 0.999999)

    @tj.function
    def f(x: Any, tolerance: Any) -> Any:
        trips = 0
        while np.abs(x) > tolerance and trips < 1_000_000:
            x = x * rate
            trips += 1
        return trips

    assert f(1.0, 0.5) == math.ceil(math.log(0.5) / math.log(rate))


def test_zero_trips_first() -> None:
    f = tj.function(newton)
    assert f(np.float64(1.0)) == 1.0
    np.testing.assert_allclose([f(np.float64(2.0)), f(np.float64(9.0))], [2**0.5, 3.0])
    assert len(f.kernels) == 1
    assert has_while(f.source)


def test_a_side_that_this_call_does_not_take_is_recorded_too() -> None:
    f = tj.function(with_helper)
    assert f(np.float64(1.5)) == with_helper(1.5)  # never above 2
    before = f.source
    assert f(np.float64(20.0)) == with_helper(20.0)
    assert f.source == before


def test_in_a_thread_and_after_an_exception() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def f(x: Any, fails: bool = False) -> Any:
        while x > 1.0:
            x = x * 0.5
        if fails:
            raise RuntimeError("stop")
        return x

    recorded = tj.function(f)
    with pytest.raises(RuntimeError, match="stop"):
        recorded(np.float64(9.0), True)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda x: recorded(np.float64(x)), NUMBERS))
    np.testing.assert_allclose(found, [f(x) for x in NUMBERS])


def test_explain_tells_why_a_loop_is_recorded_trip_by_trip() -> None:
    recorded = tj.function(appended)
    recorded(np.float64(3.0))
    told = recorded.explain()
    assert "`while x > 1.0:` in appended is recorded for each number of trips" in told
    assert "because `out.append(x)` changes an object that it did not make" in told
    assert "tj.while_loop" in told
    once = tj.function(newton)
    once(np.float64(3.0))
    assert "while_loop" not in once.explain()


def test_explain_tells_of_a_loop_over_too_much() -> None:
    def left(x: Any) -> Any:
        numbers = iter([0.9] * 1000)
        for _ in range(1000):
            x = x * next(numbers)
            if x < 1.0:
                break
        return x

    recorded = tj.function(left)
    recorded(np.float64(3.0))
    assert (
        "`for _ in range(1000):` in left is recorded step by step, because `x = x * next(numbers)` "
        "calls next. To record one step for all: "
    ) in recorded.explain()
    assert (
        "`if x < 1.0:` in left is recorded for each number of trips, because the loop around it "
    ) in recorded.explain()
    assert "To record one step for all: " in recorded.explain()


def test_a_second_recording_of_trips_warns_once() -> None:
    def in_branches(x: Any) -> Any:
        found, s = [], 0.0
        for v in x:
            if v > 0.0:
                found.append(v)
                s = s + v
        return s * len(found)

    recorded = tj.function(appended)
    recorded(np.float64(3.0))
    with pytest.warns(tj.TracejitWarning, match="has been recorded again") as caught:
        recorded(np.float64(9.0))
        recorded(np.float64(27.0))
    (warning,) = caught
    text = str(warning.message)
    assert warning.filename == __file__
    assert "Python decides at each trip of a loop, `while x > 1.0:` (appended:2)" in text
    assert "`out.append(x)` changes an object that it did not make" in text
    assert "tj.while_loop" in text
    told = recorded.explain()
    assert "has 3 recorded traces" in told
    assert "has been recorded again for 2 calls" in told
    recorded = tj.function(in_branches)
    recorded(np.array([1.0, 2.0, 3.0]))
    with pytest.warns(tj.TracejitWarning, match=r"`if v > 0.0:`.*np.where"):
        recorded(np.array([1.0, -2.0, 3.0]))
    assert (
        "`if v > 0.0:` in in_branches is recorded for one side at a time, because "
        "`found.append(v)` changes an object that it did not make. To record both sides: "
    ) in recorded.explain()


def test_an_inner_loop_of_two_tests_computes_what_a_step_around_it_computes() -> None:
    def f(x: Any) -> Any:
        half, n, s = 0.0, 0, 0.5 * x
        while x > 1.0:
            if x > 2.0:
                s = s + 0.3
            y = x
            while y > 0.8 and n < 9:
                half = x / 2.0
                n = n + 1
                y = y * 0.4
            x = x / 2.0 - 0.01
        return half, s, x

    recorded = tj.function(f, exact=True)
    for number in (9.0, 1.6, 0.7, 3.5):
        assert [*map(repr, recorded(np.float64(number)))] == [*map(repr, f(np.float64(number)))]


def test_a_loop_of_two_tests_may_leave_a_number_as_it_is() -> None:
    def f(x: Any, n: Any) -> Any:
        last = 0.0
        while x > 1.0 and n < 4.0:
            last = 0.5 * x
            x, n = x * 0.5, n + 1.0
        return last

    recorded = tj.function(f)
    for n in (1.0, 9.0):
        args = np.float64(8.0), np.float64(n)
        assert repr(recorded(*args)) == repr(f(*args))


def test_what_came_before_a_loop_happens_once() -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        n, s = 0, 0.0
        while x > 1.0:
            x, n, s = x / 2.0, n + 1, s + x
        return s + n

    assert tj.function(counted)(np.float64(9.0)) == counted(9.0)
    assert len(calls) == 2


def test_a_variable_that_settles_after_the_first_trip() -> None:
    """A Python number at the first trip, then a scalar."""

    def averaged(x: Any) -> Any:
        mean = 0.3
        while x > 1.0:
            mean = (0.9 * mean + 0.1) * x
            x = x * np.float32(0.5)
        return mean

    for kind in (np.float64, np.float32):
        recorded = tj.function(averaged, exact=True)
        for number in NUMBERS:
            found, wanted = recorded(kind(number)), averaged(kind(number))
            assert type(found) is type(wanted)
            assert found == wanted


def test_two_python_numbers_of_the_first_trip_make_a_third() -> None:
    """A step that reads one of them computes a scalar; one that reads both, a Python number."""

    def smoothed(x: Any, v: Any) -> Any:
        total, gap, is_above = 0, 0.5, False
        while x >= 1.0:
            gap = abs(total - gap)
            is_above = gap > total
            total = total + np.sum(v)
            x = x / 2.0 - 0.01
        return gap, is_above, total

    recorded, values = tj.function(smoothed), np.array([0.3, 0.2])
    for number in (5.0, 1.6, 0.5, 3.0):
        found, wanted = recorded(np.float64(number), values), smoothed(np.float64(number), values)
        assert [*map(repr, found)] == [*map(repr, wanted)]


def test_a_division_of_integers_raises_in_its_trip_though_nobody_reads_it() -> None:
    def counted(x: Any) -> Any:
        n = 0
        while x > 1.0:
            n += 1
            _ = 1 // (3 - n)
            x = x / 2.0
        return x

    recorded = tj.function(counted)
    for number in (1.5, 3.0, 0.5):
        assert recorded(np.float64(number)) == counted(np.float64(number))
    with pytest.raises(ZeroDivisionError):
        recorded(np.float64(6.0))


def test_a_number_that_some_steps_assign_is_what_python_has() -> None:
    def clamped(x: Any) -> Any:
        best, low = 0, x
        while x > 1.0:
            if x > 5.0:
                best = x
            if low > 4.0:
                low = 4.0
            x = x / 2.0
        return best, low

    recorded = tj.function(clamped)
    for number in (3.0, 9.0, 0.5, 4.5):
        found, wanted = recorded(np.float64(number)), clamped(np.float64(number))
        assert [*map(repr, found)] == [*map(repr, wanted)]
    (kernel,) = recorded.kernels
    assert has_while(kernel.source)


@pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning")
def test_an_else_may_raise() -> None:
    def root(a):
        x = a
        for _ in range(12):
            x = 0.5 * (x + a / x)
            if abs(x * x - a) < 1e-9:
                break
        else:
            raise ValueError("no root")
        return x

    recorded = tj.function(root)
    for a in (2.0, 3.0, 1.0, 7.0):
        for large in (1e9, 1e12):
            with pytest.raises(ValueError, match="no root"):
                recorded(large)
        assert recorded(a) == pytest.approx(root(a), rel=1e-12)
    assert len(recorded.kernels) == 1


def test_a_loop_is_recorded_while_a_debugger_looks_on() -> None:
    recorded = tj.function(series)
    sys.settrace(lambda frame, event, argument: None)
    try:
        found = [recorded(np.float64(x)) for x in (0.5, 1.0)]
        assert sys.gettrace() is not None
    finally:
        sys.settrace(None)
    np.testing.assert_allclose(found, np.exp([0.5, 1.0]), rtol=1e-11)


def test_no_debugger_is_there_after_a_loop() -> None:
    tj.function(series)(np.float64(0.25))
    assert sys.gettrace() is None


def row_of_an_array(d: Any, w: Any, a: Any) -> Any:
    shown, b = w * 1.0, a.copy()
    for k in range(4):
        shown = b[1]
        if d[k] > 0.7:
            break
    b[:, 2] += a[-1]
    return np.sum(shown * w)


def another_name(d: Any, w: Any, a: Any) -> Any:
    b, shown = w.copy(), w * 2.0
    for k in range(4):
        shown = b
        if d[k] > 0.7:
            break
    b[1:] += 0.3
    return np.sum(w * shown)


def name_of_what_it_began_as(d: Any, w: Any, a: Any) -> Any:
    x = w * 1.0
    first, k = x, 0
    while k < 4 and d[k] < 0.7:
        x = x * 0.5
        k += 1
    first[0] = 7.0
    return np.sum(x * w)


@pytest.mark.parametrize("f", [row_of_an_array, another_name, name_of_what_it_began_as])
def test_a_variable_shows_what_is_written_to_its_array_after_the_loop(f: Any) -> None:
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=4), rng.normal(size=(4, 4))
    compiled = tj.function(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for trip in (4, 0, 1, 3):
            d = np.eye(5)[trip][:4]
            np.testing.assert_allclose(compiled(d, w, a), f(d, w, a), rtol=1e-14)


def test_the_effect_of_a_test_is_made_once_where_a_loop_gives_up() -> None:
    seen: list[int] = []

    def noted(v: Any) -> Any:
        seen.append(1)
        return v

    def halved(x: Any) -> Any:
        while noted(x > 1.0) and x > 0.5:
            x = x * 0.5
        return x

    compiled = tj.function(halved)
    for x in (7.0, 0.3, 20.0):
        counts = []
        for f in (compiled, halved):
            seen.clear()
            assert f(np.float64(x)) <= 1.0
            counts.append(len(seen))
        assert counts[0] == counts[1]
