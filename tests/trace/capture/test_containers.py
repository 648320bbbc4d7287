"""Objects that show their memory are compared by it, and by what pointers in it point to."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.capture.captures import Captures

X = np.array([1.0, 2.0, 3.0])


class Pair(ctypes.Structure):
    """A structure with a pointer and a text."""

    _fields_ = (
        ("a", ctypes.c_double),
        ("b", ctypes.POINTER(ctypes.c_double)),
        ("c", ctypes.c_char_p),
    )

    scale = 1.0

    def total(self) -> float:
        """A method of the user's."""
        return float(self.a * self.scale)


def assigned(thing: Any, name: Any, value: Any) -> Callable[[], None]:
    """What sets an element or attribute."""

    def change() -> None:
        if isinstance(name, str):
            setattr(thing, name, value)
        else:
            thing[name] = value

    return change


def cases() -> dict[str, tuple[Callable[[], float], Callable[[], None]]]:
    """A number that is read, and what changes it."""
    number, small = ctypes.c_double(2.0), ctypes.c_int(2)
    numbers = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    target = ctypes.c_double(2.0)
    pointer, null = ctypes.pointer(target), ctypes.POINTER(ctypes.c_double)()
    pair = Pair(1.0, pointer, b"ab")
    pointers = (ctypes.POINTER(ctypes.c_double) * 1)(pointer)
    text = ctypes.create_string_buffer(b"ab")
    characters = ctypes.c_char_p(ctypes.addressof(text))
    held = ctypes.py_object([1.0])
    mapped = mmap.mmap(-1, 100)
    own, table = bytearray(b"ab"), array.array("d", [1.0, 2.0])
    view = memoryview(table)
    return {
        "number": (lambda: number.value, assigned(number, "value", 3.0)),
        "integer": (lambda: small.value, assigned(small, "value", 3)),
        "array": (lambda: numbers[2], assigned(numbers, 2, 7.0)),
        "array as NumPy": (lambda: float(np.sum(np.asarray(numbers))), assigned(numbers, 1, 7.0)),
        "pointer": (lambda: pointer.contents.value, assigned(target, "value", 9.0)),
        "indexed pointer": (lambda: pointer[0], assigned(target, "value", 8.0)),
        "null": (lambda: float(bool(null)), assigned(null, "contents", target)),
        "structure": (lambda: pair.a, assigned(pair, "a", 5.0)),
        "method of a structure": (lambda: pair.total(), assigned(pair, "a", 6.0)),
        "pointer in a structure": (lambda: pair.b[0], assigned(target, "value", 4.0)),
        "text in a structure": (lambda: len(pair.c), assigned(pair, "c", b"abc")),
        "pointers": (lambda: pointers[0][0], assigned(target, "value", 3.0)),
        "characters": (lambda: characters.value[0], assigned(text, 0, b"z")),
        "object": (lambda: held.value[0], lambda: held.value.__setitem__(0, 2.0)),
        "mmap": (lambda: mapped[77], assigned(mapped, 77, 5)),
        "bytearray": (lambda: own[1], assigned(own, 1, 0)),
        "array.array": (lambda: table[1], assigned(table, 1, 5.0)),
        "memoryview": (lambda: view[0], assigned(table, 0, 5.0)),
    }


@pytest.mark.parametrize("name", cases())
def test_a_buffer_that_changes_is_noticed(name: str) -> None:
    read, change = cases()[name]
    f = tj.function(lambda x: x * read())
    for _ in range(2):
        assert f(X).tolist() == (X * read()).tolist()
    assert f.tracing_count == 1
    before = read()
    change()
    assert read() != before
    assert f(X).tolist() == (X * read()).tolist()


def test_attributes_of_a_structure_of_the_users_are_read() -> None:
    pair = Pair(1.0)
    guard: Any = Captures([lambda: pair.total()]).guard()
    assert guard()
    pair.scale = 2.0
    assert not guard()


def test_a_view_of_bytes_cannot_change() -> None:
    view = memoryview(b"abc")
    guard: Any = Captures([lambda: view[0]]).guard()
    assert not guard.compared()
    assert guard()
