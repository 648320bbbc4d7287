"""Random programs with loops: aliases, swaps, views and writes, against the same programs
unrolled and run by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.loop_attack import arguments, make_of
from tests.unrolled import LOOPS, UNROLLED, left_unrolled
from tracejit.trace.structure.trees import flatten

SEEDS = [10, 43, 47, 73, 118, 306, 5083, 5228, *range(1000, 1003)]


def _total(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w, s: sum(np.sum(np.sin(result)) for result in f(x, w, s))


def _gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return tj.value_and_grad(_total(f), argnums=(0, 1, 2))


def _twice_in_reverse(f: Callable[..., Any]) -> Callable[..., Any]:
    gradient = tj.grad(_total(f), argnums=(0, 1))
    return tj.grad(lambda *args: sum(np.sum(g**2) for g in gradient(*args)))


def _pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w, s: tj.jvp(f, (x, w, s), (np.cos(x), np.sin(w), 1.3))


def _of_a_batch(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w, s: tj.vmap(f)(np.stack([x, -x]), np.stack([w, w.T]), np.stack([s, s * 2]))


TRANSFORMS: tuple[Callable[..., Any], ...] = (_gradient, _twice_in_reverse, _pushed, _of_a_batch)


def _check(seed: int) -> None:
    text, make = make_of(seed)
    args = arguments()
    plain = make(UNROLLED)(*args)
    given = [args[0].copy(), args[1].copy(), args[2]]
    for exact in (False, True):
        call = tj.function(make(LOOPS), exact=exact)
        for _ in range(2):
            for one, other in zip(call(*given), plain, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10, err_msg=text)
                assert not exact or np.asarray(one).tobytes() == np.asarray(other).tobytes(), text
    for transform in TRANSFORMS:
        found = flatten(transform(make(LOOPS))(*given))[0]
        with left_unrolled():
            expected = flatten(transform(make(UNROLLED))(*args))[0]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8, err_msg=text)
    for one, other in zip(given, args, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=text)


@pytest.mark.parametrize("seed", some_by_day(SEEDS, 2))
def test_random_programs_with_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_VERIFY", "1")
    _check(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10_000, 11_000))
def test_many_random_programs_with_loops(seed: int) -> None:
    _check(seed)
