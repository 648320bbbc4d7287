"""Programs that decide: if and match, comparisons, truth values, choices among scalars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])


@smooth
def early_return(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return np.sum(np.sin(x))
        return np.sum(x * x)

    for x in (UP, -UP, X, 2 * UP, -X, UP):
        f(x)


@smooth
def elif_chain(stage: Stage) -> None:
    @stage
    def grade(x: Any) -> Any:
        size = np.sum(x * x)
        if size < 0.5:
            y = x**3
        elif size < 2.0:
            y = np.tanh(x)
        elif size < 8.0:
            y = np.sqrt(x * x + 1.0)
        else:
            y = -x
        return np.sum(y * y) + size

    for scale in (0.1, 0.7, 1.0, 3.0, 0.7, 0.1, 5.0):
        grade(scale * X)


@smooth
def nested_ifs(stage: Stage) -> None:
    @stage(wrt=(0, 1))
    def f(a: Any, b: Any) -> Any:
        if a > b:
            if a > 2.0:
                c = np.exp(-a) * b
            else:
                c = a * b
            if b > 0:
                c = c + a
        elif b > 2.0:
            c = b**2
            if a + b > 2.5:
                c = c - a * a
        else:
            c = np.cos(a - b)
        return c * 2.0

    pairs = [(3.0, 1.0), (1.5, 0.4), (1.5, -0.4), (0.1, 2.2), (1.0, 2.2), (-1.0, 1.0), (3.0, -1.0)]
    for a, b in [*pairs, *reversed(pairs)]:
        f(np.float64(a), np.float64(b))


@smooth
def branches_in_sequence(stage: Stage) -> None:
    """Each element decides: as many paths as patterns of signs."""

    @stage
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                total = total + x[i] ** 2
            else:
                total = total * 0.5 - x[i]
        return total

    for pattern in ((1, 1, 1), (1, -1, 1), (-1, -1, -1), (1, -1, -1), (1, 1, 1), (1, -1, 1)):
        f(UP * pattern)


@smooth
def conditional_expressions(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        low = x[0] if x[0] < x[1] else x[1]
        high = (x[1] if x[1] > x[2] else x[2]) if x[0] > 0 else -x[0]
        return low * high + (1.0 if low + high > 0 else -1.0)

    for x in (X, -X, UP, -UP, X[::-1].copy(), X):
        f(x)


@smooth
def chained_comparison(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        if 0 < t < 1:
            return t * t
        if -1 <= t <= 0 or 2 < t <= 3 != 5:
            return np.sin(t)
        return 3.0 * t

    for t in (0.5, -0.5, 2.5, 7.0, -3.0, 0.25, 1.5):
        f(np.float64(t))


@smooth
def and_or_not(stage: Stage) -> None:
    @stage(wrt=(0, 1))
    def f(a: Any, b: Any) -> Any:
        if a > 0 and not b > 0:
            return a - b
        if (a > 1 or b > 1) and a * b > 0:
            return a * b
        if not (a < 0 or b < 0):
            return a / (b + 1.0)
        return a + 2.0 * b

    for a, b in ((0.5, -1.0), (2.0, 0.5), (0.5, 0.5), (-0.5, 0.5), (-2.0, -0.5), (2.0, 3.0)):
        f(np.float64(a), np.float64(b))


@scene
def or_gives_the_operand(stage: Stage) -> None:
    @stage
    def f(t: Any, fallback: Any) -> Any:
        first = t or fallback
        return first, t and fallback, not t

    for t in (1.5, 0.0, -2.0, 0.0, np.nan, -0.0):
        f(np.float64(t), np.float64(4.0))
    f(0.0, 2.0)
    f(0, 2)
    f(3, 2)
    f("", 2)


@smooth
def walrus(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if (norm := np.sqrt(np.sum(x * x))) > 1.0:
            return np.sum(x) / norm
        return np.sum(x) + norm

    for x in (X, 0.1 * X, UP, 0.2 * UP):
        f(x)


@smooth
def piecewise_cubic(stage: Stage) -> None:
    """The cubic B-spline, piece by piece."""

    @stage
    def spline(t: Any) -> Any:
        a = abs(t)
        if a >= 2:
            return 0.0 * t
        if a >= 1:
            return (2 - a) ** 3 / 6
        return 2 / 3 - a**2 + a**3 / 2

    for t in (0.5, -0.5, 1.5, -1.5, 2.5, 0.25, -3.0, 1.25):
        spline(np.float64(t))


@smooth
def huber_by_branches(stage: Stage) -> None:
    def huber(r: Any, delta: float) -> Any:
        if np.abs(r) <= delta:
            return 0.5 * r * r
        return delta * (np.abs(r) - 0.5 * delta)

    @stage
    def loss(w: Any, x: Any, y: Any) -> Any:
        residuals = x @ w - y
        return sum([huber(r, 1.0) for r in residuals]) / len(residuals)

    x = np.array([[1.0, 0.5], [0.2, -1.0], [0.3, 0.3]])
    for y in ([0.1, 0.2, 3.0], [5.0, 0.2, 0.1], [5.0, 5.0, -5.0], [0.1, 0.1, 2.5]):
        loss(np.array([0.4, -0.2]), x, np.array(y))


@smooth
def clip_by_norm(stage: Stage) -> None:
    @stage
    def f(x: Any, limit: float) -> Any:
        norm = np.linalg.norm(x)
        if norm > limit:
            x = x * (limit / norm)
        return np.sum(x**3)

    for x, limit in ((X, 1.0), (X, 5.0), (4 * UP, 5.0), (0.1 * UP, 1.0), (UP, 2.0)):
        f(x, limit)


@smooth
def smallest_and_largest(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        a, b, c = x
        return min(a, b) * max(b, c) + max(x) - 0.5 * min(a, b, c, 0.25)

    for x in (X, -X, UP, UP[::-1].copy(), X[::-1].copy()):
        f(x)


@smooth
def sorted_scalars(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        low, middle, high = sorted(x)
        first = sorted(x, key=lambda t: -t * t)[0]
        return low + 2.0 * middle * high + first**3

    for x in (X, -X, UP, UP[::-1].copy(), X[[2, 0, 1]]):
        f(x)


@smooth
def any_and_all(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if all(t > 0 for t in x):
            return np.sum(np.log(x))
        if any(t > 1.0 for t in x):
            return np.sum(x**2)
        return np.sum(x**3)

    for x in (UP, X, X - 0.5, -UP, X + 1.0, UP):
        f(x)


@scene
def membership(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        if t in (1, 2):
            return "small", t * 2
        if t not in [5.0, 7.0]:
            return "other", -t
        return "listed", t

    for t in (1, 2, 5, 3, 7, 1):
        f(t)
        f(np.int64(t))
        f(np.float64(t))
        f(float(t))


@scene
def membership_in_arrays(stage: Stage) -> None:
    @stage
    def f(x: Any, t: Any) -> Any:
        if t in x:
            return np.sum(x[x == t])
        return t

    f(np.array([1.0, 2.0, 2.0]), np.float64(2.0))
    f(np.array([1.0, 2.0, 2.0]), np.float64(3.0))
    f(np.array([3.0, 2.0, 2.0]), np.float64(3.0))
    f(np.array([3, 2, 2]), 3)


@scene
def keys_by_value(stage: Stage) -> None:
    """A NumPy integer hashes as its value: dicts and sets find it."""
    table = {1: "one", 2.0: "two"}

    @stage
    def f(x: Any) -> Any:
        name = table.get(np.sum(x > 0), "none")
        seen = {np.argmax(x), 1, np.argmin(x)}
        return name, np.argmax(x) in {0, 2}, len(seen), x * 2

    for x in ([1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.25, 0.5], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]):
        f(np.array(x))

    @stage
    def g(n: Any) -> Any:
        return table.get(n, "none"), n in {1, 2}, n + 1

    for n in (1, np.int64(2), np.int64(1), 2, 3, np.int64(3), True, np.bool_(True), 2.0):
        g(n)


@scene
def rounding(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        whole, part = divmod(t, 2.0)
        return round(t, 1), whole, part, t // 1, t % 1, math.floor(2.5)

    for t in (2.7, -2.7, 0.0, 5.0):
        f(np.float64(t))
        f(t)


@scene
def rounding_to_integers(stage: Stage) -> None:
    """Without a number of digits a NumPy float rounds to an int of Python's."""

    @stage
    def f(x: Any) -> Any:
        n = round(np.mean(x))
        return n, [0] * abs(n), round(x[0], 2)

    for x in (UP, 2 * UP, -UP, X, UP):
        f(x)


@scene
def division_by_zero_on_the_way(stage: Stage) -> None:
    @stage
    def f(a: Any, b: Any) -> Any:
        try:
            ratio = a / b
        except ZeroDivisionError:
            ratio = -1.0
        return ratio if ratio > 0.3 else (a, b)

    for a, b in (
        (1.0, 1.0),
        (1.0, 0.0),
        (1.0, 4.0),
        (2.0, 0.0),
        (3.0, 1.0),
        (1, 0),
        (1, 3),
        (2, 3),
    ):
        f(a, b)


@scene
def attributes_of_numbers(stage: Stage) -> None:
    @stage
    def f(n: Any) -> Any:
        return n.real, n.imag, n.conjugate()

    for n in (1.0, 2.0, 1, 2, 1j, 2j, 1 - 2j, True, np.float64(1.5), np.complex128(1j)):
        f(n)


@scene
def whole_numbers_of_data(stage: Stage) -> None:
    """What int() and bool() take from data are Python's own numbers."""

    @stage
    def f(x: Any) -> Any:
        return int(np.argmax(x)), bool(np.sum(x) > 0), int(x[0]), x * int(x[0])

    for x in (X, UP, -UP, 3 * UP, X):
        f(x)


@smooth
def sum_of_a_list(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        kept = [t * t for t in x if t > 0]
        if not kept:
            return np.sum(x) - 1.0
        return sum(kept) / len(kept)

    for x in (X, UP, -UP, -X, X):
        f(x)


@smooth
def masks(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        mask = x > 0
        if np.any(mask):
            y = np.sum(x[mask] ** 2)
        else:
            y = np.sum(x)
        if mask.all() and not (x > 1.6).any():
            y = y * 3.0
        return y

    for x in (X, UP, -UP, 0.5 * UP, X):
        f(x)


@scene
def counts_of_masks(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        number = np.sum(x > 0)
        if number == 0:
            return "none", number
        if number == len(x):
            return "all", x
        return "some", np.where(x > 0, x, 0.0) / number

    for x in (X, UP, -UP, -X):
        f(x)


@scene
def shapes(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x.ndim == 0:
            return x + 1.0
        if x.shape[0] == 3:
            return np.sum(x, axis=0)
        if x.ndim == 2 and x.shape[0] > x.shape[1]:
            return x.T
        if x.size % 2 or len(x) > 4:
            return x[:1]
        return x * x.shape[-1]

    for shape in ((3,), (2,), (4,), (5,), (6,), (3, 2), (4, 2), (2, 4), (), (1,), (0,), (2, 2)):
        f(np.arange(float(math.prod(shape))).reshape(shape))


@scene
def emptiness(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if not len(x):
            return 0.0
        if x.size == 1 and x:
            return x
        return x.mean()

    for x in ([], [1.0], [0.0], [1.0, 2.0], []):
        f(np.array(x))


@scene
def truth_of_arrays(stage: Stage) -> None:
    """One element has a truth value; more are ambiguous."""

    @stage
    def f(x: Any) -> Any:
        if x:
            return x + 1
        return x - 1

    for x in ([2.0], [0.0], [[3.0]], [1.0, 2.0], [0.0, 0.0]):
        f(np.array(x))
    f(np.array(True))
    f(np.float32(0.0))


@scene
def truth_of_a_comparison(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x > 0:
            return "up", x
        return "down", x

    f(UP[:1])
    f(-UP[:1])
    f(1.0)
    f(-1)


@scene
def nan_decisions(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        if t > 0:
            return "positive", t
        if t <= 0:
            return "negative", t
        if t != t and np.isnan(t):
            return "nan", t
        return "none", t

    for t in (1.0, np.nan, -1.0, np.nan, np.inf, -np.inf):
        f(np.float64(t))
    for t in (1.0, math.nan, -1.0, math.nan, math.inf):
        f(t)


@scene
def nan_among_scalars(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        return min(x), max(x), sorted(x)[0], max(x[0], 1.0), min(1.0, x[0])

    for x in ([np.nan, 1.0], [1.0, np.nan], [2.0, 0.5], [np.nan, np.nan]):
        f(np.array(x))


@scene
def signed_zeros(stage: Stage) -> None:
    @stage
    def f(t: Any) -> Any:
        if t == 0:
            return "zero", t, np.copysign(2.0, t), t + 0.0
        return "else", 1.0 / t, t, t

    for t in (0.0, -0.0, 2.0, -0.0, 0.0):
        f(t)
        f(np.float64(t))
        f(np.array(t))


@scene
def one_in_every_type(stage: Stage) -> None:
    @stage
    def f(n: Any) -> Any:
        return n, n + n, isinstance(n, bool), isinstance(n, int), isinstance(n, float), n == 1

    for n in (1, 1.0, True, np.float64(1), np.int64(1), np.bool_(True), np.array(1), 1, 1.0, True):
        f(n)


@scene
def one_in_every_type_beside_an_array(stage: Stage) -> None:
    @stage
    def f(x: Any, n: Any) -> Any:
        return x * n, x / n

    for dtype in (np.float32, np.int8, np.uint8, float):
        for n in (1, 1.0, True, np.float32(1), np.float64(1), np.int64(1), 2, 2.0):
            f(np.ones(2, dtype), n)


@scene
def numbers_that_change(stage: Stage) -> None:
    """A schedule: what Python reads of a number is what it is in this call."""

    @stage
    def f(x: Any, step: int, rate: float) -> Any:
        if step < 3:
            rate = rate * (step + 1) / 3
        elif step % 4 == 0:
            rate = 0.0
        return x - rate * x, f"{rate:.3g}", step // 2

    for step in range(10):
        f(X, step, 0.1)
    f(X, 2, 0.25)
    f(X, 100, 0.5)


@scene
def integers_by_parity(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        n = x.sum()
        if n % 2 == 0:
            return n // 2, x >> 1
        return 3 * n + 1, x << 1

    for x in ([1, 2, 3], [1, 2, 4], [0, 0, 0], [5, 0, 0]):
        f(np.array(x))
        f(np.array(x, np.int8))


@scene
def low_precision(stage: Stage) -> None:
    """Decisions are those of the dtype: 0.1 in float32 is not 0.1 in float64."""

    @stage
    def f(x: Any) -> Any:
        if x[0] > 0.1:
            return x * 2
        if x[0] == 0.1:
            return x
        return x / 3

    for dtype in (np.float32, np.float64, np.float16):
        for first in (0.1, 0.2, 0.0):
            f(np.array([first, 1.0], dtype))


@scene
def complex_decisions(stage: Stage) -> None:
    @stage
    def f(z: Any) -> Any:
        if z.imag > 0:
            return z.conjugate()
        if z == 1:
            return abs(z)
        return z * 1j

    for z in (1 + 1j, 1 - 1j, 1 + 0j, 2j, -1 + 0j):
        f(z)
        f(np.complex128(z))


@scene
def dispatch_by_index(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        which = [np.sin, np.cos, np.tanh][int(np.argmax(x))]
        label = ("sin", "cos", "tanh")[np.argmax(x)]
        return label, which(x)

    for k in (0, 1, 2, 1, 0):
        f(np.roll(np.array([2.0, 0.5, 0.25]), k))


@scene
def dispatch_by_name(stage: Stage) -> None:
    rules = {"sum": np.sum, "mean": np.mean, "last": lambda x: x[-1]}

    @stage
    def f(x: Any, rule: str = "sum") -> Any:
        return rules[rule](x) * 2

    for rule in ("sum", "mean", "last", "none", "sum"):
        f(X, rule)
    f(X)
    f(X, rule="mean")


@scene
def match_statements(stage: Stage) -> None:
    @stage
    def f(command: Any, x: Any) -> Any:
        match command:
            case "double":
                return x * 2
            case ("add", amount) if amount > 1:
                return x + amount
            case ("add", _):
                return x + 100
            case {"scale": factor}:
                return x * factor
            case [first, *others]:
                return x[first] + len(others)
            case int() | float():
                return x - command
            case None:
                return None
        raise ValueError(f"unknown command {command!r}")

    for command in ("double", ("add", 3.0), ("add", 0.5), {"scale": 2.0}, [1, 2, 3], 3, 2.5, None):
        f(command, X)
    f("halve", X)
    f(("add", 0.25), X)
    f(("add", 4.0), X)


@scene
def match_on_data(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        match np.sign(x[0]), x.shape:
            case (1, (3,)):
                return x
            case (-1, (3,)):
                return -x
            case (0, _):
                return 0.0
            case (_, (n,)) if x[0] > 5:
                return x / n
        match int(np.argmax(x)):
            case 0:
                return "first"
            case k:
                return f"number {k}"

    for x in (UP, -UP, 0 * UP, 10 * UP[:2], UP[:2], -UP[:2]):
        f(x)


@scene
def isinstance_checks(stage: Stage) -> None:
    @stage
    def f(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return "array", value.sum()
        if isinstance(value, np.floating):
            return "NumPy float", value * 2
        if isinstance(value, bool):
            return "bool", not value
        if isinstance(value, (int, float)):
            return "number", value + 1
        if isinstance(value, (list, tuple)):
            return type(value).__name__, sum(value)
        if isinstance(value, dict):
            return "dict", sum(value.values())
        if value is None:
            return "None"
        return "other", str(value)

    values = (X, np.float64(2.0), np.float32(1.5), True, False, 3, 2.5, [1.0, X], (X, X))
    for value in (*values, {"a": X, "b": 1.0}, None, "text", 4, 3.5, X + 1):
        f(value)


@scene
def flags(stage: Stage) -> None:
    @stage
    def layer(x: Any, training: bool = False, *, bias: Any = None, scale: float = 1.0) -> Any:
        y = np.tanh(x)
        if bias is not None:
            y = y + bias
        if training and np.max(y) > 0.5:
            y = y / np.max(y)
        return y * scale

    layer(X)
    layer(X, True)
    layer(-X, True)
    layer(0.1 * X, training=True, scale=2.0)
    layer(X, bias=UP, scale=3.0)
    layer(X, 1)
    layer(X, bias=0.5)


@smooth
def the_same_question_twice(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        y = 0.0
        for _ in range(3):
            if np.sum(x) > 0:
                y = y + np.sum(x)
            if np.sum(x) > 0:
                x = x * x
            else:
                x = x - 0.1
        return y + np.sum(x)

    for x in (UP, -UP, X, 0.1 * UP, X + 0.1):
        f(x)


@scene
def attributes_tell_numbers_from_arrays(stage: Stage) -> None:
    @stage
    def f(value: Any, other: Any) -> Any:
        kind = "array" if hasattr(value, "shape") else "number"
        axes = getattr(other, "ndim", -1)
        return kind, axes, value * other

    for value, other in (
        (1.0, 2.0),
        (2.0, 3.0),
        (3, 4),
        (4, 5),
        (X, 2),
        (X, UP),
        (1.5, X),
        (2.5, X),
    ):
        f(value, other)
    f(np.float64(2.0), np.float64(1.0))


@smooth
def a_helper_decides(stage: Stage) -> None:
    def soft(t: Any) -> Any:
        if t > 0:
            return t / (1 + t)
        return t

    @stage
    def f(x: Any) -> Any:
        return soft(x[0]) * soft(x[1]) + soft(soft(x[2]) - 0.5)

    for x in (UP, X, -UP, -X, UP * (1, -1, 1)):
        f(x)


@smooth
def a_decision_without_effect(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x[0] > 0:
            pass
        y = np.sum(x * x)
        if y > 100:
            y = y + 0.0
        return y

    for x in (X, -X, 10 * UP, X):
        f(x)


@smooth
def a_path_that_returns_a_number(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if np.sum(x) < 0:
            return 0.0
        return np.sum(x * x)

    for x in (UP, -UP, X, UP):
        f(x)


@scene
def results_of_different_shape(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        if x[0] > 1:
            return x, {"sum": x.sum()}
        if x[0] > 0:
            return [x[:2], 1, "text"]
        if x[0] > -1:
            return None
        return x.astype(np.float32)

    for x in (UP, X, -X, -UP, X, UP):
        f(x)
