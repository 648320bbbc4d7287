"""Pages: one file that asks for nothing, in which no text of the user's gets out of its place."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.explorer.pages import Element, read
from tests.explorer.test_highlight import NASTY, as_shown
from tracejit.explorer.page import asset

X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def six(x: Any, mode: str = "a", times: int = 1) -> Any:
    """Nine lives </script><script>window.broken = 1</script> <!-- \u202e "quoted" 'too'."""
    h = np.tanh(x @ x.T)
    for _ in range(times):
        h = h * 0.5 + np.exp(-h)
    if mode == "</script><img src=x onerror=alert(1)>":
        h = np.sin(h)
    return np.sum(h)


def function_of_six() -> tj.Function[..., Any]:
    made: Any = tj.value_and_grad(tj.function(six, cache=False))
    made(X), made(X[:2]), made(X.astype(np.float32))
    made(X, "</script><img src=x onerror=alert(1)>"), made(X, "\"'><script>1</script>")
    made(X, times=2)
    return made


@pytest.fixture(scope="module")
def page() -> str:
    return function_of_six().to_html()


@pytest.fixture(scope="module")
def root(page: str) -> Element:
    return read(page)


def test_each_kernel_has_a_tab_and_the_reason_for_it(root: Element) -> None:
    kernels = root.all("section", class_="kernel")
    assert len(kernels) == len(root.all("button", role="tab")) - 1 == 6
    reasons = [one.all("div", class_="why")[0].text for one in kernels]
    assert reasons[0].startswith("Kernel 1 was made for the first call")
    assert "dtype float32; kernel 2 has float64" in reasons[2]
    assert [one.attributes.get("hidden", "shown") for one in kernels] == ["shown", *[None] * 5]
    for one in kernels:
        assert {part.text.split(" ")[0] for part in one.all("h2")} == {
            "Guards", "Residuals", "Graph",
        }  # fmt: skip


def test_two_kernels_can_be_chosen_to_compare(root: Element) -> None:
    selects = root.all("section", id="compare")[0].all("select")
    assert [len(select.all("option")) for select in selects] == [6, 6]


def test_nothing_is_asked_of_a_network(page: str, root: Element) -> None:
    (policy,) = (
        one.attributes["content"] for one in root.all("meta", http_equiv="Content-Security-Policy")
    )
    (script,) = root.all("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page.replace(script.text, ""))
    assert {"src", "href", "onclick"}.isdisjoint(
        name for one in root.all() for name in one.attributes
    )


def test_no_text_of_the_users_is_an_element(root: Element) -> None:
    assert len(root.all("script")) == 1
    assert root.all("script")[0].text == asset("links.js") + asset("page.js")
    assert not root.all("img")
    assert not root.all(onerror="alert(1)")
    assert any("Nine lives </script>" in one.text for one in root.all("code"))


@pytest.mark.parametrize("text", NASTY)
def test_nasty_names_and_values_stay_text(text: str) -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(p, q): return np.sum(p[q] * 2.0)", space)
    f: Any = tj.function(space["f"], cache=False)
    f({text: X}, text)
    page = f.to_html()
    assert page.encode()
    root = read(page)
    assert not root.all("img") and len(root.all("script")) == 1
    assert as_shown(repr(text)) in root.text


def test_a_name_that_is_no_name_is_a_title(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x * 2.0

    f.__name__ = f.__qualname__ = "<img src=x>&amp;\u202e"
    made = tj.function(f, cache=False)
    made(X)
    assert not read(made.to_html()).all("img")
    assert not read(made.kernels[0].to_html()).all("img")


def test_pages_are_written_where_a_path_is_given(tmp_path: Path) -> None:
    f = tj.function(six, cache=False)
    kernel = f.kernel(X)
    path = tmp_path / "page.html"
    assert kernel.to_html(path) == path.read_text(encoding="utf-8")
    assert f.to_html(str(path)) == path.read_text(encoding="utf-8")


def test_a_kernels_page_is_the_same_each_time() -> None:
    kernel = tj.value_and_grad(tj.function(six, cache=False)).kernel(X)
    assert kernel.to_html() == kernel.to_html()


def test_a_function_without_kernels_has_no_page() -> None:
    with pytest.raises(AttributeError, match="six has no kernel yet"):
        tj.function(six).to_html()


def test_residuals_are_listed_with_their_bytes(root: Element) -> None:
    first, second = root.all("section", class_="kernel")[:2]
    rows = {
        row.all("code")[0].text: row.text for row in first.all("tr") if row.all("td", class_="bar")
    }
    assert "96 B" in rows["x"] and "an argument, not copied" in rows["x"]
    assert any("72 B" in text for text in rows.values())
    assert any(
        "\N{MIDDLE DOT}n\N{MIDDLE DOT}n B" in one.text for one in second.all("td", class_="num")
    )


def test_a_kernel_of_the_value_alone_has_one_function() -> None:
    root = read(tj.function(six, cache=False).kernel(X).to_html())
    panes = root.all("section", class_="pane")
    assert [pane.all("h3")[0].text for pane in panes] == ["your code", "forwardhead"]
    assert "Residuals" not in root.text


def test_a_loaded_kernel_has_a_page_of_what_it_cites(tmp_path: Path) -> None:
    tj.value_and_grad(tj.function(six, cache=False)).kernel(X).save(tmp_path / "saved.py")
    root = read(tj.load(tmp_path / "saved.py").to_html())
    assert root.all("h1")[0].text == "six"
    assert "This kernel was loaded as text" in root.text
    assert "Graph" not in [one.text for one in root.all("h2")]


def test_a_function_that_takes_nothing() -> None:
    f = tj.function(lambda: np.ones(3), cache=False)
    f()
    assert "nothing" in read(f.to_html()).text
