"""What backward is called with where nothing is given: as NumPy's number one, whatever it meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.cost_model import assuming

X = np.array([0.5, 1.5, 2.5])
LOSSES: dict[str, Callable[[Any], Any]] = {
    "an element": lambda x: np.pad(np.sum(x), 1) * 0.3,
    "another shape": lambda x: np.percentile(x, 30) * 0.3,
    "divided by zero": lambda x: np.sum(x) / 0.0,
    "divided": lambda x: np.sum(x) / 3.0,
    "multiplied": lambda x: 2.0 * np.sum(np.sin(x)),
    "placed at an index": lambda x: np.mean(x[np.array([0, 2])]),
    "two ways": lambda x: np.sum(x) / (3.0 if x[0] > 0 else 0.0),
}
PLAIN = ("divided", "multiplied", "placed at an index")


@pytest.mark.parametrize("exact", [False, True], ids=["improved", "exact"])
@pytest.mark.parametrize("name", LOSSES)
def test_backward_is_called_without_a_cotangent(name: str, exact: bool) -> None:
    in_one = tj.value_and_grad(tj.function(LOSSES[name], cache=False))
    in_turn = tj.value_and_grad(tj.function(LOSSES[name], cache=False, exact=exact))
    for x in (X, -X):
        with np.errstate(all="ignore"):
            expected = in_one(x)
            with assuming(many_nodes=0):
                found = in_turn(x)
        np.testing.assert_allclose(found[1], expected[1])
    assert ("out_bar=1.0" in in_turn.kernel(X).source) == (name in PLAIN)


@pytest.mark.parametrize("number", [np.float64(3.0), 3.0, np.float32(3.0)])
def test_gradients_of_numbers_are_numbers_of_numpy(number: Any) -> None:
    def f(s: Any) -> Any:
        return 2.0 * s

    expected = tj.value_and_grad(tj.function(f, cache=False))(number)
    with assuming(many_nodes=0):
        found = tj.value_and_grad(tj.function(f, cache=False))(number)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))
