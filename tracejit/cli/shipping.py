"""Command `export`: a function as a stand-alone module."""

from __future__ import annotations

import argparse
from typing import Any

from tracejit.api.export import export
from tracejit.cli.call_spec import WRT_HELP, add_spec, chosen, given_for
from tracejit.cli.output import print_json, say
from tracejit.cli.targets import TARGET_HELP, load_target, reporting


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.command(
        "export",
        _export,
        "write a function and its gradient as a module that imports only numpy",
        'tracejit export train:loss --spec "w=f8[3], x=f8[n,3]" -o kernels/loss.py\n'
        'tracejit export train.py:predict --spec "x=f4[n,64]" -o predict.py --no-grad',
    )
    command.add_argument("target", metavar="MODULE:FUNCTION", help=TARGET_HELP)
    add_spec(command)
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    command.add_argument("--no-grad", action="store_true", help="only the value")
    command.add_argument("--wrt", metavar="ARGS", help=WRT_HELP)
    command.add_argument(
        "--overwrite", action="store_true", help="replace files that tracejit did not write"
    )
    command.add_argument(
        "--no-check", action="store_true", help="functions that do not check their arguments"
    )


def _export(arguments: argparse.Namespace) -> int:
    f = load_target(arguments.target)
    command = f"export {arguments.target} -o {arguments.output}"
    given = given_for(f, arguments.spec, command)
    grad, check = not (arguments.no_grad or f.is_derived), not arguments.no_check
    with reporting(f"recording {f.name}"):
        path = export(
            f,
            *given.args,
            path=arguments.output,
            grad=grad,
            check=check,
            overwrite=arguments.overwrite,
            **(chosen(arguments.wrt) if grad else {}),
            **given.kwargs,
        )
    written = [path, *(path.with_suffix(end) for end in (".pyi", ".npz"))]
    files = [str(file) for file in written if file.exists()]
    if arguments.json:
        print_json({"function": f.name, "files": files, "grad": grad, "check": check})
    else:
        say(f"wrote {', '.join(files)}; try: tracejit check {arguments.output}")
    return 0
