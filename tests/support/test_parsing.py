"""Python's parser, asked by several threads."""

from __future__ import annotations

import ast
import gc
import sys
import threading
from typing import Any

import pytest

from tracejit.support import parsing
from tracejit.support.parsing import parse

TEXT = "\n".join(
    f"x_{k} = [{', '.join(f'(y * {n} + z) ** 2' for n in range(40))}]" for k in range(5)
)


def test_a_tree_is_what_ast_makes() -> None:
    assert ast.dump(parse(TEXT)) == ast.dump(ast.parse(TEXT))
    assert ast.dump(parse("x + 1", mode="eval")) == ast.dump(ast.parse("x + 1", mode="eval"))
    with pytest.raises(SyntaxError):
        parse("x +")


def test_what_another_thread_disturbed_is_parsed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, tries = ast.parse, []

    def disturbed(text: str, mode: str = "exec") -> Any:
        tries.append(text)
        if len(tries) < 4:
            raise SystemError("AST constructor recursion depth mismatch (before=105, after=112)")
        return made(text, mode=mode)

    monkeypatch.setattr(parsing.ast, "parse", disturbed)
    assert ast.dump(parse("x")) == ast.dump(made("x"))
    assert len(tries) == 4


def test_an_error_that_stays_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, mode: str = "exec") -> Any:
        raise SystemError(text)

    monkeypatch.setattr(parsing.ast, "parse", broken)
    with pytest.raises(SystemError, match="x"):
        parse("x")


def test_eight_threads() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                parse(TEXT)
        except BaseException as error:
            errors.append(error)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)
    assert not errors
