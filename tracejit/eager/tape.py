"""GradientTape: a window of recorded operations, and their gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tracejit.autodiff.request.request import stays
from tracejit.eager.targets import (
    NONE,
    leaves_of,
    one_leaf,
    seeds_of,
    tensor_of,
    wants_zeros,
)
from tracejit.eager.window_gradient import gradient_rows, source_gradients, unit_cotangents
from tracejit.ir.graph import Value
from tracejit.support.errors import fail, without_frames
from tracejit.support.words import a
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.numbers import is_plain_number
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.recording.variable import Variable, current_recorder
from tracejit.trace.source import places
from tracejit.trace.structure.trees import LEAF, flatten, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor
from tracejit.trace.tensor.writes import refusal_behind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracejit.eager.targets import Nones, NumbersT, Recorded, RecordedT, Zeros
    from tracejit.support.typing import Array, K


class GradientTape:
    """Record the operations in a `with` block, to ask for gradients afterwards.

    Parameters
    ----------
    persistent : bool, default False
        If True, the tape returns gradients any number of times. Otherwise it does so once.
    watch_accessed_variables : bool, default True
        If True, trainable Variables are watched when they are read. Otherwise use `watch`.

    Notes
    -----
    Tensors are watched with `watch`. A tape can be entered again and then goes on recording. A
    gradient that is taken inside the block of another tape is recorded by that one, so tapes nest
    to any order. In a recorded function a tape costs nothing at run time.

    Unlike in TensorFlow, an unconnected gradient is None in every mode and at every order.
    Cotangents are checked, and gradients of indexing are dense.

    Examples
    --------
    >>> import tracejit as tj
    >>> x = tj.constant(3.0)
    >>> with tj.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    np.float64(6.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        """A tape that records nothing before it is entered."""
        self._persistent, self._accessed = persistent, watch_accessed_variables
        self._window = Window(watch_accessed_variables)
        self._recorder: Recorder | None = None
        self._active = False
        self._used = False

    @places.at_the_users_line
    def __enter__(self) -> GradientTape:
        if self._active:
            raise fail("tape-active", places.here())
        recorder = current_recorder()
        if self._recorder is not None and self._recorder is not recorder:
            self._window = Window(self._accessed)
        self._recorder, EAGER.refusal = recorder, None
        self._open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._active:
            self._close()
        refusal = refusal_behind(error) or EAGER.refusal_at(error)
        EAGER.refusal = None
        if refusal is not None:
            raise without_frames(refusal, places.PACKAGE) from None

    def _open(self) -> None:
        assert self._recorder is not None
        self._active = True
        self._recorder.windows = (*self._recorder.windows, self._window)

    def _close(self) -> None:
        assert self._recorder is not None
        self._active = False
        others = (window for window in self._recorder.windows if window is not self._window)
        self._recorder.windows = tuple(others)

    def _recording(self, call: str) -> Recorder:
        """The current recorder; RuntimeError if the tape does not record."""
        if not self._active or self._recorder is None:
            raise fail("tape-idle", places.here(), call=call)
        return self._recorder

    @places.at_the_users_line
    def watch(self, tensor: Any) -> None:
        """Record operations on `tensor` from now on.

        Parameters
        ----------
        tensor : Tensor, Variable, or container of them
            The tensors to watch. None, flags and names in a container are skipped. A tensor that is
            not floating gets a warning, and no gradient.

        Returns
        -------
        None
            The tape watches them from now on.

        Raises
        ------
        WatchError
            If it is a plain array or number. Use `tj.constant` to make a Tensor. A ValueError.

        Examples
        --------
        >>> import tracejit as tj
        >>> x = tj.constant([1.0, 2.0])
        >>> with tj.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = (x * x).sum()
        >>> tape.gradient(y, x)
        <Tensor f8[2] [2. 4.]>
        """
        recorder = self._recording("watch")
        leaves, structure = flatten(tensor)
        for leaf in [*leaves, set()] if structure.has(set) else leaves:
            if type(leaf) is Variable:
                self._window.watch_variable(leaf, recorder.version(leaf))
            elif type(leaf) in TENSORS and not is_plain_number(leaf):
                self._window.watch(recorder.keep(leaf))
            elif structure is not LEAF and stays(leaf):
                continue
            else:
                raise fail("watch", places.here(), got=a(type(leaf).__name__))
            if not leaf.type.is_inexact:
                text = f"a watched Tensor must be floating or complex, got {leaf.dtype}"
                warnings.warn(text, stacklevel=3)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Stop recording in a `with` block: values computed in it are constants.

        Returns
        -------
        context manager
            The block in which nothing is recorded.

        Raises
        ------
        TapeError
            If it is used outside of the block of the tape. A RuntimeError.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable(3.0)
        >>> with tj.GradientTape() as tape:
        ...     with tape.stop_recording():
        ...         scale = v * 10.0
        ...     y = scale * v
        >>> tape.gradient(y, v).numpy()
        np.float64(30.0)
        """
        self._recording("stop_recording")
        self._close()
        try:
            yield
        finally:
            self._open()

    @places.at_the_users_line
    def reset(self) -> None:
        """Forget everything that was recorded or watched, and go on recording.

        Returns
        -------
        None
            The tape is as new.

        Raises
        ------
        TapeError
            If it is used outside of the block of the tape. A RuntimeError.
        """
        self._recording("reset")
        self._window.clear()

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the Variables that are watched, in the order in which they were made.

        Returns
        -------
        tuple of Variable
            The Variables.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable(3.0, name="v")
        >>> with tj.GradientTape() as tape:
        ...     y = v * v
        >>> tape.watched_variables()
        (<Variable v f8 3.0>,)
        """
        variables = [variable for variable, _ in self._window.reads.values()]
        return tuple(sorted(variables, key=lambda variable: variable.serial))

    @overload
    def gradient(
        self,
        target: Any,
        sources: Recorded,
        output_gradients: Any = None,
        *,
        unconnected_gradients: Zeros,
    ) -> Tensor: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Recorded,
        output_gradients: Any = None,
        unconnected_gradients: Nones = NONE,
    ) -> Tensor | None: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: NumbersT,
        output_gradients: Any = None,
        *,
        unconnected_gradients: Zeros,
    ) -> NumbersT: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: NumbersT,
        output_gradients: Any = None,
        unconnected_gradients: Nones = NONE,
    ) -> NumbersT | None: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: list[RecordedT],
        output_gradients: Any = None,
        *,
        unconnected_gradients: Zeros,
    ) -> list[Tensor]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: list[RecordedT],
        output_gradients: Any = None,
        unconnected_gradients: Nones = NONE,
    ) -> list[Tensor | None]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: tuple[RecordedT, ...],
        output_gradients: Any = None,
        *,
        unconnected_gradients: Zeros,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: tuple[RecordedT, ...],
        output_gradients: Any = None,
        unconnected_gradients: Nones = NONE,
    ) -> tuple[Tensor | None, ...]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: dict[K, RecordedT],
        output_gradients: Any = None,
        unconnected_gradients: Nones = NONE,
    ) -> dict[K, Tensor | None]: ...
    @overload
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Zeros | Nones = NONE,
    ) -> Any: ...
    @places.at_the_users_line
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = NONE,
    ) -> Any:
        """Return the gradients of the sum of all targets with respect to each source.

        Parameters
        ----------
        target : Tensor or container of them
            The results to differentiate.
        sources : Tensor, Variable, or container of them
            The values to differentiate with respect to.
        output_gradients : array or container of them, default None
            The cotangents of the targets, in their structure and shapes. None is ones.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The gradient of a source that no target depends on: "none" or "zero".

        Returns
        -------
        Tensor, None, or container of them
            The gradients, in the structure of `sources`. None if no target depends on a source.

        Raises
        ------
        TapeError
            If the tape is not persistent and was used before. A RuntimeError.
        TapeArgumentError
            If a target or a source cannot be on a tape. A TypeError.
        SeedError
            If `output_gradients` does not fit the targets. A ValueError.
        NoGradientError
            If a target depends on a source through an operation without a gradient. A LookupError.

        Examples
        --------
        >>> import tracejit as tj
        >>> v, unused = tj.Variable([1.0, 2.0]), tj.Variable(0.0)
        >>> with tj.GradientTape() as tape:
        ...     y = v * v
        >>> tape.gradient(y, {"v": v, "unused": unused})
        {'v': <Tensor f8[2] [2. 4.]>, 'unused': None}
        """
        zeros = wants_zeros(unconnected_gradients)
        recorder = self._use()
        targets, structure = leaves_of(target, "target", "tape.gradient")
        leaves, source_structure = leaves_of(sources, "sources", "tape.gradient")
        ys = [tensor_of(leaf, recorder) for leaf in targets]
        seeds = seeds_of(output_gradients, ys, structure, recorder, "tape.gradient")
        found = self._gradients(recorder, ys, leaves, seeds, zeros)
        self._release()
        return unflatten(source_structure, found)

    @overload
    def jacobian(self, target: Any, sources: Recorded, unconnected_gradients: Zeros) -> Tensor: ...
    @overload
    def jacobian(
        self, target: Any, sources: Recorded, unconnected_gradients: Nones = NONE
    ) -> Tensor | None: ...
    @overload
    def jacobian(
        self, target: Any, sources: Array[Any] | float, unconnected_gradients: Zeros
    ) -> NDArray[Any]: ...
    @overload
    def jacobian(
        self, target: Any, sources: Array[Any] | float, unconnected_gradients: Nones = NONE
    ) -> NDArray[Any] | None: ...
    @overload
    def jacobian(
        self, target: Any, sources: list[RecordedT], unconnected_gradients: Zeros
    ) -> list[Tensor]: ...
    @overload
    def jacobian(
        self, target: Any, sources: list[RecordedT], unconnected_gradients: Nones = NONE
    ) -> list[Tensor | None]: ...
    @overload
    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: Zeros | Nones = NONE
    ) -> Any: ...
    @places.at_the_users_line
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = NONE,
    ) -> Any:
        """Return the Jacobian of one target with respect to each source.

        Parameters
        ----------
        target : Tensor
            The result to differentiate, of any shape.
        sources : Tensor, Variable, or container of them
            The values to differentiate with respect to.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The Jacobian of a source that the target does not depend on: "none" or "zero".

        Returns
        -------
        Tensor, None, or container of them
            Arrays of shape target.shape + source.shape, in the structure of `sources`.

        Raises
        ------
        TapeError
            If the tape is not persistent and was used before. A RuntimeError.
        TapeArgumentError
            If the target or a source cannot be on a tape. A TypeError.
        NoGradientError
            If the target depends on a source through an operation without a gradient. A
            LookupError.

        Examples
        --------
        >>> import tracejit as tj
        >>> v = tj.Variable([1.0, 2.0])
        >>> with tj.GradientTape() as tape:
        ...     y = v * v
        >>> tape.jacobian(y, v).numpy()
        array([[2., 0.],
               [0., 4.]])
        """
        zeros = wants_zeros(unconnected_gradients)
        recorder = self._use()
        y = tensor_of(one_leaf(target, "target", "tape.jacobian"), recorder)
        leaves, source_structure = leaves_of(sources, "sources", "tape.jacobian")
        wholes = self._rows(recorder, y, leaves, y.type.shape)
        self._release()
        found: list[Any] = []
        for whole, leaf in zip(wholes, leaves, strict=True):
            shape = (*y.shape, *leaf.shape)
            if whole is not None:
                found.append(np.reshape(whole, shape))
            elif zeros or not y.size:
                found.append(Tensor(recorder.lift(np.zeros(shape, leaf.dtype)), recorder))
            else:
                found.append(None)
        return unflatten(source_structure, found)

    @overload
    def batch_jacobian(
        self, target: Any, source: Recorded, unconnected_gradients: Zeros
    ) -> Tensor: ...
    @overload
    def batch_jacobian(
        self, target: Any, source: Recorded, unconnected_gradients: Nones = NONE
    ) -> Tensor | None: ...
    @overload
    def batch_jacobian(
        self, target: Any, source: Array[Any], unconnected_gradients: Zeros
    ) -> NDArray[Any]: ...
    @overload
    def batch_jacobian(
        self, target: Any, source: Array[Any], unconnected_gradients: Nones = NONE
    ) -> NDArray[Any] | None: ...
    @places.at_the_users_line
    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: Any = NONE) -> Any:
        """Return the Jacobian of each row of `target` with respect to the same row of `source`.

        Rows must not depend on each other.

        Parameters
        ----------
        target : Tensor
            The result to differentiate, with rows along its first axis.
        source : Tensor or Variable
            The value to differentiate with respect to, with the same number of rows.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The Jacobian if the target does not depend on the source: "none" or "zero".

        Returns
        -------
        Tensor or None
            An array of shape (rows, *target.shape[1:], *source.shape[1:]).

        Raises
        ------
        SeedError
            If the two have different numbers of rows, or fewer than two axes. A ValueError.
        TapeError
            If the tape is not persistent and was used before. A RuntimeError.
        TapeArgumentError
            If the target or the source cannot be on a tape. A TypeError.
        NoGradientError
            If the target depends on the source through an operation without a gradient. A
            LookupError.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> v = tj.Variable(np.ones((5, 3)))
        >>> with tj.GradientTape() as tape:
        ...     y = (v @ np.ones((3, 2))) ** 2
        >>> tape.batch_jacobian(y, v).shape
        (5, 2, 3)
        """
        zeros = wants_zeros(unconnected_gradients)
        recorder = self._use()
        y = tensor_of(one_leaf(target, "target", "tape.batch_jacobian"), recorder)
        leaves = [one_leaf(source, "source", "tape.batch_jacobian")]
        x = tensor_of(leaves[0], recorder)
        if y.ndim < 2 or x.ndim < 2 or y.shape[0] != x.shape[0]:
            problem = f"target has shape {y.shape}, source {x.shape}"
            raise fail("seeds", places.here(), call="tape.batch_jacobian", problem=problem)
        columns = self._rows(recorder, y, leaves, y.shape[1:])[0]
        self._release()
        shape = (*y.shape, *x.shape[1:])
        if columns is not None:
            return np.reshape(np.moveaxis(columns, 0, 1), shape)
        if zeros or not math.prod(y.shape[1:]):
            return Tensor(recorder.lift(np.zeros(shape, x.dtype)), recorder)
        return None

    def _use(self) -> Recorder:
        """Begin to answer: what it recorded."""
        if self._used:
            raise fail("tape-used", places.here())
        if self._active and not self._persistent:
            self._close()
        return self._recorder or EAGER

    def _release(self) -> None:
        """Let go of what was recorded, if it is not asked for again; the Variables stay known."""
        if not self._persistent:
            self._used = True
            reads = self._window.reads
            self._window.clear()
            self._window.reads = {key: (variable, []) for key, (variable, _) in reads.items()}

    def _gradients(
        self, recorder: Recorder, ys: Sequence[Tensor], sources: Any, seeds: Any, zeros: bool
    ) -> list[Any]:
        return source_gradients(self._window, recorder, ys, sources, seeds, self._reads, zeros)

    def _rows(
        self, recorder: Recorder, y: Tensor, sources: Sequence[Any], shape: tuple[int, ...]
    ) -> list[Any]:
        """Per source the gradients of y for each unit cotangent over its last axes, `shape`, along
        a first axis; None if unconnected."""

        def single(seed: Tensor) -> list[Any]:
            return self._gradients(recorder, [y], sources, [seed], zeros=False)

        units = unit_cotangents(shape, y)
        return gradient_rows(self._window, recorder, y, sources, units, self._reads, single)

    def _reads(self, variable: Variable) -> Sequence[Value]:
        return self._window.values_of(variable)

    def __repr__(self) -> str:
        return f"<GradientTape, {len(self._window.nodes)} operations>"
