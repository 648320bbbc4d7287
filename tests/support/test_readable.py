"""`readable=True`: what the text is like, that it computes the same, and what its head says."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracejit as tj
from tests.against_exact import all_close
from tests.benchmarks.everyday import PROGRAMS, Everyday
from tests.benchmarks.readable import LEAST_SAVED, LONGER, NAMES, RECORD
from tests.by_day import by_day, some_by_day
from tests.programs import Program, programs
from tests.test_optimisations import differentiable
from tests.test_programs import FEW
from tracejit.support.readable import COST, LEFT_OUT

SOME = settings(FEW, max_examples=by_day(10, 60))
MEASURED: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))


def network(w: Any, v: Any, x: Any) -> Any:
    h = np.tanh(x @ w) * 0.5
    h = np.maximum(h, 0.0)
    return np.sum((h @ v) ** 2)


NETWORK = np.ones((20, 30)), np.ones((30, 4)), np.linspace(-1, 1, 2000).reshape(100, 20)


def compiled(**options: Any) -> tj.Function[..., Any]:
    function: Any = tj.function(network, cache=False, **options)
    return tj.value_and_grad(function, (0, 1))


# The text


def test_the_text_is_short_and_has_no_tricks() -> None:
    text = compiled(readable=True).kernel(*NETWORK).source
    forward = text[text.index("def forward") : text.index("def backward")]
    assert [line.strip() for line in forward.splitlines()[2:-3]] == [
        "# network:1  h = np.tanh(x @ w) * 0.5",
        "h_1 = tanh(x.dot(w))",
        "h = h_1 * 0.5",
        "# network:2  h = np.maximum(h, 0.0)",
        "h_2 = maximum(h, 0.0)",
        "# network:3  return np.sum((h @ v) ** 2)",
        "out_1 = h_2.dot(v)",
        "out = vdot(out_1, out_1)",
    ]
    assert "return value, backward(residuals)" in text and "where(h >= 0.0" in text
    usual = compiled().kernel(*NETWORK).source
    rest = text.partition("def value_and_grad")[0]
    for trick in (r"kept_where\(", r"^ +tanh\((\w+), \1\)$", r"^c0_5 = array\(0.5\)$"):
        assert re.search(trick, usual, re.MULTILINE) and not re.search(trick, rest, re.MULTILINE)
    assert "del h" not in text


@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 6))
def test_everyday_programs_are_shorter_and_compute_the_same(name: str) -> None:
    program: Everyday = PROGRAMS[name]
    usual, readable = program.compiled(), program.compiled(readable=True)
    all_close(readable(*program.arguments), usual(*program.arguments), None)
    sources = [str(one.kernel(*program.arguments).source) for one in (usual, readable)]
    lengths = [len(source.splitlines()) for source in sources]
    assert lengths[1] <= lengths[0] - (program.argnums is not None)
    assert all(len(line) <= 100 for line in sources[1].splitlines() if "sha256" not in line)
    assert not re.search(r"^ +(\w+)\((\w+), \2\)$|\bout=|^ +del ", sources[1], re.MULTILINE)


@SOME
@given(programs())
def test_random_programs(program: Program) -> None:
    usual = tj.function(program.function, cache=False)
    readable = tj.function(program.function, cache=False, readable=True)
    all_close(readable(*program.values), usual(*program.values), None)
    gradients = [
        tj.value_and_grad(tj.function(differentiable(program), cache=False, readable=is_readable),
                          argnums=program.moving)(*program.values)
        for is_readable in (True, False)
    ]  # fmt: skip
    all_close(*gradients, None)


@pytest.mark.parametrize("options", [{"exact": True}, {"memory_budget": 10**6}, {"threads": 1}])
def test_with_other_options(options: dict[str, Any]) -> None:
    (value, gradients), others = (
        compiled(**options, readable=is_readable)(*NETWORK) for is_readable in (True, False)
    )
    all_close((value, gradients), others, None)
    if "exact" in options:
        assert value == others[0] and np.array_equal(gradients[0], others[1][0])


# What comes with a kernel


def test_readable_kernels_have_keys_of_their_own() -> None:
    given: tuple[dict[str, Any], ...] = ({}, {"readable": False}, {"readable": True})
    usual, same, readable = (compiled(**options).kernel(*NETWORK) for options in given)
    assert usual.key == same.key != readable.key and usual.name != readable.name


def test_the_option_reaches_gradients_exports_and_pages(tmp_path: Any) -> None:
    function: Any = tj.function(network, cache=False, readable=True)
    for derived in (tj.grad(function), tj.vmap(function, in_axes=(None, None, 0))):
        assert "    readable " in derived.kernel(*NETWORK[:2], NETWORK[2]).source
    tj.export(tj.value_and_grad(function), *NETWORK, path=tmp_path / "network.py")
    exported = (tmp_path / "network.py").read_text(encoding="utf-8")
    assert "return value, backward(residuals)" in exported and "    readable " in exported
    kernel = tj.value_and_grad(function).kernel(*NETWORK)
    marked = kernel.marked()
    assert marked is not None and "return value, backward(residuals)" in marked[0]
    assert "value_and_grad" in kernel.to_html()
    assert kernel.profile(*NETWORK).lines and kernel.checked().value_and_grad(*NETWORK)


def test_a_value_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="readable"):
        tj.function(network, readable="yes")


# What it costs


def test_the_head_says_what_was_measured() -> None:
    kernel = compiled(readable=True).kernel(*NETWORK)
    record = MEASURED["readable"]
    ratio, least, most = (f"{record[name]:.2f}" for name in ("time", "least", "most"))
    assert COST == (
        f"in the benchmarks of tracejit {ratio} times the time of the usual form "
        f"({least} to {most})"
    )
    assert f"    readable     {COST}\n" in kernel.source
    assert "    readable  " not in compiled().kernel(*NETWORK).source


def test_what_is_left_out_makes_text_longer_and_saves_little() -> None:
    """Every rewrite is measured; the others save more, or make no text longer."""
    assert {*LEFT_OUT} <= MEASURED.keys() <= {*NAMES}
    found = {
        name
        for name, ratios in MEASURED.items()
        if name != "readable"
        and ratios["time"] < 1 + LEAST_SAVED
        and ratios["characters"] * LONGER < 1
    }
    assert found == {*LEFT_OUT}
