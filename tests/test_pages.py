"""Every block of every page runs, and every page is one that a reader gets through."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import PAGES, WrongOutput, name_of, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory with a cache of its own, in which a page runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_runs_and_prints_what_the_page_says(page: Path, folder: Path) -> None:
    for module in re.findall(r"<!-- needs (\w+) -->", page.read_text("utf-8")):
        pytest.importorskip(module)
    run(page, folder)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```pycon\n>>> 1\n2\n```\n",
        "```python\n>>> 1\n2\n```\n",
        '```python\nprint(1)\n```\n\n```python title="excerpt"\n2\n```\n',
        "```console\n$ echo 1\n2\n```\n",
        "```text\nnobody said this\n```\n",
        "- in a list\n\n  ```pycon\n  >>> 1\n  2\n  ```\n",
    ],
)
def test_what_a_page_says_wrongly_is_found(text: str, folder: Path) -> None:
    page = folder / "page.md"
    page.write_text(text, "utf-8")
    with pytest.raises(WrongOutput, match="page"):
        run(page, folder)
