"""The text of a generated module: header, imports, constants, SIGNATURE and one function per body.

The form is the contract of DESIGN section 7: user's names, one comment per run of statements of
one user line, arithmetic in place where the buffer is ours, no import of tracejit, no class, no
check.
"""

from __future__ import annotations

import builtins
import keyword
import string
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.graph import Node, Value
from tracejit.ir.location import location_text
from tracejit.ir.sizes import Sizes
from tracejit.ops.base.helpers import TEXTS
from tracejit.ops.control.branches import DECIDE, LEAVE
from tracejit.support.words import in_docstring
from tracejit.targets.numpy.plan.plan import Plan
from tracejit.targets.numpy.plan.tile_loops import TILES
from tracejit.targets.numpy.text.bindings import verify_bindings
from tracejit.targets.numpy.text.branches import CLASS, UNRECORDED, BranchText
from tracejit.targets.numpy.text.constants import Constants
from tracejit.targets.numpy.text.defaults import may_be_python
from tracejit.targets.numpy.text.expressions import Expressions, import_lines
from tracejit.targets.numpy.text.floats import FloatExpressions, pays
from tracejit.targets.numpy.text.free_sizes import free_names, size_lines, size_names, words_of
from tracejit.targets.numpy.text.loop_text import statement_lines
from tracejit.targets.numpy.text.names import check_names, check_text, variables
from tracejit.targets.numpy.text.release import releases
from tracejit.targets.numpy.text.reserved_names import library_names, loop_names
from tracejit.targets.numpy.text.tile_functions import (
    IN_TURN,
    NAMES,
    cut_lines,
    filling_lines,
    sweep_lines,
)
from tracejit.text.header import Facts, header, notice, signature
from tracejit.text.lines import WIDTH
from tracejit.text.marks import mark_lines
from tracejit.text.source import to_source

IN_FLOATS = "_in_floats"
IN_SCALARS = "_in_scalars"
_SIGNATURE = "# SIGNATURE"
_BETWEEN_WORDS = str.maketrans(dict.fromkeys(string.punctuation.replace("_", ""), " "))

Groups = Sequence[tuple[int, bool]]


class Body(NamedTuple):
    """One function of the module.

    In `docstring`, {results} stands for the names of the first group of results.

    `unpacked` are the inputs that arrive as the tuple `residuals`, before the other parameters.
    `groups` says how the plan's results, then its residuals, are returned: each entry is the number
    of values in a tuple; a single value is written without the tuple where `bare`. A function of
    several traces has such groups for each. `defaults` maps inputs to NumPy scalars or 0-d arrays.

    A `tile` is a function of the rows from start to stop: its first inputs are sliced to these
    along the axes in `sliced`; at its end the buffers in `late` are filled.

    A body may be for one trace alone, the number `path`, which is the first of its residuals:
    bodies of the same name are written as one function. One `in_floats` takes Python floats and
    returns NumPy scalars.
    """

    name: str
    docstring: str
    plan: Plan
    groups: Groups | Mapping[int, Groups]
    unpacked: int | None = None
    defaults: Mapping[Value, Any] = {}
    path: int | None = None
    sliced: Sequence[int] | None = None
    late: Mapping[Value, Value] = {}
    in_floats: bool = False


class Module(NamedTuple):
    """The text, the constants too large for it, by name, and a warning for the user or ""."""

    text: str
    constants: dict[str, np.ndarray]
    notice: str = ""


class _Text(NamedTuple):
    """One function as source, and the names of its variables."""

    source: str
    names: Mapping[Value, str]


def render(
    facts: Facts,
    bodies: Sequence[Body],
    halves: str = "",
    tiles: Sequence[Body] = (),
    one_blas_thread: bool = False,
    numbers: bool = True,
) -> Module:
    """The module with these functions and `facts` at its head. The first of the bodies is forward;
    the `tiles` stand before it. Where `halves` says what they return together, `value_and_grad`
    calls forward and backward. The module may ask for `one_blas_thread`. With `numbers` those that
    meet small arrays have names at the head."""
    imports: dict[str, str] = {}
    plans = [plan for body in (*tiles, *bodies) for plan in body.plan.all]
    reserved = {"residuals", "SIGNATURE", "constants", "load", UNRECORDED}
    reserved |= library_names(plans) | loop_names(plans)
    words = {*keyword.kwlist, *vars(builtins), *NAMES, *(body.name for body in (*tiles, *bodies))}
    constants = Constants(plans, numbers, reserved | words)
    if halves:
        reserved |= {body.name for body in bodies}
    in_floats = [body for body in bodies if numbers and _runs_on_floats(body, len(bodies))]
    for body in in_floats:
        reserved |= {"float", body.name, body.name + IN_FLOATS, body.name + IN_SCALARS}
    names: Mapping[Value, str] = {}
    functions = [CLASS] if bodies[0].plan.branches.decisions else []
    if tiles:
        reserved |= NAMES | {body.name for body in tiles} | {"empty"}
        functions.append(IN_TURN)
    functions += [
        _function([tile], reserved, imports, constants, {}, facts.sizes).source for tile in tiles
    ]
    for _, group in groupby(bodies, key=attrgetter("name")):
        same = list(group)
        others = _twins(same[0]) if same[0] in in_floats else []
        for body in others:
            function = _function([body], reserved, imports, constants, names, facts.sizes)
            functions.append(function.source)
        if not others:
            function = _function(same, reserved, imports, constants, names, facts.sizes)
        else:
            function = _either(same[0], function)
        functions.append(function.source)
        names = names or function.names
    if halves:
        functions.append(_both_halves(halves, facts, names))
    spell = Expressions(str, set())
    used = sorted(name for name, origin in imports.items() if origin == "helpers")
    functions[:0] = [spell.bind(TEXTS[name]) for name in used]
    lines: list[str] = []
    large: dict[str, np.ndarray] = {}
    for name, number in constants.numbers.items():
        lines.append(f"{name} = {spell.scalar(number, False)}")
    computed: list[str] = []
    for name, constant in constants.arrays.items():
        text = spell.array_literal(constant)
        if constant.made is not None and not spell.is_regular(constant):
            computed.append(f"{name} = {spell.expression(constant.made)}")
        elif text is None:
            large[name] = constant.data
        else:
            lines.append(f"{name} = {text}")
    if large:
        spell.imports["load"] = "numpy"
        lines.append("with load(__file__[:-3] + '.npz') as constants:")
        lines += [f"    {name} = constants[{name!r}]" for name in large]
    lines += computed
    imports |= spell.imports
    written = set(" ".join([*lines, *functions]).translate(_BETWEEN_WORDS).split())
    imports = {name: origin for name, origin in imports.items() if name in written}
    head = [*import_lines(imports), "#", _SIGNATURE]
    if one_blas_thread:
        head += [
            "# tracejit calls these functions with the BLAS on one thread.",
            "BLAS_THREADS = 1",
        ]
    if lines:
        head += ["#", *lines]
    called = [value.name for value in facts.arguments] + [body.name for body in (*tiles, *bodies)]
    check_names((facts.name, *called, *constants.names, *imports, *words_of(names)))
    text = to_source("\n".join([*head, *functions]))
    text = text.replace(_SIGNATURE, f"SIGNATURE = {signature(facts, names)}", 1)
    text = f'"""{in_docstring(header(facts, names))}"""\n{text}'
    check_text(text)
    return Module(text, large, notice(facts))


def _runs_on_floats(body: Body, count: int) -> bool:
    """Return whether `body`, of `count`, has no residuals and is faster on Python floats."""
    keeps = body.name == "forward" and count > 1
    return body.unpacked is None and not body.defaults and not keeps and pays(body.plan)


def _twins(body: Body) -> list[Body]:
    """The function on Python floats, and in NumPy scalars."""
    floats = body._replace(
        name=body.name + IN_FLOATS, docstring=f"{body.docstring[:-1]}, of floats.", in_floats=True
    )
    scalars = body._replace(
        name=body.name + IN_SCALARS, docstring=f"{body.docstring[:-1]}, of NumPy scalars."
    )
    return [floats, scalars]


def _either(body: Body, twin: _Text) -> _Text:
    """The function that calls the twin on floats, or the other where Python raises an error."""
    names = [twin.names[value] for value in body.plan.inputs]
    results = [twin.names.get(value, "a constant") for value in _first_results(body)]
    floats = ", ".join(f"float({name})" for name in names)
    lines = [
        f"def {body.name}({', '.join(names)}):",
        f"    {body.docstring.format(results=_listed(results))!r}",
        "    try:",
        f"        return {body.name}{IN_FLOATS}({floats})",
        "    except (ArithmeticError, ValueError):",
        f"        return {body.name}{IN_SCALARS}({', '.join(names)})",
    ]
    return _Text("\n".join(lines) + "\n", twin.names)


def _function(
    bodies: Sequence[Body],
    reserved: set[str],
    imports: dict[str, str],
    constants: Constants,
    given: Mapping[Value, str],
    sizes: Sizes | None,
) -> _Text:
    """The text of the function that `bodies` are: one body for each trace, if there are several."""
    is_plain = all(may_be_python(each.plan, one) for each in bodies for one in each.defaults)
    written = [
        _written(body, reserved, imports, constants, given, sizes, is_plain) for body in bodies
    ]
    first, one = bodies[0], written[0]
    lines: list[str] = []
    for body, text in zip(bodies[:-1], written[:-1], strict=True):
        lines.append(f"if residuals[0] == {body.path}:")
        lines += [f"    {line}" for line in text.lines]
    lines += written[-1].lines
    results = _first_results(first)
    names = [one.names.get(value, "a constant") for value in results]
    docstring = first.docstring.format(results=_listed(names))
    return _Text(_defined(first.name, ", ".join(one.parameters), docstring, lines), one.names)


def _defined(name: str, parameters: str, docstring: str, lines: Sequence[str]) -> str:
    """The text of a function with these lines."""
    if len(docstring) > WIDTH - 10:
        docstring = textwrap.fill(docstring, WIDTH - 8, subsequent_indent="    ") + "\n    "
    return "\n    ".join([f"def {name}({parameters}):", repr(docstring), *lines]) + "\n"


def _both_halves(returned: str, facts: Facts, names: Mapping[Value, str]) -> str:
    """The text of the function `value_and_grad` that calls forward, then backward."""
    parameters = ", ".join(names[value] for value in facts.arguments)
    docstring = f"Return {returned}: forward, then backward."
    lines = [f"value, residuals = forward({parameters})", "return value, backward(residuals)"]
    return _defined("value_and_grad", parameters, docstring, lines)


def _first_results(body: Body) -> Sequence[Value]:
    """The first group of results that the function returns, on its first trace."""
    if not isinstance(body.groups, Mapping):
        return body.plan.results[: body.groups[0][0]] if body.groups else []
    end = next(node for node in body.plan.statements if node in body.plan.leaves)
    return end.operands[: body.groups[end.params["path"]][0][0]]


class _Written(NamedTuple):
    """One body: the parameters of its function, its lines, and the names of its variables."""

    parameters: list[str]
    lines: list[str]
    names: Mapping[Value, str]


def _written(
    body: Body,
    reserved: set[str],
    imports: dict[str, str],
    constants: Constants,
    given: Mapping[Value, str],
    sizes: Sizes | None,
    is_plain: bool,
) -> _Written:
    plan = body.plan
    free = free_names(sizes)
    given = {**given, **size_names(plan)}
    reserved = reserved | constants.names | free
    names = {**given, **variables(plan, reserved, given)}
    kind = FloatExpressions if body.in_floats else Expressions
    spell = kind(names.__getitem__, plan.inlined, constants.name_of)
    parameters = [
        f"{names[value]}={spell.scalar(body.defaults[value], not is_plain)}"
        if value in body.defaults
        else names[value]
        for value in plan.inputs
    ]
    lines = []
    if body.unpacked is not None:
        unpacked, parameters = parameters[: body.unpacked], parameters[body.unpacked :]
        if body.path is not None:
            unpacked = ["_", *unpacked]
        if unpacked:
            lines.append(f"{', '.join(unpacked)}{',' * (len(unpacked) == 1)} = residuals")
        parameters.insert(0, "residuals")
    if body.sliced is not None:
        lines += cut_lines(parameters[: len(body.sliced)], body.sliced)
        parameters = ["start", "stop", *parameters]
    unpacked_lines = len(lines)
    previous = None
    released = releases(plan, names)
    late = [value for pair in body.late.items() for value in pair]
    verify_bindings(plan, names, (), released, late)
    flow = BranchText(plan.branches)
    for number, node in enumerate(plan.statements):
        between = flow.enter(node)
        if between:
            lines += between
            previous = None
        statement = []
        if number in released:
            rows = textwrap.wrap(", ".join(released[number]), WIDTH - 8)
            statement += [f"del {row.rstrip(',')}" for row in rows]
        if node.where is not None and node.where != previous:
            statement.append(f"# {location_text(node.where).rstrip()}")
            previous = node.where
        if node.op is DECIDE:
            flow.decide(node, spell.test(node.operands[0]))
        elif node.op is LEAVE:
            statement += mark_lines(node, ["return " + _left(node, body, spell)])
        elif node.op is TILES:
            statement += mark_lines(node, [*sweep_lines(node, names, spell)])
        else:
            statement += mark_lines(node, statement_lines(node, plan, names, spell, reserved))
        lines += [f"{'    ' * flow.depth}{line}" for line in statement]
    lines += filling_lines(body.late, names.__getitem__)
    if plan.results or not (plan.leaves or body.sliced):
        lines.append("return " + _returned(body, spell))
    imports |= spell.imports
    check_names(words_of(names))
    lines[unpacked_lines:unpacked_lines] = size_lines(lines, free, plan, names)
    return _Written(parameters, lines, names)


def _listed(words: Sequence[str]) -> str:
    """Several words joined as in a sentence."""
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _returned(body: Body, spell: Expressions) -> str:
    assert not isinstance(body.groups, Mapping)
    plan = body.plan
    return _grouped([*plan.results, *plan.kept], plan.copies, body.groups, spell)


def _left(node: Node, body: Body, spell: Expressions) -> str:
    """The expression that is returned where a trace ends."""
    groups = body.groups
    if isinstance(groups, Mapping):
        groups = groups[node.params["path"]]
    return _grouped(node.operands, body.plan.leaves[node], groups, spell)


def _grouped(
    values: Sequence[Value], copies: Collection[int], groups: Groups, spell: Expressions
) -> str:
    texts = [
        f"({spell.operand(value)}).copy()" if position in copies else spell.result(value)
        for position, value in enumerate(values)
    ]
    parts = []
    for count, bare in groups:
        group, texts = texts[:count], texts[count:]
        if bare and count == 1:
            parts += group
        else:
            parts.append(f"({', '.join(group)}{',' * (count == 1)})")
    return ", ".join(parts)
