"""Every row of the table of errors, triggered; what an error says, and in which order."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.interpret import run
from tracejit.autodiff.adjoint import gradients
from tracejit.errors import ERRORS, TracejitError, Where, fail, without_frames
from tracejit.ir.types import parse_type
from tracejit.ops.op import Op

VECTOR = np.arange(3.0)
MYSTERY = Op(name="mystery", infer=lambda x: x, source="np.sinh({0})")


def leaked() -> Any:
    """A Tensor whose recording has ended."""
    started = run(lambda x: x + 1.0, VECTOR, name="loss")
    started.finish()
    return started.leaves[0]


def on_another_thread() -> None:
    """Use a Tensor on another thread, and raise here what is raised there."""
    caught: list[BaseException] = []

    def f(x: Any) -> None:
        def work() -> None:
            try:
                np.exp(x)
            except TracejitError as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise caught[0]

    run(f, VECTOR)


def without_a_rule() -> None:
    """Differentiate through an op that has no rule."""
    started = run(lambda x: MYSTERY(x), VECTOR)
    gradients(started.tensors, started.inputs, started.inputs)


TRIGGERS: dict[str, Callable[[], Any]] = {
    "value-needed": lambda: run(lambda x: float(x), np.array(1.0)),
    "unsupported-function": lambda: run(lambda x: np.packbits(x), VECTOR),
    "unsupported-call": lambda: run(lambda x: np.exp(x, where=x > 0), VECTOR),
    "unsupported-dtype": lambda: run(lambda x: x + np.array(["a", "b", "c"]), VECTOR),
    "write": lambda: run(lambda x: np.exp(x, out=x), VECTOR),
    "shapes": lambda: run(lambda x: x + np.ones(4), VECTOR),
    "leaked": lambda: np.exp(leaked()),
    "other-thread": on_another_thread,
    "two-recordings": lambda: run(lambda x: run(lambda y: x + y, VECTOR), VECTOR),
    "not-an-array": lambda: run(lambda x: x + "text", VECTOR),
    "no-rule": without_a_rule,
    "graph": lambda: parse_type("float"),
}


# What only the public surface can raise.
BEYOND_RECORDING = {
    "wrong-arity", "not-callable", "not-scalar", "not-real", "integer-input", "no-such-argument",
    "rule-count", "rule-shape", "rule-type", "rule-pair", "pass-through", "kernel", "random",
}  # fmt: skip


def test_every_row_is_triggered_here_or_beyond() -> None:
    assert TRIGGERS.keys() | BEYOND_RECORDING == ERRORS.keys()
    assert not TRIGGERS.keys() & BEYOND_RECORDING


@pytest.mark.parametrize("row", TRIGGERS)
def test_a_row_is_triggered(row: str) -> None:
    pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(ERRORS[row].what))
    with pytest.raises(ERRORS[row].error, match=f"^{pattern}") as caught:
        TRIGGERS[row]()
    lines = str(caught.value).splitlines()
    assert lines[-2].startswith("  Why: ")
    assert lines[-1].startswith("  Fix: ")
    assert "{" not in str(caught.value)


@pytest.mark.parametrize("row", sorted(TRIGGERS.keys() - {"graph", "two-recordings"}))
def test_an_error_shows_the_users_line(row: str) -> None:
    with pytest.raises(TracejitError) as caught:
        TRIGGERS[row]()
    assert re.match(r"  test_errors\.py:\d+   \S", str(caught.value).splitlines()[1])


@pytest.mark.parametrize("row", ERRORS)
def test_every_row_is_a_sentence_each(row: str) -> None:
    error, what, why, fix = ERRORS[row]
    assert issubclass(error, TracejitError)
    assert len(error.__mro__) > 3, "an error is one of Python's too"
    assert what.endswith(".")
    assert why.endswith(".")
    assert fix.endswith((".", "{fix}"))


def test_an_error_says_what_where_why_and_fix() -> None:
    def f(x: Any) -> Any:
        loss = np.sum(x)
        return 2.0 * float(loss)

    with pytest.raises(TypeError) as caught:
        run(f, VECTOR)
    line = f.__code__.co_firstlineno + 2
    head = f"  test_errors.py:{line}   "
    expected = [
        "float(loss) needs a value, but loss is being recorded (f8).",
        f"{head}return 2.0 * float(loss)",
        f"{' ' * len(head)}             ^^^^^^^^^^^",
        "  Why: the value used now would be frozen into every later call.",
        "  Fix: keep computing with NumPy, or return it and convert it outside the function.",
    ]
    if sys.version_info < (3, 11):
        del expected[2]
    assert str(caught.value).splitlines() == expected


def test_an_error_of_the_reverse_pass_shows_the_forward_line() -> None:
    with pytest.raises(LookupError) as caught:
        without_a_rule()
    assert "started = run(lambda x: MYSTERY(x), VECTOR)" in str(caught.value)


def test_a_place_is_shown_with_its_file_name_alone() -> None:
    assert str(Where("C:\\code\\train.py", 3, "  y = f(x)\n", 6, 10)) == (
        "  train.py:3   y = f(x)\n                   ^^^^"
    )
    assert str(Where("/code/train.py", 3, "  y = f(x)\n")) == "  train.py:3   y = f(x)"
    assert str(Where("/code/train.py", 3, "")) == "  train.py:3   "


def test_an_error_may_have_no_place() -> None:
    assert str(fail("leaked", None, function="loss")).count("\n") == 2


def test_frames_of_a_folder_are_dropped_from_a_traceback() -> None:
    try:
        run(lambda x: x + np.ones(4), VECTOR)
    except TracejitError as error:
        folder = str(Path(fail.__code__.co_filename).parent)
        shown = without_frames(error, folder).__traceback__
    files = []
    while shown is not None:
        files.append(shown.tb_frame.f_code.co_filename)
        shown = shown.tb_next
    assert files
    assert not any(file.startswith(folder) for file in files)
    assert files[-1] == __file__
