"""Process replay: the text generated for a fixed set of programs, compared with another commit's.

    python -m tests.process_replay COMMIT             where this tree's text differs from COMMIT's
    python -m tests.process_replay --write FOLDER     this tree's text, one file a program

The programs are the goldens, the workloads of the benchmarks at the sizes of the tests and at their
own, and 300 random programs of tests/programs.py with 60 that branch. A change that should leave
generated code alone shows no difference; what one that is meant to alter it does is read as a diff.
Lines of headers that name keys and versions are left out. COMMIT is checked out beside this tree,
in a temporary folder, and runs its own programs by this file.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.benchmarks.adapters.for_tracejit import compiled
from tests.benchmarks.workloads import WORKLOADS
from tests.programs import programs
from tests.test_branch_programs import branchings
from tests.test_golden import PROGRAMS, same_text

ROOT = Path(__file__).parents[1]
RANDOM, BRANCHING = 300, 60

Program = tuple[str, Callable[[], object]]


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """`count` programs of a strategy, always the same."""
    made: list[Any] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(program: Any) -> None:
        made.append(program)

    keep()
    return made


def attempted(call: Callable[[], object]) -> None:
    """Make a call whose answer is not asked for: one that raises generates no more text."""
    try:
        call()
    except Exception as error:
        print(f"# {type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)


def programs_by_name() -> Iterator[Program]:
    """Every program: its name, and a call that generates its modules."""
    for name, golden in PROGRAMS.items():
        yield f"golden-{name}", lambda made=golden: run_golden(made)
    for name, workload in WORKLOADS.items():
        for small in (True, False):
            size = "small" if small else "full"
            name_here = f"workload-{name.replace('/', '-')}-{size}"
            yield name_here, lambda made=workload, small=small: run_workload(made, small)
    for number, program in enumerate(drawn(programs(), RANDOM)):
        yield f"random-{number:03}", lambda made=program: run_random(made)
    for number, program in enumerate(drawn(branchings(), BRANCHING)):
        yield f"branching-{number:03}", lambda made=program: run_branching(made)


def run_golden(golden: Any) -> None:
    """Generate the modules of a golden program."""
    made: Any = tj.function(golden.python)
    if golden.argnums is not None:
        made = tj.value_and_grad(made, golden.argnums, has_aux=golden.has_aux)
    for call in golden.calls:
        made(*call)


def run_workload(workload: Any, small: bool) -> None:
    """Generate the modules of a workload."""
    arguments = workload.arguments(small)
    compiled(workload, arguments)(*arguments)


def run_random(program: Any) -> None:
    """Generate the modules of a random program's results, and of its scalar and its gradient."""
    attempted(lambda: tj.function(program.function)(*program.values))
    if program.moving:
        slopes = tj.value_and_grad(program.loss, argnums=program.moving)
        attempted(lambda: slopes(*program.values))


def run_branching(program: Any) -> None:
    """Generate the modules of a program that decides, on all its inputs."""
    made = tj.function(program.function)
    slopes = tj.value_and_grad(program.function, argnums=(0, 1))
    for number, arguments in enumerate(program.inputs):
        for call in (made, slopes):
            rng = np.random.default_rng(number)
            attempted(lambda call=call, rng=rng, given=arguments: call(*given, rng))


def generated(call: Callable[[], object]) -> str:
    """The text of all modules that a call generates, in the order of their text."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRACEJIT_CACHE_DIR"] = folder
        call()
        texts = [same_text(path.read_text("utf-8")) for path in Path(folder).rglob("*.py")]
    return "\n\n".join(sorted(texts))


def write(folder: Path) -> None:
    """Write this tree's text, a file for each program."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, call in programs_by_name():
        (folder / f"{name}.py").write_text(generated(call), "utf-8")


def text_of(root: Path, folder: Path) -> None:
    """Write the text of the tree at `root` in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.process_replay", "--write", folder]
    subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True)


def check_out(commit: str, folder: Path) -> None:
    """Put the tree of `commit` into `folder`, with this file for its own."""
    folder.mkdir()
    command = ["git", "archive", commit]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    shutil.copy(__file__, folder / "tests" / Path(__file__).name)


def differences(before: Path, after: Path) -> Iterator[str]:
    """The programs of both folders whose text differs, each with its diff."""
    names = {path.name for path in before.iterdir()} & {path.name for path in after.iterdir()}
    for name in sorted(names):
        old, new = ((folder / name).read_text("utf-8") for folder in (before, after))
        if old != new:
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
            yield "\n".join([name, *lines])


def compare(commit: str) -> int:
    """Print what became of the text of `commit`; the number of programs that differ."""
    with tempfile.TemporaryDirectory() as folder:
        there, before, after = (Path(folder) / name for name in ("tree", "before", "after"))
        check_out(commit, there)
        text_of(there, before)
        text_of(ROOT, after)
        found = list(differences(before, after))
        count = len(list(after.iterdir()))
    for difference in found:
        print(difference, end="\n\n")
    print(f"{len(found)} of {count} programs have other text than at {commit}")
    return len(found)


def main() -> int:
    """Read the command line, and compare or write."""
    parser = argparse.ArgumentParser(prog="python -m tests.process_replay")
    parser.add_argument("commit", nargs="?", default="HEAD", help="what to compare with")
    parser.add_argument("--write", type=Path, help="write the text into this folder instead")
    given_here = parser.parse_args()
    if given_here.write:
        write(given_here.write)
        return 0
    return int(compare(given_here.commit) > 0)


if __name__ == "__main__":
    sys.exit(main())
