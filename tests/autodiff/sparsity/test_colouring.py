"""Colourings of random patterns, of bands, grids and arrows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tracejit.autodiff.sparsity.colouring import coloured_columns, places_of, star_coloured

RNG = np.random.default_rng(5)


def random_pattern(rows: int, columns: int, density: float) -> Any:
    return sparse.csr_array(RNG.random((rows, columns)) < density)


def symmetric(pattern: Any) -> Any:
    whole = sparse.csr_array(pattern + pattern.T)
    whole.sort_indices()
    return whole


def band(size: int, width: int) -> Any:
    places = np.arange(size)
    return sparse.csr_array(abs(places[:, None] - places) <= width)


def arrow(size: int) -> Any:
    dense = np.eye(size, dtype=bool)
    dense[-1] = dense[:, -1] = True
    return sparse.csr_array(dense)


def grid(size: int) -> Any:
    line, one = band(size, 1), sparse.eye_array(size, dtype=bool)
    return symmetric(sparse.csr_array(sparse.kron(line, one) + sparse.kron(one, line)))


PATTERNS = {
    "band": band(20, 2),
    "arrow": arrow(9),
    "grid": grid(6),
    "dense": random_pattern(4, 4, 2.0),
    "none": random_pattern(5, 5, 0.0),
    "empty": sparse.csr_array((0, 0), dtype=bool),
    **{f"random {n}": random_pattern(n, n, 0.15) for n in (1, 2, 8, 13, 30, 60)},
}


@pytest.mark.parametrize("name", PATTERNS)
def test_columns_of_one_colour_have_no_row_in_common(name: str) -> None:
    for pattern in (PATTERNS[name], PATTERNS[name][: pattern_rows(name)]):
        colours = coloured_columns(pattern)
        assert colours.shape == (pattern.shape[1],)
        for colour in np.unique(colours):
            counts = pattern.toarray()[:, colours == colour].sum(axis=1)
            assert counts.max(initial=0) <= 1


def pattern_rows(name: str) -> int:
    return PATTERNS[name].shape[0] // 2


@pytest.mark.parametrize("name", PATTERNS)
def test_entries_are_found_again(name: str) -> None:
    pattern = PATTERNS[name]
    whole = symmetric(pattern)
    for kind, table in ((pattern, coloured_columns(pattern)), (whole, star_coloured(whole))):
        matrix = sparse.csr_array(kind, dtype=float)
        matrix.data = RNG.random(matrix.nnz)
        if kind is whole:
            matrix = sparse.csr_array(matrix + matrix.T)
            matrix.sort_indices()
        count = int(table.max(initial=-1)) + 1
        products = [matrix @ (table == colour).astype(float) for colour in range(count)]
        found = np.concatenate([np.zeros(0), *products])[places_of(kind, table)]
        np.testing.assert_allclose(found, matrix.data)


@pytest.mark.parametrize(
    ("name", "columns", "star"), [("band", 5, 5), ("arrow", 9, 2), ("grid", 7, 6), ("none", 1, 1)]
)
def test_few_colours_are_enough(name: str, columns: int, star: int) -> None:
    assert coloured_columns(PATTERNS[name]).max() < columns
    assert star_coloured(PATTERNS[name]).max() < star
