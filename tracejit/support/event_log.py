"""Events in the making of kernels, for `logging`: the loggers `tracejit.compile`, `tracejit.guards`
and `tracejit.fallback`.

Each event is an INFO record. A program listens by a handler of its own, as to any logger. The
setting `log` writes topics to stderr, without any other preparation.

`logging` is not imported before somebody listens: where no module of the process has imported it,
nobody does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tracejit.support.config import TOPICS, setting
from tracejit.support.imports import import_module

# The handler to stderr and the former levels of the loggers that it serves, by topic.
_written: dict[str, tuple[Any, int]] = {}
_loggers: dict[str, Any] = {}


def is_heard(topic: str) -> bool:
    """Return whether anybody listens to events of a topic of `TOPICS`."""
    topics = setting("log")
    if topics or _written:
        _write_to_stderr(topics)
    if "logging" not in sys.modules:
        return False
    return bool(_logger(topic).isEnabledFor(_level()))


def log(topic: str, text: Callable[[], str]) -> None:
    """Log an event of a topic, whose text is not made where nobody listens."""
    if is_heard(topic):
        for handler, _ in _written.values():
            handler.setStream(sys.stderr)  # which may be another one by now
        _logger(topic).log(_level(), "%s", text())


def _level() -> int:
    return int(import_module("logging").INFO)


def _logger(topic: str) -> Any:
    """The logger of a topic. Python's handler of last resort stays silent for all of them."""
    if not _loggers:
        logging = import_module("logging")
        logging.getLogger("tracejit").addHandler(logging.NullHandler())
        _loggers.update((each, logging.getLogger(f"tracejit.{each}")) for each in TOPICS)
    return _loggers[topic]


def _write_to_stderr(topics: tuple[str, ...]) -> None:
    """Have the events of `topics`, and no others, written to stderr."""
    for topic in TOPICS:
        logger = _logger(topic)
        if topic in topics and topic not in _written:
            logging = import_module("logging")
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            _written[topic] = handler, logger.level
            logger.addHandler(handler)
            logger.setLevel(_level())
        elif topic in _written and topic not in topics:
            handler, level = _written.pop(topic)
            logger.removeHandler(handler)
            logger.setLevel(level)
