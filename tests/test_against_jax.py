"""The samples of the op table against JAX: values and gradients, in double precision.

    TRACEJIT_JAX_PYTHON=/path/to/python pytest -m nightly tests/test_against_jax.py

That Python, of another environment, has JAX. Compared is every sample that is one call of a
function which JAX has under the same name, with arguments that JAX takes; five of each function.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.coverage_page import Call, known_names, observed, place
from tests.interpret import Run, run
from tests.ops.cases import CASES, Case
from tests.ops.program import quiet
from tracejit.ir.types import type_of
from tracejit.trace.structure.trees import flatten, map_tree
from tracejit.trace.tensor.tensor import Tensor

PYTHON = os.environ.get("TRACEJIT_JAX_PYTHON", "")
DRIVER = Path(__file__).parent / "jax_driver.py"
TOLERANCE = 1e-9

# So many samples of a function are compared.
SAMPLES = 5

# Where the answers differ, and why.
TRIANGLE = "JAX shares the gradient with the triangle that is not read"
OTHERWISE = {
    "numpy.argpartition": "the order within the parts is nobody's promise",
    "numpy.fabs": "JAX answers 1 at zero",
    "numpy.linalg.cholesky": TRIANGLE,
    "numpy.linalg.eigh": TRIANGLE,
    "numpy.linalg.eigvalsh": TRIANGLE,
    "numpy.linalg.pinv hermitian": TRIANGLE,
    "numpy.linalg.svd hermitian": TRIANGLE,
    "numpy.partition": "the order within the parts is nobody's promise",
    "numpy.sign": "JAX takes the sign of a complex number for a constant",
    "scipy.special.boxcox": "JAX answers 0 by the exponent where that is zero",
    "scipy.special.boxcox1p": "JAX answers 0 by the exponent where that is zero",
    "scipy.special.spence": "JAX answers 0 at one",
}


class Request(NamedTuple):
    """A sample that JAX is asked about: the path of the function, and what `answer` takes in
    jax_driver.py."""

    case: Case
    path: str
    content: dict[str, Any]


def requests() -> list[Request]:
    """What JAX is asked: of each function, its first SAMPLES."""
    names, counts = known_names(), Counter[str]()
    calls: list[Call] = []
    started: list[tuple[Case, Run, list[Call]]] = []
    with observed(calls.append), quiet():
        for case in CASES:
            calls.clear()
            ran = run(case.sample.call, *case.sample.args, name="sample")
            ran.recording.abandon()
            started.append((case, ran, calls[:]))
    kept = []
    for one in (request(*each, names) for each in started):
        if one is not None and counts[one.path] < SAMPLES:
            counts[one.path] += 1
            kept.append(one)
    return kept


def request(
    case: Case, started: Run, calls: list[Call], names: dict[int, tuple[str, str]]
) -> Request | None:
    """What JAX is asked; None for a sample that is not one call on its arguments and plain data."""
    program = case.program
    leaves = [id(leaf) for leaf in started.leaves]
    if len(calls) != 1 or [id(leaf) for leaf in flatten(calls[0].result)[0]] != leaves:
        return None
    if program.is_low_precision or not all(map(is_double, program.leaves)):
        return None
    numbers = {id(x): number for number, x in enumerate(started.inputs)}

    def template(leaf: Any) -> Any:
        return {"input": numbers[id(leaf)]} if id(leaf) in numbers else leaf

    module, name = place(calls[0].function, names)
    path = f"{module}.{name.rsplit('.', 1)[-1]}"
    if module == "ufunc methods":
        path = f"numpy.{name.split('.', 1)[1]}"
    content = {
        "path": path,
        "args": map_tree(template, calls[0].args),
        "kwargs": map_tree(template, calls[0].kwargs),
        "inputs": program.leaves,
        "moving": program.moving if case.order else [],
        "seeds": program.seeds if case.order else [],
    }
    if any(map(is_function, flatten(calls[0].args + tuple(calls[0].kwargs.values()))[0])):
        return None
    try:
        pickle.dumps(content)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return Request(case, path, content)


def is_function(leaf: Any) -> bool:
    return callable(leaf) and not isinstance(leaf, type) and not isinstance(leaf, Tensor)


def is_double(leaf: Any) -> bool:
    """Whether JAX computes with it in double precision: with short integers it does not."""
    kind = type_of(leaf)
    return kind is None or kind.dtype.name in ("float64", "complex128", "int64", "bool")


def ask(requests: list[Request]) -> list[dict[str, Any]]:
    """JAX's answers."""
    sent = pickle.dumps([one.content for one in requests])
    ran = subprocess.run([PYTHON, str(DRIVER)], input=sent, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    answers: list[dict[str, Any]] = pickle.loads(ran.stdout)
    return answers


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number. Where JAX answers nan, we may
    have a number: docs/singular_points.md says which."""
    found, expected = (np.asarray(one).astype(complex) for one in (found, expected))
    if found.shape != expected.shape:
        return np.inf
    known = ~np.isnan(expected)
    found, expected = found[known], expected[known]
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite]):
        return np.inf
    gap = np.abs(found[finite] - expected[finite])
    scale = max(1.0, float(np.max(np.abs(expected[finite]), initial=0.0)))
    return float(np.max(gap, initial=0.0)) / scale


def disagreement(one: Request, answer: dict[str, Any]) -> str:
    """How JAX's answer differs; empty where it does not."""
    program = one.case.program
    pairs = [("value", program.value(), answer["values"])]
    if answer["gradients"]:
        pairs.append(("gradient", program.gradient(program.leaves), answer["gradients"]))
    for what, ours, theirs in pairs:
        if len(ours) != len(theirs):
            return f"{what}: {len(ours)} and {len(theirs)} arrays"
        worst = max((difference(*pair) for pair in zip(ours, theirs, strict=True)), default=0.0)
        if worst > TOLERANCE:
            return f"{what}: {worst:.1e}"
    return ""


@pytest.mark.nightly
@pytest.mark.skipif(not PYTHON, reason="TRACEJIT_JAX_PYTHON names no Python that has JAX")
def test_values_and_gradients_are_those_of_jax(capsys: pytest.CaptureFixture[str]) -> None:
    asked = requests()
    compared: Counter[str] = Counter()
    differing: dict[str, str] = {}
    for one, answer in zip(asked, ask(asked), strict=True):
        if "error" in answer:
            continue  # a function that JAX has not, or not in this form
        compared[one.path] += 1
        with quiet():
            how = disagreement(one, answer)
        kind = " hermitian" if "hermitian" in one.content["kwargs"] else ""
        if how and one.path + kind not in OTHERWISE:
            differing[f"{one.path} {one.case.name}"] = how
    with capsys.disabled():
        sys.stderr.write(f"\n{len(compared)} functions, {compared.total()} samples compared\n")
    assert len(compared) > 150
    assert differing == {}
