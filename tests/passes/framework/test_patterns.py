"""Patterns: where they fit, and what they ask of the graph around them."""

from __future__ import annotations

import pytest

from tests.rewrites import graph_of, operations
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.patterns import Pattern, apply_patterns, parse

HALF = Pattern("exp(x) / (exp(x) + 1.0)", "tanh(x)", "")
X = "x: T[3], w: T[3]"
FITS = {
    "as it stands": (
        HALF, "e T[3] = exp x; d T[3] = add e 1.0; y T[3] = divide e d", ["tanh x"],
    ),
    "in the other order": (
        HALF, "e T[3] = exp x; d T[3] = add 1.0 e; y T[3] = divide e d", ["tanh x"],
    ),
    "comparisons mirrored": (
        Pattern("where(x >= 0.0, y, x)", "maximum(x, y)", ""),
        "c b1[3] = less_equal 0.0 x; y T[3] = where c w x",
        ["maximum x w"],
    ),
    "a parameter": (
        Pattern("cumsum(x, axis=axis)", "cumprod(-x, axis=axis)", ""),
        "y T[3] = cumsum x axis=0",
        ["negative x", "cumprod v1 axis=0"],
    ),
    "other operands": (
        Pattern("-stack(first, *rest)", "stack(*rest, first, axis=0)", ""),
        "s T[3,3] = stack x w x axis=0; y T[3,3] = negative s",
        ["stack w x x axis=0"],
    ),
    "a name for a part": (
        Pattern("(e := exp(x)) * e", "e + e", ""),
        "e T[3] = exp x; y T[3] = multiply e e",
        ["exp x", "add v1 v1"],
    ),
    "what is computed": (
        Pattern("x * y", "x + c", "", let={"c": lambda match: match.graph.constant(2.5)}),
        "y T[3] = multiply x w",
        ["add x 2.5"],
    ),
    "a text for each": (
        Pattern("pow_to(x, exponent=n)", lambda match: "x" + " * x" * (match["n"] - 1), ""),
        "y T[3] = pow_to x exponent=3",
        ["multiply x x", "multiply v1 x"],
    ),
}  # fmt: skip
STAYS = {
    "another number": (HALF, "e T[3] = exp x; d T[3] = add e 2.0; y T[3] = divide e d"),
    "another array": (
        HALF, "e T[3] = exp x; f T[3] = exp w; d T[3] = add f 1.0; y T[3] = divide e d",
    ),
    "another order of a quotient": (
        HALF, "e T[3] = exp x; d T[3] = add e 1.0; y T[3] = divide d e",
    ),
    "the other zero": (Pattern("x + 0.0", "x", ""), "y T[3] = add x -0.0"),
    "another parameter": (Pattern("cumsum(x, axis=1)", "x", ""), "y T[3] = cumsum x axis=0"),
    "another type": (Pattern("absolute(x)", "x >= 0.0", ""), "y T[3] = absolute x"),
    "fewer operands": (
        Pattern("stack(a, b, c, *rest, axis=0)", "exp(stack(a, b, *rest, axis=0))", ""),
        "y T[2,3] = stack x w axis=0",
    ),
    "a condition": (Pattern("exp(x)", "x", "", [lambda match: False]), "y T[3] = exp x"),
    "a cost": (Pattern("exp(x)", "x", "", pays=lambda match: False), "y T[3] = exp x"),
}  # fmt: skip


@pytest.mark.parametrize(("pattern", "nodes", "expected"), FITS.values(), ids=FITS)
def test_where_it_fits(pattern: Pattern, nodes: str, expected: list[str]) -> None:
    graph = graph_of(X, nodes)
    assert operations(drop_dead(apply_patterns(graph, [pattern]))) == expected


@pytest.mark.parametrize(("pattern", "nodes"), STAYS.values(), ids=STAYS)
def test_where_it_does_not(pattern: Pattern, nodes: str) -> None:
    graph = graph_of(X, nodes)
    assert operations(drop_dead(apply_patterns(graph, [pattern]))) == operations(graph)


CLOSED = Pattern("exp(x) + y", "exp2(x) + y", "", closed=True)
THERE = Pattern("exp(x) + y", "log1p(sin(x)) + y", "", there="sin(x)")


@pytest.mark.parametrize(
    ("pattern", "nodes", "is_used"),
    [
        (CLOSED, "e T[3] = exp x; y T[3] = add e w", True),
        (CLOSED, "e T[3] = exp x; s T[3] = add e w; y T[3] = multiply e s", False),
        (CLOSED, "e T[3]@2 = exp x; y T[3] = add e w", False),
        (THERE, "e T[3] = exp x; y T[3] = add e w", False),
        (THERE, "s T[3] = sin w; e T[3] = exp x; a T[3] = add e w; y T[3] = multiply a s", False),
        (THERE, "s T[3] = sin x; e T[3] = exp x; a T[3] = add e w; y T[3] = multiply a s", True),
        (THERE, "e T[3] = exp x; a T[3] = add e w; s T[3] = sin x; y T[3] = multiply a s", True),
    ],
    ids=[
        "alone", "read besides", "in another region", "nothing there", "another there", "earlier",
        "later",
    ],
)  # fmt: skip
def test_what_it_asks_of_others(pattern: Pattern, nodes: str, is_used: bool) -> None:
    nodes = nodes.replace("T[3]@2 = exp", "T[3] = exp@2")
    graph = drop_dead(graph_of(X, nodes))
    ops = [node.op.name for node in drop_dead(apply_patterns(graph, [pattern])).nodes]
    assert ("exp" not in ops) == is_used


def test_what_is_replaced_is_what_others_find() -> None:
    """A pattern fits what another has made of the graph before it."""
    square, sum_of = Pattern("square(x)", "x * x", ""), Pattern("x * x + y", "sin(x) + y", "")
    graph = graph_of(X, "s T[3] = square x; y T[3] = add s w")
    found = drop_dead(apply_patterns(graph, [sum_of, square]))
    assert operations(found) == ["sin x", "add v1 w"]


def test_only_expressions_are_patterns() -> None:
    for text in ("x[0]", "x if y else z", "x < y < z"):
        with pytest.raises((AssertionError, KeyError)):
            parse(text)
