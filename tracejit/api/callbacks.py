"""tj.callback: a Python function that a recorded function calls at every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tracejit.eager.traced_call import run_event
from tracejit.ir.types import HANDLE, ArrayType, type_of
from tracejit.ops.control.effects import CALLBACK
from tracejit.support.errors import TracejitError, Where, fail, placed
from tracejit.support.words import a
from tracejit.trace.recording.eager import EAGER, eager_tensor, handle_tensor
from tracejit.trace.recording.events import Event
from tracejit.trace.recording.record import Recording, current_recording, outside_recordings
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import Variable, current_recorder, read_argument
from tracejit.trace.source import places
from tracejit.trace.structure.trees import LEAF, Structure, flatten, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracejit.support.typing import Ts, Unpack
    from tracejit.trace.arguments.signature import TensorSpec


@overload
def callback(f: Callable[[Unpack[Ts]], Any], *args: Unpack[Ts], result: None = None) -> None: ...
@overload
def callback(
    f: Callable[[Unpack[Ts]], Any], *args: Unpack[Ts], result: TensorSpec
) -> NDArray[Any]: ...
@overload
def callback(
    f: Callable[[Unpack[Ts]], Any], *args: Unpack[Ts], result: tuple[TensorSpec, ...]
) -> tuple[NDArray[Any], ...]: ...
@overload
def callback(f: Callable[[Unpack[Ts]], Any], *args: Unpack[Ts], result: Any) -> Any: ...
@places.at_the_users_line
def callback(f: Callable[[Unpack[Ts]], Any], *args: Unpack[Ts], result: Any = None) -> Any:
    """Call f(*args) with plain arrays at every call of a recorded function.

    Use it to print, plot, log, or run code that is not NumPy.

    Parameters
    ----------
    f : callable
        The function to call.
    *args : arrays
        Its arguments, which may be recorded.
    result : TensorSpec or container of them, default None
        The shapes and dtypes of the return value of `f`. Without it, the return value is dropped.

    Returns
    -------
    array, container of arrays, or None
        The return value of `f`, to compute with. It has no gradient. None without `result`.

    Raises
    ------
    CallbackError
        If `f` returns other shapes or dtypes than `result` says. A ValueError.

    Notes
    -----
    Without `result`, `f` is called after the kernel has succeeded, in the order of your program.
    With `result`, it is called in its place in the program. Outside of recorded functions it is
    called at once. A second run under `tj.recompute_grad` makes no call.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> seen = []
    >>> @tj.function
    ... def loss(x):
    ...     y = np.sum(x * x)
    ...     tj.callback(seen.append, y)
    ...     return y
    >>> _ = loss(np.ones(2)), loss(np.ones(3))
    >>> [float(y) for y in seen]
    [2.0, 3.0]
    """
    leaves, structure = flatten(tuple(args))
    leaves = [read_argument(leaf) for leaf in leaves]
    recording = current_recording()
    if recording is not None:
        leaves = [recording.told_apart(leaf) for leaf in leaves]
    call = Callback(f, leaves, structure)
    given = [leaves[k] for k in call.places]
    if result is not None:
        return _answered(_checked_call(call, result), given, current_recorder())
    if recording is None:
        EAGER.once(lambda: call(*map(_as_array, given)))
    else:
        values = [recording.lift(leaf) for leaf in given]
        recording.events.append(Event(None, call, values))
    return None


class Callback:
    """A call of `f`, whose arguments are a structure of arrays and of objects that stay."""

    def __init__(self, f: Callable[..., Any], leaves: Sequence[Any], structure: Structure) -> None:
        """The arrays among `leaves` are given at each call."""
        self.f = f
        self.fixed = [None if _is_array(leaf) else leaf for leaf in leaves]
        self.places = [k for k, leaf in enumerate(leaves) if _is_array(leaf)]
        self.structure = structure
        self.flat: Callable[..., Any] | None = None

    def __call__(self, *arrays: Any) -> Any:
        """f with these arrays, copies of its own; `flat`, if there is one, takes the leaves."""
        leaves = list(self.fixed)
        for k, array in zip(self.places, arrays, strict=True):
            leaves[k] = array.copy() if type(array) is np.ndarray else array
        with outside_recordings(), EAGER.unwatched():
            if self.flat is not None:
                return self.flat(*leaves)
            return self.f(*unflatten(self.structure, leaves))


class CheckedCall:
    """A call whose answer is a structure of arrays of certain types."""

    def __init__(
        self,
        call: Callback,
        types: Sequence[ArrayType],
        structure: Structure,
        where: Where | None = None,
    ) -> None:
        """`types` are those of the leaves of the answer; `where` is the line that calls."""
        self.where = where
        self.call = call
        self.types = list(types)
        self.structure = structure
        self.__name__ = getattr(call.f, "__name__", type(call.f).__name__)

    def __call__(self, *arrays: Any) -> Any:
        """The answer: an array, or a tuple of them; in a second run, that of the first."""
        found = EAGER.once(lambda: self.answers(*arrays))
        return found[0] if len(found) == 1 else tuple(found)

    def answers(self, *arrays: Any) -> list[Any]:
        """The arrays of the answer, copied and checked; CallbackError if they do not fit."""
        found = self.call(*arrays)
        if type(found) is np.ndarray and self.structure is LEAF:
            return [self._checked(found, self.types[0])]
        leaves, structure = flatten(found)
        if not structure.is_like(self.structure):
            problem = f"{len(leaves)} arrays in another structure than its `result`"
            raise fail("callback", self.where, function=self.__name__, problem=problem)
        return [self._checked(leaf, type) for leaf, type in zip(leaves, self.types, strict=True)]

    def _checked(self, leaf: Any, wanted: ArrayType) -> Any:
        known = type_of(leaf)
        got = ""
        if known is None or known.shape != wanted.shape:
            got = type(leaf).__name__ if known is None else f"shape {known.shape}"
        elif known.form != "weak" and known.dtype != wanted.dtype:
            got = f"dtype {known.dtype}"
        elif known.form == "weak" and not _fits(leaf, wanted.dtype):
            got = repr(leaf)
        if got:
            problem = f"{got} where {wanted!r} was expected"
            raise fail("callback", self.where, function=self.__name__, problem=problem)
        if wanted.form == "array":
            return np.array(leaf, wanted.dtype)
        return wanted.dtype.type(leaf)


def _fits(number: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a Python number converts to `dtype` with no loss but of digits."""
    if not np.can_cast(np.asarray(number).dtype, dtype, "same_kind"):
        return False
    try:
        return bool(dtype.kind in "fc" or dtype.type(number) == number)
    except OverflowError:
        return False


def _checked_call(call: Callback, result: Any) -> CheckedCall:
    """The call with the types that `result` says."""
    specs, structure = flatten(result)
    for spec in specs:
        if not isinstance(getattr(spec, "type", None), ArrayType):
            kind = a(type(spec).__name__)
            fix = "result=tj.TensorSpec(shape, dtype), or a container of them."
            words = {"what": "result of tj.callback", "kind": kind, "fix": fix}
            raise fail("not-an-array", places.here(), **words)
    return CheckedCall(call, [spec.type for spec in specs], structure, places.here())


def _answered(checked: CheckedCall, given: Sequence[Any], recorder: Recorder) -> Any:
    """The answer of a call that takes place where it stands."""
    try:
        if not isinstance(recorder, Recording) and not any(type(x) in TENSORS for x in given):
            return unflatten(checked.structure, EAGER.once(lambda: checked.answers(*given)))
        if not checked.types:
            problem = "its `result` has no array"
            raise fail("callback", None, function=checked.__name__, problem=problem)
        types = tuple(map(repr, checked.types))
        found = CALLBACK(handle_of(checked, recorder), *given, results=types)
    except TracejitError as error:
        raise placed(error, recorder.here()) from None
    return unflatten(checked.structure, [found] if len(types) == 1 else list(found))


def handle_of(called: Any, recorder: Recorder) -> Tensor:
    """The Tensor that stands for a callable; what happened in the recording before it happens
    before it is called."""
    if not isinstance(recorder, Recording):
        return handle_tensor(called)
    take_place(recorder)
    return Tensor(recorder.hide(called, called.__name__, HANDLE), recorder)


def take_place(recording: Recording) -> None:
    """Let the events so far take place inside the kernel, here."""
    events, recording.events = recording.events, []
    for event in events:
        name = f"assign_{event.variable.name or 'variable'}" if event.run is None else "callback"
        handle = Tensor(recording.hide(InPlace(event), name, HANDLE), recording)
        values = [Tensor(value, recording) for value in event.values]
        CALLBACK(handle, *values, results=(InPlace.TYPE,))


class InPlace:
    """An event that takes place inside the kernel, for something is called there after it."""

    TYPE = "i8"

    def __init__(self, event: Event) -> None:
        """`event`, called with its values."""
        self.event = event

    def __call__(self, *arrays: Any) -> Any:
        """Let it take place; the answer says nothing."""
        pairs = zip(arrays, self.event.values, strict=True)
        run_event(self.event, [eager_tensor(array.copy(), v.type) for array, v in pairs])
        return np.int64(0)


def _as_array(leaf: Any) -> Any:
    return leaf.numpy() if type(leaf) in TENSORS else leaf


def _is_array(leaf: Any) -> bool:
    """Return whether a leaf is given anew at each call: a Python number stays as it is."""
    known, kind = type_of(leaf), type(leaf)
    return kind is Variable or kind in TENSORS or (known is not None and known.form != "weak")
