"""TensorFlow's names, spelled with NumPy and tracejit, and the words that its programs begin with.

`tf` holds what the programs and the documented examples use, and no more. A constant or Variable
made of Python numbers has TensorFlow's dtype, float32 or int32, not NumPy's.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import tracejit as tj


def usual_dtype(value: Any) -> Any:
    """What TensorFlow makes of Python numbers: float32 of floats, int32 of ints."""
    if hasattr(value, "dtype"):
        return value.dtype
    return {"f": np.float32, "i": np.int32}.get(np.asarray(value).dtype.kind)


def constant(value: Any, dtype: Any = None) -> Any:
    """tf.constant."""
    return tj.constant(value, usual_dtype(value) if dtype is None else dtype)


def variable(value: Any, dtype: Any = None, **words: Any) -> tj.Variable:
    """tf.Variable."""
    return tj.Variable(value, dtype=usual_dtype(value) if dtype is None else dtype, **words)


def cast(x: Any, dtype: Any) -> Any:
    """tf.cast, of Tensors and Python numbers."""
    return x.astype(dtype) if hasattr(x, "astype") else constant(x, dtype)


def shuffle(x: Any) -> Any:
    """tf.random.shuffle: the rows in another order."""
    return x[np.random.default_rng(0).permutation(x.shape[0])]


tf: Any = SimpleNamespace(
    GradientTape=tj.GradientTape,
    UnconnectedGradients=tj.UnconnectedGradients,
    Variable=variable,
    cast=cast,
    constant=constant,
    custom_gradient=tj.custom_gradient,
    exp=np.exp,
    float32=np.float32,
    floor=np.floor,
    function=tj.function,
    grad_pass_through=tj.grad_pass_through,
    gradients=tj.gradients,
    identity=np.copy,
    math=SimpleNamespace(log=np.log, square=np.square),
    maximum=np.maximum,
    ones=lambda shape, dtype=np.float32: constant(np.ones(shape), dtype),
    random=SimpleNamespace(shuffle=shuffle),
    range=range,
    recompute_grad=tj.recompute_grad,
    reduce_max=np.max,
    reduce_sum=np.sum,
    reshape=np.reshape,
    round=np.round,
    sin=np.sin,
    stack=np.stack,
    stop_gradient=tj.stop_gradient,
    vectorized_map=lambda f, x: tj.vmap(f)(x),
    zeros_like=np.zeros_like,
)


def c(value: Any, dtype: Any = np.float64) -> Any:
    """A float64 constant."""
    return tj.constant(value, dtype)


def V(value: Any, **words: Any) -> tj.Variable:
    """A float64 Variable."""
    return tj.Variable(value, dtype=np.float64, **words)


def E(f: Any, *args: Any) -> Any:
    """The result of a call, or its error as data."""
    try:
        return f(*args)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


PREAMBLE = {
    "np": np,
    "tf": tf,
    "f64": np.float64,
    "c": c,
    "V": V,
    "E": E,
    "sg": tj.stop_gradient,
    "ZERO": tj.UnconnectedGradients.ZERO,
}
