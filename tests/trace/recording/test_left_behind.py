"""What a function leaves in containers and attributes is what it leaves under plain Python."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.support.errors import LeakedTensorError
from tracejit.trace.recording import left_behind
from tracejit.trace.recording.before import Before

X = np.array([1.0, 2.0, 3.0])


class Pair(NamedTuple):
    first: Any
    second: Any


def _appends(kept: Any, x: Any, n: Any) -> None:
    kept.append(x * 2.0)


def _appends_tuples(kept: Any, x: Any, n: Any) -> None:
    pair = x * 2.0, [x + 1.0]
    kept += [pair, pair, Pair(x, pair)]


def _shares_a_tuple(kept: Any, x: Any, n: Any) -> None:
    pair = x * 2.0, [x + 1.0]
    kept["a"] = kept["b"] = pair


def _makes_keys(kept: Any, x: Any, n: Any) -> None:
    kept["z"] = 1
    kept[x.size + n] = kept[n, "pair"] = x
    kept["a"] = np.sum(x)


def _replaces_values(kept: Any, x: Any, n: Any) -> None:
    kept["first"] = x * 2.0


def _counts(kept: Any, x: Any, n: Any) -> None:
    kept["n"] += np.sum(x)


def _adds(kept: Any, x: Any, n: Any) -> None:
    kept |= {n, (n, frozenset([n + 1]))}


def _nests(kept: Any, x: Any, n: Any) -> None:
    kept.append({"deep": [deque([x * 3.0]), {n}]})


def _contains_itself(kept: Any, x: Any, n: Any) -> None:
    kept["own"] = {"up": kept, "x": x * 2.0}


def _sets_attributes(kept: Any, x: Any, n: Any) -> None:
    kept.last, kept.all = np.sum(x), [x, (x * 2.0,)]


def _sets_a_list_of_an_object(kept: Any, x: Any, n: Any) -> None:
    kept.items.append(np.sum(x))


PROGRAMS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any, Any], None]]] = {
    "list": (list, _appends),
    "bounded deque": (lambda: deque([1, 2], 2), _appends),
    "tuples": (list, _appends_tuples),
    "shared tuple": (dict, _shares_a_tuple),
    "keys": (dict, _makes_keys),
    "values": (lambda: {"first": 0, "second": 1}, _replaces_values),
    "ordered dict": (lambda: OrderedDict(first=0, second=1), _replaces_values),
    "default dict": (lambda: defaultdict(float), _counts),
    "counter": (lambda: Counter(n=1), _counts),
    "set": (set, _adds),
    "nested": (list, _nests),
    "cycle": (dict, _contains_itself),
    "attributes": (SimpleNamespace, _sets_attributes),
    "list of an object": (lambda: SimpleNamespace(items=[]), _sets_a_list_of_an_object),
}


def after_calls(make: Callable[[], Any], change: Any, wrap: Any) -> Any:
    kept = make()

    def f(x: Any, n: Any) -> Any:
        change(kept, x, n)
        return x + 1.0

    compiled = wrap(f)
    for k in (0, 1, 1, 2):
        assert_same(compiled(X + k, k), X + k + 1.0)
    return kept


@pytest.mark.parametrize("name", PROGRAMS)
def test_containers_hold_numbers_after_several_calls(name: str) -> None:
    make, change = PROGRAMS[name]
    found, wanted = (after_calls(make, change, wrap) for wrap in (tj.function, lambda f: f))
    assert type(found) is type(wanted)
    assert found == wanted if type(found) is set else repr(found) == repr(wanted)


def test_keys_of_an_ordered_dict_are_refused() -> None:
    with pytest.raises(LeakedTensorError):
        after_calls(OrderedDict, _makes_keys, tj.function)


def test_a_tuple_in_two_places_stays_one() -> None:
    found = after_calls(dict, _shares_a_tuple, tj.function)
    assert found["a"] is found["b"]


def test_what_was_computed_twice_is_two_arrays() -> None:
    kept: list[Any] = []

    @tj.function
    def f(x: Any) -> Any:
        kept.extend([x * 2.0, x * 2.0])
        return x

    f(X)
    kept[0] += 1.0
    assert_same(kept[1], X * 2.0)


def test_a_gradient_leaves_numbers() -> None:
    kept: list[Any] = []

    def loss(x: Any) -> Any:
        kept.append(np.sum(x))
        return np.sum(x * x)

    slope = tj.grad(loss)
    assert_same(slope(X), 2.0 * X)
    assert_same(slope(X + 1.0), 2.0 * X + 2.0)
    assert [float(one) for one in kept] == [6.0, 9.0]


def test_a_gradient_inside_leaves_what_the_outer_recording_computes() -> None:
    kept: list[Any] = []

    @tj.function
    def f(x: Any) -> Any:
        kept.append(x * 2.0)
        return tj.grad(lambda y: np.sum(y * y * kept[-1]))(x) + kept[-1]

    for k in (1.0, 2.0):
        assert_same(f(k * X), 4.0 * (k * X) ** 2 + 2.0 * k * X)
    assert_same(np.array(kept), np.array([2.0 * X, 4.0 * X]))


def test_an_object_that_the_call_has_made_keeps_no_number() -> None:
    kept: list[Any] = []

    @tj.function
    def f(x: Any) -> Any:
        kept.append(SimpleNamespace(x=x * 2.0))
        return x

    f(X)
    with pytest.raises(LeakedTensorError):
        kept[0].x + 1.0


TIMES = 1


class Counted:
    def __init__(self) -> None:
        self.n, self.rate = 0, 0.5

    def __len__(self) -> int:
        self.n += 1
        return self.n


def test_effects_before_an_attempt_that_ends_take_place_once() -> None:
    def program() -> Any:
        box, state, kept, seen, times = Counted(), {"k": 0.0}, list[int](), set[int](), 0

        first = TIMES

        def f(x: Any, looks: bool) -> Any:
            nonlocal times
            global TIMES
            y = x * len(box)
            if looks:
                state["k"] = state["k"] + 1.0
                times, TIMES = times + 1, times + TIMES
                kept.append(1)
                seen.add(len(kept))
                y = y + vars(box)["rate"]
            return y, state["k"], len(kept), len(seen), box.n, times, TIMES - first

        return f

    def answers(function: Any) -> list[str]:
        return [repr(function(X, looks)) for looks in (False, False, True, True)]

    assert answers(tj.function(program())) == answers(program())


ASSIGNED = 0


class Kept:
    mode = 0


def _assigns_a_global(kept: Any, x: Any) -> Callable[[], Any]:
    def program(y: Any) -> Any:
        global ASSIGNED
        if y > 1.0:
            ASSIGNED = 1
        return y * x

    return program


def _assigns_a_cell(kept: Any, x: Any) -> Any:
    cell = 0

    def program(y: Any) -> Any:
        nonlocal cell
        if y > 1.0:
            cell = 1
        return y * x

    kept.read, kept.program = lambda: cell, program
    return program


def _assigns_an_attribute(kept: Any, x: Any) -> Any:
    def program(y: Any) -> Any:
        if y > 1.0:
            kept.mode = 1
        return y * x

    return program


def _assigns_what_it_computes(kept: Any, x: Any) -> Any:
    def program(y: Any) -> Any:
        kept.mode = y * x
        return y

    return program


@pytest.mark.parametrize(
    "make",
    [_assigns_a_global, _assigns_a_cell, _assigns_an_attribute, _assigns_what_it_computes],
)
def test_what_is_assigned_and_never_read_is_assigned_at_each_call(make: Any) -> None:
    def told(function: Callable[[Any], Any]) -> list[Any]:
        global ASSIGNED
        found = []
        for number in (2.0, 0.5, 3.0, 4.0):
            ASSIGNED, kept.mode = number, number
            if hasattr(kept, "program"):
                kept.program.__closure__[0].cell_contents = number
            found += [function(np.float64(number)), ASSIGNED, kept.mode]
            found.append(kept.read() if hasattr(kept, "read") else None)
        return found

    kept = Kept()
    wanted = told(make(kept, 2.0))
    kept = Kept()
    assert told(tj.function(make(kept, 2.0), cache=False)) == wanted


def test_what_is_left_before_an_error_is_a_number() -> None:
    kept = Kept()

    def program(x: Any) -> Any:
        kept.mode = [x * 2.0]
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        tj.function(program, cache=False)(np.float64(1.5))
    assert repr(kept.mode) == repr([np.float64(3.0)])


def test_what_is_left_on_a_class_is_a_number() -> None:
    def program(x: Any) -> Any:
        Kept.mode = Kept.fresh = x * 2.0  # type: ignore[attr-defined]
        return x

    tj.function(program, cache=False)(np.float64(1.5))
    assert repr([Kept.mode, Kept.fresh]) == repr([np.float64(3.0)] * 2)  # type: ignore[attr-defined]


class Slotted:
    """An object whose attributes are in slots."""

    __slots__ = ("last",)

    def call(self, x: Any) -> Any:
        """Leave an array in a slot."""
        self.last = x * 2.0
        return np.sum(self.last)


class Holder:
    """An object that keeps an object that it makes."""

    def call(self, x: Any) -> Any:
        """Leave an array in an attribute of a new object."""
        self.inner = Slotted()
        self.inner.last = x * 2.0
        return np.sum(x)


def test_slots_and_new_objects_hold_numbers() -> None:
    slotted, holder = Slotted(), Holder()
    for found in (slotted.call, holder.call):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.TracejitWarning)
            tj.function(found)(np.ones(2))
    for left in (slotted.last, holder.inner.last):
        assert type(left) is np.ndarray
        np.testing.assert_array_equal(left, [2.0, 2.0])


def test_objects_that_were_there_before_are_not_looked_into(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Any] = []
    fill = left_behind._LeftBehind.fill_attributes

    def noting(self: Any, holder: Any) -> None:
        looked.append(holder)
        fill(self, holder)

    monkeypatch.setattr(left_behind._LeftBehind, "fill_attributes", noting)
    holder = Holder()
    holder.others = [Holder() for _ in range(100)]  # type: ignore[attr-defined]
    holder.other = holder.others[0]  # type: ignore[attr-defined]
    holder.other.others = holder.others
    tj.function(holder.call, cache=False)(np.ones(2))
    assert sum(type(one) is Holder for one in looked) <= 1
    assert any(one is holder.inner for one in looked)  # type: ignore[attr-defined]


LEFT: list[Any] = []


def test_what_a_library_holds_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    replaced = left_behind._LeftBehind.replaced

    def noting(self: Any, thing: Any) -> Any:
        looked.append(id(thing))
        return replaced(self, thing)

    monkeypatch.setattr(left_behind._LeftBehind, "replaced", noting)

    found = SimpleNamespace(holders=lambda: [np, _appends], assigned_names=lambda: ())
    left_behind.put_numbers(found, None, Before())
    assert id(vars(np)) not in looked and id(breakpoint) not in looked
    assert id(_appends.__globals__) in looked and id(LEFT) in looked


def test_a_new_container_in_a_module_of_the_users_holds_numbers() -> None:
    module = ModuleType("module_of_the_users")

    def program(x: Any) -> Any:
        module.kept = [x * 2.0]  # type: ignore[attr-defined]
        return x

    tj.function(program, cache=False)(np.float64(1.5))
    assert repr(module.kept) == repr([np.float64(3.0)])  # type: ignore[attr-defined]


class Box:
    """An object of the user's, in which a function leaves a number."""

    def __init__(self) -> None:
        self.last: Any = 0.25
        self.items: list[Any] = [1]


BOX = Box()


def _assigns_chosen(x: Any) -> Any:
    BOX.last = x if x > 2.0 else 0.5
    return x


def _assigns_again(x: Any) -> Any:
    chosen = x if x > 2.0 else 0.5
    BOX.last = BOX.last * 0.5 + chosen
    BOX.last = chosen * 2
    return x


def _leaves_a_list(x: Any) -> Any:
    chosen = 0
    if x > 2.0:
        chosen = 0.5
    BOX.items = [chosen, (chosen,)]
    return x


def _leaves_what_a_loop_made(x: Any) -> Any:
    total, n, y = 0, 0, x
    while n < 5 and y > 0.8:
        total = total + float(n)
        n = n + 1
        y = y * 0.4
    BOX.items = [total]
    return x


def _hands_to_a_callback(x: Any) -> Any:
    tj.callback(_keep, x if x > 2.0 else 0.5)
    return x


def _keep(number: Any) -> None:
    BOX.last = number


@pytest.mark.parametrize(
    "leaves",
    [
        _assigns_chosen, _assigns_again, _leaves_a_list, _leaves_what_a_loop_made,
        _hands_to_a_callback,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::tracejit.support.errors.TracejitWarning")
def test_a_number_of_either_type_is_left_in_that_of_its_side(leaves: Callable[..., Any]) -> None:
    compiled = tj.function(leaves)
    for number in (0.7, 4.1, 2.3, 0.7, 4.1):
        left = []
        for function in (leaves, compiled):
            vars(BOX).update(vars(Box()))
            function(np.float64(number))
            left.append(repr(vars(BOX)))
        assert left[1] == left[0]
