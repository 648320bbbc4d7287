"""Programs whose surroundings change between calls: globals, closures, modules, captured data."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import tracejit as tj
from tests.semantics.scenes import Stage, scene

X = np.array([0.7, -1.2, 0.4])
UP = np.array([1.5, 0.5, 2.0])

SCALE: Any = 2.0
STEPS: list[float] = []
HERE = sys.modules[__name__]


def helper(x: Any) -> Any:
    return x * SCALE


@scene
def a_global_is_rebound(stage: Stage) -> None:
    global SCALE
    SCALE = 2.0

    @stage
    def f(x: Any) -> Any:
        y = helper(x)
        return y - SCALE if SCALE > 1 else y

    f(X)
    for SCALE in (3.0, 3, True, 0.5, UP, 2.0):
        if not isinstance(SCALE, np.ndarray):
            f(X)
            f(X.astype(np.float32))
    SCALE = 2.0
    f(X)


@scene
def a_helper_is_replaced(stage: Stage) -> None:
    box = SimpleNamespace(rule=np.sin)

    def apply(x: Any) -> Any:
        return box.rule(x)

    @stage
    def f(x: Any) -> Any:
        return apply(x) if np.sum(x) > 0 else -apply(x)

    f(X)
    f(UP)
    box.rule = np.cos
    f(X)
    f(UP)
    box.rule = lambda x: x * 3
    f(X)
    old = helper
    try:
        box.rule = helper
        f(UP)
        HERE.helper = lambda x: x + 100  # type: ignore[attr-defined]
        box.rule = helper
        f(UP)
    finally:
        HERE.helper = old  # type: ignore[attr-defined]


@scene
def a_module_is_changed(stage: Stage) -> None:
    settings = types.ModuleType("settings")
    settings.rate, settings.names = 0.1, ["a", "b"]  # type: ignore[attr-defined]

    @stage
    def f(x: Any) -> Any:
        return x * settings.rate, len(settings.names), settings.names[-1]

    f(X)
    settings.rate = 0.2  # type: ignore[attr-defined]
    f(X)
    settings.names.append("c")
    f(X)
    settings.names[2] = "d"
    f(X)
    del settings.names[0]
    f(X)


@scene
def closures_made_in_loops(stage: Stage) -> None:
    """Bound late: all see the last; bound by a default: each its own."""
    late, early, made = [], [], []

    def scaled_by(factor: float) -> Callable[[Any], Any]:
        def scaled(x: Any) -> Any:
            return x * factor if x[0] > 0 else x - factor

        return scaled

    for k in range(3):
        late.append(stage(lambda x: x * k))  # noqa: B023
        early.append(stage(lambda x, k=k: x * k))
        made.append(stage(scaled_by(k + 0.5)))
    for x in (X, UP, -UP):
        for f in (*late, *early, *made):
            f(x)
    k = 7
    for f in (*late, *early):
        f(X)


@scene
def a_cell_that_changes(stage: Stage) -> None:
    offset: Any = 1.0

    @stage
    def f(x: Any) -> Any:
        return x + offset if offset else x

    def shift(to: Any) -> None:
        nonlocal offset
        offset = to

    for to in (1.0, 2.0, 0.0, -0.0, 1, UP, X, 2.0, None, 1.0):
        shift(to)
        f(X)


@scene
def a_counter_that_the_function_keeps(stage: Stage) -> Any:
    count = 0

    @stage
    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        if count % 3 == 0:
            return "third", x
        return count, x * count

    for x in (X, X, UP, X, X, X):
        f(x)
    return count


@scene
def an_attribute_that_the_function_keeps(stage: Stage) -> Any:
    class Meter:
        def __init__(self) -> None:
            self.calls, self.log = 0, []

        @stage
        def f(self, x: Any) -> Any:
            self.calls += 1
            self.log.append(f"{self.calls}:{len(x)}")
            return x * self.calls

    meter = Meter()
    for x in (X, X, UP[:2], X, UP[:2]):
        meter.f(x)
    return meter


@scene
def a_table_that_the_function_fills(stage: Stage) -> Any:
    table: dict[str, float] = {}

    @stage
    def f(x: Any, name: str) -> Any:
        if name not in table:
            table[name] = 1.0 / len(name)
        return x * table[name]

    for name in ("a", "a", "bb", "a", "ccc", "bb"):
        f(X, name)
    return table


@scene
def a_list_that_grows(stage: Stage) -> None:
    weights = [X, UP.copy()]

    @stage
    def f(x: Any) -> Any:
        for w in weights:
            if np.sum(x * w) > 1:
                x = x * w
        return x, len(weights)

    f(UP)
    f(X)
    weights.append(2 * UP)
    f(UP)
    weights[0] = -X
    f(UP)
    weights[1] *= 3.0
    f(UP)
    weights.clear()
    f(UP)


@scene
def a_dict_that_changes(stage: Stage) -> None:
    table: dict[Any, Any] = {"a": 1.0, "b": UP}

    @stage
    def f(x: Any) -> Any:
        for key, value in table.items():
            x = x * value if key != "b" else x + value
        return x, list(table)

    f(X)
    table["a"] = 2.0
    f(X)
    table["c"] = 3.0
    f(X)
    table["b"] = X
    f(X)
    table["b"] = table.pop("b")
    f(X)
    del table["c"]
    f(X)
    table[1] = 4.0
    f(X)
    table[True] = 5.0
    f(X)


@scene
def an_array_updated_in_place(stage: Stage) -> None:
    w = UP.copy()

    @stage
    def f(x: Any) -> Any:
        return w * x, np.exp(w) @ x

    for value in (1.0, 2.0, -3.0):
        f(X)
        w[0] = value
        f(X)
    w += 1.0
    f(X)
    w[:] = UP
    f(X)


@scene
def decisions_on_captured_arrays(stage: Stage) -> None:
    """Python looks at the captured array itself: its contents are part of what is recorded."""
    mask = np.array([True, False, True])
    sizes = np.array([2, 3])

    @stage
    def f(x: Any) -> Any:
        if mask.any():
            x = x * mask
        for _ in range(int(sizes[0])):
            x = x + float(sizes[1])
        return x[mask], [x for one in sizes if one > 2]

    f(X)
    mask[1] = True
    f(X)
    mask[:] = False
    f(X)
    sizes[0] = 1
    f(X)
    sizes[1] = 2
    f(X)


@scene
def a_view_of_a_captured_array(stage: Stage) -> None:
    base = np.arange(6.0)
    part = base[1:4]

    @stage
    def f(x: Any) -> Any:
        return part * x if part[0] < 2 else part - x

    f(X)
    base[2] = 50.0
    f(X)
    base[1] = 2.0
    f(X)
    part[...] = 0.0
    f(X)


@scene
def captured_variables(stage: Stage) -> Any:
    w = tj.Variable(UP)
    box = SimpleNamespace(w=w)

    @stage
    def f(x: Any) -> Any:
        if box.w[0] > 1:
            return box.w * x
        return np.sum(box.w) - x

    f(X)
    w.assign(0.1 * UP)
    f(X)
    box.w = tj.Variable(3 * UP)
    f(X)
    w.assign(UP)
    f(X)
    box.w.assign_sub(UP * 2)
    f(X)
    return w, box.w


@scene
def a_captured_object_is_exchanged(stage: Stage) -> None:
    class Rule:
        def __init__(self, factor: float, inner: Any = None) -> None:
            self.factor, self.inner = factor, inner

        def __call__(self, x: Any) -> Any:
            y = x * self.factor
            return self.inner(y) if self.inner and y[0] > 0 else y

    box = SimpleNamespace(rule=Rule(2.0, Rule(3.0)))

    @stage
    def f(x: Any) -> Any:
        return box.rule(x)

    f(X)
    f(-X)
    box.rule.inner.factor = 5.0
    f(X)
    box.rule.inner = None
    f(X)
    box.rule = Rule(7.0)
    f(X)
    Rule.__call__ = lambda self, x: x - self.factor  # type: ignore[method-assign]
    f(X)


@scene
def a_method_is_replaced(stage: Stage) -> None:
    class Rule:
        def forward(self, x: Any) -> Any:
            return x * 2

    rule = Rule()

    @stage
    def f(x: Any) -> Any:
        return rule.forward(x)

    f(X)
    Rule.forward = lambda self, x: x * 3  # type: ignore[method-assign]
    f(X)
    rule.forward = lambda x: x * 4  # type: ignore[method-assign]
    f(X)
    del rule.forward
    f(X)


@scene
def defaults_are_changed(stage: Stage) -> None:
    def inner(x: Any, factor: float = 2.0, *, shift: float = 0.0) -> Any:
        return x * factor + shift

    @stage
    def f(x: Any, limits: Any = (0.0, 1.0)) -> Any:
        return np.clip(inner(x), *limits)

    f(X)
    inner.__defaults__ = (5.0,)
    f(X)
    inner.__kwdefaults__ = {"shift": 0.5}
    f(X)
    inner.__code__ = (lambda x, factor=2.0, *, shift=0.0: x - factor - shift).__code__
    f(X)


@scene
def sets_and_frozen_sets(stage: Stage) -> None:
    active = {0, 1}

    @stage
    def f(x: Any) -> Any:
        return [x[k] * 2 for k in range(3) if k in active], int(np.argmax(x)) in active

    f(X)
    active.add(2)
    f(X)
    active.discard(0)
    f(UP)
    f(X)


@scene
def a_compiled_function_is_captured(stage: Stage) -> None:
    """Recorded functions call recorded functions, which decide."""
    inner = stage.make(lambda x: x * 2 if np.sum(x) > 0 else x - 1, 0)

    @stage
    def f(x: Any) -> Any:
        y = inner(x)
        return inner(y) if y[0] > 1 else y

    for x in (X, UP, -UP, X, 3 * UP):
        f(x)


@scene
def the_caller_changes_arrays_after_the_call(stage: Stage) -> None:
    @stage
    def f(x: Any) -> Any:
        return x * 1.0, x[0] > 0

    x = X.copy()
    f(x)
    x[0] = -5.0
    f(x)
    x *= 2
    f(x)


@scene
def order_of_a_set_of_names(stage: Stage) -> None:
    names = ["b", "a"]
    values = {"a": 2.0, "b": 3.0}

    @stage
    def f(x: Any) -> Any:
        for name in sorted(names, key=values.__getitem__):
            x = x * values[name] - len(name)
        return x

    f(X)
    values["a"] = 4.0
    f(X)
    names.append("a")
    f(X)
