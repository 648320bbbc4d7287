"""Verified source: the definition of a function, taken only where it compiles to what runs.

A file may be edited, a module reloaded, a cell run again, and pytest and import hooks compile
something else than is written. So `find` takes the lines of the function alone, compiles them in
the scopes that they came from, and accepts them where the result is the code object that runs:
instructions, names, constants and positions. The file is never parsed.

Nothing is dedented, and blank lines stand in for what comes before: line numbers and columns are
those of the file.

    ⋮ blank lines
    def make(k):                   a function around, which binds the free variables
     class Model:                  a class around, after which private names are called
        def loss(self, w):         the lines of the function
            ⋮
    import np                      what the module imports: `np.sum(w)` compiles otherwise
"""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from tracejit.convert.exclusions import Reason
from tracejit.support.parsing import parse

FUTURE = 0
for _feature in __future__.all_feature_names:
    FUTURE |= getattr(__future__, _feature).compiler_flag

LAMBDA = "<lambda>"
SCOPE = "__scope__"
NESTED = inspect.CO_NESTED
ITERABLE_COROUTINE = inspect.CO_ITERABLE_COROUTINE
"""The flag that `types.coroutine` sets on the code of a generator."""

MOST_ENDS = 60
"""Lines that are tried as the end of a function whose strings hold lines without indentation."""


NO_SOURCE = Reason("its source cannot be found", "Define it in a file that is there when it runs")
UNREADABLE = Reason(
    "its lines cannot be read apart from the rest of its file",
    "Begin its definition on a line of its own",
)
ANOTHER = Reason(
    "the code that runs differs from its file: the file was edited after import, or an import "
    "hook rewrote it",
    "Import its module again, without the hook",
)
TOO_DEEP = Reason("it is nested too deeply for Python's parser", "Split its longest expression")


class Refusal(NamedTuple):
    """A function that is not converted: its name and place, and the reason."""

    name: str
    filename: str
    line: int
    reason: Reason

    def __str__(self) -> str:
        why, cure = self.reason
        return f"{self.name} ({self.filename}:{self.line}) runs as written: {why}. {cure}."


class Source(NamedTuple):
    """A verified definition: a module of it in the scopes around it, as text.

    Its line numbers are `excess` too high: there was no room for so many lines of scopes. Where it
    is `bare`, its type parameters are the scope around it, and its text has no other.
    """

    code: CodeType
    text: str
    headers: tuple[str, ...]
    bare: bool
    excess: int

    def tree(self) -> tuple[ast.Module, Any]:
        """Parse the module anew; the caller may change the tree, and leaves no type parameters."""
        with syntax_warnings_hidden():
            module: ast.Module = parse(self.text)
        if self.excess:
            ast.increment_lineno(module, -self.excess)
        if self.bare:
            scope = parse(f"{self.headers[0]}: pass").body[0]
            scope.body = module.body[:1]
            module.body[0] = scope
        node: Any = module.body[0]
        for _ in self.headers:
            node = node.body[0]
        if isinstance(node, ast.If):
            node = node.body[0]
        return module, node.value if isinstance(node, ast.Expr) else node

    def compile(self, module: str | ast.Module) -> CodeType:
        """Compile the module, or what was made of its tree."""
        flags = self.code.co_flags & FUTURE
        with syntax_warnings_hidden():
            compiled: CodeType = compile(
                module, self.code.co_filename, "exec", flags=flags, dont_inherit=True
            )
        return compiled

    def innermost(self, scope: CodeType) -> CodeType:
        """The code of the scope around the function, in that of the module."""
        for name in map(name_of, self.headers):
            scope = next(inner for inner in codes_in(scope) if inner.co_name == name)
        return scope

    def verified(self) -> bool:
        """Return whether the definition compiles to the code that runs."""
        whole = self.compile(self.tree()[0] if self.excess else self.text)
        is_lambda = self.code.co_name == LAMBDA
        # the last, after those in its default values
        inside = codes_in(self.innermost(whole))[-1:] if is_lambda else all_codes(whole)
        wanted = self.code.replace(co_flags=self.code.co_flags & ~ITERABLE_COROUTINE)
        return any(same_code(code, wanted) for code in inside)

    def class_name(self) -> str:
        """The name of the class after which private names are called."""
        classes = [name_of(header) for header in self.headers if header.startswith("class ")]
        return classes[-1] if classes else ""


def find(code: CodeType, qualname: str, namespace: dict[str, Any]) -> Source | Refusal:
    """The verified source of a function's code, or the reason why there is none.

    `namespace` is the function's globals: its module's loader may know the text, as that of a zip
    file does.
    """
    reason = NO_SOURCE
    qualname = getattr(code, "co_qualname", qualname)
    lines = lines_of(code.co_filename, namespace)
    if code.co_firstlineno <= len(lines):
        found = _search(code, qualname, namespace, lines)
        if isinstance(found, Source):
            return found
        reason = found
    return Refusal(qualname, code.co_filename, code.co_firstlineno, reason)


def lines_of(filename: str, namespace: dict[str, Any]) -> list[str]:
    """The lines of a file as it is now, or of a cell or a module in an archive."""
    if not filename.startswith("<"):
        linecache.checkcache(filename)
    return linecache.getlines(filename, namespace)


def _search(
    code: CodeType, qualname: str, namespace: dict[str, Any], lines: list[str]
) -> Source | Reason:
    """Try the texts that may define `code`, with what the module seems to import, and then with
    what the instructions say that it does."""
    headers = scopes(code, qualname)
    reason = UNREADABLE
    texts = _lambdas(code, lines) if code.co_name == LAMBDA else _definitions(code, lines)
    for text in texts:
        for imports in (modules_among, imported_names):
            try:
                source = _module(code, headers, text, imports(code, namespace))
                if source.verified():
                    return source
            except (SyntaxError, ValueError):
                break
            reason = ANOTHER
        if reason is ANOTHER and code.co_name != LAMBDA:
            break
    return reason


def _module(code: CodeType, headers: list[str], text: str, imports: set[str]) -> Source:
    """The module of a definition; a lambda stands in brackets."""
    margin = indentation(text)
    is_lambda = code.co_name == LAMBDA
    bare = bool(headers) and margin < len(headers) and not is_lambda
    before = [] if bare else [f"{' ' * depth}{one}:\n" for depth, one in enumerate(headers)]
    if is_lambda:
        before.append(f"{' ' * len(headers)}(\n")
    elif margin and not before:
        before = ["if 1:\n"]
    blank = code.co_firstlineno - 1 - len(before)
    after = f"\nimport {', '.join(sorted(imports))}\n" if imports else ""
    whole = "\n" * blank + "".join(before) + text + after
    return Source(code, whole, tuple(headers), bare, max(-blank, 0))


def scopes(code: CodeType, qualname: str) -> list[str]:
    """The headers of the scopes around a function, outermost first.

    >>> def scaled(k): return lambda x: k * x
    >>> scopes(scaled(2).__code__, "Model.scaled.<locals>.<lambda>")
    ['class Model', 'def scaled(k)']
    """
    parts = qualname.split(".")
    if parts[-1] != code.co_name:  # functools.wraps has renamed the function
        parts = []
    functions = [
        inner == "<locals>" or part.startswith("<")  # a comprehension has no <locals>
        for part, inner in pairwise(parts)
    ]
    named = [one for one in zip(parts, functions, strict=False) if one[0] != "<locals>"]
    free = list(code.co_freevars)
    if not all(functions) and "__class__" in free:
        free.remove("__class__")
    if (free or code.co_flags & NESTED) and True not in functions:
        named.insert(0, (SCOPE, True))
    headers = []
    for name, is_function in named:
        if not is_function:
            headers.append(f"class {name}")
            continue
        headers.append(f"def {name if name.isidentifier() else SCOPE}({', '.join(free)})")
        free = []
    return headers


def name_of(header: str) -> str:
    """The name of the scope that a header opens."""
    return header.split("(")[0].split()[-1]


def _definitions(code: CodeType, lines: list[str]) -> Iterator[str]:
    """The lines of a function up to each line that may be the first after it."""
    first = code.co_firstlineno - 1
    margin = indentation(lines[first])
    found = 0
    for end in range(last_line(code), len(lines) + 1):
        if end == len(lines) or (lines[end].strip() and indentation(lines[end]) <= margin):
            text = "".join(lines[first:end])
            yield text.lstrip("\f") if text.startswith("\f") else text
            found += 1
            if found == MOST_ENDS:
                return


def _lambdas(code: CodeType, lines: list[str]) -> Iterator[str]:
    """The lambdas of a line, each up to each place where it may end, at their columns."""
    first = code.co_firstlineno - 1
    line = lines[first]
    start = line.find("lambda")
    while start >= 0:
        rest = [line[start:], *lines[first + 1 : last_line(code) + MOST_ENDS]]
        pad = " " * len(line[:start].encode())
        for row, column in lambda_ends(rest):
            yield f"{pad}{''.join(rest[:row])}{rest[row][:column]})\n"
        start = line.find("lambda", start + 1)


def lambda_ends(lines: list[str]) -> Iterator[tuple[int, int]]:
    """The rows and columns at which the lambda that begins these lines may end.

    In brackets it may go on after the end of a line, and the brackets stand before it.

    >>> list(lambda_ends(["lambda x: f(x, 1), 2)"])), list(lambda_ends(["lambda: k for k in y]"]))
    ([(0, 17)], [(0, 9)])
    """
    depth = colons = 0
    row, column = 0, 0
    tokens = tokenize.generate_tokens(iter([f"({lines[0]}", *lines[1:]]).__next__)
    next(tokens)
    try:
        for token in tokens:
            text = token.string
            if depth == 0:
                if token.type == tokenize.NL:
                    yield row, column
                elif text in _CLOSING or (colons == 0 and text in _AFTER_A_LAMBDA):
                    break
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                row, column = token.end[0] - 1, token.end[1] - (token.end[0] == 1)
            depth += (text in _OPENING) - (text in _CLOSING)
            if depth == 0:
                colons += (text == "lambda") - (text == ":")
    except (tokenize.TokenError, SyntaxError):  # a bracket that the lines before have opened
        pass
    yield row, column


def last_line(code: CodeType) -> int:
    """The number of the last line with instructions, also of functions inside."""
    lines = [line for _, _, line in code.co_lines() if line]
    return max([code.co_firstlineno, *lines, *map(last_line, codes_in(code))])


def indentation(line: str) -> int:
    """The number of blank characters at the start of a line, none of which is a form feed."""
    line = line.lstrip("\f")
    return len(line) - len(line.lstrip(" \t"))


def codes_in(code: CodeType) -> list[CodeType]:
    """The code objects of the functions, comprehensions and classes that `code` makes."""
    return [constant for constant in code.co_consts if type(constant) is CodeType]


def all_codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects inside `code`, at any depth."""
    for inner in codes_in(code):
        yield inner
        yield from all_codes(inner)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Return whether two code objects are the same, positions and all; Python compares less."""
    return (
        one == other
        and all(getattr(one, name) == getattr(other, name) for name in _TABLES)
        and all(map(same_code, codes_in(one), codes_in(other)))
    )


def modules_among(code: CodeType, namespace: dict[str, Any]) -> set[str]:
    """The names in `code` under which its module has modules now: a guess at its imports."""
    names = {name for inner in (code, *all_codes(code)) for name in inner.co_names}
    return {name for name in names if type(namespace.get(name)) is ModuleType}


def imported_names(code: CodeType, namespace: dict[str, Any]) -> set[str]:
    """The names that the module of `code` may import, by its instructions.

    Python from 3.11 on calls an attribute of an imported name as a function, of others as a method,
    and from 3.12 on it has an instruction for `super().name`, unless the module binds `super`.
    """
    found: set[Any] = set()
    methods: set[Any] = set()
    for inner in (code, *all_codes(code)):
        name = ""
        for instruction in dis.get_instructions(inner):
            if instruction.opname == "LOAD_SUPER_ATTR":
                methods.add("super")
            elif instruction.argval == "super":
                found.add("super")
            if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                is_method = instruction.opname == "LOAD_METHOD" or (
                    sys.version_info >= (3, 12) and bool((instruction.arg or 0) & 1)
                )
                (methods if is_method else found).add(name)
            is_name = "LOAD_" in instruction.opname and instruction.opname != "LOAD_CONST"
            name = instruction.argval if is_name else ""
            if isinstance(name, tuple):  # STORE_FAST_LOAD_FAST, LOAD_FAST_LOAD_FAST
                name = name[-1]
    return {name for name in found - methods if isinstance(name, str) and name.isidentifier()}


@contextmanager
def syntax_warnings_hidden() -> Iterator[None]:
    """Hide what the parser warns of: Python has warned when it compiled the same lines."""
    with warnings.catch_warnings():
        for category in (SyntaxWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        yield


_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_AFTER_A_LAMBDA = frozenset((",", ":", ";", "=", "for", "async"))
_TABLES = [name for name in ("co_linetable", "co_exceptiontable") if hasattr(CodeType, name)]
