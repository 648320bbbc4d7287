"""Mutation: seeded faults, one after the other in a copy of the tree, and the test that
fails first.

    python -m tests.mutation                     every fault, with the tests chosen for it
    python -m tests.mutation cos parentheses     those whose names contain one of these words
    python -m tests.mutation --whole             the whole suite where the chosen tests find nothing
    python -m tests.mutation --tests tests/ops   other tests than those chosen
    python -m tests.mutation --tree DIRECTORY    another tree: that of a commit with another suite

The faults are the rows of tests/faults.py. A row whose text does not stand in the package exactly
once is an error, as is a chosen test that fails without a fault. `-m nightly` tries every row.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults import FAULTS, Fault

ROOT = Path(__file__).parents[1]
PYTEST = ("-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider")
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__")
SLOWEST = 1200
"""So many seconds are waited for tests, which a fault may keep from ending."""
FAILED = 1
"""The exit status of pytest where tests ran and some failed."""
FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class FaultError(Exception):
    """A fault that cannot be tried."""


class Finding(NamedTuple):
    """The test that finds a fault, "" where none does, and how long it took."""

    fault: Fault
    test: str
    seconds: float


def modules_of(package: Path) -> dict[Path, str]:
    """The modules of a package, with their texts."""
    return {path: path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}


def place_of(fault: Fault, modules: Mapping[Path, str]) -> Path:
    """The module in which a fault's text stands; raises FaultError unless it stands there once in
    the whole package."""
    found = {path: text.count(fault.before) for path, text in modules.items()}
    found = {path: count for path, count in found.items() if count}
    if list(found.values()) != [1]:
        where = ", ".join(f"{count} in {path}" for path, count in found.items()) or "gone"
        raise FaultError(f"{fault.name}: the text is not there once: {where}\n    {fault.before}")
    return next(iter(found))


class MutatedTree:
    """A copy of a tree, for faults."""

    def __init__(self, tree: Path, copy: Path) -> None:
        """Copy `tree` to `copy`, which does not exist yet."""
        shutil.copytree(tree, copy, ignore=NOT_COPIED)
        self.root = copy
        self.package = copy / "tracejit"

    def run(self, arguments: str) -> tuple[int, str]:
        """The exit status of pytest with these arguments, and what it prints."""
        environment = os.environ | {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *PYTEST, *shlex.split(arguments)]
        try:
            ran = subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SLOWEST,
            )
        except subprocess.TimeoutExpired:
            return FAILED, f"FAILED {arguments} - no end after {SLOWEST} s"
        return ran.returncode, ran.stdout + ran.stderr

    def check(self, arguments: str) -> None:
        """Raise FaultError unless these tests pass as the tree is."""
        status, output = self.run(arguments)
        if status:
            raise FaultError(f"without a fault, pytest {arguments} ends in {status}:\n{output}")

    def find(self, fault: Fault, runs: Sequence[str]) -> Finding:
        """Try one fault: the first test that fails in any of these runs of pytest."""
        modules = modules_of(self.package)
        path = place_of(fault, modules)
        text = modules[path]
        path.write_text(text.replace(fault.before, fault.after), "utf-8")
        started = time.perf_counter()
        try:
            for arguments in runs:
                status, output = self.run(arguments)
                if status == FAILED:
                    failures = FIRST_FAILURE.findall(output)
                    seconds = time.perf_counter() - started
                    return Finding(fault, failures[0] if failures else arguments, seconds)
                if status:
                    raise FaultError(
                        f"{fault.name}: pytest {arguments} ends in {status}:\n{output}"
                    )
        finally:
            path.write_text(text, "utf-8")
        return Finding(fault, "", time.perf_counter() - started)


def chosen(words: Sequence[str]) -> list[Fault]:
    """The faults whose names contain one of these words; all, where there are none."""
    return [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]


def main() -> int:
    """Try the faults, and print what finds each; 1 where one is not found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of the names of faults")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to copy")
    parser.add_argument("--tests", help="arguments of pytest for every fault")
    parser.add_argument("--whole", action="store_true", help="the whole suite at last")
    parser.add_argument("--unchecked", action="store_true", help="no first run without a fault")
    options = parser.parse_args()
    faults = chosen(options.words)
    with tempfile.TemporaryDirectory(prefix="tracejit-mutation.") as folder:
        tree = MutatedTree(options.tree.resolve(), Path(folder) / "tree")
        modules = modules_of(tree.package)
        for fault in faults:
            place_of(fault, modules)
        own = [options.tests] if options.tests else []
        if not options.unchecked:
            for arguments in own or dict.fromkeys(run for fault in faults for run in fault.tests):
                tree.check(arguments)
        missed = 0
        for fault in faults:
            runs = [*(own or fault.tests), *([""] if options.whole else [])]
            finding = tree.find(fault, runs)
            missed += not finding.test
            outcome = finding.test or "NOT FOUND"
            sys.stdout.write(f"{finding.seconds:6.1f} s  {fault.name}: {outcome}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(faults) - missed} of {len(faults)} faults are found\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
