"""Programs that repeat: while and for with conditions on data, recursion, generators."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])


@smooth
def halving(stage: Stage) -> None:
    """Zero, one and many rounds; the number of rounds is not part of the result."""

    @stage
    def f(x: Any) -> Any:
        while np.sum(x) > 1.0:
            x = x * 0.5
        return np.sum(x * x)

    for scale in (0.1, 1.1, 3.0, 30.0, 0.1, 3.0, 4000.0):
        f(scale * UP)


@scene
def rounds_counted(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        rounds = 0
        while (size := np.abs(x).max()) > 1e-2:
            x = x * 0.3
            rounds += 1
        return x, rounds, size, f"{rounds} rounds"

    for scale in (1.0, 0.001, 100.0, 1.0, 0.0):
        f(scale * X)


@smooth
def break_and_continue(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        total = x[0] * 0.1
        for t in x:
            if t < 0:
                continue
            if total > 2.0:
                break
            total = total + t * t
        return total

    wide = np.array([0.5, -1.0, 1.2, 1.1, 0.3, -0.2])
    for x in (wide, -wide, 2 * wide, wide[::-1].copy(), wide):
        f(x)


@scene
def for_else(stage: Stage) -> None:
    @stage
    def first_large(x: Any, limit: float) -> Any:
        for i, t in enumerate(x):
            if t > limit:
                found = f"number {i}"
                break
        else:
            found = "none"
            t = -1.0
        return found, t * 2

    for limit in (1.0, 1.6, 3.0, 0.0, 1.0):
        first_large(UP, limit)
        first_large(UP[::-1].copy(), limit)


@scene
def while_else(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        while t > 1:
            if t > 100:
                break
            t = t - 1.5
        else:
            return "ran out", t
        return "large", t

    for t in (5.0, 0.5, 200.0, 2.0, 5.0):
        f(np.float64(t))


@smooth
def nested_loops_with_a_flag(stage: Stage) -> None:
    @stage
    def f(m: Any) -> Any:
        total, done = 0.0, False
        for row in m:
            for t in row:
                if t < 0:
                    done = True
                    break
                total = total + np.sqrt(t)
            if done:
                total = total * 2.0
                break
        return total + np.sum(m)

    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    for signs in ([[1, 1], [1, 1]], [[1, -1], [1, 1]], [[1, 1], [-1, 1]], [[1, 1], [1, 1]]):
        f(m * np.array(signs))


@scene
def range_of_data(stage: Stage) -> None:
    @stage
    def f(x: Any, n: Any) -> Any:
        for _ in range(int(n)):
            x = x * 1.5
        return x, [k * x[0] for k in range(int(x[0]))]

    for n in (2, 0, 3, 2):
        f(UP, np.float64(n))
        f(UP, np.int64(n))
        f(UP, n)


@scene
def range_over_indices(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        return x[: np.argmax(x)].sum(), [x[i] for i in range(np.argmax(x), len(x))]

    for k in range(3):
        f(np.roll(UP, k))


@scene
def collatz(stage: Stage) -> None:
    @stage
    def length(n: Any) -> Any:
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count, n

    for n in (1, 6, 7, 6, 3):
        length(n)
        length(np.int64(n))


@scene
def greatest_common_divisor(stage: Stage) -> None:
    @stage
    def gcd(a: Any, b: Any) -> Any:
        while b:
            a, b = b, a % b
        return a

    for a, b in ((12, 18), (7, 3), (5, 0), (0, 5), (12, 18)):
        gcd(a, b)
        gcd(np.int64(a), np.int64(b))


@scene
def binary_search(stage: Stage) -> None:
    @stage
    def search(x: Any, t: Any) -> Any:
        low, high = 0, len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < t:
                low = middle + 1
            else:
                high = middle
        return low, x[:low]

    x = np.array([-2.0, -1.0, 0.5, 0.5, 3.0])
    for t in (0.5, -3.0, 5.0, 1.0, 0.5):
        search(x, t)
        search(x, np.float64(t))


@scene
def bubble_sort(stage: Stage) -> None:
    """Swaps in the caller's array."""

    @stage
    def sort(a: Any) -> Any:
        swaps = 0
        for end in range(len(a) - 1, 0, -1):
            for i in range(end):
                if a[i] > a[i + 1]:
                    a[i], a[i + 1] = a[i + 1], a[i]
                    swaps += 1
        return swaps

    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]):
        sort(UP[order])


@smooth
def sorting_network(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        a = [x[0], x[1], x[2], x[3]]
        for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
            if a[i] > a[j]:
                a[i], a[j] = a[j], a[i]
        return a[0] + 2.0 * a[1] + 3.0 * a[2] * a[3]

    x = np.array([0.3, -1.0, 2.0, 0.9])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1], [0, 1, 2, 3]):
        f(x[order])


@smooth
def recursion_by_sign(stage: Stage) -> None:
    @stage
    def outer(x: Any) -> Any:
        def f(t: Any, depth: int) -> Any:
            if depth == 4 or np.abs(t) < 0.1:
                return t
            if t > 0:
                return f(t - 0.6, depth + 1) * 2.0
            return f(-0.7 * t, depth + 1) + t

        return f(x[0], 0) + f(x[1], 1) * f(x[2], 2)

    for x in (X, UP, -UP, -X, 0.2 * X):
        outer(x + 0.03)


@smooth
def adaptive_quadrature(stage: Stage) -> None:
    """Recursion whose depth depends on data."""

    def simpson(f: Any, a: float, b: float) -> Any:
        return (b - a) / 6.0 * (f(a) + 4.0 * f((a + b) / 2.0) + f(b))

    def refine(f: Any, a: float, b: float, whole: Any) -> Any:
        middle = (a + b) / 2.0
        left, right = simpson(f, a, middle), simpson(f, middle, b)
        if np.abs(left + right - whole) < 1e-3:
            return left + right
        return refine(f, a, middle, left) + refine(f, middle, b, right)

    @stage
    def integral(w: Any) -> Any:
        def f(t: float) -> Any:
            return np.exp(-w * t * t)

        return refine(f, 0.0, 2.0, simpson(f, 0.0, 2.0))

    for w in (0.1, 1.1, 20.0, 0.1, 3.0):
        integral(np.float64(w))


@scene
def mutual_recursion(stage: Stage) -> None:
    def even(n: Any) -> Any:
        return "even" if n == 0 else odd(n - 1)

    def odd(n: Any) -> Any:
        return "odd" if n == 0 else even(n - 1)

    @stage
    def parity(n: Any) -> Any:
        return even(n), n * n

    for n in (4, 3, 0, 4):
        parity(n)
        parity(np.int64(n))


@scene
def a_recorded_function_calls_itself(stage: Stage) -> None:
    def power(x: Any, n: int) -> Any:
        if n == 0:
            return np.ones_like(x)
        half = call(x, n // 2)
        return half * half * x if n % 2 else half * half

    call = stage.make(power, 0)
    f = stage(call)
    for n in (0, 1, 5, 8, 5):
        f(X, n)


@smooth
def generators(stage: Stage) -> None:
    def steps(x: Any) -> Iterator[Any]:
        for t in x:
            if t < -1:
                return
            if t > 0:
                yield t * t
            else:
                yield from (t, 0.5 * t)

    @stage
    def f(x: Any) -> Any:
        total = np.sum(x)
        for number, step in enumerate(steps(x)):
            total = total + (number + 1) * step
        return total

    for x in (X, -X, UP, -UP, 0.5 * X):
        f(x)


@smooth
def comprehensions(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        squares = {i: t * t for i, t in enumerate(x) if t > 0}
        pairs = [a * b for a in x for b in x if a > b]
        return sum(squares.values()) + sum(pairs) + len(pairs) * np.sum(x) + sum(squares)

    for x in (X, -X, UP, UP[::-1].copy(), X):
        f(x)


@scene
def tools_of_iteration(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        rising = list(itertools.takewhile(lambda t: t > 0, x))
        falling = list(filter(lambda t: t < 0, x))
        product = functools.reduce(lambda a, b: a * b if b > 0 else a, x, 1.0)
        first = next((t for t in x if t > 1), "nothing")
        groups = {bool(key): len(list(group)) for key, group in itertools.groupby(x > 0)}
        return rising, falling, product, first, groups

    for x in (X, -X, UP, -UP):
        f(x)


@scene
def a_queue_of_work(stage: Stage) -> None:
    """Intervals are halved until the function is flat on each."""

    @stage
    def refine(slope: Any) -> Any:
        work, done = [(0.0, 4.0)], []
        while work:
            low, high = work.pop()
            if slope * (high - low) > 1.0 and len(work) < 6:
                middle = (low + high) / 2
                work += [(middle, high), (low, middle)]
            else:
                done.append(high)
        return done, slope * len(done)

    for slope in (0.1, 0.4, 1.0, 0.1):
        refine(np.float64(slope))


@smooth
def series_until_small(stage: Stage) -> None:
    @stage
    def exponential(t: Any) -> Any:
        term, total, n = 1.0, 1.0, 0
        while abs(term) > 1e-12:
            n += 1
            term = term * t / n
            total = total + term
        return total

    for t in (0.5, -1.0, 3.0, 0.5):
        exponential(np.float64(t))


@smooth
def rows_that_count(stage: Stage) -> None:
    @stage
    def f(m: Any) -> Any:
        total = 0.0
        for row in m:
            if row.sum() > 0:
                total = total + np.prod(row)
            elif row[0] > row[1]:
                total = total - row @ row
        return total + m[0, 0]

    m = np.array([[1.0, 2.0], [0.5, -1.5], [-1.0, 0.3]])
    for x in (m, -m, m[::-1].copy(), m):
        f(x)


@smooth
def zip_until_the_first_difference(stage: Stage) -> None:
    @stage(wrt=(0, 1))
    def f(a: Any, b: Any) -> Any:
        for number, (s, t) in enumerate(zip(a, b, strict=True)):
            if np.abs(s - t) > 0.5:
                return (s - t) * (number + 1)
        return np.sum(a * b)

    for b in (X, np.array([0.7, -0.2, 0.4]), X + 1.0, np.array([0.7, -1.2, -0.6]), X):
        f(X, b + 0.1)


@smooth
def early_stopping(stage: Stage) -> None:
    """Gradient steps until the loss has not improved for `patience` rounds."""

    @stage
    def train(w: Any, rate: float, patience: int) -> Any:
        best, waited, kept = np.inf, 0, w
        for _ in range(12):
            loss = np.sum((w * w - 1.0) ** 2)
            if loss < best - 1e-3:
                best, waited, kept = loss, 0, w
            else:
                waited += 1
                if waited >= patience:
                    break
            w = w - rate * 4.0 * w * (w * w - 1.0)
        return np.sum(kept**3) + best

    for w, rate in ((X, 0.05), (X, 0.2), (UP, 0.01), (1.2 * X, 0.05)):
        train(w, rate, 2)
    train(X, 0.2, 1)


@scene
def sets_of_seen_values(stage: Stage) -> None:
    """The orbit of a permutation, by indices taken from data."""

    @stage
    def orbit(p: Any, start: int) -> Any:
        seen: list[int] = []
        k = start
        while k not in seen:
            seen.append(k)
            k = int(p[k])
        return seen, len(set(seen)), p * 2

    for p in ([1, 2, 0], [0, 2, 1], [2, 1, 0]):
        orbit(np.array(p), 0)
        orbit(np.array(p), 1)


@scene
def strings_from_data(stage: Stage) -> None:
    @stage
    def encode(x: Any) -> Any:
        text = "".join("+" if t > 0 else "-" for t in x)
        return text, {text: x.sum()}, f"{int(np.argmax(x)):03d}", f"{int(np.sum(x)):d}"

    for x in (X, -X, UP, X):
        encode(x)
