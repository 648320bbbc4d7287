"""Make the environments of the libraries that tracejit is compared with.

    python -m tests.benchmarks.setup_peers [jax] [torch] [autograd] [tf]

Each gets a virtual environment of its own below $TRACEJIT_PEERS, or ~/.cache/tracejit-peers; those
that are there already stay as they are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PEERS = {
    "jax": ("jax", "numpy"),
    "torch": ("torch==2.13.0", "numpy"),
    "autograd": ("autograd", "numpy"),
    "tf": ("tensorflow-cpu", "numpy"),
}
MODULES = {"jax": "jax", "torch": "torch", "autograd": "autograd", "tf": "tensorflow"}


def home() -> Path:
    """Where the environments are."""
    given = os.environ.get("TRACEJIT_PEERS")
    return Path(given) if given else Path.home() / ".cache" / "tracejit-peers"


def python(peer: str) -> Path:
    """The interpreter of a peer, which may not be there."""
    return home() / peer / "bin" / "python"


def works(peer: str) -> bool:
    """Whether its interpreter is there and imports it."""
    if not python(peer).exists():
        return False
    words = [str(python(peer)), "-c", f"import numpy, {MODULES[peer]}"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def set_up(peer: str) -> bool:
    """Make the environment of a peer unless it is there; whether it works then."""
    if works(peer):
        print(f"{peer}: {python(peer)}")
        return True
    print(f"{peer}: installing {' '.join(PEERS[peer])} into {home() / peer}")
    subprocess.run([sys.executable, "-m", "venv", str(home() / peer)], check=True)
    words = [str(python(peer)), "-m", "pip", "install", "--quiet", *PEERS[peer]]
    installed = subprocess.run(words, check=False).returncode == 0
    print(f"{peer}: {'ready' if installed else 'could not be installed'}")
    return installed


def main() -> None:
    """Set up the peers that are named, or all; fails if one could not be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="*", choices=[[], *PEERS])
    chosen = parser.parse_args().peers or list(PEERS)
    sys.exit(0 if all([set_up(peer) for peer in chosen]) else 1)


if __name__ == "__main__":
    main()
