"""scipy.fft: Fourier transforms along one axis and several, cosine and sine transforms.

All are linear. A Fourier transform is a symmetric matrix. The cosine and sine transforms of types 1
and 4 are symmetric but for the weights of their ends, those of types 2 and 3 are each other's
transposes but for these; with norm="ortho" all are orthogonal. `workers` is left to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft as sf

from tracejit.ir.types import ArrayType
from tracejit.ops.base.axes import along_axes
from tracejit.ops.base.batching import behind
from tracejit.ops.base.creation import as_array, known
from tracejit.ops.base.infer import answered, few, normalize_axis
from tracejit.ops.base.op import Op, answer, defop
from tracejit.ops.reductions.reductions import along

_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
Plan = dict[str, Any]


def _check_norm(norm: str | None) -> str:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm or "backward"


def _free(overwrite_x: bool, workers: Any, plan: Any = None) -> None:
    for name, value in (("overwrite_x", overwrite_x), ("workers", workers), ("plan", plan)):
        if value:
            raise TypeError(f"unexpected keyword argument '{name}'")


def resized(v: Any, sizes: Sequence[int], axes: Sequence[int]) -> Any:
    """Axes cropped or padded with zeros at their ends, as a transform does."""
    for size, axis in zip(sizes, axes, strict=True):
        missing = size - v.shape[axis]
        if missing < 0:
            v = v[along(axis, slice(size))]
        elif missing:
            v = np.pad(v, [(0, missing if k == axis else 0) for k in range(v.ndim)])
    return v


def _call(name: str, x: ArrayType, sizes: Any, axes: Any, points: Any = None, **words: Any) -> str:
    """The user's call: what is as by default is left out."""
    keywords = [f"{key}={value!r}" for key, value in words.items()]
    default = [x.shape[axis] for axis in axes]
    if points is not None:
        default[-1] = points(default[-1])
    as_given = tuple(default) == sizes
    if name.endswith("n"):
        keywords += [] if as_given else [f"s={sizes!r}"]
        keywords += [] if axes == tuple(range(x.ndim)) else [f"axes={axes!r}"]
    else:
        keywords += [] if as_given else [f"n={sizes[0]}"]
        keywords += [] if axes[0] == x.ndim - 1 else [f"axis={axes[0]}"]
    return f"scipy.fft.{name}({', '.join(['{0}', *keywords])})"


def _plan(x: Any, sizes: Any, axes: Any, points: Callable[[int], int] | None) -> Plan:
    """Axes and numbers of points of a transform along several axes."""
    ndim = np.ndim(x)
    if axes is None:
        count = ndim if sizes is None else len(sizes)
        axes = range(ndim - count, ndim)
    elif not hasattr(axes, "__iter__"):
        axes = (axes,)
    numbers = tuple(normalize_axis(axis, ndim) for axis in axes)
    if len(set(numbers)) != len(numbers) or not numbers:
        raise ValueError("all axes must be unique, and there has to be one")
    shape = [int(np.shape(x)[axis]) for axis in numbers]
    if points is not None:
        shape[-1] = points(shape[-1])
    if sizes is not None:
        sizes = (sizes,) if not hasattr(sizes, "__iter__") else sizes
        wanted = [int(known(size, "s")) for size in sizes]
        if len(wanted) != len(shape):
            raise ValueError("when given, axes and shape arguments have to be of the same length")
        shape = [n if size == -1 else size for size, n in zip(wanted, shape, strict=True)]
    if min(shape) < 1:
        raise ValueError(f"invalid number of data points ({min(shape)}) specified")
    return {"sizes": tuple(shape), "axes": numbers}


def _half(n: int) -> int:
    return n // 2 + 1


def _whole(size: int) -> int:
    return 2 * (size - 1)


def _fft_vjp(inverse: bool) -> Callable[..., Any]:
    def vjp(g: Any, y: Any, x: Any, sizes: Any, axes: Any, norm: str) -> Any:
        transform = sf_ifftn if inverse else sf_fftn
        moved = transform(g, sizes=sizes, axes=axes, norm=norm)
        return resized(moved, [x.shape[axis] for axis in axes], axes)

    return vjp


def _rfft_vjp(g: Any, y: Any, x: Any, sizes: Any, axes: Any, norm: str) -> Any:
    """The frequencies that are not kept have no cotangent."""
    moved = sf_fftn(resized(g, sizes[-1:], axes[-1:]), sizes=sizes, axes=axes, norm=norm)
    return np.real(resized(moved, [x.shape[axis] for axis in axes], axes))


def _irfft_vjp(g: Any, y: Any, x: Any, sizes: Any, axes: Any, norm: str) -> Any:
    """The frequencies that stand for two count twice."""
    n, last = sizes[-1], axes[-1]
    moved = sf_ifftn(g, sizes=sizes, axes=axes, norm=norm)
    kept = moved[along(last, slice(_half(n)))]
    counts = np.full(_half(n), 2.0)
    counts[0] = 1.0
    if n % 2 == 0:
        counts[-1] = 1.0
    weights = counts.reshape([-1 if k == last else 1 for k in range(g.ndim)])
    kept = kept * weights.astype(g.dtype)
    return resized(kept, [x.shape[axis] for axis in axes], axes)


def _transform(
    function: Any,
    vjp: Callable[..., Any],
    points: Callable[[int], int] | None = None,
    results: Callable[[int], int] | None = None,
) -> Op:
    """The op of a Fourier transform; its name says whether along one axis or along several."""
    several = function.__name__.endswith("n")

    def infer(x: ArrayType, sizes: Any, axes: Any, norm: str) -> ArrayType:
        shape = list(x.shape)
        for size, axis in zip(sizes, axes, strict=True):
            shape[axis] = size
        if results is not None:
            shape[axes[-1]] = results(sizes[-1])
        return ArrayType(tuple(shape), answered(function, few(x, 3)).dtype)

    def source(types: Sequence[ArrayType], sizes: Any, axes: Any, norm: str) -> str:
        words = {} if norm == "backward" else {"norm": norm}
        return _call(function.__name__, types[0], sizes, axes, points, **words)

    op: Op = defop(
        name=f"scipy_{function.__name__}",
        infer=infer,
        vjp=vjp,
        jvp="linear",
        batch=lambda moved, x, axes, **params: op(x, axes=behind(axes), **params),
        axes=along_axes,
        source=source,
        library="scipy",
        cost=lambda x, sizes, **params: 5 * x.size * max(sizes).bit_length(),
    )

    def along_one(
        x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        _free(overwrite_x, workers, plan)
        x = as_array(x)
        made = _plan(x, None if n is None else (n,), (axis,), points)
        return op(x, **made, norm=_check_norm(norm))

    def along_several(
        x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False,
        workers: Any = None, *, plan: Any = None,
    ) -> Any:  # fmt: skip
        _free(overwrite_x, workers, plan)
        x = as_array(x)
        return op(x, **_plan(x, s, axes, points), norm=_check_norm(norm))

    answer(function, along_several if several else along_one)
    if several:
        planar = getattr(sf, function.__name__[:-1] + "2")
        answer(planar, lambda x, s=None, axes=(-2, -1), norm=None, *rest, **keywords: (
            along_several(x, s, axes, norm, *rest, **keywords)
        ))  # fmt: skip
    return op


sf_fftn: Op = _transform(sf.fftn, _fft_vjp(inverse=False))
sf_ifftn: Op = _transform(sf.ifftn, _fft_vjp(inverse=True))
sf_fft = _transform(sf.fft, _fft_vjp(inverse=False))
sf_ifft = _transform(sf.ifft, _fft_vjp(inverse=True))
sf_rfft = _transform(sf.rfft, _rfft_vjp, results=_half)
sf_irfft = _transform(sf.irfft, _irfft_vjp, points=_whole)
sf_rfftn = _transform(sf.rfftn, _rfft_vjp, results=_half)
sf_irfftn = _transform(sf.irfftn, _irfft_vjp, points=_whole)

# Cosine and sine transforms

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _end_weighted(v: Any, factor: float, axis: int, places: Sequence[int]) -> Any:
    """`v` with some places along an axis times a factor."""
    weights = np.ones(v.shape[axis], v.dtype)
    weights[list(places)] = factor
    return v * weights.reshape([-1 if k == axis else 1 for k in range(v.ndim)])


def _transposed(g: Any, sine: bool, type: int, axis: int, norm: str) -> Any:
    """The transpose of a cosine or sine transform without norm="ortho"."""
    transform = sf_dst if sine else sf_dct
    ends = [-1] if sine else [0]
    params = {"sizes": (g.shape[axis],), "axes": (axis,), "norm": norm}
    if type == 2:
        return transform(_end_weighted(g, 2.0, axis, ends), type=3, **params)
    if type == 3:
        return _end_weighted(transform(g, type=2, **params), 0.5, axis, ends)
    if type == 1 and not sine:
        moved = transform(_end_weighted(g, 2.0, axis, [0, -1]), type=1, **params)
        return _end_weighted(moved, 0.5, axis, [0, -1])
    return transform(g, type=type, **params)


def _trigonometric(function: Any) -> Op:
    """The op of one of dct, idct, dst, idst, dctn, ..."""
    name: str = function.__name__
    several, sine, inverse = name.endswith("n"), "dst" in name, name.startswith("i")

    def vjp(g: Any, y: Any, x: Any, type: int, sizes: Any, axes: Any, norm: str) -> Any:
        for axis in axes:
            if norm == "ortho":
                opposite = (sf_dst if sine else sf_dct) if inverse else (
                    sf_idst if sine else sf_idct
                )  # fmt: skip
                g = opposite(g, type=type, sizes=(g.shape[axis],), axes=(axis,), norm=norm)
            elif inverse:
                g = _transposed(g, sine, _INVERSE_TYPE[type], axis, _OPPOSITE[norm])
            else:
                g = _transposed(g, sine, type, axis, norm)
        return resized(g, [x.shape[axis] for axis in axes], axes)

    def infer(x: ArrayType, type: int, sizes: Any, axes: Any, norm: str) -> ArrayType:
        shape = list(x.shape)
        for size, axis in zip(sizes, axes, strict=True):
            shape[axis] = size
        return ArrayType(tuple(shape), answered(function, few(x, 3)).dtype)

    def source(types: Sequence[ArrayType], type: int, sizes: Any, axes: Any, norm: str) -> str:
        words: dict[str, Any] = {} if type == 2 else {"type": type}
        words |= {} if norm == "backward" else {"norm": norm}
        return _call(name, types[0], sizes, axes, **words)

    op: Op = defop(
        name=name,
        infer=infer,
        vjp=vjp,
        jvp="linear",
        batch=lambda moved, x, axes, **params: op(x, axes=behind(axes), **params),
        axes=along_axes,
        source=source,
        library="scipy",
        cost=lambda x, sizes, **params: 5 * x.size * max(sizes).bit_length(),
    )

    def call(
        x: Any, type: int = 2, sizes: Any = None, axes: Any = None, norm: Any = None,
        overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
    ) -> Any:  # fmt: skip
        _free(overwrite_x, workers)
        if orthogonalize is not None and orthogonalize != (norm == "ortho"):
            raise TypeError("unexpected keyword argument 'orthogonalize'")
        if type not in _INVERSE_TYPE:
            raise ValueError("invalid type")
        x = as_array(x)
        if not several:
            axes, sizes = (-1 if axes is None else axes,), None if sizes is None else (sizes,)
        made = _plan(x, sizes, axes, None)
        return op(x, type=int(type), **made, norm=_check_norm(norm))

    def along_one(
        x: Any, type: int = 2, n: Any = None, axis: int = -1, *rest: Any, **more: Any
    ) -> Any:
        return call(x, type, n, axis, *rest, **more)

    def along_several(
        x: Any, type: int = 2, s: Any = None, axes: Any = None, *rest: Any, **more: Any
    ) -> Any:
        return call(x, type, s, axes, *rest, **more)

    answer(function, along_several if several else along_one)
    return op


sf_dct: Op = _trigonometric(sf.dct)
sf_idct: Op = _trigonometric(sf.idct)
sf_dst: Op = _trigonometric(sf.dst)
sf_idst: Op = _trigonometric(sf.idst)
for _function in (sf.dctn, sf.idctn, sf.dstn, sf.idstn):
    _trigonometric(_function)
