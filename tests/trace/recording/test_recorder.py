"""What recordings and the eager recorder have in common: windows, reads of Variables, places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.graph import Graph
from tracejit.ir.location import NOWHERE, Location
from tracejit.support.errors import ShapeError, TracejitError, UnsupportedError
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.tape_window import Window
from tracejit.trace.recording.variable import current_recorder
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, -2.0, 0.5])


@pytest.fixture(params=["eager", "recording"])
def recorder(request: pytest.FixtureRequest) -> Any:
    """The eager recorder, or a recording that runs; left as it was found."""
    if request.param == "eager":
        yield EAGER
    else:
        with Recording("f") as recording:
            yield recording
    assert (EAGER.windows, EAGER.logs, EAGER.where, EAGER.in_rule) == ((), (), None, False)
    assert not EAGER.substitutes


def tensor(recorder: Any, data: Any = X) -> Any:
    """A Tensor of the recorder's that no other is."""
    return recorder.distinct(Tensor(recorder.lift(data), recorder))


def test_the_current_recorder_is_that_of_the_thread(recorder: Any) -> None:
    assert current_recorder() is recorder


# Windows


def test_windows_are_open_meanwhile_and_those_before_again(recorder: Any) -> None:
    first, second = Window(), Window()
    with recorder.seen_by((first,)):
        with recorder.seen_by([second, first]):
            assert recorder.windows == (second, first)
        assert recorder.windows == (first,)
        with recorder.seen_by(()):
            assert recorder.windows == ()
    assert recorder.windows == ()


def test_windows_close_after_an_error(recorder: Any) -> None:
    with pytest.raises(KeyError), recorder.seen_by((Window(),)):
        raise KeyError
    assert recorder.windows == ()


def test_the_nodes_recorded_from_sources(recorder: Any) -> None:
    x = tensor(recorder)
    with recorder.recording_from([x]) as nodes:
        y = np.sin(x) * 2.0
    assert [node.op.name for node in nodes] == ["sin", "multiply"]
    assert nodes[-1].results[0] is y._value
    np.cos(x)
    assert len(nodes) == 2


# Variables


def test_reads_are_logged_once_each_in_order(recorder: Any) -> None:
    v, w = tj.Variable(X, name="v"), tj.Variable(X, trainable=False, name="w")
    with recorder.logging_reads() as outer:
        recorder.read_variable(w)
        with recorder.logging_reads() as inner:
            first = recorder.read_variable(v)
            recorder.read_variable(w)
            recorder.read_variable(v)
    assert [variable for variable, _ in inner.values()] == [v, w]
    assert [variable for variable, _ in outer.values()] == [w, v]
    assert inner[id(v)][1] is first._value
    recorder.read_variable(v)
    assert recorder.logs == ()


def test_the_value_logged_is_the_first_one_read(recorder: Any) -> None:
    v = tj.Variable(X, name="v")
    with recorder.logging_reads() as log:
        first = recorder.read_variable(v)
        recorder.assign(v, 2.0 * X)
        second = recorder.read_variable(v)
    assert log[id(v)] == (v, first._value)
    assert second._value is not first._value


def test_assigning_is_no_read_until_the_value_is_used(recorder: Any) -> None:
    v, w = tj.Variable(X, name="v"), tj.Variable(X, name="w")
    with recorder.logging_reads() as log:
        new = v.assign(2.0 * X)
        w.assign(3.0 * X)
        assert log == {}
        new * 2.0
        assert [variable for variable, _ in log.values()] == [v]
    assert recorder.assigned_values == {}


def test_a_read_is_shown_to_every_window(recorder: Any) -> None:
    v = tj.Variable(X, name="v")
    seeing, blind = Window(), Window(accessed=False)
    with recorder.seen_by((seeing, blind)):
        value = recorder.read_variable(v)._value
    assert seeing.knows(value)
    assert not blind.knows(value)
    assert seeing.reads[id(v)] == (v, [value])


# Sources


@pytest.fixture
def recording() -> Any:
    """A recording that runs."""
    with Recording("f") as recording:
        yield recording


def test_a_source_is_a_value_of_its_own(recording: Any) -> None:
    x = tensor(recording)
    first, second = recording.source(x, "a"), recording.source(x, "a")
    assert len({first._value, second._value, x._value}) == 3
    assert first.type is x.type
    assert first._value.label == "a"


@pytest.mark.parametrize(
    ("given", "dtype"),
    [(X, "f8"), (X.astype("f4"), "f4"), (2.0, "f8"), (np.float32(2.0), "f4"), (2j, "c16")],
    ids=["array", "float32", "float", "scalar", "complex"],
)
def test_arrays_and_numbers_become_sources(recording: Any, given: Any, dtype: str) -> None:
    source = recording.source(given, "x")
    assert isinstance(source, Tensor)
    assert (source.shape, source.dtype) == (np.shape(given), np.dtype(dtype))
    is_pythons = type(given) in (float, complex)
    form = "array" if np.ndim(given) else "weak" if is_pythons else "scalar"
    assert source.type.form == form


def test_a_variable_is_read_to_be_a_source(recording: Any) -> None:
    v = tj.Variable(X)
    with recording.logging_reads() as log:
        source = recording.source(v, "v")
    assert source.type is v.type
    assert list(log) == [id(v)]


@pytest.mark.parametrize("given", [3, True, np.arange(3), "text", None, [X]], ids=repr)
def test_what_has_no_derivative_stays_as_it_is(recording: Any, given: Any) -> None:
    assert recording.source(given, "x") is given


# Places, rules and substitutes


def test_nodes_are_cited_where_it_says(recorder: Any) -> None:
    place = Location("tests.f", 7, "y = g(x)")
    x = tensor(recorder)
    with recorder.recording_from([x]) as nodes:
        np.sin(x)
        with recorder.at(place):
            np.cos(x)
            with recorder.at(None):
                np.tanh(x)
            np.exp(x)
    sin, cos, tanh, exp = (node.where for node in nodes)
    assert cos is place
    assert exp is place
    for where, name in ((sin, "sin"), (tanh, "tanh")):
        assert where is not None
        assert f"np.{name}(x)" in where.text


def test_nodes_in_a_recording_may_be_cited_nowhere() -> None:
    with Recording("f") as recording, recording.at(NOWHERE):
        x = tensor(recording)
        np.sin(x)
    assert recording.graph.nodes[-1].where is None


def test_errors_name_the_line_being_differentiated_or_that_of_the_rule(recorder: Any) -> None:
    place = Location("tests.f", 7, "y = g(x)")
    recorder.graph.files[place] = (__file__, 7)
    with recorder.at(place):
        assert recorder.here().text == "y = g(x)"
        with recorder.running_rule():
            assert "recorder.here()" in recorder.here().text
        assert recorder.here().text == "y = g(x)"
    assert "recorder.here()" in recorder.here().text


def test_a_rule_that_raises_runs_no_longer(recorder: Any) -> None:
    with pytest.raises(KeyError), recorder.running_rule():
        raise KeyError
    assert recorder.in_rule is False


def test_operands_are_substituted_meanwhile(recorder: Any) -> None:
    x, y = tensor(recorder), tensor(recorder, 2.0 * X)
    values = {x._value: y._value}
    with recorder.substituting(values):
        assert recorder.lift(x) is y._value
        values.clear()
        assert recorder.lift(x) is x._value
    assert recorder.lift(x) is x._value


# Errors


def test_values_are_called_what_the_user_calls_them(recorder: Any) -> None:
    some_name = tensor(recorder) * 2.0
    assert recorder.name_of(some_name._value) == "some_name"
    assert recorder.name_of(recorder.graph.constant(2.5)) == "2.5"


def test_shapes_that_do_not_fit_name_every_operand(recorder: Any) -> None:
    x, y = tensor(recorder), tensor(recorder, np.ones((2, 2)))
    with pytest.raises(ShapeError) as caught:
        x + y * 2.0
    text = str(caught.value)
    assert "shapes (3,) and (2, 2)" in text
    assert "x + y * 2.0" in text


def test_types_that_do_not_fit_are_unsupported(recorder: Any) -> None:
    x = tensor(recorder)
    with pytest.raises(UnsupportedError, match=r"invert|bitwise"):
        np.invert(x)


def test_what_is_no_array_is_named(recorder: Any) -> None:
    for operand, words in ((object(), "an object"), ("text", "a str"), (None, "None")):
        error = recorder.not_an_array(operand)
        assert isinstance(error, TracejitError)
        assert isinstance(error, TypeError)
        assert words in str(error)


def test_the_base_leaves_the_rest_to_recordings_and_the_eager_recorder() -> None:
    base = Recorder(Graph("f"))
    calls: list[Any] = [
        lambda: base.record(None, [], {}),  # type: ignore[arg-type]
        lambda: base.lift(X),
        lambda: base.version(None),
        lambda: base.assign(None, X),
        lambda: base.numpy(None),  # type: ignore[arg-type]
        lambda: base.value_of(None, "", ""),  # type: ignore[arg-type]
        lambda: base.recording_from([]),
        lambda: base.copy(None, (), None, 0),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()
    base.check_alive()
