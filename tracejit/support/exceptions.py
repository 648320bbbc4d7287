"""Exception classes: each is also the Python exception that a NumPy or TensorFlow user would catch.
Their texts are in `errors.py`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import NamedTuple

from numpy.exceptions import AxisError
from numpy.linalg import LinAlgError

from tracejit.support.words import file_name, visible


class TracejitError(Exception):
    """Base of every error tracejit raises on purpose: what, where, why, fix."""

    row = ""
    words: Mapping[str, object] = MappingProxyType({})
    where: Where | None = None


class Refusals(threading.local):
    """The errors that were made on this thread since somebody set `raised` to a list."""

    raised: list[TracejitError] | None = None


REFUSALS = Refusals()


class TracejitWarning(UserWarning):
    """Something that works, and costs more than it has to."""


class ValueNeededError(TracejitError, TypeError):
    """Python asked for the value of an array that is only being recorded."""


class UnsupportedError(TracejitError, TypeError):
    """A NumPy function, keyword or dtype that tracejit does not record."""


class InPlaceError(TracejitError, TypeError):
    """A write into a recorded array, or of a recorded array into a plain one."""


class ShapeError(TracejitError, ValueError):
    """Operands whose shapes, axes or indices do not fit."""


class IndexShapeError(ShapeError, IndexError):
    """An index or axis that is out of range."""


class AxisShapeError(IndexShapeError, AxisError):
    """An axis that is out of range."""

    __str__ = Exception.__str__  # NumPy's reads a slot that a pickle by tblib, as Dask's are, loses


class MatrixShapeError(ShapeError, LinAlgError):
    """Matrices whose shapes do not fit."""


def shape_row(error: Exception) -> str:
    """The row of `errors.ERRORS` for an error of NumPy's about shapes, axes or indices."""
    kinds = (AxisError, "axis"), (IndexError, "index"), (LinAlgError, "matrix")
    return next((row for kind, row in kinds if isinstance(error, kind)), "shapes")


class StrictError(TracejitError, RuntimeError):
    """A mistake of tracejit that a fallback to Python would hide, under TRACEJIT_STRICT=1."""


class NonFiniteError(TracejitError, FloatingPointError):
    """A value that became nan or infinite in a checked kernel."""


class LeakedTensorError(TracejitError, RuntimeError):
    """A Tensor kept from a recording that has ended, or used on another thread."""


class ArityError(TracejitError, TypeError):
    """A call that does not fit the function's signature."""


class ArgumentError(TracejitError, TypeError):
    """An argument or result that is neither an array, a number nor a container of them."""


class GradientError(TracejitError, TypeError):
    """A gradient that was asked of something that has none: not scalar, not floating."""


class NoGradientError(TracejitError, LookupError):
    """Differentiation met an operation without a rule."""


class RuleError(TracejitError, ValueError):
    """A user's gradient rule answered with the wrong count or shape."""


class RuleTypeError(TracejitError, TypeError):
    """A user's gradient rule, or the function around it, answered with the wrong kind of thing."""


class AssignError(TracejitError, ValueError):
    """A value that does not fit the Variable it is assigned to."""


class TapeError(TracejitError, RuntimeError):
    """A tape asked for what it cannot do in its state."""


class TapeStateError(TapeError, ValueError):
    """A tape entered, or its recording stopped, at the wrong time."""


class WatchError(TracejitError, ValueError):
    """Something to watch that is no array of tracejit's."""


class TapeArgumentError(TracejitError, TypeError):
    """A target or source that no tape can know."""


class SeedError(TracejitError, ValueError):
    """Cotangents that do not fit their targets, or an option that is none."""


class CallbackError(TracejitError, ValueError):
    """A callback answered with another shape or dtype than it was said to."""


class BlockError(TracejitError, RuntimeError):
    """A block of a Dask array that could not be computed, or is not what Dask was told."""


class RecomputeError(TracejitError, RuntimeError):
    """A function under recompute_grad that cannot be run again, or was looked into."""


class RegisteredError(TracejitError, KeyError):
    """A second gradient rule for one operation."""

    __str__ = Exception.__str__


class NotAnOpError(TracejitError, TypeError):
    """A gradient rule for what is no operation."""


class ImpureError(TracejitError, RuntimeError):
    """Two recordings of one call differ: the function depends on what no guard sees."""


class KernelError(TracejitError, ImportError):
    """A kernel file that is missing, damaged, edited or foreign."""


class NotImportableError(KernelError):
    """A module that was just generated and cannot be used: a mistake of tracejit."""


class ExportError(TracejitError, FileExistsError):
    """A file in the place of an exported one that tracejit did not write, or that was edited."""


class GraphError(TracejitError, ValueError):
    """A graph that breaks an invariant or a text that is not a graph: a bug in tracejit."""


class Where(NamedTuple):
    """A line of the user's: file, absolute line, text, and columns (0-based, end exclusive) where
    known. `behind` is the line of a library that runs for it."""

    filename: str
    lineno: int
    text: str
    column: int | None = None
    end_column: int | None = None
    behind: Where | None = None

    def __str__(self) -> str:
        """The line as errors show it, with a caret under the expression where columns are known."""
        head = f"{file_name(self.filename)}:{self.lineno}   "
        line = visible(self.text.strip())
        behind = "" if self.behind is None else f"\n{self.behind}"
        if self.column is None or self.end_column is None or not line:
            return f"  {head}{line}{behind}"
        start = self.column - (len(self.text) - len(self.text.lstrip()))
        caret = "^" * max(1, self.end_column - self.column)
        return f"  {head}{line}\n  {' ' * (len(head) + start)}{caret}{behind}"


def without_frames(error: BaseException, package: str) -> BaseException:
    """`error` with the frames of files under folder `package` dropped from its traceback, and
    those of context managers."""
    kept: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith((package, contextlib.__file__)):
            kept.append(entry)
        entry = entry.tb_next
    chain: TracebackType | None = None
    for entry in reversed(kept):
        chain = TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)


class Row(NamedTuple):
    """One situation: exception class, and the sentences that describe it."""

    error: type[TracejitError]
    what: str
    why: str
    fix: str
