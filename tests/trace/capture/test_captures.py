"""What a function reads besides its arguments, and when its guard fails."""

from __future__ import annotations

import collections
import functools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tracejit.support.errors import ArgumentError
from tracejit.trace.capture.captures import Captures
from tracejit.trace.capture.walk import LEAVES
from tracejit.trace.guards.reads import is_foreign

NUMBER: Any = 1
TABLE = np.arange(3.0)
UNREAD = [1, 2]


def guard_of(function: Callable[..., Any]) -> Callable[[], bool]:
    """The guard of a function that holds as long as nothing is changed."""
    guard = Captures([function]).guard()
    assert guard is not None
    assert guard() is True
    return guard


def names_of(function: Callable[..., Any]) -> list[str]:
    """The names of the arrays that a function captures."""
    return sorted(name for name, _ in Captures([function]).arrays.values())


class Holder:
    """An object with whatever attributes a test gives it."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def get(self) -> Any:
        return self.k

    @property
    def shown(self) -> Any:
        return self.k


class Slotted:
    __slots__ = ("k",)


class Pair(NamedTuple):
    first: Any
    second: Any


class Subclass(np.ndarray):
    pass


# Values of names


VALUES: dict[str, Any] = {
    "int": 1, "bool": True, "float": 1.0, "np.float64": np.float64(1.0), "zero": 0.0,
    "minus zero": -0.0, "nan": math.nan, "inf": math.inf, "complex": complex(0.0, -0.0),
    "other complex": complex(0.0, 0.0), "str": "1", "bytes": b"1", "None": None, "huge": 10**400,
    "float32": np.float32(1.0), "list": [1], "another list": [1], "tuple": (1,), "class": int,
    "function": math.sin, "array": np.ones(1), "an equal array": np.ones(1),
    "longlong": np.longlong(1), "int64": np.int64(1), "string with a quote": "'\\\"\n{",
}  # fmt: skip


@each_row("name", VALUES)
def test_a_value_is_told_from_every_other_and_not_from_itself(name: str) -> None:
    cell = VALUES[name]

    def f() -> Any:
        return cell

    guard = guard_of(f)
    for other, value in VALUES.items():
        cell = value
        assert guard() is (other == name), other


def test_a_plain_value_is_compared_by_value() -> None:
    cell: Any = float("nan")

    def f() -> Any:
        return cell

    guard = guard_of(f)
    cell = -float("nan") * -1.0
    assert guard()
    cell = float("inf") - float("inf")
    assert guard() is math.isnan(cell)


def test_a_global_is_read_and_one_that_the_code_does_not_name_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard = guard_of(lambda: NUMBER)
    monkeypatch.setitem(globals(), "UNREAD", None)
    assert guard()
    for value in (True, 1.0, 2):
        monkeypatch.setitem(globals(), "NUMBER", value)
        assert not guard()
    monkeypatch.delitem(globals(), "NUMBER")
    assert not guard()


def test_names_of_functions_inside_are_read() -> None:
    def f() -> Any:
        def inner() -> Any:
            return [TABLE for _ in range(2)]

        return inner

    assert names_of(f) == ["TABLE"]


def test_a_function_that_reads_nothing_is_guarded_by_its_code_alone() -> None:
    guard: Any = Captures([lambda x: x + 1.0]).guard()
    (condition,) = guard.conditions
    assert condition.path.spelling(lambda thing: "f") == "f.__code__"
    assert Captures([math.sin]).guard() is None
    assert Captures([]).guard() is None


def test_a_variable_that_is_not_bound_is_skipped() -> None:
    def f() -> Any:
        return later

    Captures([f]).guard()
    later = 1
    guard_of(f)


def test_helpers_are_read_even_in_a_circle() -> None:
    first_number, second_number = 1.0, 2.0

    def first(n: int) -> Any:
        return second(n - 1) * first_number

    def second(n: int) -> Any:
        return first(n - 1) * second_number

    guard = guard_of(first)
    second_number = 3.0
    assert not guard()
    second_number = 2.0
    assert guard()


# What fails a guard


def changes() -> Iterator[Any]:
    """Functions that read something, what changes it, and what undoes that (or None)."""

    def case(name: str, read: Any, change: Any, undo: Any = None) -> Any:
        return pytest.param(read, change, undo, id=name)

    thing, empty = Holder(k=1, other=2), Holder()
    yield case("attribute", lambda: thing.k, lambda: setattr(thing, "k", 2),
               lambda: setattr(thing, "k", 1))  # fmt: skip
    yield case("attribute gone", lambda: thing.other, lambda: delattr(thing, "other"))
    yield case("first attribute", lambda: hasattr(empty, "k"), lambda: setattr(empty, "k", 2),
               lambda: delattr(empty, "k"))  # fmt: skip
    shadowed = Holder()
    yield case("method shadowed", lambda: shadowed.get(), lambda: setattr(shadowed, "get", int))
    read_by = [Holder(k=1) for _ in range(5)]
    yield case("by a method", lambda: read_by[0].get(), lambda: setattr(read_by[0], "k", 2))
    yield case("by a property", lambda: read_by[1].shown, lambda: setattr(read_by[1], "k", 2))
    bound = read_by[2].get
    yield case("by a bound method", lambda: bound(), lambda: setattr(read_by[2], "k", 2))
    yield case("by name", lambda: getattr(read_by[3], "".join("k")),
               lambda: setattr(read_by[3], "k", 2))  # fmt: skip
    slotted = Slotted()
    slotted.k = 1  # type: ignore[attr-defined]
    yield case("slot", lambda: slotted.k, lambda: setattr(slotted, "k", 2))  # type: ignore[attr-defined]
    emptied = Slotted()
    emptied.k = 1  # type: ignore[attr-defined]
    yield case("slot emptied", lambda: emptied.k, lambda: delattr(emptied, "k"))  # type: ignore[attr-defined]

    def counted() -> Any:
        return counted.k  # type: ignore[attr-defined]

    counted.k = 1  # type: ignore[attr-defined]
    yield case("attribute of the function itself", counted, lambda: setattr(counted, "k", 2))
    other: Any = lambda: None  # noqa: E731
    other.k = 1
    yield case("attribute of a function", lambda: other.k, lambda: delattr(other, "k"))

    keyed: dict[Any, Any] = {"k": 1, (1, 2): 2, None: 3, 1.5: 4}
    for key in list(keyed):
        yield case(f"value of key {key!r}", lambda: keyed, lambda key=key: keyed.update({key: 0}),
                   lambda key=key, value=keyed[key]: keyed.update({key: value}))  # fmt: skip
    yield case("key added", lambda: keyed, lambda: keyed.update(z=0), lambda: keyed.pop("z"))
    yield case("order", lambda: keyed, lambda: keyed.update(k=keyed.pop("k")))
    short = [1, 2]
    yield case("shorter", lambda: short, short.pop, lambda: short.append(2))
    yield case("cleared", lambda: short, short.clear)
    queue, known = collections.deque([1, 2]), {1, 2}
    yield case("deque", lambda: queue, queue.rotate, queue.rotate)
    yield case("set", lambda: known, lambda: known.add(3), lambda: known.discard(3))
    inside = {"k": 1}
    shown = types.MappingProxyType(inside)
    yield case("proxy", lambda: shown, lambda: inside.update(k=2), lambda: inside.update(k=1))
    pair = Pair([1], 2)
    yield case("in a NamedTuple", lambda: pair, lambda: pair.first.append(1), pair.first.pop)
    weights = [1.0]
    partial = functools.partial(lambda w, x: w, weights)
    yield case("in a partial", lambda: partial, lambda: weights.append(1.0), weights.pop)

    array = np.arange(6.0)
    yield case("element", lambda: array, lambda: array.__setitem__(5, 9.0),
               lambda: array.__setitem__(5, 5.0))  # fmt: skip
    yield case("sign of zero", lambda: array, lambda: array.__setitem__(0, -0.0),
               lambda: array.__setitem__(0, 0.0))  # fmt: skip
    yield case("shape", lambda: array, lambda: array.resize(2, 3, refcheck=False),
               lambda: array.resize(6, refcheck=False))  # fmt: skip
    view, frozen = array[::2], array[1:]
    frozen.flags.writeable = False
    yield case("under a view", lambda: view, lambda: array.__setitem__(4, 9.0),
               lambda: array.__setitem__(4, 4.0))  # fmt: skip
    yield case("under a read-only view", lambda: frozen, lambda: array.__setitem__(4, 9.0),
               lambda: array.__setitem__(4, 4.0))  # fmt: skip
    zeroed = np.zeros(3)
    viewed = zeroed.view()
    yield case("contents of a subclass", lambda: made, lambda: made.fill(2.0))
    made = np.ones(3).view(Subclass)
    masked: Any = np.ma.masked_array([1.0, 2.0], mask=[False, False])
    yield case("mask", lambda: masked, lambda: masked.__setitem__(0, np.ma.masked))
    objects = np.array([np.zeros(2), 2.0, None], dtype=object)
    yield case("inside an object array", lambda: objects, lambda: objects[0].fill(1.0),
               lambda: objects[0].fill(0.0))  # fmt: skip
    yield case("element of an object array", lambda: objects, lambda: objects.__setitem__(1, 2))
    records = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
    yield case("field", lambda: records, lambda: records["b"].fill(1), lambda: records["b"].fill(0))
    broadcast = np.broadcast_to(zeroed[:1], (2**20,))
    yield case("below a broadcast", lambda: broadcast, lambda: viewed.fill(1.0),
               lambda: viewed.fill(0.0))  # fmt: skip


@each_row(("read", "change", "undo"), list(changes()))
def test_a_change_fails_the_guard_and_its_undoing_mends_it(
    read: Callable[[], Any], change: Callable[[], Any], undo: Callable[[], Any] | None
) -> None:
    guard = guard_of(read)
    change()
    assert guard() is False
    if undo is not None:
        undo()
        assert guard() is True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_dtype_changed_in_place_fails_the_guard() -> None:
    array = np.zeros(3)
    guard = guard_of(lambda: array)
    array.dtype = np.dtype(np.int64)
    assert not guard()


@pytest.mark.parametrize("error", [KeyError, IndexError, AttributeError, TypeError, ValueError])
def test_a_lookup_that_raises_fails_the_guard(error: type[Exception]) -> None:
    class Moody(dict):  # type: ignore[type-arg]
        raising = False

        def __getitem__(self, key: Any) -> Any:
            if self.raising:
                raise error
            return super().__getitem__(key)

    moody = Moody(k=1)
    guard = guard_of(lambda: moody["k"])
    Moody.raising = True
    assert guard() is False


def test_a_variable_deleted_fails_the_guard() -> None:
    cell = 1

    def f() -> Any:
        return cell  # noqa: F821

    guard = guard_of(f)
    del cell
    assert guard() is False


# What does not


def test_attributes_that_the_code_does_not_spell_are_not_read() -> None:
    thing = Holder(k=1, history=[1])
    guard = guard_of(lambda: thing.k)
    thing.history.append(2)
    thing.history = None
    assert guard()


class Endless:
    """Every attribute is there, and is another of these."""

    asked = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        Endless.asked += 1
        return Endless()


def test_attributes_made_on_demand_are_not_followed() -> None:
    endless = Endless()
    guard = Captures([lambda: endless.a.b.c, lambda: getattr(endless, "d")]).guard()  # noqa: B009
    assert guard is not None
    assert guard()
    assert Endless.asked == 0


def test_containers_and_objects_may_hold_themselves() -> None:
    thing, ring = Holder(k=1), [1]
    thing.me, thing.ring = thing, ring  # type: ignore[attr-defined]
    ring.append(ring)  # type: ignore[arg-type]
    guard = guard_of(lambda: (thing.me.ring, thing.k))  # type: ignore[attr-defined]
    ring[0] = 2
    assert not guard()


def test_modules_of_numpy_and_of_python_are_not_read() -> None:
    captures = Captures([lambda x: np.random.mtrand.pi + math.pi + collections.abc.x])  # type: ignore[attr-defined]
    assert not captures.arrays
    guard = captures.guard()
    assert guard is not None
    assert guard()
    assert is_foreign(np.__file__)
    assert is_foreign(collections.__file__)
    assert not is_foreign(__file__)
    assert not is_foreign(pytest.__file__)


def test_a_module_of_the_users_is_read_where_the_code_spells_it() -> None:
    module = types.ModuleType("users_own")
    module.k, module.table, module.unread = 1, np.ones(2), np.ones(3)  # type: ignore[attr-defined]

    def f() -> Any:
        return module.k * module.table

    assert names_of(f) == ["table"]
    guard = guard_of(f)
    module.unread = None  # type: ignore[attr-defined]
    assert guard()
    module.k = 2  # type: ignore[attr-defined]
    assert not guard()


# How much


def test_a_container_of_more_elements_than_are_compared_is_refused() -> None:
    fits = [0] * LEAVES
    guard_of(lambda: fits)
    nested = [[0] * 10 for _ in range(LEAVES // 10)]
    large = dict.fromkeys(range(LEAVES + 1))
    objects = np.array([object() for _ in range(LEAVES + 1)])
    for read in (lambda: nested, lambda: large, lambda: objects):
        with pytest.raises(ArgumentError, match=f"of more than {LEAVES} elements"):
            Captures([read])
    many = np.zeros(LEAVES + 1)
    guard_of(lambda: many)


# Arrays


def test_an_array_has_the_name_that_reaches_it() -> None:
    thing = Holder(w=np.ones(1))
    box = {"b": np.ones(1), "a b": np.ones(1), "l": [np.ones(1)]}
    pair = Pair(np.ones(1), 2)
    found = names_of(lambda: (TABLE, thing.w, box, pair))
    assert found == ["TABLE", "b", "box_a b", "first", "l_0", "w"]


def test_a_view_has_the_name_of_what_was_captured() -> None:
    base = np.arange(6.0)
    captures = Captures([lambda: base])
    for array in (base, base[1:], base[::2].T, base.reshape(2, 3)[1]):
        assert [name for name, _ in captures.sources_of(array)] == ["base"]
    for array in (base.copy(), base + 1.0, np.frombuffer(b"12345678")):
        assert not captures.sources_of(array)
    part = base[1:]
    (source,) = Captures([lambda: part]).sources_of(base)  # whose memory it shares
    assert source[1] is part


def test_an_attribute_that_is_named_as_pythons_own_are_is_seen() -> None:
    class Settings:
        """Attributes by any name."""

    settings = Settings()
    setattr(settings, "__file__", 2.0)  # noqa: B010
    scale = tj.function(lambda x: x * getattr(settings, "__file__"), cache=False)  # noqa: B009
    assert scale(np.ones(1))[0] == 2.0
    setattr(settings, "__file__", 3.0)  # noqa: B010
    assert scale(np.ones(1))[0] == 3.0


class Compiled:
    """A function as Numba keeps it, with all that it knows of its types."""

    __module__ = "numba.core.registry"

    def __init__(self, f: Any) -> None:
        self.f, self.types = f, list(range(LEAVES + 1))

    def __call__(self, x: Any) -> Any:
        return self.f(x) if self.types else x


def test_compiled_functions_are_known_by_what_they_are() -> None:
    made = [Compiled(lambda x: 2.0 * x)]
    guard = guard_of(lambda x: made[0](x))
    made[0] = Compiled(lambda x: 3.0 * x)
    assert not guard()
