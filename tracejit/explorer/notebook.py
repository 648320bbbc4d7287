"""Notebook: highlighted code, and the small explorer, as fragments of HTML in a cell's output.

Their styles are for elements inside `.tj` alone, and one set of listeners serves all of them; so
any number may stand in a notebook. Without scripts they show the same code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.explorer.highlight import escaped, highlighted
from tracejit.explorer.page import asset
from tracejit.explorer.panes import Code, Pane, code_of
from tracejit.explorer.story import Story

# What a notebook saves of one output stays small.
MOST_LINES = 600


def source_fragment(text: str) -> str:
    """The text of a module, highlighted."""
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(highlighted(lines[:MOST_LINES]))
    more = len(lines) - MOST_LINES
    cut = f"\n... {more} lines more" if more > 0 else ""
    return (
        f"<div class='tj cell'>{_style()}<div class=code><pre class=text><code>{shown}{cut}"
        "</code></pre></div></div>"
    )


def explorer_fragment(title: str, stories: Sequence[Story], told: str = "") -> str:
    """The newest of these kernels beside the user's code; `told` is said above it."""
    first, _, rest = told.partition("\n")
    parts = [f"<div class='tj cell kernel'>{_style()}<div class=told><b>{escaped(title)}</b>"]
    first = first.removeprefix(title).strip()
    parts.append(f" {escaped(first)}" if first else "")
    if rest:
        lines = "<br>".join(escaped(line) for line in rest.split("\n"))
        parts.append(
            f"<details{' open' * (rest.count(chr(10)) < 2)}><summary>why</summary>{lines}</details>"
        )
    parts.append("</div>")
    if stories:
        parts += _panes(code_of(stories[-1].kernel, stories[-1].root))
    return "".join([*parts, f"<script>{asset('links.js')}</script></div>"])


def _style() -> str:
    return f"<style>{asset('style.css')}{asset('notebook.css')}</style>"


def _panes(code: Code) -> Iterator[str]:
    yield "<div class=columns><div class='code user' tabindex=0><div class=rows>"
    for pane in code.user:
        yield f"<h4>{escaped(pane.title)}</h4>{pane.html}"
    yield "</div></div><div class=made>"
    first = next(iter(code.functions), "")
    for name, pane in code.functions.items():
        yield from _function(pane, name in (first, "forward", "backward"))
    yield "</div></div>"


def _function(pane: Pane, is_open: bool) -> Iterator[str]:
    yield f"<details{' open' * is_open}><summary>{escaped(pane.title)}</summary>"
    if pane.lines > MOST_LINES:
        yield f"<p>{pane.lines} lines: .to_html(path) writes a page that shows them.</p>"
    else:
        yield f"<div class=code tabindex=0><div class=rows>{pane.html}</div></div>"
    yield "</details>"
