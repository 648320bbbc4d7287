"""Take the picture of the explorer that README.md and docs/index.md show.

Run: python docs/draw_explorer.py      (needs Chromium or Chrome)

It opens the explorer page of a small loss, clicks on an expression, and takes a screenshot of the
panes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tracejit as tj
from tracejit import TensorSpec

PICTURE = Path(__file__).parent / "images" / "explorer.png"
MODEL = """import numpy as np


def loss(w, x, y):
    error = np.tanh(x @ w) - y
    return np.mean(error * error)
"""
SHAPES = (3,), (100, 3), (100,)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZE = 920, 492
FOCUS = """
<style>
  .page > header, .why, dl.facts, .status, .page main > *:not(.kernel), .kernel > *:not(.panes)
    { display: none !important; }
  .page > main, .page { padding: 6px !important; margin: 0 !important; max-width: none !important; }
  .panes { grid-auto-flow: row !important; grid-template-columns: 2fr 3fr !important; }
  .pane { min-height: 0 !important; max-height: none !important; }
  .pane:first-child { grid-row: span 2; }
</style>
<script>
  [...document.querySelectorAll(".user .l[data-s]")]
    .find((line) => line.textContent.includes("tanh"))
    .click();
</script>
"""


def page(folder: Path) -> Path:
    """The explorer page of the loss, with the click that lights a line up."""
    (folder / "model.py").write_text(MODEL, "utf-8")
    sys.path.insert(0, str(folder))
    from model import loss

    fit = tj.value_and_grad(loss)
    fit.kernel(*map(TensorSpec, SHAPES))
    path = folder / "explorer.html"
    # The page runs no script but its own, so that goes too.
    html = re.sub(r"<meta http-equiv=Content-Security-Policy[^>]*>", "", fit.to_html())
    path.write_text(html + FOCUS, "utf-8")
    return path


def main() -> None:
    """Draw the picture."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"install one of these browsers first: {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [
            "--force-device-scale-factor=2",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={PICTURE}",
        ]
        subprocess.run(
            [browser, *options, page(Path(folder)).as_uri()],
            check=True,
            timeout=60,
            stderr=subprocess.DEVNULL,
        )


if __name__ == "__main__":
    main()
