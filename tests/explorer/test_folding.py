"""Folding: the steps of a loop that is written out."""

from __future__ import annotations

from tracejit.explorer.folding import folded, repeats


def test_repeats_are_found_from_the_top() -> None:
    assert list(repeats(["a", *["x", "y", "z"] * 5, "b"])) == [(1, 3, 5)]
    assert list(repeats([*["x"] * 20, "b", *["y", "z"] * 8])) == [(0, 1, 20), (21, 2, 8)]
    assert list(repeats(list("abcabcab"))) == []


def test_the_whole_step_is_taken_where_a_part_of_it_repeats_less() -> None:
    step = ["a", "a", "b"]
    assert list(repeats(step * 6)) == [(0, 3, 6)]


def test_later_steps_stand_behind_the_first() -> None:
    lines = [
        "def forward(x):",
        *(f"    y_{n} = y_{n - 1} * {n}.5" for n in range(1, 21)),
        "    return y",
    ]
    html = {number: f"<div><pre>{number}</pre></div>" for number in range(1, 23)}
    text = "".join(folded(range(1, 23), lines, html, {5: "COST"}))
    before, _, rest = text.partition("<details")
    inside, _, after = rest.partition("</details>")
    assert before == html[1] + html[2]
    assert "19 more times the same: lines 3 to 21" in inside
    assert inside.endswith(html[21]) and "<div>COST<pre>5</pre></div>" in inside
    assert after == html[22]


def test_code_that_does_not_repeat_is_as_it_was() -> None:
    lines = ["def f(x):", "    a = x", "    b = x", "    return b"]
    html = {number: str(number) for number in range(1, 5)}
    assert "".join(folded(range(1, 5), lines, html, {})) == "1234"
