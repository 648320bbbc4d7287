"""Draw the plots of the benchmarks from the tables in docs/notes/performance.md.

Run: python docs/draw_benchmarks.py      (needs matplotlib: pip install 'tracejit[docs]')

The tables are what `python -m tests.benchmarks.compare --write` recorded. Nothing is measured here.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "gallery"))

import draw  # noqa: E402  the colours, and how a picture is saved

NOTES = DOCS / "notes" / "performance.md"
IMAGES = DOCS / "images"
MEAN = "geometric mean, published"
ENGINES = {
    "tracejit": ("tracejit", draw.BLUE),
    "jax": ("JAX", draw.ORANGE),
    "torch": ("PyTorch", draw.VIOLET),
    "autograd": ("autograd", draw.GREEN),
}


def tables(notes: Path = NOTES) -> list[dict[str, dict[str, float]]]:
    """The recorded tables: for each program, its figures by the head of their column.

    The head of a ratio is that of the engine before it: "jax ratio" stands behind "jax ms".
    """
    text = notes.read_text("utf-8").partition("<!-- compare:begin -->")[2]
    found = []
    for block in re.findall(
        r"(?:^\|.*\n)+", text.partition("<!-- compare:end -->")[0], re.MULTILINE
    ):
        heads, _, *rows = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()
        ]
        names, engine = [], ""
        for head in heads:
            engine = head.split()[0] if head.endswith((" ms", " kB")) else engine
            names.append(head if head.endswith((" ms", " kB")) else f"{engine} {head}".strip())
        found.append(
            {
                row[0]: {
                    name: float(cell) for name, cell in zip(names[1:], row[1:], strict=True) if cell
                }
                for row in rows
            }
        )
    return found


def programs(table: dict[str, dict[str, float]]) -> list[str]:
    """The names of the programs in a table, without its means."""
    return [name for name in table if not name.startswith("geometric mean")]


def against_hand(warm: dict[str, dict[str, float]]) -> dict[str, float]:
    """The mean time of each engine, as a multiple of NumPy by hand."""
    mean = warm[MEAN]
    own = mean["hand ratio"]
    return {"tracejit": own, **{name: own / mean[f"{name} ratio"] for name in [*ENGINES][1:]}}


def means(warm: dict[str, dict[str, float]]) -> draw.plt.Figure:
    """One bar for each engine."""
    figure, axes = draw.plt.subplots(figsize=(8.0, 2.3))
    times = against_hand(warm)
    for place, (name, (_, colour)) in enumerate(ENGINES.items()):
        axes.barh(place, times[name], color=colour, height=0.62)
        axes.text(times[name] + 0.15, place, f"{times[name]:.3g}", color=colour, va="center")
    axes.axvline(1.0, color=draw.INK, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.text(1.12, -0.62, "NumPy by hand", color=draw.INK, va="center", fontsize=9)
    axes.set_yticks(range(len(ENGINES)), [label for label, _ in ENGINES.values()])
    axes.set(xlabel="time of value and gradient, in times of NumPy by hand", ylim=(3.6, -0.95))
    axes.grid(visible=False, axis="y")
    return figure


def points(table: dict[str, dict[str, float]], label: str, by_hand: bool) -> draw.plt.Figure:
    """A row of points for each program."""
    figure, axes = draw.plt.subplots(figsize=(8.0, 6.4))
    names = programs(table)
    for name, (engine, colour) in ENGINES.items():
        scale = [table[each]["hand ms"] if by_hand else 1.0 for each in names]
        times = np.array([table[each][f"{name} ms"] for each in names]) / scale
        axes.plot(times, range(len(names)), "o", color=colour, markersize=6, label=engine)
    if by_hand:
        axes.axvline(1.0, color=draw.INK, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.set(xscale="log", xlabel=label, ylim=(len(names) - 0.4, -0.6))
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.set_major_formatter(draw.plt.FuncFormatter(lambda x, _: f"{x:g}"))
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=4, fontsize=10)
    return figure


def main() -> None:
    """Draw every plot."""
    IMAGES.mkdir(exist_ok=True)
    draw.IMAGES = IMAGES
    warm, first, *_ = tables()
    draw.save(means(warm), "benchmarks")
    label = "time of value and gradient, in times of NumPy by hand"
    draw.save(points(warm, label, True), "benchmarks_by_program")
    draw.save(points(first, "first call, milliseconds", False), "benchmarks_first_call")


if __name__ == "__main__":
    main()
