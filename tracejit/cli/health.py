"""Command `doctor`: versions, BLAS, threads, settings, and the health of the cache."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.cache.settings import location, size_limit
from tracejit.cli.inventory import damage, store, total
from tracejit.cli.output import Refusal, print_json, say, size
from tracejit.runtime.processors import default_threads, processors
from tracejit.support.config import SETTINGS, setting, source_of, unknown_variables
from tracejit.support.errors import TracejitError
from tracejit.version import __version__

OPTIONAL = {"scipy": "scipy", "scikit-learn": "demo", "rich": "cli", "dask": "dask"}


def add(commands: Any) -> None:
    """Declare the command."""
    commands.command(
        "doctor",
        _doctor,
        "show versions, BLAS, settings and the health of the cache; 1 if something is wrong",
        "tracejit doctor\ntracejit doctor --json",
    )


def _doctor(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    lines = [*_versions(), *_settings(problems), *_cache(problems)]
    if arguments.json:
        topics = {topic: text for topic, text in lines if topic}
        print_json({**topics, "settings": _values(), "problems": problems})
    else:
        for topic, text in [*lines, *(("problem", problem) for problem in problems)]:
            say(f"{topic:<13} {text}".rstrip())
    return 1 if problems else 0


def _versions() -> Iterator[tuple[str, str]]:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    yield "python", f"{platform.python_version()}, {system}"
    for package in ("numpy", "astor"):
        yield package, _version(package)
    yield "tracejit", __version__
    for package, extra in OPTIONAL.items():
        yield package, _version(package, f"not installed (pip install 'tracejit[{extra}]')")
    yield "blas", _blas()


def _settings(problems: list[str]) -> Iterator[tuple[str, str]]:
    """The variables that are set, and the threads; wrong ones are added to `problems`."""
    known = [each.variable for each in SETTINGS.values() if os.environ.get(each.variable)]
    others = sorted(name for name in os.environ if name.endswith("_NUM_THREADS"))
    there = [f"{name}={os.environ[name]}" for name in [*sorted(known), *others]]
    yield "environment", ", ".join(there) or "nothing set"
    for name, hint in unknown_variables().items():
        problems.append(f"{name} is not a setting of tracejit. {hint}")
    problems += [row["problem"] for row in _values().values() if row["problem"]]
    try:
        yield "threads", f"{default_threads()} for tiles, of {processors()} processors"
    except TracejitError:
        yield "threads", "not known"


def _values() -> dict[str, Any]:
    """Every setting, for JSON: its variable, value, and where that comes from."""
    found: dict[str, Any] = {}
    for name, row in SETTINGS.items():
        try:
            value, problem = setting(name), None
        except TracejitError as error:
            value, problem = None, str(error).partition("\n")[0]
        found[name] = {
            "variable": row.variable,
            "value": value,
            "default": row.default,
            "source": source_of(name) or "default",
            "problem": problem,
            "meaning": row.meaning,
        }
    return found


def _cache(problems: list[str]) -> Iterator[tuple[str, str]]:
    try:
        path, problem = location()
    except TracejitError:  # a setting, which is among the problems
        return
    if path is None and problem is None:
        yield "cache", "the cache is off (TRACEJIT_CACHE=0, or no home directory)"
        return
    yield "cache", str(path or "")
    try:
        there = store()
    except Refusal as refusal:
        problems.append(str(refusal))
        return
    entries = there.entries()
    limit = size_limit()
    yield "kernels", total(entries)
    yield "limit", "none (TRACEJIT_CACHE_SIZE=0)" if limit is None else size(limit)
    problems.extend(damage(there, entry) for entry in entries if not entry.intact)


def _version(package: str, missing: str = "not installed as a package") -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return missing


def _blas() -> str:
    """The BLAS that NumPy was built with."""
    built: Any = np.show_config(mode="dicts")
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip()
