"""The forward pass: linear, bilinear and written rules, rules of the user's transposed, and what it
refuses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import Run, interpret, run
from tests.ops.program import inner
from tests.rows import each_row
from tests.support.graphs import ops_of
from tracejit.autodiff.forward.tangent import fit, tangents
from tracejit.autodiff.reverse.adjoint import RECOMPUTED, gradients
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.base.op import Op
from tracejit.ops.control.marker_ops import OVERRIDE, Marker
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.errors import NoGradientError, RuleError, RuleTypeError

VECTOR = np.array([0.5, -1.0, 2.0])
DOT = np.array([1.0, 3.0, -2.0])
MYSTERY = Op(name="mystery", infer=lambda x: x, source="np.sinh({0})")


def start(call: Callable[..., Any], *args: Any) -> Run:
    """A call under the recorder, which is entered meanwhile."""

    @functools.wraps(call)
    def entered(*inputs: Any) -> Any:
        with inputs[0]._recording:
            return call(*inputs)

    return run(entered, *args)


def pushed(call: Callable[..., Any], *args: Any, order: int = 1) -> tuple[Graph, list[bool]]:
    """The graph of a call's tangents for tangents of its array arguments, or of theirs in turn, for
    other ones; which are not None."""
    started = start(call, *args)
    xs = [x for x in started.inputs if x.type.form != "weak"]
    found: list[Any] = started.tensors
    with started.recording:
        for _ in range(order):
            dots = [started.recording.argument(f"v_{k}", x.type) for k, x in enumerate(xs)]
            found = tangents([y for y in found if y is not None], xs, dots)
    graph = started.recording.finish([dot._value for dot in found if dot is not None])
    return verify(graph), [dot is not None for dot in found]


def jvp(call: Callable[..., Any], args: list[Any], dots: list[Any], order: int = 1) -> Any:
    """The tangent of a call's one result; of second order, the tangent of that along the same
    directions."""
    graph, present = pushed(call, *args, order=order)
    assert present == [True]
    return interpret(graph, *args, *dots * order)[0]


def assert_transposed(call: Callable[..., Any], *args: Any) -> None:
    """<gradients of <g, y>, v> is <g, tangent of y along v> for random g and v."""
    rng = np.random.default_rng(3)

    def random(shape: tuple[int, ...], dtype: Any) -> Any:
        drawn = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        return np.asarray(drawn if np.dtype(dtype).kind == "c" else drawn.real).astype(dtype)

    started = start(call, *args)
    recording, xs, ys = started.recording, started.inputs, started.tensors
    with recording:
        seeds = [recording.argument("g", y.type) for y in ys]
        dots = [recording.argument("v", x.type) for x in xs]
        outputs: list[Any] = [*gradients(ys, xs, seeds), *tangents(ys, xs, dots)]
    assert all(output is not None for output in outputs)
    graph = verify(recording.finish([output._value for output in outputs]))
    assert "identity" not in {node.op.name for node in drop_dead(graph).nodes}
    g = [random(y.shape, y.dtype)[()] if not y.shape else random(y.shape, y.dtype) for y in ys]
    v = [random(x.shape, x.dtype) for x in xs]
    found = interpret(graph, *args, *g, *v)
    reverse = sum(map(inner, found[: len(xs)], v))
    forward = sum(map(inner, g, found[len(xs) :]))
    assert abs(forward) > 1e-3
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)


def custom(value: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """The function `value` with the gradient `rule(*cotangents, *arguments)`."""

    @tj.custom_gradient
    def marked(*args: Any) -> Any:
        return value(*args), lambda *gs: rule(*gs, *args)

    return marked


def test_rules_are_summed_over_the_operands() -> None:
    x, y = VECTOR, np.arange(6.0).reshape(2, 3)
    found = jvp(lambda x, y: x * y, [x, y], [DOT, np.ones((2, 3))])
    np.testing.assert_allclose(found, DOT * y + x, rtol=1e-15)


def test_a_linear_op_is_applied_to_the_tangent() -> None:
    x, v = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    graph, _ = pushed(lambda x: np.sum(x, axis=0), x)
    assert ops_of(graph) == ["sum", "sum"]
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
    assert ops_of(graph) == ["mystery", "exp", "multiply"]


def test_an_op_without_a_rule_is_refused_with_its_line() -> None:
    def f(x: Any) -> Any:
        h = MYSTERY(x)
        return h * 2.0

    with pytest.raises(NoGradientError, match="no gradient is known for mystery") as caught:
        pushed(f, VECTOR)
    assert "h = MYSTERY(x)" in str(caught.value)


def test_a_rule_that_gives_up_names_the_line() -> None:
    def f(a: Any) -> Any:
        u = np.linalg.svd(a)[0]
        return u

    with pytest.raises(NoGradientError, match="full_matrices=True") as caught:
        pushed(f, np.ones((2, 3)))
    assert "u = np.linalg.svd(a)[0]" in str(caught.value)


def test_a_stopped_value_has_no_tangent() -> None:
    marker = Marker("stop_gradient", "stopped", lambda *cotangents: ())
    call: Callable[[Any], Any] = lambda x: OVERRIDE(x, outputs=1, grad=marker)  # noqa: E731
    assert pushed(call, VECTOR)[1] == [False]
    found = jvp(lambda x: call(x) * x, [VECTOR], [DOT])
    np.testing.assert_array_equal(found, VECTOR * DOT)


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


def test_what_feeds_only_what_disconnects_needs_no_rule() -> None:
    def f(x: Any) -> Any:
        return np.floor(MYSTERY(x)) + MYSTERY(x).astype(int) + x

    assert jvp(f, [VECTOR], [DOT]).tolist() == DOT.tolist()


# Custom gradients: the transpose of the rule

MATRIX = np.arange(6.0).reshape(3, 2) - 2.5


DIVIDED = Op(
    name="divided",
    infer=lambda x, y: x,
    vjp=(lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z / y),
    source="{0} / {1}",
)
PARTS = Op(
    name="parts",
    infer=lambda x: (x, x),
    vjp=lambda g, y, x: g[0] * np.cos(x) if g[1] is None else g[0] * np.cos(x) + g[1] / x,
    source="(np.sin({0}), np.log({0}))",
)


def test_an_op_without_a_rule_for_it_takes_the_transpose_of_its_vjp() -> None:
    x, y, v, w = VECTOR, VECTOR + 4.0, DOT, DOT[::-1]
    found = jvp(lambda x, y: DIVIDED(x, y), [x, y], [v, w])
    np.testing.assert_allclose(found, v / y - x * w / y**2, rtol=1e-15)
    twice = jvp(lambda x, y: DIVIDED(x, y), [x, y], [v, w], order=2)
    np.testing.assert_allclose(twice, 2 * x * w**2 / y**3 - 2 * v * w / y**2, rtol=1e-14)
    sine = jvp(lambda x: PARTS(x)[0], [y], [v])
    np.testing.assert_array_equal(sine, np.cos(y) * v)
    graph, present = pushed(lambda x: PARTS(x), y)
    assert present == [True, True]
    np.testing.assert_allclose(interpret(graph, y, v), [np.cos(y) * v, v / y], rtol=1e-15)


def test_what_only_the_rule_before_it_is_transposed_asks_for_is_not_computed() -> None:
    f = tj.function(lambda a, v: tuple(tj.jvp(np.linalg.qr, (a,), (v,))[1]), cache=False)
    f(np.eye(2) + 1.0, np.ones((2, 2)))
    assert f.source.count("linalg.solve(") == 1


def test_a_rule_is_what_counts_and_not_the_function() -> None:
    ten = custom(lambda x: x**3, lambda dy, x: 10.0 * dy)
    np.testing.assert_array_equal(jvp(ten, [VECTOR], [DOT]), 10.0 * DOT)
    times = custom(lambda x: x**3, lambda dy, x: x * dy)
    np.testing.assert_array_equal(jvp(times, [VECTOR], [DOT]), VECTOR * DOT)
    chained = jvp(lambda x: np.exp(times(2.0 * x)), [VECTOR], [DOT])
    y = np.exp((2.0 * VECTOR) ** 3)
    np.testing.assert_allclose(chained, y * (2.0 * VECTOR) * (2.0 * DOT), rtol=1e-15)


def test_a_rule_of_two_inputs_and_two_outputs() -> None:
    rotated = custom(
        lambda x, y: (x + y, x * y),
        lambda da, db, x, y: (2.0 * da + 3.0 * y * db, 5.0 * da - x * db),
    )
    graph, present = pushed(lambda x, y: rotated(x, y), VECTOR, MATRIX[:, 0])
    x, y, v, w = VECTOR, MATRIX[:, 0], DOT, np.ones(3)
    assert present == [True, True]
    a, b = interpret(graph, x, y, v, w)
    np.testing.assert_array_equal(a, 2.0 * v + 5.0 * w)
    np.testing.assert_array_equal(b, 3.0 * y * v - x * w)
    assert_transposed(rotated, x, y)


def test_a_result_no_gradient_depends_on_has_a_tangent_of_zero() -> None:
    f = custom(lambda x: (x * 1.0, x * 2.0), lambda da, db, x: 3.0 * da)
    assert pushed(lambda x: f(x), VECTOR)[1] == [True, True]
    np.testing.assert_array_equal(jvp(lambda x: f(x)[1], [VECTOR], [DOT]), np.zeros(3))


def test_a_rule_of_matrices() -> None:
    dense = custom(
        lambda x, w, b: x @ w + b, lambda dy, x, w, b: (dy @ w.T, x.T @ dy, np.sum(dy, axis=0))
    )
    x, w, b = np.arange(12.0).reshape(4, 3), MATRIX, np.ones(2)
    v, u, c = np.ones((4, 3)), MATRIX**2, np.array([1.0, -1.0])
    np.testing.assert_allclose(jvp(dense, [x, w, b], [v, u, c]), v @ w + x @ u + c, rtol=1e-15)
    assert_transposed(dense, x, w, b)


@pytest.mark.parametrize(
    "rule",
    [
        lambda dy, x: dy[::-1],
        lambda dy, x: np.where(x > 0, dy, 0.0),
        lambda dy, x: np.where(x > 0, 0, dy),
        lambda dy, x: np.where(x > 0, 2.0 * dy, -dy),
        lambda dy, x: np.where(x > 0, dy, np.zeros_like(x)),
        lambda dy, x: dy * (x > 0),
        lambda dy, x: dy - np.mean(dy),
        lambda dy, x: dy / np.linalg.norm(x),
        lambda dy, x: np.concatenate([dy[1:], np.zeros(1)]),
        lambda dy, x: np.stack([dy[0], x[0] * dy[1], 0.0]),
        lambda dy, x: np.cumsum(dy) @ np.outer(x, x),
        lambda dy, x: np.einsum("i,ij,j->i", x, np.outer(x, x), dy),
        lambda dy, x: np.linalg.solve(np.eye(3) + np.outer(x, x), dy),
        lambda dy, x: np.pad(dy, 1)[2:],
        lambda dy, x: np.degrees(-dy),
        lambda dy, x: dy + 0.0 * x,
        lambda dy, x: dy + 0 - np.zeros(3),
        lambda dy, x: tj.recompute_grad(lambda g: np.sin(x) * g / 3.0)(dy),
        lambda dy, x: tj.stop_gradient(dy) * np.exp(x),
    ],
)
def test_the_tangent_is_the_transpose_of_the_rule(rule: Callable[..., Any]) -> None:
    assert_transposed(custom(lambda x: np.sin(x), rule), VECTOR)


def test_complex_numbers_need_no_conjugation_outside_the_rule() -> None:
    z, v, a = np.array([1 + 2j, -3 + 0.5j]), np.array([1j, 2.0 - 1j]), np.array([2 - 1j, 1j])
    times = custom(lambda z: a * z, lambda g, z: g * np.conj(a))
    np.testing.assert_allclose(jvp(times, [z], [v]), a * v, rtol=1e-15)
    conjugated = custom(lambda z: np.conj(z), lambda g, z: np.conj(g))
    np.testing.assert_array_equal(jvp(conjugated, [z], [v]), np.conj(v))
    real = custom(lambda z: np.real(z), lambda g, z: g + 0j)
    np.testing.assert_array_equal(jvp(real, [z], [v]), v.real)
    imaginary = custom(lambda z: np.imag(z), lambda g, z: 1j * g)
    np.testing.assert_array_equal(jvp(imaginary, [z], [v]), v.imag)
    from_real = custom(lambda x: x * (2 + 3j), lambda g, x: np.real(g * np.conj(2 + 3j)))
    np.testing.assert_array_equal(jvp(from_real, [VECTOR], [DOT]), DOT * (2 + 3j))
    for f, x in ((times, z), (conjugated, z), (real, z), (imaginary, z), (from_real, VECTOR)):
        assert_transposed(f, x)


def test_a_complex_result_of_pass_through_is_real_where_its_input_is() -> None:
    spread = tj.grad_pass_through(lambda x: x * (1 + 1j))
    found = jvp(lambda x: spread(x), [VECTOR], [DOT])
    assert found.dtype == np.complex128
    np.testing.assert_array_equal(found, DOT)


def test_none_for_an_input_disconnects_it() -> None:
    f = custom(lambda x, y: x * y, lambda dy, x, y: (None, 3.0 * dy))
    np.testing.assert_array_equal(jvp(f, [VECTOR, VECTOR], [DOT, np.ones(3)]), np.full(3, 3.0))
    assert pushed(lambda x: f(x, x * 0.0 + 1.0), VECTOR)[1] == [True]
    assert pushed(lambda x: f(x, np.ones(3)), VECTOR)[1] == [False]
    nothing = custom(lambda x: x * 2.0, lambda dy, x: None)
    assert pushed(lambda x: nothing(x), VECTOR)[1] == [False]


def test_the_same_tensor_twice_is_two_inputs() -> None:
    f = custom(lambda x, y: x * y, lambda dy, x, y: (2.0 * dy, 5.0 * dy))
    np.testing.assert_array_equal(jvp(lambda x: f(x, x), [VECTOR], [DOT]), 7.0 * DOT)
    same = custom(lambda x, y: x * y, lambda dy, x, y: (dy, dy))
    np.testing.assert_array_equal(jvp(lambda x: same(x, x), [VECTOR], [DOT]), 2.0 * DOT)


def test_an_input_that_is_an_output() -> None:
    f = custom(lambda x: x, lambda dy, x: -dy)
    np.testing.assert_array_equal(jvp(lambda x: f(x), [VECTOR], [DOT]), -DOT)
    np.testing.assert_array_equal(jvp(lambda x: f(f(x)) + x, [VECTOR], [DOT]), 2.0 * DOT)
    swap = custom(lambda x, y: (y, x), lambda da, db, x, y: (2.0 * db, 3.0 * da))
    graph, _ = pushed(lambda x, y: swap(x, y), VECTOR, VECTOR)
    a, b = interpret(graph, VECTOR, VECTOR, DOT, np.ones(3))
    np.testing.assert_array_equal(a, np.full(3, 3.0))
    np.testing.assert_array_equal(b, 2.0 * DOT)


def test_tangents_keep_the_precision_of_their_results() -> None:
    wide = custom(lambda x: x * 2.0, lambda dy, x: dy.astype("f8") * 0.1)
    found = jvp(wide, [VECTOR.astype("f4")], [DOT.astype("f4")])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, (DOT * 0.1).astype("f4"))


def test_an_output_that_depends_on_no_input() -> None:
    f = custom(lambda x: np.ones(3), lambda dy, x: 14.0 * dy)
    np.testing.assert_array_equal(jvp(lambda x: f(x), [VECTOR], [DOT]), 14.0 * DOT)


def test_the_body_is_never_differentiated() -> None:
    f = custom(lambda x: MYSTERY(np.floor(x)), lambda dy, x: 3.0 * dy)
    np.testing.assert_array_equal(jvp(lambda x: f(x), [VECTOR], [DOT]), 3.0 * DOT)


def test_a_rule_sees_each_cotangent_in_the_form_of_its_result() -> None:
    seen: list[Any] = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        def grad(*gs: Any) -> Any:
            seen.extend(None if g is None else g.type for g in gs)
            return gs[0] * np.ones(3) + gs[3] * gs[3].dtype.type(1)

        value = np.sum(x), np.argmax(x), x > 0, x.astype(np.float32), np.sum(x, keepdims=True)[:0]
        return value, grad

    started = start(lambda x: f(x)[0] * 2.0, VECTOR)
    with started.recording:
        (dot,) = tangents(started.tensors, started.inputs, started.inputs)
    assert dot is not None
    override = next(node for node in started.recording.graph.nodes if node.op is OVERRIDE)
    types = [result.type for result in override.results]
    assert seen == [type if type.is_inexact else None for type in types]
    assert types[0].form == "scalar"


def test_a_rule_is_not_asked_for_what_does_not_move() -> None:
    calls: list[Any] = []

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return (x * 1.0, np.argmax(x)), lambda *gs: calls.append(gs)

    def g(x: Any, y: Any) -> Any:
        value, index = f(x)
        return index * 1.0 + value[index] * 0.0, y

    started = start(g, VECTOR, VECTOR)
    y = started.inputs[1]
    with started.recording:
        assert tangents(started.tensors, [y], [y]) == [None, y]
        only_places = start(lambda x: f(x)[1], VECTOR)
    with only_places.recording:
        assert tangents(only_places.tensors, only_places.inputs, only_places.inputs) == [None]
    assert calls == []


def test_only_gradients_of_what_moves_must_be_linear() -> None:
    f = custom(lambda x, y: x * y, lambda dy, x, y: (2.0 * dy, np.clip(dy, -1.0, 1.0)))
    np.testing.assert_array_equal(jvp(lambda x: f(x, VECTOR), [VECTOR], [DOT]), 2.0 * DOT)
    with pytest.raises(RuleTypeError):
        jvp(lambda y: f(VECTOR, y), [VECTOR], [DOT])


def test_a_rule_that_answers_with_the_wrong_shape_is_refused_as_in_reverse_mode() -> None:
    f = custom(lambda x: np.sum(x), lambda dy, x: np.ones(2) * dy)
    with pytest.raises(RuleError, match=r"returned shape \(2,\) for args"):
        pushed(lambda x: f(x), VECTOR)


# Pass-through and stopped gradients


def test_rounding_passes_the_tangent_through() -> None:
    rounded = tj.grad_pass_through(np.round)
    np.testing.assert_array_equal(jvp(lambda x: rounded(x), [VECTOR], [DOT]), DOT)
    found = jvp(lambda x: rounded(3.0 * x) ** 2, [VECTOR], [DOT])
    np.testing.assert_array_equal(found, 2.0 * np.round(3.0 * VECTOR) * 3.0 * DOT)
    narrow = tj.grad_pass_through(lambda x: x.astype(np.float32))
    found = jvp(lambda x: narrow(x), [VECTOR], [DOT])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, DOT)


def test_a_stopped_gradient_has_no_tangent_in_a_rule_either() -> None:
    assert pushed(lambda x: tj.stop_gradient(x), VECTOR)[1] == [False]
    times = custom(lambda x: x * x, lambda dy, x: dy * tj.stop_gradient(x))
    np.testing.assert_array_equal(jvp(times, [VECTOR], [DOT]), VECTOR * DOT)
    assert pushed(times, VECTOR, order=2)[1] == [False]


# Rules that are not linear


def refused(rule: Callable[..., Any]) -> str:
    """What the error says of a rule in forward mode; reverse mode takes it."""

    @tj.custom_gradient
    def crooked(x: Any) -> Any:
        return x * 2.0, lambda dy: rule(dy, x)

    def f(x: Any) -> Any:
        h = crooked(np.exp(x))
        return h * 3.0

    reverse = start(f, VECTOR)
    with reverse.recording:
        (g,) = gradients(reverse.tensors, reverse.inputs, reverse.inputs)
    assert g is not None
    with pytest.raises(TypeError) as caught:
        pushed(f, VECTOR)
    assert type(caught.value) is RuleTypeError
    first, line, *_, why, fix = str(caught.value).splitlines()
    assert line.endswith("h = crooked(np.exp(x))")
    assert line.startswith("  test_tangent.py:")
    assert "forward mode transposes the rule" in why
    assert "tj.grad, tj.vjp, tj.GradientTape" in fix
    start_of_it = "the gradient rule of crooked is not linear in its cotangent: "
    assert first.startswith(start_of_it)
    return first.removeprefix(start_of_it).removesuffix(".")


@each_row(
    ("rule", "problem"),
    [
        (lambda dy, x: np.clip(dy, -1.0, 1.0), "it goes into clip"),
        (lambda dy, x: dy * dy, "it goes into multiply more than once"),
        (lambda dy, x: dy**2 / 2.0, "it goes into pow_to"),
        (lambda dy, x: dy * (np.abs(dy) < 1), "it goes into absolute"),
        (lambda dy, x: dy * (dy < 1), "it goes into less"),
        (lambda dy, x: np.where(dy > x, dy, 0.0), "it goes into greater"),
        (lambda dy, x: np.where(dy, x, 0.0), "it goes into where"),
        (lambda dy, x: np.sign(dy), "it goes into sign"),
        (lambda dy, x: dy + np.floor(dy), "it goes into floor"),
        (lambda dy, x: np.fmod(dy, x), "it goes into fmod"),
        (lambda dy, x: np.modf(dy)[0], "it goes into modf"),
        (lambda dy, x: dy.astype(int) * 1.0, "it goes into astype"),
        (lambda dy, x: x / dy, "it goes into divide"),
        (lambda dy, x: dy / np.linalg.norm(dy), "it goes into norm"),
        (lambda dy, x: dy / np.sum(dy), "it goes into divide more than once"),
        (lambda dy, x: np.sort(dy), "it goes into sort"),
        (lambda dy, x: np.linalg.svd(np.outer(dy, x)[:2])[2][0], "it goes into svd"),
        (lambda dy, x: tj.grad_pass_through(np.rint)(dy), "it goes into rint"),
        (lambda dy, x: dy + 1, "add joins it with a value that does not depend on it"),
        (lambda dy, x: x - dy, "subtract joins it with a value that does not depend on it"),
        (
            lambda dy, x: np.where(x > 0, dy, 1),
            "where joins it with a value that does not depend on it",
        ),
        (
            lambda dy, x: np.concatenate([dy[1:], x[:1]]),
            "concatenate joins it with a value that does not depend on it",
        ),
        (lambda dy, x: np.pad(dy, 1, constant_values=1.0)[2:], "it goes into pad"),
        (lambda dy, x: dy**0, "it goes into pow_to"),
        (lambda dy, x: 5.0, "a gradient that is returned does not depend on it"),
        (lambda dy, x: np.ones(3), "a gradient that is returned does not depend on it"),
        (lambda dy, x: x, "a gradient that is returned does not depend on it"),
    ],
)
def test_a_rule_that_is_not_linear_is_refused(rule: Callable[..., Any], problem: str) -> None:
    assert refused(rule) == problem


@pytest.mark.parametrize(
    "rule",
    [
        lambda dy, x: 0.0,
        lambda dy, x: 0,
        lambda dy, x: np.zeros(3),
        lambda dy, x: np.zeros_like(x),
        lambda dy, x: np.zeros_like(dy)[::-1],
        lambda dy, x: 0.0 * x,
    ],
)
def test_a_gradient_of_zero_is_a_computed_zero(rule: Callable[..., Any]) -> None:
    f = custom(lambda x: x * 2.0, rule)
    assert pushed(f, VECTOR)[1] == [True]
    np.testing.assert_array_equal(jvp(f, [VECTOR], [DOT]), np.zeros(3))


def test_what_a_rule_computes_besides_is_no_matter() -> None:
    def rule(dy: Any, x: Any) -> Any:
        inner = custom(lambda z: np.cos(x) * dy, lambda gg, z: gg)
        return inner(np.clip(dy, 0.0, 1.0))

    found = jvp(custom(lambda x: np.sin(x), rule), [VECTOR], [DOT])
    np.testing.assert_allclose(found, np.cos(VECTOR) * DOT, rtol=1e-15)


# Overrides in rules, and higher order


@tj.custom_gradient
def fused(x: Any) -> Any:
    """x**3 with its first and second derivative by hand, as documented."""
    y, x_grad = x**3, 3.0 * x**2

    def first_order(dy: Any) -> Any:
        @tj.custom_gradient
        def first_order_custom(unused: Any) -> Any:
            # 100 times the truth: it must be used.
            return x_grad, lambda ddy: 600.0 * x * ddy

        return dy * first_order_custom(x)

    return y, first_order


def test_the_fused_pattern_is_transposed_and_its_second_order_used() -> None:
    two, one = np.float64(2.0), np.float64(1.0)
    assert jvp(lambda x: fused(x), [two], [one]) == 12.0
    assert jvp(lambda x: fused(x), [two], [one], order=2) == 1200.0


def test_an_override_that_the_cotangent_passes_is_its_value() -> None:
    """Its rule is for what differentiates it: here nothing does."""

    @tj.custom_gradient
    def clipped(g: Any) -> Any:
        return 2.0 * g, lambda gg: np.clip(gg, -0.1, 0.1)

    f = custom(lambda x: x**2, lambda dy, x: clipped(dy) * x)
    np.testing.assert_array_equal(jvp(f, [VECTOR], [DOT]), 2.0 * VECTOR * DOT)
    np.testing.assert_array_equal(jvp(f, [VECTOR], [DOT], order=2), 2.0 * DOT * DOT)


def test_the_tangent_of_a_tangent_differentiates_the_rule() -> None:
    square = custom(lambda x: x * x, lambda dy, x: dy * 2.0 * x * np.sin(x))
    found = jvp(square, [VECTOR], [DOT], order=2)
    slope = 2.0 * np.sin(VECTOR) + 2.0 * VECTOR * np.cos(VECTOR)
    np.testing.assert_allclose(found, slope * DOT**2, rtol=1e-14)
    third = jvp(square, [VECTOR], [DOT], order=3)
    slope = 4.0 * np.cos(VECTOR) - 2.0 * VECTOR * np.sin(VECTOR)
    np.testing.assert_allclose(third, slope * DOT**3, rtol=1e-14)


@pytest.mark.parametrize("forward_first", [True, False])
def test_forward_and_reverse_mix_at_a_rule(forward_first: bool) -> None:
    square = custom(lambda x: x * x, lambda dy, x: dy * 2.0 * x * np.sin(x))
    started = start(lambda x: square(x), VECTOR)
    recording, (x,), (y,) = started.recording, started.inputs, started.tensors
    v, g = recording.argument("v", x.type), recording.argument("g", y.type)
    with recording:
        if forward_first:
            (dot,) = tangents([y], [x], [v])
            assert dot is not None
            (product,) = gradients([dot], [x], [g])
        else:
            (bar,) = gradients([y], [x], [g])
            assert bar is not None
            (product,) = tangents([bar], [x], [v])
    assert product is not None
    graph = verify(recording.finish([product._value]))
    slope = 2.0 * np.sin(VECTOR) + 2.0 * VECTOR * np.cos(VECTOR)
    found = interpret(graph, VECTOR, DOT, np.ones(3))[0]
    np.testing.assert_allclose(found, slope * DOT, rtol=1e-14)


# What stands in the code


def test_no_placeholder_is_left_and_lines_are_noted() -> None:
    @tj.custom_gradient
    def f(x: Any) -> Any:
        return np.sin(x), lambda dy: np.cos(x) * dy / 3.0

    def g(x: Any) -> Any:
        h = f(x)
        return np.exp(h)

    graph = drop_dead(pushed(g, VECTOR)[0])
    names = ops_of(graph)
    assert "identity" not in names
    assert "full" not in names
    (divide,) = (node for node in graph.nodes if node.op.name == "divide")
    multiplied = next(node for node in graph.nodes if node.op.name == "multiply")
    assert divide.where is not None
    assert multiplied.where is not None
    rule = "return np.sin(x), lambda dy: np.cos(x) * dy / 3.0"
    assert (divide.where.text, divide.where.note) == (rule, "custom gradient")
    assert multiplied.where.note == "custom gradient"
    assert multiplied.results[0].name == "h_dot"
    exponential = graph.outputs[0].node
    assert exponential is not None
    assert exponential.where is not None
    assert exponential.where.note == ""


def test_only_tangents_are_named() -> None:
    def f(x: Any) -> Any:
        h = 3.0 * x
        q = tj.grad_pass_through(np.rint)(h)
        y = custom(lambda q: np.exp(q), lambda dy, q: np.mean(dy) * np.tanh(q))(q)
        return y * y

    names = [value.name for value in drop_dead(pushed(f, VECTOR)[0]).values()]
    assert {"h_dot", "y_dot"} <= set(names)
    assert [name for name in names if "bar" in name] == []


def test_a_region_is_computed_once() -> None:
    def rule(dy: Any, x: Any) -> Any:
        return tj.recompute_grad(lambda g: np.tanh(x) * g)(dy)

    f = custom(lambda x: np.exp(x), rule)

    def g(x: Any) -> Any:
        h = tj.recompute_grad(lambda x: f(np.sin(x)))(x)
        return h * h

    graph = pushed(g, VECTOR)[0]
    assert [node for node in graph.nodes if node.where and node.where.note == RECOMPUTED] == []
    names = [node.op.name for node in drop_dead(graph).nodes]
    assert (names.count("sin"), names.count("tanh")) == (1, 1)
    y = np.exp(np.sin(VECTOR))
    slope = 2.0 * y * np.tanh(np.sin(VECTOR)) * np.cos(VECTOR)
    np.testing.assert_allclose(jvp(g, [VECTOR], [DOT]), slope * DOT, rtol=1e-14)
    assert_transposed(g, VECTOR)
