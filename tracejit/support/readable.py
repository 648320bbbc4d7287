"""Readable text: the rewrites that `readable=True` leaves out, and what that costs.

A rewrite may make the text longer, or less like the user's, if it saves 5 % of the time in the
median of the programs whose text it changes. Those in `LEFT_OUT` save less, each with the figures
of the cost model under which it is never made.

`python -m tests.benchmarks.readable --write` measures every rewrite, and records what it finds in
tests/benchmarks/readable.json. What stands here is compared with that file.

>>> from tracejit.support.cost_model import costs
>>> with readable_figures():
...     costs().named_number_elements
0
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tracejit.support.cost_model import CostModel, assuming

NEVER = 1 << 60
LEFT_OUT: dict[str, dict[str, Any]] = {
    "statements in place": {"inline_elements": NEVER},
    "names of numbers": {"named_number_elements": 0},
    "value and gradient in one body": {"many_nodes": 0},
    "early release": {"released_body_bytes": NEVER},
    "choices by bits": {"least_choice_elements": NEVER},
    "numbers written one by one": {"most_stacked_numbers": 16},
    "sums as diagonals": {"least_diagonal_elements": NEVER},
    "sums of steps in one": {"least_steps": NEVER},
}
FIGURES = {name: value for figures in LEFT_OUT.values() for name, value in figures.items()}
COST = "in the benchmarks of tracejit 1.08 times the time of the usual form (0.98 to 1.79)"
"""The median of the ratios, the least and the largest."""


def readable_figures() -> AbstractContextManager[CostModel]:
    """Put the cost model in force under which none of these rewrites is made."""
    return assuming(**FIGURES)
