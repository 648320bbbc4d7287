"""NumPy scalars that Python reads: recorded; in functions as written, guards where nothing is
differentiated by them, else refused."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import assert_same
from tracejit.support.errors import TracejitError

pytestmark = [
    pytest.mark.filterwarnings("ignore::tracejit.TracejitWarning"),
]

X = np.array([1.0, 2.0, 3.0])


def rooted(x: Any, lr: Any) -> Any:
    """Reads lr."""
    return np.sum(x * math.sqrt(lr))


READS: dict[str, tuple[Callable[..., Any], Any]] = {
    "math": (lambda x, n: x * math.sqrt(n), np.float64(4.0)),
    "float32": (lambda x, n: x.astype("f4") * math.sqrt(n), np.float32(2.0)),
    "strong": (lambda x, n: x.astype("f4") * n * float(n), np.float64(2.0)),
    "weak": (lambda x, n: x.astype("f4") * n.item(), np.float64(2.0)),
    "derived": (lambda x, n: x * math.exp(np.sin(2.0 * n) + len(x)), np.float64(2.0)),
    "complex": (lambda x, n: x * complex(n), np.complex64(2j)),
    "integer": (lambda x, n: x * math.factorial(n), np.int64(4)),
    "floor": (lambda x, n: x * math.floor(n), np.float64(4.5)),
    "text": (lambda x, n: {f"{n:.2f}": x}, np.float64(4.5)),
    "hash": (lambda x, n: {n: x}[2.5], np.float64(2.5)),
    "in a plain array": (lambda x, n: x * np.asarray([n, 1.0, 2.0]), np.float64(2.5)),
    "C code": (lambda x, n: x * datetime.timedelta(days=n).days, np.float64(2.0)),
}


@pytest.mark.parametrize("name", READS)
def test_python_reads_a_numpy_scalar_as_it_does_a_float(name: str) -> None:
    f, number = READS[name]
    assert_same(tj.function(f)(X, number), f(X, number))


@pytest.mark.usefixtures("as_written")
def test_every_value_that_is_read_has_its_own_kernel() -> None:
    f = tj.function(lambda x, n: x * math.copysign(2.0, n))
    for value in (3.0, -3.0, 0.0, -0.0, np.nan, 3.0, -0.0, np.nan):
        for kind in (np.float64, np.float32):
            assert_same(f(X, kind(value)), f.python(X, kind(value)))
    assert f.tracing_count == 10
    g = tj.function(lambda x, n: x * n)
    for value in (1.0, 2.0, 3.0):
        g(X, np.float64(value))
    assert g.tracing_count == 1


def test_a_scalar_that_is_read_and_decides_is_right_on_either_side() -> None:
    f = tj.function(lambda x, n: x * math.sqrt(n) if n > 2.0 else x - n)
    for value in (4.0, 1.0, 5.0, 1.0, 4.0, 0.5):
        assert_same(f(X, np.float64(value)), f.python(X, np.float64(value)))


def in_a_tape(x: Any, lr: Any) -> Any:
    """Differentiates by what it reads."""
    with tj.GradientTape() as tape:
        tape.watch(lr)
        y = rooted(x, lr)
    return tape.gradient(y, lr)


LOST: dict[str, Callable[[Any], Any]] = {
    "grad": lambda n: tj.grad(lambda x, n: rooted(x, n), argnums=1)(X, n),
    "jvp": lambda n: tj.jvp(lambda n: rooted(X, n), (n,), (np.float64(1.0),)),
    "vjp": lambda n: tj.vjp(lambda n: rooted(X, n), n)[1](1.0),
    "jacobian": lambda n: tj.jacobian(lambda n: rooted(X, n))(n),
    "hessian": lambda n: tj.hessian(lambda n: rooted(X, n))(n),
    "nested": lambda n: tj.function(tj.grad(lambda n: rooted(X, n)))(n),
    "tape": lambda n: tj.function(in_a_tape)(X, n),
    "gradients": lambda n: tj.function(lambda x, n: tj.gradients(rooted(x, n), [n]))(X, n),
    "of more": lambda n: tj.function(lambda x, n: tj.gradients(rooted(x, 2.0 * n), [n]))(X, n),
    "vmap": lambda n: tj.vmap(lambda n: rooted(X, n))(np.array([n, n])),
    "array": lambda n: tj.function(rooted)(X, np.array(n)),
}


# The derivatives of 6 sqrt(n) at 4.
DERIVATIVES: dict[str, Any] = {
    "grad": 1.5, "jvp": (12.0, 1.5), "vjp": (1.5,), "jacobian": 1.5, "hessian": -0.1875,
    "nested": 1.5, "tape": 1.5, "gradients": [1.5], "of more": [1.5 * np.sqrt(2.0)],
    "vmap": [12.0, 12.0], "array": 12.0,
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_by_what_is_recorded_the_derivatives_are_right(name: str) -> None:
    for _ in range(2):
        np.testing.assert_allclose(LOST[name](np.float64(4.0)), DERIVATIVES[name], rtol=1e-14)


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", LOST)
def test_nothing_is_read_that_is_differentiated_by(name: str) -> None:
    with pytest.raises(TracejitError, match=r"needs a value|off the tape"):
        LOST[name](np.float64(4.0))


@pytest.mark.usefixtures("as_written")
def test_a_tape_around_a_kernel_that_has_read_the_number_is_refused() -> None:
    f = tj.function(rooted)
    f(X, np.float64(4.0))
    with tj.GradientTape() as tape:
        lr = tj.constant(np.float64(4.0))
        assert f(X, lr) == 12.0
        tape.watch(lr)
        with pytest.raises(TracejitError, match="off the tape"):
            f(X, lr)
        x = tj.constant(X)
        tape.watch(x)
        y = f(x, np.float64(9.0))
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 3.0, 3.0]


def test_the_gradient_by_another_argument_reads_the_scalar() -> None:
    f = tj.grad(rooted)
    assert f(X, np.float64(4.0)).tolist() == [2.0, 2.0, 2.0]
    assert f(X, np.float64(9.0)).tolist() == [3.0, 3.0, 3.0]


def test_a_tape_around_a_kernel_sees_the_number() -> None:
    f = tj.function(rooted)
    for number in (4.0, 9.0):
        lr, x = tj.constant(np.float64(number)), tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch([lr, x])
            y = f(x, lr)
        by_lr, by_x = tape.gradient(y, [lr, x])
        np.testing.assert_allclose(by_lr.numpy(), 3.0 / np.sqrt(number))
        np.testing.assert_allclose(by_x.numpy(), np.full(3, np.sqrt(number)))
    assert len(f.kernels) == 1
