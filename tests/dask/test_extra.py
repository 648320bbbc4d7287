"""The extra that tracejit.dask needs: what is said where it is missing."""

from __future__ import annotations

import subprocess
import sys

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
    command = [sys.executable, "-W", "error", "-c", WITHOUT_DASK]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == "dask tracejit.dask needs Dask: pip install 'tracejit[dask]'\n"
