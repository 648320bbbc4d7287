"""The ops without a batching rule are known. That a batch is a loop over its elements is a property
of every sample: tests/ops/properties/batched.py."""

from __future__ import annotations

from tests.ops.properties.batched import MAPPED
from tracejit.ops.base import sized  # noqa: F401
from tracejit.ops.base.op import OPS
from tracejit.ops.scipy import sparse  # noqa: F401

# Ops without a batching rule, and why.
WITHOUT_RULES = {
    **dict.fromkeys(("full", "arange", "eye"), "has no operands"),
    "directions": "has no operands",
    "einsum_if_not_finite": "is made by a pass over whole functions, after batching",
    **dict.fromkeys(
        ("dot_in_rows", "fill_gaps", "substitute", "windows"),
        "is made by a pass over whole functions, which are not batched any more",
    ),
    **dict.fromkeys(
        ("loop", "while", "condition", "stack_row"), "has bodies, batched in autodiff/batched_*.py"
    ),
    "override": "is handed over with its rule, in autodiff/batch/batch.py",
    "callback": "an effect, which is refused",
    "decide": "is of what is the same for all elements: others are not known",
    "as_integer": "is of what is the same for all elements: others are not known",
    "as_pattern": "is of what is the same for all elements: others are not known",
    "as_digest": "is of what is the same for all elements: others are not known",
    **dict.fromkeys(
        ("matrix_part", "matrix_size", "has_places_once"), "is of an object that has no batch"
    ),
    **dict.fromkeys(
        ("entry_lines", "sparse_factors", "iterated_solve", "converged_solve", "sparse_expm_slope"),
        "is of one matrix: of several, one after the other",
    ),
    "leave": "stands in joined graphs alone, which are not batched",
    **MAPPED,
}


def test_ops_without_a_batching_rule_are_known() -> None:
    found = {name for name, op in OPS.items() if op.batch is None}
    assert found == WITHOUT_RULES.keys()
