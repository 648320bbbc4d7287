"""Random programs: compiled, they are what NumPy computes, and their gradients are right.

60 programs in every run, 3,000 with `-m nightly`. A program that fails is printed as Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.programs import Program, programs
from tests.support.compare import assert_same

FEW = settings(
    max_examples=by_day(10, 60),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=3_000, derandomize=False, print_blob=True)
SECOND_ORDER = settings(FEW, max_examples=by_day(6, 24))

RELATIVE = 1e-6


def leaves(result: Any) -> list[Any]:
    """The arrays and scalars of a result."""
    if isinstance(result, dict):
        result = tuple(result.values())
    return list(result) if isinstance(result, tuple) else [result]


def check_forward(program: Program, values: list[Any], dtype: Any = np.float64) -> None:
    """Two calls give NumPy's result, exactly where that is asked for, in memory of their own, and
    leave the arguments alone."""
    compiled = tj.function(program.function, cache=False)
    before = [np.copy(value) for value in values]
    expected = program.function(*values)
    first = compiled(*values)
    program.assert_computed(first, expected, dtype)
    assert_same(tj.function(program.function, cache=False, exact=True)(*values), expected)
    second = compiled(*values)
    assert_same(second, first)
    assert len(compiled.kernels) == 1
    for old, value in zip(before, values, strict=True):
        np.testing.assert_array_equal(old, value)
    check_ownership([*leaves(first), *leaves(second)], values)


def check_ownership(results: list[Any], values: list[Any]) -> None:
    arrays = [result for result in results if isinstance(result, np.ndarray)]
    for number, one in enumerate(arrays):
        assert one.flags.writeable
        assert not any(np.may_share_memory(one, other) for other in arrays[:number])
        assert not any(np.may_share_memory(one, value) for value in values)


def changed_numbers(program: Program) -> list[Any]:
    """The arguments with other Python numbers, which become dynamic."""
    return [value + 1 if type(value) in (int, float) else value for value in program.values]


def check_gradient(program: Program) -> None:
    """Every gradient along a random direction, against complex step."""
    compiled = tj.function(program.loss, cache=False)
    both = tj.value_and_grad(compiled, argnums=program.moving)
    value, gradients = both(*program.values)
    again_value, again = both(*program.values)
    assert_same(again_value, value)
    program.assert_computed(value, program.loss(*program.values))
    rng = np.random.default_rng(5)
    for number, gradient, repeated in zip(program.moving, gradients, again, strict=True):
        given = program.values[number]
        assert np.shape(gradient) == np.shape(given)
        assert np.asarray(gradient).dtype == np.float64
        np.testing.assert_array_equal(gradient, repeated)
        direction = rng.normal(size=np.shape(given))
        expected = program.derivative(number, direction)
        scale = np.sum(np.abs(gradient * direction)) + abs(expected)
        found = np.sum(gradient * direction)
        name = program.arguments[number].name
        assert abs(found - expected) <= RELATIVE * scale + 1e-12, (name, found, expected)
    check_ownership(list(gradients), program.values)


def check_float32(program: Program) -> None:
    """float32 arguments give NumPy's dtypes, and gradients in float32."""
    values = program.in_float32()
    with np.errstate(all="ignore"):
        check_forward(program, values, np.float32)
        chosen = [k for k in program.moving if type(values[k]) is not float]
        compiled = tj.function(program.loss, cache=False)
        gradients = tj.grad(compiled, argnums=tuple(chosen))(*values)
    for number, gradient in zip(chosen, gradients, strict=True):
        assert gradient.dtype == np.float32
        assert gradient.shape == values[number].shape


def check_second_order(program: Program) -> None:
    """The gradient of <gradient, v>, against differences of the gradient along v."""
    number = program.moving[0]
    values = program.values
    rng = np.random.default_rng(6)
    v = rng.normal(size=np.shape(values[number]))
    compiled = tj.function(program.loss, cache=False)
    gradient = tj.grad(compiled, argnums=number)

    def along(*arguments: Any) -> Any:
        return np.sum(gradient(*arguments) * v)

    found = tj.grad(tj.function(along, cache=False), argnums=number)(*values)

    def moved(step: float) -> Any:
        arguments = list(values)
        arguments[number] = arguments[number] + step * v
        return gradient(*arguments)

    def difference(h: float) -> Any:
        return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)

    coarse, fine = difference(2e-4), difference(1e-4)
    scale = np.max(np.abs(fine), initial=0.0) + 1e-3
    assume(np.max(np.abs(coarse - fine), initial=0.0) < 0.1 * RELATIVE * scale)
    assert np.max(np.abs(found - fine), initial=0.0) <= RELATIVE * scale


def check_all(program: Program) -> None:
    check_forward(program, program.values)
    check_forward(program, changed_numbers(program))
    check_gradient(program)


@FEW
@given(programs())
def test_compiled_programs_are_numpy_and_their_gradients_are_right(program: Program) -> None:
    check_all(program)


@settings(FEW, max_examples=by_day(8, 30))
@given(programs())
def test_float32_programs_are_numpy_and_stay_float32(program: Program) -> None:
    check_float32(program)


@SECOND_ORDER
@given(programs())
def test_second_derivatives_are_right(program: Program) -> None:
    check_second_order(program)


@settings(FEW, max_examples=by_day(10, 40))
@given(programs(), st.data())
def test_numbers_that_change_are_numpys(program: Program, data: Any) -> None:
    """One function, called with one number after another: kernels are reused and right."""
    numbers = [k for k, value in enumerate(program.values) if type(value) in (int, float)]
    assume(numbers)
    compiled = tj.function(program.function, cache=False)
    for _ in range(4):
        values = list(program.values)
        for k in numbers:
            step = data.draw(st.sampled_from((0, 1, 2))) * 0.25
            values[k] += step if type(values[k]) is float else int(step * 4)
        program.assert_computed(compiled(*values), program.function(*values))
    assert len(compiled.kernels) <= 2


@pytest.mark.nightly
@MANY
@given(programs())
def test_nightly_programs(program: Program) -> None:
    check_all(program)
    check_float32(program)


@pytest.mark.nightly
@settings(MANY, max_examples=2_000)
@given(programs())
def test_nightly_second_derivatives(program: Program) -> None:
    check_second_order(program)
