"""Containers: taken apart and built again, checked and reached by generated Python."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tracejit.trace.structure.trees import (
    DEEPEST,
    LEAF,
    HasStructure,
    Structure,
    construction,
    flatten,
    labels,
    map_tree,
    paths,
    unflatten,
)


class Point(NamedTuple):
    """A pair."""

    y: Any
    x: Any


@dataclasses.dataclass
class Layer:
    """Weights and bias, in an order that is not the alphabet's."""

    w: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A dataclass that cannot be written to, with a field that __init__ does not take."""

    a: Any
    total: Any = dataclasses.field(init=False, default=0)


@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    """A dataclass of keywords, without a __dict__."""

    first: Any
    second: Any


class Level(enum.IntEnum):
    """A constant that is equal to a number."""

    LOW = 1


Empty = namedtuple("Empty", ())


class Box:
    """No container: a leaf."""

    def __init__(self) -> None:
        self.inside = [1, 2]


class Space:
    """Objects under names, as the generated entry holds them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def bind(self, thing: Any) -> str:
        """A name for `thing`."""
        name = f"n{len(self.names)}"
        self.names[name] = thing
        return name


BOX = Box()
KEYS = st.one_of(
    st.text(max_size=3),
    st.integers(-9, 9),
    st.tuples(st.integers(0, 3)),
    st.sampled_from(["'", '"']),
)
LEAVES = st.one_of(st.integers(), st.none(), st.just(BOX), st.sampled_from(["a", b"b", 1.5, int]))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Point, inner, inner),
        st.builds(Layer, inner, inner),
        st.builds(Frozen, inner),
        st.builds(Slotted, first=inner, second=inner),
        st.just(Empty()),
        st.dictionaries(KEYS, inner, max_size=4).map(OrderedDict),
        st.builds(defaultdict, st.sampled_from([None, list]), st.dictionaries(KEYS, inner)),
        st.builds(slice, inner, inner, inner),
        st.sets(st.one_of(KEYS, st.booleans(), st.just(Level.LOW)), max_size=4),
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal, of the same classes, dicts in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        if getattr(one, "default_factory", 0) is not getattr(other, "default_factory", 0):
            return False
        pairs = zip(one.items(), other.items(), strict=False)
        return len(one) == len(other) and all(
            key == second and same(value, found) for (key, value), (second, found) in pairs
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, slice):
        return same([one.start, one.stop, one.step], [other.start, other.stop, other.step])
    if isinstance(one, set):
        return one == other and {*map(type, one)} == {*map(type, other)}
    if dataclasses.is_dataclass(one):
        fields = [field.name for field in dataclasses.fields(one)]
        return all(same(getattr(one, name), getattr(other, name)) for name in fields)
    return one is other or one == other


@settings(deadline=None)
@given(TREES)
def test_built_again_from_its_leaves(tree: Any) -> None:
    leaves, structure = flatten(tree)
    assert structure.size == len(leaves)
    assert same(unflatten(structure, leaves), tree)


@settings(deadline=None)
@given(TREES)
def test_paths_reach_the_leaves_in_order(tree: Any) -> None:
    leaves, structure = flatten(tree)
    space = Space()
    found = [
        eval(path, {**space.names, "tree": tree}) for path in paths(structure, "tree", space.bind)
    ]
    assert all(map(same, found, leaves)) and len(found) == len(leaves)
    assert len(list(labels(structure, "tree"))) == len(leaves)


@settings(deadline=None)
@given(TREES)
def test_construction_builds_the_container(tree: Any) -> None:
    leaves, structure = flatten(tree)
    space = Space()
    text = construction(structure, (f"leaves[{k}]" for k in range(len(leaves))), space.bind)
    assert same(eval(text, {**space.names, "leaves": leaves}), tree)


def holds(structure: Structure, tree: Any) -> bool:
    """Tell if the generated tests hold for `tree`."""
    space = Space()
    text = HasStructure(structure).spelling("tree", space.bind)
    return bool(eval(text, {**space.names, "tree": tree}))


@settings(deadline=None)
@given(TREES, TREES)
def test_conditions_hold_for_the_same_structure(one: Any, other: Any) -> None:
    structure = flatten(one)[1]
    assert holds(structure, one)
    assert holds(structure, map_tree(lambda leaf: 0, one))
    # What stands in the place of a leaf is for the leaf's own check.
    if not holds(structure, other):
        assert flatten(other)[1] != structure


@pytest.mark.parametrize(
    ("tree", "leaves"),
    [
        (5, [5]),
        (None, [None]),
        ([], []),
        ({}, []),
        ({"b": 1, "a": 2, "c": 3}, [2, 1, 3]),
        ({"b": 1, 2: "x"}, [1, "x"]),
        (Point(y=1, x=2), [1, 2]),
        (Layer(w=1, b=2), [1, 2]),
        ([1, (2, {"z": 3, "a": [4]})], [1, 2, 4, 3]),
        ("text", ["text"]),
        (BOX, [BOX]),
        ({1, 2}, []),
        ({1, BOX}, [{1, BOX}]),
        (OrderedDict(b=1, a=2), [2, 1]),
        (defaultdict(list, b=1, a=2), [2, 1]),
        (slice(1, None, 3), [1, None, 3]),
        (deque([1]), [deque([1])]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_order_of_leaves(tree: Any, leaves: list[Any]) -> None:
    assert flatten(tree)[0] == leaves


def test_an_array_is_a_leaf() -> None:
    array = np.ones((2, 2))
    leaves, structure = flatten(array)
    assert leaves[0] is array and structure is LEAF


def test_classes_lengths_keys_and_their_order_are_part_of_the_structure() -> None:
    trees = [
        [1], (1,), [1, 2], {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1},
        Point(1, 2), Layer(1, 2), (1, 2), Empty(), (), [], {}, slice(1), set(), {1}, {True},
        {Level.LOW}, {(1,)}, {(True,)}, {1, 2}, OrderedDict(a=1, b=2), OrderedDict(b=2, a=1),
        OrderedDict(), defaultdict(list), defaultdict(None), defaultdict(list, a=1), {(1,): 1},
        {(True,): 1}, {0.0: 1}, {-0.0: 1},
    ]  # fmt: skip
    structures = [flatten(tree)[1] for tree in trees]
    for k, one in enumerate(structures):
        for m, other in enumerate(structures):
            assert (one == other) == (k == m)
            assert holds(one, trees[m]) == (k == m)


def test_labels_are_the_keys_on_the_way() -> None:
    tree = {"layer": [Layer(1, 2)], 7: Point(3, 4)}
    structure = flatten(tree)[1]
    assert list(labels(structure, "p")) == [
        ("p", "layer", "0", "w"), ("p", "layer", "0", "b"), ("p", "7", "y"), ("p", "7", "x"),
    ]  # fmt: skip


def test_map_tree_keeps_the_container() -> None:
    tree = {"b": [1, 2], "a": Point(3, 4)}
    assert map_tree(lambda leaf: leaf * 10, tree) == {"b": [10, 20], "a": Point(30, 40)}


def test_structures_are_hashable_where_keys_are() -> None:
    one, other = flatten({"a": [1, 2]})[1], flatten({"a": [3, 4]})[1]
    assert hash(one) == hash(other) and one == other


CONTAINERS = {
    "dict": {"w": np.ones(3), "b": np.zeros(3)},
    "nested": {"z": [np.ones(3), (np.zeros(3),)], "a": {"k": np.ones(2)}},
    "named tuple": Point(np.ones(3), np.zeros(2)),
    "dataclass": Layer(np.ones(3), np.zeros(2)),
    "frozen": Frozen(np.ones(3)),
    "slots": Slotted(first=np.ones(3), second=[np.ones(1)]),
    "keys that need quotes": {"it's": np.ones(2), 'say "x"': np.ones(3), 3: np.ones(1)},
    "keys by identity": {(1, 2): np.ones(2), None: np.ones(3)},
    "empty parts": {"a": np.ones(2), "b": [], "c": (), "d": {}},
}


@pytest.mark.parametrize("tree", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_pass_through_a_compiled_function(tree: Any) -> None:
    double = tj.function(lambda tree: map_tree(lambda leaf: leaf * 2.0, tree))
    for _ in range(2):
        result = double(tree)
        assert flatten(result)[1] == flatten(tree)[1]
        for found, leaf in zip(flatten(result)[0], flatten(tree)[0], strict=True):
            np.testing.assert_array_equal(found, leaf * 2.0)
    assert double.tracing_count == 1


@pytest.mark.parametrize("tree", [t for t in CONTAINERS.values() if not isinstance(t, Frozen)])
def test_gradients_have_the_container_of_the_argument(tree: Any) -> None:
    def f(tree):
        return sum(np.sum(leaf * leaf) for leaf in flatten(tree)[0])

    gradient = tj.grad(f)(tree)
    assert flatten(gradient)[1] == flatten(tree)[1]
    for found, leaf in zip(flatten(gradient)[0], flatten(tree)[0], strict=True):
        np.testing.assert_array_equal(found, 2.0 * leaf)


def test_a_field_that_is_no_name_is_read_and_built() -> None:
    row = namedtuple("Row", ["\ufb01", "b"])  # Python reads the first as "fi"
    value = row(1.0, (2.0, 3.0))
    leaves, structure = flatten(value)
    assert unflatten(structure, leaves) == value
    space = {"getattr_": getattr, "cls": row, "call": row}
    bindings = {getattr: "getattr_", row: "cls"}
    bind = bindings.__getitem__
    places = list(paths(structure, "value", bind))
    assert places[0] == "getattr_(value, '\ufb01')"
    assert [eval(one, space, {"value": value}) for one in places] == leaves
    built = construction(structure, iter(["1.0", "2.0", "3.0"]), {**bindings, tuple: "tuple"}.get)
    assert eval(built, space) == value


def test_a_word_in_a_field_is_no_code() -> None:
    word = "a.b or canary()"
    row = type("Row", (tuple,), {"_fields": (word,)})
    setattr(row, word, property(lambda self: self[0]))
    structure = flatten(row((1.0,)))[1]
    (place,) = paths(structure, "value", lambda thing: thing.__name__)
    assert place == f"getattr(value, {word!r})"
    text = construction(structure, iter(["1.0"]), lambda thing: thing.__name__)
    assert text == "Row(1.0)"


X = np.array([1.0, 2.0])


def nested(depth: int) -> Any:
    found: Any = X
    for _ in range(depth):
        found = [found]
    return found


def holding_itself(kind: type) -> Any:
    found = kind()
    if kind is dict:
        found["a"] = found
    else:
        found += [X, found]
    return found


TOO_DEEP = {"a list": holding_itself(list), "a dict": holding_itself(dict), "3,000": nested(3000)}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_what_holds_itself_or_is_too_deep_is_refused(name: str) -> None:
    value = TOO_DEEP[name]
    compiled = tj.function(lambda p: 1.0)
    calls: list[Callable[[], Any]] = [
        lambda: compiled(value),
        lambda: compiled(p=value),
        lambda: compiled.kernel(value),
        lambda: tj.function(lambda: nested(3000))(),
        lambda: tj.grad(lambda p: 1.0)(value),
        lambda: tj.vjp(lambda p: 1.0, value),
        lambda: tj.stop_gradient(value),
    ]
    for call in calls:
        with pytest.raises(tj.errors.ArgumentError, match=r"contains itself.\n  test_trees.py:"):
            call()


def test_what_is_deep_enough_is_taken() -> None:
    found = tj.grad(lambda p: np.sum(flatten(p)[0][0] ** 2))(nested(DEEPEST - 1))
    np.testing.assert_array_equal(flatten(found)[0][0], 2.0 * X)
