"""Ways through a function: what Python looks at while it is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.support.differences import slopes
from tracejit.support.errors import TracejitError, ValueNeededError

X = np.array([1.0, 2.5, 3.0])


def signed(x: Any) -> Any:
    if (x.sum() > 0).__bool__():  # which Python asks for itself
        return np.sum(np.sin(x))
    return np.sum(np.cos(x))


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-10:
        x = 0.5 * (x + a / x)
    return x


def nested(x: Any) -> Any:
    if x[0] > 0:
        y = x * 2.0
        if x[1] > 0:
            y = y + 1.0
        else:
            y = y * y
    elif x[2] > 0:
        y = np.exp(x)
    else:
        y = -x
    return np.sum(y * x)


def picked(x: Any) -> Any:
    return x[int(np.argmax(x))] * x[0]


def repeated(x: Any, n: Any) -> Any:
    for _ in range(n[0]):
        x = x * 1.5
    return np.sum(x)


def bounded(x: Any) -> Any:
    return max(x[0] * 2.0, min(x[1], x[2] ** 2))


def sorted_by_exchange(x: Any) -> Any:
    items = [x[k] for k in range(3)]
    for i in range(3):
        for j in range(2 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items[0] * 1.0 + items[1] * 2.0 + items[2] * 3.0


def asserted(x: Any) -> Any:
    assert np.all(np.isfinite(x)), "finite"
    return np.sum(x**2)


SIGNS = [
    np.array(signs) * X for signs in ([1, 1, 1], [-1, -1, -1], [1, -1, 1], [-1, 1, 1], [-1, 1, -1])
]

PROGRAMS: list[tuple[Callable[..., Any], Sequence[tuple[Any, ...]]]] = [
    (signed, [(x,) for x in SIGNS]),
    (newton, [(np.float64(a),) for a in (2.0, 3.0, 5.0, 100.0, 1e4, 2.0)]),
    (nested, [(x,) for x in SIGNS]),
    (picked, [(x,) for x in SIGNS]),
    (bounded, [(x,) for x in SIGNS]),
    (sorted_by_exchange, [(x,) for x in (*SIGNS, X[::-1].copy(), X[[1, 0, 2]], X[[2, 0, 1]])]),
    (asserted, [(x,) for x in SIGNS]),
]  # fmt: skip


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_every_way_of_what_runs_as_it_is_written(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> None:
    test_every_way_answers_as_python_does(function, calls)


@pytest.mark.parametrize(("function", "calls"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_every_way_answers_as_python_does(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> None:
    f, g = tj.function(function), tj.value_and_grad(function)
    for _ in range(2):
        for call in calls:
            expected = function(*call)
            assert type(f(*call)) is type(expected)
            np.testing.assert_array_equal(f(*call), expected)
            value, gradient = g(*call)
            np.testing.assert_allclose(value, expected, rtol=1e-15)
            np.testing.assert_allclose(gradient, slopes(function, *call, step=1e-5), rtol=2e-5)
    count = f.tracing_count
    for call in calls:
        f(*call)
    assert f.tracing_count == count and len(f.kernels) == len(g.kernels) == 1


def cell(u: Any, v: Any) -> Any:
    return np.tanh(v * np.sin(u) * np.exp(-u * u) + np.cos(u) * u)


def of_rows(x: Any, a: Any) -> Any:
    u = a[0]
    for k in range(1, 6):
        u = cell(cell(u, a[k]), a.T[:, 1])
        if x < float(k):
            break
    return np.sum(u)


def several_ifs(x: Any, w: Any) -> Any:
    u = w.reshape(-1)[1:] * 1.0
    for bound in (1.0, 2.0, 3.0, 4.0):
        if x > bound:
            u = cell(cell(u, w.reshape(-1)[1:]), np.diag(np.outer(w, w))[1:]) * 0.9
    return np.sum(u)


PATHS = (2.5, 40.0, 0.5, 3.5, 9.0, 1.5, 40.0, 2.5)


@pytest.mark.parametrize(
    ("function", "w"),
    [
        (of_rows, np.linspace(-1.0, 1.0, 54).reshape(6, 9)[:, 3:5] * 0.7),
        (several_ifs, X * 0.4),
    ],
)
def test_traces_share_views_of_arguments(function: Callable[..., Any], w: np.ndarray) -> None:
    """The slope is right on each path, whatever paths are recorded before or after."""
    compiled = tj.function(function)
    of_compiled, both = tj.grad(compiled, argnums=1), tj.value_and_grad(function, argnums=1)
    for x in map(np.float64, by_day((2.5, 40.0, 0.5, 2.5), PATHS)):
        expected = slopes(lambda w, x=x: function(x, w), w)
        t = tj.constant(w)
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = compiled(x, t)
        value, slope = both(x, w)
        assert compiled(x, w) == y.numpy() == value == pytest.approx(function(x, w), rel=1e-14)
        pulled = tj.vjp(compiled, x, w)[1](1.0)[1]
        for found in (slope, of_compiled(x, w), tape.gradient(y, t).numpy(), pulled):
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-8)


def test_gradients_of_loops_and_comparisons() -> None:
    h = tj.value_and_grad(newton)
    for a in (2.0, 3.0, 100.0, 1e4, 5.0, 2.0):
        np.testing.assert_allclose(h(np.float64(a))[1], 0.5 / np.sqrt(a), rtol=1e-8)
    g = tj.grad(sorted_by_exchange)
    for x in (*SIGNS, X[::-1].copy()):
        ranks = np.empty(3)
        ranks[np.argsort(x)] = [1.0, 2.0, 3.0]
        assert g(x).tolist() == ranks.tolist()


@pytest.mark.usefixtures("as_written")
def test_one_module_with_the_users_condition() -> None:
    f = tj.function(signed)
    f(X)
    assert "raise BranchNotRecorded(0, False, 'signed:1')".replace("'", '"') in f.source
    f(-X)
    lines = [line.strip() for line in f.source.splitlines()]
    place = lines.index("# signed:1  if (x.sum() > 0).__bool__():  # which Python asks for itself")
    assert lines[place + 1].startswith("if add.reduce(x") and "else:" in lines[place:]
    assert f.source.count("add.reduce(x, axis=None)") == 1
    namespace: dict[str, Any] = {}
    exec(f.source, namespace)
    assert namespace["forward"](X) == signed(X) and namespace["forward"](-X) == signed(-X)


@pytest.mark.usefixtures("as_written")
def test_alone_a_module_says_which_way_is_missing() -> None:
    f = tj.function(signed)
    with pytest.raises(NotImplementedError) as caught:
        f.kernel_of = f(X)  # type: ignore[attr-defined]
        f.kernels[-1].forward(-X)
    assert caught.value.args == (0, False, "signed:1")
    assert str(caught.value) == (
        "signed:1: this module has no code for a decision that is False here. Call the function "
        "so where tracejit is installed, and save its kernel again."
    )


def test_forward_and_backward_follow_one_way() -> None:
    g = tj.value_and_grad(nested)
    for x in SIGNS:
        g(x)
    kernel = g.kernels[-1]
    for x in SIGNS:
        value, residuals = kernel.forward(x)
        assert value == nested(x)
        np.testing.assert_array_equal(kernel.backward(residuals), kernel.value_and_grad(x)[1])
        np.testing.assert_array_equal(2 * g(x)[1], kernel.backward(residuals, 2.0))


def test_a_long_loop_is_flat() -> None:
    def steps(x: Any) -> Any:
        total = x
        while total < 1000.0:
            total = total + x
        return total

    f = tj.function(steps)
    assert f(np.float64(1.0)) == 1000.0
    assert f(np.float64(1.003)) == steps(1.003)
    assert f(np.float64(2.0)) == 1000.0
    assert max(len(line) - len(line.lstrip()) for line in f.source.splitlines()) <= 12
    assert tj.grad(f)(np.float64(1.0)) == 1000.0


def test_what_differs_in_structure_is_told_apart() -> None:
    def shapes(x: Any) -> Any:
        if x[0] > 0:
            return {"x": x * 2.0, "n": 1}
        if x[1] > 0:
            return x[0], "text"
        return None

    f = tj.function(shapes)
    for x in (*SIGNS, *SIGNS):
        found, expected = f(x), shapes(x)
        assert type(found) is type(expected)
        if isinstance(expected, dict):
            np.testing.assert_array_equal(found["x"], expected["x"])
            assert found["n"] == 1
        else:
            assert found == expected
    assert f.tracing_count == 3 and len(f.kernels) == 1


def test_ways_with_different_numbers_of_results() -> None:
    def listed(x: Any) -> Any:
        return [k * x[0] for k in range(int(x[0]))]

    def or_text(x: Any) -> Any:
        return x if int(np.argmax(x)) == 1 else "no"

    f, g = tj.function(listed), tj.function(or_text)
    for first in (1.5, 3.5, 0.5, 2.5, 1.5, 3.5):
        x = np.array([first, 2.0])
        assert f(x) == listed(x)
        np.testing.assert_array_equal(g(x), or_text(x))
    assert len(f.kernels) == len(g.kernels) == 1 and f.tracing_count == 4


def test_the_kernel_that_rounds_otherwise_decides() -> None:
    x = np.concatenate(([1e16], np.ones(1000), [-1e16]))

    def decided(x: Any) -> Any:
        return x[1] * 2.0 if np.sum(x) > 975.0 else x[2] * 3.0

    f = tj.function(decided)
    for _ in range(3):
        assert f(x) in (2.0, 3.0)


@pytest.mark.usefixtures("as_written")
def test_too_many_ways_are_pythons() -> None:
    def many(x: Any) -> Any:
        total = x[0] * 0.0
        for k in range(6):
            if (x[k] > 0).__bool__():
                total = total + x[k]
            else:
                total = total - x[k] * 2.0
        return total

    f, g = tj.function(many, max_paths=4), tj.value_and_grad(tj.function(many, max_paths=4))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(64):
            x = np.array([1.0 if number >> k & 1 else -1.0 for k in range(6)])
            assert f(x) == many(x)
            value, gradient = g(x)
            assert value == many(x)
            np.testing.assert_array_equal(gradient, np.where(x > 0, 1.0, -2.0))
    assert f.tracing_count == 4 and len(f.kernels) == 1
    assert [each.filename for each in caught] == [__file__] * 4
    told = [str(each.message) for each in caught]
    assert sum("a branch that is in none of the 4 recorded traces" in text for text in told) == 2
    hessian = tj.hessian(tj.function(many, max_paths=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sign in (1.0, -1.0):
            np.testing.assert_array_equal(hessian(np.full(6, sign)), np.zeros((6, 6)))
        batched = tj.vmap(tj.function(lambda x, w: many(w) * x, max_paths=1), in_axes=(0, None))
        batched(np.ones(2), np.ones(6))
        with pytest.raises(TracejitError, match="max_paths"):
            batched(np.ones(2), -np.ones(6))


def test_numbers_are_compared_at_each_call() -> None:
    def scheduled(x: Any, step: Any) -> Any:
        rate = 0.5 if step < 3 else 0.1
        return x * rate

    f = tj.function(scheduled)
    for step in range(8):
        np.testing.assert_array_equal(f(X, step), scheduled(X, step))
    assert len(f.kernels) == 2


@pytest.mark.usefixtures("as_written")
def test_a_number_that_has_become_dynamic_stays_static_where_it_was() -> None:
    """Decisions of a kernel are those of its own recording."""

    def guarded(x: Any, n: Any) -> Any:
        if x[0] > 0 and n:
            raise ValueError(n)
        return x * int(np.argmax(x))

    f = tj.function(guarded)
    for signs, n in (([1, -1, -1], 0), ([1, 1, -1], 0), ([1, 1, 1], 1), ([1, 1, 1], 0)):
        x = np.array(signs) * X
        if n:
            with pytest.raises(ValueError, match="1"):
                f(x, n)
        else:
            np.testing.assert_array_equal(f(x, n), guarded(x, n))
    assert f.tracing_count == 3


def test_errors_of_kernels_are_pythons() -> None:
    def solved(a: Any) -> Any:
        try:
            return np.linalg.cholesky(a).sum()
        except np.linalg.LinAlgError:
            return a.sum() * 2.0

    f, g = tj.function(solved), tj.grad(solved)
    good, bad = np.eye(2), -np.eye(2)
    for a in (good, bad, good):
        assert f(a) == solved(a)
    np.testing.assert_array_equal(g(bad), np.full((2, 2), 2.0))
    assert g(good).shape == (2, 2)


def test_what_nothing_reads_may_raise() -> None:
    def definite(a: Any) -> Any:
        try:
            np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return a.sum() * 2.0
        return a.sum()

    f, g = tj.function(definite), tj.grad(definite)
    for a in (np.eye(2), -np.eye(2), np.eye(2)):
        assert f(a) == definite(a)
        np.testing.assert_array_equal(g(a), np.full((2, 2), 1.0 if a[0, 0] > 0 else 2.0))
    assert "linalg.cholesky(a)" in f.source
    for a in (np.eye(2), -np.eye(2)):
        t = tj.constant(a)
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        assert y.numpy() == definite(a)
        np.testing.assert_array_equal(tape.gradient(y, t).numpy(), g(a))
    inverses = tj.vmap(lambda a: np.linalg.inv(a) @ a)(np.array([np.eye(2), 2.0 * np.eye(2)]))
    np.testing.assert_array_equal(inverses, [np.eye(2)] * 2)


@pytest.mark.parametrize("take", [lambda x, i: x[i], np.take, lambda x, i: x[i[0]]])
def test_what_nothing_reads_may_be_out_of_bounds(take: Any) -> None:
    def f(x: Any, i: Any) -> Any:
        take(x, i)
        return x * 2.0

    compiled, x = tj.function(f), np.arange(5.0)
    np.testing.assert_array_equal(compiled(x, np.array([1, 2])), x * 2.0)
    for call in (f, compiled):
        with pytest.raises(IndexError):
            call(x, np.array([9, 2]))


def test_a_gradient_by_eager_tensors_goes_by_integers() -> None:
    def solved(x: Any) -> Any:
        power = int(x[0])
        try:
            np.linalg.cholesky(-np.diag(x))
        except np.linalg.LinAlgError:
            return np.sum(x**power)
        return x[0]

    value, gradient = tj.value_and_grad(solved)(X * 3.0)
    assert value == solved(X * 3.0)
    np.testing.assert_allclose(gradient, 3.0 * (X * 3.0) ** 2)


def test_a_way_that_raises_raises_pythons_error() -> None:
    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise KeyError("negative")
        return x * 2.0

    f = tj.function(checked)
    for x in (X, -X, X, -X):
        if x[0] < 0:
            with pytest.raises(KeyError, match="negative"):
                f(x)
        else:
            np.testing.assert_array_equal(f(x), x * 2.0)


def test_a_rule_may_go_by_its_cotangent() -> None:
    @tj.custom_gradient
    def clipped(x: Any) -> Any:
        def rule(dy: Any) -> Any:
            return dy / np.linalg.norm(dy) if np.linalg.norm(dy) > 1.0 else dy

        return x * 1.0, rule

    g = tj.grad(lambda x: np.sum(clipped(x) * x[0]))
    for x in (X, X * 0.1, X):
        scale = max(1.0, float(np.linalg.norm(np.full(3, x[0]))))
        expected = np.full(3, x[0]) / scale
        expected[0] += x.sum()
        np.testing.assert_allclose(g(x), expected, rtol=1e-14)


def test_draws_are_decided_on() -> None:
    def accepted(x: Any, rng: Any) -> Any:
        proposal = x + rng.normal()
        return proposal if rng.random() < 0.5 else x

    f = tj.function(accepted)
    ours, pythons = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(20):
        assert f(np.float64(1.0), ours) == accepted(np.float64(1.0), pythons)
    assert ours.bit_generator.state == pythons.bit_generator.state
    assert len(f.kernels) == 1


def test_variables_are_assigned_on_the_way_taken() -> None:
    v = tj.Variable(0.0)

    def counting(x: Any) -> Any:
        if x[0] > 0:
            v.assign_add(1.0)
            return x[0] * v
        return x[1] * 1.0

    f = tj.function(counting)
    found = [float(f(x)) for x in (X, -X, X, X, -X)]
    assert found == [1.0, -2.5, 2.0, 3.0, -2.5] and v.numpy() == 3.0


def test_arguments_are_written_on_the_way_taken() -> None:
    def clipped(x: Any) -> Any:
        if x[0] > 1.0:
            x[0] = 1.0
        return x.sum()

    f = tj.function(clipped)
    for start in (0.5, 2.0, 0.5, 3.0):
        ours, pythons = np.array([start, 1.0]), np.array([start, 1.0])
        assert f(ours) == clipped(pythons)
        np.testing.assert_array_equal(ours, pythons)


def test_under_a_tape_a_call_takes_its_way() -> None:
    f = tj.function(nested)
    for x in (*SIGNS, *SIGNS):
        t = tj.constant(x)
        with tj.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        assert y.numpy() == nested(x)
        np.testing.assert_allclose(tape.gradient(y, t).numpy(), tj.grad(nested)(x), rtol=1e-14)


@pytest.mark.usefixtures("as_written")
def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ValueNeededError, match="bool"):
        tj.function(signed).kernel(tj.TensorSpec((3,)))
    with pytest.raises(ValueNeededError, match="where"):
        tj.vmap(signed)(np.ones((4, 3)))
    with pytest.raises(TracejitError, match="hash"):
        tj.function(lambda x: x * hash(x[0]))(X)


def test_both_sides_of_what_is_not_known_are_recorded() -> None:
    def either(x: Any) -> Any:
        return np.sum(np.sin(x)) if x.sum() > 0 else np.sum(np.cos(x))

    assert "if " in tj.function(either).kernel(tj.TensorSpec((3,))).source
    rows = np.array(SIGNS)
    np.testing.assert_allclose(tj.vmap(either)(rows), [*map(either, rows)], rtol=1e-15)


def test_transforms_follow_the_way_too() -> None:
    for x in SIGNS:
        exact = np.diag(-np.sin(x) if x.sum() > 0 else -np.cos(x))
        np.testing.assert_allclose(tj.hessian(signed)(x), exact, atol=1e-15)
    batch = np.ones((4, 3))
    inner = tj.vmap(lambda x, c: x * (2.0 if c > 0 else 3.0), in_axes=(0, None))
    for c in (1.0, -1.0, 1.0):
        found = inner(batch, np.float64(c))
        np.testing.assert_array_equal(found, batch * (2.0 if c > 0 else 3.0))


# Python in the place of a kernel, where the function takes gradients itself


def by_a_tape(x: Any, k: Any) -> Any:
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x**3)
        for one in range(3):
            if k[one] > 0:
                y = y * 2.0
    return tape.gradient(y, x)


def by_gradients(x: Any, k: Any) -> Any:
    h = x**3
    y = np.sum(h)
    for one in range(3):
        if k[one] > 0:
            y = y * 2.0
    return tj.gradients(y, [x, h], stop_gradients=h)[1] * tj.gradients(h, x)[0]


def along_a_tangent(x: Any, k: Any) -> Any:
    with tj.ForwardAccumulator(x, np.ones(3)) as accumulator:
        y = x**3
        for one in range(3):
            if k[one] > 0:
                y = y * 2.0
    return accumulator.jvp(y)


TAKERS = pytest.mark.parametrize("f", [by_a_tape, by_gradients, along_a_tangent])


@TAKERS
def test_gradients_inside_where_there_are_too_many_ways(f: Any) -> None:
    many = tj.function(f, max_paths=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for number in range(8):
            k = np.array([number & 1, number & 2, number & 4])
            found = many(X, k)
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, 3.0 * X**2 * 2.0 ** np.sum(k > 0))


@TAKERS
def test_gradients_inside_a_gradient_where_there_are_too_many_ways(f: Any) -> None:
    many = tj.grad(lambda x, k: np.sum(tj.function(f)(x, k)))
    many.options = many.options._replace(max_paths=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for number in range(8):
            k = np.array([number & 1, number & 2, number & 4])
            np.testing.assert_allclose(many(X, k), 6.0 * X * 2.0 ** np.sum(k > 0), rtol=1e-14)


def test_gradients_inside_of_what_raises() -> None:
    v = tj.Variable(1.0)

    @tj.function
    def f(a: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(a)
            try:
                y = np.sum(np.linalg.inv(a))
            except np.linalg.LinAlgError:
                y = np.sum(a**3) * v
        v.assign(2.0)
        return tape.gradient(y, a)

    for a in (np.eye(2), np.ones((2, 2)), np.ones((2, 2))):
        before = v.numpy()
        wanted = -np.ones((2, 2)) if a[0, 1] == 0.0 else 3.0 * a**2 * before
        np.testing.assert_allclose(f(a), wanted, rtol=1e-14)


def test_python_in_the_place_of_a_kernel_that_takes_gradients_refuses_to_write_twice() -> None:
    @tj.function(max_paths=1)
    def f(x: Any, out: Any) -> Any:
        y = np.sum(x * x)
        g = tj.gradients(y if x[0] > 0 else -y, x)[0]
        out[0] = 7.0
        return g

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.TracejitWarning)
        for x in (X, -X):
            out = np.zeros(2)
            np.testing.assert_array_equal(f(x, out), 2.0 * X)
            np.testing.assert_array_equal(out, [7.0, 0.0])
        with pytest.raises(TracejitError, match="shares memory"):
            f(x := -X, x)


def test_results_of_python_in_the_place_of_a_kernel_are_new_arrays() -> None:
    held, v = np.ones((2, 2)), tj.Variable(3.0)

    @tj.function
    def f(a: Any) -> Any:
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return a, a, a[0], held, v

    a = np.ones((2, 2))
    for _ in range(2):
        *arrays, number = f(a)
        assert type(number) is np.float64
        for k, one in enumerate(arrays):
            assert type(one) is np.ndarray
            assert not any(np.shares_memory(one, other) for other in (*arrays[:k], a, held))
    x = tj.constant(a)
    with tj.GradientTape() as tape:
        tape.watch(x)
        found = f(x)
    assert all(issubclass(type(one), tj.Tensor) for one in found)
