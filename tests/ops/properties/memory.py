"""Aliasing: what shares memory is what does in NumPy: a result is an argument, or a view of one,
exactly where NumPy's result lies in the argument's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.interpret import run
from tests.ops.cases import Case
from tests.ops.program import is_input, quiet
from tests.ops.properties.registry import sample_property
from tracejit.ir.types import type_of
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.memory import Sealed, View
from tracejit.trace.tensor.tensor import TENSORS, Tensor


def is_array(leaf: Any) -> bool:
    """Tell if a leaf is an array."""
    return type(leaf) is np.ndarray


INTEGERS = np.arange(3)
# In NumPy 2.2, np.round answers an array of integers itself; here it is a copy.
KNOWN = ("round", "rint") if np.round(INTEGERS) is INTEGERS else ()


def with_arrays(case: Case) -> bool:
    """Tell if a sample has an array among its arguments."""
    return any(map(is_array, case.leaves)) and case.sample.op not in KNOWN


def root_of(tensor: Any) -> tuple[Any, bool]:
    """The Tensor that `tensor` is a view of in the end, and whether that is sure."""
    sure = True
    while isinstance(tensor, Tensor) and type(tensor._owner) is View:
        owner = tensor._owner
        try:
            owner._check_shared(tensor, "writing")
        except tj.TracejitError:
            sure = False
        tensor = owner.base
    return tensor, sure


def check(found: list[Any], given: list[Any], case: Case) -> None:
    """What `found`, computed from Tensors or arrays `given`, share is what NumPy's results do."""
    leaves, structure = flatten(case.sample.args)
    plain = [np.array(leaf) if is_array(leaf) else leaf for leaf in leaves]
    with quiet():
        expected = flatten(case.sample.call(*unflatten(structure, plain)))[0]
    for mine, numpys in zip(found, expected, strict=True):
        if not is_array(numpys) or not isinstance(mine, Tensor) or not numpys.size:
            continue
        if type(mine._owner) is Sealed:
            continue
        root, sure = root_of(mine)
        for argument, array in zip(given, plain, strict=True):
            if is_array(array) and isinstance(argument, Tensor):
                if np.shares_memory(numpys, array):
                    assert root is argument, "NumPy answers a view"
                else:
                    assert root is not argument or not sure, "NumPy answers a copy"
    for k, (mine, numpys) in enumerate(zip(found, expected, strict=True)):
        for other, others in zip(found[:k], expected[:k], strict=True):
            if is_array(numpys) and {type(mine), type(other)} <= TENSORS:
                if np.shares_memory(numpys, others):
                    assert root_of(mine)[0] is root_of(other)[0], "NumPy's results share memory"
                else:
                    assert mine is not other or not numpys.size, "NumPy's results are apart"


@sample_property(with_arrays, every=16)
def eager_results_share_what_numpys_share(case: Case) -> None:
    leaves, structure = flatten(case.sample.args)
    given = [tj.constant(leaf) if is_array(leaf) else leaf for leaf in leaves]
    with quiet():
        found = flatten(case.sample.call(*unflatten(structure, given)))[0]
    check(found, given, case)


@sample_property(with_arrays, every=16)
def recorded_results_share_what_numpys_share(case: Case) -> None:
    leaves = flatten(case.sample.args)[0]
    with quiet():
        started = run(case.sample.call, *case.sample.args, name="sample")
    inputs = iter(started.inputs)
    given = [next(inputs) if is_input(leaf) else leaf for leaf in leaves]
    assert all(type_of(leaf) is not None for leaf in leaves if is_array(leaf))
    check(started.leaves, given, case)
