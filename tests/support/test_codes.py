"""Code objects that run in place of those that the user wrote."""

from __future__ import annotations

from tracejit.support.codes import LENT, WRITTEN, as_written, code_of, is_made_of_another


def test_code_is_as_written_unless_it_was_made_of_another() -> None:
    def f() -> int:
        return 1

    made = f.__code__.replace(co_consts=(None, 2))
    assert as_written(made) is made
    WRITTEN[made] = f.__code__
    assert as_written(made) is f.__code__
    assert as_written(f.__code__) is f.__code__


def test_a_function_that_runs_another_code_meanwhile_is_the_users() -> None:
    def f() -> int:
        return 1

    def g() -> int:
        return 1

    own = f.__code__
    made = own.replace(co_consts=(None, 2))
    WRITTEN[made] = own
    f.__code__ = g.__code__ = made
    LENT[f] = own
    assert code_of(f) is code_of(g) is own
    assert is_made_of_another(g)
    assert not is_made_of_another(f)
    f.__code__ = own
    del LENT[f]
    assert not is_made_of_another(f)
