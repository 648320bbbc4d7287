"""Improve: every rewrite that may change the last bits of a result, in its order.

A rewritten statement stays within 4 ulp of its largest term, with the same inf and nan (one for the
other where nothing tells them apart), dtype, shape and form. Kernels made with `exact=True` do
without. The passes run on the graph of a function, and again where its cotangent has become a
number.
"""

from __future__ import annotations

from tracejit.ir.graph import Graph
from tracejit.passes.coefficients import gather_coefficients
from tracejit.passes.column_sums import sum_columns_first
from tracejit.passes.constant_folding import fold_constants
from tracejit.passes.contract import contract
from tracejit.passes.cse import EXCHANGEABLE, share_exchanged
from tracejit.passes.driver import Pass, run_to_fixed_point
from tracejit.passes.factoring import factor_sums
from tracejit.passes.insets import keep_edges
from tracejit.passes.long_axis import put_long_axis_last
from tracejit.passes.loop_products import BY_MATRIX, SUMMANDS, hoist_products, join_sums
from tracejit.passes.lower import lower
from tracejit.passes.reassociate import add_apart, share_products
from tracejit.passes.reductions import REDUCTIONS, arrange_reductions
from tracejit.passes.rewrites import reduce_strength, reuse_results, select_calls
from tracejit.passes.runs import lengthen_runs
from tracejit.passes.scaled_products import scale_once
from tracejit.passes.solves import SOLVES, solve_together
from tracejit.passes.spread import spread_once
from tracejit.passes.stretches import lay_in_stretches
from tracejit.passes.sum_of_products import SUMS
from tracejit.passes.triangles import FACTORS, take_factors_apart
from tracejit.passes.windows import show_windows

IMPROVEMENTS: tuple[Pass, ...] = (
    Pass(contract, needs=("einsum",)),
    Pass(reduce_strength),
    Pass(share_exchanged, needs=EXCHANGEABLE),
    Pass(factor_sums, needs=SUMS, along_decisions=False),
    Pass(gather_coefficients, along_decisions=False),
    Pass(share_products, needs=("multiply",), along_decisions=False),
    Pass(add_apart, needs=("sum",), along_decisions=False),
    Pass(sum_columns_first, needs=("sum",), along_decisions=False),
    Pass(keep_edges, needs=("concatenate", "add_slice"), along_decisions=False),
    Pass(solve_together, needs=SOLVES, along_decisions=False),
    Pass(take_factors_apart, needs=FACTORS, along_decisions=False),
    Pass(hoist_products, needs=BY_MATRIX, along_decisions=False),
    Pass(join_sums, needs=SUMMANDS, along_decisions=False),
    Pass(lay_in_stretches, needs=("getitem",), along_decisions=False),
    Pass(show_windows, needs=("concatenate",), along_decisions=False),
    Pass(put_long_axis_last, along_decisions=False),
    Pass(scale_once, needs=("matmul",), along_decisions=False),
    Pass(reuse_results),
    Pass(arrange_reductions, needs=REDUCTIONS),
    Pass(lower, needs=("sum",)),
    Pass(select_calls),
    Pass(spread_once, along_decisions=False),
    Pass(lengthen_runs, along_decisions=False),
    Pass(fold_constants),
)


def improve(graph: Graph) -> Graph:
    """`graph`, of which nobody else holds anything, after every improvement."""
    return run_to_fixed_point(graph, IMPROVEMENTS)
