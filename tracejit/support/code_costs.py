"""The figures of the cost model for the schedule, the code generator and the runtime.

`cost_model.py` says what a section is, and puts them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Bytes: TypeAlias = int
Elements: TypeAlias = int
"""Numbers in an array, or along one of its axes."""
Rows: TypeAlias = int
Count: TypeAlias = int
"""Of nodes, operands, steps: of what stands in a graph."""
Part: TypeAlias = int
"""One of so many."""
Prices: TypeAlias = tuple[int, ...]
Additions: TypeAlias = float
"""Time, as that of one element of a plain operation such as an addition: some 0.3 ns."""
Nanoseconds: TypeAlias = float
BytesPerNanosecond: TypeAlias = float
Share: TypeAlias = float


@dataclass(frozen=True, eq=False)
class Libraries:
    """Facts about OpenBLAS and glibc. Known from their sources, and found again by trying."""

    blas_elements: Elements = 8192
    """OpenBLAS adds up as many on one thread: it uses several above 10,000. So the number of
    threads does not show in the last bits."""
    mmap_bytes: Bytes = 1 << 25
    """A block from which on glibc gives it back to the system when it is freed, at most
    (M_MMAP_THRESHOLD)."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """Chains on large arrays run tile by tile (schedule/tiling.py, cuts.py, sweeps.py). Measured by
    running seven workloads with 2 to 12 MiB a tile, products with up to 32 columns in tiles and
    whole: docs/performance.md, "Memory, threads and the BLAS"."""

    tiled_bytes: Bytes = 3 << 18
    """An array from which on it goes in tiles, and all with as many rows."""
    left_to_tiles_bytes: Bytes = tiled_bytes
    """An array from which on passes leave the sums of its rows to the tiles."""
    tile_bytes: Bytes = 6 << 20
    """All arrays that a tile has at once."""
    least_tile_bytes: Bytes = 1 << 18
    """The widest array of a tile at least: threads with shorter operations get in each other's
    way."""
    arrays_at_once: Count = 8
    """Arrays thought to be there at once before it is known."""
    least_tiled_operations: Count = 4
    """Operations on large arrays of a chain, at least."""
    least_tiled_work: Additions = 1_000_000
    """The time of a chain, at least."""
    many_tiles: Count = 8
    """Fewer tiles are an even number, for two threads."""
    halved_tile_bytes: Bytes = 1 << 20
    """The widest array of a tile from which on two tiles become four."""
    tiled_multiplications: Count = 32
    """A product in tiles has no more for each element that it reads or makes: the BLAS has larger
    ones at once."""
    tiled_row_multiplications: Count = 32
    """Nor has one with a vector for each of its rows, if these are nothing but read."""
    summed_tile_row: Elements = 128
    """Rows of a tile up to which they are added up by a product with ones."""
    short_product_row: Elements = 8
    """Rows up to which all are multiplied before they are added up, not by `vecdot`."""
    least_tile_run: Elements = 128
    """Elements of a tile next to each other, at least."""


@dataclass(frozen=True, eq=False)
class Work:
    """The time of what tiles and products do, against a plain operation (schedule/blas_policy.py).
    Measured by `work` in tests/benchmarks/cost_model.py."""

    multiplication: Additions = 0.1
    """One of a product of matrices."""
    vector_multiplication: Additions = 0.5
    """One of a product with a vector, which reads the matrix once."""
    einsum_multiplication: Additions = 2.0
    """One of NumPy's own loops."""
    dearest_element: Additions = 6.0
    """An element of `tanh`: no ufunc counts for more, whatever its op says."""
    spread_row: Additions = 12.0
    """A row where NumPy goes row by row, for an operand that is broadcast along it."""
    gathered_element: Additions = 3.0
    """An element that is taken by its number."""


@dataclass(frozen=True, eq=False)
class BlasThreads:
    """When the BLAS has several threads (schedule/blas_policy.py). Measured on two cores, OpenBLAS
    0.3.27 to 0.3.31, also beside two processes that compute: with two threads the least time of a
    product of 0.1 to 0.5 ms was 0.6 to 0.8 of that with one, the median or the 95th percentile 5 to
    2,000 times it. `python -m tests.benchmarks.under_load` measures it again."""

    repaid_time: Nanoseconds = 500_000.0
    """A product on one thread that repays the hand-over to two: one in a hundred waits 20 ms."""
    product_rate: BytesPerNanosecond = 300.0
    """Numbers that a core multiplies in a product of matrices, which stays in the cache."""
    vector_product_rate: BytesPerNanosecond = 30.0
    """The same in a product with a vector, which reads a matrix once."""
    factorization_columns: Elements = 32
    """Columns that a factorization computes between two hand-overs."""
    threaded_multiplications: Count = 200_000
    """A product from which on OpenBLAS uses threads: 262,144, and 460,800 with a vector."""
    unthreaded_factor_rows: Rows = 64
    """A matrix up to which a factorization uses none."""
    unthreaded_svd_rows: Rows = 36
    """The same of a singular value decomposition."""

    @property
    def repaid_product_bytes(self) -> Bytes:
        """Bytes multiplied from which on a product repays a hand-over."""
        return round(self.repaid_time * self.product_rate)

    @property
    def repaid_vector_product_bytes(self) -> Bytes:
        """The same of a product with a vector."""
        return round(self.repaid_time * self.vector_product_rate)


@dataclass(frozen=True, eq=False)
class Inlining:
    """What is written inside an expression (schedule/inline.py). Measured: below `inline_elements`
    an expression costs what statements in place cost, within 5 %, at 24 and 256 elements. Chosen,
    for lines that read well: the others."""

    inline_elements: Elements = 256
    """An array from which on an operation is a statement, and writes into a buffer that is free."""
    expression_operations: Count = 6
    """Operations of an expression, at most."""
    view_uses: Count = 3
    """Expressions that repeat a view of a name, at most."""


@dataclass(frozen=True, eq=False)
class Memory:
    """What stays in memory: results, residuals, names, freed blocks (autodiff/residuals.py,
    codegen/release.py, compiler/kernel.py, runtime/allocator.py, buffer_pool.py). Measured:
    `uncached_bytes`, from where on computing again beats reading, and `mmap_bytes`, as page
    faults of arrays of each size; docs/performance.md, "Residuals and memory" and
    "Recomputing". Chosen: the others, for few `del` and little above what is needed."""

    uncached_bytes: Bytes = 30_000_000
    """An array that is in no cache when it is read again."""
    least_recomputed_bytes: Bytes = 1 << 16
    """An array from which on a view, cast, negative or multiple is computed again, not kept."""
    recomputing_prices: Prices = (1, 4, 32, 1 << 40)
    """Operations that a byte may cost, tried in turn until a memory budget is kept to."""
    hopeless_parts: Share = 1.5
    """More parts are not tried where the last needed so much of the bytes of the best."""
    unreleased_bytes: Bytes = 1 << 12
    """An array up to which its name holds it: letting go takes as long as that does."""
    released_body_bytes: Bytes = 1 << 14
    """What a body allocates in all, from which on it lets go of arrays."""
    held_part: Part = 10
    """The part of what is needed that may be held besides, up to `held_bytes`."""
    little_part: Part = 32
    """It is no more than this where arrays each larger than that ..."""
    released_part: Part = 4
    """... hold this part together."""
    held_bytes: Bytes = 1 << 20
    """Less needed than that, more may be held rather than ..."""
    statements_per_release: Count = 16
    """... a `del` in so many statements."""
    shared_bytes: Bytes = 1 << 12
    """A constant from which on the kernel and its recorded program hold one array."""
    freed_bytes: Bytes = 1 << 28
    """Freed memory that stays with the process (M_TRIM_THRESHOLD): the states of many steps."""
    pooled_bytes: Bytes = Libraries.mmap_bytes
    """A result from which on a kernel with `recycle=True` hands it out again, ..."""
    pooled_arrays: Count = 4
    """... of the last so many."""


@dataclass(frozen=True, eq=False)
class Scalars:
    """Numbers and constants in the text (codegen/floats.py, constants.py). Measured by `scalars` in
    tests/benchmarks/cost_model.py."""

    scalar_operation: Nanoseconds = 65.0
    """Arithmetic on two NumPy scalars."""
    float_operation_gain: Nanoseconds = 35.0
    """What of it Python floats save."""
    scalar_call: Nanoseconds = 220.0
    """A ufunc of a NumPy scalar."""
    float_call_gain: Nanoseconds = 15.0
    """What of it a Python float saves."""
    float_made: Nanoseconds = 40.0
    """A Python float made of an argument."""
    scalar_made: Nanoseconds = 110.0
    """A NumPy scalar made of a result."""
    python_call: Nanoseconds = 80.0
    """A call of the function on floats."""
    least_float_gain: Share = 0.05
    """What Python floats must save of a function's time."""
    named_number_elements: Elements = 16_384
    """An array up to which a number that it meets is a 0-d array with a name: 200 ns a call."""
    folded_elements: Elements = 16
    """A result up to which an operation on constants is a constant."""


@dataclass(frozen=True, eq=False)
class Bodies:
    """How often what a module computes is written (compiler/bodies.py, tail_merging.py), and on how
    many threads it runs. Measured on programs of 1,000 to 10,000 operations: docs/performance.md,
    "The first call"."""

    many_nodes: Count = 8_000
    """A program from which on `value_and_grad` calls `forward` and `backward`."""
    few_nodes: Count = 400
    """The reverse passes of all branches up to which each is written by itself."""
    most_threads: Count = 2
    """Threads of tiles by default. More were not measured: they share Python's lock between any two
    operations, and the memory."""
