"""Reasons to record a function again, otherwise: no `except Exception` of the user's is meant. And
the conditions and loops that are recorded for what a call does."""

from __future__ import annotations

from types import FrameType
from typing import NamedTuple

from tracejit.ir.location import NOWHERE, Location
from tracejit.ir.step_sizes import NotForAllSteps
from tracejit.trace.source import places

Line = tuple[str, int]
"""The name of a file, and the number of a line."""


class Recorded(NamedTuple):
    """The words for how a condition or loop is recorded: `each` as it is, `once` as it might be,
    and the `cure`."""

    each: str
    once: str
    cure: str


CONDITION = Recorded(
    "for one side at a time",
    "both sides",
    "let both sides only compute, or choose between numbers with np.where(condition, a, b)",
)
WHILE = Recorded(
    "for each number of trips",
    "one step for all",
    "let the body only compute, or write tj.while_loop",
)
FOR = Recorded(
    "step by step",
    "one step for all",
    "let the body only compute, or write tj.fori_loop or tj.scan",
)
CHOSEN = FOR._replace(cure="")
"""The record of a loop whose steps are better recorded one by one: there is nothing to tell."""


class MustKeepApart(BaseException):
    """A recording has taken what is differentiated by for something else: it must keep apart what
    computes the same. No `except Exception` of the user's is meant."""


class Refused(BaseException):
    """A side of a condition does more than compute. No `except Exception` of the user's is
    meant."""


class OnceMore(Refused):
    """The step of a loop is recorded once more, with what is known of it now."""


class BetterApart(Refused):
    """The steps of a loop are better recorded one by one."""


class CheckFailed(Refused):
    """Something raises in this call: Python runs the code, and raises the error."""


class RefusedLoop(Refused):
    """A side of a condition leaves a loop whose steps cannot be recorded once."""


class MustNotFork(BaseException):
    """The function must be recorded again, with one side of each condition, for a `reason`: what
    conditions have merged would be told apart. No `except Exception` of the user's is meant."""

    def __init__(self, reason: str = "a number is Python's on one side and NumPy's on another"):
        """No `except Exception` of the user's is meant."""
        super().__init__(reason)


class WrittenArray(BaseException):
    """Something recorded is written to a plain array that a `line` makes: it must be
    recorded, too. No `except Exception` of
    the user's is meant."""

    def __init__(self, line: Line) -> None:
        """The function must be recorded again."""
        super().__init__(line)
        self.line = line


class GivenUp(NamedTuple):
    """A condition or loop on data that is recorded for what a call does, and why."""

    where: Location
    reason: str
    recorded: Recorded

    @classmethod
    def by(cls, error: BaseException | None, recorded: Recorded) -> GivenUp:
        """The one at the line that runs, in which `error` was raised."""
        frame = places.user_frame()
        where = NOWHERE if frame is None else places.location(frame).location
        is_told = isinstance(error, (Refused, NotForAllSteps))
        recorded = WHILE if isinstance(error, RefusedLoop) else recorded
        recorded = CHOSEN if isinstance(error, BetterApart) else recorded
        reason = str(error) if is_told else f"it raises {type(error).__name__}"
        text = "" if error is None else _raising(error, frame)
        if not text:
            return cls(where, reason, recorded)
        is_subject = reason.startswith("it ")
        reason = f"`{text}` {reason[3:]}" if is_subject else f"{reason} in `{text}`"
        return cls(where, reason, recorded)

    def tell(self) -> str:
        """A line that names it, with the reason and the cure."""
        name = self.where.function.rpartition(".")[2]
        each, once, cure = self.recorded
        return (
            f"`{self.where.text}` in {name} is recorded {each}, because {self.reason}. "
            f"To record {once}: {cure}."
        )


def _raising(error: BaseException, frame: FrameType | None) -> str:
    """The text of the user's innermost line that raised an error, unless it is where a frame is."""
    text, trace = "", error.__traceback__
    while trace is not None:
        raising = trace.tb_frame
        if raising is frame and trace.tb_lineno == frame.f_lineno:
            text = ""
        elif not places.is_internal(raising):
            text = places.source_of(raising.f_code).text(trace.tb_lineno)
        trace = trace.tb_next
    return text
