"""Programs that take a word, any text at all, from every place that a word can come from.

Each of PLACES makes of a word a function, what calls it, and options. What the function computes
with a word is what it computes without tracejit; a word that is code never runs, though it has a
function `canary` to call.
"""

from __future__ import annotations

import builtins
import functools
import linecache
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tracejit.trace.structure.trees import flatten

W = np.arange(3.0) + 1.0
X = np.arange(3.0) + 0.5

CODE = (
    "a=canary()", "a=__import__('builtins').canary()", "x=1): canary() #",
    ") -> canary(): pass\n", "\n    canary()\n", "\rcanary()", '"""\ncanary()\n"""',
    "'''\ncanary()\n'''", '\\"""\ncanary()', "\x0ccanary()", "\u2028canary()", "\x85canary()",
    "'] or canary() or ['", '"] or canary() or ["', "\\'] or canary() or ['", "[canary()]",
    "{canary()}", '{0!r:"}', "{0.__class__}", "'+canary()+'",
)  # fmt: skip
NAMES = (
    "if", "class", "None", "lambda", "__debug__", "__class__", "__file__", "__init__", "_", "__",
    "self", "print", "abs", "range", "float", "out", "x", "residuals", "forward", "SIGNATURE",
    "c_1", "each1", "ones_3", "_1", "_n", "_tj_0", "_tj_result", "result", "get", "items", "data",
    "T", "shape", "sin", "array", "mro", "\ufb01", "fi", "\u2102",
    "\U0001d41d\U0001d41e\U0001d41f",
    "é", "e\u0301", "名", "\uff41", "\u017f", "İ", "<lambda>",
)  # fmt: skip
TEXTS = (
    "", " ", "fc1.weight", "-1", "a-b", "1", "1a", "a.b.c", "a:b", '"', "'", "\\", '\\"', "\n",
    "\r", "\t", "\0", "\x0c", "\u2028", "\u2029", "\ud800", "\udcff", "\ufeff", "\u202eabc",
    "\u200b", "·", "\xa0", "\xad", "\U000e0001", "🐍", "{0}", "{x!r}", "%s", "{", "}", "#",
    "# SIGNATURE", "/", "../x", "C:\\x", "~", f"    key          {'0' * 64}",
    f"\n    key          {'0' * 64}\n", f"# tracejit sha256 {'0' * 64}", "a" * 5000, " is _1",
    "_same(_1, _2)", "\ud83d\ude00",
)  # fmt: skip
NASTY = (*CODE, *NAMES, *TEXTS)


class Program(NamedTuple):
    """A function, what calls it, and the options that it is compiled with. `gradient` says that its
    result is a number, to differentiate by its first argument."""

    function: Callable[..., Any]
    call: Callable[[Callable[..., Any]], Any]
    options: Mapping[str, Any] = MappingProxyType({})
    gradient: bool = True


class Thing:
    """An object with attributes."""


def on_x(function: Callable[..., Any], **options: Any) -> Program:
    """The program that calls a function of one array."""
    return Program(function, lambda f: f(X), options)


def called(function: Any, word: str, filename: str | None = None) -> Any:
    """A function that is called `word` wherever a function is called anything."""
    code = function.__code__.replace(co_name=word)
    code = code.replace(co_filename=filename) if filename is not None else code
    space = {**function.__globals__, "__name__": word}
    made = FunctionType(code, space, word, function.__defaults__, function.__closure__)
    made.__qualname__ = made.__module__ = word
    return made


def plain(x: Any) -> Any:
    """Something to compute."""
    y = np.sin(x)
    z = np.exp(y)
    return np.sum(z * y)


def a_key(word: str) -> Program:
    held = {word: W, "v": W * 2.0, (0, word): W, (word,): 3.0 * W, np.str_(word + "s"): W}
    return on_x(
        lambda x: (
            np.sum(x * held[word] + held["v"] * held[(0, word)] * held[(word,)])
            + np.sum(held[word + "s"])
        )
    )


def a_key_inside(word: str) -> Program:
    held = {word: {word: [W, {word: W * 2.0}]}}
    return on_x(lambda x: np.sum(x * held[word][word][0] + held[word][word][1][word]))


def a_key_of_an_argument(word: str) -> Program:
    held = {word: W, word + "_": 2.0 * W, (word, 1): X}
    return Program(
        lambda p, x: np.sum(x * p[word] * p[word + "_"] * p[(word, 1)]), lambda f: f(held, X)
    )


def a_key_of_a_result(word: str) -> Program:
    return on_x(lambda x: {word: np.sin(x), (word, 1): (np.cos(x),)})._replace(gradient=False)


def a_key_that_is_written_to(word: str) -> Program:
    def function(held: Any) -> Any:
        held[word][0] = 5.0
        return {word: held[word] * 2.0, "result": np.sum(held["result"])}

    def call(f: Callable[..., Any]) -> Any:
        held = {word: X.copy(), "result": W.copy()}
        return f(held), held

    return Program(function, call, gradient=False)


def a_key_of_free_sizes(word: str) -> Program:
    def call(f: Callable[..., Any]) -> Any:
        return [f({word: np.ones(n), "n": W}) for n in (5, 7, 3)]

    return Program(
        lambda p: np.sum(p[word]) / p[word].shape[0] + np.sum(p["n"]), call, gradient=False
    )


def an_attribute(word: str) -> Program:
    thing, module = Thing(), ModuleType(word)
    setattr(thing, word, W)
    setattr(thing, np.str_(word + " "), 2.0)
    setattr(module, word, 3.0)
    return on_x(
        lambda x: (
            np.sum(x * getattr(thing, word) * getattr(thing, word + " ")) * getattr(module, word)
        )
    )


def an_attribute_of_a_class(word: str) -> Program:
    cls = type("Thing", (), {"__module__": word})
    setattr(cls, word, W)
    cls.__qualname__ = word
    thing = cls()
    return on_x(lambda x: np.sum(x * getattr(cls, word) + getattr(thing, word)))


def a_method(word: str) -> Program:
    cls = type("Thing", (), {"__call__": called(lambda self, x: np.sin(x) * 2.0, word)})
    thing = cls()
    return on_x(lambda x: np.sum(thing(x)))


def a_field(word: str) -> Program:
    def new(cls: Any, *values: Any, **named: Any) -> Any:
        return tuple.__new__(cls, (*values, *named.values()))

    fields = (word, word + "2")
    parts = {
        name: property(functools.partial(lambda k, row: tuple.__getitem__(row, k), k))
        for k, name in enumerate(fields)
    }
    row = type("Row", (tuple,), {"_fields": fields, "__new__": new})
    for name, part in parts.items():
        setattr(row, name, part)
    return Program(
        lambda row: np.sum(getattr(row, word) * row[1]), lambda f: f(row(W, X)), gradient=False
    )


def a_function(word: str) -> Program:
    return on_x(called(plain, word))


def a_helper(word: str) -> Program:
    helper = called(plain, word)
    return on_x(lambda x: helper(x) * 2.0)


def a_decision(word: str) -> Program:
    def function(x: Any) -> Any:
        if np.sum(x) > 0.0:
            return np.sum(np.sin(x))
        return np.sum(x)

    return on_x(called(function, word))


def a_file(word: str) -> Program:
    text = word.replace("\0", "").encode("utf-8", "replace").decode()
    return on_x(called(plain, "loss", f"/home/{text}/{text}.py"))


def a_line(word: str) -> Program:
    filename = f"<words {len(linecache.cache)}>"
    lines = ["def f(x):\n", f"    y = np.sin(x)  # {word}\n", "    return np.sum(y * y)\n"]
    linecache.cache[filename] = len(lines), None, lines, filename
    space: dict[str, Any] = {"np": np, "__name__": "words"}
    exec(
        compile("def f(x):\n    y = np.sin(x)\n    return np.sum(y * y)\n", filename, "exec"), space
    )
    return on_x(space["f"])


def a_global(word: str) -> Program:
    def function(x: Any) -> Any:
        return np.sum(x * globals()[word + "!"])

    space = {**function.__globals__, word + "!": W}
    return on_x(FunctionType(function.__code__, space, "f", None, function.__closure__))


def a_local(word: str) -> Program:
    def function(x: Any) -> Any:
        space = {"x": x, "np": np}
        exec("y = np.sin(x); z = np.exp(y)", space)
        local: dict[str, Any] = {word: space["z"]}
        exec("q = np.sin(1.0)", {"np": np}, local)
        return np.sum(local[word])

    return on_x(function)


def a_keyword(word: str) -> Program:
    def function(first: Any, **words: Any) -> Any:
        return np.sum(first * words[word + "?"])

    return Program(function, lambda f: f(X, **{word + "?": W}))


def a_default(word: str) -> Program:
    def function(x: Any, *, mode: str = word, held: Any = {word: W}) -> Any:  # noqa: B006
        return np.sum(x * held[mode])

    return on_x(function)


def a_static_argument(word: str) -> Program:
    return Program(lambda x, mode: np.sum(x) * len(mode), lambda f: f(X, word))


def a_set(word: str) -> Program:
    held, frozen = {word, word + "1"}, frozenset([word])
    return on_x(lambda x: np.sum(x) if word in held and word in frozen else x)


def an_option(word: str) -> Program:
    return on_x(plain, name=word)


def a_variable(word: str) -> Program:
    held = {word: tj.Variable(W, name=word), "other": tj.Variable(W, name=word)}

    def function(x: Any) -> Any:
        held[word].assign_add(x * 0.0)
        return np.sum(x * held[word] * held["other"])

    return on_x(function)


def a_generator(word: str) -> Program:
    held = {word: tj.random.default_rng(3)}
    return on_x(lambda x: np.sum(x * held[word].normal(size=3)) * 0.0)


def a_callback(word: str) -> Program:
    double = called(lambda a: a * 2.0, word)

    def function(x: Any) -> Any:
        tj.callback(called(lambda a: None, word), x)
        y = tj.callback(double, x, result=tj.TensorSpec((3,), name=word))
        return np.sum(np.sin(x) * tj.stop_gradient(y))

    return on_x(function)


def a_primitive(word: str) -> Program:
    double = tj.primitive(called(lambda a: a * 2.0, word))
    tj.register_gradient(double)(lambda op, dy: 2.0 * dy)
    return on_x(lambda x: np.sum(double(x) * x))


def a_marker(word: str) -> Program:
    def doubled(a: Any) -> Any:
        return a * 2.0, called(lambda dy: dy * 2.0, word)

    ruled = tj.custom_gradient(called(doubled, word))
    again = tj.recompute_grad(called(lambda a: np.sin(a), word))
    return on_x(lambda x: np.sum(ruled(x) * again(x)))


PLACES: dict[str, Callable[[str], Program]] = {
    one.__name__: one
    for one in (
        a_key, a_key_inside, a_key_of_an_argument, a_key_of_a_result, a_key_that_is_written_to,
        a_key_of_free_sizes, an_attribute, an_attribute_of_a_class, a_method, a_field, a_function,
        a_helper, a_decision, a_file, a_line, a_global, a_local, a_keyword, a_default,
        a_static_argument, a_set, an_option, a_variable, a_generator, a_callback, a_primitive,
        a_marker,
    )
}  # fmt: skip


class Ran(Exception):
    """A word ran."""


@contextmanager
def listening() -> Iterator[None]:
    """Raise Ran, whatever is caught inside, where `canary` is called meanwhile."""
    calls: list[tuple[Any, ...]] = []
    vars(builtins)["canary"] = lambda *args: calls.append(args)
    try:
        yield
    finally:
        del vars(builtins)["canary"]
    if calls:
        raise Ran


def check(place: str, word: str) -> bool:
    """Whether Python takes `word` in this place. Raises AssertionError where it changes what is
    computed, and whatever else is raised."""
    with listening():
        try:
            program = PLACES[place](word)
            expected = program.call(program.function)
        except Exception:
            return False
        compiled = tj.function(**program.options)(program.function)
        for _ in range(2):
            assert_same(program.call(compiled), expected)
        assert compiled.explain()
        for kernel in compiled.kernels:
            assert kernel.source.replace("\n", "").isprintable()
        if program.gradient:
            value, _ = program.call(tj.value_and_grad(compiled))
            assert_same(value, expected)
    return True


def assert_same(found: Any, expected: Any) -> None:
    """Equal leaf by leaf."""
    for one, other in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def random_words(seed: int, count: int) -> list[str]:
    """Words of all planes, and of pieces of nasty ones."""
    made = random.Random(seed)

    def letter() -> str:
        limit = made.choice([128, 128, 0x3000, 0x10000, 0x110000])
        return chr(made.randrange(limit)) if made.random() < 0.9 else made.choice("\"'\\\n\r#{}=()")

    def word() -> str:
        kind = made.random()
        if kind < 0.2:
            return made.choice(NASTY)[:100] + made.choice(NASTY)[:100]
        if kind < 0.3:
            return letter() + made.choice(CODE) + letter()
        return "".join(letter() for _ in range(made.randrange(1, 12)))

    return [word() for _ in range(count)]


def main() -> None:
    """Check words given by seed and count, in all places; the nasty ones where the count is 0."""
    seed, count = map(int, sys.argv[1:3])
    words = random_words(seed, count) if count else NASTY
    taken = sum(check_all(word) for word in words)
    assert taken > 0.9 * len(words) * len(PLACES), taken


def check_all(word: str) -> int:
    """The number of places in which Python takes `word`; where one fails, say which."""
    taken = 0
    place = ""
    try:
        for place in PLACES:
            taken += check(place, word)
    except BaseException:
        sys.stderr.write(f"{place}: {word!r}\n")
        raise
    return taken


if __name__ == "__main__":
    # Functions are cited as of this module, whoever runs it.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    __import__("tests.words", fromlist=["main"]).main()
