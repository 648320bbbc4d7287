"""The same function on arrays of any size: Dask arrays that are cut along their rows.

`function`, `grad`, `value_and_grad`, `jvp` and `hvp` take Dask arrays beside NumPy's, in any
container. The function is recorded once, and cut into stages where results of the blocks have to
be combined. Results that are the same for all blocks are NumPy arrays and numbers. Results with
rows are Dask arrays.

Nothing of tracejit imports Dask but this package: `pip install tracejit[dask]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.api.derived import memoised_for
from tracejit.api.gradients import grad as _grad
from tracejit.api.gradients import value_and_grad as _value_and_grad
from tracejit.api.transforms import hvp as _hvp
from tracejit.api.transforms import jvp as _jvp
from tracejit.specialise.function import Function
from tracejit.support.options import Options

try:
    from tracejit.dask.function import SplitFunction
except ModuleNotFoundError as error:
    if error.name != "dask":
        raise
    raise ModuleNotFoundError(
        "tracejit.dask needs Dask: pip install 'tracejit[dask]'", name="dask"
    ) from error

__all__ = ["SplitFunction", "function", "grad", "hvp", "jvp", "value_and_grad"]


def function(
    f: Callable[..., Any], *, compute: bool = True, memory_budget: int | None = None
) -> SplitFunction:
    """Return `f` for Dask arrays that are split along their rows.

    Parameters
    ----------
    f : callable
        A NumPy function, which may be compiled or transformed already.
    compute : bool, default True
        If True, a call computes the results that are the same for all blocks. If False, it computes
        nothing and returns a `Delayed` for each of them.
    memory_budget : int, default None
        The most bytes of intermediate arrays, on all workers together, to keep from one stage for
        the next. None computes them again.

    Returns
    -------
    SplitFunction
        A function that takes Dask arrays and NumPy arrays.

    Raises
    ------
    UnsupportedError
        If an operation needs rows of several blocks at once. The call raises it, and the errors
        below. A TypeError.
    ArgumentError
        If the Dask arguments do not have the same rows in the same blocks. A TypeError.
    BlockError
        If the computation of a block raises. The message has the number of the block. A
        RuntimeError.

    Notes
    -----
    The rows are the axis that is split into blocks, or axis 0 if there is one block.
    All blocks share NumPy arguments, and Dask arrays of one block with another number of rows. The
    bits of the result depend only on the blocks, and not on the scheduler or the workers.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tracejit.dask as td
    >>> centred = td.function(lambda x: (x.mean(axis=0), x - x.mean(axis=0)))
    >>> mean, rest = centred(da.arange(6.0, chunks=2))
    >>> float(mean), rest
    (2.5, dask.array<...>)
    """
    made: Any = f if isinstance(f, Function) else Function(f)
    return SplitFunction(made, compute, memory_budget)


def grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    compute: bool = True,
    memory_budget: int | None = None,
) -> SplitFunction:
    """Return a function that computes the gradient of `f` on Dask arrays.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (value, auxiliary). Only the value is differentiated.
    compute : bool, default True
        As for `tracejit.dask.function`.
    memory_budget : int, default None
        As for `tracejit.dask.function`.

    Returns
    -------
    SplitFunction
        A function that returns the gradient as `tj.grad` does. The gradient with respect to a split
        argument is a Dask array.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument is not floating. A TypeError.
    UnsupportedError
        If an operation needs rows of several blocks at once. A TypeError.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tracejit.dask as td
    >>> slope = td.grad(lambda w, x: np.sum((x @ w) ** 2))
    >>> slope(np.ones(2), da.ones((6, 2), chunks=(2, 2)))
    array([24., 24.])
    """
    made = _grad(f, argnums, argnames=argnames, has_aux=has_aux)  # type: ignore[call-overload]
    return SplitFunction(made, compute, memory_budget)


def value_and_grad(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    argnames: str | tuple[str, ...] | None = None,
    has_aux: bool = False,
    compute: bool = True,
    memory_budget: int | None = None,
) -> SplitFunction:
    """Return a function that computes the value of `f` and its gradient on Dask arrays.

    It can be passed directly to `scipy.optimize.minimize(..., jac=True)`.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    has_aux : bool, default False
        If True, `f` returns a pair (value, auxiliary). Only the value is differentiated.
    compute : bool, default True
        As for `tracejit.dask.function`.
    memory_budget : int, default None
        As for `tracejit.dask.function`.

    Returns
    -------
    SplitFunction
        A function that returns (value, gradient) as `tj.value_and_grad` does. The gradient with
        respect to a split argument is a Dask array.

    Raises
    ------
    GradientError
        If the result is not one real number, or a chosen argument is not floating. A TypeError.
    UnsupportedError
        If an operation needs rows of several blocks at once. A TypeError.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tracejit.dask as td
    >>> loss = td.value_and_grad(lambda w, x: np.mean((x @ w) ** 2))
    >>> value, slope = loss(np.ones(2), da.ones((6, 2), chunks=(2, 2)))
    >>> float(value), slope
    (4.0, array([4., 4.]))
    """
    made: Any = _value_and_grad(  # type: ignore[call-overload]
        f, argnums, argnames=argnames, has_aux=has_aux
    )
    return SplitFunction(made, compute, memory_budget)


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, *, compute: bool = True) -> Any:
    """Compute f(*primals) and its derivative along `tangents`, on Dask arrays.

    Parameters
    ----------
    f : callable
        A function of arrays that returns arrays of any shape.
    primals : tuple or list
        The arguments of `f`, NumPy or Dask arrays. Anything else is the only argument.
    tangents : tuple or list
        The directions in which the arguments move, in the structure and shapes of `primals`.
    compute : bool, default True
        As for `tracejit.dask.function`.

    Returns
    -------
    tuple
        The pair (result, tangent), as `tj.jvp` returns it.

    Raises
    ------
    SeedError
        If `tangents` does not fit `primals`. A ValueError.
    UnsupportedError
        If an operation needs rows of several blocks at once. A TypeError.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tracejit.dask as td
    >>> x = da.ones((6, 2), chunks=(2, 2))
    >>> value, change = td.jvp(lambda w: np.sum(w**2), np.ones(2), np.ones(2))
    >>> float(value), float(change)
    (2.0, 4.0)
    >>> value, change = td.jvp(lambda w, x: np.sum(x @ w), (np.ones(2), x), (np.ones(2), 0 * x))
    >>> float(value), float(change)
    (12.0, 12.0)
    """
    return _derived(_jvp, f, compute)(primals, tangents)


def hvp(f: Callable[..., Any], primals: Any, tangents: Any, *, compute: bool = True) -> Any:
    """Compute the Hessian of `f` times `tangents`, on Dask arrays.

    Parameters
    ----------
    f : callable
        A function of arrays that returns one real number.
    primals : tuple or list
        The arguments of `f`, NumPy or Dask arrays. Anything else is the only argument.
    tangents : tuple or list
        The vector to multiply with, in the structure and shapes of `primals`.
    compute : bool, default True
        As for `tracejit.dask.function`.

    Returns
    -------
    array or tuple of arrays
        The product, as `tj.hvp` returns it.

    Raises
    ------
    SeedError
        If `tangents` does not fit `primals`. A ValueError.
    UnsupportedError
        If an operation needs rows of several blocks at once. A TypeError.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import tracejit.dask as td
    >>> x = da.ones((6, 2), chunks=(2, 2))
    >>> by_w, by_x = td.hvp(
    ...     lambda w, x: np.sum((x @ w) ** 2), (np.ones(2), x), (np.ones(2), 0 * x)
    ... )
    >>> by_w, by_x
    (array([24., 24.]), dask.array<...>)
    """
    return _derived(_hvp, f, compute)(primals, tangents)


def _derived(transform: Callable[..., Any], f: Callable[..., Any], compute: bool) -> SplitFunction:
    """The transform of `f` as a function of primals and tangents, the same for the same `f`."""

    def made() -> SplitFunction:
        def body(primals: Any, tangents: Any) -> Any:
            return transform(f, primals, tangents)

        name = getattr(f, "__name__", None)
        return SplitFunction(Function(body, options=Options(name=name)), compute)

    key = "tracejit.dask", transform.__name__, compute
    found: SplitFunction = memoised_for(f, key, made)
    return found
