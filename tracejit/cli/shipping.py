"""Command `export`: a function as a stand-alone module."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from tracejit.cli.call_spec import add_spec, given_for
from tracejit.cli.output import Refusal, print_json
from tracejit.cli.targets import TARGET_HELP, load_target, reporting
from tracejit.trace.signature import signature_of


def add(commands: Any) -> None:
    """Declare the command."""
    export = commands.command(
        "export",
        _export,
        "write a function and its gradient as a module that imports numpy alone",
        'tracejit export train:loss --spec "w=f8[3], x=f8[n,3]" -o kernels/loss.py\n'
        'tracejit export train.py:predict --spec "x=f4[n,64]" -o predict.py --no-grad',
    )
    export.add_argument("target", metavar="MODULE:FUNCTION", help=TARGET_HELP)
    add_spec(export)
    export.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    export.add_argument("--no-grad", action="store_true", help="the value alone")
    export.add_argument(
        "--no-check", action="store_true", help="functions that do not check their arguments"
    )


def _export(arguments: argparse.Namespace) -> int:
    export: Any = getattr(importlib.import_module("tracejit"), "export", None)
    if export is None:
        raise Refusal("this version of tracejit has no export")
    f = load_target(arguments.target)
    given = given_for(f, arguments.spec, f"export {arguments.target} -o {arguments.output}")
    if given is None:
        raise Refusal(f"describe the arguments of {f.name} by --spec, which choose the kernel")
    bound = signature_of(f).bind(*given.args, **given.kwargs)
    if bound.kwargs:
        raise Refusal(f"{f.name} has arguments that go by name alone: {', '.join(bound.kwargs)}")
    grad, check = not arguments.no_grad, not arguments.no_check
    with reporting(f"recording {f.name}"):
        export(f, *bound.args, path=arguments.output, grad=grad, check=check)
    if arguments.json:
        print_json({"function": f.name, "path": arguments.output, "grad": grad, "check": check})
    else:
        print(f"wrote {arguments.output}; try: tracejit check {arguments.output}")
    return 0
