"""Functions of the standard library that look at types, given what is recorded."""

from __future__ import annotations

import base64
import datetime
import io
import json
import math
import operator
import struct
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import ValueNeededError

X = np.array([1.5, 0.4, 2.25])
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "json.dumps": lambda x: json.dumps({"loss": float(x[0])}),
    "struct.pack": lambda x: struct.pack("d", float(x[0])),
    "time.sleep": lambda x: time.sleep(x[1]),
    "datetime.timedelta": lambda x: datetime.timedelta(seconds=float(x[0])),
    "datetime.datetime.fromtimestamp": lambda x: datetime.datetime.fromtimestamp(float(x[0])),
    "Decimal": lambda x: Decimal(float(x[0])),
    "zlib.crc32": lambda x: zlib.crc32(x),
    "base64.b64encode": lambda x: base64.b64encode(x),
    "memoryview": lambda x: memoryview(x),
    "bytes": lambda x: bytes(x),
    "json.JSONEncoder": lambda x: json.JSONEncoder().encode([float(x[0])]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_looks_at_types_is_refused_by_its_name(name: str) -> None:
    program = PROGRAMS[name]
    with pytest.raises(ValueNeededError) as caught:
        tj.function(lambda x: [program(x), x * 2][1])(X)
    what, line, _, why, fix = str(caught.value).split("\n")
    assert what.startswith(name) and "needs a value" in what
    assert "test_standard.py" in line and "tj.callback" in fix and why
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__


def test_methods_of_objects_are_refused_as_they_are_written() -> None:
    def written(x: Any) -> Any:
        out = io.BytesIO()
        out.write(x)
        return x

    with pytest.raises(ValueNeededError, match=r"^out\.write needs a value"):
        tj.function(written)(X)


def test_an_error_that_the_program_catches_is_told() -> None:
    def kept(x: Any) -> Any:
        try:
            text = json.dumps(float(x[0]))
        except TypeError:
            text = ""
        return x * len(text)

    with pytest.raises(tj.TracejitError, match=r"caught.*json\.dumps"):
        tj.function(kept)(X)


def test_numbers_that_are_known_are_handed_over() -> None:
    def packed(x: Any) -> Any:
        return x * len(struct.pack("i", int(x[2]))) * len(json.dumps({"n": int(x[2])}))

    for _ in range(2):
        np.testing.assert_array_equal(tj.function(packed)(X), packed(X))


def test_errors_of_the_users_functions_are_theirs() -> None:
    def broken(_: Any) -> Any:
        raise TypeError("mine")

    class Own(json.JSONEncoder):
        def default(self, o: Any) -> Any:
            return broken(o)

    with pytest.raises(TypeError, match=r"^mine$"):
        tj.function(lambda x: json.dumps([x], cls=Own))(X)
    with pytest.raises(TypeError, match="bad operand"):
        tj.function(lambda x: x * operator.neg("a"))(X)  # type: ignore[operator]


def test_functions_that_look_at_the_caller_find_it() -> None:
    def warned(x: Any) -> Any:
        warnings.warn("here", stacklevel=1)
        frame = sys._getframe(0)
        return x * (frame.f_code.co_name == "warned")

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(tj.function(warned)(X), X)
    assert found[0].filename == __file__


def test_pow_takes_a_modulus() -> None:
    def powers(x: Any) -> Any:
        return x * pow(int(x[2]), 3, 5) + pow(float(x[0]), 2)

    np.testing.assert_allclose(tj.function(powers)(X), powers(X))
    np.testing.assert_allclose(tj.grad(lambda x: pow(x[0], 2))(X), [3.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="unsupported operand"):
        tj.function(lambda x: x * pow(x.astype(int)[2], 3, 5))(X)


def test_functions_of_numbers_are_as_they_were() -> None:
    def counted(x: Any) -> Any:
        return x * math.gcd(int(x[2]), 6) * len([1, 2, 3][: int(x[2])])

    np.testing.assert_array_equal(tj.function(counted)(X), counted(X))
