"""scipy.spatial.transform: rotations, as unit quaternions x, y, z, w in the last axis.

Formulas have series where SciPy's switch to them, so that derivatives of any order are right at no
rotation. A matrix that is recorded has to be one of a rotation: where it is not, the result is nan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from tracejit.ops.base import forms
from tracejit.ops.base.op import answer, composite
from tracejit.ops.base.twins import Twin, as_doubles, twin, unsupported

_SMALL = 1e-6
"""The square of the angle below which SciPy takes series."""
_AXES = "xyz"


def _chosen(small: Any, series: Any, x: Any, formula: Any) -> Any:
    """A series where x is small, a formula elsewhere, whose slope at zero is not asked for."""
    return np.where(small, series, formula(np.where(small, 1.0, x)))


def _half_sine_over(squares: Any) -> tuple[Any, Any]:
    """sin(a / 2) / a and cos(a / 2) of angles whose squares are given."""
    small = squares <= _SMALL
    over = _chosen(
        small,
        0.5 - squares / 48 + squares**2 / 3840,
        squares,
        lambda s: np.sin(np.sqrt(s) / 2) / np.sqrt(s),
    )
    cosines = _chosen(
        small,
        1 - squares / 8 + squares**2 / 384 - squares**3 / 46080,
        squares,
        lambda s: np.cos(np.sqrt(s) / 2),
    )
    return over, cosines


def _normalized(quat: Any) -> Any:
    squares = np.sum(quat * quat, axis=-1, keepdims=True)
    return quat / np.where(squares == 0, np.nan, np.sqrt(np.where(squares == 0, 1.0, squares)))


def _product(p: Any, q: Any) -> Any:
    """The product of quaternions."""
    px, py, pz, pw = (p[..., k] for k in range(4))
    qx, qy, qz, qw = (q[..., k] for k in range(4))
    return np.stack(
        [
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
            pw * qw - px * qx - py * qy - pz * qz,
        ],
        axis=-1,
    )


def _as_number(x: Any) -> Any:
    return x if np.ndim(x) else forms.as_element(x)


@twin(Rotation)
@dataclass
class Rotations(Twin):
    """Rotations, one or several."""

    quat: Any
    calls = ("as_quat",)

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """None: it is read by a call."""
        return []

    @property
    def single(self) -> bool:
        """True if this is one rotation."""
        return bool(np.ndim(self.quat) == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(np.shape(self.quat)[0])

    def __getitem__(self, index: Any) -> Any:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotations(self.quat[index])

    def __mul__(self, other: Any) -> Any:
        return Rotations(_normalized(_product(self.quat, _quat_of(other))))

    def __rmul__(self, other: Any) -> Any:
        return Rotations(_normalized(_product(_quat_of(other), self.quat)))

    def __pow__(self, n: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        return from_rotvec(as_doubles(n) * self.as_rotvec())

    def inv(self) -> Any:
        """The inverse."""
        return Rotations(self.quat * np.array([-1.0, -1.0, -1.0, 1.0]))

    def magnitude(self) -> Any:
        """The angle."""
        length = np.sqrt(np.sum(self.quat[..., :3] ** 2, axis=-1))
        return _as_number(2 * np.arctan2(length, np.abs(self.quat[..., 3])))

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """The quaternions; canonical ones have a positive last number."""
        quat = self.quat
        if canonical:
            x, y, z, w = (quat[..., k] for k in range(4))
            signs = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
            quat = np.where(signs[..., None] < 0, -quat, quat)
        return np.roll(quat, 1, axis=-1) if scalar_first else quat * 1.0

    def as_matrix(self) -> Any:
        """The matrices."""
        x, y, z, w = (self.quat[..., k] for k in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """The rotation vectors."""
        quat = np.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        vector, w = quat[..., :3], quat[..., 3:]
        squares = np.sum(vector * vector, axis=-1, keepdims=True)
        small = squares <= _SMALL / 4
        series = 2 + squares / 3 + 3 * squares**2 / 20 + 5 * squares**3 / 56
        scale = _chosen(
            small, series, squares, lambda s: 2 * np.arctan2(np.sqrt(s), w) / np.sqrt(s)
        )
        return np.rad2deg(scale * vector) if degrees else scale * vector

    def as_mrp(self) -> Any:
        """The modified Rodrigues parameters."""
        quat = np.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return quat[..., :3] / (1 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> Any:
        """The angles of rotations about three axes in turn; the third is zero where only its sum
        with the first is known."""
        if options:
            raise unsupported("Rotation.as_euler", f"with {', '.join(options)}", "leave it out.")
        if len(seq) != 3 or any(a == b for a, b in itertools.pairwise(seq)):
            raise ValueError(f"Expected 3 axes, two of which in a row differ, got {seq}.")
        extrinsic = _is_extrinsic(seq)
        found = _euler(self.quat, seq.lower(), extrinsic)
        return np.rad2deg(found) if degrees else found

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors, rotated."""
        vectors = as_doubles(vectors)
        if np.shape(vectors)[-1:] != (3,):
            raise ValueError(f"Expected input of shape (3,) or (P, 3), got {np.shape(vectors)}.")
        matrix = self.as_matrix()
        matrix = np.swapaxes(matrix, -1, -2) if inverse else matrix
        if self.single:
            return vectors @ matrix.T
        return np.sum(matrix * vectors[..., None, :], axis=-1)


def _quat_of(other: Any) -> Any:
    if type(other) is Rotations:
        return other.quat
    if isinstance(other, Rotation):
        return other.as_quat()
    raise TypeError(f"rotations are multiplied with rotations, not with {type(other).__name__}")


def _is_extrinsic(seq: str) -> bool:
    if not seq or any(letter.lower() not in _AXES for letter in seq):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'], got {seq}")
    if seq.lower() != seq and seq.upper() != seq:
        raise ValueError("Expected axes to be all extrinsic or all intrinsic.")
    return seq.lower() == seq


def _euler(quat: Any, seq: str, extrinsic: bool) -> Any:
    """The angles: https://doi.org/10.1371/journal.pone.0276302."""
    i, j, k = (_AXES.index(letter) for letter in (seq if extrinsic else seq[::-1]))
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    q = [quat[..., n] for n in range(4)]
    a, b, c, d = q[3], q[i], q[j], q[k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    second = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    flat, turned = np.abs(second) <= 1e-7, np.abs(second - math.pi) <= 1e-7
    ends = [half_sum - half_difference, half_sum + half_difference]
    low, high = ends if extrinsic else ends[::-1]
    degenerate = flat | turned
    opposite = 2 * half_difference * (-1 if extrinsic else 1)
    low = np.where(flat, 2 * half_sum, np.where(turned, opposite, low))
    high = np.where(degenerate, 0.0, high)
    if not symmetric:
        low, high = (low, high * sign) if extrinsic else (low * sign, high)
        second = second - math.pi / 2
    angles = np.stack([low, second, high], axis=-1)
    over, under = angles > math.pi, angles < -math.pi
    return np.where(under, angles + 2 * math.pi, np.where(over, angles - 2 * math.pi, angles))


# How rotations are made


def _rows(x: Any, shape: Sequence[int], name: str) -> Any:
    x = as_doubles(x)
    if np.shape(x)[-len(shape) :] != tuple(shape):
        raise ValueError(f"Expected `{name}` to have the shape (..., {shape}), got {np.shape(x)}.")
    return x


@composite(Rotation.from_quat)
def from_quat(quat: Any, *, scalar_first: bool = False) -> Any:
    """Rotations from quaternions of any length but zero."""
    quat = _rows(quat, (4,), "quat")
    return Rotations(_normalized(np.roll(quat, -1, axis=-1) if scalar_first else quat))


@composite(Rotation.from_rotvec)
def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    """Rotations from vectors along their axes, as long as their angles."""
    rotvec = _rows(rotvec, (3,), "rot_vec")
    rotvec = np.deg2rad(rotvec) if degrees else rotvec
    over, cosines = _half_sine_over(np.sum(rotvec * rotvec, axis=-1, keepdims=True))
    return Rotations(np.concatenate([over * rotvec, cosines], axis=-1))


@composite(Rotation.from_mrp)
def from_mrp(mrp: Any) -> Any:
    """Rotations from modified Rodrigues parameters."""
    mrp = _rows(mrp, (3,), "mrp")
    squares = np.sum(mrp * mrp, axis=-1, keepdims=True)
    return Rotations(np.concatenate([2 * mrp, 1 - squares], axis=-1) / (1 + squares))


@composite(Rotation.from_matrix)
def from_matrix(matrix: Any, *, assume_valid: bool = False) -> Any:
    """Rotations from orthogonal matrices."""
    m = _rows(matrix, (3, 3), "matrix")
    entry = [[m[..., row, column] for column in range(3)] for row in range(3)]
    trace = entry[0][0] + entry[1][1] + entry[2][2]
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [trace] * 4
        parts[i] = 1 - trace + 2 * entry[i][i]
        parts[j] = entry[j][i] + entry[i][j]
        parts[k] = entry[k][i] + entry[i][k]
        parts[3] = entry[k][j] - entry[j][k]
        candidates.append(np.stack(parts, axis=-1))
    turns = [entry[2][1] - entry[1][2], entry[0][2] - entry[2][0], entry[1][0] - entry[0][1]]
    candidates.append(np.stack([*turns, 1 + trace], axis=-1))
    sizes = np.stack([entry[0][0], entry[1][1], entry[2][2], trace], axis=-1)
    largest = np.argmax(sizes, axis=-1)[..., None]
    quat = np.where(largest == 0, candidates[0], candidates[3])
    quat = np.where(largest == 1, candidates[1], np.where(largest == 2, candidates[2], quat))
    if not assume_valid:
        excess = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3))
        valid = np.max(excess, axis=(-2, -1)) <= 1e-8
        quat = np.where(valid[..., None], quat, np.nan)
    return Rotations(_normalized(quat))


@composite(Rotation.from_euler)
def from_euler(seq: str, angles: Any, degrees: bool = False) -> Any:
    """Rotations about axes in turn: small letters are those of space, large ones of the body."""
    extrinsic = _is_extrinsic(seq)
    angles = as_doubles(angles)
    if len(seq) > 3:
        raise ValueError(f"Expected axis specification to be a string of up to 3 characters: {seq}")
    if len(seq) == 1 and np.shape(angles)[-1:] != (1,):
        angles = angles[..., None] if np.ndim(angles) else np.reshape(angles, (1,))
    elif np.shape(angles)[-1:] != (len(seq),):
        raise ValueError(f"Expected `angles` to have {len(seq)} columns, got {np.shape(angles)}.")
    angles = np.deg2rad(angles) if degrees else angles
    found: Any = None
    for number, letter in enumerate(seq.lower()):
        half = angles[..., number] / 2
        parts = [np.zeros_like(half)] * 3 + [np.cos(half)]
        parts[_AXES.index(letter)] = np.sin(half)
        quat = np.stack(parts, axis=-1)
        if found is None:
            found = quat
        else:
            found = _product(quat, found) if extrinsic else _product(found, quat)
    return Rotations(found)


def _concatenated(rotations: Any) -> Any:
    """Rotations, one after the other."""
    one = isinstance(rotations, Rotation)
    quats = [_quat_of(rotation) for rotation in ([rotations] if one else rotations)]
    return Rotations(np.concatenate([q if np.ndim(q) > 1 else q[None] for q in quats]))


answer(Rotation.concatenate, _concatenated)
