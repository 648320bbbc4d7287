"""A user's rule by itself: what it is called with, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.autodiff.request.rules import Input, Rule, has_cotangent, is_array, leaf_type
from tracejit.support.errors import RuleError, RuleTypeError
from tracejit.trace.recording.eager import EAGER

X = np.array([1.0, -2.0, 0.5])
INDEX = np.array([1, 2])
V = tj.Variable([3.0, 4.0], name="v")
T = tj.constant(X)


class Pair(NamedTuple):
    p: Any
    q: Any


def rule_of(
    rule: Callable[..., Any], variables: list[tj.Variable] | None = None, value: Any = T, **xs: Any
) -> Rule:
    """The rule of a function called f, returned with `value` for the arguments `xs`."""
    return Rule("f", rule, xs, value, variables or [], EAGER)


def called(rule: Rule, *cotangents: Any) -> list[Any]:
    """Its gradients as NumPy values."""
    return [None if g is None else EAGER.lift(g).data for g in rule(*cotangents)]


# Leaves


@pytest.mark.parametrize(
    ("leaf", "array", "cotangent"),
    [
        (X, True, True),
        (T, True, True),
        (V, True, True),
        (INDEX, True, True),
        (X > 0, True, True),
        (np.float32(1), True, True),
        (np.int64(1), True, True),
        (X * 1j, True, True),
        (2.0, False, True),
        (2j, False, True),
        (2, False, False),
        (True, False, False),
        (None, False, False),
        ("text", False, False),
        (len, False, False),
    ],
    ids=lambda leaf: type(leaf).__name__,
)
def test_what_counts_as_input_and_as_output(leaf: Any, array: bool, cotangent: bool) -> None:
    assert is_array(leaf) is array
    assert has_cotangent(leaf) is cotangent


def test_the_type_of_a_leaf() -> None:
    for leaf in (T, X):
        found = leaf_type(leaf)
        assert found is not None and (found.shape, found.dtype) == ((3,), np.dtype(float))
    of_variable, of_number = leaf_type(V), leaf_type(2.0)
    assert of_variable is not None and of_variable.shape == (2,)
    assert of_number is not None and of_number.form == "weak"
    assert leaf_type("text") is None and leaf_type(None) is None


# What a rule knows when it is made


def test_inputs_are_the_arrays_among_the_leaves_of_the_arguments() -> None:
    rule = rule_of(lambda g: None, a=X, n=3, b=[INDEX, {"z": V, "a": T}], mode="m", c=Pair(2.0, X))
    assert [each.name for each in rule.inputs] == ["a", "b", "b", "b", "c"]
    assert [each.type.shape for each in rule.inputs] == [(3,), (2,), (3,), (2,), (3,)]
    assert [type(leaf) for leaf in rule.arrays] == [
        np.ndarray,
        np.ndarray,
        type(T),
        tj.Variable,
        np.ndarray,
    ]
    assert rule.arrays[2] is T and rule.arrays[3] is V  # dicts by sorted key


def test_variables_are_inputs_with_their_names() -> None:
    unnamed = tj.Variable(1.0)
    rule = rule_of(lambda g, variables: None, [V, unnamed], x=X)
    assert [(each.name, each.type.shape) for each in rule.variable_inputs] == [
        ("v", (2,)),
        ("a Variable", ()),
    ]
    assert rule.inputs == [Input("x", rule.inputs[0].type)]


def test_outputs_are_the_numbers_in_the_value() -> None:
    rule = rule_of(lambda *gs: None, value={"b": [1.0, None, 3], "a": (T, "text")}, x=X)
    assert rule.outputs == [True, True, False]  # a, b[0], b[2]


@pytest.mark.parametrize(
    ("rule", "without", "with_them"),
    [
        (lambda g: None, False, None),
        (lambda *gs: None, False, None),
        (lambda g, variables: None, True, True),
        (lambda g, *, variables: None, True, True),
        (lambda g, variables=None: None, False, True),
        (lambda g, **given: None, False, True),
    ],
)
def test_whether_a_rule_takes_variables(rule: Any, without: bool, with_them: bool | None) -> None:
    assert rule_of(rule, x=X).takes_variables is without
    if with_them:
        assert rule_of(rule, [V], x=X).takes_variables
        return
    with pytest.raises(RuleTypeError, match=r"f reads Variables \(v"):
        rule_of(rule, [V], x=X)


def test_a_rule_without_a_signature_is_called_with_cotangents_alone() -> None:
    rule = rule_of(np.sin, x=X)
    assert not rule.takes_variables
    np.testing.assert_array_equal(called(rule, T)[0], np.sin(X))


# What a rule is called with


def test_cotangents_come_by_position_and_none_for_integers() -> None:
    seen: list[Any] = []

    def rule(*gs: Any) -> Any:
        seen.append(gs)
        return gs[0]

    half = tj.constant(0.5)
    rule_of(rule, value=(T, 7, 2.5, None, "text"), x=X)(T, half)
    ((first, second, third),) = seen
    assert first is T and second is None and third is half


def test_variables_come_by_keyword_as_a_list() -> None:
    def rule(g: Any, variables: Any) -> Any:
        assert type(variables) is list and [u is V for u in variables] == [True]
        return g, [2.0]

    found = called(rule_of(rule, [V], x=X), T)
    np.testing.assert_array_equal(found[0], X)
    assert found[1] == 2.0

    def empty(g: Any, variables: Any) -> Any:
        assert variables == []
        return g, ()

    assert len(called(rule_of(empty, x=X), T)) == 1


# Its answer


@pytest.mark.parametrize(
    "answer",
    [
        lambda g: (g, g * 2.0),
        lambda g: [g, g * 2.0],
        lambda g: [g, [g * 2.0]],
        lambda g: ((g,), {"k": g * 2.0}),
        lambda g: Pair(g, g * 2.0),
        lambda g: {"b": g * 2.0, "a": g},
    ],
)
def test_any_nesting_is_an_answer(answer: Any) -> None:
    found = called(rule_of(answer, a=X, b=X), T)
    np.testing.assert_array_equal(found, [X, 2.0 * X])


def test_a_dict_is_matched_to_parameters_by_key() -> None:
    rule = rule_of(lambda g: {"a": g, "z": g * 2.0}, z=X, a=X)
    np.testing.assert_array_equal(called(rule, T), [2.0 * X, X])


def test_a_dict_like_the_argument_is_matched_to_it() -> None:
    """Where parameter and keys have the same names, what looks like the argument is meant."""
    rule = rule_of(lambda g: {"z": g * 2.0, "a": g}, z=3.0, a={"z": X, "a": X})
    np.testing.assert_array_equal(called(rule, T), [X, 2.0 * X])


def test_entries_of_what_is_no_input_are_dropped() -> None:
    everything = rule_of(lambda g: (None, g, "dropped", None, g * 2.0), s="t", x=X, n=2, f=len, y=X)
    numbers = rule_of(lambda g: (g, 5.0, g * 2.0), s="t", x=X, n=2, f=len, y=X)
    inputs = rule_of(lambda g: (g, g * 2.0), s="t", x=X, n=2, f=len, y=X)
    for rule in (everything, numbers, inputs):
        np.testing.assert_array_equal(called(rule, T), [X, 2.0 * X])


@pytest.mark.parametrize("answer", [None, (), [], {}, [[]]], ids=repr)
def test_nothing_answers_for_no_inputs(answer: Any) -> None:
    assert called(rule_of(lambda g: answer, n=2), T) == []
    assert called(rule_of(lambda g: answer), T) == []


def test_none_is_the_answer_for_one_input_alone() -> None:
    assert called(rule_of(lambda g: None, x=X), T) == [None]
    assert called(rule_of(lambda g: (None, None), x=X, y=X), T) == [None, None]
    assert called(rule_of(lambda g, variables: (None, None), [V], x=X), T) == [None, None]
    with pytest.raises(RuleError, match=r"returned 0 gradients for 2 inputs \(x, y\)"):
        rule_of(lambda g: None, x=X, y=X)(T)


def test_integers_and_booleans_get_none_whatever_is_answered() -> None:
    rule = rule_of(lambda g: (g, "anything", np.ones(9)), x=X, i=INDEX, flags=X > 0)
    found = called(rule, T)
    np.testing.assert_array_equal(found[0], X)
    assert found[1:] == [None, None]


@pytest.mark.parametrize("number", [2.5, 3, True, np.float64(2.5)], ids=repr)
def test_a_python_number_fits_any_shape_and_a_numpy_scalar_its_own(number: Any) -> None:
    if isinstance(number, np.generic):
        with pytest.raises(RuleError, match=r"returned shape \(\) for x, which has shape \(3,\)"):
            rule_of(lambda g: number, x=X)(T)
        assert called(rule_of(lambda g: number, x=np.array(1.0)), T) == [2.5]
    else:
        assert called(rule_of(lambda g: number, x=X), T) == [number]


@pytest.mark.parametrize("wanted", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("given", [np.float64, np.float32, np.int64, np.bool_])
def test_real_gradients_of_any_precision_fit(wanted: Any, given: Any) -> None:
    ones = np.ones(3, given)
    np.testing.assert_array_equal(called(rule_of(lambda g: ones, x=X.astype(wanted)), T)[0], ones)


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (lambda g: (g, g), RuleError, "returned 2 gradients for 1 inputs (x)"),
        (lambda g: (), RuleError, "returned 0 gradients for 1 inputs (x)"),
        (lambda g: {"x": g, "w": g}, RuleError, "returned 2 gradients for 1 inputs (x)"),
        (lambda g: g[:2], RuleError, "returned shape (2,) for x, which has shape (3,)"),
        (lambda g: g[None], RuleError, "returned shape (1, 3) for x, which has shape (3,)"),
        (lambda g: g * 1j, RuleTypeError, "returned a complex gradient c16[3] for x"),
        (lambda g: 1j, RuleTypeError, "returned a complex gradient"),
        (lambda g: "text", RuleTypeError, "returned a str for x, which is float64"),
        (lambda g: object(), RuleTypeError, "returned an object for x, which is float64"),
    ],
)
def test_an_answer_that_does_not_fit(answer: Any, kind: type, text: str) -> None:
    with pytest.raises(kind) as caught:
        rule_of(answer, x=X)(T)
    assert f"the gradient rule of f {text}" in str(caught.value)
    assert isinstance(caught.value, ValueError if kind is RuleError else TypeError)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (lambda g: g, "got a Tensor"),
        (lambda g: None, "got a NoneType"),
        (lambda g: (g,), "got a tuple of 1"),
        (lambda g: (g, g, g), "got a tuple of 3"),
        (lambda g: Pair(g, g), "got a Pair"),
        (lambda g: {"x": g}, "got a dict"),
        (lambda g: iter((g, g)), "got a tuple_iterator"),
    ],
)
@pytest.mark.parametrize("variables", [[], [V]], ids=["none read", "one read"])
def test_a_rule_with_variables_answers_with_a_pair(answer: Any, got: str, variables: Any) -> None:
    rule = rule_of(lambda g, variables: answer(g), variables, x=X)
    with pytest.raises(RuleTypeError, match="must return ") as caught:
        rule(T)
    assert f"takes variables and must return (grad_xs, grad_vars), {got}" in str(caught.value)


@pytest.mark.parametrize("entries", [lambda g: [], lambda g: (g, g), lambda g: [[g], {"k": g}]])
def test_variables_are_counted_by_themselves(entries: Any) -> None:
    rule = rule_of(lambda g, variables: (g, entries(g)), [V], x=X)
    with pytest.raises(RuleError, match=r"gradients for 1 inputs \(v\)"):
        rule(T)


def test_too_many_gradients_for_variables_that_are_not_there() -> None:
    with pytest.raises(RuleError, match=r"returned 1 gradients for 0 inputs \(none\)"):
        rule_of(lambda g, variables: (g, [g]), x=X)(T)


def test_an_exception_in_a_rule_passes_through() -> None:
    def rule(g: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        rule_of(rule, x=X)(T)
    assert not EAGER.in_rule
