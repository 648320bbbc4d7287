"""Modules that are imported where they are first needed, while no garbage is collected."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from tests.support.processes import python
from tracejit.support.imports import import_module


def test_no_garbage_is_collected_while_a_module_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_module.py").write_text("import gc\nCOLLECTS = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "late_module", raising=False)
    assert gc.isenabled()
    module = import_module("late_module")
    assert not module.COLLECTS
    assert gc.isenabled()
    assert import_module("late_module") is module
    with pytest.raises(ModuleNotFoundError):
        import_module("late_module.none")
    assert gc.isenabled()


def test_garbage_may_record_while_a_first_recording_imports() -> None:
    """It is made where a module is looked for, and may be collected while that is half there."""
    script = """
        import gc, sys
        import numpy as np, tracejit as tj

        def norm(x): return np.sum(x * x)

        class Garbage:
            def __init__(self): self.me = self
            def __del__(self): answers.append(tj.function(norm, cache=False)(np.ones(3)))

        class Finder:
            def find_spec(self, name, *_):
                if name in ("tracejit.trace.convert.routes", "tracejit.trace.reads.reader"):
                    Garbage()
                    gc.set_threshold(500)

        answers = []
        sys.meta_path.insert(0, Finder())
        answers.append(tj.function(norm, cache=False)(np.ones(3)))
        gc.collect()
        print([float(one) for one in answers])
    """
    assert python(script) == "[3.0, 3.0, 3.0]\n"
