"""Vector spaces: the structure and shapes that values and their gradients share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit.trace.structure.trees import flatten, unflatten


class VSpace:
    """The vectors in the structure and shapes of a value.

    >>> vspace(np.ones((2, 3))).size, vspace({"a": 1.0}).zeros()
    (6, {'a': np.float64(0.0)})
    """

    def __init__(self, value: Any) -> None:
        """Take the structure and the shapes of `value`."""
        leaves, self._structure = flatten(value)
        self._types = [(np.shape(leaf), np.result_type(leaf)) for leaf in leaves]

    def _filled(self, make: Callable[[tuple[int, ...], np.dtype[Any]], Any]) -> Any:
        return unflatten(self._structure, [make(*one)[()] for one in self._types])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the one array."""
        ((shape, _),) = self._types
        return tuple(shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the one array."""
        ((_, dtype),) = self._types
        return dtype

    @property
    def iscomplex(self) -> bool:
        """True if any array is complex."""
        return any(dtype.kind == "c" for _, dtype in self._types)

    @property
    def size(self) -> int:
        """The number of real dimensions."""
        return sum(int(np.prod(shape)) * (1 + (dtype.kind == "c")) for shape, dtype in self._types)

    def zeros(self) -> Any:
        """The vector of zeros."""
        return self._filled(np.zeros)

    def ones(self) -> Any:
        """The sum of the standard basis: ones, 1 + 1j in complex arrays."""
        return self._filled(
            lambda shape, dtype: np.full(shape, 1 + 1j if dtype.kind == "c" else 1, dtype)
        )

    def covector(self, x: Any) -> Any:
        """The complex conjugate of a vector."""
        return unflatten(self._structure, [np.conj(leaf) for leaf in flatten(x)[0]])

    def randn(self) -> Any:
        """A vector of numbers drawn from the standard normal distribution, by np.random."""
        draw = np.random.standard_normal  # as in autograd, np.random.seed decides

        def drawn(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
            found = draw(shape) + 1j * draw(shape) if dtype.kind == "c" else draw(shape)
            return np.asarray(found, dtype)

        return self._filled(drawn)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        pairs = zip(flatten(x)[0], flatten(y)[0], strict=True)
        return unflatten(self._structure, [a + b for a, b in pairs])

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """The product of a vector and a number."""
        return unflatten(self._structure, [leaf * a for leaf in flatten(x)[0]])

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product of two vectors, over the real numbers."""
        pairs = zip(flatten(x)[0], flatten(y)[0], strict=True)
        return sum(np.real(np.vdot(a, b)) for a, b in pairs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VSpace):
            return NotImplemented
        return self._structure.is_like(other._structure) and self._types == other._types

    __hash__ = None  # type: ignore[assignment]

    def standard_basis(self) -> Iterator[Any]:
        """Go through the vectors with one element that is 1, or 1j after it in complex arrays."""
        for number, (shape, dtype) in enumerate(self._types):
            for index in np.ndindex(*shape):
                for unit in (1.0, 1.0j)[: 1 + (dtype.kind == "c")]:
                    leaves = [np.zeros(*one) for one in self._types]
                    leaves[number][index] = unit
                    yield unflatten(self._structure, [leaf[()] for leaf in leaves])


def vspace(value: Any) -> VSpace:
    """Return the space of the vectors that are like a value.

    >>> [*vspace(np.ones(2)).standard_basis()]
    [array([1., 0.]), array([0., 1.])]
    """
    return VSpace(value)
