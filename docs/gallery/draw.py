"""Draw the pictures of the gallery: run the code of each page, then plot what it computed.

Run: python docs/gallery/draw.py [PAGE ...]      (needs matplotlib: pip install 'tracejit[docs]')

The pictures are SVG with two sets of colours. A browser chooses the one that fits the page around
it, light or dark. A viewer that knows nothing of this shows the light one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

GALLERY = Path(__file__).parent
IMAGES = GALLERY / "images"

# What is drawn: the colour on a light page, and on a dark one.
COLOURS = {
    "ink": ("#24292f", "#e6e8eb"),
    "quiet": ("#6b7280", "#9aa3af"),
    "grid": ("#e5e7eb", "#3a404a"),
    "blue": ("#2563eb", "#6ea8fe"),
    "orange": ("#d9560b", "#ff9d5c"),
    "green": ("#0f8a5f", "#4fd1a1"),
    "violet": ("#8b3fd1", "#c9a2f7"),
}
INK, QUIET, GRID, BLUE, ORANGE, GREEN, VIOLET = (light for light, _ in COLOURS.values())

plt.rcParams.update(
    {
        "figure.figsize": (8.0, 3.8),
        "figure.constrained_layout.use": True,
        "savefig.transparent": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "tracejit",
        "font.size": 11,
        "text.color": INK,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "axes.axisbelow": True,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "lines.linewidth": 2.0,
        "lines.solid_capstyle": "round",
        "legend.frameon": False,
    }
)


def run(page: Path) -> dict:
    """The names that the Python blocks of a page define, run in order."""
    names: dict = {"__name__": "__main__"}
    text = page.read_text("utf-8")
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines_before = text[: block.start(1)].count("\n")
        exec(compile("\n" * lines_before + block[1], str(page), "exec"), names)
    return names


def save(figure: plt.Figure, name: str) -> None:
    """Write a figure as SVG whose colours follow the page."""
    path = IMAGES / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    text = path.read_text("utf-8")
    for word, (light, _) in COLOURS.items():
        text = text.replace(light, f"var(--{word})")
    light, dark = (
        "".join(f"--{word}:{pair[side]};" for word, pair in COLOURS.items()) for side in (0, 1)
    )
    style = (
        f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
        "text,tspan{font-family:Roboto,'Helvetica Neue',Arial,sans-serif!important}"
    )
    text = text.replace("<defs>", f"<style>{style}</style>\n <defs>", 1)
    text = re.sub(r" <metadata>.*?</metadata>\n", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;]*; ?", "", text)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    path.write_text(text, "utf-8")


def band(axes: plt.Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """An interval around a curve."""
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def nile(of: dict) -> plt.Figure:
    """The flow, the smoothed level and the band of one standard error."""
    figure, axes = plt.subplots()
    axes.plot(of["years"], of["flow"], "o", color=QUIET, markersize=4, alpha=0.7)
    band(axes, of["years"], of["level"] - of["error"], of["level"] + of["error"], BLUE)
    axes.plot(of["years"], of["level"], color=BLUE)
    axes.axvline(1898, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.text(1899, 1350, "work on the dam begins", color=ORANGE, va="top")
    axes.text(1945, 560, "level, with one standard error", color=BLUE, ha="center")
    axes.set(ylabel="yearly flow, 10⁸ m³", xlim=(1869, 1972))
    return figure


def o_rings(of: dict) -> plt.Figure:
    """The flights, the risk and its interval down to the temperature of the launch."""
    figure, axes = plt.subplots()
    grid = np.linspace(28.0, 84.0, 200)
    best, low, high = of["risk"](grid)
    band(axes, grid, low, high, BLUE)
    axes.plot(grid, best, color=BLUE)
    same = [np.sum(of["fahrenheit"][:i] == at) for i, at in enumerate(of["fahrenheit"])]
    inwards = np.where(of["damaged"] > 0.0, -0.035, 0.035) * same
    colours = np.where(of["damaged"] > 0.0, ORANGE, QUIET)
    axes.scatter(of["fahrenheit"], of["damaged"] + inwards, c=colours, s=22, zorder=3)
    axes.axvline(31, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.text(32, 0.12, "forecast for the launch: 31 °F", color=ORANGE)
    axes.text(47, 0.60, "95 % interval", color=BLUE)
    axes.text(82.5, 0.93, "damaged", color=ORANGE, ha="right")
    axes.text(54, 0.03, "not damaged", color=QUIET)
    axes.set(xlabel="temperature at launch, °F", ylabel="risk of damage", xlim=(28, 84))
    return figure


def enzyme(of: dict) -> plt.Figure:
    """Both experiments with their curves and intervals."""
    figure, axes = plt.subplots()
    middle = of["curves"](of["fit"].x)
    measured = [of["treated"], of["untreated"]]
    for curve, width, speed, colour, name in zip(
        middle, of["band"], measured, (BLUE, ORANGE), ("with puromycin", "without"), strict=True
    ):
        band(axes, of["grid"], curve - width, curve + width, colour)
        axes.plot(of["grid"], curve, color=colour)
        axes.plot(of["concentration"][: len(speed)], speed, "o", color=colour, markersize=5)
        axes.text(0.83, curve[-1] - 32, name, color=colour, ha="center")
    axes.set(xlabel="concentration, ppm", ylabel="speed, counts / min²", xlim=(0, 1.16))
    axes.set_ylim(0, None)
    return figure


def diabetes(of: dict) -> plt.Figure:
    """The losses, and the forecasts for the people held out in order of their mean."""
    figure, (left, right) = plt.subplots(1, 2, width_ratios=(2, 3))
    training, held = np.transpose(of["history"])
    left.plot(training[1:], color=QUIET)
    left.plot(held[1:], color=BLUE)
    left.plot(of["best"][1] - 1, of["best"][0], "o", color=ORANGE)
    left.text(130, training[200] - 0.02, "training", color=QUIET, ha="right", va="top")
    left.text(240, held[-1] + 0.08, "held out", color=BLUE, ha="right")
    left.set(xlabel="step", ylabel="loss", ylim=(-0.1, 0.9))
    order = np.argsort(of["mean"])
    mean, spread = (of["scale"] * of[name][order] for name in ("mean", "spread"))
    mean = mean + of["centre"]
    ranks = np.arange(len(order))
    band(right, ranks, mean - 1.96 * spread, mean + 1.96 * spread, BLUE)
    right.plot(ranks, mean, color=BLUE)
    right.plot(ranks, of["y"][of["held"]][order], "o", color=ORANGE, markersize=3.5)
    right.set(xlabel="people held out, by forecast", ylabel="progression in a year")
    right.set(xlim=(-1, len(order)))
    return figure


def iris(of: dict) -> plt.Figure:
    """The flowers, coloured by species, and each cloud at one and two standard deviations."""
    figure, axes = plt.subplots(figsize=(8.0, 4.4))
    turn = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    parameters = of["fit"].x
    names = ("setosa", "versicolor", "virginica")
    places = ((1.75, 6.2), (3.35, 6.6), (6.1, 5.9))
    for kind, (colour, name, place) in enumerate(
        zip((GREEN, BLUE, ORANGE), names, places, strict=True)
    ):
        axes.plot(*of["x"][of["species"] == kind].T, "o", color=colour, markersize=4, alpha=0.8)
        axes.text(*place, name, color=colour, ha="center")
        log_a, b, log_c = parameters[9:].reshape(3, 3)[kind]
        shape = np.linalg.inv([[np.exp(log_a), 0.0], [b, np.exp(log_c)]])
        for size in (1.0, 2.0):
            ellipse = parameters[3:9].reshape(3, 2)[kind][:, None] + size * (shape @ circle)
            axes.plot(*ellipse, color=colour, linewidth=1.5, alpha=0.9 if size == 1.0 else 0.5)
    axes.set(xlabel="petal length, cm", ylabel="sepal length, cm", aspect="equal")
    axes.set(xlim=(0.6, 7.4), ylim=(4.0, 8.2))
    return figure


def co2(of: dict) -> plt.Figure:
    """The measurements, and the forecast of the last three years with its interval."""
    figure, axes = plt.subplots()
    seen, years = of["seen"], of["years"]
    last = ~seen
    band(
        axes, years[last], *(of["mean"][last] + s * of["spread"][last] for s in (-1.96, 1.96)), BLUE
    )
    axes.plot(years[seen], of["co2"][seen], color=QUIET, linewidth=1.5)
    axes.plot(years[last], of["mean"][last], color=BLUE)
    axes.plot(years[last], of["co2"][last], "o", color=ORANGE, markersize=3.5)
    axes.text(1993.5, 363, "known to the fit", color=QUIET, ha="center")
    axes.text(2002, 361.5, "forecast, with 95 % interval", color=BLUE, ha="right")
    axes.text(2002, 359, "measured", color=ORANGE, ha="right")
    axes.set(ylabel="carbon dioxide, ppm", xlim=(1990, 2002.1))
    return figure


def lynx_hare(of: dict) -> plt.Figure:
    """The pelts and the fitted populations."""
    figure, axes = plt.subplots()
    for row, colour, name, place in (
        (0, BLUE, "hares", (1904.2, 70)),
        (1, ORANGE, "lynx", (1905.5, 50)),
    ):
        axes.plot(of["at"], of["fine"][row], color=colour)
        axes.plot(of["years"], of["pelts"][row], "o", color=colour, markersize=5)
        axes.text(*place, name, color=colour)
    axes.set(ylabel="pelts, thousands", xlim=(1899.5, 1920.5), xticks=range(1900, 1921, 4))
    axes.set_ylim(0, None)
    return figure


def pictures(axes: np.ndarray, shown: list[np.ndarray]) -> None:
    """Show grey pictures, one in each of `axes`."""
    for panel, picture in zip(axes, shown, strict=True):
        panel.imshow(picture, cmap="gray", vmin=0.0, vmax=1.0, interpolation="none")
        panel.set(xticks=[], yticks=[])
        panel.grid(False)
        for spine in panel.spines.values():
            spine.set_visible(False)


def deblur(of: dict) -> plt.Figure:
    """The blurred, the restored and the original photograph."""
    figure, axes = plt.subplots(1, 3, figsize=(8.0, 2.95))
    shades = [np.round(31.0 * of[name]) / 31.0 for name in ("seen", "restored", "sharp")]
    pictures(axes, shades)  # fewer shades, smaller file
    for panel, name in zip(axes, ("out of focus", "restored", "as it was"), strict=True):
        panel.set_title(name, color=INK)
    return figure


def damaged_digits(of: dict) -> plt.Figure:
    """Ten digits in four rows."""
    figure, axes = plt.subplots(4, 1, figsize=(8.0, 3.5))
    rows = [of["x"], *of["repaired"].values(), of["clean"]]
    gap = np.full((8, 1), np.nan)
    strips = [
        np.hstack([part for digit in row[10:20] for part in (1.0 - digit.reshape(8, 8), gap)])
        for row in rows
    ]
    pictures(axes, strips)
    names = ("damaged", "least squares", "robust", "as they were")
    for panel, name in zip(axes, names, strict=True):
        panel.set_ylabel(name, rotation=0, ha="right", va="center", color=INK)
    return figure


def breast_cancer(of: dict) -> plt.Figure:
    """The coefficients in order of how sure they are, with 95 % intervals."""
    figure, axes = plt.subplots(figsize=(8.0, 6.4))
    order = of["order"]
    weights, errors = of["weights"][order], of["errors"][order]
    sure = np.abs(weights) > 1.96 * errors
    for place, (weight, error, colour) in enumerate(
        zip(weights, errors, np.where(sure, ORANGE, BLUE), strict=True)
    ):
        axes.plot(
            [weight - 1.96 * error, weight + 1.96 * error], [place] * 2, color=colour, alpha=0.5
        )
        axes.plot(weight, place, "o", color=colour, markersize=5)
    axes.axvline(0.0, color=QUIET, linewidth=1.2)
    axes.set_yticks(range(len(order)), of["data"].feature_names[order], fontsize=9)
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="coefficient of the scaled measurement, with 95 % interval")
    axes.set_ylim(-0.8, len(order) - 0.2)
    return figure


DRAWINGS = (
    nile, o_rings, enzyme, breast_cancer, diabetes, iris, co2, lynx_hare, deblur, damaged_digits,
)  # fmt: skip
PICTURES = {drawing.__name__: drawing for drawing in DRAWINGS}


def main() -> None:
    """Draw the pages that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        save(PICTURES[name](run(GALLERY / f"{name}.md")), name)


if __name__ == "__main__":
    main()
