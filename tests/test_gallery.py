"""The pictures of the gallery: there, small, and legible on light and dark pages."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
PAGES = sorted(path for path in GALLERY.glob("*.md") if path.stem != "index")
PICTURE = re.compile(r"!\[([^\]]*)\]\(images/(\w+\.svg)\)")

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def drawing() -> Any:
    """The module docs/gallery/draw.py, where matplotlib is installed."""
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("draw", GALLERY / "draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@by_name
def test_a_page_shows_its_picture_and_says_what_is_on_it(page: Path) -> None:
    ((said, name),) = PICTURE.findall(page.read_text("utf-8"))
    assert name == f"{page.stem}.svg"
    assert len(said) > 40


@by_name
def test_a_picture_is_small_and_has_colours_for_light_and_dark(page: Path) -> None:
    picture = GALLERY / "images" / f"{page.stem}.svg"
    assert picture.stat().st_size < 60_000
    text = picture.read_text("utf-8")
    assert "prefers-color-scheme:dark" in text
    # What is drawn takes the colours of the scheme: only the black and white of shades are fixed.
    drawn = text[text.index("</style>") :]
    assert set(re.findall(r"#[0-9a-fA-F]{6}", drawn)) <= {"#000000", "#ffffff"}


def test_every_page_is_in_the_index_and_has_a_drawing() -> None:
    index = (GALLERY / "index.md").read_text("utf-8")
    assert sorted(re.findall(r"\]\((\w+)\.md\)", index)) == [page.stem for page in PAGES]
    tree = ast.parse((GALLERY / "draw.py").read_text("utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {page.stem for page in PAGES} <= functions


def test_a_picture_is_drawn_as_it_is_committed(tmp_path: Path, monkeypatch) -> None:
    draw = drawing()
    before = (GALLERY / "images" / "o_rings.svg").read_text("utf-8")
    names = draw.run(GALLERY / "o_rings.md")
    monkeypatch.setattr(draw, "IMAGES", tmp_path)
    draw.save(draw.o_rings(names), "o_rings")
    after = (tmp_path / "o_rings.svg").read_text("utf-8")
    # Other versions of matplotlib write other numbers; what is written on the picture stays.
    words = re.compile(r"<text[^>]*>([^<]*)</text>")
    assert words.findall(after) == words.findall(before)
    assert "forecast for the launch: 31 °F" in words.findall(after)
