"""The forward pass: linear, bilinear and written rules, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, run
from tracejit.autodiff.adjoint import gradients
from tracejit.autodiff.tangent import fit, tangents
from tracejit.errors import NoGradientError, UnsupportedError
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.markers import OVERRIDE, Marker
from tracejit.ops.op import Op

VECTOR = np.array([0.5, -1.0, 2.0])
DOT = np.array([1.0, 3.0, -2.0])
MYSTERY = Op(name="mystery", infer=lambda x: x, source="np.sinh({0})")


def pushed(call: Callable[..., Any], *args: Any) -> tuple[Graph, list[bool]]:
    """The graph of a call's tangents for tangents of its array arguments; which are not None."""
    started = run(call, *args)
    xs = [x for x in started.inputs if x.type.form != "weak"]
    dots = [started.recording.argument(f"v_{k}", x.type) for k, x in enumerate(xs)]
    found = tangents(started.tensors, xs, dots)
    graph = started.recording.finish([dot._value for dot in found if dot is not None])
    return verify(graph), [dot is not None for dot in found]


def jvp(call: Callable[..., Any], args: list[Any], dots: list[Any]) -> Any:
    """The tangent of a call's one result."""
    graph, present = pushed(call, *args)
    assert present == [True]
    return interpret(graph, *args, *dots)[0]


def test_rules_are_summed_over_the_operands() -> None:
    x, y = VECTOR, np.arange(6.0).reshape(2, 3)
    found = jvp(lambda x, y: x * y, [x, y], [DOT, np.ones((2, 3))])
    np.testing.assert_allclose(found, DOT * y + x, rtol=1e-15)


def test_a_linear_op_is_applied_to_the_tangent() -> None:
    x, v = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    graph, _ = pushed(lambda x: np.sum(x, axis=0), x)
    assert [node.op.name for node in graph.nodes] == ["sum", "sum"]
    np.testing.assert_array_equal(interpret(graph, x, v)[0], [2.0, 2.0, 2.0])


def test_zeros_stand_in_for_operands_of_a_linear_op_that_do_not_move() -> None:
    fixed = np.arange(2.0)
    found = jvp(lambda x: np.concatenate([x, fixed, x]), [VECTOR], [DOT])
    np.testing.assert_array_equal(found, np.concatenate([DOT, np.zeros(2), DOT]))


@pytest.mark.parametrize("other", [2.0, 2, np.float32(2.0), np.float64(np.inf), np.array(np.nan)])
def test_zeros_have_the_form_of_what_they_stand_for(other: Any) -> None:
    x, v = VECTOR.astype(np.float32), DOT.astype(np.float32)
    call: Callable[[Any], Any] = lambda x: np.where(x > 0, x, other)  # noqa: E731
    found = jvp(call, [x], [v])
    assert found.dtype == call(x).dtype
    np.testing.assert_array_equal(found, np.where(x > 0, v, 0.0))


def test_a_dynamic_number_does_not_move() -> None:
    found = jvp(lambda x, a: np.where(x > 0, x * a, a), [VECTOR, 3.0], [DOT])
    np.testing.assert_array_equal(found, np.where(VECTOR > 0, 3.0 * DOT, 0.0))


def test_a_bilinear_op_moves_one_operand_at_a_time() -> None:
    rng = np.random.default_rng(0)
    a, b, v, w = (rng.normal(size=shape) for shape in ((2, 3), (3, 4), (2, 3), (3, 4)))
    found = jvp(lambda a, b: a @ b, [a, b], [v, w])
    np.testing.assert_allclose(found, v @ b + a @ w, rtol=1e-14)


def test_a_tangent_is_fitted_to_its_primal() -> None:
    x = VECTOR.astype(np.float32)
    found = jvp(lambda x, y: x + y, [x, np.ones((2, 3))], [x, np.zeros((2, 3))])
    assert found.dtype == np.float64
    assert found.shape == (2, 3)
    recording = run(lambda x: x, VECTOR).recording
    for tangent in (0.5, np.float32(0.5), np.array([0.5 + 0j])):
        fitted = fit(tangent, ArrayType((2, 3), np.dtype("f4")), recording)
        assert (fitted.shape, fitted.dtype) == ((2, 3), np.float32)


def test_nothing_is_conjugated() -> None:
    z, v = np.array([1 + 2j, -3j]), np.array([1j, 2.0])
    np.testing.assert_allclose(jvp(lambda z: np.exp(z), [z], [v]), np.exp(z) * v, rtol=1e-15)
    found = jvp(lambda z: np.real(z) * np.imag(z), [z], [v])
    np.testing.assert_allclose(found, v.real * z.imag + z.real * v.imag, rtol=1e-15)
    found = jvp(lambda z: np.conj(z), [z], [v])
    np.testing.assert_array_equal(found, np.conj(v))


def test_what_is_not_connected_has_no_tangent() -> None:
    def f(x: Any, n: Any) -> list[Any]:
        return [np.floor(x), n * 2, x > 0, np.exp(x), x, n * 1.0]

    assert pushed(f, VECTOR, np.arange(3))[1] == [False, False, False, True, True, False]


def test_a_value_inside_may_be_moved() -> None:
    started = run(lambda x: x * 2.0, VECTOR)
    recording, (x,), (h,) = started.recording, started.inputs, started.tensors
    y = h * h
    v, w = recording.argument("v", x.type), recording.argument("w", h.type)
    (only,) = tangents([y], [h], [w])
    (both,) = tangents([y], [x, h], [v, w])
    assert only is not None
    assert both is not None
    graph = recording.finish([only._value, both._value])
    a, b = interpret(graph, VECTOR, DOT, np.ones(3))
    np.testing.assert_array_equal(a, 4.0 * VECTOR)
    np.testing.assert_array_equal(b, 4.0 * VECTOR * (2.0 * DOT + 1.0))


def test_only_what_the_results_need_is_differentiated() -> None:
    def f(x: Any) -> Any:
        MYSTERY(x)
        return np.exp(x)

    graph, _ = pushed(f, VECTOR)
    assert [node.op.name for node in graph.nodes] == ["mystery", "exp", "multiply"]


def test_an_op_without_a_rule_is_refused_with_its_line() -> None:
    def f(x: Any) -> Any:
        h = MYSTERY(x)
        return h * 2.0

    with pytest.raises(NoGradientError, match="no gradient is known for mystery") as caught:
        pushed(f, VECTOR)
    assert "h = MYSTERY(x)" in str(caught.value)


def test_a_stopped_value_has_no_tangent() -> None:
    marker = Marker("stop_gradient", "stopped", lambda *cotangents: ())
    call: Callable[[Any], Any] = lambda x: OVERRIDE(x, outputs=1, grad=marker)  # noqa: E731
    assert pushed(call, VECTOR)[1] == [False]
    found = jvp(lambda x: call(x) * x, [VECTOR], [DOT])
    np.testing.assert_array_equal(found, VECTOR * DOT)


def test_a_custom_gradient_is_refused_in_forward_mode_only() -> None:
    marker = Marker("clip", "", lambda g: (g,))

    def f(x: Any, y: Any) -> Any:
        return OVERRIDE(np.exp(x), x, outputs=1, grad=marker) * y

    with pytest.raises(UnsupportedError, match="forward mode through a custom gradient") as caught:
        pushed(f, VECTOR, VECTOR)
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith("clip ")
    started = run(f, VECTOR, VECTOR)
    (y,), (_, other) = started.tensors, started.inputs
    (found,) = tangents([y], [other], [other])
    assert found is not None


def test_tangents_are_called_after_their_values() -> None:
    def f(x: Any) -> Any:
        h = np.tanh(x)
        return h * h

    graph, _ = pushed(f, VECTOR)
    names = [value.name for node in graph.nodes for value in node.results]
    assert "h_dot" in names
    assert graph.outputs[0].name.endswith("_dot")


def test_forward_over_reverse_is_the_hessian_vector_product() -> None:
    started = run(lambda x: np.sum(np.exp(x) * x), VECTOR)
    recording, (x,), (y,) = started.recording, started.inputs, started.tensors
    (g,) = gradients([y], [x], [recording.argument("g", y.type)])
    assert g is not None
    (product,) = tangents([g], [x], [recording.argument("v", x.type)])
    assert product is not None
    graph = verify(recording.finish([product._value]))
    found = interpret(graph, VECTOR, np.float64(1.0), DOT)[0]
    np.testing.assert_allclose(found, np.exp(VECTOR) * (VECTOR + 2) * DOT, rtol=1e-14)


def test_reverse_over_forward_is_the_same() -> None:
    started = run(lambda x: np.exp(x) * x, VECTOR)
    recording, (x,), (y,) = started.recording, started.inputs, started.tensors
    (dot,) = tangents([y], [x], [recording.argument("v", x.type)])
    assert dot is not None
    (product,) = gradients([dot], [x], [recording.argument("g", dot.type)])
    assert product is not None
    graph = verify(recording.finish([product._value]))
    found = interpret(graph, VECTOR, DOT, np.ones(3))[0]
    np.testing.assert_allclose(found, np.exp(VECTOR) * (VECTOR + 2) * DOT, rtol=1e-14)
