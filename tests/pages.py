"""The pages that people read, README.md and docs/, and what their fenced blocks say when they run.

A page runs as a reader would type it: its blocks in order, in one namespace and one directory.

| block | what happens |
|---|---|
| `python` | runs; a `text` block below it is what it prints, as doctest compares |
| `pycon`, or `python` with `>>>` | runs as a doctest |
| `python title="NAME.py"` | is written to that file, for blocks below to import |
| `python title="excerpt"` | was part of what was printed so far |
| `python title="fragment"` | is Python, and does not run: part of a file somewhere else |
| `python title="JAX"`, another library | the same: shown beside a block of ours that runs |
| `console` | lines after `$ ` run as commands, and print what stands below them |
| `text title="for example"`, `console` too | the same, but for the numbers: times, sizes, hashes |
| `sh` | is a command for the reader's own machine: only its syntax is looked at |
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import linecache
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
OTHER_LIBRARIES = {"autograd", "JAX", "TensorFlow", "PyTorch", "SymPy"}
VARYING = re.compile(r"(?<=__)[0-9a-f]{8}\b|\d[\d.]*(?: *(?:[mu]?s|[kM]?B)\b)?| +|-{2,}")
COMMANDS = {"tracejit": f"{sys.executable} -m tracejit", "python": sys.executable}
COMMAND = re.compile(r"^((?:[A-Z_]+=\S* )*)(tracejit|python)(?= )")  # behind its variables


class Block(NamedTuple):
    """A fenced block: its language, its title, its text and the line that its text begins at."""

    language: str
    title: str
    text: str
    line: int

    @property
    def is_session(self) -> bool:
        """It has prompts and answers."""
        return self.language in ("python", "pycon") and bool(
            re.search("^>>> ", self.text, re.MULTILINE)
        )


class WrongOutput(AssertionError):
    """A block that does not say what the page says: where, and what it says instead."""


def name_of(page: Path) -> str:
    """The path of a page in the repository."""
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        inside = re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        yield Block(found["language"], found["title"] or "", inside, line)


def run(page: Path, folder: Path) -> None:
    """Run the blocks of `page` in `folder`; WrongOutput, or the error of a block, where one is
    not as the page has it."""
    session = _Session(page, folder)
    for block in blocks(page):
        session.run(block)


class _Session:
    """The state that blocks of one page share."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = name_of(page)
        self.file = page.name
        _show_in_tracebacks(self.file, _scripts(page))
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        self.last: str | None = None  # what a `text` block that comes next has to say

    def run(self, block: Block) -> None:
        expected, self.last = self.last, None
        if block.is_session:
            self._converse(block)
        elif block.language == "python":
            self._python(block)
        elif block.language == "console":
            self._commands(block)
        elif block.language == "text" and expected is not None:
            self._compare(block, block.text, expected)
        elif block.language == "sh":
            subprocess.run(["sh", "-n", "-c", block.text], check=True)
        else:
            raise WrongOutput(f"{self._place(block)}: nothing says how to run this block")

    def _python(self, block: Block) -> None:
        if block.title.endswith(".py"):
            (self.folder / block.title).write_text(block.text, "utf-8")
        elif block.title == "excerpt":
            if block.text not in self.printed:
                raise WrongOutput(f"{self._place(block)}: not in what was printed")
        elif block.title in {"fragment", *OTHER_LIBRARIES}:
            ast.parse(block.text)
        else:
            above = "\n" * (block.line - 1)  # so that places are those of the page
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(above + block.text, self.file, "exec"), self.names)
            self._has_printed(out.getvalue())

    def _converse(self, block: Block) -> None:
        name = self._place(block)
        examples = doctest.DocTestParser().get_examples(block.text, name)
        for number, example in enumerate(examples):
            _show_in_tracebacks(f"<doctest {name}[{number}]>", example.source)
        test = doctest.DocTest(examples, {}, name, self.page, block.line - 1, block.text)
        test.globs = self.names  # which DocTest would copy
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        if runner.run(test, out=report.append, clear_globs=False).failed:
            raise WrongOutput("".join(report))

    def _commands(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, wanted = part.partition("\n")
            ran = subprocess.run(
                COMMAND.sub(lambda found: found[1] + COMMANDS[found[2]], command),
                shell=True,
                cwd=self.folder,
                env=os.environ | {"COLUMNS": "100"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self._has_printed(ran.stdout)
            if wanted.strip():
                self._compare(block, wanted, ran.stdout)

    def _has_printed(self, text: str) -> None:
        self.printed += text
        self.last = text

    def _compare(self, block: Block, wanted: str, got: str) -> None:
        if sys.version_info < (3, 11):  # which knows no columns to mark in a line
            wanted = re.sub(r"^[ .]*\^+\n", "", wanted, flags=re.MULTILINE)
        if block.title == "for example":
            wanted, got = VARYING.sub("#", wanted), VARYING.sub("#", got)
        same = doctest.OutputChecker().check_output(
            wanted.rstrip() + "\n", got.rstrip() + "\n", doctest.ELLIPSIS
        )
        if not same:
            raise WrongOutput(f"{self._place(block)}: prints\n{got}\nand not\n{wanted}")

    def _place(self, block: Block) -> str:
        return f"{self.page}:{block.line}"


def _scripts(page: Path) -> str:
    """The scripts of a page, each line where it stands there, and all other lines empty."""
    lines = [""] * len(page.read_text("utf-8").splitlines())
    for block in blocks(page):
        if block.language == "python" and not block.title and not block.is_session:
            own = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(own)] = own
    return "\n".join(lines) + "\n"


def _show_in_tracebacks(place: str, source: str) -> None:
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)


# Links. Where the repository and the site are, which the absolute links of README and docs name.
REPOSITORY = re.compile(r"https://github\.com/tracejit/tracejit/(?:blob|tree|raw)/main/([^#]+)")
SITE = re.compile(r"https://tracejit\.readthedocs\.io/en/latest/([^#]*?)/?(?:#(.*))?")
EXTERNAL = re.compile(r"https?://[\w-]+(\.[\w-]+)+(:\d+)?(/[\w./~%+,=&?#:;!()-]*)?")
LINK = re.compile(r"\]\(([^()\s]*(?:\([^()]*\))?[^()]*?)\)")


def broken_links(page: Path) -> list[str]:
    """The links of `page` that lead nowhere; of those to other sites only the form is looked at."""
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text("utf-8")))
    return [link for link in LINK.findall(text) if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    if found := REPOSITORY.fullmatch(link):
        return (ROOT / found[1]).exists()
    if found := SITE.fullmatch(link):
        path = found[1] or "index"
        target = next(
            (each for each in (DOCS / f"{path}.md", DOCS / path / "index.md") if each.is_file()),
            None,
        )
        return target is not None and (not found[2] or found[2] in _anchors(target))
    if link.startswith(("http:", "https:")):
        return EXTERNAL.fullmatch(link) is not None
    path, _, anchor = link.partition("#")
    target = (page.parent / path) if path else page
    if not target.is_file():
        return False
    return not anchor or anchor in _anchors(target)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page: of its headings, as Python-Markdown makes them, and of the names whose
    docstrings it shows."""
    text = FENCE.sub("", page.read_text("utf-8"))
    anchors = set(re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE))
    for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        words = re.sub(r"[^\w\s-]", "", plain).strip().lower()
        anchors.add(re.sub(r"[-\s]+", "-", words))
    return anchors
