"""Colouring: group the columns, or the rows, of a pattern so that one direction shows a group.

Columns of one colour share no row, so the product with their sum has each of their entries in a
separate row. Of a symmetric matrix a star colouring takes fewer colours: an entry is to be found in
its column or in its row.

Both go through the entries once, column by column, with the colours of a row as the bits of an
integer. Where colours that repeat from column to column do, these are taken: a band has as many as
entries in a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def coloured_columns(pattern: Any) -> Any:
    """The number of the colour of each column of a pattern, in rows and without duplicates."""
    counts = np.diff(pattern.indptr)
    least = int(counts.max(initial=0))
    columns = pattern.shape[1]
    if least == columns:
        return np.arange(columns)
    found: list[Any] = []
    for count in range(max(least, 1), least + 3):
        colours = np.arange(columns) % count
        if not found and _is_apart(pattern, counts, colours, count):
            found = [colours]
    by_column = pattern.tocsc()
    sizes = np.diff(by_column.indptr)
    for order in (np.arange(columns), np.argsort(-sizes, kind="stable")):
        if not found or found[0].max() >= least:
            found.append(_greedy(pattern, by_column, order.tolist()))
        found = [min(found, key=lambda one: one.max())]
    return found[0]


def _is_apart(pattern: Any, counts: Any, colours: Any, count: int) -> bool:
    """Return whether no row has two columns of one colour."""
    keys = np.repeat(np.arange(counts.size), counts) * count + colours[pattern.indices]
    return bool(np.bincount(keys, minlength=1).max(initial=0) <= 1)


def _greedy(pattern: Any, by_column: Any, order: Iterable[int]) -> Any:
    """Give each column in turn the first colour that no row of it has."""
    starts, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    used = [0] * pattern.shape[0]
    colours = np.zeros(pattern.shape[1], np.intp)
    for column in order:
        mine = rows[starts[column] : starts[column + 1]]
        taken = 0
        for row in mine:
            taken |= used[row]
        bit = ~taken & (taken + 1)
        for row in mine:
            used[row] |= bit
        colours[column] = bit.bit_length() - 1
    return colours


def star_coloured(pattern: Any) -> Any:
    """The number of the colour of each column of a symmetric pattern.

    Neighbours differ, and no path of four has two colours alone (Gebremedhin, Tarafdar, Manne and
    Pothen, New acyclic and star coloring algorithms, 2007); columns with many entries come first.
    """
    size = pattern.shape[0]
    starts, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    near = [
        [other for other in columns[starts[one] : starts[one + 1]] if other != one]
        for one in range(size)
    ]
    bits = [0] * size
    once, first = [0] * size, [dict[int, int]() for _ in near]
    twice, beyond = [0] * size, [0] * size
    for one in sorted(range(size), key=lambda number: -len(near[number])):
        taken = 0
        for other in near[one]:
            taken |= bits[other] | beyond[other] if bits[other] else once[other]
        bit = bits[one] = ~taken & (taken + 1)
        for other in near[one]:
            if bits[other] & twice[one]:
                beyond[other] |= bit
            if twice[other] & bit:
                beyond[one] |= bits[other]
            elif once[other] & bit:
                twice[other] |= bit
                beyond[one] |= bits[other]
                beyond[first[other][bit]] |= bits[other]
            else:
                once[other] |= bit
                first[other][bit] = one
    return np.array([bit.bit_length() - 1 for bit in bits], np.intp)


def places_of(pattern: Any, colours: Any) -> Any:
    """For each entry of a pattern, its place among the products with the sums of columns of one
    colour, one product after the other: in its own row or, of a star colouring, in that of its
    column."""
    size = pattern.shape[0]
    rows = np.repeat(np.arange(size), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.intp)
    places = colours[columns] * size + rows
    is_alone = np.bincount(places) == 1
    if is_alone[places].all():
        return places
    return np.where(is_alone[places], places, colours[rows] * size + columns)
