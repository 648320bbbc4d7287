"""Statements and functions of the user's, as keys and generated text name them."""

from __future__ import annotations

from tracejit.ir.location import Location, Origin, location_text


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
