"""Code in fresh interpreters, in forked children, and in modules imported from files."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 60
OPTIONS = ("-W", "error")


def environment_of(**variables: str) -> dict[str, str]:
    """The environment of this process, in which this tracejit is imported, and these variables."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def finished(
    script: str | Path,
    *words: str,
    cwd: Path | None = None,
    interpreter: str = sys.executable,
    options: tuple[str, ...] = OPTIONS,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """What a fresh interpreter made of a script, a text or a file, that it ran to the end."""
    code = ["-c", textwrap.dedent(script)] if isinstance(script, str) else [str(script)]
    run = subprocess.run(
        [interpreter, *options, *code, *words],
        cwd=cwd,
        env=environment_of(**variables),
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
    )
    assert run.returncode == 0, run.stderr
    return run


def python(script: str | Path, *words: str, **options: Any) -> str:
    """What a script prints that `finished` runs, and that has nothing to complain of."""
    run = finished(script, *words, **options)
    assert run.stderr == ""
    return run.stdout


def at_once(script: str, count: int) -> list[str]:
    """What so many processes print that begin at the same time; `number` counts them."""
    gate = "import sys; number = int(sys.argv[1]); print(flush=True); sys.stdin.read(1)\n"
    command = [sys.executable, *OPTIONS, "-c", textwrap.dedent(script).replace("GATE", gate)]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes: list[Any] = [
        subprocess.Popen([*command, str(number)], env=environment_of(), text=True, **pipes)
        for number in range(count)
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    printed = []
    for process in processes:
        out, error = process.communicate(timeout=2 * SECONDS)
        assert process.returncode == 0, error
        printed.append(out)
    return printed


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` answers in a child that is forked here."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(work()))
    child.start()
    assert receiver.poll(SECONDS), "the child hangs"
    answer = receiver.recv()
    child.join(SECONDS)
    receiver.close()
    sender.close()
    return answer


def imported(path: Path) -> ModuleType:
    """The module at `path`, imported as any other."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
