"""Random functions of one element, as Python source: `tj.cond`, `tj.switch`, `tj.while_loop`,
`tj.fori_loop` and `tj.scan` in each other, whose sides and steps may only be computed for the
elements that take them. For others they raise, warn or run for ever.

`check` compares a batch with its elements one by one: values, derivatives of both modes, and
second derivatives.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj

ELEMENTS = (0.0, 0.05, -0.05, 0.3, -0.7, 1.0, 1.3, -2.0, 2.5)


class Source:
    """The text of one random function f(x, p) of a number x of the batch and a number p that is
    the same for all elements."""

    def __init__(self, seed: Any, depth: int = 3) -> None:
        """The function of a seed, whose loops and choices stand in each other `depth` deep."""
        self.random = np.random.default_rng(seed)
        self.names = 0
        self.text = f"lambda x, p: {self.number(['x', 'x', 'p'], depth)}"

    @property
    def function(self) -> Callable[..., Any]:
        """The function that the text is."""
        made: Callable[..., Any] = eval(self.text, {"np": np, "tj": tj})
        return made

    def any_of(self, choices: Sequence[Any]) -> Any:
        """One of some choices."""
        return choices[self.random.integers(len(choices))]

    def name(self, letter: str) -> str:
        """A new name."""
        self.names += 1
        return f"{letter}{self.names}"

    def constant(self) -> str:
        """A number that no element is."""
        return f"{self.random.uniform(-1.5, 1.5):.3f}"

    def tame(self, known: list[str], depth: int) -> str:
        """A number between -1 and 1."""
        return f"np.tanh({self.number(known, depth)})"

    def number(self, known: list[str], depth: int) -> str:
        """An expression of what is known."""
        v = self.any_of(known)
        if depth == 0:
            leaves = (
                "{v}",
                "{v} * {w}",
                "np.sin({v})",
                "0.5 * {v} + {c}",
                "-{v}",
                "{v} - {w} ** 2",
            )
            return self.any_of(leaves).format(v=v, w=self.any_of(known), c=self.constant())
        return str(self.any_of(KINDS)(self, known, depth - 1))

    def sum(self, known: list[str], depth: int) -> str:
        return f"({self.tame(known, depth)} + {self.number(known, depth)})"

    def product(self, known: list[str], depth: int) -> str:
        return f"{self.tame(known, depth)} * {self.any_of(known)}"

    def choice(self, known: list[str], depth: int) -> str:
        """A condition, one side of which is for the elements above a number alone."""
        v, c = self.any_of(known), self.constant()
        w, factor = self.name("w"), self.tame(["u", *known], depth)
        only = (
            f"np.sqrt({w})",
            f"np.log({w}) * {self.any_of(known)}",
            f"{self.tame(known, depth)} / {w}",
            f"np.linalg.inv(np.stack([{w}, 0.0 * {w}, 1.0 + {w}, {w}]).reshape(2, 2))[1, 0]",
            f"tj.while_loop(lambda u: u * u < 5.0, lambda u: 1.9 * u, {w})",
            f"tj.while_loop(lambda u: u < 3.0, lambda u: u * (1.5 + {factor} ** 2), {w})",
            self.number([w, *known], depth),
        )
        side = f"(lambda {w}: {self.any_of(only)})({v} - {c})"
        other = self.number(known, depth)
        return f"tj.cond({v} > {float(c) + 0.1:.3f}, lambda: {side}, lambda: {other})"

    def switch(self, known: list[str], depth: int) -> str:
        places = f"np.argmax(np.stack([{self.any_of(known)}, {self.any_of(known)} * 0.7, 0.2]))"
        sides = ", ".join(f"lambda: {self.number(known, depth)}" for _ in range(3))
        return f"tj.switch({places}, [{sides}])"

    def loop(self, known: list[str], depth: int) -> str:
        """A loop that ends for all elements, after different numbers of steps."""
        u = self.name("u")
        step = f"{u} + 0.4 + {self.tame([u, *known], depth)} ** 2"
        return f"tj.while_loop(lambda {u}: {u} < 2.0, lambda {u}: {step}, {self.tame(known, 0)})"

    def converging(self, known: list[str], depth: int) -> str:
        """A loop whose steps divide by zero once an element is done."""
        u, v = self.name("u"), self.any_of(known)
        step = f"np.maximum({u} - 0.3, 0.0)"
        quotient = f"{self.tame(known, depth)} * ({u}[0] / {u}[0])"
        return (
            f"tj.while_loop(lambda {u}: {u}[0] > 0.0, lambda {u}: ({step.replace(u, u + '[0]')},"
            f" {u}[1] + {quotient}), (abs(np.tanh({v})), 0.0 * {v}))[1]"
        )

    def counted(self, known: list[str], depth: int) -> str:
        i, u = self.name("i"), self.name("u")
        step = f"{self.tame([u, *known], depth)} + 0.1 * {i}"
        begin = f"{self.any_of(known)} * 1.0"
        return f"tj.fori_loop(0, {self.any_of((1, 3))}, lambda {i}, {u}: {step}, {begin})"

    def scanned(self, known: list[str], depth: int) -> str:
        c, k = self.name("c"), self.name("k")
        step = f"({self.tame([c, k, *known], depth)}, {self.number([c, *known], 0)} * 1.0)"
        return (
            f"(lambda r: r[0] + np.sum(r[1] ** 2))(tj.scan(lambda {c}, {k}: {step},"
            f" {self.any_of(known)} * 1.0, np.array([0.5, -1.0, 0.1])))"
        )


KINDS = (
    Source.sum, Source.product, Source.choice, Source.choice, Source.choice, Source.switch,
    Source.loop, Source.converging, Source.counted, Source.scanned,
)  # fmt: skip


def _each(f: Callable[..., Any], xs: Any, p: Any) -> Any:
    """What a function is for each element."""
    return np.array([f(x, p) for x in xs])


def check(source: Source) -> None:
    """A batch of random elements against each of them by itself."""
    f = source.function
    size = int(source.random.integers(0, 5))
    xs = source.random.choice(ELEMENTS, size)
    p = np.float64(source.random.uniform(-1.0, 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        every = tj.vmap(f, in_axes=(0, None))
        _agree(every(xs, p), _each(f, xs, p))
        slope = tj.grad(f, argnums=(0, 1))
        expected = _each(lambda x, p: np.stack(slope(x, p)), xs, p).reshape(size, 2)
        found = tj.vmap(slope, in_axes=(0, None))(xs, p)
        _agree(np.stack(found, axis=-1), expected)
        bars = tj.grad(lambda x, p: np.sum(every(x, p)), argnums=(0, 1))(xs, p)
        _agree(bars[0], expected[:, 0])
        _agree(bars[1], expected[:, 1].sum())
        _agree(tj.jacfwd(every)(xs, p), np.diag(expected[:, 0]))
        second = _each(tj.grad(lambda x, p: slope(x, p)[0]), xs, p)
        twice = tj.grad(lambda x: np.sum(tj.grad(lambda x: np.sum(every(x, p)))(x)))
        _agree(twice(xs), second)
        again = tj.vmap(every, in_axes=(0, None))
        _agree(again(np.stack([xs, xs[::-1]]), p), np.stack([every(xs, p), every(xs[::-1], p)]))


def _agree(found: Any, expected: Any) -> None:
    assert np.shape(found) == np.shape(expected), (np.shape(found), np.shape(expected))
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * scale)
