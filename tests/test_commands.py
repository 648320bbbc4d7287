"""The scripts that set a clone up: when one fails, it says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT

COMMANDS = ("demo", "test", "lint", "docs")

# A Python that can do everything but install.
WITHOUT_NETWORK = """#!/bin/sh
case "$*" in
    *"pip "*install*) echo "no such index" >&2; exit 1 ;;
    *"-m pip --version") exit 0 ;;
    *) exec {python} "$@" ;;
esac
"""


def run(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `sh .ci/COMMAND` with these environment variables."""
    return subprocess.run(
        ["sh", str(ROOT / ".ci" / command)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_it_asks_for_a_python_where_there_is_none(command: str, tmp_path: Path) -> None:
    ran = run(command, PYTHON="no-such-python", VENV=str(tmp_path / "venv"))
    assert ran.returncode == 1
    assert "there is no Python called 'no-such-python'. Set PYTHON to one" in ran.stderr


def test_it_says_what_to_do_where_nothing_can_be_installed(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    for path, text in (
        (venv / "bin" / "python", WITHOUT_NETWORK.format(python=sys.executable)),
        (tmp_path / "uv", "#!/bin/sh\nexit 1\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = run("demo", PYTHON=str(venv / "bin" / "python"), VENV=str(venv), PATH=path)
    assert ran.returncode == 1
    assert "no such index" in ran.stderr
    assert "error: the packages could not be installed" in ran.stderr
    assert f"or remove {venv} to begin anew" in ran.stderr


def test_a_long_command_says_that_it_goes_on_and_hands_on_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.05\n", "utf-8")
    (tmp_path / "sleep").chmod(0o755)
    script = f". {ROOT / '.ci' / 'setup'}; patiently working sh -c '/bin/sleep 0.3; exit 3'"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", script], env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert ran.returncode == 3
    assert "    working, 10 s\n    working, 20 s\n" in ran.stdout
