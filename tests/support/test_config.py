"""Settings: `tj.config`, environment variables, and which of them decides."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.cache.settings import default_path, size_limit
from tracejit.runtime.processors import default_threads
from tracejit.support import config as module
from tracejit.support.config import SETTINGS, setting, source_of, unknown_variables
from tracejit.support.errors import ArgumentError, ArityError


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable is set, and every layer that a test leaves is taken back."""
    for row in SETTINGS.values():
        monkeypatch.delenv(row.variable, raising=False)
    before = list(module._layers)
    yield
    for layer in [one for one in module._layers if one not in before]:
        module.take_back(layer)


@pytest.fixture
def in_memory(nothing_is_set: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel goes to the user's cache."""
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


def test_the_parameters_and_their_documentation_are_the_table() -> None:
    *names, unknown = inspect.signature(tj.config).parameters
    assert names == list(SETTINGS) and unknown == "unknown"
    for row in SETTINGS.values():
        assert row.variable == f"TRACEJIT_{row.name.upper()}"
        documented = rf"^    {row.name} : .*, default None\n        `{row.variable}`: "
        assert re.search(documented, tj.config.__doc__ or "", re.MULTILINE), row.name


def test_every_variable_that_the_package_names_is_in_the_table() -> None:
    known = {row.variable for row in SETTINGS.values()}
    for path in Path(tj.__file__).parent.rglob("*.py"):
        for word in path.read_text(encoding="utf-8").replace("`", " ").split():
            name = word.strip("\"'.,;:()").partition("=")[0]
            if name.startswith("TRACEJIT_") and name.isupper() and len(name) > 9:
                assert name in known, f"{path}: {name}"


def test_defaults_hold() -> None:
    assert tj.config().settings == {name: row.default for name, row in SETTINGS.items()}
    assert all(not source_of(name) for name in SETTINGS)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("threads", " 3 ", 3),
        ("cache", "off", False),
        ("cache", "TRUE", True),
        ("disable", "0", False),
        ("cache_size", "64KiB", 65536),
        ("cache_size", "0", 0),
        ("log", "guards, compile", ("compile", "guards")),
        ("dump", "", ()),
        ("dump", "source", ("source",)),
        ("threads", "  ", None),
        ("as_is", "scipy.stats, json,", ("scipy.stats", "json")),
    ],
)
def test_a_variable_says_it(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object
) -> None:
    monkeypatch.setenv(SETTINGS[name].variable, text)
    assert setting(name) == value


def test_config_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_THREADS", "3")
    with tj.config(threads=1):
        assert (setting("threads"), source_of("threads")) == (1, "threads=1")
        monkeypatch.setenv("TRACEJIT_THREADS", "4")
        assert setting("threads") == 1
    assert (setting("threads"), source_of("threads")) == (4, "TRACEJIT_THREADS=4")


def test_it_sets_at_once_and_for_good() -> None:
    tj.config(threads=5)
    with tj.config(threads=6, check=True):
        assert (default_threads(), setting("check")) == (6, True)
    assert (default_threads(), setting("check")) == (5, False)


def test_calls_without_a_block_leave_one_layer() -> None:
    before = len(module._layers)
    for count in range(1, 50):
        tj.config(threads=count)
    gc.collect()
    tj.config(check=False)
    assert len(module._layers) <= before + 3
    assert setting("threads") == 49


def test_a_block_may_be_entered_again() -> None:
    block = tj.config(threads=7)
    for _ in range(2):
        with block:
            assert setting("threads") == 7
        assert setting("threads") is None


def test_a_block_may_be_entered_inside_itself() -> None:
    with tj.config(threads=7) as block:
        with block:
            pass
        assert setting("threads") == 7
    assert setting("threads") is None


def test_alone_it_shows_what_is_in_force() -> None:
    with tj.config(threads=7) as block:
        assert repr(block) == "config(threads=7)"
        assert "threads=7, cache=True" in repr(tj.config())


def test_blocks_that_overlap_take_back_their_own() -> None:
    first, second = tj.config(threads=3), tj.config(threads=4)
    first.__exit__(None, None, None)
    assert setting("threads") == 4
    second.__exit__(None, None, None)
    assert setting("threads") is None


def test_other_threads_see_it() -> None:
    seen: list[int] = []
    with tj.config(threads=4):
        thread = threading.Thread(target=lambda: seen.append(setting("threads")))
        thread.start()
        thread.join()
    assert seen == [4]


def test_many_threads_leave_nothing() -> None:
    def work(number: int) -> None:
        for _ in range(200):
            with tj.config(threads=number):
                assert setting("threads") in range(1, 5)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert setting("threads") is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"thread": 2}, "Did you mean threads?"),
        ({"cachedir": "/x"}, "Did you mean cache_dir?"),
        ({"zzz": 1}, "Choose from threads, cache"),
    ],
)
def test_an_unknown_name_is_an_error(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ArityError) as caught:
        tj.config(**settings)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"threads": 0}, "a whole number of at least 1"),
        ({"threads": True}, "a whole number"),
        ({"threads": 1.5}, "a whole number"),
        ({"cache": "maybe"}, "0 or 1"),
        ({"cache": 2}, "0 or 1"),
        ({"cache_dir": 3}, "the name of a folder"),
        ({"cache_dir": "relative"}, "give an absolute path"),
        ({"cache_size": "lots"}, "500M"),
        ({"cache_size": -1}, "500M"),
        ({"log": "compiled"}, "Did you mean compile?"),
        ({"log": 3}, "a choice of compile, guards, fallback"),
        ({"dump": ["tace"]}, "Did you mean trace?"),
    ],
)
def test_a_wrong_value_is_an_error_and_sets_nothing(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        tj.config(verify=True, **settings)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert setting("verify") is False


@pytest.mark.parametrize("name", ["disable", "check", "verify", "log", "dump"])
def test_a_wrong_variable_is_an_error_of_the_call(
    in_memory: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    variable = SETTINGS[name].variable
    monkeypatch.setenv(variable, "perhaps")
    with pytest.raises(ArgumentError, match=f"{variable}=perhaps is not"):
        tj.function(lambda x: x + 1.0)(np.ones(3))


def test_variables_that_are_none_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_THREAD", "2")
    assert unknown_variables()["TRACEJIT_THREAD"] == "Did you mean TRACEJIT_THREADS?"


def test_the_cache_follows(tmp_path: Path) -> None:
    with tj.config(cache_dir=tmp_path, cache_size="2M"):
        assert (default_path(), size_limit()) == (tmp_path, 2_000_000)
        kernel = tj.function(lambda x: x + 1.0).kernel(np.ones(3))
        assert kernel.path is not None and kernel.path.parent == tmp_path
        with tj.config(cache=False, cache_size=0):
            assert (default_path(), size_limit()) == (None, None)
            assert tj.function(lambda x: x + 2.0).kernel(np.ones(3)).path is None


def test_a_relative_folder_where_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tj.config(cache_dir="kernels", cache_relative=True):
        assert default_path() == tmp_path / "kernels"


def test_disable_holds_for_functions_that_have_kernels(in_memory: None, capsys) -> None:
    @tj.function
    def twice(x):
        print("Python runs")  # noqa: T201
        return x + x

    x = np.ones(3)
    twice.kernel(x)
    capsys.readouterr()
    twice(x)
    assert capsys.readouterr().out == ""
    with tj.config(disable=True):
        twice(x)
        assert capsys.readouterr().out == "Python runs\n"
        assert twice.explain(x) == (
            "This call would run as plain Python, because disable=True is set."
        )
    twice(x)
    assert capsys.readouterr().out == ""


def test_threads_of_kernels_that_are_there_follow(in_memory: None) -> None:
    @tj.function
    def total(x):
        return np.sum(np.exp(np.sin(x) * 2.0 - x))

    @tj.function(threads=1)
    def alone(x):
        return np.sum(np.exp(np.sin(x) * 2.0 - x))

    x = np.linspace(0.0, 1.0, 400_000)
    with tj.config(threads=3):
        kernels = [tj.value_and_grad(f).kernel(x) for f in (total, alone)]
        of_three, of_one = [kernel.module.in_turn for kernel in kernels]
        with tj.config(threads=1):
            written = kernels[0].module.in_turn
            assert written is not of_three and written.__module__ == kernels[0].module.__name__
        assert kernels[0].module.in_turn is not written
        assert kernels[1].module.in_turn is of_one
