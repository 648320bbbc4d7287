"""What notebooks show: fragments that keep to themselves, and cells by their numbers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.explorer.pages import read
from tracejit.explorer.page import asset

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "explore.ipynb"
X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def loss(x: Any) -> Any:
    """</script><style>* { color: red }</style>"""
    return np.sum(np.tanh(x) ** 2)


def test_functions_and_kernels_show_themselves() -> None:
    f: Any = tj.value_and_grad(tj.function(loss, cache=False))
    before = read(f._repr_html_())
    assert "loss has no kernel yet" in before.text and not before.all("div", class_="code")
    f(X), f(X.astype(np.float32))
    for shown, told in ((f, "loss has 2 kernels."), (f.kernels[0], "loss")):
        root = read(shown._repr_html_())
        assert told in root.text
        assert [one.text for one in root.all("summary")][-3:] == [
            "forward", "backward", "value_and_grad",
        ]  # fmt: skip
        assert root.all("div", class_="user") and root.all("span", class_="n")
        assert {one.text for one in root.all("style")} == {
            asset("style.css") + asset("notebook.css")
        }


def test_an_export_of_the_notebook_keeps_the_indentation() -> None:
    """nbconvert leaves one space of many before an element, but in `<pre>`."""
    f: Any = tj.value_and_grad(tj.function(loss, cache=False))
    f(X)
    html = re.sub(r"(?s)<pre>.*?</pre>", "", f._repr_html_())
    assert "<pre>" in f._repr_html_() and "<code>" not in html
    lines = [line.all("pre")[0].text for line in read(f._repr_html_()).all("div", class_="l")]
    assert any(line.startswith("    return ") for line in lines)


def test_styles_are_for_the_explorer_alone() -> None:
    """Every rule of what stands in a cell names `.tj`, so that it meets nothing else."""
    text = asset("style.css") + asset("notebook.css")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert "@" not in text
    for selectors in re.findall(r"([^{}]+)\{", text):
        for selector in selectors.split(","):
            assert re.search(r"(^|\s)\.tj(?![\w-])", selector), selector


def test_the_script_of_a_cell_is_the_same_in_all() -> None:
    kernel = tj.value_and_grad(tj.function(loss, cache=False)).kernel(X)
    root = read(kernel._repr_html_() + kernel._repr_html_())
    assert {one.text for one in root.all("script")} == {asset("links.js")}
    assert "document.tracejitLinks" in asset("links.js")
    assert len(root.all("div", class_="kernel")) == 2


def test_a_long_function_is_not_put_into_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.explorer.notebook.MOST_LINES", 5)
    kernel = tj.value_and_grad(tj.function(loss, cache=False)).kernel(X)
    assert "writes a page that shows them" in read(kernel._repr_html_()).text
    assert "lines more" in read(kernel.source._repr_html_()).text


@pytest.fixture(scope="module")
def executed() -> list[Any]:
    """The cells of the example, run by a kernel of Jupyter's."""
    for name in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'tracejit[test]'")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
@pytest.mark.nightly
def test_the_notebook_runs_and_shows_explorers(executed: list[Any]) -> None:
    shown = [
        output["data"]["text/html"]
        for cell in executed
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert len([html for html in shown if "class='tj cell kernel'" in html]) >= 2
    assert any("<pre class=text>" in html for html in shown)
    for html in shown:
        read(html)


@pytest.mark.filterwarnings("ignore")
def test_cells_are_cited_as_jupyter_numbers_them(executed: list[Any]) -> None:
    shown = [
        read(output["data"]["text/html"]).text
        for cell in executed
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]
    assert any(re.search(r"In \[\d+\]:\d", text) for text in shown)
    assert not any("ipykernel" in text for text in shown)


def test_the_notebook_holds_no_outputs() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert '"outputs": []' in text and len(text) < 20_000
    assert not re.search(r'"output_type"', text)
