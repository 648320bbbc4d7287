"""Random programs of gradient markers, tapes and Variables: one answer in every mode.

    TRACEJIT_TENSORFLOW_PYTHON=/path/to/python pytest -m nightly tests/test_marker_programs.py

40 programs in every run, 2,000 with `-m nightly`: every mode answers what an eager tape answers,
values, None and errors, at first and higher order, and again when it is asked again. The Python
that the variable names, of another environment, has TensorFlow; where TensorFlow agrees with
itself, it agrees with us. A program that differs is printed as Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.by_day import by_day
from tests.marker_programs import MODES, Failure, MarkerProgram, marker_program, run

PYTHON = os.environ.get("TRACEJIT_TENSORFLOW_PYTHON", "")
DRIVER = Path(__file__).parent / "marker_programs_by_tensorflow.py"

# Of the largest number in an answer: kernels add and multiply in another order.
TOLERANCE = 1e-9


def difference(found: Any, expected: Any) -> str:
    """How one answer differs from another; empty where it does not."""
    if isinstance(found, Failure) or isinstance(expected, Failure):
        names = [one.type if isinstance(one, Failure) else "" for one in (found, expected)]
        return "" if names[0] == names[1] else f"{found} and {expected}"
    for turn, pair in enumerate(zip(found, expected, strict=True)):
        for place, (one, other) in enumerate(zip(*pair, strict=True)):
            if not is_close(one, other):
                return f"result {place} of call {turn} is {one}, not {other}"
    return ""


def is_close(one: Any, other: Any) -> bool:
    """Whether two results are both None, or arrays of one shape with the same numbers."""
    if one is None or other is None:
        return one is other
    scale = max(1.0, float(np.max(np.abs(other))))
    return one.shape == other.shape and np.allclose(one, other, TOLERANCE, TOLERANCE * scale)


def disagreements(programs: Iterable[MarkerProgram]) -> list[str]:
    """Which modes answer otherwise than eager tapes do, and how."""
    found = []
    for program in programs:
        expected = run(program, MODES["E"])
        for name, mode in MODES.items():
            if name == "E" or (mode.by_gradients and not program.for_gradients):
                continue
            how = difference(run(program, mode), expected)
            if how:
                found.append(f"{program!r}# in mode {name}: {how}")
    return found


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_every_mode_answers_as_eager_tapes_do(first: int) -> None:
    assert disagreements(map(marker_program, range(first, first + by_day(3, 20)))) == []


def test_programs_do_what_they_are_for() -> None:
    """Few raise, gradients of both kinds are among the answers, and every part is there."""
    programs = list(map(marker_program, range(100)))
    answers = [run(program, MODES["E"]) for program in programs]
    assert sum(isinstance(answer, Failure) for answer in answers) < 5
    numbers = [one for answer in answers if type(answer) is list for one in answer[0]]
    assert sum(one is None for one in numbers) > 20
    assert sum(one is not None and bool(np.any(one)) for one in numbers) > 300
    text = "".join(program.text for program in programs)
    for part in ("clip(", "stop(", "pass_through(", "@recompute", "@inner", "assign(", "if total("):
        assert text.count(part) > 5
    assert sum(program.for_gradients for program in programs) > 20
    assert sum(program.for_tensorflow for program in programs) > 50


def test_a_program_is_the_same_every_time() -> None:
    assert marker_program(7).text == marker_program(7).text != marker_program(8).text


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 2000, 100))
def test_nightly_programs(first: int) -> None:
    assert disagreements(map(marker_program, range(first, first + 100))) == []


@pytest.mark.nightly
@pytest.mark.skipif(not PYTHON, reason="TRACEJIT_TENSORFLOW_PYTHON names no Python that has it")
def test_where_tensorflow_agrees_with_itself_it_agrees_with_us(
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = [program for program in map(marker_program, range(600)) if program.for_tensorflow]
    compared, differing = 0, []
    for program, answers in zip(programs, asked(programs), strict=True):
        theirs = [answer for answer in answers if answer is not None]
        if len(theirs) < len(answers) or any(difference(one, theirs[0]) for one in theirs[1:]):
            continue
        compared += 1
        how = difference(run(program, MODES["E"]), theirs[0])
        if how:
            differing.append(f"{program!r}# TensorFlow: {how}")
    with capsys.disabled():
        sys.stderr.write(f"\n{compared} of {len(programs)} programs compared with TensorFlow\n")
    assert compared > len(programs) / 2
    assert differing == []


def asked(programs: list[MarkerProgram]) -> list[list[Any]]:
    """TensorFlow's answers to each program, one for each of its modes; None where it raises."""
    sent = json.dumps([program.text for program in programs])
    ran = subprocess.run([PYTHON, str(DRIVER)], input=sent, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [[arrays(answer) for answer in answers] for answers in json.loads(ran.stdout)]


def arrays(answer: Any) -> Any:
    """An answer as `run` gives it."""
    if answer is None:
        return None
    return [[None if one is None else np.asarray(one) for one in turn] for turn in answer]
