"""The figures of the cost model for the schedule, the code generator and the runtime.

`cost_model.py` explains what a section is, and puts the sections together.
"""

from __future__ import annotations

from typing import TypeAlias

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
