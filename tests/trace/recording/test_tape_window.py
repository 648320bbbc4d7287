"""Windows: what a tape sees of what is computed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.graph import Held
from tracejit.ops.control.marker_ops import OVERRIDE, Marker, inputs_of
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.tape_window import Sieve, Sight, Window, parameters_as_text
from tracejit.trace.tensor.tensor import Tensor

X = np.array([1.0, -2.0, 0.5])


@pytest.fixture(params=["eager", "recording"])
def recorder(request: pytest.FixtureRequest) -> Any:
    """The eager recorder, or a recording that runs."""
    if request.param == "eager":
        yield EAGER
        return
    with Recording("f") as recording:
        yield recording


def tensor(recorder: Any, data: Any = X) -> Any:
    """A Tensor that nothing watches yet."""
    if recorder is EAGER:
        return tj.constant(data)
    return recorder.distinct(Tensor(recorder.lift(data), recorder))


def names(window: Window) -> list[str]:
    """The operations that a window holds."""
    return [node.op.name for node in window.nodes]


def test_windows_are_numbered_from_one_on() -> None:
    first, second = Window(), Window()
    assert 0 < first.number < second.number


def test_a_window_holds_what_depends_on_what_it_watches(recorder: Any) -> None:
    window = Window()
    x, y = tensor(recorder), tensor(recorder, 2.0 * X)
    window.watch(x._value)
    with recorder.seen_by((window,)):
        a = np.sin(x)
        b = np.cos(y)
        c = a * b
        np.exp(b)
    assert names(window) == ["sin", "multiply"]
    assert all(window.knows(one._value) for one in (x, a, c))
    assert not any(window.knows(one._value) for one in (y, b))
    np.tanh(c)
    assert names(window) == ["sin", "multiply"]


def test_a_window_sees_only_while_it_is_open(recorder: Any) -> None:
    window = Window()
    x = tensor(recorder)
    window.watch(x._value)
    before = np.sin(x)
    with recorder.seen_by((window,)):
        pass
    after = np.cos(x)
    assert names(window) == []
    assert not window.knows(before._value)
    assert not window.knows(after._value)


def test_windows_do_not_share_what_they_watch(recorder: Any) -> None:
    first, second = Window(), Window()
    x, y = tensor(recorder), tensor(recorder, 2.0 * X)
    first.watch(x._value)
    second.watch(y._value)
    with recorder.seen_by((first, second)):
        np.sin(x)
        np.cos(y)
        x * y
    assert names(first) == ["sin", "multiply"]
    assert names(second) == ["cos", "multiply"]
    # One operation is one node, whoever holds it.
    assert first.nodes[-1] is second.nodes[-1]


def test_only_floating_and_complex_values_are_watched(recorder: Any) -> None:
    window = Window()
    n, z = tensor(recorder, np.arange(3)), tensor(recorder, 1j * X)
    for one in (n, z):
        window.watch(one._value)
    assert not window.knows(n._value)
    assert window.knows(z._value)
    with recorder.seen_by((window,)):
        n * 2
        index = np.argmax(np.real(z))
        assert not window.knows(index._value)
    assert "real" in names(window)
    assert "multiply" not in names(window)


def test_what_is_piecewise_constant_disconnects(recorder: Any) -> None:
    window = Window()
    x = tensor(recorder)
    window.watch(x._value)
    with recorder.seen_by((window,)):
        for step in (np.floor, np.sign, np.isnan, np.rint):
            assert not window.knows(step(x)._value)
        assert not window.knows((x > 0.0)._value)


def test_clear_forgets_everything(recorder: Any) -> None:
    window = Window()
    x, v = tensor(recorder), tj.Variable(X)
    window.watch(x._value)
    with recorder.seen_by((window,)):
        y = x * v
    number = window.number
    window.clear()
    assert names(window) == []
    assert not any(window.knows(one._value) for one in (x, y))
    assert (window.reads, window.known) == ({}, set())
    assert window.number != number  # what is computed again is another node


# Variables


def test_a_trainable_variable_is_watched_by_being_read(recorder: Any) -> None:
    v, n = tj.Variable(X), tj.Variable(X, trainable=False)
    window = Window()
    with recorder.seen_by((window,)):
        v * n
    ((variable, values),) = window.reads.values()
    assert variable is v
    assert len(values) == 1
    assert names(window) == ["multiply"]


def test_nothing_is_watched_by_being_read_where_that_is_off(recorder: Any) -> None:
    v = tj.Variable(X)
    window = Window(accessed=False)
    with recorder.seen_by((window,)):
        v * 2.0
        assert (window.reads, names(window)) == ({}, [])
        window.watch_variable(v, recorder.version(v))
        v * 2.0
    assert names(window) == ["multiply"]


def test_every_value_that_a_variable_had_is_a_read(recorder: Any) -> None:
    v = tj.Variable(X)
    window = Window()
    with recorder.seen_by((window,)):
        v * v
        v + v
        v.assign(2.0 * X)
        v * 3.0
    ((variable, values),) = window.reads.values()
    assert variable is v
    assert len(values) == 2
    assert all(window.knows(value) for value in values)


def test_an_integer_variable_is_read_but_not_known(recorder: Any) -> None:
    v = tj.Variable(np.arange(3))
    window = Window()
    with recorder.seen_by((window,)):
        v.astype(float) * 2.0
    ((_, values),) = window.reads.values()
    assert values == []
    assert names(window) == []


def test_a_window_keeps_its_variables_and_their_values_apart() -> None:
    """Two Variables of equal value are two sources."""
    v, w = tj.Variable(X), tj.Variable(X)
    with tj.GradientTape() as tape:
        y = v * w * w
    gradients = tape.gradient(y, [v, w])
    np.testing.assert_array_equal(gradients[0].numpy(), X * X)
    np.testing.assert_array_equal(gradients[1].numpy(), 2.0 * X * X)


# A sieve


def test_a_sieve_gathers_what_the_windows_know_and_holds_nothing() -> None:
    window, other = Window(), Window()
    x, y, k = (tj.constant(X * scale) for scale in (1.0, 2.0, 3.0))
    v = tj.Variable(X)
    window.watch(x._value)
    other.watch(y._value)
    sieve = Sieve((window, other))
    with EAGER.seen_by((sieve,)):
        a = np.sin(k) * y
        b = a * x
        b * v
        b * v
    assert names(sieve) == names(window) == names(other) == []
    assert list(sieve.inputs) == [y._value, x._value, v.held]
    # The windows know of the read.
    assert window.reads[id(v)][1] == other.reads[id(v)][1] == [v.held]


def test_a_sieve_refuses_conversions_of_what_may_be_on_a_tape() -> None:
    sieve = Sieve((Window(),))
    assert sieve.knows(tj.constant(1.0)._value)
    assert not sieve.knows(tj.constant(1)._value)


def test_a_sieve_without_windows_gathers_nothing() -> None:
    sieve = Sieve(())
    x = tj.constant(X)
    with EAGER.seen_by((sieve,)):
        np.sin(x)
    assert sieve.inputs == {}


# Life


def test_values_do_not_know_their_nodes() -> None:
    """What a window has forgotten is free, though a result of it lives."""
    window = Window()

    def chain() -> tuple[Any, list[Any]]:
        x = tj.constant(X)
        window.watch(x._value)
        with EAGER.seen_by((window,)):
            h = np.sin(x)
            y = h * h
        return y, [weakref.ref(x._value.data), weakref.ref(h._value.data)]

    y, inner = chain()
    gc.collect()
    assert all(reference() is not None for reference in inner)
    window.clear()
    gc.collect()
    assert all(reference() is None for reference in inner)
    assert y._value.node is None


def test_what_no_window_sees_is_kept_by_nobody() -> None:
    window = Window()

    def chain() -> Any:
        x = tj.constant(X)
        with EAGER.seen_by((window,)):
            h = np.sin(x)
            y = h * h
        assert type(y._value) is Held
        return weakref.ref(h._value.data)

    inner = chain()
    gc.collect()
    assert inner() is None


def taped(window: Window, sight: Sight, operands: list[Any]) -> Any:
    """The sine of the operands' product as one operation, which `sight` is told of."""
    with EAGER.seen_by(()):
        value = np.sin(operands[0] * operands[1])
    marker = Marker("product", "", lambda *gs: [], sight=sight)
    with EAGER.seen_by((window,)):
        return OVERRIDE(value, *operands, outputs=1, grad=marker)


def test_an_operation_gets_further_results() -> None:
    window, sight = Window(), Sight()
    x, y = tj.constant(X), tj.constant(2.0 * X)
    window.watch(x._value)
    taped(window, sight, [x, y])
    assert sight.holders() == [window]
    more = tj.constant(X)
    sight.add([more._value])
    (node,) = window.nodes
    assert node.results[1] is more._value
    assert node.params["outputs"] == 2
    assert inputs_of(node) == (x._value, y._value)
    assert window.knows(more._value)


def test_an_operation_nobody_holds_gets_no_results() -> None:
    window, sight = Window(), Sight()
    x = tj.constant(X)
    taped(window, sight, [x, x])
    assert sight.holders() == []
    more = tj.constant(X)
    sight.add([more._value])
    assert not window.knows(more._value)
    window.watch(x._value)
    taped(window, sight, [x, x])
    window.clear()
    assert sight.holders() == []


def test_what_takes_the_place_of_an_operation_has_its_structure() -> None:
    """In the middle of a window, which then tells itself from others as one that held it all."""
    x, y = tj.constant(X), tj.constant(2.0 * X)
    window, sight, again = Window(), Sight(), Window()
    for one in (window, again):
        one.watch(x._value)
    with EAGER.seen_by((window,)):
        before = np.cos(x)
    z = taped(window, sight, [before, y])
    with EAGER.seen_by((window,)):
        after = np.exp(z)
    again.watch(before._value)
    with EAGER.seen_by((again,)):
        np.exp(y)
        product = np.sin(before * y)
    sight.unfold(again.nodes, [product._value])
    assert names(window) == ["cos", "multiply", "sin", "identity", "exp"]
    assert sight.holders() == []
    assert window.knows(z._value) and window.knows(after._value)
    window.put_in_order()
    straight = Window()
    straight.watch(x._value)
    for node in window.nodes:
        straight.hold(node, parameters_as_text(node.op, node.params))
    assert window.words == straight.words
    assert window.places == straight.places
    assert window.values == straight.values
