"""The halves of vjp and linearize: what runs once, what is kept, and where the second starts from
the beginning."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.linearize import SecondHalf
from tracejit.support.errors import ArityError, NoGradientError, RuleTypeError, SeedError

X = np.array([0.5, -1.0, 2.0])
Y = np.array([1.0, 2.0, -0.5])


def layer(x: Any, w: Any, b: Any) -> Any:
    """A layer of a network."""
    h = np.tanh(x @ w + b)
    return np.exp(h) / (1.0 + h * h)


def second_of(pullback: Any) -> SecondHalf:
    """The second half in a pullback or pushforward."""
    (found,) = (part for part in pullback.args if type(part) is SecondHalf)
    return found


def operations(back: SecondHalf) -> set[str]:
    """The names of the operations of a second half."""
    graphs = []

    def keep(recorded: Any) -> Any:
        graphs.append(recorded.graph)
        return np.copy

    back.make = keep
    vars(back).pop("_compute", None)
    assert back._compute is np.copy
    return {node.op.name for node in graphs[0].nodes}


def test_nothing_is_computed_again() -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(30, 20)), rng.normal(size=(20, 10)), rng.normal(size=10)
    out, pullback = tj.vjp(layer, x, w, b)
    np.testing.assert_array_equal(out, tj.function(layer)(x, w, b))
    found = pullback(np.ones((30, 10)))
    expected = tj.grad(lambda *args: np.sum(layer(*args)), (0, 1, 2))(x, w, b)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    back = second_of(pullback)
    assert [value.name for value in back.primals] == ["x", "w"]
    assert operations(back).isdisjoint({"tanh", "exp"})


def test_effects_take_place_once() -> None:
    seen: list[float] = []
    count = tj.Variable(0.0)
    rng = tj.random.default_rng(3)

    def noisy(x: Any) -> Any:
        count.assign_add(1.0)
        tj.callback(lambda value: seen.append(float(value)), np.sum(x))
        return x * rng.normal(size=3)

    for calls in (1, 2):
        out, pullback = tj.vjp(noisy, X)
        for _ in range(3):
            np.testing.assert_allclose(pullback(np.ones(3))[0], out / X, rtol=1e-15)
        assert len(seen) == count.numpy() == calls


def test_draws_that_backward_does_not_read() -> None:
    rng = tj.random.default_rng(3)
    out, pullback = tj.vjp(lambda x: x * x + rng.normal(size=3), X)
    assert np.all(out != X * X)
    np.testing.assert_array_equal(pullback(Y)[0], 2.0 * X * Y)


def test_every_way_has_its_halves() -> None:
    def bent(x: Any) -> Any:
        if np.sum(x) > 0.0:
            return np.sin(x)
        y = np.exp(x)
        return {"a": y, "b": y * x}

    for _ in range(2):
        out, pullback = tj.vjp(bent, X)
        np.testing.assert_allclose(pullback(Y)[0], np.cos(X) * Y)
        out, other = tj.vjp(bent, -X)
        np.testing.assert_array_equal(out["a"], np.exp(-X))
        (found,) = other({"a": Y, "b": X})
        np.testing.assert_allclose(found, np.exp(-X) * (Y + X * (1.0 - X)))
        np.testing.assert_allclose(pullback(Y)[0], np.cos(X) * Y)


def test_effects_of_a_rule_take_place_at_every_pull() -> None:
    seen: list[float] = []

    @tj.custom_gradient
    def watched(x: Any) -> Any:
        def rule(upstream: Any) -> Any:
            tj.callback(lambda value: seen.append(float(value)), np.sum(upstream))
            return upstream * 2.0

        return x * 2.0, rule

    for _ in range(2):
        seen.clear()
        _, pullback = tj.vjp(lambda x: watched(x) * 3.0, X)
        assert seen == []
        for _ in range(2):
            np.testing.assert_array_equal(pullback(np.ones(3))[0], 6.0 * np.ones(3))
        assert seen == [9.0, 9.0]


SCALE = np.array([1.0, 2.0, 3.0])


def test_what_changes_afterwards_does_not_matter() -> None:
    factor = tj.Variable(2.0)

    def f(x: Any) -> Any:
        return np.exp(x * SCALE) * factor

    x = X.copy()
    out, pullback = tj.vjp(f, x)
    expected = out * SCALE
    try:
        before = SCALE.copy()
        x[:] = out[:] = SCALE[:] = 0.0
        factor.assign(10.0)
        found = pullback(np.ones(3))[0]
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        found[:] = 0.0
        np.testing.assert_allclose(pullback(np.ones(3))[0], expected, rtol=1e-15)
    finally:
        SCALE[:] = before


def test_cotangents_stay_and_are_not_shared() -> None:
    _, pullback = tj.vjp(lambda x, y: x + y, X, Y)
    seed = np.ones(3)
    first, second = pullback(seed)
    first += 1.0
    assert seed.tolist() == second.tolist() == [1.0, 1.0, 1.0]


def test_arguments_that_are_written_to() -> None:
    def doubled(x: Any) -> Any:
        x *= 2.0
        return np.sum(x**2)

    x = X.copy()
    _, pullback = tj.vjp(doubled, x)
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], 8.0 * X)


def test_numbers_and_their_types() -> None:
    for a, b in ((2.0, 5.0), (3.0, 4.0), (-1.0, 0.5)):
        out, pullback = tj.vjp(np.multiply, a, b)
        assert out == a * b
        for given in (1.0, 1, np.float32(1.0), np.array(1)):
            found = pullback(given)
            assert found == (b, a)
            assert all(type(one) is np.float64 for one in found)
    single = X.astype("f4")
    (found,) = tj.vjp(np.sin, single)[1](np.ones(3))
    assert found.dtype == np.float32
    (found,) = tj.vjp(lambda x: np.sum(x * 1j), np.array(2.0))[1](1j)
    assert type(found) is np.ndarray
    assert found.shape == ()


def test_complex_cotangents() -> None:
    z = X + 1j * Y
    (found,) = tj.vjp(lambda z: z * z, z)[1](np.ones(3) + 0j)
    np.testing.assert_allclose(found, np.conj(2.0 * z))


def test_results_that_do_not_depend_and_structures() -> None:
    def f(p: Any) -> Any:
        return {"a": p["x"] * 2.0, "b": (np.ones(2), np.argmax(p["y"]))}

    out, pullback = tj.vjp(f, {"x": X, "y": Y})
    (found,) = pullback({"a": Y, "b": (np.ones(2), None)})
    np.testing.assert_array_equal(found["x"], 2.0 * Y)
    np.testing.assert_array_equal(found["y"], np.zeros(3))
    assert out["b"][1] == 1


def test_errors_come_when_the_pullback_is_called() -> None:
    @tj.custom_gradient
    def broken(x: Any) -> Any:
        def rule(upstream: Any) -> Any:
            raise KeyError("nothing here")

        return x * 2.0, rule

    for f, error in ((broken, KeyError), (lambda x: tj.primitive(np.sin)(x), NoGradientError)):
        out, pullback = tj.vjp(f, X)
        assert out.shape == (3,)
        for _ in range(2):
            with pytest.raises(error):
                pullback(np.ones(3))
    with pytest.raises(ArityError):
        tj.vjp(lambda x: x, X, X)


def test_a_tape_and_a_recording_see_the_pullback() -> None:
    _, pullback = tj.vjp(np.sin, X)
    seed = tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch(seed)
        (found,) = pullback(seed)
        total = np.sum(found * found)
    np.testing.assert_allclose(tape.gradient(total, seed).numpy(), 2.0 * Y * np.cos(X) ** 2)
    assert isinstance(pullback(seed)[0], tj.Tensor)
    np.testing.assert_allclose(tj.function(lambda g: pullback(g)[0])(Y), np.cos(X) * Y)
    np.testing.assert_allclose(tj.jacobian(lambda g: pullback(g)[0])(Y), np.diag(np.cos(X)))
    np.testing.assert_allclose(pullback(tj.Variable(Y))[0], np.cos(X) * Y)


def test_recomputed_regions_are_computed_again() -> None:
    @tj.recompute_grad
    def block(x: Any) -> Any:
        return np.exp(np.sin(x))

    _, pullback = tj.vjp(lambda x: block(x) * 2.0, X)
    expected = 2.0 * np.exp(np.sin(X)) * np.cos(X)
    np.testing.assert_allclose(pullback(np.ones(3))[0], expected, rtol=1e-14)
    assert "sin" in operations(second_of(pullback))


def test_pullbacks_on_threads() -> None:
    _, pullback = tj.vjp(np.sin, X)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(pullback(Y)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        np.testing.assert_array_equal(one, np.cos(X) * Y)
    assert len(found) == 4


# Pushforwards


def test_a_pushforward_computes_no_value_again() -> None:
    rng = tj.random.default_rng(3)
    scale = np.array([1.0, 2.0, 3.0])

    def noisy(x: Any) -> Any:
        return np.exp(x * scale) + rng.normal(size=3), np.argmax(x)

    x = X.copy()
    (out, place), push = tj.linearize(noisy, x)
    assert place == 2
    assert np.all(out != np.exp(X * scale))
    expected = np.exp(X * scale) * np.array([1.0, 2.0, 3.0])
    x[:] = out[:] = scale[:] = 0.0
    for factor in (1.0, -2.0):
        dot, still = push(factor * Y)
        np.testing.assert_allclose(dot, factor * expected * Y, rtol=1e-15)
        assert still == 0
    assert operations(second_of(push)).isdisjoint({"exp", "draw"})


def test_a_pushforward_takes_every_structure_and_type() -> None:
    def f(p: Any, k: Any) -> Any:
        return {"a": p["x"] * k, "b": p["y"]}

    _, push = tj.linearize(f, {"x": X, "y": X.astype("f4")}, 2.0)
    found = push({"x": Y, "y": Y}, 1)
    np.testing.assert_allclose(found["a"], 2.0 * Y + X)
    assert found["b"].dtype == np.float32
    for moves in ((Y, 1.0), ({"x": Y, "y": Y},), ({"x": Y, "y": Y[:2]}, 1.0)):
        with pytest.raises(SeedError, match=r"tj\.linearize"):
            push(*moves)


def test_a_rule_that_is_not_linear_is_refused_by_the_pushforward() -> None:
    @tj.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 1.0, lambda upstream: np.clip(upstream, -1.0, 1.0)

    for _ in range(2):
        out, push = tj.linearize(clipped, X)
        np.testing.assert_array_equal(out, X)
        with pytest.raises(RuleTypeError):
            push(Y)


def test_a_tape_and_a_recording_see_the_pushforward() -> None:
    _, push = tj.linearize(np.sin, X)
    np.testing.assert_allclose(tj.function(push)(Y), np.cos(X) * Y)
    np.testing.assert_allclose(tj.jacobian(push)(Y), np.diag(np.cos(X)))
    move = tj.constant(Y)
    with tj.GradientTape() as tape:
        tape.watch(move)
        total = np.sum(push(move) ** 2)
    np.testing.assert_allclose(tape.gradient(total, move).numpy(), 2.0 * Y * np.cos(X) ** 2)
