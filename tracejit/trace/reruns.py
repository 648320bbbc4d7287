"""Reasons to record a function again, otherwise: no `except Exception` of the user's is meant."""

from __future__ import annotations

from types import CodeType

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
