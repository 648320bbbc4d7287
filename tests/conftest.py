"""What every test needs: the op table, filled, and the helpers of tests/ops on the path."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

import tracejit.ops  # noqa: F401  fills the tables of ops that recordings look into

# A run of the suite tries the same programs everywhere; nightly runs ask for others themselves.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")

TABLES = Path(__file__).parent / "ops"

# The sample tables say `from table import Sample`; tests/ops/test_table.py imports them, not
# pytest.
sys.path.insert(0, str(TABLES))
collect_ignore_glob = ["ops/samples_*.py", "ops/table.py"]
