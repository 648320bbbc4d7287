"""The step and the test of a closed loop: parts of a test in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.trace.control_flow.test_closing import has_while


def test_a_part_of_the_test_that_may_raise_is_asked_last() -> None:
    def first_small(x: Any) -> Any:
        i = 0
        while i < 5 and x[i] > 0.5 and x[4 - i] > 0.1:
            i += 1
        return i * 1.0

    recorded = tj.function(first_small)
    for small in (2, 5, 0, 4):
        x = np.where(np.arange(5) == small, 0.2, 0.9)
        assert recorded(x) == first_small(x) == small
    x = np.where(np.arange(5) == 3, 0.0, 0.9)
    assert recorded(x) == first_small(x) == 1
    assert len(recorded.kernels) == 1
    assert has_while(recorded.source)
    assert "plain Python" not in recorded.explain()
