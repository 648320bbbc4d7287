"""What bad inputs get: the messages in messages.txt, reviewed as prose.

After a change that is meant to alter messages:

    python -m tests.messages.test_messages    writes the file again; git shows what became of it
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("dask", reason="the extra dask is not installed")

from tests.messages import bad_inputs
from tests.messages.bad_inputs import AS_WRITTEN, BAD_INPUTS, X, compiled
from tests.support.compare import assert_same

INPUTS = BAD_INPUTS | AS_WRITTEN
FILE = Path(__file__).with_name("messages.txt")
# NumPy and Python word some errors otherwise from version to version, and carets need 3.11, as does
# the user's expression in the first line.
LINE = re.compile(r"\b(\w+\.py):\d+ ")
KEY = re.compile(r"__[0-9a-f]{8}\b")
# Later Pythons go on after "has no attribute 'foo'".
LATER = " and no __dict__ for setting new attributes"
WITH_COLUMNS = {"expm", "writing into zeros"}
CARETS = re.compile(r"^ +\^+\n", re.MULTILINE)


def message_of(name: str) -> str:
    """The error that a bad input gets, without line numbers and carets."""
    try:
        answer = INPUTS[name]()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        text = KEY.sub("__KEY", text)
        text = text.replace(str(Path.cwd()), "").removesuffix(LATER)
        return CARETS.sub("", LINE.sub(r"\1 ", text)).strip()
    raise AssertionError(f"{name} is not refused: {answer!r}")


def kept() -> dict[str, str]:
    """The messages in the file, by the name of their input."""
    parts = FILE.read_text().split("\n\n\n")
    return {part.partition("\n")[0].strip("[]"): part.partition("\n")[2].strip() for part in parts}


def test_the_file_has_the_message_of_every_input() -> None:
    assert list(kept()) == list(INPUTS)
    assert len(INPUTS) >= 80


@pytest.mark.parametrize("name", INPUTS)
def test_a_bad_input_gets_its_message(name: str) -> None:
    found, wanted = message_of(name), kept()[name]
    if sys.version_info < (3, 11):  # which does not know which expression of a line runs
        found, wanted = (text.partition("\n")[2] for text in (found, wanted))
        if name in WITH_COLUMNS:
            return
    assert found == wanted


@pytest.mark.parametrize("name", AS_WRITTEN)
def test_converted_an_input_is_not_bad(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_inputs, "as_written", lambda f: (compiled(f)(X), f(X)))
    assert_same(*AS_WRITTEN[name](), 1e-14)


if __name__ == "__main__":
    FILE.write_text("\n\n\n".join(f"[{name}]\n{message_of(name)}" for name in INPUTS) + "\n")
