"""Functions named on the command line: where they are found, and how a failing import is shown."""

from __future__ import annotations

import sys

import pytest

from tracejit.cli.output import Refusal
from tracejit.cli.targets import is_target, load_target
from tracejit.specialise.function import Function


@pytest.mark.parametrize("word", ["train:loss", "train.py:loss", "./train.py:loss", "train:helper"])
def test_modules_and_files(train, word):
    found = load_target(word)
    assert isinstance(found, Function) and found.python.__module__ == "train"


def test_a_file_of_another_folder_imports_its_neighbours(train, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "neighbour_of_it.py").write_text("two = 2.0\n")
    text = "from neighbour_of_it import two\ndef twice(x):\n    return x * two\n"
    (tmp_path / "other" / "elsewhere.py").write_text(text)
    assert load_target(f"{tmp_path}/other/elsewhere.py:twice").name == "twice"
    del sys.modules["neighbour_of_it"]


def test_a_file_with_the_name_of_another_module_leaves_that_alone(train, tmp_path):
    path = tmp_path / "json.py"
    path.write_text("def dumps(x):\n    return x\n")
    known = sys.modules.get("json")
    assert load_target(f"{path}:dumps").python.__module__ == "_json_of_tracejit"
    assert sys.modules.get("json") is known
    del sys.modules["_json_of_tracejit"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("train:los", "train has no function los. Did you mean loss?"),
        ("train:Model.scale", "Did you mean scaled?"),
        ("train:number", "is int, which cannot be called"),
        ("trains:loss", "there is no module trains, in this folder"),
        ("train.inner:loss", "there is no module train.inner"),
        ("other.py:loss", "there is no file other.py"),
        (":loss", "does not name a function"),
        ("train:", "does not name a function"),
    ],
)
def test_what_is_not_there_is_said(train, word, said):
    with pytest.raises(Refusal, match=None) as caught:
        load_target(word)
    assert said in str(caught.value) and caught.value.code == 2


@pytest.mark.parametrize("word", ["broken:f", "broken.py:f"])
def test_a_failing_import_shows_the_users_lines(train, word):
    train.with_name("broken.py").write_text("def g():\n    return 1 / 0\n\n\ng()\n")
    with pytest.raises(Refusal) as caught:
        load_target(word)
    text = str(caught.value)
    assert "ZeroDivisionError" in text and 'broken.py", line 2, in g' in text
    assert "importlib" not in text and "targets.py" not in text
    assert caught.value.code == 1


def test_a_module_that_lacks_another_is_no_unknown_module(train):
    train.with_name("broken.py").write_text("import no_such_module_at_all\n")
    with pytest.raises(Refusal, match=r"(?s)importing broken failed.*no_such_module_at_all"):
        load_target("broken:f")


def test_a_script_that_ends_the_program(train):
    train.with_name("broken.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(Refusal, match=r"ended the program: SystemExit\(3\)"):
        load_target("broken:f")


def test_a_syntax_error_is_shown(train):
    train.with_name("broken.py").write_text("def f(:\n")
    with pytest.raises(Refusal, match=r"(?s)broken\.py.*def f.*SyntaxError"):
        load_target("broken:f")


def test_what_an_import_prints_goes_to_stderr(train, capsys):
    load_target("train:loss")
    assert capsys.readouterr() == ("", "importing train\n")


def test_kernels_are_told_from_functions():
    assert is_target("train:loss") and not is_target("loss__f8_3__3f9a1c07")
