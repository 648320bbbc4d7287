"""Panes: lines and expressions that belong together have the same numbers."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.explorer.pages import Element, read
from tracejit.compiler.kernel import Kernel
from tracejit.explorer import panes
from tracejit.explorer.panes import Code, code_of
from tracejit.explorer.quantities import bytes_text

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def loss(x: Any, w: Any) -> Any:
    """Something with two statements of interest."""
    h = np.tanh(x @ w)
    return np.sum(h * h)


def kernel() -> Kernel:
    return tj.value_and_grad(tj.function(loss, cache=False), 1).kernel(X, X.T)


def lines_of(html: str, statement: str) -> list[str]:
    return [line.all("code")[0].text.strip() for line in read(html).all("div", data_s=statement)]


def statement_of(code: Code, text: str) -> str:
    lines = read(code.user[0].html).all("div", class_="l")
    (line,) = (one for one in lines if text in one.text)
    return str(line.attributes["data-s"])


def test_the_lines_of_a_statement_are_known_in_every_function() -> None:
    code = code_of(kernel(), loss.__code__)
    assert list(code.functions) == ["forward", "backward", "value_and_grad"]
    number = statement_of(code, "h = np.tanh(x @ w)")
    assert lines_of(code.functions["forward"].html, number) == ["h = tanh(x.dot(w))"]
    backward = lines_of(code.functions["backward"].html, number)
    assert backward and any("x.T" in line for line in backward)
    other = statement_of(code, "return np.sum(h * h)")
    assert "h = tanh(x.dot(w))" not in lines_of(code.functions["forward"].html, other)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows columns from 3.11 on")
def test_expressions_are_linked_down_to_their_parts() -> None:
    code = code_of(kernel(), loss.__code__)
    user, forward = read(code.user[0].html), read(code.functions["forward"].html)
    (part,) = (one for one in user.all("span") if one.text == "x @ w")
    number = str(part.attributes["data-e"])
    (made,) = forward.all("span", data_e=number)
    assert made.text == "x.dot(w)"
    assert made.attributes["title"] == "f8[3,3]"
    assert part.parent is not None and part.parent.text == "np.tanh(x @ w)"


def texts(root: Element) -> list[str]:
    return [one.all("code")[0].text for one in root.all("div", class_="l")]


def test_every_line_of_the_module_is_in_one_pane() -> None:
    made = kernel()
    code = code_of(made, None)
    shown = texts(read(code.head.html))
    for pane in code.functions.values():
        shown += texts(read(pane.html))
    lines = made.source.split("\n")
    assert [line for line in shown if line] == [
        line for line in lines if line and not line.startswith("# tracejit sha256")
    ]


def test_costs_of_a_profile_stand_beside_the_lines() -> None:
    made = kernel()
    lines = made.source.split("\n")
    at = next(n for n, line in enumerate(lines, 1) if line.startswith("    h = "))
    profile = SimpleNamespace(generated={at: (2e-3, 72, 5), at + 2: (1e-6, 8, 5)})
    code = code_of(made, loss.__code__, profile)
    cells = read(code.functions["forward"].html).all("span", class_="c")
    assert cells[0].text == "2 ms 72 B"
    assert cells[0].attributes["style"] == "--share:1.000"
    (user,) = (
        line for line in read(code.user[0].html).all("div", class_="l") if "np.tanh" in line.text
    )
    assert user.all("span", class_="c")[0].text == "2 ms 72 B"


def test_costs_of_one_statement_are_added() -> None:
    made = kernel()
    number = {line.strip(): n for n, line in enumerate(made.source.split("\n"), 1)}
    code = code_of(made, loss.__code__)
    statement = int(statement_of(code, "h = np.tanh(x @ w)"))
    lines = [line for line, its in code.origins.items() if its == statement]
    profile = SimpleNamespace(generated={line: (1e-3, 100, 2) for line in lines})
    user = read(code_of(made, loss.__code__, profile).user[0].html)
    (cell,) = user.all("span", class_="c")
    assert cell.text == f"{len(lines)} ms {bytes_text(100 * len(lines))}"
    assert number["h = tanh(x.dot(w))"] in lines


def test_a_long_module_has_lines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes, "MOST_LINES", 5)
    code = code_of(kernel(), loss.__code__)
    assert not code.exact
    number = statement_of(code, "h = np.tanh(x @ w)")
    assert lines_of(code.functions["forward"].html, number) == ["h = tanh(x.dot(w))"]


def test_a_loaded_kernel_shows_what_it_cites(tmp_path: Any) -> None:
    kernel().save(tmp_path / "saved.py")
    code = code_of(tj.load(tmp_path / "saved.py"), None)
    assert [pane.title for pane in code.user] == ["loss: the lines it cites"]
    number = statement_of(code, "h = np.tanh(x @ w)")
    assert lines_of(code.functions["forward"].html, number) == ["h = tanh(x.dot(w))"]
    assert not read(code.user[0].html).all("span", data_e="0")


def test_a_profile_opens_the_function_that_it_is_of() -> None:
    made = kernel()
    lines = made.source.split("\n")
    start = next(n for n, line in enumerate(lines, 1) if line.startswith("def value_and_grad"))
    profile = SimpleNamespace(generated={start + 3: (1e-3, 8, 1)})
    root = read(made.to_html(profile=profile))
    shown = [one for one in root.all("div", class_="rows") if "hidden" not in one.attributes]
    assert [one.attributes.get("data-name") for one in shown] == [
        None, "forward", "value_and_grad",
    ]  # fmt: skip
    assert ["costs" in str(one.attributes["class"]) for one in shown] == [True, False, True]
