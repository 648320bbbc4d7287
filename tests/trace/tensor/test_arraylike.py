"""ArrayMethods: ndarray's attributes, methods and operators, the same for Tensors and Variables."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.interpret import interpret, record
from tests.rows import each_row
from tests.support.compare import assert_same
from tracejit.ir.types import type_of
from tracejit.support.errors import InPlaceError
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.tensor.arraylike import ArrayMethods
from tracejit.trace.tensor.tensor import Tensor

MATRIX = np.array([[1.5, -2.0, 0.25], [4.0, 0.5, -1.25]])
COUNTS = np.array([[3, 1, 2], [5, 4, 6]])


def recorded(call: Callable[[Any], Any], given: Any) -> list[Any]:
    """What a recording of the call computes."""
    return interpret(record(call, given)[0], given)


def plain(found: Any) -> Any:
    """The arrays of a result that is Tensors."""
    if type(found) in (list, tuple):
        return [plain(one) for one in found]
    if not isinstance(found, (tj.Tensor, tj.Variable)):
        return found
    return found.numpy()


KINDS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "tensor": lambda call, given: plain(call(tj.constant(given))),
    "variable": lambda call, given: plain(call(tj.Variable(given))),
    "recording": recorded,
}


@pytest.fixture(params=KINDS)
def computed(request: pytest.FixtureRequest) -> Any:
    """Computes a call on an array as an eager Tensor, a Variable, or in a recording."""
    return KINDS[request.param]


METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: [x.sum(), x.sum(0), x.sum(axis=1, keepdims=True)],
    "mean": lambda x: [x.mean(), x.mean(1)],
    "prod": lambda x: [x.prod(), x.prod(axis=0)],
    "max": lambda x: [x.max(), x.max(1), x.min(), x.min(axis=0)],
    "var": lambda x: [x.var(), x.var(axis=0), x.std(), x.std(axis=1)],
    "any": lambda x: [(x > 0).any(), (x > 0).all(), (x > 0).any(axis=0)],
    "argmax": lambda x: [x.argmax(), x.argmin(axis=1), x.argsort(axis=1)],
    "cumsum": lambda x: [x.cumsum(), x.cumsum(axis=1), x.cumprod(axis=0)],
    "dot": lambda x: [x.dot(x.T), x.trace(), x.diagonal()],
    "clip": lambda x: [x.clip(-1.0, 1.0), x.round(1)],
    "shape": lambda x: [
        x.reshape(3, 2), x.reshape((6,)), x.reshape(-1), x.ravel(), x.flatten(),
        x.transpose(), x.transpose(1, 0), x.transpose((1, 0)), x.swapaxes(0, 1), x[None].squeeze(),
        x.T, x.mT, x.repeat(2, axis=0),
    ],
    "take": lambda x: [x.take([0, 1]), x.take([1], axis=0), x.compress([False, True], axis=0)],
    "astype": lambda x: [x.astype("f4"), x.astype(np.complex128), x.copy()],
    "parts": lambda x: [x.real, (x * 1j).imag, (x + 1j).conj(), (x + 1j).conjugate()],
    "index": lambda x: [x[0], x[..., 1], x[:, ::-1], x[1, 2], x[None], x[[1, 0, 1]]],
    "divmod": lambda x: [*divmod(x, 2.0), *divmod(7.0, x)],
    "signs": lambda x: [-x, +x, abs(x)],
    "sides": lambda x: [2.0 - x, 1.0 / x, 2.0 ** x, x ** 2, x // 2.0, 7.0 % x, x @ x.T],
    "compare": lambda x: [x < 0.5, x <= 0.5, x > 0.5, x >= 0.5, x == 0.5, x != 0.5, 0.5 < x],
}  # fmt: skip


@each_row("name", METHODS)
def test_methods_and_operators_are_ndarrays(computed: Any, name: str) -> None:
    call = METHODS[name]
    found, expected = computed(call, MATRIX), call(MATRIX)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("symbol", [operator.and_, operator.or_, operator.xor, operator.lshift])
def test_bitwise_operators(computed: Any, symbol: Callable[..., Any]) -> None:
    def call(n: Any) -> Any:
        return [symbol(n, 2), symbol(2, n), ~n, n >> 1]

    for one, other in zip(computed(call, COUNTS), call(COUNTS), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [MATRIX, COUNTS, np.array(2.5), np.float32(2.5), np.ones((0, 3))])
@pytest.mark.parametrize("make", [tj.constant, tj.Variable])
def test_attributes_are_ndarrays(make: Callable[[Any], Any], given: Any) -> None:
    made = make(given)
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(made, name) == getattr(given, name), name
    assert made.type is type_of(given)


@pytest.mark.parametrize("make", [tj.constant, tj.Variable])
def test_length_and_iteration_are_ndarrays(make: Callable[[Any], Any]) -> None:
    made = make(MATRIX)
    assert len(made) == 2
    for row, expected in zip(made, MATRIX, strict=True):
        np.testing.assert_array_equal(row.numpy(), expected)
    first, second = made
    np.testing.assert_array_equal((first - second).numpy(), MATRIX[0] - MATRIX[1])
    assert list(make(np.ones((0, 3)))) == []
    for call in (len, iter):
        with pytest.raises(TypeError, match=r"unsized|0-d|no len|not iterable"):
            call(make(2.5))


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (tj.constant, "resize"),
        *[(tj.Variable, name) for name in ("fill", "sort", "partition", "put", "resize")],
    ],
)
def test_methods_that_write_are_refused(make: Callable[[Any], Any], method: str) -> None:
    made = make(MATRIX)
    with pytest.raises(InPlaceError, match=method) as caught:
        getattr(made, method)(0)
    assert "getattr(made, method)(0)" in caught.value.where.text
    np.testing.assert_array_equal(made.numpy(), MATRIX)


@pytest.mark.parametrize("make", [tj.constant, tj.Variable])
def test_methods_write_numbers_into_out(make: Callable[[Any], Any]) -> None:
    out = np.zeros(3)
    with pytest.raises(InPlaceError, match="out"), tj.GradientTape():
        make(MATRIX).sum(axis=0, out=out)
    np.testing.assert_array_equal(out, np.zeros(3))
    assert make(MATRIX).sum(axis=0, out=out) is out
    np.testing.assert_array_equal(out, MATRIX.sum(axis=0))
    np.testing.assert_array_equal(make(MATRIX).sum(axis=0, out=None).numpy(), MATRIX.sum(axis=0))


@pytest.mark.parametrize("make", [tj.constant, tj.Variable])
def test_what_ndarray_refuses_is_refused(make: Callable[[Any], Any]) -> None:
    made = make(MATRIX)
    for call in (
        lambda x: x.reshape(4, 4),
        lambda x: x.sum(axis=5),
        lambda x: x[7],
        lambda x: x @ x,
    ):
        with pytest.raises((ValueError, IndexError)):
            call(MATRIX)
        with pytest.raises((ValueError, IndexError)):
            call(made)


def test_methods_are_documented_by_the_function_they_are() -> None:
    assert ArrayMethods.sum.__doc__ == "As np.sum."
    assert ArrayMethods.sum.__name__ == "sum"
    assert not [
        name
        for name, method in vars(ArrayMethods).items()
        if callable(method) and not name.startswith("_") and not method.__doc__
    ]


def test_both_kinds_of_arrays_are_array_methods() -> None:
    for kind in (Tensor, tj.Variable):
        assert issubclass(kind, ArrayMethods)
        # Without __slots__ in the base every Tensor would have a dict.
        assert "__dict__" not in dir(kind)


def test_the_base_leaves_the_rest_to_its_classes() -> None:
    base = ArrayMethods()
    for call in (
        lambda: base.type,
        lambda: base + 1,
        lambda: base.sum(),
        lambda: base._refuse_write("", base),
    ):
        with pytest.raises(NotImplementedError):
            call()


COPY: Any = np._CopyMode  # type: ignore[attr-defined]
NAMES: dict[str, Callable[[Any], Any]] = {
    "device": lambda x: (x.device, np.sum(x).device),
    "namespace": lambda x: x.__array_namespace__() is np,
    "a function of it": lambda x: x.__array_namespace__(api_version="2023.12").exp(x),
    "a number is one": lambda x: (tnp.isscalar(x), tnp.isscalar(x[0]), tnp.isscalar(np.sum(x))),
    "iterable": lambda x: (tnp.iterable(x), tnp.iterable(x[0])),
    "copy if needed": lambda x: tnp.asarray(x, copy=COPY.IF_NEEDED),
    "array if needed": lambda x: tnp.array(x, copy=COPY.IF_NEEDED) * 2.0,
    "always": lambda x: np.reshape(x, (2, 2), copy=COPY.ALWAYS),
    "reshaped if needed": lambda x: np.reshape(x, (2, 2), copy=COPY.IF_NEEDED),
    "of places that are known": lambda x: x[np.where(np.arange(4) > 1)],
    "under a condition": lambda x: np.sum(x[x > 1.5]),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_libraries_ask_of_an_array(name: str) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    wanted = NAMES[name](x)
    for found in (tj.function(NAMES[name])(x), NAMES[name](tj.constant(x))):
        assert_same(map_tree(np.asarray, found), map_tree(np.asarray, wanted))


AT_PLACES: dict[str, Callable[[Any], Any]] = {
    r"index with the condition, x\[condition\]": lambda x: x[np.where(x > 1.5)],
    r"index with a condition, x\[condition\]": lambda x: x[(x > 1.5).nonzero()],
}


@pytest.mark.parametrize("cure", AT_PLACES)
@pytest.mark.usefixtures("as_written")
def test_places_of_true_elements_are_refused_with_the_cure(cure: str) -> None:
    with pytest.raises(tj.TracejitError, match=cure):
        tj.function(AT_PLACES[cure])(np.array([1.0, 2.0, 3.0, 4.0]))


@pytest.mark.parametrize("f", AT_PLACES.values())
def test_converted_they_are_followed(f: Callable[[Any], Any]) -> None:
    compiled = tj.function(f)
    gradient = tj.grad(lambda x: np.sum(f(x) ** 2))
    for x in (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 1.0, 3.0]), np.zeros(4)):
        assert_same(compiled(x), f(x))
        assert_same(gradient(x), np.where(x > 1.5, 2.0 * x, 0.0))


def test_what_is_refused_with_the_cure() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(tj.TracejitError, match=r"x\[\.\.\., ::2\] \+ 1j"):
        tj.function(lambda x: x.view(complex))(x)
    with pytest.raises(ValueError, match="_CopyMode enum is not allowed"):
        tj.function(lambda x: x.astype(float, copy=COPY.ALWAYS))(x)
