from collections.abc import Callable
from typing import Any, overload

from tracejit.support.typing import A, No, R, Ts, Unpack, X, Yes

@overload
def jvp(
    f: Callable[[Unpack[Ts]], R],
    primals: tuple[Unpack[Ts]],
    tangents: tuple[Any, ...] | list[Any],
    *,
    has_aux: No = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[[Unpack[Ts]], tuple[R, A]],
    primals: tuple[Unpack[Ts]],
    tangents: tuple[Any, ...] | list[Any],
    *,
    has_aux: Yes,
) -> tuple[R, R, A]: ...
@overload
def jvp(
    f: Callable[..., R],
    primals: list[Any],
    tangents: tuple[Any, ...] | list[Any],
    *,
    has_aux: No = False,
) -> tuple[R, R]: ...
@overload
def jvp(f: Callable[[X], R], primals: X, tangents: X, *, has_aux: No = False) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[..., tuple[R, A]], primals: Any, tangents: Any, *, has_aux: Yes
) -> tuple[R, R, A]: ...
def linearize(
    f: Callable[[Unpack[Ts]], R], *primals: Unpack[Ts]
) -> tuple[R, Callable[[Unpack[Ts]], R]]: ...
@overload
def vjp(
    f: Callable[[Unpack[Ts]], R], *primals: Unpack[Ts], has_aux: No = False
) -> tuple[R, Callable[[Any], tuple[Unpack[Ts]]]]: ...
@overload
def vjp(
    f: Callable[[Unpack[Ts]], tuple[R, A]], *primals: Unpack[Ts], has_aux: Yes
) -> tuple[R, Callable[[Any], tuple[Unpack[Ts]]], A]: ...
@overload
def hvp(
    f: Callable[[Unpack[Ts]], Any],
    primals: tuple[Unpack[Ts]],
    tangents: tuple[Any, ...] | list[Any],
) -> tuple[Unpack[Ts]]: ...
@overload
def hvp(
    f: Callable[..., Any], primals: list[Any], tangents: tuple[Any, ...] | list[Any]
) -> list[Any]: ...
@overload
def hvp(f: Callable[[X], Any], primals: X, tangents: X) -> X: ...
