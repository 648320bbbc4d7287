"""Every way in which factors and signs move: what becomes of a graph, and what must not change."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tests.rewrites import assert_within, graph_of, operations, pairs
from tests.rows import each_row
from tests.support.graphs import ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.coefficients import gather_coefficients
from tracejit.passes.framework.dce import drop_dead

TWO = "x: T[N], z: T[N]"
MOVED = {
    "factors of both operands": (
        TWO,
        "a T[N] = multiply 2.0 x; b T[N] = multiply z 3.0; y T[N] = multiply a b",
        ["multiply 6.0 x", "multiply v1 z"],
    ),
    "factors that cancel": (
        TWO,
        "a T[N] = multiply 2.0 x; b T[N] = multiply 0.5 z; y T[N] = multiply a b",
        ["multiply x z"],
    ),
    "a factor of a factor": (
        "x: T[N]",
        "a T[N] = multiply 2.0 x; y T[N] = divide a 4.0",
        ["multiply 0.5 x"],
    ),
    "signs that cancel": (
        TWO,
        "a T[N] = negative x; b T[N] = negative z; y T[N] = divide a b",
        ["divide x z"],
    ),
    "a sign and a factor": (
        "x: T[N]",
        "a T[N] = negative x; y T[N] = multiply 3.0 a",
        ["multiply -3.0 x"],
    ),
    "factors of a quotient": (
        TWO,
        "a T[N] = multiply 2.0 x; b T[N] = multiply 8.0 z; y T[N] = divide a b",
        ["multiply 0.25 x", "divide v1 z"],
    ),
    "a factor below one": (
        TWO,
        "a T[N] = divide 2.0 z; b T[N] = multiply a x; y T[N] = multiply 3.0 b",
        ["divide 6.0 z", "multiply v1 x"],
    ),
    "a number over a negative": (
        "x: T[N]",
        "a T[N] = negative x; y T[N] = divide 1.0 a",
        ["divide -1.0 x"],
    ),
    "a sign in a sum": (
        TWO,
        "a T[N] = negative x; b T[N] = multiply a z; y T[N] = add x b",
        ["multiply x z", "subtract x v1"],
    ),
    "a sign in a difference": (
        TWO,
        "a T[N] = negative x; b T[N] = multiply a z; y T[N] = subtract x b",
        ["multiply x z", "add x v1"],
    ),
    "a sign in front": (
        TWO,
        "a T[N] = negative x; b T[N] = multiply a z; y T[N] = add b z",
        ["multiply x z", "subtract z v1"],
    ),
    "a negative factor in a sum": (
        TWO,
        "a T[N] = multiply -2.0 x; y T[N] = add z a",
        ["multiply 2.0 x", "subtract z v1"],
    ),
    "a common factor": (
        TWO,
        "a T[N] = multiply 3.0 x; b T[N] = multiply 3.0 z; y T[N] = add a b",
        ["add x z", "multiply 3.0 v1"],
    ),
    "a common factor but for the sign": (
        TWO,
        "a T[N] = multiply -3.0 x; b T[N] = multiply 3.0 z; y T[N] = add a b",
        ["subtract z x", "multiply 3.0 v1"],
    ),
    "the sum of a multiple": (
        "x: T[N]",
        "a T[N] = multiply 3.0 x; y T = sum a  axis=(0,)",
        ["sum x axis=(0,)", "multiply 3.0 v1"],
    ),
    "the sum of a quotient": (
        "x: T[N]",
        "a T[N] = divide x 8.0; y T = sum a  axis=(0,)",
        ["sum x axis=(0,)", "multiply 0.125 v1"],
    ),
    "the sum of a negative": (
        "x: T[N]",
        "a T[N] = negative x; y T = sum a  axis=(0,)",
        ["sum x axis=(0,)", "negative v1"],
    ),
    "a multiple of an array times a number": (
        "x: T[N], z: T",
        "a T[N] = multiply x z; y T[N] = multiply 3.0 a",
        ["multiply 3.0 z", "multiply x v1"],
    ),
    "a choice between numbers": (
        TWO,
        (
            "m b1[N] = less x 1.0; a T[N] = where m T(2.0) T(0.0); b T[N] = multiply a z;"
            "y T[N] = multiply 3.0 b"
        ),
        ["less x 1.0", "where v1 T(6.0) T(0.0)", "multiply v2 z"],
    ),
    "a choice between a multiple and nothing": (
        TWO,
        (
            "m b1[N] = less x 1.0; a T[N] = multiply 2.0 z; b T[N] = where m a 0.0;"
            "y T[N] = multiply 3.0 b"
        ),
        ["less x 1.0", "multiply 6.0 z", "where v1 v2 0.0"],
    ),
    "the negative of a product, where one of a factor is": (
        TWO,
        (
            "a T[N] = negative x; b T[N] = exp a; c T[N] = multiply x z; d T[N] = negative c;"
            "e T[N] = exp d; y T[N] = multiply b e"
        ),
        ["negative x", "exp v1", "multiply v1 z", "exp v3", "multiply v2 v4"],
    ),
}

MOVED |= {
    "an integer over a factor": (
        "x: T[N]",
        "a T[N] = multiply 8.0 x; y T[N] = divide i2(1) a",
        ["divide T(0.125) x"],
    ),
    "times one over": (
        TWO,
        "a T[N] = divide 1.0 z; y T[N] = multiply a x",
        ["divide x z"],
    ),
}

STAYING = {
    "times one over a number for each row": (
        "x: f8[4,9], z: f8[4,1]",
        "a f8[4,1] = divide 1.0 z; y f8[4,9] = multiply a x",
        "",
    ),
    "one factor": ("x: T[N], z: T[N]", "a T[N] = multiply 2.0 x; y T[N] = multiply a z", ""),
    "a large factor": (
        "x: T[N]",
        "a T[N] = multiply 1e+20 x; y T[N] = multiply 1e-20 a",
        "",
    ),
    "a large product of factors": (
        "x: T[N]",
        "a T[N] = multiply 1000000.0 x; y T[N] = multiply 1000000.0 a",
        "",
    ),
    "nothing": ("x: T[N]", "a T[N] = multiply 0.0 x; y T[N] = multiply 2.0 a", ""),
    "an infinite factor": ("x: T[N]", "a T[N] = multiply inf x; y T[N] = multiply 2.0 a", ""),
    "a value that the user has named": (
        "x: T[N]",
        "a T[N] = multiply 2.0 x; y T[N] = multiply 3.0 a",
        "a",
    ),
    "a value that is read twice": (
        "x: T[N]",
        "a T[N] = multiply 2.0 x; b T[N] = multiply 3.0 a; y T[N] = add a b",
        "",
    ),
    "different factors": (
        "x: T[N], z: T[N]",
        "a T[N] = multiply 2.0 x; b T[N] = multiply 3.0 z; y T[N] = add a b",
        "",
    ),
    "integers": ("x: i8[3]", "a i8[3] = multiply 2 x; y i8[3] = multiply 3 a", ""),
    "a Python number": ("x: ~f8", "a f8 = multiply 2.0 x; y f8 = multiply x a", ""),
    "another dtype": ("x: f4[3]", "a f4[3] = multiply 2.0 x; y f8[3] = multiply f8(3.0) a", ""),
}


@each_row("dtype", ["f8", "f4"])
@each_row(("inputs", "nodes", "expected"), MOVED.values())
def test_what_moves(inputs: str, nodes: str, expected: list[str], dtype: str) -> None:
    graph = graph_of(inputs, nodes, dtype)
    new = verify(drop_dead(verify(gather_coefficients(graph))))
    assert operations(new) == [line.replace("T", dtype) for line in expected]
    x, z = pairs(dtype)
    if "z: T[N]" in inputs:
        assert_within(graph, new, [x, z])
    elif "sum" in nodes:
        for value in x[: len(set(x))]:
            assert_within(graph, new, [np.where(np.arange(x.size) == 3, value, z.dtype.type(0.1))])
    elif "z: T" in inputs:
        for value in x[: len(set(x))]:
            assert_within(graph, new, [z, value])
    else:
        assert_within(graph, new, [x])


@pytest.mark.parametrize(("inputs", "nodes", "named"), STAYING.values(), ids=STAYING)
def test_what_stays(inputs: str, nodes: str, named: str) -> None:
    graph = graph_of(inputs, nodes, named=named)
    assert operations(drop_dead(gather_coefficients(graph))) == operations(graph)


def test_recompute_regions_stay_apart() -> None:
    graph = graph_of("x: T[N]", "a T[N] = multiply 2.0 x; y T[N] = multiply 3.0 a")
    graph.nodes[0].region = 1
    assert [node.op.name for node in gather_coefficients(graph).nodes] == ["multiply", "multiply"]


def test_a_factor_leaves_a_matrix_product() -> None:
    nodes = "a T[40,30] = multiply 2.0 x; b T[30] = matmul_vector a z; y T[30] = multiply 3.0 b"
    graph = graph_of("x: T[30,40], z: T[40]", nodes.replace("T[40,30]", "T[30,40]"))
    new = verify(drop_dead(gather_coefficients(graph)))
    assert operations(new) == ["matmul_vector x z", "multiply 6.0 v1"]
    rng = np.random.default_rng(0)
    assert_within(graph, new, [rng.normal(size=(30, 40)), rng.normal(size=40)])


def test_long_chains() -> None:
    """Neither products nor sums of thousands of terms are a matter of recursion."""
    products = "; ".join(f"a{k + 1} T[N] = multiply a{k} z" for k in range(1, 3000))
    sums = "; ".join(f"b{k + 1} T[N] = subtract b{k} a1" for k in range(1, 3000))
    text = f"a1 T[N] = multiply 2.0 x; {products}; b1 T[N] = negative a3000; {sums}"
    graph = graph_of("x: T[N], z: T[N]", f"{text}; y T[N] = multiply 3.0 b3000")
    assert len(drop_dead(gather_coefficients(graph)).nodes) <= len(graph.nodes)


def test_a_decision_falls_as_in_numpy() -> None:
    """What nothing but a decision reads is computed as it was written."""
    x = np.full(4, 1.0 + 2.0**-52)

    @tj.function
    def chosen(x: np.ndarray) -> np.ndarray:
        if np.sum(x * (1.0 / 3.0)) * 3.0 > np.sum(x):
            return x * 1.0
        return -x

    expected = x if np.sum(x * (1.0 / 3.0)) * 3.0 > np.sum(x) else -x
    np.testing.assert_array_equal(chosen(x), expected)
    assert "* 3.0" in chosen.kernel(x).source


def test_rosenbrock_reads_like_written_by_hand() -> None:
    def rosenbrock(x: np.ndarray) -> np.ndarray:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x = np.linspace(-1.0, 2.0, 10)
    source = tj.value_and_grad(rosenbrock).kernel(x).source
    assert "c_minus_2 * (out_3 + out_bar * out_1)" in source.split("def value_and_grad")[1]


def test_a_sign_leaves_what_is_gathered_and_scattered() -> None:
    """Rows that are taken away are not negated before they are added up."""

    def energy(p: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.sum(np.sin(p[i] - p[j]))

    rng = np.random.default_rng(0)
    args = rng.normal(size=(40, 3)), rng.integers(0, 40, 500), rng.integers(0, 40, 500)
    both = tj.value_and_grad(tj.function(energy, cache=False))
    exact = tj.value_and_grad(tj.function(energy, cache=False, exact=True))
    (value, found), (number, expected) = both(*args), exact(*args)
    source = both.kernels[-1].source.partition("def value_and_grad")[2]
    assert "negative" not in source and "= -" not in source
    np.testing.assert_allclose(value, number, rtol=1e-13)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_lines_stand_in_the_order_of_the_program() -> None:
    """What is multiplied without its factor is so at the place where it was multiplied with it."""
    graph = graph_of(
        "x: T[N], z: T[N]",
        "a T[N] = multiply 0.5 x; b T[N] = sin z; c T[N] = multiply a b; d T[N] = multiply 0.5 c;"
        "e T[N] = cos z; y T[N] = multiply d e",
        "f8",
    )
    new = verify(drop_dead(verify(gather_coefficients(graph))))
    assert ops_of(new) == [
        "multiply",
        "sin",
        "multiply",
        "cos",
        "multiply",
    ]
    assert operations(new)[0] == "multiply 0.25 x"
