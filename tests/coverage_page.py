"""docs/coverage.md, written from the op table and the tests' samples.

    python -m tests.coverage_page

A sample counts for a function when its call reaches the function's handler, and what is recorded
there is what the sample is named after.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import scipy

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ops"))  # where the tables find `table`

from tests.interpret import run  # noqa: E402
from tests.ops.cases import CASES, Case  # noqa: E402
from tests.ops.program import quiet  # noqa: E402
from tracejit.ops import scipy as scipy_ops  # noqa: E402
from tracejit.ops.base.op import COMPOSITES, DIRECT, HANDLERS, OPS, Op  # noqa: E402
from tracejit.solvers import integrate as integrate  # noqa: E402  fills TWINS
from tracejit.solvers import optimize as optimize  # noqa: E402
from tracejit.solvers.calls import TWINS  # noqa: E402
from tracejit.trace.convert import routes as routes  # noqa: E402  fills RULES
from tracejit.trace.convert.rules import RULES  # noqa: E402
from tracejit.trace.structure.trees import flatten  # noqa: E402
from tracejit.trace.tensor.tensor import Tensor  # noqa: E402

PAGE = ROOT / "docs" / "coverage.md"
COMMAND = "python -m tests.coverage_page"
VERSIONS = {"NumPy": np.__version__, "SciPy": scipy.__version__}

HEAD = """# Coverage

The functions of NumPy and SciPy that tracejit records and differentiates. `{command}`
writes this page from the table of operations and the samples of the tests, with {versions}.
A function that is not listed is converted if it is written in Python. If it is compiled, it is
refused by name: see [Conversion](conversion.md#functions-of-libraries) and the end of this page.
Methods of arrays (`x.sum()`) and operators (`x @ y`) count as their functions.
Matrices of `scipy.sparse`, and the solvers of `scipy.sparse.linalg`, are recorded, too: see
[Sparse matrices and Jacobians](how_to/sparse.md).

| column | meaning |
|---|---|
| VJP | reverse mode: yes; *constant*: unconnected; *no rule*: an error when differentiated |
| JVP | forward mode: *linear*, *bilinear*, yes |
| order | the highest order of derivatives that the tests compare with differences |
| complex | yes if the tests have complex arguments |
| batching | `tj.vmap`: all at once (*elementwise*, *leading*, *rule*), or one after *each* other |
| singular | yes if [Singular points](singular_points.md) has a row |
| how | *op*: one call in generated code; *formula*: NumPy, recorded as its parts |

A function without any mark needs only shape and dtype, writes into an array, or has no sample of
its own.
"""
COLUMNS = ("function", "VJP", "JVP", "order", "complex", "batching", "singular", "how")

# Names for what has none of a module.
OPERATORS = {
    "_operator.getitem": "`x[index]`",
    "_operator.pow": "`x ** y`",
    "_operator.setitem": "`x[index] = y`",
}
# Modules whose functions a user may want recorded, and what of them computes nothing from arrays.
MODULES = {
    "numpy": "np",
    "numpy.linalg": "np.linalg",
    "numpy.fft": "np.fft",
    "numpy.lib.stride_tricks": "np.lib.stride_tricks",
    "scipy.special": "scipy.special",
    "scipy.linalg": "scipy.linalg",
    "scipy.ndimage": "scipy.ndimage",
}
REFUSING = ("refuse", "_refuse")
SILENT = re.compile(
    r"^_|test|errstate|deprecat|print|^get|^set(_|err|buf)|^(save|load|from|array[2r_])|info$"
)


@dataclass
class Found:
    """What the samples of a handler showed: the ops that it recorded, the highest order that was
    checked, whether anything was connected, whether with complex numbers, and whether no op of the
    sample's name was recorded."""

    ops: set[Op] = field(default_factory=set)
    order: int = 0
    connected: bool = False
    complex: bool = False
    formula: bool = False


# What the samples show


class Call(NamedTuple):
    """A call that a user made of a function in HANDLERS, the handler that took it, what it
    answered, and the ops that it recorded."""

    function: Any
    handler: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    ops: list[Op]


@contextmanager
def observed(note: Callable[[Call], None]) -> Iterator[None]:
    """`note` is told of every call that a user makes with a Tensor."""
    handlers, direct = dict(HANDLERS), dict(DIRECT)
    inside = False

    def noting(function: Any, handler: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(handler)
        def noted(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            leaves = flatten((args, kwargs))[0]
            graphs = [x._recording.graph for x in leaves if isinstance(x, Tensor)]
            if inside or not graphs:
                return handler(*args, **kwargs)
            inside, before = True, len(graphs[0].nodes)
            try:
                result = handler(*args, **kwargs)
            finally:
                inside = False
            ops = [node.op for node in graphs[0].nodes[before:]]
            note(Call(function, handler, args, kwargs, result, ops))
            return result

        return noted

    DIRECT.clear()
    HANDLERS.update({function: noting(function, handler) for function, handler in handlers.items()})
    try:
        yield
    finally:
        HANDLERS.update(handlers)
        DIRECT.update(direct)


def source(handler: Any) -> Any:
    """What several functions may share: the op whose method a handler is, or the handler."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Op) else handler


def run_samples(cases: Iterable[Case]) -> dict[Any, Found]:
    """What every handler was seen to do, by its source."""
    found: dict[Any, Found] = defaultdict(Found)

    def note(call: Call) -> None:
        op, key = case.sample.op, source(call.handler)
        named = [one for one in call.ops if one.name == op]
        if named:
            credit(key, named)
        elif op in COMPOSITES and (
            call.handler is COMPOSITES[op] or getattr(call.function, "__name__", "") == op
        ):
            credit(key, call.ops).formula = True

    def credit(key: Any, ops: Iterable[Op]) -> Found:
        seen = found[key]
        seen.ops.update(ops)
        seen.order = max(seen.order, case.order)
        seen.complex |= any(np.iscomplexobj(x) for x in flatten(case.sample.args)[0])
        credited.append(seen)
        return seen

    credits: list[tuple[Case, list[Found]]] = []
    with observed(note), quiet():
        for case in cases:
            credited: list[Found] = []
            run(case.sample.call, *case.sample.args, name="sample").recording.abandon()
            if case.sample.op in OPS:
                credit(OPS[case.sample.op], [OPS[case.sample.op]])
            credits.append((case, credited))
    for case, credited in credits:
        unsure = [seen for seen in credited if seen.formula and not seen.connected]
        if case.order and unsure:
            connected = any(case.program.first[1])
            for seen in unsure:
                seen.connected |= connected
    return found


# The cells


def reverse(seen: Found, formula: bool) -> str:
    """The cell VJP."""
    rules = [op.vjp for op in seen.ops]
    if rules and all(rule == () for rule in rules):
        return "constant"
    if seen.order:
        constant = formula and not seen.connected
        return "constant" if constant else arguments(rules) if not formula else "yes"
    return "no rule" if rules and any(rule is None for rule in rules) else "—"


def arguments(rules: list[Any]) -> str:
    """By which arguments an op has a rule."""
    if len(rules) == 1 and isinstance(rules[0], tuple) and None in rules[0]:
        return "argument " + ", ".join(
            str(k) for k, rule in enumerate(rules[0], 1) if rule is not None
        )
    return "yes"


def forward(seen: Found, vjp: str, formula: bool) -> str:
    """The cell JVP."""
    if vjp in ("constant", "no rule", "—"):
        return "—"
    words = {op.jvp if isinstance(op.jvp, str) else "yes" for op in seen.ops if op.vjp != ()}
    return words.pop() if len(words) == 1 and not formula else "yes"


def batching(seen: Found, formula: bool) -> str:
    """The cell batching."""
    if formula:
        return "formula"
    words = {batch_word(op) for op in seen.ops}
    return words.pop() if len(words) == 1 else "—" if not words else "each"


def batch_word(op: Op) -> str:
    """How one op is applied to a batch."""
    if isinstance(op.batch, str):
        return op.batch
    return "rule" if op.batch else "—" if op.statements else "each"


def singular_names() -> set[str]:
    """The functions that docs/singular_points.md has a row of."""
    lines = (ROOT / "docs" / "singular_points.md").read_text("utf-8").splitlines()
    formulas = [line.split("` | ")[0][3:] for line in lines if line.startswith("| `")]
    names = {
        name for formula in formulas for name in re.findall(r"(?:np|special)\.[\w.]+", formula)
    }
    names |= {"np.power", "`x ** y`"} if any("**" in formula for formula in formulas) else set()
    names |= {"np.divide"} if any(" / " in formula for formula in formulas) else set()
    names |= {f"scipy.{name}" for name in names if name.startswith("special.")}
    names |= {"np.absolute"} if "np.abs" in names else set()
    return names - {"np.inf", "np.sum", "np.ones"}


def place(function: Any, known: dict[int, tuple[str, str]]) -> tuple[str, str]:
    """The module that a user knows a function by, and how it is called there."""
    if isinstance(function, tuple):
        return "ufunc methods", f"{place(function[0], known)[1]}.{function[1]}"
    if id(function) in known:
        return known[id(function)]
    module = getattr(function, "__module__", None) or ""
    qualified = f"{module}.{getattr(function, '__name__', function)}"
    if qualified in OPERATORS:
        return "operators", OPERATORS[qualified]
    owner = getattr(function, "__objclass__", None)
    if owner is not None:
        return "operators", f"`{owner.__name__}.{function.__name__}`"
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    name = getattr(function, "__qualname__", None) or repr(function)
    if not public:
        return "operators", f"`{name}`"
    return public, f"{MODULES.get(public, public)}.{name}"


def known_names() -> dict[int, tuple[str, str]]:
    """Where the functions of MODULES are found, by identity, under their own names if they can
    be."""
    places: dict[int, tuple[str, str]] = {}
    for module, short in MODULES.items():
        members = vars(importlib.import_module(module))
        for name in sorted(members, key=lambda name: (members[name] is None, name)):
            function = members[name]
            own = getattr(function, "__name__", "") == name
            if (
                callable(function)
                and not name.startswith("_")
                and (own or id(function) not in places)
            ):
                if id(function) not in places or places[id(function)][0] == module:
                    places[id(function)] = (module, f"{short}.{name}")
    return places


def rows() -> dict[str, list[tuple[str, ...]]]:
    """The lines of the tables, by module."""
    found, known, singular = run_samples(CASES), known_names(), singular_names()
    formulas = list(COMPOSITES.values())
    tables: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for function, handler in HANDLERS.items():
        if is_refused(function) or distribution_of(function):
            continue
        if str(getattr(function, "__module__", "")).startswith("tracejit."):
            continue  # an operator's, which no library has by name
        module, name = place(function, known)
        seen = found.get(source(handler), Found())
        formula = seen.formula or handler in formulas
        vjp = reverse(seen, formula)
        cells = (
            name if name.startswith("`") else f"`{name}`",
            vjp,
            forward(seen, vjp, formula),
            str(seen.order or "—"),
            "yes" if seen.complex else "—",
            batching(seen, formula),
            "[yes](singular_points.md)" if name in singular else "—",
            "formula" if formula else "op" if seen.ops else "—",
        )
        tables[module].append(cells)
    return tables


def distribution_of(function: Any) -> str:
    """The name of the distribution of SciPy's that `function` is a method of."""
    owner = getattr(function, "__self__", None)
    names = [name for name, one in vars(scipy.stats).items() if one is owner is not None]
    return names[0] if names else ""


def distributions() -> str:
    """The table of distributions and of those of their methods that are recorded."""
    methods: dict[str, list[str]] = defaultdict(list)
    for function, handler in HANDLERS.items():
        name = distribution_of(function)
        if name and not getattr(handler, "__name__", "").startswith(REFUSING):
            methods[name].append(f"`{function.__name__}`")
    lines = [f"| `{name}` | {', '.join(sorted(methods[name]))} |" for name in sorted(methods)]
    head = ["| distribution | recorded methods, of frozen ones as well |", "|---|---|"]
    return "\n".join(["### Distributions\n", *head, *lines]) + "\n"


def routines() -> str:
    """The functions of SciPy that call functions of the user's and are recorded with them."""
    names = sorted(f"{place_of(one)}.{one.__name__}" for one in TWINS)
    listed = ", ".join(f"`{name}`" for name in names)
    text = (
        "These call a function of yours, which is recorded with them. Derivatives are of any order."
        " See [Differentiate through SciPy's solvers](how_to/solvers_inside.md)."
    )
    return f"## Solvers\n\n{text}\n\n{listed}\n"


def place_of(function: Any) -> str:
    """The package of SciPy's that a function is taken from."""
    return ".".join(function.__module__.split(".")[:2])


# What is refused


def refused(module: str) -> list[str]:
    """The names in a module that compute something from arrays and are not recorded."""
    members = vars(importlib.import_module(module))
    dispatcher = type(np.sum)
    kinds: tuple[Any, ...] = (np.ufunc, dispatcher)
    if module.startswith("scipy"):
        kinds = (np.ufunc, FunctionType, type(scipy.special.eval_legendre))
    public = getattr(importlib.import_module(module), "__all__", members)
    names = [
        name
        for name in sorted(public)
        if isinstance(members.get(name), kinds)
        and not SILENT.search(name)
        and is_refused(members[name])
    ]
    return names


def is_refused(function: Any) -> bool:
    """Whether no handler and no rule takes the calls of a function, or one that only raises."""
    if function in RULES:
        return False
    handler = HANDLERS.get(function)
    return handler is None or getattr(handler, "__name__", "").startswith(REFUSING)


def render() -> str:
    """The page."""
    for info in pkgutil.iter_modules(scipy_ops.__path__):
        importlib.import_module(f"{scipy_ops.__name__}.{info.name}")
    tables = rows()
    versions = " and ".join(f"{name} {minor(version)}" for name, version in VERSIONS.items())
    parts = [HEAD.format(command=COMMAND, versions=versions)]
    rank = {name: number for number, name in enumerate([*MODULES, "ufunc methods"])}
    for module in sorted(tables, key=lambda name: (rank.get(name, 99), name)):
        lines = ["| " + " | ".join(cells) + " |" for cells in sorted(tables[module], key=order)]
        head = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        parts.append(
            "\n".join([f"## {module}\n", f"{len(lines)} recorded.\n", *head, *lines]) + "\n"
        )
        if module == "scipy.stats":
            parts.append(distributions())
    parts.append(routines())
    parts.append(
        "## Without a rule\n\nFunctions written in Python are converted, and work if everything"
        " that they call is recorded. The others raise an error.\n"
    )
    for module in MODULES:
        names = refused(module)
        if names:
            listed = ", ".join(f"`{name}`" for name in names)
            parts.append(f"### {module}: {len(names)}\n\n{listed}\n")
    return "\n".join(parts)


def order(cells: tuple[str, ...]) -> tuple[str, str]:
    """By name, without regard to case."""
    return cells[0].strip("`").lower(), cells[0]


def minor(version: str) -> str:
    """The first two numbers of a version."""
    return ".".join(version.split(".")[:2])


if __name__ == "__main__":
    PAGE.write_text(render(), "utf-8")
