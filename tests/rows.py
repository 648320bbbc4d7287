"""A table of rows as one test item, where pytest takes longer for an item than a row does."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

PARAMETERS = type(pytest.param())


def each_row(
    names: str | Sequence[str], rows: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of every row, as with `pytest.mark.parametrize`, but in one item for all.

    All rows are tried, and the item fails with each that does not hold. Fixtures are those of the
    item: a test whose fixtures must be fresh for each row is parametrized.
    """
    own = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    table = [values_of(row, len(own)) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def of_all(**fixtures: Any) -> None:
            assert table, "there are no rows"
            failed: list[str] = []
            for number, row in enumerate(table):
                values = dict(zip(own, row, strict=True))
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:
                    lines = traceback.format_exception(error)
                    failed.append(f"row {number} of {test.__name__}, {values}:\n{''.join(lines)}")
            if failed:
                raise AssertionError(f"{len(failed)} of {len(table)} rows:\n" + "\n".join(failed))

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in own]
        vars(of_all)["__signature__"] = signature.replace(parameters=kept)
        return of_all

    return decorate


def values_of(row: Any, count: int) -> Sequence[Any]:
    """The `count` values of a row, which `pytest.param` may have made."""
    if isinstance(row, PARAMETERS):
        assert not row.marks, "a row has no marks"
        return row.values
    return row if count > 1 else (row,)
