"""Verified source: found for what runs without conversion, and refused for all else."""

from __future__ import annotations

import importlib
import linecache
import py_compile
import sys
import textwrap
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.convert.running import converted, define
from tests.support.processes import python
from tracejit.convert.converter import Converter
from tracejit.convert.operators import Operators
from tracejit.convert.source import (
    ANOTHER,
    NO_SOURCE,
    Refusal,
    Source,
    all_codes,
    find,
    imported_names,
    same_code,
)


def found(function: Callable[..., Any]) -> Source | Refusal:
    return find(function.__code__, function.__qualname__, function.__globals__)


def assert_found(*functions: Callable[..., Any]) -> None:
    """Each has a source, whose tree compiles to the code that runs."""
    for function in functions:
        source = found(function)
        assert isinstance(source, Source), source
        scope = source.compile(source.tree()[0])
        if not hasattr(ast_of(source), "type_params") or not ast_of(source).type_params:
            assert any(same_code(code, function.__code__) for code in all_codes(scope))


def ast_of(source: Source) -> Any:
    return source.tree()[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that modules are imported from."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def module(folder: Path, name: str, text: str | bytes) -> ModuleType:
    data = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    (folder / f"{name}.py").write_bytes(data)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def test_functions_in_every_scope() -> None:
    names = define(
        '''
        import math, os.path as path
        from functools import partial, wraps
        def plain(x): return math.exp(x) + path.sep.count(x) + partial.func
        def outer(k, n):
            def inner(x):
                nonlocal n
                return inner, k * n
            class Local:
                def method(self): return super().method() + k
            return inner, Local.method
        class __Model:
            __w = 1
            def method(self): return self.__w
            @staticmethod
            def static(): return __class__
            class Inner:
                def method(self, __private=1): return __private
            async def waits(self):
                async with self as a: return [b async for b in a]
        def generator(x):
            """Doc."""
            yield from x
        if 1:
          def odd(x):
            text = """
        not indented
          """
            return text
        @(lambda f: f)
        @wraps(
            plain
        )
        # a comment
        def decorated(x=lambda: 1):
            return (
                x
        )
        '''
    )
    model = names["__Model"]
    assert_found(
        names["plain"],
        *names["outer"](1, 2),
        model.method,
        model.static,
        model.Inner.method,
        model.waits,
        names["generator"],
        names["odd"],
        names["decorated"],
    )


def test_lambdas_are_told_apart() -> None:
    names = define(
        """
        a, b = lambda x: x * 2 if x else 0, lambda x: x * 3 if x else 0
        pair = [lambda x: x + 1, lambda x: x + 2, lambda y: y + 3]
        nested = lambda x: (lambda x: x * 10)(x) + 1
        inner = (lambda x: (lambda x: x * 10))(0)
        table = {"a": lambda v: v, "lambda": lambda v, *w, k=(1, 2): {v: w}}
        multi = (lambda x: x +
                 1), (lambda x: x + 2)
        defaults = lambda x, f=lambda x: x * 7: f(x)
        made = [lambda x, k=k: x * k if x else 0 for k in range(3)]
        closed = [lambda x: (
            x * k) for k in range(3)]
        text = "é", lambda: "a, b: (" ; other = lambda: 1
        class C:
            key = lambda self: self.__w
        def f(k):
            for g in (lambda: k,): return g
        """
    )
    assert_found(
        names["a"], names["b"], *names["pair"], names["nested"], names["inner"],
        *names["table"].values(), *names["multi"], names["defaults"], *names["made"],
        *names["closed"], names["text"][1], names["other"], names["C"].key, names["f"](1),
    )  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters() -> None:
    names = define(
        """
        def first[T](xs: list[T]) -> T: return xs[0]
        def named[T](x): return T.__name__
        class A[T]:
            def method[S](self): return S, T
        """
    )
    assert_found(names["first"], names["named"], names["A"].method)


@pytest.mark.parametrize(
    "text",
    [
        "# -*- coding: latin-1 -*-\ndef f(x):\n    s = 'é'\n    return x, s\n".encode("latin-1"),
        b"\xef\xbb\xbfdef f(x):\n\tif x:\n\t\treturn 1\n\treturn 0\n",
        b"\x0cdef f(x):\r\n    y = '''a\r\nb'''\r\n    return y if x else 0\r\n",
        "def f(x, \ufb01=2):\n    if x: fi = 5\n    return fi\n".encode(),
        b"from __future__ import annotations\ndef f(x: undefined) -> nothing:\n    y: no = x\n",
        b"def f(x):\n    return x",
        b"class C:\n  if 1:\n    @staticmethod\n    def f(x): return x\nf = C.f\n",
        b"if 1:\n  def f(x): return 1\nf1 = f\ndef f(x): return 2\n",
        b"def f(x): return x is 1, '\\d', assert_\nassert_ = 1\n",
    ],
)
def test_encodings_tabs_and_odd_files(folder: Path, text: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = module(folder, "odd_file", text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_found(*[one for name, one in vars(loaded).items() if name in ("f", "f1")])


def test_a_file_edited_after_import_is_refused(folder: Path) -> None:
    text = "def rate(x):\n    return x * 2\n"
    edited = module(folder, "edited", text)
    assert_found(edited.rate)
    (folder / "edited.py").write_text(text.replace("* 2", "* 2.0"))
    refusal = found(edited.rate)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is ANOTHER
    assert f"rate ({folder}/edited.py:1) runs as written" in str(refusal)


def test_code_that_a_hook_has_made_is_refused() -> None:
    names = define("def f(x):\n    return x\n")
    filename = names["f"].__code__.co_filename
    exec(compile("def f(x):\n    if x: return x", filename, "exec"), hooked := {})
    assert getattr(found(hooked["f"]), "reason", None) is ANOTHER


def test_positions_are_compared() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("Python 3.10 keeps no columns")
    names = define("def f(x):\n    return  x\n")
    filename = names["f"].__code__.co_filename
    exec(compile("def f(x):\n    return x\n", filename, "exec"), other := {})
    assert getattr(found(other["f"]), "reason", None) is ANOTHER


def test_code_without_a_file_is_refused() -> None:
    exec("def f(x): return x", names := {})
    assert getattr(found(names["f"]), "reason", None) is NO_SOURCE


def test_the_loader_of_an_archive_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = folder / "library.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("in_archive.py", "def f(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(archive))
    loaded = importlib.import_module("in_archive")
    linecache.clearcache()
    assert_found(loaded.f)


def test_compiled_files_alone_are_refused(folder: Path) -> None:
    path = folder / "compiled.py"
    path.write_text("def f(x):\n    return x\n")
    py_compile.compile(str(path), cfile=str(path.with_suffix(".pyc")))
    path.unlink()
    importlib.invalidate_caches()
    assert getattr(found(importlib.import_module("compiled").f), "reason", None) is NO_SOURCE


def test_a_cell_that_was_run_again() -> None:
    names = define("def f(x):\n    return x + 1\n")
    filename = names["f"].__code__.co_filename
    text = "def f(x):\n    return x + 2\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), again := {})
    assert getattr(found(names["f"]), "reason", None) is ANOTHER
    assert_found(again["f"])


def test_functions_are_found_while_they_are_traced() -> None:
    names = define("import math\ndef f(x):\n    y = math.exp(x)\n    return y\n")
    old = sys.gettrace()
    sys.settrace(lambda *_: lambda *_: None)
    try:
        names["f"](1)
        source = found(names["f"])
    finally:
        sys.settrace(old)
    assert isinstance(source, Source)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 calls all names alike")
def test_imported_names_are_those_whose_attributes_are_called_as_functions() -> None:
    f = define("import math\ndef f(x, y): return math.exp(x) + x.real() + y.imag")["f"]
    assert imported_names(f.__code__, {}) == {"math", "y"}


def test_a_program_given_to_python_as_text() -> None:
    script = (
        "from tracejit.convert.source import find, Source\n"
        "def f(x): return x\n"
        "found = find(f.__code__, 'f', globals())\n"
        "print(isinstance(found, Source) or found.reason.why)\n"
    )
    assert python(script).strip() in ("True", NO_SOURCE.why)


def test_a_module_that_binds_super() -> None:
    names = define(
        """
        class A:
            def m(self, x): return super().__init__(x)
        super = super
        """
    )
    assert_found(names["A"].m)


def test_a_lambda_is_not_taken_for_the_one_whose_default_value_it_makes() -> None:
    function = define("def f(x): return (lambda v=(lambda v=x: 1)(): v + x)()")["f"]
    assert converted(function, Converter(Operators(), calls=True))(2) == 3
