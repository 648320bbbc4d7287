"""The same function on arrays of any size: Dask arrays that are cut along their rows.

`function`, `grad`, `value_and_grad`, `jvp` and `hvp` take Dask arrays beside NumPy's, in any
container. The function is recorded once, and cut into stages where what blocks compute has to be
combined. What is the same for all blocks is returned as NumPy arrays and numbers, what has the rows
as Dask arrays.

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
    """`f`, which may be compiled or transformed already, on Dask arrays cut along their rows.

    Rows are the axis that is in blocks, axis 0 where there is one block. All split arguments have
    the same rows in the same blocks. NumPy arguments, and Dask arrays of one block that have other
    rows, are the same for all blocks. A call computes what is the same for all blocks, by the
    scheduler that `dask.compute` would take; with `compute=False` nothing is computed, and a
    `Delayed` stands for each such result. `memory_budget` is how many bytes of intermediate arrays,
    on all workers together, may be kept from one stage for the next; by default they are computed
    again.

    The bits of the result depend on the blocks, and on nothing else: not on the scheduler, the
    workers, or their speed.

    Raises UnsupportedError, at the user's line, where an operation needs rows of several blocks at
    once; ArgumentError where arguments are not the same rows; BlockError, with the number of the
    block, where computing one raises.

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
    """The gradient of `f` as `tj.grad` has it, on Dask arrays as `function` takes them.

    By a split argument it is a Dask array.

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
    """The value of `f` and its gradient as `tj.value_and_grad` has them, on Dask arrays as
    `function` takes them.

    It fits scipy.optimize.minimize(..., jac=True).

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
    """The value of `f` and its derivative along `tangents` as `tj.jvp` has them: (value, tangent).

    Arguments, and their tangents, are NumPy or Dask arrays as `function` takes them.

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
    """The Hessian of `f` times `tangents` as `tj.hvp` has it.

    Arguments, and their tangents, are NumPy or Dask arrays as `function` takes them.

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
