"""The plots of the benchmarks: drawn from the recorded tables, and what pages say of them."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages import DOCS, README

PLOTS = ("benchmarks", "benchmarks_by_program", "benchmarks_first_call")
WORDS = re.compile(r"<text[^>]*>([^<]*)</text>")
SAYING = [README, DOCS / "faq.md", DOCS / "performance.md", DOCS / "benchmarks.md"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module docs/draw_benchmarks.py, where matplotlib is installed."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    spec = importlib.util.spec_from_file_location("draw_benchmarks", DOCS / "draw_benchmarks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    if "draw" not in before:
        sys.modules.pop("draw", None)


def test_plots_are_drawn_as_they_are_committed(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: (DOCS / "images" / f"{name}.svg").read_text("utf-8") for name in PLOTS}
    monkeypatch.setattr(script, "IMAGES", tmp_path)
    script.main()
    for name in PLOTS:
        after = WORDS.findall((tmp_path / f"{name}.svg").read_text("utf-8"))
        # Other versions of matplotlib write other numbers; what is written on the picture stays.
        assert after == WORDS.findall(before[name]), name


def test_every_program_and_engine_is_read(script: Any) -> None:
    warm, first, memory = script.tables()
    names = script.programs(warm)
    assert "rosenbrock/n10" in names and names == script.programs(first) == script.programs(memory)
    for name in names:
        assert {"tracejit ms", "hand ms", "jax ms", "torch ms", "autograd ms"} <= warm[name].keys()
    assert warm["nbody/n8t20"]["jax ratio"] == pytest.approx(
        warm["nbody/n8t20"]["tracejit ms"] / warm["nbody/n8t20"]["jax ms"], rel=0.01
    )


@pytest.mark.parametrize("page", SAYING, ids=lambda page: page.name)
def test_pages_say_what_was_measured(script: Any, page: Path) -> None:
    mean = script.tables()[0][script.MEAN]
    text = page.read_text("utf-8")
    others = ("hand", "jax") if page.name == "faq.md" else ("hand", "jax", "torch", "autograd")
    for other in others:
        assert f"{mean[f'{other} ratio']:.2f}" in text, other


@pytest.mark.parametrize("page", [README, DOCS / "index.md"], ids=lambda page: page.name)
def test_the_picture_is_described_by_its_numbers(script: Any, page: Path) -> None:
    ((said, _),) = re.findall(
        r"!\[(Bars:[^\]]*)\]\(([^)]*benchmarks.svg)\)", page.read_text("utf-8")
    )
    times = script.against_hand(script.tables()[0])
    assert re.findall(r"[\d.]+\b", said) == [f"{times[name]:.3g}" for name in script.ENGINES]
