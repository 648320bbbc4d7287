"""`tj.export`: modules of NumPy alone, which check their arguments, and packages of them."""

from __future__ import annotations

import copy
import dataclasses
import errno
import functools
import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.cached import failing, posix
from tests.idioms.table import IDIOMS
from tests.support.processes import imported, python
from tracejit.cache.key import verify
from tracejit.support.errors import ExportError, KernelError, TracejitError

Spec = tj.TensorSpec
W = np.array([0.5, -1.0, 2.0])
X = np.random.default_rng(0).normal(size=(10, 3))
Y = np.random.default_rng(1).normal(size=10)
SCALE = 2.5
TABLE = np.random.default_rng(2).normal(size=(40, 40))


class Other(np.ndarray):
    """An array of another class."""


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w) - y) ** 2)


@pytest.fixture
def export(tmp_path: Path) -> Any:
    """`tj.export` to a file of this test, and its module."""

    def exported(f: Any, *args: Any, **options: Any) -> ModuleType:
        return imported(tj.export(f, *args, path=tmp_path / "made.py", overwrite=True, **options))

    return exported


def alike(one: Any, other: Any) -> None:
    """Compare two results, containers and classes included; kernels sum in orders of their own."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            alike(mine, its)
    elif dataclasses.is_dataclass(one):
        alike(vars(one), vars(other))
    elif isinstance(one, (np.ndarray, np.generic, float)):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        rtol = 1e-5 if np.asarray(one).dtype == np.float32 else 1e-12
        np.testing.assert_allclose(one, other, rtol=rtol, atol=0)
    else:
        assert one == other


# The module


def test_call_answers_the_value_and_the_gradient(export: Any) -> None:
    module = export(loss, W, X, Y)
    alike(module.call(W, X, Y), tj.value_and_grad(loss)(W, X, Y))
    alike(module.call(W, y=Y, x=X), module.value_and_grad(W, X, Y))


def test_argnums_and_grad_choose_what_is_computed(export: Any) -> None:
    alike(export(loss, W, X, Y, grad=False).call(W, X, Y), loss(W, X, Y))
    both = tj.value_and_grad(loss, argnums=(0, 2))(W, X, Y)
    alike(export(loss, W, X, Y, argnums=(0, 2)).call(W, X, Y), both)
    named = tj.value_and_grad(loss, argnames="y")(W, X, Y)
    alike(export(loss, W, X, Y, argnames="y").call(W, X, Y), named)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (tj.grad, (3,)),
        (tj.value_and_grad, (3,)),
        (functools.partial(tj.grad, argnums=(0, 1)), (3,)),
        (functools.partial(tj.vmap, in_axes=(0, None)), (2, 3)),
        (tj.function, (3,)),
        (tj.hessian, (3,)),
    ],
)
def test_what_a_transform_has_made_is_exported_as_it_is(
    export: Any, make: Any, shape: tuple[int, ...]
) -> None:
    made = make(lambda w, x: np.sum(np.sin(w) * x) ** 2)
    args = np.arange(np.prod(shape)).reshape(shape) / 3, W
    alike(export(made, *args, grad=False).call(*args), made(*args))


def test_a_method_reads_its_object_once(export: Any) -> None:
    class Model:
        def __init__(self) -> None:
            self.w = np.ones(3)
            self.rate = 0.5

        @tj.function
        def value(self, x: Any) -> Any:
            return np.sum(x @ self.w) * self.rate

    model = Model()
    module = export(model.value, Spec((None, 3)))
    expected = tj.value_and_grad(model.value)(X)
    model.w, model.rate = np.zeros(3), 7.0
    alike(module.call(X), expected)
    assert "self.w f8[3]" in module.__doc__ and "self.rate = 0.5" in module.__doc__


def test_the_module_needs_numpy_alone(tmp_path: Path) -> None:
    path = tj.export(lambda x: TABLE @ x, Spec((40,)), path=tmp_path / "product.py", grad=False)
    script = (
        "import sys, numpy as np, product\n"
        "assert not any(name.startswith('tracejit') for name in sys.modules)\n"
        "print(float(product.call(np.arange(40.0)).sum()))"
    )
    found = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]\n"
    command = [sys.executable, "-I", "-W", "error", "-c", found + script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) == pytest.approx(float((TABLE @ np.arange(40.0)).sum()))
    lines = [line for line in path.read_text().splitlines() if line.startswith(("from", "import"))]
    assert [line.split()[1] for line in lines] == ["numpy"]


def test_the_module_imports_nothing_besides_numpy(tmp_path: Path) -> None:
    tj.export(loss, W, X, Y, path=tmp_path / "made.py")
    printed = python(f"""
        import sys
        import numpy
        sys.path.insert(0, {str(tmp_path)!r})
        before = set(sys.modules)
        import made
        print(set(sys.modules) - before)
    """)
    assert printed == "{'made'}\n"


WRITTEN = '''
def misfit(p, x, rate=0.5, mode="sum"):
    """Return why call refuses these arguments, or None."""
    if type(p) is not dict or list(p) != ["w", "b"]:
        return _unlike("p", p, "a dict with the keys ['w', 'b'] in this order")
    if type(p["b"]) is not float:
        return _unlike("p['b']", p["b"], "a float")
    if type(p["w"]) is not ndarray or p["w"].dtype != float64 or p["w"].shape != (3,):
        return _unlike("p['w']", p["w"], "an array of dtype float64 and shape (3,)")
    if type(x) is not ndarray or x.dtype != float64 or x.ndim != 2 or x.shape[1] != 3:
        return _unlike("x", x, "an array of dtype float64 and shape (any size, 3)")
    if type(rate) is not float:
        return _unlike("rate", rate, "a float")
    if type(mode) is not str or mode != "sum":
        return _unlike("mode", mode, "'sum', as it was when this module was exported")
    if not (n := x.shape[0]) > 1:
        return "the sizes must match x f8[n,3], with n > 1; the shapes are: " + repr((x.shape,))
    return None


def call(p, x, rate=0.5, mode="sum"):
    """Return the result of f for these arguments; raise TypeError if they do not fit."""
    problem = misfit(p, x, rate, mode)
    if problem is not None:
        raise TypeError("f: " + problem)
    found = value_and_grad(float64(p["b"]), p["w"], x, rate, baked_held)
    return found[0], {"w": found[1][1], "b": found[1][0]}
'''


def test_the_call_is_code_that_a_person_would_write(export: Any) -> None:
    held = tj.Variable(W, name="held")

    def f(p: Any, x: Any, rate: float = 0.5, mode: str = "sum") -> Any:
        return np.sum(x @ p["w"] * rate + p["b"]) + np.sum(held * p["w"])

    module = export(f, {"w": W, "b": 0.5}, Spec((None, 3)), 2.0)
    text = Path(str(module.__file__)).read_text()
    written = text[text.index("def misfit") : text.index("# tracejit sha256")]
    assert written == WRITTEN.lstrip()


def test_the_module_is_sealed_and_loads_as_a_kernel(tmp_path: Path) -> None:
    path = tj.export(lambda x: TABLE @ x, Spec((40,)), path=tmp_path / "product.py", grad=False)
    npz = path.with_suffix(".npz").read_bytes()
    assert verify(path.read_text(), npz) is None
    kernel = tj.load(path)
    x = np.arange(40.0)
    np.testing.assert_array_equal(kernel.forward(x, TABLE), TABLE @ x)
    np.testing.assert_array_equal(kernel.module.call(x), TABLE @ x)
    path.write_text(path.read_text().replace("(40,)", "(41,)"))
    with pytest.raises(KernelError, match="changed after"):
        tj.load(path)


def test_the_docstring_says_what_is_in_the_module(export: Any) -> None:
    held = tj.Variable(W, name="held")
    rate = 0.25

    def f(x: Any, power: int = 2, mode: str = "sum") -> Any:
        return np.sum(x * held) ** power * rate * SCALE

    text = " ".join((export(f, W).__doc__ or "").split())
    assert "call call(x, power, mode) as tj.value_and_grad(f); its arguments are checked" in text
    baked = text.partition("baked in ")[2].partition("runs with ")[0].strip().split(", ")
    assert sorted(baked) == [
        "SCALE = 2.5", "held f8[3]", "mode = 'sum'", "power = 2", "rate = 0.25",
    ]  # fmt: skip
    assert (
        f"runs with NumPy 2.0 or later, without tracejit; exported with NumPy {np.__version__}"
        in text
    )


def test_many_values_are_counted(export: Any) -> None:
    table = {f"rate_{k}": float(k) for k in range(60)}
    text = export(lambda x: np.sum(x) * sum(table.values()), W).__doc__
    baked = " ".join(text.partition("baked in ")[2].partition("runs with ")[0].split())
    assert baked.startswith("table['rate_0'] = 0.0, table['rate_1'] = 1.0, ")
    assert baked.endswith("table['rate_39'] = 39.0, and 20 more")
    assert max(map(len, text.splitlines())) <= 100


def test_a_module_that_calls_what_numpy_2_0_lacks_says_so(export: Any) -> None:
    if not hasattr(np, "matvec"):
        pytest.skip("NumPy has no matvec")
    module = export(lambda a, x: np.matvec(a, x), np.ones((3, 3)), W, grad=False)
    assert "runs with    NumPy 2.2 or later" in module.__doc__


def test_captured_arrays_and_variables_are_those_of_the_export(export: Any) -> None:
    small, large = np.arange(3.0), tj.Variable(TABLE)
    module = export(lambda x: (x[:3] * small, large @ x), Spec((40,)), grad=False)
    x = np.arange(40.0)
    expected = x[:3] * small, TABLE @ x
    small[:] = 7.0
    large.assign(np.zeros((40, 40)))
    alike(module.call(x), expected)


for path in sorted((Path(__file__).parents[1] / "idioms").glob("*.py")):
    importlib.import_module(f"tests.idioms.{path.stem}")
SOME_IDIOMS = sorted(IDIOMS)[::12]


@pytest.mark.parametrize("name", SOME_IDIOMS)
def test_everyday_numpy_is_exported(export: Any, name: str) -> None:
    f, args = IDIOMS[name]
    try:
        expected = tj.function(f)(*copy.deepcopy(args))
    except TracejitError:
        pytest.skip("it is not recorded")
    alike(export(f, *args, grad=False).call(*copy.deepcopy(args)), expected)


@pytest.mark.skipif(not os.environ.get("TRACEJIT_PYTHONS"), reason="TRACEJIT_PYTHONS is not set")
def test_modules_run_in_every_python(tmp_path: Path) -> None:
    """TRACEJIT_PYTHONS lists interpreters, separated by colons, that have a NumPy 2."""
    for name in SOME_IDIOMS:
        f, args = IDIOMS[name]
        with suppress(TracejitError, pickle.PicklingError):
            path = tj.export(f, *args, path=tmp_path / f"{name}.py", grad=False)
            answer = imported(path).call(*copy.deepcopy(args))
            path.with_suffix(".pickle").write_bytes(pickle.dumps((args, answer)))
    script = (
        "import pathlib, pickle, sys, numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "for path in pathlib.Path(sys.argv[1]).glob('*.pickle'):\n"
        "    args, expected = pickle.loads(path.read_bytes())\n"
        "    found = __import__(path.stem).call(*args)\n"
        "    np.testing.assert_equal(type(found), type(expected))\n"
        "    if isinstance(found, np.ndarray):\n"
        "        assert found.dtype == expected.dtype, path\n"
        "        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)\n"
        "    print(path.stem)"
    )
    for interpreter in os.environ["TRACEJIT_PYTHONS"].split(":"):
        command = [interpreter, "-I", "-c", script, str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert len(run.stdout.split()) > len(SOME_IDIOMS) // 2


# Arguments


def test_an_argument_of_another_size_is_refused(export: Any) -> None:
    module = export(lambda x: np.mean(x**2), Spec((10,)))
    alike(module.call(Y)[0], np.mean(Y**2))
    with pytest.raises(TypeError) as caught:
        module.call(np.ones(12))
    assert str(caught.value) == (
        "lambda_: x has to be an array of dtype float64 and shape (10,); it is: ndarray of dtype "
        "float64 and shape (12,)"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x": X.astype("f4")}, "x has to be .*float64 and shape .10, 3.*float32 and shape .10, 3"),
        ({"x": X[0]}, "x has to be .*shape .3,"),
        ({"x": X.tolist()}, "x has to be .*it is: list of length 10"),
        ({"x": X.astype(">f8")}, "x has to be .*it is: ndarray of dtype >f8"),
        ({"x": X.view(Other)}, "x has to be .*it is: Other"),
        ({"p": [W, 1.0]}, "p has to be a dict with the keys .'w', 'b'. in this order; it is: list"),
        ({"p": {"w": W}}, "p has to be .*it is: dict with the keys .'w'."),
        ({"p": {"b": 1.0, "w": W}}, "p has to be .*it is: dict with the keys .'b', 'w'."),
        ({"p": {"w": W[:2], "b": 1.0}}, r"p\['w'\] has to be .*shape .2,"),
        ({"p": {"w": W, "b": 1}}, r"p\['b'\] has to be a float; it is: int, 1"),
        ({"p": {"w": W, "b": np.float64(1)}}, r"p\['b'\] has to be a float; it is: float64"),
        ({"power": 3}, "power has to be 2, as it was when this module was exported; it is: int, 3"),
        ({"power": 2.0}, "power has to be 2, .*it is: float, 2.0"),
        ({"mode": "max"}, "mode has to be 'sum', .*it is: str, 'max'"),
        ({"flag": 1}, "flag has to be True"),
        ({"rate": 1}, "rate has to be a float"),
    ],
)  # fmt: skip
def test_errors_name_the_argument_and_both_types(export: Any, change: Any, told: str) -> None:
    def f(p: Any, x: Any, rate: float, power: int = 2, mode: str = "sum", flag: bool = True) -> Any:
        return np.sum((x @ p["w"] + p["b"]) ** power) * rate

    arguments: dict[str, Any] = {"p": {"w": W, "b": 1.0}, "x": X, "rate": 0.5}
    module = export(f, **arguments)
    alike(module.call(**arguments), tj.value_and_grad(f)(**arguments))
    with pytest.raises(TypeError, match=f"^f: {told}"):
        module.call(**{**arguments, **change})
    assert module.misfit(**arguments) is None


def test_check_false_leaves_the_checks_out(export: Any) -> None:
    module = export(lambda x: np.sum(x**2), Spec((3,)), check=False)
    assert "its arguments are not checked" in module.__doc__
    assert (
        "misfit(x)"
        not in (module.__loader__.get_source(module.__name__) or "").split("def call")[1]
    )
    assert module.misfit(np.ones(4)) is not None
    alike(module.call(np.ones(4))[0], np.float64(4.0))


def test_numbers_that_are_passed_are_arguments(export: Any) -> None:
    def f(x: Any, rate: float = 0.1, power: int = 2) -> Any:
        return np.sum(x**power) * rate

    module = export(f, W, 0.5)
    for rate in (0.1, 0.7):
        alike(module.call(W, rate), tj.value_and_grad(f)(W, rate))
    alike(module.call(W), tj.value_and_grad(f)(W))
    alike(export(f, W, power=3, grad=False).call(W, power=5), f(W, power=5))
    static = tj.function(f, static_argnames="rate")
    with pytest.raises(TypeError, match=r"rate has to be 0\.5"):
        export(static, W, 0.5).call(W, 0.1)


def test_numbers_that_python_reads_are_fixed(export: Any) -> None:
    def steps(x: Any, n: int) -> Any:
        for _ in [None] * n:
            x = np.sin(x)
        return x

    module = export(steps, W, 3, grad=False)
    alike(module.call(W, 3), steps(W, 3))
    with pytest.raises(TypeError, match="n has to be 3"):
        module.call(W, 4)


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), -0.0, 1 + 2j, b"a"])
def test_defaults_of_all_kinds_are_told_from_others(export: Any, value: Any) -> None:
    def f(x: Any, other: Any = value) -> Any:
        return x * 2.0

    module = export(f, W, grad=False)
    alike(module.call(W), W * 2.0)
    alike(module.call(W, value), W * 2.0)
    for wrong in (
        None,
        0,
        1.0,
        np.float64(0.0),
        "a",
        -value if value != b"a" and value == value else 5,
    ):
        with pytest.raises(TypeError, match="other has to be"):
            module.call(W, wrong)


def test_free_sizes(export: Any) -> None:
    module = export(loss, W, Spec((None, 3)), Spec((None,)))
    for n in (2, 7, 100):
        x, y = np.ones((n, 3)), np.zeros(n)
        alike(module.call(W, x, y), tj.value_and_grad(loss)(W, x, y))
    with pytest.raises(
        TypeError, match=r"x f8\[n,3\], y f8\[n\], with n > 1; .*\(\(7, 3\), \(8,\)\)"
    ):
        module.call(W, np.ones((7, 3)), np.ones(8))
    with pytest.raises(TypeError, match="n > 1"):
        module.call(W, np.ones((1, 3)), np.ones(1))
    with pytest.raises(TypeError, match=r"shape \(any size, 3\); it is: .*shape \(7, 4\)"):
        module.call(W, np.ones((7, 4)), np.ones(7))


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    power: int = 3


def test_containers_keep_their_classes(export: Any) -> None:
    def f(pair: Any, layer: Any, *xs: Any, act: Any = np.tanh, **more: Any) -> Any:
        value = np.sum(act(pair.w * xs[0]) + layer.w**layer.power) + more["a"] * xs[1]
        return {"value": value, "parts": [pair, layer, None, "text", (xs[1],)]}

    arguments = Pair(W, 2.0), Layer(W * 2), W, np.array(2.0)
    module = export(f, *arguments, a=np.float32(2.0), grad=False)
    alike(module.call(*arguments, a=np.float32(2.0)), f(*arguments, a=np.float32(2.0)))
    with pytest.raises(TypeError, match="pair has to be a Pair"):
        module.call((W, 2.0), *arguments[1:], a=np.float32(2.0))
    with pytest.raises(TypeError, match=r"more has to be a dict with the keys \['a'\]"):
        module.call(*arguments, b=np.float32(2.0))


def test_named_tuples_of_other_classes_have_their_names(export: Any) -> None:
    module = export(lambda x: (Pair(x, 2.0), np.linalg.eigh(x)), np.eye(3), grad=False)
    pair, found = module.call(np.eye(3))
    assert (type(pair).__name__, type(found).__name__) == ("Pair", "EighResult")
    alike([pair.w, pair.b, *found], [np.eye(3), 2.0, *np.linalg.eigh(np.eye(3))])
    assert found._fields == ("eigenvalues", "eigenvectors")


def test_what_is_tracejits_own_is_not_told(export: Any) -> None:
    @tj.custom_gradient
    def doubled(x: Any) -> Any:
        return np.sum(x), lambda g: g * np.full(3, 2.0)

    for f in (lambda x: doubled(x) ** 2, tj.hessian(doubled), tj.vmap(np.sum)):
        text = export(f, np.ones((3, 3)) if f.__name__ == "sum" else W).__doc__
        baked = text.partition("baked in")[2].partition("runs with")[0]
        assert not any(word in baked for word in ("tracejit", "PACKAGE", "axes", "mode", "request"))


def test_a_dtype_is_compared(export: Any) -> None:
    module = export(lambda x, dtype: x.astype(dtype), W, np.dtype("f4"), grad=False)
    alike(module.call(W, np.dtype("f4")), W.astype("f4"))
    with pytest.raises(TypeError, match="dtype has to be numpy"):
        module.call(W, np.dtype("f8"))


def test_gradients_have_the_class_of_their_argument(export: Any) -> None:
    def f(pair: Any, layer: Any) -> Any:
        return np.sum(pair.w * layer.w) * pair.b

    arguments = Pair(W, 2.0), Layer(W * 2)
    alike(export(f, *arguments).call(*arguments), tj.value_and_grad(f)(*arguments))


def test_a_parameter_without_a_text_is_left_out(export: Any) -> None:
    def f(x: Any, act: Any, y: Any, weights: Any = W) -> Any:
        return np.sum(act(x) * y * weights)

    module = export(f, W, lambda x: x**2, W + 1)
    alike(module.call(W, y=W + 1), tj.value_and_grad(f)(W, lambda x: x**2, W + 1))
    with pytest.raises(TypeError, match="positional"):
        module.call(W, np.tanh, W + 1)
    module = export(f, W, np.sin, W + 1)
    alike(module.call(W, np.sin, W + 1), tj.value_and_grad(f)(W, np.sin, W + 1))
    with pytest.raises(TypeError, match=r"act has to be numpy\.sin"):
        module.call(W, np.cos, W + 1)


def test_parameters_may_be_called_what_the_module_reads(export: Any) -> None:
    def f(
        type: Any, misfit: float, ndarray: float, found: float, problem: float, forward: float
    ) -> Any:
        return {"a": np.sum(type) * misfit * ndarray * found * problem * forward, "float64": 1.0}

    arguments = W, 2.0, 3.0, 4.0, 5.0, 6.0
    module = export(f, *arguments, grad=False)
    alike(module.call(*arguments), f(*arguments))
    with pytest.raises(TypeError, match=r"^f: type has to be"):
        module.call(1, *arguments[1:])


def test_a_generator_is_an_argument(export: Any) -> None:
    module = export(lambda g, x: g.normal(size=3) * x, np.random.default_rng(3), W, grad=False)
    alike(module.call(np.random.default_rng(5), W), np.random.default_rng(5).normal(size=3) * W)
    with pytest.raises(TypeError, match="g has to be a Generator"):
        module.call(3, W)


def test_identity_of_arguments_is_checked_where_the_function_asks(export: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y) if x is y else np.sum(x + y)

    module = export(f, Y, Y, grad=False)
    alike(module.call(Y, Y), f(Y, Y))
    with pytest.raises(TypeError, match="one object"):
        module.call(Y, Y.copy())


@pytest.mark.usefixtures("as_written")
def test_branches_that_calls_have_taken_are_in_the_module(export: Any) -> None:
    @tj.function
    def f(x: Any) -> Any:
        return np.sum(x) if (x[0] > 0).__bool__() else np.sum(x) * -2.0

    f(W), f(-W)
    module = export(f, W, grad=False)
    alike(module.call(W), f(W))
    alike(module.call(-W), f(-W))
    alone = export(f.python, W, grad=False)
    alike(alone.call(W), f(W))
    with pytest.raises(NotImplementedError, match="no code for a decision"):
        alone.call(-W)


def test_branches_may_return_other_containers(export: Any) -> None:
    @tj.function
    def f(x: Any) -> Any:
        return {"up": np.sum(x)} if x[0] > 0 else [np.sum(x), "down"]

    f(W), f(-W)
    module = export(f, W, grad=False)
    alike(module.call(W), f(W))
    alike(module.call(-W), f(-W))


def test_input_signature_describes_the_arguments(export: Any) -> None:
    f = tj.function(lambda x: np.sum(x**2), input_signature=[Spec((None, 3))])
    alike(export(f).call(X), tj.value_and_grad(f)(X))


# Refusals

HELD = tj.Variable(W, name="held")
DRAWS = tj.random.default_rng(0)
SEEN: list[int] = []


class Counter:
    def __init__(self) -> None:
        self.total = np.zeros(3)

    def add(self, x: Any) -> Any:
        self.total = self.total + x
        return np.sum(self.total)


def assigns(x: Any) -> Any:
    HELD.assign(x)
    return np.sum(x)


def writes(x: Any) -> Any:
    x[0] = 1.0
    return np.sum(x)


def calls_back(x: Any) -> Any:
    tj.callback(SEEN.append, x)
    return np.sum(x)


def asks_python(x: Any) -> Any:
    return np.sum(tj.callback(np.sin, x, result=Spec((3,))))


def draws(x: Any) -> Any:
    return np.sum(x * DRAWS.normal(size=3))


def counts(x: Any) -> Any:
    SEEN.append(1)
    return np.sum(x) * len(SEEN)


def reads_the_clock(x: Any) -> Any:
    return np.sum(x) * time.perf_counter()


@pytest.mark.parametrize(
    ("f", "told"),
    [
        (assigns, "assigns cannot be exported: it assigns the Variable held"),
        (writes, "it writes to its argument x"),
        (calls_back, "it uses tj.callback or tj.primitive"),
        (asks_python, "which is not an array"),
        (draws, "it draws from a generator that it captures"),
        (Counter().add, "it assigns the attribute total"),
        (counts, "two recordings of one call of counts differ"),
        (reads_the_clock, "two recordings of one call of reads_the_clock differ"),
        (lambda x: Counter, "returns the class Counter, which cannot be written as text"),
        (lambda x: Layer(x, 2), "returns a Layer, a class that the module would have to import"),
    ],
)
def test_what_numpy_alone_cannot_do_is_refused(
    export: Any, f: Any, told: str, tmp_path: Path
) -> None:
    with pytest.raises(TracejitError, match=told):
        export(f, W.copy(), grad=False)
    assert list(tmp_path.iterdir()) == []


def test_a_gradient_of_an_array_is_refused_with_the_way_out(export: Any) -> None:
    with pytest.raises(TypeError, match=r"needs a scalar result.*\n(.*\n)*.*grad=False"):
        export(lambda x: x * 2, W)


def test_an_error_of_the_function_is_passed_on(export: Any) -> None:
    def f(x: Any) -> Any:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        export(f, W)


@pytest.mark.parametrize("path", ["loss", "loss.txt", "kernels/"])
def test_a_module_is_a_python_file(tmp_path: Path, path: str) -> None:
    with pytest.raises(TypeError, match="not the name of a module"):
        tj.export(loss, W, X, Y, path=tmp_path / path)
    with pytest.raises(TypeError, match="a package is a folder"):
        tj.export({"loss": (loss, W, X, Y)}, path=tmp_path / "loss.py")
    with pytest.raises(TypeError, match="the dict has the specs"):
        tj.export({"loss": (loss, W, X, Y)}, W, path=tmp_path / "kernels")
    with pytest.raises(TypeError, match="not the name of a function"):
        tj.export({"a b": (loss, W, X, Y)}, path=tmp_path / "kernels")


# Files

uncached = functools.partial(tj.function, cache=False)


def test_files_of_the_users_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "loss.py"
    for name in ("loss.py", "loss.pyi"):
        (tmp_path / name).write_text("precious = 1\n")
        with pytest.raises(
            FileExistsError, match=rf"{name} exists already: it does not end in a seal"
        ):
            tj.export(loss, W, X, Y, path=path)
        assert [file.name for file in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_text() == "precious = 1\n"
        (tmp_path / name).unlink()
    path.write_text("precious = 1\n")
    tj.export(loss, W, X, Y, path=path, overwrite=True)
    alike(imported(path).call(W, X, Y)[0], loss(W, X, Y))


def test_what_tracejit_wrote_is_replaced_unless_it_was_edited(tmp_path: Path) -> None:
    path = tj.export(lambda x: TABLE @ x, Spec((40,)), path=tmp_path / "f.py", grad=False)
    tj.export(loss, W, X, Y, path=path)
    alike(imported(path).call(W, X, Y)[0], loss(W, X, Y))
    path.write_text(path.read_text().replace("def call", "def called"))
    edited = path.read_text()
    with pytest.raises(ExportError, match="its text was changed after tracejit wrote it"):
        tj.export(loss, W, X, Y, path=path)
    assert path.read_text() == edited


def test_constants_that_are_not_ours_are_not_overwritten(tmp_path: Path) -> None:
    path, constants = tmp_path / "f.py", tmp_path / "f.npz"
    constants.write_bytes(b"precious")
    with pytest.raises(ExportError, match="npz exists already: the module that it belongs to"):
        tj.export(lambda x: TABLE @ x, Spec((40,)), path=path, grad=False)
    for _ in range(2):  # a module without constants leaves them alone
        tj.export(loss, W, X, Y, path=path)
    with pytest.raises(ExportError, match="the module beside it has no constants"):
        tj.export(lambda x: TABLE @ x, Spec((40,)), path=path, grad=False)
    assert constants.read_bytes() == b"precious"


def test_constants_go_with_the_module_that_they_belong_to(tmp_path: Path) -> None:
    path = tj.export(lambda x: TABLE @ x, Spec((40,)), path=tmp_path / "f.py", grad=False)
    tj.export(loss, W, X, Y, path=path)
    assert {file.name for file in tmp_path.iterdir()} == {"f.py", "f.pyi"}


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_loses_nothing(tmp_path: Path, monkeypatch: Any, nth: int) -> None:
    path = tj.export(uncached(lambda x: TABLE @ x), Spec((40,)), path=tmp_path / "f.py", grad=False)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    replace, count = os.replace, iter(range(1, 100))

    def replaced(*args: Any, **options: Any) -> None:
        if next(count) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(*args, **options)

    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(OSError, match="No space"):
        tj.export(uncached(lambda x: (TABLE + 1) @ x), Spec((40,)), path=path, grad=False)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        tj.export(uncached(lambda x: (TABLE + 1) @ x), Spec((40,)), path=path, grad=False)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_failure_of_the_first_export_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    replace, count = os.replace, iter(range(100))

    def replaced(*args: Any, **options: Any) -> None:
        if next(count) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(*args, **options)

    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(OSError, match="No space"):
        tj.export(uncached(loss), W, X, Y, path=tmp_path / "f.py")
    assert list(tmp_path.iterdir()) == []


@posix
def test_files_are_readable_by_all_and_writable_by_the_owner(tmp_path: Path) -> None:
    path = tj.export(loss, W, X, Y, path=tmp_path / "deep" / "er" / "loss.py")
    assert path.stat().st_mode & 0o022 == 0
    assert {file.name for file in path.parent.iterdir()} == {"loss.py", "loss.pyi"}


def test_an_export_is_the_same_in_every_process(tmp_path: Path) -> None:
    script = """
        import numpy as np
        import tracejit as tj
        RATES = {"a": 1.0, "b": 2.0}
        NAMES = {"left", "right"}
        def f(p, x):
            return np.sum(x @ p["w"]) * RATES["a"] * len(NAMES) * RATES["b"]
        tj.export(f, {"w": np.ones(3), "c": 1.0}, np.ones((4, 3)), path=PATH)
    """
    for seed in ("1", "2"):
        path = repr(str(tmp_path / seed / "made.py"))
        python(script.replace("PATH", path), PYTHONHASHSEED=seed)
    one, other = (
        [file.read_bytes() for file in sorted((tmp_path / seed).iterdir())] for seed in "12"
    )
    assert one == other and len(one) == 2


# Packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: Any) -> Any:
    """`tj.export` of a dict to a package, and the package imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    number = iter(range(100))

    def made(functions: Any, **options: Any) -> ModuleType:
        name = f"kernels_{next(number)}"
        tj.export(functions, path=tmp_path / name, **options)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield made
    for name in [name for name in sys.modules if name.startswith("kernels_")]:
        del sys.modules[name]


def test_a_package_chooses_the_kernel_by_the_arguments(package: Any) -> None:
    step = tj.value_and_grad(loss)
    single = Spec((3,), "f4"), Spec((None, 3), "f4"), Spec((None,), "f4")
    made = package(
        {"loss": [(step, W, X, Y), (step, *single)], "predict": (np.dot, X, W)}, grad=False
    )
    alike(made.loss(W, X, Y), step(W, X, Y))
    small = W.astype("f4"), X[:4].astype("f4"), Y[:4].astype("f4")
    alike(made.loss(*small), step(*small))
    alike(made.predict(X, W), X @ W)
    assert made.__all__ == ["loss", "predict"]
    with pytest.raises(TypeError) as caught:
        made.loss(W, X[:4], Y[:4])
    lines = str(caught.value).splitlines()
    assert lines[0] == "loss has no kernel for these arguments:"
    assert lines[1].startswith(
        "  loss__f8_3__f8_10x3__f8_10: x has to be an array of dtype float64 "
    )
    assert lines[2].startswith("  loss__f4_3__f4_nx3__f4_n: w has to be an array of dtype float32 ")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        made.loss(W, X)


def test_kernels_for_values_of_one_argument(package: Any) -> None:
    def f(x: Any, mode: str) -> Any:
        return np.sum(x) if mode == "sum" else np.max(x)

    made = package({"f": [(f, W, "sum"), (f, W, "max")]}, grad=False)
    assert (made.f(W, "sum"), made.f(W, mode="max")) == (W.sum(), W.max())
    assert made.KERNELS == {"f": ("f__f8_3", "f__f8_3__2")}
    with pytest.raises(TypeError, match="mode has to be 'sum'"):
        made.f(W, "min")


def test_names_of_functions_and_modules_are_told_apart(package: Any) -> None:
    functions = {
        "f": [(lambda: np.ones(2),), (lambda x: x + 1, W)],
        "F": (lambda x: x + 2, W),
        "f__f8_3": (lambda x: x + 3, W),
    }
    made = package(functions, grad=False)
    alike([made.f(), made.f(W), made.F(W), made.f__f8_3(W)], [np.ones(2), W + 1, W + 2, W + 3])
    with pytest.raises(TypeError, match="'KERNELS' is not the name of a function in a package"):
        package({"KERNELS": (np.sum, W)})


def test_a_package_is_what_the_dict_says(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    tj.export({"loss": [(loss, W, X, Y), (loss, W, X[:5], Y[:5])]}, path=folder)
    (folder / "mine.py").write_text("precious = 1\n")
    tj.export({"loss": (loss, W, X, Y)}, path=folder)
    stem = "loss__f8_3__f8_10x3__f8_10"
    names = {"__init__.py", "__init__.pyi", f"{stem}.py", f"{stem}.pyi", "mine.py"}
    assert {file.name for file in folder.iterdir()} == names
    (folder / f"{stem}.py").write_text("edited\n")
    tj.export({"loss": (loss, W, X[:5], Y[:5])}, path=folder)
    assert (folder / f"{stem}.py").read_text() == "edited\n"


def test_a_package_of_the_users_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("precious = 1\n")
    with pytest.raises(ExportError, match=r"__init__\.py exists already"):
        tj.export({"loss": (loss, W, X, Y)}, path=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["__init__.py"]


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    printed = python("""
        import sys
        import tracejit as tj
        print([name for name in sys.modules if "exporting" in name])
    """)
    assert printed == "[]\n"


# Types

PROGRAM = """
import numpy as np
import made
import kernels

w, x = np.ones(3), np.ones((10, 3))
value, slope = made.call({"w": w, "b": 0.5}, x, rate=2.0)
reveal_type(value)
reveal_type(slope["w"])
reveal_type(kernels.product(x, w))
made.call({"w": w, "b": 0.5}, "x")
made.call(w, x)
kernels.product(x)
"""


@pytest.mark.types
def test_mypy_knows_the_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")

    def f(p: Any, x: Any, rate: float = 1.0) -> Any:
        return np.sum((x @ p["w"] + p["b"]) ** 2) * rate

    def product(x: Any, w: Any) -> Any:
        return x @ w

    tj.export(f, {"w": W, "b": 0.5}, X, 2.0, path=tmp_path / "made.py")
    single = np.ones((4, 3), "f4"), np.ones(3, "f4")
    calls = [(product, X, W), (product, X[:4], W), (product, *single)]
    tj.export(
        {"product": calls, "f": (f, {"w": W, "b": 1.0}, X)}, path=tmp_path / "kernels", grad=False
    )
    (tmp_path / "program.py").write_text(PROGRAM.lstrip(), "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file=", "--strict", "program.py", "kernels"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    told = ran.stdout.splitlines()
    notes = [line.partition("Revealed type is ")[2] for line in told if "note: Revealed" in line]
    assert "float64" in notes[0] or "floating" in notes[0], ran.stdout
    assert "ndarray" in notes[1] and "ndarray" in notes[2], ran.stdout
    errors = [line.split(":")[:2] for line in told if " error: " in line]
    assert errors == [["program.py", str(k)] for k in (10, 11, 12, 12)][: len(errors)], ran.stdout
    assert {line for _, line in errors} == {"10", "11", "12"}, ran.stdout


def test_the_stub_has_the_shapes(tmp_path: Path) -> None:
    path = tj.export(loss, W, Spec((None, 3)), Spec((None,)), path=tmp_path / "loss.py")
    stub = path.with_suffix(".pyi").read_text()
    assert 'f8_nx3: TypeAlias = Annotated[NDArray[float64], "f8[n,3]"]' in stub
    assert "def call(w: f8_3, x: f8_nx3, y: f8_n) -> tuple[float64, f8_3]: ..." in stub
    assert verify(stub) is None


def test_a_view_that_is_written_to_wants_an_array_in_order(tmp_path: Path) -> None:
    def first_is_one(x: Any) -> Any:
        y = x * 2.0
        flat = y.reshape(-1)
        flat[0] = 1.0
        return y

    call = imported(tj.export(first_is_one, X, path=tmp_path / "kernel.py", grad=False)).call
    np.testing.assert_array_equal(call(X), first_is_one(X))
    with pytest.raises(TypeError, match=r"in C order \(numpy.ascontiguousarray"):
        call(np.asfortranarray(X))
