"""Errors of kernels that nobody sees: a kernel that raises where plain Python does not.

Such a call is made again by Python and answers what it should, so a mistake in generated code would
pass every test. `watched` notes them; tests/conftest.py fails the tests that they happen in, in the
modules that it names.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tracejit.joined import raised_by_kernel
from tracejit.recovery import Recovering

_eagerly = Recovering._eagerly


@contextmanager
def watched() -> Iterator[list[str]]:
    """The errors of kernels meanwhile that Python did not raise."""
    hidden: list[str] = []

    def noted(self: Recovering, args: Any, kwargs: Any, error: BaseException | None = None) -> Any:
        answer = _eagerly(self, args, kwargs, error)
        if error is not None and raised_by_kernel(error):
            hidden.append("".join(traceback.format_exception(error)))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recovering, "_eagerly", noted)
        yield hidden
