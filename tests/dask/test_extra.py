"""The extra that tracejit.dask needs: what is said where it is missing."""

from __future__ import annotations

from tests.support.processes import python

WITHOUT_DASK = """
import sys

sys.modules["dask"] = None  # which is how Python is told that there is none
import tracejit
try:
    import tracejit.dask
except ModuleNotFoundError as error:
    print(error.name, error)
"""


def test_where_dask_is_missing_the_extra_is_named() -> None:
    told = "dask tracejit.dask needs Dask: pip install 'tracejit[dask]'\n"
    assert python(WITHOUT_DASK) == told
