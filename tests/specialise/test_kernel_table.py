"""The kernel table by itself: what is found, in which order, and what takes whose place."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.specialise.kernel_table import CompiledCall, KernelTable
from tracejit.trace.arguments.signature import Call

A, B = (Call([], {name: None}) for name in "ab")  # type: ignore[dict-item]


def compiled(
    key: str, call: Call = A, numbers: int = 0, sizes: Any = None, holds: bool = True
) -> CompiledCall:
    """An entry that serves `call`, with a kernel of this key."""
    entry: Any = SimpleNamespace(
        call=call,
        sizes=sizes,
        fixed=dict.fromkeys(range(numbers)),
        is_for=lambda other: other is call,
        holds=lambda: holds,
    )
    kernel: Any = SimpleNamespace(key=key)
    return CompiledCall(entry, kernel, lambda: key)


def asked(table: KernelTable) -> list[Any]:
    """The keys of the entries in the order in which calls ask them."""
    return [call() for call in table.calls]


def test_a_new_table_is_empty() -> None:
    table = KernelTable()
    assert (table.compiled, table.calls, table.kernels, table.recordings) == ((), (), [], 0)
    assert table.find(A) is None
    assert table.kernel_of(None) is None


def test_what_fits_is_found() -> None:
    table = KernelTable()
    one = table.enter(compiled("1"))
    assert table.find(A) is one
    assert table.find(B) is None
    assert table.kernel_of(one.entry) is one.kernel
    table.enter(compiled("2", B, holds=False))
    assert table.find(B) is None


def test_entries_that_fix_most_are_asked_first_and_among_them_the_newest() -> None:
    table = KernelTable()
    for one in (
        compiled("free", sizes="n"),
        compiled("old"),
        compiled("new"),
        compiled("number", numbers=1),
        compiled("free number", sizes="n", numbers=1),
    ):
        table.enter(one)
    assert asked(table) == ["number", "new", "old", "free number", "free"]
    assert [one.key for one in table.kernels] == ["free", "old", "new", "number", "free number"]
    assert table.find(A, exact=True) is table.compiled[3]


def test_an_exact_call_finds_no_kernel_of_free_sizes() -> None:
    table = KernelTable()
    free = table.enter(compiled("free", sizes="n"))
    assert table.find(A) is free
    assert table.find(A, exact=True) is None


def test_the_joined_kernel_takes_the_place_of_the_one_it_joins() -> None:
    table = KernelTable()
    first, other = table.enter(compiled("1")), table.enter(compiled("2", B))
    joined = table.enter(compiled("1 and 3"), onto=first.entry)
    assert table.compiled == (other, joined)
    assert table.kernels == [joined.kernel, other.kernel]
    assert table.kernel_of(first.entry) is None


def test_the_same_kernel_for_the_same_call_takes_the_guard_of_the_new_one() -> None:
    table = KernelTable()
    first = table.enter(compiled("1"))
    again = table.enter(compiled("1"))
    assert again.kernel is first.kernel
    assert again.entry is not first.entry
    assert table.compiled == (again,)
    assert table.kernels == [first.kernel]
    table.enter(compiled("1", B))
    assert len(table.kernels) == 2


def test_a_kernel_for_one_call_is_shown_and_not_asked() -> None:
    table = KernelTable()
    for key in ("1", "1", "2"):
        table.add(compiled(key).kernel)
    assert [one.key for one in table.kernels] == ["1", "2"]
    assert table.calls == ()


def test_the_arguments_of_the_kernel_are_known_without_a_call() -> None:
    weights = np.ones(2)
    count = tj.Variable(1.0)

    def loss(x: Any, *, parts: Any, scale: Any = 2.0) -> Any:
        count.assign_add(1.0)
        return np.sum(x * parts["b"] * weights) * scale * count

    f = tj.function(loss, cache=False)
    x, b = np.arange(2.0), np.ones(2)
    f(x, parts={"b": b})
    (made,) = f._table.compiled
    arrays = made.arrays((x,), {"parts": {"b": b}})
    assert arrays[0] is x and arrays[1] is b
    assert any(one is weights for one in arrays)
    assert count.numpy() == 2.0
    assert made.kernel.forward(*arrays) is not None
    with pytest.raises(LookupError, match="does not fit"):
        made.arrays((x[:1],), {"parts": {"b": b}})


def test_clearing_keeps_the_count() -> None:
    table = KernelTable()
    table.enter(compiled("1"))
    table.count()
    table.clear()
    assert (table.compiled, table.calls, table.kernels, table.recordings) == ((), (), [], 1)


def test_no_entry_is_lost_among_threads() -> None:
    table = KernelTable()

    def enter(number: int) -> None:
        for k in range(20):
            table.enter(compiled(f"{number} {k}", Call([], {})))
            table.count()

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(table.compiled) == len(table.calls) == len(table.kernels) == 160
    assert table.recordings == 160
