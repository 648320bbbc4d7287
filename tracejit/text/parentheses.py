"""Remove needless parentheses from statements, as astor does, in a quarter of its time.

It reads statements of names, numbers, arithmetic, comparisons, calls, items and tuples. A target
that is a tuple of one keeps its parentheses, so that it is seen. 1j stays as it is; astor writes
1.0j.

>>> without_needless("x = ((a) * (b)) - (c - (d[(1):]))")
'x = a * b - (c - d[1:])'
>>> without_needless("x = (a, (b,))")
'x = a, (b,)'

All other statements, such as powers, are left to astor.

>>> without_needless("x = a ** (b)")
"""

from __future__ import annotations

import keyword
import re

_TOKEN = re.compile(r"\d[\w.]*(?:(?<=e)[-+]\d+)?|\w+|(?:\*\*|//|<<|>>|[-+*/%@&|^<>=!])=?|\.\.\.|\S")
_STRENGTH = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 1),
    "|": 2,
    "^": 3,
    "&": 4,
    **dict.fromkeys(("<<", ">>"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "/", "//", "%", "@"), 7),
}
_TUPLE, _COMPARISON, _SIGN, _CONSTANT, _WHOLE = 0, 1, 8, 9, 10
_ASSIGNING = frozenset(
    ("=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=")
)
_CONSTANTS = ("None", "True", "False", "...")

_Part = tuple[str, int]
"""A text, and how strongly it holds together."""


class _OtherError(Exception):
    """Raised at a token that this reader does not know."""


def without_needless(statement: str) -> str | None:
    """`statement` without needless parentheses; None if that is left to astor."""
    try:
        return _Reader(statement).statement()
    except _OtherError:
        return None


class _Reader:
    """A reader of one statement, token by token."""

    def __init__(self, statement: str) -> None:
        self.tokens: list[str] = [*_TOKEN.findall(statement), "", ""]
        self.place = 0

    def statement(self) -> str:
        """The whole statement."""
        if self._comes("def"):
            text = f"def {self._signed()[0]}:"
            self._expect(":")
            self._expect("")
            return text
        start = f"{self._next()} " if self.tokens[0] in ("return", "del") else ""
        text = self._several("")[0]
        if not start and self.tokens[self.place] in _ASSIGNING:
            target = f"({text})" if text.endswith(",") else text
            text = f"{target} {self._next()} {self._several('')[0]}"
        self._expect("")
        return start + text

    def _next(self) -> str:
        token = self.tokens[self.place]
        self.place += 1
        return token

    def _comes(self, token: str) -> bool:
        """Read `token` if it is next, and return whether it was."""
        if self.tokens[self.place] != token:
            return False
        self.place += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._comes(token):
            raise _OtherError

    def _several(self, end: str) -> _Part:
        """The expression before `end`, which may be a tuple."""
        text, strength = self._operation()
        if self.tokens[self.place] != ",":
            return text, strength
        parts = [_held((text, strength))]
        while self._comes(","):
            if self.tokens[self.place] in (end, "="):
                break
            parts.append(self._part())
        return (", ".join(parts) if len(parts) > 1 else f"{parts[0]},"), _TUPLE

    def _part(self) -> str:
        """One expression between commas."""
        return _held(self._operation())

    def _operation(self, least: int = _COMPARISON) -> _Part:
        """Operations of at least this strength."""
        text, strength = self._signed()
        while True:
            operator = self.tokens[self.place]
            stronger = _STRENGTH.get(operator, 0)
            if stronger < least:
                if operator == "**":
                    raise _OtherError
                return text, strength
            self.place += 1
            is_compared = stronger == _COMPARISON
            first = _held((text, strength), stronger + is_compared)
            second = _held(self._operation(stronger + 1), stronger + 1)
            text, strength = f"{first} {operator} {second}", stronger
            if is_compared and self.tokens[self.place] in _STRENGTH:
                raise _OtherError

    def _signed(self) -> _Part:
        """An operand, with a sign or without."""
        if self._comes("-"):
            return f"-{_held(self._signed(), _SIGN)}", _SIGN
        token = self._next()
        if token[:1].isdigit() or token in _CONSTANTS:
            if not _is_as_written(token):
                raise _OtherError
            part = token, _CONSTANT
        elif token == "(":
            if self._comes(")"):
                return "()", _WHOLE
            part = self._several(")")
            self._expect(")")
        elif token == "[":
            part = f"[{', '.join(self._listed(']'))}]", _WHOLE
        elif token.isidentifier() and not keyword.iskeyword(token):
            part = token, _WHOLE
        else:
            raise _OtherError
        return self._trailed(part)

    def _trailed(self, part: _Part) -> _Part:
        """`part` with the attributes, calls and items that follow."""
        while self.tokens[self.place] in (".", "(", "["):
            if part[1] == _CONSTANT:
                raise _OtherError
            token, text = self._next(), _held(part, _WHOLE)
            if token == ".":
                name = self._next()
                if not name.isidentifier() or keyword.iskeyword(name):
                    raise _OtherError
                part = f"{text}.{name}", _WHOLE
            elif token == "(":
                part = f"{text}({', '.join(self._listed(')'))})", _WHOLE
            else:
                part = f"{text}[{', '.join(self._items())}]", _WHOLE
        return part

    def _listed(self, end: str) -> list[str]:
        """Arguments or elements, as far as `end`."""
        parts: list[str] = []
        while not self._comes(end):
            if parts:
                self._expect(",")
            if self._comes("*"):
                text, strength = self._signed()
                if strength < _WHOLE:
                    raise _OtherError
                parts.append(f"*{text}")
            elif end == ")" and self.tokens[self.place + 1] == "=":
                name = self._next()
                self._expect("=")
                parts.append(f"{name}={self._part()}")
            else:
                parts.append(self._part())
        return parts

    def _items(self) -> list[str]:
        """The indices and slices in square brackets."""
        parts: list[str] = []
        while not self._comes("]"):
            if parts:
                self._expect(",")
            text = ""
            while self.tokens[self.place] not in (",", "]"):
                text += self._next() if self.tokens[self.place] == ":" else self._bound()
            parts.append(text)
        return parts

    def _bound(self) -> str:
        text, strength = self._operation()
        if strength == _TUPLE or self.tokens[self.place] not in (":", ",", "]"):
            raise _OtherError
        return text


def _held(part: _Part, least: int = _COMPARISON) -> str:
    """A part in parentheses, unless it binds at least as strongly as required."""
    text, strength = part
    return text if strength >= least else f"({text})"


def _is_as_written(constant: str) -> bool:
    """Return whether Python prints a constant as it is written."""
    if constant in _CONSTANTS:
        return True
    kind = int if constant.isdigit() else complex if constant.endswith("j") else float
    try:
        return repr(kind(constant)) == constant
    except ValueError:
        return False
