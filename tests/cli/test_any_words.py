"""Any words at all: a command answers, or says in a line or two what is wrong with them."""

from __future__ import annotations

import contextlib
import io
import random
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tests.by_day import by_day
from tests.shipped_functions import TEXTS
from tracejit.cli import main

ROOT = Path(tj.__file__).parents[1]

COMMANDS = {
    "show": (1, "--json", "--spec", "--wrt", "--forward", "--graph", "--html", "--profile"),
    "diff": (2, "--json"),
    "explain": (1, "--json", "--spec"),
    "ls": (0, "--json", "--larger", "--older", "--newer", "--sort", "--damaged"),
    "path": (0, "--json"),
    "verify": (0, "--json"),
    "prune": (0, "--json", "--max-bytes", "--max-age"),
    "export": (1, "--json", "--spec", "--wrt", "-o", "--no-grad", "--overwrite", "--no-check"),
    "check": (1, "--json", "--size", "--arguments", "--elements", "--trust"),
}
"""Commands with the number of words that each needs, and its options."""
FLAGS = ("--json", "--forward", "--graph", "--damaged", "--no-grad", "--overwrite", "--no-check",
         "--trust", "--profile")  # fmt: skip
WORDS = (
    "train:loss", "train.py:loss", "train:Model.scaled", "train:nothing", "train:number", "train:",
    ":loss", "train.py", "train:loss.__wrapped__", "..train:loss", "a b:c", "train:ready", "no:no",
    "x" * 5000, f"{'x' * 5000}:f", f"train:{'f' * 5000}", f"{'y' * 5000}.py:f", "double", "*", "[",
    "/", "/dev/full", "/dev/null", ".", "..", "made.py", "folder", "folder/made.py",
    "/dev/null/a.py",
    "/proc/none/a.py", "made.html", f"{'z' * 300}.py", "0", "-1", "1e9", "nan", "inf", "9" * 5000,
    "n=3", "=", "n=", "500M", "1e999G", "w", "w,x", "0,1", "99", "name", "size", "\udcff",
    # No command line has these.
    *(text.replace("\x00", "").replace("\ud800", "") for text in TEXTS),
)  # fmt: skip
TARGETS = ("train:loss", "train.py:loss", "train:ready", "train:drawing", "double", "made.py")
SPECS = (
    "w=f8[3], x=f8[10,3]", "f8[3], f8[10,3]", "w=f8[3]", "f8[999999999999]", "f8[4,4,4", "f8[-1]",
    "f8[n,n,n,n,n,n,n,n]", "f8[9223372036854775808]", "x=f9[3]", "O[3]", "M8[3]", "S[3]", "V[3]",
    "(" * 300, "[" * 90 + "]" * 90, "-" * 5000 + "1", "x=" + "{1:" * 80 + "1" + "}" * 80, "**x",
    "*x", "w=1, w=2", "{[1]: f8}", "lambda: 1", "f8[3]) or g(f8[3]", "f8[3])(f8[2]", "a" * 99999,
    "f8[" + "1," * 70 + "1]", "x=f8[0]", "x=f8[]", "Generator", "x=Generator, w=float", "float",
    "datetime64", "9" * 5000, "1 +", "x=f8[1:2]", "f8['a']", "f8[None]", "x=...", "\n", "#",
    "f8[3]\n)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def work(train, kernels):
    """A folder with files that words may name."""
    (train.parent / "folder").mkdir()


def drawn(draw):
    """A random command line, which its command takes more often than not."""
    command = draw.choice(list(COMMANDS))
    count, *options = COMMANDS[command]
    words = [command, *[draw.choice(draw.choice([WORDS, TARGETS])) for _ in range(count)]]
    chosen = draw.sample(options, draw.randrange(len(options) + 1))
    chosen += ["-o"] if command == "export" and "-o" not in chosen else []
    for option in chosen:
        words.append(option)
        if option not in FLAGS:
            words.append(draw.choice(SPECS if option == "--spec" else WORDS))
    if draw.random() < 0.1:
        words.insert(draw.randrange(len(words) + 1), draw.choice(WORDS))
    return words


@pytest.mark.parametrize("seed", range(by_day(3, 20)))
def test_no_words_make_a_traceback(seed, folder):
    draw = random.Random(seed)
    for _ in range(150):
        words = drawn(draw)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        assert code in (0, 1, 2), words
        if "Traceback" in err.getvalue():  # the user's function fails on such arguments
            assert code == 1 and 'train.py", line ' in err.getvalue(), (words, err.getvalue())


@pytest.mark.parametrize(
    "words",
    [
        ["show", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "--html", "folder"],
        ["show", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "--html", "/dev/full"],
        ["show", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "--html", "/proc/none/a.html"],
        ["show", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "--html", f"{'h' * 300}.html"],
        ["export", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "-o", f"{'p' * 300}.py"],
        ["export", "train:loss", "--spec", "w=f8[3], x=f8[10,3]", "-o", "/dev/null/loss.py"],
        ["check", f"{'c' * 300}.py"],
        ["show", f"{'m' * 5000}.py:f"],
        *[["show", "train:loss", "--spec", spec] for spec in ("f8[999999999999]", "(" * 300)],
        *[["show", "train:loss", "--spec", spec] for spec in ("w=1, w=2", "**w", "{[1]: f8}")],
        *[["show", "train:loss", "--spec", spec] for spec in ("O[3]", "[" * 90 + "]" * 90, "1 +")],
    ],
)
def test_what_cannot_be_is_one_line(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    err = err.removeprefix("importing train\n")  # which the module prints
    assert err.startswith("tracejit: ") and err.count("\n") == 1 and len(err) < 6000


def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tracejit", "ls"], stdout=full, stderr=subprocess.PIPE,
            cwd=ROOT, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "tracejit: No space left on device\n")


ATTACK = """
import numpy as np

def loss(w):
    # a comment with \x1b]0;title\x07
    return np.sum(w)

def fails(w):
    raise ValueError("\x1b[2J")
"""


def test_a_terminal_gets_no_control_characters(run, train, monkeypatch):
    (train.parent / "attack.py").write_text(ATTACK)
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    for words in (
        ["show", "attack.py:loss", "--spec", "w=f8[3]"],
        ["explain", "attack.py:fails", "--spec", "w=f8[3]"],
        ["show", "attack.py:\x1b[2J"],
        ["ls", "--sort", "\x1b[2J"],
        ["ls", "a", "\x1b[2J"],
        ["check", "\x1b[2J.py"],
    ):
        _, out, err = run(*words)
        assert "\x1b" not in out + err and "\\x1b" in out + err, words
