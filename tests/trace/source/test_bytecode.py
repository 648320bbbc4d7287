"""Bytecode of Python 3.14 and later, by the names that Python 3.13 has for its instructions."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from tracejit.trace.capture import type_questions
from tracejit.trace.guards import reads
from tracejit.trace.source.bytecode import (
    has_any,
    instructions,
    loaded_names,
    named_as_before,
    old_name,
)


def like_3_14(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of `code` as Python 3.14 names them."""
    for one in dis.get_instructions(code):
        name = one.opname
        if name in ("LOAD_FAST", "LOAD_FAST_LOAD_FAST"):
            name = name.replace("LOAD_FAST", "LOAD_FAST_BORROW")
        elif name == "LOAD_CONST" and type(one.argval) is int and 0 <= one.argval < 256:
            name = "LOAD_SMALL_INT"
        yield one._replace(opname=name)
        if "JUMP_IF" in name:
            yield one._replace(opname="NOT_TAKEN", argval=None, arg=None)


def arithmetic(x: Any, w: Any) -> Any:
    return x * 2 + W * x - x @ W


def callbacks(x: Any) -> Any:
    y = x + 1
    tj.callback(seen.append, x)
    tj.callback(lambda v: seen.append((v, y)), y, result=None)
    return x


def questions(x: Any, mode: Any) -> Any:
    if type(x) is list or type(x[0]) is int or type(x.a) is str or mode is None:
        return f"{x!r}"
    return getattr(x, "y")[0](x) + W.shape[0]  # noqa: B009


tj = seen = W = None
FUNCTIONS = [arithmetic, callbacks, questions]


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("LOAD_FAST_BORROW", "LOAD_FAST"),
        ("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST"),
        ("LOAD_SMALL_INT", "LOAD_CONST"),
        ("NOT_TAKEN", "NOP"),
        ("LOAD_FAST_CHECK", "LOAD_FAST_CHECK"),
        ("BINARY_OP", "BINARY_OP"),
    ],
)
def test_names(name: str, old: str) -> None:
    assert old_name(name) == old


def test_nothing_but_the_name_changes() -> None:
    (one, *_) = dis.get_instructions(arithmetic.__code__)
    assert named_as_before(one) is one
    renamed = named_as_before(one._replace(opname="LOAD_SMALL_INT"))
    assert renamed == one._replace(opname="LOAD_CONST")


def test_every_instruction_comes_by_a_name_of_3_13() -> None:
    for function in FUNCTIONS:
        names = {one.opname for one in instructions(function.__code__)}
        assert not any("_BORROW" in name or name == "LOAD_SMALL_INT" for name in names)


def found_in(code: CodeType) -> tuple[Any, ...]:
    """All that is read off the bytecode of a function."""
    return (
        reads.reads_of.__wrapped__(code),
        sorted(map(str, type_questions._questions.__wrapped__(code).values())),
    )


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it is the simulation of it")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_bytecode_of_3_14_is_read_as_that_of_3_13(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found_in(function.__code__)
    for module in (reads, type_questions):
        monkeypatch.setattr(
            module, "instructions", lambda code: map(named_as_before, like_3_14(code))
        )
    assert found_in(function.__code__) == expected


def test_the_samples_have_what_is_looked_for() -> None:
    if sys.version_info >= (3, 11):
        assert len(found_in(questions.__code__)[1]) == 3


def test_names_are_found_without_instructions() -> None:
    many = "".join(f"    g{i}(x.a{i})\n" for i in range(300))
    text = f"def f(x):\n    global k\n    k = 1\n{many}    return [v for v in h(x)]\nf(y)\n"
    waiting = [compile(text, "<text>", "exec")]
    while waiting:
        code = waiting.pop()
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
        found = dis.get_instructions(code)
        loaded = {one.argval for one in found if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        assert loaded_names(code) == loaded
        is_assigning = code.co_name == "f"
        assert has_any(code, ("STORE_GLOBAL", "NO_SUCH_INSTRUCTION")) == is_assigning
