"""The record of an op, and the tables: how calls, rules and spellings are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.interpret import record
from tests.rows import each_row
from tests.support.graphs import ops_of
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.op import (
    COMPOSITES,
    HANDLERS,
    OPS,
    Each,
    Op,
    answer,
    as_is,
    composite,
    defop,
    fill_template,
    literal,
    size,
)

VECTOR = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def tables() -> Iterator[None]:
    """The tables without two functions of NumPy's, put back after the test."""
    saved = [dict(OPS), dict(HANDLERS), dict(COMPOSITES)]
    for function in (np.unwrap, np.i0):
        HANDLERS.pop(function, None)
        OPS.pop(function.__name__, None)
        COMPOSITES.pop(function.__name__, None)
    yield
    for table, before in zip((OPS, HANDLERS, COMPOSITES), saved, strict=True):
        table.clear()
        table.update(before)


def same(x: ArrayType, **params: Any) -> ArrayType:
    """The infer of an op whose result is like its operand."""
    return x


@pytest.mark.usefixtures("tables")
def test_an_op_is_named_after_numpys_function_and_answers_for_it() -> None:
    op = defop(np.unwrap, np.i0, infer=same, source="np.unwrap({0})")
    assert op.name == "unwrap"
    assert repr(op) == "<op unwrap>"
    assert OPS["unwrap"] is op
    assert HANDLERS[np.unwrap] == op.record_call
    assert HANDLERS[np.i0] == op.record_call
    graph, _ = record(lambda x: np.unwrap(x), VECTOR)
    assert graph.nodes[0].op is op


@pytest.mark.usefixtures("tables")
def test_an_op_may_have_a_name_of_its_own() -> None:
    assert defop(name="mystery", infer=same).name == "mystery"
    with pytest.raises(AssertionError, match="mystery"):
        defop(name="mystery", infer=same)


@pytest.mark.usefixtures("tables")
def test_a_function_is_answered_for_once() -> None:
    answer(np.unwrap, as_is)
    with pytest.raises(AssertionError):
        answer(np.unwrap, as_is)


@pytest.mark.usefixtures("tables")
def test_a_composite_is_plain_numpy() -> None:
    @composite(np.unwrap, np.i0)
    def unwrap(p: Any, period: float = 2.0) -> Any:
        return np.exp(p) * period

    assert COMPOSITES["unwrap"] is unwrap
    assert HANDLERS[np.i0] is unwrap
    np.testing.assert_array_equal(unwrap(VECTOR), np.exp(VECTOR) * 2.0)
    graph, _ = record(lambda x: np.unwrap(x, period=3.0), VECTOR)
    assert ops_of(graph) == ["exp", "multiply"]
    with pytest.raises(TypeError, match=r"np\.unwrap .* the keyword discont is not supported"):
        record(lambda x: np.unwrap(x, discont=1.0), VECTOR)


@pytest.mark.usefixtures("tables")
def test_a_call_is_made_canonical_before_it_is_recorded() -> None:
    defop(
        np.unwrap,
        canonical=lambda p, axis=-1: ((p,), {"axis": axis % p.ndim}),
        infer=same,
        source="np.unwrap({0}, axis={axis})",
    )
    graph, _ = record(lambda x: [np.unwrap(x), np.unwrap(x, axis=0), np.unwrap(p=x)], VECTOR)
    assert len(graph.nodes) == 1
    assert graph.nodes[0].params == {"axis": 0}


def test_an_op_on_arrays_computes() -> None:
    np.testing.assert_array_equal(OPS["exp"](VECTOR), np.exp(VECTOR))
    assert OPS["sum"](VECTOR, axis=(0,)) == 6.0


def test_rules_are_found_per_operand() -> None:
    def first(*args: Any) -> str:
        return "first"

    def second(*args: Any) -> str:
        return "second"

    both = Op(name="both", infer=same, vjp=(first, second), jvp="bilinear")
    assert both.vjp_rule(0) is first
    assert both.vjp_rule(1) is second
    assert both.vjp_rule(2) is None
    assert both.jvp_rule(0) is None
    one = Op(name="one", infer=same, vjp=first, jvp=(None, second))
    assert one.vjp_rule(0) is first
    assert one.vjp_rule(1) is None
    assert one.jvp_rule(0) is None
    assert one.jvp_rule(1) is second
    none = Op(name="none", infer=same, vjp=())
    assert none.vjp_rule(0) is None


def test_a_rule_for_each_operand_is_told_its_number() -> None:
    op = Op(name="op", infer=same, vjp=Each(lambda k, g, *rest, **params: (k, g, params)))
    rule = op.vjp_rule(3)
    assert rule is not None
    assert rule("g", "out", "x", axis=1) == (3, "g", {"axis": 1})


def test_result_types_are_a_tuple() -> None:
    kind = type_of(VECTOR)
    assert kind is not None
    assert Op(name="one", infer=same).result_types([kind], {}) == (kind,)
    assert Op(name="two", infer=lambda x: (x, x)).result_types([kind], {}) == (kind, kind)


def test_a_template_has_places_operands_out_and_parameters() -> None:
    text = "f({0}, {1}, axis={axis}, dtype={dtype}, out={out})"
    filled = fill_template(text, 2, {"axis": (0, 1), "dtype": np.dtype("f4")})
    assert filled == "f({0}, {1}, axis=(0, 1), dtype=np.float32, out={out})"
    assert fill_template("g(({operands},))", 3, {}) == "g(({0}, {1}, {2},))"
    assert fill_template("g({0}, {0})", 1, {}) == "g({0}, {0})"


def test_the_spelling_may_depend_on_the_types() -> None:
    op = Op(
        name="op",
        infer=same,
        source=lambda types, k: "{0} * {k}" if types[0].ndim else "float({0}) * {k}",
    )
    assert op.template([ArrayType((2,), np.dtype("f8"))], {"k": 3}) == "{0} * 3"
    assert op.evaluate(2, k=3) == 6.0
    np.testing.assert_array_equal(op.evaluate(VECTOR, k=3), VECTOR * 3)


def test_an_op_may_be_spelled_by_statements() -> None:
    op = Op(
        name="op",
        infer=same,
        statements=lambda types, k: ("{out} = {0}.copy()", "{out}[{k}] += {1}"),
    )
    kinds = [ArrayType((3,), np.dtype("f8")), ArrayType((), np.dtype("f8"), "scalar")]
    assert op.statement_lines(kinds, {"k": 0}) == ["{out} = {0}.copy()", "{out}[0] += {1}"]
    np.testing.assert_array_equal(op.evaluate(VECTOR, np.float64(9.0), k=0), [10.0, 2.0, 3.0])
    assert VECTOR[0] == 1.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.dtype("f8"), "np.float64"),
        (np.dtype("b1"), "np.bool_"),
        (np.dtype("i8"), "np.int64"),
        (np.dtype("c8"), "np.complex64"),
        ((0, 1), "(0, 1)"),
        ("ij,jk->ik", "'ij,jk->ik'"),
        (None, "None"),
        (True, "True"),
    ],
)
def test_parameters_are_literals(value: Any, text: str) -> None:
    assert literal(value) == text


def test_an_op_costs_the_elements_of_its_largest_operand() -> None:
    small, large = ArrayType((), np.dtype("f8")), ArrayType((4, 5), np.dtype("f8"))
    assert size(small, large) == 20
    assert size() == 1


@each_row("op", OPS.values())
def test_an_op_is_spelled_and_its_rules_are_of_known_kinds(op: Op) -> None:
    assert op.source or op.statements
    assert bool(op.source) != bool(op.statements)
    if isinstance(op.jvp, str):
        assert op.jvp in ("linear", "bilinear")
    if isinstance(op.batch, str):
        assert op.batch in ("elementwise", "leading")
    for function in op.numpy:
        assert HANDLERS[function] == op.record_call
