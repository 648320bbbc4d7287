"""Commands that show kernels: `show`, `diff` and `explain`."""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from tracejit.api.derived import with_options
from tracejit.api.gradients import value_and_grad
from tracejit.cache.key import key_of
from tracejit.cli.arguments_made import arguments_for
from tracejit.cli.call_spec import WRT_HELP, Given, add_spec, chosen, given_for, with_arrays
from tracejit.cli.inventory import KEY_HELP, find, function_of, store
from tracejit.cli.output import (
    WIDE,
    Refusal,
    complain,
    escaped,
    has_colours,
    print_json,
    say,
    terminal_width,
)
from tracejit.cli.side_by_side import SHOWN, UserCode, column_of, functions_in, painter, rows, table
from tracejit.cli.targets import TARGET_HELP, is_target, load_target, reporting
from tracejit.compiler.kernel import Kernel
from tracejit.ir.printer import print_graph
from tracejit.specialise.function import Function
from tracejit.support.errors import GradientError, TracejitError, ValueNeededError


def add(commands: Any) -> None:
    """Declare the commands."""
    show = commands.command(
        "show",
        _show,
        "show a function's code beside its forward and backward, or a kernel of the cache",
        'tracejit show train:loss --spec "w=f8[3], x=f8[10,3]"\n'
        "tracejit show train.py:loss --spec ... --html loss.html\n"
        "tracejit show train:loss --spec ... --wrt w,b --profile\n"
        "tracejit show train:loss --spec ... --readable\n"
        "tracejit show loss\n"
        "tracejit show 3f9a1c07 | less",
    )
    show.add_argument("targets", metavar="TARGET", nargs="+", help=f"{TARGET_HELP}; or {KEY_HELP}")
    add_spec(show)
    show.add_argument("--wrt", metavar="ARGS", help=WRT_HELP)
    show.add_argument("--forward", action="store_true", help="only the value, no gradient")
    show.add_argument(
        "--readable", action="store_true", help="without rewrites that save less than 5 %%"
    )
    show.add_argument("--graph", action="store_true", help="the recorded graph instead of code")
    show.add_argument(
        "--profile", action="store_true", help="run it on random arrays; time and bytes by line"
    )
    show.add_argument("--html", metavar="FILE", help="write an explorer page, self-contained")
    diff = commands.command(
        "diff",
        _diff,
        "show what differs between two kernels of the cache; 1 if anything does",
        "tracejit diff 3f9a1c07 b2d41e55\ntracejit diff loss__f8_3__3f9a1c07 b2d4",
    )
    for name in ("a", "b"):
        diff.add_argument(name, metavar=name.upper(), help=KEY_HELP)
    explain = commands.command(
        "explain",
        _explain,
        "explain why each kernel of a function was made, what it checks and what that costs",
        'tracejit explain train:loss --spec "w=f8[3], x=f8[10,3]"\n'
        "tracejit explain train.py:loss    kernels that importing train.py makes",
    )
    explain.add_argument("target", metavar="MODULE:FUNCTION", help=TARGET_HELP)
    add_spec(explain)


def _show(arguments: argparse.Namespace) -> int:
    if arguments.html and len(arguments.targets) > 1:
        raise Refusal("--html writes the page of one function: name one")
    shown = [
        _shown_function(word, arguments) if is_target(word) else _shown_stored(word, arguments)
        for word in arguments.targets
    ]
    if arguments.json:
        print_json(shown[0] if len(shown) == 1 else shown)
    return 0


def _shown_stored(word: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Print a kernel of the cache, or answer it for JSON."""
    there = store()
    name = find(there, word)
    for option in ("graph", "profile", "html", "readable"):
        if getattr(arguments, option):
            problem = (
                f"--{option} needs a function, because the cache holds only text. Give "
                f"MODULE:FUNCTION."
            )
            raise Refusal(problem)
    source = there.read(name)
    if not arguments.json:
        _print_code(source)
    path = there.path / f"{name}.py" if there.path else None
    key = key_of(source)
    return {"name": name, "function": function_of(name), "key": key, "path": path, "source": source}


def _shown_function(word: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Print a function and its kernels, write its page, or answer them for JSON."""
    f = load_target(word)
    if arguments.readable:
        f = with_options(f, readable=True)
    given = _given(f, arguments, f"show {word}")
    made: Any = recorded(f, given, arguments)
    code = user_code(f)
    shown: list[dict[str, Any]] = []
    if arguments.html and not arguments.profile:
        made.to_html(arguments.html)
    for kernel in made.kernels:
        entry: dict[str, Any] = {"kernel": kernel.name, "key": kernel.key, "path": kernel.path}
        entry |= {"signature": dict(kernel.signature), "source": kernel.source}
        profile = kernel.profile(*arguments_for(kernel)) if arguments.profile else None
        if profile is not None and arguments.html:
            kernel.to_html(arguments.html, profile=profile)
        if arguments.graph:
            entry["graph"] = print_graph(kernel.graph)
        if profile is not None:
            lines = [line._asdict() for line in profile.lines]
            entry["profile"] = {"seconds": profile.total, "lines": lines}
        shown.append(entry)
        if not arguments.json and not arguments.html:
            _print_kernel(f, kernel, code, profile, arguments)
    if arguments.html and not arguments.json:
        say(f"wrote {arguments.html}")
    user = None if code is None else {"file": code.file, "line": code.first, "lines": code.lines}
    return {"function": f.name, "user_code": user, "html": arguments.html, "kernels": shown}


def _given(f: Function[..., Any], arguments: argparse.Namespace, command: str) -> Given | None:
    """The arguments for `f`; None if importing its module has made kernels, and nothing else is
    asked for."""
    return None if f.kernels and not arguments.spec else given_for(f, arguments.spec, command)


def _print_kernel(
    f: Function[..., Any],
    kernel: Kernel,
    code: UserCode | None,
    profile: Any,
    arguments: argparse.Namespace,
) -> None:
    if code is not None:
        code = code._replace(lines=[escaped(line, sys.stdout) for line in code.lines])
    if arguments.graph:
        say(print_graph(kernel.graph))
    elif profile is not None:
        say(str(profile))
    elif terminal_width() >= WIDE:
        columns = [column_of(kernel.source, name) for name in SHOWN]
        columns = [blocks for blocks in columns if blocks]
        headings = [_place(code) or f.name, "forward", "backward: from the bottom up"]
        text = table(
            headings[: len(columns) + 1], rows(code, columns), terminal_width(), _painter("python")
        )
        print(f"{kernel.name}\n\n{text}")
        if "value_and_grad" in functions_in(kernel.source):
            print("\nThe module has value_and_grad, too: `tracejit show ... | less`")
    else:
        if code is not None:
            say("\n".join([f"# {_place(code)}", *code.lines, ""]))
        _print_code(kernel.source)


def _place(code: UserCode | None) -> str:
    return "" if code is None else f"{code.file}:{code.first}  {code.name}"


def recorded(
    f: Function[..., Any], given: Given | None, arguments: argparse.Namespace
) -> Function[..., Any]:
    """The function whose kernels are to be shown: the gradient of `f` where there is one and it is
    wanted. Without a description of the arguments it is `f`, with the kernels that it has."""
    if given is None:
        return f
    with reporting(f"recording {f.name}"):
        if not f.is_derived and not arguments.forward:
            try:
                slope = value_and_grad(f, **chosen(arguments.wrt))
                record(slope, given)
                return slope
            except GradientError as error:
                if arguments.wrt is not None:
                    raise
                complain(f"no gradient: {str(error).partition(chr(10))[0]}")
        record(f, given)
        return f


def record(f: Function[..., Any], given: Given) -> None:
    """Record `f` for these arguments; with random arrays, where Python goes by their values."""
    try:
        f.kernel(*given.args, **given.kwargs)
    except ValueNeededError as error:
        drawn = with_arrays(given)
        try:
            f.kernel(*drawn.args, **drawn.kwargs)
        except TracejitError:
            raise error from None
        complain(f"{f.name} branches on values: this is the branch that random arrays take")


def user_code(f: Function[..., Any]) -> UserCode | None:
    """The lines of the user's function; None if there is no text."""
    python = inspect.unwrap(f.python)
    try:
        lines, first = inspect.getsourcelines(python)
    except (OSError, TypeError):
        return None
    offsets = (k for k, line in enumerate(lines) if line.lstrip().startswith(("def ", "async ")))
    file = inspect.getsourcefile(python) or ""
    name = getattr(python, "__name__", f.name)
    texts = [line.rstrip("\n").expandtabs(4) for line in lines]
    margin = len(texts[0]) - len(texts[0].lstrip())
    return UserCode(
        name,
        file.rpartition("/")[2],
        max(first, 1),
        max(first, 1) + next(offsets, 0),
        [line[margin:] if not line[:margin].strip() else line for line in texts],
    )


def _print_code(text: str, language: str = "python") -> None:
    paint = _painter(language)
    if paint is None:
        say(text, end="")
    else:
        print(paint(escaped(text, sys.stdout)))


def _painter(language: str) -> Any:
    return painter(language) if has_colours() else None


def _diff(arguments: argparse.Namespace) -> int:
    there = store()
    names = [find(there, word) for word in (arguments.a, arguments.b)]
    a, b = [list(_comparable(there.read(name))) for name in names]
    lines = list(difflib.unified_diff(a, b, names[0], names[1], lineterm=""))
    if arguments.json:
        print_json({"a": names[0], "b": names[1], "differ": bool(lines), "diff": lines})
    elif lines:
        _print_code("\n".join([*lines, ""]), "diff")
    return 1 if lines else 0


def _comparable(text: str) -> Iterator[str]:
    """The lines of a module, but for its hash, which differs wherever anything does."""
    for line in text.splitlines():
        if not line.startswith("# tracejit sha256 "):
            yield line


def _explain(arguments: argparse.Namespace) -> int:
    f = load_target(arguments.target)
    given = _given(f, arguments, f"explain {arguments.target}")
    if given is not None:
        with reporting(f"recording {f.name}"):
            record(f, given)
    text = f.explain()
    if arguments.json:
        names = [kernel.name for kernel in f.kernels]
        print_json({"function": f.name, "kernels": names, "explanation": text.splitlines()})
    else:
        say(text)
    return 0
