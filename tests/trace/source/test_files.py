"""Files of the user's in generated code: the same on every machine and at every run of a cell."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.trace.source.files import CELL, code_of, origin_of, shown_file

FILES = {
    "a module": ("/home/me/train.py", "train", "train.py"),
    "a module of a package": ("/home/me/src/train/steps.py", "train.steps", "train/steps.py"),
    "a package": ("/x/site/train/__init__.py", "train", "train/__init__.py"),
    "a script": ("/home/me/a.b.py", "__main__", "a.b.py"),
    "on Windows": ("C:\\me\\train\\steps.py", "train.steps", "train/steps.py"),
    "written while the program runs": ("/tmp/gen_812.py", "train.steps", "train/steps.py"),
    "a string": ("<string>", "__main__", "<string>"),
    "a prompt": ("<python-input-12>", "__main__", "<python-input>"),
    "a doctest": ("<doctest page.md[3]>", "__main__", "<doctest page.md>"),
    "a cell": ("/tmp/ipykernel_7/3141.py", "__main__", CELL),
    "a cell of IPython": ("<ipython-input-3-0a1b>", "__main__", CELL),
}


@pytest.mark.parametrize(("filename", "module", "shown"), FILES.values(), ids=FILES)
def test_a_file_has_no_folder_of_a_machine(filename: str, module: str, shown: str) -> None:
    assert shown_file(filename, module) == shown


def test_a_module_loaded_from_a_file_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("plugin_one")
    module.__file__ = "/home/me/plugins/one.py"
    monkeypatch.setitem(sys.modules, "plugin_one", module)
    assert shown_file("/home/me/plugins/one.py", "plugin_one") == "one.py"


def loss(x: Any) -> Any:
    """Something to compute."""
    return np.sum(x * x)


class Model:
    """Something to call."""

    def __call__(self, x: Any) -> Any:
        return np.sum(x)

    def method(self, x: Any) -> Any:
        return np.sum(x)


def test_the_code_of_a_callable_is_the_users() -> None:
    inner = loss.__code__
    wrapped = functools.wraps(loss)(lambda *args: loss(*args))
    cycle: Any = lambda x: x  # noqa: E731
    cycle.__wrapped__ = cycle
    assert code_of(loss) is inner
    assert code_of(wrapped) is inner
    assert code_of(functools.partial(functools.partial(wrapped), 1)) is inner
    assert code_of(Model().method) is Model.method.__code__
    assert code_of(Model()) is Model.__call__.__code__
    assert code_of(cycle) is cycle.__code__
    assert code_of(np.sin) is None


def test_an_origin_names_function_and_file() -> None:
    line = loss.__code__.co_firstlineno
    file = "/".join(__name__.split(".")) + ".py"
    assert origin_of(loss, "f") == (f"{__name__}.loss", file, f"test_files.py:{line}")
    assert origin_of(np.sin, "f").file == ""


@pytest.mark.parametrize("transform", [tj.function, tj.grad, tj.hessian, tj.jacobian])
def test_every_header_names_the_file(transform: Any) -> None:
    kernel = transform(loss).kernel(np.ones(3))
    file = "/".join(__name__.split(".")) + ".py"
    assert f"    file         {file}\n" in kernel.source
    assert "/home" not in kernel.source
    assert __file__ not in kernel.source


def test_the_line_is_told_by_the_module_that_runs_and_not_by_its_text() -> None:
    kernel = tj.grad(loss).kernel(np.ones(3))
    place = f"test_files.py:{loss.__code__.co_firstlineno}"
    assert kernel.place == place
    assert f"({place})\n" in (kernel.module.__doc__ or "")
    assert place not in kernel.source


def test_a_tapes_kernel_names_the_file(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("TRACEJIT_DUMP", "source")
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    x = tj.Variable(np.arange(5.0))
    with tj.GradientTape() as tape:
        y = np.sum(np.cos(x) * np.sin(x) * 3.0)
    tape.gradient(y, x)
    assert f"    file         {'/'.join(__name__.split('.'))}.py\n" in capfd.readouterr().err
