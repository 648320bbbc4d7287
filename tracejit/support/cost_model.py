"""The cost model: every figure by which a pass, the schedule or the code generator chooses.

`costs()` is the model in force. Its fields are the thresholds, in sections: the annotation of a
field is its unit, the docstring below it says what it decides, and the docstring of the section how
its figures were found: measured, known, chosen, or derived. A threshold that follows from others is
a property, or computed where it stands.

Figures are those of the machine in docs/notes/performance.md, whatever machine runs: the text of a
module does not depend on where it was made, and the model is part of a kernel's key.

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

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from tracejit.support.code_costs import (
    Additions,
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


class Sums:
    """Sums as products with ones (targets/numpy/lower/lower.py). Measured on rows and columns of 3
    to 1,000 numbers: docs/notes/performance.md, "Forms of sums and numbers" and "Short rows and
    triangular factors"; `vecdot_row` and `least_einsum_elements` by `FORMS` in
    tests/benchmarks/cost_model.py."""

    dense_row: Elements = 32
    """Products of shorter rows are made first and then summed by `dot` or in blocks, ..."""
    dense_rows: Rows = 64
    """... if there are more rows than this. `vecdot` would call the BLAS for each of them."""
    vecdot_row: Elements = 64
    """Shortest rows that `vecdot` with ones sums, in an array too large for one product."""
    wide_row: Elements = 128
    """Shortest rows for which NumPy adds up the rows of a matrix as fast as the BLAS does."""
    least_block_rows: Rows = 32
    """Smallest block of rows that is summed by one product."""
    block_divisors: Count = 16
    """Blocks are tried down to this fraction of the largest one."""
    summed_stack_elements: Elements = 65_536
    """Largest stack of matrices each of which is summed by a product."""
    least_product_rows: Rows = 8
    """Fewest rows of a matrix that are multiplied by a single row and summed in one product, ..."""
    least_product_elements: Elements = 1000
    """... and the smallest stack of such matrices."""
    least_einsum_elements: Elements = 8192
    """Smallest array of products that `einsum` adds up over long rows."""


class Rewrites:
    """Cheaper operations with the same result (passes/algebra/rewrites.py,
    passes/algebra/contract.py, passes/algebra/column_sums.py,
    autodiff/reverse/shift_invariance.py). Measured by `FORMS` in tests/benchmarks/cost_model.py,
    and on `np.einsum` in docs/notes/performance.md, "Sums of products". Chosen: `column_sum_depth`
    and `shifted_operations` to bound a search, `most_known_index` and `most_folded_elements` for
    the memory they take."""

    least_logaddexp_elements: Elements = 512
    """Smallest array for which `logaddexp` is spelled out."""
    most_mask_elements: Elements = 4096
    """Largest matrix for which the mask of a triangle is a constant of the module."""
    dot_operations: Count = 300_000
    """Largest product for which `dot` is faster than `@`."""
    most_softplus_elements: Elements = 1024
    """Largest array for which the slope of a softplus is an `expm1` rather than a quotient."""
    least_choice_elements: Elements = 2000
    """Smallest array that is chosen from by bits: `where` guesses each element."""
    least_diagonal_elements: Elements = 1000
    """Smallest array of products whose sums are read from a diagonal."""
    most_counted_elements: Elements = 2000
    """Largest array that `bincount` adds up in half of the time of `add.at`."""
    most_known_index: Elements = 65_536
    """Largest index that is a constant of the module."""
    most_folded_elements: Elements = 1 << 20
    """Largest array that is computed when a module is imported, and kept."""
    least_contracted_products: Count = 1000
    """Fewest products of all factors for which an `einsum` of several goes in steps, ..."""
    least_contracted_terms: Count = 4
    """... and fewest for each number of its result, which is then checked for nan."""
    least_column_sum_elements: Elements = 256
    """Smallest array whose column sums are moved in front of what it is computed by."""
    column_sum_depth: Count = 12
    """Operations that a sum is moved through, at most."""
    pass_rounds: Count = 3
    """Most rounds in which passes are asked in turn. The second finds something in one graph of
    ten; the third has found nothing yet."""
    shifted_operations: Count = 64
    """Operations through which a subtracted maximum is followed. A log-softmax has six."""


class Operations:
    """Forms of single operations (ops/linalg/contractions.py, ops/linalg/products.py,
    ops/indexing/index_text.py, ops/linalg/linalg.py, ops/linalg/triangles.py). Measured by
    `operations` and `FORMS` in tests/benchmarks/cost_model.py, and on whole programs in
    docs/notes/performance.md, "Sums of products", "Rows, choices and short reductions" and "Short
    rows and triangular factors". Chosen, to bound a search: `few_factors`."""

    view_call: Nanoseconds = 100.0
    """Making a view: transposed, or in another shape."""
    copy_call: Nanoseconds = 1000.0
    """Making a copy, in addition to one nanosecond for each element."""
    strided_element: Nanoseconds = 0.5
    """Reading an element of a result that is not in C order."""
    stacked_matrix: Nanoseconds = 40.0
    """One matrix of a stack that is multiplied."""
    least_vecdot_row: Elements = 8
    """`einsum` sums products of shorter rows as fast as `vecdot` does, ..."""
    few_vecdot_rows: Rows = 64
    """... if there are more rows than this."""
    small_product: Count = 100
    """`einsum` makes products of a matrix and a vector with fewer multiplications faster, ..."""
    few_products: Count = 8
    """... if there are more such products than this."""
    few_factors: Count = 6
    """Most factors of an `einsum` for which the best order of all is searched."""
    large_step: Elements = 1 << 20
    """Largest intermediate result of an `einsum`, unless an operand is larger."""
    added_columns: Count = 8
    """Most columns for which rows are added at an index one column after the other."""
    many_indexed_elements: Elements = 512
    """Smallest array for which NumPy's general indexing is what costs."""
    inverse_rows: Rows = 32
    """Rows of the blocks in which a triangular matrix is inverted."""
    triangle_rows: Rows = 32
    """Rows of the blocks in which a triangular system is solved, or half a product is made."""
    least_triangle_blocks: Count = 3
    """Fewest such blocks."""


class Loops:
    """Unrolled loops (autodiff/batch/loop_vectorisation.py, loops/bodies/loop_products.py).
    Measured on recurrences and mixtures, docs/notes/performance.md, "Loops and small products": as
    long as calls cost more than arithmetic. Chosen: `vectorised_depth`, below Python's limit of
    recursion.

    Loops of one node (loops/bodies/loop_stages.py). Measured on elementwise chains of rows of 256
    to 16,384 numbers in 20 to 1,000 steps: for all steps at once they take a third to a half of the
    time where a row has 4 KB or all fit the second-level cache, and twice to four times of it where
    neither holds. Chosen: `loop_bytes` and `tabled_steps`, for the memory they take.

    Loops of Python's that become one node (trace/rerolling/loop_search.py). Measured on the loops
    among the workloads of tests/benchmarks, with arrays of 4 to 16,384 numbers: one node takes 0.7
    to 1.1 of the time of steps written out, of stencils on large arrays 1.3 to 2.4 of it: written
    out, their slices are flat."""

    least_rolled_steps: Count = 8
    """Fewest steps of a loop that becomes one node, ..."""
    least_rolled_nodes: Count = 64
    """... fewest nodes of all of them, ..."""
    least_sized_nodes: Count = 40
    """... or of those whose sizes differ from step to step, ..."""
    most_rolled_elements: Elements = 512
    """... where no array in a step is larger than this, ..."""
    rolled_nodes_of_large: Count = 10
    """... or that many times as many: passes go through large arrays several steps at a time."""
    remembered_nodes: Count = 32_768
    """Nodes among which a recording looks for an equal one, at least: a key takes as much memory as
    a third of a node, and of long loops few are ever met again."""
    least_copies: Count = 3
    """Fewest copies of an operation that become one operation along a new first axis."""
    vectorised_operations: Count = 8_000_000
    """Most work of each such copy."""
    vectorised_depth: Count = 150
    """Operations through which copies are followed, at most."""
    least_steps: Count = 4
    """Fewest products of steps that become one product."""
    step_operations: Count = 2_000_000
    """Most work of each such product."""
    joined_bytes: Bytes = 1 << 23
    """Largest operand of the one product."""
    copied_for_one: Count = 8
    """Elements that may be copied to save the addition of one."""
    step_bytes: Bytes = 1 << 12
    """Largest row that is computed, or stacked, for all steps of a loop at once, ..."""
    rows_for_one: Count = 16
    """... unless what a step multiplies it by, or adds it to, is so many times as large, ..."""
    loop_bytes: Bytes = 1 << 25
    """... and the largest array of such rows, ..."""
    cached_steps: Bytes = 1 << 19
    """... or an array up to which rows of any length are."""
    tabled_steps: Count = 1 << 14
    """Most steps of a loop whose numbers are tabled, ..."""
    compared_steps: Count = 1 << 12
    """... and of one all of whose steps are compared with each other."""


class LoopResiduals:
    """Stacks of a loop for its derivative (loops/bodies/loop_residuals.py). Measured by `rows`
    in tests/benchmarks/cost_model.py, and on rows of 1 to 100,000 numbers that 1,000 steps write
    and read: writing a small row takes half the time of a ufunc, reading it a quarter."""

    array_call: Nanoseconds = 430.0
    """A ufunc or a product of arrays, besides its elements."""
    row_written: Nanoseconds = 220.0
    """Writing an array into a row of a stack, besides its bytes."""
    row_read: Nanoseconds = 110.0
    """Taking a row of a stack."""
    number_written: Nanoseconds = 60.0
    """Writing a number into a stack."""
    number_read: Nanoseconds = 75.0
    """Reading a number of a stack."""
    stacked_byte: Nanoseconds = 0.2
    """Writing a byte to new memory, and reading it when no cache holds it any more."""


class Layout:
    """The order of axes, broadcasts, indices and slices (passes/layout/layout_assignment.py,
    flat_indices.py, flattening.py, sliding_windows.py, slice_updates.py). Measured for
    rows of 2 to 32 numbers in arrays that fit the cache, and, what tiles save, in larger ones:
    docs/notes/performance.md, "The long axis last" and "Parts of rows". Chosen: `tried_axes`,
    `most_joined_parts`."""

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
    """The largest element of a short row, against that of a long column, ..."""
    extreme_element: Nanoseconds = 1.5
    """... and each element of the row."""
    small_matrix_side: Elements = 8
    """Matrices up to which a stack of them is multiplied along a long axis."""
    small_matrix: Nanoseconds = 25.0
    """A product of small matrices, one of a stack, ..."""
    small_transposed_matrix: Nanoseconds = 80.0
    """... of which one is transposed; ..."""
    product_along_axis: Nanoseconds = 0.7
    """... a product of two numbers where `einsum` goes along a long axis, ..."""
    product_call: Nanoseconds = 2000.0
    """... which takes this besides."""
    least_moved_gain: Nanoseconds = 1500.0
    """Least gain of another order of axes, ..."""
    moved_operation: Nanoseconds = 0.0004
    """... and for each operation of the whole."""
    tried_axes: Count = 12
    """Classes of axes that are tried, the largest first."""
    least_flat_places: Elements = 512
    """Places at an index of several arrays from which on they are found in a table, ..."""
    most_table_elements: Elements = 65_536
    """... which has no more elements than this, ..."""
    table_share: Count = 8
    """... and no more than so many times the places."""
    least_flat_slice: Elements = 256
    """A part of an array from which on it is a slice of the flat array."""
    least_slice_updates: Count = 3
    """Parts that are put into arrays, at least, where nothing else goes row by row."""
    slice_row: Nanoseconds = 50.0
    """A row of a part, ..."""
    flat_element: Nanoseconds = 0.25
    """... an element of a flat slice, ..."""
    filled_row: Nanoseconds = 8.0
    """... a row whose gap is filled, ..."""
    flat_statement: Nanoseconds = 700.0
    """... and a statement that fills gaps, or moves elements into or out of flat slices."""
    least_windows: Elements = 16_384
    """Fewest slices put together that become windows, ..."""
    most_window_channels: Elements = 16
    """... of rows up to which NumPy copies a few elements at a time."""
    most_joined_parts: Count = 32
    """Parts of an array that are put together, at most, where it becomes an update of another."""


class Reassociation:
    """Sums of products (passes/algebra/sum_of_products.py, passes/algebra/factoring.py,
    passes/algebra/coefficients.py, passes/algebra/reassociate.py, passes/algebra/ranges.py). Known:
    a call of a ufunc takes as long as some 250 elements; docs/notes/performance.md, "Forms of sums
    and numbers". Chosen: all others, to bound a search."""

    call_elements: Elements = 256
    """The overhead of the call of an elementwise operation, in elements."""
    most_factors: Count = 16
    """Operations of a product that are taken apart, at most."""
    most_compared_terms: Count = 8
    """Longest sum whose terms are searched for all the factors of another's factor."""
    coefficient_depth: Count = 10
    """Operations that a constant factor is moved through, at most."""
    most_squares: Count = 4
    """Most squares in a sum that are added up each by themselves."""
    range_depth: Count = 8
    """Operations back that a range is followed, ..."""
    kept_range_depth: Count = 64
    """... and where the ranges of what is in between are kept."""


class CostModel(
    Libraries,
    Work,
    Tiles,
    BlasThreads,
    Inlining,
    Memory,
    Scalars,
    Bodies,
    Operations,
    Sums,
    Rewrites,
    Reassociation,
    Loops,
    LoopResiduals,
    Layout,
):
    """All figures. No dataclass: with its sections that would take 10 ms to import."""

    def __init__(self, **figures: Any) -> None:
        """The default figures, but for these. Raises TypeError for one that there is not."""
        unknown = figures.keys() - UNITS.keys()
        if unknown:
            raise TypeError(f"no figure of the cost model is called {', '.join(sorted(unknown))}")
        vars(self).update(figures)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse: a model stands in keys of kernels. `assuming` puts another in force."""
        raise AttributeError(f"the cost model is fixed: assuming({name}={value!r})")

    @property
    def least_tiled_work(self) -> Additions:
        """Work of the smallest chain that goes in tiles."""
        return self.least_tiled_time / self.addition

    @property
    def largest_freed_bytes(self) -> Bytes:
        """Largest block whose freeing raises glibc's thresholds: malloc adds a little to it."""
        return self.mmap_bytes - 2**16

    @cached_property
    def digest(self) -> str:
        """A hash of all figures, which stands for the model in the key of a kernel."""
        figures = {name: getattr(self, name) for name in UNITS}
        return hashlib.sha256(repr(figures).encode()).hexdigest()


UNITS: dict[str, str] = {
    name: unit
    for section in reversed(CostModel.__mro__[1:-1])
    for name, unit in section.__annotations__.items()
}
"""The unit of each figure."""

DEFAULT = CostModel()

_in_force: ContextVar[CostModel] = ContextVar("cost_model", default=DEFAULT)

costs = _in_force.get
"""The cost model in force, of this thread or task: `costs().tile_bytes`."""


@contextmanager
def assuming(**figures: Any) -> Iterator[CostModel]:
    """Put a model with other `figures` in force, for what this thread or task does meanwhile.

    Kernels that exist stay as they are. Raises TypeError for a figure that there is not.
    """
    assumed = {name: value for name, value in vars(costs()).items() if name in UNITS}
    token = _in_force.set(CostModel(**{**assumed, **figures}))
    try:
        yield costs()
    finally:
        _in_force.reset(token)
