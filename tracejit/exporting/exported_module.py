"""The text of an exported module: the kernel, the checked call at the end, the imports of both at
the head, and a docstring for its user."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.compiler.kernel import Kernel
from tracejit.exporting.checked_call import CallText
from tracejit.ops.base.op import OPS
from tracejit.support.words import in_docstring
from tracejit.targets.numpy.text.expressions import import_lines
from tracejit.text.header import entry_lines
from tracejit.text.lines import broken

DOCSTRING_END = '\n"""\n'
MOST_BAKED = 40
OLDEST = "2.0"
"""The oldest NumPy that tracejit runs with."""


def exported_text(
    kernel: Kernel, call: CallText, does: str, checked: str, baked: Sequence[str]
) -> str:
    """The module of `kernel` with `call`, which answers as the function that `does` names; what is
    `checked` of its arguments, and the `baked` values in it. It is not sealed."""
    source = kernel.source.removesuffix("\n").rpartition("\n")[0]  # without the seal
    head, end, body = source.partition(DOCSTRING_END)
    found = _imports(body)
    wanted = {library: {*names} for library, names in found.items()}
    for word, library in call.imports.items():
        wanted.setdefault(library, set()).add(word)
    words = [f"call({', '.join(call.parameters)})", *f"as {does}; {checked}".split(" ")]
    lines = entry_lines("call", words)
    if baked:
        *told, last = baked[:MOST_BAKED]
        left = f", and {len(baked) - MOST_BAKED} more" if len(baked) > MOST_BAKED else ""
        lines += entry_lines("baked in", [*[f"{words}," for words in told], last + left])
    lines += entry_lines("runs with", _versions(wanted).split(" "))
    docstring = "\n".join([head, *map(in_docstring, lines)])
    return f"{docstring}{end}{_with_imports(body, wanted).rstrip()}\n\n\n{call.text}"


def _versions(imports: Mapping[str, set[str]]) -> str:
    """The versions that the module runs with."""
    called = [OPS[name].since for name in imports.get("numpy", ()) if name in OPS]
    least = max(
        [OLDEST, *called], key=lambda version: [*map(int, filter(None, version.split(".")))]
    )
    scipy = " and SciPy" * any(library.startswith("scipy") for library in imports)
    return f"NumPy {least} or later{scipy}, without tracejit; exported with NumPy {np.__version__}"


def _imports(body: str) -> dict[str, list[str]]:
    """The names that a module imports, by library."""
    nodes = [node for node in ast.parse(body).body if isinstance(node, ast.ImportFrom)]
    return {node.module or "": [alias.name for alias in node.names] for node in nodes}


def _with_imports(body: str, wanted: Mapping[str, set[str]]) -> str:
    """`body` with these imports at its head; those of other libraries than NumPy may have other
    names there, and stay as they are."""
    lines = body.split("\n")
    nodes = [node for node in ast.parse(body).body if isinstance(node, ast.ImportFrom)]
    kept = [lines[node.lineno - 1 : node.end_lineno] for node in nodes if node.module != "numpy"]
    rest = lines[nodes[-1].end_lineno :] if nodes else ["", *lines]
    names = {name: "numpy" for name in wanted.get("numpy", ())}
    known = {node.module for node in nodes}
    new = {name: library for library in wanted.keys() - known for name in wanted[library]}
    made = [row for line in import_lines(names) for row in broken(line)]
    return "\n".join([*made, *[row for rows in kept for row in rows], *_plain(new), *rest])


def _plain(imports: Mapping[str, str]) -> list[str]:
    """The imports of libraries that the kernel does not use."""
    libraries = sorted({*imports.values()} - {"numpy"})
    return [
        f"from {library} import {', '.join(sorted(n for n in imports if imports[n] == library))}"
        for library in libraries
    ]
