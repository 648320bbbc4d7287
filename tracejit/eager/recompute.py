"""recompute_grad under an eager tape: the function is run again where its gradient is wanted.

The forward run is hidden from the open tapes; they see one override instead, whose inputs are
what the function used of theirs: arguments, Tensors it closes over, Variables. Its rule runs the
function again, seen by a window of its own, and differentiates that window. The second run
replays the first: Variables have the values they had, generators draw the same numbers, no
assignment is made.

Where a tape that holds the override records the gradient, the operations of the second run take the
override's place on it: a gradient of higher order goes through them once, as if nothing had been
hidden, and no third run is needed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.autodiff.forward.linearity import LinearMap
from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.eager.window_gradient import compiled_gradients
from tracejit.ops.control.marker_ops import OVERRIDE, LinearCall, Marker
from tracejit.support.errors import fail
from tracejit.trace.capture.captures import Captures
from tracejit.trace.guards.contents import array_copy, can_change, same_contents
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.replays import RegionRun
from tracejit.trace.recording.tape_window import Sieve, Sight, Window
from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.structure.trees import flatten, map_tree, unflatten
from tracejit.trace.tensor.tensor import TENSORS, Tensor


def recompute_eagerly(
    f: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The value of f(*args, **kwargs), which open tapes see as one operation."""
    if not EAGER.windows:
        with EAGER.inside_scope():
            return f(*args, **kwargs)
    generators = Generators(f, args, kwargs)
    sieve, run = Sieve(EAGER.windows), RegionRun(name, generators)
    kept_args, kept_kwargs = map_tree(kept, args), map_tree(kept, kwargs)
    since = EAGER.writes
    with EAGER.seen_by((sieve,)), EAGER.logging_run(run), EAGER.inside_scope():
        value = map_tree(read_leaf, f(*args, **kwargs))
    generators.refuse_spawning(name)
    leaves, structure = flatten(value)
    places = [k for k, leaf in enumerate(leaves) if type(leaf) in TENSORS]
    inputs = [Tensor(value, EAGER) for value in sieve.inputs]
    for k in places:
        leaves[k]._value.index = 0
    if not places or not inputs:
        return value

    @contextmanager
    def running_again() -> Iterator[None]:
        with EAGER.replaying(run), generators.replayed(), EAGER.reading_as_of(since):
            generators.check(name)
            yield

    def results_again() -> list[Tensor]:
        again = flatten(map_tree(read_leaf, f(*kept_args, **kept_kwargs)))[0]
        if len(again) != len(leaves) or any(type(again[k]) not in TENSORS for k in places):
            raise fail("two-runs", EAGER.here(), function=name, problem="its results differ")
        return [again[k] for k in places]

    sight = Sight()

    def seen_again() -> tuple[Window, list[Tensor]]:
        """A second run, as a window of its own sees it, and its results. The tapes that recorded
        the first see it where they go on recording: in the place of the first."""
        window = Window(accessed=False)
        for x in inputs:
            window.watch(x._value)
        outer = [one for one in EAGER.windows if type(one) is Sieve]
        with EAGER.seen_by((*outer, window)), running_again():
            again = results_again()
        if any(one in EAGER.windows for one in sight.holders()):
            sight.unfold(window.nodes, [y._value for y in again])
        return window, again

    def rule(
        gs: Sequence[Tensor | None], wanted: Sequence[bool], known: Sequence[Tensor | None]
    ) -> list[Tensor | None]:
        window, again = seen_again()
        pairs = [
            (y, g)
            for y, g in zip(again, gs, strict=True)
            if g is not None and y._value in window.known
        ]
        ys, grad_ys = [y for y, _ in pairs], [g for _, g in pairs]
        asked = [k for k, wants in enumerate(wanted) if wants]
        xs = [inputs[k] for k in asked]
        so_far = [known[k] for k in asked]
        found = None
        if not EAGER.windows and ys:
            ends = [y._value for y in ys], [x._value for x in xs]
            found = compiled_gradients(window, *ends, grad_ys, dict, so_far)
        if found is None:
            found = gradients(ys, xs, grad_ys, window.nodes, so_far)
        by_place = dict(zip(asked, found, strict=True))
        return [by_place.get(k) for k in range(len(inputs))]

    def push(dots: Sequence[Tensor | None]) -> list[Tensor | None]:
        window, again = seen_again()
        pairs = [(x, dot) for x, dot in zip(inputs, dots, strict=True) if dot is not None]
        return tangents(again, [x for x, _ in pairs], [dot for _, dot in pairs], window.nodes)

    def linear(moving: Sequence[bool], wanted: Sequence[bool]) -> LinearCall:
        xs = [x for x, moves in zip(inputs, moving, strict=True) if moves]
        with EAGER.probing(name, (f, args, kwargs), xs) as probe, running_again():
            again = results_again()
        ys = [y for y, wants in zip(again, wanted, strict=True) if wants]
        found = LinearMap(EAGER, ys, xs, probe.recorded, probe.zeros)

        def transposed(gs: Sequence[Tensor | None]) -> list[Tensor | None]:
            pairs = [(y, g) for y, g in zip(again, gs, strict=True) if g is not None]
            one = LinearMap(EAGER, [y for y, _ in pairs], xs, probe.recorded, probe.zeros)
            moved = iter(one.transposed([g for _, g in pairs]))
            return [next(moved) if moves else None for moves in moving]

        return LinearCall(found.obstacle, transposed)

    tensors = [leaves[k] for k in places]
    words: dict[str, Any] = {"push": push, "linear": linear, "sight": sight}
    marker = Marker(name, "recomputed", rule, pruned=True, continues=True, **words)
    results = OVERRIDE(*tensors, *inputs, outputs=len(tensors), grad=marker)
    for k, result in zip(places, [results] if len(places) == 1 else results, strict=True):
        leaves[k] = result
    return unflatten(structure, leaves)


def kept(leaf: Any) -> Any:
    """An argument for later: a copy of an array that could be written to."""
    if type(leaf) in TENSORS:
        return Tensor(leaf._value, leaf._recording)
    return leaf.copy() if type(leaf) is np.ndarray and leaf.flags.writeable else leaf


class Generators:
    """The random generators in reach of a function, with their states of now, and the arrays in
    reach, which must not change."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Take note of the states."""
        reach = Captures([f, *args, *kwargs.values()], limit=None, compares=False)
        found = {id(one): one for one in reach.generators.values()}
        if "numpy.random" in sys.modules:
            found[0] = np.random.mtrand._rand
            leaves = flatten((args, kwargs))[0]
            found.update((id(one), one) for one in leaves if isinstance(one, np.random.Generator))
        self.generators = [*found.values(), random]
        self.states = self.now()
        self.spawned = [_spawned(one) for one in self.generators]
        passed = {id(leaf) for leaf in flatten((args, kwargs))[0]}
        arrays = [array for _, array in reach.arrays.values() if id(array) not in passed]
        self.arrays = [(array, array_copy(array)) for array in arrays if can_change(array)]

    def check(self, name: str) -> None:
        """RecomputeError where a captured array has changed since."""
        if not all(same_contents(array, copy) for array, copy in self.arrays):
            raise fail(
                "two-runs", EAGER.here(), function=name, problem="a captured array has changed"
            )

    def refuse_spawning(self, name: str) -> None:
        """RecomputeError where a generator has spawned others since: these would be others again
        in the second run."""
        if any(
            _spawned(one) != count for one, count in zip(self.generators, self.spawned, strict=True)
        ):
            raise fail(
                "two-runs", EAGER.here(), function=name, problem="it spawns random generators"
            )

    def now(self) -> list[Any]:
        """The states."""
        return [_state(one) for one in self.generators]

    def restore(self, states: list[Any]) -> None:
        """Put the states back."""
        for one, state in zip(self.generators, states, strict=True):
            _set_state(one, state)

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """The generators draw meanwhile what they drew after they were noted."""
        before = self.now()
        self.restore(self.states)
        try:
            yield
        finally:
            self.restore(before)


def _spawned(generator: Any) -> int:
    """The number of generators that a generator has spawned."""
    sequence = getattr(_bits(generator), "seed_seq", None)
    return getattr(sequence, "n_children_spawned", 0)


def _state(generator: Any) -> Any:
    """The state of a generator, a copy."""
    if hasattr(generator, "getstate"):  # the module random, and its Random
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return _bits(generator).state


def _set_state(generator: Any, state: Any) -> None:
    if hasattr(generator, "setstate"):
        generator.setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        _bits(generator).state = state


def _bits(generator: Any) -> Any:
    """The bit generator, whose `state` is that of the generator."""
    return getattr(generator, "bit_generator", generator)
