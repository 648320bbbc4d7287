"""Syntax tree to text, through astor, with comments and in lines that fit the page.

Python's syntax tree has no comments. A comment travels as an expression statement holding a
string that starts with COMMENT, and `to_source` prints it as `# ...`; COMMENT alone is a blank
line.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

with warnings.catch_warnings():
    # astor 0.8.1 looks at ast.Num and its kin when it is imported, which Python 3.12 deprecates:
    # https://github.com/berkerpeksag/astor/issues/217
    warnings.filterwarnings("ignore", r"ast\.\w+ is deprecated", DeprecationWarning)
    import astor
    from astor.code_gen import SourceGenerator
    from astor.string_repr import pretty_string

from tracejit.codegen.lines import broken

COMMENT = "#:"


class CommentingGenerator(SourceGenerator):  # type: ignore[misc]
    """astor's generator, printing comment statements as comments."""

    def visit_Expr(self, node: ast.Expr) -> None:
        """A comment statement as a comment; any other expression statement as astor does."""
        value = node.value
        if isinstance(value, ast.Constant) and str(value.value).startswith(COMMENT):
            text = str(value.value)[len(COMMENT) :]
            self.statement(node, f"# {text}" if text else "")
        else:
            super().visit_Expr(node)


def to_source(tree: ast.Module) -> str:
    """The text of `tree`, one statement a line, two blank lines around functions."""
    text: str = astor.to_source(
        tree,
        indent_with="    ",
        source_generator_class=CommentingGenerator,
        pretty_source=_laid_out,
        pretty_string=_double_quoted,
    )
    return text


def _laid_out(pieces: list[Any]) -> str:
    """The text that astor made, docstrings as they are, other lines broken to the page."""
    text = re.sub(r"(?m)^( *)(\w+), = ", r"\1(\2,) = ", "".join(pieces))
    parts = re.split(r'(?s)(""".*?""")', text)
    for number in range(0, len(parts), 2):
        lines = parts[number].split("\n")
        parts[number] = "\n".join(line for whole in lines for line in broken(whole))
    return "".join(parts)


def _double_quoted(*args: Any, **options: Any) -> str:
    """A string as astor writes it, in double quotes where that is as good."""
    text: str = pretty_string(*args, **options)
    plain = text.startswith("'") and '"' not in text and "\\" not in text
    return f'"{text[1:-1]}"' if plain else text
