"""Every row of the table of errors, triggered; what an error says, and in which order."""

from __future__ import annotations

import linecache
import operator
import queue
import re
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import run
from tests.rows import each_row
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.types import parse_type
from tracejit.ops.base.op import Op
from tracejit.specialise.strict_mode import python_must_raise
from tracejit.support.errors import ERRORS, TracejitError, Where, fail, without_frames
from tracejit.trace.source.instead import NUMBERS

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")
td = pytest.importorskip("tracejit.dask")

VECTOR = np.arange(3.0)
ROWS = da.ones((4, 3), chunks=(2, 3))
VARIABLE = tj.Variable(1.0)
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


SPEC = tj.TensorSpec(())


def holding_itself() -> Any:
    """A list that is its own element."""
    found: list[Any] = []
    found.append(found)
    return found


def series() -> Any:
    """What stands for a Series of polars."""
    return type("Series", (), {"__array__": None, "__module__": "polars.series"})()


def too_many_ways_of_a_batch() -> Any:
    ways = tj.function(lambda x, w: x * 2.0 if w > 0 else x, max_paths=1)
    batched = tj.vmap(ways, in_axes=(0, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return batched(VECTOR, np.array(1.0)), batched(VECTOR, np.array(-1.0))


def a_fallback_that_hides_a_mistake() -> None:
    """Go back to Python after an error that it does not meet."""
    with python_must_raise(NameError("name 'a_1' is not defined"), "loss"):
        np.exp(VECTOR)


def checked(f: Any, number: float) -> Any:
    """A gradient under tj.debug_nans."""
    with np.errstate(all="ignore"), tj.debug_nans():
        return tj.value_and_grad(lambda x: f(x))(np.float64(number))


def an_eager_logarithm_of_zero() -> Any:
    with np.errstate(all="ignore"), tj.debug_nans():
        return np.log(tj.constant(0.0))


TRIGGERS: dict[str, Callable[[], Any]] = {
    "non-finite": lambda: checked(np.log, 0.0),
    "non-finite-gradient": lambda: checked(np.sqrt, 0.0),
    "non-finite-argument": lambda: checked(np.sqrt, np.nan),
    "non-finite-eager": an_eager_logarithm_of_zero,
    "strict": a_fallback_that_hides_a_mistake,
    "value-needed": lambda: run(lambda x: float(x), np.array(1.0)),
    "unsupported-function": lambda: run(lambda x: np.packbits(x), VECTOR),
    "unsupported-call": lambda: run(lambda x: np.exp(x, where=x > 0), VECTOR),
    "unsupported-dtype": lambda: run(lambda x: x + np.array(["a", "b", "c"]), VECTOR),
    "write": lambda: run(lambda x: np.exp(x, out=np.ones(3)), VECTOR),
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
    kept = queue.SimpleQueue[Any]()
    tj.function(lambda x: kept.put(x))(VECTOR)
    return np.exp(kept.get())


@tj.function(input_signature=[tj.TensorSpec((None, 2))])
def promised(x: Any) -> Any:
    return x


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


def squared_on(tape: tj.GradientTape, x: Any) -> Any:
    """A square computed on a tape."""
    with tape:
        tape.watch(x)
        return x * x


def a_tape_asked_twice() -> Any:
    """Ask a tape that answers once for a second gradient."""
    tape, x = tj.GradientTape(), tj.constant(VECTOR)
    y = squared_on(tape, x)
    tape.gradient(y, x)
    return tape.gradient(y, x)


def a_tape_entered_twice() -> Any:
    """Enter a tape in its own block."""
    with tj.GradientTape() as tape, tape:
        pass


def a_tape_asked(**question: Any) -> Any:
    """Ask a tape about a square."""
    tape, x = tj.GradientTape(), tj.constant(VECTOR)
    y = squared_on(tape, x)
    return tape.gradient(**{"target": y, "sources": x, **question})


def a_number_from_a_tape() -> Any:
    """Take a number off a tape."""
    with tj.GradientTape() as tape:
        x = tj.constant(1.0)
        tape.watch(x)
        return float(x)


def a_plain_array_watched() -> Any:
    """Watch what no tape can see."""
    with tj.GradientTape() as tape:
        tape.watch(VECTOR)


def a_rule_that_does_not_know_of_variables() -> Any:
    """Read a Variable in a custom gradient whose rule takes none."""
    v = tj.Variable(VECTOR, name="v")
    return tj.custom_gradient(lambda x: (x * v, lambda g: g))(tj.constant(VECTOR))


def forward_through_a_rule_that_squares() -> Any:
    """Move along a tangent through a rule that is no linear map."""
    x = tj.constant(VECTOR)
    with tj.ForwardAccumulator(x, VECTOR) as accumulator:
        y = ruled(lambda g: g * g)(x)
    return accumulator.jvp(y)


def recomputed(f: Callable[[Any], Any], used: Callable[[Any], Any]) -> Any:
    """The gradient of used(y), where y is f recomputed."""
    x = tj.constant(VECTOR)
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = used(tj.recompute_grad(f)(x))
    return tape.gradient(y, x)


def two_different_runs() -> Any:
    """Take another way in the second run."""
    runs: list[int] = []
    v = tj.Variable(VECTOR)

    def f(x: Any) -> Any:
        runs.append(1)
        if len(runs) > 1:
            v.assign(x * 3.0)
        return x * v * v

    return recomputed(f, lambda y: y)


def a_rule_that_reads_what_was_written() -> Any:
    """Write to what a gradient rule closes over before the rule runs."""

    def f(x: Any) -> Any:
        scale = x * 2.0
        y = tj.custom_gradient(lambda t: (t * scale, lambda g: g * scale))(x)
        scale += 1.0
        return np.sum(y)

    return tj.grad(f)(VECTOR.copy())


def out_of_sight() -> Any:
    """Use a Tensor that a recomputed function did not return."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2.0)
        return kept[0] * x

    return recomputed(f, lambda y: y * kept[0])


def watched_and_impure() -> Any:
    """Read the clock while recordings are compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEJIT_CHECK", "1")
        return tj.function(lambda x: x * time.perf_counter())(VECTOR)


def advances_before_an_error(numbers: Any) -> Any:
    """A kernel raises, and Python cannot make the call again."""
    return tj.function(lambda x: np.linalg.inv(x) * next(numbers))(np.zeros((2, 2)))


def going_on(x: Any) -> Any:
    try:
        return x * hash(x[0])
    except TypeError:
        return x


def out_of_its_body() -> Any:
    """Use a Tensor of a step after the loop."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        tj.scan(lambda carry, e: (kept.append(carry * e), (carry, None))[1], 1.0, x)
        return kept[0] * 2.0

    return tj.function(f)(VECTOR)


PUBLIC: dict[str, Callable[[], Any]] = {
    **{row: TRIGGERS[row] for row in TRIGGERS if row.startswith("non-finite")},
    "loop": lambda: tj.function(lambda x: tj.while_loop(np.any, lambda v: v[:2], x))(VECTOR),
    "condition": lambda: tj.function(lambda x: tj.cond(x > 0, np.sin, np.cos, x))(VECTOR),
    "leaked-body": out_of_its_body,
    "value-needed": lambda: tj.function(lambda x: hash(x[0]))(VECTOR),
    "option": lambda: tj.function(exakt=True),
    "option-value": lambda: tj.function(np.sin, dynamic_shapes="atuo"),
    "static-argument": lambda: tj.function(lambda x, mode: x, static_argnames="mdoe"),
    "setting": lambda: tj.config(threads="two"),
    "unknown-setting": lambda: tj.config(thread=2),
    "unsupported-function": lambda: tj.function(lambda x: np.packbits(x > 0))(VECTOR),
    "unsupported-call": lambda: tj.function(lambda x: np.exp(x, where=x > 0))(VECTOR),
    "unsupported-values": lambda: tj.function(lambda x: np.pad(x, 1, "reflect", reflect_type=""))(
        VECTOR
    ),
    "unsupported-dtype": lambda: tj.function(lambda x: x)(np.array(["a", "b"])),
    "write": lambda: tj.function(lambda x: x.resize(2))(VECTOR),
    "shapes": lambda: tj.function(lambda x: x + np.ones(4))(VECTOR),
    "not-twice": lambda: advances_before_an_error(iter([1.0, 2.0])),
    "random": lambda: tj.function(lambda x: x + np.random.normal(size=3))(VECTOR),  # noqa: NPY002
    "caught": lambda: tj.function(going_on)(VECTOR),
    "impure": watched_and_impure,
    "leaked": leak,
    "other-thread": on_two_threads,
    "two-recordings": lambda: tj.function(lambda x: tj.function(lambda y: x + y).kernel(x))(VECTOR),
    "wrong-arity": lambda: tj.function(lambda x: x)(VECTOR, VECTOR),
    "input-signature": lambda: promised(VECTOR),
    "not-a-spec": lambda: tj.function(leak, input_signature=[("f8", (None, 3))]),
    "size-needed": lambda: tj.function(lambda x: x / len([0] * len(x))).kernel(
        tj.TensorSpec((None,))
    ),
    "not-an-array": lambda: tj.function(lambda x: x)(bytearray(2)),
    "too-deep": lambda: tj.function(lambda x: x)(holding_itself()),
    "labelled": lambda: tj.vmap(lambda x: x)(series()),
    "labelled-operand": lambda: tj.grad(lambda x: np.sum(x * series()))(VECTOR),
    "truth": lambda: tj.function(lambda x: x if x > 0 else -x)(VECTOR),
    "argument-choice": lambda: tj.grad(np.sum, argnums="a"),
    "dask": lambda: tj.grad(lambda w, x: np.sum(x @ w))(VECTOR, da.ones((2, 3))),
    "dask-arguments": lambda: td.function(np.add)(ROWS, ROWS.rechunk((1, 3))),
    "block": lambda: td.function(lambda x: np.sum(np.linalg.inv(x)))(
        da.zeros((4, 2, 2), chunks=(2, 2, 2))
    ),
    "sharding": lambda: td.function(lambda x: np.sort(x, axis=0))(ROWS),
    "rows-needed": lambda: td.function(lambda x: x + np.arange(len(x))[:, None])(ROWS),
    "rows-effect": lambda: td.function(lambda x: VARIABLE.assign(np.sum(x)))(ROWS),
    "not-callable": lambda: tj.function(3),
    "export": lambda: tj.export(lambda x: object, VECTOR, path="made.py", grad=False),
    "export-path": lambda: tj.export(np.sum, VECTOR, path="made"),
    "overwrite": lambda: tj.export(np.sum, VECTOR, path=__file__),
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
    "index": lambda: tj.function(lambda x: x[5])(VECTOR),
    "axis": lambda: tj.function(lambda x: np.sum(x, axis=3))(VECTOR),
    "matrix": lambda: tj.function(np.linalg.inv)(np.ones((2, 3))),
    "no-batch": lambda: tj.vmap(lambda x: tj.Variable(1.0).assign(2.0) * x)(VECTOR),
    "batch": lambda: tj.vmap(lambda x, y: x + y)(VECTOR, np.ones(2)),
    "update": lambda: tj.function(lambda x: operator.iadd(x, 1j))(VECTOR),
    "not-compiled": too_many_ways_of_a_batch,
    "not-apart": lambda: tj.grad(lambda x, y: [operator.iadd(x, y), np.sum(y)][1])(VECTOR, VECTOR),
    "written-later": a_rule_that_reads_what_was_written,
    "taped": a_number_from_a_tape,
    "assign": lambda: tj.Variable(VECTOR).assign(np.ones(4)),
    "tape-used": a_tape_asked_twice,
    "tape-active": a_tape_entered_twice,
    "tape-idle": lambda: tj.GradientTape().watch(tj.constant(VECTOR)),
    "watch": a_plain_array_watched,
    "tape-argument": lambda: a_tape_asked(sources=VECTOR),
    "seeds": lambda: a_tape_asked(output_gradients=np.ones(4)),
    "unconnected": lambda: a_tape_asked(unconnected_gradients="one"),
    "primals": lambda: tj.ForwardAccumulator(tj.constant(VECTOR), np.ones(4)),
    "callback": lambda: tj.callback(np.sum, VECTOR, result=tj.TensorSpec((3,))),
    "threads": lambda: tj.function(np.sin, threads=0),
    "memory-budget": lambda: tj.function(np.sin, memory_budget="64 MB"),
    "transform-option": lambda: tj.jacobian(np.sin, mode="forward"),
    "no-recording": lambda: tj.gradients(tj.constant(VECTOR), tj.constant(VECTOR)),
    "registered": lambda: tj.register_gradient(np.exp)(lambda op, g: g),
    "not-an-op": lambda: tj.no_gradient(leak),
    "rule-no-variables": a_rule_that_does_not_know_of_variables,
    "rule-not-linear": forward_through_a_rule_that_squares,
    "two-runs": two_different_runs,
    "out-of-sight": out_of_sight,
}

# A graph that is broken is not the user's doing.
NOT_PUBLIC = {"graph", "not-importable", "strict"}


def test_every_row_is_triggered() -> None:
    assert PUBLIC.keys() | NOT_PUBLIC == ERRORS.keys()
    assert TRIGGERS.keys() <= ERRORS.keys()
    assert not PUBLIC.keys() & NOT_PUBLIC


def frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of an error as Python prints them."""
    return list(traceback.extract_tb(error.__traceback__))


@each_row("row", PUBLIC)
def test_a_row_is_triggered_by_what_users_call(row: str) -> None:
    pattern = re.sub(r"\\{\w+(!r)?\\}", ".+", re.escape(ERRORS[row].what))
    with pytest.raises(ERRORS[row].error, match=f"^{pattern}") as caught:
        PUBLIC[row]()
    *_, why, fix = str(caught.value).splitlines()
    assert why.startswith("  Why: ")
    assert fix.startswith("  Fix: ")
    assert not re.search(r"{\w*}", str(caught.value))


# The line of a kernel's file is not the user's; that of a differentiation, or of a long
# with-statement, is known without columns.
WITHOUT_A_LINE = {"kernel", "block", "rows-effect"}
WITHOUT_COLUMNS = {
    "sharding",
    "impure",
    "leaked-body",
    "no-rule",
    "rule-count",
    "rule-not-linear",
    "rule-shape",
    "rule-type",
    "rule-variables",
    "non-finite",
    "non-finite-gradient",
    "tape-active",
    "two-runs",
}


@each_row("row", sorted(PUBLIC.keys() - WITHOUT_A_LINE))
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


# Raised by an operation on a Tensor outside recorded functions: its frames are Python's to show.
BY_OPERATIONS = {"leaked", "non-finite-eager", "out-of-sight", "taped"}


@each_row("row", sorted(PUBLIC.keys() - BY_OPERATIONS))
def test_no_frame_of_tracejit_stands_above_the_users(row: str) -> None:
    """But for the function that the user called, whose frame Python adds itself."""
    with pytest.raises(TracejitError) as caught:
        PUBLIC[row]()
    package = str(Path(tj.__file__).parent)
    ours = [frame for frame in frames(caught.value) if frame.filename.startswith(package)]
    assert len(ours) <= 1
    assert all(frame.name in ("__call__", "function", "kernel", "load", "called") for frame in ours)
    assert caught.value.__cause__ is None or row in ("kernel", "block")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_the_traceback_ends_at_the_users_line() -> None:
    def helper(x: Any) -> Any:
        return np.sum(x) + hash(x[0])

    compiled = tj.function(lambda x: helper(x))
    with pytest.raises(TracejitError) as caught:
        tj.grad(lambda x: compiled(x) * 2.0)(VECTOR)
    assert frames(caught.value)[-1].name == "helper"
    assert frames(caught.value)[-1].line == "return np.sum(x) + hash(x[0])"


@pytest.mark.parametrize("row", TRIGGERS)
def test_a_row_is_triggered(row: str) -> None:
    pattern = re.sub(r"\\{\w+(!r)?\\}", ".+", re.escape(ERRORS[row].what))
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


@each_row("row", ERRORS)
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
        "  Why: every later call would use the value of this one.",
        f"  Fix: {NUMBERS}",
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
        folder = str(Path(fail.__code__.co_filename).parents[1])
        shown = without_frames(error, folder).__traceback__
    files = []
    while shown is not None:
        files.append(shown.tb_frame.f_code.co_filename)
        shown = shown.tb_next
    assert files
    assert not any(file.startswith(folder) for file in files)
    assert files[-1] == __file__


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x, axis=3),
        lambda x: np.swapaxes(x, 0, 4),
        lambda x: np.linalg.inv(x),
        lambda x: np.linalg.matrix_power(x, 2),
        lambda x: x[5],
        lambda x: np.reshape(x, (4,)),
    ],
)
def test_errors_about_shapes_are_of_numpys_own_class(f: Any) -> None:
    x = np.ones((2, 3))
    with pytest.raises(Exception) as plain:
        f(x)
    with pytest.raises(TracejitError) as recorded:
        tj.function(f)(x)
    assert isinstance(recorded.value, plain.type)
