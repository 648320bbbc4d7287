"""The published workloads as an expert writes them: value and gradient in NumPy, by hand.

This is the yardstick, so it is allowed everything that the rules of the project know to pay, and
need not be pretty: ufuncs bound once, `out` by position, numbers as 0-d arrays, temporaries in a
workspace, sums by BLAS, tiles of large arrays on two threads, gradients in closed form. Results are
fresh arrays. A maker takes arguments, and gives the function for arguments of these shapes; that
function is not to be called by two threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.by_hand.classifiers import logreg, mlp_softmax, softmax_xent
from tests.benchmarks.by_hand.likelihoods import gmm, gp
from tests.benchmarks.by_hand.numerics import black_scholes, elementwise, rosenbrock, scalar
from tests.benchmarks.by_hand.recurrences import nbody, rnn, stencil

__all__ = ["MAKERS"]

MAKERS: dict[str, Callable[..., Callable[..., Any]]] = {
    maker.__name__: maker
    for maker in (
        black_scholes, elementwise, gmm, gp, logreg, mlp_softmax, nbody, rnn, rosenbrock, scalar,
        softmax_xent, stencil,
    )
}  # fmt: skip
