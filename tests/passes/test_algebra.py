"""Every function that is reduced to cheaper arithmetic: what becomes of it, and that inf, nan and
all but the last bits stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret
from tests.rewrites import assert_within, graph_of, operations, pairs, special
from tracejit.ir.verify import verify
from tracejit.passes.algebra import strengthen
from tracejit.passes.dce import drop_dead

REDUCED = {
    "squared": ("pow_to x exponent=2", ["multiply x x"]),
    "squared by power": ("power_to x exponent=2.0", ["multiply x x"]),
    "cubed": ("pow_to x exponent=3", ["multiply x x", "multiply v1 x"]),
    "to the fourth": ("pow_to x exponent=4", ["multiply x x", "multiply v1 v1"]),
    "to the fifth": ("pow_to x exponent=5.0", ["multiply x x", "multiply v1 v1", "multiply v2 x"]),
    "to the seventh": (
        "pow_to x exponent=7",
        ["multiply x x", "multiply v1 x", "multiply v2 v2", "multiply v3 x"],
    ),
    "to the eighth": (
        "pow_to x exponent=8",
        ["multiply x x", "multiply v1 v1", "multiply v2 v2"],
    ),
    "one over it": ("pow_to x exponent=-1", ["divide 1.0 x"]),
    "one over its square": ("pow_to x exponent=-2", ["divide 1.0 x", "multiply v1 v1"]),
    "one over its third power": (
        "pow_to x exponent=-3",
        ["divide 1.0 x", "multiply v1 v1", "multiply v2 v1"],
    ),
    "the root": ("pow_to x exponent=0.5", ["sqrt x"]),
    "square": ("square x", ["multiply x x"]),
    "reciprocal": ("reciprocal x", ["divide 1.0 x"]),
}

# Of a square, which is not below zero.
ROOTS = {
    1.5: ["sqrt v1", "multiply v1 v2"],
    2.5: ["sqrt v1", "multiply v1 v2", "multiply v1 v3"],
    -0.5: ["sqrt v1", "divide 1.0 v2"],
    -1.5: ["divide 1.0 v1", "sqrt v2", "multiply v2 v3"],
    -2.5: ["divide 1.0 v1", "sqrt v2", "multiply v2 v3", "multiply v2 v4"],
}

STAYING = {
    "a root by power": "y T[N] = power_to x exponent=0.5",
    "a half power": "y T[N] = pow_to x exponent=1.5",
    "one over the root": "y T[N] = pow_to x exponent=-0.5",
    "a root of one number": "a T = sum x axis=(0,); y T = pow_to a exponent=0.5",
    "a high power": "y T[N] = pow_to x exponent=9",
    "one over a high power": "y T[N] = pow_to x exponent=-5",
    "another power": "y T[N] = pow_to x exponent=1.7",
    "the power zero": "y T[N] = pow_to x exponent=0",
    "a difference below zero": (
        "a T[N] = exp x; b T[N] = subtract a 2.0; y T[N] = pow_to b exponent=1.5"
    ),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("node", "expected"), REDUCED.values(), ids=REDUCED)
def test_what_is_reduced(node: str, expected: list[str], dtype: str) -> None:
    graph = graph_of("x: T[N]", f"y T[N] = {node}", dtype)
    new = verify(drop_dead(strengthen(graph)))
    assert operations(new) == expected
    assert_within(graph, new, pairs(dtype)[:1])
    x = np.random.default_rng(0).normal(size=graph.inputs[0].type.shape).astype(dtype)
    assert_relatively_close(graph, new, np.abs(x) if "0.5" in node else x)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("exponent", "expected"), ROOTS.items())
def test_half_powers_of_what_is_not_below_zero(
    exponent: float, expected: list[str], dtype: str
) -> None:
    graph = graph_of(
        "x: T[N]", f"a T[N] = multiply x x; y T[N] = power_to a exponent={exponent}", dtype
    )
    new = verify(drop_dead(strengthen(graph)))
    assert operations(new) == ["multiply x x", *expected]
    assert_within(graph, new, pairs(dtype)[:1])
    x = np.random.default_rng(0).normal(size=graph.inputs[0].type.shape).astype(dtype)
    assert_relatively_close(graph, new, x)


def assert_relatively_close(before: Any, after: Any, x: Any) -> None:
    """Within 4 ulp of the result itself."""
    (expected,), (found,) = interpret(before, x), interpret(after, x)
    np.testing.assert_array_max_ulp(found, expected, 4)


@pytest.mark.parametrize("nodes", STAYING.values(), ids=STAYING)
def test_what_stays(nodes: str) -> None:
    graph = graph_of("x: T[N]", nodes)
    assert operations(strengthen(graph)) == operations(graph)


def test_integers_and_python_numbers_stay() -> None:
    for inputs, node in [
        ("x: i8[3]", "y i8[3] = pow_to x exponent=2"),
        ("x: c16[3]", "y c16[3] = square x"),
        ("x: f2[3]", "y f2[3] = square x"),
        ("x: f8[]", "y f8 = pow_to x exponent=2"),
    ]:
        graph = graph_of(inputs, node)
        assert operations(strengthen(graph)) == operations(graph)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("operands", ["x z", "x 0.0", "0.0 x", "-1.5 x"])
def test_logaddexp(operands: str, dtype: str) -> None:
    x, z = (np.resize(one, 600) for one in pairs(dtype))
    graph = graph_of("x: T[600], z: T[600]", f"y T[600] = logaddexp {operands}", dtype)
    new = verify(drop_dead(strengthen(graph)))
    assert "log1p" in " ".join(operations(new))
    assert_within(graph, new, [x, z])
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=600).astype(dtype) * 20 for _ in "xz"])


def test_logaddexp_of_few_or_of_constants_stays() -> None:
    for inputs, node in [
        ("x: f8[100], z: f8[100]", "y f8[100] = logaddexp x z"),
        ("x: f8[600]", "y f8[600] = logaddexp x inf"),
    ]:
        graph = graph_of(inputs, node)
        assert operations(strengthen(graph)) == operations(graph)


def test_sums_and_products_do_not_depend_on_the_order_of_two() -> None:
    graph = graph_of(
        "x: T[N], z: T[N]",
        "a T[N] = multiply x z; b T[N] = multiply z x; c T[N] = add a x; d T[N] = add x b;"
        "y T[N] = subtract c d",
    )
    new = verify(drop_dead(strengthen(graph)))
    assert operations(new) == ["multiply x z", "add v1 x", "subtract v2 v2"]


def test_what_is_not_below_zero() -> None:
    """Roots are taken of sums, products and views of squares, and of no others."""
    steps = "a T[N] = multiply x x; b T[N] = exp x; c T[N] = add a b; d T[N] = add c {};"
    for number, count in (("1e-09", 1), ("-1.0", 0), ("-0.0", 0), ("x", 0)):
        nodes = steps.format(number) + "y T[N] = power_to d exponent=1.5"
        new = strengthen(graph_of("x: T[N]", nodes))
        assert [node.op.name for node in new.nodes].count("sqrt") == count


def test_special_values_are_all_there() -> None:
    assert {"inf", "-inf", "nan", "-0.0"} <= {repr(float(value)) for value in special("f8")}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("k", [-20, -3, -1, 0, 2, 20])
@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (1, 5), (5, 1), (3, 4, 4), (7,)])
@pytest.mark.parametrize("op", ["tril", "triu"])
def test_triangles_are_chosen_by_a_mask(
    op: str, shape: tuple[int, ...], k: int, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice(special(dtype), size=shape)
    found = tj.function(lambda x: getattr(np, op)(x, k) * x, cache=False).kernel(x)
    assert f"{op}(" not in found.source.partition("def ")[2].replace(f"np.{op}(", "")
    with np.errstate(all="ignore"):
        expected = getattr(np, op)(x, k) * x
        assert found.forward(x).tobytes() == expected.tobytes()


def test_triangles_that_stay() -> None:
    """Large ones, and what is not floating."""
    for x in (np.ones((100, 100)), np.ones((4, 4), int), np.ones((4, 4), complex)):
        assert "tril(x)" in tj.function(lambda x: np.tril(x), cache=False).kernel(x).source


LEFT = "broadcast_to T(7.5) shape=(50,)"
SPREAD_SUMS = {
    "over one axis": ("T(2.5)", "(5,)", "axis=(0,)", "T", []),
    "over two axes": ("T(2.5)", "(5,4)", "axis=(0,1)", "T", []),
    "of infinity": ("T(inf)", "(5,)", "axis=(0,)", "T", []),
    "one axis left": ("T(2.5)", "(50,3)", "axis=(1,)", "T[50]", [LEFT]),
    "of zero": ("T(-0.0)", "(50,)", "axis=(0,)", "T", None),
    "of what is not known": ("x", "(50,)", "axis=(0,)", "T", None),
    "of nothing": ("T(2.5)", "(0,)", "axis=(0,)", "T", None),
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("case", SPREAD_SUMS.values(), ids=SPREAD_SUMS)
def test_sums_of_what_is_spread(case: tuple[Any, ...], dtype: str) -> None:
    number, shape, axis, result, expected = case
    size = shape.strip("(,)")
    text = f"a T[{size}] = broadcast_to {number} shape={shape}; y {result} = sum a {axis}"
    graph = graph_of("x: T", text, dtype)
    found = drop_dead(verify(strengthen(graph)))
    kept = operations(graph) if expected is None else [one.replace("T", dtype) for one in expected]
    assert operations(found) == kept
    assert_within(graph, found, [np.dtype(dtype).type(3.0)])
