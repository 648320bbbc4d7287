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
from tracejit.autodiff.tangent import tangents
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

        def push(dots: Sequence[Tensor | None]) -> list[Tensor | None]:
            return self._tangents(operands, dots)

        marker = Marker(self.recording.graph.name, "", rule, pruned=True, push=push)
        made = OVERRIDE(*results, *operands, outputs=len(results), grad=marker)
        return [made] if len(results) == 1 else list(made)

    def _gradients(
        self, operands: Sequence[Tensor], gs: Sequence[Tensor | None], wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        """The gradients of the wanted operands, None for others, by the path that computes them."""
        asked = tuple([k for k, wants in enumerate(wanted) if wants])
        answers: list[Tensor | None] = [None] * len(operands)
        found = self._by_derived(operands, gs, lambda given: self._pulled(given, asked), asked)
        for k, g in zip(asked, found, strict=True):
            answers[k] = g
        return answers

    def _tangents(
        self, operands: Sequence[Tensor], dots: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        """The tangents of the results, by the path that computes them."""
        return self._by_derived(operands, dots, self._pushed, "tangents")

    def _by_derived(
        self,
        operands: Sequence[Tensor],
        directions: Sequence[Tensor | None],
        derivative: Derivative,
        kind: Any,
    ) -> list[Tensor | None]:
        """The results of a derivative of this path along those directions that there are."""
        given = tuple([k for k, direction in enumerate(directions) if direction is not None])
        with _reopening:
            derived = self._derived.get((given, kind))
            if derived is None:
                derived = self._derived[given, kind] = self._derive(derivative, given)
        if derived.path is None:
            return [None] * len(derived.present)
        seeds = [direction for direction in directions if direction is not None]
        extra = [tensor_of_hidden(hidden) for hidden in derived.hidden]
        found = iter(derived.path([*operands, *seeds, *extra]))
        return [next(found) if there else None for there in derived.present]

    def _pulled(
        self, given: Sequence[int], asked: Sequence[int]
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """The cotangents of the given outputs, and the gradients asked for."""
        recording = self.recording
        ys = [Tensor(self.outputs[k], recording) for k in given]
        seeds = [recording.argument(f"{_name(y._value)}_bar", y.type) for y in ys]
        xs = [Tensor(value, recording) for k in asked for value in self.sources[k]]
        found = iter(gradients(ys, xs, seeds))
        return seeds, [self._summed(k, found) for k in asked]

    def _pushed(self, given: Sequence[int]) -> tuple[list[Tensor], list[Tensor | None]]:
        """The tangents of the given inputs, and those of all outputs."""
        recording = self.recording
        xs = [Tensor(self.inputs[k], recording) for k in given]
        dots = [recording.argument(f"{_name(x._value)}_dot", x.type) for x in xs]
        moving = [
            (Tensor(value, recording), dot)
            for k, dot in zip(given, dots, strict=True)
            for value in self.sources[k]
        ]
        ys = [Tensor(y, recording) for y in self.outputs]
        found = tangents(ys, [x for x, _ in moving], [dot for _, dot in moving])
        pairs = zip(found, ys, strict=True)
        return dots, [None if dot is None else like(dot, y) for dot, y in pairs]

    def _derive(self, derivative: Derivative, given: Sequence[int]) -> Derived:
        """The path from inputs and directions to what `derivative` answers for those given."""
        recording = self.recording
        known = set(recording.hidden)
        with recording.reopened(), recording.at(NOWHERE):
            seeds, answers = derivative(given)
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


Derivative = Callable[[Sequence[int]], tuple[list[Tensor], list[Tensor | None]]]


class Derived(NamedTuple):
    """A derivative of a path: its path, None where nothing is connected; for each answer whether it
    is there; and what the rules read besides."""

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
