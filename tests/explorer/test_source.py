"""Source: a str that shows itself highlighted."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np

import tracejit as tj
from tests.explorer.pages import read
from tracejit.explorer.source import Source

TEXT = 'def f(x):\n    """Say <b>."""\n    return x < 1\n'


def test_it_is_a_str_in_everything_else() -> None:
    source = Source(TEXT)
    assert source == TEXT and hash(source) == hash(TEXT) and {TEXT: 1}[source] == 1
    assert repr(source) == repr(TEXT) and json.dumps(source) == json.dumps(TEXT)
    assert type(str(source)) is str and type(source.strip()) is str and type(source + "") is str
    assert f"{source:>3}" == TEXT and source.splitlines() == TEXT.splitlines()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(source, protocol)) == TEXT
    assert copy.copy(source) == copy.deepcopy(source) == TEXT


def test_what_is_pickled_needs_no_tracejit() -> None:
    assert b"tracejit" not in pickle.dumps(Source(TEXT))


def test_a_notebook_shows_it_highlighted() -> None:
    root = read(Source(TEXT)._repr_html_())
    assert root.all("pre")[0].text == TEXT.rstrip("\n")
    assert [one.text for one in root.all("b")] == ["def", "return"]


def test_ipython_shows_its_lines_as_lines() -> None:
    class Printer:
        shown = ""

        def text(self, text: str) -> None:
            self.shown += text

    printer: Any = Printer()
    Source(TEXT)._repr_pretty_(printer, False)
    assert printer.shown == TEXT and type(printer.shown) is str


def test_the_text_of_kernels_and_functions_is_one() -> None:
    f = tj.function(lambda x: x * 2.0, cache=False)
    f(np.ones(3))
    assert type(f.source) is type(f.kernels[0].source) is Source
    assert f.source == f.kernels[0].module.__source__
