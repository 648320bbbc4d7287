"""Figures: the table of the cost model, and what this machine says of it.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.cost_model

Every figure with its unit. A figure that is a time is measured here, the least of many. Beside a
threshold between two forms stands the time of the form that is chosen beyond it, as a part of that
of the other, at a quarter of the threshold, at it, and at four times it: it should fall below 1 on
the way. Forms take turns. Thresholds that only whole programs tell have no measurement here;
docs/notes/performance.md has theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit.support.cost_model import DEFAULT, CostModel

Form = Callable[[], object]
Forms = Callable[[int], tuple[Form, Form]]
RNG = np.random.default_rng(0)
SECONDS = 0.05


def nanoseconds(*forms: Form) -> list[float]:
    """The least time of a call of each form; they take turns for a while."""
    least = [float("inf")] * len(forms)
    end = time.perf_counter() + SECONDS * len(forms)
    while least[0] == float("inf") or time.perf_counter() < end:
        for place, form in enumerate(forms):
            calls = 1 if 1e4 < least[place] < float("inf") else 10
            begin = time.perf_counter_ns()
            for _ in range(calls):
                form()
            least[place] = min(least[place], (time.perf_counter_ns() - begin) / calls)
    return least


def numbers(*shape: int) -> np.ndarray:
    """Random numbers."""
    return RNG.normal(size=shape)


def element() -> float:
    """An element of an addition, in the cache."""
    x, y, out = numbers(3, 20_000)
    return nanoseconds(lambda: np.add(x, y, out))[0] / x.size


def work() -> Iterator[tuple[str, float]]:
    """Costs of products, rows and elements, in elements of an addition."""
    one = element()
    yield "addition", one
    a, row = numbers(256, 256), numbers(256)
    matrix, vector, einsum = nanoseconds(
        lambda: a @ a, lambda: a @ row, lambda: np.einsum("ij,jk->ik", a[:64], a)
    )
    yield "multiplication", matrix / 256**3 / one
    yield "vector_multiplication", vector / 256**2 / one
    yield "einsum_multiplication", einsum / (64 * 256**2) / one
    yield "product_rate", 8 * 256**3 / matrix
    yield "vector_product_rate", 8 * 256**2 / vector
    x, rows, column = numbers(20_000), numbers(2000, 10), numbers(2000, 1)
    index = RNG.integers(0, x.size, x.size)
    slow, spread, taken = nanoseconds(
        lambda: np.tanh(x), lambda: np.multiply(rows, column), lambda: x.take(index)
    )
    yield "slowest_element", slow / x.size / one
    yield "spread_row", (spread / 2000 - 10 * one) / one
    yield "gathered_element", taken / x.size / one


def scalars() -> Iterator[tuple[str, float]]:
    """NumPy's scalars and Python's floats; what both take for the loop is taken off."""
    s, f = np.float64(0.5), 0.5
    exp = np.exp
    nothing, *times = nanoseconds(
        lambda: None,
        lambda: s * s,
        lambda: f * f,
        lambda: exp(s),
        lambda: float(exp(f)),
        lambda: float(s),
        lambda: np.float64(f),
    )
    slow, fast, call, float_call, made, back = (one - nothing for one in times)
    yield "scalar_operation", slow
    yield "float_operation_gain", slow - fast
    yield "scalar_call", call
    yield "float_call_gain", call - float_call
    yield "float_made", made
    yield "scalar_made", back
    yield "python_call", nothing


def stacked(row: np.ndarray, count: int) -> np.ndarray:
    """A new array of equal rows, written one after the other."""
    whole = np.empty((count, *row.shape))
    for place in range(count):
        whole[place] = row
    return whole


def rows() -> Iterator[tuple[str, float]]:
    """Rows of stacks, small ones and one of 80 kB in memory that no cache holds."""
    row, stack, long = numbers(4), numbers(1000, 4), numbers(10_000)
    listed, number = numbers(1000), 0.5
    times = nanoseconds(
        lambda: None,
        lambda: row * row,
        lambda: stack.__setitem__(500, row),
        lambda: stack[500],
        lambda: listed.__setitem__(500, number),
        lambda: listed[500],
        lambda: listed.tolist(),
    )
    nothing, call, written, read, number_written, number_read, every = times
    (large,) = nanoseconds(lambda: stacked(long, 400))
    yield "array_call", call - nothing
    yield "row_written", written - nothing
    yield "row_read", read - nothing
    yield "number_written", number_written - nothing
    yield "number_read", number_read - nothing
    yield "listed_number", every / listed.size
    yield "stacked_byte", large / 400 / long.nbytes


def operations() -> Iterator[tuple[str, float]]:
    """Costs in products of stacks besides arithmetic."""
    x, cube = numbers(8, 8), numbers(50, 40, 30)
    stack, matrix = numbers(1000, 4, 4), numbers(4, 4)
    view, copy, lying, turned, many = nanoseconds(
        lambda: x.T,
        lambda: np.ascontiguousarray(x.T),
        lambda: cube.copy(),
        lambda: cube.transpose(2, 0, 1).copy(),
        lambda: stack @ matrix,
    )
    yield "view_call", view
    yield "copy_call", copy
    yield "strided_element", (turned - lying) / cube.size
    yield "stacked_matrix", many / 1000


def choices(size: int) -> tuple[Form, Form]:
    """A choice between an array and zero by bits, and by `where`."""
    x = numbers(size)
    chosen = RNG.random(size) > 0.5
    return (
        lambda: (x.view(np.int64) & -chosen.view(np.int8)).view(np.float64),
        lambda: np.where(chosen, x, 0.0),
    )


def slopes(size: int) -> tuple[Form, Form]:
    """The slope of a softplus by a quotient, and by the logarithm that is there."""
    e = np.exp(-np.abs(numbers(size)))
    logarithm = np.log1p(e)
    return lambda: 0.5 / (e + 1.0) * e, lambda: 0.5 * -np.expm1(-logarithm)


def counts(size: int) -> tuple[Form, Form]:
    """Elements added up at a known index by `add.at`, and by `bincount`."""
    x, index = numbers(size), RNG.integers(0, max(size // 4, 1), size)

    def added() -> Any:
        made = np.zeros(max(size // 4, 1))
        np.add.at(made, index, x)
        return made

    return added, lambda: np.bincount(index, x, max(size // 4, 1))


def sums_of_exponentials(size: int) -> tuple[Form, Form]:
    """`logaddexp`, and what it is spelled out as."""
    x, y = numbers(2, size)
    return (
        lambda: np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))),
        lambda: np.logaddexp(x, y),
    )


def triangles(size: int) -> tuple[Form, Form]:
    """The triangle of a matrix by `tril`, and by a mask that is there."""
    rows = max(round(size**0.5), 2)
    x, mask = numbers(rows, rows), np.tri(rows, dtype=bool)
    return lambda: np.tril(x), lambda: np.where(mask, x, 0.0)


def small_products(size: int) -> tuple[Form, Form]:
    """`@` and `dot` of matrices with so many multiplications and additions."""
    rows = max(round((size / 2) ** (1 / 3)), 2)
    a, out = numbers(rows, rows), np.empty((rows, rows))
    return lambda: np.matmul(a, a, out), lambda: a.dot(a, out)


def named_numbers(size: int) -> tuple[Form, Form]:
    """A number as it is, and as a 0-d array."""
    x, two = numbers(size), np.array(2.0)
    return lambda: x * 2.0, lambda: x * two


def statements(size: int) -> tuple[Form, Form]:
    """Statements in place, and an expression."""
    x, y = numbers(2, size)

    def in_place() -> Any:
        made = x * y
        made += x
        made *= y
        return made

    return in_place, lambda: (x * y + x) * y


def long_rows(length: int) -> tuple[Form, Form]:
    """Sums of rows by `vecdot`, and by products of blocks of rows."""
    rows = max(DEFAULT.blas_elements // length, 1)
    x, ones = numbers(8 * rows, length), np.ones(length)
    return lambda: np.vecdot(x, ones), lambda: (x.reshape(8, rows, length) @ ones).ravel()


def einsums(size: int) -> tuple[Form, Form]:
    """Products of long rows added up by `einsum`, and by `add.reduce`."""
    x, y = numbers(2, max(size // 500, 2), 5, 100)
    return lambda: np.einsum("abc,abc->ac", x, y), lambda: np.add.reduce(x * y, 1)


def rows_added(columns: int) -> tuple[Form, Form]:
    """Rows added up at an index in an array made flat, and a column after the other."""
    x, index = numbers(5000, columns), RNG.integers(0, 1000, 5000)

    def by_columns() -> Any:
        made = np.zeros((1000, columns))
        for column in range(columns):
            np.add.at(made[:, column], index, x[:, column])
        return made

    def flat() -> Any:
        made = np.zeros(1000 * columns)
        np.add.at(made, (index[:, None] * columns + np.arange(columns)).ravel(), x.ravel())
        return made

    return flat, by_columns


FORMS: dict[str, Forms] = {
    "least_choice_elements": choices,
    "most_softplus_elements": slopes,
    "most_counted_elements": counts,
    "least_logaddexp_elements": sums_of_exponentials,
    "most_mask_elements": triangles,
    "dot_operations": small_products,
    "named_number_elements": named_numbers,
    "inline_elements": statements,
    "vecdot_row": long_rows,
    "least_einsum_elements": einsums,
    "added_columns": rows_added,
}
"""By the threshold between them, the form that is chosen beyond it, and the one before it."""
TIMES = (work, scalars, rows, operations)


def measured() -> dict[str, str]:
    """The measurements of this machine, by figure."""
    found = {name: f"{value:.3g}" for group in TIMES for name, value in group()}
    for name, forms in FORMS.items():
        times = [nanoseconds(*forms(size)) for size in around(getattr(DEFAULT, name))]
        found[name] = " ".join(f"{beyond / before:.2f}" for beyond, before in times)
    return found


def around(figure: int) -> tuple[int, int, int]:
    """A quarter of a figure, the figure and four times it."""
    return max(figure // 4, 1), figure, 4 * figure


def main() -> None:
    """Print the table."""
    here = measured()
    for section in CostModel.__mro__[1:-1]:
        print(f"\n{section.__name__}")
        for name, unit in section.__annotations__.items():
            value = getattr(DEFAULT, name)
            print(f"  {name:28} {value!s:>16} {unit:20} {here.get(name, '')}")


if __name__ == "__main__":
    main()
