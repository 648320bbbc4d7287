"""The workloads of the benchmarks, their versions by hand, and the tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.benchmarks import report, under_load
from tests.benchmarks.adapters import for_hand, for_tracejit
from tests.benchmarks.by_hand import MAKERS
from tests.benchmarks.compare import chosen, differences
from tests.benchmarks.engine import Engine, Memory, Refusal, Result, answer, result
from tests.benchmarks.processes import Process
from tests.benchmarks.report import Comparison, Figures
from tests.benchmarks.workloads import WORKLOADS, Workload
from tracejit.runtime.blas import Blas

PUBLISHED = [workload for workload in WORKLOADS.values() if workload.published]
OF_ARRAYS = [workload for workload in PUBLISHED if workload.name != "scalar/f64"]
FURTHER = [workload for workload in WORKLOADS.values() if not workload.published]


def name(workload: Workload) -> str:
    """What a test of a workload is called."""
    return workload.name


def computed(adapter: Any, workload: Workload) -> Result:
    """The result for the small arguments, of the second call."""
    arguments = workload.arguments(small=True)
    call = adapter.compiled(workload, arguments)
    call(*arguments)
    return result(*call(*arguments))


@pytest.mark.parametrize("workload", PUBLISHED, ids=name)
def test_tracejit_and_the_version_by_hand_agree(workload: Workload) -> None:
    by_hand, ours = computed(for_hand, workload), computed(for_tracejit, workload)
    assert list(differences(by_hand, ours)) == []


@pytest.mark.parametrize("workload", PUBLISHED, ids=name)
def test_versions_by_hand_give_fresh_arrays_and_leave_arguments(workload: Workload) -> None:
    arguments = workload.arguments(small=True)
    call = for_hand.compiled(workload, arguments)
    first = result(*call(*arguments))
    copies = [np.copy(slope) for slope in first.gradients]
    second = result(*call(*arguments))
    everything = [*first.gradients, *second.gradients, *map(np.asarray, arguments)]
    for number, array in enumerate(everything):
        assert not any(np.may_share_memory(array, other) for other in everything[:number])
    for slope, again, copy in zip(first.gradients, second.gradients, copies, strict=True):
        np.testing.assert_array_equal(slope, copy)
        np.testing.assert_array_equal(again, copy)
    for value, same in zip(arguments, workload.arguments(small=True), strict=True):
        np.testing.assert_array_equal(value, same)


def double(value: Any) -> Any:
    """Floating arrays and numbers in double precision."""
    return np.asarray(value, float)[()] if np.asarray(value).dtype.kind == "f" else value


def moved(workload: Workload, arguments: list[Any], directions: list[Any], by: float) -> float:
    """The value, the arguments moved so far along the directions."""
    given = list(arguments)
    for number, direction in zip(workload.argnums, directions, strict=True):
        given[number] = arguments[number] + by * direction
    return float(workload.make(np)(*given))


def slope_by_differences(workload: Workload, arguments: list[Any], directions: list[Any]) -> float:
    """The derivative of the value along directions, by central differences of fourth order."""
    near, far = (
        moved(workload, arguments, directions, step) - moved(workload, arguments, directions, -step)
        for step in (1e-3, 2e-3)
    )
    return (8.0 * near - far) / 12e-3


@pytest.mark.parametrize("workload", FURTHER, ids=name)
def test_tracejit_agrees_with_central_differences(workload: Workload) -> None:
    arguments = [double(value) for value in workload.arguments(small=True)]
    rng = np.random.default_rng(0)
    directions = [rng.normal(size=np.shape(arguments[k])) for k in workload.argnums]
    found = result(*for_tracejit.compiled(workload, tuple(arguments))(*arguments))
    if workload.kind == "hvp":
        *given, vector = arguments
        around = [[given[0] + by * vector, *given[1:]] for by in (1e-3, -1e-3)]
        plus, minus = (slope_by_differences(workload, place, directions) for place in around)
        expected = (plus - minus) / 2e-3
    elif workload.kind == "vmap_grad":
        count = len(workload.argnums)
        rows = zip(*arguments[count:], strict=True)
        slopes = [
            slope_by_differences(workload, [*arguments[:count], *row], directions) for row in rows
        ]
        each = [
            np.tensordot(slope, direction, np.ndim(direction))
            for slope, direction in zip(found.gradients, directions, strict=True)
        ]
        np.testing.assert_allclose(sum(each), slopes, rtol=1e-7)
        return
    else:
        np.testing.assert_allclose(found.value, workload.make(np)(*arguments), rtol=1e-12)
        expected = slope_by_differences(workload, arguments, directions)
    along = sum(
        np.sum(slope * direction)
        for slope, direction in zip(found.gradients, directions, strict=True)
    )
    np.testing.assert_allclose(along, expected, rtol=1e-5 if workload.kind == "hvp" else 1e-7)


def test_every_published_workload_has_a_version_by_hand() -> None:
    assert len(PUBLISHED) == 21
    assert {workload.make.__name__ for workload in PUBLISHED} == set(MAKERS)


@pytest.mark.parametrize("workload", OF_ARRAYS, ids=name)
def test_versions_by_hand_refuse_other_shapes(workload: Workload) -> None:
    arguments = workload.arguments(small=True)
    call = for_hand.compiled(workload, arguments)
    with pytest.raises(TypeError, match="made for other shapes"):
        call(*(np.ones((2, 2)) if np.ndim(value) else value for value in arguments))


def test_results_that_differ_are_found() -> None:
    right = Result(np.float64(1.0), [np.array([1.0, 1e-3])])
    assert list(differences(right, right)) == []
    near = Result(np.float64(1.0), [np.array([1.0 + 1e-10, 1e-3 + 1e-13])])
    assert list(differences(right, near)) == []
    wrong = Result(np.float64(1.1), [np.array([1.0, np.nan])])
    assert [line.split(":")[0] for line in differences(right, wrong)] == ["value", "gradient 0"]
    single = Result(np.float32(1.0), [np.ones(3)])
    assert [line.split(" is ")[0] for line in differences(right, single)] == ["value", "gradient 0"]


def test_an_engine_answers() -> None:
    engine = Engine("hand")
    found = answer(engine, ("prepare", ("rosenbrock/n10",)))
    assert list(differences(computed(for_hand, WORKLOADS["rosenbrock/n10"]), found)) == []
    timing = answer(engine, ("turn", ("rosenbrock/n10",)))
    assert 0.0 < timing.least <= timing.median < 1.0
    assert isinstance(answer(engine, ("first", ("rosenbrock/n10",))), float)
    memory = answer(engine, ("memory", ("rosenbrock/n1k",)))
    assert isinstance(memory, Memory)
    assert memory.held >= 3 * 8 * 999
    assert memory.peak >= 8 * 1000
    assert isinstance(answer(engine, ("prepare", ("lstm/t20b16h32",))), Refusal)
    assert answer(engine, ("forget", ("rosenbrock/n10",))) is None


def test_an_engine_answers_from_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = computed(for_hand, WORKLOADS["rosenbrock/n10"])
    with Process("hand", {}) as process:
        assert list(differences(expected, process.ask("prepare", "rosenbrock/n10"))) == []
        assert isinstance(process.ask("turn", "rosenbrock/n1k"), Refusal)
        monkeypatch.setattr("tests.benchmarks.processes.LIMIT", 0)
        assert process.ask("turn", "rosenbrock/n10").reason == "no answer to turn in 0 s"
        monkeypatch.undo()
        assert list(differences(expected, process.ask("prepare", "rosenbrock/n10"))) == []


def test_workloads_are_chosen_by_what_their_names_begin_with() -> None:
    assert chosen(None) == list(WORKLOADS)
    assert chosen("gmm,scalar/f64") == ["scalar/f64", "gmm/d10k5n1k", "gmm/d32k10n1k"]
    with pytest.raises(SystemExit, match="no workload"):
        chosen("nothing")


@pytest.fixture
def comparison() -> Comparison:
    """Two workloads on three engines."""
    found = Comparison(["tracejit", "hand", "jax"], imports={"tracejit": 0.05})
    found.figures = {
        "scalar/f64": {
            "tracejit": Figures(2e-6, 1e-6, 0.01, 0.005, 0, 1000),
            "hand": Figures(1e-6, 1e-6, None, None, 500, 500),
            "jax": Figures(8e-6, 4e-6, 0.1),
        },
        "lstm/t20b16h32": {
            "tracejit": Figures(4e-3, 2e-3, 0.02, 0.01, 0, 4000),
            "hand": Figures(reason="nobody has written it by hand"),
            "jax": Figures(reason="it fails"),
        },
    }
    return found


def test_tables_have_ratios_and_means(comparison: Comparison) -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in report.speed(comparison).splitlines()
    ]
    assert rows[2] == ["scalar/f64", "0.002", "0.001", "2", "1", "0.008", "0.25", "0.25"]
    assert rows[3] == ["lstm/t20b16h32", "4", *["-"] * 6]
    assert rows[4] == ["geometric mean, published", "", "", "2", "1", "", "0.25", "0.25"]
    assert len({line.count("|") for line in report.speed(comparison).splitlines()}) == 1
    line = report.memory(comparison).splitlines()[2]
    assert [cell.strip() for cell in line.split("|")][2:-1] == ["1", "0", "1", "0.5", "1"]
    text = report.text(comparison)
    assert "- lstm/t20b16h32 on jax: it fails" in text
    assert "do not agree" not in text
    comparison.mismatches.append("scalar/f64: jax against hand: value")
    assert text in report.text(comparison)
    assert "do not agree" in report.text(comparison)
    assert json.loads(json.dumps(comparison.as_json()))["engines"] == comparison.engines


def test_a_page_keeps_what_is_around_the_tables() -> None:
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    assert report.inserted(page, "new") == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    with pytest.raises(ValueError, match="no section"):
        report.inserted("before", "new")


def test_times_under_load_are_those_of_each_number_of_threads() -> None:
    number, seen = [4], set()

    def call(x: int) -> None:
        seen.add((number[0], x))

    blas = Blas(lambda: number[0], lambda threads: number.__setitem__(0, threads))
    one, every = under_load.times(blas, call, (7,), 0.01)
    assert seen == {(1, 7), (4, 7)}
    assert len(one) > 1
    assert len(every) > 1
    assert number == [4]
