"""A package of exported kernels: an `__init__` with a function for every name, which calls the
kernel that takes its arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tracejit.cache.key import kernel_name, seal, verify_text
from tracejit.cache.standalone import SUFFIXES
from tracejit.exporting.stubs import Stub, declared, stub_imports
from tracejit.support.errors import fail
from tracejit.support.words import is_name
from tracejit.text.lines import broken
from tracejit.trace.source import places
from tracejit.version import __version__

INIT = "__init__"
TABLE = "KERNELS"
# Type checkers take arrays of two dtypes for ones that could be the same.
IGNORED = "  # type: ignore[overload-overlap, unused-ignore]"
_TYPE_OF_KERNELS = f"{TABLE}: dict[str, tuple[str, ...]]"
CHOSEN = '''
def _chosen(name, kernels, args, kwargs):
    """Call the first kernel that takes the arguments; raise TypeError if none does."""
    problems = []
    for kernel in kernels:
        try:
            problem = kernel.misfit(*args, **kwargs)
        except TypeError as error:  # it has other parameters
            problem = str(error)
        if problem is None:
            return kernel.call(*args, **kwargs)
        problems.append("  " + kernel.__name__.rpartition(".")[2] + ": " + problem)
    raise TypeError("\\n".join([name + " has no kernel for these arguments:", *problems]))
'''


class Member(NamedTuple):
    """A module of a package, the types of its arguments, and its stub."""

    stem: str
    inputs: Mapping[str, str]
    stub: Stub

    @property
    def parameters(self) -> str:
        """The names and types of its arguments."""
        return "  ".join(f"{name} {kind}" for name, kind in self.inputs.items())


def member_name(name: str, inputs: Mapping[str, str], taken: Sequence[str]) -> str:
    """The name of a module of the package: that of the function and the types of its arguments.

    >>> member_name("loss", {"w": "f8[3]", "x": "f8[n,3]", "lr": "~f8"}, ["loss__f8_3"])
    'loss__f8_3__f8_nx3__f8'
    """
    if not is_name(name) or name.startswith("_") or name == TABLE:
        problem = f"{name!r} is not the name of a function in a package"
        raise fail("export-path", places.here(), problem=problem, fix="choose another.")
    kinds = [re.sub(r"\W+", "x", kind.lstrip("~").replace("[", "_")) for kind in inputs.values()]
    stem = base = kernel_name(name, "__".join(kind.rstrip("x_") for kind in kinds), "0" * 8)[:-10]
    number = 1
    known = {one.casefold() for one in taken}  # as file systems tell names apart
    while stem.casefold() in known:
        number += 1
        stem = f"{base}__{number}"
    return stem


def package_files(members: Mapping[str, Sequence[Member]]) -> dict[str, bytes]:
    """The files `__init__.py` and `__init__.pyi` of a package."""
    stems = [member.stem for found in members.values() for member in found]
    lines = [f'"""Kernels exported by tracejit {__version__}; edits are detected.', ""]
    for name, found in members.items():
        for number, member in enumerate(found):
            lines.append(f"    {name if not number else '':<16} {member.parameters}".rstrip())
    lines += ['"""', "", *broken(f"from . import {', '.join(sorted(stems))}"), ""]
    names = ", ".join(f'"{name}"' for name in sorted(members))
    lines += broken(f"__all__ = [{names}]")
    lines += ["", f"{TABLE} = {{"]
    for name, found in members.items():
        quoted = [f'"{member.stem}"' for member in found]
        lines += broken(f'    "{name}": {_tuple(quoted)},')
    lines += ["}", ""]
    for name, found in members.items():
        lines += ["", f"def {name}(*args, **kwargs):"]
        several = f"one of {len(found)} kernels" if len(found) > 1 else found[0].stem
        lines += [f'    """Call the kernel that takes these arguments: {several}."""']
        kernels = _tuple([member.stem for member in found])
        lines += [*broken(f'    return _chosen("{name}", {kernels}, args, kwargs)'), ""]
    text = "\n".join([*lines, CHOSEN.rstrip()]) + "\n"
    return {
        f"{INIT}.pyi": seal(_stub(members)).encode(),
        f"{INIT}.py": seal(text).encode(),
    }


def _tuple(words: Sequence[str]) -> str:
    """A tuple of these words as source."""
    return f"({', '.join(words)}{',' * (len(words) == 1)})"


def _stub(members: Mapping[str, Sequence[Member]]) -> str:
    """The stub of the package: an overload for each kernel whose types differ in more than
    shapes."""
    imports: dict[str, str] = {}
    body: list[str] = []
    for name, found in members.items():
        if len(found) == 1:
            body.append(f"from .{found[0].stem} import call as {name}")
            continue
        results: dict[tuple[str, ...], list[str]] = {}
        for member in found:
            results.setdefault(tuple(member.stub.parameters), []).append(member.stub.result)
            imports |= member.stub.imports
        for parameters, told in results.items():
            result = told[0] if len({*told}) == 1 else "Any"
            body += ["@overload"] * (len(results) > 1)
            body += declared(name, parameters, result, IGNORED if len(results) > 1 else "")
        imports |= {"overload": "typing"} if len(results) > 1 else {}
    head = [row for line in stub_imports(imports) for row in broken(line)]
    stems = sorted(member.stem for found in members.values() for member in found)
    lines = ['"""The types of the package. Generated by tracejit."""', "", *head, ""]
    lines += [f"from . import {stem} as {stem}" for stem in stems]
    names = ", ".join(f'"{name}"' for name in sorted(members))
    return "\n".join([*lines, "", *body, "", f"__all__ = [{names}]", _TYPE_OF_KERNELS]) + "\n"


def stale_files(folder: Path) -> set[str]:
    """The files of the kernels of the package that is in `folder` now, as tracejit wrote it."""
    try:
        text = (folder / f"{INIT}.py").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return set()
    if verify_text(text) is not None:
        return set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == TABLE:
            stems = [stem for found in ast.literal_eval(node.value).values() for stem in found]
            return {f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES}
    return set()
