"""The default number of threads for the tiles of a kernel, where the user has not set it.

The setting `threads` says it for the process. Without it there are as many as this process has
processors, by its affinity, the quota of its control groups and OMP_NUM_THREADS, and at most two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tracejit.support.config import setting
from tracejit.support.cost_model import costs

_GROUPS = Path("/proc/self/cgroup")
_MOUNTED = Path("/sys/fs/cgroup")


def default_threads() -> int:
    """The number of threads of a kernel whose function does not say it.

    Raises ArgumentError if TRACEJIT_THREADS is not a number of threads.
    """
    asked: int | None = setting("threads")
    if asked is not None:
        return asked
    return min(costs().most_threads, processors(), open_mp_threads())


def processors() -> int:
    """The number of processors that this process may use at a time, at least one."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    quota = processor_quota(_GROUPS, _MOUNTED)
    return available if quota is None else max(1, min(available, int(quota)))


def open_mp_threads() -> int:
    """The number that OMP_NUM_THREADS allows; a list has one for each level of nesting."""
    words = os.environ.get("OMP_NUM_THREADS", "").split(",")
    with suppress(ValueError):
        return max(1, int(words[0]))
    return costs().most_threads


def processor_quota(groups: Path, mounted: Path) -> float | None:
    """The number of processors that the control groups named in the file `groups` allow, which are
    mounted at `mounted`: the least of any group and those above it; None without a limit."""
    quotas = [_quota(folder) for folder in _folders(groups, mounted)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folders(groups: Path, mounted: Path) -> Iterator[Path]:
    """The folders of the groups for processors, and of those above, down to where they are mounted:
    a container sees the latter alone."""
    for line in _text(groups).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            top = mounted
        elif "cpu" in controllers.split(","):
            top = mounted / ("cpu" if (mounted / "cpu").is_dir() else controllers)
        else:
            continue
        folder = top / path.strip("/")
        while folder != top:
            yield folder
            folder = folder.parent
        yield top


def _quota(folder: Path) -> float | None:
    """The quota of one group, in the files of either version of control groups."""
    first = [_text(folder / f"cpu.cfs_{word}_us") for word in ("quota", "period")]
    words = (_text(folder / "cpu.max") or " ".join(first)).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return None
    return int(words[0]) / int(words[1])


def _text(file: Path) -> str:
    """The content of a file; "" where there is none."""
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""
