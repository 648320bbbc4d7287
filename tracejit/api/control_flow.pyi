from collections.abc import Callable, Sequence
from typing import Any, overload

from tracejit.support.typing import C, R, Ts, Unpack

def cond(
    predicate: Any,
    true_fun: Callable[[Unpack[Ts]], R],
    false_fun: Callable[[Unpack[Ts]], R],
    *operands: Unpack[Ts],
) -> R: ...
def switch(
    index: Any, branches: Sequence[Callable[[Unpack[Ts]], R]], *operands: Unpack[Ts]
) -> R: ...
@overload
def while_loop(cond_fun: Callable[[C], Any], body_fun: Callable[[C], C], init: C) -> C: ...
@overload
def while_loop(cond_fun: Callable[[C], Any], body_fun: Callable[[C], C], init: float) -> C: ...
