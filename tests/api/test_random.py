"""tj.random: the numbers of NumPy's generators, also where a function captures one."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tests.support.arrays import state
from tests.support.compare import assert_same
from tests.trace.recording.test_generators import CALLS, IN_PLACE, ON_ARGUMENTS
from tracejit.support.errors import InPlaceError, UnsupportedError

X = np.array([1.0, -2.0, 0.5])
M = np.arange(12.0).reshape(3, 4)
F4 = np.float32
Wrap = Callable[[Any], Any]
WRAPS: dict[str, Wrap] = {"plain": lambda f: f, "compiled": tj.function}


@pytest.fixture(params=list(WRAPS))
def wrap(request: pytest.FixtureRequest) -> Wrap:
    """A function as it is, or compiled."""
    return WRAPS[request.param]


def check(f: Callable[..., Any], wrap: Wrap, *args: Any, calls: int = 3) -> None:
    """f(generator, *args), the generator captured, is plain Python call after call."""
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)
    found = wrap(lambda *args: f(rng, *args))
    for _ in range(calls):
        assert_same(found(*args), f(numpys, *args))
        assert state(rng) == state(numpys)


# Draws


@each_row(("name", "args", "kwargs"), CALLS)
def test_a_captured_generator_draws_what_numpy_draws(
    name: str, args: Any, kwargs: Any, wrap: Wrap
) -> None:
    check(lambda rng: getattr(rng, name)(*args, **kwargs), wrap)


@each_row("name", ON_ARGUMENTS)
def test_a_draw_on_recorded_arrays(name: str, wrap: Wrap) -> None:
    f, args = ON_ARGUMENTS[name]
    check(f, wrap, *args)


@pytest.mark.parametrize("name", ON_ARGUMENTS)
def test_a_draw_on_eager_tensors(name: str) -> None:
    """The answer is a Tensor of the same array."""
    f, args = ON_ARGUMENTS[name]
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)
    for _ in range(2):
        found, expected = f(rng, *[tj.constant(one) for one in args]), f(numpys, *args)
        assert isinstance(found, tj.Tensor)
        np.testing.assert_array_equal(found.numpy(), expected)
        assert found.dtype == np.asarray(expected).dtype
        assert state(rng) == state(numpys)


def test_several_draws_some_unused_in_functions_that_are_called(wrap: Wrap) -> None:
    def noise(rng: Any, x: Any) -> Any:
        rng.random(2)
        return rng.normal(size=x.shape) * x

    def f(rng: Any, x: Any) -> Any:
        rng.integers(9)
        return noise(rng, x) + rng.random() + noise(rng, x)

    check(f, wrap, X)


def test_a_compiled_function_called_by_another() -> None:
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)
    inner = tj.function(lambda x: x * rng.normal(size=3))
    outer = tj.function(lambda x: inner(x) + rng.random() * inner(x))
    for _ in range(3):
        first, factor, second = numpys.normal(size=3), numpys.random(), numpys.normal(size=3)
        assert_same(outer(X), X * first + factor * (X * second))
        assert_same(inner(X), X * numpys.normal(size=3))


def test_two_captured_generators_in_turns(wrap: Wrap) -> None:
    other, its_numpy = tj.random.default_rng(6), np.random.default_rng(6)
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)

    def program(rng: Any, other: Any) -> Wrap:
        return lambda x: x * rng.normal() + other.normal(size=3) * rng.random() - other.random()

    found, expected = wrap(program(rng, other)), program(numpys, its_numpy)
    for _ in range(3):
        assert_same(found(X), expected(X))
    assert state(other) == state(its_numpy)


def test_draws_outside_and_inside_take_turns() -> None:
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)
    f = tj.function(lambda x: x * rng.normal())
    for _ in range(3):
        assert rng.random() == numpys.random()
        assert_same(f(X), X * numpys.normal())


def test_a_generator_in_an_attribute() -> None:
    class Noise:
        def __init__(self, seed: int) -> None:
            self.rng = tj.random.default_rng(seed)

        @tj.function
        def __call__(self, x: Any) -> Any:
            return x * self.rng.normal(size=3)

    for seed in (1, 2):
        noise, numpys = Noise(seed), np.random.default_rng(seed)
        for _ in range(2):
            assert_same(noise(X), X * numpys.normal(size=3))


def test_a_captured_generator_that_is_replaced() -> None:
    generators = [tj.random.default_rng(1)]
    f = tj.function(lambda x: x * generators[0].normal())
    first = f(X)
    generators[0] = tj.random.default_rng(1)
    assert_same(f(X), first)


def test_float32_stays_float32() -> None:
    rng = tj.random.default_rng(5)
    f = tj.function(lambda x: x * rng.normal())
    assert f(X.astype(F4)).dtype == F4


def test_threads_draw_from_generators_of_their_own() -> None:
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        rng = tj.random.default_rng(seed)
        f = tj.function(lambda x: x * rng.normal(size=3))
        found[seed] = [f(X) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        numpys = np.random.default_rng(seed)
        for drawn in found[seed]:
            assert_same(drawn, X * numpys.normal(size=3))


# Generators made while recording


def test_a_generator_made_inside_begins_again_at_each_call(wrap: Wrap) -> None:
    f = wrap(lambda x: x * tj.random.default_rng(0).normal(size=3))
    expected = X * np.random.default_rng(0).normal(size=3)
    for _ in range(3):
        assert_same(f(X), expected)


def test_a_seed_that_is_an_argument(wrap: Wrap) -> None:
    f = wrap(lambda x, seed: x * tj.random.default_rng(seed).normal())
    for seed in (0, 1, 2, 1):
        assert_same(f(X, seed), X * np.random.default_rng(seed).normal())


# As an object


def test_seeds_are_those_of_numpy() -> None:
    for seed in (7, [1, 2], np.random.SeedSequence(3), np.random.PCG64(4)):
        assert tj.random.default_rng(copy.deepcopy(seed)).random() == (
            np.random.default_rng(copy.deepcopy(seed)).random()
        )
    assert tj.random.default_rng(np.random.default_rng(5)).random() == (
        np.random.default_rng(5).random()
    )


def test_it_is_numpys_generator_with_another_coat() -> None:
    inner = np.random.default_rng(5)
    rng = tj.random.Generator(inner)
    assert rng.numpy_generator is inner
    assert rng.bit_generator is inner.bit_generator
    assert "PCG64" in repr(rng)
    assert not hasattr(rng, "foo")


def test_the_state_is_set_by_the_bit_generator(wrap: Wrap) -> None:
    rng = tj.random.default_rng(5)
    f = wrap(lambda x: x * rng.normal())
    before = rng.bit_generator.state
    first = f(X)
    assert not np.array_equal(f(X), first)
    rng.bit_generator.state = before
    assert_same(f(X), first)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))]
)
def test_copies_draw_the_same(duplicate: Any) -> None:
    rng = tj.random.default_rng(5)
    rng.normal()
    again = duplicate(rng)
    before = again.bit_generator.state
    drawn = again.normal(size=3)
    rng.bit_generator.state = before
    assert type(again) is tj.random.Generator
    assert_same(rng.normal(size=3), drawn)


def test_outside_functions_all_of_numpys_methods_are_there() -> None:
    rng, numpys = tj.random.default_rng(5), np.random.default_rng(5)
    mine, its = X.copy(), X.copy()
    rng.shuffle(mine)
    numpys.shuffle(its)
    assert_same(mine, its)
    assert rng.bytes(5) == numpys.bytes(5)
    assert_same(rng.random(3, out=mine), numpys.random(3, out=its))
    assert [one.random() for one in rng.spawn(2)] == [one.random() for one in numpys.spawn(2)]


# What is refused


def test_shuffle_is_refused_in_a_function() -> None:
    rng = tj.random.default_rng(5)
    with pytest.raises(InPlaceError, match=r"rng\.permutation\(x\)"):
        tj.function(lambda x: (rng.shuffle(x), x)[1])(X.copy())


def test_shuffling_a_tensor_is_refused() -> None:
    with pytest.raises(TypeError):
        tj.random.default_rng(5).shuffle(tj.constant(X))


@pytest.mark.parametrize("name", IN_PLACE)
def test_out_is_refused_in_a_function(name: str) -> None:
    rng, x = tj.random.default_rng(5), np.ones(3)
    with pytest.raises(InPlaceError):
        tj.function(lambda x: IN_PLACE[name](rng, x))(x)
    np.testing.assert_array_equal(x, np.ones(3))


def test_writing_into_a_captured_array_is_refused() -> None:
    rng, kept = tj.random.default_rng(5), np.ones(3)
    with pytest.raises(InPlaceError):
        tj.function(lambda x: x * rng.standard_normal(out=kept))(X)
    np.testing.assert_array_equal(kept, np.ones(3))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.numpy_generator.normal(),
        lambda rng: rng.bit_generator.random_raw(),
    ],
)
def test_a_way_around_it_is_refused(draw: Any) -> None:
    rng = tj.random.default_rng(5)
    with pytest.raises(UnsupportedError, match="drew random numbers"):
        tj.function(lambda x: x * draw(rng))(X)


def test_module_functions_of_numpy_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"drew random numbers from np\.random"):
        tj.function(lambda x: x * np.random.normal())(X)  # noqa: NPY002


def test_numpys_own_generator_does_not_take_a_tensor_off_its_tape() -> None:
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TypeError, match="tape"):
            np.random.default_rng(5).permutation(x)
