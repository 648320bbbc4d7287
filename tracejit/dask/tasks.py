"""Tasks: what workers run.

A `StageTask` travels as the text of its kernel, sealed; a worker checks the seal and imports the
text once in a process. Its blocks are checked, too: Dask knows of them only what it was told.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.cache.standalone import load_sealed
from tracejit.runtime.blas import on_one_blas_thread
from tracejit.sharding.program import as_tuple, combine_parts
from tracejit.support.errors import TracejitError, fail

_LOADED: dict[str, tuple[ModuleType, Callable[..., Any]]] = {}
_LOADING = threading.Lock()
_CITED = re.compile(r"\s*# (.+?:\d+)  (.*)")


class Pick(NamedTuple):
    """An input of a stage: argument number `slot` of the task, or its part number `part`."""

    slot: int
    part: int | None = None


class Block(NamedTuple):
    """What a block must be: the axis of its rows, its dtype and its other sizes."""

    slot: int
    name: str
    axis: int
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]


class StageTask:
    """A stage as a worker runs it: `text` is its kernel's, with `npz`, the bytes of its constants.

    It is called with the number of the block, -1 of what runs once, the number of its first row,
    how many rows it has, and the arguments that its `picks` take the inputs from. It returns all
    `outputs`, in a tuple, the parts first, which the ufuncs `combine` take together.
    """

    def __init__(
        self,
        function: str,
        name: str,
        text: str,
        npz: bytes | None,
        picks: Sequence[Pick],
        blocks: Sequence[Block],
        outputs: int,
        combine: Sequence[str],
    ) -> None:
        """Nothing is loaded yet."""
        self.function, self.name, self.text, self.npz = function, name, text, npz
        self.picks, self.blocks = tuple(picks), tuple(blocks)
        self.outputs, self.combine = outputs, tuple(combine)

    def __repr__(self) -> str:
        return f"<stage {self.name}>"

    def __dask_tokenize__(self) -> Any:
        return "tracejit stage", self.text[-80:], self.picks, self.combine

    def __call__(self, number: int, first_row: int, rows: int, *given: Any) -> tuple[Any, ...]:
        """Run the stage. Raises BlockError where the block is not what Dask says, or the kernel
        raises."""
        arrays = list(given)
        for block in self.blocks:
            arrays[block.slot] = self._checked(block, arrays[block.slot], number, rows)
        inputs = [
            first_row if slot < 0 else arrays[slot] if part is None else arrays[slot][part]
            for slot, part in self.picks
        ]
        module, forward = _loaded(self)
        try:
            return as_tuple(forward(*inputs), self.outputs)
        except TracejitError:
            raise
        except Exception as error:
            place = "one task" if number < 0 else f"block {number}"
            rows_are = "" if number < 0 else f", rows {first_row} to {first_row + rows - 1}"
            raise fail(
                "block",
                None,
                function=self.function,
                block=f"{place}{rows_are}",
                line=_line_of(error, module),
                problem=f"{type(error).__name__}: {error}",
                fix="compute that block alone and look at it: x.blocks[number].compute().",
            ) from error

    def _checked(self, block: Block, given: Any, number: int, rows: int) -> Any:
        array = np.asarray(given)
        shape = list(block.shape)
        shape[block.axis] = rows
        if array.dtype != block.dtype or array.shape != tuple(shape):
            raise fail(
                "block",
                None,
                function=self.function,
                block=f"block {number}",
                line="",
                problem=f"{block.name} is {array.dtype} {array.shape} there, and Dask was told "
                f"{block.dtype} {tuple(shape)}",
                fix="give dtype and chunks of what the blocks are, or compute_chunk_sizes().",
            )
        return array


def _loaded(stage: StageTask) -> tuple[ModuleType, Callable[..., Any]]:
    """The module of a stage and its forward, imported once in a process."""
    seal = stage.text[-160:]
    found = _LOADED.get(seal)
    if found is None or found[0].__source__ != stage.text:
        with _LOADING:
            module = load_sealed(stage.name, stage.text, stage.npz)
            found = _LOADED[seal] = module, on_one_blas_thread(module.forward)
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


def combine(ufuncs: Sequence[str], outputs: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Combine the parts among the outputs of some blocks, in their order."""
    return combine_parts(ufuncs, [one[: len(ufuncs)] for one in outputs])


def part(outputs: Sequence[Any], number: int) -> Any:
    """One of the outputs of a block."""
    return outputs[number]


def parts(outputs: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The first outputs of a block."""
    return tuple(outputs[:count])
