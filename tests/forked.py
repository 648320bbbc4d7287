"""What code does in a forked child."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

SECONDS = 60


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
