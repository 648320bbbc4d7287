"""The table of functions of libraries."""

from __future__ import annotations

from tests.trace.convert.table import Table

library = Table()
