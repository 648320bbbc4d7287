"""Path: what one call of a function computes, as one operation on eager Tensors.

Under a tape a call of a recorded function is one operation: its kernel computes the value, and its
gradient is a path again, from the arguments and the cotangents to the gradients, through nodes that
are added to the same recording. So the gradient of a gradient is nothing new, the user's rules run
where they belong, and what is unconnected is seen on the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.autodiff.adjoint import gradients
from tracejit.differentiate import like
from tracejit.ir.graph import NOWHERE, Value
from tracejit.kernel import make_kernel
from tracejit.ops.markers import OVERRIDE, Marker
from tracejit.passes.extract import extract
from tracejit.pipeline import Recorded
from tracejit.trace.eager import EAGER, eager_tensor
from tracejit.trace.record import Hidden, Recording
from tracejit.trace.tensor import Tensor

_reopening = threading.RLock()


class Path:
    """A function from some values of a recording to others, with its kernel.

    `inputs` are what the kernel takes; `sources` are, for each, the values whose cotangents are its
    gradient: itself, and for a Variable every value it had. `outputs` are the results, and
    `compute(*arrays)` answers them in a list. `seeds` are inputs that are constants.
    """

    def __init__(
        self,
        recording: Recording,
        origin: str,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        compute: Callable[..., Sequence[Any]],
        seeds: Mapping[Value, Any],
    ) -> None:
        """The path from `inputs` to `outputs`."""
        self.recording = recording
        self.origin = origin
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.compute = compute
        self.seeds = seeds
        versions = {values[0]: values for values in recording.versions.values()}
        self.sources = [versions.get(value, [value]) for value in inputs]
        self._derived: dict[tuple[Any, ...], Derived] = {}

    def __call__(self, operands: Sequence[Tensor]) -> list[Tensor]:
        """The results for eager operands, one operation for the tapes that see it."""
        found = self.compute(*[operand._value.data for operand in operands])
        results = [
            eager_tensor(data, value.type) for data, value in zip(found, self.outputs, strict=True)
        ]
        if not results or not EAGER.windows:
            return results

        def rule(gs: Sequence[Tensor | None], wanted: Sequence[bool]) -> list[Tensor | None]:
            return self._gradients(operands, gs, wanted)

        marker = Marker(self.recording.graph.name, "", rule, pruned=True)
        made = OVERRIDE(*results, *operands, outputs=len(results), grad=marker)
        return [made] if len(results) == 1 else list(made)

    def _gradients(
        self, operands: Sequence[Tensor], gs: Sequence[Tensor | None], wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        """The gradients of the wanted operands, None for others, by the path that computes them."""
        given = tuple([k for k, g in enumerate(gs) if g is not None])
        asked = tuple([k for k, wants in enumerate(wanted) if wants])
        with _reopening:
            derived = self._derived.get((given, asked))
            if derived is None:
                derived = self._derived[given, asked] = self._derive(given, asked)
        answers: list[Tensor | None] = [None] * len(operands)
        if derived.path is not None:
            seeds = [g for g in gs if g is not None]
            extra = [tensor_of_hidden(hidden) for hidden in derived.hidden]
            found = iter(derived.path([*operands, *seeds, *extra]))
            for k, there in zip(asked, derived.present, strict=True):
                answers[k] = next(found) if there else None
        return answers

    def _derive(self, given: Sequence[int], asked: Sequence[int]) -> Derived:
        """The path from operands and cotangents of the given outputs to the gradients asked for."""
        recording = self.recording
        known = set(recording.hidden)
        with recording.reopened(), recording.at(NOWHERE):
            ys = [Tensor(self.outputs[k], recording) for k in given]
            seeds = [recording.argument(f"{_name(y._value)}_bar", y.type) for y in ys]
            xs = [Tensor(value, recording) for k in asked for value in self.sources[k]]
            found = iter(gradients(ys, xs, seeds))
            answers = [self._summed(k, found) for k in asked]
        present = [answer is not None for answer in answers]
        outputs = [answer._value for answer in answers if answer is not None]
        hidden = [value for key, value in recording.hidden.items() if key not in known]
        if not outputs:
            return Derived(None, present, hidden)
        inputs = [*self.inputs, *[seed._value for seed in seeds], *[each.value for each in hidden]]
        name = f"{recording.graph.name}_gradient"
        graph = extract(recording.graph, name, inputs, outputs, self.seeds)
        kernel = make_kernel(Recorded(graph, self.origin, len(outputs)))
        forward = kernel.forward
        single = len(outputs) == 1

        def compute(*arrays: Any) -> Sequence[Any]:
            return (forward(*arrays),) if single else forward(*arrays)

        path = Path(recording, self.origin, inputs, outputs, compute, self.seeds)
        return Derived(path, present, hidden)

    def _summed(self, k: int, found: Any) -> Any:
        """The gradient of input k: the sum over its sources."""
        total: Any = None
        for _ in self.sources[k]:
            g = next(found)
            if g is not None:
                total = g if total is None else total + g
        return None if total is None else like(total, Tensor(self.inputs[k], self.recording))


class Derived(NamedTuple):
    """The gradient of a path: its path, None where nothing is connected; for each gradient that was
    asked for whether it is there; and what the rules read besides."""

    path: Path | None
    present: list[bool]
    hidden: list[Hidden]


def tensor_of_hidden(hidden: Hidden) -> Tensor:
    """The eager Tensor for a hidden argument; a Variable is read."""
    holder = hidden.holder
    if isinstance(holder, Value):
        return Tensor(holder, EAGER)
    return Tensor(EAGER.lift(holder), EAGER)


def _name(value: Value) -> str:
    return value.label or value.base or value.name or "out"
