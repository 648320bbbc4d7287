"""Engines as processes: one stays for the turns, others answer one request and end."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.benchmarks import setup_peers

ROOT = Path(__file__).parents[2]
OURS = ("tracejit", "hand")


def interpreter(engine: str) -> str:
    """The Python that runs an engine."""
    return sys.executable if engine in OURS else str(setup_peers.python(engine))


class Process:
    """An engine that waits for requests."""

    def __init__(self, engine: str, environment: Mapping[str, str]) -> None:
        self.engine = engine
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
        self.child = subprocess.Popen(
            [interpreter(engine), "-m", "tests.benchmarks.engine", engine],
            cwd=ROOT,
            env={**os.environ, **quiet, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, request: str, *arguments: Any) -> Any:
        """The answer to a request, which may be a `Refusal`."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        pickle.dump((request, arguments), self.child.stdin)
        self.child.stdin.flush()
        try:
            return pickle.load(self.child.stdout)
        except EOFError:
            raise RuntimeError(
                f"{self.engine} ended while asked for {request}{arguments}"
            ) from None

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the process."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()
        if error is not None:
            self.child.terminate()
        self.child.wait()
        self.child.stdout.close()
