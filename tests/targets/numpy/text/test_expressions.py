"""How a node, an operand and a number are spelled."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.compare import assert_same
from tracejit.ir.graph import Constant, Graph, Node
from tracejit.ir.printer import parse_graph
from tracejit.ir.types import type_of
from tracejit.ops.base.op import OPS
from tracejit.targets.numpy.text.expressions import Expressions

TRANSPOSED = "transpose x  axes=(1, 0)"
ALL = "('slice', None, None, None)"
WIDENED = "broadcast_to(float32(0.5), (3,))"


def node_of(head: str, *nodes: str) -> Node:
    """The last node of a graph."""
    first = head.partition(", ")[0]
    graph = parse_graph("\n".join([f"graph f({head}) -> {first}", *(f"  {n}" for n in nodes)]), OPS)
    return graph.nodes[-1]


def spelled(head: str, *nodes: str) -> str:
    """The last node with the others written inside it, as Python's own printer shows it."""
    last = node_of(head, *nodes)
    inlined = {v.node for v in last.operands if v.node is not None}
    for node in list(inlined):
        inlined |= {v.node for v in node.operands if v.node is not None}
    text = Expressions(lambda value: value.name, inlined).expression(last)
    return ast.unparse(ast.parse(text))


@pytest.mark.parametrize(
    ("head", "nodes", "expected"),
    [
        ("x: f8[3]", ["y  f8[3] = tanh x"], "tanh(x)"),
        ("x: f8[3]", ["y  f8[3] = negative x"], "-x"),
        ("x: f8[3]", ["a  f8[3] = add x 1.0", "y  f8[3] = multiply a x"], "(x + 1.0) * x"),
        ("x: f8[3]", ["a  f8[3] = multiply x 2.0", "y  f8[3] = add a x"], "x * 2.0 + x"),
        ("x: f8[3]", ["a  f8[3] = subtract x 1.0", "y  f8[3] = subtract x a"], "x - (x - 1.0)"),
        ("x: f8[3]", ["a  f8[3] = negative x", "y  f8[3] = negative a"], "--x"),
        ("x: f8[3]", ["y  f8[3] = multiply x -1.0"], "x * -1.0"),
        ("x: f8[2,3]", [f"a  f8[3,2] = {TRANSPOSED}", "y  f8[2,2] = matmul x a"], "x @ x.T"),
        ("x: f8[2,2]", ["y  f8[2,2] = inv x"], "linalg.inv(x)"),
        ("x: f8[3]", ["y  f4[3] = astype x  dtype=f4"], "x.astype(float32)"),
        ("x: f8[3]", ["y  f8 = sum x  axis=(0,)"], "add.reduce(x, axis=None)"),
        ("x: f8[3,2]", [f"y  f8[3] = getitem x  index=({ALL}, -1)"], "x[:, -1]"),
        ("a: ~f8, b: ~f8", ["y  ~f8 = python_mul a b"], "a * b"),
        ("a: ~f8", ["y  f8 = add a 1.0"], "add(a, 1.0)"),
        ("a: ~i8", ["y  i8 = negative a"], "negative(a)"),
    ],
)  # fmt: skip
def test_nodes(head: str, nodes: list[str], expected: str) -> None:
    assert spelled(head, *nodes) == expected


@pytest.mark.parametrize(
    ("head", "node", "expected"),
    [
        # The array decides the dtype, and the number is short.
        ("x: f8[3]", "y  f8[3] = multiply x f8(0.1)", "x * 0.1"),
        ("x: f4[3]", "y  f4[3] = multiply x f4(0.1)", "x * 0.1"),
        ("x: f4", "y  f4 = multiply f4(0.1) x", "0.1 * x"),
        ("x: i8[3]", "y  f8[3] = multiply x f8(0.5)", "x * 0.5"),
        ("x: f4[3]", "y  b1[3] = less x f4(0.1)", "x < 0.1"),
        ("c: b1[3]", "y  f8[3] = where c f8(0.5) f8(2.0)", "where(c, 0.5, 2.0)"),
        ("x: f8[1]", "y  f8[3] = broadcast_to f8(0.5)  shape=(3,)", "broadcast_to(0.5, (3,))"),
        # Without it the result would be of another dtype or computed in another one.
        ("x: f4[3]", "y  f8[3] = multiply x f8(0.1)", "x * float64(0.1)"),
        ("x: f4[3]", "y  b1[3] = less x f8(0.1)", "x < float64(0.1)"),
        ("x: i8[3]", "y  f8[3] = multiply x f4(0.5)", "x * float32(0.5)"),
        ("c: b1[3]", "y  f4[3] = where c f4(0.5) f4(2.0)", "where(c, float32(0.5), float32(2.0))"),
        ("x: f4[1]", "y  f4[3] = broadcast_to f4(0.5)  shape=(3,)", WIDENED),
        ("a: ~f8", "y  f8 = multiply a f8(0.1)", "a * float64(0.1)"),
        ("x: f8[3]", "y  f8[3] = multiply x f8(-0.5)", "x * -0.5"),
        ("x: f8[3]", "y  f8[3] = multiply x f8(inf)", "x * inf"),
        ("x: f8[3]", "y  f8[3] = multiply x f8(nan)", "x * nan"),
        ("x: f8[3]", "y  f8[3] = multiply x f8(-inf)", "x * -inf"),
        ("x: f8[3]", "y  f8[3] = multiply x f8(-0.0)", "x * -0.0"),
    ],
)  # fmt: skip
def test_scalar_constants_are_numbers_where_that_changes_nothing(
    head: str, node: str, expected: str
) -> None:
    assert spelled(head, node) == expected


UPDATED = "y  f8[6] = set_item z x  index=(('slice', None, 3, None),) unique=True"
PLACED = "y  f8[6] = put_slice a  shape=(6,) index=(('slice', None, 3, None),)"
LINES = {
    "an update of a copy": (["z  f8[6] = exp x"], UPDATED, ["y = array(z)", "y[:3] = x"]),
    "an update of zeros, made again": (
        ["z  f8[6] = full  shape=(6,) fill=0 dtype=f8"],
        UPDATED,
        ["y = zeros(6)", "y[:3] = x"],
    ),
    "what an assignment spreads": (
        ["b  f8 = sum x  axis=(0,)", "a  f8[3] = broadcast_to b  shape=(3,)"],
        PLACED,
        ["y = zeros(6)", "y[:3] = b"],
    ),
}


@pytest.mark.parametrize("before, last, expected", LINES.values(), ids=LINES)
def test_statements(before: list[str], last: str, expected: list[str]) -> None:
    node = node_of("x: f8[6]" if "z" in last else "x: f8[3]", *before, last)
    spread = {v.node for v in node.operands if v.node and v.node.op.name == "broadcast_to"}
    spell = Expressions(lambda value: value.name, spread)
    assert spell.statements(node, "y") == expected


def test_every_numpy_name_is_noted_for_the_head() -> None:
    spell = Expressions(lambda value: value.name, set())
    spell.expression(node_of("x: f8[2,2]", "y  f8[2,2] = inv x"))
    spell.expression(node_of("x: f8[3]", "y  f4[3] = astype x  dtype=f4"))
    spell.expression(node_of("x: f8[3]", "y  f8[3] = multiply x f8(inf)"))
    assert spell.imports == dict.fromkeys(("linalg", "float32", "inf"), "numpy")


IN_PLACE = {
    "add": ("add a x", "a", "a += x"),
    "add on the right": ("add x a", "a", "a += x"),
    "multiply on the right": ("multiply x a", "a", "a *= x"),
    "subtract": ("subtract a x", "a", "a -= x"),
    "subtract on the right": ("subtract x a", "a", "subtract(x, a, a)"),
    "divide on the right": ("divide x a", "a", "divide(x, a, a)"),
    "with a number": ("subtract a -1.0", "a", "a -= -1.0"),
    "call": ("tanh a", "a", "tanh(a, a)"),
    "keyword": ("maximum a x", "a", "maximum(a, x, out=a)"),
    "twice": ("multiply a a", "a", "a *= a"),
    "another name": ("add a x", "y", "y = add(a, x, a)"),
    "another name, call": ("tanh a", "y", "y = tanh(a, a)"),
}


@pytest.mark.parametrize(("node", "target", "expected"), IN_PLACE.values(), ids=IN_PLACE)
def test_statements_in_place(node: str, target: str, expected: str) -> None:
    made = node_of("x: f8[3]", "a  f8[3] = exp x", f"y  f8[3] = {node}")
    spell = Expressions(lambda value: value.name, set())
    buffer = next(value for value in made.operands if value.name == "a")
    (text,) = spell.in_place(made, buffer, target)
    assert ast.unparse(ast.parse(text)) == expected


@pytest.mark.parametrize("op", ["less", "equal", "not_equal", "greater_equal"])
def test_a_comparison_in_place_is_a_call(op: str) -> None:
    made = node_of("x: b1[3]", "a  b1[3] = invert x", f"y  b1[3] = {op} a x")
    lines = Expressions(lambda value: value.name, set()).in_place(made, made.operands[0], "a")
    assert lines == [f"{op}(a, x, a)"]


def evaluated(text: str, spell: Expressions) -> Any:
    """What a text means at the head of a module."""
    return eval(text, {name: getattr(np, name) for name in spell.imports})


WEAK = st.one_of(st.booleans(), st.integers(), st.floats(), st.complex_numbers())


@settings(deadline=None)
@given(WEAK)
def test_python_numbers_are_themselves(number: Any) -> None:
    spell = Expressions(str, set())
    assert_same(number, evaluated(spell.constant(Graph("f").constant(number)), spell))


@settings(deadline=None)
@given(
    st.sampled_from(["f8", "f4", "f2", "i8", "i1", "u8", "b1", "c16", "c8"]).flatmap(
        lambda letters: hnp.arrays(letters, 1)
    )
)
def test_numpy_scalars_are_themselves(array: np.ndarray) -> None:
    spell = Expressions(str, set())
    assert_same(array[0], evaluated(spell.constant(Graph("f").constant(array[0])), spell))


ARRAYS = st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "b1", "c16"]).flatmap(
    lambda letters: hnp.arrays(letters, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
)
REGULAR = st.one_of(
    st.builds(lambda n, step: np.arange(0, n * step, step), st.integers(0, 50), st.integers(1, 5)),
    st.builds(lambda n, start: start - np.arange(n), st.integers(0, 50), st.integers(-9, 9)),
    st.builds(
        lambda shape, number, letters: np.full(shape, number, letters),
        hnp.array_shapes(max_side=20),
        st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, 0.1]),
        st.sampled_from(["f8", "f4", "f2"]),
    ),
    st.builds(
        lambda shape, number, letters: np.full(shape, number, letters),
        hnp.array_shapes(max_side=20),
        st.integers(0, 1),
        st.sampled_from(["i8", "i1", "u2", "b1"]),
    ),
)


@settings(deadline=None)
@given(ARRAYS | REGULAR)
def test_array_constants_are_themselves_or_kept_in_a_file(array: np.ndarray) -> None:
    kind = type_of(array)
    assert kind is not None
    spell = Expressions(str, set())
    text = spell.array_literal(Constant(array, kind))
    if text is None:
        assert array.size > 16 or array.dtype.kind == "c"
    else:
        assert_same(array, evaluated(text, spell))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((16, 32)), "zeros((16, 32))"),
        (np.zeros(300, np.float32), "zeros(300, float32)"),
        (np.zeros((2, 4), bool), "zeros((2, 4), bool_)"),
        (np.full(300, 0.5), "full(300, 0.5)"),
        (np.full((20, 2), -0.0), "full((20, 2), -0.0)"),
        (np.ones(20, np.float32), "ones(20, float32)"),
        (np.full(20, 3), "full(20, 3)"),
        (np.arange(10), "arange(10)"),
        (np.arange(3, 40, 2), "arange(3, 41, 2)"),
        (np.array([1.0, 2.5]), "array([1.0, 2.5])"),
        (np.array([1.0, np.nan, -np.inf]), "array([1.0, nan, -inf])"),
        (np.array([1, 2], np.int8), "array([1, 2], int8)"),
        (np.array(2.0), "array(2.0)"),
        (np.linspace(0.0, 1.0, 40), None),
        (np.array([1j]), None),
    ],
)
def test_how_array_constants_are_defined(array: np.ndarray, expected: str | None) -> None:
    kind = type_of(array)
    assert kind is not None
    assert Expressions(str, set()).array_literal(Constant(array, kind)) == expected


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        (np.float64(1.0), "1.0"),
        (np.float32(1.0), "float32(1.0)"),
        (np.asarray(1.0), "array(1.0)"),
        (np.asarray(np.float32(1.0)), "array(1.0, float32)"),
    ],
)
def test_defaults_of_parameters(default: Any, expected: str) -> None:
    assert Expressions(str, set()).scalar(default, False) == expected
