"""Every property of every op, on every sample of the tables `samples_*.py`: by day one test for ten
samples of an op, by night one for each.

The properties are the functions in tests/ops/properties.
"""

from __future__ import annotations

import pytest

from tests.by_day import by_day
from tests.ops.cases import BROKEN, CASES, CASES_OF, Case
from tests.ops.properties import batched, eager, memory, recorded  # noqa: F401
from tests.ops.properties.registry import assert_properties, checked
from tracejit.ops.base import sized  # noqa: F401
from tracejit.ops.base.op import COMPOSITES, OPS
from tracejit.ops.control.routines import Routine
from tracejit.ops.scipy import sparse  # noqa: F401

# Ops that no NumPy call records, and why that is so.
WITHOUT_SAMPLES = {
    "size": "it has no operands: tests/test_sizes.py",
    "arange": "it has no operands: tests/test_sizes.py",
    "eye": "it has no operands: tests/test_sizes.py",
    "as_integer": "written where Python decides: test_branches.py",
    "as_python_if": "written for what a condition chooses: elementwise/test_python_numbers.py",
    **dict.fromkeys(
        (
            "sparse_product",
            "matrix_part",
            "matrix_size",
            "matrix_view",
            "sparse_factors",
            "factors_solve",
            "sparse_expm_multiply",
            "sparse_expm_slope",
            "has_places_once",
            "entry_lines",
            "converged_solve",
        ),
        "its matrix is no array: trace/convert/test_sparse.py",
    ),
    "override": "written by the gradient markers alone",
    **dict.fromkeys(
        ("set_item", "add_item", "subtract_item", "take_under", "with_real", "with_imag"),
        "tested in trace/tensor/test_writes.py",
    ),
    "swap_items": "tested in trace/control_flow/test_parts_by_step.py",
    "directions": "written by Jacobians alone, tested in test_creation.py",
    "above_minus_infinity": "written by the rules of logaddexp alone",
    **dict.fromkeys(
        ("radial", "bent", "unknown_slope", "length", "flat"),
        "written by the rules of lengths: test_lengths.py",
    ),
    "einsum_if_not_finite": "written by the contract pass alone, tested in test_contract.py",
    "dot_in_rows": "written by the lower pass alone, tested in test_lower.py",
    "substitute": "written by the triangles pass alone, tested in test_triangles.py",
    "fill_gaps": "written by the flattening pass alone, tested in test_flattening.py",
    "windows": "written by the pass for sliding windows alone, tested in test_sliding_windows.py",
    "or_zero": "written by the choices pass alone, tested in test_choices.py",
    "add_slice": "written by the simplify pass alone, tested in test_indexing.py",
    "identity": "written by the gradient transforms alone",
    **dict.fromkeys(
        ("loop", "while", "condition", "add_rows", "zero_rows"),
        "no NumPy: autodiff/reverse/test_loops.py, api",
    ),
    **dict.fromkeys((name for name in OPS if OPS[name].effect), "tested in test_effects.py"),
    **dict.fromkeys(("as_array", "as_element", "as_scalar"), "written by rules and passes alone"),
    **dict.fromkeys(
        (name for name in OPS if name.startswith(("python_", "math_"))), "Python numbers"
    ),
    "as_pattern": "decided by alone, tested in test_sizes.py",
    "as_digest": "decided by alone, tested in api/test_sparse_jacobian.py",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a nightly test of each sample with a property that is not checked by day."""
    if "case" in metafunc.fixturenames:
        cases = [case for case in CASES if checked(case, night=True)]
        metafunc.parametrize("case", cases, ids=lambda case: case.name)


def in_groups(count: int) -> list[list[Case]]:
    """All samples, so many of an op together."""
    return [
        cases[k : k + count] for cases in CASES_OF.values() for k in range(0, len(cases), count)
    ]


def name_of(group: list[Case]) -> str:
    """The name of the only sample, or of the first, and the number of the last."""
    first, last = group[0], group[-1]
    return first.name if first is last else f"{first.name}-to-{last.number}"


def test_every_table_can_be_read() -> None:
    assert not BROKEN


def test_every_op_has_samples() -> None:
    sampled = {case.sample.op for case in CASES}
    ours = [name for name, op in OPS.items() if not isinstance(op, Routine)]  # see tests/solvers
    declared = {name for name in ours if not name.startswith("map_")} | COMPOSITES.keys()
    assert sorted(declared - sampled - WITHOUT_SAMPLES.keys()) == []
    assert sorted(sampled - declared) == [], "samples of what is not declared"
    assert sorted(WITHOUT_SAMPLES.keys() - OPS.keys()) == []


def test_samples_record_the_op_they_are_named_after() -> None:
    without = [op for op in CASES_OF if op in OPS and not any(map(records_its_op, CASES_OF[op]))]
    assert without == []


def records_its_op(case: Case) -> bool:
    """Tell if the op of a sample is in the graph of its value or of a derivative."""
    program = case.program
    makers = [lambda: program.recorded, lambda: program.first, lambda: program.second]
    graphs = (make()[0] for make in makers[: case.order + 1])
    found = any(node.op.name == case.sample.op for graph in graphs for node in graph.nodes)
    case.forget()
    return found


@pytest.mark.parametrize("group", in_groups(by_day(10, 1)), ids=name_of)
def test_every_property_holds(group: list[Case]) -> None:
    assert_properties([(case, checked(case)) for case in group])


@pytest.mark.nightly
def test_nightly_properties_hold(case: Case) -> None:
    assert_properties([(case, checked(case, night=True))])
