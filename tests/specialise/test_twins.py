"""Functions made of the same code share kernels, where all that they have read is the same."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rows import each_row
from tracejit.specialise import twins

X = np.array([1.0, 2.0, 3.0])
W = np.array([2.0, 0.5, 1.0])


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """No function of another test is known."""
    twins._families.clear()
    yield
    twins._families.clear()


def shared(f: Any, **options: Any) -> tj.Function[..., Any]:
    return tj.function(f, share=True, **options)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "function": shared,
    "grad": lambda f: tj.grad(shared(f)),
    "value_and_grad": lambda f: tj.value_and_grad(shared(f)),
    "hessian": lambda f: tj.hessian(shared(f)),
    "jacobian of jacobian": lambda f: tj.jacobian(tj.jacobian(shared(f))),
    "elementwise_grad": lambda f: tj.elementwise_grad(shared(f)),
    "vmap": lambda f: tj.vmap(shared(lambda row: f(row * X))),
}


def scaled(w: Any, k: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return np.sum((x * w) ** 3) * k

    return f


class Fit:
    def __init__(self, w: Any, k: Any = 2.0, **more: Any) -> None:
        self.w, self.options, self.more = w, {"k": k, "rows": [1.0, k]}, more

    def loss(self, x: Any) -> Any:
        return np.sum((x * self.w) ** 3) * self.options["k"] + self.options["rows"][1]

    def __call__(self, x: Any) -> Any:
        return self.loss(x) * 2.0


def with_default(w: Any, k: Any) -> Callable[..., Any]:
    def f(x: Any, *, k: Any = k) -> Any:
        return np.sum((x * w) ** 2) * k

    return f


def counting(w: Any) -> Callable[[Any], Any]:
    calls = [0]

    def f(x: Any) -> Any:
        calls[0] += 1
        return np.sum(x * w) * calls[0]

    return f


def branching(w: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return np.sum(x[x > w[0]] ** 2 * 3.0)

    return f


def nested(inner: Any) -> Callable[[Any], Any]:
    slope = tj.jacobian(inner)

    def f(x: Any) -> Any:
        return np.sum(slope(x) * x)

    return f


def weighted(w: Any, x: Any) -> Any:
    return np.sum(w * x**2)


def check(functions: list[Any], recordings: list[int], transform: str = "grad") -> None:
    """Compare the results of functions, called in turns, with plain Python; and what they cost."""
    twins._families.clear()
    make = TRANSFORMS[transform]
    made = [make(f) for f in functions]
    x = np.stack([X, X * 2.0]) if transform == "vmap" else X
    expected = [make(lambda x, f=f: f(x)) for f in functions]
    for _ in range(2):
        for one, other in zip(made, expected, strict=True):
            with tj.eager():
                wanted = other(x)
            found = one(x)
            for a, b in zip(_leaves(found), _leaves(wanted), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
    assert [one.tracing_count for one in made] == recordings


def _leaves(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@each_row("transform", [*TRANSFORMS])
def test_closures_over_other_arrays_are_recorded_once(transform: str) -> None:
    check([scaled(W, 2.0), scaled(W + 1.0, 2.0), scaled(W * 0.0, 2.0)], [1, 0, 0], transform)


@each_row("transform", ["function", "grad", "hessian"])
def test_methods_of_other_objects_are_recorded_once(transform: str) -> None:
    check([Fit(W).loss, Fit(W + 1.0).loss, Fit(W).loss], [1, 0, 0], transform)


@each_row(
    "functions, recordings",
    [
        ([Fit(W), Fit(W * 2.0)], [1, 0]),
        ([functools.partial(weighted, W), functools.partial(weighted, W + 1.0)], [1, 0]),
        ([lambda x, k=k: np.sum(x**2) * k for k in (2.0, 2.0, 3.0)], [1, 0, 1]),
        ([with_default(W, k) for k in (2.0, 2.0, 3.0)], [1, 0, 1]),
        ([branching(W), branching(W.copy()), branching(W + 1.0)], [1, 0, 1]),
    ],
)
def test_what_is_called_may_be_anything(functions: list[Any], recordings: list[int]) -> None:
    check(functions, recordings)


@each_row(
    "functions",
    [
        [scaled(W, 2.0), scaled(W, 3.0)],
        [scaled(W, 2.0), scaled(W[:, None], 2.0)],
        [scaled(W, 2.0), scaled(W.astype(np.float32), 2.0)],
        [scaled(W, 2.0), scaled(2.0, 2.0)],
        [Fit(W).loss, Fit(W, k=3.0).loss],
        [Fit(W), type("Other", (Fit,), {})(W)],
        [functools.partial(weighted, W), functools.partial(weighted, 3.0)],
    ],
)
def test_what_is_read_decides(functions: list[Any]) -> None:
    check(functions, [1, 1])


def test_other_code_is_another_function() -> None:
    check([lambda x: np.sum(x * W), lambda x: np.sum(x + W)], [1, 1])


def test_a_captured_transform_is_looked_into() -> None:
    check([nested(scaled(W, 2.0)), nested(scaled(W + 1.0, 2.0))], [1, 0])
    check([nested(scaled(W, 2.0)), nested(scaled(W, 4.0))], [1, 1])


def test_a_function_that_changes_what_it_reads_stays_its_own() -> None:
    first, second = shared(counting(W)), shared(counting(W))
    assert [float(first(X)) for _ in range(3)] == [6.0, 12.0, 18.0]
    assert [float(second(X)) for _ in range(3)] == [6.0, 12.0, 18.0]


def test_a_change_after_the_kernel_was_taken_over_is_seen() -> None:
    one, two = Fit(W), Fit(W + 1.0)
    first, second = shared(one.loss), shared(two.loss)
    first(X), second(X)
    two.options["k"] = 5.0
    two.w[0] = 7.0
    np.testing.assert_allclose(second(X), two.loss(X))
    np.testing.assert_allclose(first(X), one.loss(X))
    one.w = W * 3.0
    np.testing.assert_allclose(first(X), one.loss(X))
    np.testing.assert_allclose(second(X), two.loss(X))


def test_two_names_of_one_object_must_be_two_names_of_one_object() -> None:
    def made(a: Fit, b: Fit) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            return np.sum(x * a.w) * b.options["k"]

        return f

    same = Fit(W)
    check([made(same, same), made(Fit(W), Fit(W + 1.0, k=3.0))], [1, 1])
    other = Fit(W * 2.0)
    check([made(same, same), made(other, other)], [1, 0])


def test_a_result_that_is_an_object_of_the_functions_is_its_own() -> None:
    def made(note: Any) -> Callable[[Any], Any]:
        return lambda x: (np.sum(x), note)

    first, second = object(), object()
    assert shared(made(first))(X)[1] is first
    assert shared(made(second))(X)[1] is second


def test_the_first_function_may_be_gone() -> None:
    for k in range(6):
        made = tj.grad(shared(scaled(W * k, 2.0)))
        np.testing.assert_allclose(made(X), 6.0 * X**2 * (W * k) ** 3)
        assert made.tracing_count == (k == 0)
        del made
        gc.collect()


def test_few_functions_are_kept() -> None:
    for k in range(5):
        shared(scaled(W * k, 2.0))(X)
    (members,) = twins._families.values()
    assert len(members) <= twins.MEMBERS


def test_without_the_option_nothing_is_shared_or_kept() -> None:
    for k in range(2):
        made = tj.function(scaled(W * k, 2.0))
        made(X)
        assert made.tracing_count == 1
    assert not twins._families


def test_variables_are_told_apart() -> None:
    first, second = tj.Variable(2.0), tj.Variable(5.0)
    check([scaled(W, first), scaled(W, second), scaled(W + 1.0, second)], [1, 1, 0], "function")


def test_a_branch_of_its_own_is_recorded_by_each() -> None:
    def made(w: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            return np.sum(np.sort(x * w)[: int(np.sum(x > 1.5))])

        return f

    first, second = shared(made(W)), shared(made(W + 1.0))
    for x in (X, X[::-1] + 1.0, X * 0.0, X):
        np.testing.assert_allclose(first(x), made(W)(x))
        np.testing.assert_allclose(second(x), made(W + 1.0)(x))


def test_a_tape_sees_through_a_kernel_that_was_taken_over() -> None:
    first, second = shared(scaled(W, 2.0)), shared(scaled(W + 1.0, 2.0))
    first(X), second(X)
    x = tj.constant(X)
    for f, w in ((second, W + 1.0), (first, W)):
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 6.0 * X**2 * w**3)


def test_settings_count() -> None:
    shared(scaled(W, 2.0))(X)
    with tj.config(convert=False):
        made = shared(scaled(W, 2.0))
        made(X)
    assert made.tracing_count == 1


def test_threads_may_ask_at_once() -> None:
    found: list[Any] = []

    def ask(k: int) -> None:
        found.extend((k, tj.grad(shared(scaled(W * k, 2.0)))(X)) for _ in range(5))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, slope in found:
        np.testing.assert_allclose(slope, 6.0 * X**2 * (W * k) ** 3)


def test_the_explanation_is_that_of_the_first() -> None:
    shared(scaled(W, 2.0))(X)
    made = shared(scaled(W + 1.0, 2.0))
    made(X)
    assert "Kernel 1 was made for the first call: x f8[3]" in made.explain()
