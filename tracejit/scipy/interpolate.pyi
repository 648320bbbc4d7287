"""scipy.interpolate, recordable: its types are SciPy's, where stubs of SciPy are installed."""

from typing import Any

from scipy.interpolate import *

def __getattr__(name: str) -> Any: ...
