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
from tracejit.passes.algebra import strengthen
from tracejit.passes.broadcasts import materialise_broadcasts
from tracejit.passes.choices import CHOICES, choose_by_bits, step_by_sign
from tracejit.passes.column_sums import sum_columns_first
from tracejit.passes.common_factors import take_out_factors
from tracejit.passes.contract import contract
from tracejit.passes.dce import drop_dead
from tracejit.passes.diagonals import read_diagonals
from tracejit.passes.factors import gather_factors
from tracejit.passes.flat_indices import flatten_indices
from tracejit.passes.insets import keep_edges
from tracejit.passes.layout_assignment import assign_layouts
from tracejit.passes.like_terms import collect_like_terms
from tracejit.passes.log_sums import LOG_SUMS, spell_log_sums
from tracejit.passes.loop_products import (
    MATRIX_PRODUCTS,
    SUMMANDS,
    VECTOR_PRODUCTS,
    hoist_products,
    join_sums,
)
from tracejit.passes.lower import lower
from tracejit.passes.products import DOTS, dot_small
from tracejit.passes.scaled_products import scale_once
from tracejit.passes.scatters import SCATTERS, scatter_into_sums
from tracejit.passes.softplus import LOGARITHMS, keep_logarithms
from tracejit.passes.solves import SOLVES, solve_together
from tracejit.passes.stretches import lay_in_stretches
from tracejit.passes.sums import take_sums_apart
from tracejit.passes.triangles import FACTORS, substitute_factors, take_factors_apart
from tracejit.passes.weighted_squares import share_weights
from tracejit.passes.windows import show_windows

IMPROVEMENTS: tuple[Callable[[Graph], Graph], ...] = (
    spell_log_sums,
    contract,
    strengthen,
    keep_logarithms,
    collect_like_terms,
    sum_columns_first,
    take_out_factors,
    gather_factors,
    share_weights,
    take_sums_apart,
    keep_edges,
    solve_together,
    substitute_factors,
    take_factors_apart,
    hoist_products,
    join_sums,
    lay_in_stretches,
    show_windows,
    flatten_indices,
    scatter_into_sums,
    assign_layouts,
    scale_once,
    read_diagonals,
    lower,
    dot_small,
    step_by_sign,
    choose_by_bits,
    materialise_broadcasts,
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
        flatten_indices,
        scatter_into_sums,
        assign_layouts,
        scale_once,
        read_diagonals,
        materialise_broadcasts,
    )
)
NEEDED: dict[Callable[[Graph], Graph], Collection[str]] = {
    spell_log_sums: LOG_SUMS,
    contract: ("einsum",),
    keep_logarithms: LOGARITHMS,
    collect_like_terms: SUMS,
    sum_columns_first: ("sum",),
    take_out_factors: SUMS,
    take_sums_apart: ("sum",),
    keep_edges: ("concatenate", "add_slice"),
    solve_together: SOLVES,
    substitute_factors: FACTORS,
    take_factors_apart: FACTORS,
    hoist_products: (*MATRIX_PRODUCTS, *VECTOR_PRODUCTS),
    join_sums: SUMMANDS,
    lay_in_stretches: ("getitem",),
    show_windows: ("concatenate",),
    flatten_indices: ("add_at",),
    scatter_into_sums: SCATTERS,
    scale_once: ("matmul",),
    read_diagonals: ("matmul",),
    lower: ("sum",),
    dot_small: DOTS,
    step_by_sign: CHOICES,
    choose_by_bits: ("where",),
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
