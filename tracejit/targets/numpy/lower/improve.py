"""Improve: every rewrite that may change the last bits of a result, in its order.

A rewritten statement stays within 4 ulp of its largest term, with the same inf and nan (one for the
other where nothing tells them apart), dtype, shape and form. Kernels made with `exact=True` do
without. The passes run on the graph of a function, and again where its cotangent has become a
number.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph
from tracejit.loops.bodies.loop_products import SUMMANDS, join_sums
from tracejit.passes.algebra.coefficients import gather_coefficients
from tracejit.passes.algebra.column_sums import sum_columns_first
from tracejit.passes.algebra.contract import contract
from tracejit.passes.algebra.factoring import factor_sums
from tracejit.passes.algebra.outer_sums import OUTERS, join_outers
from tracejit.passes.algebra.reassociate import add_apart
from tracejit.passes.algebra.rewrites import reduce_strength, reuse_results, select_calls
from tracejit.passes.algebra.solves import SOLVES, solve_together
from tracejit.passes.algebra.sum_of_products import SUMS
from tracejit.passes.algebra.triangles import FACTORS, take_factors_apart
from tracejit.passes.exact.constant_folding import fold_constants
from tracejit.passes.framework.driver import Pass, run_to_fixed_point
from tracejit.passes.layout.layout_assignment import assign_layouts
from tracejit.passes.layout.slice_updates import update_slices
from tracejit.targets.numpy.lower.flat_indices import flatten_indices
from tracejit.targets.numpy.lower.flattening import flatten_slices
from tracejit.targets.numpy.lower.lower import lower
from tracejit.targets.numpy.lower.sliding_windows import view_windows

IMPROVEMENTS: tuple[Pass, ...] = (
    Pass(contract, needs=("einsum",)),
    Pass(reduce_strength),
    Pass(factor_sums, needs=SUMS, along_decisions=False),
    Pass(gather_coefficients, along_decisions=False),
    Pass(add_apart, needs=("sum",), along_decisions=False),
    Pass(sum_columns_first, needs=("sum",), along_decisions=False),
    Pass(update_slices, needs=("concatenate", "add_slice"), along_decisions=False),
    Pass(solve_together, needs=SOLVES, along_decisions=False),
    Pass(take_factors_apart, needs=FACTORS, along_decisions=False),
    Pass(join_sums, needs=SUMMANDS, along_decisions=False),
    Pass(join_outers, needs=OUTERS, along_decisions=False),
    Pass(flatten_slices, needs=("getitem",), along_decisions=False),
    Pass(view_windows, needs=("concatenate",), along_decisions=False),
    Pass(flatten_indices, needs=("add_at",), along_decisions=False),
    Pass(assign_layouts, along_decisions=False),
    Pass(reuse_results),
    Pass(lower, needs=("sum",)),
    Pass(select_calls),
    Pass(fold_constants),
)


def improve(graph: Graph) -> Graph:
    """`graph`, of which nobody else holds anything, after every improvement."""
    return run_to_fixed_point(graph, IMPROVEMENTS)
