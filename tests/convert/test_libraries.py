"""All functions of the standard library, of SciPy and of statsmodels: found, verified, rewritten.

TRACEJIT_LIBRARIES=json,scipy.stats pytest -m nightly tests/convert/test_libraries.py -s
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import pkgutil
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from tracejit.convert.operators import PLAIN
from tracejit.convert.rewrite import bind, rewrite
from tracejit.convert.source import Refusal, find

DAILY = "argparse ast dataclasses json.encoder statistics typing"
LEAST = 0.99
SKIPPED = ("idlelib", "lib2to3", "test", "tkinter", "turtle", "turtledemo", "antigravity", "this")
CALLS = {"call": PLAIN.call, "site": PLAIN.site}
WITHOUT_CELLS = inspect.CO_NOFREE
SAME = (
    "co_argcount", "co_filename", "co_firstlineno", "co_freevars",
    "co_kwonlyargcount", "co_name", "co_posonlyargcount", "co_qualname",
)  # fmt: skip


def functions(module: Any) -> Iterator[FunctionType]:
    """The functions that a module defines, in classes and behind decorators too."""
    waiting, seen = list(vars(module).values()), set()
    while waiting:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, type) and member.__module__ == module.__name__:
            waiting += vars(member).values()
        elif isinstance(member, property):
            waiting += [member.fget, member.fset]
        elif isinstance(member, FunctionType) and member.__globals__ is vars(module):
            yield member
        with contextlib.suppress(Exception):
            waiting += [vars(member)[one] for one in ("__wrapped__",) if one in vars(member)]
        if isinstance(member, staticmethod | classmethod):
            waiting.append(member.__func__)


def submodules(name: str) -> Iterator[Any]:
    """A module and those inside it that can be imported."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            module = importlib.import_module(name)
        except BaseException:  # it needs another system, or ends the process
            return
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if found.name not in ("tests", "testing", "conftest", "__main__", "sandbox", *SKIPPED):
            yield from submodules(f"{name}.{found.name}")


def check(names: list[str]) -> Counter[str]:
    """Convert all functions of libraries; count them, and the refusals by their reason."""
    counts: Counter[str] = Counter()
    finding = rewriting = 0.0
    for name in names:
        for module in submodules(name):
            for function in functions(module):
                code = function.__code__
                start = time.process_time()
                source = find(code, function.__qualname__, function.__globals__)
                finding += time.process_time() - start
                if isinstance(source, Refusal):
                    is_made = code.co_filename.startswith("<")
                    counts["made of text" if is_made else source.reason.why] += 1
                    if not is_made:
                        print(source)
                    continue
                start = time.process_time()
                for kinds in (CALLS, PLAIN.given()):
                    assert_same_shape(bind(rewrite(source, kinds), kinds)[0], code)
                rewriting += time.process_time() - start
                counts["found"] += 1
    total = sum(counts.values()) or 1
    print(f"{sys.version.split()[0]} {' '.join(names)[:40]}: {dict(counts)}")
    print(f"  {finding / total * 1e3:.2f} ms to find, {rewriting / total * 5e2:.2f} ms to rewrite")
    return counts


def assert_same_shape(new: CodeType, old: CodeType) -> None:
    for name in SAME:
        if hasattr(old, name):  # co_qualname is not in Python 3.10
            assert getattr(new, name) == getattr(old, name), (old, name)
    # A generator that is gone through at once is a loop, which needs no cells.
    assert {*new.co_cellvars} <= {*old.co_cellvars}, old
    assert new.co_flags | WITHOUT_CELLS == old.co_flags | WITHOUT_CELLS, old


def assert_found(counts: Counter[str]) -> None:
    """Nearly all were found; what is made of text has no source."""
    found = counts["found"]
    assert found
    assert found >= LEAST * (counts.total() - counts["made of text"]), counts


def test_functions_of_the_standard_library() -> None:
    assert_found(check(DAILY.split()))


@pytest.mark.nightly
def test_all_functions_of_the_standard_library() -> None:
    names = sorted(sys.stdlib_module_names - set(SKIPPED))
    assert_found(check(names))


@pytest.mark.nightly
@pytest.mark.parametrize("name", os.environ.get("TRACEJIT_LIBRARIES", "scipy").split(","))
def test_all_functions_of_libraries(name: str) -> None:
    assert_found(check([name]))
