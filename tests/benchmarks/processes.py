"""Engines as processes: one stays for the turns, others answer one request and end."""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.benchmarks import setup_peers
from tests.benchmarks.engine import Refusal

ROOT = Path(__file__).parents[2]
OURS = ("tracejit", "hand")
LIMIT = 300  # seconds for an answer


def interpreter(engine: str) -> str:
    """The Python that runs an engine."""
    return sys.executable if engine in OURS else str(setup_peers.python(engine))


class Process:
    """An engine that waits for requests."""

    def __init__(self, engine: str, environment: Mapping[str, str]) -> None:
        self.engine = engine
        self.environment = environment
        self.child = self.started()

    def started(self) -> subprocess.Popen[bytes]:
        """A new child."""
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
        return subprocess.Popen(
            [interpreter(self.engine), "-m", "tests.benchmarks.engine", self.engine],
            cwd=ROOT,
            env={**os.environ, **quiet, "PYTHONPATH": str(ROOT), **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, request: str, *arguments: Any) -> Any:
        """The answer to a request, or a `Refusal`; whoever takes too long is started anew."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        pickle.dump((request, arguments), self.child.stdin)
        self.child.stdin.flush()
        if not select.select([self.child.stdout], [], [], LIMIT)[0]:
            self.child.kill()
            self.child.communicate()
            self.child = self.started()
            return Refusal(f"no answer to {request} in {LIMIT} s")
        try:
            return pickle.load(self.child.stdout)
        except EOFError:
            what = f"{self.engine} ended while asked for {request}{arguments}"
            raise RuntimeError(what) from None

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
