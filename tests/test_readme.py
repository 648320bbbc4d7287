"""The README's example runs, and prints what the README says it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def test_example_prints_the_function_that_the_readme_shows(tmp_path: Path) -> None:
    script = tmp_path / "fit.py"
    script.write_text(BLOCKS[0], "utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=True
    )
    assert BLOCKS[1] in ran.stdout


def test_custom_gradient_of_the_readme_is_stable() -> None:
    script = (
        "import numpy as np, tracejit as tj\n" + BLOCKS[2] + "\n"
        "with np.errstate(over='ignore'):\n"
        "    print(tj.grad(lambda x: log1pexp(x))(1000.0))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "1.0"
