"""Types that signatures are written in. Type checkers alone read this: a module imports it under
TYPE_CHECKING, and nothing at run time.

A transform keeps the parameters of the function that it takes, P, and its answer has the types of
the arguments that it differentiates by. `Callable[P, R]` tells the one, `Callable[Concatenate[X,
...], R]` the other; the protocols in here tell both, for a function is like them where it is like
each of their overloads.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypedDict, overload
from typing import Concatenate as Concatenate

import numpy as np
from typing_extensions import Self as Self
from typing_extensions import TypeVar, TypeVarTuple
from typing_extensions import Unpack as Unpack

P = ParamSpec("P")
Q = ParamSpec("Q")
"""Parameters; those of a method without self."""
Ts = TypeVarTuple("Ts")
"""Positional arguments."""

# Any where a function has no annotations: a type checker has Never for what it finds no type of.
R = TypeVar("R", default=Any)
X = TypeVar("X", default=Any)
Y = TypeVar("Y", default=Any)
Z = TypeVar("Z", default=Any)
A = TypeVar("A", default=Any)
"""What a function returns as auxiliary."""
C = TypeVar("C", default=Any)
"""What a loop carries from step to step."""
K = TypeVar("K")

D = TypeVar("D", bound=np.generic, default=Any)
E = TypeVar("E", bound=np.generic, default=Any)
"""The type of the elements of an array."""

Array: TypeAlias = np.ndarray[Any, np.dtype[D]]
Arrays: TypeAlias = np.ndarray[Any, np.dtype[Any]] | Mapping[Any, Arrays] | Sequence[Arrays] | None
"""An array, None, or a container of such alone."""
ArraysT = TypeVar("ArraysT", bound=Arrays)
Real: TypeAlias = Array[Any] | float
"""What has derivatives: NumPy's floating scalars are floats, or like them."""

Yes: TypeAlias = Literal[True]
No: TypeAlias = Literal[False]
Argnums: TypeAlias = int | tuple[int, ...]
Argnames: TypeAlias = str | tuple[str, ...]
Zero: TypeAlias = Literal[0]
One: TypeAlias = Literal[1]
Two: TypeAlias = Literal[2]

_R_co = TypeVar("_R_co", covariant=True)
_X_contra = TypeVar("_X_contra", contravariant=True)
_Y_contra = TypeVar("_Y_contra", contravariant=True)
_Z_contra = TypeVar("_Z_contra", contravariant=True)

class First(Protocol[P, _X_contra, _R_co]):
    """A function of P whose first argument is an X."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> _R_co: ...
    @overload
    def __call__(self, x: _X_contra, /, *args: Any, **kwargs: Any) -> _R_co: ...

class FirstTwo(Protocol[P, _X_contra, _Y_contra, _R_co]):
    """A function of P whose first arguments are an X and a Y."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> _R_co: ...
    @overload
    def __call__(self, x: _X_contra, y: _Y_contra, /, *args: Any, **kwargs: Any) -> _R_co: ...

class FirstThree(Protocol[P, _X_contra, _Y_contra, _Z_contra, _R_co]):
    """A function of P whose first arguments are an X, a Y and a Z."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> _R_co: ...
    @overload
    def __call__(
        self, x: _X_contra, y: _Y_contra, z: _Z_contra, /, *args: Any, **kwargs: Any
    ) -> _R_co: ...

UfuncT = TypeVar("UfuncT", bound=np.ufunc)
MethodT = TypeVar("MethodT", bound=staticmethod[..., Any] | classmethod[Any, ..., Any])

class FunctionOptions(TypedDict, total=False):
    """The options of `tj.function`: the fields of `Options`."""

    static_argnums: int | tuple[int, ...]
    static_argnames: str | tuple[str, ...]
    cache: bool
    exact: bool
    name: str | None
    max_paths: int
    dynamic_shapes: Literal["auto"] | bool
    input_signature: Sequence[Any] | None
    threads: int | None
    memory_budget: int | None
    recycle: bool
    readable: bool
    freeze: bool
    share: bool
