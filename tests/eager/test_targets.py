"""What tapes and tj.gradients have in common, by itself: leaves, seeds, answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.eager.targets import (
    UnconnectedGradients,
    filled,
    gradients_by,
    leaves_of,
    one_leaf,
    seeds_of,
    tensor_of,
    wants_zeros,
    zeros_like,
)
from tracejit.support.errors import SeedError, TapeArgumentError
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import Recording
from tracejit.trace.structure.trees import LEAF, flatten
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, -2.0, 0.5])


class Pair(NamedTuple):
    x: Any
    y: Any


def test_words_for_the_unconnected() -> None:
    assert tj.UnconnectedGradients is UnconnectedGradients
    for given in (UnconnectedGradients.ZERO, "zero"):
        assert wants_zeros(given)
    for given in (UnconnectedGradients.NONE, "none"):
        assert not wants_zeros(given)
    for wrong in (None, "ZERO", 0, True):
        with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
            wants_zeros(wrong)


# Leaves


def test_leaves_of_a_structure() -> None:
    x, v = tj.constant(X), tj.Variable(X)
    leaves, structure = leaves_of({"b": Pair(x, [v]), "a": v, "none": ()}, "sources", "call")
    # Dicts by sorted key, the rest in order.
    assert [id(leaf) for leaf in leaves] == [id(v), id(x), id(v)]
    assert structure == flatten({"b": Pair(0, [0]), "a": 0, "none": ()})[1]
    assert leaves_of(x, "target", "call")[1] is LEAF
    assert leaves_of([], "target", "call")[0] == []


@pytest.mark.parametrize(
    ("given", "got", "fix"),
    [
        (X, "ndarray", "tj.constant(...)"),
        (2.0, "float", "tj.constant(...)"),
        (np.float64(2.0), "float64", "tj.constant(...)"),
        ([X], "ndarray", "tj.constant(...)"),
        (None, "NoneType", "pass an argument"),
        ("x", "str", "pass an argument"),
        ({"a": [None]}, "NoneType", "pass an argument"),
    ],
    ids=repr,
)
def test_what_is_no_leaf_is_named_with_its_fix(given: Any, got: str, fix: str) -> None:
    with pytest.raises(TapeArgumentError) as caught:
        leaves_of(given, "sources", "tape.gradient")
    text = str(caught.value)
    assert "tape.gradient: sources must hold" in text
    assert got in text
    assert fix in text
    assert "leaves_of(given" in caught.value.where.text


def test_a_recorded_python_number_is_no_leaf() -> None:
    refusals = []

    @tj.function
    def f(x: Any, n: float) -> Any:
        try:
            leaves_of([x, n], "xs", "tj.gradients")
        except TapeArgumentError as error:
            refusals.append(error)
        return x * n

    # The first number is a constant of the kernel, the second an argument.
    for n in (2.0, 3.0):
        f(X, n)
    assert len(refusals) == 2


def test_one_leaf_takes_no_container() -> None:
    x = tj.constant(X)
    assert one_leaf(x, "target", "call") is x
    for given, kind in (([x], "list"), ((x, x), "tuple"), ({}, "dict"), (Pair(x, x), "Pair")):
        with pytest.raises(TapeArgumentError, match=f"a {kind}") as caught:
            one_leaf(given, "target", "tape.jacobian")
        assert "one Tensor at a time" in str(caught.value)


def test_a_leaf_as_a_tensor_of_the_recorder() -> None:
    x, v = tj.constant(X), tj.Variable(X)
    assert tensor_of(x, EAGER)._value is x._value
    assert tensor_of(v, EAGER)._value is v.held
    v.assign(2.0 * X)
    assert tensor_of(v, EAGER)._value is v.held
    with Recording("f") as recording:
        hidden = tensor_of(x, recording)
        assert hidden._recording is recording
        assert tensor_of(x, recording)._value is hidden._value
        assert tensor_of(v, recording).type is v.type


# Seeds


def seeds(given: Any, *targets: Any) -> list[Any]:
    """The seeds that are given for a list of targets, of one for itself."""
    tensors = [tj.constant(one) for one in targets]
    structure = LEAF if len(targets) == 1 else flatten(tensors)[1]
    return seeds_of(given, tensors, structure, EAGER, "call")


def test_no_seeds_are_ones() -> None:
    assert seeds(None, X, X) == [None, None]
    found = seeds([None, 2.0 * X], X, X)
    assert found[0] is None
    ones, twice = filled(found, [tj.constant(X), tj.constant(X)])
    np.testing.assert_array_equal(ones.numpy(), np.ones(3))
    np.testing.assert_array_equal(twice.numpy(), 2.0 * X)


@pytest.mark.parametrize("form", [np.array(2.0), np.float64(2.0), np.float32(2.0)], ids=repr)
def test_ones_have_the_type_of_the_target(form: Any) -> None:
    y = tj.constant(form)
    (one,) = filled([None], [y])
    assert one.type is y.type


def test_a_seed_has_the_type_of_its_target() -> None:
    for target, given in (
        (np.array(2.0), 3),
        (np.float64(2.0), np.array(3.0)),
        (np.array(2.0), np.float64(3.0)),
        (np.complex128(2.0), 3.0),
        (X, [1.0, 2.0, 3.0]),
        (X, (1, 2.0, 3)),
        (X, tj.Variable(X)),
    ):
        (seed,) = seeds(given, target)
        assert isinstance(seed, Tensor)
        assert seed.type is tj.constant(target).type


def test_a_seed_is_a_copy() -> None:
    given = X.copy()
    (seed,) = seeds(given, X)
    given[:] = 0.0
    np.testing.assert_array_equal(seed.numpy(), X)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([X, X, X], "3 cotangents in another structure than 2 targets"),
        ({"a": X, "b": X}, "2 cotangents in another structure than 2 targets"),
        (X, "1 cotangents in another structure than 2 targets"),
        ([X, X[:2]], "shape (2,), its target (3,)"),
        ([X, X.astype("f4")], "dtype float32, its target float64"),
        ([X, 1j * X], "dtype complex128, its target float64"),
        ([X, "x"], "a cotangent is a str"),
    ],
)
def test_seeds_that_do_not_fit(given: Any, problem: str) -> None:
    with pytest.raises(SeedError) as caught:
        seeds(given, X, X)
    assert "call" in str(caught.value)
    assert problem in str(caught.value)


# Answers


def answered(
    sources: Sequence[Any], found: Sequence[Any], reads: Any = None, zeros: bool = False
) -> tuple[list[Any], list[Any]]:
    """What `gradients_by` answers for these gradients, and by how many Tensors it asked."""
    asked: list[Any] = []
    y, n = tj.constant(X), tj.constant(np.arange(3))

    def differentiate(ys: Any, xs: Any, seeds: Any) -> Any:
        asked.extend([len(ys), len(xs), seeds])
        return found

    none: Any = reads or (lambda variable: [])
    return (
        gradients_by(differentiate, EAGER, [y, n], sources, [y, None], none, zeros),
        asked,
    )


def test_an_answer_for_each_source_in_order() -> None:
    x = tj.constant(X)
    answers, asked = answered([x, x], [tj.constant(2.0 * X), None])
    np.testing.assert_array_equal(answers[0].numpy(), 2.0 * X)
    assert answers[1] is None
    # The integer target has no cotangent, and is not differentiated.
    assert asked[:2] == [1, 2]
    assert len(asked[2]) == 1


def test_reads_of_a_variable_are_summed() -> None:
    v, w = tj.Variable(X), tj.Variable(X)
    first, second = (tj.constant(X)._value for _ in range(2))
    found = [tj.constant(k * X) for k in (1.0, 2.0)]
    answers, asked = answered([v, w], found, lambda one: [first, second] if one is v else [])
    np.testing.assert_array_equal(answers[0].numpy(), 3.0 * X)
    assert answers[1] is None
    assert asked[1] == 2
    answers, _ = answered([v], [None, found[1]], lambda one: [first, second])
    np.testing.assert_array_equal(answers[0].numpy(), 2.0 * X)


def test_zeros_stand_for_what_is_unconnected() -> None:
    sources = [tj.constant(X.astype("f4")), tj.Variable(np.float64(2.0)), tj.constant(3)]
    answers, _ = answered(sources, [None, None], zeros=True)
    for answer, source in zip(answers, sources, strict=True):
        assert answer.type is source.type
        np.testing.assert_array_equal(answer.numpy(), np.zeros(source.shape))


def test_an_answer_has_the_form_of_its_source() -> None:
    element, array = tj.constant(np.float64(2.0)), tj.constant(np.array(2.0))
    answers, _ = answered([element, array], [array, element])
    assert [answer.type.form for answer in answers] == ["scalar", "array"]


@pytest.mark.parametrize("given", [X, np.array(2.0), np.float32(2.0), np.arange(3), 1j * X])
def test_zeros_like(given: Any) -> None:
    source = tj.constant(given)
    found = zeros_like(source)
    assert found.type is source.type
    assert not found.numpy().any()


# What is differentiated by, beside what computes the same


def _sine_twice(x: Any) -> tuple[Any, list[Any]]:
    y, z = np.sin(x), np.sin(x)
    return np.sum(3.0 * z * np.cos(y)), [x, y, z]


def _zeros_twice(x: Any) -> tuple[Any, list[Any]]:
    y, z = np.zeros_like(x), np.zeros_like(x)
    return np.sum(y * x + 3.0 * z), [x, y, z]


def _row_twice(x: Any) -> tuple[Any, list[Any]]:
    pair = np.stack([x, x])
    rows = [pair[0], pair[0], pair[1]]
    return np.sum(rows[0] ** 2), [x, pair, *rows]


TWINS = pytest.mark.parametrize("f", [_sine_twice, _zeros_twice, _row_twice])


def _by_a_tape_that_watches_them(f: Any, x: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(x)
        tape.watch(f(x)[1])
        y, sources = f(x)
    return tape.gradient(y, sources)


def _by_a_tape(f: Any, x: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(x)
        y, sources = f(x)
    return tape.gradient(y, sources)


@TWINS
@pytest.mark.parametrize("way", [_by_a_tape, _by_a_tape_that_watches_them])
def test_a_source_is_not_what_computes_the_same(f: Any, way: Any) -> None:
    eager = way(f, tj.constant(X))
    found = tj.function(lambda x: way(f, x))(X)
    assert [g is None for g in found] == [g is None for g in eager]
    for g, wanted in zip(found, eager, strict=True):
        if g is not None:
            np.testing.assert_allclose(g, wanted.numpy(), rtol=1e-13)


def test_gradients_by_one_of_two_that_compute_the_same() -> None:
    x, y, z = tj.function(lambda x: tj.gradients(*_sine_twice(x)))(X)
    s, c = np.sin(X), np.cos(X)
    np.testing.assert_allclose(y, -3.0 * s * np.sin(s), rtol=1e-13)
    np.testing.assert_allclose(z, 3.0 * np.cos(s), rtol=1e-13)
    np.testing.assert_allclose(x, c * (y + z), rtol=1e-13)


def test_an_eager_gradient_by_one_of_two_that_compute_the_same() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y, sources = _sine_twice(x)
    _, by_y, by_z = tape.gradient(y, sources)
    s = np.sin(X)
    np.testing.assert_allclose(by_y.numpy(), -3.0 * s * np.sin(s), rtol=1e-13)
    np.testing.assert_allclose(by_z.numpy(), 3.0 * np.cos(s), rtol=1e-13)


def test_what_is_stopped_is_not_what_computes_the_same() -> None:
    @tj.function
    def f(x: Any) -> Any:
        y, z = np.sin(x), np.sin(x)
        return tj.gradients(np.sum(y + 2.0 * z), x, stop_gradients=y)[0]

    np.testing.assert_allclose(f(X), 2.0 * np.cos(X), rtol=1e-13)


def test_variables_that_are_assigned_the_same() -> None:
    v, w = tj.Variable(X), tj.Variable(X)

    @tj.function
    def f(x: Any) -> Any:
        with tj.GradientTape() as tape:
            v.assign(2.0 * x)
            w.assign(2.0 * x)
            y = np.sum(v * v + 3.0 * w)
        return tape.gradient(y, [v, w])

    by_v, by_w = f(X)
    np.testing.assert_array_equal(by_v, 4.0 * X)
    np.testing.assert_array_equal(by_w, [3.0, 3.0, 3.0])


def test_sources_told_apart_in_one_of_two_ways() -> None:
    @tj.function
    def f(x: Any) -> Any:
        y, z = np.sin(x), np.sin(x)
        total = np.sum(y * y + 3.0 * z)
        if x[0] > 0:
            return tj.gradients(total, x)[0]
        return tj.gradients(total, z)[0]

    s, c = np.sin(X), np.cos(X)
    for _ in range(2):
        np.testing.assert_allclose(f(X), (2.0 * s + 3.0) * c, rtol=1e-13)
        np.testing.assert_array_equal(f(-X), [3.0, 3.0, 3.0])


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_what_computes_the_same_as_a_watched_array_can_be_written_to(mode: str) -> None:
    def program(x: Any) -> Any:
        y, z = np.zeros_like(x), np.zeros_like(x)
        with tj.GradientTape() as tape:
            tape.watch(y)
            z[0] = 1.0
            total = np.sum(y * x + z * y)
        return tape.gradient(total, y)

    found = program(tj.constant(X)).numpy() if mode == "eager" else tj.function(program)(X)
    np.testing.assert_array_equal(found - X, [1.0, 0.0, 0.0])
