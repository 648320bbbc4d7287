"""`einsum`: sums of products by index letters.

A call is brought to one explicit form first: no spaces, no ellipsis, an output, no letter twice in
an operand (its diagonal is taken instead). What only permutes axes is a transposition. The
cotangent of an operand is the product of the output's cotangent with the other operands. Of two
factors that is a matrix product where letters are summed and an elementwise one where none is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType, Shape
from tracejit.ops.batching import Moved
from tracejit.ops.creation import as_array
from tracejit.ops.op import Each, answer, defop
from tracejit.ops.products import array_or_scalar, common_dtype, without_out


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
            if optimize:
                raise TypeError("optimize with a letter twice in one operand is not supported")
            factors[number], labels[number] = _diagonals(factors[number], letters)
    if len(factors) == 1 and output and set(labels[0]) == set(output):
        return _ordered(factors[0], labels[0], output)
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
            raise ValueError(f"{text!r} in {subscripts!r} is not for an operand of {n} dimensions")
    fresh = [letter for letter in ascii_letters if letter not in subscripts][: max(widths)]
    spread = "".join(fresh)
    if not arrow:
        counts = "".join(labels).replace(".", "")
        once = sorted(letter for letter in set(counts) if counts.count(letter) == 1)
        output = "..." + "".join(once)
    elif spread and "..." not in output:
        raise ValueError(
            f"{subscripts!r} gives the output no '...' for the dimensions of the inputs"
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


def _split(subscripts: str) -> tuple[list[str], str]:
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


@cache
def _optimized_form(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> Any:
    """The form of a result without axes: it depends on the path that NumPy takes."""
    views = [np.broadcast_to(0.0, shape) for shape in shapes]
    path = np.einsum_path(subscripts, *views, optimize=optimize)[0]
    small = [np.zeros([min(size, 2) for size in shape]) for shape in shapes]
    result = np.einsum(subscripts, *small, optimize=path)
    return "array" if type(result) is np.ndarray else "scalar"


def _einsum_type(*types: ArrayType, subscripts: str, optimize: Any = False) -> ArrayType:
    labels, output = _split(subscripts)
    shapes = tuple([type.shape for type in types])
    sizes = letter_sizes(labels, shapes)
    result = array_or_scalar(tuple(sizes[letter] for letter in output), common_dtype(*types))
    if optimize and not output:
        return result.with_form(_optimized_form(subscripts, shapes, optimize))
    return result


def _einsum_cost(*types: ArrayType, subscripts: str, optimize: Any = False) -> int:
    labels, _ = _split(subscripts)
    sizes = letter_sizes(labels, [type.shape for type in types])
    return len(types) * math.prod(sizes.values())


def _einsum_vjp(
    number: int, g: Any, y: Any, *operands: Any, subscripts: str, optimize: Any = False
) -> Any:
    """The product of g and the other operands, summed over what operand `number` does not have."""
    labels, output = _split(subscripts)
    others = [
        (x, text) for k, (x, text) in enumerate(zip(operands, labels, strict=True)) if k != number
    ]
    reached = output + "".join(text for _, text in others)
    target = "".join(letter for letter in labels[number] if letter in reached)
    if not others:
        cotangent = _ordered(g, output, target)
    elif len(others) == 1:
        cotangent = _product_of_two(g, output, *others[0], target)
    else:
        factors = [(g, output), *others] if output else others
        inputs = ",".join(text for _, text in factors)
        again = optimize if isinstance(optimize, (bool, str)) else True
        cotangent = np.einsum(f"{inputs}->{target}", *[x for x, _ in factors], optimize=again)
        cotangent = cotangent if output else g * cotangent
    return _spread(cotangent, target, labels[number])


def _ordered(x: Any, letters: str, target: str) -> Any:
    """`x` with its axes in the order of `target`, which has all its letters."""
    order = [letters.index(letter) for letter in target if letter in letters]
    return x if order == sorted(order) else np.transpose(x, order)


def _spread(x: Any, letters: str, target: str) -> Any:
    """`x`, if it has axes, with axes of length one where `target` has letters that it has not."""
    missing = tuple(k for k, letter in enumerate(target) if letter not in letters)
    return np.expand_dims(x, missing) if missing and letters else x


def _aligned(x: Any, letters: str, target: str) -> Any:
    """`x` in the order of `target` as broadcasting wants it: no axes of length one in front."""
    first = min((target.index(letter) for letter in letters), default=0)
    return _spread(_ordered(x, letters, target), letters, target[first:])


def _product_of_two(x: Any, x_letters: str, y: Any, y_letters: str, target: str) -> Any:
    """einsum of two factors, by a matrix product where letters are summed.

    Letters of x are in y or in the target; letters of y alone are summed first.
    """
    lonely = [letter for letter in y_letters if letter not in x_letters + target]
    if lonely:
        y = np.sum(y, axis=tuple(y_letters.index(letter) for letter in lonely))
        y_letters = "".join(letter for letter in y_letters if letter not in lonely)
    summed = [letter for letter in x_letters if letter not in target]
    if not summed:
        return _aligned(x, x_letters, target) * _aligned(y, y_letters, target)
    shared = [letter for letter in target if letter in x_letters and letter in y_letters]
    x_sizes = dict(zip(x_letters, x.shape, strict=True))
    y_sizes = dict(zip(y_letters, y.shape, strict=True))
    if any(x_sizes[letter] != y_sizes[letter] for letter in summed + shared):
        return np.einsum(f"{x_letters},{y_letters}->{target}", x, y)
    left = [letter for letter in target if letter in x_letters and letter not in shared]
    right = [letter for letter in target if letter in y_letters and letter not in shared]
    if right and not (left and target.index(left[0]) < target.index(right[0])):
        x, y, x_letters, y_letters, left, right = y, x, y_letters, x_letters, right, left
        x_sizes, y_sizes = y_sizes, x_sizes
    stack = [x_sizes[letter] for letter in shared]
    size = math.prod(x_sizes[letter] for letter in summed)
    rows = [x_sizes[letter] for letter in left]
    columns = [y_sizes[letter] for letter in right]
    x = _ordered(x, x_letters, "".join(shared + left + summed))
    y = _ordered(y, y_letters, "".join(shared + summed + right))
    x = np.reshape(x, (*stack, *([math.prod(rows)] if rows or stack else []), size))
    y = np.reshape(y, (*stack, size, *([math.prod(columns)] if columns or stack else [])))
    product = x @ y
    if rows or columns or stack:
        product = np.reshape(product, (*stack, *rows, *columns))
    return _ordered(product, "".join(shared + left + right), target)


def _batched_einsum(moved: Moved, *operands: Any, subscripts: str, optimize: bool = False) -> Any:
    """The same product, with one letter more for the batch."""
    labels, output = _split(subscripts)
    letter = next(letter for letter in ascii_letters if letter not in subscripts)
    pairs = zip(labels, moved, strict=True)
    inputs = ",".join(letter + label if there else label for label, there in pairs)
    return np.einsum(f"{inputs}->{letter}{output}", *operands, optimize=optimize)


einsum = defop(
    name="einsum",
    infer=_einsum_type,
    vjp=Each(_einsum_vjp),
    jvp="bilinear",
    batch=_batched_einsum,
    source=lambda types, subscripts, optimize=False: (
        "np.einsum({subscripts}, {operands}" + (", optimize={optimize})" if optimize else ")")
    ),
    cost=_einsum_cost,
)
answer(np.einsum, _einsum_call)
