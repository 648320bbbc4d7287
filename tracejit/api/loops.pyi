from collections.abc import Callable
from typing import Any, overload

from numpy.typing import NDArray

from tracejit.support.typing import Array, ArraysT, C, D

@overload
def scan(
    f: Callable[[C, Any], tuple[C, Array[D]]],
    init: C | float,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool | None = None,
) -> tuple[C, NDArray[D]]: ...
@overload
def scan(
    f: Callable[[C, Any], tuple[C, float]],
    init: C | float,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool | None = None,
) -> tuple[C, NDArray[Any]]: ...
@overload
def scan(
    f: Callable[[C, Any], tuple[C, ArraysT]],
    init: C | float,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool | None = None,
) -> tuple[C, ArraysT]: ...
@overload
def scan(
    f: Callable[[C, Any], tuple[C, Any]],
    init: C | float,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: int | bool | None = None,
) -> tuple[C, Any]: ...
@overload
def fori_loop(lower: int, upper: int, body: Callable[[int, C], C], init: C) -> C: ...
@overload
def fori_loop(lower: int, upper: int, body: Callable[[int, C], C], init: float) -> C: ...
