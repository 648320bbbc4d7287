"""scipy.spatial.transform: rotations, as the four parts x, y, z, w of unit quaternions.

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


def _squares(*parts: Any) -> Any:
    """The sum of squares."""
    return sum((part * part for part in parts[1:]), parts[0] * parts[0])


def _normalized(parts: Sequence[Any]) -> tuple[Any, ...]:
    squares = _squares(*parts)
    length = np.where(squares == 0, np.nan, np.sqrt(np.where(squares == 0, 1.0, squares)))
    return tuple(part / length for part in parts)


def _product(p: Sequence[Any], q: Sequence[Any]) -> tuple[Any, ...]:
    """The product of quaternions."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """The cross product of vectors by their parts."""
    return [a[j] * b[k] - a[k] * b[j] for j, k in ((1, 2), (2, 0), (0, 1))]


def _parts(x: Any, count: int) -> tuple[Any, ...]:
    """The numbers in the last axis, which is `count` long."""
    return tuple(x[..., k] for k in range(count))


def _as_number(x: Any) -> Any:
    return x if np.ndim(x) else forms.as_element(x)


@twin(Rotation)
@dataclass
class Rotations(Twin):
    """Rotations, one or several."""

    parts: tuple[Any, ...]
    calls = ("as_quat",)

    @classmethod
    def attributes(cls, made: Any) -> list[str]:
        """None: it is read by a call."""
        return []

    @classmethod
    def reading(cls, quat: Any) -> Any:
        """Rotations of quaternions of length one."""
        return cls(_parts(quat, 4))

    @property
    def single(self) -> bool:
        """True if this is one rotation."""
        return np.ndim(self.parts[3]) == 0

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(np.shape(self.parts[3])[0])

    def __getitem__(self, index: Any) -> Any:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotations(tuple(part[index] for part in self.parts))

    def __mul__(self, other: Any) -> Any:
        return Rotations(_normalized(_product(self.parts, _parts_of(other))))

    def __rmul__(self, other: Any) -> Any:
        return Rotations(_normalized(_product(_parts_of(other), self.parts)))

    def __pow__(self, n: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        return from_rotvec(as_doubles(n) * self.as_rotvec())

    def inv(self) -> Any:
        """The inverse."""
        x, y, z, w = self.parts
        return Rotations((-x, -y, -z, w))

    def magnitude(self) -> Any:
        """The angle."""
        *vector, w = self.parts
        return _as_number(2 * np.arctan2(np.sqrt(_squares(*vector)), np.abs(w)))

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """The quaternions; canonical ones have a positive last number."""
        x, y, z, w = parts = self.parts
        if canonical:
            first = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
            parts = tuple(np.where(first < 0, -part, part) for part in parts)
        return np.stack((parts[3], *parts[:3]) if scalar_first else parts, axis=-1)

    def as_matrix(self) -> Any:
        """The matrices."""
        x, y, z, w = self.parts
        twice_x, twice_y, twice_z = 2 * x, 2 * y, 2 * z
        xx, yy, zz = twice_x * x, twice_y * y, twice_z * z
        xy, xz, yz = twice_x * y, twice_x * z, twice_y * z
        xw, yw, zw = twice_x * w, twice_y * w, twice_z * w
        entries = [
            *(1 - (yy + zz), xy - zw, xz + yw),
            *(xy + zw, 1 - (xx + zz), yz - xw),
            *(xz - yw, yz + xw, 1 - (xx + yy)),
        ]
        return np.reshape(np.stack(entries, axis=-1), (*np.shape(x), 3, 3))

    def _half_turn(self) -> tuple[Any, ...]:
        """The quaternions whose last numbers are not negative."""
        is_more = self.parts[3] < 0
        return tuple(np.where(is_more, -part, part) for part in self.parts)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """The rotation vectors."""
        *vector, w = self._half_turn()
        squares = _squares(*vector)
        small = squares <= _SMALL / 4
        series = 2 + squares / 3 + 3 * squares**2 / 20 + 5 * squares**3 / 56
        scale = _chosen(
            small, series, squares, lambda s: 2 * np.arctan2(np.sqrt(s), w) / np.sqrt(s)
        )
        scale = np.rad2deg(scale) if degrees else scale
        return np.stack([scale * part for part in vector], axis=-1)

    def as_mrp(self) -> Any:
        """The modified Rodrigues parameters."""
        *vector, w = self._half_turn()
        return np.stack([part / (1 + w) for part in vector], axis=-1)

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> Any:
        """The angles of rotations about three axes in turn; the third is zero where only its sum
        with the first is known."""
        if options:
            raise unsupported("Rotation.as_euler", f"with {', '.join(options)}", "leave it out.")
        if len(seq) != 3 or any(a == b for a, b in itertools.pairwise(seq)):
            raise ValueError(f"Expected 3 axes, two of which in a row differ, got {seq}.")
        extrinsic = _is_extrinsic(seq)
        found = _euler(self.parts, seq.lower(), extrinsic)
        return np.rad2deg(found) if degrees else found

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors, rotated."""
        vectors = as_doubles(vectors)
        if np.shape(vectors)[-1:] != (3,):
            raise ValueError(f"Expected input of shape (3,) or (P, 3), got {np.shape(vectors)}.")
        if self.single and np.ndim(vectors) > 1:
            matrix = self.as_matrix()
            return vectors @ (matrix if inverse else matrix.T)
        *axis, w = self.inv().parts if inverse else self.parts
        v = _parts(vectors, 3)
        turned = [2 * part for part in _cross(axis, v)]
        further = zip(v, turned, _cross(axis, turned), strict=True)
        return np.stack([one + w * t + last for one, t, last in further], axis=-1)

    def mean(self, weights: Any = None, **options: Any) -> Any:
        """The rotation from which the squares of the angles to all are least."""
        if options or self.single:
            raise unsupported("Rotation.mean", "with an axis, or of one rotation", "leave it out.")
        quat = self.as_quat()
        weighted = quat if weights is None else quat * as_doubles(weights)[:, None]
        return Rotations(_parts(np.linalg.eigh(weighted.T @ quat)[1][:, -1], 4))


def _parts_of(other: Any) -> tuple[Any, ...]:
    if type(other) is Rotations:
        return other.parts
    if isinstance(other, Rotation):
        return _parts(other.as_quat(), 4)
    raise TypeError(f"rotations are multiplied with rotations, not with {type(other).__name__}")


def _is_extrinsic(seq: str) -> bool:
    if not seq or any(letter.lower() not in _AXES for letter in seq):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'], got {seq}")
    if seq.lower() != seq and seq.upper() != seq:
        raise ValueError("Expected axes to be all extrinsic or all intrinsic.")
    return seq.lower() == seq


def _euler(q: Sequence[Any], seq: str, extrinsic: bool) -> Any:
    """The angles: https://doi.org/10.1371/journal.pone.0276302."""
    i, j, k = (_AXES.index(letter) for letter in (seq if extrinsic else seq[::-1]))
    symmetric = i == k
    k = 3 - i - j if symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
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
    parts = _parts(_rows(quat, (4,), "quat"), 4)
    return Rotations(_normalized((*parts[1:], parts[0]) if scalar_first else parts))


@composite(Rotation.from_rotvec)
def from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    """Rotations from vectors along their axes, as long as their angles."""
    rotvec = _rows(rotvec, (3,), "rot_vec")
    vector = _parts(np.deg2rad(rotvec) if degrees else rotvec, 3)
    over, cosines = _half_sine_over(_squares(*vector))
    return Rotations((*(over * part for part in vector), cosines))


@composite(Rotation.from_mrp)
def from_mrp(mrp: Any) -> Any:
    """Rotations from modified Rodrigues parameters."""
    vector = _parts(_rows(mrp, (3,), "mrp"), 3)
    squares = _squares(*vector)
    return Rotations(
        tuple(part / (1 + squares) for part in (*(2 * v for v in vector), 1 - squares))
    )


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
        candidates.append(parts)
    turns = [entry[2][1] - entry[1][2], entry[0][2] - entry[2][0], entry[1][0] - entry[0][1]]
    candidates.append([*turns, 1 + trace])
    sizes = np.stack([entry[0][0], entry[1][1], entry[2][2], trace], axis=-1)
    largest = np.argmax(sizes, axis=-1)
    is_first, is_second, is_third = (largest == k for k in range(3))
    chosen = [
        np.where(is_first, a, np.where(is_second, b, np.where(is_third, c, d)))
        for a, b, c, d in zip(*candidates, strict=True)
    ]
    if not assume_valid:
        excess = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3))
        valid = np.max(excess, axis=(-2, -1)) <= 1e-8
        chosen[3] = np.where(valid, chosen[3], np.nan)
    return Rotations(_normalized(chosen))


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
        if found is None:
            found = tuple(parts)
        else:
            found = _product(parts, found) if extrinsic else _product(found, parts)
    return Rotations(found)


def _concatenated(rotations: Any) -> Any:
    """Rotations, in turn."""
    one = isinstance(rotations, Rotation)
    given = [_parts_of(rotation) for rotation in ([rotations] if one else rotations)]
    columns = zip(*given, strict=True)
    return Rotations(tuple(np.concatenate([np.atleast_1d(x) for x in one]) for one in columns))


answer(Rotation.concatenate, _concatenated)
