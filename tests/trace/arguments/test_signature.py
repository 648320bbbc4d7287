"""Calls: bound, taken apart into named leaves, and put together again."""

from __future__ import annotations

import enum
import functools
import inspect
from collections import Counter, deque
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tracejit.support.errors import TracejitError
from tracejit.trace.arguments.signature import (
    Call,
    TensorSpec,
    bind_arguments,
    call_arguments,
    leaf_names,
    signature_of,
    take_apart,
)


def called(function: Any, *args: Any, **kwargs: Any) -> Call:
    """A call of `function`, taken apart; objects that paths cannot spell are called by class."""
    arguments = bind_arguments(signature_of(function), "f", args, kwargs)
    return take_apart(arguments, "f", lambda thing: f"<{type(thing).__name__}>")


def leaf(value: Any) -> Any:
    """The one leaf of a call with this argument."""
    (found,) = called(lambda x: x, value).leaves
    return found


class Colour(enum.IntEnum):
    """Integers that are not plain ones."""

    RED = 1


ROLES = {
    "array": (np.ones((2, 3), np.float32), "array", "f4[2,3]"),
    "0-d array": (np.array(1), "array", "i8[]"),
    "empty array": (np.ones((0, 2)), "array", "f8[0,2]"),
    "booleans": (np.array([True]), "array", "b1[1]"),
    "complex array": (np.ones(2, np.complex64), "array", "c8[2]"),
    "NumPy scalar": (np.float32(1), "scalar", "f4"),
    "np.float64 is no float": (np.float64(1), "scalar", "f8"),
    "np.bool_": (np.True_, "scalar", "b1"),
    "int": (3, "number", "~i8"),
    "large int": (2**70, "number", "~i8"),
    "float": (0.5, "number", "~f8"),
    "complex": (1j, "number", "~c16"),
    "bool": (True, "static", "None"),
    "None": (None, "static", "None"),
    "str": ("tanh", "static", "None"),
    "enum": (Colour.RED, "static", "None"),
    "function": (np.tanh, "static", "None"),
    "class": (int, "static", "None"),
    "slice": (frozenset((1, 2)), "static", "None"),
    "spec": (TensorSpec((2,), np.int8), "array", "i1[2]"),
}


@pytest.mark.parametrize(("value", "role", "kind"), ROLES.values(), ids=ROLES)
def test_roles_and_types(value: Any, role: str, kind: str) -> None:
    found = leaf(value)
    assert (found.role, repr(found.type)) == (role, kind)
    assert found.value is value


class Labelled(np.ndarray):
    """A subclass of ndarray, which may mean anything by its operators."""


REFUSED = {
    "a set of what can change": ({1, len}, "argument x of f is a set"),
    "a deque": (deque([1]), "argument x of f is a deque"),
    "a bytearray": (bytearray(3), "argument x of f is a bytearray"),
    "strings": (np.array(["a", "b"]), "argument x of f has dtype <U1"),
    "objects": (np.array([1, None], object), "argument x of f has dtype object"),
    "times": (np.zeros(2, "M8[s]"), "argument x of f has dtype datetime64"),
    "records": (np.zeros(2, [("a", "i4")]), r"argument x of f has dtype \[\('a', '<i4'\)\]"),
    "the other byte order": (np.ones(2, ">f8"), "argument x of f has dtype >f8"),
    "a subclass": (np.ones(2).view(Labelled), "argument x of f is a Labelled"),
    "a masked array": (np.ma.masked_array([1.0]), "argument x of f is a masked array"),
    "a time": (np.timedelta64(1, "s"), "argument x of f has dtype timedelta64"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_argument(value: Any, message: str) -> None:
    with pytest.raises((TracejitError, TypeError), match=message):
        leaf(value)


def test_the_message_says_where_it_is() -> None:
    with pytest.raises(TracejitError, match=r"argument p\['a'\]\[1\] of f is a bytearray"):
        called(lambda p: p, {"a": [1.0, bytearray(2)]})


def test_arguments_are_bound_as_python_does() -> None:
    def f(a, /, b, *rest, c=3, **others):
        return a

    signature = signature_of(f)
    bound = bind_arguments(signature, "f", (1, 2, 4, 5), {"d": 6})
    assert bound == {"a": 1, "b": 2, "rest": (4, 5), "c": 3, "others": {"d": 6}}
    assert [found.name for found in called(f, 1, 2, 4, 5, d=6).leaves] == [
        "a", "b", "rest_0", "rest_1", "c", "d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"z": 2}, "got an unexpected keyword argument 'z'"),
        ((1,), {"x": 2}, "multiple values for argument 'x'"),
    ],
)
def test_a_call_that_does_not_fit(args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as raised:
        bind_arguments(signature_of(lambda x, y=1: x), "loss", args, kwargs)
    assert isinstance(raised.value, TracejitError)
    assert "loss" in str(raised.value)


VALUES = st.integers(0, 9)
SIGNATURES = {
    "plain": lambda a, b: (a, b),
    "defaults": lambda a, b=1, c=2: (a, b, c),
    "positional only": eval("lambda a, b=1, /, c=2: (a, b, c)"),
    "keyword only": eval("lambda a, *, b, c=2: (a, b, c)"),
    "rest": lambda a, b=1, *rest: (a, b, rest),
    "others": lambda a, **others: (a, others),
    "everything": eval("lambda a, b=1, /, c=2, *rest, d, e=5, **f: (a, b, c, rest, d, e, f)"),
}


@settings(deadline=None)
@given(
    st.sampled_from(sorted(SIGNATURES)),
    st.lists(VALUES, max_size=5),
    st.dictionaries(st.sampled_from("abcdefg"), VALUES, max_size=4),
)
def test_bound_arguments_call_the_function_as_before(
    name: str, args: list[int], kwargs: dict[str, int]
) -> None:
    function = SIGNATURES[name]
    signature = signature_of(function)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:  # which inspect refuses for **others
            kwargs.pop(parameter.name, None)
    try:
        expected = function(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            bind_arguments(signature, "f", tuple(args), kwargs)
        return
    arguments = bind_arguments(signature, "f", tuple(args), kwargs)
    positional, keywords = call_arguments(signature, arguments)
    assert function(*positional, **keywords) == expected


def test_defaults_are_left_to_the_function() -> None:
    default = object()

    def f(a, b=default, *, c=default):
        return a

    signature = signature_of(f)
    arguments = bind_arguments(signature, "f", (1,), {})
    assert call_arguments(signature, arguments) == ([1], {})


def test_a_call_is_put_together_with_other_leaves() -> None:
    call = called(lambda p, x, n: p, {"w": [1.0, 2.0]}, (3.0,), 4)
    assert call.rebuild("abcd") == {"p": {"w": ["a", "b"]}, "x": ("c",), "n": "d"}


def test_leaves_know_path_and_argument() -> None:
    call = called(lambda p, x: p, {"w": [1.0, {"it's": 2.0}], 7: 3.0}, 4.0)
    assert [(found.path, found.argument) for found in call.leaves] == [
        ("p['w'][0]", "p"), ('p[\'w\'][1]["it\'s"]', "p"), ("p[7]", "p"), ("x", "x"),
    ]  # fmt: skip


def test_callables_without_a_signature_take_anything() -> None:
    signature = signature_of(np.add)
    assert bind_arguments(signature, "add", (1, 2), {})
    assert isinstance(signature, inspect.Signature)


def test_partials_and_methods_have_theirs() -> None:
    class C:
        def f(self, x, y=2):
            return x

    assert list(signature_of(C().f).parameters) == ["x", "y"]
    assert list(signature_of(functools.partial(C().f, 1)).parameters) == ["y"]


NAMES = {
    "last keys": ([("p", "w"), ("p", "b"), ("x",)], ["w", "b", "x"]),
    "numbers behind": (
        [("p", "0", "w"), ("p", "0", "b"), ("p", "1", "w"), ("p", "1", "b")],
        ["w_0", "b_0", "w_1", "b_1"],
    ),
    "words before": ([("p", "enc", "w"), ("p", "dec", "w")], ["enc_w", "dec_w"]),
    "both": (
        [("p", "enc", "0", "w"), ("p", "dec", "0", "w"), ("p", "enc", "1", "w")],
        ["enc_w_0", "dec_w_0", "enc_w_1"],
    ),
    "lists": ([("xs", "0"), ("xs", "1"), ("ys", "0")], ["xs_0", "xs_1", "ys_0"]),
    "two arguments": ([("p", "w"), ("q", "w")], ["p_w", "q_w"]),
    "other depths": ([("p", "w"), ("w",)], ["p_w", "w"]),
    "no identifiers": ([("p", "it's"), ("p", "a b"), ("p", "")], ["p_it_s", "p_a_b", "p_"]),
    "keywords": ([("p", "lambda"), ("p", "def")], ["lambda_", "def_"]),
    "a digit first": ([("3", "4")], ["_3_4"]),
    "underscores": ([("_p", "w")], ["w"]),
    "taken": ([("p", "0", "w"), ("p", "1", "w"), ("w_0",)], ["w_0", "w_1", "w_0_2"]),
}


@pytest.mark.parametrize(("words", "names"), NAMES.values(), ids=NAMES)
def test_names_of_leaves(words: list[tuple[str, ...]], names: list[str]) -> None:
    assert leaf_names(words) == names


@settings(deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=3).map(tuple), unique=True))
def test_names_are_distinct_identifiers(words: list[tuple[str, ...]]) -> None:
    for whole in (False, True):
        names = leaf_names(words, whole=whole)
        assert len(set(names)) == len(words)
        for name in names:
            exec(f"{name} = 1")


def test_whole_names_hold_every_key() -> None:
    assert leaf_names([("out", "0"), ("out", "1", "loss")], whole=True) == ["out_0", "out_1_loss"]


def test_specs_stand_for_arrays() -> None:
    spec = tj.TensorSpec((2, np.int64(3)), "f4", name="x")
    assert spec == TensorSpec([2, 3], np.float32) != TensorSpec((2, 3))
    assert hash(spec) == hash(TensorSpec((2, 3), np.float32))
    assert repr(spec) == "TensorSpec(shape=(2, 3), dtype=float32)"
    assert repr(spec.type) == "f4[2,3]"
    with pytest.raises(TypeError):
        TensorSpec((2.0,))
    function = tj.function(lambda x, y: x @ y, cache=False)
    kernel = function.kernel(TensorSpec((2, 3)), TensorSpec((3,)))
    assert kernel.signature["inputs"] == {"x": "f8[2,3]", "y": "f8[3]"}
    function(np.ones((2, 3)), np.ones(3))
    assert function.tracing_count == 1


def test_a_container_of_another_class_is_to_be_a_plain_one() -> None:
    with pytest.raises(TypeError, match=r"pass dict\(p\), or keep it outside"):
        tj.function(lambda p: p["w"] * 2.0)(Counter(w=np.ones(3)))
