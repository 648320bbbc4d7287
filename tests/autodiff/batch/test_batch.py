"""What is recorded for one element is recorded for all of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.base.op import Op
from tracejit.support.errors import TracejitError

X = np.arange(6.0).reshape(3, 2) + 0.5


def test_elementwise_operations_line_up() -> None:
    w = np.array([1.0, -2.0])

    def f(x, s):
        return np.tanh(x * w) + s * np.sum(w), s

    found, scales = tj.vmap(f)(X, np.array([1.0, 2.0, 3.0]))
    expected = np.stack([f(x, s)[0] for x, s in zip(X, (1.0, 2.0, 3.0), strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert scales.tolist() == [1.0, 2.0, 3.0]


def test_what_is_the_same_for_all_stays_as_it_is() -> None:
    kernel = tj.vmap(lambda x, w: x + np.exp(w), in_axes=(0, None)).kernel(X, np.ones(2))
    assert "exp(w)" in kernel.source
    assert "broadcast" not in kernel.source


# Generated code


def mlp(params: Any, x: Any, label: Any) -> Any:
    w1, b1, w2, b2 = params
    scores = np.tanh(x @ w1 + b1) @ w2 + b2
    shifted = scores - np.max(scores)
    return np.log(np.sum(np.exp(shifted))) - shifted[label]


def layernorm(x: Any, scale: Any, shift: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    spread = np.var(x, axis=-1, keepdims=True)
    return np.sum(((x - mean) / np.sqrt(spread + 1e-5) * scale + shift) ** 2)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.sum((weights / np.sum(weights, axis=-1, keepdims=True) @ v) ** 2)


RNG = np.random.default_rng(4)
W1, W2 = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 3))
B1, B2 = RNG.normal(size=5), RNG.normal(size=3)
ROWS, LABELS = RNG.normal(size=(7, 4)), np.arange(7) % 3
WORDS = RNG.normal(size=(7, 4, 6))
SQUARE = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)

VECTORISED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int | None, ...]]] = {
    "mlp": (
        lambda w1, b1, w2, b2, x, label: mlp((w1, b1, w2, b2), x, label),
        (W1, B1, W2, B2, ROWS, LABELS),
        (None, None, None, None, 0, 0),
    ),
    "layernorm": (layernorm, (WORDS, np.ones(6), np.ones(6)), (0, None, None)),
    "attention": (attention, (WORDS, WORDS + 1.0, WORDS - 1.0), (0, 0, 0)),
    "products": (lambda x, w: np.sum((w.T @ x.T @ x @ w) ** 2), (WORDS, WORDS[0].T), (0, None)),
    "gather": (lambda x, i: np.sum(x[i] * x[1:]), (ROWS, LABELS), (0, 0)),
    "embedding": (
        lambda x, i: np.sum(x[i] ** 2),
        (ROWS, np.arange(14).reshape(7, 2) % 5),
        (None, 0),
    ),
    "convolution": (
        lambda x, w: np.sum(np.convolve(x, w, "same") ** 2),
        (ROWS, np.ones(3)),
        (0, None),
    ),
    "solve": (lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (SQUARE, ROWS), (None, 0)),
    "fit": (
        lambda y, x: np.sum(np.linalg.lstsq(np.vander(x, 3), y)[0] ** 2),
        (ROWS, np.array([0.0, 0.5, 1.5, 2.0])),
        (0, None),
    ),
    "powers": (lambda x: np.sum(np.sin(np.vander(x, 3))), (ROWS,), (0,)),
    "spectrum": (lambda x: np.sum(np.abs(np.fft.rfft(x))), (ROWS,), (0,)),
    "einsum": (lambda q, k: np.sum(np.einsum("id,jd->ij", q, k) ** 2), (WORDS, WORDS), (0, 0)),
}


def elements(args: Any, axes: Any) -> Any:
    """The arguments for one element after the other."""
    for k in range(7):
        yield [x if axis is None else x[k] for x, axis in zip(args, axes, strict=True)]


def statements(function: Any, *args: Any) -> str:
    """What the kernel for these arguments does, without comments."""
    lines = function.kernel(*args).source.partition("def forward")[2].splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


@pytest.mark.parametrize("name", VECTORISED)
def test_common_functions_and_their_gradients_are_vectorised(name: str) -> None:
    f, args, axes = VECTORISED[name]
    mapped, each = tj.vmap(f, axes), tj.vmap(tj.grad(f), axes)
    summed = tj.grad(lambda *args: np.sum(mapped(*args)))
    for function in (mapped, each, summed):
        text = statements(function, *args)
        lengths = re.findall(r" for \w+ in range\((\d+)\)", text)  # those of windows may be there
        assert "7" not in lengths and len(lengths) == text.count(" for ")
        assert "stack" not in text
    slopes = np.stack([tj.grad(f)(*one) for one in elements(args, axes)])
    values = [f(*one) for one in elements(args, axes)]
    np.testing.assert_allclose(mapped(*args), values, rtol=1e-12)
    np.testing.assert_allclose(each(*args), slopes, rtol=1e-9, atol=1e-12)
    expected = slopes if axes[0] == 0 else np.sum(slopes, axis=0)
    np.testing.assert_allclose(summed(*args), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "args", "line"),
    [
        (tj.vmap(lambda x, w: x @ w, (0, None)), (ROWS, W1), "out = x.dot(w)"),
        (tj.vmap(lambda x, w: w @ x, (0, None)), (ROWS, W1.T), "out = x.dot(w.T)"),
        (tj.vmap(lambda x, w: x @ w, (0, None)), (WORDS, WORDS[0].T), "out = x @ w"),
        (tj.vmap(lambda x, y: x @ y), (ROWS, ROWS), "out = vecdot(x, y)"),
        (tj.vmap(lambda x, i: x[i]), (ROWS, LABELS), "out = x[arange_7, i]"),
        (tj.vmap(lambda x, i: x[i], (None, 0)), (ROWS, LABELS), "out = x.take(i, axis=0)"),
        (tj.vmap(lambda x: x[1:] - x[:-1]), (ROWS,), "out = x[:, 1:] - x[:, :-1]"),
        (tj.vmap(lambda x: np.linalg.det(x)), (WORDS[:, :, :4],), "out = linalg.det(x)"),
        (tj.vmap(lambda x: np.interp(x, LABELS, B2[LABELS])), (ROWS,), "out = interp(x, "),
    ],
)
def test_kernels_read_as_one_would_write_them(function: Any, args: Any, line: str) -> None:
    assert f"\n    {line}" in statements(function, *args)


def test_an_element_in_a_comprehension_is_not_taken_for_a_variable() -> None:
    def f(each2: Any, values: Any) -> Any:
        return np.interp(each2, np.arange(4.0), values)

    mapped = tj.vmap(f, in_axes=(None, 0))
    places = np.array([0.5, 2.25])
    expected = np.stack([f(places, row) for row in ROWS])
    np.testing.assert_array_equal(mapped(places, ROWS), expected)
    assert "for each2 in values" in mapped.source


def test_a_long_comprehension_is_broken_where_it_may_be() -> None:
    def f(long_name_of_places: Any, long_name_of_grid: Any, long_name_of_values: Any) -> Any:
        return np.interp(np.sin(long_name_of_places), long_name_of_grid, long_name_of_values * 2.0)

    grid = np.sort(ROWS)
    expected = np.stack([f(*row) for row in zip(ROWS, grid, ROWS, strict=True)])
    np.testing.assert_array_equal(tj.vmap(f)(ROWS, grid, ROWS), expected)


def test_a_parameter_of_a_mapped_op_may_be_called_as_one_of_its_rules() -> None:
    op = Op(
        name="shifted",
        infer=lambda x, k: x,
        vjp=lambda g, y, x, k: g * 2.0,
        jvp="linear",
        source=lambda types, k: "2.0 * {0}",
    )
    found = tj.vmap(tj.grad(lambda x: np.sum(op(x, k=3) ** 2)))(ROWS)
    np.testing.assert_allclose(found, 8.0 * ROWS, rtol=1e-15)
    found = tj.grad(lambda x: np.sum(tj.vmap(lambda row: op(row, k=3))(x) ** 2))(ROWS)
    np.testing.assert_allclose(found, 8.0 * ROWS, rtol=1e-15)


# Random numbers


def drawn(f: Any, args: Any, axes: Any = 0) -> tuple[Any, np.random.Generator, str]:
    """What a mapped function of a generator draws, the generator that should, and the code."""
    rng = tj.random.default_rng(5)
    mapped = tj.vmap(lambda *args: f(rng, *args), axes)
    return mapped(*args), np.random.default_rng(5), statements(mapped, *args)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda rng, x: x + rng.normal(size=2), lambda rng: X + rng.normal(size=(3, 2))),
        (lambda rng, x: x + rng.normal(), lambda rng: X + rng.normal(size=3)[:, None]),
        (lambda rng, x: rng.normal(x), lambda rng: rng.normal(X)),
        (
            lambda rng, x: rng.uniform(0.0, x[1], (4, 2)),
            lambda rng: rng.uniform(0.0, X[:, 1, None, None], (3, 4, 2)),
        ),
        (lambda rng, x: x * rng.integers(9, size=2), lambda rng: X * rng.integers(9, size=(3, 2))),
        (
            lambda rng, x: rng.gamma(x, size=(4, 2)),
            lambda rng: rng.gamma(X[:, None], size=(3, 4, 2)),
        ),
        (lambda rng, x: x + rng.choice(5, 2), lambda rng: X + rng.choice(5, (3, 2))),
        (lambda rng, x: rng.choice(x), lambda rng: X[np.arange(3), rng.choice(2, 3)]),
        (
            lambda rng, x: (rng.random(), x)[1] * rng.random(),
            lambda rng: (rng.random(3), X)[1] * rng.random(3)[:, None],
        ),
        (
            lambda rng, x: x + rng.multivariate_normal(np.zeros(2), np.eye(2)),
            lambda rng: X + rng.multivariate_normal(np.zeros(2), np.eye(2), 3),
        ),
        (
            lambda rng, x: x + rng.multinomial(5, [0.5, 0.5]),
            lambda rng: X + rng.multinomial(5, [0.5, 0.5], 3),
        ),
    ],
)
def test_one_draw_is_made_for_all_elements(f: Any, expected: Any) -> None:
    found, rng, text = drawn(f, (X,))
    np.testing.assert_array_equal(found, expected(rng))
    assert " for " not in text


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda rng, x: rng.permutation(x), lambda rng, x: rng.permutation(x)),
        (lambda rng, x: x[rng.permutation(2)], lambda rng, x: x[rng.permutation(2)]),
        (
            lambda rng, x: x + rng.choice(5, 2, replace=False),
            lambda rng, x: x + rng.choice(5, 2, replace=False),
        ),
        (
            lambda rng, x: rng.multivariate_normal(x, np.eye(2)),
            lambda rng, x: rng.multivariate_normal(x, np.eye(2)),
        ),
        (lambda rng, x: rng.dirichlet(x), lambda rng, x: rng.dirichlet(x)),
    ],
)
def test_other_draws_are_made_one_after_the_other(f: Any, expected: Any) -> None:
    found, rng, text = drawn(f, (X,))
    np.testing.assert_array_equal(found, np.stack([expected(rng, x) for x in X]))
    assert " for " in text


def test_draws_keep_the_dtype_that_one_element_has() -> None:
    single = X.astype(np.float32)
    found, rng, _ = drawn(
        lambda rng, x: x * rng.normal() + np.where(x > 1, rng.random(), x), (single,)
    )
    first, second = rng.normal(size=3).astype("f4"), rng.random(3).astype("f4")
    assert found.dtype == np.float32
    expected = single * first[:, None] + np.where(single > 1, second[:, None], single)
    np.testing.assert_array_equal(found, expected)


def test_a_generator_made_for_an_element_is_its_own() -> None:
    def f(x: Any, seed: Any) -> Any:
        return x + tj.random.default_rng(seed).normal(x) + tj.random.default_rng(3).random()

    def same(x: Any, seed: Any) -> Any:
        return x + np.random.default_rng(seed).normal(x) + np.random.default_rng(3).random()

    seeds = np.array([4, 4, 9])
    expected = np.stack([same(x, seed) for x, seed in zip(X, seeds, strict=True)])
    np.testing.assert_allclose(tj.vmap(f)(X, seeds), expected, rtol=1e-15)
    nested = tj.vmap(tj.vmap(f, (0, None)), (None, 0))(X, seeds)
    expected = np.stack([[same(x, seed) for x in X] for seed in seeds])
    np.testing.assert_allclose(nested, expected, rtol=1e-15)


def test_batches_of_batches_draw_for_each_element() -> None:
    both = np.stack([X, X + 1.0])
    found, rng, _ = drawn(lambda rng, x: tj.vmap(lambda y: y + rng.normal(size=2))(x), (both,))
    np.testing.assert_array_equal(found, both + rng.normal(size=(2, 3, 2)))
    found, rng, _ = drawn(lambda rng, x: tj.vmap(rng.permutation)(x), (both,))
    expected = np.stack([[rng.permutation(row) for row in part] for part in both])
    np.testing.assert_array_equal(found, expected)


def test_a_generator_that_is_an_argument_is_the_same_for_all() -> None:
    def f(x: Any, rng: Any) -> Any:
        return x + rng.normal(size=2)

    expected = X + np.random.default_rng(1).normal(size=(3, 2))
    for axes in (0, (0, None)):
        np.testing.assert_array_equal(tj.vmap(f, axes)(X, np.random.default_rng(1)), expected)
    inner = tj.function(lambda x, rng: np.sum(tj.vmap(f)(x, rng)))
    assert inner(X, np.random.default_rng(1)) == np.sum(expected)


def test_draws_have_their_gradients() -> None:
    rng = tj.random.default_rng(5)
    slopes = tj.vmap(tj.grad(lambda s: np.sum(rng.normal(0.0, s) ** 2)))(X)
    z = np.random.default_rng(5).normal(size=(3, 2))
    np.testing.assert_allclose(slopes, 2.0 * z * z * X, rtol=1e-12)


def test_what_takes_place_once_is_refused() -> None:
    variable = tj.Variable(np.ones(2))
    np.testing.assert_array_equal(tj.vmap(lambda x: x * variable)(X), X)
    result = tj.TensorSpec((2,), np.float64)
    for f in (
        lambda x: (variable.assign(x), x)[1],
        lambda x: (tj.callback(print, x), x)[1],
        lambda x: tj.callback(np.sin, x, result=result),
    ):
        with pytest.raises(TracejitError, match=r"cannot be batched by tj\.vmap"):
            tj.vmap(f)(X)
    assert variable.numpy().tolist() == [1.0, 1.0]
