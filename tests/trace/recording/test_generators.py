"""NumPy generators as arguments: every draw takes place at each call, as in plain Python.

The same numbers, dtypes, shapes and types as the method itself, and the same state afterwards, is
the measure: call after call, bit for bit.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.arrays import rng, state
from tests.support.compare import assert_same
from tracejit.support.errors import InPlaceError, UnsupportedError, ValueNeededError
from tracejit.trace.recording.generators import draws

X = np.array([1.0, -2.0, 0.5])
A = np.array([2.0, 3.5])
M = np.arange(12.0).reshape(3, 4)
THIRDS = np.array([0.5, 0.25, 0.25])
F4 = np.float32
Call = tuple[tuple[Any, ...], dict[str, Any]]


def given(*args: Any, **kwargs: Any) -> Call:
    """What a method is called with."""
    return args, kwargs


# Every method that draws, with the kinds of arguments that it takes.
METHODS: dict[str, list[Call]] = {
    "beta": [given(2.0, 3.0), given(2.0, A), given(2.0, 3.0, size=(2, 3))],
    "binomial": [given(10, 0.5), given(10, 0.5, 5), given(np.array([5, 10]), 0.5)],
    "chisquare": [given(2.0), given(A), given(2.0, (2, 1))],
    "choice": [
        given(5),
        given(5, 3, False),
        given([1.5, 2.5, 3.5], 2),
        given(M, 2, axis=1),
        given(M),
        given(np.array([1, 2], F4)),
        given(5, 3, replace=False, shuffle=False),
        given(3, 4, p=[0.5, 0.25, 0.25]),
        given(X, p=THIRDS),
    ],
    "dirichlet": [given([1.0, 2.0, 3.0], 4), given(A)],
    "exponential": [given(), given(2.0, 3), given(scale=A)],
    "f": [given(2.0, 3.0), given(A, 3.0)],
    "gamma": [given(2.0), given(2.0, 3.0, 4), given(A)],
    "geometric": [given(0.5), given(0.5, 4)],
    "gumbel": [given(), given(1.0, 2.0, 3)],
    "hypergeometric": [given(5, 6, 7), given(np.array([7, 8]), 6, 3, (2, 2))],
    "integers": [
        given(5),
        given(2, 9, 4),
        given(0, 256, 4, np.uint8),
        given(5, dtype=np.int32),
        given(5, dtype=int),
        given(5, size=3, endpoint=True),
        given(np.array([3, 5]), np.array([7, 9])),
        given(2**63, dtype=np.uint64),
    ],
    "laplace": [given(), given(1.0, 2.0, 3)],
    "logistic": [given(), given(A, 2.0)],
    "lognormal": [given(), given(1.0, 2.0, 3)],
    "logseries": [given(0.5), given(np.array([0.25, 0.5]))],
    "multinomial": [given(10, [0.25, 0.25, 0.5]), given(10, THIRDS, 4)],
    "multivariate_hypergeometric": [given([5, 6, 7], 4), given([5, 6, 7], 4, method="count")],
    "multivariate_normal": [
        given(np.zeros(2), np.array([[1.0, 0.25], [0.25, 2.0]]), 3),
        given(np.zeros(2), np.eye(2), method="cholesky"),
    ],
    "negative_binomial": [given(5, 0.5), given(5, 0.5, 3)],
    "noncentral_chisquare": [given(2.0, 1.0), given(A, 1.0)],
    "noncentral_f": [given(2.0, 3.0, 1.0), given(A, 3.0, 1.0)],
    "normal": [given(), given(1.0, 2.0, 3), given(size=(2, 2)), given(A), given(scale=3, size=())],
    "pareto": [given(3.0), given(3.0, 2)],
    "permutation": [given(5), given(M), given(M, 1), given([1, 2, 3]), given(M.astype(F4))],
    "permuted": [given(M), given(M, axis=1), given([3, 1, 2])],
    "poisson": [given(), given(3.0, 4), given(A)],
    "power": [given(3.0), given(A)],
    "random": [given(), given((2, 3), F4), given(dtype="f4"), given([2, 3])],
    "rayleigh": [given(), given(2.0, 3)],
    "standard_cauchy": [given(), given(3)],
    "standard_exponential": [given(), given(3, F4, "inv"), given(dtype=F4)],
    "standard_gamma": [given(2.0), given(2.0, 3, "f4"), given(A)],
    "standard_normal": [given(), given((2, 3), F4)],
    "standard_t": [given(3.0), given(A)],
    "triangular": [given(0.0, 1.0, 2.0, 3), given(-A, 0.0, A)],
    "uniform": [given(), given(1.0, 2.0, 3), given(A, 5.0), given(high=3)],
    "vonmises": [given(0.0, 4.0), given(0.0, A)],
    "wald": [given(1.0, 2.0), given(A, 2.0)],
    "weibull": [given(2.0), given(A)],
    "zipf": [given(3.0), given(A)],
}
CALLS = [
    pytest.param(name, *call, id=f"{name} {k}")
    for name, calls in METHODS.items()
    for k, call in enumerate(calls)
]


def check(f: Callable[..., Any], make: Callable[[], tuple[Any, ...]], calls: int = 3) -> Any:
    """f(*make()) compiled is f in plain Python, call after call, and so are its generators; the
    compiled function."""
    compiled = tj.function(f)
    mine, numpys = make(), make()
    for _ in range(calls):
        assert_same(compiled(*mine), f(*numpys))
        for one, other in zip(generators(mine), generators(numpys), strict=True):
            assert state(one) == state(other)
    return compiled


def generators(given: Any) -> list[Any]:
    """The generators in a structure."""
    if isinstance(given, dict):
        given = tuple(given.values())
    if isinstance(given, (list, tuple)):
        return [one for part in given for one in generators(part)]
    return [given] if hasattr(given, "bit_generator") else []


# Methods


def test_every_method_that_draws_is_tried() -> None:
    assert METHODS.keys() == draws() - {"bytes"}


@each_row(("name", "args", "kwargs"), CALLS)
def test_a_method_draws_what_numpy_draws(name: str, args: Any, kwargs: Any) -> None:
    compiled = check(lambda rng: getattr(rng, name)(*args, **kwargs), lambda: (rng(),))
    assert compiled.tracing_count == 1


ON_ARGUMENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "binomial": (lambda r, n, p: r.binomial(n, p), (np.array([3, 4]), np.array([0.1, 0.9]))),
    "choice": (lambda r, x, p: r.choice(x, p=p), (X, THIRDS)),
    "choice of rows": (lambda r, x: r.choice(x, 2, replace=False), (M,)),
    "dirichlet": (lambda r, a: r.dirichlet(a, size=2), (X**2,)),
    "gamma": (lambda r, a: r.gamma(a), (A,)),
    "gamma float32": (lambda r, a: r.standard_gamma(a, dtype=F4), (A.astype(F4),)),
    "hypergeometric": (lambda r, n: r.hypergeometric(n, n, 3), (np.array([7, 8]),)),
    "integers": (lambda r, a, b: r.integers(a, b), (np.array([3, 5]), np.array([7, 9]))),
    "multinomial": (lambda r, p: r.multinomial(9, p), (THIRDS,)),
    "multivariate": (lambda r, c: r.multivariate_normal(np.zeros(2), c), (np.diag(A),)),
    "permutation": (lambda r, x: r.permutation(x), (M,)),
    "permutation of columns": (lambda r, x: r.permutation(x, axis=1), (M,)),
    "permuted": (lambda r, x: r.permuted(x, axis=1), (M,)),
    "permuted list": (lambda r, x: r.permuted([x, x + 1]), (X,)),
    "poisson": (lambda r, x: r.poisson(x), (A,)),
    "triangular": (lambda r, x: r.triangular(-x, 0.0, x), (A,)),
    "wald": (lambda r, x: r.wald(x, 2 * x), (A,)),
    "zipf": (lambda r, x: r.zipf(x), (A,)),
}


@pytest.mark.parametrize("name", ON_ARGUMENTS)
def test_a_draw_on_recorded_arrays(name: str) -> None:
    f, args = ON_ARGUMENTS[name]
    check(f, lambda: (rng(), *args))


def test_what_a_draw_is_used_for() -> None:
    """Indices, masks, permutations of an argument's rows."""

    def f(r: Any, x: Any) -> Any:
        rows = x[r.permutation(len(x))]
        kept = np.where(r.random(x.shape) < 0.5, rows, 0.0)
        return kept, x[r.integers(len(x))], np.take(x, r.choice(3, 2, replace=False), axis=0)

    check(f, lambda: (rng(), M))


# Where the generator is


def test_several_draws_and_those_that_nobody_uses() -> None:
    def f(r: Any, x: Any) -> Any:
        r.random(3)
        e = r.normal(size=x.shape)
        r.integers(10)
        r.normal(x)
        return x + e * r.standard_exponential()

    check(f, lambda: (rng(), X))


def test_a_function_of_nothing_else_that_returns_nothing_drawn() -> None:
    check(lambda r: (r.normal(), 1.0)[1], lambda: (rng(),))


def test_draws_in_functions_that_are_called() -> None:
    def noise(r: Any, x: Any) -> Any:
        return r.normal(size=x.shape) * x

    inner = tj.function(noise)
    check(lambda r, x: noise(r, x) + r.random() + noise(r, x), lambda: (rng(), X))
    check(lambda r, x: inner(r, x) + r.random() + inner(r, x), lambda: (rng(), X))


def test_draws_in_a_loop() -> None:
    check(lambda r, x: sum(x * r.normal(size=3) for _ in range(4)), lambda: (rng(), X))


def test_two_generators_in_turns() -> None:
    def f(r: Any, s: Any, x: Any) -> Any:
        return r.normal(size=3) + s.random() * x + r.random() - s.normal()

    check(f, lambda: (rng(1), rng(2), X))


def test_the_same_generator_twice() -> None:
    def f(r: Any, s: Any, x: Any) -> Any:
        return r.normal(size=3) + s.random() * x + r.random() - s.normal()

    def twice() -> tuple[Any, ...]:
        one = rng()
        return one, one, X

    compiled = check(f, twice)
    assert_same(compiled(rng(1), rng(2), X), f(rng(1), rng(2), X))


def test_the_same_generator_as_an_argument_and_captured() -> None:
    mine, numpys = rng(), rng()
    captured = tj.random.Generator(mine)
    f = tj.function(lambda r, x: r.normal() + captured.normal() * x)
    for _ in range(3):
        assert_same(f(mine, X), numpys.normal() + numpys.normal() * X)


def test_generators_in_containers() -> None:
    check(
        lambda gs, x: x * gs["a"].normal() + gs["b"].normal(size=3),
        lambda: ({"b": rng(1), "a": rng(2)}, X),
    )
    check(lambda gs, x: [g.normal() * x for g in gs], lambda: ([rng(1), rng(2)], X))
    check(lambda x, *gs: gs[0].normal() * x - gs[1].normal(), lambda: (X, rng(1), rng(2)))


def test_an_optional_generator() -> None:
    f = tj.function(lambda x, r=None: x if r is None else x * r.normal())
    drawn = X * rng().normal()
    for _ in range(2):
        assert_same(f(X), X)
        assert_same(f(X, rng()), drawn)
        assert_same(f(X, r=rng()), drawn)
    assert f.tracing_count == 2


@pytest.mark.parametrize("bits", ["PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_any_bit_generator(bits: str) -> None:
    make = getattr(np.random, bits)
    check(
        lambda r, x: r.integers(9, dtype=np.uint8) + r.normal(size=3) * x,
        lambda: (np.random.Generator(make(3)), X),
    )


def test_another_generator_and_another_shape() -> None:
    f = tj.function(lambda r, x: x * r.normal(size=x.shape))
    for seed, x in enumerate((X, M, X, 2 * M, M.astype(F4))):
        assert_same(f(rng(seed), x), x * rng(seed).normal(size=x.shape))
    assert f.tracing_count == 3


def test_a_generator_of_tj_random_is_an_argument_too() -> None:
    f = tj.function(lambda r, x: x * r.normal(size=3))
    mine, numpys = tj.random.default_rng(5), rng()
    for _ in range(2):
        assert_same(f(mine, X), X * numpys.normal(size=3))
        assert state(mine) == state(numpys)


def test_a_kernel_takes_the_generator() -> None:
    kernel = tj.function(lambda r, x: x * r.normal()).kernel(rng(), tj.TensorSpec((3,)))
    assert_same(kernel.forward(rng(), X), X * rng().normal())


def test_threads_with_a_generator_each() -> None:
    def f(r: Any, x: Any) -> Any:
        return np.sum(x * r.normal(size=3)) + r.random()

    compiled = tj.function(f)
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        mine = rng(seed)
        found[seed] = [compiled(mine, X) for _ in range(40)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(6):
        numpys = rng(seed)
        assert found[seed] == [f(numpys, X) for _ in range(40)]


# Numbers that decide a shape


SIZES: dict[str, Callable[..., Any]] = {
    "size": lambda r, n: np.mean(r.normal(size=n)),
    "sizes": lambda r, n: np.var(r.normal(size=(n, 2)), axis=0),
    "positional": lambda r, n: r.standard_normal(n).reshape(-1, 1),
    "permutation": lambda r, n: np.mean(r.permutation(n)),
    "choice": lambda r, n: r.choice(n, 3, replace=False),
    "length": lambda r, n: len(r.random(n)),
    "shape": lambda r, n: r.uniform(1.0, 2.0, n).shape,
    "elements": lambda r, n: r.normal(size=n)[n - 1],
    "axis": lambda r, n: r.permuted(M, axis=n % 2),
    "parameter": lambda r, n: r.poisson(n, 3),
    "bound": lambda r, n: r.integers(n) + r.integers(n, size=2),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_python_number_that_changes(name: str) -> None:
    """From its second value on it is no constant."""
    f = SIZES[name]
    compiled, mine, numpys = tj.function(f, exact=True), rng(), rng()
    for n in (4, 5, 6, 5, 4):
        assert_same(compiled(mine, n), f(numpys, n))
        assert state(mine) == state(numpys)


def test_a_size_that_is_drawn_is_a_way_of_its_own() -> None:
    def f(r: Any) -> Any:
        return np.sum(r.normal(size=r.integers(3, 9)))

    compiled, mine, numpys = tj.function(f, exact=True), rng(), rng()
    for _ in range(12):
        assert_same(compiled(mine), f(numpys))
        assert state(mine) == state(numpys)
    assert len(compiled.kernels) == 1


# Python floats


def test_a_draw_without_size_is_a_python_float() -> None:
    """float32 stays float32, as in NumPy, where a float64 scalar would not leave it so."""
    f = tj.function(lambda r, x: (x * r.normal(), r.uniform(), x + r.integers(3)))
    x = X.astype(F4)
    r = rng()
    assert_same(f(rng(), x), (x * r.normal(), r.uniform(), x + r.integers(3)))
    found = f(rng(), x)
    assert found[0].dtype == F4
    assert type(found[1]) is float


CONVERSIONS: dict[str, Callable[[Any], Any]] = {"float": float, "round": round}


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_value_of_a_draw_is_not_to_be_had(name: str) -> None:
    """It would be frozen into the kernel."""
    convert, r = CONVERSIONS[name], rng()
    before = state(r)
    with pytest.raises(ValueNeededError) as caught:
        tj.function(lambda r: convert(r.normal()))(r)
    assert f"{name}(" in str(caught.value)
    assert state(r) == before


@pytest.mark.parametrize("name", CONVERSIONS)
def test_converted_draws_are_converted(name: str) -> None:
    convert, mine, numpys = CONVERSIONS[name], rng(), rng()
    f = tj.function(lambda r: convert(r.normal()) * 0.5)
    for _ in range(3):
        assert_same(f(mine), convert(numpys.normal()) * 0.5)
    assert len(f.kernels) == 1


# What is refused


def test_shuffle_is_refused() -> None:
    with pytest.raises(InPlaceError) as caught:
        tj.function(lambda r, x: (r.shuffle(x), x)[1])(rng(), X.copy())
    assert "rng.shuffle(x) writes in place" in str(caught.value)
    assert "Fix: write x = rng.permutation(x)" in str(caught.value)
    assert "r.shuffle(x)" in str(caught.value)


IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "random": lambda r, x: r.random(out=x),
    "standard_normal": lambda r, x: r.standard_normal(out=x),
    "standard_gamma": lambda r, x: r.standard_gamma(x, out=x),
    "permuted": lambda r, x: r.permuted(x, out=x),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_out_is_refused(name: str) -> None:
    x = np.ones(3)
    with pytest.raises(InPlaceError):
        tj.function(IN_PLACE[name])(rng(), x)
    np.testing.assert_array_equal(x, np.ones(3))


@pytest.mark.parametrize("name", ["bit_generator", "spawn"])
def test_what_is_no_draw_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"Generator\.{name}"):
        tj.function(lambda r: getattr(r, name))(rng())


def test_bytes_are_no_array() -> None:
    with pytest.raises(UnsupportedError, match=r"bytes\(7\)"):
        tj.function(lambda r: r.bytes(7))(rng())


def test_a_generator_has_no_method_that_numpy_has_not() -> None:
    assert tj.function(lambda r, x: x if hasattr(r, "foo") else -x)(rng(), X)[0] == -1.0


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "none": (lambda r: r.normal(None), "NoneType"),
    "keyword": (lambda r: r.normal(foo=3), "unexpected keyword argument 'foo'"),
    "too many": (lambda r: r.normal(1, 2, 3, 4), "too many positional arguments"),
    "no parameter": (lambda r: r.gamma(), "missing a required argument: 'shape'"),
    "size": (lambda r: r.normal(size=2.5), "float"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_an_error_of_numpys_type(name: str) -> None:
    f, text = WRONG[name]
    with pytest.raises(TypeError):
        f(rng())
    with pytest.raises(TypeError, match=re.escape(text)) as caught:
        tj.function(f)(rng())
    assert "lambda r: r." in str(caught.value)


def test_numbers_out_of_range_are_numpys_error() -> None:
    for f in (lambda r: r.normal(1, -1), lambda r: r.choice(3, p=[0.5, 0.25, 0.125])):
        with pytest.raises(ValueError) as numpys:
            f(rng())
        with pytest.raises(ValueError, match=re.escape(str(numpys.value)[:20])):
            tj.function(f)(rng())


def test_a_draw_that_numpy_refuses_at_the_call() -> None:
    """Which values are allowed is for NumPy to say, and nothing is drawn."""
    f = tj.function(lambda r, lam: r.poisson(lam))
    f(r := rng(), A)
    before = state(r)
    with pytest.raises(ValueError, match="lam < 0"):
        f(r, -A)
    assert state(r) == before


def test_it_is_a_generator_for_isinstance() -> None:
    f = tj.function(lambda r, x: x * r.normal() if isinstance(r, np.random.Generator) else x)
    assert_same(f(rng(), X), X * rng().normal())


def test_other_kinds_of_generators_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="drew random numbers"):
        tj.function(lambda r: r.normal())(np.random.RandomState(0))


def test_a_captured_numpy_generator_is_refused() -> None:
    r = rng()
    with pytest.raises(UnsupportedError, match="drew random numbers from r while"):
        tj.function(lambda x: x * r.normal())(X)


def test_a_generator_is_no_result() -> None:
    with pytest.raises(TypeError, match="Generator"):
        tj.function(lambda r: r)(rng())


# The generated text


def test_a_draw_is_a_line_of_the_module() -> None:
    def noisy(rng: Any, x: Any) -> Any:
        rng.random(3)
        noise = rng.normal(size=x.shape)
        return x + noise

    text = tj.function(noisy).kernel(rng(), X).source
    assert "    noise = rng.normal(size=(3,))\n" in text
    assert "rng.random(3)\n" in text
    assert text.index("rng.random(3)") < text.index("noise = ")
