"""Triangular matrices: half products for gradients, and systems solved by substitution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import broadcasting
from tracejit.ops.base.infer import broadcast_shapes
from tracejit.ops.base.op import Op, defop
from tracejit.ops.linalg.linalg import check_square, cubic, linalg_dtype, square_type
from tracejit.ops.linalg.products import common_dtype
from tracejit.support.cost_model import costs


def pays_in_blocks(size: int) -> bool:
    """Return whether a matrix of `size` rows is worth computing block by block."""
    return size >= costs().least_triangle_blocks * costs().triangle_rows


# The lower half


def _half_lines(types: Sequence[ArrayType]) -> tuple[str, str]:
    rest, diagonal = "..., " if types[0].ndim > 2 else "", f"np.arange({types[0].shape[-1]})"
    return "{out} = np.tril({0})", f"{{out}}[{rest}{diagonal}, {diagonal}] *= 0.5"


lower_half: Op = defop(
    name="lower_half",
    infer=square_type,
    vjp=lambda g, y, x: lower_half(g),
    jvp="linear",
    batch="leading",
    statements=_half_lines,
    axes="...__->...__",
)
"""The lower triangle with half of the diagonal: a symmetric x is the sum of this and its
transpose."""


def _product_lines(types: Sequence[ArrayType]) -> tuple[str, ...]:
    """The product by blocks of rows, without what zeros of `a` are multiplied with, nor what lies
    above the last block."""
    rest = "..., " if max(type.ndim for type in types) > 2 else ""
    size, turned = types[0].shape[-1], "mT" if rest else "T"
    block_rows = costs().triangle_rows
    diagonal = f"{{out}}[{rest}np.arange({size}), np.arange({size})] *= 0.5"
    if types[0] is not types[1] or not pays_in_blocks(size):
        return f"{{out}} = np.tril({{0}}.{turned} @ {{1}})", diagonal
    return (
        "{out} = np.zeros_like({0})",
        f"for start in range(0, {size}, {block_rows}):",
        f"    stop = start + {block_rows}",
        "    rows = slice(start, stop)",
        f"    block = {{0}}[{rest}start:, rows]",
        f"    {{out}}[{rest}rows, :stop] = block.{turned} @ {{1}}[{rest}start:, :stop]",
        f"    {{out}}[{rest}rows, rows] = np.tril({{out}}[{rest}rows, rows])",
        diagonal,
    )


def _product_type(a: ArrayType, b: ArrayType) -> ArrayType:
    check_square(a)
    check_square(b)
    stack = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return ArrayType((*stack, *a.shape[-2:]), common_dtype(a, b))


lower_half_product: Op = defop(
    name="lower_half_product",
    infer=_product_type,
    vjp=(
        lambda g, y, a, b: np.tril(b @ lower_half(g).mT),
        lambda g, y, a, b: a @ lower_half(g),
    ),
    jvp="bilinear",
    batch=broadcasting("lower_half_product"),
    statements=_product_lines,
    cost=lambda a, b: cubic(a) // 2,
    axes="...__,...__->...__",
)
"""The lower half of a.mT @ b, where `a` is lower triangular: zeros above its diagonal are treated
as granted. In derivatives only."""


# Products with a mask


def _masked_lines(types: Sequence[ArrayType]) -> tuple[str, ...]:
    """One product with zeros for what is left out; where that is not finite, each row by what it
    is made of alone."""
    return (
        "{out} = np.where({1}, {0}, 0) @ {2}",
        "if not np.isfinite({out}).all():",
        f"    for row in range({types[0].shape[0]}):",
        "        {out}[row] = {0}[row, {1}[row]] @ {2}[{1}[row]]",
    )


def _masked_batch(moved: Sequence[bool], a: Any, mask: Any, b: Any) -> Any:
    """The products first, so that none that is left out is added up."""
    if moved[1]:
        return NotImplemented
    products = np.expand_dims(a, -1) * np.expand_dims(b, -3)
    return np.sum(np.where(np.expand_dims(mask, -1), products, 0.0), axis=-2)


masked_product: Op = defop(
    name="masked_product",
    batch=_masked_batch,
    infer=lambda a, mask, b: ArrayType((a.shape[0], b.shape[1]), common_dtype(a, b)),
    vjp=(
        lambda g, y, a, mask, b: np.where(mask, g @ b.T, 0.0),
        None,
        lambda g, y, a, mask, b: masked_product(a.T, mask.T, g),
    ),
    jvp="bilinear",
    statements=_masked_lines,
    cost=lambda a, mask, b: 2 * a.size * b.shape[1],
)
"""a @ b of matrices, where `a` counts where the mask is true: what is left out is not multiplied,
be it infinite."""


# Substitution


def _substitution_lines(types: Sequence[ArrayType], upper: bool, turned: bool) -> tuple[str, ...]:
    """Block after block of rows, from the end of the matrix that has but its diagonal; NumPy's own
    steps where what comes out is not finite."""
    matrix, side = types
    size, turn = matrix.shape[-1], ".T" if turned else ""
    forward = upper == turned
    others = ":start" if forward else "stop:"
    block = f"{{0}}[{others}, rows].T" if turned else f"{{0}}[rows, {others}]"
    block_rows = costs().triangle_rows
    last = (size - 1) // block_rows * block_rows
    starts = f"0, {size}, {block_rows}" if forward else f"{last}, -1, -{block_rows}"
    return (
        "{out} = np.array({1})" if side.ndim == 1 else '{out} = np.array({1}, order="C")',
        'with np.errstate(all="ignore"):',
        f"    for start in range({starts}):",
        f"        stop = start + {block_rows}",
        "        rows = slice(start, stop)",
        f"        left = {{out}}[rows] - {block} @ {{out}}[{others}]",
        f"        {{out}}[rows] = np.linalg.solve({{0}}[rows, rows]{turn}, left)",
        "if not np.isfinite({out}).all():",
        f"    {{out}} = np.linalg.solve({{0}}{turn}, {{1}})",
    )


substitute = defop(
    name="substitute",
    infer=lambda a, b, upper, turned: ArrayType(b.shape, linalg_dtype(a, b)),
    vjp=None,
    statements=_substitution_lines,
    cost=lambda a, b, upper, turned: a.size * max(b.size // max(a.shape[-1], 1), 1),
    axes=axes.sides,
)
"""The solution for a float64 matrix that has, above or below its diagonal, nothing but zeros; for
its transpose where `turned`. The blocks of the diagonal are solved for as NumPy solves: the error
is that of `np.linalg.solve`."""
