"""Tasks, which workers run.

A `StageTask` travels as the text of its kernel, sealed; a worker checks the seal and imports the
text once in a process. Its blocks are checked, too: Dask knows of them only what it was told.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.cache.standalone import load_sealed
from tracejit.ir.types import canonical
from tracejit.runtime.blas import on_one_blas_thread
from tracejit.sharding.program import as_tuple, combine_parts
from tracejit.support.errors import TracejitError, fail

MOST_KERNELS = 256
"""So many kernels stay imported in a process."""

FIRST_ROW, ARGUMENTS, OTHERS = range(3)
"""Slots of a stage: the number of its first row, the arguments that are the same for all blocks,
and the first of the others."""

_CITED = re.compile(r"\s*# (.+?:\d+)  (.*)")


class Pick(NamedTuple):
    """An input of a stage: what stands in a slot, or its part of this number."""

    slot: int
    part: int | None = None


class Block(NamedTuple):
    """The block in a slot as it must be: the axis of its rows, its dtype and its other sizes."""

    slot: int
    name: str
    axis: int
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]


class Place(NamedTuple):
    """The place of a block: its number, that of its first row, and how many rows it has."""

    number: int
    first_row: int
    rows: int

    def __str__(self) -> str:
        if not self.rows:
            return f"block {self.number}"
        return f"block {self.number}, rows {self.first_row} to {self.first_row + self.rows - 1}"


class StageTask(NamedTuple):
    """A stage as a worker runs it: `text` is its kernel's, with `npz`, the bytes of its constants.

    It is called with the place of the block, None of what runs once, the arguments that are the
    same for all blocks, and what else its `picks` take the inputs from. It returns all `outputs`,
    in a tuple. A block without rows has the split outputs in `empty`, and None for parts.
    """

    function: str
    name: str
    text: str
    npz: bytes | None
    picks: tuple[Pick, ...]
    blocks: tuple[Block, ...]
    outputs: int
    empty: tuple[tuple[tuple[int, ...], np.dtype[Any]] | None, ...]

    def __repr__(self) -> str:
        return f"<stage {self.name}>"

    def run(self, place: Place | None, arguments: Sequence[Any], *others: Any) -> tuple[Any, ...]:
        """Run the stage. Raises BlockError if the block is not what Dask was told, or the kernel
        raises."""
        slots = [None if place is None else place.first_row, arguments, *others]
        if place is not None:
            for block in self.blocks:
                slots[block.slot] = self._checked(block, slots[block.slot], place)
        inputs = [slots[slot] if part is None else slots[slot][part] for slot, part in self.picks]
        inputs = [*map(canonical, inputs)]
        module, forward = _loaded(self.name, self.text, self.npz)
        try:
            return as_tuple(forward(*inputs), self.outputs)
        except TracejitError:
            raise
        except Exception as error:
            failed, fix = str(place), "that block alone and look at it: x.blocks[number].compute()"
            if place is None:
                failed = "what is the same for all blocks"
                fix = "what that line reads by tracejit.dask.function, and look at it"
            raise fail(
                "block",
                None,
                function=self.function,
                block=failed,
                problem=f"{_line_of(error, module)}{type(error).__name__}: {error}",
                fix=f"compute {fix}.",
            ) from error

    def without_rows(self) -> tuple[Any, ...]:
        """The outputs of a block that has no rows."""
        return tuple([None if one is None else np.empty(*one) for one in self.empty])

    def _checked(self, block: Block, given: Any, place: Place) -> np.ndarray:
        """The block in a slot, an array as Dask was told."""
        shape = tuple([place.rows if k == block.axis else n for k, n in enumerate(block.shape)])
        if isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray):
            array = np.asarray(given)
            if array.dtype == block.dtype and array.shape == shape:
                return array
            kind = f"{array.dtype} {array.shape}"
        else:
            kind = f"a {type(given).__name__}"
        raise fail(
            "block",
            None,
            function=self.function,
            block=str(place),
            problem=f"{block.name} is {kind} there, but Dask expects {block.dtype} {shape}",
            fix="tell Dask the dtype and the chunks that the blocks have.",
        )


def run_block(
    stage: StageTask, place: Place, arguments: Sequence[Any], *others: Any
) -> tuple[Any, ...]:
    """Run a stage on a block."""
    return stage.run(place, arguments, *others)


def run_once(stage: StageTask, arguments: Sequence[Any], *others: Any) -> tuple[Any, ...]:
    """Run a stage that is the same for all blocks."""
    return stage.run(None, arguments, *others)


def run_nothing(stage: StageTask) -> tuple[Any, ...]:
    """The outputs of a stage on a block that has no rows."""
    return stage.without_rows()


_LOADED: OrderedDict[tuple[str, bytes | None], tuple[ModuleType, Callable[..., Any]]] = (
    OrderedDict()
)


def _loaded(name: str, text: str, npz: bytes | None) -> tuple[ModuleType, Callable[..., Any]]:
    """The module of a sealed text and its forward on one BLAS thread, one for all of a process. Of
    threads that load it at once the first provides it: none waits for another."""
    found = _LOADED.get((text, npz))
    if found is None:
        module = load_sealed(name, text, npz)
        made = module, on_one_blas_thread(module.forward)
        found = _LOADED.setdefault((text, npz), made)
        if len(_LOADED) > MOST_KERNELS:
            _LOADED.popitem(last=False)
    return found


def _line_of(error: BaseException, module: ModuleType) -> str:
    """The user's line that the kernel was at when it raised, as its text cites it."""
    trace, number = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == module.__file__:
            number = trace.tb_lineno
        trace = trace.tb_next
    for line in reversed(module.__source__.splitlines()[:number]):
        found = _CITED.match(line)
        if found:
            return f"at {found[1]}  {found[2]}, "
    return ""


def combine(ufuncs: Sequence[str], *outputs: Sequence[Any]) -> tuple[Any, ...]:
    """Combine the parts among the outputs of some blocks, in their order."""
    return combine_parts(ufuncs, [one[: len(ufuncs)] for one in outputs])


def part(outputs: Sequence[Any], number: int) -> Any:
    """One of some outputs."""
    return outputs[number]


def parts(outputs: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The first of some outputs."""
    return tuple(outputs[:count])


def gathered(*values: Any) -> tuple[Any, ...]:
    """All values in a tuple."""
    return values
