"""Incidences of ops against what changes when one element of an operand does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.ops.program import quiet
from tests.ops.test_traits import Call, calls
from tracejit.autodiff.sparsity.incidence import Incidences
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import type_of
from tracejit.ops.base.op import OPS

PARTS = 30
MOST_ELEMENTS = 24


class Known:
    """The data of the operands of a call, or of none."""

    def __init__(self, data: dict[Value, Any], is_known: bool) -> None:
        self.data, self.is_known = data, is_known

    def integers(self, value: Value) -> Any:
        return self.data[value] if self.is_known else None

    def places(self, value: Value) -> Any:
        return sparse.csr_array(np.asarray(self.data[value]) != 0) if self.is_known else None


def node_of(call: Call) -> Node | None:
    """The call as a node; None where its operands are no arrays and numbers."""
    types = [type_of(x) for x in call.operands]
    if None in types:
        return None
    results = call.op.result_types(types, call.params)
    return Node(call.op, tuple(map(Value, types)), dict(call.params), results, None, 0, ())


def changed(call: Call, k: int, j: int) -> list[Any] | None:
    """For each result, where it changes with element j of operand k; None where that cannot be."""
    x = np.array(call.operands[k])
    if x.dtype.kind not in "fc":
        return None
    moved = x.reshape(-1).copy()
    operand = moved.reshape(x.shape)
    with quiet():
        moved[j] = moved[j] * 1.0625 + 0.0625
        before, after = call.result, call.with_operand(k, operand if x.ndim else operand[()])
    pairs = zip(
        *[one if isinstance(one, tuple) else (one,) for one in (before, after)], strict=True
    )
    return [np.ravel(~(np.asarray(a) == b) & ~(np.isnan(a) & np.isnan(b))) for a, b in pairs]


def missing(call: Call, is_known: bool) -> Iterator[str]:
    """The parts that a call reads beyond its incidence."""
    node = node_of(call)
    if node is None or any(value.type.form == "list" for value in node.results):
        return
    numbers = Known(dict(zip(node.operands, call.operands, strict=True)), is_known)
    for k, operand in enumerate(node.operands):
        if operand.type.dtype.kind not in "fc" or not 0 < operand.type.size <= MOST_ELEMENTS:
            continue
        found = []
        for number, result in enumerate(node.results):
            whole: Any = sparse.eye_array(operand.type.size, dtype=bool, format="csr")
            factors = Incidences(sparse, numbers).of(node, number, k)
            for factor in reversed([] if factors is None else factors):
                whole = factor @ whole
            shape = result.type.size, operand.type.size
            found.append(np.zeros(shape, bool) if factors is None else whole.toarray())
            assert found[-1].shape == shape, (call, k, found[-1].shape)
        for j in range(operand.type.size):
            try:
                differences = changed(call, k, j)
            except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):
                continue  # the op is not for such numbers
            for pattern, difference in zip(found, differences or (), strict=False):
                if difference.size == pattern.shape[0] and np.any(difference & ~pattern[:, j]):
                    yield f"{call.op.name}: element {j} of operand {k}, {call.params}"


@pytest.fixture(scope="module", autouse=True)
def samples() -> None:
    """The calls of all samples, which are many."""
    calls()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_no_element_is_missing(is_known: bool, part: int) -> None:
    names = sorted(name for name in calls() if name in OPS and not OPS[name].effect)[part::PARTS]
    wrong = [one for name in names for call in calls()[name][:3] for one in missing(call, is_known)]
    assert wrong == []
