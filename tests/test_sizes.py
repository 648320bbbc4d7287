"""Free dimensions: programs over changing sizes give what NumPy gives, with few kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day, some_by_day
from tracejit.ir.printer import parse_graph, print_graph
from tracejit.ops.base.op import OPS
from tracejit.support.errors import ArgumentError, ValueNeededError

SEQUENCE = (4, 5, 7, 4, 12, 2, 3, 64, 1, 9, 0, 33, 6, 8, 10, 11, 17, 20, 25, 30)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {}


def program(*shapes: tuple[Any, ...], most: int = 2) -> Callable[[Any], Any]:
    """A program on arrays of these shapes, in which letters are sizes; `most` are its kernels for
    sizes from 2 on."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = f, shapes, most
        return f

    return declare


@program(("n", 6), (6, 4), (4,), (4, 3), (3,), ("n", 3))
def perceptron(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, y: Any) -> Any:
    h = np.tanh(x @ w1 + b1)
    return np.sum((h @ w2 + b2 - y) ** 2) / x.shape[0]


@program(("n", "d"), ("m", "d"), ("m", 3), most=3)
def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True, initial=-9.0))
    return np.sum((weights / np.sum(weights, axis=1, keepdims=True) @ v) ** 2)


@program(("n", "m", 4), (4, 4), most=3)
def heads(x: Any, w: Any) -> Any:
    n, steps, width = x.shape
    q = (x @ w).reshape(n, steps, 2, width // 2).transpose(0, 2, 1, 3)
    scores = np.tanh(q @ q.swapaxes(-1, -2))
    return np.sum((scores @ q).transpose(0, 2, 1, 3).reshape(n, steps, width) ** 2)


@program(("n", 4), ("n", 4))
def cross_entropy(z: Any, y: Any) -> Any:
    z = z - z.max(axis=1, keepdims=True)
    return -np.sum((z - np.log(np.exp(z).sum(axis=1, keepdims=True))) * y) / z.shape[0]


@program(("n", 4))
def layer_norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return np.sum(np.sin(centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-2)))


@program(("n",))
def totals(x: Any) -> Any:
    return np.sum(np.cumsum(x) ** 2) + np.sum(np.sort(x) * x[np.argsort(x)])


@program(("n", 3))
def slices(x: Any) -> Any:
    half = x.shape[0] // 2
    steps = np.sum((x[1:] - x[:-1]) ** 2) + np.sum(x[::2]) + np.sum(x[::-1] * x)
    return steps + np.sum(x[:half] ** 2) + np.sum(x[half:, 1:] ** 3)


@program(("n", "m"), ("m",), ("n", 1), most=3)
def broadcasts(x: Any, y: Any, z: Any) -> Any:
    return np.sum(np.tanh(x + y * z)) + np.sum(np.broadcast_to(y, x.shape) * x)


@program(("n",), ("m",), most=3)
def joins(x: Any, y: Any) -> Any:
    both = np.concatenate([x, y, np.zeros_like(x)])
    return np.sum(both * both[::-1]) + np.sum(np.stack([x, x]) ** 2) + np.sum(np.pad(y, (1, 0)))


@program(("n", 3, 4))
def shapes(x: Any) -> Any:
    rows = x.reshape(x.shape[0] * 3, 4)
    return np.sum(rows @ rows.T) + np.sum(x.ravel() ** 2) + np.sum(x.reshape(x.shape[0], 12) ** 3)


@program(("n", "n"))
def factors(a: Any) -> Any:
    eye = np.diag(np.ones_like(np.sum(a, axis=0)))
    factor = np.linalg.cholesky(a @ a.T + 9.0 * eye)
    return np.sum(np.log(np.diagonal(factor))) + np.trace(a) + np.sum(np.tril(a) ** 2)


@program(("n", 2, 6, "w"), (3, 2, 3, 3), most=3)
def convolution(x: Any, kernel: Any) -> Any:
    windows = sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.sum(np.tanh(np.einsum("bchwij,ocij->bohw", windows, kernel)))


@program(("n", 3))
def in_place(x: Any) -> Any:
    y = np.zeros_like(x)
    y[:, 0] = x[:, 1]
    y[1:] += x[:-1]
    y *= x
    return np.sum(y * y)


@program(("n", 3))
def moments(x: Any) -> Any:
    spread = np.std(x) + np.sum(np.linalg.norm(x, axis=1))
    return spread + np.mean(x) * x.size + np.sum(x.T @ x) * x.shape[0] ** 0.5


@program(("n", 3))
def decisions(x: Any) -> Any:
    if np.sum(x) > 0.0:
        return np.sum(x) / x.shape[0]
    while np.sum(x * x) > 1.0:
        x = x * 0.25
    return np.sum(x[1:] ** 2) * x.shape[0]


@program(("n", 3))
def symbolic_constants(x: Any) -> Any:
    n = x.shape[0]
    rows = x * tnp.arange(n)[:, None] + tnp.ones((n, 3))
    return np.sum((tnp.eye(n) @ rows + tnp.zeros((n, 1))) ** 2)


def arrays_of(shapes: tuple[Any, ...], sizes: dict[str, int]) -> list[np.ndarray]:
    """Arrays of these shapes, the letters in them being `sizes`."""
    rng = np.random.default_rng(sum(sizes.values()))
    return [rng.normal(size=[sizes.get(size, size) for size in shape]) for shape in shapes]


def outcome(f: Callable[..., Any], arguments: list[np.ndarray]) -> Any:
    """What a call gives: its result, or the error it raises."""
    with np.errstate(all="ignore"):
        try:
            return f(*[each.copy() for each in arguments])
        except Exception as error:
            return error


def assert_gradient(
    f: Callable[..., Any], arguments: list[np.ndarray], gradients: tuple[Any, ...]
) -> None:
    """The gradients against a difference in one direction."""
    rng = np.random.default_rng(1)
    steps = [rng.normal(size=each.shape) * 1e-6 for each in arguments]
    shapes = [each.shape for each in gradients]
    assert shapes == [each.shape for each in arguments]
    ahead = f(*[each + step for each, step in zip(arguments, steps, strict=True)])
    behind = f(*[each - step for each, step in zip(arguments, steps, strict=True)])
    expected = (ahead - behind) / 2
    found = sum(np.sum(g * step) for g, step in zip(gradients, steps, strict=True))
    scale = sum(np.sum(np.abs(g * step)) for g, step in zip(gradients, steps, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * scale + 1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 2))
def test_programs_over_twenty_sizes(name: str) -> None:
    f, shapes, most = PROGRAMS[name]
    forward = tj.function(f, cache=False)
    both = tj.value_and_grad(f, argnums=tuple(range(len(shapes))))
    counts = []
    for number, n in enumerate(SEQUENCE):
        m = SEQUENCE[(number + 3) % len(SEQUENCE)]
        sizes = {"n": n, "m": m, "d": 2 + number % 4, "w": n + 3}
        arguments = arrays_of(shapes, sizes)
        before = len(forward.kernels)
        expected, found = outcome(f, arguments), outcome(forward, arguments)
        if min(n, m) > 1:
            counts.append(len(forward.kernels) - before)
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected))
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert type(found) is type(expected)
        value, gradients = both(*arguments)
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
        if np.isfinite(expected):
            assert_gradient(f, arguments, gradients)
    assert sum(counts) <= most


def test_training_with_twenty_batch_sizes_makes_two_kernels() -> None:
    step = tj.value_and_grad(perceptron, argnums=(1, 2, 3, 4))
    for n in range(2, 22):
        arguments = arrays_of(PROGRAMS["perceptron"][1], {"n": n})
        np.testing.assert_allclose(step(*arguments)[0], perceptron(*arguments))
    assert len(step.kernels) == 2
    assert step.kernels[1].signature["inputs"]["x"] == "f8[n,6]"


def test_square_first_then_rectangular() -> None:
    f = tj.function(lambda x: np.sum(x, axis=0) @ x.T)
    for shape in ((5, 5), (5, 6), (7, 6), (6, 6), (3, 9)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(f(x), np.sum(x, axis=0) @ x.T)
    inputs = [kernel.signature["inputs"]["x"] for kernel in f.kernels]
    assert inputs == ["f8[5,5]", "f8[5,n]", "f8[n,m]"]


def test_sizes_of_different_arguments_that_must_be_equal_are_one() -> None:
    f = tj.function(lambda x, y: x + y)
    for n in (3, 4, 5):
        f(np.ones(n), np.ones(n))
    assert f.kernels[-1].signature["inputs"] == {"x": "f8[n]", "y": "f8[n]"}
    np.testing.assert_array_equal(f(np.ones(4), np.ones(1)), np.full(4, 2.0))
    np.testing.assert_array_equal(f(np.ones(1), np.ones(6)), np.full(6, 2.0))
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(4), np.ones(3))
    np.testing.assert_array_equal(f(np.ones(9), np.ones(9)), np.full(9, 2.0))


def test_what_python_asks_of_a_size_is_right_at_each_call() -> None:
    def f(x: Any) -> Any:
        n = x.shape[0]
        answers = [
            n % 2 == 0, n > 6, n in {4, 9}, {4: "four", 5: "five"}.get(n, "other"), f"{n} {n:03d}",
            str(x.shape), str(n), isinstance(n, int), len(x), divmod(n, 4), max(n, 5), -n, 3 - n,
            [0] * n, (1, 2, 3, 4, 5, 6)[:n], n == 4.0, bool(n - 5), abs(n - 6), n**2, 2**n, n / 2,
            n // 3, 100 // n, n.bit_length(), round(n), hash(n), n == "text", n != None,  # noqa: E711
            sorted([7, n, 3]), n & 1, ~n, x.shape == (5, 2), x.nbytes, sum(range(n)), int(n) + 1,
        ]  # fmt: skip
        return repr(answers), np.sum(x) * n

    g = tj.function(f)
    for n in (4, 5, 6, 5, 9, 4, 2):
        x = np.ones((n, 2))
        assert g(x) == f(x)


def test_a_size_that_is_returned_is_a_python_int() -> None:
    f = tj.function(lambda x: (x.shape[0], x.size + 1, x.shape, np.sum(x) / x.shape[1]))
    for n in (3, 4, 7):
        x = np.ones((n, 2))
        found = f(x)
        assert found == (n, 2 * n + 1, (n, 2), n)
        assert [type(each) for each in (*found[:2], *found[2])] == [int] * 4
    assert len(f.kernels) == 2


def test_backward_keeps_the_size_and_not_the_array() -> None:
    f = tj.value_and_grad(lambda x, w: np.sum(x @ w) / x.shape[0])
    for n in (3, 4):
        f(np.ones((n, 2)), np.ones(2))
    assert f.kernels[-1].residuals() == {"w": "f8[2]", "n": "~i8"}
    _, residuals = f.kernels[-1].forward(np.ones((7, 2)), np.ones(2))
    assert residuals[1] == 7
    np.testing.assert_allclose(f.kernels[-1].backward(residuals), np.full((7, 2), 1 / 7))


def test_sizes_are_called_as_the_user_calls_them() -> None:
    def f(x: Any, m: Any) -> Any:
        batch, add = x.shape
        return np.reshape(x, (batch * add,)) + m * batch

    g = tj.function(f)
    for n in (3, 4, 5):
        x = np.ones((n, n + 1))
        np.testing.assert_array_equal(g(x, 2.0), f(x, 2.0))
    assert "    batch = x.shape[0]\n    n = x.shape[1]\n" in g.source


def test_a_kernel_stands_alone_for_every_size_that_its_head_names(tmp_path: Path) -> None:
    f = tj.function(lambda x: np.sum(x[5:]) * (1.0 if x.shape[0] % 2 else 2.0))
    for n in (8, 10):
        f(np.ones(n))
    f.kernels[-1].save(tmp_path / "part.py")
    kernel = tj.load(tmp_path / "part.py") if hasattr(tj, "load") else f.kernels[-1]
    assert "sizes        n > 4, n%2 == 0" in kernel.source
    assert kernel.forward(np.ones(20)) == 30.0


def test_graphs_with_free_dimensions_read_back() -> None:
    def f(x: Any, y: Any) -> Any:
        n = x.shape[0]
        z = np.concatenate([x[1:], np.reshape(y, (n // 2, 2))[:, 0]])
        return z / n, np.zeros_like(z), x.shape[0] * y.shape[0]

    kernel = tj.function(f).kernel(tj.TensorSpec((None,)), tj.TensorSpec((None,)))
    text = print_graph(kernel.graph)
    assert "  sizes n m where 2*(n//2) == m\n" in text
    assert print_graph(parse_graph(text, OPS)) == text


def test_conditions_are_part_of_the_key() -> None:
    def kernel(n: int) -> Any:
        f = tj.function(lambda x: np.sum(x) * (x.shape[0] > n))
        f(np.ones(12))
        return (f(np.ones(13)), f.kernels[-1])[1]

    assert kernel(3).key != kernel(4).key
    assert kernel(3).key == kernel(3).key


def test_sizes_are_given_up_front() -> None:
    spec = tj.TensorSpec((None, 3))
    f = tj.function(lambda x: np.sum(x) / x.shape[0], input_signature=[spec])
    for n in (5, 6, 7):
        assert f(np.ones((n, 3))) == 3.0
    assert len(f.kernels) == 1
    assert f.kernel(spec) is f.kernels[0]
    for wrong in (np.ones((5, 4)), np.ones(3), np.ones((5, 3), np.float32)):
        with pytest.raises(ArgumentError, match="input_signature"):
            f(wrong)


def test_an_exact_kernel_is_none_for_a_spec_of_any_size() -> None:
    f = tj.function(lambda x: x * 2.0)
    assert f.kernel(np.ones(240)).signature["inputs"]["x"] == "f8[240]"
    kernel = f.kernel(tj.TensorSpec((None,)))
    assert kernel.signature["inputs"]["x"] == "f8[n]"
    assert f.kernel(np.ones(7)) is kernel


def test_a_spec_of_any_size_whose_number_is_needed_is_refused() -> None:
    with pytest.raises(ValueNeededError, match=r"dimension 0 of x is None(.|\n)*\[0\] \* len\(x\)"):
        tj.function(lambda x: x / len([0] * len(x))).kernel(tj.TensorSpec((None,)))


def test_without_dynamic_shapes_every_size_has_a_kernel() -> None:
    f = tj.function(lambda x: x * 2.0, dynamic_shapes=False)
    for n in (3, 4, 5):
        f(np.ones(n))
    assert len(f.kernels) == 3


def test_what_needs_the_number_is_exact_again() -> None:
    f = tj.function(lambda x: x / np.arange(1, len(x) + 1))
    for n in (3, 4, 5):
        np.testing.assert_array_equal(f(np.ones(n)), 1.0 / np.arange(1, n + 1))
    assert [k.signature["inputs"]["x"] for k in f.kernels] == ["f8[3]", "f8[4]", "f8[5]"]
    assert len(f.kernels) == 3


def test_a_function_that_changes_what_it_reads_runs_once_a_call() -> None:
    class Model:
        calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return np.sum(x) * self.calls / x.shape[0]

    model, twin = Model(), Model()
    f = tj.function(model)
    for n in (3, 4, 5, 4):
        assert f(np.ones(n)) == twin(np.ones(n))
    assert model.calls == twin.calls


def test_kernels_are_explained_by_their_sizes() -> None:
    def f(x: Any) -> Any:
        return np.sum(x) if x.shape[0] % 2 else np.sum(x) / x.shape[0]

    g, h = tj.function(f), tj.function(lambda x: x / len([0] * len(x)))
    for n in (4, 6, 7, 1):
        g(np.ones(n))
        h(np.ones(n))
    told = g.explain().splitlines()
    assert told[2].startswith(
        "Kernel 2 was made because x had shape (6,); kernel 1 has (4,). The new"
    )
    assert "kernel 2 has the conditions n > 1, n%2 == 0" in told[3]
    assert "Sizes 0 and 1 have their own kernels" in told[4]
    assert g.explain(np.ones(8)) == "Kernel 2 takes this call."
    assert "write -1 instead of n in a reshape" in h.explain()


def test_results_on_arrays_from_outside_and_variables() -> None:
    weights, v = np.arange(6.0), tj.Variable(np.ones(3))

    def f(x: Any) -> Any:
        v.assign_add(np.sum(x, axis=0))
        return np.sum(x @ v) + np.sum(weights) + x[:, :1] * weights

    g = tj.function(f)
    total = np.ones(3)
    for n in (4, 5, 6, 2):
        x = np.full((n, 3), 0.5)
        total = total + np.sum(x, axis=0)
        expected = np.sum(x @ total) + np.sum(weights) + x[:, :1] * weights
        np.testing.assert_allclose(g(x), expected)
        np.testing.assert_allclose(v.numpy(), total)
    assert len(g.kernels) == 2


def test_arguments_that_are_written_to() -> None:
    def f(x: Any) -> Any:
        x[1:] = x[:-1] * 2.0
        x /= x.shape[0]
        return np.sum(x)

    g = tj.function(f)
    for n in (3, 4, 5, 9):
        mine, other = np.arange(1.0, n + 1), np.arange(1.0, n + 1)
        np.testing.assert_allclose(g(mine), f(other))
        np.testing.assert_allclose(mine, other)
    assert len(g.kernels) == 2


def test_tapes_around_calls_of_many_sizes() -> None:
    f = tj.function(lambda x: np.sum(np.sin(x)) / x.shape[0])
    for n in (3, 4, 5):
        f(np.ones(n))
    for n in (4, 6, 7):
        x = tj.constant(np.arange(float(n)))
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(np.arange(n)) / n)


@pytest.mark.parametrize("transform", [tj.jacobian, tj.hessian, tj.vmap, tj.jacfwd])
def test_transforms_over_many_sizes(transform: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x[::-1]) / x.shape[-1]

    g = transform(f)
    for n in (3, 4, 5, 6):
        x = np.linspace(0.0, 1.0, n) if transform is not tj.vmap else np.ones((n, n + 1))
        np.testing.assert_allclose(g(x), tj.function(g, dynamic_shapes=False)(x))


def test_float32_and_exact_bits() -> None:
    def f(x: Any) -> Any:
        return np.mean(x, axis=0) / x.shape[0] + np.float32(2) * x[-1]

    g = tj.function(f, exact=True)
    for n in (3, 4, 5, 300):
        x = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
        np.testing.assert_array_equal(g(x), f(x))
        assert g(x).dtype == np.float32
    assert len(g.kernels) == 2


STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y, lambda x, y: x * np.tanh(y), lambda x, y: x - np.mean(y, axis=0),
    lambda x, y: x / (1.0 + np.sum(y * y, axis=1, keepdims=True)), lambda x, y: x @ y.T @ y,
    lambda x, y: x[::-1], lambda x, y: np.concatenate([x[1:], y[:1]]), lambda x, y: x.T @ y @ x.T,
    lambda x, y: np.where(x > y, x, y), lambda x, y: np.cumsum(x, axis=0) / x.shape[0],
    lambda x, y: x.reshape(-1).reshape(x.shape), lambda x, y: np.sort(x, axis=1),
    lambda x, y: x * np.sum(y[1:]) / y.size, lambda x, y: np.pad(x[:, 1:], ((0, 0), (1, 0))),
    lambda x, y: np.repeat(x[:, :1], x.shape[1], axis=1), lambda x, y: np.max(x, axis=0) * y,
    lambda x, y: x[: x.shape[0] // 2].sum() + y, lambda x, y: np.zeros_like(x) + y[-1],
)  # fmt: skip
SHAPES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=7)


@settings(max_examples=by_day(5, 15), deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), SHAPES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_programs_over_random_shapes(steps: list[Any], shapes: list[Any]) -> None:
    def f(x: Any, y: Any) -> Any:
        for step in steps:
            x = step(x, y)
        return x

    g = tj.function(f, cache=False)
    h = tj.grad(lambda x, y: np.sum(f(x, y)))
    for number, shape in enumerate(shapes):
        rng = np.random.default_rng(number)
        arguments = [rng.normal(size=shape), rng.normal(size=shape)]
        expected, found = outcome(f, arguments), outcome(g, arguments)
        if isinstance(expected, Exception):
            assert isinstance(found, Exception)
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        with np.errstate(all="ignore"):
            fixed = tj.grad(lambda x, y: np.sum(f(x, y)))(*arguments)
            np.testing.assert_allclose(h(*arguments), fixed, rtol=1e-9, atol=1e-9)
