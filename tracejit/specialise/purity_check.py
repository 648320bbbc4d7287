"""Purity check: with TRACEJIT_CHECK=1 each new call is recorded twice, and must be the same.

A guard sees what a function reads from globals, closures, attributes and containers. What C code
answers, the clock, the environment, files, random numbers of a generator made on the spot, it does
not see: such a value is a constant of the kernel. Recorded once more, it is another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.printer import constant_text, parameter_text
from tracejit.specialise.callee import Callee
from tracejit.specialise.reasons import changed_by_itself
from tracejit.specialise.trace_tree import RecordedCall
from tracejit.support.config import setting
from tracejit.support.errors import TracejitError, Where, fail
from tracejit.trace.guards.descriptions import described
from tracejit.trace.guards.exactness import exact_key, is_own
from tracejit.trace.guards.reads import reads_of
from tracejit.trace.recording.decisions import Failed
from tracejit.trace.source import places

LONGEST = 60
SUSPECTS = {
    "the clock": ("time", "time_ns", "perf_counter", "monotonic", "now", "today", "datetime"),
    "random numbers": ("random", "default_rng", "RandomState", "Random", "secrets", "urandom"),
    "an iterator": ("next", "count", "cycle"),
    "a new identifier": ("uuid", "uuid1", "uuid4", "id", "hash"),
    "the environment": ("environ", "getenv", "getpid", "getcwd"),
    "a file": ("open", "read_text", "load", "loadtxt", "input"),
}


def is_on() -> bool:
    """Return whether the setting `check` asks for two recordings."""
    return bool(setting("check"))


def recorded_twice(callee: Callee, record: Callable[[], RecordedCall]) -> RecordedCall:
    """Record twice, and return the second recording. Raises ImpureError, at the line where they
    part, where the first is another."""
    here, raised = places.here(), ""
    try:
        first = record()
    except (Exception, Failed) as error:
        raised = f"{type(error).__name__}: {error}".partition("\n")[0]
    second = record()
    impure = functools.partial(_impure, callee, second)
    if raised:
        raise impure(f"the first raises {raised}", here)
    runs = first, second
    graph, other = (run.recording.graph for run in runs)
    numbers = [
        {value: number for number, value in enumerate(each.values())} for each in (graph, other)
    ]
    for one, two in zip_longest(graph.inputs, other.inputs):
        names = [value.name if value is not None else "nothing" for value in (one, two)]
        if names[0] != names[1] or _type(one) != _type(two):
            raise impure(f"the first reads {names[0]}, the second {names[1]}", here)
    for node, its in zip_longest(graph.nodes, other.nodes):
        if node is None or its is None or _parts(node, numbers[0]) != _parts(its, numbers[1]):
            raise impure(_difference(node, its), _place(its or node, other, graph))
    for (mine, text), (others, its_text) in zip_longest(
        *map(_results, runs, numbers), fillvalue=(None, "nothing more")
    ):
        if mine != others:
            raise impure(f"the first returns {text}, the second {its_text}", here)
    return second


def _impure(
    callee: Callee, second: RecordedCall, problem: str, where: Where | None
) -> TracejitError:
    changes = changed_by_itself(second)
    changed = [f"{one.what}, which the function itself changes" for one in changes]
    suspects = " and ".join(changed) or _suspects(callee.python)
    words = {"function": callee.name, "problem": problem, "suspects": suspects}
    return fail("impure", where, **words)


def _parts(node: Node, numbers: dict[Value, int]) -> tuple[Any, ...]:
    """All that makes a node, apart from names, comparable between two graphs."""
    operands = [_operand(value, numbers) for value in node.operands]
    params = [(key, parameter_text(value)) for key, value in node.params.items()]
    return node.op.name, operands, params, [_type(value) for value in node.results], node.where


def _type(value: Value) -> Any:
    """A type, comparable between two graphs: each has free dimensions of its own."""
    return value.type if value.type.sizes is None else repr(value.type)


def _operand(value: Value, numbers: dict[Value, int]) -> Any:
    if isinstance(value, Constant):
        return _type(value), constant_text(value)
    return numbers.get(value)


def _difference(node: Node | None, other: Node | None) -> str:
    """The difference between two nodes, in words."""
    if node is None or other is None:
        longer = "second" if node is None else "first"
        return f"the {longer} has more steps than the other"
    if node.where != other.where:
        texts = [f"`{one.where.text}`" if one.where else "nothing" for one in (node, other)]
        return f"the first runs {texts[0]}, the second {texts[1]}"
    if node.op.name != other.op.name:
        return f"the first computes {node.op.name}, the second {other.op.name}"
    for one, two in zip(node.operands, other.operands, strict=False):
        if isinstance(one, Constant) and isinstance(two, Constant):
            texts = [_shortened(constant_text(value)) for value in (one, two)]
            if texts[0] != texts[1]:
                return f"the first has {texts[0]}, the second {texts[1]}"
    for key in node.params:
        texts = [parameter_text(node.params[key]), parameter_text(other.params.get(key))]
        if texts[0] != texts[1]:
            return f"the first has {key}={texts[0]}, the second {key}={texts[1]}"
    return f"{node.op.name} has other operands"


def _place(node: Node | None, *graphs: Graph) -> Where | None:
    """The line of a node, which belongs to one of these graphs."""
    where = None if node is None else node.where
    found = (places.where_of(where, graph.files) for graph in graphs)
    return next((place for place in found if place is not None), None)


def _results(run: RecordedCall, numbers: dict[Value, int]) -> Iterator[tuple[Any, str]]:
    """The results of a run: values of the graph, and objects that are the same at each call."""
    for output in run.finished.outputs:
        yield output.structure, f"a {getattr(output.structure.cls, '__name__', 'leaf')}"
        for kind, leaf in output.leaves:
            if kind == "result":
                yield leaf, "an array"
            else:
                yield (
                    exact_key(leaf) if is_own(type(leaf), "__eq__") else type(leaf),
                    described(leaf),
                )
    for commit in run.finished.commits:
        known = commit.event.argument or id(commit.event.variable)
        yield (known, commit.places), "another assignment"
    for value in run.recording.graph.outputs:
        text = constant_text(value) if isinstance(value, Constant) else value.name
        yield _operand(value, numbers), _shortened(text)


def _suspects(python: Callable[..., Any]) -> str:
    """Guess from the names in the code of a function what it reads that no guard sees."""
    code = getattr(getattr(python, "__func__", python), "__code__", None)
    names = frozenset[str]().union(*reads_of(code)[:2]) if code is not None else frozenset()
    found = [what for what, words in SUSPECTS.items() if not names.isdisjoint(words)]
    return " or ".join(found) or "random numbers, the clock, the environment or a file"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
