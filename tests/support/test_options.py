"""Options: what each means, and errors for those that are none, of `tj.function` and transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.support.errors import ArgumentError, ArityError


def total(x: Any, mode: str = "sum") -> Any:
    return np.sum(x) if mode == "sum" else np.prod(x)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tj.function(total, exakt=True), "tj.function has no option exakt"),
        (lambda: tj.function(exakt=True), "Did you mean exact?"),
        (lambda: tj.grad(total, argnum=0), "tj.grad has no option argnum"),
        (lambda: tj.grad(total, argnum=0), "Did you mean argnums?"),
        (lambda: tj.value_and_grad(total, has_au=True), "Did you mean has_aux?"),
        (lambda: tj.vmap(total, in_axis=0), "tj.vmap has no option in_axis"),
        (lambda: tj.jacobian(total, modus="fwd"), "Did you mean mode?"),
        (lambda: tj.hessian(total, argnames_=0), "Did you mean argnames?"),
        (lambda: tj.scan(total, 0.0, np.ones(2), unrol=2), "Did you mean unroll?"),
        (lambda: tj.check_grads(total, (np.ones(2),), ordr=1), "Did you mean order?"),
        (lambda: tj.function(total, static_argnames="mod"), "Did you mean mode?"),
        (lambda: tj.function(total, static_argnums=2), "number them from 0 to 1"),
    ],
)
def test_an_unknown_option_is_told_the_nearest(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ArityError) as caught:
        call()
    assert said in str(caught.value)
    assert "test_options.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dynamic_shapes": "atuo"}, "dynamic_shapes='atuo' is not \"auto\", True or False"),
        ({"cache": "no"}, "cache='no' is not True or False"),
        ({"max_paths": 0}, "max_paths=0 is not a whole number of at least 1"),
        ({"name": 3}, "name=3 is not a string"),
        ({"threads": 0}, "threads=0 is not a number of threads"),
        ({"memory_budget": -1}, "memory_budget=-1 is not a number of bytes"),
    ],
)
def test_a_wrong_value_is_an_error(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        tj.function(total, **options)
    assert said in str(caught.value)


def test_errors_of_the_call_itself_stay() -> None:
    with pytest.raises(TypeError, match="missing"):
        tj.grad()  # type: ignore[call-arg]
    with pytest.raises(ArityError):
        tj.grad(total)(np.ones(2), modus="sum")


def test_static_names_of_functions_with_any_keyword() -> None:
    def scaled(x: Any, **options: Any) -> Any:
        return x * options["scale"]

    assert tj.function(scaled, static_argnames="scale")(np.ones(2), scale=3.0).tolist() == [3.0] * 2
