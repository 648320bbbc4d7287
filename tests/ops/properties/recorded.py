"""Properties of one call: its value, its graphs, its derivatives of both orders and in both modes.

NumPy decides: values, dtypes, shapes and Python types are compared with the plain call, bit for
bit. Derivatives are compared with the plain call too, by dot products: by complex step where the
sample says it is holomorphic, else by central differences. The second order is compared with
differences of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.interpret import interpret
from tests.ops.cases import Case
from tests.ops.program import inner, magnitude, quiet
from tests.ops.properties.registry import sample_property
from tests.support.differences import extrapolated
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.types import type_of
from tracejit.ir.verify import verify
from tracejit.ops.base import sized  # noqa: F401
from tracejit.ops.base.op import LIBRARIES, OPS


def assert_same(actual: Any, expected: Any) -> None:
    """The same type, and the same bits but for those inside nan."""
    kind = type_of(expected)
    if kind is None:
        assert type(actual) is type(expected)
        assert actual == expected
        return
    assert type_of(actual) is kind
    for part in (np.real, np.imag) if kind.dtype.kind == "c" else (np.asarray,):
        a, b = part(actual), part(expected)
        floating = np.asarray(b).dtype.kind == "f"
        assert np.array_equal(a, b, equal_nan=floating)
        if floating:
            numbers = ~np.isnan(b)
            assert np.array_equal(np.signbit(a) & numbers, np.signbit(b) & numbers), "signs"


def assert_close(actual: float, expected: float, scale: float, tolerance: float) -> None:
    """Equal up to `tolerance` of the larger of `expected` and `scale`, the size of the summands."""
    error = abs(actual - expected)
    assert error <= tolerance * max(scale, abs(expected)) + 1e-12, (actual, expected)


@sample_property()
def value_shape_dtype_and_type_are_numpys(case: Case) -> None:
    expected, structure = case.program.expected
    assert case.program.recorded[2] == structure
    for actual, wanted in zip(case.program.value(), expected, strict=True):
        assert_same(actual, wanted)


@sample_property(every=16)
def only_views_share_memory_and_in_place_is_the_same(case: Case) -> None:
    def observe(node: Node, operands: list[Any], results: tuple[Any, ...]) -> None:
        arrays = [operand for operand in operands if type(operand) is np.ndarray]
        for result in results:
            if type(result) is np.ndarray and node.op.view_of is None:
                shared = [np.may_share_memory(result, operand) for operand in arrays]
                assert not any(shared), f"{node.op.name} answers a view"
        if node.op.inplace and type(results[0]) is np.ndarray:
            assert_in_place(node, operands, results[0])

    graphs = [(case.program.recorded[0], case.program.leaves)]
    if case.order >= 1:
        graphs.append((case.program.first[0], case.program.leaves + case.program.seeds))
    for graph, inputs in graphs:
        with quiet():
            interpret(graph, *inputs, observe=observe)


def assert_in_place(node: Node, operands: list[Any], result: Any) -> None:
    """The in-place form answers the same, into a new buffer and into each operand that can hold
    it."""
    kinds = [value.type for value in node.operands]
    text = node.op.inplace_template(kinds, node.params)
    names = [f"_{number}" for number in range(len(operands))]
    holders = [name for name, kind in zip(names, kinds, strict=True) if kind is type_of(result)]
    # What has statements updates the buffer of its first operand.
    for out in ["_new", *holders] if node.op.statements is None else ["_0"]:
        space = (
            LIBRARIES | {"_new": np.empty_like(result)} | dict(zip(names, operands, strict=True))
        )
        space[out] = space[out].copy()
        exec(text.format(*names, out=out), space)
        assert_same(space[out], result)


@sample_property(every=16)
def graphs_are_valid_and_print_what_parses_back(case: Case) -> None:
    graphs = [case.program.recorded[0]]
    if case.order >= 1:
        graphs.append(case.program.first[0])
    for graph in graphs:
        text = print_graph(verify(graph))
        large = {constant.name: constant.data for constant in graph.constants()}
        assert print_graph(verify(parse_graph(text, OPS, large))) == text


@sample_property(lambda case: case.order >= 1, every=3)
def gradient_is_the_derivative_of_plain_numpy(case: Case) -> None:
    program = case.program
    found = program.gradient_here
    low = program.is_low_precision
    for position, (grad, direction) in enumerate(zip(found, program.directions, strict=True)):
        assert (grad.shape, grad.dtype) == (direction.shape, direction.dtype)
        expected = program.complex_step(position) if case.sample.holomorphic and not low else None
        tolerance = 1e-9
        if expected is None:
            expected = extrapolated(
                lambda step, k=position: program.loss(program.moved(k, step)),
                4e-2 if low else 2e-3,
            )
            tolerance = 2e-3 if low else 1e-6
        assert_close(inner(grad, direction), expected, magnitude(grad, direction), tolerance)


@sample_property(lambda case: case.order >= 1, every=4)
def forward_mode_is_the_transpose_of_reverse_mode(case: Case) -> None:
    program = case.program
    dots, grads = program.tangent(), program.gradient_here
    forward = sum(inner(seed, dot) for seed, dot in zip(program.seeds, dots, strict=True))
    pairs = list(zip(grads, program.directions, strict=True))
    reverse = sum(inner(grad, direction) for grad, direction in pairs)
    scale = sum(magnitude(grad, direction) for grad, direction in pairs)
    assert_close(forward, reverse, scale, 2e-3 if program.is_low_precision else 1e-10)
    for dot, seed in zip(dots, program.seeds, strict=True):
        assert (dot.shape, dot.dtype) == (seed.shape, seed.dtype)


@sample_property(lambda case: case.order >= 2, every=12)
def second_order_is_the_derivative_of_the_first(case: Case) -> None:
    program = case.program
    if program.is_low_precision:
        return  # differences of single-precision gradients show nothing
    found = program.second_gradient()

    def slope(position: int, step: float) -> float:
        grads = program.gradient(program.moved(position, step))
        return sum(inner(u, grad) for u, grad in zip(program.others, grads, strict=True))

    for position, (grad, direction) in enumerate(zip(found, program.directions, strict=True)):
        expected = extrapolated(lambda step, k=position: slope(k, step), 2e-3)
        assert_close(inner(grad, direction), expected, magnitude(grad, direction), 1e-6)


@sample_property(lambda case: case.has_doubles and case.sample.float32, every=6)
def float32_stays_float32(case: Case) -> None:
    program = case.single
    expected, structure = program.expected
    assert program.recorded[2] == structure
    for actual, wanted in zip(program.value(), expected, strict=True):
        assert_same(actual, wanted)
    if case.order == 0:
        return
    grads = program.gradient_here
    doubles = case.program.gradient_here
    for number, grad, double in zip(program.moving, grads, doubles, strict=True):
        assert grad.dtype == program.leaves[number].dtype
        assert_near(grad, double)
    if not doubles_in(program.recorded[0]):
        assert doubles_in(program.first[0]) == [], "the reverse pass leaves single precision"


def assert_near(actual: Any, expected: Any) -> None:
    """Equal to 1e-3 of the largest element."""
    finite = np.isfinite(expected)
    size = float(np.max(np.abs(expected), initial=1e-3, where=finite))
    assert np.allclose(actual, expected, rtol=1e-3, atol=1e-3 * size, equal_nan=True)


def doubles_in(graph: Graph) -> list[Value]:
    """The values computed in double precision."""
    values = [value for value in graph.values() if value.type.form != "weak"]
    return [value for value in values if value.type.dtype.name in ("float64", "complex128")]


@sample_property(lambda case: case.sample.zero_size is not None)
def arrays_of_no_elements(case: Case) -> None:
    for program in case.empty:
        for actual, wanted in zip(program.value(), program.expected[0], strict=True):
            assert_same(actual, wanted)
        if case.order >= 1:
            grads = program.gradient_here
            for number, grad in zip(program.moving, grads, strict=True):
                assert grad.shape == program.leaves[number].shape
                assert grad.dtype == program.leaves[number].dtype
