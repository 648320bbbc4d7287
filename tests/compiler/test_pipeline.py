"""The pipeline: what a kernel is known by, its stages in order, and what they leave alone."""

from __future__ import annotations

import gc
import linecache
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.compiler.pipeline as pipeline
from tests.benchmarks import first_light
from tests.interpret import run
from tests.support.processes import python
from tests.support.running import kernel_of
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.compiler.kernel import Kernel
from tracejit.compiler.pipeline import Recorded, generate, key_of, name_of, optimise
from tracejit.ir.location import Origin
from tracejit.ir.printer import print_graph
from tracejit.passes.framework import driver
from tracejit.passes.framework.driver import Pass
from tracejit.support.cost_model import assuming

X, W = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.ones(3)


def recorded(call: Any, *args: Any, differentiate: bool = True, name: str = "f") -> Recorded:
    """A call, recorded and differentiated in its first argument."""
    started = run(call, *args, name=name)
    if not differentiate:
        return Recorded(started.finish(), Origin("train.f"), 1)
    seed = started.recording.argument("out_bar", started.tensors[0].type)
    source = started.inputs[0]
    graph = started.finish(*gradients(started.tensors, [source], [seed]))
    return Recorded(graph, Origin("train.f"), 1, (source._value,), seed._value)


def written(source: str, name: str = "f", filename: str = "/somewhere/train.py") -> Any:
    """The function of a source text that is known to linecache."""
    text = f"import numpy as np\nimport tracejit as tj\n{source}\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"__name__": "train"}
    exec(compile(text, filename, "exec"), space)
    return space[name]


_files = iter(range(10_000))


def kernel(source: str, *args: Any, argnums: Any = 0, **options: Any) -> Kernel:
    """The kernel of value and gradient of the function f in a source text."""
    f = written(source, filename=f"/somewhere/train_{next(_files)}.py")
    return kernel_of(f, *args, argnums=argnums, **options)


BASE = "def f(x, w):\n    h = np.tanh(x * w)\n    return np.sum(h * h)"

SAME = {
    "the same text": BASE,
    "further down in its file": "\n\n\n# a comment\nUNUSED = 1\n" + BASE,
    "another comment": "def f(x, w):\n    h = np.tanh(x * w)  # squash\n    return np.sum(h * h)",
}

ANOTHER = {
    "another operation": BASE.replace("tanh", "sin"),
    "another number": BASE.replace("h * h", "h * h * 2.0"),
    "another name of a value": BASE.replace("h", "g").replace("np.tang(", "np.tanh("),
    "another name of an argument": BASE.replace("x", "y"),
    "another line": BASE.replace("    h =", "\n    h ="),
    "the text of a line": BASE.replace("np.sum(h * h)", "np.sum((h * h))"),
    "another order of arguments": BASE.replace("(x, w)", "(w, x)"),
    "a marker": BASE.replace("(x * w)", "(tj.stop_gradient(x) * w)"),
    "a rule": (
        "@tj.custom_gradient\ndef rule(x): return x, lambda g: g * 2.0\n"
        + BASE.replace("x * w", "rule(x) * w")
    ),
    "another rule": (
        "@tj.custom_gradient\ndef rule(x): return x, lambda g: g * 3.0\n"
        + BASE.replace("x * w", "rule(x) * w")
    ),
    "a recompute region": (
        BASE.replace("    h = np.tanh(x * w)", "    h = tj.recompute_grad(np.tanh)(x * w)")
    ),
}


def test_the_key_is_of_what_the_text_depends_on() -> None:
    keys = {name: kernel(source, X, W).key for name, source in (SAME | ANOTHER).items()}
    assert len({keys[name] for name in SAME if name != "another comment"}) == 1
    assert len({keys[name] for name in ANOTHER} | {keys["the same text"]}) == len(ANOTHER) + 1


REQUESTS: dict[str, dict[str, Any]] = {
    "base": {"args": (X, W)},
    "shape": {"args": (np.ones((4, 3)), W)},
    "dtype": {"args": (X.astype("f4"), W)},
    "form": {"args": (np.float64(1.0), W)},
    "argnums": {"args": (X, W), "argnums": 1},
    "both": {"args": (X, W), "argnums": (0, 1)},
    "the other way round": {"args": (X, W), "argnums": (1, 0)},
    "exact": {"args": (X, W), "exact": True},
}


LOOP = """def f(x, w):
    def step(total, e):
        return np.tanh(total * e), total
    last, all = tj.scan(step, np.sum(w), x)
    return last + np.sum(all)"""

ANOTHER_LOOP = {
    "another operation": LOOP.replace("tanh", "sin"),
    "another number": LOOP.replace("total * e", "total * e * 2.0"),
    "another order": LOOP.replace("total * e", "e * total"),
    "another row": LOOP.replace(", total\n", ", e\n"),
    "in reverse": LOOP.replace("np.sum(w), x)", "np.sum(w), x, reverse=True)"),
    "another loop inside": LOOP.replace(
        "total * e", "tj.fori_loop(0, 2, lambda i, v: v * e, total)"
    ),
    "a number inside": LOOP.replace("total * e", "tj.fori_loop(0, 2, lambda i, v: v - e, total)"),
}


def test_the_key_is_of_the_bodies_of_loops() -> None:
    x = np.arange(3.0)
    same = {kernel(source, x, W).key for source in (LOOP, "\n\n" + LOOP)}
    keys = {kernel(source, x, W).key for source in ANOTHER_LOOP.values()}
    assert len(same) == 1
    assert len(keys | same) == len(ANOTHER_LOOP) + 1


def test_the_key_is_of_the_request() -> None:
    keys = []
    for request in REQUESTS.values():
        options = {key: value for key, value in request.items() if key != "args"}
        keys.append(kernel(BASE, *request["args"], **options).key)
    keys.append(tj.function(written(BASE), cache=False).kernel(X, W).key)
    assert len(set(keys)) == len(keys)


def test_gradients_by_different_arguments_are_different_kernels(
    tmp_path: Path, monkeypatch
) -> None:
    """Also where their graphs are alike: the gradient of a sum by either operand is the seed."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    told = [
        tj.value_and_grad(lambda x, y: x + y, argnums).kernel(1.0, 2.0).signature["gradient"]
        for argnums in (0, 1)
    ]
    assert told == [("x",), ("y",)]


def test_versions_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded(lambda x: np.sum(x * x), X)
    keys = {key_of(made, "")}
    for name in ("__version__", "IR_VERSION"):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, name, "another")
            keys.add(key_of(made, ""))
    keys.add(key_of(made, "an option"))
    with monkeypatch.context() as patch:
        patch.setattr(np, "__version__", "3.0")
        keys.add(key_of(made, ""))
    assert len(keys) == 5


def test_keys_and_texts_are_the_same_in_every_process(tmp_path: Path) -> None:
    script = (
        "import numpy as np, tracejit as tj\n"
        "def f(p, x):\n    h = np.tanh(x @ p['w'] + p['b'])\n    return np.sum(h) + np.sum(h[1:])\n"
        "p = {'w': np.ones((3, 2)), 'b': np.zeros(2)}\n"
        "k = tj.value_and_grad(f).kernel(p, np.ones((4, 3)))\n"
        "print(k.source)\n"
    )
    found = set()
    for seed, folder in (("0", "a"), ("1", "b")):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "train.py"
        file.write_text(script)
        found.add(python(file, cwd=tmp_path, PYTHONHASHSEED=seed, TRACEJIT_CACHE="0"))
    (text,) = found
    assert str(tmp_path) not in text
    assert "# f:1  h = np.tanh(x @ p['w'] + p['b'])" in text


NAMES = {
    "f__f8_2x3__f8_3": (lambda x, w: np.sum(x * w), (X, W)),
    "f__f8__f4_1": (lambda x, w: np.sum(x * w), (np.float64(1.0), np.ones(1, "f4"))),
    "f__f8_0x3": (lambda x: np.sum(x), (np.ones((0, 3)),)),
    "f__f8": (lambda x: x * 1.0, (np.array(2.0),)),
}


@pytest.mark.parametrize(("name", "call"), NAMES.items(), ids=NAMES)
def test_names_tell_the_arguments(name: str, call: Any) -> None:
    made = recorded(call[0], *call[1])
    assert name_of(made, "3f9a1c07" * 8) == f"{name}__3f9a1c07"


def test_every_pass_is_verified_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(driver, "verify", lambda graph: seen.append(graph.name))
    made = recorded(lambda x: np.sum(x * x), X)
    optimise(made.graph)
    assert seen == []
    monkeypatch.setenv("TRACEJIT_VERIFY", "1")
    optimise(made.graph)
    assert len(seen) > len(pipeline.PASSES)
    assert set(seen) == {"f"}


def test_a_pass_that_breaks_a_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_it(graph: Any) -> Any:
        graph.nodes.reverse()
        return graph

    monkeypatch.setenv("TRACEJIT_VERIFY", "1")
    monkeypatch.setattr(pipeline, "PASSES", (Pass(break_it),))
    with pytest.raises(Exception, match="before it is made"):
        optimise(recorded(lambda x: np.sum(np.tanh(x) * x), X).graph)


def test_the_recorded_graph_is_not_changed() -> None:
    made = recorded(lambda x: np.sum(tj.stop_gradient(x) * x * 1.0 + x + x), X)
    before = print_graph(made.graph)
    generate(made, "0" * 64)
    assert print_graph(made.graph) == before


def test_generating_twice_gives_the_same_text() -> None:
    made = recorded(lambda x: np.sum(np.tanh(x) * np.linspace(0.0, 1.0, 3)), X)
    assert generate(made, "0" * 64) == generate(made, "0" * 64)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ("", []),
        ("trace", []),
        ("adjoint", ["adjoint"]),
        ("plan,source", ["plan", "source"]),
        ("adjoint,plan,source", ["adjoint", "plan", "source"]),
    ],
)
def test_stages_are_shown_on_request(
    stages: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("TRACEJIT_DUMP", stages)
    made = recorded(lambda x: np.sum(x * x), X)
    key_of(made, "")
    generate(made, "0" * 64)
    lines = capsys.readouterr().err.splitlines()
    assert [line[4:] for line in lines if line.startswith("--- ")] == expected


def test_what_is_shown_of_a_value_alone_is_its_trace(monkeypatch, capsys: Any) -> None:
    monkeypatch.setenv("TRACEJIT_DUMP", "trace,adjoint")
    key_of(recorded(lambda x: x * x, X, differentiate=False), "")
    assert capsys.readouterr().err.startswith("--- trace\ngraph f(x: f8[2,3])")


def test_every_value_shown_has_a_name(monkeypatch, capsys: Any) -> None:
    monkeypatch.setenv("TRACEJIT_DUMP", "plan")
    generate(recorded(lambda x: np.sum(np.mean(x, axis=0) ** 2) / 3.0, X), "0" * 64)
    lines = capsys.readouterr().err.splitlines()[2:]
    assert lines and all(line.strip() and line[2] != " " for line in lines if line)


def test_modules_of_value_and_gradient() -> None:
    module = generate(recorded(lambda x: np.sum(x * x), X), "0" * 64)
    assert module.text.count("\ndef ") == 3 and module.constants == {}
    value = generate(recorded(lambda x: np.sum(x * x), X, differentiate=False), "0" * 64)
    assert value.text.count("\ndef ") == 1


@pytest.mark.parametrize("exact", [False, True])
def test_a_long_program_is_written_in_halves(exact: bool) -> None:
    """value_and_grad calls them, with several results and gradients, too."""

    def program(x: Any, y: Any) -> Any:
        z = np.tanh(x * y)
        return np.sum(z * x), (z, x + y)

    def answers() -> Any:
        function = tj.function(program, cache=False, exact=exact)
        compiled = tj.value_and_grad(function, (0, 1), has_aux=True)
        return compiled(X, 2.0 * X), compiled.kernels[-1].source

    (((value, (z, total)), gradients), text) = answers()
    with assuming(many_nodes=0):
        (((same, (same_z, same_total)), others), halves) = answers()
    assert "return value, backward(residuals)" in halves and len(halves) < len(text)
    assert same == value
    for one, other in zip((z, total, *gradients), (same_z, same_total, *others), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


def test_what_goes_in_tiles_is_written_in_one() -> None:
    made = recorded(lambda x: np.sum(np.exp(np.tanh(x * 2.0) + 1.0)), np.ones(300_000))
    with assuming(many_nodes=0):
        assert "as forward and backward in one" in generate(made, "0" * 64).text


def test_exact_writes_no_buffer_twice() -> None:
    def program(x: Any) -> Any:
        return np.sum(np.tanh(x * 2.0 + 1.0) ** 2)

    made = recorded(program, np.ones((40, 30)))
    exact = generate(made, "0" * 64, exact=True).text
    assert "tanh(x * 2.0 + 1.0)" in exact
    assert "+=" not in exact
    assert "+= c1" in generate(made, "0" * 64).text


@pytest.mark.stress
@pytest.mark.parametrize("program", ["chain", "loop", "shared"])
def test_time_to_compile_grows_with_the_number_of_operations(program: str) -> None:
    def seconds(count: int) -> float:
        function = getattr(first_light, program)(count)
        compiled = tj.value_and_grad(tj.function(function, cache=False))
        gc.collect()
        start = time.process_time()
        compiled.kernel(np.full(4, 0.5))
        return time.process_time() - start

    seconds(100)
    few = min(seconds(2_000) for _ in range(3))
    many = min(seconds(20_000) for _ in range(2))
    assert many < 14 * few
