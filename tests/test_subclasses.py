"""Arrays of a subclass: right as NumPy has it, or refused by name, wherever they meet a recorded
array."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tracejit.support.errors import ArgumentError
from tracejit.trace.tensor.tensor import TENSORS

pytestmark = [
    pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning"),
]

X = np.array([1.0, 2.0, 3.0])


class Reflected(np.ndarray):
    """A subclass whose product is its own."""

    __array_priority__ = 20

    def __matmul__(self, other: Any) -> Any:
        return 43.0

    def __rmatmul__(self, other: Any) -> Any:
        return 42.0


class OfUfuncs(np.ndarray):
    """A subclass that answers every ufunc itself."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return 44.0


class OfFunctions(np.ndarray):
    """A subclass that answers every function itself."""

    def __array_function__(self, *args: Any) -> Any:
        return 45.0


class Bare(np.ndarray):
    """A subclass that changes nothing but the class of results."""


def in_file() -> np.ndarray:
    """An array that maps a file."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        mapped = np.memmap(file.name, dtype=float, shape=(3,), mode="w+")
    mapped[:] = X
    return mapped


KINDS: dict[str, Callable[[], Any]] = {
    "matrix": lambda: np.asmatrix(np.arange(9.0).reshape(3, 3)),
    "masked": lambda: np.ma.masked_array(X, [False, True, False]),
    "records": lambda: X.copy().view(np.recarray),
    "bare": lambda: X.copy().view(Bare),
    "reflected": lambda: X.copy().view(Reflected),
    "ufuncs": lambda: X.copy().view(OfUfuncs),
    "functions": lambda: X.copy().view(OfFunctions),
    "map of a file": in_file,
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "@": lambda x, w: x @ w,
    "@ from the right": lambda x, w: w @ x,
    "dot": lambda x, w: np.dot(w, x),
    "method dot": lambda x, w: x.dot(w),
    "inner": lambda x, w: np.inner(x, w),
    "*": lambda x, w: x * w,
    "* from the right": lambda x, w: w * x,
    "<": lambda x, w: x < w,
    "concatenate": lambda x, w: np.concatenate([x.reshape(-1, 3), w.reshape(-1, 3)]),
    "vstack": lambda x, w: np.vstack([x, w]),
    "append": lambda x, w: np.append(x, w),
    "where": lambda x, w: np.where(x > 1, x, w),
    "where of it": lambda x, w: np.where(w > 1, x, 0.0),
    "outer": lambda x, w: np.outer(x, w),
    "einsum": lambda x, w: np.einsum("i,...i->...", x, w),
    "clip": lambda x, w: np.clip(x, w, 5.0),
    "maximum": lambda x, w: np.maximum(x, w),
    "solve": lambda x, w: np.linalg.lstsq(w.reshape(-1, 3), x[: w.size // 3], rcond=None)[0],
    "indexed by it": lambda x, w: x[np.asarray(w > 1).ravel()[:3]],
    "assigned": lambda x, w: _assigned(x, w),
    "added in place": lambda x, w: _added(x, w),
    "constant": lambda x, w: x + np.sum(np.asarray(w)),
    "its function": lambda x, w: np.exp(w) * x,
}


def _assigned(x: Any, w: Any) -> Any:
    y = np.zeros(3) * x
    y[:] = w[0]
    return y


def _added(x: Any, w: Any) -> Any:
    y = x * 1.0
    y += np.ravel(w)[:3]
    return y


def told(value: Any) -> Any:
    """Class, shape, numbers and mask of an answer."""
    mask = np.ma.getmaskarray(value).tolist() if isinstance(value, np.ma.MaskedArray) else None
    return type(value), np.shape(value), np.ma.getdata(value).tolist(), mask


def plain(call: Callable[[Any, Any], Any], w: Any) -> Any:
    """What NumPy answers; None where it raises."""
    try:
        return told(call(X, w))
    except Exception:
        return None


@each_row("call", CALLS)
@each_row("kind", KINDS)
def test_captured_it_is_right_or_refused(kind: str, call: str) -> None:
    w, called = KINDS[kind](), CALLS[call]
    expected = plain(called, w)
    try:
        found = told(tj.function(lambda x: called(x, w))(X))
    except tj.TracejitError:
        assert kind != "map of a file"
        return
    except Exception:
        assert expected is None
        return
    assert found == expected


@each_row("call", CALLS)
@each_row("kind", KINDS)
def test_on_a_tape_it_is_right_or_refused(kind: str, call: str) -> None:
    w, x = KINDS[kind](), tj.constant(X)
    expected = plain(CALLS[call], w)
    try:
        found = CALLS[call](x, w)
    except Exception as error:
        assert isinstance(error, tj.TracejitError) or expected is None
        assert kind != "map of a file"
        return
    assert expected is not None
    if type(found) not in TENSORS:  # its own class made an array of the Tensor's numbers
        assert told(found) == expected
        return
    number = found.numpy()
    assert number.tolist() == expected[2]
    assert expected[0] in (np.ndarray, np.float64, float)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("map of a file", "ufuncs")]
)
def test_the_refusal_names_the_class_and_the_cure(kind: str) -> None:
    w = KINDS[kind]()
    masked = ("masked array", r"\.filled")
    name, cure = masked if kind == "masked" else (type(w).__name__, r"np\.asarray")
    with pytest.raises(ArgumentError, match=rf"(?s){name}.*x @ w.*{cure}"):
        tj.function(lambda x: x @ w)(X)
    with pytest.raises(ArgumentError, match=rf"(?s){name}.*{cure}"):
        tj.function(lambda x, w: x @ w)(X, w)


def test_a_mask_that_changes_is_noticed() -> None:
    w = np.ma.masked_array(X, [False, True, False])
    f = tj.function(lambda x: x * np.ma.filled(w, 0.0))
    assert f(X).tolist() == [1.0, 0.0, 9.0]
    w.mask[0] = True
    assert f(X).tolist() == [0.0, 0.0, 9.0]
    w.mask[:] = False
    assert f(X).tolist() == [1.0, 4.0, 9.0]
    settled = f.tracing_count
    f(X)
    assert f.tracing_count == settled


class Scaled(np.ndarray):
    """A subclass with an attribute and a method."""

    scale: float

    def values(self) -> Any:
        """The numbers times the scale."""
        return np.asarray(self) * self.scale


def test_attributes_and_methods_of_a_subclass_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    w = X.copy().view(Scaled)
    w.scale = 2.0
    f = tj.function(lambda x: x + w.values())
    assert f(X).tolist() == [3.0, 6.0, 9.0]
    w.scale = 3.0
    assert f(X).tolist() == [4.0, 8.0, 12.0]
    w[0] = 0.0
    assert f(X).tolist() == [1.0, 8.0, 12.0]
    monkeypatch.setattr(Scaled, "values", lambda self: np.zeros(3))
    assert f(X).tolist() == X.tolist()
