"""Explorer page: one HTML file that shows kernels beside the user's code.

The file needs no network, and a policy in its head forbids it any. User code and all names and data
are escaped text in it (`highlight.escaped`); none of them is part of a script, and the policy lets
no script run but the one of the page, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from tracejit.explorer.highlight import escaped
from tracejit.explorer.kernel_view import kernel_view
from tracejit.explorer.story import Story, call_told
from tracejit.version import __version__

_KEYS = {
    "\N{UPWARDS ARROW} \N{DOWNWARDS ARROW}": "the line before, the next line",
    "\N{LEFTWARDS ARROW} \N{RIGHTWARDS ARROW}": "the same place in the pane beside it",
    "Enter": "keep the highlight, or remove it",
    "Esc": "let it go",
    "1 ... 9": "kernel 1 ... 9",
    "c": "compare two kernels",
    "t": "light, dark, or as the system has it",
    "+ - 0": "in the graph: zoom in, zoom out, show all of it",
    "?": "this list",
}


@cache
def asset(name: str) -> str:
    """The text of a file beside this one."""
    return resources.files("tracejit.explorer").joinpath(name).read_text(encoding="utf-8")


def page_of(title: str, subtitle: str, stories: Sequence[Story]) -> str:
    """The page of these kernels; those of one function are its tabs."""
    script = asset("links.js") + asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    views = "".join(
        kernel_view(story, number, number > 1) for number, story in enumerate(stories, 1)
    )
    return (
        "<!doctype html>\n"
        f"<html lang=en><head><meta charset=utf-8><meta http-equiv=Content-Security-Policy "
        f'content="{policy}">'
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)} \N{MIDDLE DOT} tracejit</title>"
        f"<style>{asset('style.css')}{asset('page.css')}</style>"
        "<noscript><style>.kernel[hidden], .rows[hidden] { display: block !important }"
        " .tools, .tabs, .compare, .status { display: none }</style></noscript>"
        "</head><body class='tj page'>"
        f"<header><h1>{escaped(title)}</h1><p>{escaped(subtitle)}</p><div class=tools>"
        "<button data-theme=auto title='light or dark'>Auto</button>"
        "<button data-help>Keys <kbd>?</kbd></button></div></header>"
        f"<main>{_tabs(stories)}{views}{_comparison(len(stories))}"
        "<div class=status role=status aria-live=polite>Point at a line, or click it to keep it: "
        "what was made from it lights up. <kbd>?</kbd> lists the keys.</div></main>"
        f"{_help()}<script>{script}</script></body></html>\n"
    )


def subtitle_of(place: str, stories: Sequence[Story]) -> str:
    """The line under the title: where the function stands, and what made the page."""
    kernels = len(stories)
    count = f"{kernels} kernels" if kernels > 1 else ""
    parts = [place, count, f"tracejit {__version__}"]
    return " \N{MIDDLE DOT} ".join(part for part in parts if part)


def write(page: str, path: str | os.PathLike[str] | None) -> str:
    """`page`, written to a file where a path is given."""
    if path is not None:
        Path(path).write_text(page, encoding="utf-8", newline="\n")
    return page


def _tabs(stories: Sequence[Story]) -> str:
    if len(stories) < 2:
        return ""
    tabs = []
    for number, story in enumerate(stories, 1):
        kinds = call_told(story)
        kinds = kinds if len(kinds) <= 28 else f"{kinds[:27]}\N{HORIZONTAL ELLIPSIS}"
        tabs.append(
            _tab(f"kernel-{number}", f"{number} <code>{escaped(kinds)}</code>", number == 1)
        )
    tabs.append(_tab("compare", "Compare", False))
    return f"<div class=tabs role=tablist aria-label=kernels>{''.join(tabs)}</div>"


def _tab(controls: str, label: str, is_selected: bool) -> str:
    state = "aria-selected=true" if is_selected else "aria-selected=false tabindex=-1"
    return f"<button role=tab aria-controls={controls} {state}>{label}</button>"


def _comparison(count: int) -> str:
    if count < 2:
        return ""
    selects = [
        "<select aria-label='kernel to compare'>"
        + "".join(
            f"<option value=kernel-{number}{' selected' * (number == chosen)}>kernel {number}"
            for number in range(1, count + 1)
        )
        + "</select>"
        for chosen in (1, 2)
    ]
    return (
        "<section class=compare id=compare role=tabpanel aria-label=comparison hidden>"
        f"<p>{selects[0]} beside {selects[1]}</p><div class=diff></div></section>"
    )


def _help() -> str:
    rows = "".join(
        f"<tr><td><kbd>{escaped(key)}</kbd><td>{escaped(what)}</tr>" for key, what in _KEYS.items()
    )
    return (
        f"<dialog aria-label=keys><h2>Keys</h2><table>{rows}</table>"
        "<form method=dialog><button>Close</button></form></dialog>"
    )
