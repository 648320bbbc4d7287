"""The printed form of a graph, and the parser that reads it back.

    graph loss(x: f8[8,4], w: f8[4,3]) -> out: f8
      h_1  f8[8,3] = matmul x w      # loss:1  h = np.tanh(x @ w)
      h    f8[8,3] = tanh h_1
      out  f8      = sum h  axis=(0, 1)  # loss:2  return np.sum(h)

One node a line: results with their types, the op (`op@2` in recompute region 2), operands,
parameters, and the user's line where it changes. A graph whose types have free dimensions names
them under the head, with what must hold of them: `sizes n m where n > 2`; sizes that differ from
step to step of a loop stand there with their bounds: `steps t<9`. Numbers stand in place
of a name: `2.0` is a Python number, `f4(2.0)` a NumPy scalar. An array constant has a line of its
own under the head, with its elements or, if large, their hash. The body of a loop stands under the
node that owns it, indented, after the parameter that holds it:

    last  f8 = loop 0.0 xs  body=add_up invariants=0 carried=1 length=9 reverse=False
      body: graph add_up(total: f8, x: f8, t: ~i8) -> total_1: f8
        total_1  f8 = add total x
"""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import Dim, FreeShape, spelled
from tracejit.ir.graph import Constant, Graph, Node, Value
from tracejit.ir.location import Location, location_text
from tracejit.ir.size_parser import parse_sizes, read_sizes
from tracejit.ir.sizes import Sizes
from tracejit.ir.step_sizes import StepSizes
from tracejit.ir.subgraph import Subgraph, bodies_of
from tracejit.ir.types import ArrayType, Operation, dtype_letters, parse_type
from tracejit.support.errors import fail
from tracejit.support.words import printable

INLINE_ELEMENTS = 16


def print_graph(graph: Graph) -> str:
    """The printed form of `graph`, whose names have been assigned."""
    return _printed(graph, graph.sizes)


def _printed(graph: Graph, named: Sizes | None) -> str:
    """The printed form of `graph`, with a line for the sizes that are `named` in it."""
    inputs = ", ".join(f"{value.name}: {value.type!r}" for value in graph.inputs)
    outputs = ", ".join(f"{_operand(value)}: {value.type!r}" for value in graph.outputs)
    texts: dict[ArrayType, str] = {}
    rows = [_cells(node, texts) for node in graph.nodes]
    names = max((len(row[0]) for row in rows), default=0)
    types = max((len(row[1]) for row in rows), default=0)
    lines = [f"graph {graph.name}({inputs}) -> {outputs}".rstrip()]
    if named is not None:
        lines += _sizes_line(named)
    lines += [
        f"  {constant.name} {constant.type!r} = constant {constant_text(constant)}"
        for constant in graph.constants()
        if constant.type.form == "array"
    ]
    previous: Location | None = None
    for node, (name, kind, body) in zip(graph.nodes, rows, strict=True):
        line = f"  {name:<{names}}  {kind:<{types}} = {body}"
        if node.where is not previous and node.where is not None and node.where != previous:
            line = f"{line:<50}  # {location_text(node.where)}"
        previous = node.where
        lines.append(line.rstrip())
        for key, owned in bodies_of(node):
            lines.append(textwrap.indent(f"{key}: {body_text(owned)}", "    ").rstrip())
    return "\n".join(lines) + "\n"


def parameter_text(value: Any) -> str:
    """A parameter as printed: a literal, a dtype's letters, a function's or a marker's name; of a
    body all that it does."""
    if isinstance(value, np.dtype):
        return dtype_letters(value)
    if type(value) is Subgraph:
        return body_text(value)
    if type(value) is tuple and any(type(one) is Subgraph for one in value):
        return "".join(map(parameter_text, value))
    if type(value) in (Dim, FreeShape, tuple):
        return spelled(value)
    name = getattr(value, "__name__", None)
    return repr(value) if name is None else printable(str(name))


def body_text(body: Subgraph) -> str:
    """The printed form of a body; the sizes in it are those of the graph around it."""
    return _printed(body.graph, None)


def _line_text(value: Any) -> str:
    """A parameter in the line of its node, below which bodies stand."""
    if type(value) is Subgraph:
        return value.name
    if type(value) is tuple and any(type(one) is Subgraph for one in value):
        return f"({','.join(map(_line_text, value))})"
    return parameter_text(value)


def constant_text(constant: Constant) -> str:
    """The elements of a constant, or the hash of their bytes when there are many."""
    data = constant.data
    if constant.type.form == "weak":
        return repr(data)
    if constant.type.form == "scalar":
        return f"{constant.type!r}({data.item()!r})"
    if data.size <= INLINE_ELEMENTS:
        return repr(data.tolist()).replace(" ", "")
    return "sha256:" + hashlib.sha256(data.tobytes()).hexdigest()


def _operand(value: Value) -> str:
    if isinstance(value, Constant) and value.type.form != "array":
        return constant_text(value)
    return value.name


def _cells(node: Node, texts: dict[ArrayType, str]) -> tuple[str, str, str]:
    """Results, their types, whose `texts` are those met before, and the rest of a line."""
    region = f"@{node.region}" if node.region else ""
    operands = [_operand(value) for value in node.operands]
    if node.op.name == "override" and len(operands) > 1:
        operands.insert(1, "<-")
    body = " ".join([node.op.name + region, *operands])
    if node.params:
        params = [f"{key}={_line_text(value)}" for key, value in node.params.items()]
        body = f"{body}  {' '.join(params)}"
    names = ", ".join([value.name for value in node.results])
    types = [value.type for value in node.results]
    for type in types:
        if type not in texts:
            texts[type] = repr(type)
    return names, ", ".join([texts[type] for type in types]), body


def _sizes_line(sizes: Sizes) -> list[str]:
    """The line that names the free dimensions or those of steps, if there are any."""
    if type(sizes) is StepSizes:
        return list(filter(None, [sizes.line()]))
    names = [sizes.symbols[index].name for index in sizes.free()]
    conditions = sizes.conditions()
    where = f" where {', '.join(conditions)}" if conditions else ""
    return [f"  sizes {' '.join(names)}{where}"] if names else []


_HEAD = re.compile(r"graph (\S+)\((.*)\) ->(?: (.*))?")
_SIZES = re.compile(r"  sizes ([\w ]+?)(?: where (.+))?")
_STEPS = re.compile(r"  steps (.+)")
_STEP = re.compile(r"(\w+)<(\d+)")
_CONSTANT = re.compile(r"  (\S+) (\S+) = constant (\S+)")
_NODE = re.compile(r"  (.+?)  +(.+?) += (\w+)(?:@(\d+))?(.*)")
_BODY = re.compile(r"    (\w+): (graph .*)")
_PARAMETER = re.compile(r"(?<=\s)(\w+)=")


def parse_graph(
    text: str, ops: Mapping[str, Operation], constants: Mapping[str, np.ndarray] | None = None
) -> Graph:
    """The graph that prints as `text`; `constants` holds large arrays by name. The inverse of
    print_graph.

    A parameter that was printed by a function's name stays that name.
    """
    lines = text.splitlines()
    steps = _STEPS.fullmatch(lines[1]) if lines[1:] else None
    if steps:
        of_steps = StepSizes()
        known = {name: of_steps.step(int(count)) for name, count in _STEP.findall(steps[1])}
        return _parsed([lines[0], *lines[2:]], ops, constants or {}, of_steps, known)
    found = _SIZES.fullmatch(lines[1]) if lines[1:] else None
    owner = Sizes() if found else None
    sizes = read_sizes(owner, found[1].split(), found[2]) if found and owner else {}
    if found:
        del lines[1]
    return _parsed(lines, ops, constants or {}, owner, sizes)


def _parsed(
    lines: Sequence[str],
    ops: Mapping[str, Operation],
    constants: Mapping[str, np.ndarray],
    owner: Sizes | None,
    sizes: Mapping[str, Dim],
) -> Graph:
    """The graph of these lines, over the free dimensions `sizes` of `owner`."""
    head = _HEAD.fullmatch(lines[0]) if lines else None
    if head is None:
        problem = f"{lines[0][:40] if lines else ''!r} is not a printed graph"
        raise fail("graph", None, problem=problem)
    graph = Graph(head[1])
    graph.sizes = owner
    known: dict[str, Value] = {}
    for name, kind in re.findall(r"(\w+): ([^\s,\[]+(?:\[[^\s\[\]]*\])?)", head[2]):
        known[name] = graph.add_input(name, parse_type(kind, sizes))
    where: Location | None = None
    for line, bodies in _with_bodies(lines[1:]):
        constant = _CONSTANT.fullmatch(line)
        if constant is not None:
            data = constants.get(constant[1])
            if data is None:
                kind = parse_type(constant[2])
                elements = re.findall(r"[^\[\],]+", constant[3])
                data = np.array(list(map(_number, elements)), kind.dtype).reshape(kind.shape)
            known[constant[1]] = held = graph.constant(data)
            held.base = held.name = constant[1]
            continue
        code, _, comment = line.partition("  # ")
        where = _parse_location(comment) if comment else where
        match = _NODE.fullmatch(code.rstrip())
        if match is None:
            raise fail("graph", None, problem=f"{line!r} is not a node")
        operands, params = _split_parameters(match[5], sizes)
        for key, texts in bodies.items():
            read = [Subgraph.of(_parsed(text, ops, constants, owner, sizes)) for text in texts]
            params[key] = tuple(read) if str(params[key]).startswith("(") else read[0]
        node = graph.emit(
            ops[match[3]],
            tuple(_value(graph, known, word) for word in operands if word != "<-"),
            params,
            [parse_type(kind, sizes) for kind in match[2].split(", ")],
            where,
            int(match[4] or 0),
        )
        for name, value in zip(match[1].split(", "), node.results, strict=True):
            value.label = value.base = value.name = name
            known[name] = value
    graph.outputs = [
        _value(graph, known, word.rpartition(": ")[0])
        for word in re.split(r", (?=[^\]]*?: )", head[3] or "")
        if word
    ]
    return graph


def _with_bodies(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, list[list[str]]]]]:
    """Each line of a graph, and the lines of the bodies that stand under it by parameter."""
    line = ""
    bodies: dict[str, list[list[str]]] = {}
    for following in [*lines, ""]:
        opened = _BODY.fullmatch(following)
        if opened is not None:
            inside = [opened[2]]
            bodies.setdefault(opened[1], []).append(inside)
        elif bodies and following.startswith("    "):
            inside.append(following[4:])
        else:
            if line:
                yield line, bodies
            line, bodies = following, {}


def _parse_location(comment: str) -> Location:
    body, _, note = comment.partition("    [")
    place, _, text = body.partition("  ")
    function, _, line = place.rpartition(":")
    return Location(function, int(line), text, note.rstrip("]"))


def _split_parameters(text: str, sizes: Mapping[str, Dim]) -> tuple[list[str], dict[str, Any]]:
    pieces = _PARAMETER.split(text)
    params = {
        key: _literal(value.strip(), sizes)
        for key, value in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    return pieces[0].split(), params


class FunctionName(str):
    """A parameter read back from a function's name; printed as such, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _literal(text: str, sizes: Mapping[str, Dim]) -> Any:
    if re.fullmatch(r"[fiubc]\d+", text):
        return np.dtype(text)
    try:
        return _number(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    value = parse_sizes(text, sizes)
    return FunctionName(text) if value is None else value


def _number(text: str) -> bool | int | float | complex:
    """The number with this repr: as ast.literal_eval, but for nan, inf and signs of zeros."""
    if text in ("True", "False"):
        return text == "True"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return complex(text) if text.strip("()").endswith("j") else float(text)


def _value(graph: Graph, known: Mapping[str, Value], word: str) -> Value:
    if word in known:
        return known[word]
    typed = re.fullmatch(r"([fiubc]\d+)\((.*)\)", word)
    if typed is not None:
        return graph.constant(np.dtype(typed[1]).type(_number(typed[2])))
    return graph.constant(_number(word))
