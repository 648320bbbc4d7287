"""Checks of derivatives against finite differences, as autograd.test_util has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

from tracejit.api import checks
from tracejit.autograd.vspaces import vspace
from tracejit.autograd.wrap_util import unary_to_nary

CLOSE = 1e-6


@unary_to_nary
def check_grads(
    f: Callable[..., Any], x: Any, modes: Sequence[str] | None = None, order: int = 2
) -> None:
    """Return a function that compares the derivatives of `f` with finite differences, and raises
    an AssertionError where they differ.

    >>> check_grads(lambda x, y: x**2 * y, (0, 1))(3.0, 2.0)
    """
    checks.check_grads(f, (x,), modes=tuple(modes or ("fwd", "rev")), order=order)


def combo_check(fun: Callable[..., Any], *options: Any, **words: Any) -> Callable[..., None]:
    """Return a function that checks the derivatives of `fun` as `check_grads(fun, *options)` does,
    with each combination of these arguments.

    >>> combo_check(lambda x, power: x**power, (0,))([1.0, 2.0], power=[2, 3])
    """
    check = check_grads(fun, *options, **words)

    def check_all(*args: Iterable[Any], **kwargs: Iterable[Any]) -> None:
        for given in product(*args):
            for values in product(*kwargs.values()):
                check(*given, **dict(zip(kwargs, values, strict=True)))

    return check_all


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers differ by less than 1e-6, or by that part of their sum.

    >>> scalar_close(1.0, 1.0 + 1e-9)
    True
    """
    return bool(abs(a - b) < CLOSE or abs(a - b) / abs(a + b) < CLOSE)


def check_equivalent(x: Any, y: Any) -> None:
    """Raise an AssertionError where two containers of arrays differ in structure or in numbers.

    >>> check_equivalent({"a": 1.0}, {"a": 1.0})
    """
    space = vspace(x)
    assert space == vspace(y), f"another structure, or other shapes or dtypes: {x}, {y}"
    v = space.randn()
    assert scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)), f"{x} and {y} differ"
