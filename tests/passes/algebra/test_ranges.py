"""Range analysis: bounds and signs that follow from how values are made, and that values keep."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret import interpret
from tests.rewrites import PAIRS, graph_of, pairs
from tests.rows import each_row
from tracejit.ir.graph import Node
from tracejit.passes.algebra.ranges import Range, range_of

INF = np.inf
KNOWN = {
    "a tangent": ("y T[N] = tanh x", (-1.0, 1.0, True)),
    "a sum": (
        "a T[N] = sin x; b T[N] = cos z; c T[N] = subtract a b; y T[N] = add c 30.0",
        (28.0, 32.0, True),
    ),
    "a product": (
        "a T[N] = sign x; b T[N] = multiply a -4.0; y T[N] = multiply b a",
        (-4.0, 4.0, True),
    ),
    "a bell": ("a T[N] = multiply x x; b T[N] = negative a; y T[N] = exp b", (0.0, 1.0, False)),
    "a bell by a negative": (
        "a T[N] = negative x; b T[N] = multiply a x; y T[N] = exp b",
        (0.0, 1.0, False),
    ),
    "a scaled bell": (
        "a T[N] = square x; b T[N] = multiply -0.5 a; y T[N] = exp b",
        (0.0, 1.0, False),
    ),
    "an exponential tail": (
        "a T[N] = absolute x; b T[N] = negative a; y T[N] = exp b",
        (0.0, 1.0, False),
    ),
    "a normal density": (
        (
            "a T[N] = multiply x x; b T[N] = multiply -0.5 a; c T[N] = multiply z z;"
            "d T[N] = divide b c; y T[N] = exp d"
        ),
        (0.0, 1.0, False),
    ),
    "a difference": (
        (
            "a T[N] = negative x; b T[N] = multiply x a; c T[N] = multiply z z;"
            "d T[N] = subtract b c; y T[N] = exp d"
        ),
        (0.0, 1.0, False),
    ),
    "a root": (
        "a T[N] = multiply x x; b T[N] = add a 4.0; c T[N] = sqrt b; y T[N] = divide 1.0 c",
        (0.0, 0.5, False),
    ),
    "a square of what is not zero": (
        "a T[N] = maximum x 0.5; b T[N] = multiply a a; y T[N] = divide 1.0 b",
        (0.0, 4.0, False),
    ),
    "a sigmoid": (
        "a T[N] = exp x; b T[N] = add 2.0 a; y T[N] = divide 3.0 b",
        (0.0, 1.5, False),
    ),
    "a choice": (
        "m b1[N] = equal x z; a T[N] = tanh x; y T[N] = where m a 2.0",
        (-1.0, 2.0, True),
    ),
    "what is clipped": (
        "a T[N] = maximum x -2.0; b T[N] = minimum a 5.0; y T[N] = absolute b",
        (0.0, 5.0, False),
    ),
    "a total": ("a T[N] = tanh x; y T = sum a axis=(0,)", (-float(PAIRS), float(PAIRS), True)),
    "a total of squares": ("a T[N] = multiply x x; y T = sum a axis=(0,)", (0.0, INF, False)),
    "a large factor": (
        "a T[N] = tanh x; b T[N] = multiply 1048576.0 a; y T[N] = multiply b 0.5",
        (-524288.0, 524288.0, True),
    ),
    "an exponential": ("a T[N] = absolute x; y T[N] = exp a", (1.0, INF, False)),
    "a root of a square": ("a T[N] = multiply x x; y T[N] = sqrt a", (0.0, INF, False)),
    "a quotient of squares": (
        "a T[N] = multiply x x; b T[N] = multiply z z; y T[N] = divide a b",
        (0.0, INF, False),
    ),
    "a quotient of what is not positive": (
        "a T[N] = multiply x x; b T[N] = negative a; c T[N] = exp z; y T[N] = divide b c",
        (-INF, 0.0, True),
    ),
}
UNKNOWN = {
    "an input": "y T[N] = negative x",
    "a product with an input": "a T[N] = tanh x; y T[N] = multiply a z",
    "a quotient by what may be small": "a T[N] = tanh x; b T[N] = multiply z z;y T[N] = divide a b",
    "a quotient by a sum of both signs": "a T[N] = tanh x; b T[N] = add 1.0 z; y T[N] = divide a b",
    "no number": "y T[N] = divide 0.0 x",
    "an infinite constant": "a T[N] = tanh x; y T[N] = multiply inf a",
}


@each_row("dtype", ["f8", "f4"])
@each_row(("nodes", "expected"), KNOWN.values())
def test_ranges(nodes: str, expected: Range, dtype: str) -> None:
    """As expected, and kept by special values and by others."""
    graph = graph_of("x: T[N], z: T[N]", nodes, dtype)
    found = range_of(graph.outputs[0])
    np.testing.assert_allclose(found[:2], expected[:2], rtol=2.0**-16)
    assert found.has_sign == expected[2]
    known: dict = {}

    def observe(node: Node, operands: list[object], results: tuple[np.ndarray, ...]) -> None:
        low, high, has_sign = range_of(node.results[0], known)
        rounding = 1e-6 * max(abs(low), abs(high))
        there = np.asarray(results[0])[~np.isnan(results[0])]
        if np.isfinite(rounding):
            assert np.all((there >= low - rounding) & (there <= high + rounding))
        else:
            assert np.all((there >= low) & (there <= high))
        assert has_sign or not np.any(np.signbit(there))

    with np.errstate(all="ignore"):
        interpret(graph, *pairs(dtype), observe=observe)
        rng = np.random.default_rng(0)
        many = [(100 * rng.normal(size=PAIRS)).astype(dtype) for _ in range(2)]
        interpret(graph, *many, observe=observe)


@pytest.mark.parametrize("nodes", UNKNOWN.values(), ids=UNKNOWN)
def test_what_has_no_bounds(nodes: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes)
    assert range_of(graph.outputs[0]) == (-INF, INF, True)


def test_terms_that_cancel_leave_room_for_rounding() -> None:
    """1.0 - 1e-7 is no bound from below in float32."""
    nodes = "a f4[N] = tanh x; b f4[N] = multiply 0.9999999 a; y f4[N] = subtract 1.0 b"
    assert range_of(graph_of("x: f4[N]", nodes).outputs[0]).low <= 0.0


def test_what_is_too_small_for_the_dtype_is_zero() -> None:
    for dtype, least in (("f8", 1e-60), ("f4", 0.0)):
        graph = graph_of("x: T[N]", "y T[N] = maximum x 1e-60", dtype)
        assert range_of(graph.outputs[0]).low == least


def test_long_chains() -> None:
    """A range is followed so far, and farther where those before are known."""
    nodes = "".join(f"a{k + 1} T[N] = multiply a{k} a{k};" for k in range(200))
    graph = graph_of("x: T[N]", f"a0 T[N] = tanh x; {nodes} y T[N] = negative a200")
    assert range_of(graph.outputs[0]) == (-INF, 0.0, True)
    known: dict = {}
    for node in graph.nodes:
        found = range_of(node.results[0], known)
    assert found == (-1.0, 0.0, True)
