"""Conditions and loops on a condition against the same programs in plain Python: values, and
derivatives of first and second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day, some_by_day

R = np.random.default_rng(0)
X = R.normal(size=4)
W = R.normal(size=(4, 4))


class Program(NamedTuple):
    """A function written with control flow as calls, the same in plain Python, and arguments that
    go through each of its sides."""

    f: Callable[..., Any]
    plain: Callable[..., Any]
    arguments: list[tuple[Any, ...]]


PROGRAMS: dict[str, Program] = {}


def program(
    plain: Callable[..., Any], *arguments: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the program of a function that does what `plain` does."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        tuples = [x if type(x) is tuple else (x,) for x in arguments]
        PROGRAMS[f.__name__] = Program(f, plain, tuples)
        return f

    return declare


# Conditions


def in_python(x: Any) -> Any:
    return np.sum(np.sin(x) * x[0] if np.sum(x) > 0 else x**3)


@program(in_python, X, -X)
def condition(x: Any) -> Any:
    return np.sum(tj.cond(np.sum(x) > 0, lambda x: np.sin(x) * x[0], lambda x: x**3, x))


def pairs_in_python(x: Any, w: Any) -> Any:
    y = np.tanh(w @ x)
    p, q = (y * 2.0, 1.0) if y[0] > 0 else (np.exp(y) * x, np.exp(y)[0])
    return np.sum(p * q)


@program(pairs_in_python, (X, W), (-X, W))
def sides_that_read_what_is_around(x: Any, w: Any) -> Any:
    y = np.tanh(w @ x)

    def first() -> Any:
        return y * 2.0, 1.0

    def second() -> Any:
        z = np.exp(y)
        return z * x, z[0]

    p, q = tj.cond(y[0] > 0, first, second)
    return np.sum(p * q)


BRANCHES = [lambda x: x, np.sin, lambda x: x * x, np.exp]


def switch_in_python(x: Any) -> Any:
    return np.sum(BRANCHES[int(np.argmax(x))](x))


@program(switch_in_python, *[np.roll(X, k) for k in range(4)])
def switch(x: Any) -> Any:
    return np.sum(tj.switch(np.argmax(x), BRANCHES, x))


def nested_in_python(x: Any) -> Any:
    if x[0] > 0:
        return np.sum((x * 2 if x[1] > 0 else x**2) * x)
    return np.sum((x**3 if x[1] > 0 else np.sin(x)) * x)


@program(nested_in_python, *[np.array([a, b]) for a in (0.1, -0.1) for b in (0.2, -0.2)])
def condition_in_condition(x: Any) -> Any:
    found = tj.cond(
        x[0] > 0,
        lambda: tj.cond(x[1] > 0, lambda: x * 2, lambda: x**2),
        lambda: tj.cond(x[1] > 0, lambda: x**3, lambda: np.sin(x)),
    )
    return np.sum(found * x)


# Loops on a condition


def newton_in_python(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(newton_in_python, 3.0, 1.0)
def newton(a: Any) -> Any:
    return tj.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: 0.5 * (x + a / x), a)


def growth_in_python(x: Any, w: Any) -> Any:
    v, k, s = x, 0, 0.0
    while np.sum(v**2) < 50:
        v, k, s = np.sin(w @ v) + 1.5 * v, k + 1, s + np.sum(v) * k
    return np.sum(v) * s + np.sum(v)


@program(growth_in_python, (X, W), (20 * X, W))
def several_carried_values(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        v, k, s = carry
        return np.sin(w @ v) + 1.5 * v, k + 1, s + np.sum(v) * k

    v, _, s = tj.while_loop(lambda c: np.sum(c[0] ** 2) < 50, body, (x, 0, 0.0))
    return np.sum(v) * s + np.sum(v)


def swaps_in_python(x: Any) -> Any:
    a, b = x, 2.0 * x
    while np.sum(a * a) < 9.0:
        a, b = b, a * 1.5 + np.sin(b)
    return np.sum(a * b)


@program(swaps_in_python, X[:2], 9.0 * X[:2])
def carried_values_that_swap(x: Any) -> Any:
    a, b = tj.while_loop(
        lambda c: np.sum(c[0] * c[0]) < 9.0,
        lambda c: (c[1], c[0] * 1.5 + np.sin(c[1])),
        (x, 2.0 * x),
    )
    return np.sum(a * b)


# One in the other


def mixed_in_python(x: Any) -> Any:
    c, total = 1.0, 0.0
    for e in x:
        c = c * np.sin(e) if e > 0 else c + e**2
        total = total + c * e
    return c * total


@program(mixed_in_python, X)
def condition_in_scan(x: Any) -> Any:
    def step(c: Any, e: Any) -> Any:
        c = tj.cond(e > 0, lambda: c * np.sin(e), lambda: c + e**2)
        return c, c * e

    c, ys = tj.scan(step, 1.0, x)
    return c * np.sum(ys)


def scan_or_not_in_python(x: Any) -> Any:
    if x[0] <= 0:
        return np.sum(x**2)
    c, total = 1.0, 0.0
    for e in x:
        total = total + np.sin(c) ** 2
        c = c * e + 1.0
    return c + total


@program(scan_or_not_in_python, X, -X)
def scan_in_condition(x: Any) -> Any:
    def first() -> Any:
        c, ys = tj.scan(lambda c, e: (c * e + 1.0, np.sin(c)), 1.0, x)
        return c + np.sum(ys**2)

    return tj.cond(x[0] > 0, first, lambda: np.sum(x**2))


def inner_while_in_python(x: Any) -> Any:
    c, total = 0.3, 0.0
    for e in x:
        v = np.abs(e) + 0.1
        while v < 3.0:
            v = v * 1.5 + np.sin(c) ** 2
        c, total = c * 0.5 + v, total + v**2
    return c + total


@program(inner_while_in_python, X)
def while_in_scan(x: Any) -> Any:
    def step(c: Any, e: Any) -> Any:
        begun = np.abs(e) + 0.1
        v = tj.while_loop(lambda v: v < 3.0, lambda v: v * 1.5 + np.sin(c) ** 2, begun)
        return c * 0.5 + v, v

    c, ys = tj.scan(step, 0.3, x)
    return c + np.sum(ys**2)


def turning_in_python(x: Any) -> Any:
    v = x
    while np.sum(v**2) < 30:
        v = v * 1.3 + np.sin(v) if v[0] > v[1] else v[::-1] * 1.7
    return v[1]


@program(turning_in_python, X, -X)
def condition_in_while(x: Any) -> Any:
    def body(v: Any) -> Any:
        return tj.cond(v[0] > v[1], lambda: v * 1.3 + np.sin(v), lambda: v[::-1] * 1.7)

    return tj.while_loop(lambda v: np.sum(v**2) < 30, body, x)[1]


def two_in_python(x: Any) -> Any:
    v = x
    while np.sum(v**2) < 300:
        u = v * 0.3
        while np.sum(u) < 3.0:
            u = u * u + 1.0
        v = u * v[0] + 1.0
    return np.sum(v**2)


@program(two_in_python, np.array([0.4, 0.3]))
def while_in_while(x: Any) -> Any:
    def body(v: Any) -> Any:
        u = tj.while_loop(lambda u: np.sum(u) < 3.0, lambda u: u * u + 1.0, v * 0.3)
        return u * v[0] + 1.0

    return np.sum(tj.while_loop(lambda v: np.sum(v**2) < 300, body, x) ** 2)


# Against plain Python

Derive = Callable[[Callable[..., Any], Any], Any]
FIRST: dict[str, Derive] = {
    "value": lambda f, x: tj.function(f)(x),
    "exact": lambda f, x: tj.function(f, exact=True)(x),
    "eager": lambda f, x: f(x),
    "gradient": lambda f, x: tj.grad(f)(x),
    "tangent": lambda f, x: tj.jvp(f, (x,), (direction(x),))[1],
}
SECOND: dict[str, Derive] = {
    "tangent of tangent": lambda f, x: tj.jvp(
        lambda x: tj.jvp(f, (x,), (direction(x),))[1], (x,), (direction(x),)
    )[1],
    "forward over reverse": lambda f, x: tj.hvp(f, (x,), (direction(x),))[0],
    "reverse over forward": lambda f, x: tj.grad(lambda x: tj.jvp(f, (x,), (direction(x),))[1])(x),
    "reverse over reverse": lambda f, x: tj.grad(lambda x: np.sum(tj.grad(f)(x) ** 2))(x),
}


def direction(x: Any) -> Any:
    """A direction to move `x` in."""
    return 1.0 if np.ndim(x) == 0 else np.cos(np.arange(np.size(x)))


@pytest.mark.parametrize("derive", FIRST | SECOND)
@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 3))
def test_is_what_plain_python_is(name: str, derive: str) -> None:
    f, plain, arguments = PROGRAMS[name]
    for x, *others in arguments:
        found, expected = (
            (FIRST | SECOND)[derive](lambda x, g=g, others=others: g(x, *others), x)
            for g in (f, plain)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_serves_every_side(name: str) -> None:
    f, plain, arguments = PROGRAMS[name]
    compiled = tj.value_and_grad(f)
    compiled(*arguments[0])
    before = compiled.source
    for each in arguments:
        value, gradient = compiled(*each)
        np.testing.assert_allclose(value, plain(*each), rtol=1e-12)
        np.testing.assert_allclose(gradient, tj.grad(plain)(*each), rtol=1e-10, atol=1e-12)
    assert compiled.source == before


@pytest.mark.parametrize("name", ["condition", "several_carried_values", "while_in_scan"])
def test_every_stage_leaves_a_graph_that_is_one(name: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TRACEJIT_VERIFY", "1")
    f, plain, arguments = PROGRAMS[name]
    found = tj.grad(lambda *x: f(*x) * 1.0)(*arguments[0])
    np.testing.assert_allclose(found, tj.grad(plain)(*arguments[0]), rtol=1e-10, atol=1e-12)


def test_a_tape_sees_the_side_that_is_taken() -> None:
    f, plain, arguments = PROGRAMS["condition"]
    for (x,) in arguments:
        variable = tj.constant(x)
        with tj.GradientTape() as tape:
            tape.watch(variable)
            y = f(variable)
        np.testing.assert_allclose(tape.gradient(y, variable).numpy(), tj.grad(plain)(x))


# What conditions do


def test_only_the_side_that_is_taken_is_computed() -> None:
    @tj.function
    def f(x: Any) -> Any:
        return tj.cond(x[0] > 0, lambda: np.linalg.cholesky(x[1] * np.eye(2)), lambda: np.eye(2))

    np.testing.assert_array_equal(f(np.array([-1.0, -1.0])), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        f(np.array([1.0, -1.0]))


def test_an_infinite_derivative_of_the_other_side_does_not_matter() -> None:
    def f(x: Any) -> Any:
        return tj.cond(x > 0, np.sqrt, lambda x: 2.0 * x, x)

    assert tj.grad(f)(0.0) == 2.0
    assert tj.jvp(f, (0.0,), (1.0,))[1] == 2.0
    with np.errstate(divide="ignore"):  # all sides are computed for all elements
        np.testing.assert_array_equal(tj.vmap(tj.grad(f))(np.array([0.0, 4.0])), [2.0, 0.25])


def test_python_numbers_take_the_dtype_of_the_other_side() -> None:
    @tj.function
    def f(x: Any) -> Any:
        return tj.cond(x[0] > 0, lambda: (x[0], 1, None), lambda: (0.0, 2, None))

    first, second = f(np.ones(2, np.float32)), f(-np.ones(2, np.float32))
    assert type(first[0]) is type(second[0]) is np.float32
    assert (first[1], second[1]) == (1, 2)
    assert first[2] is second[2] is None


def test_a_switch_takes_the_nearest_branch() -> None:
    f = tj.function(lambda i, x: tj.switch(i, [lambda x: x, lambda x: 2 * x, np.square], x))
    eager = [tj.switch(i, [lambda x: x, lambda x: 2 * x, np.square], 3.0) for i in range(-2, 5)]
    assert [float(f(np.int64(i), np.float64(3.0))) for i in range(-2, 5)] == eager
    assert eager == [3.0, 3.0, 3.0, 6.0, 9.0, 9.0, 9.0]
    assert tj.function(lambda i, x: tj.switch(i, [np.sin], x))(np.int64(5), X)[0] == np.sin(X[0])


def test_a_number_is_a_predicate() -> None:
    f = tj.function(lambda x: tj.cond(x[0], lambda: 1.0, lambda: 2.0))
    assert [f(np.array([x])) for x in (3.0, 0.0)] == [1.0, 2.0]


def test_results_share_no_memory_with_arguments() -> None:
    x = X.copy()
    for y in (
        tj.function(lambda x: tj.cond(x[0] > 9, lambda: 2 * x, lambda: x))(x),
        tj.function(lambda x: tj.while_loop(lambda v: v[0] > 9, lambda v: v * 0.5, x))(x),
        tj.function(lambda x: tj.cond(x[0] > 9, lambda: 2 * x, lambda: x[::-1]))(x),
    ):
        y[:] = 7.0
        np.testing.assert_array_equal(x, X)


def test_zero_trips_and_updates_in_place_leave_arguments_alone() -> None:
    @tj.function
    def f(x: Any) -> Any:
        y = tj.while_loop(lambda v: v[0] > 9, lambda v: v * 0.5, x)
        y = y + x
        y[0] = 5.0
        return y, x * 2

    y, doubled = f(X)
    np.testing.assert_array_equal(doubled, 2 * X)
    np.testing.assert_array_equal(y[1:], 2 * X[1:])


# Text


def body_of(function: Any, name: str = "forward") -> list[str]:
    """The statements of a generated function, without comments."""
    text = function.source.split(f"def {name}(", 1)[1].split("\n\n\n")[0]
    lines = [line for line in text.splitlines()[2:] if not line.lstrip().startswith("#")]
    return [line[4:] for line in lines if line.startswith("    ")]


def test_a_condition_is_written_as_if() -> None:
    f = tj.function(lambda i, x: tj.switch(i, [lambda: x, lambda: 2 * x, lambda: x * x]))
    f(np.int64(1), X)
    assert [line for line in body_of(f) if line.startswith(("if", "el"))] == [
        "if i <= 0:",
        "elif i == 1:",
        "else:",
    ]


def test_a_loop_is_written_as_while() -> None:
    def halve(x: Any) -> Any:
        def body(carry: Any) -> Any:
            v, k = carry
            return v * 0.5, k + 1

        return tj.while_loop(lambda c: c[0][0] > 1.0, body, (x, 0))

    f = tj.function(halve)
    assert f(np.full(2, 8.0))[1] == 3
    assert body_of(f) == [
        "v = x.copy()",
        "k = 0",
        "while v[0] > 1.0:",
        "    v = v * c0_5",
        "    k = k + 1",
        "return v, k",
    ]


def test_a_loop_on_a_condition_keeps_what_its_steps_began_with_in_a_list() -> None:
    f = tj.grad(newton)
    assert f(3.0) == pytest.approx(0.5 / np.sqrt(3.0))
    assert "x_all.append(x)" in "\n".join(body_of(f))
    assert "for t in reversed(range(count)):" in body_of(f, "backward")


# Draws


def draws(rng: Any, x: Any) -> Any:
    first = rng.normal()
    y = tj.cond(x[0] > 0, lambda: x * rng.normal(size=2), lambda: x + 1)
    y = tj.while_loop(lambda v: np.sum(v) < 9, lambda v: v * 1.2 + rng.normal(size=2) ** 2 * x, y)
    return np.sum(y) * rng.normal() + first


def draws_in_python(rng: Any, x: Any) -> Any:
    first = rng.normal()
    y = x * rng.normal(size=2) if x[0] > 0 else x + 1
    while np.sum(y) < 9:
        y = y * 1.2 + rng.normal(size=2) ** 2 * x
    return np.sum(y) * rng.normal() + first


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(3))
def test_draws_are_made_in_order_and_once(seed: int, sign: float) -> None:
    x = np.array([0.5 * sign, 1.5])
    pairs = []
    for f in (draws, draws_in_python):
        rng = np.random.default_rng(seed)
        value, gradient = tj.value_and_grad(f, argnums=1)(rng, x)
        pairs.append((value, *gradient, rng.normal()))
    np.testing.assert_allclose(pairs[0], pairs[1], rtol=1e-12)


def test_draws_that_nothing_reads_are_made() -> None:
    @tj.function
    def f(rng: Any, x: Any) -> Any:
        tj.cond(x > 0, lambda: (rng.normal(size=3), None)[1], lambda: None)
        tj.scan(lambda carry, _: ((rng.normal(), carry)[1], None), (), length=2)
        return rng.normal()

    for x, before in ((1.0, 5), (-1.0, 2)):
        rng = np.random.default_rng(0)
        rng.normal(size=before)
        assert f(np.random.default_rng(0), x) == rng.normal()


# Scans of several steps a round, and of segments


def network(x: Any, w: Any, **options: Any) -> Any:
    def step(h: Any, e: Any) -> Any:
        h = np.tanh(w @ h + e)
        return h, np.sum(h)

    h, ys = tj.scan(step, np.zeros(4), x, **options)
    return np.sum(h**2) + np.sum(ys**3 * np.arange(11.0))


@pytest.mark.parametrize(
    "options",
    [{name: n} for name in ("unroll", "checkpoint") for n in (True, 1, 2, 3, 11, 20)],
    ids=repr,
)
@pytest.mark.parametrize("reverse", by_day([True], [False, True]))
def test_rounds_and_segments_change_nothing(options: dict[str, Any], reverse: bool) -> None:
    x = R.normal(size=(11, 4))
    expected = tj.value_and_grad(lambda x, w: network(x, w, reverse=reverse), argnums=(0, 1))(x, W)
    for f in (tj.function, lambda f: f):
        np.testing.assert_allclose(f(network)(x, W, reverse=reverse, **options), expected[0])
    found = tj.value_and_grad(
        lambda x, w: network(x, w, reverse=reverse, **options), argnums=(0, 1)
    )(x, W)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_rounds_of_a_number_that_becomes_a_scalar() -> None:
    for options in ({"unroll": 3}, {"checkpoint": 3}):

        def f(x: Any, options: Any = options) -> Any:
            return tj.scan(lambda c, _: (c * x + 0.1, None), 1, length=7, **options)[0]

        plain = tj.grad(lambda x: tj.scan(lambda c, _: (c * x + 0.1, None), 1, length=7)[0])
        assert tj.grad(f)(0.7) == pytest.approx(plain(0.7))


def test_segments_save_memory() -> None:
    import tracemalloc

    x, w = R.normal(size=1000), R.normal(size=1000)
    peaks = []
    for checkpoint in (None, True, 16):

        def f(x: Any, w: Any, checkpoint: Any = checkpoint) -> Any:
            def step(h: Any, _: Any) -> Any:
                return np.tanh(np.sin(h * w) + h), None

            return np.sum(tj.scan(step, x, length=256, checkpoint=checkpoint)[0])

        compiled = tj.grad(f)
        compiled(x, w)
        tracemalloc.start()
        compiled(x, w)
        peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
        tracemalloc.stop()
    assert peaks[1] <= 256 + 16
    assert peaks[2] <= peaks[0] / 4
    assert peaks[2] <= 2 * 16 + 24


@pytest.mark.parametrize("options", [{"unroll": 0}, {"checkpoint": -1}, {"checkpoint": 1.5}])
def test_rounds_are_of_a_positive_number_of_steps(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(tj.errors.ArgumentError, match=f"over step .* {name} is .*not a positive"):
        tj.function(lambda x: network(x, W, **options))(np.ones((11, 4)))


# Errors

REFUSED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a predicate that is an array": (
        r"the predicate is f8\[3\], not a scalar",
        lambda x: tj.cond(x, np.sin, np.cos, x),
    ),
    "an index that is no integer": (
        "the index is f8, not an integer",
        lambda x: tj.switch(x[0], [np.sin, np.cos], x),
    ),
    "no branches": ("it has no branches", lambda x: tj.switch(np.argmax(x), [])),
    "shapes that differ": (
        r"result\['a'\]\[1\] is f8\[3\] on one side and f8\[2\] on another",
        lambda x: tj.cond(x[0] > 0, lambda: {"a": (1.0, x)}, lambda: {"a": (1.0, x[1:])}),
    ),
    "dtypes that differ": (
        "result is f8 on one side and f4 on another",
        lambda x: tj.cond(x[0] > 0, lambda: x[0], lambda: np.float32(1.0)),
    ),
    "containers that differ": (
        "return different containers",
        lambda x: tj.cond(x[0] > 0, lambda: (x, x), lambda: [x, x]),
    ),
    "None on one side": (
        "return different containers",
        lambda x: tj.cond(x[0] > 0, lambda: x, lambda: None),
    ),
    "a leaf that is no array": (
        "result is a str, neither",
        lambda x: tj.cond(x[0] > 0, lambda: "a", lambda: "b"),
    ),
    "a carry of another shape": (
        r"value\[0\] is f8\[3\] at first and f8\[2\] after a step",
        lambda x: tj.while_loop(lambda v: v[0][0] > 0, lambda value: (value[0][1:],), (x,)),
    ),
    "a carry in another container": (
        "another container after a step",
        lambda x: tj.while_loop(lambda v: v[0][0] > 0, lambda value: [value[0]], (x,)),
    ),
    "a condition that is an array": (
        r"the condition is b1\[3\], not a scalar",
        lambda x: tj.while_loop(lambda v: v > 0, np.sin, x),
    ),
    "a condition that is no number": (
        "the condition is None, not a truth value",
        lambda x: tj.while_loop(lambda v: None, np.sin, x),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what: str) -> None:
    problem, f = REFUSED[what]
    with pytest.raises(tj.errors.ArgumentError, match=problem):
        tj.function(f)(np.arange(3.0))


def test_a_value_of_a_side_is_no_value_outside_of_it() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []
        tj.cond(x[0] > 0, lambda: (kept.append(np.sin(x)), x)[1], lambda: x)
        return kept[0]

    with pytest.raises(
        tj.errors.LeakedTensorError, match="outside of the loop or the condition that made it"
    ):
        tj.function(f)(X)


def test_a_side_writes_into_no_array_from_outside() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0

        def write() -> Any:
            y[0] = 1.0
            return x

        return tj.cond(x[0] > 0, write, lambda: x) + y

    with pytest.raises(tj.errors.InPlaceError):
        tj.function(f)(X)


def test_a_variable_is_assigned_in_no_body() -> None:
    variable = tj.Variable(1.0)
    with pytest.raises(tj.errors.ArgumentError, match="assigns a Variable"):
        tj.function(lambda x: tj.cond(x[0] > 0, lambda: (variable.assign(1.0), x)[1], lambda: x))(X)


@pytest.mark.parametrize("kind", ["scan", "while_loop", "cond"])
def test_a_generator_that_is_not_recorded_is_refused(kind: str) -> None:
    """A body is recorded once: what it draws would be the same at each step."""

    def f(x: Any) -> Any:
        rng = np.random.default_rng(0)
        if kind == "scan":
            return tj.scan(lambda c, e: (c + e * rng.normal(), None), 0.0, x)[0]
        if kind == "while_loop":
            return tj.while_loop(lambda v: v > 1.0, lambda v: 0.5 * v + 0.01 * rng.normal(), x[0])
        return tj.cond(x[0] > 0.0, lambda: x[0] * rng.normal(), lambda: x[0])

    with pytest.raises(tj.errors.UnsupportedError, match="drew random numbers from rng"):
        tj.function(f)(np.full(4, 3.0))
