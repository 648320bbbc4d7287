"""What the user calls things, which may be any text, in generated code and in errors.

A few hundred words in every run; 500 in every place that a word can come from with `-m nightly`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day, some_by_day
from tests.support.processes import python
from tests.words import CODE, NAMES, NASTY, PLACES, TEXTS, check, check_all, random_words
from tracejit.support.words import (
    LONGEST,
    attribute,
    file_name,
    identifier,
    in_docstring,
    is_cell,
    is_name,
    printable,
    quoted,
    visible,
    word_of,
)

ROOT = Path(__file__).parents[2]
ANY = st.text(st.characters(exclude_categories=()), max_size=24)
WORDS = ANY | st.sampled_from(NASTY) | st.tuples(ANY, st.sampled_from(CODE), ANY).map("".join)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Kernels are files: they are run from there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path_factory.mktemp("words")))
        patch.delenv("TRACEJIT_CACHE")
        yield


# Words in every place


@pytest.mark.parametrize("number", some_by_day(range(len(PLACES)), 6))
def test_a_word_that_is_code_does_not_run(number: int) -> None:
    """Half of the words in each place, the other half in the next."""
    place, words = list(PLACES)[number], CODE[number % 2 :: 2]
    assert sum(check(place, word) for word in words) > len(words) / 2


@pytest.mark.nightly
@pytest.mark.parametrize("place", PLACES)
def test_no_word_that_is_code_runs(place: str) -> None:
    assert sum(check(place, word) for word in CODE) > len(CODE) / 2


@pytest.mark.parametrize("number", some_by_day(range(len(PLACES)), 6))
def test_nasty_words_change_nothing(number: int) -> None:
    place = list(PLACES)[number]
    words = [*NAMES, *TEXTS][number % 9 :: 9]
    assert sum(check(place, word) for word in words) > len(words) / 2


@settings(max_examples=by_day(20, 60))
@given(st.sampled_from(list(PLACES)), WORDS)
def test_any_word_is_right_in_any_place(place: str, word: str) -> None:
    check(place, word)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_nightly_words_in_every_place(seed: int) -> None:
    words = random_words(seed, 25)
    taken = sum(map(check_all, words))
    assert taken > 0.9 * len(words) * len(PLACES)


def test_words_are_right_from_the_cache_in_a_fresh_process(tmp_path: Path) -> None:
    script, words = ROOT / "tests" / "words.py", ("5", by_day("1", "3"))
    written = []
    for _ in range(2):
        python(script, *words, cwd=tmp_path.parent, TRACEJIT_CACHE_DIR=str(tmp_path))
        written.append({path: path.stat().st_mtime_ns for path in tmp_path.iterdir()})
    assert len(written[0]) > len(PLACES)
    assert written[0] == written[1]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there alone")
def test_a_file_whose_name_is_not_utf8_works(tmp_path: Path) -> None:
    script = os.fsencode(tmp_path) + b"/caf\xe9 \"'\n\x0c.py"
    text = (
        "import numpy as np\nimport tracejit as tj\n"
        "@tj.function\ndef loss(x):\n    y = np.sin(x)\n    return np.sum(y * y)\n"
        "x = np.arange(3.0)\n"
        "assert np.allclose(loss(x), np.sum(np.sin(x) ** 2))\n"
        "assert np.allclose(tj.grad(loss)(x), np.sin(2.0 * x))\n"
        "assert '# loss:1  y = np.sin(x)' in loss.source, loss.source\n"
        "try:\n    tj.function(lambda x: hash(x[0]) + hash(x))(x)\n"
        "except tj.TracejitError as error:\n    str(error).encode()\n"
        "else:\n    raise AssertionError\n"
    )
    with open(script, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)
    environment = os.environ | {"TRACEJIT_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for _ in range(2):
        subprocess.run([sys.executable, script], env=environment, check=True)
    headers = [path.read_text("utf-8") for path in tmp_path.glob("*__*.py")]
    assert headers
    assert all("    file         caf\\\\udce9 \\\"'\\\\n\\\\x0c.py\n" in text for text in headers)


def test_a_parameter_called_underscore_keeps_its_value() -> None:
    def product(_: Any) -> Any:
        _values, vectors = np.linalg.eigh(_)
        return vectors @ _

    matrix = np.eye(3) + 1.0
    np.testing.assert_allclose(tj.function(product)(matrix), product(matrix))


def test_a_string_puts_nothing_into_a_template() -> None:
    for word in ("{0}", "{0!r}", "{0.__class__}", "{out}", "{operands}", *CODE):
        with pytest.raises(ValueError, match="kind"):
            tj.function(lambda x, word=word: np.sort(x, kind=word))(np.arange(3.0))


# Names


@settings(max_examples=by_day(50, 500))
@given(WORDS)
def test_an_identifier_is_a_name(word: str) -> None:
    made = identifier(word)
    assert is_name(made)
    assert len(made) <= LONGEST + 1
    assert identifier(made) == made
    space: dict[str, Any] = {}
    exec(f"def f({made}):\n    return {made}", space)
    assert space["f"](**{made: 1}) == 1


@pytest.mark.parametrize("word", ["x", "w_1", "_private", "lr", "__init__", "é", "名"])
def test_a_name_stays(word: str) -> None:
    assert identifier(word) == word


def test_two_words_that_python_reads_alike_are_one_name() -> None:
    assert identifier("\ufb01") == identifier("fi") == "fi"
    assert identifier("e\u0301") == identifier("\xe9")


class Colour(Enum):
    """A key."""

    RED = "a b"


def test_keys_have_no_address_in_their_names() -> None:
    module = ModuleType("m")
    for key in (object(), np.sin, Colour, module, lambda: 0, np.vectorize(abs), b"a", 2.5, None):
        assert "0x" not in word_of(key)
        assert is_name(identifier(key))
    assert identifier(Colour.RED) == "Colour_RED"
    assert identifier((3, 4)) == "_3_4"
    assert identifier(np.float32(0.5)) == "_0_5"
    assert word_of(np.str_("w")) == "w"


@pytest.mark.parametrize("word", ["if", "None", "__debug__", "a b", "", "1", "\ufb01", "a\n"])
def test_what_is_no_name(word: str) -> None:
    assert not is_name(word)


# Texts


@settings(max_examples=by_day(50, 500))
@given(WORDS)
def test_printed_text_is_one_line_that_is_seen(word: str) -> None:
    text = printable(word)
    assert text.isprintable()
    assert len(text.splitlines()) <= 1
    text.encode()
    assert len(visible(word)) == len(word)
    assert visible(word).isprintable()


@settings(max_examples=by_day(50, 500))
@given(WORDS)
def test_a_docstring_and_a_literal_hold_what_was_put_in(word: str) -> None:
    text = printable(word)
    space: dict[str, Any] = {}
    exec(f'"""{in_docstring(text)}"""\nword = {quoted(word)}', space)
    # From Python 3.13 on the compiler takes the indentation away.
    assert space.get("__doc__") in (text, text.lstrip(" "))
    assert space["word"] == word


@settings(max_examples=by_day(60, 300))
@given(WORDS.filter(lambda word: "\0" not in word))
def test_an_attribute_is_read_by_any_name(word: str) -> None:
    module = ModuleType("m")
    vars(module)[word] = 7
    assert eval(attribute("held", word), {"held": module}) in (7, getattr(module, word))
    bound = attribute("held", word, lambda thing: "_read")
    assert eval(bound, {"held": module, "_read": getattr}) == getattr(module, word)


# Files


class Shell:
    """What IPython knows of its cells."""

    class compile:
        """The compiler of cells."""

        _filename_map = {"/tmp/ipykernel_7/12.py": 3}  # noqa: RUF012


def test_a_cell_has_the_number_that_jupyter_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert file_name("<ipython-input-3-0a1b2c>") == "In [3]"
    assert file_name("/tmp/ipykernel_7/12.py") == "In [ ]"
    running = ModuleType("IPython")
    running.get_ipython = Shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", running)
    assert file_name("/tmp/ipykernel_7/12.py") == "In [3]"
    assert is_cell("/tmp/ipykernel_7/12.py")
    assert not is_cell("/home/me/train.py")
    assert file_name("/home/me/train.py") == "train.py"
    assert file_name("C:\\me\\train.py") == "train.py"
