"""The generated entry of a kernel: it takes exactly the calls that are the kernel's, passes on what
the kernel wants, and builds what the user gets.
"""

from __future__ import annotations

import dataclasses
import enum
import pickle
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.rows import each_row
from tracejit.runtime.dispatch import MISS, Answers, Entry, Output, Space, make_entry
from tracejit.trace.arguments.signature import bind_arguments, signature_of, take_apart
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.structure.trees import LEAF, flatten


def entry_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    fixed: tuple[str, ...] = (),
    target: Callable[..., Any] = lambda *given: given,
    kwargs: dict[str, Any] | None = None,
    **fields: Any,
) -> tuple[Callable[..., Any], Entry]:
    """The entry of a kernel made for this call, which answers what the kernel is given.

    Numbers among `fixed`, and all that is no number or array, are baked in.
    """
    signature = signature_of(function)
    space = Space()
    arguments = bind_arguments(signature, "f", args, kwargs or {})
    call = take_apart(arguments, "f", space.bind)
    baked = {leaf.name for leaf in call.leaves if leaf.role == "static" or leaf.name in fixed}
    made = Entry(
        signature=signature,
        call=call,
        target=target,
        fixed={leaf.name: leaf.value for leaf in call.leaves if leaf.name in fixed},
        baked=frozenset(baked),
        differentiated=fields.get("differentiated", frozenset()),
        hidden=fields.get("hidden", ()),
        guard=fields.get("guard"),
        answers=[Answers(fields.get("outputs", [Output(LEAF, [("result", ())])]))],
    )
    return make_entry(made, space, "f"), made


A, B = np.ones((2, 3)), np.zeros(3)


class Point(NamedTuple):
    """A pair."""

    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    """A dataclass."""

    w: Any


class Kind(enum.Enum):
    """Two names."""

    FIRST = 1
    SECOND = 2


TAKEN = {
    "the same array": (A, A),
    "another array": (A, np.full((2, 3), 7.0)),
    "another layout": (A, np.asfortranarray(A)),
    "a view": (A, np.ones((4, 6))[::2, ::2]),
    "an equal dtype": (A, np.ones((2, 3), np.dtype("=f8"))),
    "read-only": (A, np.broadcast_to(1.0, (2, 3))),
    "a scalar": (np.float32(1), np.float32(2)),
    "a number": (1.5, 2.5),
    "an integer": (1, 2**80),
    "an equal string": ("tanh", "".join(["ta", "nh"])),
    "an equal set of strings": (frozenset(["ab"]), frozenset(["".join("ab")])),
    "None": (None, None),
    "a dict": ({"a": A, "b": 1.0}, {"a": A, "b": 2.0}),
    "a list": ([A, (B,)], [A, (B,)]),
    "a named tuple": (Point(A, 1), Point(A, 2)),
    "a dataclass": (Layer(A), Layer(A)),
    "an enum": (Kind.FIRST, Kind.FIRST),
}

MISSED = {
    "another shape": (A, np.ones((3, 2))),
    "another rank": (A, np.ones((2, 3, 1))),
    "another dtype": (A, A.astype(np.float32)),
    "the other byte order": (A, A.astype(">f8")),
    "a list for an array": (A, A.tolist()),
    "a subclass": (A, np.ma.masked_array(A)),
    "a scalar for a 0-d array": (np.array(1.0), np.float64(1.0)),
    "a number for a scalar": (np.float64(1.0), 1.0),
    "a scalar for a number": (1.0, np.float64(1.0)),
    "an int for a float": (1.0, 1),
    "a float for an int": (1, 1.0),
    "True for 1": (1, True),
    "1 for True": (True, 1),
    "True for False": (True, False),
    "complex for float": (1.0, 1 + 0j),
    "another string": ("tanh", "sin"),
    "bytes for a string": ("a", b"a"),
    "None for an array": (A, None),
    "an array for None": (None, A),
    "an array for a string": ("a", A),
    "another enum": (Kind.FIRST, Kind.SECOND),
    "its value for an enum": (Kind.FIRST, 1),
    "a tuple for a list": ([A], (A,)),
    "a longer list": ([A], [A, A]),
    "another key": ({"a": A}, {"b": A}),
    "a further key": ({"a": A}, {"a": A, "b": A}),
    "another order of keys": ({"a": A, "b": A}, {"b": A, "a": A}),
    "another structure inside": ({"a": [A]}, {"a": A}),
    "a tuple for a named tuple": (Point(A, A), (A, A)),
    "another dataclass": (Layer(A), Point(A, A)),
}


@pytest.mark.parametrize(("one", "other"), TAKEN.values(), ids=TAKEN)
def test_calls_that_are_taken(one: Any, other: Any) -> None:
    entry, made = entry_of(lambda x: x, (one,))
    expected = [
        leaf for leaf in flatten(other)[0] if isinstance(leaf, (np.ndarray, float, int, np.generic))
    ]
    for found, leaf in zip(entry(other), expected, strict=True):
        assert found is leaf
    arguments = take_apart({"x": other}, "f", Space().bind)
    assert made.fits(arguments)


@each_row(("one", "other"), MISSED.values())
def test_calls_that_are_not(one: Any, other: Any) -> None:
    entry, _ = entry_of(lambda x: x, (one,))
    assert entry(other) is MISS
    assert entry(one) is not MISS


@each_row(("one", "other"), MISSED.values())
def test_a_function_makes_another_kernel_where_an_entry_misses(one: Any, other: Any) -> None:
    def as_it_is(x):
        return flatten(x)[0]

    function = tj.function(as_it_is, cache=False)
    for argument in (one, other, one, other):
        try:
            found = function(argument)
        except TypeError:  # what no kernel takes, such as a masked array
            assert isinstance(argument, np.ma.MaskedArray) or argument.dtype.str == ">f8"
            continue
        for leaf, expected in zip(found, as_it_is(argument), strict=True):
            assert type(leaf) is type(expected)
            np.testing.assert_array_equal(leaf, expected)
    assert function.tracing_count <= 2


NUMBERS = [0.0, -0.0, 1.0, 0.1, np.inf, -np.inf, np.nan, 0, 1, -1, 2**70, 1j, complex(-0.0, 0.0)]


@pytest.mark.parametrize("one", NUMBERS, ids=repr)
def test_fixed_numbers_are_compared_to_the_bit(one: Any) -> None:
    entry, _ = entry_of(lambda x, n: x, (A, one), fixed=("n",))
    for other in [*NUMBERS, float(repr(one)) if type(one) is float else one]:
        same = type(one) is type(other) and repr(one) == repr(other)
        assert (entry(A, other) is not MISS) == same


@settings(deadline=None)
@given(st.floats() | st.integers() | st.complex_numbers())
def test_any_number_fits_itself(number: Any) -> None:
    entry, _ = entry_of(lambda x, n: x, (A, number), fixed=("n",))
    assert entry(A, number) == (A,)


def test_a_number_that_is_not_fixed_is_passed_on() -> None:
    entry, _ = entry_of(lambda x, n: x, (A, 0.5))
    assert entry(A, 0.25) == (A, 0.25)


def test_a_number_that_was_read_is_checked_and_passed_on() -> None:
    signature = signature_of(lambda x, n: x)
    space = Space()
    call = take_apart({"x": A, "n": 3}, "f", space.bind)
    output = [Answers([Output(LEAF, [("result", ())])])]
    made = Entry(
        signature, call, lambda *g: g, {"n": 3}, frozenset(), frozenset(), (), None, output
    )
    entry = make_entry(made, space, "f")
    assert entry(A, 3) == (A, 3)
    assert entry(A, 4) is MISS


def test_differentiated_numbers_become_scalars() -> None:
    entry, _ = entry_of(lambda x, y: x, (1.5, 1j), differentiated=frozenset(("x", "y")))
    found = entry(2.5, 2j)
    assert [type(value) for value in found] == [np.float64, np.complex128]


def test_captured_arrays_follow_the_arguments() -> None:
    entry, _ = entry_of(lambda x: x, (A,), hidden=((B, ""), (A, "")))
    found = entry(A)
    assert len(found) == 3 and found[1] is B and found[2] is A


def test_the_guard_decides_last() -> None:
    holds = [True]
    asked = []

    def guard() -> bool:
        asked.append(1)
        return holds[0]

    entry, _ = entry_of(lambda x: x, (A,), guard=Guards(guard))
    assert entry(A) is not MISS
    holds[0] = False
    assert entry(A) is MISS
    assert entry(B) is MISS
    assert len(asked) == 2


def test_parameters_are_the_users() -> None:
    default = {"k": 1.0}

    def f(a, /, b, *rest, c=default, d=2, **others):
        return a

    entry, _ = entry_of(f, (A, B, A), kwargs={"e": B})
    assert len(entry(A, B, A, e=B)) == 6
    assert len(entry(A, B, A, c={"k": 3.0}, d=5, e=B)) == 6
    assert entry(A, B, e=B) is MISS
    assert entry(A, B, A, g=B) is MISS
    assert entry(A, B, A, e=B, g=B) is MISS
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        entry(A)
    assert entry.__name__ == "f"


def test_keyword_only_and_positional_only_without_rest() -> None:
    entry, _ = entry_of(eval("lambda a, /, *, b: a"), (A,), kwargs={"b": B})
    assert entry(A, b=B)[1] is B
    with pytest.raises(TypeError):
        entry(A, B)
    with pytest.raises(TypeError):
        entry(a=A, b=B)


def test_parameters_may_be_called_anything() -> None:
    def f(type, len, tuple, repr, MISS, target, result, np, _ndarray, f):
        return type

    leaves = ({"result": A}, [A], (1.5,), A, A, A, A, A, A, A)
    entry, _ = entry_of(f, leaves)
    assert len(entry(*leaves)) == 10
    function = tj.function(f)
    np.testing.assert_array_equal(function(*leaves)["result"], A)


RESULTS = {
    "a tuple": (lambda x: (x * 2.0, x + 1.0),),
    "a dict with constants": (lambda x: {"b": x * 2.0, "a": None, "c": "text", "d": 3},),
    "nothing": (lambda x: None,),
    "a named tuple": (lambda x: Point(x * 2.0, [x]),),
    "a dataclass": (lambda x: Layer({"w": x * 2.0}),),
    "one element": (lambda x: (x * 2.0,),),
    "an empty list": (lambda x: [],),
    "a number": (lambda x: 2.5,),
    "an object": (lambda x: (Kind.FIRST, x * 2.0),),
}


@pytest.mark.parametrize("call", [call for (call,) in RESULTS.values()], ids=RESULTS)
def test_results_are_built_as_the_user_built_them(call: Any) -> None:
    function = tj.function(call, cache=False)
    for _ in range(2):
        found, expected = function(A), call(A)
        assert flatten(found)[1] == flatten(expected)[1]
        for leaf, other in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            assert type(leaf) is type(other)
            np.testing.assert_array_equal(leaf, other)
    assert function.tracing_count == 1


def test_results_belong_to_the_caller() -> None:
    function = tj.function(lambda x: (x, x[0], x.T, {"again": x}), cache=False)
    x = np.ones((2, 2))
    first = function(x)
    for leaf in flatten(first)[0]:
        leaf[...] = 7.0
    assert (x == 1.0).all()
    for leaf in flatten(function(x))[0]:
        assert (leaf == 1.0).all()


def test_arguments_may_change_between_calls() -> None:
    function = tj.value_and_grad(tj.function(lambda x: np.sum(x**3), cache=False))
    x = np.ones(3)
    value, gradient = function(x)
    x *= 2.0
    assert (value, gradient.tolist()) == (3.0, [3.0] * 3)
    assert function(x)[1].tolist() == [12.0] * 3


def test_the_same_array_twice_and_overlapping_arrays() -> None:
    function = tj.function(lambda a, b: (a * 2.0 + b, b), cache=False)
    x = np.arange(6.0)
    found, second = function(x, x)
    np.testing.assert_array_equal(found, 3.0 * x)
    assert not np.shares_memory(second, x)
    np.testing.assert_array_equal(function(x[:3], x[::-2])[0], x[:3] * 2.0 + x[::-2])


def test_a_call_from_many_threads() -> None:
    function = tj.function(lambda x, k: np.tanh(x * k) + x, cache=False)
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(300, float(k))
        expected = np.tanh(x * 2.0) + x
        wrong.extend(k for _ in range(50) if not np.array_equal(function(x, 2.0), expected))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_error_in_a_call_leaves_the_entry_as_it_was() -> None:
    function = tj.function(lambda a, b: np.linalg.solve(a, b), cache=False)
    good, bad = np.eye(2), np.zeros((2, 2))
    for _ in range(2):
        np.testing.assert_array_equal(function(good, np.ones(2)), np.ones(2))
        with pytest.raises(np.linalg.LinAlgError):
            function(bad, np.ones(2))
    assert function.tracing_count == 1


def test_names_of_a_space_are_unlike_any_parameter_and_each_object_has_one() -> None:
    space = Space()
    one, other = [], []
    assert space.bind(one) == space.bind(one) != space.bind(other)
    assert all(name.startswith("_tj_") for name in space.names)
    assert repr(MISS) == "MISS"


X = np.array([1.0, 2.0, 3.0])
OUT_OF_A_PICKLE = pickle.loads(pickle.dumps(X))
PICKLED: dict[str, Callable[[Any], Any]] = {
    "argument": lambda x: tj.function(lambda y: y)(x),
    "inside": lambda x: tj.function(lambda p: p["x"][::-1])({"x": x}),
    "by a kernel for others": lambda x: [f := tj.function(lambda y: y * 1.0), f(X), f(x)][2],
    "gradient": lambda x: tj.grad(lambda y: np.sum(y * y))(x),
    "captured": lambda x: tj.function(lambda k: x * k)(2.0),
    "constant": lambda x: tj.function(lambda k: x[::-1].copy() * k)(2.0),
    "eager": lambda x: (tj.constant(x) * 1.0).numpy(),
    "operand": lambda x: (tj.constant(2.0) * x).numpy(),
    "variable": lambda x: tj.Variable(x).numpy(),
}


@pytest.mark.parametrize("name", PICKLED)
def test_an_array_out_of_a_pickle_gets_the_dtype_object_of_numpys(name: str) -> None:
    """NumPy's add.at takes its slow way where it is another."""
    assert OUT_OF_A_PICKLE.dtype is not np.dtype(float)
    assert PICKLED[name](OUT_OF_A_PICKLE).dtype is np.dtype(float)


def test_an_array_out_of_a_pickle_is_written_to_and_is_itself() -> None:
    def doubled(x: Any) -> None:
        x *= 2.0

    own = pickle.loads(pickle.dumps(X))
    tj.function(doubled)(own)
    np.testing.assert_array_equal(own, 2.0 * X)
    same = tj.function(lambda x, y: x * 2.0 if x is y else y * 3.0)
    for _ in range(2):
        np.testing.assert_array_equal(same(own, own), 4.0 * X)
        np.testing.assert_array_equal(same(own, own.copy()), 6.0 * X)
    assert same.tracing_count == 2
