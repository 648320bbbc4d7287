"""Programs of classes and containers: methods, properties, dataclasses, dispatch, arguments."""

from __future__ import annotations

import abc
import enum
import functools
import operator
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.semantics.scenes import Stage, scene, smooth

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])


@scene
def a_method_whose_attribute_changes(stage: Stage) -> Any:
    class Model:
        def __init__(self) -> None:
            self.k = 2

        @stage
        def scaled(self, x: Any) -> Any:
            return x * self.k

    model, other = Model(), Model()
    model.scaled(X)
    model.k = 9
    model.scaled(X)
    other.scaled(X)
    model.k = 9.0  # type: ignore[assignment]
    model.scaled(X.astype(np.float32))
    model.k = np.float64(0.5)  # type: ignore[assignment]
    model.scaled(X.astype(np.float32))
    model.k = True
    model.scaled(X)
    model.k = UP  # type: ignore[assignment]
    model.scaled(X)
    model.k = 2
    model.scaled(X)
    return model


@scene
def bound_methods_and_callables(stage: Stage) -> None:
    class Affine:
        def __init__(self, w: Any, b: float) -> None:
            self.w, self.b = w, b

        def __call__(self, x: Any) -> Any:
            return self.w * x + self.b

        def apply(self, x: Any) -> Any:
            return self(x) if self.b > 0 else -self(x)

    affine = Affine(2.0, 1.0)
    call, method = stage(affine), stage(affine.apply)
    for b in (1.0, 3.0, -1.0, 1.0):
        affine.b = b
        call(X)
        method(X)
    affine.w = UP  # type: ignore[assignment]
    call(X)
    method(X)


@scene
def class_and_static_methods(stage: Stage) -> None:
    class Base:
        scale = 2.0

        @classmethod
        def name(cls) -> str:
            return cls.__name__

        @staticmethod
        def shift(x: Any) -> Any:
            return x + 1

        @stage
        def f(self, x: Any) -> Any:
            return self.name(), self.shift(x) * self.scale

    class Derived(Base):
        scale = 3.0

    base, derived = Base(), Derived()
    base.f(X)
    derived.f(X)
    derived.scale = 5.0
    derived.f(X)
    del derived.scale
    derived.f(X)
    Base.scale = 7.0
    base.f(X)


@scene
def properties(stage: Stage) -> Any:
    class Layer:
        def __init__(self, w: Any) -> None:
            self._w = w
            self.limit = 1.0

        @property
        def w(self) -> Any:
            return self._w if np.max(np.abs(self._w)) < self.limit else self._w / self.limit

        @functools.cached_property
        def size(self) -> int:
            return len(self._w)

        @stage
        def forward(self, x: Any) -> Any:
            return self.w @ x / self.size

    layer = Layer(0.5 * X)
    layer.forward(UP)
    layer.limit = 0.25
    layer.forward(UP)
    layer._w = UP.copy()
    layer.forward(UP)
    layer._w[0] = 7.0
    layer.forward(UP)
    return layer.limit


@smooth
def a_hierarchy_with_super(stage: Stage) -> None:
    class Shape(abc.ABC):
        def __init__(self, size: float) -> None:
            self.size = size

        @abc.abstractmethod
        def area(self, t: Any) -> Any: ...

        def cost(self, t: Any) -> Any:
            return self.area(t) * 2.0 if t > 1 else self.area(t)

    class Square(Shape):
        def area(self, t: Any) -> Any:
            return (t * self.size) ** 2

    class Rounded(Square):
        def area(self, t: Any) -> Any:
            whole = super().area(t)
            if whole > 1.0:
                return whole - (4.0 - np.pi) * self.size
            return whole

        def cost(self, t: Any) -> Any:
            return super().cost(t) + 1.0

    @stage
    def price(t: Any, shape: Any) -> Any:
        return shape.cost(t) * (1.5 if isinstance(shape, Rounded) else 1.0)

    small, large, round_one = Square(0.5), Square(2.0), Rounded(0.7)
    for t in (0.5, 1.5, 3.0, 0.5):
        for shape in (small, large, round_one):
            price(np.float64(t), shape)
    small.size = 3.0
    price(np.float64(0.5), small)


@scene
def list_of_layers(stage: Stage) -> Any:
    class Dense:
        def __init__(self, w: Any) -> None:
            self.w = w

        def __call__(self, x: Any) -> Any:
            return np.tanh(x * self.w)

    class Net:
        def __init__(self) -> None:
            self.layers: list[Any] = [Dense(X), Dense(UP.copy())]

        @stage
        def forward(self, x: Any) -> Any:
            for number, layer in enumerate(self.layers):
                x = layer(x)
                if np.sum(x) < 0 and number < len(self.layers) - 1:
                    x = -x
            return x

    net = Net()
    net.forward(UP)
    net.forward(-UP)
    net.layers.append(Dense(2 * X))
    net.forward(UP)
    net.layers[0] = Dense(-X)
    net.forward(UP)
    net.layers[0].w = UP
    net.forward(UP)
    net.layers[1].w += 1.0
    net.forward(UP)
    net.layers.pop()
    net.forward(UP)
    net.layers.reverse()
    net.forward(-UP)
    return len(net.layers)


@scene
def operators_of_a_class(stage: Stage) -> None:
    class Dual:
        def __init__(self, value: Any, slope: Any) -> None:
            self.value, self.slope = value, slope

        def __add__(self, other: Any) -> Any:
            other = other if isinstance(other, Dual) else Dual(other, 0.0)
            return Dual(self.value + other.value, self.slope + other.slope)

        def __mul__(self, other: Any) -> Any:
            slope = self.value * other.slope + self.slope * other.value
            return Dual(self.value * other.value, slope)

        def __lt__(self, other: Any) -> Any:
            return self.value < other.value

        def __bool__(self) -> bool:
            return bool(self.value != 0)

        def __len__(self) -> int:
            return len(self.value)

        def __iter__(self) -> Any:
            return iter((self.value, self.slope))

    @stage
    def f(t: Any) -> Any:
        a, b = Dual(t, 1.0), Dual(t * t - 1.0, 2.0 * t)
        c = a * b + 1.0 if a < b else a + b
        value, slope = min(a, b) + c
        return value, slope, bool(b), "true" if a else "false"

    for t in (0.5, 2.0, 1.0, 0.0, -2.0):
        f(np.float64(t))


@scene
def containers_of_the_user(stage: Stage) -> None:
    class Bag:
        __slots__ = ("items",)

        def __init__(self, *items: Any) -> None:
            self.items = items

        def __contains__(self, t: Any) -> bool:
            return any(item == t for item in self.items)

        def __getitem__(self, k: int) -> Any:
            return self.items[k]

        def __getattr__(self, name: str) -> Any:
            if name == "first":
                return self.items[0]
            raise AttributeError(name)

    @stage
    def f(t: Any) -> Any:
        bag = Bag(1.0, t, 3.0)
        if t * 2 in bag:
            return bag.first, bag[1]
        return [item for item in bag.items if item > 1.5]

    for t in (0.5, 1.5, 2.0, 5.0, 0.5):
        f(np.float64(t))


@dataclass
class Weights:
    w: Any
    b: Any = 0.0
    name: str = "plain"
    limits: tuple[float, float] = (-1.0, 1.0)
    notes: list[str] = field(default_factory=list)

    def clipped(self) -> Any:
        low, high = self.limits
        return self.w if np.all((low < self.w) & (self.w < high)) else np.clip(self.w, low, high)


@dataclass(frozen=True)
class Setting:
    rate: float
    momentum: float = 0.0


class Point(NamedTuple):
    x: Any
    y: Any

    def flipped(self) -> Point:
        return Point(self.y, self.x)


Pair = namedtuple("Pair", "a b")


@scene
def dataclasses_as_arguments(stage: Stage) -> None:
    @stage
    def f(weights: Any, x: Any) -> Any:
        y = weights.clipped() * x + weights.b
        if weights.name == "double":
            y = y * 2
        return replace(weights, w=y, notes=[*weights.notes, "new"])

    f(Weights(X), UP)
    f(Weights(0.5 * X), UP)
    f(Weights(X, 2.0), UP)
    f(Weights(X, UP, "double"), UP)
    f(Weights(X, limits=(-5.0, 5.0)), UP)
    f(Weights(X, notes=["old"]), UP)
    f(Weights(X), UP)


@scene
def settings_that_change(stage: Stage) -> None:
    box = SimpleNamespace(setting=Setting(0.1))

    @stage
    def f(x: Any, setting: Any = None) -> Any:
        setting = setting or box.setting
        y = x - setting.rate * x
        return y + setting.momentum if setting.momentum else y

    f(X)
    box.setting = Setting(0.2)
    f(X)
    box.setting = replace(box.setting, momentum=0.5)
    f(X)
    f(X, Setting(0.1))
    f(X, Setting(0.3, 0.9))
    f(X)


@scene
def named_tuples(stage: Stage) -> None:
    @stage
    def f(p: Any) -> Any:
        if isinstance(p, Point):
            first, second = p
            q = p.flipped() if first > second else p
            return q._replace(x=q.x * 2), p._fields
        return Pair(p[0] + p[1], p[:1])

    f(Point(np.float64(1.0), np.float64(2.0)))
    f(Point(np.float64(3.0), np.float64(2.0)))
    f(Pair(X, UP))
    f((X, UP))
    f(Point(1.0, 2.0))
    f(Point(np.float64(1.0), np.float64(2.0)))


@scene
def nested_containers(stage: Stage) -> None:
    @stage
    def total(tree: Any) -> Any:
        if isinstance(tree, dict):
            return sum(total_of(value) for key, value in tree.items() if not key.startswith("_"))
        return total_of(tree)

    def total_of(tree: Any) -> Any:
        if isinstance(tree, (list, tuple)):
            return sum(map(total_of, tree))
        if isinstance(tree, dict):
            return sum(total_of(tree[key]) for key in sorted(tree))
        if tree is None:
            return 0
        return np.sum(tree) if np.sum(tree) > 0 else 0.5

    total({"a": X, "b": [UP, (1, 2.0)]})
    total({"a": -UP, "b": [UP, (1, 2.0)], "_c": X})
    total([X, None, {"k": UP, "j": -UP}])
    total([])
    total(())
    total({})
    total({"b": [UP, (1, 2.0)], "a": X})


@scene
def star_arguments(stage: Stage) -> None:
    @stage
    def f(x: Any, /, *others: Any, power: int = 1, **named: Any) -> Any:
        first, *rest = (x, *others)
        total = first**power
        for other in rest:
            if np.sum(other) > 0:
                total = total + other
        for key in named:
            total = total * named[key] if key != "skip" else total
        return total, len(others), sorted(named)

    f(X)
    f(X, UP)
    f(X, UP, -UP)
    f(X, -UP, UP, power=2)
    f(X, scale=2.0)
    f(X, scale=UP, skip=1.0)
    f(X, UP, power=3, skip=X, scale=2.0)
    f(X, *[UP] * 3, **{"x": 2.0})
    f(X, power=True)


@scene
def defaults(stage: Stage) -> None:
    @stage
    def f(x: Any, w: Any = UP, n: int = 2, *, mode: str | None = None) -> Any:
        if mode is None:
            return x * w + n
        return x - w if mode == "minus" else (x, mode)

    f(X)
    f(X, X)
    f(X, n=3)
    f(X, mode="minus")
    f(X, mode="odd")
    f(w=1.0, x=X)
    f(X, 2.0, 2)
    f(X)


class Kind(enum.Enum):
    LINEAR = 1
    SQUARE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@scene
def enumerations(stage: Stage) -> None:
    @stage
    def f(x: Any, kind: Any, level: Any = Level.LOW) -> Any:
        y = x if kind is Kind.LINEAR else x * x
        if level == 2:
            return y * 10, kind
        return y * level, kind.name

    f(X, Kind.LINEAR)
    f(X, Kind.SQUARE)
    f(X, Kind.LINEAR, Level.HIGH)
    f(X, Kind.LINEAR, 1)
    f(X, Kind.LINEAR, 2)
    f(X, Kind.LINEAR, 1.0)
    f(X, Kind.SQUARE, Level.LOW)


@scene
def single_dispatch(stage: Stage) -> None:
    @functools.singledispatch
    def norm(value: Any) -> Any:
        return "unknown"

    @norm.register(np.ndarray)
    def _(value: Any) -> Any:
        return np.sqrt(np.sum(value * value))

    @norm.register(float)
    def _(value: Any) -> Any:
        return abs(value)

    @norm.register(list)
    def _(value: Any) -> Any:
        return sum(map(norm, value))

    @stage
    def f(value: Any) -> Any:
        return norm(value)

    for value in (X, -2.0, [X, UP], "text", -3.0, UP, 3, [X, -1.5]):
        f(value)


@scene
def partials(stage: Stage) -> None:
    def scaled(x: Any, factor: Any, shift: float = 0.0) -> Any:
        return x * factor + shift if shift >= 0 else x

    f = stage(functools.partial(scaled, factor=2.0))
    g = stage(functools.partial(scaled, factor=UP, shift=-1.0))
    for x in (X, UP):
        f(x)
        f(x, shift=1.0)
        f(x, shift=-1.0)
        f(x, factor=3.0)
        g(x)
        g(x, shift=0.5)


@scene
def cached_helpers(stage: Stage) -> None:
    calls = []

    @functools.lru_cache
    def weights(n: int, kind: str) -> Any:
        calls.append(n)
        return np.arange(1.0, n + 1) if kind == "up" else np.ones(n)

    @stage
    def f(x: Any, kind: str) -> Any:
        w = weights(len(x), kind)
        if np.sum(w * x) > 2:
            return x @ weights(len(x), "up")
        return x * w

    for x, kind in ((X, "up"), (UP, "up"), (X, "flat"), (UP, "flat"), (X, "up"), (X[:2], "up")):
        f(x, kind)


@scene
def strings_as_keys(stage: Stage) -> None:
    params = {f"w{k}": UP * k for k in range(3)} | {"b": 0.5}

    @stage
    def f(x: Any, depth: int) -> Any:
        for k in range(depth):
            x = np.sin(x * params[f"w{k}"])
            if (key := f"b{'' if x[0] > 0 else k}") in params:
                x = x + params[key]
        return {f"layer{depth}": x}

    for depth in (1, 2, 3, 0, 4, 2):
        f(X, depth)
    params["w1"] = X
    f(X, 2)
    params["b"] = 1.5
    f(X, 2)
    params["b1"] = 3.0
    f(X, 3)
    del params["b"]
    f(X, 3)


@scene
def default_dicts_and_deques(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        groups: Any = defaultdict(list)
        window: Any = deque(maxlen=2)
        for t in x:
            groups["up" if t > 0 else "down"].append(t * 2)
            window.append(t)
        return dict(groups), list(window), sum(window)

    for x in (X, UP, -X, X):
        f(x)


@scene
def arguments_that_are_changed(stage: Stage) -> None:
    """Lists and dicts of the caller's, and arrays in them."""

    @stage
    def f(x: Any, out: Any) -> Any:
        if x[0] > 1:
            out.append(2)
        x[0] = 5.0
        return len(out)

    @stage
    def g(store: Any, x: Any) -> Any:
        if np.sum(x) > 0:
            store["w"] += x
        else:
            store["w"] = store["w"] * 2
        return store["w"].sum()

    f(X.copy(), [1])
    f(UP.copy(), [1])
    f(UP.copy(), [1, 2])
    f(X.copy(), [1])
    for x in (UP, X, UP):
        g({"w": UP.copy()}, x)


@smooth
def slots_and_functions_as_values(stage: Stage) -> None:
    steps = [np.sin, operator.neg, lambda t: t * t, functools.partial(np.multiply, 2.0)]

    @stage
    def f(x: Any, order: Any) -> Any:
        for k in order:
            y = steps[k](x)
            x = y if np.sum(y) > -2 else x + y
        return np.sum(x)

    for order in ((0, 1), (1, 2), (2, 3, 0), (3, 3, 1), (0, 1)):
        f(X, order)
        f(UP, order)


@scene
def in_place_by_branches(stage: Stage) -> None:
    """Which elements are written depends on data; views see it."""

    @stage
    def f(a: Any) -> Any:
        b = a[1:]
        if a[0] > 0:
            a[0] = 0.0
            b *= 2.0
        elif b[0] > 0:
            b[:] = a[0]
        else:
            a -= 1.0
        return b.sum()

    for x in (X, UP, -X, -UP, X):
        f(x.copy())


@scene
def insertion_sort(stage: Stage) -> None:
    @stage
    def sort(a: Any) -> None:
        for i in range(1, len(a)):
            t, j = a[i], i
            while j > 0 and a[j - 1] > t:
                a[j] = a[j - 1]
                j -= 1
            a[j] = t

    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 1, 0]):
        sort(UP[order])


@scene
def variables_by_branches(stage: Stage) -> Any:
    w = tj.Variable(X)
    skipped = tj.Variable(0)
    steps = tj.Variable(0)

    @stage
    def update(g: Any) -> Any:
        steps.assign_add(1)
        if np.linalg.norm(g) > 3.0:
            skipped.assign_add(1)
            return "skipped", w.read_value()
        w.assign_sub(0.1 * g)
        if steps % 3 == 0:
            w.assign(w * 0.5)
        return "done", np.sum(w)

    for g in (UP, 3 * UP, X, UP, X, 3 * UP, UP):
        update(g)
    return w, skipped, steps


@scene
def generators_by_branches(stage: Stage) -> None:
    @stage
    def f(rng: Any, x: Any, training: bool) -> Any:
        if training:
            keep = rng.random(3) > 0.5
            if not keep.any():
                return x
            x = x * keep
        if np.sum(x) > 1:
            return x + rng.normal(size=3)
        return x

    rng = np.random.default_rng(0)
    for x, training in ((X, True), (UP, False), (UP, True), (X, False), (UP, True), (X, True)):
        f(rng, x, training)


@scene
def generators_that_are_captured(stage: Stage) -> None:
    rng = tj.random.default_rng(7)

    @stage
    def f(x: Any) -> Any:
        if x[0] > 1:
            return x + rng.normal(size=3)
        return rng.uniform()

    for x in (X, UP, X, UP, UP):
        f(x)
