from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tracejit.api.derived import typed_as
from tracejit.specialise.function import Function
from tracejit.support.typing import (
    A,
    Argnames,
    Argnums,
    Array,
    D,
    E,
    First,
    FirstTwo,
    No,
    One,
    P,
    Real,
    X,
    Yes,
    Zero,
)

Mode = Literal["auto", "fwd", "rev"]

@overload
def jacobian(
    f: np.ufunc,
    argnums: Argnums = 0,
    mode: Mode = "auto",
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[..., Any]: ...
@overload
def jacobian(
    f: First[P, Array[D], Real],
    argnums: Zero = 0,
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, NDArray[D]]: ...
@overload
def jacobian(
    f: First[P, float, float],
    argnums: Zero = 0,
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, float]: ...
@overload
def jacobian(
    f: First[P, float, Array[D]],
    argnums: Zero = 0,
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, NDArray[D]]: ...
@overload
def jacobian(
    f: FirstTwo[P, Array[D], Array[E], Real],
    argnums: tuple[Zero, One],
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, tuple[NDArray[D], NDArray[E]]]: ...
@overload
def jacobian(
    f: First[P, Array[D], tuple[Real, A]],
    argnums: Zero = 0,
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: Yes,
    chunk_size: int | None = None,
    sparse: No = False,
) -> Function[P, tuple[NDArray[D], A]]: ...
@overload
def jacobian(
    f: First[P, X, Any],
    argnums: Zero = 0,
    mode: Mode = "auto",
    *,
    argnames: None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
@overload
def jacobian(
    f: Callable[P, Any],
    argnums: Argnums,
    mode: Mode = "auto",
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
@overload
def jacobian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    mode: Mode = "auto",
    *,
    argnames: Argnames,
    has_aux: bool = False,
    chunk_size: int | None = None,
    sparse: bool = False,
) -> Function[P, Any]: ...
def jacobian_function(
    transform: str,
    f: Callable[..., Any],
    argnums: Argnums,
    argnames: Argnames | None,
    mode: Mode,
    has_aux: bool,
    chunk_size: int | None,
    sparse: bool = False,
) -> Function[..., Any]: ...
@overload
def jacrev(
    f: np.ufunc,
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[..., Any]: ...
@overload
def jacrev(
    f: First[P, Array[D], Real],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
) -> Function[P, NDArray[D]]: ...
@overload
def jacrev(
    f: First[P, float, float],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
) -> Function[P, float]: ...
@overload
def jacrev(
    f: First[P, float, Array[D]],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
) -> Function[P, NDArray[D]]: ...
@overload
def jacrev(
    f: FirstTwo[P, Array[D], Array[E], Real],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: No = False,
    chunk_size: int | None = None,
) -> Function[P, tuple[NDArray[D], NDArray[E]]]: ...
@overload
def jacrev(
    f: First[P, Array[D], tuple[Real, A]],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: Yes,
    chunk_size: int | None = None,
) -> Function[P, tuple[NDArray[D], A]]: ...
@overload
def jacrev(
    f: First[P, X, Any],
    argnums: Zero = 0,
    *,
    argnames: None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]: ...
@overload
def jacrev(
    f: Callable[P, Any],
    argnums: Argnums,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]: ...
@overload
def jacrev(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[P, Any]: ...
@typed_as(jacrev)
def jacfwd(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function[..., Any]: ...
