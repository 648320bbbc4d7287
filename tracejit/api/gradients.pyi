from collections.abc import Callable
from typing import Any, overload

import numpy as np

from tracejit.specialise.function import Function
from tracejit.support.typing import (
    A,
    Argnames,
    Argnums,
    First,
    FirstThree,
    FirstTwo,
    No,
    One,
    P,
    R,
    Two,
    X,
    Y,
    Yes,
    Z,
    Zero,
)

@overload
def grad(
    f: np.ufunc, argnums: Argnums = 0, *, argnames: Argnames | None = None, has_aux: bool = False
) -> Function[..., Any]: ...
@overload
def grad(
    f: First[P, X, Any], argnums: Zero = 0, *, argnames: None = None, has_aux: No = False
) -> Function[P, X]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, Any], argnums: One, *, argnames: None = None, has_aux: No = False
) -> Function[P, Y]: ...
@overload
def grad(
    f: FirstThree[P, X, Y, Z, Any], argnums: Two, *, argnames: None = None, has_aux: No = False
) -> Function[P, Z]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, Any],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[X, Y]]: ...
@overload
def grad(
    f: FirstThree[P, X, Y, Z, Any],
    argnums: tuple[Zero, One, Two],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[X, Y, Z]]: ...
@overload
def grad(
    f: First[P, X, tuple[Any, A]], argnums: Zero = 0, *, argnames: None = None, has_aux: Yes
) -> Function[P, tuple[X, A]]: ...
@overload
def grad(
    f: FirstTwo[P, X, Y, tuple[Any, A]],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: Yes,
) -> Function[P, tuple[tuple[X, Y], A]]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: Argnums, *, argnames: None = None, has_aux: No = False
) -> Function[P, Any]: ...
@overload
def grad(
    f: Callable[P, Any], argnums: Argnums = 0, *, argnames: Argnames, has_aux: No = False
) -> Function[P, Any]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]],
    argnums: Argnums,
    *,
    argnames: Argnames | None = None,
    has_aux: Yes,
) -> Function[P, tuple[Any, A]]: ...
@overload
def grad(
    f: Callable[P, tuple[Any, A]], argnums: Argnums = 0, *, argnames: Argnames, has_aux: Yes
) -> Function[P, tuple[Any, A]]: ...
@overload
def value_and_grad(
    f: np.ufunc, argnums: Argnums = 0, *, argnames: Argnames | None = None, has_aux: bool = False
) -> Function[..., tuple[Any, Any]]: ...
@overload
def value_and_grad(
    f: First[P, X, R], argnums: Zero = 0, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, X]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, R], argnums: One, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Y]]: ...
@overload
def value_and_grad(
    f: FirstThree[P, X, Y, Z, R], argnums: Two, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Z]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, R],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[R, tuple[X, Y]]]: ...
@overload
def value_and_grad(
    f: FirstThree[P, X, Y, Z, R],
    argnums: tuple[Zero, One, Two],
    *,
    argnames: None = None,
    has_aux: No = False,
) -> Function[P, tuple[R, tuple[X, Y, Z]]]: ...
@overload
def value_and_grad(
    f: First[P, X, tuple[R, A]], argnums: Zero = 0, *, argnames: None = None, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], X]]: ...
@overload
def value_and_grad(
    f: FirstTwo[P, X, Y, tuple[R, A]],
    argnums: tuple[Zero, One],
    *,
    argnames: None = None,
    has_aux: Yes,
) -> Function[P, tuple[tuple[R, A], tuple[X, Y]]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums, *, argnames: None = None, has_aux: No = False
) -> Function[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, *, argnames: Argnames, has_aux: No = False
) -> Function[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[R, A]], argnums: Argnums, *, argnames: Argnames | None = None, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[R, A]], argnums: Argnums = 0, *, argnames: Argnames, has_aux: Yes
) -> Function[P, tuple[tuple[R, A], Any]]: ...
