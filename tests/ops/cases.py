"""The samples of all tables, each with the programs made of it."""

from __future__ import annotations

import importlib
import itertools
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import table
from table import Sample

from tests.ops.program import Program, cast, is_floating
from tracejit.trace.structure.trees import flatten, unflatten

SINGLE = {"f8": np.float32, "c16": np.complex64}


class Case:
    """A sample, with the programs made of it."""

    def __init__(self, sample: Sample, number: int) -> None:
        """Sample `number` of its op."""
        self.sample = sample
        self.number = number
        self.name = f"{sample.op}-{number}"
        self.seed = zlib.crc32(self.name.encode())
        # Programs that several properties share, under what each is made from.
        self.shared: dict[Any, Any] = {}

    @cached_property
    def leaves(self) -> list[Any]:
        """The leaves of the sample's arguments, which no program changes."""
        return flatten(self.sample.args)[0]

    @cached_property
    def program(self) -> Program:
        """The sample on its arguments."""
        return Program(self.sample.call, self.sample.args, self.seed)

    @cached_property
    def single(self) -> Program:
        """The sample on its arguments in single precision."""
        leaves, structure = flatten(self.sample.args)
        args = unflatten(structure, [cast(leaf, SINGLE) for leaf in leaves])
        return Program(self.sample.call, args, self.seed)

    @cached_property
    def empty(self) -> list[Program]:
        """The sample on arguments with an axis of length zero."""
        lists = self.sample.zero_size or ()
        if not all(isinstance(args, tuple) for args in lists):
            lists = (lists,)
        return [Program(self.sample.call, args, self.seed) for args in lists]

    def forget(self) -> None:
        """Drop the programs and their graphs; they are made again when asked for."""
        self.shared.clear()
        for name in ("program", "single", "empty"):
            self.__dict__.pop(name, None)

    @cached_property
    def order(self) -> int:
        """The highest order of differentiation that is checked."""
        if not self.sample.differentiable or not any(map(is_floating, self.leaves)):
            return 0
        return self.sample.order

    @property
    def has_doubles(self) -> bool:
        """Tell if an argument is in double precision."""
        return any(cast(leaf, SINGLE) is not leaf for leaf in self.leaves)


def read_tables() -> tuple[dict[str, list[Sample]], dict[str, Exception]]:
    """The samples of each area, each drawn from the same seed, and the tables that could not be
    read."""
    tables: dict[str, list[Sample]] = {}
    broken: dict[str, Exception] = {}
    for path in sorted(Path(__file__).parent.glob("samples_*.py")):
        table._rng = np.random.default_rng(20)
        try:
            tables[path.stem] = importlib.import_module(path.stem).SAMPLES
        except Exception as error:
            broken[path.name] = error
    return tables, broken


def cases_of(tables: Iterable[list[Sample]]) -> list[Case]:
    """The samples of all areas, numbered by op."""
    numbers: Counter[str] = Counter()
    cases: list[Case] = []
    for sample in itertools.chain.from_iterable(tables):
        cases.append(Case(sample, numbers[sample.op]))
        numbers[sample.op] += 1
    return cases


TABLES, BROKEN = read_tables()
CASES = cases_of(TABLES.values())
CASES_OF: dict[str, list[Case]] = {}
for _case in CASES:
    CASES_OF.setdefault(_case.sample.op, []).append(_case)
