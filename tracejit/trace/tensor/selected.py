"""Elements that a recorded mask selects: `a[mask]`, of a length unknown during the recording.

It can be computed with, element by element, along with numbers and what the same mask selects; it
can be added up, and written back under the mask: `a[a < 0] *= 2`, `np.mean(a[a > 0])`. All of it is
computed on the whole array, at safe numbers where the mask does not hold, so that neither values
nor gradients come from there. Whatever depends on the length or the order is refused, or, where
calls are routed, recorded for the mask that this call has: see `known`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tracejit.ops.base.creation import is_recorded, type_in_call
from tracejit.ops.base.loops import masked_call
from tracejit.ops.indexing.indexing import RECORDED_MASK
from tracejit.support.errors import fail
from tracejit.trace.structure.trees import map_tree

# Reductions of all that is selected, by what they are under a mask.
REDUCTIONS: frozenset[Any] = frozenset(
    (np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all, np.count_nonzero)
)


class Selected:
    """The elements of `whole` where `mask` holds, of unknown number."""

    __slots__ = ("mask", "whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, whole: Any, mask: Any) -> None:
        """`mask` has the first axes of `whole`."""
        self.whole = whole
        self.mask = mask

    def __repr__(self) -> str:
        return f"<Selected of {self.whole.type!r}>"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        dtype: np.dtype[Any] = self.whole.dtype
        return dtype

    def known(self, what: str = "") -> Any:
        """The elements that the mask selects in this call, by which Python goes from here; refused
        where it may not."""
        mask = self.whole._recording.followed(self.mask)
        if mask is None:
            self.refuse(what)
        return self.whole[mask]

    def condition(self) -> Any:
        """The mask with all axes of the array."""
        extra = self.whole.ndim - self.mask.ndim
        axes = tuple(range(self.mask.ndim, self.whole.ndim))
        return np.expand_dims(self.mask, axes) if extra else self.mask

    def is_of(self, mask: Any) -> bool:
        """Return whether `mask` selects the same."""
        return is_recorded(mask) and mask._value is self.mask._value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc is np.add:
            return self._reduced(np.sum, inputs[1:], kwargs)
        operands = [self._operand(operand) for operand in inputs]
        if method != "__call__" or kwargs or any(operand is None for operand in operands):
            return getattr(ufunc, method)(*_known(inputs), **kwargs)
        found = masked_call(ufunc, operands, self.condition())
        if isinstance(found, tuple):
            return tuple(Selected(one, self.mask) for one in found)
        return Selected(found, self.mask)

    def _operand(self, operand: Any) -> Any:
        """Another operand of an elementwise operation: a number, or selected by the same mask;
        None if it is neither."""
        if type(operand) is Selected:
            same = operand.mask._value is self.mask._value
            return operand.whole if same and operand.whole.shape == self.whole.shape else None
        is_number = not type_in_call(operand).shape and type_in_call(operand).dtype != object
        return operand if is_number else None

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            parts = [self._operand(one) for one in args]
            if all(part is not None for part in parts):
                return Selected(np.where(*parts), self.mask)
        elif function in REDUCTIONS and args[0] is self:
            return self._reduced(function, args[1:], kwargs)
        what = f"np.{getattr(function, '__name__', function)} of a selection by a mask"
        return self.whole.__array_function__(
            function, types, _known(args, what), _known(kwargs, what)
        )

    def _reduced(self, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The sum, or mean, ... of all that is selected."""
        options = dict(kwargs)
        if (args and args != (None,)) or options.pop("axis", None) is not None:
            return function(self.known(), *args, **kwargs)
        if getattr(self.whole._recording, "exact", False):
            return function(self.known("adding in NumPy's own order"), *args, **kwargs)
        if function is np.count_nonzero:
            return np.count_nonzero(self.condition() & (self.whole != 0))
        return function(self.whole, where=self.condition(), **options)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is Selected and index.dtype == bool and index.is_of(self.mask):
            if index.whole.shape == self.mask.shape:
                return Selected(self.whole, self.mask & index.whole)
        return self.known()[index.known() if type(index) is Selected else index]

    def astype(self, dtype: Any) -> Any:
        """The elements cast to another dtype."""
        return Selected(self.whole.astype(dtype), self.mask)

    def copy(self) -> Any:
        """The same: what is selected is a copy already."""
        return Selected(self.whole, self.mask)

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            return getattr(self.known(f".{name} of a selection by a mask"), name)
        raise AttributeError(f"'Selected' object has no attribute {name!r}")

    def refuse(self, what: str = "") -> NoReturn:
        """Raise: the call needs to know how many there are."""
        problem, _, fix = RECORDED_MASK.rpartition("; ")
        raise fail(
            "unsupported-call",
            self.whole._recording.here(),
            function=what or "indexing by a recorded mask",
            problem=problem,
            fix=f"{fix}.",
        )

    def __len__(self) -> int:
        return len(self.known("len() of a selection by a mask"))

    def __iter__(self) -> Any:
        return iter(self.known("iteration over what a mask selects"))

    def __bool__(self) -> bool:
        return bool(self.known("bool() of a selection by a mask"))

    def __tracejit_read__(self) -> Any:
        return self.known("np.asarray of a selection by a mask")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.__tracejit_read__(), dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.refuse("writing into the copy that a mask selects")


def _known(arguments: Any, what: str = "") -> Any:
    """Arguments with the elements in place of each Selected."""
    return map_tree(lambda one: one.known(what) if type(one) is Selected else one, arguments)


def _method(function: Any) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: self._reduced(function, args, kwargs)


def _operators(ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda self, other: ufunc(self, other), lambda self, other: ufunc(other, self)


_BINARY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_COMPARISONS: dict[str, Any] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_UNARY: dict[str, Any] = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip
for _name, _ufunc in _BINARY.items():
    _forward, _reflected = _operators(_ufunc)
    setattr(Selected, f"__{_name}__", _forward)
    setattr(Selected, f"__r{_name}__", _reflected)
for _name, _ufunc in _COMPARISONS.items():
    setattr(Selected, f"__{_name}__", _operators(_ufunc)[0])
for _name, _ufunc in _UNARY.items():
    setattr(Selected, f"__{_name}__", lambda self, ufunc=_ufunc: ufunc(self))
for _function in (np.sum, np.prod, np.mean, np.var, np.std, np.any, np.all):
    setattr(Selected, _function.__name__, _method(_function))
