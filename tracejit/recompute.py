"""recompute_grad under an eager tape: the function is run again where its gradient is wanted.

The forward run is hidden from the open tapes; they see one override instead, whose inputs are
what the function used of theirs: arguments, Tensors it closes over, Variables. Its rule runs the
function again, seen by a window of its own, and differentiates that window. The second run
replays the first: Variables have the values they had, generators draw the same numbers, no
assignment is made.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.autodiff.adjoint import gradients
from tracejit.ops.markers import OVERRIDE, Marker
from tracejit.trace.captures import Captures
from tracejit.trace.eager import EAGER, Run
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import flatten, map_tree, unflatten
from tracejit.trace.variable import read_leaf
from tracejit.trace.windows import Sieve, Window


def recompute_eagerly(
    f: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The value of f(*args, **kwargs), which open tapes see as one operation."""
    if not EAGER.windows:
        return f(*args, **kwargs)
    sieve, run = Sieve(EAGER.windows), Run()
    generators = Generators(f, args, kwargs)
    with EAGER.seen_by((sieve,)), EAGER.logging_run(run):
        value = map_tree(read_leaf, f(*args, **kwargs))
    leaves, structure = flatten(value)
    places = [k for k, leaf in enumerate(leaves) if type(leaf) is Tensor]
    inputs = [Tensor(value, EAGER) for value in sieve.inputs]
    if not places or not inputs:
        return value

    def rule(
        gs: Sequence[Tensor | None], wanted: Sequence[bool], known: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        window = Window(accessed=False)
        for x in inputs:
            window.watch(x._value)
        with (
            EAGER.seen_by((*EAGER.windows, window)),
            EAGER.replaying(run),
            generators.replayed(),
        ):
            again = flatten(map_tree(read_leaf, f(*args, **kwargs)))[0]
        pairs = [
            (again[k], g)
            for k, g in zip(places, gs, strict=True)
            if g is not None and again[k]._value in window.known
        ]
        ys, grad_ys = [y for y, _ in pairs], [g for _, g in pairs]
        asked = [k for k, wants in enumerate(wanted) if wants]
        xs = [inputs[k] for k in asked]
        found = gradients(ys, xs, grad_ys, window.nodes, [known[k] for k in asked])
        by_place = dict(zip(asked, found, strict=True))
        return [by_place.get(k) for k in range(len(inputs))]

    tensors = [leaves[k] for k in places]
    marker = Marker(name, "recomputed", rule, pruned=True, continues=True)
    results = OVERRIDE(*tensors, *inputs, outputs=len(tensors), grad=marker)
    for k, result in zip(places, [results] if len(places) == 1 else results, strict=True):
        leaves[k] = result
    return unflatten(structure, leaves)


class Generators:
    """The random generators in reach of a function, with their states of now."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Take note of the states."""
        found = {id(one): one for one in Captures([f, *args, *kwargs.values()]).generators.values()}
        leaves = flatten((args, kwargs))[0]
        if "numpy.random" in sys.modules:
            found[0] = np.random.mtrand._rand
            found.update((id(one), one) for one in leaves if isinstance(one, np.random.Generator))
        self.generators = [*found.values()]
        self.states = self._now()
        self.python_state = random.getstate()

    def _now(self) -> list[Any]:
        return [
            one.get_state(legacy=False)
            if isinstance(one, np.random.RandomState)
            else _bits(one).state
            for one in self.generators
        ]

    def _set(self, states: list[Any]) -> None:
        for one, state in zip(self.generators, states, strict=True):
            if isinstance(one, np.random.RandomState):
                one.set_state(state)
            else:
                _bits(one).state = state

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """The generators draw meanwhile what they drew after they were noted."""
        before, python_before = self._now(), random.getstate()
        self._set(self.states)
        random.setstate(self.python_state)
        try:
            yield
        finally:
            self._set(before)
            random.setstate(python_before)


def _state(generator: Any) -> Any:
    """The state of a generator, a copy."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return _bits(generator).state


def _bits(generator: Any) -> Any:
    """The bit generator, whose `state` is that of the generator."""
    return getattr(generator, "bit_generator", generator)
