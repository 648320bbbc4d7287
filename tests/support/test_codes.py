"""Code objects that run in place of those that the user wrote."""

from __future__ import annotations

from tracejit.support.codes import WRITTEN, as_written


def test_code_is_as_written_unless_it_was_made_of_another() -> None:
    def f() -> int:
        return 1

    made = f.__code__.replace(co_consts=(None, 2))
    assert as_written(made) is made
    WRITTEN[made] = f.__code__
    assert as_written(made) is f.__code__
    assert as_written(f.__code__) is f.__code__
