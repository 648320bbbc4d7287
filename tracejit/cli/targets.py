"""Functions named on the command line: `MODULE:FUNCTION`.

MODULE is `package.module`, or a file `model.py`.
The current folder is on the path. An import that fails, or a function that does, is shown by the
user's lines alone.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from tracejit.cli.output import Refusal
from tracejit.specialise.function import Function, function
from tracejit.support.errors import TracejitError
from tracejit.support.options import nearest
from tracejit.trace.source.files import is_library
from tracejit.trace.source.places import PACKAGE

TARGET_HELP = "a function: package.module:function, or file.py:function"


def is_target(word: str) -> bool:
    """Return whether a word names a function of a module, not a kernel."""
    return ":" in word


def load_target(word: str) -> Function[..., Any]:
    """The compiled function that a word names; a plain one is compiled."""
    where, _, name = word.rpartition(":")
    is_file = where.endswith(".py")
    if not name or not (is_file or all(map(str.isidentifier, where.split(".")))):
        raise Refusal(
            f"{word!r} does not name a function. Write MODULE:FUNCTION, such as train:loss."
        )
    module = _module(where)
    found: Any = module
    for part in name.split("."):
        members = [key for key in dir(found) if not key.startswith("_")]
        choices = [key for key in members if callable(inspect.getattr_static(found, key, None))]
        with reporting(f"reading {name}"):
            try:
                found = getattr(found, part)
            except AttributeError:
                hint = f" {nearest(part, choices)}" if choices else ""
                raise Refusal(f"{where} has no function {name}.{hint}") from None
    if not callable(found):
        raise Refusal(f"{word} is {type(found).__name__}, which cannot be called")
    return found if isinstance(found, Function) else function(found)


def _module(where: str) -> ModuleType:
    """Import a module by its name, or the file of one."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if not where.endswith(".py"):
        with reporting(f"importing {where}"):
            try:
                return importlib.import_module(where)
            except ModuleNotFoundError as error:
                if error.name is None or not f"{where}.".startswith(f"{error.name}."):
                    raise  # one that the module itself imports
        hint = f" Did you mean {where}.py?" if Path(f"{where}.py").is_file() else ""
        raise Refusal(f"there is no module {where}, in this folder ({here}) or installed.{hint}")
    path = Path(where).absolute()
    if not path.is_file():
        raise Refusal(f"there is no file {where}")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    name = path.stem if known is None else f"_{path.stem}_of_tracejit"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with reporting(f"importing {where}"):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def reporting(action: str) -> Iterator[None]:
    """Turn what the user's code raises in a block into a refusal that shows the user's lines, and
    send what it prints to stderr."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Refusal, TracejitError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        raise Refusal(f"{action} ended the program: SystemExit({error.code!r})", 1) from None
    except BaseException as error:
        if isinstance(error, OSError) and not _is_users(error):
            raise
        raise Refusal(f"{action} failed:\n{users_lines(error)}", 1) from None


def _is_users(error: OSError) -> bool:
    """Return whether a line of the user's has led to an error of the system's."""
    files = [frame.f_code.co_filename for frame, _ in _frames(error)]
    return not all(map(is_library, files))


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of `error`, with their lines, outside of tracejit and of the import system."""
    return [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith((PACKAGE, "<frozen importlib"))
        and not frame.f_code.co_filename.startswith((importlib.__file__, contextlib.__file__))
    ]


def users_lines(error: BaseException) -> str:
    """The traceback of `error` without the frames of tracejit and of the import system."""
    chain: TracebackType | None = None
    for frame, line in reversed(_frames(error)):
        chain = TracebackType(chain, frame, frame.f_lasti, line)
    shown = error.with_traceback(chain)
    return "".join(traceback.format_exception(type(shown), shown, chain, chain=False)).rstrip()
