"""Program: the kernels of the stages of a function on split arguments, and the order in which
they run.

The stages may run anywhere: a stage is called with what its `inputs` name, and parts are combined
by `combine_parts` in the order of the blocks, always so many at once, so that the bits of the
result depend on the blocks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.compiler.kernel import Kernel, make_kernel
from tracejit.compiler.pipeline import Recorded
from tracejit.ir.location import Origin
from tracejit.ir.printer import print_graph
from tracejit.sharding.analysis import analyse
from tracejit.sharding.recording import SplitRecording
from tracejit.sharding.residuals import kept_values
from tracejit.sharding.stages import Source, Stage, cut
from tracejit.support.options import Options

FAN_IN = 16
"""So many parts are combined at once."""


class CompiledStage(NamedTuple):
    """A stage with its kernel."""

    stage: Stage
    kernel: Kernel

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Run the stage: its outputs, a tuple also of one."""
        return as_tuple(self.kernel.forward(*arrays), len(self.stage.outputs))


class Program(NamedTuple):
    """The stages of a function on split arguments, and where its results come from."""

    recording: SplitRecording
    stages: tuple[CompiledStage, ...]
    results: tuple[Source, ...]

    def takes(self, arguments: Sequence[Any]) -> bool:
        """Return whether Python would take the same branches with these arguments, given by the
        number of the input: what it decides by is computed here."""
        decided = self.recording.decided
        if not decided:
            return True
        values: dict[str, Any] = {}
        for one in self.stages:
            if one.stage.level == 0 and not one.stage.is_map:
                values["head"] = one(*[arguments[source.number] for source in one.stage.inputs])
        pairs = zip(self.results[-len(decided) :], decided, strict=True)
        return all(_taken(source, arguments, values) == outcome for source, outcome in pairs)

    def __str__(self) -> str:
        """The functions of the stages, each under a line that says where it runs."""
        return "\n\n".join(f"# {title(one.stage)}\n{_body(one.kernel)}" for one in self.stages)

    def graphs(self) -> str:
        """The graphs of the stages as text."""
        return "\n".join(f"{title(s.stage)}\n{print_graph(s.stage.graph)}" for s in self.stages)


def _taken(source: Source, arguments: Sequence[Any], values: dict[str, Any]) -> Any:
    """The number that Python decides by, of those that are known before any block is."""
    if source.kind == "constant":
        return source.data
    if source.kind == "argument":
        return arguments[source.number]
    return values[source.kind][source.number]


def title(stage: Stage) -> str:
    """One line that says where a stage runs, and what becomes of its results."""
    rounds = f"after {stage.level} round{'s' * (stage.level != 1)} of combining"
    when = rounds if stage.level else "at first"
    if not stage.is_map:
        return f"{when}, once"
    words = [f"{one} by {ufunc}" for one, ufunc in zip(_names(stage), stage.combine, strict=False)]
    return f"{when}, on every block" + (f"; combined: {', '.join(words)}" if words else "")


def _names(stage: Stage) -> list[str]:
    return [value.name for value in stage.graph.outputs]


def _body(kernel: Kernel) -> str:
    """The function of a stage and its constants, without the head and the seal of its module."""
    text = kernel.source
    first = text.index("\n}\n", text.index("\nSIGNATURE = ")) + 3
    return text[first : text.rindex("# tracejit sha256")].strip()


def compile_program(
    recording: SplitRecording, options: Options, rows: int = 0, memory_budget: int | None = None
) -> Program:
    """Compile the stages of a recorded function. Of arrays of so many `rows`, values between the
    stages are kept in at most `memory_budget` bytes, on all workers together."""
    found = analyse(recording.graph)
    stages, results = cut(found, kept_values(found, rows, memory_budget))
    compiled = [CompiledStage(stage, _kernel(stage, recording.origin, options)) for stage in stages]
    return Program(recording, tuple(compiled), tuple(results))


def _kernel(stage: Stage, origin: Origin, options: Options) -> Kernel:
    recorded = Recorded(stage.graph, origin, len(stage.graph.outputs))
    return make_kernel(recorded, options, for_all_sizes=True)


def as_tuple(found: Any, count: int) -> tuple[Any, ...]:
    """The results of a kernel, in a tuple also where there is one."""
    return (found,) if count == 1 else found


def combine_parts(ufuncs: Sequence[str], parts: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Combine the parts of some blocks, in their order."""
    columns = zip(*parts, strict=True)
    return tuple([_combined(getattr(np, u), each) for u, each in zip(ufuncs, columns, strict=True)])


def _combined(ufunc: Any, parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = ufunc(total, part)
    return np.asarray(total) if type(parts[0]) is np.ndarray else total
