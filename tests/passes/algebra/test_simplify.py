"""Every rule of `simplify`: what it makes of a graph, and that no bit of any result changes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.graphs import SPECIAL, random_graph, random_inputs
from tests.interpret import interpret
from tests.rows import each_row
from tests.support.compare import assert_same
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.framework.dce import drop_dead

REWRITTEN = {
    "times one": ("x: f8[3]", "y  f8[3] = multiply x 1.0", ""),
    "one times": ("x: f8[3]", "y  f8[3] = multiply 1.0 x", ""),
    "times the integer one": ("x: f4[3]", "y  f4[3] = multiply x 1", ""),
    "times a scalar one": ("x: f8", "y  f8 = multiply f8(1.0) x", ""),
    "a Python number times one": (
        "x: ~f8",
        "y  f8 = multiply x f8(1.0)",
        "y  f8 = as_scalar x  dtype=f8",
    ),
    "a Python number over one": (
        "x: ~f8",
        "y  f8 = divide x f8(1.0)",
        "y  f8 = as_scalar x  dtype=f8",
    ),
    "integers times one": ("x: i8[3]", "y  i8[3] = multiply x 1", ""),
    "over one": ("x: f8[3]", "y  f8[3] = divide x 1.0", ""),
    "twice": ("x: f8[3]", "y  f8[3] = add x x", "y  f8[3] = multiply 2.0 x"),
    "twice in float32": ("x: f4[3]", "y  f4[3] = add x x", "y  f4[3] = multiply 2.0 x"),
    "minus minus": ("x: f8[3]", "a  f8[3] = negative x; y  f8[3] = negative a", ""),
    "the absolute of minus": (
        "x: f8[3]",
        "a  f8[3] = negative x; y  f8[3] = absolute a",
        "y  f8[3] = absolute x",
    ),
    "plus minus": (
        "x: f8[3], z: f8[3]",
        "a  f8[3] = negative z; y  f8[3] = add x a",
        "y  f8[3] = subtract x z",
    ),
    "plus minus one times": (
        "x: f8[3], z: f8[3]",
        "a  f8[3] = multiply -1.0 z; y  f8[3] = add x a",
        "y  f8[3] = subtract x z",
    ),
    "minus one times integers, plus": (
        "x: f8[3], z: i8[3]",
        "a  f8[3] = multiply -1.0 z; y  f8[3] = add a x",
        "y  f8[3] = subtract x z",
    ),
    "minus one times a float32, plus": (
        "x: f8[3], z: f4[3]",
        "a  f4[3] = multiply -1.0 z; y  f8[3] = add a x",
        "y  f8[3] = subtract x z",
    ),
    "the conjugate of real numbers": ("x: f8[3]", "y  f8[3] = conjugate x", ""),
    "the first power": ("x: f8[3]", "y  f8[3] = pow_to x  exponent=1", ""),
    "the first power, by a ufunc": ("x: f8[3]", "y  f8[3] = power_to x  exponent=1", ""),
    "minus a number below zero": ("x: f8[3]", "y  f8[3] = subtract x -0.5", "y  f8[3] = add x 0.5"),
    "and true": ("x: b1[3]", "y  b1[3] = logical_and x True", ""),
    "a choice that is always the first": ("x: f8[3]", "y  f8[3] = where True x 1.0", ""),
    "a choice that is never the first": ("x: f8[3]", "y  f8[3] = where False 1.0 x", ""),
    "a choice by what never holds": (
        "x: f8[3], c: b1[3]",
        "a  b1[3] = logical_and False c; y  f8[3] = where a 1.0 x",
        "",
    ),
    "a choice by bits that are never set": (
        "x: f8[3], c: b1[3]",
        "a  b1[3] = bitwise_and False c; y  f8[3] = where a 1.0 x",
        "",
    ),
    "minus minus another": (
        "x: f8[3], z: f8[3]",
        "a  f8[3] = negative z; y  f8[3] = subtract x a",
        "y  f8[3] = add x z",
    ),
    "plus minus of unsigned": (
        "x: u1[3], z: u1[3]",
        "a  u1[3] = negative z; y  u1[3] = add x a",
        "y  u1[3] = subtract x z",
    ),
    "a number written to a row": (
        "x: f8[3,2], v: f8",
        "a  f8[2] = broadcast_to v  shape=(2,); y  f8[3,2] = set_item x a  index=(1,) unique=True",
        "y  f8[3,2] = set_item x v  index=(1,) unique=True",
    ),
    "a number added to a row": (
        "x: f8[3,2], v: f8",
        "a  f8[2] = broadcast_to v  shape=(2,); y  f8[3,2] = add_item x a  index=(1,) unique=True",
        "y  f8[3,2] = add_item x v  index=(1,) unique=True",
    ),
    "axes put in and taken away": (
        "x: f8[3]",
        "a  f8[3,1,1] = reshape x  shape=(3, 1, 1); y  f8[3] = squeeze a  axis=(1, 2)",
        "",
    ),
    "an axis taken away and put in": (
        "x: f8[1,3]",
        "a  f8[3] = squeeze x  axis=(0,); y  f8[1,3] = expand_dims a  axis=(0,)",
        "",
    ),
    "same shape": ("x: f8[3,2]", "y  f8[3,2] = reshape x  shape=(3, 2)", ""),
    "same dtype": ("x: f8[3]", "y  f8[3] = astype x  dtype=f8", ""),
    "no permutation": ("x: f8[3,2]", "y  f8[3,2] = transpose x  axes=(0, 1)", ""),
    "transposed twice": (
        "x: f8[3,2]",
        "a  f8[2,3] = transpose x  axes=(1, 0); y  f8[3,2] = transpose a  axes=(1, 0)",
        "",
    ),
    "two permutations": (
        "x: f8[2,3,4]",
        "a  f8[3,4,2] = transpose x  axes=(1, 2, 0); y  f8[4,2,3] = transpose a  axes=(1, 2, 0)",
        "y  f8[4,2,3] = transpose x  axes=(2, 0, 1)",
    ),
    "broadcast to itself": ("x: f8[3]", "y  f8[3] = broadcast_to x  shape=(3,)", ""),
    "broadcast twice": (
        "x: f8[3]",
        "a  f8[2,3] = broadcast_to x  shape=(2, 3); y  f8[4,2,3] = broadcast_to a  shape=(4, 2, 3)",
        "y  f8[4,2,3] = broadcast_to x  shape=(4, 2, 3)",
    ),
    "axes in front": (
        "x: f8[3]",
        "a  f8[1,3] = expand_dims x  axis=(0,); y  f8[2,3] = broadcast_to a  shape=(2, 3)",
        "y  f8[2,3] = broadcast_to x  shape=(2, 3)",
    ),
    "broadcast operand": (
        "x: f8[3,2], z: f8[2]",
        "a  f8[3,2] = broadcast_to z  shape=(3, 2); y  f8[3,2] = multiply x a",
        "y  f8[3,2] = multiply x z",
    ),
    "broadcast operand of a comparison": (
        "x: f8[3,2], z: f8[2]",
        "a  f8[3,2] = broadcast_to z  shape=(3, 2); y  b1[3,2] = less x a",
        "y  b1[3,2] = less x z",
    ),
    "cast operand": (
        "x: f8[3], z: ~f8",
        "a  f8 = as_scalar z  dtype=f8; y  f8[3] = multiply x a",
        "y  f8[3] = multiply x z",
    ),
    "numbers first": (
        "x: f8, z: f8[3]",
        "a  f8[3] = broadcast_to x  shape=(3,); b  f8[3] = divide 0.5 a;y  f8[3] = maximum b z",
        "b_1  f8 = divide 0.5 x; y  f8[3] = maximum b_1 z",
    ),
    "negative first": (
        "x: f8[2,1], z: f8[2,3]",
        """a  f8[2,3] = broadcast_to x  shape=(2, 3); b  f8[2,3] = negative a;
           y  f8[2,3] = maximum b z""",
        "b_1  f8[2,1] = negative x; y  f8[2,3] = maximum b_1 z",
    ),
    "another shape of a number": (
        "x: f8",
        "a  f8[6] = broadcast_to x  shape=(6,); y  f8[2,3] = reshape a  shape=(2, 3)",
        "y  f8[2,3] = broadcast_to x  shape=(2, 3)",
    ),
    "a slice of a number": (
        "x: f8",
        """a  f8[6] = broadcast_to x  shape=(6,);
           y  f8[3] = getitem a  index=(('slice', None, None, 2),)""",
        "y  f8[3] = broadcast_to x  shape=(3,)",
    ),
    "a softplus above minus infinity": (
        "x: f8[3]",
        "a  f8[3] = logaddexp 0.0 x; y  f8[3] = above_minus_infinity a",
        "a  f8[3] = logaddexp 0.0 x",
    ),
    "a truth and itself": ("x: b1[3]", "y  b1[3] = logical_and x x", ""),
    "a truth or itself": ("x: b1", "y  b1 = logical_or x x", ""),
    "a truth twice": (
        "x: b1[3], z: b1[3]",
        "a  b1[3] = logical_and x z; y  b1[3] = logical_and a z",
        "a  b1[3] = logical_and x z",
    ),
    "a truth twice, first": (
        "x: b1[3], z: b1[3]",
        "a  b1[3] = logical_or x z; y  b1[3] = logical_or z a",
        "a  b1[3] = logical_or x z",
    ),
    "a copy of a stack": (
        "x: f8, z: f8",
        "a  f8[2] = stack x z  axis=0; y  f8[2] = copy a  order='K'",
        "a  f8[2] = stack x z axis=0",
    ),
    "constants": (
        "x: f8[3]",
        "a  f8 = exp f8(0.0); b  f8 = add a 1.0; y  f8[3] = multiply x b",
        "y  f8[3] = multiply x f8(2.0)",
    ),
}

KEPT = {
    "the absolute of minus: what has no sign": (
        "x: u1[3]",
        "a  u1[3] = negative x; y  u1[3] = absolute a",
    ),
    "above minus infinity: what may be there": (
        "x: f8[3]",
        "a  f8[3] = logaddexp x f8(-inf); y  f8[3] = above_minus_infinity a",
    ),
    "a number and itself: a truth": ("x: f8[3]", "y  b1[3] = logical_and x x"),
    "a truth and a number twice": (
        "x: b1[3], z: b1[2,3]",
        "a  b1[2,3] = logical_and x z; y  b1[2,3] = logical_or a x",
    ),
    "a copy of an argument": ("x: f8[3]", "y  f8[3] = copy x  order='K'"),
    "plus zero: -0.0 would be 0.0": ("x: f8[3]", "y  f8[3] = add x 0.0"),
    "times zero: inf and -1.0": ("x: f8[3]", "y  f8[3] = multiply x 0.0"),
    "x - x: inf and nan": ("x: f8[3]", "y  f8[3] = subtract x x"),
    "x / x: zero": ("x: f8[3]", "y  f8[3] = divide x x"),
    "one over": ("x: f8[3]", "y  f8[3] = divide 1.0 x"),
    "a sum over an axis of one: -0.0": ("x: f8[1,3]", "y  f8[3] = sum x  axis=(0,)"),
    "integers times 1.0: another dtype": ("x: i8[3]", "y  f8[3] = multiply x 1.0"),
    "float32 times a float64 one": ("x: f4[3]", "y  f8[3] = multiply x f8(1.0)"),
    "plus minus one times integers: another dtype": (
        "x: i8[3], z: i8[3]",
        "a  f8[3] = multiply -1.0 z; y  f8[3] = add x a",
    ),
    "the conjugate of complex numbers": ("x: c16[3]", "y  c16[3] = conjugate x"),
    "0-d times one: a scalar": ("x: f8[]", "y  f8 = multiply x 1.0"),
    "integers over one: another dtype": ("x: i8[3]", "y  f8[3] = divide x 1"),
    "complex times one: inf": ("x: c16[3]", "y  c16[3] = multiply x 1.0"),
    "complex twice: inf": ("x: c16[3]", "y  c16[3] = add x x"),
    "integers twice": ("x: i8[3]", "y  i8[3] = add x x"),
    "a narrowing cast before a comparison": (
        "x: f8[3], z: f8",
        "a  f4 = as_scalar z  dtype=f4; y  b1[3] = less x a",
    ),
    "a cast that decides a comparison": (
        "x: f4[3], z: ~f8",
        "a  f8 = as_scalar z  dtype=f8; y  b1[3] = equal x a",
    ),
    "a narrowing cast before a product": (
        "x: f8[3], z: f8",
        "a  f4 = as_scalar z  dtype=f4; y  f8[3] = multiply x a",
    ),
    "a cast of a Python number among Python numbers": (
        "z: ~f8",
        "a  f8 = as_scalar z  dtype=f8; y  f8 = add a 1.0",
    ),
    "a truth value as a number": (
        "z: b1",
        "a  f8 = as_scalar z  dtype=f8; y  f8 = negative a",
    ),
    "a Python number as an array that decides a comparison": (
        "x: f4[3], z: ~f8",
        "a  f8[3] = broadcast_to z  shape=(3,); y  b1[3] = less x a",
    ),
    "an axis of one inside": (
        "x: f8[3]",
        "a  f8[3,1] = expand_dims x  axis=(1,); y  f8[3,2] = broadcast_to a  shape=(3, 2)",
    ),
    "a broadcast that makes the shape": (
        "x: f8[2]",
        "a  f8[3,2] = broadcast_to x  shape=(3, 2); y  f8[3,2] = exp a",
    ),
    "large constants": ("x: f8[3]", "y  f8[20] = broadcast_to 1.0  shape=(20,)"),
}


def graph_of(inputs: str, nodes: str) -> Graph:
    """The graph of nodes separated by semicolons, the last of which is the output."""
    lines = [f"  {node.strip()}" for node in nodes.split(";")]
    kind = lines[-1].split()[1]
    return verify(parse_graph("\n".join([f"graph f({inputs}) -> y: {kind}", *lines]), OPS))


def printed(graph: Graph) -> list[str]:
    """The nodes as printed, without alignment."""
    return [" ".join(line.split()) for line in print_graph(graph).splitlines()[1:]]


def special(type: ArrayType, number: int) -> Any:
    """A value of this type, with every value that rewrites stumble over."""
    if type.form == "weak":
        return PYTHON_TYPES[type.dtype.kind](0.1)
    if type.dtype.kind == "c":
        parts = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
        values = parts[0] + 1j * parts[1]
    elif type.dtype.kind == "f":
        values = np.array(SPECIAL)
    elif type.dtype.kind == "b":
        values = np.array([True, False])
    else:
        limits = np.iinfo(type.dtype)
        values = np.array([0, 1, limits.max, limits.min])
    values = np.resize(np.roll(values, number), max(type.size, 1)).astype(type.dtype)
    return values[0] if type.form == "scalar" else values.reshape(type.shape)


@np.errstate(all="ignore")
def assert_no_bit_changes(before: Graph, after: Graph) -> None:
    """Both give the same for inputs that hold every special value in every place."""
    for shift in range(len(SPECIAL)):
        inputs = [special(value.type, shift * k) for k, value in enumerate(before.inputs, start=1)]
        for expected, found in zip(
            interpret(before, *inputs), interpret(after, *inputs), strict=True
        ):
            assert_same(expected, found)


@each_row(("inputs", "before", "after"), REWRITTEN.values())
def test_what_is_rewritten(inputs: str, before: str, after: str) -> None:
    graph = graph_of(inputs, before)
    new = verify(drop_dead(verify(simplify(graph))))
    expected = [" ".join(node.split()) for node in after.split(";") if node]
    assert printed(new) == expected
    assert_no_bit_changes(graph, new)


@each_row(("inputs", "nodes"), KEPT.values())
def test_what_must_stay(inputs: str, nodes: str) -> None:
    graph = graph_of(inputs, nodes)
    new = verify(simplify(graph))
    assert print_graph(new) == print_graph(graph)
    assert_no_bit_changes(graph, new)


@pytest.mark.parametrize("op", ["put_at", "add_at"])
def test_a_number_is_placed_at_an_index_as_it_is_and_not_added(op: str) -> None:
    shape = "shape=(5,) index=('{1}',)"
    nodes = f"a  f8[3] = broadcast_to v  shape=(3,); y  f8[5] = {op} a i  {shape}"
    graph = graph_of("i: i8[3], v: f8", nodes)
    new = verify(drop_dead(simplify(graph)))
    assert (printed(new) == [f"y f8[5] = put_at v i {shape}"]) == (op == "put_at")
    inputs = np.array([4, 0, 2]), np.float64(-0.0)
    assert_same(*interpret(graph, *inputs), *interpret(new, *inputs))


WHOLE = "a  f8[5,5] = directions shape=(5,) dtype=f8 start=0 stop=5"
PART = "a  f8[2,5] = directions shape=(5,) dtype=f8 start=3 stop=5"
SINGLE = "a  f4[5,5] = directions shape=(5,) dtype=f4 start=0 stop=5"
CHOSEN = {
    "rows of a matrix": (WHOLE, "x: f8[5,2]", "y  f8[5,2] = matmul a x", ""),
    "rows of a stack": (WHOLE, "x: f8[3,5,2]", "y  f8[3,5,2] = matmul a x", ""),
    "columns of a matrix": (WHOLE, "x: f8[2,5]", "y  f8[2,5] = matmul x a", ""),
    "elements": (WHOLE, "x: f8[5]", "y  f8[5] = matmul_vector a x", ""),
    "elements, from the left": (WHOLE, "x: f8[5]", "y  f8[5] = vector_dot x a", ""),
    "rows by dot": (WHOLE, "x: f8[5,2]", "y  f8[5,2] = dot_matrix a x", ""),
    "elements by dot": (WHOLE, "x: f8[5]", "y  f8[5] = dot_vector a x", ""),
    "some rows": (
        PART,
        "x: f8[5,2]",
        "y  f8[2,2] = matmul a x",
        "y  f8[2,2] = getitem x  index=(('slice', 3, 5, None),)",
    ),
    "some elements": (
        PART,
        "x: f8[5]",
        "y  f8[2] = matmul_vector a x",
        "y  f8[2] = getitem x  index=(('slice', 3, 5, None),)",
    ),
    "another dtype": (SINGLE, "x: f8[5]", "y  f8[5] = matmul_vector a x", ""),
    "a dtype that gives way": (
        WHOLE,
        "x: f4[5]",
        "y  f8[5] = matmul_vector a x",
        "y  f8[5] = astype x  dtype=f8",
    ),
}


@pytest.mark.parametrize(("units", "inputs", "product", "after"), CHOSEN.values(), ids=CHOSEN)
def test_products_with_unit_directions(units: str, inputs: str, product: str, after: str) -> None:
    graph = graph_of(inputs, f"{units}; {product}")
    new = verify(drop_dead(verify(simplify(graph))))
    assert printed(new) == [" ".join(after.split())] * bool(after)
    x = 1.0 + np.arange(graph.inputs[0].type.size).reshape(graph.inputs[0].type.shape)
    x = x.astype(graph.inputs[0].type.dtype)
    for expected, found in zip(interpret(graph, x), interpret(new, x), strict=True):
        assert_same(expected, found)


NINE = "a  f8[2,9] = directions shape=(9,) dtype=f8 start=3 stop=5"


@pytest.mark.parametrize(
    ("inputs", "nodes"),
    [
        ("x: f8[2,9]", f"{NINE}; y  f8[2,9] = multiply a x"),
        ("x: f8[4,2]", f"{NINE}; y  f8[4,9] = matmul x a"),
        ("x: f8[3,9,2]", f"{NINE}; y  f8[3,2,2] = matmul a x"),
        (
            "x: f8[3,2]",
            """a  f8[6,2,3] = directions shape=(2, 3) dtype=f8 start=0 stop=6;
               y  f8[6,2,2] = matmul a x""",
        ),
    ],
)
def test_other_products_with_directions_stay(inputs: str, nodes: str) -> None:
    graph = graph_of(inputs, nodes)
    new = verify(simplify(graph))
    assert ops_of(new) == ops_of(graph)


def test_a_few_directions_are_a_constant() -> None:
    units = "a  f8[2,2] = directions shape=(2,) dtype=f8 start=0 stop=2"
    graph = graph_of("x: f8[2], z: f8[2]", f"{units}; b  f8[2] = matmul a x; y  f8[2] = add b z")
    assert printed(drop_dead(simplify(graph))) == ["y f8[2] = add x z"]
    graph = graph_of("x: f8[2]", f"{units}; y  f8[2,2] = multiply a x")
    (node,) = drop_dead(simplify(graph)).nodes
    assert node.op.name == "multiply"


def test_a_matrix_of_the_users_stays_a_factor() -> None:
    def turned(x: Any) -> Any:
        return np.eye(20) @ x

    found = tj.jacobian(turned)(np.ones(20))
    np.testing.assert_array_equal(found, np.eye(20))
    x = np.ones(20)
    x[3] = np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(tj.function(turned)(x)).sum() == 19


def test_a_number_added_at_places_that_may_be_the_same_stays_an_array() -> None:
    nodes = (
        "a  f8[2] = broadcast_to v  shape=(2,); "
        "y  f8[3] = add_item x i a  index=('{1}',) unique=False"
    )
    assert "broadcast_to" in str(printed(simplify(graph_of("x: f8[3], i: i8[2], v: f8", nodes))))


def test_substitutes_are_folded() -> None:
    graph = graph_of(
        "x: f8[3], g: f8", "a  f8 = divide g 4; b  f8 = negative a; y  f8[3] = multiply b x"
    )
    new = simplify(graph, {graph.inputs[1]: np.float64(1.0)})
    assert printed(drop_dead(new)) == ["y f8[3] = multiply f8(-0.25) x"]
    assert [value.name for value in new.inputs] == ["x"]


def test_small_arrays_are_folded_and_uniform_ones_are_one_number() -> None:
    graph = graph_of("x: f8[2]", "a  f8[2] = broadcast_to 3.0  shape=(2,); y  f8[2] = multiply a x")
    assert printed(drop_dead(simplify(graph))) == ["y f8[2] = multiply f8(3.0) x"]


def test_zeros_of_both_signs_are_not_one_number() -> None:
    graph = graph_of("x: f8[2]", "y  f8[2] = multiply x x")
    (node,) = graph.nodes
    signed = graph.constant(np.array([0.0, -0.0]))
    graph.outputs[:] = graph.copy_node(node, (node.operands[0], signed)).results
    graph.assign_names()
    new = drop_dead(simplify(graph))
    assert_no_bit_changes(drop_dead(graph), new)
    assert [node.operands[1].type.shape for node in new.nodes] == [(2,)]


def test_the_users_names_stay() -> None:
    graph = graph_of(
        "x: f8[3]", "h  f8[3] = multiply x 1.0; a  f8[3] = negative h; y  f8[3] = negative a"
    )
    graph.nodes[1].results[0].label = ""
    assert [value.name for value in simplify(graph).outputs] == ["x"]


def test_effects_are_not_folded() -> None:
    text = "graph f(x: f8[3]) -> y: f8\n  y  f8 = exp 2.0\n"
    graph = parse_graph(text, OPS)
    tick = object.__new__(type(OPS["exp"]))
    for field in type(tick).__dataclass_fields__:
        object.__setattr__(tick, field, getattr(OPS["exp"], field))
    object.__setattr__(tick, "effect", True)
    graph.nodes[0].op = tick
    assert len(simplify(graph).nodes) == 1


@settings(max_examples=by_day(40, 200), deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_bit_of_a_random_graph_changes(random: Random) -> None:
    inputs = random_inputs(random, special=True)
    graph = verify(random_graph(random, inputs, 20))
    new = verify(simplify(graph))
    with np.errstate(all="ignore"):
        for expected, found in zip(interpret(graph, *inputs), interpret(new, *inputs), strict=True):
            assert_same(expected, found)


@settings(max_examples=by_day(20, 50), deadline=None)
@given(st.randoms(use_true_random=False))
def test_there_is_nothing_left_to_simplify(random: Random) -> None:
    graph = drop_dead(simplify(random_graph(random, random_inputs(random), 20)))
    assert len(drop_dead(simplify(graph)).nodes) <= len(graph.nodes)
