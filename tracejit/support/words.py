"""Words of the user's, as they may stand in generated code and in errors.

Keys of dicts, attributes, functions, modules and files may be called anything. Nothing of that
reaches generated text but through this module: what is to be a name goes through `identifier`,
what is to be read goes through `printable` (and `in_docstring`), and an attribute or key in a
generated condition is spelled by `attribute`.

>>> identifier("fc1.weight"), identifier("lambda"), identifier("a=__import__('os').system('id')")
('fc1_weight', 'lambda_', 'a___import____os___system__id__')
>>> printable("two\\nlines")
'two\\\\nlines'
"""

from __future__ import annotations

import enum
import keyword
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

LONGEST = 80
_RESERVED = frozenset((*keyword.kwlist, "__debug__"))
_CELL = re.compile(r"<ipython-input-(\d+)-.*>|.*[/\\]ipykernel_\d+[/\\]\d+\.py")
_PLAIN = (str, int, float, complex, bool, bytes, type(None))


def identifier(word: Any) -> str:
    """`word`, which may be any text or any key, as a name in Python.

    It is in the form in which Python reads names (NFKC), so two that are read as one are one here.
    At most LONGEST characters are kept.

    >>> identifier("<lambda>"), identifier(-1), identifier((0, "w")), identifier("")
    ('lambda_', '_1', '_0_w', 'a')
    """
    text = word if type(word) is str else word_of(word)
    if text.isascii() and text.isidentifier() and text not in _RESERVED and len(text) <= LONGEST:
        return text
    text = unicodedata.normalize("NFKC", text[:LONGEST].strip("<>"))[:LONGEST]
    if not text.isidentifier():
        text = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in text)
        if not text.strip("_"):
            return "a"
        text = text if text.isidentifier() else f"_{text}"
    return f"{text}_" if text in _RESERVED else text


def is_name(word: str) -> bool:
    """Return whether Python reads `word` as this very name."""
    return bool(
        str.isidentifier(word)
        and word not in _RESERVED
        and (word.isascii() or unicodedata.is_normalized("NFKC", word))
    )


def word_of(key: Any) -> str:
    """The name of a key of a container, without the address that the text of an object has.

    >>> word_of((0, "w")), word_of(2.5), word_of(object())
    ('0_w', '2.5', 'object')
    """
    kind = type(key)
    if isinstance(key, str) and not isinstance(key, enum.Enum):
        return str.__str__(key)
    if kind is tuple:
        return "_".join(map(word_of, key))
    if isinstance(key, enum.Enum):
        return f"{kind.__name__}_{key.name}"
    if kind in _PLAIN or issubclass(kind, np.generic):
        return str(key)
    name = getattr(key, "__name__", None)
    return name if type(name) is str else kind.__name__


def printable(text: str) -> str:
    """`text` with every character escaped that is not seen, ends a line, or turns it around.

    >>> printable("a\\rb\\x0c\\u2028\\ud800\\ufeff\\u202e")
    'a\\\\rb\\\\x0c\\\\u2028\\\\ud800\\\\ufeff\\\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def visible(text: str) -> str:
    """`text` of as many characters, so that a caret below stands where it should."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else " " if one == "\t" else "\N{REPLACEMENT CHARACTER}"
        for one in text
    )


def in_docstring(text: str) -> str:
    """Lines that are printable, as they stand between three double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def quoted(word: str) -> str:
    """`word`, which may be of a subclass of str, as a literal."""
    return repr(str.__str__(word))


def attribute(held: str, word: str, bind: Callable[[Any], str] | None = None) -> str:
    """The expression that reads attribute `word` of the expression `held`; where `word` is not a
    name, by getattr, which `bind` may give another name.

    >>> attribute("x", "T"), attribute("x", "a b"), attribute("x", "if")
    ('x.T', "getattr(x, 'a b')", "getattr(x, 'if')")
    """
    if is_name(word):
        return f"{held}.{word}"
    return f"{'getattr' if bind is None else bind(getattr)}({held}, {quoted(word)})"


def is_cell(filename: str) -> bool:
    """Return whether code of this file is in a cell of a notebook, or at a prompt of IPython's."""
    return _CELL.fullmatch(filename) is not None or _known_cell(filename) is not None


def file_name(filename: str) -> str:
    """The name of a file in an error: the last part of its path, or a cell as Jupyter numbers it.

    >>> file_name("/home/me/train.py"), file_name("<ipython-input-3-0a1b2c>")
    ('train.py', 'In [3]')
    """
    cell = _CELL.fullmatch(filename)
    number = _known_cell(filename) or (cell and cell[1])
    if cell is not None or number is not None:
        return f"In [{number or ' '}]"
    return printable(re.split(r"[/\\]", filename)[-1])


def _known_cell(filename: str) -> int | None:
    """The number that IPython, where it runs, has given to the cell in this file."""
    running = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(running, "compile", None), "_filename_map", None)
    return known.get(filename) if isinstance(known, dict) else None


def joined(words: Sequence[str]) -> str:
    """Words in a row.

    >>> joined(["x"]), joined(["x", "y"]), joined(["x", "y", "z"])
    ('x', 'x and y', 'x, y and z')
    """
    return " and ".join(part for part in [", ".join(words[:-1]), *words[-1:]] if part)


def a(noun: str) -> str:
    """A noun with its article.

    >>> a("float"), a("int"), a("ndarray")
    ('a float', 'an int', 'an ndarray')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' or noun == 'ndarray' else 'a'} {noun}"
