"""Source text of statements, made by astor, in lines of limited width.

Statements come one a line, with any brackets, and go through a syntax tree of their own, unless
`text/parentheses.py` knows what astor makes of them. That does not depend on names: what has the
shape of an earlier one is printed as that was, so that of a function of 10,000 lines a few dozen
are looked at.

Comments stay as they are; `#` alone is a blank line.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from functools import lru_cache
from typing import Any

with warnings.catch_warnings():
    # astor 0.8.1 looks at ast.Num and its kin when it is imported, which Python 3.12 deprecates:
    # https://github.com/berkerpeksag/astor/issues/217
    warnings.filterwarnings("ignore", r"ast\.\w+ is deprecated", DeprecationWarning)
    from astor.code_gen import SourceGenerator
    from astor.string_repr import pretty_string

from tracejit.support.parsing import parse
from tracejit.text.lines import broken
from tracejit.text.parentheses import without_needless

_INDENT = "    "
_NAME = re.compile(r"((?<![\w.])[A-Za-z_]\w*)")
_KEYWORDS = frozenset(keyword.kwlist)
_PLACE = re.compile(r"\b_\b")
_WITHOUT_EXPRESSION = ("else:", "try:", "finally:")
_NOTHING_TO_DROP = ("except ", "from ")
_OF_A_FUNCTION = ("def ", "class ")


class _Printer(SourceGenerator):  # type: ignore[misc]
    """Prints a syntax tree; f-strings by the standard library.

    astor 0.8.1 asks for `ast.Str`, which Python 3.13 deprecates and 3.14 no longer has.
    """

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Print an f-string, in double quotes where that is as good."""
        self.write(_in_double_quotes(ast.unparse(node)))


def to_source(text: str) -> str:
    """The statements of `text`, each on a line of its own, as astor prints them; two blank lines
    around functions."""
    lines: list[str] = []
    was_inside = False
    for line in text.split("\n"):
        statement = line.lstrip(" ")
        if not statement:
            continue
        indent = line[: len(line) - len(statement)]
        is_inside = bool(indent)
        if lines and not is_inside and (was_inside or statement.startswith(_OF_A_FUNCTION)):
            lines += ["", ""]
        was_inside = is_inside
        if statement.startswith("#"):
            lines.append("" if statement == "#" else line)
        elif statement.startswith(("'", '"')):
            lines += _docstring(statement, indent)
        else:
            for row in _printed(statement, indent):
                lines += broken(row)
    return "\n".join([*lines, ""])


def _docstring(statement: str, indent: str) -> list[str]:
    """The lines of a string that is a statement."""
    text = statement[1:-1]
    if "\\" in text or '"' in text:
        return _by_astor(statement, len(indent) // len(_INDENT))
    return [f'{indent}"""{text}"""']


def _printed(statement: str, indent: str) -> list[str]:
    """The lines of one statement, however long."""
    if "'" in statement or '"' in statement or not statement.isascii():
        # Words in a string, and names beyond ASCII, are no names of a shape.
        return _by_astor(statement, len(indent) // len(_INDENT))
    parts = _NAME.split(statement)
    names = parts[1::2]
    if _KEYWORDS.isdisjoint(names):
        shape = "_".join(parts[::2])
    else:
        parts[1::2] = [name if name in _KEYWORDS else "_" for name in names]
        names = [name for name in names if name not in _KEYWORDS]
        shape = "".join(parts)
    return [indent + row for row in _form(shape).format(*names).split("\n")]


@lru_cache(4096)
def _form(shape: str) -> str:
    """The text of statements with names in the places of `_`, which are {} in it."""
    text = without_needless(shape) or "\n".join(_by_astor(shape, 0))
    return _PLACE.sub("{}", text.replace("{", "{{").replace("}", "}}"))


def _by_astor(statement: str, depth: int) -> list[str]:
    """The lines of one statement, or of what opens a block, `depth` deep, however long."""
    if statement in _WITHOUT_EXPRESSION or statement.startswith(_NOTHING_TO_DROP):
        return [_INDENT * depth + statement]
    opens = statement.endswith(":")
    generator = _Printer(_INDENT, False, _literal)
    generator.indentation = depth
    other = statement.startswith("elif ")  # parsed as the `if` that it ends in
    generator.visit(parse(statement[2 * other :] + " pass" * opens).body[0])
    text = "".join(generator.result).lstrip("\n")
    if other:
        text = text.replace("if ", "elif ", 1)
    if opens:
        text = text.rpartition("\n")[0]
    if ", = " in text:
        text = re.sub(r"(?m)^( *)(\w+), = ", r"\1(\2,) = ", text)
    return text.split("\n")


def _literal(text: Any, embedded: Any, before: str, *options: Any) -> str:
    """A string as `repr` writes it, on one line, in double quotes where that is as good. Where
    nothing stands before it, it is a docstring and keeps its lines."""
    literal: str = repr(text) if before.strip() else pretty_string(text, embedded, before, *options)
    return _in_double_quotes(literal)


def _in_double_quotes(literal: str) -> str:
    """A literal in double quotes where nothing in it is against that."""
    prefix, quote, text = literal.partition("'")
    plain = quote and len(prefix) < 2 and '"' not in literal and "\\" not in literal
    return f'{prefix}"{text[:-1]}"' if plain else literal
