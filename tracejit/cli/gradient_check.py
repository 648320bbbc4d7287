"""Command `check`: a generated module against finite differences, and its times."""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tracejit.api.differences import Settings, Slopes, in_form
from tracejit.cli.arguments_made import attempts, leaves, saved_arguments
from tracejit.cli.numbers_given import positive
from tracejit.cli.output import Refusal, duration, print_json, say
from tracejit.compiler.kernel import Kernel, load

ELEMENTS = 20
"""The elements of each argument that are compared, at most."""
SECONDS = 0.2
"""The time that each function is run for, to find its fastest run."""


class Compared(NamedTuple):
    """The gradient of one argument against differences: how many elements were compared, how many
    are wrong, and the worst of these in words."""

    elements: int
    wrong: int
    worst: str


def add(commands: Any) -> None:
    """Declare the command."""
    check = commands.command(
        "check",
        _check,
        "check a generated module by finite differences, and time it; 1 if it is wrong",
        "tracejit check kernels/loss.py\n"
        "tracejit check loss.py --size n=1000\n"
        "tracejit check loss.py --arguments data.npz --json\n"
        "tracejit check kernels/    all of a package",
    )
    check.add_argument("file", metavar="FILE", help="a module that export or kernel.save wrote")
    check.add_argument(
        "--size", action="append", default=[], metavar="NAME=N", help="a free dimension: n=1000"
    )
    check.add_argument(
        "--arguments", metavar="FILE.npz", help="arrays by the names in SIGNATURE; random without"
    )
    check.add_argument(
        "--elements",
        type=positive,
        default=ELEMENTS,
        metavar="N",
        help=f"compare at most N elements of each gradient ({ELEMENTS})",
    )
    check.add_argument(
        "--trust", action="store_true", help="run the file even if others can write to it"
    )


def _check(arguments: argparse.Namespace) -> int:
    path = Path(arguments.file)
    if ".py:" in arguments.file:
        file, _, name = arguments.file.rpartition(":")
        raise Refusal(
            f"check takes a generated module, and {name} is a function of yours: compare its "
            f"derivatives with tj.check_grads, or write its module with `tracejit export "
            f"{file}:{name}`"
        )
    if not path.is_dir():
        found = [_checked(path, arguments)]
    else:  # a package, whose other files choose among its kernels
        files = sorted(one for one in path.glob("*.py") if _is_kernel(one))
        found = [_checked(file, arguments) for file in files]
        if not found:
            raise Refusal(f"{path} has no module that export wrote")
    if arguments.json:
        print_json(found if path.is_dir() else found[0])
    return int(not all(one["right"] for one in found))


def _is_kernel(file: Path) -> bool:
    """Return whether a file looks like a kernel, not like that which chooses among several."""
    last = file.read_text(encoding="utf-8", errors="replace").rpartition("\n# ")[2]
    return file.name != "__init__.py" and last.startswith("tracejit sha256 ")


def _checked(path: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Check one module, and print what was found, or answer it for JSON."""
    kernel = load(path, trust=arguments.trust)
    sizes = dict(_size(text) for text in arguments.size)
    if arguments.arguments is not None:
        tried: Iterator[Any] = iter([("given", saved_arguments(kernel, arguments.arguments))])
    else:
        tried = attempts(kernel, sizes)
    drawn, given, compared = _first_right(kernel, tried, arguments.elements)
    is_wrong = any(one.wrong for one in compared.values())
    times = {name: fastest(call) for name, call in _calls(kernel, given).items()}
    answer = {
        "name": kernel.name,
        "signature": dict(kernel.signature),
        "arguments": drawn,
        "gradient": {name: one._asdict() for name, one in compared.items()},
        "seconds": times,
        "right": not is_wrong,
    }
    if arguments.json:
        return answer
    inputs: Mapping[str, str] = kernel.signature["inputs"]
    say(f"{'kernel':<11} {kernel.name}")
    say(f"{'arguments':<11} {'  '.join(map(' '.join, inputs.items()))}  ({drawn})")
    for name, one in compared.items():
        agree = "element agrees" if one.elements == 1 else "elements agree"
        told = f"{one.elements} {agree} with finite differences"
        if one.wrong:
            told = f"{one.wrong} of {one.elements} elements are wrong; {one.worst}"
        say(f"{'gradient':<11} {name}: {told}")
    if not compared:
        say(f"{'gradient':<11} none: it computes only the value")
    say(f"{'time':<11} {'  '.join(f'{name} {duration(each)}' for name, each in times.items())}")
    return answer


def _first_right(
    kernel: Kernel, tried: Iterator[tuple[str, list[Any]]], most: int
) -> tuple[str, list[Any], dict[str, Compared]]:
    """The first arguments at which all gradients are right, else the first of all: arguments may
    lie where the function has a corner, or near where another branch begins."""
    found: list[tuple[str, list[Any], dict[str, Compared]]] = []
    problem = ""
    for drawn, given in tried:
        try:
            compared = _compared(kernel, given, most)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".partition("\n")[0]
            continue
        found.append((drawn, given, compared))
        if not any(one.wrong for one in compared.values()):
            return found[-1]
    if not found:
        raise Refusal(f"{kernel.name} does not run near its arguments: {problem}", 1)
    return found[0]


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise Refusal(f"--size {text} is not NAME=N, such as n=1000")
    return name, int(number)


def _calls(kernel: Kernel, given: Sequence[Any]) -> dict[str, Callable[[], Any]]:
    """The functions of a kernel, each with its arguments."""
    calls: dict[str, Callable[[], Any]] = {"forward": lambda: kernel.forward(*given)}
    if "gradient" in kernel.signature:
        residuals = kernel.forward(*given)[1]
        calls["backward"] = lambda: kernel.backward(residuals)
        calls["value_and_grad"] = lambda: kernel.value_and_grad(*given)
    return calls


def fastest(call: Callable[[], Any]) -> float:
    """The seconds of the fastest of several runs."""
    with quiet():
        best, end = np.inf, time.perf_counter() + SECONDS
        while (began := time.perf_counter()) < end:
            call()
            best = min(best, time.perf_counter() - began)
    return float(best)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warning of floating-point numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _compared(kernel: Kernel, given: Sequence[Any], most: int) -> dict[str, Compared]:
    """The gradients of a kernel at these arguments, by argument, against differences. Backward and
    value_and_grad must answer the same."""
    if "gradient" not in kernel.signature:
        return {}
    sources: Sequence[str] = kernel.signature["gradient"]
    names = list(kernel.signature["inputs"])
    with quiet():
        value, residuals = kernel.forward(*given)
        found = _tuple(kernel.backward(residuals), len(sources))
        in_one = _tuple(kernel.value_and_grad(*given)[1], len(sources))
        xs = [_real(given[names.index(name)]) for name in sources]
        rough = min([x.dtype.itemsize // (1 + (x.dtype.kind == "c")) for x in xs], default=8)

        def results(moved: Sequence[Any]) -> list[Any]:
            call = list(given)
            for name, x in zip(sources, moved, strict=True):
                call[names.index(name)] = x
            return [np.asarray(leaf) for leaf in leaves(kernel.forward(*call)[0])[:1]]

        seeds = [np.ones_like(np.asarray(leaves(value)[0]))]
        settings = Settings(None, None, None, min(rough, 8))
        slopes = Slopes(results, xs, seeds, settings, plain=False)
        answer = {}
        for leaf, name in enumerate(sources):
            gradient, other = np.asarray(found[leaf]), np.asarray(in_one[leaf])
            indices = _some(gradient.shape, most)
            entries = [complex(gradient[index]) for index in indices]
            wrong = slopes.wrong(leaf, indices, entries)
            worst = max(wrong, key=lambda each: each.excess, default=None)
            told = "" if worst is None else _told(name, worst)
            demand = {2: 1e-2, 4: 1e-3}.get(rough, 1e-6)
            scale = float(np.max(np.abs(gradient), initial=0.0))
            if not np.allclose(gradient, other, rtol=demand, atol=demand * scale, equal_nan=True):
                told = told or "backward and value_and_grad return different gradients"
            answer[name] = Compared(len(indices), len(wrong) or int(bool(told)), told)
    return answer


def _told(name: str, worst: Any) -> str:
    place = f"[{', '.join(map(str, worst.at))}]" if worst.at else ""
    numbers = [value.real if not value.imag else value for value in (worst.analytic, worst.numeric)]
    return f"{name}{place} is {numbers[0]:.6g}, and by finite differences {numbers[1]:.6g}"


def _tuple(value: Any, count: int) -> tuple[Any, ...]:
    return (value,) if count == 1 and not isinstance(value, tuple) else tuple(value)


def _real(given: Any) -> Any:
    """A differentiated argument as an array, or a NumPy scalar."""
    return given if isinstance(given, (np.ndarray, np.generic)) else in_form(np.asarray(given), 1.0)


def _some(shape: tuple[int, ...], most: int) -> list[tuple[int, ...]]:
    """Indices of at most so many elements."""
    size = int(np.prod(shape))
    rng = np.random.default_rng(0)
    chosen = range(size) if size <= most else sorted(rng.choice(size, most, replace=False))
    return [tuple(int(k) for k in np.unravel_index(one, shape)) for one in chosen]
