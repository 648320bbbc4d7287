"""What depends on a placeholder, and which zeros are those of the text."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.types import ArrayType
from tracejit.support.errors import RuleTypeError
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorder import Recorder

FLOATS = ArrayType((2,), np.dtype("f8"))
ZEROS, ONES = np.zeros(2), np.ones(2)


@pytest.fixture(params=["eager", "recorded"])
def setting(request: pytest.FixtureRequest) -> tuple[Recorder, Any, Any]:
    """Each recorder, with a placeholder and another Tensor."""
    if request.param == "eager":
        return EAGER, tj.constant([0.0, 0.0]), tj.constant([1.0, 2.0])
    recording = Recording("sample")
    return recording, recording.argument("u", FLOATS), recording.argument("x", FLOATS)


def test_what_is_computed_from_a_placeholder_depends_on_it(setting: Any) -> None:
    recorder, u, x = setting
    with recorder.probing("f", (), [u]) as probe:
        for value in (u, u * x, np.sum(u) > 0.5, np.floor(u), tj.stop_gradient(u)[0]):
            assert probe.depends(value._value)
        for value in (x, x * 2.0, tj.stop_gradient(x)):
            assert not probe.depends(value._value)
    assert {"multiply", "sum", "greater", "floor"} <= {node.op.name for node in probe.recorded}


@pytest.mark.parametrize(
    "question",
    [
        lambda u: bool(np.sum(u) > 0.5),
        lambda u: int(np.sum(u)),
        lambda u: float(np.sum(u)),
        lambda u: sorted([u[0], u[1]]),
        lambda u: [0, 1][np.argmax(u)],
        lambda u: range(np.argmax(u)),
        lambda u: max(u[0], u[1]),
        lambda u: u[0].item(),
        lambda u: u.tolist(),
        lambda u: u.numpy(),
        lambda u: np.asarray(tj.stop_gradient(u)),
    ],
)
def test_what_depends_on_a_placeholder_cannot_be_read(setting: Any, question: Any) -> None:
    recorder, u, _ = setting
    with (
        contextlib.nullcontext() if recorder is EAGER else recorder,
        recorder.probing("f", (), [u]) as probe,
        pytest.raises(RuleTypeError, match=r"the gradient rule of f .* asks for its value"),
    ):
        question(u * 2.0)
    assert probe.was_read
    assert recorder.probes == ()


def test_what_does_not_depend_on_it_can_be_read() -> None:
    u, x = tj.constant([0.0, 0.0]), tj.constant([1.0, 2.0])
    with EAGER.probing("f", (), [u]) as probe:
        assert float((x * 2.0)[1]) == 4.0
        assert x[0] < x[1]
    assert not probe.was_read


def test_zeros_of_the_text_are_told_from_captured_ones() -> None:
    zero, fresh = np.float64(0.0), np.zeros(2)
    with EAGER.probing("f", (lambda u: u + ZEROS,), []) as probe:
        noted = [EAGER.lift(one) for one in (zero, fresh, ZEROS, ZEROS[:1], ONES)]
        assert [value in probe.zeros for value in noted] == [True, True, False, False, False]
        assert EAGER.lift(tj.constant([0.0])) not in probe.zeros
