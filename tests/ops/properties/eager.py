"""Eager Tensors answer NumPy's values to the bit, and the gradients of a recording."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.interpret import is_input
from tests.ops.cases import Case
from tests.ops.program import quiet
from tests.ops.properties.recorded import assert_same
from tests.ops.properties.registry import sample_property
from tracejit.ir.types import type_of
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.tensor import Tensor


def is_strong(leaf: Any) -> bool:
    """Return whether a leaf is an array or a NumPy scalar."""
    kind = type_of(leaf)
    return kind is not None and kind.form != "weak"


def is_eager(case: Case) -> bool:
    """Tell if a sample has an array or NumPy scalar among its arguments."""
    return any(map(is_strong, case.leaves))


def run_eagerly(case: Case) -> tuple[list[Any], Any]:
    """The leaves of the result for Tensors as arguments, and its structure."""
    leaves, structure = flatten(case.sample.args)
    given = [tj.constant(leaf) if is_strong(leaf) else leaf for leaf in leaves]
    with quiet():
        return flatten(case.sample.call(*unflatten(structure, given)))


@sample_property(is_eager, every=16)
def eager_values_are_numpys_to_the_bit(case: Case) -> None:
    # Copied, as tj.constant copies: a product of strided arrays may be summed in another order.
    copies = [np.array(x) if type(x) is np.ndarray else x for x in case.program.leaves]
    expected, structure = case.program.plain(copies)
    found, found_structure = run_eagerly(case)
    assert found_structure == structure
    for actual, wanted in zip(found, expected, strict=True):
        if isinstance(actual, Tensor):
            actual = actual._value.data
            assert type(actual) is not np.ndarray or not actual.flags.writeable
        assert_same(actual, wanted)


@sample_property(is_eager, every=16)
def eager_gradients_are_those_of_a_recording(case: Case) -> None:
    program = case.program
    if case.order == 0:
        return
    with tj.GradientTape(persistent=True) as tape:
        leaves, structure = flatten(case.sample.args)
        given = [tj.constant(leaf) if is_strong(leaf) else leaf for leaf in leaves]
        inputs = [new for new, leaf in zip(given, leaves, strict=True) if is_input(leaf)]
        moving = [inputs[number] for number in program.moving]
        tape.watch(moving)
        with quiet():
            results = flatten(case.sample.call(*unflatten(structure, given)))[0]
    dtypes = {np.asarray(value).dtype for value in (*leaves, *program.seeds)}
    is_single = any(dtype in ("f4", "c8") for dtype in dtypes)
    targets = [y for y in results if isinstance(y, Tensor) and y.type.is_inexact]
    with quiet():
        found = tape.gradient(targets, moving, output_gradients=list(program.seeds))
        expected = program.gradient_here
    for gradient, wanted, connected in zip(found, expected, program.first[1], strict=True):
        assert (gradient is not None) == connected
        if gradient is not None:
            array = gradient.numpy()
            assert (array.shape, array.dtype) == (np.shape(wanted), wanted.dtype)
            scale = float(np.max(np.abs(wanted), initial=1.0, where=np.isfinite(wanted)))
            exact = 1e-5 if is_single else 1e-12
            np.testing.assert_allclose(array, wanted, rtol=exact, atol=exact * scale)
