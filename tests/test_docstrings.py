"""Every public name is documented in full: a sentence, its parameters, what it returns and raises,
and an example, which runs as a doctest. The reference is made of these."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import tracejit as tj
from tests.pages import DOCS
from tracejit import autograd
from tracejit.debug.profile import Profile, ProfiledLine
from tracejit.support import errors

# Methods of arrays are NumPy's, and say so; these are shown where another is.
SHOWN_ELSEWHERE = {
    "Function.compiled_call": "Function.kernel",
    "Function.profile": "Kernel.profile",
    "Kernel.debug": "Kernel.checked",  # it waits for what is typed
    "Kernel.marked": "Kernel.to_html",
    "set_trace": "debug_nans",  # as Kernel.debug
    "GradientTape.reset": "GradientTape.stop_recording",
    "Kernel.save": "load",
    "Variable.item": "Variable.numpy",
    "Variable.tolist": "Variable.numpy",
    "Variable.commit": "Variable.assign",
    "Tensor.conjugate": "Tensor.numpy",
    "Tensor.item": "Tensor.numpy",
    "Tensor.tolist": "Tensor.numpy",
}

# Of the package's own rooms, or as NumPy's: the reference does not show these.
INTERNAL = {"Function.compiled_call", "Kernel.marked", "Variable.commit"}
AS_NUMPYS = {f"Variable.{name}" for name in ("item", "tolist", "fill", "sort", "partition", "put")}
ALIASES = {"Variable.value": "Variable.read_value"}
AS_NUMPYS |= {f"Tensor.{name}" for name in ("item", "tolist", "conjugate")}

# What nobody calls by itself: other functions return it.
MADE_BY_OTHERS = {"Function", "Kernel", "Tensor", "SplitFunction", "UnconnectedGradients"}

# Nothing that they are given is refused.
RAISES_NOTHING = {
    "stop_gradient", "eager", "set_trace", "TensorSpec", "Options", "Profile", "ProfiledLine",
    "Function", "Kernel", "Tensor", "UnconnectedGradients", "GradientTape", "SplitFunction",
    "Function.cache_info", "Function.cache_clear", "Kernel.checked", "Kernel.debug", "Kernel.save",
    "Kernel.to_html", "GradientTape.watched_variables", "Variable.read_value", "Variable.ref",
    "entries", "prune", "clear", "SplitFunction.stages",
}  # fmt: skip

CLASSES = {"debug_nans"}  # a context manager, which is called as a function is

HEADING = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
PARAMETER = re.compile(r"^(\*{0,2}\w+) : (.+?)(?:, default (.+))?$", re.MULTILINE)


class Parameter(NamedTuple):
    """A parameter as a docstring has it."""

    type: str
    default: str | None
    description: str


def sections(docstring: str) -> dict[str, str]:
    """The text of each section by its heading; that before the first one by ""."""
    first, *rest = HEADING.split(docstring)
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """The indented text below each line of a section that is not indented."""
    found = re.findall(r"^(\S.*)\n((?:    .*(?:\n|\Z)|\n)*)", section, re.MULTILINE)
    return {head: " ".join(body.split()) for head, body in found}


def parameters_of(section: str) -> dict[str, Parameter]:
    """The parameters in a section, by name with its stars."""
    found: dict[str, Parameter] = {}
    for head, description in entries(section).items():
        match = PARAMETER.match(head)
        assert match, head
        found[match[1]] = Parameter(match[2], match[3], description)
    return found


def public() -> Iterator[tuple[str, Any]]:
    """The public functions and classes, and the methods that classes define themselves."""
    for name in tj.__all__:
        yield from _with_methods(name, getattr(tj, name))


def _with_methods(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isfunction(thing):
        yield name, thing
    elif inspect.isclass(thing) and not issubclass(thing, Exception):
        yield name, thing
        for method, function in vars(thing).items():
            if inspect.isfunction(function) and method[0] != "_":
                yield f"{name}.{method}", function


def documented() -> list[Any]:
    """What the reference shows, by name."""
    others: dict[str, Any] = {"Profile": Profile, "ProfiledLine": ProfiledLine}
    others |= {name: getattr(tj.cache, name) for name in ("entries", "prune", "clear")}
    others["default_rng"] = tj.random.default_rng
    found = [*public(), *others.items()]
    left_out = INTERNAL | AS_NUMPYS | ALIASES.keys()
    return [pytest.param(name, thing, id=name) for name, thing in found if name not in left_out]


def test_every_public_name_shows_an_example() -> None:
    without = {name for name, thing in public() if ">>> " not in (inspect.getdoc(thing) or "")}
    assert {"grad", "Function.kernel"}.isdisjoint(without)
    refused = {"Variable.fill", "Variable.sort", "Variable.partition", "Variable.put"}
    assert without - refused == SHOWN_ELSEWHERE.keys(), without


def test_the_first_paragraph_says_what_it_does() -> None:
    """In a sentence, which ends."""
    for name, thing in public():
        text = inspect.getdoc(thing) or ""
        first = text.split("\n\n")[0].rstrip()
        assert first.endswith((".", "`.")), f"{name}: {first}"


@pytest.mark.parametrize(("name", "thing"), documented())
def test_it_is_documented_in_full(name: str, thing: Any) -> None:
    problems = list(problems_of(name, thing, inspect.getdoc(thing) or ""))
    assert problems == []


def test_the_functions_on_dask_arrays_are_documented_in_full() -> None:
    on_dask = pytest.importorskip("tracejit.dask")
    names = ("function", "grad", "value_and_grad", "jvp", "hvp", "SplitFunction")
    for name in names:
        for path, thing in _with_methods(name, getattr(on_dask, name)):
            assert list(problems_of(path, thing, inspect.getdoc(thing) or "")) == [], path


def test_the_functions_of_autograd_are_documented_in_full() -> None:
    for name in autograd.__all__:
        thing = getattr(autograd, name)
        if inspect.isfunction(thing):
            assert list(problems_of(name, thing, inspect.getdoc(thing) or "")) == [], name


def problems_of(name: str, thing: Any, docstring: str) -> Iterator[str]:
    """What a docstring lacks, or says otherwise than the signature."""
    given = sections(docstring)
    summary = given[""].split("\n\n")[0]
    if len(summary.splitlines()) > 1 or re.search(r"[.!?] [A-Z]", summary):
        yield f"its first paragraph is no single sentence on a line: {summary}"
    attributes = parameters_of(given.get("Attributes", ""))
    yield from _misfits(thing, name, attributes or parameters_of(given.get("Parameters", "")))
    if (not inspect.isclass(thing) or name in CLASSES) and "Returns" not in given:
        yield "it does not say what it returns"
    if name not in RAISES_NOTHING:
        raised = entries(given.get("Raises", ""))
        yield from () if raised else ["it does not say what it raises"]
        for error, when in raised.items():
            bases = _bases(error)
            if not when.startswith("If "):
                yield f"{error}: not a condition, {when}"
            if bases and not when.endswith(tuple(bases)):
                yield f"{error}: it does not end by the Python exception that it is"
    if "Examples" not in given and name not in SHOWN_ELSEWHERE:
        yield "it has no example"


def _misfits(thing: Any, name: str, documented: dict[str, Parameter]) -> Iterator[str]:
    """The parameters that differ from those of the signature, in name, order or default."""
    if name in MADE_BY_OTHERS:
        return
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    expected = {
        f"{stars.get(parameter.kind, '')}{parameter.name}": parameter.default
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name not in ("self", "unknown")
    }
    if list(expected) != list(documented):
        yield f"its parameters are {list(expected)}, documented are {list(documented)}"
        return
    for parameter, default in expected.items():
        entry = documented[parameter]
        words = None if default is inspect.Parameter.empty else _words(default)
        if entry.default != words:
            yield f"the default of {parameter} is {words}, documented is {entry.default}"
        if not entry.description.endswith("."):
            yield f"{parameter} has no description that ends"


def _words(default: Any) -> str:
    """A default as docstrings write it."""
    if isinstance(default, type):
        return default.__name__
    if isinstance(default, tj.UnconnectedGradients):
        return str(default)
    return repr(default).replace("'", '"')


def _bases(name: str) -> list[str]:
    """The endings of what is said of an error: "A TypeError." or "An ImportError."."""
    error = getattr(errors, name, None)
    if error is None:
        return []
    plain = [base.__name__ for base in error.__mro__ if base.__module__ == "builtins"]
    return [f"{'An' if base[0] in 'AEIOU' else 'A'} {base}." for base in plain]


def test_the_reference_shows_what_is_documented() -> None:
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    members = set(re.findall(r"\w+", " ".join(re.findall(r"members: \[(.*)\]", pages))))
    for parameter in documented():
        owner, _, method = parameter.id.rpartition(".")
        if owner in ("Function", "Kernel", "Variable", "Tensor"):
            assert method in members, parameter.id


@pytest.mark.parametrize(
    ("docstring", "problem"),
    [
        ("Do it. Then stop.", "no single sentence"),
        ("Do it.\n\nParameters\n----------\ny : int\n    One.", "its parameters are"),
        ("Do it.\n\nParameters\n----------\nx : int, default 2\n    One.", "the default of x"),
        ("Do it.\n\nParameters\n----------\nx : int, default 1\n    One", "no description"),
        ("Do it.", "what it returns"),
        ("Do it.", "what it raises"),
        ("Do it.\n\nRaises\n------\nSeedError\n    If so.", "the Python exception"),
        ("Do it.", "no example"),
    ],
)
def test_what_is_left_out_is_found(docstring: str, problem: str) -> None:
    def do_it(x: int = 1) -> None:
        """Nothing."""

    found = list(problems_of("do_it", do_it, docstring))
    assert any(problem in each for each in found), found
