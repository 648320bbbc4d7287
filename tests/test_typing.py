"""What type checkers know of the public surface: programs in tests/typing/ are checked by mypy and
by pyright, and run, so that what is said of a value is true of it."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.typing import language_server, program, signatures
from tracejit.support.options import Options

ROOT = Path(__file__).parents[1]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
PROGRAMS = ROOT / "tests" / "typing"
STUB = ast.parse((ROOT / "tracejit" / "support" / "typing.pyi").read_text("utf-8"))

# Public names whose answers have parts of which a checker knows nothing, and why.
UNKNOWN = {
    "Kernel.debug": "what the kernel returns",
    "grad": "an argument chosen by a name, or by a number that is no literal",
    "value_and_grad": "as grad",
    "elementwise_grad": "as grad",
    "deriv": "of a ufunc: an array or a number",
    "function": "as deriv",
    "jacobian": "containers, and as grad",
    "jacfwd": "as jacobian",
    "jacrev": "as jacobian",
    "hessian": "as jacobian",
    "vmap": "a function that returns numbers in containers",
    "hvp": "a list of arguments",
    "vjp": "what the pullback takes: cotangents, cast to the dtype of the result",
    "scan": "a body that returns numbers in containers",
    "gradients": "sources in a container of containers",
    "callback": "a container of specs",
    "custom_gradient": "the rule, a function of any cotangents",
    "GradientTape.gradient": "sources in a container of containers",
    "GradientTape.jacobian": "sources in a container of containers",
    "ForwardAccumulator.jvp": "containers of containers",
    "Kernel.forward": "any generated function",
    "Kernel.backward": "any generated function",
    "Kernel.value_and_grad": "any generated function",
    "Kernel.signature": "the SIGNATURE of a generated module: text and numbers",
    "Tensor.item": "a Python number of whichever kind",
    "Tensor.tolist": "numbers in lists of any depth",
    "Variable.item": "a Python number of whichever kind",
    "Variable.tolist": "numbers in lists of any depth",
}


def wrong_lines() -> set[int]:
    """The lines of the mistakes that checkers report."""
    lines = (PROGRAMS / "mistakes.py").read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


@pytest.mark.types
def test_mypy_knows_the_types() -> None:
    """Some 3 seconds, 20 without mypy's cache: those of NumPy's stubs."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file=pyproject.toml", "--strict"]
    command += [f"--python-version={PYTHON}", "--follow-imports=silent"]
    command += ["--explicit-package-bases", str(PROGRAMS)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    told = [line for line in ran.stdout.splitlines() if ": error: " in line]
    known = {line for line in told if line.startswith("tests/typing/mistakes.py:")}
    assert set(told) == known, ran.stdout
    assert {int(line.split(":")[1]) for line in known} == wrong_lines(), ran.stdout


@pytest.mark.types
def test_pyright_knows_the_types(tmp_path: Path) -> None:
    """Some 5 seconds."""
    pytest.importorskip("basedpyright")
    words = {"include": [str(PROGRAMS)], "extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({**words, "pythonVersion": PYTHON}), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    ran = subprocess.run([*command, "-p", str(config)], capture_output=True, text=True)
    told = [one for one in json.loads(ran.stdout)["generalDiagnostics"] if is_error(one)]
    places = {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in told}
    assert places == {("mistakes.py", line) for line in wrong_lines()}, told


def is_error(diagnostic: dict[str, Any]) -> bool:
    """Return whether pyright reports this; others are hints."""
    return diagnostic["severity"] == "error"


SPECIAL = ("__call__", "__get__", "__getitem__", "__add__", "__enter__", "__iter__")

CHECKED = [
    function
    for module in (program, signatures)
    for function in vars(module).values()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not function.__code__.co_argcount
]


@pytest.mark.parametrize("run", CHECKED, ids=lambda function: function.__name__)
def test_the_types_are_true(run: Any) -> None:
    run()


def answers_of(name: str, body: list[ast.stmt], where: str) -> Iterator[tuple[str, str]]:
    """(name, annotation) of what a function in `body` returns: of its overloads, if it has some."""
    found = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == name]
    overloads = [one for one in found if "overload" in map(ast.unparse, one.decorator_list)]
    for one in overloads or found:
        yield where, ast.unparse(one.returns) if one.returns else "Any"


def public_answers() -> Iterator[tuple[str, str]]:
    """(public name, annotation) of every answer of the public surface."""
    for name in tj.__all__:
        thing = getattr(tj, name)
        if inspect.isfunction(thing):
            yield from answers_of(thing.__name__, tree_of(thing).body, name)
        elif inspect.isclass(thing) and not issubclass(thing, Exception):
            for cls in thing.__mro__:
                if cls.__module__.startswith("tracejit."):
                    for body in bodies_of(cls):
                        methods = {one.name for one in body if isinstance(one, ast.FunctionDef)}
                        for method in methods:
                            if method[0] != "_" or method in SPECIAL:
                                yield from answers_of(method, body, f"{name}.{method}")


def tree_of(thing: Any) -> ast.Module:
    """What type checkers read of the module of `thing`: its stub, if it has one."""
    path = Path(inspect.getsourcefile(inspect.unwrap(thing)) or "")
    stub = path.with_suffix(".pyi")
    return ast.parse((stub if stub.is_file() else path).read_text("utf-8"))


def bodies_of(cls: type) -> Iterator[list[ast.stmt]]:
    """The statements of a class, and of the stub that stands for what it makes."""
    names = {cls.__name__, "ArraySignatures" if cls.__name__ == "ArrayMethods" else ""}
    stub = ROOT / "tracejit" / "trace" / "tensor" / "array_signatures.pyi"
    for tree in (tree_of(cls), ast.parse(stub.read_text("utf-8"))):
        for one in tree.body:
            if isinstance(one, ast.ClassDef) and one.name in names:
                yield one.body


def test_no_answer_is_any_without_a_reason() -> None:
    """An array of any dtype has a type."""
    told = dict.fromkeys(
        name
        for name, answer in public_answers()
        if "Any" in re.sub(r"(NDArray|Array|np\.dtype)\[Any\]", "", answer)
    )
    assert list(told) and set(told) == UNKNOWN.keys(), set(told) ^ UNKNOWN.keys()


def test_options_are_those_of_function() -> None:
    told = next(one for one in STUB.body if getattr(one, "name", "") == "FunctionOptions")
    assert isinstance(told, ast.ClassDef)
    fields = [ast.unparse(one.target) for one in told.body if isinstance(one, ast.AnnAssign)]
    assert tuple(fields) == Options._fields


def test_numpy_has_no_name_that_its_stub_lacks() -> None:
    """`import *` in a stub takes what `__all__` names."""
    stub = (ROOT / "tracejit" / "numpy.pyi").read_text("utf-8")
    assert "from numpy import *" in stub
    assert set(tnp.__all__) == {*np.__all__}
    assert not {name for name in dir(tnp) if name[0] != "_"} - {*np.__all__}


def test_editors_see_the_function() -> None:
    """The signature and the docstring of the user's function, and of one that is made of it."""
    for function in (program.predict, tj.grad(program.predict), tj.vmap(program.predict)):
        assert inspect.signature(function) == inspect.signature(program.predict.python)
        assert inspect.getdoc(function) == "The output of a network with one hidden layer."
        assert function.__name__ == "predict"


HOVERED = '''
import numpy as np
from numpy.typing import NDArray
import tracejit as tj

@tj.function
def loss(w: NDArray[np.float64], k: float = 2.0) -> np.float64:
    """The loss of a fit."""
    return np.sum(w) * k

class Model:
    @tj.function
    def energy(self, w: NDArray[np.float64]) -> np.float64:
        """The energy of a field."""
        return np.sum(w)

loss(np.ones(3))
slope = tj.grad(loss)
tj.jacrev(loss)
Model().energy(np.ones(3))
'''


@pytest.mark.types
def test_editors_show_the_function_that_is_decorated(tmp_path: Path) -> None:
    """Some 4 seconds: a language server."""
    pytest.importorskip("basedpyright")
    path = tmp_path / "hovered.py"
    path.write_text(HOVERED, "utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}), "utf-8")
    words = ["loss(np.ones", "slope", "energy(np.ones", "grad(loss", "jacrev(loss"]
    loss, slope, energy, grad, jacrev = language_server.hovers(path, words, tmp_path)
    assert "(w: NDArray[float64], k: float = 2" in loss and loss.endswith("The loss of a fit.")
    assert "NDArray[float64]]" in slope and slope.endswith("The loss of a fit.")
    assert "(w: NDArray[float64])" in energy and energy.endswith("The energy of a field.")
    for shown, made in ((grad, tj.grad), (jacrev, tj.jacrev)):
        assert f"{made.__name__}(" in shown and (made.__doc__ or "").splitlines()[0] in shown
