"""Cached kernels as modules of `tracejit.kernels`."""

import importlib
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.support.processes import python
from tracejit import kernels
from tracejit.cache.key import digest, kernel_name
from tracejit.cache.store import Store
from tracejit.support.errors import KernelError

ROOT = Path(tj.__file__).parents[1]
KEY = digest("loss")
NAME = kernel_name("loss", "f8_3", KEY)
TEXT = (
    f'"""loss.\n\n    key          {KEY}\n"""\n'
    "from numpy import load\n\n"
    'with load(__file__[:-3] + ".npz") as constants:\n'
    '    w = constants["w"]\n\n\n'
    "def forward(x):\n    return w * x\n"
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A cache with one kernel in it; what is imported from it is forgotten afterwards."""
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACEJIT_CACHE", raising=False)
    store = Store(tmp_path / "cache")
    store.put(NAME, TEXT, {"w": np.arange(3.0)})
    before = set(vars(kernels))
    yield store
    for name in set(vars(kernels)) - before:
        delattr(kernels, name)
        sys.modules.pop(f"{kernels.__name__}.{name}", None)


@pytest.mark.parametrize(
    "way",
    some_by_day(
        [
            f"from tracejit.kernels import {NAME} as kernel",
            f"import tracejit.kernels.{NAME} as kernel",
            f"import tracejit.kernels; kernel = tracejit.kernels.{NAME}",
            f"import importlib; kernel = importlib.import_module('tracejit.kernels.{NAME}')",
        ],
        2,
    ),
)
def test_every_way_to_import_a_kernel_in_a_fresh_process(store, way):
    script = f"{way}\nprint(kernel.forward(2.0), kernel.__name__, kernel.__file__)"
    path = store.path / f"{NAME}.py"
    assert python(script) == f"[0. 2. 4.] tracejit.kernels.{NAME} {path}\n"


def test_a_kernel_is_one_module_however_it_is_imported(store):
    first = getattr(kernels, NAME)
    store.clear()
    assert getattr(kernels, NAME) is first
    assert importlib.import_module(f"tracejit.kernels.{NAME}") is first
    assert sys.modules[f"tracejit.kernels.{NAME}"] is first
    assert "tracejit cache" in repr(first)


def test_dir_lists_the_cache(store):
    assert NAME in dir(kernels)
    store.clear()
    assert NAME not in dir(kernels)
    assert "KernelImporter" in dir(kernels)


@pytest.mark.parametrize("attribute", [True, False])
@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda file: file.unlink(), "does not exist"),
        (lambda file: file.write_text(file.read_text() + "\n"), "not a kernel"),
        (lambda file: file.write_text("x = 1\n" + file.read_text()), "was changed"),
        (lambda file: file.with_suffix(".npz").unlink(), "missing"),
    ],
)
def test_a_missing_or_damaged_kernel_is_an_import_error(store, damage, problem, attribute):
    path = store.path / f"{NAME}.py"
    damage(path)
    with pytest.raises(KernelError, match=problem) as caught:
        if attribute:
            getattr(kernels, NAME)
        else:
            importlib.import_module(f"tracejit.kernels.{NAME}")
    assert isinstance(caught.value, ImportError)
    assert str(path) in str(caught.value)
    assert f"tracejit.kernels.{NAME}" not in sys.modules


def test_a_kernel_under_anothers_name_is_refused(store):
    other = f"{NAME[:-8]}00000000"
    for suffix in (".py", ".npz"):
        (store.path / f"{NAME}{suffix}").rename(store.path / f"{other}{suffix}")
    with pytest.raises(KernelError, match=f"another kernel .key {KEY}"):
        getattr(kernels, other)


def test_with_the_cache_turned_off_the_error_says_so(store, monkeypatch):
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    with pytest.raises(KernelError, match="TRACEJIT_CACHE=0"):
        getattr(kernels, NAME)


def test_importing_a_name_that_is_no_kernels_is_an_import_error(store):
    with pytest.raises(KernelError, match="not the name of a kernel"):
        from tracejit.kernels import nothing  # noqa: F401


def test_looking_for_other_attributes_finds_nothing(store):
    # As pickle, IPython and pytest do in every module.
    for name in ("__path_of__", "__wrapped__", "_repr_html_", "sin", "__3f9a1c0"):
        with pytest.raises(AttributeError, match=name):
            getattr(kernels, name)
    assert pickle.loads(pickle.dumps(np.sin)) is np.sin
    assert importlib.util.find_spec("tracejit.kernels.__main__") is None
    assert importlib.util.find_spec("tracejit.kernels_and_more") is None
