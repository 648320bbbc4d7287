"""Every block of every page runs, every link leads somewhere, and every page is short."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.pages import (
    DOCS,
    PAGES,
    README,
    ROOT,
    WrongOutput,
    blocks,
    broken_links,
    name_of,
    run,
)
from tests.rows import each_row
from tracejit.support import errors

# Pages to look things up in, and notes; all others are read from beginning to end.
REFERENCES = {"coverage.md", "singular_points.md", "tensorflow_differences.md", "changelog.md"}
READ = [
    page for page in PAGES if page.name not in REFERENCES and DOCS / "notes" not in page.parents
]
MOST_WORDS = 2000
LONG = {"docs/gallery/deblur.md"}  # run by night
SOURCES = [*(ROOT / "tracejit").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory with a cache of its own, in which a page runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if by_day(name_of(page) not in LONG, True)], ids=name_of
)
def test_every_block_runs_and_prints_what_the_page_says(page: Path, folder: Path) -> None:
    for module in re.findall(r"<!-- needs (\w+) -->", page.read_text("utf-8")):
        pytest.importorskip(module)
    run(page, folder)


@each_row("name", LONG)
def test_blocks_of_long_pages_are_python(name: str) -> None:
    scripts = [block.text for block in blocks(ROOT / name) if block.language == "python"]
    assert scripts
    for script in scripts:
        compile(script, name, "exec")


@each_row("page", READ)
def test_a_page_is_read_in_ten_minutes(page: Path) -> None:
    assert len(page.read_text("utf-8").split()) <= MOST_WORDS


@each_row("page", PAGES)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_the_readme_is_read_on_the_package_page_too_where_no_relative_link_leads_anywhere() -> None:
    links = re.findall(r"\]\(([^)]*)\)", README.read_text("utf-8"))
    assert [link for link in links if not link.startswith("https://")] == []


def test_pages_that_the_code_names_are_there() -> None:
    sources = [path for path in SOURCES if path.name != "test_pages.py"]
    scripts = [path for path in (ROOT / ".ci").iterdir() if path.is_file()]
    lost = [
        f"{name_of(source)}: {name}"
        for source in [*sources, *scripts, ROOT / ".mkdocs.yml"]
        for name in re.findall(r"\bdocs/[\w/.]+\.md\b", source.read_text("utf-8"))
        if not (ROOT / name).is_file()
    ]
    assert lost == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / ".mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    listed = re.findall(r"([\w/.]+\.md)$", navigation, re.MULTILINE)
    assert sorted(listed) == sorted(name_of(page)[len("docs/") :] for page in PAGES[1:])


def test_the_reference_has_every_public_name() -> None:
    text = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    shown = {path.rpartition(".")[2] for path in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)}
    aliases = {
        "checkpoint": "recompute_grad",
        "cache": "listing",
        "__version__": "tracejit",
    }
    in_members = set(re.findall(r"^        - (\w+)$", text, re.MULTILINE))
    public = {aliases.get(name, name) for name in tj.__all__} - {"tracejit"}
    assert public - shown - in_members == set()
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.TracejitError)
    }
    assert raised - in_members == set()


def test_the_page_of_settings_has_every_environment_variable_and_option() -> None:
    page = (DOCS / "reference" / "settings.md").read_text("utf-8")
    variables = {
        name
        for source in (ROOT / "tracejit").rglob("*.py")
        for name in re.findall(r"TRACEJIT_[A-Z]+(?:_[A-Z]+)*\b", source.read_text("utf-8"))
    }
    options = set(tj.function(lambda x: x).options._fields)
    missing = {name for name in variables | options if f"`{name}`" not in page}
    assert not missing


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```pycon\n>>> 1\n2\n```\n",
        "```python\n>>> 1\n2\n```\n",
        '```python\nprint(1)\n```\n\n```python title="excerpt"\n2\n```\n',
        "```console\n$ echo 1\n2\n```\n",
        "```text\nnobody said this\n```\n",
        "```\nnobody knows what this is\n```\n",
        "- in a list\n\n  ```pycon\n  >>> 1\n  2\n  ```\n",
    ],
)
def test_what_a_page_says_wrongly_is_found(text: str, folder: Path) -> None:
    page = folder / "page.md"
    page.write_text(text, "utf-8")
    with pytest.raises(WrongOutput, match="page"):
        run(page, folder)


@pytest.mark.parametrize(
    "link",
    [
        "nowhere.md",
        "other.md#no-such-heading",
        "#no-such-heading",
        "http:/example.org",
        "https://an example.org",
        "https://github.com/tracejit/tracejit/blob/main/examples/no_such_file.py",
        "https://tracejit.readthedocs.io/en/latest/no_such_page/",
        "https://tracejit.readthedocs.io/en/latest/glossary/#no-such-heading",
    ],
)
def test_a_link_that_leads_nowhere_is_found(link: str, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n[here](#page), [there](other.md#other), [lost]({link})\n", "utf-8")
    assert broken_links(page) == [link]
