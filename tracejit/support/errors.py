"""Error table: every error that tracejit raises, in one table.

A row of `ERRORS` is one situation: the exception class, what happened (in the user's spelling),
why that cannot be right, and the fix. `fail(name, where, **words)` fills a row in and returns the
exception; the caller raises it. Nothing else in tracejit composes an error text, and a test
triggers every row.

>>> words = {"function": "loss", "problem": "missing an argument: 'w'", "signature": "(w)"}
>>> raise fail("wrong-arity", None, **words)
Traceback (most recent call last):
tracejit.support.errors.ArityError: loss() cannot be called like this: missing an argument: 'w'.
  Why: arguments are bound by the signature of loss, as in Python.
  Fix: call it as it is defined: loss(w).
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
    """Code that works, but is slower than it has to be."""


class ValueNeededError(TracejitError, TypeError):
    """Python asked for the value of an array that is only being recorded."""


class UnsupportedError(TracejitError, TypeError):
    """A NumPy function, keyword or dtype that tracejit does not record."""


class InPlaceError(TracejitError, TypeError):
    """A write into an array that cannot hold recorded values."""


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
    """A mistake of tracejit, under TRACEJIT_STRICT=1. Without it, the call runs as plain Python."""


class NonFiniteError(TracejitError, FloatingPointError):
    """A value that became nan or infinite in a checked kernel."""


class LeakedTensorError(TracejitError, RuntimeError):
    """A Tensor that is used after its recording has ended, or on another thread."""


class ArityError(TracejitError, TypeError):
    """A call that does not fit the signature of the function."""


class ArgumentError(TracejitError, TypeError):
    """An argument, a result or an option that is not allowed."""


class GradientError(TracejitError, TypeError):
    """A gradient that does not exist: of a result that is not scalar, or an integer argument."""


class NoGradientError(TracejitError, LookupError):
    """A gradient through an operation that has none."""


class RuleError(TracejitError, ValueError):
    """A custom gradient that returns a wrong number of gradients, or a wrong shape."""


class RuleTypeError(TracejitError, TypeError):
    """A custom gradient, or the function around it, that returns the wrong kind of thing."""


class AssignError(TracejitError, ValueError):
    """A value that does not fit the Variable it is assigned to."""


class TapeError(TracejitError, RuntimeError):
    """A tape that cannot do this now: it was used before, or is closed."""


class TapeStateError(TapeError, ValueError):
    """A tape that is entered, or whose recording is stopped, at the wrong time."""


class WatchError(TracejitError, ValueError):
    """A plain array or number that a tape cannot watch."""


class TapeArgumentError(TracejitError, TypeError):
    """A target or source that cannot be on a tape."""


class SeedError(TracejitError, ValueError):
    """Tangents or cotangents that do not fit, or an unknown option."""


class CallbackError(TracejitError, ValueError):
    """A callback that returns another shape or dtype than its `result` says."""


class BlockError(TracejitError, RuntimeError):
    """A block of a Dask array that could not be computed, or is not what Dask was told."""


class RecomputeError(TracejitError, RuntimeError):
    """A function under recompute_grad whose second run differs from the first."""


class RegisteredError(TracejitError, KeyError):
    """A second gradient rule for one operation."""

    __str__ = Exception.__str__


class NotAnOpError(TracejitError, TypeError):
    """A gradient rule for something that is not an operation."""


class ImpureError(TracejitError, RuntimeError):
    """Two recordings of one call differ, because the function depends on hidden state."""


class KernelError(TracejitError, ImportError):
    """A kernel file that is missing, damaged, edited or foreign."""


class NotImportableError(KernelError):
    """A module that was just generated and cannot be used: a mistake of tracejit."""


class ExportError(TracejitError, FileExistsError):
    """A file in the way of an export, which tracejit did not write or somebody edited."""


class GraphError(TracejitError, ValueError):
    """A graph that breaks an invariant or a text that is not a graph: a bug in tracejit."""


class Where(NamedTuple):
    """A line of the user's code: file, absolute line, text, and columns if known (0-based, end
    exclusive). `behind` is the line of a library that it calls."""

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


ERRORS: dict[str, Row] = {
    "value-needed": Row(
        ValueNeededError,
        "{call} needs a value, but {name} is being recorded ({type}).",
        "{why}.",
        "{fix}",
    ),
    "caught": Row(
        UnsupportedError,
        "{function} caught an error of tracejit and went on: {what}.",
        "plain NumPy raises no error there, so the code that handles it would not have run.",
        "{fix} Or name what you catch: `except tj.TracejitError:` before the other clauses.",
    ),
    "assign": Row(
        AssignError,
        "{name} holds {type}, and was assigned {got}.",
        "a Variable keeps its shape and dtype.",
        "reshape or .astype(...) the value, or make another Variable.",
    ),
    "unsupported-function": Row(
        UnsupportedError,
        "{function} is not recorded by tracejit.",
        "it would run on the raw values of this one call, and its gradient would be lost.",
        "{fix}",
    ),
    "unsupported-call": Row(
        UnsupportedError,
        "{function} cannot be recorded in this form: {problem}.",
        "ignoring part of the call would compute something else.",
        "{fix}",
    ),
    "unsupported-dtype": Row(
        UnsupportedError,
        "{what} has dtype {dtype}, which is not recorded.",
        "tracejit records booleans, integers, floating and complex numbers of native byte order.",
        "{fix}",
    ),
    "write": Row(
        InPlaceError,
        "{call} writes in place into {target}.",
        "other names may share its memory, and the recorded graph would not see the change.",
        "{fix}",
    ),
    "no-batch": Row(
        UnsupportedError,
        "{op} cannot be batched by tj.vmap.",
        "it would run once for the whole batch, or use the numbers of one element for all.",
        "move it out of the function that is mapped, or call the function in a loop.",
    ),
    "batch": Row(
        ArgumentError,
        "tj.vmap cannot tell the batch: {problem}.",
        "every mapped argument has a batch of the same size along its axis in in_axes.",
        "pass in_axes=(...), with None for arguments that are the same for all elements.",
    ),
    "loop": Row(
        ArgumentError,
        "the loop over {function} cannot be run: {problem}.",
        "one body is recorded for all steps, and each step takes the result of the step before.",
        "{fix}",
    ),
    "condition": Row(
        ArgumentError,
        "{call} cannot be recorded: {problem}.",
        "all sides are recorded, and the code after them is recorded once.",
        "return the same containers, shapes and dtypes from every side.",
    ),
    "update": Row(
        InPlaceError,
        "{call}: {problem}.",
        "an array keeps its dtype when it is written to, and NumPy raises the same error.",
        "{fix}",
    ),
    "not-apart": Row(
        InPlaceError,
        "{problem}: {function} cannot be differentiated in this call.",
        "a gradient needs arrays that share no memory and do not change.",
        "{fix}",
    ),
    "not-compiled": Row(
        UnsupportedError,
        "{function} branches on something that cannot be recorded: a callback's result, a "
        "cotangent, or more traces than max_paths.",
        "plain Python cannot compute this transform.",
        "choose between arrays with np.where(condition, a, b).",
    ),
    "shapes": Row(
        ShapeError,
        "{call}: {problem}.",
        "NumPy raises the same error on arrays of these shapes.",
        "{fix}",
    ),
    "truth": Row(
        ShapeError,
        "the truth value of {test} is ambiguous.",
        "some elements may be true and others false, and NumPy raises the same error.",
        "{fix}",
    ),
    "not-twice": Row(
        UnsupportedError,
        "{function} has to run once more for this call, which is not possible.",
        "it has written to an array, or advanced an iterator, that was made outside of it, and "
        "this cannot be undone.",
        "pass it as an argument, or write to it after the call.",
    ),
    "random": Row(
        UnsupportedError,
        "{function} drew random numbers from {generator} while it was recorded.",
        "the numbers drawn now would be used in every later call.",
        "draw from an argument, rng = np.random.default_rng(0), or from a captured "
        "tj.random.default_rng(0); or draw before the call, and pass the numbers.",
    ),
    "leaked": Row(
        LeakedTensorError,
        "a Tensor recorded in {function} was used after that recording had ended.",
        "it belongs to one recording, and holds no number.",
        "return it from the function instead of keeping it (in a global, a list, an lru_cache).",
    ),
    "leaked-body": Row(
        LeakedTensorError,
        "{function} uses a Tensor outside of the loop or the condition that made it.",
        "the body is recorded once for all steps, so its values exist only inside of it.",
        "return it from the body.",
    ),
    "other-thread": Row(
        LeakedTensorError,
        "a Tensor recorded in {function} was used on another thread.",
        "a recording belongs to the thread that runs the function.",
        "compute it on one thread, or call the function from each thread.",
    ),
    "two-recordings": Row(
        LeakedTensorError,
        "Tensors of two recordings ({function} and {other}) met in one operation.",
        "each recording has its own graph.",
        "pass the outer one to the inner function as an argument.",
    ),
    "wrong-arity": Row(
        ArityError,
        "{function}() cannot be called like this: {problem}.",
        "arguments are bound by the signature of {function}, as in Python.",
        "call it as it is defined: {function}{signature}.",
    ),
    "input-signature": Row(
        ArgumentError,
        "argument {name} of {function} is {given}; input_signature says {wanted}.",
        "input_signature promises the types of every call.",
        "pass {wanted}, or leave input_signature out.",
    ),
    "not-a-spec": Row(
        ArgumentError,
        "input_signature of {function} has {given!r}, which is not a TensorSpec.",
        "it describes the arrays of every call.",
        "write tj.TensorSpec((None, 3), np.float64), with None for a size that may change.",
    ),
    "size-needed": Row(
        ValueNeededError,
        "dimension {axis} of {name} is None in its TensorSpec, but {function} needs the number.",
        "no size is known before a call, and [0] * n, np.split(x, n) and keys of dicts need it.",
        "give the size in the TensorSpec, or write array operations instead.",
    ),
    "sharding": Row(
        UnsupportedError,
        "{call} cannot be computed block by block: {problem}.",
        "each block has some of the rows, and the results of the blocks are combined, for example "
        "by a sum.",
        "{fix}",
    ),
    "rows-needed": Row(
        ValueNeededError,
        "{function} needs the number of rows, {rows}, or makes an array of that length.",
        "each block has some of the rows, and the code must be right for any number of them.",
        "write array operations; pass arrays with {rows} rows as Dask arrays with the same chunks.",
    ),
    "rows-effect": Row(
        UnsupportedError,
        "{function} assigns to a Variable, writes to an argument, or uses tj.callback.",
        "the effect would happen in another process, or once for each block.",
        "return the value, and assign or print after the call.",
    ),
    "dask-arguments": Row(
        ArgumentError,
        "{function} cannot be called on these Dask arrays: {problem}.",
        "each task takes one block of every array, and these must be the same rows.",
        "{fix}",
    ),
    "block": Row(
        BlockError,
        "{function} failed on {block}: {problem}.",
        "every block is computed by its own task, on a worker.",
        "{fix}",
    ),
    "not-an-array": Row(
        ArgumentError,
        "{what} is {kind}, not an array.",
        "tracejit records arrays, numbers and containers of them (dicts, list, tuple, NamedTuple, "
        "dataclass, slice); strings, sets, None, enums and other hashable objects select a kernel.",
        "{fix}",
    ),
    "too-deep": Row(
        ArgumentError,
        "a container is nested more than {deepest} levels deep, or contains itself.",
        "the path to each array in it is written in generated code.",
        "pass the arrays in a list, or keep the container outside the function.",
    ),
    "labelled": Row(
        ArgumentError,
        "{what} is {kind}, not an array.",
        "its operations have other rules: they align labels, skip gaps, and divide by n - 1 in "
        "std.",
        "{fix}",
    ),
    "dask": Row(
        ArgumentError,
        "{what} is a Dask {kind}, which is computed later.",
        "this function computes NumPy arrays at once; the functions of tracejit.dask compute "
        "Dask arrays block by block.",
        "{fix}",
    ),
    "not-callable": Row(
        ArgumentError,
        "{decorator} needs a function, got {kind}.",
        "there is nothing to record.",
        "pass the function itself, {decorator}(f), not the result of a call.",
    ),
    "memory-budget": Row(
        ArgumentError,
        "memory_budget={budget!r} is not a number of bytes.",
        "it limits the memory for the intermediate arrays that a gradient keeps.",
        "pass an int that is not negative, such as memory_budget=64 * 2**20, or None.",
    ),
    "option": Row(
        ArityError,
        "{function} has no option {option}.",
        "if it were ignored, you would get a different function than you asked for.",
        "{fix}",
    ),
    "option-value": Row(
        ArgumentError,
        "{option}={given!r} is not {words}.",
        "if it were ignored, you would get a different function than you asked for.",
        "give {words}.",
    ),
    "static-argument": Row(
        ArityError,
        "{function} has no argument {name} that could be static.",
        "if it were ignored, you would get a different function than you asked for.",
        "{fix}",
    ),
    "setting": Row(
        ArgumentError,
        "{given} is not {words}.",
        "if it were ignored, your program would behave differently than you asked for.",
        "{fix}",
    ),
    "unknown-setting": Row(
        ArityError,
        "tj.config has no setting {name}.",
        "if it were ignored, your program would behave differently than you asked for.",
        "{fix}",
    ),
    "threads": Row(
        ArgumentError,
        "{given} is not a number of threads.",
        "the threads share the tiles of a kernel, and no bit of a result depends on their number.",
        "give an int of at least 1, or leave it out to let tracejit choose.",
    ),
    "callback": Row(
        CallbackError,
        "the callback {function} returned {problem}.",
        "the code that follows was recorded for the shape and dtype of `result`.",
        "convert the value that it returns, or change `result`.",
    ),
    "impure": Row(
        ImpureError,
        "two recordings of one call of {function} differ: {problem}.",
        "TRACEJIT_CHECK=1 and tj.export record a call twice; a value that differs would become a "
        "constant of the kernel. It may come from {suspects}.",
        "pass it as an argument, hold it in a tj.Variable, draw from a np.random.Generator that is "
        "an argument, or read it in a tj.callback.",
    ),
    "kernel": Row(
        KernelError,
        "kernel {name} cannot be used: {problem}.",
        "a kernel runs as code, so it is imported only if it is exactly as tracejit wrote it.",
        "{fix}",
    ),
    "not-importable": Row(
        NotImportableError,
        "the module {name}, which was just generated, {problem}.",
        "this is a mistake of tracejit, not of your code.",
        "report it, with what TRACEJIT_DUMP=source prints.",
    ),
    "export": Row(
        UnsupportedError,
        "{function} cannot be exported: {problem}.",
        "an exported module needs NumPy alone, and cannot call the program that it comes from.",
        "{fix}",
    ),
    "export-path": Row(
        ArgumentError,
        "tj.export cannot write there: {problem}.",
        "one function becomes a module, a file that ends in .py; several become a package, a "
        "folder.",
        "{fix}",
    ),
    "overwrite": Row(
        ExportError,
        "{file} exists already: {problem}.",
        "tj.export replaces files that tracejit wrote, and never your own work.",
        "move the file away, write to another path, or pass overwrite=True.",
    ),
    "non-finite": Row(
        NonFiniteError,
        "{expression} {found}, in {part} of {function}.",
        "{generated} has operands that {premise}: {operands}.",
        "follow these ranges back to the argument that caused them; results_only=True allows "
        "values that no result depends on, such as the side that np.where leaves out.",
    ),
    "non-finite-gradient": Row(
        NonFiniteError,
        "{value}, but the gradient of {function} is not finite: {expression} {found}, in {part}.",
        "{generated} has operands that {premise}: {operands}.",
        "give the function a finite slope there: np.sqrt(x + tiny), np.where around the argument "
        "and not around the result alone, or tj.custom_gradient.",
    ),
    "non-finite-argument": Row(
        NonFiniteError,
        "{argument} of {function} holds {found}.",
        "this was so before any line ran, and there is {result}.",
        "look for the code that made the argument; np.isfinite(...) finds the elements.",
    ),
    "non-finite-eager": Row(
        NonFiniteError,
        "the result of {op} {found}.",
        "its operands {premise}: {operands}.",
        "follow these ranges back to the argument that caused them.",
    ),
    "strict": Row(
        StrictError,
        "{function} raised {problem}, which plain Python does not raise.",
        "without TRACEJIT_STRICT=1 Python makes the call again, and nobody sees the mistake.",
        "report it: this is a bug in tracejit, not in your code.",
    ),
    "graph": Row(
        GraphError,
        "{problem}.",
        "tracejit/ir/verify.py checks every graph, and tracejit/targets/numpy/text/bindings.py "
        "every generated function.",
        "report it: this is a bug in tracejit, not in your code.",
    ),
    "taped": Row(
        ValueNeededError,
        "{call} would take {name} off the tape that records it.",
        "later results would not depend on it, and its gradient would be lost.",
        "{fix} Or write {name}.numpy() if you want a constant.",
    ),
    "written-later": Row(
        InPlaceError,
        "{name} has been written to since the gradient rule that reads it was made.",
        "the rule would compute the gradient from numbers that the forward run has not seen.",
        "let the rule read a copy: saved = x.copy().",
    ),
    "not-scalar": Row(
        GradientError,
        "{transform}({function}) needs a scalar result, but {function} returns {type}.",
        "a gradient belongs to one number; the derivative of an array is a matrix.",
        "{fix}",
    ),
    "not-real": Row(
        GradientError,
        "{transform}({function}) needs a real floating result, but {function} returns {type}.",
        "{why}.",
        "{fix}",
    ),
    "integer-input": Row(
        GradientError,
        "{transform} of {function} cannot be taken with respect to {name}, which is {type}.",
        "{kind} have no derivative.",
        "{fix}, or choose what to differentiate with argnums= or argnames=.",
    ),
    "transform-option": Row(
        GradientError,
        "{transform}: {problem}.",
        "argnums and argnames choose arguments; mode and chunk_size choose how directions are "
        "computed.",
        'pass numbers, names, mode="auto", "fwd" or "rev", and a positive chunk_size.',
    ),
    "argument-choice": Row(
        GradientError,
        "{transform}: {option}={given!r} is not {words}.",
        "argnums takes positions, which count from 0, and argnames names.",
        "{fix}",
    ),
    "no-such-argument": Row(
        GradientError,
        "{transform}: {function} has no argument {name}.",
        "argnums and argnames select arguments of the function.",
        "choose from: {choices}.",
    ),
    "no-rule": Row(
        NoGradientError,
        "no gradient is known for {op}, and the result depends on it.",
        "tracejit never replaces a missing rule by zero.",
        "give it a rule with tj.register_gradient, cut it with tj.stop_gradient, or wrap it in a "
        "tj.custom_gradient.",
    ),
    "tape-used": Row(
        TapeError,
        "A non-persistent GradientTape can only be used to compute one set of gradients "
        "(or jacobians).",
        "its recording is freed after the first use.",
        "use GradientTape(persistent=True), or ask for all gradients in one call.",
    ),
    "tape-active": Row(
        TapeStateError,
        "Tape is still recording: it cannot be entered again.",
        "a tape records one with-block at a time.",
        "use another GradientTape inside.",
    ),
    "tape-idle": Row(
        TapeStateError,
        "{call}: the tape is not recording.",
        "operations outside its with-block are never on the tape.",
        "call it inside the with-block.",
    ),
    "watch": Row(
        WatchError,
        "tape.watch was given {got}, which is neither a Tensor nor a Variable.",
        "NumPy computes with a plain array at once, and no tape sees it.",
        "write x = tj.constant(x), then watch x and compute with it.",
    ),
    "tape-argument": Row(
        TapeArgumentError,
        "{call}: {argument} must hold Tensors or Variables, got {got}.",
        "a tape knows only the Tensors and Variables that were computed or watched on it.",
        "{fix}",
    ),
    "seeds": Row(
        SeedError,
        "{call}: {problem}.",
        "each target has one cotangent, of its own shape; a broadcast here would hide a mistake.",
        "give one array per target, or None for ones.",
    ),
    "unconnected": Row(
        SeedError,
        "Unknown value for unconnected_gradients: {got!r}.",
        "it chooses the gradient of a source that the target does not depend on: None, or zeros.",
        "use tj.UnconnectedGradients.NONE ('none') or ZERO ('zero').",
    ),
    "primals": Row(
        SeedError,
        "{call}: {problem}.",
        "each primal has one tangent, of the same shape and dtype.",
        "give one tangent per primal, in the same structure.",
    ),
    "no-recording": Row(
        TapeError,
        "{call} works only inside a function that is recorded.",
        "outside, only a tape knows how a Tensor was computed.",
        "use tj.GradientTape, or call {call} in a @tj.function.",
    ),
    "two-runs": Row(
        RecomputeError,
        "{function} under recompute_grad does not do the same in its second run: {problem}.",
        "the gradient would belong to another computation.",
        "let it depend on its arguments, Variables and random generators alone.",
    ),
    "out-of-sight": Row(
        RecomputeError,
        "a Tensor made inside a function under recompute_grad is used outside it.",
        "the tape knows the results of the function, not the values in between.",
        "return it, too.",
    ),
    "registered": Row(
        RegisteredError,
        "{function} has a gradient rule already.",
        "rules hold for the whole process; a second one would change code that relies on the "
        "first.",
        "wrap the call in a tj.custom_gradient to use another rule there.",
    ),
    "not-an-op": Row(
        NotAnOpError,
        "{function} is not an operation, so it cannot have a rule.",
        "a plain Python function is recorded operation by operation.",
        "make it one operation with @tj.primitive, or give it a gradient with tj.custom_gradient.",
    ),
    "rule-count": Row(
        RuleError,
        "the gradient rule of {function} returned {got} gradients for {expected} inputs ({names}).",
        "each array argument has one gradient, in order.",
        "return one entry per array argument, None for an argument without a gradient.",
    ),
    "rule-shape": Row(
        RuleError,
        "the gradient rule of {function} returned shape {got} for {name}, which has shape "
        "{expected}.",
        "a gradient has exactly the shape of its argument; a broadcast here would hide a mistake.",
        "sum over the broadcast axes in the rule.",
    ),
    "rule-type": Row(
        RuleTypeError,
        "the gradient rule of {function} returned {got} for {name}, which is {expected}.",
        "a gradient is a number, an array or None, and real for a real argument.",
        "return an array of the argument's shape.",
    ),
    "rule-not-linear": Row(
        RuleTypeError,
        "the gradient rule of {function} is not linear in its cotangent: {problem}.",
        "forward mode transposes the rule, and only a linear rule has a transpose.",
        "differentiate in reverse mode: tj.grad, tj.vjp, tj.GradientTape.",
    ),
    "rule-pair": Row(
        RuleTypeError,
        "{function} is a custom gradient and must return (value, grad_fn), got {got}.",
        "the second entry is the rule that replaces its gradient.",
        "return value, grad.",
    ),
    "rule-no-variables": Row(
        RuleTypeError,
        "{function} reads Variables ({variables}), and its gradient rule takes no `variables`.",
        "Variables that are read are inputs, too, and the rule has to return their gradients.",
        "write def grad(*dy, variables=None): ... return grad_xs, grad_vars; or pass them as "
        "arguments.",
    ),
    "rule-variables": Row(
        RuleTypeError,
        "the gradient rule of {function} takes variables and must return "
        "(grad_xs, grad_vars), got {got}.",
        "the Variables that are read have gradients of their own.",
        "return grad_xs, grad_vars; use [] if no Variable is read.",
    ),
    "pass-through": Row(
        RuleError,
        "grad_pass_through({function}): {problem}.",
        "the gradient of each result becomes the gradient of the input in the same place.",
        "make f return one array per input, each with the shape of its input.",
    ),
}
ERRORS["labelled-operand"] = ERRORS["labelled"]
ERRORS["unsupported-values"] = ERRORS["unsupported-call"]._replace(error=ShapeError)
ERRORS["index"] = ERRORS["shapes"]._replace(error=IndexShapeError)
ERRORS["axis"] = ERRORS["shapes"]._replace(error=AxisShapeError)
ERRORS["matrix"] = ERRORS["shapes"]._replace(error=MatrixShapeError)


def fail(name: str, where: Where | None, /, **words: object) -> TracejitError:
    """The exception for row `name`, its sentences filled in with `words`; the caller raises it."""
    row = ERRORS[name]
    if "problem" in words:  # a sentence of NumPy's may have its period
        words["problem"] = str(words["problem"]).removesuffix(".")
    what, why, fix = [sentence.format(**words) for sentence in row[1:]]
    lines = [what, *([] if where is None else [str(where)]), f"  Why: {why}", f"  Fix: {fix}"]
    error = row.error("\n".join(lines))
    error.row, error.words, error.where = name, words, where
    if REFUSALS.raised is not None:
        REFUSALS.raised.append(error)
    return error


def placed(error: TracejitError, where: Where | None) -> TracejitError:
    """`error` with the user's line, which the layer that raised it did not know."""
    if error.where is None and error.row:
        return fail(error.row, where, **error.words).with_traceback(error.__traceback__)
    return error
