"""Sums as products: what each becomes, and that it is the same sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.interpret import interpret
from tests.programs import Program, programs
from tests.rows import each_row
from tests.support.arrays import normal
from tests.support.graphs import graph_of, ops_of
from tests.support.processes import python
from tracejit.ir.verify import verify
from tracejit.passes.framework.dce import drop_dead
from tracejit.targets.numpy.lower.lower import lower

EDGES = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, np.inf, -np.inf, np.nan]


def all_of(x: Any) -> Any:
    return np.sum(x)


def bound(f: Any, args: list[Any]) -> Any:
    """How far two sums of the same terms may lie apart: some units in the last place of the sum of
    their magnitudes."""
    return 16 * np.finfo(args[0].dtype).eps * f(*[np.abs(arg) for arg in args])


LOWERED = {
    "a vector": (all_of, [(9,)], ["dot"]),
    "one element": (all_of, [(1,)], ["dot"]),
    "a matrix": (all_of, [(4, 3)], ["ravel", "dot"]),
    "the most elements": (all_of, [(8192,)], ["dot"]),
    "a product": (lambda x, y: np.sum(x * y), [(9,), (9,)], ["dot"]),
    "a square": (lambda x: np.sum(x**2), [(9,)], ["dot"]),
    "np.square": (lambda x: np.sum(np.square(x)), [(9,)], ["dot"]),
    "a product of matrices": (lambda x, y: np.sum(x * y), [(4, 3), (4, 3)], ["vdot"]),
    "a large product": (lambda x, y: np.sum(x * y), [(9000,), (9000,)], ["dot_in_rows"]),
    "a large square": (lambda x: np.sum(x * x), [(400, 50)], ["dot_in_rows"]),
    "long rows": (lambda x: np.sum(x * x), [(40, 1000)], ["dot_in_rows"]),
    "a mean": (np.mean, [(9,)], ["dot", "divide"]),
    "rows": (lambda x: np.sum(x, axis=1), [(40, 10)], ["dot_vector"]),
    "rows kept": (lambda x: np.sum(x, axis=1, keepdims=True), [(40, 10)], ["dot_matrix"]),
    "rows of stacks": (lambda x: np.sum(x, axis=-1), [(2, 3, 4)], ["dot_vector"]),
    "rows of stacks kept": (
        lambda x: np.sum(x, axis=-1, keepdims=True),
        [(2, 3, 4)],
        ["dot_vector", "expand_dims"],
    ),
    "many long rows": (lambda x: np.sum(x, axis=1), [(100, 100)], ["vecdot"]),
    "many short rows": (
        lambda x: np.sum(x, axis=1),
        [(1000, 10)],
        ["reshape", "matmul_vector", "reshape"],
    ),
    "many short rows of stacks kept": (
        lambda x: np.sum(x, axis=-1, keepdims=True),
        [(4, 1000, 3)],
        ["reshape", "matmul_vector", "reshape", "expand_dims"],
    ),
    "products of very many short rows": (
        lambda x, y: np.sum(x * y, axis=1),
        [(2000, 10), (2000, 10)],
        ["multiply", "reshape", "matmul_vector", "reshape"],
    ),
    "many columns": (
        lambda x: np.sum(x, axis=0),
        [(1000, 10)],
        ["reshape", "vector_matmul", "sum"],
    ),
    "many columns kept": (
        lambda x: np.sum(x, axis=0, keepdims=True),
        [(1000, 10)],
        ["reshape", "vector_matmul", "sum"],
    ),
    "columns of stacks": (lambda x: np.sum(x, axis=1), [(5, 80, 4)], ["vector_matmul"]),
    "columns of stacks kept": (
        lambda x: np.sum(x, axis=1, keepdims=True),
        [(5, 80, 4)],
        ["vector_matmul", "expand_dims"],
    ),
    "many columns of stacks": (
        lambda x: np.sum(x, axis=-2),
        [(2, 3, 1000, 10)],
        ["reshape", "vector_matmul", "sum"],
    ),
    "columns": (lambda x: np.sum(x, axis=0), [(40, 10)], ["vector_dot"]),
    "columns kept": (lambda x: np.sum(x, axis=0, keepdims=True), [(40, 10)], ["dot_matrix"]),
    "products of rows": (lambda x, y: np.sum(x * y, axis=1), [(8, 3), (8, 3)], ["vecdot"]),
    "products of rows kept": (
        lambda x: np.sum(x * x, axis=1, keepdims=True),
        [(8, 3)],
        ["vecdot", "expand_dims"],
    ),
    "columns of small stacks": (lambda x: np.sum(x, axis=1), [(2, 3, 4)], ["vector_matmul"]),
    "columns of small stacks kept": (
        lambda x: np.sum(x, axis=-2, keepdims=True),
        [(2, 3, 4)],
        ["vector_matmul", "expand_dims"],
    ),
    "squares of long columns": (lambda x: np.sum(x * x, axis=0), [(60, 200)], ["einsum"]),
    "products of long columns of stacks": (
        lambda x, y: np.sum(x * y, axis=1),
        [(5, 10, 200), (5, 10, 200)],
        ["einsum"],
    ),
    "products of long columns of stacks kept": (
        lambda x, y: np.mean(x * y, axis=-2, keepdims=True),
        [(2, 3, 10, 200), (2, 3, 10, 200)],
        ["einsum", "expand_dims", "divide"],
    ),
    "multiples of rows": (
        lambda x, y: np.sum(x * y, axis=1),
        [(5, 3, 1), (5, 3, 4)],
        ["transpose", "matmul", "getitem"],
    ),
    "multiples of the same rows": (
        lambda x, y: np.sum(x * y, axis=1),
        [(3, 4), (5, 3, 1)],
        ["transpose", "matmul", "getitem"],
    ),
    "multiples of rows kept": (
        lambda x, y: np.sum(x * y, axis=1, keepdims=True),
        [(5, 3, 1), (5, 3, 4)],
        ["transpose", "matmul"],
    ),
    "rows times one each": (
        lambda x, y: np.sum(x * y, axis=2),
        [(8, 1, 3), (8, 8, 3)],
        ["vecdot"],
    ),
    "many rows times one each": (
        lambda x, y: np.sum(x * y, axis=2),
        [(8, 1, 3), (8, 60, 3)],
        ["transpose", "matmul", "getitem"],
    ),
    "many rows times one each kept": (
        lambda x, y: np.sum(x * y, axis=2, keepdims=True),
        [(60, 3), (8, 1, 3)],
        ["transpose", "matmul"],
    ),
    "many rows of stacks times one": (
        lambda x, y: np.sum(x * y, axis=-1),
        [(8, 60, 3), (3,)],
        ["matmul_vector"],
    ),
    "rows times one": (lambda x, y: np.sum(x * y, axis=1), [(3,), (8, 3)], ["matmul_vector"]),
    "rows times one kept": (
        lambda x, y: np.sum(x * y, axis=1, keepdims=True),
        [(8, 3), (3,)],
        ["matmul_vector", "expand_dims"],
    ),
    "few rows of stacks times one": (
        lambda x, y: np.sum(x * y, axis=-1),
        [(400, 2, 3), (3,)],
        ["vecdot"],
    ),
    "very many rows times one each": (
        lambda x, y: np.sum(x * y, axis=2),
        [(2, 1, 3), (2, 4000, 3)],
        ["vecdot"],
    ),
    "a stack": (lambda x: np.sum(x, axis=0), [(8, 4, 3)], ["reshape", "vector_dot", "reshape"]),
    "a stack kept": (
        lambda x: np.sum(x, axis=0, keepdims=True),
        [(8, 4, 3, 2)],
        ["reshape", "vector_dot", "reshape"],
    ),
    "rows times numbers": (
        lambda x, y: np.sum(x * y, axis=2),
        [(8, 8, 1), (8, 8, 3)],
        ["multiply", "dot_vector"],
    ),
    "columns times numbers": (
        lambda x, y: np.sum(x * y, axis=1),
        [(8, 1, 3), (8, 8, 3)],
        ["multiply", "vector_matmul"],
    ),
    "products of many short rows": (
        lambda x, y: np.sum(x * y, axis=1),
        [(200, 3), (200, 3)],
        ["multiply", "dot_vector"],
    ),
}  # fmt: skip


@each_row("dtype", ["f4", "f8"])
@each_row(("f", "shapes", "ops"), LOWERED.values())
def test_sums_become_products(f: Any, shapes: Any, ops: list[str], dtype: str) -> None:
    args = [normal(*shape, dtype=dtype) for shape in shapes]
    graph = graph_of(f, *args)
    lowered = drop_dead(lower(graph))
    verify(lowered)
    assert ops_of(lowered) == ops
    (expected,), (found,) = interpret(graph, *args), interpret(lowered, *args)
    assert type(found) is type(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.all(np.abs(found - expected) <= bound(f, args))


KEPT = {
    "large": (all_of, np.ones(8193)),
    "a large product that makes no rows": (lambda x: np.sum(x * x), np.ones(10_007)),
    "integers": (all_of, np.arange(5)),
    "booleans": (all_of, np.ones(5, bool)),
    "complex": (all_of, np.ones(5, complex)),
    "half precision": (all_of, np.ones(5, "f2")),
    "long double": (all_of, np.ones(5, np.longdouble)),
    "in another dtype": (lambda x: np.sum(x, dtype=np.float64), np.ones(5, "f4")),
    "nothing": (all_of, np.ones((0,))),
    "no rows": (lambda x: np.sum(x, axis=1), np.ones((3, 0))),
    "no axis": (lambda x: np.sum(x, axis=()), np.ones((3, 2))),
    "an axis further in front": (lambda x: np.sum(x, axis=1), np.ones((2, 3, 4, 5))),
    "a large stack of little": (lambda x: np.sum(x, axis=0), np.ones((9000, 2, 2))),
    "a stack in another order": (lambda x: np.sum(x.T, axis=0), np.ones((4, 3, 2))),
    "squares of what tiles go through": (
        lambda x: np.sum(x * x, axis=1),
        np.ones((2, 300, 1000)),
    ),
    "long columns": (lambda x: np.sum(x, axis=1), np.ones((5, 10, 200))),
    "few products of long columns": (lambda x: np.sum(x * x, axis=1), np.ones((5, 9, 150))),
    "products of long columns with one": (
        lambda x: np.sum(x * x[:1], axis=1),
        np.ones((5, 10, 200)),
    ),
    "a large stack": (lambda x: np.sum(x, axis=1), np.ones((9000, 4, 4))),
    "large columns of no blocks": (lambda x: np.sum(x, axis=0), np.ones((1009, 10))),
    "large columns of wide rows": (lambda x: np.sum(x, axis=0), np.ones((100, 200))),
    "columns of one": (lambda x: np.sum(x, axis=0), np.ones((9000, 1))),
    "many short rows of no blocks": (lambda x: np.sum(x, axis=1), np.ones((1009, 10))),
    "columns of what tiles go through": (lambda x: np.sum(x, axis=0), np.ones((20_000, 10))),
    "rows of what tiles go through": (lambda x: np.sum(x, axis=1), np.ones((20_000, 10))),
    "columns as long as others that tiles go through": (
        lambda x: np.sum(np.sin(np.sum(x * 2.0, axis=2)), axis=0),
        np.ones((9_000, 2, 10)),
    ),
    "very long rows": (lambda x: np.sum(x, axis=1), np.ones((2, 10_000))),
    "all axes kept": (lambda x: np.sum(x, keepdims=True), np.ones((2, 2))),
}  # fmt: skip


@each_row(("f", "x"), KEPT.values())
def test_what_stays(f: Any, x: Any) -> None:
    graph = graph_of(f, x)
    assert "sum" in ops_of(drop_dead(lower(graph)))


def test_truth_values_are_counted_exactly() -> None:
    graph = graph_of(lambda x: np.sum(x > 0, axis=1, dtype=np.float32), normal(40, 10))
    assert ops_of(drop_dead(lower(graph))) == ["greater", "dot_vector"]
    x = normal(40, 10)
    np.testing.assert_array_equal(
        *interpret(drop_dead(lower(graph)), x), np.sum(x > 0, axis=1, dtype="f4")
    )


def test_a_product_that_is_read_elsewhere_is_made_once() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return np.sum(y), y

    graph = drop_dead(lower(graph_of(f, np.ones(5))))
    assert ops_of(graph) == ["multiply", "dot"]
    assert graph.nodes[1].operands == (*graph.inputs, *graph.inputs)


def test_rows_of_a_product_that_is_read_elsewhere_are_summed() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return np.sum(y, axis=1), y

    assert ops_of(drop_dead(lower(graph_of(f, np.ones((5, 4)))))) == ["multiply", "dot_vector"]


def test_a_decision_falls_as_in_python() -> None:
    """What nothing but a decision reads is summed as NumPy sums it."""
    x = np.array([1e16, *[1.0] * 1000, -1e16])

    def f(x: Any) -> Any:
        return np.sin(x) if np.sum(x) > 975 else np.cos(x)

    compiled = tj.function(f, cache=False)
    np.testing.assert_array_equal(compiled(x), f(x))
    assert "add.reduce(x, axis=None) > 975" in compiled.kernel(x).source


def test_free_sizes_stay() -> None:
    f = tj.function(all_of, cache=False)
    assert f(np.ones(4)) + f(np.ones(5)) + f(np.ones(6)) == 15.0
    assert "add.reduce" in f.kernel(np.ones(6)).source


def test_a_recomputed_product_stays_where_it_is() -> None:
    """The factors of a product in a region are not read from outside."""

    def f(x: Any) -> Any:
        return np.sum(tj.recompute_grad(lambda x: np.tanh(x) * np.exp(x))(x))

    x = normal(50)
    value, gradient = tj.value_and_grad(tj.function(f, cache=False))(x)
    exact_value, exact = tj.value_and_grad(tj.function(f, cache=False, exact=True))(x)
    np.testing.assert_allclose(value, exact_value, rtol=1e-13)
    np.testing.assert_allclose(gradient, exact, rtol=1e-13)


@settings(max_examples=by_day(40, 200), deadline=None)
@given(
    st.sampled_from(sorted(set(LOWERED) - {"a mean", "products of long columns of stacks kept"})),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.sampled_from(EDGES), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
def test_infinities_and_nan_are_where_they_were(
    case: str, dtype: str, special: list[float], random: Any
) -> None:
    f, shapes, _ = LOWERED[case]
    with np.errstate(all="ignore"):
        args = []
        for shape in shapes:
            x = normal(*shape, dtype=dtype)
            for number in special:
                x.reshape(-1)[random.randrange(x.size)] = number
            args.append(x)
        expected = tj.function(f, cache=False, exact=True)(*args)
        found = tj.function(f, cache=False)(*args)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    finite = np.isfinite(expected)
    with np.errstate(all="ignore"):
        assert np.all((np.abs(found - expected) <= bound(f, args))[finite])


@settings(max_examples=by_day(15, 60), deadline=None, derandomize=True, database=None)
@given(programs())
def test_programs_are_what_they_are_exactly(program: Program) -> None:
    moving = program.moving
    exact = tj.value_and_grad(tj.function(program.loss, cache=False, exact=True), moving)
    found = tj.value_and_grad(tj.function(program.loss, cache=False), moving)(*program.values)
    value, gradients = exact(*program.values)
    np.testing.assert_allclose(found[0], value, rtol=1e-12, atol=1e-12)
    for one, other in zip(found[1], gradients, strict=True):
        assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype)
        scale = np.max(np.abs(other), initial=0.0) + 1.0
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * scale)


NEXT_TO_EACH_OTHER = {
    "columns of two axes": (
        lambda x: np.sum(x, axis=(0, 1)),
        (40, 50, 6),
        ["reshape", "reshape", "vector_matmul", "sum"],
    ),
    "columns of two axes kept": (
        lambda x: np.sum(x, axis=(0, 1), keepdims=True),
        (40, 50, 6),
        ["reshape", "reshape", "vector_matmul", "sum", "reshape"],
    ),
    "columns of stacks": (
        lambda x: np.sum(x, axis=(1, 2)),
        (30, 10, 10, 8),
        ["reshape", "vector_matmul"],
    ),
    "rows of two axes": (
        lambda x: np.sum(x, axis=(1, 2)),
        (2000, 3, 4),
        ["reshape", "reshape", "matmul_vector", "reshape"],
    ),
    "a mean": (
        lambda x: np.mean(x, axis=(0, 1)),
        (100, 20, 10),
        ["reshape", "reshape", "vector_matmul", "sum", "divide"],
    ),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("f", "shape", "ops"), NEXT_TO_EACH_OTHER.values(), ids=NEXT_TO_EACH_OTHER)
def test_axes_next_to_each_other(f: Any, shape: Any, ops: list[str], dtype: str) -> None:
    x = normal(*shape, dtype=dtype)
    graph = graph_of(f, x)
    lowered = drop_dead(lower(graph))
    verify(lowered)
    assert ops_of(lowered) == ops
    (expected,), (found,) = interpret(graph, x), interpret(lowered, x)
    assert (type(found), found.dtype, found.shape) == (type(expected), x.dtype, expected.shape)
    wide = f(x.astype(np.longdouble))
    assert np.all(np.abs(found - wide) <= np.abs(expected - wide) + bound(f, [x]))


OVER_AXES_THAT_STAY = {
    "few elements": (lambda x: np.sum(x, axis=(0, 1)), np.ones((10, 10, 10))),
    "large": (lambda x: np.sum(x, axis=(0, 1)), np.ones((5000, 10, 4))),
    "axes that are not neighbours": (lambda x: np.sum(x, axis=(0, 2)), np.ones((100, 20, 10))),
    "whole numbers": (lambda x: np.sum(x, axis=(0, 1)), np.ones((200, 70, 2), int)),
    "half precision": (lambda x: np.sum(x, axis=(0, 1)), np.ones((200, 70, 2), "f2")),
    "another dtype": (
        lambda x: np.sum(x, axis=(0, 1), dtype="f8"),
        np.ones((200, 70, 2), "f4"),
    ),
    "a view of other strides": (lambda x: np.sum(x.T, axis=(0, 1)), np.ones((7, 50, 40))),
}


@pytest.mark.parametrize(("f", "x"), OVER_AXES_THAT_STAY.values(), ids=OVER_AXES_THAT_STAY)
def test_sums_over_axes_that_stay(f: Any, x: Any) -> None:
    graph = graph_of(f, x)
    assert ops_of(drop_dead(lower(graph))) == ops_of(graph)


MODERATE = [0.0, -0.0, 1.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan]


@settings(max_examples=by_day(15, 60), deadline=None)
@given(
    st.sampled_from(sorted(NEXT_TO_EACH_OTHER)),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.sampled_from(MODERATE), max_size=5),
    st.randoms(use_true_random=False),
)
def test_kernels_of_axes_are_as_exact_ones(
    case: str, dtype: str, special: list[float], random: Any
) -> None:
    """Values, and infinities and nan where they were."""
    f, shape, _ = NEXT_TO_EACH_OTHER[case]
    x = normal(*shape, dtype=dtype)
    for number in special:
        x.reshape(-1)[random.randrange(x.size)] = number
    with np.errstate(all="ignore"):
        found, expected = _both(case)
        result, exact = found(x), expected(x)
        assert (result.dtype, result.shape) == (exact.dtype, exact.shape)
        finite = np.isfinite(exact)
        np.testing.assert_array_equal(result[~finite], exact[~finite])
        assert np.all(np.isfinite(result[finite]))
        if not np.all(np.isfinite(x)):
            return
        allowed = 4 * x.size**0.5 * bound(f, [x])
        assert np.all(np.abs(result - exact) <= allowed)


_kernels: dict[str, tuple[Any, Any]] = {}


def _both(case: str) -> tuple[Any, Any]:
    f = NEXT_TO_EACH_OTHER[case][0]
    if case not in _kernels:
        made = tj.function(f, cache=False), tj.function(f, cache=False, exact=True)
        _kernels[case] = made
    return _kernels[case]


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_sizes_of_terms(scale: float) -> None:
    """Large and small terms add up as they do in NumPy."""
    x = normal(40, 50, 6) * scale
    found, expected = _both("columns of two axes")
    np.testing.assert_allclose(found(x), expected(x), rtol=1e-12, atol=1e-13 * scale)


def test_float32_keeps_its_digits() -> None:
    """Long columns have a smaller error than NumPy's row after row."""
    x = (1.0 + np.random.default_rng(0).random((16, 700, 16))).astype("f4")
    wide = x.astype("f8").sum((0, 1))
    found = tj.function(lambda x: np.sum(x, axis=(0, 1)), cache=False)(x)
    assert np.abs(found - wide).max() < 0.2 * np.abs(np.sum(x, axis=(0, 1)) - wide).max()


SUMS = """
import numpy as np
import tracejit as tj
x = np.random.default_rng(0).normal(size=(8, 1000, 16))
f = tj.function(lambda x: (np.sum(x, axis=(0, 1)), np.sum(x[:, 3:], axis=(1, 2))))
print([part.tobytes().hex() for part in f(x)])
"""


def test_threads_of_the_blas_change_nothing() -> None:
    """The bits of sums in blocks are those of one thread."""
    counts = by_day((1, 4), (1, 2, 4))
    found = {python(SUMS, OPENBLAS_NUM_THREADS=str(count), TRACEJIT_CACHE="0") for count in counts}
    assert len(found) == 1
