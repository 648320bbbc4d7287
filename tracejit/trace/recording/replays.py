"""Record of the forward run of a recompute region, and its second run, which repeats it."""

from __future__ import annotations

from typing import Any

from tracejit.ir.graph import Value


class RegionRun:
    """A record of the forward run of a recompute region. It holds the values that each Variable had
    one after another, and the answers of callbacks, with the states of the generators after them.
    `name` is the function."""

    def __init__(self, name: str, generators: Any) -> None:
        """Begin with no Variable met."""
        self.name = name
        self.generators = generators
        self.versions: dict[int, tuple[Any, list[Value]]] = {}
        self.made: dict[int, Any] = {}
        self.answers: list[tuple[Any, Any]] = []

    def note(self, variable: Any, value: Value) -> None:
        """`variable` has `value` now; those made during the run are none of its."""
        if id(variable) not in self.made:
            values = self.versions.setdefault(id(variable), (variable, [value]))[1]
            if values[-1] is not value:
                values.append(value)


class Replay:
    """A second run of a recompute region: how far it has come."""

    def __init__(self, run: RegionRun) -> None:
        """Begin at the start of `run`."""
        self.run = run
        self.steps: dict[int, int] = {}
        self.answers = iter(run.answers)

    def knows(self, variable: Any) -> bool:
        """Return whether `variable` was there before the forward run, which met it."""
        return id(variable) in self.run.versions

    def version(self, variable: Any) -> Value | None:
        """The value that `variable` had here in the forward run, None if it took another way."""
        values = self.run.versions[id(variable)][1]
        step = self.steps.get(id(variable), 0)
        return values[step] if step < len(values) else None

    def assign(self, variable: Any) -> None:
        """`variable` was assigned here in the forward run."""
        self.steps[id(variable)] = self.steps.get(id(variable), 0) + 1
