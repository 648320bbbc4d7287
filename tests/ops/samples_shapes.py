"""Samples of changes of shape, of the order of axes and of dtype."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, normal

INTEGERS = np.array([[3, -1, 4], [1, -5, 9]], np.int16)
MASK = np.array([[True, False, True], [False, False, True]])
SINGLE = normal(3, 4).astype(np.float32)
FORTRAN = np.asfortranarray(normal(3, 4))
ZERO_D = np.array(1.3)
SCALAR = np.float64(-0.7)
NO_ROWS = (np.zeros((0, 3)),)


def forms(op, call):
    """The call on a 0-d array, a NumPy scalar and a Python number."""
    return [Sample(op, call, (value,)) for value in (ZERO_D, SCALAR, 2.5)]


RESHAPED = [
    Sample("reshape", lambda x: np.reshape(x, (4, 3)), (normal(3, 4),)),
    Sample("reshape", lambda x: np.reshape(x, -1), (FORTRAN,), zero_size=NO_ROWS),
    Sample("reshape", lambda x: np.reshape(x, (2, -1, 3)), (normal(3, 4),)),
    Sample("reshape", lambda x: np.reshape(x, [6, 2]), (complex_normal(3, 4),)),
    Sample("reshape", lambda x: np.reshape(x, np.array([6, 2])), (normal(3, 4),)),
    Sample("reshape", lambda x: x.reshape(2, 6), (normal(3, 4),)),
    Sample("reshape", lambda x: x.reshape((2, 6)), (SINGLE,)),
    Sample("reshape", lambda x: x.reshape(12), (normal(4, 3, 1).transpose(2, 0, 1),)),
    Sample("reshape", lambda x: x.reshape(()), (normal(1, 1),)),
    Sample("reshape", lambda x: x.reshape(3, -1), (INTEGERS,), zero_size=NO_ROWS),
    *forms("reshape", lambda x: np.reshape(x, ())),
    *forms("reshape", lambda x: np.reshape(x, (1, 1))),
    Sample("ravel", lambda x: np.ravel(x), (normal(3, 4),), zero_size=NO_ROWS),
    Sample("ravel", lambda x: x.ravel() * np.arange(12.0), (FORTRAN,)),
    Sample("ravel", lambda x: x.flatten(), (normal(3, 4),)),
    Sample("ravel", lambda x: x.ravel(), (MASK,)),
    *forms("ravel", lambda x: np.ravel(x)),
]
BROADCAST = [
    Sample("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4)), (normal(3, 1),)),
    Sample("broadcast_to", lambda x: np.broadcast_to(x, (3, 4)), (SINGLE,)),
    Sample("broadcast_to", lambda x: np.broadcast_to(x, 3), (complex_normal(1),)),
    Sample("broadcast_to", lambda x: np.broadcast_to(x, (0, 3)), (normal(3),)),
    Sample("broadcast_to", lambda x: np.broadcast_to(x, (2, 2, 3)), (INTEGERS,)),
    *forms("broadcast_to", lambda x: np.broadcast_to(x, (2, 3))),
    *forms("broadcast_to", lambda x: np.broadcast_to(x, ())),
    Sample("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y), (normal(3, 1), normal(4))),
    Sample("broadcast_arrays", lambda x: np.broadcast_arrays(x, [1, 2], 3), (normal(3, 1),)),
    Sample("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y), (SCALAR, ZERO_D)),
]
UNITS = [
    Sample("expand_dims", lambda x: np.expand_dims(x, 0), (normal(3, 4),), zero_size=NO_ROWS),
    Sample("expand_dims", lambda x: np.expand_dims(x, -1), (normal(3),)),
    Sample("expand_dims", lambda x: np.expand_dims(x, -1), (normal(3, 4),)),
    Sample("expand_dims", lambda x: np.expand_dims(x, 1), (SINGLE,)),
    Sample("expand_dims", lambda x: np.expand_dims(x, (-1, 1)), (normal(3, 4),)),
    Sample("expand_dims", lambda x: np.expand_dims(x, [3, 2]), (complex_normal(3, 4),)),
    Sample("expand_dims", lambda x: np.expand_dims(x, ()), (normal(3, 4),)),
    *forms("expand_dims", lambda x: np.expand_dims(x, 0)),
    *forms("expand_dims", lambda x: np.expand_dims(x, (0, 1))),
    *forms("expand_dims", lambda x: np.expand_dims(x, ())),
    Sample("squeeze", lambda x: np.squeeze(x), (normal(1, 3, 1),), zero_size=(np.zeros((1, 0)),)),
    Sample("squeeze", lambda x: np.squeeze(x, 0), (normal(1, 3, 1),)),
    Sample("squeeze", lambda x: x.squeeze(-1), (normal(1, 3, 1),)),
    Sample("squeeze", lambda x: x.squeeze(axis=(0, 2)), (SINGLE[None, :, :, None][:, :, 0],)),
    Sample("squeeze", lambda x: np.squeeze(x, ()), (normal(1, 3),)),
    Sample("squeeze", lambda x: np.squeeze(x), (normal(1, 1),)),
    Sample("squeeze", lambda x: np.squeeze(x), (INTEGERS,)),
    *forms("squeeze", lambda x: np.squeeze(x)),
    Sample("atleast_1d", lambda x, y: np.atleast_1d(x, y, 3), (normal(3), ZERO_D)),
    *forms("atleast_1d", lambda x: np.atleast_1d(x)),
    *(Sample("atleast_2d", np.atleast_2d, (normal(*shape),)) for shape in ((2, 3), (3,))),
    *forms("atleast_2d", lambda x: np.atleast_2d(x)),
    Sample("atleast_2d", lambda x: np.atleast_2d(x, [1, 2]), (normal(3),)),
    *(Sample("atleast_3d", np.atleast_3d, (normal(*s),)) for s in ((2, 3, 2, 1), (2, 3), (3,))),
    *forms("atleast_3d", lambda x: np.atleast_3d(x)),
]
TRANSPOSED = [
    Sample("transpose", lambda x: np.transpose(x), (normal(3, 4),), zero_size=NO_ROWS),
    Sample("transpose", lambda x: x.T, (complex_normal(2, 3, 4),)),
    Sample("transpose", lambda x: x.T, (normal(3),)),
    Sample("transpose", lambda x: np.transpose(x, (1, -1, 0)), (normal(2, 3, 4),)),
    Sample("transpose", lambda x: np.transpose(x, 0), (normal(3),)),
    Sample("transpose", lambda x: np.permute_dims(x, (2, 0, 1)), (SINGLE[None],)),
    Sample("transpose", lambda x: x.transpose(0, 2, 1), (normal(2, 3, 4),)),
    Sample("transpose", lambda x: x.transpose((1, 0)), (INTEGERS,)),
    Sample("transpose", lambda x: x.transpose(), (normal(2, 3, 4),)),
    Sample("transpose", lambda x: x.transpose(0, 1), (normal(2, 3),)),
    *forms("transpose", lambda x: np.transpose(x)),
    Sample("transpose", lambda x: np.sum(np.transpose(x, (1, 0, 2)), axis=1), (normal(4, 30, 5),)),
    Sample("matrix_transpose", lambda x: np.matrix_transpose(x), (normal(2, 3, 4),)),
    Sample("matrix_transpose", lambda x: x.mT, (normal(3, 4),), zero_size=NO_ROWS),
    Sample("swapaxes", lambda x: np.swapaxes(x, 0, -1), (normal(2, 3, 4),)),
    Sample("swapaxes", lambda x: x.swapaxes(1, 1), (normal(2, 3),)),
    Sample("moveaxis", lambda x: np.moveaxis(x, 0, -1), (normal(2, 3, 4),)),
    Sample("moveaxis", lambda x: np.moveaxis(x, (0, 2), [1, 0]), (normal(2, 3, 4),)),
    *forms("moveaxis", lambda x: np.moveaxis(x, (), ())),
    Sample("rollaxis", lambda x: np.rollaxis(x, 2), (normal(2, 3, 4),)),
    Sample("rollaxis", lambda x: np.rollaxis(x, 0, 3), (normal(2, 3, 4),)),
    Sample("rollaxis", lambda x: np.rollaxis(x, 1, -2), (normal(2, 3, 4),)),
]
CAST = [
    Sample("astype", lambda x: x.astype(np.float32), (normal(3, 4),), zero_size=NO_ROWS),
    Sample("astype", lambda x: x.astype(float), (SINGLE,)),
    Sample("astype", lambda x: x.astype("f8") * 2.0, (normal(3),)),
    Sample("astype", lambda x: x.astype(complex), (normal(3),)),
    Sample("astype", lambda x: x.astype(int), (normal(3),)),
    Sample("astype", lambda x: x.astype(bool), (SCALAR,)),
    Sample("astype", lambda x: x.astype(np.float64, copy=False), (INTEGERS,)),
    Sample("astype", lambda x: x.astype(np.float32, casting="same_kind"), (ZERO_D,)),
    Sample("astype", lambda x: np.astype(x, np.float32), (normal(3, 4),)),
]
COPIED = [
    Sample("copy", lambda x: np.copy(x), (FORTRAN,), zero_size=NO_ROWS),
    Sample("copy", lambda x: np.copy(x), (complex_normal(2),)),
    Sample("copy", lambda x: np.copy(x), (INTEGERS,)),
    *forms("copy", lambda x: np.copy(x)),
]
SAMPLES = [*RESHAPED, *BROADCAST, *UNITS, *TRANSPOSED, *CAST, *COPIED]
