"""The grammar of the command line, its help, and its exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tracejit.cache.store import Store

ROOT = Path(tj.__file__).parents[1]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["no-such-command"],
        ["ls", "extra", "more"],
        ["show"],
        ["prune", "--max-age", "old"],
        ["prune", "--max-age", "nan"],
        ["prune", "--max-bytes", "-1"],
        ["demo", "--epochs", "0"],
    ],
)
def test_a_wrong_command_line_is_explained(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: tracejit")


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0 and "doctor" in out
    assert run("--version") == (0, f"tracejit {tj.__version__}\n", "")


def test_an_interrupt_is_no_traceback(run, monkeypatch):
    def interrupted(store):
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "entries", interrupted)
    assert run("ls") == (130, "", "\ntracejit: interrupted\n")


def test_it_runs_as_a_module(folder):
    command = [sys.executable, "-W", "error", "-m", "tracejit", "path"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{folder}\n", "")


COMMANDS = ["demo", "show", "diff", "explain", "ls", "path", "verify", "prune", "export", "check"]


@pytest.mark.parametrize("command", [*COMMANDS, "doctor"])
def test_the_help_of_every_command_has_examples_and_exit_codes(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    examples = out.partition("examples:\n")[2].partition("exit codes:")[0].split("\n")
    assert any(
        f"tracejit {command}" in line or f"$(tracejit {command})" in line for line in examples
    )
    assert "--json" in out
    assert "2    the request makes no sense" in out


def test_the_help_lists_every_command(run):
    out = run("--help")[1]
    listed = re.findall(r"^    (\w+)  ", out, re.MULTILINE)
    assert sorted(listed) == sorted([*COMMANDS, "doctor"])


def test_an_error_of_tracejit_shows_no_line_of_the_command(run, train, monkeypatch):
    monkeypatch.setattr(sys, "argv", [__file__])
    code, _, err = run("show", "train:loss", "--spec", "w=f8[3], x='text'")
    assert code == 1 and "test_command_line.py" not in err
    assert "  Why: " in err
