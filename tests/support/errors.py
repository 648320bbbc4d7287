"""The errors that calls end in."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def refusal(kind: type[E], call: Callable[[], Any]) -> E:
    """The error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """What a call answers or raises, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(*args)
        except Exception as error:
            return error
