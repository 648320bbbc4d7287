"""Statements and functions of the user's, as keys and generated text name them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

from tracejit.ir.location import ExpressionLocation, Location, Origin, location_text


def test_a_location_is_cited_by_function_and_line() -> None:
    place = Location("train.loss", 3, "return np.sum(h)")
    assert place.short == "loss:3"
    assert location_text(place) == "loss:3  return np.sum(h)"
    assert location_text(place._replace(note="recomputed")).endswith("    [recomputed]")


def test_nothing_ends_the_line() -> None:
    for end in ("\n", "\r", "\x0c", "\x85", "\u2028", "\0", "\ud800"):
        place = Location(f"m.f{end}", 1, f"x = 1{end}canary()", f"a{end}b")
        for text in (place.short, location_text(place)):
            assert text.isprintable()
            text.encode()


def test_an_origin_may_have_no_file() -> None:
    assert Origin("train.loss") == ("train.loss", "", "")


PLACE = Location("train.loss", 3, "return np.sum(h)")


def test_an_expression_is_no_part_of_equality_or_of_text() -> None:
    code = weakref.ref(test_nothing_ends_the_line.__code__)
    one, other = (ExpressionLocation.of(PLACE, code, number) for number in (2, 8))
    assert one == other == PLACE and hash(one) == hash(PLACE) and {PLACE: 1}[other] == 1
    assert location_text(one) == location_text(PLACE) and repr(one).endswith(repr(PLACE)[8:])
    assert one._replace(note="again") == PLACE._replace(note="again")
    assert one._replace(note="again").instruction == 2


def test_a_copy_of_an_expressions_place_is_the_statements() -> None:
    place = ExpressionLocation.of(PLACE, weakref.ref(test_nothing_ends_the_line.__code__), 2)
    for made in (copy.deepcopy(place), copy.copy(place), pickle.loads(pickle.dumps(place))):
        assert type(made) is Location and made == PLACE


def test_a_place_keeps_no_code_alive() -> None:
    code = compile("x = 1", "<here>", "exec")
    place = ExpressionLocation.of(PLACE, weakref.ref(code), 0)
    assert place.code() is code
    del code
    gc.collect()
    assert place.code() is None
