"""The cost model: every figure by which a pass, the schedule or the code generator chooses.

`costs()` is the model in force. Its fields are the thresholds, in sections: the annotation of a
field is its unit, the docstring below it says what it decides, and the docstring of the section how
its figures were found: measured, known, chosen, or derived. A threshold that follows from others is
a property, or computed where it stands.

Figures are those of the machine in docs/performance.md, whatever machine runs: the text of a module
does not depend on where it was made, and the model is part of a kernel's key.

Sections of passes stand here, those of what comes after them in `code_costs.py`. To add a
threshold, add a field to the section of its pass, or a section to the bases of `CostModel`. A pass
reads `costs()` while it runs, not at import. Tests choose other figures for small arrays:

>>> with assuming(tile_bytes=320):
...     costs().tile_bytes
320
>>> costs().tile_bytes == 6 << 20
True
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tracejit.support.code_costs import (
    BlasThreads,
    Bodies,
    Bytes,
    Count,
    Elements,
    Inlining,
    Libraries,
    Memory,
    Nanoseconds,
    Rows,
    Scalars,
    Tiles,
    Work,
)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums as products with ones (passes/lower.py). Measured for rows and columns of 3 to 1,000
    numbers: docs/performance.md, "Forms of sums and numbers" and "Short rows and triangular
    factors"."""

    dense_row: Elements = 32
    """Products of shorter rows are made and summed by `dot` or in blocks, not by `vecdot`, ..."""
    dense_rows: Rows = 64
    """... where there are more rows than these: `vecdot` calls the BLAS for each."""
    vecdot_row: Elements = 64
    """Rows from which on `vecdot` with ones sums what is too large for one product."""
    wide_row: Elements = 128
    """Rows from which on NumPy adds up rows as fast as the BLAS, and `einsum` multiplies them."""
    least_block_rows: Rows = 32
    """Rows of a block that is summed by one product, at least."""
    block_divisors: Count = 16
    """The block is looked for between the largest one and such a part of it."""
    summed_stack_elements: Elements = 65_536
    """A stack of matrices up to which each is summed by a product."""
    least_product_rows: Rows = 8
    """Rows of each matrix of a stack from which on they are multiplied by a single one at once."""
    least_product_elements: Elements = 1000
    """The whole stack for it, at least."""
    least_einsum_elements: Elements = 8192
    """An array from which on `einsum` adds up products of its long rows."""


@dataclass(frozen=True, eq=False)
class Rewrites:
    """Cheaper operations for the same (passes/algebra.py, products.py, contract.py, column_sums.py,
    autodiff/shift_invariance.py). Measured by `rewrites` in tests/benchmarks/cost_model.py. Chosen,
    to bound a search: those called `..._depth` and `shifted_operations`."""

    most_factors_of_power: Count = 8
    """An integer power up to which it is a product."""
    most_factors_of_reciprocal: Count = 4
    """A negative one up to which it is a product of reciprocals: more ones, more rounding."""
    least_logaddexp_elements: Elements = 512
    """An array from which on `logaddexp` is spelled out."""
    most_mask_elements: Elements = 4096
    """A matrix up to which the mask of its triangle is a constant."""
    dot_operations: Count = 300_000
    """Multiplications and additions up to which `dot` saves time against `@`."""
    least_contracted_products: Count = 1000
    """Products of all factors of an `einsum` from which on it goes in steps, ..."""
    least_contracted_terms: Count = 4
    """... and so many for each number of the result, which is looked at for nan."""
    least_column_sum_elements: Elements = 256
    """An array from which on its sum is taken apart into sums of what it is made of."""
    column_sum_depth: Count = 12
    """Operations that a sum is taken back through, at most."""
    shifted_operations: Count = 64
    """Operations through which a maximum that is subtracted is followed: a log-softmax has six."""


@dataclass(frozen=True, eq=False)
class Operations:
    """The forms of operations that several steps make (ops/contractions.py, products.py,
    index_text.py, linalg.py, triangles.py). Measured by `operations` in
    tests/benchmarks/cost_model.py. Chosen, to bound a search: `few_factors`."""

    view_call: Nanoseconds = 100.0
    """A view: a transposed one, or one in another shape."""
    copy_call: Nanoseconds = 1000.0
    """A copy, besides one for each element."""
    strided_element: Nanoseconds = 0.5
    """An element of a result that does not lie in order, when it is read."""
    stacked_matrix: Nanoseconds = 40.0
    """Each matrix of a stack that is multiplied."""
    least_vecdot_row: Elements = 8
    """Rows up to which `einsum` adds up products as fast as `vecdot` where there are more ..."""
    few_vecdot_rows: Rows = 64
    """... than these."""
    small_product: Count = 100
    """Multiplications of a matrix and a vector up to which `einsum` is faster than `@` where there
    are more ..."""
    few_products: Count = 8
    """... of them than these."""
    few_factors: Count = 6
    """Factors of an `einsum` of which the best order of all is looked for."""
    large_step: Elements = 1 << 20
    """The result of a step of it, at most, or the largest operand."""
    added_columns: Count = 8
    """Columns up to which rows are added at an index one column after the other."""
    many_indexed_elements: Elements = 512
    """An array from which on the general way to index is what costs."""
    inverse_rows: Rows = 32
    """Rows of the blocks by which a triangular matrix is inverted."""
    triangle_rows: Rows = 32
    """Rows of the blocks by which it is solved for, or half a product is made."""
    least_triangle_blocks: Count = 3
    """Blocks of a matrix from which on that pays."""


@dataclass(frozen=True, eq=False)
class Loops:
    """Unrolled loops (autodiff/loop_vectorisation.py, passes/loop_products.py). Measured: where
    calls cost more than arithmetic; docs/performance.md, "Loops and small products". Chosen:
    `vectorised_depth`, below Python's limit of recursion."""

    least_copies: Count = 3
    """Copies of an operation from which on they are one over a first axis."""
    vectorised_operations: Count = 8_000_000
    """Work of one up to which it is."""
    vectorised_depth: Count = 150
    """Operations through which copies are followed."""
    least_steps: Count = 4
    """Products of steps from which on they are one product."""
    step_operations: Count = 2_000_000
    """Work of one up to which they are."""
    joined_bytes: Bytes = 1 << 23
    """Operands of all steps together, at most."""
    copied_for_one: Count = 8
    """Elements that may be copied to save the addition of one."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The order of axes, broadcasts and indices (passes/layout_analysis.py, broadcasts.py,
    flat_indices.py). Measured for rows of 2 to 32 numbers in arrays that fit the cache, and, what
    tiles save, in larger ones: docs/performance.md, "The long axis last". Chosen: what is tried."""

    short_row: Elements = 32
    """Rows up to which what is computed of them may go along another axis."""
    long_axis: Elements = 16
    """An axis that may go last has so many elements at least, ..."""
    longer_than_rows: Count = 4
    """... and so many times as many as the rows that come after it."""
    least_moved_elements: Elements = 100
    """An array from which on its axes may stand in another order."""
    row_start: Nanoseconds = 6.5
    """A short row where an operand is broadcast, besides its elements: less if it is longer, ..."""
    row_start_element: Nanoseconds = 0.13
    """... by so much for each of them, ..."""
    least_row_start: Nanoseconds = 1.0
    """... but no less than this."""
    loop_start: Nanoseconds = 30.0
    """A longer row, besides its elements."""
    untiled_element: Nanoseconds = 0.4
    """An element of a large array that tiles no longer go through."""
    moved_element: Nanoseconds = 0.9
    """An element that is copied into another place, ..."""
    moved_copy: Nanoseconds = 700.0
    """... and such a copy besides."""
    summed_element: Nanoseconds = 0.1
    """An element of short rows that are added up, against one of long columns."""
    summed_product_row: Nanoseconds = 6.0
    """A short row of products that are added up, against one of long columns."""
    extreme_of_row: Nanoseconds = 30.0
    """The largest element of a short row, against that of a long column."""
    small_matrix: Nanoseconds = 25.0
    """A product of small matrices, one of a stack, ..."""
    small_transposed_matrix: Nanoseconds = 80.0
    """... of which one is transposed; ..."""
    product_along_axis: Nanoseconds = 0.7
    """... a product of two numbers where `einsum` goes along a long axis, ..."""
    product_call: Nanoseconds = 2000.0
    """... which takes this besides."""
    least_moved_gain: Nanoseconds = 1500.0
    """What another order of axes is to save at least, ..."""
    moved_operation: Nanoseconds = 0.0004
    """... and for each operation of the whole."""
    tried_axes: Count = 12
    """Classes of axes that are tried, the largest first."""
    broadcast_set_up: Nanoseconds = 500.0
    """A small array and an operand that is broadcast, against two of one shape."""
    broadcast_copy: Nanoseconds = 1800.0
    """An operand that is repeated, besides its elements, ..."""
    broadcast_element: Nanoseconds = 0.35
    """... and each of these."""
    broadcast_whole: Elements = 2048
    """An array up to which an operand is repeated in the whole shape."""
    broadcast_rows: Elements = 8192
    """An array from which on it is repeated along the last axes, ..."""
    repeated_row: Elements = 64
    """... until rows have so many elements, ..."""
    repeated_share: Count = 8
    """... where it is no larger than such a part of the array."""
    least_flat_places: Elements = 512
    """Places at an index of several arrays from which on they are found in a table, ..."""
    most_table_elements: Elements = 65_536
    """... which has no more elements than this, ..."""
    table_share: Count = 8
    """... and no more than so many times the places."""


@dataclass(frozen=True, eq=False)
class CostModel(
    Libraries,
    Tiles,
    Work,
    BlasThreads,
    Inlining,
    Memory,
    Scalars,
    Bodies,
    Operations,
    Sums,
    Rewrites,
    Loops,
    Layout,
):
    """All figures. Replace some of them by `dataclasses.replace`; a model equals itself alone."""

    @property
    def largest_freed_bytes(self) -> Bytes:
        """The largest block whose freeing glibc learns from, with what malloc adds to it."""
        return self.mmap_bytes - 2**16

    @cached_property
    def digest(self) -> str:
        """A hash of all figures, which stands for the model in the key of a kernel."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


DEFAULT = CostModel()

_in_force: ContextVar[CostModel] = ContextVar("cost_model", default=DEFAULT)

costs = _in_force.get
"""The cost model in force, of this thread or task: `costs().tile_bytes`."""


@contextmanager
def assuming(**figures: Any) -> Iterator[CostModel]:
    """Put a model with other `figures` in force, for what this thread or task does meanwhile.

    Kernels that exist stay as they are. Raises TypeError for a figure that there is not.
    """
    token = _in_force.set(dataclasses.replace(costs(), **figures))
    try:
        yield costs()
    finally:
        _in_force.reset(token)
