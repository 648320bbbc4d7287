"""Draws from random generators that cannot be recorded are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python
from tracejit.support.errors import UnsupportedError
from tracejit.trace.capture.captures import Captures
from tracejit.trace.structure.draws import is_generator, is_random

GENERATORS: dict[str, Any] = {
    "generator": np.random.default_rng(0),
    "legacy": np.random.RandomState(0),
    "bits": np.random.PCG64(0),
    "np.random": np.random,
    "the module random": random,
}
DRAWS: dict[str, Callable[[], Any]] = {
    "generator": lambda: GENERATORS["generator"].normal(),
    "legacy": lambda: GENERATORS["legacy"].rand(),
    "bits": lambda: GENERATORS["bits"].random_raw(),
    "np.random": lambda: np.random.rand(),  # noqa: NPY002
    "the module random": lambda: random.random(),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_draw_is_refused(name: str) -> None:
    captures = Captures([DRAWS[name]])
    with captures.refusing_draws("f"):
        pass
    with (
        pytest.raises(UnsupportedError, match=f"f drew random numbers from .*{name}"),
        captures.refusing_draws("f"),
    ):
        DRAWS[name]()


def test_an_error_while_drawing_is_not_hidden() -> None:
    with pytest.raises(KeyError), Captures([]).refusing_draws("f"):
        random.random()
        raise KeyError


def test_what_a_generator_is() -> None:
    assert all(map(is_random, (np.random.default_rng(), np.random.PCG64(), random.Random())))
    assert is_generator(np.random.default_rng())
    assert not any(map(is_generator, (random.Random(), np.random.PCG64(), None)))


FRESH = """
import sys
import tracejit as tj
import numpy as np
assert "numpy.random" not in sys.modules
@tj.function
def quiet(x):
    return np.sum(x)
@tj.function
def seeding(x):
    np.random.seed(0)
    return x
@tj.function
def drawing(x):
    return x + np.random.rand(312)[:2]
quiet(np.ones(2))
assert "numpy.random" not in sys.modules
try:
    FUNCTION(np.ones(2))
except tj.errors.UnsupportedError as error:
    print("refused" if "np.random" in str(error) else error)
"""


@pytest.mark.parametrize("function", ["seeding", "drawing"])
def test_numpys_own_generator_is_imported_for_those_who_draw_alone(function: str) -> None:
    assert python(FRESH.replace("FUNCTION", function)) == "refused\n"


RNG = np.random.default_rng(0)


def draws_by_numpy(x: Any) -> Any:
    y = x * 2.0
    return y + np.random.normal(size=3)  # noqa: NPY002


def draws_by_a_captured_generator(x: Any) -> Any:
    y = x * 2.0
    return y + RNG.normal(size=3)


def draws_by_python(x: Any) -> Any:
    y = x * 2.0
    return y * random.random()


@pytest.mark.parametrize(
    "function", [draws_by_numpy, draws_by_a_captured_generator, draws_by_python]
)
def test_the_error_shows_the_line_that_draws(function: Any) -> None:
    with pytest.raises(UnsupportedError, match="drew random numbers") as caught:
        tj.function(function)(np.ones(3))
    lines = str(caught.value).splitlines()
    assert lines[1].split("   ")[1].startswith("return y ")
