"""The reverse pass: sums, shapes, conjugation, tapes, regions, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.interpret import Run, interpret, run
from tracejit.autodiff.reverse.adjoint import RECOMPUTED, fit, gradients, unbroadcast
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import OVERRIDE, Marker
from tracejit.support.errors import NoGradientError
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.tensor.tensor import Tensor

VECTOR = np.array([0.5, -1.0, 2.0])
MYSTERY = Op(name="mystery", infer=lambda x: x, source="np.sinh({0})")


def ones(started: Run, y: Tensor) -> Tensor:
    """A cotangent of ones for a scalar."""
    return Tensor(started.recording.lift(y.dtype.type(1)), started.recording)


def differentiated(call: Callable[..., Any], *args: Any) -> Graph:
    """The graph of a scalar function and its gradients, which must not be None."""
    started = run(call, *args)
    found = gradients(started.tensors, started.inputs, [ones(started, started.tensors[0])])
    assert all(g is not None for g in found)
    return verify(started.finish(*found))


def grads(call: Callable[..., Any], *args: Any) -> list[Any]:
    """The gradients of a scalar function."""
    return interpret(differentiated(call, *args), *args)[1:]


def connected(call: Callable[..., Any], *args: Any) -> list[bool]:
    """Which arguments of a scalar function have a gradient that is not None."""
    started = run(call, *args)
    (y,) = started.tensors
    found = gradients([y], started.inputs, [ones(started, y)])
    return [g is not None for g in found]


def override(value: Any, inputs: list[Any], rule: Callable[..., Any], note: str = "") -> Any:
    """A value with a gradient of the test's own."""
    return OVERRIDE(value, *inputs, outputs=1, grad=Marker("rule", note, rule))


# Sums and shapes


def test_cotangents_of_a_value_used_twice_add_up() -> None:
    (g,) = grads(lambda x: np.sum(x * x + 3.0 * x), VECTOR)
    np.testing.assert_array_equal(g, 2 * VECTOR + 3.0)


def test_several_outputs_and_their_cotangents_add_up() -> None:
    started = run(lambda x: [x * 2.0, np.exp(x)], VECTOR)
    argument = started.recording.argument
    seeds = [argument(name, y.type) for name, y in zip("gh", started.tensors, strict=True)]
    graph = started.finish(*gradients(started.tensors, started.inputs, seeds))
    g, h = np.arange(3.0), np.ones(3)
    np.testing.assert_allclose(
        interpret(graph, VECTOR, g, h)[-1], 2 * g + np.exp(VECTOR) * h, rtol=1e-15
    )


@pytest.mark.parametrize(
    ("shape", "other"),
    [
        ((3,), (2, 3)),
        ((1, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 1), (2, 3)),
        ((), (2, 3)),
        ((1,), (2, 3)),
        ((3, 1, 2), (4, 1)),
        ((1, 5, 1), (2, 1, 3)),
        ((0, 1), (0, 3)),
        ((1,), (0,)),
    ],
)
def test_broadcast_axes_are_summed(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    x, y = np.full(shape, 2.0), np.full(other, 3.0)
    g, h = grads(lambda x, y: np.sum(x * y), x, y)
    size = np.broadcast_shapes(shape, other)
    np.testing.assert_array_equal(g, np.full(shape, 3.0 * np.prod(size) / max(x.size, 1)))
    np.testing.assert_array_equal(h, np.full(other, 2.0 * np.prod(size) / max(y.size, 1)))


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((2, 3), ()),
        ((2, 3), (1, 1)),
        ((4, 2, 3), (2, 1)),
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((3,), (1, 3)),
        ((1, 3), (2, 1)),
        ((1, 2, 5), (3, 2, 1)),
        ((5, 1, 4), (2, 1)),
        ((4,), (1, 1)),
    ],
)
def test_unbroadcast_sums_what_was_stretched_and_stretches_what_was_not(
    shape: tuple[int, ...], target: tuple[int, ...]
) -> None:
    cotangent = np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)
    found = unbroadcast(cotangent, target)
    common = np.broadcast_shapes(shape, target)
    spread = np.broadcast_to(cotangent, common)
    # Only axes that the target lacks are summed: the others are what the rule left out.
    padded = (1,) * (len(common) - len(target)) + target
    axes = tuple(k for k, size in enumerate(padded) if size == 1)
    expected = np.sum(spread, axis=axes, keepdims=True).reshape(target)
    assert found.shape == target
    np.testing.assert_array_equal(found, expected)


def test_gradients_have_the_dtype_of_their_argument() -> None:
    x, y = VECTOR.astype(np.float32), np.float64(2.0)
    g, h = grads(lambda x, y: np.sum(x * y), x, y)
    assert g.dtype == np.float32
    assert h.dtype == np.float64
    np.testing.assert_array_equal(g, np.full(3, 2.0, np.float32))


def test_a_cotangent_may_be_a_python_number() -> None:
    recording = run(lambda x: x, VECTOR).recording
    fitted = fit(0.5, ArrayType((2,), np.dtype("f4")), recording)
    assert (fitted.shape, fitted.dtype) == ((2,), np.float32)
    (value,) = interpret(recording.finish([fitted._value]), VECTOR)
    np.testing.assert_array_equal(value, np.full(2, 0.5, np.float32))


def test_a_dynamic_number_takes_part_and_has_no_gradient() -> None:
    started = run(lambda x, lr: np.sum(x * lr), VECTOR, 0.5)
    x, _ = started.inputs
    found = gradients(started.tensors, [x], [ones(started, started.tensors[0])])
    graph = started.finish(*found)
    np.testing.assert_array_equal(interpret(graph, VECTOR, 0.25)[-1], np.full(3, 0.25))


# None and zero


def test_what_is_not_connected_is_none() -> None:
    assert connected(lambda x, y: np.sum(x), VECTOR, VECTOR) == [True, False]
    assert connected(lambda x: np.sum(np.floor(x)), VECTOR) == [False]
    assert connected(lambda x: np.sum(x > 0), VECTOR) == [False]
    assert connected(lambda x: np.sum(x * 2), np.arange(3)) == [False]


def test_a_path_through_integers_is_none() -> None:
    assert connected(lambda x: np.sum(x.astype(np.int64).astype(np.float64)), VECTOR) == [False]


def test_an_output_that_is_an_input_has_the_seed() -> None:
    started = run(lambda x: x, VECTOR)
    (x,) = started.inputs
    seed = started.recording.argument("g", x.type)
    assert gradients([x], [x], [seed])[0] is seed
    assert gradients([x], [started.recording.argument("y", x.type)], [seed]) == [None]


def test_a_value_inside_has_a_gradient_and_passes_it_on() -> None:
    started = run(lambda x: x * 3.0, VECTOR)
    (x,), (h,) = started.inputs, started.tensors
    y = np.sum(h * h)
    found = gradients([y], [x, h], [ones(started, y)])
    assert all(g is not None for g in found)
    _, g, k = interpret(started.finish(*found), VECTOR)
    np.testing.assert_array_equal(k, 6.0 * VECTOR)
    np.testing.assert_array_equal(g, 18.0 * VECTOR)


# No rule


def test_an_op_without_a_rule_is_refused_with_its_line() -> None:
    def f(x: Any) -> Any:
        h = MYSTERY(x)
        return np.sum(h)

    with pytest.raises(NoGradientError, match="no gradient is known for mystery") as caught:
        differentiated(f, VECTOR)
    assert isinstance(caught.value, LookupError)
    assert "test_adjoint.py:" in str(caught.value)
    assert "h = MYSTERY(x)" in str(caught.value)


def test_an_op_without_a_rule_is_no_matter_off_the_path() -> None:
    started = run(lambda x, y: np.sum(x * MYSTERY(y)), VECTOR, VECTOR)
    x, y = started.inputs
    (found,) = gradients(started.tensors, [x], [ones(started, started.tensors[0])])
    assert found is not None
    with pytest.raises(NoGradientError):
        gradients(started.tensors, [y], [ones(started, started.tensors[0])])


def test_an_op_without_a_rule_is_no_matter_where_nothing_flows() -> None:
    def f(x: Any) -> Any:
        MYSTERY(x)
        return np.sum(np.floor(MYSTERY(x))) + np.sum(x)

    np.testing.assert_array_equal(grads(f, VECTOR)[0], np.ones(3))


# Complex


def test_the_gradient_of_a_real_loss_is_the_conjugate_cotangent() -> None:
    """dL = Re(conj(grad) * dz): of |z|^2 it is 2z, of Re(z) it is 1, of Im(z) it is i."""
    z = np.array([1 + 2j, -3 + 0.5j])
    (g,) = grads(lambda z: np.sum(np.real(z * np.conj(z))), z)
    np.testing.assert_allclose(g, 2 * z, rtol=1e-15)
    (g,) = grads(lambda z: np.sum(np.real(z)), z)
    np.testing.assert_array_equal(g, np.ones(2, complex))
    (g,) = grads(lambda z: np.sum(np.imag(z)), z)
    np.testing.assert_array_equal(g, np.full(2, 1j))


def test_a_holomorphic_function_has_the_conjugate_of_its_derivative() -> None:
    z = np.array([1 + 2j, -3 + 0.5j])
    (g,) = grads(lambda z: np.sum(np.exp(z)), z)
    np.testing.assert_allclose(g, np.conj(np.exp(z)), rtol=1e-15)


def test_a_real_argument_has_a_real_gradient() -> None:
    x, z = VECTOR, np.array([1 + 2j, 3j, -1.0])
    (g,) = grads(lambda x: np.sum(np.real(x * z * z)), x)
    assert g.dtype == np.float64
    np.testing.assert_allclose(g, np.real(z * z), rtol=1e-15)


def test_a_users_rule_sees_conjugated_cotangents() -> None:
    """The rule of w = z * c in the user's convention is g * conj(c)."""
    z, c = np.array([1 + 2j, -3 + 0.5j]), 2 - 1j
    seen: list[Any] = []

    def rule(g: Any) -> tuple[Any]:
        seen.append(g)
        return (g * np.conj(c),)

    def custom(z: Any) -> Any:
        return np.sum(np.real(override(z * c, [z], rule) * (1 + 1j)))

    (g,) = grads(custom, z)
    (expected,) = grads(lambda z: np.sum(np.real(z * c * (1 + 1j))), z)
    np.testing.assert_allclose(g, expected, rtol=1e-15)
    assert len(seen) == 1


# Markers


def test_nothing_flows_into_the_value_of_an_override() -> None:
    def f(x: Any) -> Any:
        return np.sum(override(np.exp(x), [x], lambda g: (g * 7.0,)))

    np.testing.assert_array_equal(grads(f, VECTOR)[0], np.full(3, 7.0))
    assert connected(lambda x: np.sum(override(x, [], lambda g: ())), VECTOR) == [False]


def test_a_rule_may_answer_none_and_is_not_asked_for_nothing() -> None:
    calls: list[Any] = []

    def rule(g: Any) -> tuple[Any, None]:
        calls.append(g)
        return g, None

    started = run(lambda x, y: np.sum(override(x * y, [x, y], rule)), VECTOR, VECTOR)
    seed = ones(started, started.tensors[0])
    one, other = gradients(started.tensors, started.inputs, [seed])
    assert one is not None
    assert other is None
    assert len(calls) == 1
    unrelated = started.recording.argument("z", started.inputs[0].type)
    assert gradients(started.tensors, [unrelated], [seed]) == [None]
    assert len(calls) == 1


def test_an_unused_result_has_zeros_for_a_cotangent_and_an_integer_one_none() -> None:
    seen: list[Any] = []

    def rule(*cotangents: Any) -> tuple[Any]:
        seen.extend(cotangents)
        return (cotangents[0],)

    marker = Marker("rule", "", rule)

    def f(x: Any, n: Any) -> Any:
        used, _, _ = OVERRIDE(x * 2.0, x * 3.0, n, x, outputs=3, grad=marker)
        return np.sum(used)

    started = run(f, VECTOR, np.arange(3))
    found = gradients(started.tensors, started.inputs[:1], [ones(started, started.tensors[0])])
    assert seen[2] is None
    graph = started.finish(*found, seen[1])
    np.testing.assert_array_equal(interpret(graph, VECTOR, np.arange(3))[-1], np.zeros(3))


def test_what_follows_a_marker_is_noted_in_its_line() -> None:
    def f(x: Any) -> Any:
        h = override(np.exp(x), [x], lambda g: (g * 7.0,), note="custom gradient")
        return np.sum(h)

    notes = [node.where.note for node in differentiated(f, VECTOR).nodes if node.where]
    assert notes[:2] == ["", ""]
    assert "custom gradient" in notes


# Higher order


def test_gradients_can_be_differentiated() -> None:
    started = run(lambda x: np.sum(np.tanh(x)), VECTOR)
    (y,), (x,) = started.tensors, started.inputs
    for _ in range(3):
        (g,) = gradients([y], [x], [ones(started, y)])
        assert g is not None
        y = np.sum(g)
    t = np.tanh(VECTOR)
    third = (1 - t * t) * (6 * t * t - 2)
    np.testing.assert_allclose(interpret(started.finish(g), VECTOR)[-1], third, rtol=1e-14)


# Tapes


def test_a_tape_follows_only_the_nodes_it_recorded() -> None:
    """As in TensorFlow: what was computed before the tape was opened is not part of it."""
    started = run(lambda x: x * 2.0, VECTOR)
    recording, (x,), (before,) = started.recording, started.inputs, started.tensors
    first, second = Window(), Window()
    first.watch(x._value)
    with recording.seen_by((first,)):
        within = x * 2.0
        with recording.seen_by((first, second)):
            both = within * before
    y = np.sum(both)
    seed = recording.argument("g", both.type)
    assert gradients([both], [x], [seed], second.nodes) == [None]
    (one,) = gradients([both], [x], [seed], first.nodes)
    (total,) = gradients([both], [x], [seed])
    assert gradients([y], [x], [ones(started, y)], first.nodes) == [None]
    graph = recording.finish([one._value, total._value])  # type: ignore[union-attr]
    ones_3 = np.ones(3)
    np.testing.assert_array_equal(interpret(graph, VECTOR, ones_3)[0], 4.0 * VECTOR)
    np.testing.assert_array_equal(interpret(graph, VECTOR, ones_3)[1], 8.0 * VECTOR)


# Recompute regions


def test_a_region_is_computed_again_in_the_reverse_pass() -> None:
    started = run(lambda x: x * 1.0, VECTOR)
    recording, (x,), (h,) = started.recording, started.inputs, started.tensors
    with recording.inside_region() as region:
        inside = np.exp(np.tanh(h))
    y = np.sum(inside * inside)
    (g,) = gradients([y], [x], [ones(started, y)])
    assert g is not None
    graph = verify(recording.finish([y._value, g._value]))
    forward = [node for node in graph.nodes if node.region == region]
    again = [node for node in graph.nodes if node.region not in (0, region)]
    assert [node.op.name for node in forward] == ["tanh", "exp"]
    assert [node.op.name for node in again] == ["tanh", "exp"]
    assert {node.where.note for node in again if node.where} == {RECOMPUTED}
    # What the reverse pass reads of the region are the clones; the originals end with the forward.
    first = graph.nodes.index(again[0])
    read = {value for node in graph.nodes[first:] for value in node.operands}
    assert not read & {value for node in forward for value in node.results}
    t = np.tanh(VECTOR)
    value, gradient = interpret(graph, VECTOR)
    np.testing.assert_allclose(value, np.sum(np.exp(t) ** 2), rtol=1e-14)
    np.testing.assert_allclose(gradient, 2 * np.exp(t) ** 2 * (1 - t * t), rtol=1e-14)


def test_a_region_that_no_cotangent_reaches_is_not_computed_again() -> None:
    started = run(lambda x: x * 1.0, VECTOR)
    recording, (x,) = started.recording, started.inputs
    with recording.inside_region():
        inside = np.floor(np.exp(x))
    y = np.sum(inside + x)
    gradients([y], [x], [ones(started, y)])
    assert sum(node.op.name == "exp" for node in recording.graph.nodes) == 1


def test_a_value_of_a_region_that_is_differentiated_by_stays_itself() -> None:
    started = run(lambda x: x * 1.0, VECTOR)
    recording, (x,) = started.recording, started.inputs
    with recording.inside_region():
        h = np.exp(x)
        y = np.sum(h * h * h)
    (g,) = gradients([y], [h], [ones(started, y)])
    assert g is not None
    z = np.sum(g)
    (second,) = gradients([z], [h], [ones(started, z)])
    assert second is not None
    graph = verify(recording.finish([second._value]))
    np.testing.assert_allclose(interpret(graph, VECTOR)[0], 6 * np.exp(VECTOR), rtol=1e-14)


def test_second_order_through_a_region() -> None:
    started = run(lambda x: x * 1.0, VECTOR)
    recording, (x,) = started.recording, started.inputs
    with recording.inside_region():
        inside = np.tanh(x)
    y = np.sum(inside)
    for _ in range(2):
        (g,) = gradients([y], [x], [ones(started, y)])
        assert g is not None
        y = np.sum(g)
    t = np.tanh(VECTOR)
    graph = verify(recording.finish([g._value]))
    np.testing.assert_allclose(interpret(graph, VECTOR)[0], -2 * t * (1 - t * t), rtol=1e-14)


# Names and places


def test_cotangents_are_called_after_their_values_and_cited_at_their_lines() -> None:
    def f(x: Any, b: Any) -> Any:
        h = np.tanh(x * b)
        s = np.sum(h * h)
        return s

    graph = differentiated(f, np.ones((2, 3)), VECTOR)
    names = [value.name for node in graph.nodes for value in node.results]
    assert "h_bar" in names
    assert [value.name for value in graph.outputs] == ["s", "x_bar", "b_bar"]
    lines = [node.where.short for node in graph.nodes if node.where]
    half = lines.index("f:2", lines.index("f:2") + 1)
    assert lines == sorted(lines[:half]) + sorted(lines[half:], reverse=True)
