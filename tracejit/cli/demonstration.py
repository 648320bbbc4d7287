"""Command `demo`: train on real data, then show the generated gradient."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from tracejit.cli.numbers_given import positive
from tracejit.cli.output import Refusal, print_json


def add(commands: Any) -> None:
    """Declare the command."""
    demo = commands.command(
        "demo",
        _demo,
        "train on real data, then show the generated gradient code",
        "tracejit demo\ntracejit demo --epochs 5 --json",
    )
    demo.add_argument("--epochs", type=positive, metavar="N", help="how often to see each image")


def _demo(arguments: argparse.Namespace) -> int:
    try:
        demo = importlib.import_module("tracejit.demo")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise Refusal(str(error), 1) from None
    chosen = () if arguments.epochs is None else (arguments.epochs,)
    if not arguments.json:
        return int(demo.main(*chosen))
    epochs = chosen[0] if chosen else demo.EPOCHS
    trained = demo.train(demo.digits(), epochs, lambda one: demo.progress(one, epochs, sys.stderr))
    print_json(
        {
            "epochs": epochs,
            "accuracy": trained.accuracy,
            "seconds": trained.seconds,
            "steps_per_second": trained.steps_per_second,
            "kernels": [{"name": one.name, "path": one.path} for one in trained.kernels],
        }
    )
    return 0 if trained.accuracy >= demo.ACCURACY else 1
