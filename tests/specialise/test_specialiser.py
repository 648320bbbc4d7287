"""Kernels made for calls, without a Function: what is entered, joined, thrown away, and told."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.specialise.pieces import pieces
from tests.support.compare import assert_same
from tracejit.autodiff.request.request import Request
from tracejit.runtime.dispatch import MISS
from tracejit.specialise.callee import Form
from tracejit.support.errors import TracejitError
from tracejit.support.options import Options

X = np.array([1.0, -2.0, 3.0])
counts: list[int] = []


def test_a_call_is_recorded_compiled_entered_and_told() -> None:
    made = pieces(lambda x: np.sin(x) * 2.0)
    found = made.specialiser.specialise(made.request(X))
    assert_same(found.call(X), np.sin(X) * 2.0)
    assert found.call(X.astype(np.float32)) is MISS
    assert made.table.compiled == (found,)
    assert made.table.recordings == 1
    assert "Kernel 1 was made for the first call: x f8[3]." in made.history.tell()


def test_a_gradient_is_the_value_and_grad_of_its_kernel() -> None:
    made = pieces(lambda x: np.sum(x**2), Request("grad", (0,)))
    found = made.specialiser.specialise(made.request(X))
    assert_same(found.call(X), 2.0 * X)
    assert "backward" in found.kernel.source


def test_another_branch_joins_the_kernel() -> None:
    made = pieces(lambda x: np.sin(x) if x[0] > 0 else np.cos(x))
    first = made.specialiser.specialise(made.request(X))
    other = made.request(-X)
    both = made.specialiser.specialise(other._replace(onto=first.entry, forced=[False]))
    assert_same(both.call(X), np.sin(X))
    assert_same(both.call(-X), np.cos(-X))
    assert made.table.compiled == (both,)
    assert len(made.table.kernels) == 1


def test_a_branch_joins_with_the_numbers_that_its_kernel_has_fixed() -> None:
    made = pieces(lambda x, k: np.sin(x) * k if x[0] > 0 else np.cos(x) * k)
    first = made.specialiser.specialise(made.request(X, 2.0))
    made.request(X, 3.0)  # from now on k is dynamic
    other = made.request(-X, 2.0)
    assert other.fixed == {}
    both = made.specialiser.specialise(other._replace(onto=first.entry, forced=[False]))
    assert len(both.entry.traces) == 2
    assert_same(both.call(-X, 2.0), np.cos(-X) * 2.0)


def test_a_call_alone_leaves_nothing_in_the_table() -> None:
    made = pieces(lambda x: x + 1.0)
    found = made.specialiser.alone(made.request(X))
    assert_same(found.call(X), X + 1.0)
    assert (made.table.calls, made.table.kernels) == ((), [])
    assert made.history.tell() == "lambda_ has no kernel yet: the first call makes one."


def test_a_function_that_changes_what_it_reads_has_a_kernel_for_one_call() -> None:
    counts.clear()

    def counting(x: Any) -> Any:
        counts.append(1)
        return x * 2.0

    made = pieces(counting)
    found = made.specialiser.specialise(made.request(X))
    assert_same(found.call(X), 2.0 * X)
    assert made.table.calls == ()
    assert made.table.kernels == [found.kernel]
    assert "the function itself changes" in made.history.tell()


def test_dimensions_that_change_are_free() -> None:
    made = pieces(lambda x: x * 2.0)
    for size in (3, 4):
        found = made.specialiser.generalise(made.request(np.ones(size)))
    assert found.entry.sizes is not None
    assert_same(found.call(np.ones(9)), 2.0 * np.ones(9))


@pytest.mark.usefixtures("as_written")
def test_where_free_dimensions_fail_sizes_are_fixed_and_stay_so() -> None:
    def needy(x: Any) -> Any:
        if type(x.shape[0]) is not int:
            raise KeyError("free")
        return x * 2.0

    made = pieces(needy)
    for size in (3, 4, 5):
        request = made.request(np.ones(size))
        assert (made.callee.shapes.freed(request.call)[1] is not None) == (size == 4)
        found = made.specialiser.generalise(request)
        assert_same(found.call(np.ones(size)), 2.0 * np.ones(size))
        assert found.entry.sizes is None


def test_what_another_thread_has_made_meanwhile_is_found() -> None:
    made = pieces(lambda x: x + 1.0)
    before = made.table.calls
    known = made.specialiser.specialise(made.request(X))
    assert made.specialiser.in_turn(made.request(X), before) is known
    assert made.table.recordings == 1


@pytest.mark.parametrize("form", [Form.PLAIN, Form.TRANSFORM])
def test_while_another_thread_records_a_call_only_a_transform_is_recorded(form: Form) -> None:
    made = pieces(lambda x: x + 1.0, form=form)
    request = made.request(X)
    found: list[Any] = []
    with made.specialiser.flights.at(request.call, request.fixed):
        in_turn = made.specialiser.in_turn
        thread = threading.Thread(target=lambda: found.append(in_turn(request, ())))
        thread.start()
        thread.join()
    if form is Form.PLAIN:
        assert found == [None]
    else:
        assert_same(found[0].call(X), X + 1.0)
    assert made.table.calls == ()


def test_a_kernel_that_is_gone_is_not_joined() -> None:
    made = pieces(lambda x: np.sin(x) if x[0] > 0 else np.cos(x))
    first = made.specialiser.specialise(made.request(X))
    made.table.clear()
    request = made.request(-X)._replace(onto=first.entry, forced=[True])
    found = made.specialiser.in_turn(request, made.table.calls)
    assert found is not None
    assert_same(found.call(-X), np.cos(-X))
    assert len(found.entry.traces) == 1


def test_the_options_of_a_call_reach_its_kernel() -> None:
    made = pieces(lambda x: x / 3.0 * 2.0, options=Options(cache=False, exact=True))
    found = made.specialiser.specialise(made.request(X))
    assert_same(found.call(X), X / 3.0 * 2.0)
    assert found.kernel.path is None


def test_an_impure_function_is_found_before_a_kernel_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEJIT_CHECK", "1")
    made = pieces(lambda x: x + np.random.default_rng().normal())
    with pytest.raises(TracejitError, match="random numbers"):
        made.specialiser.specialise(made.request(X))
    assert made.table.kernels == []
