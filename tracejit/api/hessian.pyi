from collections.abc import Callable
from typing import Any, overload

from numpy.typing import NDArray

from tracejit.specialise.function import Function
from tracejit.support.typing import A, Argnames, Argnums, Array, D, First, No, P, Real, X, Yes, Zero

@overload
def hessian(
    f: First[P, Array[D], Real],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, NDArray[D]]: ...
@overload
def hessian(
    f: First[P, float, float],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, float]: ...
@overload
def hessian(
    f: First[P, Array[D], tuple[Real, A]],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: Yes,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, tuple[NDArray[D], A]]: ...
@overload
def hessian(
    f: First[P, X, Any],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
@overload
def hessian(
    f: Callable[P, Any],
    argnums: Argnums,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
@overload
def hessian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
