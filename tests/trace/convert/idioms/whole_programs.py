"""Statements: arrays that are filled in place, containers, classes and functions of functions."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import numbers
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.trace.convert.idioms.idiom import A, M, S, T, X, Y, idiom


@idiom(X)
def zeros_filled(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] * i
    return out


@idiom(X)
def empty_filled(x: Any) -> Any:
    out = np.empty(x.shape)
    out[:] = x
    out[0] += 1.0
    return out


@idiom(X)
def empty_like_filled(x: Any) -> Any:
    out = np.empty_like(x)
    out[1:] = np.diff(x)
    out[0] = 0.0
    return out


@idiom(X)
def zeros_of_two_axes(x: Any) -> Any:
    out = np.zeros((len(x), 2))
    out[:, 0] = x
    out[:, 1] = x**2
    return out


@idiom(X)
def full_then_written(x: Any) -> Any:
    out = np.full(4, np.nan)
    out[:2] = x[:2]
    out[2:] = 0.0
    return out


@idiom(X)
def filled_with_a_number(x: Any) -> Any:
    out = np.empty(3)
    out.fill(x[0])
    return out


@idiom(X)
def fill_of_a_copy(x: Any) -> Any:
    out = x.copy()
    out.fill(2.0)
    return out * x


@idiom(X)
def ones_of_an_accumulator(x: Any) -> Any:
    out = np.ones(4)
    out *= x
    out += 1.0
    return out


@idiom(X)
def eye_written(x: Any) -> Any:
    out = np.eye(2)
    out[0, 1] = x[0]
    out[1, 0] = -x[1]
    return out


@idiom(S)
def rotation(angle: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


@idiom(S)
def rotation_by_math(angle: Any) -> Any:
    c, s = math.cos(angle), math.sin(angle)
    return np.array(((c, -s), (s, c))) @ np.array([1.0, 2.0])


@idiom(X)
def array_of_integers_made_floating(x: Any) -> Any:
    out = np.array([1, 2, 3, 4], dtype=float)
    out[2] = x[0]
    return out


@idiom(X)
def array_of_floats_written(x: Any) -> Any:
    out = np.array([1.0, 2.0, 3.0])
    out[0] = x[0] * 2
    return out


@idiom(X)
def list_appended(x: Any) -> Any:
    out = []
    for value in x:
        out.append(value * 2)
    return np.array(out)


@idiom(X)
def list_of_rows(x: Any) -> Any:
    rows = []
    for i in range(3):
        rows.append(x * i)
    return np.array(rows)


@idiom(X)
def list_of_rows_stacked(x: Any) -> Any:
    return np.vstack([x * i for i in range(3)])


@idiom(X)
def running_total(x: Any) -> Any:
    total = 0.0
    out = []
    for value in x:
        total += value
        out.append(total)
    return out


@idiom(X)
def accumulated(x: Any) -> Any:
    return list(itertools.accumulate(x))


@idiom(X)
def accumulated_by_a_function(x: Any) -> Any:
    return list(itertools.accumulate(x, operator.mul))


@idiom(X)
def accumulated_from(x: Any) -> Any:
    return list(itertools.accumulate(x, lambda a, b: 0.5 * a + b, initial=0.0))


@idiom(X)
def pairs(x: Any) -> Any:
    return sum(a * b for a, b in itertools.combinations(x, 2))


@idiom(X)
def neighbours(x: Any) -> Any:
    return [b - a for a, b in zip(x, x[1:], strict=False)]


@idiom(X)
def pairwise(x: Any) -> Any:
    return [b - a for a, b in itertools.pairwise(x)]


@idiom(X)
def chained(x: Any) -> Any:
    return np.array(list(itertools.chain(x[:2], [1.0], x[2:])))


@idiom(X)
def products(x: Any) -> Any:
    return [a * b for a, b in itertools.product(x[:2], [1.0, 2.0])]


@idiom(X)
def starmap(x: Any) -> Any:
    return list(itertools.starmap(operator.mul, zip(x, x[::-1], strict=True)))


@idiom(X)
def islice(x: Any) -> Any:
    return sum(itertools.islice(x, 2))


@idiom(X)
def permutations(x: Any) -> Any:
    return sum(a / b for a, b in itertools.permutations(x[:3], 2))


@idiom(X)
def repeated(x: Any) -> Any:
    return list(itertools.repeat(x[0], 3))


@idiom(X)
def zip_longest(x: Any) -> Any:
    return [a + b for a, b in itertools.zip_longest(x, x[:2], fillvalue=0.0)]


@idiom(X)
def takewhile(x: Any) -> Any:
    return list(itertools.takewhile(lambda v: v > 1, x))


@idiom(X)
def enumerated(x: Any) -> Any:
    return sum(i * v for i, v in enumerate(x, 1))


@idiom(X)
def reversed_(x: Any) -> Any:
    total = 0.0
    for v in reversed(x):
        total = 0.5 * total + v
    return total


@idiom(X)
def horner(x: Any) -> Any:
    return functools.reduce(lambda total, c: total * 2.0 + c, x, 0.0)


@idiom(X)
def operators_by_name(x: Any) -> Any:
    return operator.add(operator.mul(x[0], 2.0), operator.neg(x[1]))


@idiom(X)
def itemgetter(x: Any) -> Any:
    return operator.itemgetter(0, 2)(x)


@idiom(X)
def methodcaller(x: Any) -> Any:
    return operator.methodcaller("sum")(x)


@idiom(X)
def operator_matmul(x: Any) -> Any:
    return operator.matmul(x, x)


@idiom(X)
def operator_getitem(x: Any) -> Any:
    return operator.getitem(x, 1) + operator.truediv(x[0], x[1])


@idiom(X)
def shallow_copy(x: Any) -> Any:
    y = copy.copy(x)
    y[0] = 0.0
    return x + y


@idiom(X)
def deep_copy(x: Any) -> Any:
    y = copy.deepcopy({"a": x})
    y["a"][0] = 0.0
    return x + y["a"]


@idiom(X)
def is_a_float(x: Any) -> Any:
    return x[0] * 2 if isinstance(x[0], float) else x[0]


@idiom(S)
def is_a_number(x: Any) -> Any:
    return x * 2 if isinstance(x, numbers.Number) else x


@idiom(S)
def is_a_real(x: Any) -> Any:
    return x * 2 if isinstance(x, numbers.Real) and not isinstance(x, int) else x


@idiom(S)
def is_int_or_float(x: Any) -> Any:
    return x * 2 if isinstance(x, (int, float)) else x


@idiom(X)
def is_an_array(x: Any) -> Any:
    return x * 2 if isinstance(x, np.ndarray) else x


@idiom(X)
def is_a_numpy_scalar(x: Any) -> Any:
    return x[0] * 2 if isinstance(x[0], np.floating) else x[0]


@idiom(X)
def is_a_sequence(x: Any) -> Any:
    return x if isinstance(x, (list, tuple, Sequence)) else x * 3


@idiom(X)
def type_is_ndarray(x: Any) -> Any:
    return x * 2 if type(x) is np.ndarray else x


@idiom(X)
def type_is_float64(x: Any) -> Any:
    return x[0] * 2 if type(x[0]) is np.float64 else x[0]


@idiom(S)
def type_is_float(x: Any) -> Any:
    return x * 2 if type(x) is float else x


@idiom(S)
def type_equals_float(x: Any) -> Any:
    return x * 2 if type(x) == float else x  # noqa: E721


@idiom(X)
def type_in_a_tuple(x: Any) -> Any:
    return x * 2 if type(x) in (np.ndarray, list) else x


@idiom(X)
def type_by_name(x: Any) -> Any:
    return x * len(type(x).__name__)


@idiom(X)
def class_of(x: Any) -> Any:
    return x * 2 if x.__class__ is np.ndarray else x


@idiom(X)
def scalar_or_array(x: Any) -> Any:
    was_scalar = np.isscalar(x)
    y = np.atleast_1d(np.asarray(x, dtype=float))
    out = np.exp(-y)
    return out[0] if was_scalar else out


@idiom(S)
def array_or_scalar(x: Any) -> Any:
    was_scalar = np.isscalar(x)
    y = np.atleast_1d(np.asarray(x, dtype=float))
    out = np.exp(-y)
    return out[0] if was_scalar else out


@idiom(S)
def unwrapped_by_empty_tuple(x: Any) -> Any:
    return np.asarray(x * 2)[()]


@idiom(X)
def has_len(x: Any) -> Any:
    return x * 2 if hasattr(x, "__len__") else x


@idiom(S)
def has_no_len(x: Any) -> Any:
    return x if hasattr(x, "__len__") else x * 2


@idiom(X)
def has_shape(x: Any) -> Any:
    return x.sum() if hasattr(x, "shape") else x


@idiom(X)
def callable_or_array(x: Any) -> Any:
    return x(1.0) if callable(x) else x


@idiom(X)
def dtype_kind(x: Any) -> Any:
    return x * 2 if x.dtype.kind == "f" else x


@idiom(X)
def dtype_is_float(x: Any) -> Any:
    return x * 2 if x.dtype == float else x


@idiom(X)
def checked_shape(x: Any) -> Any:
    if x.ndim != 1:
        raise ValueError(f"expected one axis, got shape {x.shape}")
    return x * 2


@idiom(X)
def text_of_a_shape(x: Any) -> Any:
    return f"{x.shape} {x.dtype} {len(x)}", x * 2


@idiom(X)
def labelled(x: Any) -> Any:
    return {f"w{i}": v for i, v in enumerate(x)}


@idiom(X)
def asserted(x: Any) -> Any:
    assert x.ndim == 1, "one axis"
    assert np.all(x > 0), "positive"
    return np.log(x)


@idiom(X)
def raised(x: Any) -> Any:
    if np.any(x < 0):
        raise ValueError("negative")
    return np.sqrt(x)


@idiom(X)
def branch_on_a_value(x: Any) -> Any:
    if x[0] > 1.0:
        return x * 2
    return x


@idiom(X)
def loop_with_branches(x: Any) -> Any:
    total = 0.0
    for v in x:
        if v > 1.0:
            total += v**2
        else:
            total -= v
    return total


@idiom(X)
def while_converging(x: Any) -> Any:
    guess = x[0]
    for _ in range(8):
        guess = 0.5 * (guess + x[3] / guess)
    return guess


@idiom(X)
def newton_until(x: Any) -> Any:
    guess = x[0]
    while abs(guess * guess - x[3]) > 1e-12:
        guess = 0.5 * (guess + x[3] / guess)
    return guess


class Point(NamedTuple):
    """Two numbers."""

    x: Any
    y: Any

    def norm(self) -> Any:
        """The length."""
        return math.sqrt(self.x**2 + self.y**2)


@idiom(X)
def named_tuple(x: Any) -> Any:
    return Point(x[0], x[1]).norm()


@idiom(X)
def named_tuple_replaced(x: Any) -> Any:
    return Point(x[0], x[1])._replace(y=2.0 * x[2])


Pair = collections.namedtuple("Pair", "a b")


@idiom(X)
def named_tuple_of_collections(x: Any) -> Any:
    pair = Pair(x[0], b=x[1])
    return pair.a * pair.b


@dataclasses.dataclass
class Model:
    """A line."""

    slope: Any
    offset: Any = 0.5
    log: list[Any] = dataclasses.field(default_factory=list)

    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.offset

    @property
    def twice(self) -> Any:
        """The slope, twice."""
        return 2.0 * self.slope

    @classmethod
    def through(cls, x: Any) -> Model:
        """A line from an array."""
        return cls(x[0], float(x[1]))

    @staticmethod
    def halved(x: Any) -> Any:
        """A half."""
        return np.asarray(x) / 2.0


@idiom(X)
def data_class(x: Any) -> Any:
    return Model(x[0])(x)


@idiom(X)
def data_class_property(x: Any) -> Any:
    return Model.through(x).twice


@idiom(X)
def data_class_static(x: Any) -> Any:
    return Model.halved(x) * Model.through(x).offset


@idiom(X)
def data_class_replaced(x: Any) -> Any:
    return dataclasses.replace(Model(x[0]), offset=x[1])(2.0)


@idiom(X)
def data_class_as_dict(x: Any) -> Any:
    return dataclasses.asdict(Model(x[0], x[1]))["slope"]


@dataclasses.dataclass(frozen=True)
class Interval:
    """Two ends, checked."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("empty")

    def middle(self) -> Any:
        """Half way."""
        return 0.5 * (self.low + self.high)


@idiom(X)
def frozen_data_class(x: Any) -> Any:
    return Interval(x[1], x[0]).middle()


class Dual:
    """A number with operators."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any = 0.0) -> None:
        self.value = value
        self.slope = slope

    def __add__(self, other: Any) -> Dual:
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Dual:
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __float__(self) -> float:
        return float(self.value)


@idiom(X)
def operators_of_a_class(x: Any) -> Any:
    y = Dual(x[0], 1.0)
    z = y * y + 3.0 * y + x[1]
    return z.value, z.slope


@idiom(X)
def sum_of_a_class(x: Any) -> Any:
    return sum([Dual(v, 1.0) for v in x], Dual(0.0)).value


class Layer:
    """A layer with weights as attributes."""

    def __init__(self, weights: Any, act: Callable[[Any], Any] = np.tanh) -> None:
        self.weights = np.asarray(weights)
        self.act = act

    def __matmul__(self, x: Any) -> Any:
        return self.act(self.weights @ np.asarray(x))

    def __getitem__(self, index: Any) -> Any:
        return self.weights[index]

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.weights)


@idiom(A, X)
def layers(a: Any, x: Any) -> Any:
    layer = Layer(a)
    return (layer @ x) * len(layer) + layer[0].sum()


@idiom(A)
def iterated_class(a: Any) -> Any:
    return [float(np.dot(row, row)) for row in Layer(a)]


class Base:
    """A class with a hook."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def loss(self, x: Any) -> Any:
        """Calls the hook."""
        return np.sum(self.residual(np.asarray(x)) ** 2)

    def residual(self, x: Any) -> Any:
        """The hook."""
        return self.scale * x


class Derived(Base):
    """A class that calls the one it derives from."""

    def __init__(self, scale: Any, shift: Any) -> None:
        super().__init__(scale)
        self.shift = shift

    def residual(self, x: Any) -> Any:
        return super().residual(x) - self.shift


@idiom(X)
def inherited(x: Any) -> Any:
    return Derived(x[0], x[1]).loss(x)


DERIVED = Derived(2.0, np.array([0.5, 1.0, 1.5, 2.0]))


@idiom(X)
def method_of_an_object_outside(x: Any) -> Any:
    return DERIVED.loss(x)


class Buffer:
    """An object that keeps an array it fills."""

    def __init__(self) -> None:
        self.out = np.zeros(4)

    def fill(self, x: Any) -> Any:
        """Fill a new array and keep it."""
        self.out = np.zeros(4)
        for i in range(4):
            self.out[i] = x[i] * i
        return self.out * 2


BUFFER = Buffer()


@idiom(X)
def kept_on_self(x: Any) -> Any:
    return BUFFER.fill(x)


class Kind(enum.Enum):
    """Two losses."""

    SQUARE = "square"
    ABSOLUTE = "absolute"


def _loss(kind: Kind, x: Any) -> Any:
    if kind is Kind.SQUARE:
        return np.sum(np.asarray(x) ** 2)
    return np.sum(np.abs(x))


@idiom(X)
def enumeration(x: Any) -> Any:
    return _loss(Kind.SQUARE, x) + _loss(Kind("absolute"), list(x))


def _scaled(x: Any, scale: Any = 2.0, *, shift: Any = 0.0) -> Any:
    return np.array([v * scale + shift for v in x])


TWICE = functools.partial(_scaled, scale=2.0)


@idiom(X)
def partial(x: Any) -> Any:
    return TWICE(x) + functools.partial(_scaled, x)(shift=x[0])


@functools.cache
def _nodes(count: int) -> Any:
    return np.linspace(0.0, 1.0, count)


@idiom(X)
def cached(x: Any) -> Any:
    return np.interp(0.3, _nodes(4), x)


@functools.lru_cache
def _square(x: Any) -> Any:
    return x * x


@idiom(S)
def cached_of_a_number(x: Any) -> Any:
    return _square(x) + _square(2.0)


@functools.singledispatch
def _area(shape: Any) -> Any:
    raise NotImplementedError


@_area.register
def _(shape: Point) -> Any:
    return shape.x * shape.y


@_area.register(np.ndarray)
def _(shape: Any) -> Any:
    return np.prod(shape)


@_area.register(float)
def _(shape: Any) -> Any:
    return shape**2


@idiom(X)
def dispatched(x: Any) -> Any:
    return _area(x) + _area(Point(x[0], x[1]))


@idiom(S)
def dispatched_on_float(x: Any) -> Any:
    return _area(x)


def _validated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*[np.asarray(arg, dtype=float) for arg in args], **kwargs)

    return call


@_validated
def _distance(x: Any, y: Any) -> Any:
    return np.sqrt(((x - y) ** 2).sum())


@idiom(X)
def decorated(x: Any) -> Any:
    return _distance(x, [1.0, 2.0, 3.0, 4.0])


@idiom(X)
def closure(x: Any) -> Any:
    def scale(y: Any) -> Any:
        return np.array([y * x[0], y * x[1]])

    return scale(2.0) + scale(x[2])


@idiom(X)
def generator(x: Any) -> Any:
    def parts() -> Iterator[Any]:
        for v in x:
            yield math.exp(-v)

    return np.array(list(parts()))


@idiom(X)
def recursion(x: Any) -> Any:
    def total(y: Any) -> Any:
        return float(y[0]) if len(y) == 1 else total(y[: len(y) // 2]) + total(y[len(y) // 2 :])

    return total(x)


@idiom(X)
def table_of_functions(x: Any) -> Any:
    functions = {"exp": np.exp, "log": math.log, "square": lambda v: v**2}
    return [f(x[0]) for f in functions.values()]


@idiom(X)
def arguments_spread(x: Any) -> Any:
    return math.hypot(*x[:2]) + max(*x)


@idiom(X)
def unpacked(x: Any) -> Any:
    a, b, *rest = x
    return a * b + sum(rest)


@idiom(X)
def keywords_spread(x: Any) -> Any:
    options = {"axis": 0, "keepdims": True}
    return np.sum(np.array([x, x]), **options)


@idiom(X)
def walrus(x: Any) -> Any:
    if (n := len(x)) > 2:
        return np.array([x[0], n])
    return np.zeros(2)


@idiom(X)
def matched(x: Any) -> Any:
    match x.shape:
        case (n,):
            return np.zeros(n) + x
        case _:
            return x


@idiom(S)
def matched_by_class(x: Any) -> Any:
    match x:
        case int():
            return x
        case float():
            return np.array([x, x])
    return None


@idiom(X)
def comprehension_of_two(x: Any) -> Any:
    return np.array([[a * b for a in x] for b in x])


@idiom(X)
def default_dict(x: Any) -> Any:
    groups = collections.defaultdict(list)
    for i, v in enumerate(x):
        groups[i % 2].append(v)
    return {k: np.mean(v) for k, v in groups.items()}


@idiom(X)
def deque(x: Any) -> Any:
    window: Any = collections.deque(maxlen=2)
    out = []
    for v in x:
        window.append(v)
        out.append(sum(window) / len(window))
    return out


@idiom(X)
def deque_as_an_array(x: Any) -> Any:
    window = collections.deque([0.0] * 3, maxlen=3)
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        window.appendleft(v)
        out[i] = np.dot(np.array(window), [0.5, 0.3, 0.2]) + np.max(window)
    pairs = collections.deque([x[:2], x[1:3]])
    return out, np.vstack(pairs), np.add(window, 1.0), np.mean(a=window), np.linalg.norm(pairs)


@idiom(X)
def dictionary_of_arrays(x: Any) -> Any:
    state = dict(zip("abcd", x, strict=True))
    state.update(a=1.0)
    return sum(state.values())


@idiom({"w": X, "b": S})
def dictionary_of_parameters(p: Any) -> Any:
    return np.sum(np.asarray(p["w"]) * p["b"])


@idiom([X, Y])
def list_of_parameters(p: Any) -> Any:
    return np.concatenate([np.ravel(v) for v in p])


@idiom(X)
def string_of_choice(x: Any) -> Any:
    return getattr(np, "sum")(x) + getattr(x, "mean")()  # noqa: B009


@idiom(X)
def context(x: Any) -> Any:
    with np.errstate(divide="ignore"), contextlib.suppress(KeyError):
        return np.log(x)


@idiom(X)
def tried(x: Any) -> Any:
    try:
        n = len(x)
    except TypeError:
        n = 1
    return np.asarray(x) * n


@idiom(S)
def tried_without_length(x: Any) -> Any:
    try:
        n = len(x)
    except TypeError:
        n = 1
    return np.asarray(x) * n


@idiom(X)
def tried_iter(x: Any) -> Any:
    try:
        iter(x)
        return np.array([v * 2 for v in x])
    except TypeError:
        return x * 2


@idiom(X)
def either_none(x: Any, w: Any = None) -> Any:
    w = np.ones_like(x) if w is None else np.asarray(w)
    return np.sum(w * x) / np.sum(w)


@idiom(M, X[:3])
def mahalanobis(m: Any, x: Any) -> Any:
    return float(np.sqrt(x.T @ np.linalg.inv(m) @ x))


@idiom(X, Y)
def least_squares(x: Any, y: Any) -> Any:
    design = np.column_stack([np.ones(len(x)), x])
    return np.linalg.lstsq(design, y, rcond=None)[0]


@idiom(X)
def loglike(x: Any) -> Any:
    mu, sigma = x[0], x[1]
    data = np.array([0.5, 1.0, 2.0])
    return -float(np.sum(np.log(sigma) + 0.5 * ((data - mu) / sigma) ** 2))


@idiom(X)
def kalman(x: Any) -> Any:
    state, cov = np.zeros(2), np.eye(2)
    f = np.array([[1.0, 1.0], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    for z in x:
        state = f @ state
        cov = f @ cov @ f.T + 0.1 * np.eye(2)
        gain = cov @ h.T @ np.linalg.inv(h @ cov @ h.T + np.array([[0.5]]))
        state = state + gain @ (np.array([z]) - h @ state)
        cov = (np.eye(2) - gain @ h) @ cov
    return state


@idiom(X)
def runge_kutta(x: Any) -> Any:
    def slope(y: Any) -> Any:
        return np.array([y[1], -x[0] * math.sin(y[0])])

    y = np.array([0.1, 0.0])
    for _ in range(5):
        k1 = slope(y)
        k2 = slope(y + 0.05 * k1)
        y = y + 0.1 * k2
    return y


@idiom(X)
def pairwise_distances(x: Any) -> Any:
    n = len(x)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            out[i, j] = out[j, i] = abs(x[i] - x[j])
    return out


@idiom(X)
def simpson(x: Any) -> Any:
    nodes = np.linspace(0.0, float(x[3]), 5)
    weights = np.array([1, 4, 2, 4, 1]) / 3.0
    return float(np.sum(weights * np.sin(nodes)) * (nodes[1] - nodes[0]))


@idiom(X)
def moments(x: Any) -> Any:
    return {"mean": float(np.mean(x)), "std": float(np.std(x)), "n": len(x)}


@idiom(S, T)
def black_scholes(s: Any, v: Any) -> Any:
    d1 = (math.log(s / 1.0) + 0.5 * v**2) / v
    cdf = lambda z: 0.5 * (1.0 + math.erf(z / math.sqrt(2.0)))  # noqa: E731
    return s * cdf(d1) - cdf(d1 - v)


@idiom(X)
def written_into_the_argument(x: Any) -> Any:
    x[0] = 2.0 * x[1]
    return x * 2


@idiom(X)
def slices_swapped(x: Any) -> Any:
    y = np.array(x)
    y[[0, 1]] = y[[1, 0]]
    return y * x


@idiom(X)
def masked_write(x: Any) -> Any:
    y = np.array(x)
    y[y > 2] = 2.0
    return y


@idiom(X)
def masked_write_of_values(x: Any) -> Any:
    y = np.zeros_like(x)
    mask = x > 1
    y[mask] = np.sqrt(x[mask])
    return y


@idiom(X)
def masked_write_by_places(x: Any) -> Any:
    y = np.zeros(len(x))
    places = np.where(x > 1)[0]
    y[places] = x[places] ** 2
    return y


@idiom(X)
def added_at(x: Any) -> Any:
    y = np.zeros(2)
    np.add.at(y, [0, 1, 1, 0], x)
    return y


@idiom(X)
def out_argument(x: Any) -> Any:
    y = np.empty_like(x)
    np.multiply(x, 2.0, out=y)
    return y


@idiom(X)
def out_of_exp(x: Any) -> Any:
    y = np.zeros(4)
    np.exp(x, y)
    return y


@idiom(X)
def copied_to(x: Any) -> Any:
    y = np.zeros(4)
    np.copyto(y, x)
    return y * 2
