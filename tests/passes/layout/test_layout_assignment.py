"""The long axis last: what is turned, what stays, and that the results are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close, assert_close_to_exact
from tests.interpret import interpret
from tests.support.arrays import normal
from tests.support.graphs import graph_of, ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.layout import layout_assignment
from tracejit.passes.layout.axes import swapped
from tracejit.passes.layout.layout_assignment import assign_layouts
from tracejit.support.cost_model import assuming

ROWS = 3000
EDGES = [0.0, -0.0, 1.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan]


def standardised(x: Any, scale: Any, shift: Any) -> Any:
    """Columns of mean 0 and variance 1, then scaled and shifted."""
    centered = x - np.mean(x, axis=0)
    return np.sum(np.tanh(centered / np.sqrt(np.var(x, axis=0) + 0.1) * scale + shift), axis=1)


def log_sum_exp(x: Any, scale: Any, shift: Any) -> Any:
    """Of each row, the axis kept."""
    x = x * scale + shift
    top = np.max(x, axis=-1, keepdims=True)
    return top + np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True))


def distances(x: Any, scale: Any, shift: Any) -> Any:
    """Of each row from each center, in a stack."""
    centers = np.stack([scale, shift, scale * shift, scale - shift])
    return np.min(np.sum((x - centers[:, None]) ** 2, axis=-1), axis=0)


def products(x: Any, scale: Any, shift: Any) -> Any:
    """The covariance of what a matrix makes of the rows."""
    turned = (x - shift) @ (np.outer(scale, shift) + np.eye(scale.size)).T
    turned = turned * np.sign(scale) - shift
    return turned.T @ turned


def vectors(x: Any, scale: Any, shift: Any) -> Any:
    """Products of rows with vectors, and of vectors with columns."""
    x = (x - shift) * scale
    x = x / (shift * shift + 1.0) + scale
    return x @ scale + np.linspace(0.0, 1.0, x.shape[0]) @ x @ shift


def dots(x: Any, scale: Any, shift: Any) -> Any:
    """The same by `dot`."""
    x = ((x - shift) * scale).dot(np.outer(scale, scale) + 1.0)
    x = x / (shift * shift + 1.0) + scale
    return x.dot(scale) + np.dot(np.linspace(0.0, 1.0, x.shape[0]), x).dot(shift)


def chosen(x: Any, scale: Any, shift: Any) -> Any:
    """Where each element is larger than another, in each row."""
    x = x * scale - shift
    y = np.where(x > shift, x * scale, np.maximum(x, scale))
    return np.sum(y > scale, axis=1) * 0.5 + np.max(y, axis=1) - np.min(y - shift, axis=1)


def stacked(x: Any, scale: Any, shift: Any) -> Any:
    """Added up over a stack, then over rows."""
    many = np.tanh((x - np.stack([scale, shift])[:, None]) * scale + shift)
    return np.sum(np.sum(many, axis=0) * scale - shift, axis=0)


def handed_out(x: Any, scale: Any, shift: Any) -> Any:
    """Many operations, all of which end in an array of rows."""
    for _ in range(6):
        x = np.cos(x * scale + shift)
    return x


TURNED = (
    standardised, log_sum_exp, distances, products, vectors, dots, chosen, stacked, handed_out,
)  # fmt: skip


def arguments(rows: int = ROWS, length: int = 3, dtype: str = "f8") -> list[Any]:
    """Rows, and two of the same length."""
    return [normal(*shape, dtype=dtype) for shape in ((rows, length), (length,), (length,))]


def tall(graph: Graph) -> list[str]:
    """The ops whose results are of many short rows, but views."""
    return [
        node.op.name
        for node in graph.nodes
        if layout_assignment.is_tall(node.results[0].type) and node.op.view_of is None
    ]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", TURNED)
def test_all_is_turned(f: Any, dtype: str) -> None:
    """Nothing of short rows is left but what is handed out."""
    args = arguments(dtype=dtype)
    graph = graph_of(f, *args)
    turned = drop_dead(assign_layouts(graph))
    verify(turned)
    assert tall(graph)
    assert tall(turned) == (["copy"] if f is handed_out else [])
    with np.errstate(all="ignore"):
        pairs = zip(interpret(graph, *args), interpret(turned, *args), strict=True)
        for expected, found in pairs:
            assert_close(found, expected, np.float32 if dtype == "f4" else None)
            assert found.flags.c_contiguous


def loss_of(f: Any) -> Any:
    """A number that depends on all results."""
    return lambda *args: np.sum(f(*args) * 0.3) + np.sum(np.sin(f(*args) / ROWS))


@pytest.mark.parametrize("f", TURNED)
def test_gradients(f: Any) -> None:
    args = arguments()
    loss = loss_of(f)
    found = tj.value_and_grad(tj.function(loss, cache=False), argnums=(0, 1, 2))
    exact = tj.value_and_grad(tj.function(loss, cache=False, exact=True), argnums=(0, 1, 2))
    (value, gradients), (wide, expected) = found(*args), exact(*args)
    assert_close(value, wide, None)
    for one, other in zip(gradients, expected, strict=True):
        assert_close(one, other, None)
        assert one.flags.c_contiguous


@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_over_stacks_that_are_not_turned(keepdims: bool) -> None:
    """What they add up to is of too few elements, or whole numbers."""

    def f(x: Any, a: Any, b: Any) -> Any:
        x = np.tanh(x * a + b) * a - b
        return np.sum(x, axis=0, keepdims=keepdims), np.sum(x > 0.0, axis=0, keepdims=keepdims)

    args = [normal(90, 30, 3), normal(90, 1, 3), normal(90, 1, 3)]
    graph = graph_of(f, *args)
    turned = drop_dead(assign_layouts(graph))
    verify(turned)
    assert ops_of(turned) != ops_of(graph)
    for found, expected in zip(interpret(turned, *args), f(*args), strict=True):
        assert_close(found, expected, None)
        assert found.flags.c_contiguous


def test_reductions_over_no_axis() -> None:
    """They read the rows as they are."""

    def f(x: Any, a: Any, b: Any) -> Any:
        x = np.tanh((x - a) * b) * a
        return np.max(x, axis=1), np.sum(x, axis=()), np.min(x * b, axis=(), keepdims=True)

    for x in (normal(3000, 3), normal(5, 600, 3)):
        args = [x, normal(3), normal(3)]
        turned = verify(drop_dead(assign_layouts(graph_of(f, *args))))
        assert "ascontiguousarray" in ops_of(turned)
        for found, expected in zip(interpret(turned, *args), f(*args), strict=True):
            assert_close(found, expected, None)


def test_turned_by_a_single_copy() -> None:
    """What several groups read is turned once."""

    def f(x: Any, a: Any, b: Any) -> Any:
        return np.sum(np.tanh(x * a + b), axis=1) - np.sum((x - b) * b * a, axis=1)

    turned = drop_dead(assign_layouts(graph_of(f, *arguments())))
    assert ops_of(turned).count("ascontiguousarray") == 1


PRODUCTS = {
    "both factors turned": (lambda x, y: (x.T @ y.T).T, True),
    "one factor turned": (lambda x, y: (x.T @ y[:, :900].T).T * 2.0, True),
    "in stacks": (lambda x, y: np.sin((np.stack([x, x]).mT @ y.T).mT), True),
    "read as they are": (lambda x, y: (lambda p: p + p.T)(x.T @ y.T), False),
    "handed out": (lambda x, y: (lambda p: (p, p.T * 2.0))(x.T @ y.T), False),
    "whole numbers": (lambda x, y: (np.sign(x).astype(int).T @ np.sign(y).astype(int).T).T, False),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_are_only_read_turned(name: str) -> None:
    """They are those of turned factors in reverse, without a view of the result."""
    f, is_turned = PRODUCTS[name]
    args = normal(900, 7), normal(7, 900)
    graph = graph_of(f, *args)
    found = verify(drop_dead(assign_layouts(graph)))
    assert (ops_of(found) != ops_of(graph)) == is_turned
    last = [node for node in found.nodes if node.op.name == "matmul"][-1]
    if is_turned:
        order = swapped(last.results[0].type.ndim)
        assert not any(
            node.params.get("axes") == order and node.operands == last.results
            for node in found.nodes
        )
    for one, other in zip(interpret(found, *args), interpret(graph, *args), strict=True):
        assert_close(one, other, None)


def test_numbers_of_rows_that_are_negated() -> None:
    """They become a row without a view of a view."""

    def f(x: Any, a: Any, b: Any) -> Any:
        x = np.tanh((x - a) * b) * a + b
        return np.sum(-np.max(x, axis=1)[:, None] * x, axis=1)

    turned = drop_dead(assign_layouts(graph_of(f, *arguments())))
    assert ops_of(turned).count("transpose") == 1


def small(x: Any, a: Any, b: Any) -> Any:
    """Too little is done with the rows for a copy of them."""
    return np.sum(x * a, axis=1)


def handed_out_at_once(x: Any, a: Any, b: Any) -> Any:
    """The rows are handed out again."""
    return x * a + b


STAYS = {
    "a single operation": (small, arguments(3000, 10)),
    "extremes of long rows": (lambda x, a, b: np.max(x, axis=1), arguments(200, 100)),
    "extremes of few rows": (lambda x, a, b: np.max(x, axis=1), arguments(20, 10)),
    "extremes of columns": (lambda x, a, b: np.max(x, axis=0), arguments(200, 10)),
    "sums of what is given": (lambda x, a, b: np.sum(x, axis=1), arguments()),
    "rows are handed out": (handed_out_at_once, arguments(3000, 10)),
    "few rows": (standardised, arguments(15)),
    "little gain": (standardised, arguments(40)),
    "few elements": (distances, arguments(20, 2)),
    "long rows": (standardised, arguments(1000, 40)),
    "rows of one element": (standardised, arguments(3000, 1)),
    "no rows": (standardised, [np.ones((0, 3)), np.ones(3), np.ones(3)]),
    "rows of nothing": (handed_out, [np.ones((3000, 0)), np.ones(0), np.ones(0)]),
    "rows for tiles, not so short": (standardised, arguments(30_000, 10)),
    "complex numbers": (handed_out, [one + 0.5j for one in arguments()]),
    "half precision": (handed_out, arguments(dtype="f2")),
    "whole numbers": (lambda x, a, b: np.max(x * a + b, axis=1), [np.ones((3000, 3), int)] * 3),
    "little next to all else": (
        lambda x, a, b: log_sum_exp(x, a, b) + np.sum((x @ x.T) @ (x @ x.T)),
        arguments(600),
    ),
    "no operand is spread": (
        lambda x, a, b: np.sum(np.tanh(x * x + np.exp(x)), axis=1),
        arguments(),
    ),
}


@pytest.mark.parametrize(("f", "args"), STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, args: list[Any]) -> None:
    graph = graph_of(f, *args)
    assert ops_of(drop_dead(assign_layouts(graph))) == ops_of(graph)


def test_free_sizes_stay() -> None:
    """Nothing is known of how long they are."""
    function = tj.function(standardised, cache=False)
    for rows in (3000, 3001, 3002):
        function(*arguments(rows))
    assert "x.T" not in function.kernels[-1].source

    def with_fixed(x: Any, y: Any, a: Any, b: Any) -> Any:
        return np.sum(standardised(x, a, b)) * handed_out(y, a, b) + x[0]

    function = tj.function(with_fixed, cache=False)
    y, a, b = arguments()
    for rows in (20, 21, 22):
        x = normal(rows, 3)
        assert_close(function(x, y, a, b), with_fixed(x, y, a, b), None)
    assert "x.T" not in function.kernels[-1].source
    assert "y.T" in function.kernels[-1].source


def test_sizes_that_are_known() -> None:
    assert "x.T" in tj.function(standardised, cache=False).kernel(*arguments()).source


def test_ways_stay() -> None:
    """What a way computes does not change when another is joined to it."""

    def f(x: Any, a: Any, b: Any) -> Any:
        return standardised(x, a, b) if (a[0] > 0.0).__bool__() else standardised(x, b, a)

    x, a, b = arguments()
    function = tj.function(f, cache=False)
    for sign in (1.0, -1.0):
        first = np.abs(a) * sign
        assert_close(function(x, first, b), f(x, first, b), None)
    assert ".T" not in function.kernels[-1].source


def test_what_is_computed_again_stays() -> None:
    f = tj.recompute_grad(standardised)
    gradient = tj.grad(lambda *args: np.sum(f(*args) ** 2))
    gradient(*arguments())
    assert "ascontiguousarray" not in gradient.kernels[-1].source


@pytest.mark.parametrize("order", ["F", "strided"])
def test_arguments_in_any_layout(order: str) -> None:
    """They are never written to, also where their transpose is a view that needs no copy."""
    x, a, b = arguments()
    given = np.asfortranarray(x) if order == "F" else np.repeat(x, 2, axis=0)[::2]
    before = given.copy()
    function = tj.function(handed_out, cache=False)
    assert_close(function(given, a, b), handed_out(x, a, b), None)
    np.testing.assert_array_equal(given, before)


EXTREMES = {
    "maximum of rows": (lambda x: np.max(x, axis=1), (200, 7), ["max"]),
    "maximum of rows kept": (
        lambda x: np.max(x, axis=1, keepdims=True),
        (200, 7),
        ["max", "transpose"],
    ),
    "minimum of rows of stacks": (lambda x: np.min(x, axis=-1), (20, 30, 4), ["min"]),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("f", "shape", "ops"), EXTREMES.values(), ids=EXTREMES)
def test_extremes_of_what_is_given(f: Any, shape: Any, ops: list[str], dtype: str) -> None:
    """They are those of the columns of a copy."""
    x = normal(*shape, dtype=dtype)
    graph = graph_of(f, x)
    moved = verify(drop_dead(assign_layouts(graph)))
    assert ops_of(moved) == ["transpose", "ascontiguousarray", *ops]
    x.reshape(-1)[[3, 40, 60]] = np.nan, np.inf, -np.inf
    (expected,), (found,) = interpret(graph, x), interpret(moved, x)
    assert found.tobytes() == expected.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(range(len(TURNED))),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.tuples(st.sampled_from(EDGES), st.integers(0, 2)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_infinities_and_nan_stay_where_they_are(
    number: int, dtype: str, special: list[tuple[float, int]], random: Any
) -> None:
    args = arguments(400, 3, dtype)
    graph = _graph(number, dtype)
    for value, place in special:
        args[place].reshape(-1)[random.randrange(args[place].size)] = value
    with np.errstate(all="ignore"), assuming(least_moved_gain=-1e9):
        turned = drop_dead(assign_layouts(graph))
        assert ops_of(turned) != ops_of(graph)
        pairs = zip(interpret(graph, *args), interpret(turned, *args), strict=True)
        for expected, found in pairs:
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            finite = np.isfinite(expected)
            np.testing.assert_array_equal(found[~finite], expected[~finite])
            assert np.all(np.isfinite(found[finite]))


def _projected(p: Any, c: Any) -> Any:
    """A point seen by a camera."""
    q = c[:3] * p + c[3:6]
    r = q[:2] / (1.0 + q[2] ** 2)
    return r * (1.0 + c[6] * np.sum(r * r)) - c[7:9]


def blocks(points: Any, cameras: Any) -> Any:
    """The Jacobian of each observation, of shape (n, 2, 3), and the normal equations."""
    j = tj.vmap(tj.jacobian(_projected))(points, cameras)
    return j, j.mT @ j


def cloud(x: Any, turn: Any, weights: Any) -> Any:
    """Directions of the points of a cloud from their middle."""
    d = x @ turn.T
    d = d - np.mean(d, axis=0)
    d = d / np.sqrt(np.sum(d * d, axis=1) + 0.1)[:, None]
    return weights * np.sum(d * np.roll(d, 1, axis=0), axis=1)


def image(x: Any, gain: Any, bias: Any) -> Any:
    """Saturation and luminance."""
    y = x * gain + bias
    top, low = np.max(y, axis=-1, keepdims=True), np.min(y, axis=-1, keepdims=True)
    gray = np.sum(y * np.array([0.3, 0.6, 0.1]), axis=-1)
    return ((top - low) / (np.abs(top) + 1.0))[..., 0] * gray, y - gray[..., None]


def small_matrices(a: Any, b: Any) -> Any:
    """Products of matrices of three rows, made of length one."""
    c = a @ b @ a.mT
    return c / np.sqrt(np.sum(c * c, axis=(-1, -2)) + 1.0)[:, None, None] - np.eye(3)


LARGER: dict[str, tuple[Any, list[Any]]] = {
    "blocks": (blocks, [normal(2000, 3), normal(2000, 9)]),
    "cloud": (cloud, [normal(5000, 3), normal(3, 3), normal(5000)]),
    "image": (image, [normal(64, 96, 3), normal(3), normal(3)]),
    "small matrices": (small_matrices, [normal(1500, 3, 3), normal(1500, 3, 3)]),
    "large cloud": (cloud, [normal(50_000, 3), normal(3, 3), normal(50_000)]),
}


def loops(graph: Graph, args: list[Any]) -> int:
    """The number of inner loops of NumPy in elementwise operations, and of small
    matrices it multiplies."""
    count = 0

    def observe(node: Any, operands: Any, results: Any) -> None:
        nonlocal count
        if node.op.batch == "elementwise":
            arrays = [np.asarray(x) for x in (*operands, *results)]
            count += sum(1 for _ in np.nditer(arrays, flags=["external_loop"]))
        elif node.op.name == "matmul":
            count += int(np.prod(results[0].shape[:-2]))

    interpret(graph, *args, observe=observe)
    return count


@pytest.mark.parametrize("name", sorted(LARGER.keys() - {"blocks"}))
def test_loops_are_long(name: str) -> None:
    """Of thousands of inner loops a few are left; what comes in and goes out is copied once."""
    f, args = LARGER[name]
    graph = graph_of(f, *args)
    moved = drop_dead(assign_layouts(graph))
    assert loops(graph, args) > 3000
    assert loops(moved, args) < 0.02 * loops(graph, args)
    copies = [node for node in moved.nodes if node.op.name in ("copy", "ascontiguousarray")]
    assert len(copies) <= len(args) + len(graph.outputs)


def test_loops_of_blocks_are_long() -> None:
    """In the kernel, nothing is left that goes through rows of two or three."""
    args = LARGER["blocks"][1]
    kernel = tj.function(blocks, cache=False)
    kernel(*args)
    text = kernel.kernels[-1].source
    assert "[..., None]" not in text
    assert text.count(".copy()") == 2
    assert 'einsum("acd,abd->cbd"' in text or "einsum(" in text


@pytest.mark.parametrize(("f", "args"), LARGER.values(), ids=LARGER)
def test_larger_programs(f: Any, args: list[Any]) -> None:
    assert_close_to_exact(f, args)
    if f is not blocks:
        assert_close_to_exact(loss_of_all(f), args, len(args))


def loss_of_all(f: Any) -> Any:
    """A number that depends on all results, of several too."""

    def loss(*args: Any) -> Any:
        results = f(*args)
        results = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(np.sin(one) + one * one) for one in results)

    return loss


_graphs: dict[tuple[int, str], Graph] = {}


def _graph(number: int, dtype: str) -> Graph:
    if (number, dtype) not in _graphs:
        _graphs[number, dtype] = graph_of(TURNED[number], *arguments(400, 3, dtype))
    return _graphs[number, dtype]
