"""`einsum`: sums of products by index letters.

A call is brought to one explicit form first: no spaces, no ellipsis, an output, no letter twice in
an operand (its diagonal is taken instead). What only permutes axes is a transposition. The
cotangent of an operand is the product of the output's cotangent with the other operands. Of two
factors that is a matrix product where letters are summed and an elementwise one where none is; of
more, one product after the other in the cheapest order, so that all cotangents together take twice
what the value takes in it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache, reduce
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tracejit.ir.dims import estimated
from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import OPS, Each, answer, defop
from tracejit.ops.linalg.contractions import (
    Factor,
    aligned,
    best_steps,
    contracted,
    ordered,
    path_of,
    steps_along,
)
from tracejit.ops.linalg.products import array_or_scalar, common_dtype, without_out

_TAKES_DIAGONALS = hasattr(np._core.einsumfunc, "bmm_einsum")  # type: ignore[attr-defined]
"""With `optimize`, NumPy 2.4 takes diagonals before it multiplies two operands; before that it had
no BLAS for operands with a letter twice, and computed as without `optimize`."""


def _einsum_call(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = False
) -> Any:
    """A call of np.einsum in the explicit form."""
    without_out(out)
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    if isinstance(optimize, (list, tuple)):
        optimize = tuple(map(tuple_of_numbers, optimize))
    elif optimize not in (False, True, "greedy", "optimal"):
        raise TypeError(f"optimize={optimize!r} is not supported")
    factors = [as_array(x) for x in operands]
    labels, output = explicit_subscripts(subscripts, [np.ndim(x) for x in factors])
    for number, letters in enumerate(labels):
        if len(set(letters)) < len(letters):
            if optimize and len(factors) > 2:
                raise TypeError(
                    "optimize with a letter twice in one of three operands or more is not "
                    "supported: take np.diagonal of it first"
                )
            optimize = optimize if _TAKES_DIAGONALS else False
            factors[number], labels[number] = _diagonals(factors[number], letters)
    if len(factors) == 1 and output and set(labels[0]) == set(output):
        return ordered(run, factors[0], labels[0], output)
    params: dict[str, Any] = {"subscripts": f"{','.join(labels)}->{output}"}
    return einsum(*factors, **params, **({"optimize": optimize} if optimize else {}))


def tuple_of_numbers(entry: Any) -> Any:
    """One entry of a path: a pair or more of operand numbers, or a word or limit."""
    return tuple(map(int, entry)) if isinstance(entry, (list, tuple)) else entry


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as letters, where operands and lists of numbers stand by turns."""
    count = len(operands) // 2
    texts = list(map(_letters, operands[1 : 2 * count : 2]))
    output = f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
    return ",".join(texts) + output, operands[: 2 * count : 2]


def _letters(numbers: Any) -> str:
    if not isinstance(numbers, (list, tuple)):
        raise TypeError("subscripts must be a string such as 'ij,jk->ik', or lists of numbers")
    letters = ascii_uppercase + ascii_lowercase
    return "".join("..." if n is Ellipsis else letters[operator.index(n)] for n in numbers)


def explicit_subscripts(subscripts: str, axes: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand, which has as many axes as `axes` says, and of the output.

    >>> explicit_subscripts("...ij, jk", [3, 2])
    (['aij', 'jk'], 'aik')
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if len(labels) != len(axes):
        raise ValueError(f"{subscripts!r} is for {len(labels)} operands, {len(axes)} given")
    for text in (*labels, output):
        letters = text.replace("...", "", 1)
        if not set(letters) <= set(ascii_letters):
            raise ValueError(f"{text!r} in {subscripts!r} is not letters and at most one '...'")
    widths = [n - len(text.replace("...", "")) for n, text in zip(axes, labels, strict=True)]
    for width, text, n in zip(widths, labels, axes, strict=True):
        if width < 0 or (width and "..." not in text):
            raise ValueError(
                f"{text!r} in {subscripts!r} does not fit an operand of {n} dimensions"
            )
    fresh = [letter for letter in ascii_letters if letter not in subscripts][: max(widths)]
    spread = "".join(fresh)
    if not arrow:
        counts = "".join(labels).replace(".", "")
        once = sorted(letter for letter in set(counts) if counts.count(letter) == 1)
        output = "..." + "".join(once)
    elif spread and "..." not in output:
        raise ValueError(
            f"{subscripts!r} has no '...' in the output for the dimensions of the inputs"
        )
    labels = [
        text.replace("...", spread[len(spread) - width :])
        for width, text in zip(widths, labels, strict=True)
    ]
    output = output.replace("...", spread)
    for letter in output:
        if output.count(letter) > 1 or not any(letter in text for text in labels):
            raise ValueError(f"the output of {subscripts!r} has {letter!r} twice or from nowhere")
    return labels, output


def _diagonals(x: Any, letters: str) -> tuple[Any, str]:
    """`x` with the axes of a letter that stands twice replaced by their diagonal, the last axis."""
    for letter in letters:
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            if np.shape(x)[first] != np.shape(x)[second]:
                raise ValueError(f"the dimensions of {letter!r} in {letters!r} are not equal")
            x = np.diagonal(x, 0, first, second)
            rest = [text for k, text in enumerate(letters) if k not in (first, second)]
            letters = "".join(rest) + letter
    return x, letters


def split_subscripts(subscripts: str) -> tuple[list[str], str]:
    """The letters of each operand and of the result of the explicit form."""
    inputs, _, output = subscripts.partition("->")
    return inputs.split(","), output


def letter_sizes(labels: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    """The size of each letter, where operands of size one are broadcast."""
    sizes: dict[str, int] = {}
    for letters, shape in zip(labels, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise ValueError(f"{letter!r} is both {known} and {size}")
    return sizes


@lru_cache(4096)
def _optimized_form(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> Any:
    """The form of a result without axes: it depends on the path that NumPy takes."""
    path = path_of(subscripts, shapes, optimize)
    small = [np.zeros([min(size, 2) for size in shape]) for shape in shapes]
    result = np.einsum(subscripts, *small, optimize=path)
    return "array" if type(result) is np.ndarray else "scalar"


def _einsum_type(*types: ArrayType, subscripts: str, optimize: Any = False) -> ArrayType:
    labels, output = split_subscripts(subscripts)
    shapes = tuple([type.shape for type in types])
    sizes = letter_sizes(labels, shapes)
    result = array_or_scalar(tuple(sizes[letter] for letter in output), common_dtype(*types))
    if optimize and not output:
        return result.with_form(_optimized_form(subscripts, shapes, optimize))
    return result


def _einsum_cost(*types: ArrayType, subscripts: str, optimize: Any = False) -> int:
    labels, _ = split_subscripts(subscripts)
    sizes = letter_sizes(labels, [type.shape for type in types])
    return len(types) * math.prod(sizes.values())


def _einsum_vjp(
    number: int, g: Any, y: Any, *operands: Any, subscripts: str, optimize: Any = False
) -> Any:
    """The product of g and the other operands, summed over what operand `number` does not have."""
    labels, output = split_subscripts(subscripts)
    factors = [_factor(x, text) for x, text in zip(operands, labels, strict=True)]
    own = factors[number]
    cotangent = _factor(g, output)
    for part, others in _ways_down(number, factors, output, optimize):
        cotangent = _product([cotangent, *others], part)
    x, letters = cotangent[:2]
    return _spread(ordered(run, x, letters, own.letters), letters, own.letters)


def _factor(x: Any, letters: str) -> Factor:
    return Factor(x, letters, x.shape, x.dtype)


def _ways_down(
    number: int, factors: list[Factor], output: str, optimize: Any
) -> list[tuple[str, list[Factor]]]:
    """The products that the cotangent of the result goes through on its way to that of factor
    `number`: the letters of the part of the factors that it is of then, and what that part is
    multiplied with. The products of other parts are made once for all factors."""
    if len(factors) <= 2:
        others = [one for k, one in enumerate(factors) if k != number]
        return [(factors[number].letters, others)]
    labels, shapes = _known(factors)
    steps = steps_along(labels, output, shapes, optimize) if optimize else ()
    if len(steps) < 2:
        steps = best_steps(labels, output, shapes)
    left: list[Factor | None] = [None if k == number else one for k, one in enumerate(factors)]
    own = factors[number].letters
    ways: list[tuple[str, list[Factor]]] = []
    for places, letters in steps:
        taken = [left[place] for place in places]
        others = [one for one in taken if one is not None]
        left = [one for place, one in enumerate(left) if place not in places]
        if len(others) < len(taken):
            ways.append((own, others))
            left.append(None)
            own = letters
        else:
            left.append(_product(others, letters))
    return ways[::-1]


def _known(factors: Sequence[Factor]) -> tuple[tuple[str, ...], tuple[Shape, ...]]:
    """The letters of factors and their sizes, free ones as planners expect them."""
    shapes = [tuple([estimated((size,)) for size in one.shape]) for one in factors]
    return tuple([one.letters for one in factors]), tuple(shapes)


def run(op: str, *operands: Any, **params: Any) -> Any:
    """An op on Tensors or arrays."""
    return OPS[op](*operands, **params)


def _product(factors: Sequence[Factor], wanted: str) -> Factor:
    """The product of factors, summed over letters that are not wanted."""
    reached = "".join(one.letters for one in factors)
    target = "".join(letter for letter in wanted if letter in reached)
    match factors:
        case [x]:
            product = ordered(run, x.value, x.letters, target)
        case [x, y]:
            product = _product_of_two(x, y, target)
        case _:
            terms = [one.value for one in factors if not one.letters]
            rest = [one for one in factors if one.letters]
            if rest:
                inputs = ",".join(one.letters for one in rest)
                terms.append(np.einsum(f"{inputs}->{target}", *[one.value for one in rest]))
            product = reduce(operator.mul, terms)
    return _factor(product, target)


def _product_of_two(x: Factor, y: Factor, target: str) -> Any:
    """The product of two factors; letters of one alone are summed first."""
    x, y = _summed(x, y.letters + target), _summed(y, x.letters + target)
    product = contracted(run, x, y, target)
    if product is not None:
        return product
    if set(x.letters + y.letters) <= set(target):
        return np.multiply(*[aligned(run, one.value, one.letters, target) for one in (x, y)])
    return np.einsum(f"{x.letters},{y.letters}->{target}", x.value, y.value)


def _summed(x: Factor, kept: str) -> Factor:
    """A factor without the letters that nothing else has, which are summed."""
    axes = tuple(k for k, letter in enumerate(x.letters) if letter not in kept)
    if not axes:
        return x
    value = np.sum(x.value, axis=axes)
    return _factor(value, "".join(letter for letter in x.letters if letter in kept))


def _spread(x: Any, letters: str, target: str) -> Any:
    """`x`, if it has axes, with axes of length one where `target` has letters that it has not."""
    missing = tuple(k for k, letter in enumerate(target) if letter not in letters)
    return np.expand_dims(x, missing) if missing and letters else x


def _batched_einsum(moved: Moved, *operands: Any, subscripts: str, optimize: bool = False) -> Any:
    """The same product, with one letter more for the batch."""
    labels, output = split_subscripts(subscripts)
    letter = next(letter for letter in ascii_letters if letter not in subscripts)
    pairs = zip(labels, moved, strict=True)
    inputs = ",".join(letter + label if there else label for label, there in pairs)
    return np.einsum(f"{inputs}->{letter}{output}", *operands, optimize=optimize)


def _einsum_text(factors: str, optimize: Any) -> str:
    """The call of np.einsum with these factors."""
    more = ", optimize={optimize}" if optimize else ""
    return f"np.einsum({{subscripts}}, {factors}{more})"


def _if_not_finite(types: Sequence[ArrayType], subscripts: str, optimize: Any = False) -> str:
    factors = ", ".join(f"{{{number}}}" for number in range(1, len(types)))
    return f"if not np.isfinite({{out}}).all(): {{out}}[...] = {_einsum_text(factors, optimize)}"


def _if_not_finite_lines(
    types: Sequence[ArrayType], subscripts: str, optimize: Any = False
) -> tuple[str, str]:
    update = _if_not_finite(types, subscripts, optimize)
    if types[0].shape:
        return "{out} = {0}.copy()", update
    return "{out} = {0}", update.replace("[...]", "")


def _einsum_axes(types: Sequence[ArrayType], subscripts: str, **params: Any) -> str:
    """The subscripts themselves, but for axes of size one, which are broadcast."""
    labels, output = split_subscripts(subscripts)
    operands = [
        ["_" if axes.is_one(size) else letter for letter, size in zip(*pair, strict=True)]
        for pair in zip(labels, [type.shape for type in types], strict=True)
    ]
    there = {letter for letters in operands for letter in letters}
    return axes.text_of(operands, [letter if letter in there else "_" for letter in output])


einsum = defop(
    name="einsum",
    infer=_einsum_type,
    vjp=Each(_einsum_vjp),
    jvp="bilinear",
    batch=_batched_einsum,
    source=lambda types, subscripts, optimize=False: _einsum_text("{operands}", optimize),
    cost=_einsum_cost,
    axes=_einsum_axes,
)
answer(np.einsum, _einsum_call)


einsum_if_not_finite = defop(
    name="einsum_if_not_finite",
    infer=lambda value, *types, **params: value,
    statements=_if_not_finite_lines,
    inplace=_if_not_finite,
    cost=lambda value, *types, **params: value.estimated_size,
)
"""The product of many factors, made in steps; as NumPy makes it where that is not all finite: sums
before the last factor is multiplied would be infinite where NumPy has nan. Passes make it."""
