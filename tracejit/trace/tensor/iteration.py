"""Iterators over the elements of arrays that are recorded: `a.flat`, `np.ndenumerate`, `np.nditer`.

Each step reads the array anew, so what was written meanwhile is seen, as in NumPy. `a.flat` is an
attribute; NumPy's two classes are called without any protocol, and have these in their place in
`tracejit.numpy`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tracejit.ops.base.creation import as_array, is_recorded
from tracejit.ops.indexing.updates import with_item
from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.structure.trees import map_tree
from tracejit.trace.tensor.memory import lies_in_order
from tracejit.trace.tensor.writes import repeated, target_of

Place = tuple[int, ...]


def _places(shape: Sequence[int], order: str = "C") -> Iterator[Place]:
    """The indices of all elements of a shape."""
    if order == "C":
        return iter(np.ndindex(*shape))
    return (place[::-1] for place in np.ndindex(*shape[::-1]))


class FlatIterator:
    """The elements of `base` in C order, as `numpy.flatiter`: to be read, indexed and written."""

    __slots__ = ("base", "index")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Any) -> None:
        """Begin at the first element."""
        self.base = base
        self.index = 0

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """np.flatiter, for isinstance."""
        return np.flatiter

    @property
    def coords(self) -> Place:
        """The index of the element that comes next."""
        return self._place(self.index)

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> FlatIterator:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self.base[self._place(self.index - 1)]

    def _place(self, number: int) -> Place:
        return tuple(map(int, np.unravel_index(number, tuple(map(int, self.base.shape)))))

    def copy(self) -> Any:
        """The elements as a 1-D array."""
        return self[...]

    def __tracejit_read__(self) -> Any:
        return np.reshape(self.base, -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        elements: Any = np.reshape(self.base, -1)
        array: np.ndarray = elements.__array__(dtype, copy)
        return array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_array_of, inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map_tree(_array_of, tuple(args)), **map_tree(_array_of, kwargs))

    def __getitem__(self, index: Any) -> Any:
        index, self.index = _single(index), 0
        if isinstance(index, (int, np.integer)) and not is_recorded(index):
            size = len(self)
            if not -size <= index < size:
                raise IndexError(f"index {index} is out of bounds for size {size}")
            return self.base[self._place(int(index) % size)]
        return np.reshape(self.base, -1)[index].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        index, self.index = _single(index), 0
        call = f"{getattr(self.base, '_called', str)()}.flat[...] = ..."
        x, value = target_of(self.base, call), as_array(value)
        if not is_recorded(index):
            index = np.arange(len(self))[index]
        if np.ndim(index) == 0 and np.ndim(value):
            raise ValueError("Error setting single item of array.")
        if np.ndim(value) and index.dtype.kind == "b":
            raise TypeError("which element goes where depends on a mask that is being recorded")
        if np.ndim(value) and not np.size(value):
            return
        value = repeated(value, np.size(index)) if np.ndim(value) else value
        shape = np.shape(index) if np.ndim(value) else ()
        flat = with_item(np.reshape(x, -1), index, np.reshape(value, shape))
        x._write(np.reshape(flat, x.shape), call)


def _single(index: Any) -> Any:
    """The one index of a flat iterator."""
    if type(index) is tuple and len(index) == 1:
        (index,) = index
    if type(index) is tuple:
        count = len(index)
        text = f"flat iterator is 1-dimensional, but {count} were indexed"
        raise IndexError(f"too many indices for flat iterator: {text}")
    if index is None:
        raise IndexError("a flat iterator has no new axes")
    return index


def _array_of(value: Any) -> Any:
    return np.reshape(value.base, -1) if type(value) is FlatIterator else value


def _comparison(compare: Callable[[Any, Any], Any]) -> Any:
    def method(self: FlatIterator, other: Any) -> Any:
        return compare(np.reshape(self.base, -1), _array_of(other))

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(FlatIterator, f"__{_name}__", _comparison(getattr(operator, _name)))


def enumerated(arr: Any) -> Iterator[tuple[Place, Any]]:
    """np.ndenumerate."""
    array = as_array(arr)
    return ((place, array[place]) for place in _places(array.shape))


FLAGS = frozenset(("multi_index", "c_index", "refs_ok", "zerosize_ok", "reduce_ok"))
MODES = frozenset(("readonly", "readwrite", "writeonly"))


class ElementIterator:
    """Several arrays, broadcast, element by element as arrays without dimensions: np.nditer."""

    def __init__(
        self,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        **options: Any,
    ) -> None:
        """Begin before the first element."""
        given = op if type(op) in (list, tuple) else (op,)
        self._flags = frozenset(flags or ())
        modes = list(op_flags or ["readonly"])
        modes = [modes] * len(given) if isinstance(modes[0], str) else modes
        other = self._flags - FLAGS | frozenset().union(*modes) - MODES | options.keys()
        if op_dtypes is not None or other or any(x is None for x in given):
            what = sorted(other)[0] if other else "op_dtypes" if op_dtypes is not None else "None"
            _refuse(f"{what} is not supported", "iterate over arrays that exist, one by one.")
        self.operands = tuple(map(as_array, given))
        self._writes = ["readonly" not in mode for mode in modes]
        self._shape: Place = np.broadcast_shapes(*map(np.shape, self.operands))
        self._places = [*_places(self._shape, "F" if order == "F" else "C")]
        if not self._places and "zerosize_ok" not in self._flags:
            raise ValueError("Iteration of zero-sized operands is not enabled")
        if order in "KA" and self._places and not all(map(_is_in_order, self.operands)):
            _refuse("the order of elements in memory is not known", "give order='C'.")
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self.iterindex, self._has_begun = 0, False

    @property
    def nop(self) -> int:
        """The number of arrays."""
        return len(self.operands)

    def __len__(self) -> int:
        return len(self.operands)

    @property
    def shape(self) -> Place:
        """The shape after broadcasting; without "multi_index" NumPy joins dimensions."""
        if "multi_index" not in self._flags:
            _refuse("the shape is not known without a multi-index", "give flags=['multi_index'].")
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions after broadcasting."""
        return len(self.shape)

    @property
    def itersize(self) -> int:
        """The number of steps."""
        return len(self._places)

    @property
    def finished(self) -> bool:
        """Return whether there is no element left."""
        return self.iterindex >= len(self._places)

    @property
    def multi_index(self) -> Place:
        """The index of the element."""
        if "multi_index" not in self._flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self._places[self.iterindex]

    @property
    def index(self) -> int:
        """The number of the element in C order."""
        if "c_index" not in self._flags:
            raise ValueError("Iterator does not have an index")
        return int(np.ravel_multi_index(self._places[self.iterindex], self._shape))

    def __getitem__(self, number: int) -> Any:
        array = self.operands[number]
        place = (*self._place_in(array), ...)
        element = array[place]
        return element if self._writes[number] else np.broadcast_to(element, ())

    def __setitem__(self, number: int, value: Any) -> None:
        array = self.operands[number]
        if not self._writes[number]:
            raise ValueError("Iterator operand is not writeable")
        array[self._place_in(array)] = value

    def _place_in(self, array: Any) -> Place:
        """The index of the element in one of the arrays."""
        place = self._places[self.iterindex][len(self._shape) - array.ndim :]
        return tuple(k if size != 1 else 0 for k, size in zip(place, array.shape, strict=True))

    @property
    def value(self) -> Any:
        """The element, or a tuple of those of all arrays."""
        found = tuple(self[number] for number in range(self.nop))
        return found[0] if self.nop == 1 else found

    def iternext(self) -> bool:
        """Go to the next element; whether there is one."""
        self.iterindex += 1
        return not self.finished

    def __iter__(self) -> ElementIterator:
        return self

    def __next__(self) -> Any:
        if self._has_begun and not self.finished:
            self.iternext()
        self._has_begun = True
        if self.finished:
            raise StopIteration
        return self.value

    def __enter__(self) -> ElementIterator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is left to be written."""


def _is_in_order(array: Any) -> bool:
    if np.ndim(array) == 0:
        return True
    if not is_recorded(array):
        return bool(np.asarray(array).flags.c_contiguous)
    return hasattr(type(array), "__tracejit_read__") or lies_in_order(array)


def _refuse(problem: str, fix: str) -> NoReturn:
    words = {"function": "np.nditer", "problem": problem, "fix": fix}
    raise fail("unsupported-call", places.here(), **words)
