"""Every row of the table of errors, triggered; what an error says, and in which order."""

from __future__ import annotations

import linecache
import re
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
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


# The same through what users call.


def ruled(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose gradient is by the rule `answer`."""
    return tj.custom_gradient(lambda x: (x * 2.0, answer))


def leak() -> Any:
    """Use a Tensor after its recording."""
    kept: list[Any] = []
    tj.function(lambda x: kept.append(x))(VECTOR)
    return np.exp(kept[0])


def on_two_threads() -> Any:
    """Use a Tensor of one thread on another, and raise what it raises there."""
    caught: list[BaseException] = []

    @tj.function
    def f(x: Any) -> Any:
        def work() -> None:
            try:
                np.exp(x)
            except TracejitError as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise caught[0]

    return f(VECTOR)


PUBLIC: dict[str, Callable[[], Any]] = {
    "value-needed": lambda: tj.function(lambda x: float(x[0]))(VECTOR),
    "unsupported-function": lambda: tj.function(lambda x: np.packbits(x > 0))(VECTOR),
    "unsupported-call": lambda: tj.function(lambda x: np.exp(x, where=x > 0))(VECTOR),
    "unsupported-dtype": lambda: tj.function(lambda x: x)(np.array(["a", "b"])),
    "write": lambda: tj.function(lambda x: x.fill(0.0))(VECTOR),
    "shapes": lambda: tj.function(lambda x: x + np.ones(4))(VECTOR),
    "random": lambda: tj.function(lambda x: x + np.random.normal(size=3))(VECTOR),  # noqa: NPY002
    "leaked": leak,
    "other-thread": on_two_threads,
    "two-recordings": lambda: tj.function(lambda x: tj.function(lambda y: x + y).kernel(x))(VECTOR),
    "wrong-arity": lambda: tj.function(lambda x: x)(VECTOR, VECTOR),
    "not-an-array": lambda: tj.function(lambda x: x)({1, 2}),
    "not-callable": lambda: tj.function(3),
    "not-scalar": lambda: tj.grad(lambda x: x * 2.0)(VECTOR),
    "not-real": lambda: tj.grad(lambda x: np.sum(x) * 1j)(VECTOR),
    "integer-input": lambda: tj.grad(lambda x: np.sum(x) * 1.0)(np.arange(3)),
    "no-such-argument": lambda: tj.grad(lambda x: np.sum(x), 2)(VECTOR),
    "no-rule": lambda: tj.grad(lambda x: np.sum(np.linalg.svd(x)[0]))(np.ones((2, 3))),
    "rule-count": lambda: tj.grad(lambda x: np.sum(ruled(lambda g: (g, g))(x)))(VECTOR),
    "rule-shape": lambda: tj.grad(lambda x: np.sum(ruled(lambda g: g[:2])(x)))(VECTOR),
    "rule-type": lambda: tj.grad(lambda x: np.sum(ruled(lambda g: "text")(x)))(VECTOR),
    "rule-pair": lambda: tj.function(tj.custom_gradient(lambda x: x))(VECTOR),
    "rule-variables": lambda: tj.grad(lambda x: ruled(lambda g, variables: g)(x[0]))(VECTOR),
    "pass-through": lambda: tj.function(tj.grad_pass_through(np.sum))(VECTOR),
    "kernel": lambda: tj.load("nowhere.py"),
}

# A graph that is broken is not the user's doing.
NOT_PUBLIC = {"graph"}


def test_every_row_is_triggered() -> None:
    assert PUBLIC.keys() | NOT_PUBLIC == ERRORS.keys()
    assert TRIGGERS.keys() <= ERRORS.keys()
    assert not PUBLIC.keys() & NOT_PUBLIC


def frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of an error as Python prints them."""
    return list(traceback.extract_tb(error.__traceback__))


@pytest.mark.parametrize("row", PUBLIC)
def test_a_row_is_triggered_by_what_users_call(row: str) -> None:
    pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(ERRORS[row].what))
    with pytest.raises(ERRORS[row].error, match=f"^{pattern}") as caught:
        PUBLIC[row]()
    *_, why, fix = str(caught.value).splitlines()
    assert why.startswith("  Why: ")
    assert fix.startswith("  Fix: ")
    assert not re.search(r"{\w*}", str(caught.value))


# The line of a kernel's file is not the user's; one of differentiation is known without columns.
WITHOUT_A_LINE = {"kernel"}
WITHOUT_COLUMNS = {"no-rule", "rule-count", "rule-shape", "rule-type", "rule-variables"}


@pytest.mark.parametrize("row", sorted(PUBLIC.keys() - WITHOUT_A_LINE))
def test_a_public_error_shows_the_users_line_and_a_caret(row: str) -> None:
    with pytest.raises(TracejitError) as caught:
        PUBLIC[row]()
    _, line, *rest = str(caught.value).splitlines()
    found = re.fullmatch(r"  test_errors\.py:(\d+)   (\S.*)", line)
    assert found is not None
    source = linecache.getline(__file__, int(found[1])).strip()
    assert source.startswith(found[2].removesuffix(" ..."))
    if sys.version_info >= (3, 11) and row not in WITHOUT_COLUMNS:
        assert re.fullmatch(r" +\^+", rest[0])
        marked = line[rest[0].index("^") : rest[0].rindex("^") + 1]
        assert marked
        assert marked in source


@pytest.mark.parametrize("row", sorted(PUBLIC.keys() - {"leaked", "rule-pair"}))
def test_no_frame_of_tracejit_stands_above_the_users(row: str) -> None:
    """But for the function that the user called, whose frame Python adds itself."""
    with pytest.raises(TracejitError) as caught:
        PUBLIC[row]()
    package = str(Path(tj.__file__).parent)
    ours = [frame for frame in frames(caught.value) if frame.filename.startswith(package)]
    assert len(ours) <= 1
    assert all(frame.name in ("__call__", "function", "load") for frame in ours)
    assert caught.value.__cause__ is None or row == "kernel"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_traceback_ends_at_the_users_line() -> None:
    def helper(x: Any) -> Any:
        return np.sum(x) + float(x[0])

    compiled = tj.function(lambda x: helper(x))
    with pytest.raises(TracejitError) as caught:
        tj.grad(lambda x: compiled(x) * 2.0)(VECTOR)
    assert frames(caught.value)[-1].name == "helper"
    assert frames(caught.value)[-1].line == "return np.sum(x) + float(x[0])"


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
