"""tj.gradients: gradients within the function that is being recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.autodiff.reverse.adjoint import gradients as differentiate
from tracejit.eager.targets import (
    NONE,
    Reads,
    filled,
    gradients_by,
    leaves_of,
    seeds_of,
    tensor_of,
    wants_zeros,
)
from tracejit.ir.graph import Value
from tracejit.support.errors import fail
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.tape_window import Whole
from tracejit.trace.recording.variable import Variable
from tracejit.trace.source import places
from tracejit.trace.tensor.tensor import Tensor


@places.at_the_users_line
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = NONE,
) -> list[Any]:
    """Return the gradients of the sum of `ys` with respect to each of `xs`, in a recorded function.

    Nothing needs watching.

    Parameters
    ----------
    ys : Tensor or sequence of them
        The results to differentiate.
    xs : Tensor, Variable, or sequence of them
        The values to differentiate with respect to.
    grad_ys : sequence of arrays, default None
        The cotangents of `ys`. None is ones.
    stop_gradients : Tensor or sequence of them, default None
        Tensors to treat as constants, which turns total derivatives into partial ones.
    unconnected_gradients : UnconnectedGradients or str, default UnconnectedGradients.NONE
        The gradient of an x that no y depends on: "none" or "zero".

    Returns
    -------
    list
        One gradient for each of `xs`, or None if no y depends on it. A Variable that is not
        trainable is a constant.

    Raises
    ------
    TapeError
        If it is called outside of a recorded function. A RuntimeError.
    TapeArgumentError
        If something in `ys` or `xs` cannot be differentiated. A TypeError.
    SeedError
        If `grad_ys` does not fit `ys`. A ValueError.
    NoGradientError
        If a y depends on an x through an operation without a gradient. A LookupError.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> tj.function(lambda x: tj.gradients(x ** 3, x)[0])(2.0 * np.ones(1))
    array([12.])
    """
    zeros = wants_zeros(unconnected_gradients)
    recording = current_recording()
    whole = next((window for window in EAGER.windows if type(window) is Whole), None)
    recorder: Recorder
    read: Reads
    if recording is not None:
        recorder, nodes, read = recording, recording.graph.nodes, recording.versions_of
    elif whole is not None:
        recorder, nodes, read = EAGER, whole.nodes, whole.values_of
    else:
        raise fail("no-recording", places.here(), call="tj.gradients")
    call = "tj.gradients"
    targets, structure = leaves_of(ys, "ys", call)
    sources = leaves_of(xs, "xs", call)[0]
    tensors = [tensor_of(leaf, recorder) for leaf in targets]
    seeds = seeds_of(grad_ys, tensors, structure, recorder, call)
    stops = [] if stop_gradients is None else leaves_of(stop_gradients, "stop_gradients", call)[0]
    stopped = {*recorder.as_sources([tensor_of(leaf, recorder)._value for leaf in stops])}

    def reads(variable: Variable) -> Sequence[Value]:
        return read(variable) if variable.trainable else ()

    def found(
        ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any]
    ) -> Sequence[Tensor | None]:
        kept = [node for node in nodes if stopped.isdisjoint(node.results)]
        return differentiate(ys, xs, filled(seeds, ys), kept)

    return gradients_by(found, recorder, tensors, sources, seeds, reads, zeros)
