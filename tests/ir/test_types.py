"""Types: interned, told apart by form, printed and read back."""

from __future__ import annotations

import copy
import enum
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.ir.types import ArrayType, dtype_letters, parse_type, type_of
from tracejit.support.errors import GraphError

F8 = np.dtype("f8")
DTYPES = [np.dtype(letters) for letters in ("b1", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16")]
TYPES = st.one_of(
    st.builds(
        ArrayType, st.lists(st.integers(0, 99), max_size=4).map(tuple), st.sampled_from(DTYPES)
    ),
    st.builds(ArrayType, st.just(()), st.sampled_from(DTYPES), st.sampled_from(("scalar", "weak"))),
)


class Kind(enum.IntEnum):
    ONE = 1


class Subclass(np.ndarray):
    pass


def test_equal_types_are_one_object() -> None:
    assert ArrayType((2, 3), F8) is ArrayType((2, 3), np.dtype(np.float64))
    assert ArrayType((), F8) is not ArrayType((), F8, "scalar")
    assert ArrayType((2,), F8) is not ArrayType((2,), np.dtype("f4"))


def test_copies_and_pickles_are_the_same_object() -> None:
    type = ArrayType((2, 3), F8)
    assert copy.deepcopy(type) is type
    assert pickle.loads(pickle.dumps(type)) is type


@given(TYPES)
def test_every_type_is_read_back_from_its_print(type: ArrayType) -> None:
    assert parse_type(repr(type)) is type


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (np.zeros((8, 3)), "f8[8,3]"),
        (np.zeros((0, 2), np.float32), "f4[0,2]"),
        (np.zeros(()), "f8[]"),
        (np.array(True), "b1[]"),
        (np.float64(1), "f8"),
        (np.complex64(1), "c8"),
        (np.bool_(True), "b1"),
        (np.uint8(1), "u1"),
        (1, "~i8"),
        (1.0, "~f8"),
        (True, "~b1"),
        (1j, "~c16"),
    ],
)
def test_arrays_scalars_and_python_numbers_are_told_apart(value: object, printed: str) -> None:
    assert repr(type_of(value)) == printed


@pytest.mark.parametrize("value", [None, "1", [1.0], Kind.ONE, np.zeros(3).view(Subclass)])
def test_anything_else_has_no_type(value: object) -> None:
    assert type_of(value) is None


def test_size_ndim_and_inexact() -> None:
    assert ArrayType((2, 3), F8).size == 6
    assert ArrayType((2, 0, 3), F8).size == 0
    assert ArrayType((), F8).size == 1
    assert ArrayType((2, 3), F8).ndim == 2
    assert ArrayType((), np.dtype("c8")).is_inexact
    assert not ArrayType((), np.dtype("i8")).is_inexact
    assert not ArrayType((), np.dtype("b1")).is_inexact


def test_form_and_dtype_are_exchanged() -> None:
    type = ArrayType((), F8, "weak")
    assert type.with_form("scalar") is ArrayType((), F8, "scalar")
    assert type.with_dtype(np.dtype("f4")) is ArrayType((), np.dtype("f4"), "weak")


def test_letters_of_a_dtype_say_nothing_of_byte_order() -> None:
    assert [dtype_letters(dtype) for dtype in DTYPES] == [
        "b1", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16"
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "f8[", "float", "f8(3)", "~~f8", "f8[3,x]"])
def test_what_is_not_a_type_is_refused(text: str) -> None:
    with pytest.raises(GraphError, match="is not a type"):
        parse_type(text)
