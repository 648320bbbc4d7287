"""Recorded code follows ordinary Python: whole programs, first as they are, then recorded.

Each scene of tests/semantics is played under plain Python and under `tj.function`, through the same
calls and the same changes between them. Results, exceptions, arguments and the state at the end are
the same; where a scene is smooth, so are the gradients, against an eager tape and differences.
"""

from __future__ import annotations

import pytest

from tests.semantics import branches, captured, exceptions, loops, numerics, objects
from tests.semantics.scenes import SCENES, assert_same_slopes, assert_same_story

pytestmark = pytest.mark.usefixtures("no_files")

PLAYED = (branches, loops, numerics, exceptions, objects, captured)
SMOOTH = [name for name, one in SCENES.items() if one.smooth]


@pytest.mark.parametrize("name", SCENES)
def test_a_recorded_program_goes_as_under_python(name: str) -> None:
    assert_same_story(SCENES[name])


@pytest.mark.parametrize("name", SMOOTH)
def test_a_recorded_program_has_the_gradients_of_the_path_taken(name: str) -> None:
    assert_same_slopes(SCENES[name])
