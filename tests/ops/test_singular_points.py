"""Where functions are not differentiable, or their formulas fail: what the gradient is there.

docs/singular_points.md says it of each function at one point or two: its rows are run here, by
`gradient`, by forward mode and as a user calls them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import interpret, run
from tests.ops.program import quiet
from tests.rows import each_row
from tests.support.compare import same_for_each
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.scipy import special
from tracejit.support.errors import UnsupportedError


def gradient(call: Any, *args: Any, order: int = 1) -> list[Any]:
    """The gradients of the sum of `call(*args)`; of the sum of those, for order 2."""
    started = run(call, *args)
    found: list[Any] = started.tensors
    floating = [x for x in started.inputs if x.type.is_inexact and x.type.form != "weak"]
    for _ in range(order):
        ys = [y for y in found if y is not None]
        found = gradients(ys, floating, [np.ones_like(y) for y in ys])
    with quiet():
        values = iter(interpret(started.finish(*found), *args)[len(started.leaves) :])
    return [None if g is None else next(values) for g in found]


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0, strict=False)


ZERO = np.array([0.0, -0.0])
NAN, INF = np.nan, np.inf


@each_row(
    ("call", "first", "second"),
    [
        (lambda x: x**0, 0.0, None),
        (lambda x: x**1, 1.0, None),
        (lambda x: x**2, 0.0, 2.0),
        (lambda x: x**2.0, 0.0, 2.0),
        (lambda x: x**3, 0.0, 0.0),
        (lambda x: x ** np.array([3, 3]), 0.0, 0.0),
        (lambda x: x ** np.array([2.0, 2.0]), 0.0, 2.0),
        (lambda x: x ** np.array([1.0, 1.0]), 1.0, 0.0),
        (lambda x: np.power(x, np.array([0.0, 0.0])), 0.0, 0.0),
        (lambda x: np.float_power(x, np.array([0, 0])), 0.0, 0.0),
        (lambda x: x ** np.array([0, 0], np.uint8), 0.0, 0.0),
        (lambda x: x ** np.float64(2), 0.0, 2.0),
        (lambda x: np.abs(x), 0.0, None),
        (lambda x: np.fabs(x), 0.0, None),
        (lambda x: np.hypot(x, 0.0), 0.0, NAN),
        (lambda x: np.arctan2(x, 0.0), 0.0, 0.0),
        (lambda x: np.copysign(x, -1.0), 0.0, None),
        (lambda x: np.sinc(x), 0.0, -(np.pi**2) / 3),
        (lambda x: np.maximum(x, 0), 0.5, 0.0),
        (lambda x: np.minimum(0.0, x), 0.5, 0.0),
        (lambda x: np.fmax(x, 0), 0.5, 0.0),
        (lambda x: np.clip(x, 0, 1), 1.0, 0.0),
        (lambda x: np.clip(x, -1, 0), 1.0, 0.0),
        (lambda x: np.clip(x, 0, None), 1.0, 0.0),
        (lambda x: np.clip(x, None, 0), 1.0, 0.0),
        (lambda x: np.clip(x, 0, 0), 1.0, 0.0),
    ],
)
def test_at_zero(call: Any, first: float, second: float | None) -> None:
    (found,) = gradient(call, ZERO)
    same(found, np.full(2, first))
    again = gradient(call, ZERO, order=2)[0]
    same(np.zeros(2) if again is None else again, np.full(2, second or 0.0))


@pytest.mark.parametrize(
    ("call", "first"),
    [
        (lambda x: np.sqrt(x), INF),
        (lambda x: x**0.5, INF),
        (lambda x: np.cbrt(x), INF),
        (lambda x: np.log(x), INF),
    ],
)
def test_infinite_slopes_are_infinite(call: Any, first: float) -> None:
    same(gradient(call, np.zeros(2))[0], np.full(2, first))


def test_a_power_whose_exponent_is_differentiated() -> None:
    x = np.array([0.0, 0.0, 0.0, -2.0, 2.0])
    y = np.array([0.0, 1.0, 2.0, 3.0, 0.0])
    in_x, in_y = gradient(lambda x, y: x**y, x, y)
    same(in_x, [0.0, 1.0, 0.0, 12.0, 0.0])
    same(in_y[:3], [0.0, 0.0, 0.0])
    same(in_y[4:], np.log([2.0]))
    assert np.isnan(in_y[3])
    in_x, in_y = gradient(lambda x, p: np.power(x, p), np.array([0.0, -3.0]), np.float64(2.0))
    same(in_x, [0.0, -6.0])


def test_a_mixed_second_derivative_of_a_power_where_the_exponent_is_zero() -> None:
    """d2(x ** y)/dx dy is x ** (y - 1) * (1 + y * log(x))."""
    mixed = lambda x, y: gradients_sum(x, y)  # noqa: E731

    def gradients_sum(x: Any, y: Any) -> Any:
        z = x**y
        return gradients([z], [x], [np.ones_like(z)])[0]

    (_, in_y) = gradient(mixed, np.array([2.0, 3.0]), np.array([0.0, 1.0]))
    same(in_y, [0.5, 1.0 + np.log(3.0)])


def test_equal_operands_share() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 2.0])
    for call in (np.maximum, np.fmax):
        in_x, in_y = gradient(lambda x, y, f=call: f(x, y), x, y)
        same(in_x, [0.5, 0.0, 1.0])
        same(in_y, [0.5, 1.0, 0.0])
    for call in (np.minimum, np.fmin):
        in_x, in_y = gradient(lambda x, y, f=call: f(x, y), x, y)
        same(in_x, [0.5, 1.0, 0.0])
        same(in_y, [0.5, 0.0, 1.0])


def test_fmax_gives_all_to_the_operand_that_is_a_number() -> None:
    in_x, in_y = gradient(lambda x, y: np.fmax(x, y), np.array([NAN, 1.0]), np.array([1.0, NAN]))
    same(in_x, [0.0, 1.0])
    same(in_y, [1.0, 0.0])


def test_bounds_that_are_arrays_get_the_rest() -> None:
    a = np.array([-2.0, 0.0, 3.0, 1.0, 0.5])
    low = np.array([-1.0, -1.0, -1.0, 1.0, 2.0])
    high = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
    in_a, in_low, in_high = gradient(lambda a, b, c: np.clip(a, b, c), a, low, high)
    same(in_a, [0.0, 1.0, 0.0, 1.0, 0.0])
    same(in_low, [1.0, 0.0, 0.0, 0.0, 0.0])
    same(in_high, [0.0, 0.0, 1.0, 0.0, 1.0])


def test_the_adjoint_of_where_is_a_select() -> None:
    x = np.array([0.0, 4.0])
    for call in (
        lambda x: np.where(x > 0, np.maximum(x, 0), 0.0),
        lambda x: np.where(x > 0, x, np.inf),
    ):
        same(gradient(call, x)[0], [0.0, 1.0])
    infinite = lambda x: np.where(x > 0, x, 1.0) * np.array([INF, 1.0])  # noqa: E731
    same(gradient(infinite, x)[0], [0.0, 1.0])


@pytest.mark.parametrize("call", [np.abs, np.sign, np.angle])
def test_complex_zero(call: Any) -> None:
    same(gradient(lambda z: call(z), np.zeros(2, complex))[0], np.zeros(2))


def test_complex_modulus_follows_the_convention() -> None:
    z = np.array([3.0 + 4.0j])
    same(gradient(lambda z: np.abs(z), z)[0], [0.6 + 0.8j])
    same(gradient(lambda z: z.real, z)[0], [1.0])
    same(gradient(lambda z: np.imag(z), z)[0], [1.0j])
    same(gradient(lambda z: np.abs(z) ** 2, z)[0], 2 * z)
    same(gradient(lambda z: (z * np.conj(z)).real, z)[0], 2 * z)
    same(gradient(lambda z: np.angle(z), z)[0], 1j * z / 25)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.exp(x, dtype=np.int32), "did not contain a loop"),
        (lambda x: np.add(x, 1, where=x > 0), "where= without out="),
        (lambda x: np.power(x, np.float32(2), casting="no"), "casting rule 'no'"),
        (lambda x: np.nan_to_num(x, copy=False), "in place"),
        (lambda x: np.abs(x, where=x > 0), "where= without out="),
        (lambda x: ~x, "invert is not defined for dtype float64"),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        run(call, np.ones(3))


@pytest.mark.usefixtures("as_written")
def test_where_of_a_condition_alone_is_refused_as_written() -> None:
    with pytest.raises(UnsupportedError, match=r"np.where\(condition, x, y\)"):
        run(lambda x: np.where(x > 0), np.ones(3))


def test_where_of_a_condition_alone_has_a_recording_for_each_pattern() -> None:
    same_for_each(lambda x: np.where(x > 0), np.ones(3), np.array([0.0, 1.0, -1.0]))


# The page

PAGE = Path(__file__).parents[2] / "docs" / "singular_points.md"
WORDS = {
    "np": np,
    "special": special,
    "nan": NAN,
    "inf": INF,
    "pi": np.pi,
    "log": np.log,
    "LinAlgError": np.linalg.LinAlgError,
}


class Row(NamedTuple):
    """A row of the page: a formula, its arguments, its gradients; () where none are promised."""

    formula: str
    point: dict[str, Any]
    first: Any
    second: Any

    @property
    def call(self) -> Any:
        """The formula as a function of its arguments."""
        return eval(f"lambda {', '.join(self.point)}: {self.formula}", WORDS)

    @property
    def error(self) -> Any:
        """What the call raises instead of answering."""
        return self.first[0] if isinstance(self.first[0], type) else None

    @property
    def is_finite(self) -> bool:
        """Whether all gradients are finite."""
        known = [] if self.error else [one for one in self.first if one is not None]
        return not self.error and all(np.all(np.isfinite(one)) for one in known)


def read_page() -> list[Row]:
    """The rows of all tables."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    return [read_row(*[cell.strip(" `") for cell in line.split(" | ")[:4]]) for line in lines]


def read_row(formula: str, point: str, first: str, second: str) -> Row:
    formula = formula.removeprefix("| `")
    pairs = [one.split(" = ") for one in point.split("; ")]
    arguments = {name: np.array(eval(value, WORDS))[()] for name, value in pairs}
    answers = [
        () if text == "—" else [eval(one, WORDS) for one in text.split("; ")]
        for text in (first, second)
    ]
    return Row(formula, arguments, *answers)


ROWS = read_page()


def gradient_if_known(row: Row, order: int = 1) -> list[Any]:
    """The gradient; skips the row where this NumPy or SciPy has no such function."""
    try:
        return gradient(row.call, *row.point.values(), order=order)
    except AttributeError as missing:
        pytest.skip(str(missing))


each_row = pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row.formula} at {list(row.point.values())}" for row in ROWS]
)


def assert_answers(found: list[Any], expected: list[Any]) -> None:
    for one, wanted in zip(found, expected, strict=True):
        assert (one is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-15)


@each_row
def test_the_page_is_right(row: Row) -> None:
    if row.error:
        with pytest.raises(row.error):
            gradient(row.call, *row.point.values())
        return
    assert_answers(gradient_if_known(row), row.first)
    if row.second:
        assert_answers(gradient_if_known(row, order=2), row.second)


@each_row
def test_grad_answers_what_the_page_says(row: Row) -> None:
    call = row.call  # not the row, by which all rows are reached

    def loss(*args: Any) -> Any:
        return np.sum(np.real(call(*args)))

    if not row.error:
        gradient_if_known(row)
    values = list(row.point.values())
    compiled = tj.grad(tj.function(loss, cache=False), argnums=tuple(range(len(values))))
    with quiet():
        if row.error:
            with pytest.raises(row.error):
                compiled(*values)
            return
        found = compiled(*values)
    zeros = [np.zeros_like(value) for value in values]
    assert_answers(found, [z if g is None else g for g, z in zip(row.first, zeros, strict=True)])


@each_row
def test_forward_mode_answers_the_same_where_it_is_finite(row: Row) -> None:
    values = list(row.point.values())
    if not row.is_finite or any(map(np.iscomplexobj, values)):
        return
    gradient_if_known(row)
    started = run(lambda *args: np.sum(row.call(*args)), *values)
    dots = [started.recording.argument(f"dot_{k}", x.type) for k, x in enumerate(started.inputs)]
    (dot,) = tangents(started.tensors, started.inputs, dots)
    if dot is None:
        assert row.first == [None] * len(values)
        return
    graph = started.recording.finish([dot._value])
    for number, (value, expected) in enumerate(zip(values, row.first, strict=True)):
        wanted = np.zeros_like(value) if expected is None else np.asarray(expected)
        for place in np.ndindex(np.shape(value)):
            directions = [np.zeros_like(each)[()] for each in values]
            directions[number] = np.array(directions[number])
            directions[number][place] = 1.0
            directions[number] = directions[number][()]
            with quiet():
                (found,) = interpret(graph, *values, *directions)
            np.testing.assert_allclose(found, wanted[place], rtol=1e-12, atol=1e-15)
