"""The proof that generated code is the same sees a change, and refuses to compare nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests import process_replay
from tests.process_replay import (
    NoText,
    Program,
    differences,
    generated,
    programs_by_name,
    write,
)
from tests.replay_programs import more_programs
from tracejit.support.cost_model import assuming

LEAST = {
    "golden": 20, "workload": 40, "random": 300, "branching": 60, "loop": 30, "exact-loop": 5,
    "free-loop": 2, "vmap": 20, "jacobian": 20, "window": 20, "export": 20, "exact": 20,
}  # fmt: skip
KIND = "exact-loop|free-loop|[a-z]+"


@pytest.fixture(autouse=True)
def cached(files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are files, in a folder of this test."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))


def kind_of(name: str) -> str:
    """The kind of a program."""
    return max((kind for kind in LEAST if name.startswith(f"{kind}-")), key=len)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_every_program_generates_text(tmp_path: Path) -> None:
    write(tmp_path / "text", programs_by_name())
    kinds = Counter(kind_of(path.name) for path in (tmp_path / "text").iterdir())
    assert {kind: kinds[kind] for kind in LEAST if kinds[kind] < LEAST[kind]} == {}


def test_one_program_of_each_kind_generates_text(tmp_path: Path) -> None:
    chosen: dict[str, Program] = {}
    for name, call in more_programs():
        chosen.setdefault(kind_of(name), (name, call))
    write(tmp_path / "text", chosen.values())
    assert len(chosen) == 8


def test_the_programs_of_other_tests_are_found() -> None:
    for name in ("test_golden", "workloads", "programs", "test_branch_programs", "for_tracejit"):
        assert process_replay.module(name)


def test_a_changed_figure_is_seen(tmp_path: Path) -> None:
    name = "exact-255-elements"
    call = dict(more_programs())[name]
    write(tmp_path / "before", [(name, call)])
    write(tmp_path / "same", [(name, call)])
    with assuming(inline_elements=255):
        write(tmp_path / "after", [(name, call)])
    assert list(differences(tmp_path / "before", tmp_path / "same")) == []
    (found,) = differences(tmp_path / "before", tmp_path / "after")
    assert found.startswith(f"{name}.py\n--- ")


def test_a_program_that_one_tree_alone_has_is_named(tmp_path: Path) -> None:
    for folder, name in (("before", "old.py"), ("after", "new.py")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("1\n")
    assert list(differences(tmp_path / "before", tmp_path / "after")) == [
        "new.py is new",
        "old.py is gone",
    ]


def test_a_program_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoText, match="1 programs generate no text: nothing"):
        write(tmp_path / "text", [("nothing", lambda: None)])


def test_text_does_not_say_in_which_file_a_program_is() -> None:
    text = generated(dict(more_programs())["loop-heat-30-3"])
    assert "\n    user code    <locals>.loop(" in text
    assert "replay_programs" not in text


def test_a_cache_that_is_off_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    monkeypatch.setattr("sys.argv", ["process_replay", "HEAD"])
    with pytest.raises(SystemExit) as exit_:
        process_replay.main()
    assert exit_.value.code == 2
    assert "kernels are not written to files: unset TRACEJIT_CACHE" in capsys.readouterr().err
