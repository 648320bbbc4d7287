"""Magnitudes: limits that follow from how values are made, and that values keep."""

from __future__ import annotations

import numpy as np
import pytest

from tests.interpret import interpret
from tests.rewrites import PAIRS, graph_of, pairs
from tracejit.ir.graph import Node
from tracejit.passes.magnitudes import limits_of

LIMITED = {
    "a tangent": ("y T[N] = tanh x", 1.0),
    "a sum": ("a T[N] = sin x; b T[N] = cos z; c T[N] = subtract a b; y T[N] = add c 3.0", 5.0),
    "a product": ("a T[N] = sign x; b T[N] = multiply a -4.0; y T[N] = multiply b a", 4.0),
    "a bell": ("a T[N] = multiply x x; b T[N] = negative a; y T[N] = exp b", 1.0),
    "a bell by a negative": ("a T[N] = negative x; b T[N] = multiply a x; y T[N] = exp b", 1.0),
    "a scaled bell": ("a T[N] = multiply x x; b T[N] = multiply -0.5 a; y T[N] = exp b", 1.0),
    "an exponential tail": ("a T[N] = absolute x; b T[N] = negative a; y T[N] = exp b", 1.0),
    "a normal density": (
        (
            "a T[N] = multiply x x; b T[N] = multiply -0.5 a; c T[N] = multiply z z;"
            "d T[N] = divide b c; y T[N] = exp d"
        ),
        1.0,
    ),
    "a difference": (
        (
            "a T[N] = negative x; b T[N] = multiply x a; c T[N] = multiply z z;"
            "d T[N] = subtract b c; y T[N] = exp d"
        ),
        1.0,
    ),
    "a root": (
        "a T[N] = multiply x x; b T[N] = add a 4.0; c T[N] = sqrt b; y T[N] = divide 1.0 c",
        0.5,
    ),
    "a square": (
        "a T[N] = maximum x 0.5; b T[N] = multiply a a; y T[N] = divide 1.0 b",
        4.0,
    ),
    "a sigmoid": ("a T[N] = exp x; b T[N] = add 2.0 a; y T[N] = divide 3.0 b", 1.5),
    "a choice": ("m b1[N] = equal x z; a T[N] = tanh x; y T[N] = where m a 2.0", 2.0),
}
UNLIMITED = {
    "an input": "y T[N] = negative x",
    "an exponential": "a T[N] = absolute x; y T[N] = exp a",
    "an exponential of a product": "a T[N] = negative x; b T[N] = multiply a z; y T[N] = exp b",
    "an exponential of a difference": "a T[N] = multiply x x; b T[N] = subtract z a;y T[N] = exp b",
    "a product with an input": "a T[N] = tanh x; y T[N] = multiply a z",
    "a quotient by what may be small": "a T[N] = tanh x; b T[N] = multiply z z;y T[N] = divide a b",
    "a quotient by a sum of both signs": "a T[N] = tanh x; b T[N] = add 1.0 z; y T[N] = divide a b",
    "what is as large as float32 may be": "a T[N] = tanh x; b T[N] = multiply 1e9 a;"
    "y T[N] = multiply 1e-9 b",
    "no number": "y T[N] = divide 0.0 x",
}


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(("nodes", "limit"), LIMITED.values(), ids=LIMITED)
def test_limits(nodes: str, limit: float, dtype: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes, dtype)
    limits = limits_of(graph)
    assert limits[graph.outputs[0]] == limit

    def observe(node: Node, operands: list[object], results: tuple[np.ndarray, ...]) -> None:
        known = limits.get(node.results[0])
        assert known is None or not np.any(np.abs(results[0]) > known * (1 + 1e-6))

    with np.errstate(all="ignore"):
        interpret(graph, *pairs(dtype), observe=observe)
        rng = np.random.default_rng(0)
        many = [(100 * rng.normal(size=PAIRS)).astype(dtype) for _ in range(2)]
        interpret(graph, *many, observe=observe)


@pytest.mark.parametrize("nodes", UNLIMITED.values(), ids=UNLIMITED)
def test_what_has_no_limit(nodes: str) -> None:
    graph = graph_of("x: T[N], z: T[N]", nodes)
    assert graph.outputs[0] not in limits_of(graph)
