"""ForwardAccumulator: a window of recorded operations, and their derivatives along tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.request.request import like
from tracejit.eager.targets import (
    NONE,
    leaves_of,
    tensor_of,
    wants_zeros,
    zeros_like,
)
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, type_of
from tracejit.ops.base.forms import as_array, as_element, as_scalar
from tracejit.support.errors import fail
from tracejit.support.words import a
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.recording.variable import Variable, current_recorder, read_leaf
from tracejit.trace.source import places
from tracejit.trace.structure.trees import leaves_like, unflatten
from tracejit.trace.tensor.tensor import Tensor

if TYPE_CHECKING:
    from tracejit.eager.targets import Nones, NumbersT, Recorded, RecordedT, Zeros

NAME = "ForwardAccumulator"


class ForwardAccumulator:
    """Compute derivatives along `tangents` in a `with` block, in forward mode.

    Parameters
    ----------
    primals : Tensor, Variable, or container of them
        The inputs that move.
    tangents : array or container of them
        The directions in which they move, of the same structure, shapes and dtypes.

    Raises
    ------
    SeedError
        If `tangents` does not fit `primals`. A ValueError.
    TapeArgumentError
        If `primals` holds something other than Tensors and Variables. A TypeError.

    Notes
    -----
    Accumulators nest for higher orders: `outer.jvp(inner.jvp(y))`. An accumulator around a tape
    computes products with a Hessian. The rule of a custom gradient is transposed.

    Examples
    --------
    >>> import tracejit as tj
    >>> x = tj.constant(3.0)
    >>> with tj.ForwardAccumulator(x, tj.constant(1.0)) as acc:
    ...     y = x ** 3
    >>> float(acc.jvp(y))
    27.0
    """

    @places.at_the_users_line
    def __init__(self, primals: Any, tangents: Any) -> None:
        """Move `primals` along `tangents`."""
        self._primals, structure = leaves_of(primals, "primals", NAME)
        dots = leaves_like(structure, tangents)
        if dots is None:
            problem = "primals and tangents differ in their structure"
            raise fail("primals", places.here(), call=NAME, problem=problem)
        if len({id(primal) for primal in self._primals}) < len(self._primals):
            raise fail(
                "primals",
                places.here(),
                call=NAME,
                problem="the same primal was given more than once",
            )
        for primal, dot in zip(self._primals, dots, strict=True):
            _check_tangent(primal, dot)
        self._dots = [_kept(dot) for dot in dots]
        self._window = Window(accessed=False)
        self._recorder: Recorder | None = None
        self._active = False

    @places.at_the_users_line
    def __enter__(self) -> ForwardAccumulator:
        if self._active:
            raise fail("tape-active", places.here())
        self._recorder = recorder = current_recorder()
        for primal in self._primals:
            if type(primal) is Variable:
                self._window.watch_variable(primal, recorder.version(primal))
            else:
                self._window.watch(recorder.keep(primal))
        self._active = True
        recorder.windows = (*recorder.windows, self._window)
        return self

    def __exit__(self, *error: object) -> None:
        recorder = self._recorder
        assert recorder is not None
        self._active = False
        others = (window for window in recorder.windows if window is not self._window)
        recorder.windows = tuple(others)

    @overload
    def jvp(self, primals: Recorded, unconnected_gradients: Zeros) -> Tensor: ...
    @overload
    def jvp(self, primals: Recorded, unconnected_gradients: Nones = NONE) -> Tensor | None: ...
    @overload
    def jvp(self, primals: list[RecordedT], unconnected_gradients: Zeros) -> list[Tensor]: ...
    @overload
    def jvp(
        self, primals: list[RecordedT], unconnected_gradients: Nones = NONE
    ) -> list[Tensor | None]: ...
    @overload
    def jvp(self, primals: NumbersT, unconnected_gradients: Zeros) -> NumbersT: ...
    @overload
    def jvp(self, primals: NumbersT, unconnected_gradients: Nones = NONE) -> NumbersT | None: ...
    @overload
    def jvp(self, primals: Any, unconnected_gradients: Zeros | Nones = NONE) -> Any: ...
    @places.at_the_users_line
    def jvp(self, primals: Any, unconnected_gradients: Any = NONE) -> Any:
        """Return the tangents of Tensors that were computed in the block.

        Parameters
        ----------
        primals : Tensor, Variable, or container of them
            The results.
        unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
            The tangent of a result that does not depend on the inputs: "none" or "zero".

        Returns
        -------
        Tensor, None, or container of them
            The tangents, in the structure of `primals`.

        Raises
        ------
        TapeArgumentError
            If `primals` holds something other than Tensors and Variables. A TypeError.
        NoGradientError
            If a result depends on an input through an operation without a gradient. A LookupError.
        RuleTypeError
            If a custom gradient is not linear in its cotangent. A TypeError.

        Examples
        --------
        >>> import numpy as np
        >>> import tracejit as tj
        >>> v = tj.Variable([1.0, 2.0])
        >>> with tj.ForwardAccumulator(v, np.array([1.0, 0.0])) as acc:
        ...     y = v * v
        >>> acc.jvp(y)
        <Tensor f8[2] [2. 0.]>
        """
        zeros = wants_zeros(unconnected_gradients)
        leaves, structure = leaves_of(primals, "primals", "jvp")
        recorder = self._recorder or current_recorder()
        ys = [tensor_of(leaf, recorder) for leaf in leaves]
        xs, dots = self._moving(recorder)
        if not xs:
            found: list[Any] = [None] * len(ys)
        else:
            found = list(tangents(ys, xs, dots, list(self._window.nodes)))
        answers = []
        for y, dot in zip(ys, found, strict=True):
            if dot is not None:
                dot = like(dot, y, "_dot")
            answers.append(zeros_like(y) if dot is None and zeros else dot)
        return unflatten(structure, answers)

    def _moving(self, recorder: Recorder) -> tuple[list[Tensor], list[Tensor]]:
        """Every value that a primal has had, with its tangent."""
        xs: list[Tensor] = []
        dots: list[Tensor] = []
        for primal, dot in zip(self._primals, self._dots, strict=True):
            values: Sequence[Value]
            if type(primal) is Variable:
                values = self._window.values_of(primal)
            else:
                values = [recorder.lift(primal)]
            for value in recorder.as_sources(values):
                if value.type.is_inexact:
                    xs.append(Tensor(value, recorder))
                    dots.append(_formed(dot, value.type, recorder))
        return xs, dots


def _kept(dot: Any) -> Any:
    """A tangent that does not change any more."""
    dot = read_leaf(dot)
    return dot.copy() if type(dot) is np.ndarray else dot


def _formed(dot: Any, type: ArrayType, recorder: Recorder) -> Tensor:
    """A tangent in the form and dtype of its primal: a 0-d array for a 0-d array."""
    tensor: Any = Tensor(recorder.lift(dot), recorder)
    if tensor.type.form == "weak" and (tensor.dtype.kind != "c" or type.dtype.kind == "c"):
        tensor = as_scalar(tensor, dtype=type.dtype)
    forms = tensor.type.form, type.form
    convert = {("scalar", "array"): as_array, ("array", "scalar"): as_element}.get(forms)
    formed: Tensor = tensor if convert is None else convert(tensor)
    return formed


def _check_tangent(primal: Any, dot: Any) -> None:
    known = dot.type if hasattr(type(dot), "__tracejit_record__") else type_of(dot)
    if known is None:
        raise fail(
            "primals", places.here(), call=NAME, problem=f"a tangent is {a(type(dot).__name__)}"
        )
    if known.shape != primal.shape:
        problem = f"a tangent has shape {known.shape}, its primal {primal.shape}"
        raise fail("primals", places.here(), call=NAME, problem=problem)
    if known.form != "weak" and known.dtype != primal.dtype:
        problem = f"a tangent has dtype {known.dtype}, its primal {primal.dtype}"
        raise fail("primals", places.here(), call=NAME, problem=problem)
