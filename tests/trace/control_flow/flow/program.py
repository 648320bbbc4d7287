"""The table of programs with control flow on data."""

from __future__ import annotations

from tests.trace.control_flow.flow_table import Table

program = Table()
