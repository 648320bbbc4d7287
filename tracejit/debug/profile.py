"""Profile: what each line of a kernel takes, as records and as a table."""

from __future__ import annotations

from typing import NamedTuple

TEXT = 52
UNITS = ((1.0, "s "), (1e-3, "ms"), (1e-6, "us"))


class ProfiledLine(NamedTuple):
    """One line of the user's in a profile: its place (`loss.py:12`) and text, the seconds, the
    bytes that its operations wrote, how often it ran, and its share of the whole time. All are of
    one call; what backward does for the line is part of it."""

    place: str
    text: str
    seconds: float
    bytes: int
    calls: int
    share: float


class Profile(NamedTuple):
    """The time of one call of `function`, in seconds, by line.

    `lines` are the user's in the order of the program; what belongs to none of them, such as the
    allocation of results, is the last, with an empty place. `generated` are the lines of the
    generated module by number: seconds, bytes and calls of each. `total` is the sum of all lines,
    and `overhead` what measuring took besides, which is subtracted.
    """

    function: str
    lines: tuple[ProfiledLine, ...]
    generated: dict[int, tuple[float, int, int]]
    total: float
    overhead: float

    def __str__(self) -> str:
        """A table, one row a line."""
        rows = [
            (one.place, one.text, _time(one.seconds), f"{one.share:6.1%}", _bytes(one.bytes), one)
            for one in self.lines
        ]
        width = max([len(place) for place, *_ in rows], default=0)
        text = min(max([len(row[1]) for row in rows], default=0), TEXT)
        head = f"{'line':{width}}  {'':{text}}  {'time':>8}   share    written   calls"
        table = [
            f"{place:{width}}  {_cut(line):{text}}  {seconds}  {share}  {written}  {one.calls:6}"
            for place, line, seconds, share, written, one in rows
        ]
        end = f"{self.function}: {_time(self.total).strip()} a call"
        end += f"; measuring took {_time(self.overhead).strip()} more, which is subtracted"
        return "\n".join([head, *table, end])

    def __repr__(self) -> str:
        return str(self)


def _time(seconds: float) -> str:
    """Seconds with a unit, in 8 characters."""
    unit, name = next((pair for pair in UNITS if seconds >= pair[0]), UNITS[-1])
    return f"{seconds / unit:5.1f} {name}".rjust(8)


def _bytes(count: int) -> str:
    """Bytes in powers of 1000, in 9 characters."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{size:.4g} {unit}".rjust(9)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 3]}..."
