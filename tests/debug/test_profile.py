"""Profiles as tables."""

from __future__ import annotations

from tracejit.debug.profile import Profile, ProfiledLine


def test_a_table() -> None:
    lines = (
        ProfiledLine("loss.py:12", "error = np.tanh(x @ w) - y", 0.0015, 64000, 1, 0.75),
        ProfiledLine("loss.py:13", "return np.sum(error * error)" * 3, 0.0005, 12, 20, 0.25),
    )
    profile = Profile("value_and_grad", lines, {}, 0.002, 1e-7)
    head, first, second, end = str(profile).split("\n")
    assert repr(profile) == str(profile)
    assert head.split() == ["line", "time", "share", "written", "calls"]
    assert first.split()[-7:] == ["1.5", "ms", "75.0%", "64", "kB", "1"][-7:] or "1.5 ms" in first
    assert "error = np.tanh(x @ w) - y" in first and "75.0%" in first and "64 kB" in first
    assert "..." in second and "500.0 us" in second and second.rstrip().endswith("20")
    assert len({len(first), len(second)}) == 1
    assert end.startswith("value_and_grad: 2.0 ms a call; measuring took 0.1 us more")
