"""Functions that are hard to ship: each module is imported as any other, and answers the same."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.shipped_functions import REFUSED, Case, case
from tests.support.processes import imported
from tracejit.support.errors import UnsupportedError

CHUNK = 12
CLONGDOUBLE = type(REFUSED[-1])


def called(module: ModuleType, one: Case) -> Any:
    """The answer of the module, which may lack parameters of the function."""
    given = inspect.signature(one.function).bind(*one.args, **one.kwargs).arguments
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in inspect.signature(module.call).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += given.get(name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= given.get(name, {})
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs |= {name: given[name]} if name in given else {}
        else:
            args.append(given[name])
    return module.call(*args, **kwargs)


def spelled(value: Any) -> Any:
    """A value with its classes and bits; a nan is a nan."""
    if isinstance(value, (np.ndarray, np.generic)):
        parts = np.asarray(value)
        bits = [repr(x) for x in parts.ravel()] if parts.dtype.kind in "fc" else parts.tobytes()
        return type(value).__name__, parts.dtype, parts.shape, bits
    if isinstance(value, (tuple, list)):
        return type(value).__name__, list(map(spelled, value))
    if isinstance(value, dict):
        return type(value).__name__, [(key, spelled(one)) for key, one in value.items()]
    if isinstance(value, slice):
        return slice, spelled(value.start), spelled(value.stop)
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("start", range(0, by_day(96, 240), CHUNK))
def test_modules_answer_to_the_bit(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + CHUNK):
        one = case(seed)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = tj.function(one.function, exact=True)
            options: Any = {"path": tmp_path / f"made_{seed}.py", "grad": False, **one.kwargs}
            try:
                module = imported(tj.export(function, *one.args, **options))
            except UnsupportedError as error:
                assert "clongdouble" in str(error) and CLONGDOUBLE in map(type, one.declined), seed
                continue
            wanted = one.function(*one.args, **one.kwargs)
            assert spelled(called(module, one)) == spelled(wanted), seed
