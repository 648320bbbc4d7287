"""The methods of ndarray and Python's operators, as Tensors and Variables have them. Type checkers
alone read this; `arraylike` makes the methods of the NumPy functions that they are."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

from numpy.typing import ArrayLike, DTypeLike

from tracejit.trace.tensor.tensor import Tensor as Tensor

Axis: TypeAlias = int | None
Axes: TypeAlias = int | tuple[int, ...] | None
Order: TypeAlias = Literal["C", "F", "A", "K"]

class ArraySignatures:
    """An array that is computed with: what comes out are Tensors."""

    def sum(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        *,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = ...,
    ) -> Tensor:
        """The sum of the elements, or along axes: as np.sum."""
    def mean(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        *,
        keepdims: bool = False,
        where: Any = ...,
    ) -> Tensor:
        """The mean of the elements, or along axes: as np.mean."""
    def prod(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        *,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = ...,
    ) -> Tensor:
        """The product of the elements, or along axes: as np.prod."""
    def max(
        self, axis: Axes = None, *, keepdims: bool = False, initial: Any = ..., where: Any = ...
    ) -> Tensor:
        """The largest element, or that along axes: as np.max."""
    def min(
        self, axis: Axes = None, *, keepdims: bool = False, initial: Any = ..., where: Any = ...
    ) -> Tensor:
        """The smallest element, or that along axes: as np.min."""
    def var(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = ...,
        mean: Any = ...,
        correction: float = ...,
    ) -> Tensor:
        """The variance of the elements, or along axes: as np.var."""
    def std(
        self,
        axis: Axes = None,
        dtype: DTypeLike | None = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = ...,
        mean: Any = ...,
        correction: float = ...,
    ) -> Tensor:
        """The standard deviation of the elements, or along axes: as np.std."""
    def any(self, axis: Axes = None, *, keepdims: bool = False, where: Any = ...) -> Tensor:
        """True where an element is: as np.any."""
    def all(self, axis: Axes = None, *, keepdims: bool = False, where: Any = ...) -> Tensor:
        """True where all elements are: as np.all."""
    def argmax(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """The index of the largest element: as np.argmax."""
    def argmin(self, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        """The index of the smallest element: as np.argmin."""
    def cumsum(self, axis: Axis = None, dtype: DTypeLike | None = None) -> Tensor:
        """The sums of all elements so far: as np.cumsum."""
    def cumprod(self, axis: Axis = None, dtype: DTypeLike | None = None) -> Tensor:
        """The products of all elements so far: as np.cumprod."""
    def dot(self, b: ArrayLike) -> Tensor:
        """The product with another array: as np.dot."""
    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor:
        """The elements kept between two bounds: as np.clip."""
    def ravel(self, order: Order = "C") -> Tensor:
        """The elements in one dimension: as np.ravel."""
    def squeeze(self, axis: Axes = None) -> Tensor:
        """The array without axes of size 1: as np.squeeze."""
    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """The array with two axes exchanged: as np.swapaxes."""
    def repeat(self, repeats: ArrayLike, axis: Axis = None) -> Tensor:
        """Each element several times: as np.repeat."""
    def take(
        self, indices: ArrayLike, axis: Axis = None, *, mode: Literal["raise", "wrap", "clip"] = ...
    ) -> Tensor:
        """The elements at these indices: as np.take."""
    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None
    ) -> Tensor:
        """The sum of a diagonal: as np.trace."""
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """A diagonal: as np.diagonal."""
    def argsort(self, axis: Axis = -1, kind: str | None = None) -> Tensor:
        """The indices that sort the elements: as np.argsort."""
    def nonzero(self) -> tuple[Tensor, ...]:
        """The indices of elements that are not zero, by axis: as np.nonzero."""
    def searchsorted(
        self,
        v: ArrayLike,
        side: Literal["left", "right"] = "left",
        sorter: ArrayLike | None = None,
    ) -> Tensor:
        """The places at which elements belong in this sorted array: as np.searchsorted."""
    def choose(
        self, choices: Sequence[Any], *, mode: Literal["raise", "wrap", "clip"] = ...
    ) -> Tensor:
        """The elements of several arrays, chosen by this one: as np.choose."""
    def round(self, decimals: SupportsIndex = 0) -> Tensor:
        """The elements, rounded to so many decimals: as np.round."""
    def conj(self) -> Tensor:
        """The complex conjugate: as np.conj."""
    def conjugate(self) -> Tensor:
        """The complex conjugate: as np.conj."""
    def fill(self, value: Any) -> None:
        """Set all elements to one value."""
    def sort(self, axis: int = -1, kind: str | None = None) -> None:
        """Sort the elements in place."""
    def partition(self, kth: int | Sequence[int], axis: int = -1, kind: str = ...) -> None:
        """Sort the elements in place so far that the k-th is in its place."""
    def put(
        self, indices: ArrayLike, values: ArrayLike, mode: Literal["raise", "wrap", "clip"] = ...
    ) -> None:
        """Set the elements at these indices: as np.put."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: Any) -> bool: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
