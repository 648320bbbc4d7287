"""Indexing, slicing, joining, reshaping, windows."""

from __future__ import annotations

import numpy as np

from tests.idioms.table import idiom, labels, normal, positive


@idiom(normal(6))
def first_differences(x):
    return x[1:] - x[:-1]


@idiom(normal(7))
def central_differences(x, h=0.1):
    return (x[2:] - x[:-2]) / (2 * h)


@idiom(normal(4, 6))
def every_other_column_reversed(x):
    return x[:, ::2][:, ::-1]


@idiom(normal(3, 4, 2))
def ellipsis_and_newaxis(x):
    return x[..., 0, np.newaxis] * x[0, ..., None, 1]


@idiom(normal(4, 3), labels(3, 4))
def pick_by_label(scores, label):
    return scores[np.arange(len(label)), label]


@idiom(normal(5, 3), np.array([3, 0, 0, 4]))
def gather_rows(x, rows):
    return x[rows]


@idiom(normal(4, 5))
def sub_matrix(x):
    return x[np.ix_([0, 2], [1, 3, 4])]


@idiom(normal(4, 5))
def top_two_of_rows(x):
    return np.sort(x, axis=1)[:, -2:]


@idiom(normal(5), normal(5))
def sort_one_by_another(key, value):
    return value[np.argsort(key)]


@idiom(normal(3, 5))
def largest_by_index(x):
    best = np.argmax(x, axis=1)
    return np.take_along_axis(x, best[:, None], axis=1)[:, 0]


@idiom(normal(6))
def keep_where_positive(x):
    return np.where(x > 0, x, 0.0).sum() / np.maximum(np.sum(x > 0), 1)


@idiom(normal(4), np.array([True, False, True, True]))
def boolean_mask_that_is_known(x, mask):
    return x[np.array([True, False, True, True])] * 2 + np.sum(x * ~mask)


@idiom(normal(3), labels(4, 3))
def one_hot(x, label):
    return np.eye(4)[label] * x[:, None]


@idiom(normal(4, 4))
def lower_triangle_mask(x):
    return np.where(np.tril(np.ones((4, 4), dtype=bool)), x, -1e9).max(axis=1)


@idiom(normal(4, 4))
def symmetric_part(x):
    return np.triu(x) + np.triu(x, 1).T


@idiom(normal(4))
def diagonal_matrices(x):
    return np.diag(x) + np.diag(x[:-1], k=1) + np.diag(np.diag(np.outer(x, x)))


@idiom(normal(5, 5))
def neighbours_by_roll(u):
    return sum(np.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * u


@idiom(normal(3, 4))
def flips_and_turns(x):
    return np.flipud(x) + np.fliplr(x), np.rot90(x)


@idiom(normal(3))
def tile_and_repeat(x):
    return np.tile(x, (2, 2)) + np.repeat(x, 2)[None]


@idiom(normal(4))
def padded(x):
    pads = [np.pad(x, 2, mode=mode) for mode in ("edge", "reflect", "wrap", "symmetric")]
    return np.stack([*pads, np.pad(x, 2)])


@idiom(normal(2, 3), normal(3))
def add_a_bias_column(x, w):
    design = np.hstack([np.ones((len(x), 1)), x])
    return design[:, 1:] @ w


@idiom(normal(3), normal(3))
def columns_from_vectors(x, y):
    return np.column_stack([x, y, x * y])


@idiom(normal(3), normal(3))
def columns_by_c_(x, y):
    return np.c_[x, y]


@idiom(normal(4), np.float64(0.5))
def prepend_a_start_value(x, start):
    return np.cumsum(np.concatenate(([start], x)))


@idiom(normal(3), normal(2, 3))
def stacked_rows(a, b):
    return np.vstack([a, b, a[None] * 2])


@idiom(normal(9))
def split_in_parts(x):
    first, second, third = np.split(x, 3)
    return first * second - third


@idiom(normal(4, 6))
def block_mean(image):
    """Pools blocks of 2 by 3."""
    return image.reshape(2, 2, 2, 3).mean(axis=(1, 3))


@idiom(normal(2, 3, 4))
def channels_first_to_last(x):
    return np.moveaxis(x, 0, -1).reshape(-1, 2), x.transpose(2, 0, 1), x.swapaxes(0, 1)


@idiom(normal(3), normal(4))
def grid_function(x, y):
    xx, yy = np.meshgrid(x, y, indexing="ij")
    return np.exp(-(xx**2) - yy**2)


@idiom(normal(3), normal(4))
def outer_differences(x, y):
    return np.subtract.outer(x, y) ** 2 + np.multiply.outer(x, y)


@idiom(normal(2, 2), normal(2, 1))
def block_matrix(a, b):
    return np.block([[a, b], [b.T, np.zeros((1, 1))]])


@idiom(normal(8))
def sliding_window_maxima(x):
    return np.lib.stride_tricks.sliding_window_view(x, 3).max(axis=-1)


@idiom(normal(5, 6))
def two_dimensional_windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3)).mean(axis=(-2, -1))


@idiom(normal(6))
def leave_one_out(x):
    return np.delete(x, 2) + np.insert(x, 1, 5.0)[:5]


@idiom(normal(5))
def append_values(x):
    return np.append(x, [x[0], 1.0])


@idiom(normal(4, 5))
def per_row_function(x):
    return np.apply_along_axis(lambda row: row - row.mean(), 1, x)


@idiom(normal(4), normal(4), np.array([0, 1, 1, 0]))
def choose_by_index(a, b, which):
    return np.choose(which, [a, b])


@idiom(normal(3, 2))
def loop_over_rows(points):
    total = 0.0
    for x, y in points:
        total = total + x * y
    return total


@idiom(normal(3))
def unpacked(v):
    x, y, z = v
    return np.stack([y * z, z * x, x * y])


@idiom(normal(4, 3))
def list_comprehension(rows):
    return np.stack([np.outer(row, row) for row in rows]).sum(axis=0)


@idiom(normal(2, 3), normal(3, 2))
def kronecker(a, b):
    return np.kron(a, b)


@idiom(normal(7))
def second_difference(x):
    return np.diff(x, n=2)


@idiom(normal(6), np.linspace(0, 1, 6) ** 2)
def integral_by_trapezoids(y, x):
    return np.trapezoid(y, x)


@idiom(normal(5, 6))
def image_gradient(u):
    gx, gy = np.gradient(u, 0.5)
    return np.sqrt(gx**2 + gy**2 + 1e-3)


@idiom(positive(4), normal(6))
def interpolated(x, table):
    return np.interp(x, np.linspace(0, 2, 6), table)


@idiom(positive(3) * 2, normal(6))
def linear_interpolation_by_index(x, table):
    i = np.clip(np.floor(x).astype(int), 0, len(table) - 2)
    t = x - i
    return (1 - t) * table[i] + t * table[i + 1]


@idiom(positive(3), normal(5))
def lookup_by_searchsorted(x, table):
    edges = np.array([0.5, 1.0, 1.5, 1.8])
    return table[np.searchsorted(edges, x)] * x


@idiom(normal(3, 4))
def flatten_and_back(x):
    flat = x.ravel()
    return flat.reshape(x.shape) * flat[::-1].reshape(3, 4)


@idiom(normal(3, 1, 4))
def squeezed_and_broadcast(x):
    return np.broadcast_to(np.squeeze(x, 1), (2, 3, 4)) * np.expand_dims(x, 0).sum()


@idiom({"w": normal(2, 3), "b": normal(2)}, normal(3))
def parameters_in_a_dict(params, x):
    return {"out": np.tanh(params["w"] @ x + params["b"])}


@idiom([normal(2), normal(3)])
def ragged_list(parts):
    return np.concatenate([part * k for k, part in enumerate(parts, 1)])


@idiom(normal(4, 4))
def checkerboard(x):
    i, j = np.indices(x.shape)
    return np.where((i + j) % 2 == 0, x, -x).sum(axis=0)


@idiom(normal(3, 3))
def upper_elements(x):
    return x[np.triu_indices(3, k=1)]


@idiom(normal(6), np.array([0, 2, 5]))
def sums_of_segments(x, starts):
    return np.add.reduceat(x, np.array([0, 2, 5])) + starts


@idiom(normal(4))
def unwrapped_phase(x):
    return np.unwrap(4 * x)


@idiom(normal(5, 2))
def shoelace_area(points):
    x, y = points.T
    return 0.5 * np.abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
