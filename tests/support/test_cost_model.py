"""The cost model: one table, explained, that a context can replace."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.benchmarks import cost_model as benchmark
from tracejit.support import cost_model
from tracejit.support.cost_model import DEFAULT, UNITS, CostModel, assuming, costs

SECTIONS = [each for each in CostModel.__mro__ if each is not object]
KINDS = {name for name, kind in cost_model.__annotations__.items() if kind == "TypeAlias"}
PAGE = Path(__file__).parents[2] / "docs/notes/performance.md"
SOURCE = ("Measured", "Known", "Chosen", "Derived")


def documented(section: type) -> Iterator[str]:
    """The fields of a section that have a docstring."""
    (definition,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            assert isinstance(field.target, ast.Name)
            yield field.target.id


@pytest.mark.parametrize("section", SECTIONS)
def test_each_figure_has_a_unit_and_a_meaning_and_its_section_says_where_it_is_from(
    section: type,
) -> None:
    assert not dataclasses.is_dataclass(section), "it would take milliseconds to import"
    own = list(section.__annotations__)
    assert own == list(documented(section))
    assert set(section.__annotations__.values()) <= KINDS
    said = " ".join((section.__doc__ or "").split())
    assert not own or any(word in said for word in SOURCE)
    for measured in re.findall(r"`(\w+)` in tests/benchmarks/cost_model.py", said):
        assert hasattr(benchmark, measured)
    page = PAGE.read_text("utf-8")
    for heading in re.findall('"([A-Z][^"]+)"', said):
        assert f"## {heading}\n" in page


def test_no_two_sections_have_the_same_figure() -> None:
    names = [name for section in SECTIONS for name in section.__annotations__]
    assert sorted(names) == sorted(UNITS)


def test_other_figures_hold_within_the_block_and_in_this_thread_alone() -> None:
    with assuming(tile_bytes=320, tiled_bytes=0) as model, ThreadPoolExecutor(1) as pool:
        assert costs() is model
        assert (model.tile_bytes, model.tiled_bytes) == (320, 0)
        assert model.blas_elements == DEFAULT.blas_elements
        assert pool.submit(costs).result() is DEFAULT
        with assuming(tile_bytes=640):
            assert (costs().tile_bytes, costs().tiled_bytes) == (640, 0)
        assert costs() is model
    assert costs() is DEFAULT


def test_a_figure_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="tile_byte"), assuming(tile_byte=320):
        pass
    with pytest.raises(AttributeError, match="assuming"):
        costs().tile_bytes = 320
    assert costs() is DEFAULT


def test_the_key_of_a_kernel_depends_on_the_model() -> None:
    def key() -> str:
        return tj.function(lambda x: np.sum(x * x)).kernel(np.ones(3)).name

    before = key()
    with assuming(tile_bytes=320):
        assert key() != before
    assert key() == before


def test_the_table_of_the_benchmarks_measures_figures_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "SECONDS", 0.0)
    assert benchmark.measured().keys() <= UNITS.keys()
    benchmark.main()
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert UNITS.keys() == {words[0] for words in table if len(words) > 1}
