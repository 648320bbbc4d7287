"""The function that is compiled, by itself: its name, its arguments, what is asked of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret
from tests.support.compare import assert_same
from tracejit.autodiff.request.request import Request, rebuild
from tracejit.specialise.callee import Callee, Form
from tracejit.support.errors import ArityError, GradientError, TracejitError
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import Call
from tracejit.trace.recording.record import Recording

X = np.array([1.0, -2.0, 3.0])
Y = np.array([3.0, 0.25, -1.0])


def scaled(x: Any, weights: Any, factor: float = 2.0) -> Any:
    return np.sum(x * weights["w"] * factor)


def leaf_names(callee: Callee, *args: Any) -> list[str]:
    call, _ = callee.take_apart(callee.bind(args, {}))
    return sorted(callee.differentiated(call))


@pytest.mark.parametrize(
    ("python", "given", "name"),
    [
        (scaled, None, "scaled"),
        (lambda x: x, None, "lambda_"),
        (scaled, "other", "other"),
        (np.sin, None, "sin"),
        (scaled, "for", "for_"),
    ],
)
def test_the_name_in_generated_code(python: Any, given: str | None, name: str) -> None:
    assert Callee(python, options=Options(name=given)).name == name


def test_arguments_are_bound_with_the_defaults_of_now() -> None:
    def f(x: Any, k: float = 1.0) -> Any:
        return x * k

    callee = Callee(f)
    assert callee.bind((3.0,), {}) == {"x": 3.0, "k": 1.0}
    f.__defaults__ = (5.0,)
    assert callee.bind((3.0,), {}) == {"x": 3.0, "k": 1.0}
    callee.refresh()
    assert callee.bind((3.0,), {}) == {"x": 3.0, "k": 5.0}


def test_a_call_with_too_few_arguments_is_no_call() -> None:
    callee = Callee(scaled)
    with pytest.raises(ArityError, match="scaled"):
        callee.bind((X,), {})


def test_a_type_error_of_the_entry_is_one_of_arity_and_one_inside_is_not() -> None:
    callee = Callee(lambda x: len(x) + 1)
    try:
        callee.python(1, 2)
    except TypeError as error:
        assert isinstance(callee.misfit(error, (1, 2), {}), ArityError)
        assert callee.misfit(error, (1,), {}) is None
    try:
        callee.python(1)
    except TypeError as error:
        assert callee.misfit(error, (1, 2), {}) is None


def test_who_answers_besides_a_kernel() -> None:
    gradient = Request("grad", (0,))
    assert Callee(scaled).form is Form.PLAIN
    assert Callee(scaled, gradient).form is Form.GRADIENT
    assert not Callee(scaled, gradient).is_transform
    assert Callee(scaled, form=Form.TRANSFORM).is_transform
    assert Callee(scaled, form=Form.RECORDED).is_transform


def test_the_leaves_that_are_differentiated() -> None:
    args = X, {"w": X, "b": X}
    assert leaf_names(Callee(scaled), *args) == []
    assert leaf_names(Callee(scaled, Request("grad", (0,))), *args) == ["x"]
    assert leaf_names(Callee(scaled, Request("grad", (0, 1))), *args) == ["b", "w", "x"]
    assert leaf_names(Callee(scaled, Request("grad", (), ("weights",))), *args) == ["b", "w"]
    with pytest.raises(GradientError, match="scaled"):
        leaf_names(Callee(scaled, Request("grad", (7,))), *args)


def test_variables_are_read_where_a_gradient_is_taken() -> None:
    variable = tj.Variable(X)
    plain, _ = Callee(np.sin).take_apart({"x": variable})
    assert plain.leaves[0].value is variable
    taken, _ = Callee(scaled, Request("grad", (0,))).take_apart({"x": variable})
    np.testing.assert_array_equal(taken.leaves[0].value.numpy(), X)


def test_the_request_is_answered_on_eager_tensors() -> None:
    callee = Callee(lambda x: np.sum(x**2), Request("value_and_grad", (0,)))
    value, slope = callee.run_eagerly({"x": tj.constant(X)})
    assert_same(value.numpy(), np.sum(X**2))
    assert_same(slope.numpy(), 2.0 * X)


def test_the_request_is_answered_in_a_recording() -> None:
    inner = Callee(lambda x: np.sum(x**2), Request("value_and_grad", (0,)))

    @tj.function
    def outer(x: Any) -> Any:
        recording = x._recording
        return inner.inline({"x": x * 2.0}, recording)

    value, slope = outer(X)
    assert_same(value, np.sum(4.0 * X**2))
    assert_same(slope, 4.0 * X)


def test_what_a_nested_gradient_writes_into_its_argument_is_seen_outside() -> None:
    def inner(x: Any) -> Any:
        x[0] = 5.0
        return np.sum(x**2)

    callee = Callee(inner, Request("grad", (0,)))

    @tj.function
    def outer(x: Any) -> Any:
        x = x + 0.0
        slope = callee.inline({"x": x}, x._recording)
        return slope, x

    slope, after = outer(X)
    assert_same(after, np.array([5.0, -2.0, 3.0]))
    assert_same(slope, np.array([0.0, -4.0, 6.0]))


def answered(f: Callable[..., Any], request: Request, top: bool, *args: Any) -> tuple[Any, ...]:
    """The answer to a request for `f`, run on a recording of its own, and the recording."""
    recording = Recording("f")
    tensors = {
        name: recording.argument(name, tj.TensorSpec(value.shape, value.dtype).type)
        for name, value in zip(inspect.signature(f).parameters, args, strict=True)
    }
    return Callee(f, request).record(tensors, recording, top), recording


def test_at_the_top_the_cotangent_is_an_input() -> None:
    request = Request("value_and_grad", (0,))
    answer, recording = answered(lambda x, y: np.sum(x * y), request, True, X, Y)
    graph = recording.finish([t._value for t in (*answer.value, *answer.gradients)])
    assert [value.name for value in graph.inputs] == ["x", "y", "out_bar"]
    assert answer.seed._value is graph.inputs[2]
    assert [node.op.name for node in graph.nodes[: recording.forward]] == ["multiply", "sum"]
    value, slope = interpret(graph, X, Y, np.float64(2.0))
    assert_same(value, np.sum(X * Y))
    assert_same(slope, 2.0 * Y)


def test_inside_a_recording_the_cotangent_is_one() -> None:
    request = Request("grad", (0, 1), single=False)
    answer, recording = answered(lambda x, y: np.sum(x * y), request, False, X, Y)
    assert answer.seed is None
    assert recording.forward == 0
    slopes = rebuild(answer, request)
    graph = recording.finish([slope._value for slope in slopes])
    assert_same(interpret(graph, X, Y), [Y, X])


# Which numbers and sizes of the arguments are part of a kernel


def numbered(x: Any, k: float = 1.0, m: int = 2) -> Any:
    return x * k * m


def seen(callee: Callee, *args: Any) -> Call:
    """The call of a function with these arguments, which it takes note of."""
    return callee.note(callee.bind(args, {})).call


def fixed(callee: Callee, *args: Any) -> dict[str, Any]:
    return callee.note(callee.bind(args, {})).fixed


def test_a_number_is_static_on_its_first_value_and_dynamic_from_its_second_on() -> None:
    callee = Callee(numbered)
    assert fixed(callee, np.ones(3), 1.0) == {"k": 1.0, "m": 2}
    assert fixed(callee, np.ones(3), 2.0) == {"m": 2}
    assert fixed(callee, np.ones(3), 1.0) == {"m": 2}


def test_values_are_told_apart_to_the_bit_and_by_type() -> None:
    callee = Callee(numbered)
    fixed(callee, np.ones(3), 0.0, 1)
    assert fixed(callee, np.ones(3), -0.0, 1) == {"m": 1}
    assert fixed(callee, np.ones(3), 0.0, 1.0) == {}


def test_a_number_to_differentiate_by_is_not_static() -> None:
    callee = Callee(numbered, Request("grad", (), ("k",)))
    request = callee.note(callee.bind((np.ones(3), 1.0), {}))
    assert request.fixed == {"m": 2}
    assert request.differentiated == {"k"}


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": ("k",)}])
def test_what_the_user_has_chosen_stays_static(options: dict[str, Any]) -> None:
    callee = Callee(numbered, options=Options(**options))
    for value in (1.0, 2.0):
        assert fixed(callee, np.ones(3), value)["k"] == value
    assert callee.static_rows() == {"k": "static"}


def test_what_the_function_wants_as_numbers_stays_static_from_then_on() -> None:
    callee = Callee(numbered, options=Options(static_argnames="m"))
    fixed(callee, np.ones(3), 1.0)
    assert "k" not in fixed(callee, np.ones(3), 2.0)
    callee.want_numbers()
    assert fixed(callee, np.ones(3), 3.0) == {"k": 3.0, "m": 2}
    assert callee.static_rows() == {"x": "wanted", "k": "wanted", "m": "static"}


@pytest.mark.parametrize(("dynamic", "free"), [("auto", True), (False, False)])
def test_a_size_is_free_from_its_second_value_on(dynamic: Any, free: bool) -> None:
    callee = Callee(numbered, options=Options(dynamic_shapes=dynamic))
    assert callee.shapes.freed(seen(callee, np.ones(3)))[1] is None
    assert (callee.shapes.freed(seen(callee, np.ones(5)))[1] is not None) == free


def test_an_input_signature_frees_sizes_at_once_and_is_a_promise() -> None:
    specs = tj.TensorSpec((None, 3)), 1.0, 2
    callee = Callee(numbered, options=Options(input_signature=specs))
    call, sizes = callee.shapes.freed(seen(callee, np.ones((4, 3))))
    assert sizes is not None
    assert [type(size) is int for size in call.leaves[0].type.shape] == [False, True]  # type: ignore[union-attr]
    with pytest.raises(TracejitError, match="TensorSpec"):
        seen(callee, np.ones((4, 2)))
    with pytest.raises(TracejitError, match="numbered"):
        Callee(numbered, options=Options(input_signature=(*specs, 3, 4)))
