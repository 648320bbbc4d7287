"""Programs that mix arrays, lists, numbers and objects, as scripts and small libraries do."""

from __future__ import annotations

import collections
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import random
import statistics
import string
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
from numpy import array, asarray, exp, log, ones, sqrt, zeros
from numpy.linalg import norm

from tests.trace.convert.idioms.idiom import A, B, M, N, P, S, T, X, Y, idiom


@idiom(X)
def names_imported_alone(x: Any) -> Any:
    out = zeros(len(x)) + ones(4)
    return array([exp(x[0]), log(x[1]), sqrt(x[2])]).sum() + norm(asarray(x)) + out


@idiom(X)
def sigmoid_by_where(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))


@idiom(X)
def relu_by_max(x: Any) -> Any:
    return np.array([max(0.0, v) for v in x - 1.0])


@idiom(X)
def clipped_by_min_and_max(x: Any) -> Any:
    return [min(max(v, 0.5), 2.0) for v in x]


@idiom(X)
def softmax_by_lists(x: Any) -> Any:
    top = max(x)
    weights = [math.exp(v - top) for v in x]
    total = sum(weights)
    return [w / total for w in weights]


@idiom(X, Y)
def correlation_by_lists(x: Any, y: Any) -> Any:
    mx, my = statistics.mean(x), statistics.mean(y)
    top = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return top / math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


@idiom(X)
def moving_average(x: Any) -> Any:
    return [sum(x[i : i + 2]) / 2 for i in range(len(x) - 1)]


@idiom(X)
def exponential_average(x: Any) -> Any:
    s = [x[0]]
    for v in x[1:]:
        s.append(0.3 * v + 0.7 * s[-1])
    return np.array(s)


@idiom(X)
def cumulative_by_lists(x: Any) -> Any:
    return [float(np.sum(x[: i + 1])) for i in range(len(x))]


@idiom(X)
def matrix_from_function(x: Any) -> Any:
    n = len(x)
    k = np.empty((n, n))
    for i, j in itertools.product(range(n), range(n)):
        k[i, j] = math.exp(-0.5 * (x[i] - x[j]) ** 2)
    return k


@idiom(X)
def matrix_by_rows(x: Any) -> Any:
    return np.array([np.roll(x, i) for i in range(3)])


@idiom(X)
def vandermonde_by_lists(x: Any) -> Any:
    return np.array([[float(v) ** k for k in range(3)] for v in x])


@idiom(M)
def cholesky_by_hand(a: Any) -> Any:
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = sum(low[i, k] * low[j, k] for k in range(j))
            low[i, j] = math.sqrt(a[i, i] - s) if i == j else (a[i, j] - s) / low[j, j]
    return low


@idiom(M, X[:3])
def gauss_by_hand(a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    n = len(b)
    for i in range(n):
        for j in range(i + 1, n):
            factor = a[j, i] / a[i, i]
            a[j] -= factor * a[i]
            b[j] -= factor * b[i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@idiom(M)
def power_iteration(a: Any) -> Any:
    v = np.ones(len(a))
    for _ in range(10):
        v = a @ v
        v /= np.linalg.norm(v)
    return float(v @ a @ v)


@idiom(M)
def determinant_by_recursion(a: Any) -> Any:
    def det(m: Any) -> Any:
        if len(m) == 1:
            return m[0][0]
        return sum(
            (-1) ** j * m[0][j] * det([row[:j] + row[j + 1 :] for row in m[1:]])
            for j in range(len(m))
        )

    return det(a.tolist())


@idiom(X)
def polynomial_by_enumerate(x: Any) -> Any:
    return sum(c * 0.5**k for k, c in enumerate(x))


@idiom(X)
def horner_reversed(x: Any) -> Any:
    total = 0.0
    for c in x[::-1]:
        total = total * 0.5 + c
    return total


@idiom(S)
def newton_of_a_float(a: Any) -> Any:
    x = 1.0
    for _ in range(8):
        x -= (x * x - a) / (2 * x)
    return x


@idiom(S)
def series_of_exp(x: Any) -> Any:
    return sum(x**k / math.factorial(k) for k in range(12))


@idiom(S, T)
def euler_steps(y: Any, h: Any) -> Any:
    trace = [y]
    for _ in range(4):
        trace.append(trace[-1] - 0.1 * h * trace[-1])
    return np.array(trace)


@idiom(S)
def piecewise_of_a_float(x: Any) -> Any:
    if x < 0:
        return 0.0
    elif x < 1:
        return x
    return 2.0 * x - 1.0


@idiom(S)
def scalar_or_list(x: Any) -> Any:
    if np.ndim(x) == 0:
        x = [x]
    return np.array(x).sum()


@idiom(S)
def number_formatted_by_type(x: Any) -> Any:
    return float(x) if isinstance(x, (int, float, np.number)) else np.asarray(x)


@idiom(X)
def normalised(x: Any) -> Any:
    x = np.array(x, dtype=np.float64, copy=True)
    x -= x.mean()
    x /= x.std()
    return x


@idiom(X)
def weighted(x: Any, w: Any = (1, 2, 3, 4)) -> Any:
    w = np.asarray(w, float)
    return np.dot(w, x) / w.sum()


@idiom(X)
def cross_entropy(x: Any) -> Any:
    labels = [0, 1, 1, 0]
    p = sp.expit(x)
    return -np.mean([math.log(q) if t else math.log(1 - q) for q, t in zip(p, labels)])


@idiom(A)
def one_hot_loss(a: Any) -> Any:
    labels = np.array([0, 2, 1])
    z = a - a.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -logp[np.arange(len(labels)), labels].mean()


@idiom(A)
def rows_normalised(a: Any) -> Any:
    return np.array([row / np.linalg.norm(row) for row in a])


@idiom(A)
def columns_zipped(a: Any) -> Any:
    return [sum(column) for column in zip(*a)]


@idiom(A)
def nested_lists(a: Any) -> Any:
    rows = a.tolist()
    return [[rows[i][j] for i in range(3)] for j in range(4)]


@idiom(A)
def flattened(a: Any) -> Any:
    return [v for row in a for v in row if v != 0]


@idiom(A)
def argmax_of_rows(a: Any) -> Any:
    return [int(np.argmax(row)) for row in a], a.sum()


@idiom(A)
def best_row(a: Any) -> Any:
    return max(a, key=lambda row: float(row.sum()))


@idiom(A)
def sorted_rows(a: Any) -> Any:
    return np.array(sorted(a, key=lambda row: row[0]))


@idiom(A)
def grouped(a: Any) -> Any:
    groups: dict[str, list[Any]] = {}
    for name, row in zip("aba", a):
        groups.setdefault(name, []).append(row.mean())
    return {k: np.mean(v) for k, v in sorted(groups.items())}


@idiom(X)
def counted(x: Any) -> Any:
    return collections.Counter("abca")["a"] * x


@idiom(X)
def heap(x: Any) -> Any:
    h = list(x)
    heapq.heapify(h)
    return heapq.heappop(h) + heapq.nsmallest(2, h)[-1]


@idiom(X)
def largest_by_heap(x: Any) -> Any:
    return heapq.nlargest(2, x)


@idiom(X)
def bisected(x: Any) -> Any:
    import bisect

    return bisect.bisect([1.0, 2.0, 3.0], x[0]) * x[0]


@idiom(X)
def simple_namespace(x: Any) -> Any:
    state = types.SimpleNamespace(w=np.asarray(x), b=float(x[0]))
    return state.w * state.b


@idiom(X)
def text_joined(x: Any) -> Any:
    return ", ".join(f"{k}={v.shape}" for k, v in {"x": x, "y": x[:2]}.items()), x * 2


@idiom(X)
def text_of_numbers(x: Any) -> Any:
    return len(string.ascii_letters[: len(x)]) * x


@idiom(X)
def composed(x: Any) -> Any:
    def compose(*functions: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda v: functools.reduce(lambda total, f: f(total), functions, v)

    return compose(np.asarray, np.exp, np.sum, float)(x)


@idiom(X)
def partial_of_power(x: Any) -> Any:
    return list(map(functools.partial(pow, 2.0), x))


@idiom(X)
def partial_of_numpy(x: Any) -> Any:
    return functools.partial(np.clip, a_min=0.5, a_max=2.0)(x)


@idiom(X)
def mapped_with_two(x: Any) -> Any:
    return list(map(operator.mul, x, [1.0, 2.0, 3.0, 4.0]))


@idiom(X)
def attribute_getter(x: Any) -> Any:
    return operator.attrgetter("T")(x) @ x


@dataclasses.dataclass
class Normal:
    """A distribution with a property and methods."""

    mean: float
    scale: float = 1.0

    @property
    def precision(self) -> Any:
        """One over the variance."""
        return 1.0 / np.square(self.scale)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density."""
        z = (np.asarray(x) - self.mean) / self.scale
        return -0.5 * z**2 - math.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def sample(self, rng: Any) -> Any:
        """Not called."""
        return random.gauss(self.mean, self.scale)


@idiom(X)
def likelihood_of_a_data_class(x: Any) -> Any:
    return float(np.sum(Normal(x[0], abs(x[1])).logpdf(x)))


@idiom(X)
def property_of_a_data_class(x: Any) -> Any:
    return Normal(0.0, x[0]).precision


class Optimizer:
    """Keeps a state that changes."""

    def __init__(self, rate: float = 0.1) -> None:
        self.rate = rate
        self.velocity: Any = None

    def step(self, w: Any, g: Any) -> Any:
        """One step."""
        if self.velocity is None:
            self.velocity = np.zeros_like(w)
        self.velocity = 0.9 * self.velocity - self.rate * g
        return w + self.velocity


@idiom(X)
def optimiser(x: Any) -> Any:
    one = Optimizer()
    w = np.zeros(4)
    for _ in range(3):
        w = one.step(w, w - x)
    return w


class Network:
    """Layers in a list."""

    def __init__(self, sizes: Any, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.weights = [rng.normal(size=(n, m)) for n, m in zip(sizes, sizes[1:])]

    def __call__(self, x: Any) -> Any:
        x = np.atleast_2d(np.asarray(x))
        for w in self.weights[:-1]:
            x = np.tanh(x @ w)
        return x @ self.weights[-1]


NETWORK = Network([4, 3, 1])


@idiom(X)
def network(x: Any) -> Any:
    return NETWORK(x).item()


class Vector:
    """A vector with operators that take whatever is an array."""

    def __init__(self, data: Any) -> None:
        self.data = np.array(data, dtype=float)

    def __add__(self, other: Any) -> Vector:
        return Vector(self.data + np.asarray(getattr(other, "data", other)))

    def __mul__(self, k: Any) -> Vector:
        return Vector(self.data * float(k))

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Any:
        return float(np.dot(self.data, np.asarray(other.data)))

    def __neg__(self) -> Vector:
        return Vector([-v for v in self.data])

    def __abs__(self) -> Any:
        return math.sqrt(self @ self)

    def __getitem__(self, k: Any) -> Any:
        return float(self.data[k])

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Any:
        return iter(self.data.tolist())

    def __eq__(self, other: object) -> bool:
        return bool(np.all(self.data == np.asarray(other.data)))  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return 1

    @property
    def norm(self) -> Any:
        """The length."""
        return math.sqrt(float(np.sum(self.data**2)))

    @functools.cached_property
    def total(self) -> Any:
        """The sum, once."""
        return float(np.asarray(self.data).sum())


@idiom(X)
def vector_sum(x: Any) -> Any:
    return (Vector(x) + Vector(list(x))).data


@idiom(X)
def vector_scaled(x: Any) -> Any:
    return (2.0 * Vector(x) * x[0]).data


@idiom(X)
def vector_product(x: Any) -> Any:
    return Vector(x) @ Vector(x[::-1])


@idiom(X)
def vector_length(x: Any) -> Any:
    return abs(Vector(x))


@idiom(X)
def vector_negated(x: Any) -> Any:
    return (-Vector(x)).data


@idiom(X)
def vector_items(x: Any) -> Any:
    return Vector(x)[0] * len(Vector(x)) + sum(Vector(x))


@idiom(X)
def vector_property(x: Any) -> Any:
    return Vector(x).norm + Vector(x).total


@idiom(X)
def vector_compared(x: Any) -> Any:
    return x * (Vector(x) == Vector(x))


@idiom(X)
def vector_added_in_place(x: Any) -> Any:
    v = Vector(x)
    v += Vector([x[0]] * 4)
    return v.data


@dataclasses.dataclass
class Bounds:
    """Makes arrays of what it is given."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        self.low = np.asarray(self.low, dtype=float)
        self.high = np.asarray(self.high, dtype=float)

    def scale(self, x: Any) -> Any:
        """Into the bounds."""
        return self.low + (self.high - self.low) * np.asarray(x)


@idiom(P)
def data_class_with_post_init(p: Any) -> Any:
    return Bounds(p[0], p[1]).scale([0.2, 0.4])


@idiom(X, N)
def power_of_an_integer(x: Any, n: Any) -> Any:
    return float(x[0]) ** n + np.power(x, n).sum()


@idiom(X, N)
def sizes_of_an_integer(x: Any, n: Any) -> Any:
    return np.zeros(n) + np.linspace(0, 1, n) * x[0]


@idiom(B)
def swapped(b: Any) -> Any:
    b[0], b[1] = b[1].copy(), b[0].copy()
    return b


@idiom(X)
def interpolated_by_hand(x: Any) -> Any:
    grid = [0.0, 1.0, 2.0, 4.0]
    k = int(np.searchsorted(grid, x[0])) - 1
    t = (x[0] - grid[k]) / (grid[k + 1] - grid[k])
    return (1 - t) * x[k] + t * x[k + 1]


@idiom(X)
def lookup_by_digitize(x: Any) -> Any:
    rates = np.array([0.1, 0.2, 0.4])
    return (rates[np.digitize(x, [1.0, 2.0])] * x).sum()


@idiom(X)
def tax(x: Any) -> Any:
    total = 0.0
    for low, high, rate in [(0.0, 1.0, 0.1), (1.0, 2.0, 0.2), (2.0, math.inf, 0.4)]:
        total += max(0.0, min(x[2], high) - low) * rate
    return total


@idiom(X)
def median_by_sorting(x: Any) -> Any:
    s = sorted(float(v) for v in x)
    return 0.5 * (s[1] + s[2])


@idiom(X)
def trimmed(x: Any) -> Any:
    return np.mean(np.sort(x)[1:-1])


@idiom(X)
def outliers_removed(x: Any) -> Any:
    z = np.abs(x - np.mean(x)) / np.std(x)
    return np.mean(x[z < 1.3])


@idiom(X)
def count_and_mean(x: Any) -> Any:
    big = x[x > 1]
    return big.mean() if len(big) > 0 else 0.0


@idiom(X)
def first_above(x: Any) -> Any:
    return next(v for v in x if v > 2)


@idiom(X)
def any_of_a_generator(x: Any) -> Any:
    return x * any(v > 2 for v in x) * all(v > 0 for v in x)


@idiom(X)
def where_of_three(x: Any) -> Any:
    return np.where(x > 1, x, 0)[np.newaxis].repeat(2, axis=0)


@idiom(X)
def set_of_integers(x: Any) -> Any:
    return x * len({int(v) for v in x})


@idiom(X)
def dictionary_by_integer(x: Any) -> Any:
    return {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}[int(x[0])] * x


@idiom(X)
def string_of_an_integer(x: Any) -> Any:
    return x * len(str(int(x[3])))


@idiom(X)
def log_likelihood_guarded(x: Any) -> Any:
    if not np.all(np.isfinite(x)):
        return -np.inf
    return -0.5 * np.sum(x**2)


@idiom(X)
def tolerance(x: Any) -> Any:
    eps = np.finfo(float).eps
    return np.where(np.abs(x) < eps, eps, x)


@idiom(X)
def dtype_kept(x: Any) -> Any:
    return np.zeros(4, dtype=x.dtype) + np.array(1, dtype=x.dtype) * x


@idiom(X)
def reshaped_grid(x: Any) -> Any:
    gx, gy = np.meshgrid(np.linspace(0, 1, 3), [0.0, 1.0])
    return x[0] * gx + x[1] * gy


@idiom(X)
def triangle(x: Any) -> Any:
    m = np.zeros((3, 3))
    m[np.tril_indices(3)] = np.concatenate([x, x[:2]])
    return m @ m.T


@idiom(X)
def diagonal_set(x: Any) -> Any:
    m = np.eye(4)
    np.fill_diagonal(m, x)
    m[np.diag_indices(4)] += 1.0
    return m


@idiom(X)
def put_along(x: Any) -> Any:
    m = np.zeros((2, 4))
    m[1, ...] = x
    m[:, ::2] *= 3.0
    return m


@idiom(X)
def ufunc_at(x: Any) -> Any:
    h = np.zeros(3)
    for k, v in zip([0, 1, 1, 2], x):
        h[k] += v
    return h


KEPT = Vector([1.0, 2.0, 3.0, 4.0])


class Affine:
    """An operator kept outside."""

    def __init__(self, weights: Any) -> None:
        self.weights = np.asarray(weights)

    def __matmul__(self, x: Any) -> Any:
        return self.weights @ np.array([float(v) for v in x])

    def __rmul__(self, k: Any) -> Affine:
        return Affine(float(k) * self.weights)


AFFINE = Affine(np.arange(8.0).reshape(2, 4))


@idiom(X)
def object_outside_with_operators(x: Any) -> Any:
    return AFFINE @ x + (x[0] * AFFINE) @ x


@idiom(X)
def object_enclosed_with_operators(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return KEPT @ Vector(y)

    return inner(x)


@idiom(X)
def sum_of_vectors(x: Any) -> Any:
    return sum([Vector(x), Vector(list(x))], Vector([0.0] * 4)).data


@idiom(X)
def sorted_by_operators(x: Any) -> Any:
    @functools.total_ordering
    class Item:
        def __init__(self, value: Any) -> None:
            self.value = np.asarray(value)

        def __eq__(self, other: object) -> bool:
            return float(self.value) == float(other.value)  # type: ignore[attr-defined]

        def __lt__(self, other: Any) -> bool:
            return float(self.value) < float(other.value)

        def __hash__(self) -> int:
            return 0

    return [one.value * 2 for one in sorted(map(Item, x))]


class Chain:
    """Operators in a list."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)

    def run(self, x: Any) -> Any:
        """Apply one after the other."""
        for step in self.steps:
            x = step @ x
        return x


CHAIN = Chain(Affine(np.arange(8.0).reshape(2, 4)), Affine(np.eye(2)))


@idiom(X)
def objects_in_a_list_of_an_object(x: Any) -> Any:
    return CHAIN.run(x)


@idiom(X)
def vectorized_with_branches(x: Any) -> Any:
    @np.vectorize
    def f(v: Any, k: Any) -> Any:
        if v > k:
            return math.sqrt(v)
        return 0.0

    return f(x, 1.0)


@idiom(A)
def vectorized_over_a_matrix(a: Any) -> Any:
    return np.vectorize(lambda v: v**2 if v > 0 else -v)(a)
