"""Which ops are linear in which operands, decided on nodes and compared with numbers; zeros; the
transposed map."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.interpret import interpret
from tests.ops.program import quiet
from tests.rows import each_row
from tracejit.autodiff.forward.linearity import LinearMap, Origins
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.ops.base.op import OPS, Op
from tracejit.ops.control.marker_ops import OVERRIDE, Marker
from tracejit.trace.recording.record import Recording
from tracejit.trace.tensor.tensor import Tensor

SIZE = 64
PARAMS: dict[str, list[dict[str, Any]]] = {
    "pow_to": [{"exponent": 3}, {"exponent": 0}],
    "power_to": [{"exponent": 2.0}, {"exponent": 0}],
    "pow_of": [{"base": 2.0}],
    "power_of": [{"base": 2.0}],
}
chebyshev: Any = tnp.polynomial.chebyshev
FLOATING = ("f8", "c16")


def tensors(recording: Recording, kinds: tuple[str, ...]) -> list[Tensor]:
    """An input for each dtype."""
    types = [ArrayType((SIZE,), np.dtype(kind)) for kind in kinds]
    return [recording.argument(f"x_{number}", type) for number, type in enumerate(types)]


def accepted(op: Op, kinds: tuple[str, ...], params: dict[str, Any], moving: Any) -> bool:
    """Whether an op of operands of these dtypes is found linear in those that are moving."""
    recording = Recording("sample")
    xs = tensors(recording, kinds)
    y: Any = op(*xs, **params)
    ys = list(y) if isinstance(y, tuple) else [y]
    found = LinearMap(recording, ys, [xs[k] for k in moving], recording.graph.nodes)
    return not found.obstacle


def drawn(rng: np.random.Generator, kind: str) -> Any:
    """Numbers of all sizes, none of them zero; or conditions."""
    values = rng.normal(size=SIZE) * 10.0 ** rng.integers(-1, 2, size=SIZE)
    if kind == "c16":
        return values + 1j * rng.permutation(values)
    if kind == "i8":
        return rng.integers(2, 9, size=SIZE)
    return values if kind == "f8" else values > 0.0


def is_linear(op: Op, kinds: tuple[str, ...], params: dict[str, Any], moving: Any) -> bool:
    """Whether it is: f(2.5 u - v) is 2.5 f(u) - f(v)."""
    rng = np.random.default_rng(7)
    u, v = ([drawn(rng, kind) for kind in kinds] for _ in range(2))
    v = [v[k] if k in moving else u[k] for k in range(len(kinds))]
    mixed = [2.5 * u[k] - v[k] if k in moving else u[k] for k in range(len(kinds))]
    with quiet():
        a, b, c = (op.evaluate(*operands, **params) for operands in (u, v, mixed))
        pairs = zip(*[y if type(y) is tuple else (y,) for y in (a, b, c)], strict=True)
        return all(
            y.dtype.kind in "fc" and np.allclose(z, 2.5 * x - y, rtol=1e-9) for x, y, z in pairs
        )


def signatures(op: Op, params: dict[str, Any]) -> list[tuple[str, ...]]:
    """The dtypes of operands that an op takes, one of them floating at least."""
    rules = op.vjp if isinstance(op.vjp, tuple) else (op.vjp,)
    choices = [("?",) if rule is None and len(rules) > 2 else (*FLOATING, "i8") for rule in rules]
    taken = []
    for kinds in product(*choices):
        if not set(FLOATING).isdisjoint(kinds):
            try:
                op(*tensors(Recording("sample"), kinds), **params)
            except TypeError:
                continue
            taken.append(kinds)
    return taken


# `or_zero` is written by a pass, when everything is differentiated.
ELEMENTWISE = [
    (name, params)
    for name, op in sorted(OPS.items())
    if op.elementwise and op.vjp != () and op.library == "np" and name != "or_zero"
    for params in PARAMS.get(name, [{}])
]


# The next number, what is the same but for -inf, and what has no derivative: as good as equal, and
# yet no linear function.
NEARLY = ("nextafter", "above_minus_infinity", "unknown_slope", "flat")


@each_row(("name", "params"), ELEMENTWISE)
def test_an_elementwise_op_is_taken_for_linear_exactly_where_it_is(
    name: str, params: dict[str, Any]
) -> None:
    op = OPS[name]
    assert signatures(op, params)
    for kinds in signatures(op, params):
        floating = [k for k, kind in enumerate(kinds) if kind in FLOATING]
        for count in range(1, len(floating) + 1):
            for moving in combinations(floating, count):
                expected = is_linear(op, kinds, params, moving) and name not in NEARLY
                assert accepted(op, kinds, params, moving) == expected, (kinds, moving)


# Zeros


def zero(make: Any) -> bool:
    """Whether a value made of an input is known to be zero."""
    recording = Recording("sample")
    (x,) = tensors(recording, ("f8",))
    return Origins().is_zero(recording.lift(make(x)))


def test_zeros_are_known_through_linear_ops() -> None:
    assert zero(lambda x: 0.0)
    assert zero(lambda x: np.zeros(3))
    assert zero(lambda x: np.zeros_like(x))
    assert zero(lambda x: np.zeros_like(x)[1:].astype("f4"))
    assert zero(lambda x: np.stack([np.zeros_like(x), np.zeros(SIZE)]))
    assert zero(lambda x: np.zeros_like(x) + 0)
    assert zero(lambda x: x * 0.0)
    assert zero(lambda x: np.take(np.zeros_like(x), np.arange(1, 3)))
    assert not zero(lambda x: x)
    assert not zero(lambda x: x * 1.0)
    assert not zero(lambda x: x - x)
    assert not zero(lambda x: np.ones_like(x))
    assert not zero(lambda x: np.array([0.0, 1.0]))
    assert not zero(lambda x: np.stack([np.zeros_like(x), x]))
    assert not zero(lambda x: np.cos(np.zeros_like(x)))


def test_sums_may_be_long() -> None:
    def total(x: Any) -> Any:
        result = np.zeros_like(x)
        for _ in range(3000):
            result = result + 0.0 + np.zeros_like(x)
        return result

    def doubled(x: Any) -> Any:
        result = np.zeros_like(x)
        for _ in range(100):
            result = result + result
        return result

    assert zero(total)
    assert not zero(lambda x: total(x) + x)
    assert zero(doubled)


# The map


def test_the_first_obstacle_on_the_way_is_named() -> None:
    recording = Recording("sample")
    (x,) = tensors(recording, ("f8",))
    np.sqrt(x)  # not on the way
    y = np.exp(np.abs(2.0 * x)) + 1.0
    found = LinearMap(recording, [y], [x], recording.graph.nodes)
    assert found.obstacle == "it goes into absolute"


def test_the_transpose_of_several_values() -> None:
    recording = Recording("sample")
    a, b, c = tensors(recording, ("f8", "f8", "f8"))
    v, w = tensors(recording, ("f8", "f8"))
    ys: list[Any] = [a + 2.0 * b, 3.0 * a]
    linear = LinearMap(recording, ys, [a, b, c], recording.graph.nodes)
    assert linear.obstacle == ""
    a_dot, b_dot, c_dot = linear.transposed([v, w])
    assert a_dot is not None
    assert b_dot is not None
    assert c_dot is None
    graph = verify(recording.finish([a_dot._value, b_dot._value]))
    ones = np.ones(SIZE)
    found = interpret(graph, *[np.full(SIZE, np.nan)] * 3, 5.0 * ones, 7.0 * ones)
    np.testing.assert_array_equal(found[0], 26.0 * ones)
    np.testing.assert_array_equal(found[1], 10.0 * ones)


def test_an_override_is_its_values_and_depends_on_nothing_else() -> None:
    recording = Recording("sample")
    x, v = tensors(recording, ("f8", "f8"))
    marker = Marker("crooked", "", lambda g: (g * g,))
    passed: Any = OVERRIDE(2.0 * x, x, outputs=1, grad=marker)
    linear = LinearMap(recording, [passed], [x], recording.graph.nodes)
    assert linear.obstacle == ""
    (dot,) = linear.transposed([v])
    assert dot is not None
    assert [operand.name for operand in recording.finish([dot._value]).inputs] == ["x_0", "x_1"]
    other = Recording("sample")
    (x,) = tensors(other, ("f8",))
    fixed: Any = OVERRIDE(np.ones_like(x), x, outputs=1, grad=marker)
    linear = LinearMap(other, [fixed * x], [x], other.graph.nodes)
    assert linear.obstacle == ""
    linear = LinearMap(other, [fixed], [x], other.graph.nodes)
    assert linear.obstacle == "a gradient that is returned does not depend on it"


# Through the rules of custom functions

POINTS, ROWS = np.arange(4.0), np.array([0, 0, 1, 3])
MATRIX = np.random.default_rng(0).normal(size=(4, 4)) + 4 * np.eye(4)


def scattered(u: Any) -> Any:
    out = np.zeros_like(u)
    np.add.at(out, ROWS, u)
    return out


def overridden(u: Any) -> Any:
    """A rule whose loop has a rule of its own, which counts in the second derivative alone."""

    @tj.custom_gradient
    def doubled(x: Any) -> Any:
        return 2.0 * x, lambda g: 100.0 * g

    return tj.scan(lambda a, b: (a + doubled(b), doubled(a) - b), 0.0, u)[1]


LINEAR: list[Any] = [
    lambda u: np.linalg.lstsq(MATRIX, u, rcond=None)[0],
    lambda u: np.linalg.solve(MATRIX, u),
    lambda u: np.bincount(ROWS, weights=u, minlength=4),
    scattered,
    lambda u: np.interp([0.5, 1.5, 2.5, 3.0], POINTS, u),
    lambda u: np.polyval(np.polyfit(POINTS, u, 1), POINTS),
    lambda u: np.choose(ROWS % 2, [u, 2 * u]),
    lambda u: np.gradient(u, POINTS**2 + POINTS),
    lambda u: chebyshev.chebval(POINTS / 4, chebyshev.chebint(chebyshev.chebder(u))),
    lambda u: tj.scan(lambda a, b: (0.5 * a + b, 0.5 * a + b), 0.0, u)[1],
    lambda u: tj.scan(lambda a, b: (a + b, a - b), u[0], u)[1],
    lambda u: tj.scan(lambda a, b: (np.sin(a), np.sin(a) * b), 0.5, u)[1],
    lambda u: tj.fori_loop(0, 3, lambda i, a: MATRIX @ a / (i + 5), u),
    lambda u: tj.while_loop(lambda a: a[0] < 3, lambda a: (a[0] + 1, 0.5 * a[1]), (0, u))[1],
    lambda u: tj.cond(POINTS[2] > 1, lambda v: 3.0 * v, lambda v: v, u),
    overridden,
]
CROOKED: list[Any] = [
    lambda u: tj.scan(lambda a, b: (0.5 * a + b, a), 1.0, u)[1],
    lambda u: tj.scan(lambda a, b: (a + b, a * b), 0.0, u)[1],
    lambda u: tj.scan(lambda a, b: (a + 1.0, a + b), 0.0 * u[0], u)[1],
    lambda u: tj.scan(lambda a, b: (a, np.sin(b)), 0.0, u)[1],
    lambda u: tj.while_loop(lambda a: a[0] < 9.0, lambda a: 2.0 * a, u),
    lambda u: tj.cond(u[0] > 0, lambda v: 3.0 * v, lambda v: v, u),
    lambda u: tj.cond(POINTS[2] > 1, lambda v: v * v, lambda v: v, u),
    lambda u: u + chebyshev.chebint(u, k=[1.0])[:4],
    lambda u: np.linalg.lstsq(MATRIX[:, :2], u, rcond=None)[1] * np.ones(4),
    lambda u: np.choose(ROWS % 2, [u, np.ones(4)]),
]


def through(rule: Any) -> Any:
    """A function of that rule."""

    @tj.custom_gradient
    def f(x: Any) -> Any:
        return x * 1.0, lambda u: rule(u)

    return tj.function(f, cache=False)


@each_row("rule", LINEAR)
def test_forward_mode_transposes_linear_rules(rule: Any) -> None:
    x, v = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.3, -0.2, 0.5, 0.7])
    matrix = np.stack([np.asarray(rule(e)) for e in np.eye(4)], -1)
    np.testing.assert_allclose(tj.jvp(through(rule), (x,), (v,))[1], matrix.T @ v)


@each_row("rule", CROOKED)
def test_forward_mode_refuses_other_rules(rule: Any) -> None:
    with pytest.raises(TypeError, match="not linear in its cotangent"):
        tj.jvp(through(rule), (np.ones(4),), (np.ones(4),))
