"""Derivatives by differences and by complex step, of functions of arrays, one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

COMPLEX_STEP = 1e-30
LONGER = 20.0  # where the function may go through lower precision than its arguments have
SHORTER = (1.0, 0.1, 0.01, 0.001)
# By the precision of what is computed: the step of differences, and what is demanded.
STEPS = {2: 4e-2, 4: 4e-2, 8: 2e-3}
DEMANDS = {2: 2e-2, 4: 2e-3, 8: 2e-6}
EXACT = 1e-9  # where the complex step answers


class Settings(NamedTuple):
    """The step of differences and what may differ, None for what `itemsize` suggests: the bytes of
    the lowest precision."""

    eps: float | None
    rtol: float | None
    atol: float | None
    itemsize: int


class Element(NamedTuple):
    """One element of one argument: both derivatives, and how the numeric one was found."""

    leaf: int
    at: tuple[int, ...]
    analytic: complex
    numeric: complex
    by: str
    excess: float


class Slopes:
    """Derivatives of one real number made of a level's results, by differences."""

    def __init__(
        self,
        function: Callable[[Sequence[Any]], list[Any]],
        xs: Sequence[Any],
        seeds: Sequence[Any],
        settings: Settings,
        plain: bool,
        takes_complex: bool = True,
    ) -> None:
        """The inner product of function(xs) with `seeds`; a `plain` one is Python's alone, which
        takes double precision, and where all of it is NumPy's, complex numbers."""
        self.function = function
        self.xs = xs
        self.seeds = seeds
        self.settings = settings
        self.plain = plain
        arrays = (*xs, *seeds)
        is_real = not any(array.dtype.kind == "c" for array in arrays)
        self.complex_works = plain and takes_complex and is_real

    def wrong(self, leaf: int, indices: Sequence[Any], found: Sequence[complex]) -> list[Element]:
        """The elements of an argument whose derivatives are not these."""
        largest = max((abs(g) for g in found if np.isfinite(g)), default=0.0)
        entries = [self._entry(leaf, *pair, largest) for pair in zip(indices, found, strict=True)]
        return [entry for entry in entries if entry.excess > 1.0]

    def _entry(self, leaf: int, index: Any, analytic: complex, largest: float) -> Element:
        """One element: the first numeric derivative that agrees, or the one that is nearest."""
        tried = []
        rough = DEMANDS[self.settings.itemsize]
        exact = self._complex_step(leaf, index) if self.complex_works else None
        lower = self.plain and self.settings.itemsize < 8
        for shorter in (LONGER, *SHORTER) if lower else SHORTER:
            numeric, floor = self._difference(leaf, index, shorter)
            if exact is not None and abs(exact - numeric) <= rough * abs(exact) + floor:
                tight = EXACT if self.settings.itemsize == 8 else rough
                entry = self._judged(leaf, index, analytic, exact, largest, tight, 0.0)
                return entry._replace(by="by complex step")
            entry = self._judged(leaf, index, analytic, numeric, largest, rough, floor)
            if entry.excess <= 1.0:
                return entry
            tried.append(entry)
        return min(tried, key=lambda entry: entry.excess)

    def _judged(
        self,
        leaf: int,
        index: Any,
        analytic: complex,
        numeric: complex,
        largest: float,
        demand: float,
        floor: float,
    ) -> Element:
        settings = self.settings
        relative = demand if settings.rtol is None else settings.rtol
        absolute = max(floor, 1e-14) if settings.atol is None else settings.atol
        allowed = relative * max(largest, abs(numeric)) + absolute
        excess = abs(analytic - numeric) / allowed if allowed else np.inf
        if analytic == numeric:
            excess = 0.0
        elif not np.isfinite(excess):
            excess = np.inf
        return Element(leaf, index, analytic, numeric, "by differences", excess)

    def _results(self, leaf: int, index: Any, step: complex) -> list[Any]:
        """The results where one element has moved by `step`."""
        xs = [doubled(x) for x in self.xs] if self.plain else list(self.xs)
        moved = np.array(xs[leaf], dtype=np.result_type(xs[leaf], type(step)))
        moved[index] += step
        xs[leaf] = in_form(moved, self.xs[leaf])
        return self.function(xs)

    def _complex_step(self, leaf: int, index: Any) -> float | None:
        try:
            results = self._results(leaf, index, 1j * COMPLEX_STEP)
        except Exception:
            self.complex_works = False  # something on the way is for real numbers
            return None
        if any(np.asarray(y).dtype.kind != "c" for y in results):
            return None
        pairs = zip(self.seeds, results, strict=True)
        return float(sum(np.sum(seed * np.imag(y)) for seed, y in pairs) / COMPLEX_STEP)

    def _difference(self, leaf: int, index: Any, shorter: float) -> tuple[complex, float]:
        """By differences at three steps; and what rounding may have made of it."""
        x = self.xs[leaf]
        size = 8 if self.plain else self.settings.itemsize
        eps = STEPS[size] if self.settings.eps is None else self.settings.eps
        step = eps * shorter * max(1.0, float(abs(x[index])))
        found, magnitude = 0.0 + 0.0j, 0.0
        for unit in (1.0, 1.0j) if x.dtype.kind == "c" else (1.0,):
            slopes = []
            for part in (1.0, 0.5, 0.25):
                ahead = self._results(leaf, index, unit * step * part)
                behind = self._results(leaf, index, -unit * step * part)
                both = zip(self.seeds, ahead, behind, strict=True)
                total = sum(inner(seed, np.subtract(a, b)) for seed, a, b in both)
                slopes.append(total / (2 * step * part))
            one, half, quarter = slopes
            coarse, fine = (4 * half - one) / 3, (4 * quarter - half) / 3
            found += unit * (16 * fine - coarse) / 15
            pairs = zip(self.seeds, ahead, strict=True)
            magnitude += sum(float(np.sum(np.abs(seed * y))) for seed, y in pairs)
        rounding = {2: 1e-3, 4: 1.2e-7, 8: 2.2e-16}[size]
        return found, 20 * rounding * magnitude / step


def in_form(array: Any, like: Any) -> Any:
    """An array of no axes as a NumPy scalar, where `like` is one."""
    return array if type(like) is np.ndarray else np.asarray(array)[()]


def doubled(x: Any) -> Any:
    """A copy in double precision."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def inner(seed: Any, y: Any) -> float:
    """Re(sum(conj(seed) * y))."""
    return float(np.sum(np.conj(seed) * y).real)
