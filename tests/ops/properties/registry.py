"""The properties that every sample is checked for, and the report of those that do not hold.

A property is a function of a `Case` that raises where it does not hold. One test item checks all
properties of a sample (tests/ops/test_table.py), so what a property records is there for the next,
and a failing item names each property that fails.
"""

from __future__ import annotations

import traceback
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.ops.cases import CASES_OF, Case

# So many samples of each op are checked by day for the properties that are checked often.
ALWAYS = 1

# Ops of which one sample may take a second: by day, only what one sample in `OFTEN` at least is
# checked for.
OFTEN = 3
DEAR = {
    "coshm", "expm_beside_frechet", "expm_frechet", "fractional_matrix_power", "logm", "lu",
    "lu_factor", "lu_solve", "scipy_solve", "sinhm", "sinm", "solve_continuous_are",
    "solve_discrete_are", "tanhm", "tanm",
}  # fmt: skip


@dataclass
class Property:
    """A check of the samples to which it applies.

    One of `every` so many samples is checked by day, chosen by name, and the others by night; all
    by night where `every` is 0. The first sample of an op is checked by day besides, where `every`
    is `OFTEN` or less, and otherwise that of every third op.
    """

    check: Callable[[Case], None]
    applies: Callable[[Case], bool]
    every: int
    _by_day: dict[str, set[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The property as a sentence."""
        return self.check.__name__.replace("_", " ")

    def is_checked(self, case: Case, night: bool) -> bool:
        """Say whether a sample is checked by day, or, with `night`, by night."""
        if not self.applies(case):
            return False
        return (case.name in self._names_by_day(case.sample.op)) is not night

    def error(self, case: Case) -> Exception | None:
        """The error of the check for a sample; None where the property holds."""
        try:
            self.check(case)
        except Exception as error:
            return error
        return None

    def _names_by_day(self, op: str) -> set[str]:
        """The names of the samples of an op that are checked by day."""
        if op not in self._by_day:
            cases = [case for case in CASES_OF[op] if self.applies(case)]
            self._by_day[op] = {
                case.name
                for number, case in enumerate(cases)
                if self.every == 1 or (self._is_for(op) and self._is_chosen(number, case))
            }
        return self._by_day[op]

    def _is_for(self, op: str) -> bool:
        """Say whether samples of an op are checked by day at all."""
        return op not in DEAR or 0 < self.every <= OFTEN

    def _is_chosen(self, number: int, case: Case) -> bool:
        """Choose by name, so that samples of an op are checked for one property or another."""
        chosen = zlib.crc32(f"{self.name} {case.name}".encode())
        always = number < ALWAYS and (self.every <= OFTEN or chosen % 3 == 0)
        return bool(self.every) and (always or chosen % self.every == 0)


PROPERTIES: list[Property] = []


def sample_property(
    applies: Callable[[Case], bool] = lambda case: True, every: int = 1
) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Register a check as a property of the samples to which it applies."""

    def register(check: Callable[[Case], None]) -> Callable[[Case], None]:
        PROPERTIES.append(Property(check, applies, every))
        return check

    return register


def checked(case: Case, night: bool = False) -> list[Property]:
    """The properties that a sample is checked for by day, or by night."""
    return [one for one in PROPERTIES if one.is_checked(case, night)]


def assert_properties(samples: Iterable[tuple[Case, list[Property]]]) -> None:
    """Check properties of samples, all of them, and fail with each that does not hold."""
    reports = []
    for case, properties in samples:
        errors = {one.name: one.error(case) for one in properties}
        case.forget()
        failed = {name: error for name, error in errors.items() if error is not None}
        if failed:
            reports.append(report(case, failed, len(properties)))
    if reports:
        raise AssertionError("\n\n".join(reports))


def report(case: Case, failed: dict[str, Exception], count: int) -> str:
    """The properties that do not hold for a sample, by name, then each with its traceback."""
    lines = [f"{len(failed)} of {count} properties of {case.name} do not hold:"]
    lines += [f"    {name}: {summary(error)}" for name, error in failed.items()]
    for name, error in failed.items():
        lines += ["", f"---- {case.name}: {name}", *traceback.format_exception(error)]
    return "\n".join(lines)


def summary(error: Exception) -> str:
    """The first line of what an error says."""
    return next(iter(traceback.format_exception_only(error)[-1].splitlines()), "")
