"""Fixed points, differentiated at the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.autograd.core import make_vjp
from tracejit.autograd.extend import defvjp, primitive, vspace
from tracejit.trace.arguments.signature import TensorSpec
from tracejit.trace.structure.trees import map_tree


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """Return the x with x = f(a)(x), found by iteration from `x0` until `distance` is below `tol`.

    It has a gradient with respect to `a`, whatever the number of iterations.

    >>> from tracejit.autograd import grad
    >>> newton = lambda a: lambda x: 0.5 * (x + a / x)
    >>> root = lambda a: fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> root(4.0), float(grad(root)(4.0))
    (2.0, 0.25)
    """

    def solve(a: Any, x0: Any) -> Any:
        step = f(a)
        x, before = step(x0), x0
        while distance(x, before) > tol:
            x, before = step(x), x
        return x

    def rule(x: Any, a: Any, x0: Any) -> Any:
        def step_back(given: Any) -> Any:
            a, x, g = given
            pull = make_vjp(f(a), x)[0]
            return lambda w: vspace(x0).add(pull(w), g)

        pull = make_vjp(lambda a: f(a)(x), a)[0]
        back = vspace(x).zeros()
        return lambda g: pull(fixed_point(step_back, (a, x, g), back, distance, tol))

    like = map_tree(lambda leaf: TensorSpec(np.shape(leaf), np.result_type(leaf, 0.0)), x0)
    solved = primitive(solve, result=like)
    defvjp(solved, rule, None)
    return solved(a, x0)
