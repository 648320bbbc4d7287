"""Mode: in which way a call of a checked kernel is checked."""

from __future__ import annotations

from typing import NamedTuple


class Mode(NamedTuple):
    """All operations are checked, or with `results_only` those that a result depends on; what is
    found is an error, or with `warn` a warning."""

    results_only: bool = False
    warn: bool = False
