"""The cost model: every figure by which a pass, the schedule or the code generator chooses.

`costs()` is the model in force. Its fields are the thresholds, in sections: the annotation of a
field is its unit, the docstring below it says what it decides, and the docstring of the section how
its figures were found: measured, known, chosen, or derived. A threshold that follows from others is
a property, or computed where it stands.

Figures are those of the machine in docs/performance.md, whatever machine runs: the text of a module
does not depend on where it was made, and the model is part of a kernel's key.

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

import dataclasses
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

Bytes: TypeAlias = int
Elements: TypeAlias = int
"""Numbers in an array, or along one of its axes."""
Rows: TypeAlias = int
Count: TypeAlias = int
"""Of nodes, operands, steps: of what stands in a graph."""
Multiplications: TypeAlias = int
Additions: TypeAlias = float
"""Time, as that of one element of a plain operation such as an addition: some 0.3 ns."""
Nanoseconds: TypeAlias = float
BytesPerNanosecond: TypeAlias = float
Share: TypeAlias = float


@dataclass(frozen=True)
class Libraries:
    """Facts about OpenBLAS and glibc. Known from their sources, and found again by trying."""

    blas_elements: Elements = 8192
    """OpenBLAS adds up as many on one thread: it uses several above 10,000. So the number of
    threads does not show in the last bits."""


@dataclass(frozen=True)
class Tiles:
    """Chains on large arrays run tile by tile (schedule/tiles.py, cuts.py, sweeps.py). Measured by
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
    least_tile_run: Elements = 128
    """Elements of a tile next to each other, at least."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class CostModel(Libraries, Tiles, Sums):
    """All figures. Compare, replace (`dataclasses.replace`) and print it as any dataclass."""

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
