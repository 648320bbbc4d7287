from collections.abc import Callable
from typing import Any, overload

import numpy as np

from tracejit.api.derived import typed_as
from tracejit.api.gradients import grad
from tracejit.specialise.function import Function
from tracejit.support.typing import A, Argnames, Argnums, No, P, R, Yes

@typed_as(grad)
def elementwise_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
) -> Function[..., Any]: ...
@overload
def deriv(
    f: np.ufunc, argnums: int = 0, *, argnames: str | None = None, has_aux: bool = False
) -> Function[..., Any]: ...
@overload
def deriv(
    f: Callable[P, R], argnums: int = 0, *, argnames: str | None = None, has_aux: No = False
) -> Function[P, R]: ...
@overload
def deriv(
    f: Callable[P, tuple[R, A]], argnums: int = 0, *, argnames: str | None = None, has_aux: Yes
) -> Function[P, tuple[R, A]]: ...
