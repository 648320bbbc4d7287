"""Windows: the text of their gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj


def test_the_gradient_adds_windows_where_they_stand() -> None:
    def smoothed(x: Any) -> Any:
        return np.sum(sliding_window_view(x, (3, 2), axis=(1, 2)) ** 2)

    text = tj.grad(tj.function(smoothed, cache=False)).kernel(np.ones((4, 6, 5))).source
    lines = text[text.index("def value_and_grad") :].splitlines()
    start = next(k for k, line in enumerate(lines) if line.endswith("= zeros((4, 6, 5))"))
    assert [line.strip() for line in lines[start:-2]] == [
        "x_bar = zeros((4, 6, 5))",
        "for i in range(3):",
        "for j in range(2):",
        "x_bar[:, i:i + 4, j:j + 4] += out_bar[..., i, j]",
    ]


def test_few_long_windows_are_added_one_by_one() -> None:
    def smoothed(x: Any) -> Any:
        return np.sum(np.sin(sliding_window_view(x, 9)) ** 2)

    text = tj.grad(tj.function(smoothed, cache=False)).kernel(np.ones(11)).source
    assert "for i in range(3):" in text and "x_bar[i:i + 9] += " in text


def test_what_a_loop_adds_is_computed_before_it() -> None:
    def smoothed(x: Any) -> Any:
        return np.sum(np.sin(sliding_window_view(x, 3)) ** 2)

    text = tj.grad(tj.function(smoothed, cache=False)).kernel(np.ones(7)).source
    added = [line for line in text.splitlines() if " += " in line]
    assert added and not any("cos" in line or "*" in line for line in added)
