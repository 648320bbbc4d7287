"""Numbers and arrays at the head of a module: which have names, and that no bit depends on it."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.support.compare import assert_same
from tracejit.ir.printer import parse_graph
from tracejit.ops.base.op import OPS
from tracejit.support.cost_model import DEFAULT
from tracejit.targets.numpy.plan.plan import plan_body
from tracejit.targets.numpy.text.constants import Constants

X = np.array([-1.5, -0.0, 0.0, 2.0, np.inf, np.nan, 1e300, 1e-300])


def source(f: Any, *args: Any) -> str:
    """The module of the function's value."""
    return tj.function(f, cache=False).kernel(*args).source


def heads(text: str) -> dict[str, str]:
    """What stands at the head of a module, by name."""
    return dict(re.findall(r"^(\w+) = (array\(.*|ones\(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("number", "name", "text"),
    [
        (2, "c2", "array(2.0)"),
        (0.5, "c0_5", "array(0.5)"),
        (-2.0, "c_minus_2", "array(-2.0)"),
        (-0.0, "c_minus_0", "array(-0.0)"),
        (1e-6, "c1em06", "array(1e-06)"),
        (1e300, "c1e300", "array(1e+300)"),
        (np.inf, "cinf", "array(inf)"),
        (np.nan, "cnan", "array(nan)"),
        (1 / 3, "c_1", "array(0.3333333333333333)"),
        (np.float64(0.25), "c0_25", "array(0.25)"),
    ],
)
def test_a_number_is_named_after_its_value(number: Any, name: str, text: str) -> None:
    module = source(lambda x: x * number, X)
    assert heads(module) == {name: text}
    assert f"return x * {name}" in module.replace("out = ", "return ")


def test_it_is_of_the_dtype_of_the_array() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * 0.1, y * 0.1, x > 1

    text = source(f, np.ones(3, "f4"), np.ones(3))
    assert heads(text) == {
        "c0_1": "array(0.1, float32)",
        "c0_1_float64": "array(0.1)",
        "c1": "array(1.0, float32)",
    }


UNNAMED = {
    "a large array": (lambda x: x * 2.0, np.ones(DEFAULT.named_number_elements)),
    "a number": (lambda x: x * 2.0, np.float64(3.0)),
    "an array without dimensions": (lambda x: x * 2.0, np.array(3.0)),
    "integers": (lambda x: x * 2, np.arange(3)),
    "integers and a float": (lambda x: x * 2.0, np.arange(3)),
    "complex": (lambda x: x * 2.0, np.ones(3, complex)),
    "a power": (lambda x: x**2.5, np.ones(3)),
    "too large an integer": (lambda x: x + (2**24 + 1), np.ones(3, "f4")),
    "too large for the dtype": (lambda x: np.maximum(x, -65505.0), np.ones(3, "f2")),
    "a truth value": (lambda x: x * True, np.ones(3)),
    "a long double": (lambda x: x * 0.1, np.ones(3, np.longdouble)),
}


@pytest.mark.parametrize(("f", "x"), UNNAMED.values(), ids=UNNAMED)
def test_others_stay_in_their_place(f: Any, x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert heads(source(f, x)) == {}


def test_exact_kernels_do_without() -> None:
    exact = tj.function(lambda x: x * 2.0, cache=False, exact=True).kernel(X).source
    assert "x * 2.0" in exact and heads(exact) == {}


def test_no_name_is_the_users() -> None:
    def f(c2: Any, x: Any) -> Any:
        c0_5 = np.tanh(x * 0.5)
        c0_5 = np.tanh(c0_5 * 2.0) + c2
        return np.sum(c0_5 * c0_5)

    kernel = tj.value_and_grad(tj.function(f, cache=False), (0, 1)).kernel(X[:4], X[:4])
    assert heads(kernel.source).keys() == {"c2_float64", "c0_5_float64", "c1"}
    exact = tj.value_and_grad(tj.function(f, cache=False, exact=True), (0, 1))
    value, gradients = exact(X[:4], X[:4])
    found = kernel.value_and_grad(X[:4], X[:4])
    np.testing.assert_allclose(found[0], value, rtol=1e-15)
    np.testing.assert_allclose(found[1], gradients, rtol=1e-15)


def test_a_name_that_a_residual_has_is_left_to_it() -> None:
    graph = parse_graph(
        "graph f(c2: f8[3]) -> y: f8[3]\n  y  f8[3] = multiply c2 2.0  # f:1  y = c2 * 2", OPS
    )
    constants = Constants([plan_body(graph.inputs, graph.nodes, graph.outputs)])
    assert list(constants.numbers) == ["c2_float64"]


ELEMENTWISE = [
    lambda x, c: x + c,
    lambda x, c: c - x,
    lambda x, c: x * c,
    lambda x, c: c / x,
    lambda x, c: x // c,
    lambda x, c: np.maximum(x, c),
    lambda x, c: np.fmin(c, x),
    lambda x, c: np.where(x > c, x, c),
    lambda x, c: np.where(x <= c, c, 0),
    lambda x, c: np.where(x != c, c, -c),
    lambda x, c: np.clip(x, c, 1e3),
    lambda x, c: np.hypot(x, c),
    lambda x, c: np.arctan2(c, x),
    lambda x, c: np.copysign(x, c),
    lambda x, c: np.logaddexp(x, c),
    lambda x, c: x % c,
]
NUMBERS = st.sampled_from([0, 1, -1, 7, 2**30, 0.0, -0.0, 0.1, -2.5, 1e-300, 1e300, np.inf, np.nan])


@settings(max_examples=by_day(40, 200), deadline=None)
@given(
    st.sampled_from(ELEMENTWISE),
    NUMBERS,
    st.sampled_from(["f4", "f8", "f2", "i8", "c16"]),
    st.booleans(),
)
def test_no_bit_depends_on_it(f: Any, number: Any, dtype: str, is_scalar: bool) -> None:
    """The same as NumPy on the same call."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = X.astype(dtype)
        number = np.float32(number) if is_scalar else number
        try:
            expected = f(x, number)
        except (TypeError, OverflowError):
            return
        assert_same(tj.function(lambda x: f(x, number), cache=False)(x), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_identity_matrices_are_made_at_the_head(dtype: str) -> None:
    def f(x: Any) -> Any:
        return x * np.eye(40, dtype=dtype)

    text = source(f, np.ones((40, 40), dtype))
    assert "eye_40 = eye(40" in text
    assert "x * eye_40" in text
    assert "load" not in text


def test_what_is_no_identity_is_data() -> None:
    almost = np.eye(40)
    almost[3, 4] = -0.0
    for matrix in (almost, np.eye(40, k=1), np.eye(40, 41), 2.0 * np.eye(40)):
        shape = matrix.shape
        text = source(lambda x, matrix=matrix: x * matrix.copy(), np.ones(shape))
        assert "eye" not in text


@pytest.mark.parametrize("k", [-3, 0, 2])
def test_masks_of_triangles_are_made(k: int) -> None:
    """Not written out, nor stored."""
    mask = np.tri(5, 7, k, dtype=bool)
    kernel = tj.function(lambda x: np.where(mask.copy(), x, 0.5), cache=False).kernel(np.ones(7))
    assert f"tri_5 = tri(5, 7, {k}, bool" in kernel.source
    np.testing.assert_array_equal(kernel.forward(np.ones(7)), np.where(mask, 1.0, 0.5))
    almost = mask.copy()
    almost[-1, 0] = not almost[-1, 0]
    other = tj.function(lambda x: np.where(almost.copy(), x, 0.5), cache=False)
    assert "tri(" not in other.kernel(np.ones(7)).source
    np.testing.assert_array_equal(other(np.ones(7)), np.where(almost, 1.0, 0.5))


def test_a_constant_that_is_viewed_is_computed_once() -> None:
    """The directions of a Jacobian, of which each factor takes its part."""
    x = np.linspace(0.0, 1.0, 1000)
    jacobian = tj.jacobian(lambda x: x[:500] * x[500:] * x[250:750], sparse=True)
    jacobian(x)
    head, _, body = jacobian.source.partition("def forward")
    assert head.count("astype") == 1
    assert body.count("astype") == 0


def test_a_constant_stands_below_those_that_it_is_computed_from() -> None:
    """The weights of one side are 1 minus those of the other, which backward reads after them."""

    def f(y: Any) -> Any:
        return np.sum(np.interp(np.linspace(0.03, 0.9, 40), np.linspace(0.0, 1.0, 5), y) ** 2)

    y = np.linspace(0.0, 1.0, 5) ** 2
    kernel = tj.value_and_grad(f).kernel(y)  # NameError where one stands above
    np.testing.assert_allclose(kernel.value_and_grad(y)[1], tj.jacfwd(f)(y), rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "head"),
    [
        (lambda x: np.hypot(x, np.arange(8)), "arange_8 = arange(8)"),
        (lambda x: np.hypot(x, np.arange(1, 9)), "c_1 = arange(1, 9)"),
        (lambda x: np.concatenate([x, np.zeros(8)]), "zeros_8 = zeros(8)"),
        (lambda x: np.concatenate([x, -np.zeros(8)]), "c_1 = full(8, -0.0)"),
    ],
)
def test_a_regular_array_is_named_after_what_it_is(f: Any, head: str) -> None:
    assert f"\n{head}\n" in source(f, X)


def test_arrays_have_the_names_of_the_user() -> None:
    def filtered(x: Any) -> Any:
        F = np.array([[1.0, 0.1], [0.0, 1.0]])
        knots = np.linspace(0.0, 1.0, 4)
        x = x @ F.T
        return np.sum((x[:, :1] - knots) ** 2) + np.sum(x @ F)

    x = np.arange(6.0).reshape(3, 2)
    both = tj.value_and_grad(tj.function(filtered, cache=False))
    text = both.kernel(x).source
    assert "\nF = array([[1.0, 0.1], [0.0, 1.0]])\n" in text and "\nknots = array([" in text
    assert "x.dot(F.T)" in text and " - knots" in text
    assert both(x)[0] == pytest.approx(filtered(x))


RESERVED = (
    "exp",
    "array",
    "mean",
    "t",
    "start",
    "forward",
    "residuals",
    "print",
    "c_1",
    "x_1",
    "y",
)


@pytest.mark.parametrize("name", RESERVED)
def test_a_name_of_the_user_hides_nothing(name: str) -> None:
    lines = (
        "def f(x, y):",
        f"    {name} = np.array([0.25, 0.5, 0.75])",
        f"    h = np.exp(x * {name})",
        "    for k in range(20):",
        f"        h = np.sin(h - 0.1 * {name} * h)",
        "    y = h * 2.0",
        "    return np.sum(y * y)",
    )
    space: dict[str, Any] = {"np": np}
    exec("\n".join(lines), space)
    x = np.array([0.1, 0.2, 0.3])
    both = tj.value_and_grad(tj.function(space["f"], cache=False))
    assert both(x, 1.0)[0] == pytest.approx(space["f"](x, 1.0))
    step = 1e-6
    slope = (space["f"](x + step, 1.0) - space["f"](x - step, 1.0)) / (2 * step)
    assert np.sum(both(x, 1.0)[1]) == pytest.approx(slope, rel=1e-6)


def test_equal_arrays_are_one_constant_and_what_has_a_word_of_its_own_keeps_it() -> None:
    def twice(x: Any) -> Any:
        a, b, unit = np.array([0.5, 0.25]), np.array([0.5, 0.25]), np.eye(2)
        return unit @ (x * a + x * x * b)

    text = tj.function(twice, cache=False).kernel(np.ones(2)).source
    assert "\na = array([0.5, 0.25])\n" in text and "eye_2 = eye(2)" in text
    assert "unit" not in text.rpartition("# twice:2")[2].partition("\n")[2]


def test_equal_arrays_of_functions_and_loops_have_one_name() -> None:
    def orbit(r: Any, v: Any) -> Any:
        a = -r / np.linalg.norm(r) ** 3
        for _ in range(20):
            r = r + 0.02 * (v + 0.01 * a)
            a = -r / np.linalg.norm(r) ** 3
        return np.sum(r)

    text = tj.value_and_grad(orbit).kernel(np.ones(2), np.ones(2)).source
    assert re.findall(r"^(\w+) = ones\(2\)$", text, re.MULTILINE) == ["ones_2"]


def test_an_array_of_places_is_called_an_index() -> None:
    text = (
        tj.value_and_grad(lambda x: np.sum(x[np.array([0, 3, 1])] ** 2)).kernel(np.ones(4)).source
    )
    assert "x.take(index_1)" in text or "x[index_1]" in text
