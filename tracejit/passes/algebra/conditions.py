"""Conditions: where a row of the table of rewrites holds, where it pays, and what it computes.

Each is a function of a match. The names in brackets are those of the row.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Value
from tracejit.ir.types import FLOATING
from tracejit.ops.base.infer import normalize_axes
from tracejit.ops.base.op import OPS, WITH_MATRICES
from tracejit.ops.indexing.index_text import is_added_flat
from tracejit.ops.linalg.triangles import pays_in_blocks
from tracejit.passes.algebra.ranges import is_nonnegative
from tracejit.passes.framework.emission import is_real, number_of
from tracejit.passes.framework.patterns import Guard, Let, Match
from tracejit.support.cost_model import costs


def real(*names: str) -> Guard:
    """The result and these values are arrays with axes, or scalars, of float32 or float64."""
    return lambda match: is_real(match.result) and all(is_real(match[name]) for name in names)


def alike(*names: str) -> Guard:
    """These values have the type of the result."""
    return lambda match: all(match[name].type is match.result.type for name in names)


def nonnegative(name: str) -> Guard:
    """A value is known to be nowhere below zero, nor -0.0."""
    return lambda match: is_nonnegative(match[name])


def one_of(name: str, known: Container[Any]) -> Guard:
    """A parameter is one of these."""
    return lambda match: match[name] in known


def is_array(match: Match) -> bool:
    """The result has axes."""
    return bool(match.result.type.shape)


def is_no_view(match: Match) -> bool:
    """x is an argument, a constant, or what an operation has allocated. Updates leave x as it is,
    and the schedule copies what leaves the graph or is updated in place."""
    node = match["x"].node
    return node is None or node.op.view_of is None


def is_product_on_zeros(match: Match) -> bool:
    """p is a product of matrices, a sum that is -0.0 hardly ever, and the other a constant 0.0."""
    zeros, made = match["zeros"], match["p"].node
    is_product = made is not None and made.op.product in WITH_MATRICES
    if not is_product or not isinstance(zeros, Constant):
        return False
    return not np.asarray(zeros.data).tobytes().strip(b"\0")


def is_finite(match: Match) -> bool:
    """c is a finite number, and x is not known."""
    number = number_of(match["c"])
    return number is not None and math.isfinite(number) and number_of(match["x"]) is None


def is_not_complex(match: Match) -> bool:
    """1 + 0j and 2 + 0j multiply by the zero as well."""
    return match.result.type.dtype.kind != "c"


def is_weak_real(match: Match) -> bool:
    """x is a Python number, and the result no complex one."""
    return bool(match["x"].type.form == "weak" and match.result.type.dtype.kind != "c")


def is_strong_float(match: Match) -> bool:
    """x is floating, and no Python number."""
    return bool(match["x"].type.dtype.kind == "f" and match["x"].type.form != "weak")


def is_second(match: Match) -> bool:
    """The negative comes second, and has the dtype of the result."""
    is_in_order = match.operands[0] is match["a"]
    return bool(is_in_order and match["b"].type.dtype == match.result.type.dtype)


def always(is_true: bool) -> Guard:
    """A condition is known to have this outcome everywhere."""

    def holds(match: Match) -> bool:
        known = match["always"]
        if not isinstance(known, Constant) or known.type.dtype.kind != "b" or not known.type.size:
            return False
        return bool(np.all(known.data if is_true else np.logical_not(known.data)))

    return holds


def is_negative_number(match: Match) -> bool:
    """c is a finite number below zero, of the dtype of the result or a Python number."""
    number, type = number_of(match["c"]), match["c"].type
    is_alike = type.form == "weak" or type.dtype == match.result.type.dtype
    return number is not None and -math.inf < number < 0.0 and is_alike


OPPOSITE: Let = {"d": lambda match: match.graph.constant(-match["c"].data)}
DTYPE: Let = {"dtype": lambda match: match.result.type.dtype}


def is_long_logaddexp(match: Match) -> bool:
    """exp and log1p of arrays are not those of numbers, so the arrays are to be long."""
    return match.result.type.estimated_size >= costs().least_logaddexp_elements


def are_of_one_dtype(match: Match) -> bool:
    """All operands have the dtype of the result, or give way to it."""
    dtype = match.result.type.dtype
    return all(one.type.dtype == dtype or one.type.form == "weak" for one in match.operands)


def is_small_array(match: Match) -> bool:
    """Up to there expm1 takes less than a sum and a quotient."""
    return is_array(match) and match.result.type.estimated_size <= costs().most_softplus_elements


def has_small_mask(match: Match) -> bool:
    """The result has a fixed size, for which a mask takes longer to make than to choose by."""
    type = match.result.type
    return type.sizes is None and 0 < math.prod(type.shape[-2:]) <= costs().most_mask_elements


def mask_up_to(shift: int) -> Let:
    """The mask of the lower triangle, up to diagonal k and `shift`."""

    def mask(match: Match) -> Value:
        rows, columns = match.result.type.shape[-2:]
        return match.graph.constant(np.tri(rows, columns, match["k"] + shift, dtype=bool))

    return {"mask": mask}


def takes_all(is_whole: bool) -> Guard:
    """A logsumexp of an array with elements. `is_whole` if no axis is left to be taken away."""

    def holds(match: Match) -> bool:
        type = match["x"].type
        axes = normalize_axes(match["axis"], type.ndim)
        is_kept = bool(match["keepdims"]) or len(axes) == type.ndim
        return bool(type.shape) and 0 not in type.shape and is_kept == is_whole

    return holds


def _largest(match: Match) -> Any:
    return np.finfo(match["x"].type.dtype).max


LOG_SUM: Let = {
    "axes": lambda match: normalize_axes(match["axis"], match["x"].type.ndim),
    "keeps": lambda match: match["keepdims"] or len(match["axes"]) < match["x"].type.ndim,
    "least": lambda match: match.graph.constant(-_largest(match)),
    "most": lambda match: match.graph.constant(_largest(match)),
    "one": lambda match: match.graph.constant(match["x"].type.dtype.type(1.0)),
}


def is_clipped_to_finite(match: Match) -> bool:
    """The bounds are the largest numbers of the dtype."""
    least, most = number_of(match["least"]), number_of(match["most"])
    return most == -least == _largest(match) if least is not None else False


def is_known_index(match: Match) -> bool:
    """All of the index is known, and some of it, and names places that are there."""
    sizes = match.result.type.sizes or match["g"].type.sizes
    if sizes is not None or not 0 < match["g"].type.size <= costs().most_known_index:
        return False
    if not all(isinstance(one, Constant) for one in match["at"]):
        return False
    try:
        return bool(_places(match).size == match["g"].type.size)
    except IndexError:
        return False


def _places(match: Match) -> Any:
    """The numbers of the elements that those of g are added to."""
    shape, at = match["shape"], [one.data for one in match["at"]]
    numbers = np.arange(math.prod(shape)).reshape(shape)
    return OPS["take_at"].evaluate(numbers, *at, index=match["index"], unique=False).reshape(-1)


def _flat_index(match: Match) -> Value:
    """The numbers as a constant; those of rows are computed from the numbers of the rows."""
    (rows, *others), shape = match["at"], match["shape"]
    if others or match["index"] != ("{1}",) or len(shape) == 1 or np.any(rows.data < 0):
        return match.graph.constant(_places(match))
    length = math.prod(shape[1:])
    first = match.emit("multiply", rows, match.graph.constant(length))
    column = match.emit("expand_dims", first, axis=(first.type.ndim,))
    numbers = match.emit("add", column, match.graph.constant(np.arange(length)))
    return match.emit("reshape", numbers, shape=match["flat"])


PLACES: Let = {
    "flat": lambda match: (match["g"].type.size,),
    "places": _flat_index,
    "size": lambda match: math.prod(match["shape"]),
    "whole": lambda match: (match["size"],),
    "first": lambda match: ("{1}",),
}


def is_double(match: Match) -> bool:
    """np.bincount adds in double precision."""
    return bool(match.result.type.dtype == np.float64 == match["g"].type.dtype)


def is_double_vector(match: Match) -> bool:
    """A vector is added to a vector."""
    return is_double(match) and match.result.type.ndim == match["g"].type.ndim == 1


def is_short(match: Match) -> bool:
    """The call is what costs."""
    size = match.result.type.size
    return bool(
        match["g"].type.size <= costs().most_counted_elements
        and size <= costs().most_counted_elements
    )


def is_of_several_axes(match: Match) -> bool:
    """np.add.at goes through the general machinery of indexing otherwise."""
    return match.result.type.ndim > 1 and is_real(match.result)


def is_logistic(match: Match) -> bool:
    """g, if it is not 1, and w are one finite number, and h half of it: inf times zero is nan."""
    half, whole, type = number_of(match["h"]), number_of(match["w"]), match["z"].type
    factor = number_of(match["g"]) if "g" in match.bound else 1.0
    if type is not match.result.type or type.dtype not in FLOATING or half is None:
        return False
    return math.isfinite(half) and factor == whole == 2.0 * half


def is_scattered(match: Match) -> bool:
    """All of one type, and no better scattered into zeros."""
    scattered, value = match["s"], match["g"]
    if any(one.type is not match.result.type for one in match.operands):
        return False
    if value.type.dtype != scattered.type.dtype:
        return False
    if scattered.node.op.name == "put_at":
        return bool(2 * value.type.estimated_size <= scattered.type.estimated_size)
    first, *_ = match["at"]
    return not is_added_flat(value.type, first.type, scattered.type.shape, match["index"])


def sums_along(axis: int) -> Guard:
    """Products of arrays of one type are summed along this one axis."""

    def holds(match: Match) -> bool:
        type = match["p"].type
        return (
            match["a"].type is type is match["b"].type
            and type.dtype in FLOATING
            and match.node.params.keys() <= {"axis", "keepdims"}
            and tuple(one - type.ndim for one in match["axis"]) == (axis,)
        )

    return holds


def are_long_products(match: Match) -> bool:
    """A product of matrices is read rather than computed again."""
    type = match["p"].type
    return type.sizes is None and type.size >= costs().least_diagonal_elements


MATRIX: Let = {"i": lambda match: match["p"].type.ndim - 2, "j": lambda m: m["p"].type.ndim - 1}


def is_double_factor(match: Match) -> bool:
    """NumPy solves float32 in double precision: it stays."""
    factor, side = match["l"].type, match["b"].type
    is_plain = factor.ndim == 2 and side.ndim <= 2 and side.size > 0
    return is_plain and all(one.sizes is None and one.dtype == np.float64 for one in (factor, side))


def is_of_blocks(match: Match) -> bool:
    """The factor has several blocks of rows."""
    return pays_in_blocks(match["l"].type.shape[0])


TRUTHS = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit"
    " logical_and logical_or logical_not logical_xor".split()
)
"""The ops whose results have no bits but 0 and 1. An array of the user's may have others."""
OF_TRUTHS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def is_matrix_product(match: Match) -> bool:
    """No stacks, and no single elements: dot scales by one, and then 0.0 times infinity is 0.0."""
    one, other = (value.type for value in match.operands)
    is_alike = one.dtype == other.dtype and one.dtype.kind in "fc"
    return is_alike and all(t.ndim <= 2 and t.sizes is None and t.size != 1 for t in (one, other))


def is_small_product(match: Match) -> bool:
    """For a column times a row of any size matmul has no BLAS, and takes five times as long."""
    types = [value.type for value in match.operands]
    is_outer = types[0].ndim == 2 and types[0].shape[1] == 1
    return bool(is_outer or match.node.op.cost(*types) <= costs().dot_operations)


def is_step(match: Match) -> bool:
    """A number at zero and twice as much beyond, which the dtype has."""
    half, whole, type = number_of(match["h"]), number_of(match["w"]), match["x"].type
    if type is not match.result.type or type.dtype not in FLOATING or half is None or whole is None:
        return False
    return 0.0 < half * 2.0 == whole < math.inf and float(type.dtype.type(half)) == half


def has_bits(match: Match) -> bool:
    """The condition consists of ones and zeros, and x of numbers as the result does."""
    condition, type, result = match["c"], match["x"].type, match.result.type
    is_floating = type.dtype == result.dtype and type.dtype in FLOATING
    return bool(is_floating and type.shape and condition.type.shape) and _is_truth(condition)


def _is_truth(value: Value, depth: int = 6) -> bool:
    """Return whether all of an array is known to have the bits of 0 or 1."""
    node = value.node
    if node is None or node.op.name in TRUTHS:
        return node is not None
    if not depth or value.type.dtype.kind != "b":
        return False
    if node.op.view_of is not None:
        return _is_truth(node.operands[node.op.view_of], depth - 1)
    return node.op.name in OF_TRUTHS and all(_is_truth(one, depth - 1) for one in node.operands)


def is_long_choice(match: Match) -> bool:
    """From there on a choice takes longer than the calls of two views."""
    return match.result.type.estimated_size >= costs().least_choice_elements
