"""Improve: every rewrite that may change the last bits of a result, in its order.

A rewritten statement stays within 4 ulp of its largest term, with the same inf and nan (one for the
other where nothing tells them apart), dtype, shape and form. Kernels made with `exact=True` do
without. The passes run on the graph of a function, and again where its cotangent has become a
number. What nothing but a decision reads is left as NumPy computes it: a decision falls in the
kernel as it would in Python.

Where ways part, nothing is gathered along a way: what a way computes does not change when another
is joined to it, and ways that end alike stay alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tracejit.ir.graph import Graph
from tracejit.passes.addends import SUMS
from tracejit.passes.column_sums import sum_columns_first
from tracejit.passes.common_factors import take_out_factors
from tracejit.passes.constant_folding import fold_constants
from tracejit.passes.contract import contract
from tracejit.passes.cse import share_exchanged
from tracejit.passes.dce import drop_dead
from tracejit.passes.factors import gather_factors
from tracejit.passes.insets import keep_edges
from tracejit.passes.like_terms import collect_like_terms
from tracejit.passes.long_axis import put_long_axis_last
from tracejit.passes.loop_products import (
    MATRIX_PRODUCTS,
    SUMMANDS,
    VECTOR_PRODUCTS,
    hoist_products,
    join_sums,
)
from tracejit.passes.lower import lower
from tracejit.passes.reductions import REDUCTIONS, arrange_reductions
from tracejit.passes.rewrites import reduce_strength, reuse_results, select_calls
from tracejit.passes.runs import lengthen_runs
from tracejit.passes.scaled_products import scale_once
from tracejit.passes.solves import SOLVES, solve_together
from tracejit.passes.spread import spread_once
from tracejit.passes.stretches import lay_in_stretches
from tracejit.passes.sums import take_sums_apart
from tracejit.passes.triangles import FACTORS, take_factors_apart
from tracejit.passes.weighted_squares import share_weights
from tracejit.passes.windows import show_windows

IMPROVEMENTS: tuple[Callable[[Graph], Graph], ...] = (
    contract,
    reduce_strength,
    share_exchanged,
    collect_like_terms,
    sum_columns_first,
    take_out_factors,
    gather_factors,
    share_weights,
    take_sums_apart,
    keep_edges,
    solve_together,
    take_factors_apart,
    hoist_products,
    join_sums,
    lay_in_stretches,
    show_windows,
    put_long_axis_last,
    scale_once,
    reuse_results,
    arrange_reductions,
    lower,
    select_calls,
    spread_once,
    lengthen_runs,
    fold_constants,
)
ALONG_A_WAY = frozenset(
    (
        collect_like_terms,
        sum_columns_first,
        take_out_factors,
        gather_factors,
        share_weights,
        take_sums_apart,
        keep_edges,
        solve_together,
        take_factors_apart,
        hoist_products,
        join_sums,
        lay_in_stretches,
        show_windows,
        put_long_axis_last,
        scale_once,
        spread_once,
        lengthen_runs,
    )
)
NEEDED: dict[Callable[[Graph], Graph], Collection[str]] = {
    contract: ("einsum",),
    collect_like_terms: SUMS,
    sum_columns_first: ("sum",),
    take_out_factors: SUMS,
    take_sums_apart: ("sum",),
    keep_edges: ("concatenate", "add_slice"),
    solve_together: SOLVES,
    take_factors_apart: FACTORS,
    hoist_products: (*MATRIX_PRODUCTS, *VECTOR_PRODUCTS),
    join_sums: SUMMANDS,
    lay_in_stretches: ("getitem",),
    show_windows: ("concatenate",),
    scale_once: ("matmul",),
    arrange_reductions: REDUCTIONS,
    lower: ("sum",),
}
"""Operations without any of which a pass has nothing to do."""


def improve(graph: Graph) -> Graph:
    """`graph`, of which nobody else holds anything, after every improvement."""
    graph.is_passing = True
    names = {node.op.name for node in graph.nodes}
    for each in IMPROVEMENTS:
        if graph.branches.decisions and each in ALONG_A_WAY:
            continue
        if each in NEEDED and names.isdisjoint(NEEDED[each]):
            continue
        better = each(graph)
        if better is not graph:
            graph = drop_dead(better)
            graph.is_passing = True
            names = {node.op.name for node in graph.nodes}
    graph.is_passing = False
    return graph
