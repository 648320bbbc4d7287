"""Profile: the time and memory of each line of a kernel, as records and as a table."""

from __future__ import annotations

from typing import NamedTuple

TEXT = 52
UNITS = ((1.0, "s "), (1e-3, "ms"), (1e-6, "us"))


class ProfiledLine(NamedTuple):
    """One line of your code in a profile.

    The numbers are for one call. They include the backward part of the line.

    Attributes
    ----------
    place : str
        The file and the line, such as `loss.py:12`.
    text : str
        The text of the line.
    seconds : float
        The time it takes.
    bytes : int
        The bytes that its operations write.
    calls : int
        The number of times it runs.
    share : float
        Its share of the whole time.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> slope = tj.grad(lambda x: np.sum(x * x))
    >>> slope.profile(np.ones(3)).lines[0].text
    'slope = tj.grad(lambda x: np.sum(x * x))'
    """

    place: str
    text: str
    seconds: float
    bytes: int
    calls: int
    share: float


class Profile(NamedTuple):
    """The time of one call, by line.

    It prints as a table.

    Attributes
    ----------
    function : str
        The function that was called.
    lines : tuple of ProfiledLine
        Your lines, in the order of the program. Work that belongs to no line, such as the
        allocation of results, comes last with an empty place.
    generated : dict
        The seconds, the bytes and the calls of each generated line, by its number.
    total : float
        The seconds of all lines together.
    overhead : float
        The seconds that measuring took. They are already subtracted.

    Examples
    --------
    >>> import numpy as np
    >>> import tracejit as tj
    >>> slope = tj.grad(lambda x: np.sum(x * x))
    >>> slope.profile(np.ones(3)).total > 0.0
    True
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
