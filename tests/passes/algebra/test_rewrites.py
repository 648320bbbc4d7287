"""The table of rewrites: what becomes of an example of each row, its contract, and that it is used.

The values of each example are compared on arrays that hold every value that rewrites stumble over,
in float64 and float32, and on arrays without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
import tracejit.scipy.special as sc
from tests.interpret import interpret
from tests.passes.algebra import test_simplify
from tests.rewrites import assert_within, graph_of, special
from tests.rows import each_row
from tests.support import graphs
from tests.support.graphs import ops_of
from tracejit.ir.graph import Graph
from tracejit.ir.printer import parse_graph
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS
from tracejit.ops.elementwise.choices import or_zero
from tracejit.ops.indexing.indexing import add_at, put_at
from tracejit.passes.algebra import rewrites
from tracejit.passes.algebra.simplify import simplify
from tracejit.passes.framework import patterns
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.patterns import Pattern, apply_patterns
from tracejit.support.cost_model import assuming

STAGES = (rewrites.STRENGTH, rewrites.BEFORE_SUMS, rewrites.CALLS)
cholesky, solve, where = np.linalg.cholesky, np.linalg.solve, np.where


class Example(NamedTuple):
    """A program, the shapes of its arguments, and the operations that it is rewritten to.

    `limits` are figures of the cost model. A program `of_indices` takes some as its last argument.
    One of a `definite` matrix takes that first, and no special values.
    """

    program: Callable[..., Any] | str
    shapes: Sequence[tuple[int, ...]]
    after: str
    limits: dict[str, Any] = {}  # noqa: RUF012
    of_indices: bool = False
    definite: bool = False

    def arguments(self, dtype: str, seed: int, is_empty: bool = False) -> list[Any]:
        """Arguments of a dtype, with special values in some places."""
        rng = np.random.default_rng(seed)
        shapes = [(0, *shape[1:]) if is_empty else shape for shape in self.shapes]
        if self.definite:
            a, *others = (rng.normal(size=shape) for shape in shapes)
            return [a @ a.T + len(a) * np.eye(len(a)), *others]
        arrays = [rng.normal(size=shape).astype(dtype)[()] for shape in shapes]
        for array in arrays:
            if array.size > 1:
                values = rng.permutation(special(dtype))[: array.size]
                array.reshape(-1)[rng.permutation(array.size)[: len(values)]] = values
        if self.of_indices:
            arrays.append(rng.permutation(9)[: len(arrays[-1])])
        return arrays

    def graph(self, arguments: Sequence[Any]) -> Graph:
        """The graph before. A program that is a text is that of a graph, of the dtype T."""
        if isinstance(self.program, str):
            return parse_graph(self.program.replace("T", arguments[0].dtype.str[1:]), OPS)
        return graphs.graph_of(self.program, *arguments)

    def rewritten(self, graph: Graph, stages: Sequence[Sequence[Pattern]] = STAGES) -> Graph:
        """The graph after."""
        for stage in stages:
            graph = verify(drop_dead(verify(apply_patterns(graph, stage))))
        return graph


def scattered(scatter: Any, sign: int) -> Any:
    def program(x: Any, g: Any, i: Any) -> Any:
        placed = scatter(g, i, shape=(len(x),), index=("{1}",))
        return np.sin(x) + placed if sign > 0 else np.sin(x) - placed

    return program


def gathered(shape: tuple[int, ...], index: str, *at: Any) -> Any:
    """The adjoint of a gather by a known index."""
    entries = tuple(int(one) if one.isdigit() else one for one in index.split())
    return lambda g: add_at(g, *at, shape=shape, index=entries)


def slope(x: Any, g: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.log1p(e), g / (e + 1.0) * e


def likelihood_slope(axis: int, keepdims: bool) -> Any:
    def program(x: Any, y: Any) -> Any:
        x, y = np.tanh(x), np.tanh(y)
        product = x @ y.mT if axis == -1 else x.mT @ y
        return product, np.sum(x * y, axis=axis, keepdims=keepdims)

    return program


def logistic(form: str, is_by_bits: bool, has_quotient: bool, number: float = 0.5) -> Any:
    """The slope of a logistic loss, as derivatives have it."""

    def program(z: Any, y: Any) -> Any:
        g = np.dtype(z.dtype).type(number)
        e = np.exp(-np.abs(z))
        part = g / (e + 1.0) * e if has_quotient else g * np.expm1(-np.log1p(e))
        height = where(z == 0.0, g / 2, g)
        side = or_zero(z >= 0.0, height, chosen=True) if is_by_bits else where(z >= 0, height, 0.0)
        return eval(form, {"step": side, "slope": part * np.sign(z), "rest": np.sin(y)})

    return program


def softmax(axis: Any, keepdims: bool = False) -> Any:
    """The logarithm of a sum of exponentials, and its derivative as the rule has it."""

    def program(x: Any) -> Any:
        y = sc.logsumexp(x, axis=axis, keepdims=keepdims)
        whole = y if keepdims else np.reshape(y, (1, 1) if axis is None else (-1, 1))
        return y, np.exp(x - where(whole == -np.inf, 0.0, whole))

    return program


def step(is_above: bool, half: float, choose: Any = None) -> Any:
    def program(x: Any) -> Any:
        h = np.dtype(x.dtype).type(half)
        side, height = x >= 0.0 if is_above else 0.0 >= x, where(x == 0.0, h, 2 * h)
        return choose(side, height, chosen=True) if choose else where(side, height, 0.0)

    return program


X, XY = [(144,)], [(144,), (144,)]
LOG = {"least_logaddexp_elements": 1}
LONG = {"least_diagonal_elements": 1}
CHOICE = {"least_choice_elements": 1}
SUMS = "max maximum minimum subtract exp sum maximum log add"
EXAMPLES = {
    "a copy of an argument": Example(lambda x: np.copy(x) * np.copy(np.exp(x)), X, "exp multiply"),
    "a square": Example(lambda x: x**2, X, "multiply"),
    "a cube": Example(lambda x: x**3, X, "multiply multiply"),
    "a fifth power": Example(lambda x: np.power(x, 5.0), X, "multiply multiply multiply"),
    "a sixth power": Example(lambda x: x**6, X, "multiply multiply multiply"),
    "a seventh power": Example(lambda x: x**7, X, "multiply multiply multiply multiply"),
    "an eighth power": Example(lambda x: x**8, X, "multiply multiply multiply"),
    "one over it": Example(lambda x: x**-1, X, "divide"),
    "one over a cube": Example(lambda x: x**-3, X, "divide multiply multiply"),
    "one over a fourth power": Example(lambda x: x**-4, X, "divide multiply multiply"),
    "a root": Example(lambda x: x**0.5, X, "sqrt"),
    "a half power": Example(lambda x: (x * x) ** 2.5, X, "multiply sqrt multiply multiply"),
    "the root of a square": Example(lambda x: np.power(x * x, 0.5), X, "multiply sqrt"),
    "one over a root": Example(lambda x: np.exp(x) ** -0.5, X, "exp sqrt divide"),
    "one over a half power": Example(
        lambda x: np.power(np.exp(x), -1.5), X, "exp divide sqrt multiply"
    ),
    "square": Example(np.square, X, "multiply"),
    "reciprocal": Example(np.reciprocal, X, "divide"),
    "softplus": Example(
        lambda x: np.logaddexp(0.0, x), X, "maximum absolute negative exp log1p add", LOG
    ),
    "logaddexp of a number": Example(
        lambda x: np.logaddexp(x, -1.5), X, "maximum subtract absolute negative exp log1p add", LOG
    ),
    "logaddexp": Example(
        np.logaddexp, XY, "maximum subtract absolute fmin negative exp log1p add", LOG
    ),
    "the slope of a softplus": Example(
        slope, [(144,), ()], "absolute negative exp log1p negative expm1 negative multiply"
    ),
    "tril": Example(lambda x: np.tril(x, -1), [(12, 12)], "where"),
    "triu": Example(np.triu, [(12, 12)], "where"),
    "logsumexp": Example(softmax(1), [(12, 12)], f"{SUMS} squeeze divide"),
    "logsumexp kept": Example(softmax(1, True), [(12, 12)], f"{SUMS} divide"),
    "logsumexp of all": Example(softmax(None), [(12, 12)], f"{SUMS} divide"),
    **{
        f"a logistic slope: {form}{', by bits' * bits}": Example(
            logistic(form, bits, quotient),
            XY if "rest" in form else [(144,), ()],
            "sin " * ("rest" in form)
            + "multiply tanh multiply add"
            + " subtract" * ("rest" in form),
        )
        for form, quotient in (
            ("step - slope", True),
            ("step - (rest + slope)", True),
            ("step - rest - slope", True),
            ("slope + step", False),
            ("slope - rest + step", False),
            ("step - rest + slope", False),
        )
        for bits in (False, True)
    },
    **{
        f"a logistic slope of 1: {form}{', by bits' * bits}": Example(
            logistic(form, bits, False, 1.0), XY, f"sin multiply tanh multiply add{rest}"
        )
        for form, rest in (
            ("slope + step + rest * 0", " multiply add"),
            ("slope - rest + step", " subtract"),
            ("step - rest + slope", " subtract"),
        )
        for bits in (False, True)
    },
    "gathered from a vector": Example(
        gathered((9,), "{1}", np.array([2, -1, 2, 0])), [(4,)], "bincount"
    ),
    "gathered from rows": Example(
        gathered((5, 3), "{1}", np.arange(20) % 5),
        [(20, 3)],
        "multiply expand_dims add reshape reshape bincount reshape",
    ),
    "gathered from elements": Example(
        gathered((5, 3), "{1} {2}", np.array([4, -1, 2]), np.array([0, 0, -3])),
        [(3,)],
        "reshape bincount reshape",
    ),
    "many gathered from elements": Example(
        gathered((90, 3), "{1} 1", np.arange(3000) % 89), [(3000,)], "reshape add_at reshape"
    ),
    **{
        f"{name} {'in' if sign > 0 else 'out of'} a sum": Example(
            scattered(scatter, sign), [(9,), (4,)], f"sin {update}", of_indices=True
        )
        for name, scatter in (("added", add_at), ("placed", put_at))
        for sign, update in ((1, "add_item"), (-1, "subtract_item"))
    },
    **{
        f"a diagonal of {'rows' if axis == -1 else 'columns'}{', kept' * keepdims}": Example(
            likelihood_slope(axis, keepdims),
            [(12, 12), (12, 12)],
            "tanh tanh transpose dot_matrix diagonal" + " expand_dims" * keepdims,
            LONG,
        )
        for axis in (-1, -2)
        for keepdims in (False, True)
    },
    **{
        f"{kind} solved{' for columns' * columns}": Example(
            lambda a, b, factor=factor: solve(factor(a), b),
            [(130, 130), (130, 2) if columns else (130,)],
            f"{ops} substitute",
            definite=True,
        )
        for kind, factor, ops in (
            ("a factor", cholesky, "cholesky"),
            ("a transposed factor", lambda a: cholesky(a).mT, "cholesky"),
            ("an upper factor", lambda a: cholesky(a, upper=True), "cholesky_upper"),
            ("a transposed upper factor", lambda a: cholesky(a, upper=True).T, "cholesky_upper"),
        )
        for columns in (False, True)
    },
    "a product on zeros": Example(
        lambda x, y: np.zeros((3, 12), x.dtype) + x @ y, [(3, 4), (4, 12)], "dot_matrix"
    ),
    "zeros under a product": Example(
        lambda x, y: x @ y + np.zeros(12, x.dtype), [(12, 12), (12,)], "dot_vector"
    ),
    "a product on negative zeros": Example(
        lambda x, y: np.full((3, 12), -0.0, x.dtype) + x @ y, [(3, 4), (4, 12)], "dot_matrix add"
    ),
    "a product that is spread on zeros": Example(
        lambda x, y: np.zeros((2, 12), x.dtype) + x @ y, [(12, 12), (12,)], "dot_vector add"
    ),
    "a product": Example(lambda x, y: x @ y, [(3, 4), (4, 12)], "dot_matrix"),
    "a product with a vector": Example(lambda x, y: x @ y, [(12, 12), (12,)], "dot_vector"),
    "a product of a vector": Example(lambda x, y: x @ y, [(12,), (12, 12)], "vector_dot"),
    "a product of vectors": Example(lambda x, y: x @ y, [(144,), (144,)], "dot"),
    "a step up": Example(step(True, 0.25), X, "sign fmax add multiply"),
    "a step down": Example(step(False, 0.375), X, "sign fmin subtract multiply"),
    "a step up by bits": Example(step(True, 0.25, or_zero), X, "sign fmax add multiply"),
    "a step down by bits": Example(step(False, 3.0, or_zero), X, "sign fmin subtract multiply"),
    "a choice or zero": Example(lambda x, y: where(x > y, x, 0.0), XY, "greater or_zero", CHOICE),
    "zero or a choice": Example(lambda x, y: where(x > y, 0.0, x), XY, "greater or_zero", CHOICE),
}
IN_DOUBLE = [name for name, one in EXAMPLES.items() if not one.definite]
OF_VECTORS = [name for name, one in EXAMPLES.items() if one.shapes in (X, XY)]
LEFT_ALONE = {
    "a copy of a view": (lambda x: np.copy(x[::2]) * 2.0, X),
    "a root by power": (lambda x: np.power(x, 0.5), X),
    "a half power of any number": (lambda x: x**1.5, X),
    "one over the root of any number": (lambda x: x**-0.5, X),
    "the root of one number": (lambda x: np.sum(x) ** 0.5, X),
    "a high power": (lambda x: x**9, X),
    "one over a high power": (lambda x: x**-5, X),
    "a sum on zeros": (lambda x: np.zeros(144) + np.exp(x), X),
    "another power": (lambda x: x**1.7, X),
    "a power of a difference": (lambda x: (np.exp(x) - 2.0) ** 1.5, X),
    "a power of a sum with less than zero": (lambda x: (x * x - -0.0 + -1.0) ** 1.5, X),
    "a logaddexp of few": (np.logaddexp, [(100,), (100,)]),
    "a logaddexp of infinity": (lambda x: np.logaddexp(x, np.inf), [(600,)]),
    "a logistic slope of infinite height": (
        lambda z: (
            where(z >= 0.0, where(z == 0.0, np.inf, np.inf), 0.0)
            - np.inf / (np.exp(-np.abs(z)) + 1.0) * np.exp(-np.abs(z)) * np.sign(z)
        ),
        X,
    ),
    "a large triangle": (np.tril, [(100, 100)]),
    "a logsumexp of nothing": (lambda x: sc.logsumexp(x, axis=1), [(0, 3)]),
}


@pytest.fixture
def limits(request: pytest.FixtureRequest) -> Iterator[Example]:
    """An example, with its limits lowered."""
    example = EXAMPLES[request.param]
    with assuming(**example.limits):
        yield example


@pytest.mark.parametrize("limits", EXAMPLES, indirect=True)
def test_what_becomes_of_it(limits: Example) -> None:
    graph = limits.graph(limits.arguments("f8", 0))
    after = limits.rewritten(graph)
    assert ops_of(after) == limits.after.split()
    assert ops_of(after) != ops_of(graph)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("limits", IN_DOUBLE, indirect=True)
def test_contract(limits: Example, dtype: str) -> None:
    """The same infinities, nan and type; numbers within 4 ulp of the largest term."""
    for seed in range(5):
        arguments = limits.arguments(dtype, seed)
        graph = limits.graph(arguments)
        after = limits.rewritten(graph)
        assert_within(graph, after, arguments)


@pytest.mark.parametrize("limits", OF_VECTORS, indirect=True)
def test_without_elements(limits: Example) -> None:
    arguments = limits.arguments("f8", 0, is_empty=True)
    graph = limits.graph(arguments)
    assert_within(graph, limits.rewritten(graph), arguments)


@pytest.mark.parametrize("limits", sorted(set(EXAMPLES) - set(IN_DOUBLE)), indirect=True)
def test_solutions(limits: Example) -> None:
    arguments = limits.arguments("f8", 0)
    graph = limits.graph(arguments)
    (expected,), (found,) = (interpret(g, *arguments) for g in (graph, limits.rewritten(graph)))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize(("program", "shapes"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: Any, shapes: Any) -> None:
    example = Example(program, shapes, "")
    graph = example.graph(example.arguments("f8", 0))
    assert ops_of(example.rewritten(graph)) == ops_of(graph)


@pytest.mark.parametrize("dtype", ["i8", "c16", "f2"])
def test_only_floats_and_doubles_lose_powers(dtype: str) -> None:
    example = Example(lambda x: x**2 + np.square(x), [(3,)], "")
    graph = example.graph([np.ones(3, dtype)])
    assert ops_of(example.rewritten(graph)) == ops_of(graph)


def test_every_row_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row takes effect on one, and states its contract; those of `simplify` on its own."""
    used: set[Pattern] = set()
    replace = Pattern.__call__

    def noting(self: Pattern, *args: Any) -> Any:
        value = replace(self, *args)
        if value is not None:
            used.add(self)
        return value

    monkeypatch.setattr(patterns.Pattern, "__call__", noting)
    for example in EXAMPLES.values():
        with assuming(**example.limits):
            example.rewritten(example.graph(example.arguments("f8", 0)))
    for inputs, before, _ in test_simplify.REWRITTEN.values():
        simplify(test_simplify.graph_of(inputs, before))
    table = {row for stage in (*STAGES, rewrites.EXACT, rewrites.SIGN_OF_NAN) for row in stage}
    assert not [(row.before, row.after) for row in table - used]
    assert all(row.keeps for row in table)


def test_what_is_not_below_zero() -> None:
    """Roots are taken of sums, products and views of squares, and of no others."""
    steps = "a T[N] = multiply x x; b T[N] = exp x; c T[N] = add a b; d T[N] = add c {};"
    for number, count in (("1e-09", 1), ("-1.0", 0), ("-0.0", 0), ("x", 0)):
        nodes = steps.format(number) + "y T[N] = power_to d exponent=1.5"
        new = rewrites.reduce_strength(graph_of("x: T[N]", nodes))
        assert ops_of(new).count("sqrt") == count


@each_row("dtype", ["f8", "f4"])
@each_row("k", [-20, -3, -1, 0, 2, 20])
@each_row("shape", [(4, 6), (6, 4), (1, 5), (5, 1), (3, 4, 4), (7,)])
@each_row("op", ["tril", "triu"])
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
