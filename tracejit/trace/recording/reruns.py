"""Reasons to record a function again, otherwise: no `except Exception` of the user's is meant. And
what such recordings have found out about loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType

from tracejit.ir.location import Location
from tracejit.ir.types import ArrayType
from tracejit.trace.source import places

Site = tuple[CodeType, int]
MOST_LATE = 4
CURE = "let the body only compute, or write tj.while_loop"


class MustKeepApart(BaseException):
    """A recording has taken what is differentiated by for something else: it must keep apart what
    computes the same. No `except Exception` of the user's is meant."""


class CannotClose(BaseException):
    """The function must be recorded again: the loop at `site` is not closed, for a `reason`; or it
    may be, with more known of its variables, and there is none."""

    def __init__(self, site: Site, reason: str = "") -> None:
        """No `except Exception` of the user's is meant."""
        super().__init__(reason)
        self.site = site
        self.reason = reason


class Learned:
    """Knowledge of the loops of one call, from its recordings: the types of variables that a step
    changes from what they begin with, and at which loops to open one trip later, when they have
    settled. Loops are numbered in the order in which they may open."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.types: dict[int, dict[str, ArrayType]] = {}
        self.late: dict[int, Site] = {}

    def learn(self, number: int, types: Mapping[str, ArrayType]) -> None:
        """Note the types that variables of a loop have after a step."""
        self._forget_after(number)
        self.types.setdefault(number, {}).update(types)

    def may_wait(self, number: int, site: Site) -> bool:
        """Let a loop open one trip later, unless it has done so too often."""
        self._forget_after(number)
        if [*self.late.values()].count(site) < MOST_LATE:
            self.late[number] = site
        return number in self.late

    def _forget_after(self, number: int) -> None:
        """Forget the loops after this one, which may have begun otherwise."""
        self.types = {key: types for key, types in self.types.items() if key <= number}
        self.late = {key: site for key, site in self.late.items() if key <= number}


class Closing:
    """The reasons why loops of one function are not closed."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.refused: dict[Site, str] = {}

    def tell(self) -> Iterator[str]:
        """A line for each loop that is recorded trip by trip: why, and what to write instead."""
        for (code, line), reason in self.refused.items():
            text = places.source_of(code).text(line)
            yield (
                f"`{text}` in {code.co_name} is recorded for each number of trips, because "
                f"{reason}. To record one step for all: {CURE}."
            )

    def why(self, where: Location) -> str:
        """The reason why the loop with its test at a place is recorded trip by trip, if it is."""
        name = where.function.rpartition(".")[2]
        for (code, line), reason in self.refused.items():
            if code.co_name == name and places.source_of(code).text(line) == where.text:
                return reason
        return ""
