"""The cost model: every figure by which a pass, the schedule or the code generator chooses.

`costs()` is the model in force. Its fields are the thresholds, in sections: the annotation of a
field is its unit, the docstring below it says what it decides, and the docstring of the section how
its figures were found: measured, known, chosen, or derived. A threshold that follows from others is
a property, or computed where it stands.

Figures are those of the machine in docs/notes/performance.md, whatever machine runs: the text of a
module does not depend on where it was made, and the model is part of a kernel's key.

To add a threshold, add a field to the section of its pass, or a section to the bases of
`CostModel`. A pass reads `costs()` while it runs, not at import. Tests choose other figures for
small arrays:

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
from typing import Any, TypeAlias

Bytes: TypeAlias = int
Elements: TypeAlias = int
"""Numbers in an array, or along one of its axes."""
Rows: TypeAlias = int
Count: TypeAlias = int
"""Nodes, operands or steps of a graph; operations on single numbers."""
Part: TypeAlias = int
"""The denominator of a fraction: 10 is a tenth."""
Prices: TypeAlias = tuple[int, ...]
Nanoseconds: TypeAlias = float
Additions: TypeAlias = float
"""Time in units of `addition`."""
BytesPerNanosecond: TypeAlias = float
Ratio: TypeAlias = float


class Libraries:
    """Facts about OpenBLAS and glibc. Known from their sources, and confirmed by trying sizes on
    both sides."""

    blas_elements: Elements = 8192
    """Longest vector that is summed by the BLAS at once. OpenBLAS uses several threads above
    10,000 elements, and their number would show in the last bits."""
    mmap_bytes: Bytes = 1 << 25
    """Smallest block that glibc always returns to the system when it is freed
    (M_MMAP_THRESHOLD)."""


class Work:
    """Time of operations, relative to an addition (targets/numpy/plan/blas_policy.py). Measured by
    `work` in tests/benchmarks/cost_model.py."""

    addition: Nanoseconds = 0.3
    """One element of a plain operation, such as an addition of arrays in the cache."""
    multiplication: Additions = 0.1
    """One multiplication of a matrix product."""
    vector_multiplication: Additions = 0.5
    """One multiplication of a matrix-vector product, which reads the matrix once."""
    einsum_multiplication: Additions = 2.0
    """One multiplication in the loops of `np.einsum`."""
    slowest_element: Additions = 6.0
    """One element of `tanh`. No ufunc counts for more, whatever its op says."""
    spread_row: Additions = 12.0
    """One row, where an operand is broadcast along the rows: NumPy then goes row by row."""
    gathered_element: Additions = 3.0
    """One element that is taken by its index."""


class Tiles:
    """Tiling: the chains that run tile by tile, and the size of a tile
    (targets/numpy/plan/tiling.py, tile_axes.py, tile_loops.py). Measured by running seven workloads
    with tiles of 2 to 12 MiB, and with products in tiles and whole: docs/notes/performance.md,
    "Memory, threads and the BLAS"."""

    tiled_bytes: Bytes = 3 << 18
    """Smallest array that goes in tiles."""
    left_to_tiles_bytes: Bytes = tiled_bytes
    """Smallest array the sums of whose rows passes leave to the tiles."""
    tile_bytes: Bytes = 6 << 20
    """All arrays that one tile holds at once."""
    least_tile_bytes: Bytes = 1 << 18
    """The widest array of a tile, at least. Threads with shorter operations wait for each other."""
    arrays_at_once: Count = 8
    """Number of arrays that a tile is assumed to hold before the chain is known."""
    least_tiled_operations: Count = 4
    """Shortest chain that goes in tiles."""
    least_tiled_time: Nanoseconds = 300_000.0
    """Time of the quickest chain that goes in tiles."""
    many_tiles: Count = 8
    """Fewer tiles than this are made an even number, for two threads."""
    halved_tile_bytes: Bytes = 1 << 20
    """Two tiles become four if the widest array of each has as many bytes."""
    least_tile_run: Elements = 128
    """Shortest run of adjacent elements in a tile."""
    tiled_multiplications: Count = 32
    """Multiplications of a product in tiles, at most, for each element it reads or makes. The BLAS
    runs larger products whole."""
    tiled_row_multiplications: Count = 32
    """The same for a product with a vector, for each row of a matrix that is only read."""
    summed_tile_row: Elements = 128
    """Longest rows of a tile that are added up by a product with ones."""
    short_product_row: Elements = 8
    """Longest rows that are multiplied first and then summed, instead of by `vecdot`."""


class BlasThreads:
    """Threads of the BLAS: the products that repay several (targets/numpy/plan/blas_policy.py).
    Measured on two cores with OpenBLAS 0.3.27 to 0.3.31, idle and beside two busy processes: on two
    threads the least time of a product of 0.1 to 0.5 ms was 0.6 to 0.8 of that on one, its median
    or 95th percentile 5 to 2,000 times. `python -m tests.benchmarks.under_load` measures it
    again."""

    repaid_time: Nanoseconds = 500_000.0
    """Time on one thread from which a product repays the hand-over to a second."""
    product_rate: BytesPerNanosecond = 300.0
    """Bytes of numbers that a core multiplies in a matrix product, which stays in the cache."""
    vector_product_rate: BytesPerNanosecond = 30.0
    """The same for a matrix-vector product, which reads the matrix once."""
    factorization_columns: Elements = 32
    """Columns that a factorization computes between two hand-overs."""
    threaded_multiplications: Count = 200_000
    """Smallest product for which OpenBLAS may use threads. It does from 262,144 multiplications on,
    and from 460,800 with a vector."""
    unthreaded_factor_rows: Rows = 64
    """Largest matrix that is factorized on one thread in any case."""
    unthreaded_svd_rows: Rows = 36
    """The same for a singular value decomposition."""

    @property
    def repaid_product_bytes(self) -> Bytes:
        """Bytes multiplied from which a matrix product repays a hand-over."""
        return round(self.repaid_time * self.product_rate)

    @property
    def repaid_vector_product_bytes(self) -> Bytes:
        """The same for a matrix-vector product."""
        return round(self.repaid_time * self.vector_product_rate)


class Inlining:
    """Inlining: the nodes written inside an expression (targets/numpy/plan/inline.py). Measured at
    24 and 256 elements: below `inline_elements` an expression takes as long as statements in place,
    within 5 %. The others are chosen, for lines that read well."""

    inline_elements: Elements = 256
    """Smallest array that gets a statement of its own and may overwrite a free buffer."""
    expression_operations: Count = 6
    """Operations in one expression, at most."""
    view_uses: Count = 3
    """The most times that a view of a named value is written out."""


class Memory:
    """Memory: the arrays that kernels hold (autodiff/partition/residuals.py,
    targets/numpy/text/release.py, compiler/kernel.py, runtime/allocator.py,
    runtime/buffer_pool.py). Measured: `uncached_bytes`, above which computing again is quicker than
    reading; docs/notes/performance.md, "Recomputing". The others are chosen, so that there are few
    `del` and little is held that nobody reads."""

    uncached_bytes: Bytes = 30_000_000
    """Largest array that is still in a cache when it is read again."""
    least_recomputed_bytes: Bytes = 1 << 16
    """Smallest cast, negative or multiple that backward computes again instead of keeping it."""
    recomputing_prices: Prices = (1, 4, 32, 1 << 40)
    """Operations paid to save a byte, tried in turn until a memory budget is met."""
    worse_parts: Ratio = 1.5
    """Dividing a function into more parts stops where it needs so many times the fewest bytes."""
    unreleased_bytes: Bytes = 1 << 12
    """Largest array that is never released early: a `del` costs as much as it saves."""
    released_body_bytes: Bytes = 1 << 14
    """Bytes that a body must allocate before any `del` is considered."""
    held_part: Part = 10
    """Fraction of the needed bytes that may be held in dead names as well, up to `held_bytes`."""
    little_part: Part = 32
    """The smaller fraction allowed where a few large dead arrays ..."""
    released_part: Part = 4
    """... hold this fraction of the needed bytes together."""
    held_bytes: Bytes = 1 << 20
    """A body that needs less may hold more in dead names, to save ..."""
    statements_per_release: Count = 16
    """... more than one `del` in so many statements."""
    shared_bytes: Bytes = 1 << 12
    """Smallest constant for which a kernel and its recorded program share one array."""
    freed_bytes: Bytes = 1 << 28
    """Freed memory that stays with the process (M_TRIM_THRESHOLD): the states of many steps."""
    pooled_bytes: Bytes = Libraries.mmap_bytes
    """Smallest result that `recycle=True` hands out again."""
    pooled_arrays: Count = 4
    """Number of such results that a kernel keeps hold of."""


class Scalars:
    """Numbers in the text (targets/numpy/text/floats.py, targets/numpy/text/constants.py). Measured
    by `scalars` and `FORMS` in tests/benchmarks/cost_model.py. The last two are chosen."""

    scalar_operation: Nanoseconds = 65.0
    """Arithmetic on two NumPy scalars."""
    float_operation_gain: Nanoseconds = 35.0
    """The part of it that Python floats save."""
    scalar_call: Nanoseconds = 220.0
    """A ufunc called with a NumPy scalar."""
    float_call_gain: Nanoseconds = 15.0
    """The part of it that a Python float saves."""
    float_made: Nanoseconds = 40.0
    """Making a Python float of an argument."""
    listed_number: Nanoseconds = 15.0
    """Making a Python float of a number of an array, by `tolist`."""
    scalar_made: Nanoseconds = 110.0
    """Making a NumPy scalar of a result."""
    python_call: Nanoseconds = 80.0
    """Calling a Python function."""
    named_number_elements: Elements = 16_384
    """A number that meets a smaller array becomes a named 0-d array, which saves 200 ns a call."""
    folded_elements: Elements = 16
    """Largest result of an operation on constants that is computed when the module is made."""
    least_float_gain: Ratio = 0.05
    """Fraction of a function's time that Python floats must save."""


class Bodies:
    """Bodies: the number of times that a program is written out, and of threads that run it
    (compiler/bodies.py, runtime/processors.py). Measured on programs of 1,000 to 10,000 operations:
    docs/notes/performance.md, "The first call"."""

    many_nodes: Count = 8_000
    """Largest graph for which `value_and_grad` is a text of its own, not two calls."""
    most_threads: Count = 2
    """Default number of threads for tiles, at most. More were not measured; threads share Python's
    lock between any two operations, and the memory."""


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
    """Largest matrix for which the mask of a triangle is a constant of the module, and largest
    array that has one name in functions and loops."""
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

    recorded_steps: Count = 15
    """Most steps of a loop `for` that are always recorded one by one: of 9 to 12 steps on numbers
    one node takes 1.3 to 1.5 of the time, of 20 and more 0.9 to 1.1; ..."""
    recorded_outer_steps: Count = 3
    """... of one that may be left, has another loop in it, or is in a step that is recorded for
    all; ..."""
    recorded_nodes: Count = 100
    """Most nodes of all steps of such a loop, which are written out; ..."""
    recorded_known_steps: Count = 64
    """... and of one with conditions that Python knows at each step, or with large arrays."""
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
    pattern_entries: Count = 1 << 27
    """Most entries of the pattern of a sparse Jacobian: as many numbers take a gigabyte."""
    followed_nodes: Count = 4_096
    """Most nodes of all steps of a loop whose pattern is found step by step, 0.1 ms each; ..."""
    pattern_rounds: Count = 24
    """... of any other, the most rounds in which its steps bring something new together."""
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
    least_flat_share: Ratio = 0.05
    """The part of the time that flat slices save, at least: they take statements of their own."""
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
    most_stacked_numbers: Count = 0
    """Largest array that is made of numbers by one call: writing them into zeros one by one takes
    0.6 to 0.8 of the time."""
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
