"""Plans of loops: carried arrays are updated in place where nothing else holds them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tracejit.support.cost_model import assuming

SIZES = (3, 300)  # below and above `inline_elements`
STATEMENTS = (
    "{v} = np.tanh({a}) * {b}",
    "{v} = {a} + 0.3 * {b}",
    "{v} = {a}.copy(); {v}[1:] += 0.2 * {b}[:-1]",
    "{v} = {a}.copy(); {v}[i] = {b}[0] * 0.5",
    "{v} = {a}[::-1] - {b} * 0.1",
    "{v} = {a} * {b}[i] + {b}[i - 1]",
    "{v} = {a}[::-1]",
    "{v} = np.exp(-{a} * {a}) + np.sin({b})",
    "{v} = {a} * 1.0; {v}[:2] += np.sum({b}) * 0.01; {v}[-1] -= {a}[0]",
    "{v} = np.concatenate(({a}[1:], {b}[:1]))",
)
INITIAL = ("p", "q", "p * 0.5", "p * 0.0", "p[::-1]")
TEXT = """
def step(carry, x, i, w):
    {carried}, = carry
    {statements}
    return ({next},), ({rows})

def by_scan(p, q, w, xs):
    body = lambda carry, e: step(carry, e[0], e[1], w)
    places = np.arange({length}) % p.size
    final, rows = tj.scan(body, ({initial},), (xs, places), reverse={reverse})
    return loss(final, rows, p)

def by_python(p, q, w, xs):
    carry, rows = ({initial},), [None] * {length}
    for t in range({length})[::{direction}]:
        carry, rows[t] = step(carry, xs[t], t % p.size, w)
    return loss(carry, [np.stack(row) for row in zip(*rows)], p)

def loss(final, rows, p):
    total = sum(np.sum(one * p) * (k + 1) + np.sum(one * one) for k, one in enumerate(final))
    return total + sum(np.sum(np.sin(row) * p) * (k + 0.3) for k, row in enumerate(rows))
"""


def program(seed: int) -> tuple[Any, Any, list[np.ndarray]]:
    """A loop that hands on, swaps, shares and updates what it carries: by `scan` and by Python, and
    its arguments."""
    chance = random.Random(seed)
    count, size, length = chance.randint(1, 4), chance.choice(SIZES), chance.choice((1, 2, 5))
    carried = [f"c{k}" for k in range(count)]
    names = [*carried, "x", "w"]
    statements = []
    for number in range(chance.randint(1, 7)):
        a, b = chance.choice(names), chance.choice(names)
        names.append(f"v{number}")
        statements += chance.choice(STATEMENTS).format(v=names[-1], a=a, b=b).split("; ")
    reverse = chance.random() < 0.5
    text = TEXT.format(
        carried=", ".join(carried),
        statements="\n    ".join(statements),
        next=", ".join(chance.choices(names, k=count)),
        rows="".join(f"{name}, " for name in chance.choices(names, k=chance.randint(0, 3))),
        initial=", ".join(chance.choices(INITIAL, k=count)),
        length=length,
        reverse=reverse,
        direction=-1 if reverse else 1,
    )
    space: dict[str, Any] = {"np": np, "tj": tj}
    exec(text, space)
    generator = np.random.default_rng(seed)
    arguments = [generator.normal(size=shape) / 2 for shape in (size, size, size, (length, size))]
    return space["by_scan"], space["by_python"], arguments


@pytest.mark.parametrize("seed", range(by_day(10, 30)))
def test_loops_share_no_memory_that_they_update(seed: int) -> None:
    scan, python, arguments = program(seed)
    before = [one.copy() for one in arguments]
    derivative = tj.value_and_grad(scan, argnums=(0, 1, 2, 3))
    with assuming(least_rolled_steps=1000):  # Python's loop is no loop of the graph
        expected, others = tj.value_and_grad(python, argnums=(0, 1, 2, 3))(*arguments)
    for _ in range(2):
        value, bars = derivative(*arguments)
        np.testing.assert_allclose(value, expected, rtol=1e-9)
        for bar, other in zip(bars, others, strict=True):
            np.testing.assert_allclose(bar, other, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(tj.function(scan)(*arguments), expected, rtol=1e-9)
    value, pull = tj.vjp(scan, *arguments)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    for bar, other in zip(pull(1.0), others, strict=True):
        np.testing.assert_allclose(bar, other, rtol=1e-8, atol=1e-10)
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)


def heat(u: Any, k: Any) -> Any:
    def step(t: Any, u: Any) -> Any:
        v = u.copy()
        v[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
        return v

    return tj.fori_loop(0, 4, step, u)


def test_an_argument_is_copied_once_before_it_is_updated() -> None:
    u = np.linspace(0, 1, 9) ** 2
    stepped = tj.function(heat)
    expected = u.copy()
    for _ in range(4):
        expected[1:-1] += 0.1 * (expected[2:] - 2 * expected[1:-1] + expected[:-2])
    np.testing.assert_allclose(stepped(u, 0.1), expected)
    np.testing.assert_array_equal(u, np.linspace(0, 1, 9) ** 2)
    before, loop = stepped.source.split("for t in")
    assert before.count(".copy()") == 1
    assert ".copy()" not in loop.replace("v = u.copy()", "")


def test_arrays_that_only_the_loop_holds_are_not_copied() -> None:
    def filled(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            y = y.copy()
            y[i] = x[i] * 2.0
            return y

        return tj.fori_loop(0, 300, step, np.zeros(300)), tj.fori_loop(0, 300, step, np.sin(x))

    x = np.arange(300.0)
    zeros, sines = tj.function(filled)(x)
    np.testing.assert_array_equal(zeros, 2 * x)
    np.testing.assert_array_equal(sines, 2 * x)
    kernel = tj.function(filled)
    kernel(x)
    text = kernel.source.replace("y = y.copy()", "")
    assert text.count(".copy()") <= 1  # of the constant


def test_two_carried_values_that_are_one_array_are_copied_apart() -> None:
    def twice(x: Any, w: Any) -> Any:
        def step(t: Any, carry: Any) -> Any:
            a, b = carry
            a = b[::-1] * 0.5 - a * w
            return a, a

        return tj.fori_loop(0, 3, step, (x, w))

    x, w = np.linspace(0, 1, 300), np.linspace(1, 2, 300)
    a, b = x, w
    for _ in range(3):
        a = b = b[::-1] * 0.5 - a * w
    for found, expected in zip(tj.function(twice)(x, w), (a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_carried_value_that_becomes_a_constant() -> None:
    def swapped(x: Any) -> Any:
        return tj.fori_loop(0, 2, lambda t, c: (np.ones(3), c[0] * 2.0), (x, x))

    first, second = tj.function(swapped)(np.arange(3.0))
    np.testing.assert_array_equal(first, np.ones(3))
    np.testing.assert_array_equal(second, np.full(3, 2.0))
