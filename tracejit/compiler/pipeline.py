"""The pipeline: from a recorded graph to the text of a module. `generate` has all stages, in their
order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.autodiff.batch.loop_fission import split_loops, whole_loops
from tracejit.autodiff.batch.loop_vectorisation import vectorise_loops
from tracejit.cache.key import digest, kernel_name
from tracejit.compiler.bodies import (
    Differentiated,
    ended,
    forward_alone,
    forward_and_backward,
    in_one,
    is_for_halves,
    partitions_of,
    repeating,
    tile_body,
    traces_of,
)
from tracejit.ir.dims import size_text
from tracejit.ir.graph import Graph, Value
from tracejit.ir.location import Origin
from tracejit.ir.printer import print_graph
from tracejit.ir.subgraph import every_node
from tracejit.ir.types import HANDLE, ArrayType, dtype_letters
from tracejit.ir.verify import check_steps
from tracejit.loops.bodies.loop_merging import merge_loops
from tracejit.loops.bodies.loop_residuals import choose_loop_residuals, keep_inner_loops
from tracejit.loops.bodies.loop_stacks import share_shifted_stacks
from tracejit.loops.bodies.loop_updates import update_in_place
from tracejit.loops.bodies.loops import (
    has_bodies,
    hoist_invariants,
    in_bodies,
)
from tracejit.loops.bodies.prune import prune_bodies
from tracejit.ops.base.op import LIBRARIES
from tracejit.passes.algebra.rewrites import reduce_strength
from tracejit.passes.algebra.simplify import simplify, simplify_exactly
from tracejit.passes.exact.cse import share, share_decompositions
from tracejit.passes.exact.detach import detach, detach_in_step
from tracejit.passes.exact.erase import erase_markers
from tracejit.passes.exact.numbers import as_numpy_numbers
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.driver import Pass, run_in_turn
from tracejit.support.config import dump
from tracejit.support.cost_model import costs
from tracejit.support.progress import stage
from tracejit.targets.numpy.lower.improve import improve
from tracejit.targets.numpy.plan.tiling import Tiling
from tracejit.targets.numpy.text.module import Module, render
from tracejit.text.header import Facts, MemoryUse
from tracejit.version import __version__

IR_VERSION = 18
EXACT_PASSES = tuple(
    Pass(each, is_exact=True)
    for each in (erase_markers, simplify_exactly, share, share_decompositions, drop_dead)
)
PASSES = (
    *(
        Pass(each, is_exact=True)
        for each in (
            erase_markers,
            as_numpy_numbers,
            simplify,
            share,
            share_decompositions,
            drop_dead,
        )
    ),
    Pass(vectorise_loops),
    Pass(improve),
    Pass(detach, is_exact=True),
)
BODY_PASSES = (
    *PASSES[:-1],
    Pass(update_in_place),
    Pass(drop_dead, is_exact=True),
    Pass(detach_in_step, is_exact=True),
)


class Recorded(NamedTuple):
    """A recorded and differentiated function.

    The first `outputs` outputs of the graph are the function's, the others the gradients of the
    inputs `sources`; `seed` is the input that stands for the cotangent of the first output, None
    where nothing is differentiated. `origin` is the user's function.

    Where several traces are joined, `trace_outputs` holds the number of outputs of each; the
    gradients are outputs of each, too. The last of these outputs may be the number of the trace
    (`is_numbered`).
    """

    graph: Graph
    origin: Origin
    outputs: int
    sources: tuple[Value, ...] = ()
    seed: Value | None = None
    trace_outputs: tuple[int, ...] = ()
    is_numbered: bool = False


def key_of(recorded: Recorded, options: str) -> str:
    """The content key: the graph before any pass, what text depends on besides, every version,
    and the cost model."""
    graph = print_graph(recorded.graph)
    dump("adjoint" if recorded.seed else "trace", lambda: graph)
    versions = f"tracejit {__version__} {made_for(recorded.graph)}"
    outputs = recorded.trace_outputs or recorded.outputs
    shape = f"{outputs} {recorded.seed is not None}"
    origin = recorded.origin
    return digest(graph, origin.name, origin.file, shape, options, versions, costs().digest)


def made_for(graph: Graph) -> str:
    """The versions that the text of a graph's module depends on."""
    libraries = ["np", *sorted({n.op.library for n in every_node(graph.nodes)} - {"np"})]
    named = [
        f"{m.__name__} {'.'.join(m.__version__.split('.')[:2])}"
        for m in map(LIBRARIES.__getitem__, libraries)
    ]
    return ", ".join([*named, f"ir {IR_VERSION}"])


def name_of(recorded: Recorded, key: str) -> str:
    """The kernel's file name without ending: loss__f8_32x16__3f9a1c07."""
    words = [
        _letters(value.type) + "".join(f"_{'x'.join(map(size_text, value.type.shape))}")
        for value in recorded.graph.inputs
        if value is not recorded.seed
    ]
    return kernel_name(recorded.graph.name, "__".join(word.rstrip("_") for word in words), key)


def _letters(type: ArrayType) -> str:
    return "handle" if type is HANDLE else dtype_letters(type.dtype)


def one_of(type: ArrayType) -> Any:
    """The number one as a constant of a 0-d type."""
    one = type.dtype.type(1.0)
    return np.asarray(one) if type.form == "array" else one


def optimise(graph: Graph, exact: bool = False) -> Graph:
    """`graph` after every pass; verified in between where TRACEJIT_VERIFY=1. With `exact` no bit of
    a result is changed, and no buffer updated in place."""
    passes = EXACT_PASSES if exact else PASSES
    inside = passes if exact else BODY_PASSES
    if has_bodies(graph):
        graph = optimise_bodies(graph, exact)

    def improved(graph: Graph) -> Graph:
        return in_bodies(graph, lambda body: improved(run_in_turn(body, inside)))

    graph = improved(run_in_turn(graph, passes))
    check_steps(graph)
    dump("plan", lambda: print_graph(graph))
    return graph


def reduced(body: Graph) -> Graph:
    """`body` after what had better see a step and its derivative together."""
    return drop_dead(reduce_strength(body))


def optimise_bodies(graph: Graph, exact: bool = False) -> Graph:
    """`graph` with its loops and conditions, and those in their bodies, as small as they can be."""
    graph = merge_loops(run_in_turn(graph, EXACT_PASSES))
    graph = graph if exact else whole_loops(graph)
    graph = keep_inner_loops(graph)
    graph = in_bodies(graph, lambda body: optimise_bodies(body, exact))
    graph = hoist_invariants(prune_bodies(graph), with_fills=exact)
    graph = graph if exact else in_bodies(graph, reduced)
    graph = share_shifted_stacks(prune_bodies(choose_loop_residuals(graph, in_steps=exact)))
    graph = drop_dead(prune_bodies(graph))
    return graph if exact else hoist_invariants(drop_dead(split_loops(graph)))


def generate(
    recorded: Recorded,
    key: str,
    exact: bool = False,
    memory_budget: int | None = None,
    is_readable: bool = False,
) -> Module:
    """The module of a recorded function; with `exact` every bit is NumPy's. Backward has at most
    `memory_budget` bytes of forward's values at once, as far as that is possible. The head says
    what a text costs that `is_readable`."""
    with stage("optimising", recorded.graph.name):
        graph = optimise(recorded.graph, exact)
    counts = recorded.trace_outputs
    if not counts:
        graph, counts = ended(graph), (recorded.outputs,)
    traces = traces_of(graph, counts, recorded.is_numbered)
    residuals: Sequence[Value] | None = None
    memory: MemoryUse | None = None
    halves = ""
    tiling = Tiling(enabled=not exact)
    arguments = graph.inputs
    if recorded.seed is None:
        bodies = [forward_alone(graph, arguments, traces, exact, tiling)]
    else:
        place = recorded.graph.inputs.index(recorded.seed)
        parts = partitions_of(traces, graph.inputs[place])
        whole = graph
        graph, again, most = repeating(graph, traces, parts, memory_budget)
        if graph is not whole:
            whole = whole if memory_budget is None else graph
            traces = traces_of(graph, counts, recorded.is_numbered)
            parts = partitions_of(traces, graph.inputs[place])
        memory = MemoryUse(again, most, memory_budget)
        if again and memory_budget is not None:
            tiling = Tiling(enabled=False)  # a tile would wait for all that its rows go through
        seed = graph.inputs[place]
        arguments = [value for value in graph.inputs if value is not seed]
        bars = [f"{value.name}_bar" for value in recorded.sources]
        given = Differentiated(arguments, seed, one_of(seed.type), bars)
        bodies, residuals = forward_and_backward(graph, given, traces, parts, exact, tiling)
        if is_for_halves(graph, tiling):
            halves = f"the value and {given.names}"
        else:
            seed = whole.inputs[place]
            bodies.append(in_one(whole, given, seed, traces, exact, tiling))
    facts = Facts(
        graph.name,
        recorded.origin,
        __version__,
        made_for(recorded.graph),
        key,
        arguments,
        traces[0].graph.outputs[: traces[0].results],
        None if recorded.seed is None else recorded.sources,
        residuals,
        len(recorded.trace_outputs),
        graph.sizes,
        memory,
        is_readable,
    )
    tiles = [tile_body(loop) for loop in tiling.loops]
    module = render(facts, bodies, halves, tiles, tiling.is_for_one_blas_thread, not exact)
    dump("source", lambda: module.text)
    return module
