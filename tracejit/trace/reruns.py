"""Reasons to record a function again, otherwise: no `except Exception` of the user's is meant. And
what such recordings have found out about loops."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from tracejit.ir.types import ArrayType
from tracejit.trace import places

Site = tuple[CodeType, int]


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


class Closing:
    """Knowledge of the loops of one function, from its recordings: why those that are `refused` are
    not closed, and the types of variables that a step changes from what they begin with."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.refused: dict[Site, str] = {}
        self.types: dict[tuple[Site, str], ArrayType] = {}

    def tell(self) -> Iterator[str]:
        """A line for each loop that is recorded trip by trip: why, and what to write instead."""
        for (code, line), reason in self.refused.items():
            text = places.source_of(code).text(line)
            yield (
                f"`{text}` in {code.co_name} is recorded for each number of trips, because "
                f"{reason}. To record one step for all: let the body only compute, or write "
                "tj.while_loop."
            )
