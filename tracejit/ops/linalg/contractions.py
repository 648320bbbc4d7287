"""Contractions: sums of products of two factors, by index letters, as products of matrices.

The letters of two factors are those of a stack, which both have and the result keeps; those that
are summed, which both have; and those of one factor alone, the rows of one and the columns of the
other. Letters of one kind become one axis, and `@` does the rest. Of the ways to do this, in which
axes go first, which letters of one factor alone count as stack, the one is taken that copies least
and calls the BLAS least often: a transposition costs nothing where the BLAS can read it.

What runs the steps is a function do(name of op, operands, parameters), so that rules and passes
share them: rules run ops on Tensors, passes emit nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import estimated, key_of
from tracejit.ir.types import Shape
from tracejit.support.cost_model import CostModel, costs

Do = Callable[..., Any]


class Factor(NamedTuple):
    """One factor: a Tensor, array or Value, a letter for each of its axes, shape and dtype."""

    value: Any
    letters: str
    shape: Shape
    dtype: np.dtype[Any]


class Layout(NamedTuple):
    """The letters of each kind in their order; the rows are of the first factor, or of the second
    if they are swapped."""

    stack: str
    rows: str
    summed: str
    columns: str
    is_swapped: bool


def contracted(do: Do, x: Factor, y: Factor, target: str) -> Any | None:
    """The sum of products of two factors with the letters of `target`, none of them of one factor
    alone if it is not in the target; None if np.einsum is as fast, or alone can do it.

    `do` emits an op. Factors that are broadcast against each other are left to np.einsum.
    """
    sizes = dict(zip(x.letters, x.shape, strict=True))
    for letter, size in zip(y.letters, y.shape, strict=True):
        if key_of(sizes.setdefault(letter, size)) != key_of(size):
            return None
    common = [letter for letter in x.letters if letter in y.letters]
    if not set(x.letters + y.letters) <= {*common, *target}:
        return None
    if all(letter in target for letter in common):
        return _scaled(do, x, y, target)
    if len(common) == len(x.letters) == len(y.letters):
        return _dotted(do, x, y, target)
    expected = tuple([(letter, estimated((size,))) for letter, size in sizes.items()])
    layout = _layout(x.letters, y.letters, target, expected, costs())
    return None if layout is None else _multiplied(do, x, y, target, layout, sizes)


def ordered(do: Do, x: Any, letters: str, target: str) -> Any:
    """`x` with its axes in the order of `target`, which has all its letters."""
    order = tuple([letters.index(letter) for letter in target if letter in letters])
    return x if order == tuple(sorted(order)) else do("transpose", x, axes=order)


def aligned(do: Do, x: Any, letters: str, target: str) -> Any:
    """`x` in the order of `target` as broadcasting wants it: no axes of length one in front."""
    x = ordered(do, x, letters, target)
    first = min((target.index(letter) for letter in letters), default=len(target))
    missing = [k for k, letter in enumerate(target[first:]) if letter not in letters]
    return do("expand_dims", x, axis=tuple(missing)) if missing and letters else x


def _scaled(do: Do, x: Factor, y: Factor, target: str) -> Any | None:
    """A product without sums, where one factor has all letters: einsum makes others faster."""
    if len(target) not in (len(x.letters), len(y.letters)):
        return None
    return do("multiply", *[aligned(do, one.value, one.letters, target) for one in (x, y)])


def _dotted(do: Do, x: Factor, y: Factor, target: str) -> Any | None:
    """Factors with the same letters: a sum of all products, or one for each row."""
    if not target:
        product = do("multiply", x.value, ordered(do, y.value, y.letters, x.letters))
        return do("sum", product, axis=tuple(range(len(x.letters))))
    summed = next(
        (
            run
            for run in ("".join(k for k in one.letters if k not in target) for one in (x, y))
            if run in x.letters and run in y.letters
        ),
        "",
    )
    sizes = dict(zip(x.letters, x.shape, strict=True))
    length, rows = (estimated([sizes[k] for k in letters]) for letters in (summed, target))
    if not summed or "c" in (x.dtype.kind, y.dtype.kind) or length > costs().blas_elements:
        return None  # vecdot takes the conjugate of what is complex
    if length < costs().least_vecdot_row and rows > costs().few_vecdot_rows:
        return None
    if not (x.letters.endswith(summed) and y.letters.endswith(summed)):
        return None
    return do("vecdot", *[_arranged(do, one, (*target, summed), sizes) for one in (x, y)])


@lru_cache(4096)
def _layout(
    x: str, y: str, target: str, expected: tuple[tuple[str, int], ...], model: CostModel
) -> Layout | None:
    """The cheapest layout; None if einsum is faster, for many small matrices and vectors."""
    sizes = dict(expected)
    layout = min(_layouts(x, y, target), key=lambda one: _cost(one, x, y, target, sizes, model))
    count, *sides = (_size(letters, sizes) for letters in layout[:4])
    is_small = 1 in (sides[0], sides[2]) and math.prod(sides) < model.small_product
    if is_small and count > model.few_products:
        return None
    return layout


def _layouts(x: str, y: str, target: str) -> Iterator[Layout]:
    """All layouts that are tried, those first that leave most as it is."""
    shared = [letter for letter in target if letter in x and letter in y]
    for is_swapped, a, b in ((False, x, y), (True, y, x)):
        left, right = ("".join(k for k in target if k in one and k not in shared) for one in (a, b))
        for more in (*_leading(left), *_leading(right)):
            stack = "".join(k for k in target if k in shared or k in more)
            orders = [
                dict.fromkeys("".join(k for k in one if k in rest) for one in (target, side))
                for rest, side in ((left, a), (right, b))
            ]
            sums = dict.fromkeys("".join(k for k in one if k not in target) for one in (a, b))
            for rows in orders[0]:
                for columns in orders[1]:
                    kept = ["".join(k for k in one if k not in more) for one in (rows, columns)]
                    for summed in sums:
                        yield Layout(stack, kept[0], summed, kept[1], is_swapped)


def _leading(letters: str) -> list[str]:
    """The first of some letters, not all of them, and none."""
    return [letters[:count] for count in range(max(len(letters), 1))]


def _cost(
    layout: Layout, x: str, y: str, target: str, sizes: Mapping[str, int], model: CostModel
) -> float:
    """About how many nanoseconds what is not arithmetic takes."""
    stack, rows, summed, columns, is_swapped = layout
    total = model.stacked_matrix * _size(stack, sizes)
    for letters, matrix in (
        (y if is_swapped else x, (rows, summed)),
        (x if is_swapped else y, (summed, columns)),
    ):
        groups = [k for k in stack if k in letters] + [run for run in matrix if run]
        if not all(run in letters for run in groups):
            total += model.copy_call + _size(letters, sizes)
        elif not any(run and letters.endswith(run) for run in matrix):
            total += 2 * _size(letters, sizes)
        if "".join(groups) != letters:
            total += model.view_call
        total += model.view_call * any(len(run) > 1 for run in groups)
    if stack + rows + columns != target:
        total += model.view_call + model.strided_element * _size(target, sizes)
    return total + model.view_call * (len(rows) > 1 or len(columns) > 1)


def _size(letters: str, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[letter] for letter in letters)


def _multiplied(
    do: Do, x: Factor, y: Factor, target: str, layout: Layout, sizes: Mapping[str, int]
) -> Any:
    """The product of the two as stacks of matrices, laid out so."""
    stack, rows, summed, columns, is_swapped = layout
    first, second = (y, x) if is_swapped else (x, y)
    groups = [
        _of_stack(factor, stack, matrix, vector)
        for factor, matrix, vector in (
            (first, (rows, summed), rows),
            (second, (summed, columns), columns),
        )
    ]
    operands = [
        _arranged(do, factor, each, sizes)
        for factor, each in zip((first, second), groups, strict=True)
    ]
    product = do(_name(*map(len, groups)), *operands)
    made = [*stack]
    made += [rows] if len(groups[0]) > 1 else []
    made += [columns] if len(groups[1]) > 1 else []
    letters = stack + rows + columns
    if made != [*letters]:
        product = do("reshape", product, shape=tuple([sizes[letter] for letter in letters]))
    return ordered(do, product, letters, target)


def _of_stack(factor: Factor, stack: str, matrix: Sequence[str], free: str) -> Sequence[str]:
    """The groups of letters that are the axes of a factor: a vector where it has nothing but what
    is summed, else matrices, in as much of the stack as it has."""
    if not free and not any(letter in factor.letters for letter in stack):
        return [run for run in matrix if run]
    groups = [letter if letter in factor.letters else "" for letter in stack]
    while groups and not groups[0]:
        del groups[0]
    return [*groups, *matrix]


def _name(first: int, second: int) -> str:
    """The op for factors of so many axes."""
    if first == 1 or second == 1:
        names = {(1, 1): "vectors_matmul", (1, 2): "vector_matmul", (2, 1): "matmul_vector"}
        return names[min(first, 2), min(second, 2)]
    return "matmul"


def _arranged(do: Do, factor: Factor, groups: Sequence[str], sizes: Mapping[str, Any]) -> Any:
    """A factor with one axis for each group of letters, of length one where that is empty. Letters
    that lie next to each other are made one axis before any axis is moved: that copies nothing."""
    x, letters = factor[:2]
    runs = [run for run in groups if run]
    if not all(run in letters for run in runs):
        x, letters = ordered(do, x, letters, "".join(runs)), "".join(runs)
    lying = sorted(runs, key=letters.index)
    if len(lying) < len(letters):
        shape = tuple([math.prod([sizes[letter] for letter in run]) for run in lying])
        x = do("reshape", x, shape=shape)
    axes = tuple([lying.index(run) for run in runs])
    if axes != tuple(range(len(axes))):
        x = do("transpose", x, axes=axes)
    empty = tuple([k for k, run in enumerate(groups) if not run])
    return do("expand_dims", x, axis=empty) if empty else x


class Step(NamedTuple):
    """One step of a product of many factors: the factors at `places` are taken out, and their
    product, with these letters, is put at the end."""

    places: tuple[int, ...]
    letters: str


def path_of(subscripts: str, shapes: Sequence[Shape], optimize: Any) -> list[Any]:
    """The path that np.einsum takes for operands of these shapes.

    >>> path_of("ij,jk,kl->il", [(2, 90), (90, 90), (90, 2)], "greedy")
    ['einsum_path', (0, 1), (0, 1)]
    """
    views = [np.broadcast_to(0.0, shape) for shape in shapes]
    how = list(optimize) if isinstance(optimize, tuple) else optimize
    return np.einsum_path(subscripts, *views, optimize=how)[0]


@lru_cache(4096)
def steps_along(
    labels: tuple[str, ...], output: str, shapes: tuple[Shape, ...], optimize: Any
) -> tuple[Step, ...]:
    """The steps that np.einsum takes with this `optimize`.

    >>> steps_along(("ij", "jk", "kl"), "il", ((2, 90), (90, 90), (90, 2)), True)
    (Step(places=(0, 1), letters='ik'), Step(places=(0, 1), letters='il'))
    """
    left, steps = list(labels), []
    for chosen in path_of(f"{','.join(labels)}->{output}", shapes, optimize)[1:]:
        places = tuple(sorted(chosen))
        taken = [left[place] for place in places]
        left = [letters for place, letters in enumerate(left) if place not in places]
        wanted = "".join(left) + output
        letters = output if not left else _natural(taken, wanted, output)
        left.append(letters)
        steps.append(Step(places, letters))
    return tuple(steps)


def best_steps(labels: tuple[str, ...], output: str, shapes: tuple[Shape, ...]) -> tuple[Step, ...]:
    """The cheapest steps, without ones that would take much memory."""
    largest = max(costs().large_step, *map(estimated, shapes))
    how = "optimal" if len(labels) <= costs().few_factors else "greedy"
    return steps_along(labels, output, shapes, (how, largest))


def work_of(
    labels: Sequence[str], shapes: Sequence[Shape], steps: Sequence[Step]
) -> tuple[int, int]:
    """The number of products over all letters together, and those of each step.

    >>> steps = [Step((0, 1), "ik"), Step((0, 1), "il")]
    >>> work_of(("ij", "jk", "kl"), ((2, 9), (9, 9), (9, 2)), steps)
    (324, 198)
    """
    sizes = {
        letter: size
        for one, shape in zip(labels, shapes, strict=True)
        for letter, size in zip(one, shape, strict=True)
    }
    left, total = list(labels), 0
    for places, letters in steps:
        total += _size("".join(set("".join(left[place] for place in places))), sizes)
        left = [one for place, one in enumerate(left) if place not in places]
        left.append(letters)
    return _size("".join(sizes), sizes), total


def _natural(taken: Sequence[str], wanted: str, output: str) -> str:
    """The letters that a product keeps, as a product of stacks of matrices has them: those of all
    factors first, and then the rows, those of the factor that has the first of the result."""
    letters = "".join(sorted(taken, key=lambda one: output[:1] not in one))
    kept = [letter for letter in dict.fromkeys(letters) if letter in wanted]
    return "".join(sorted(kept, key=lambda letter: not all(letter in one for one in taken)))
