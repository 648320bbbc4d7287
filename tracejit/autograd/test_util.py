"""Checks of derivatives against finite differences, as autograd.test_util has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.api import checks
from tracejit.autograd.wrap_util import unary_to_nary


@unary_to_nary
def check_grads(
    f: Callable[..., Any], x: Any, modes: Sequence[str] | None = None, order: int = 2
) -> None:
    """Return a function that compares the derivatives of `f` with finite differences, and raises
    an AssertionError where they differ.

    >>> check_grads(lambda x, y: x**2 * y, (0, 1))(3.0, 2.0)
    """
    checks.check_grads(f, (x,), modes=tuple(modes or ("fwd", "rev")), order=order)
