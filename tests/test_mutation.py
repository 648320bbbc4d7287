"""The faults that the suite must find are found, by night; see tests/mutation.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import FAULTS, Fault
from tests.mutation import ROOT, FaultError, MutatedTree, chosen, modules_of, place_of


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MutatedTree]:
    """A copy of the repository."""
    yield MutatedTree(ROOT, tmp_path_factory.mktemp("mutated") / "tree")


@pytest.mark.nightly
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found(fault: Fault, tree: MutatedTree) -> None:
    assert tree.find(fault, fault.tests).test


@pytest.mark.nightly
@pytest.mark.parametrize("run", dict.fromkeys(run for fault in FAULTS for run in fault.tests))
def test_nothing_is_found_without_a_fault(run: str, tree: MutatedTree) -> None:
    tree.check(run)


def package_of(folder: Path, *texts: str) -> Path:
    """A package with a module for each text."""
    for number, text in enumerate(texts):
        (folder / f"module_{number}.py").write_text(text, "utf-8")
    return folder


def test_a_fault_has_its_place_by_its_text(tmp_path: Path) -> None:
    fault = Fault("a sign", "return x", "return -x", ())
    package = package_of(tmp_path, "def f(x):\n    return x\n", "pass\n")
    assert place_of(fault, modules_of(package)).name == "module_0.py"
    package_of(tmp_path, "def f(y):\n    return y\n")
    with pytest.raises(FaultError, match="a sign: the text is not there once: gone"):
        place_of(fault, modules_of(package))
    package_of(tmp_path, "def f(x):\n    return x\n", "def g(x):\n    return x\n")
    with pytest.raises(FaultError, match=r"1 in .*module_0.py, 1 in .*module_1.py"):
        place_of(fault, modules_of(package))


def test_the_text_of_every_fault_stands_in_the_package_once() -> None:
    modules = modules_of(ROOT / "tracejit")
    for fault in FAULTS:
        place_of(fault, modules)


def test_faults_are_chosen_by_words() -> None:
    assert chosen([]) == list(FAULTS)
    assert [fault.name for fault in chosen(["parentheses"])] == [
        "a - (b - c) loses its parentheses"
    ]


def test_every_fault_changes_something_and_has_tests() -> None:
    assert len(FAULTS) >= 80
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert all(fault.before != fault.after and fault.tests for fault in FAULTS)
