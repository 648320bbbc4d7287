"""Which numbers and sizes of a function's arguments are part of a kernel, told by its calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.autodiff.request import Request
from tracejit.specialise.binding import Binding
from tracejit.specialise.callee import Callee
from tracejit.support.errors import TracejitError
from tracejit.support.options import Options
from tracejit.trace.signature import Call


def f(x: Any, k: float = 1.0, m: int = 2) -> Any:
    return x * k * m


def seen(binding: Binding, *args: Any) -> Call:
    """The call of `f` with these arguments, which the binding has taken note of."""
    return binding.request(binding.callee.bind(args, {})).call


def fixed(binding: Binding, *args: Any) -> dict[str, Any]:
    return binding.request(binding.callee.bind(args, {})).fixed


def test_a_number_is_static_on_its_first_value_and_dynamic_from_its_second_on() -> None:
    binding = Binding(Callee(f))
    assert fixed(binding, np.ones(3), 1.0) == {"k": 1.0, "m": 2}
    assert fixed(binding, np.ones(3), 2.0) == {"m": 2}
    assert fixed(binding, np.ones(3), 1.0) == {"m": 2}


def test_values_are_told_apart_to_the_bit_and_by_type() -> None:
    binding = Binding(Callee(f))
    fixed(binding, np.ones(3), 0.0, 1)
    assert fixed(binding, np.ones(3), -0.0, 1) == {"m": 1}
    assert fixed(binding, np.ones(3), 0.0, 1.0) == {}


def test_a_number_to_differentiate_by_is_not_static() -> None:
    callee = Callee(f, Request("grad", (), ("k",)))
    request = Binding(callee).request(callee.bind((np.ones(3), 1.0), {}))
    assert request.fixed == {"m": 2}
    assert request.differentiated == {"k"}


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": ("k",)}])
def test_what_the_user_has_chosen_stays_static(options: dict[str, Any]) -> None:
    binding = Binding(Callee(f), Options(**options))
    for value in (1.0, 2.0):
        assert fixed(binding, np.ones(3), value)["k"] == value
    assert binding.static_rows() == {"k": "static"}


def test_what_the_function_wants_as_numbers_stays_static_from_then_on() -> None:
    binding = Binding(Callee(f), Options(static_argnames="m"))
    fixed(binding, np.ones(3), 1.0)
    assert "k" not in fixed(binding, np.ones(3), 2.0)
    binding.want_numbers()
    assert fixed(binding, np.ones(3), 3.0) == {"k": 3.0, "m": 2}
    assert binding.static_rows() == {"x": "wanted", "k": "wanted", "m": "static"}


@pytest.mark.parametrize(("dynamic", "free"), [("auto", True), (False, False)])
def test_a_size_is_free_from_its_second_value_on(dynamic: Any, free: bool) -> None:
    binding = Binding(Callee(f), Options(dynamic_shapes=dynamic))
    assert binding.shapes.freed(seen(binding, np.ones(3)))[1] is None
    assert (binding.shapes.freed(seen(binding, np.ones(5)))[1] is not None) == free


def test_an_input_signature_frees_sizes_at_once_and_is_a_promise() -> None:
    specs = tj.TensorSpec((None, 3)), 1.0, 2
    binding = Binding(Callee(f), Options(input_signature=specs))
    call, sizes = binding.shapes.freed(seen(binding, np.ones((4, 3))))
    assert sizes is not None
    assert [type(size) is int for size in call.leaves[0].type.shape] == [False, True]  # type: ignore[union-attr]
    with pytest.raises(TracejitError, match="TensorSpec"):
        seen(binding, np.ones((4, 2)))
    with pytest.raises(TracejitError, match="f"):
        Binding(Callee(f), Options(input_signature=(*specs, 3, 4)))
