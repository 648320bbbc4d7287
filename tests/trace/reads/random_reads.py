"""Random functions over random objects, with random changes between calls: kernels under guards of
what was read, beside plain Python on a twin.

Objects refer to one another and to shared lists, dicts and arrays, so that one is found in several
places. They have properties, slots, `__getattr__`, operators and lengths; functions have closures
and defaults. Functions may write, too.

python -m tests.trace.reads.random_reads COUNT [SEED]    so many programs, with what they cost
"""

from __future__ import annotations

import contextlib
import copy
import random
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit as tj
from tests.convert.running import define
from tests.trace.reads.running import ERRORS, Recorded, outcome_of, recorded, serving
from tracejit.support.errors import TracejitError
from tracejit.trace.capture.captures import Captures

HEAD = """
import functools
import numpy as np
from typing import NamedTuple
class A:
    k = 2.0
    tag = [1.0, 2.0]
    def __init__(self, a=1.0): self.a = a
    def total(self, more=0.5): return self.k + more
    @property
    def prop(self): return self.a if hasattr(self, "a") else self.k
    @functools.cached_property
    def cache(self): return number(getattr(self, "b", 0.5)) * 2
    @classmethod
    def of(cls): return cls.k
    @staticmethod
    def fixed(v=3.0): return v
class B(A):
    k = 3.0
    def total(self, more=1.5): return super().total() * 2 + more
    def __getattr__(self, name):
        if name.startswith("z"): return self.tag[0]
        raise AttributeError(name)
    def __add__(self, other): return number(self.__dict__.get("a")) + number(other)
    def __radd__(self, other): return 2 * number(other) + self.k
    def __eq__(self, other): return type(other) is B and self.k == other.k
    def __hash__(self): return 1
    def __iter__(self): return iter(self.tag)
class C(A):
    __slots__ = ("s",)
    def __init__(self): pass
    def __len__(self): return 2 if getattr(self, "b", None) else 0
    def __getitem__(self, i): return self.tag[i]
    def __bool__(self): return bool(getattr(self, "a", 1))
    def __call__(self, v): return number(v) + self.k
    def __contains__(self, v): return v in self.tag
class P(NamedTuple):
    a: object
    b: object
seen = 0
def number(v, depth=0):
    if v is None: return 1.0
    if isinstance(v, (bool, int, float)): return float(v)
    if isinstance(v, str): return float(len(v))
    if isinstance(v, np.ndarray): return float((v * np.arange(1.0, 1 + len(v))).sum())
    if depth > 3: return 0.25
    if isinstance(v, (list, tuple)):
        t = 0.0
        for one in v: t = 1.5 * t + number(one, depth + 1)
        return t
    if isinstance(v, dict): return sum(len(k) * number(one, depth + 1) for k, one in v.items())
    return v.total() if isinstance(v, A) else 0.125
def default(v=1.5, *, w=[1.0, 2.0]): return number(v) + w[0]
def made(k, held):
    def get(): return number(k) + number(held)
    def put(v):
        nonlocal k
        k = v
    return get, put
"""
NAMES = ("a", "b", "c", "s")
ROOTS = ("o", "l", "d", "g0", "g1", "g2", "o", "A", "B", "p", "w")
STEPS = (
    ".a", ".b", ".c", ".s", "[0]", "[-1]", "['p']", "['q']", ".k", ".prop", ".zz", ".cache", ".tag",
    "[1]", ".get('p')", ".__dict__", "[:2]", ".a.b", "[::-1]", ".of()", ".total()", ".__class__",
)  # fmt: skip


def value(pick: random.Random, objects: list[Any], depth: int = 0) -> Any:
    """A value, which may hold some of the objects."""
    match pick.randrange(10 if depth < 2 else 5):
        case 0:
            return pick.choice([0, 1, 2, True, False])
        case 1:
            return pick.choice([0.0, 1.5, -2.0, -0.0])
        case 2:
            return pick.choice(["x", "yy", ""])
        case 3:
            return None
        case 4:
            return pick.choice(objects) if objects else 1.0
        case 5:
            return [value(pick, objects, depth + 1) for _ in range(pick.randrange(4))]
        case 6:
            keys = pick.sample(["p", "q", "rr"], pick.randrange(4))
            return {key: value(pick, objects, depth + 1) for key in keys}
        case 7:
            return np.array([pick.choice([1.0, 2.0]), 3.0])
        case _:
            return tuple(value(pick, objects, depth + 1) for _ in range(pick.randrange(3)))


class Source(random.Random):
    """Choices for the text of a function that reads what is in a module."""

    def __init__(self, seed: int) -> None:
        """Begin with the objects that the function will find."""
        super().__init__(seed)
        self.space = World.of(seed, HEAD).space

    def path(self) -> str:
        """An expression that reads something, mostly what there is."""
        for _ in range(8):
            steps = [self.choice(STEPS) for _ in range(self.randrange(4))]
            found = self.choice(ROOTS) + "".join(steps)
            with contextlib.suppress(*ERRORS):
                eval(found, self.space)
                break
        return found


def statement(pick: Source, writes: bool) -> list[str]:
    """A statement that adds to `t`, or writes."""
    p, q, name = pick.path(), pick.path(), pick.choice(NAMES)
    reading = [
        [f"t = t + number({p})"],
        [f"if {p}: t = t + 1", f"else: t = t + number({q})"],
        [f"for v in {p}: t = t * 1.5 + number(v)"],
        [f"t = t + len({p})"],
        [f"t = t + number(getattr({p}, {pick.choice((*NAMES, 'zq', 'k'))!r}, 7.0))"],
        [f"t = t + ({pick.choice(['p', 'q', 1, 'x', 1.0])!r} {pick.choice(['in', 'not in'])} {p})"],
        [f"t = t + number({p}.total)"],
        [f"t = t + ({p} is {q})"],
        [f"t = t + hasattr({p}, {name!r}) + isinstance({p}, {pick.choice('ABC')})"],
        [f"t = t + ({p} {pick.choice(['==', '!='])} {q})"],
        [f"t = t + sum(number(v) for v in list({p}))"],
        [f"t = t + number(sorted({p}, key=lambda v: -number(v)))"],
        [f"u, v = {p}", "t = t + number(u) - 0.5 * number(v)"],
        [f"u, *v = {p}", "t = t + number(u) - 0.5 * number(v)"],
        [f"t = t + number([*{p}, *{q}])"],
        ["t = t + default()"],
        [f"t = t + {pick.choice(('get()', f'o({p})', 'default(*l)', 'default(**d)'))}"],
        [f"t = t + ({p} {pick.choice('+*-')} {q} and 1.0 or 0.5)"],
        [f"t = t + number(({p} or {q}))"],
        [f"t = t + number({p} if {q} else None)"],
        [f't = t + number(f"{{{p}!s:.3}}")'],
        [f"t = t + number([number(v) for v in map(number, {p}) if v])"],
        [f"t = t + number(A({p}).prop) + C().k"],
        [f"t = t + (0 < number({p}) < number({q}))"],
        [f"t = t + number({p}.copy())"],
        [f"t = t + number(min({p}, {q}, key=number))"],
        [f"t = t + number(list(zip({p}, {q})))"],
        [f"h = {p}", "t = t + number(vars(h))"],
        [f"match {p}:", "    case [v, *_]: t = t + number(v)", "    case _: t = t + 2"],
    ]
    writing = [
        [f"{p}.{name} = {pick.choice(['1.0', 'None', q])}"],
        [f"{p}.append({pick.choice(['1.0', q])})"],
        [f"{p}[{pick.choice(['0', repr('p'), repr('n'), '-1', ':1'])}] = {pick.choice(['2', q])}"],
        [f"{p}.{name} += {pick.choice(['1', q])}"],
        [f"del {p}.{name}"],
        [f"del {p}[{pick.choice(['0', repr('p')])}]"],
        ["seen = seen + 1", "t = t + seen"],
        [f"{p}.update(p=3.0)"],
        [f"{p}.pop()"],
        [f"{p}.setdefault('p', {q})"],
        [f"h = {p}", "h += [1.0]", "t = t + number(h)"],
        [f"put({q})", "t = t + get()"],
        [f"h = {p}", "h.append(1.0)", "t = t + number(h[0]) + len(h)"],
    ]
    return pick.choice(writing if writes and pick.random() < 0.3 else reading)


def text_of(seed: int, writes: bool) -> str:
    """The module with a function `f` of an array."""
    pick = Source(seed)
    lines = ["def f(x):", "    global seen", "    t = 0.0"]
    for _ in range(pick.randrange(1, 6)):
        lines += ["    try:", textwrap.indent("\n".join(statement(pick, writes)), "        ")]
        lines += ["    except Exception as e: t = t + 100.0 + len(type(e).__name__)"]
    answer = f"x * t, {pick.path()}" if pick.random() < 0.2 else "x * t"
    return HEAD + "\n".join([*lines, f"    return {answer}", ""])


class World(NamedTuple):
    """A module, its objects, and changes to them: two of one seed change alike."""

    space: dict[str, Any]
    objects: list[Any]

    @classmethod
    def of(cls, seed: int, text: str) -> World:
        """Make the objects that a function reads."""
        pick, space = random.Random(seed), define(text)
        objects = [pick.choice([space["A"], space["B"], space["C"]])() for _ in range(4)]
        for o in objects:
            for name in NAMES:
                if pick.random() < 0.7:
                    setattr(o, name, value(pick, objects))
        space |= {f"g{index}": value(pick, objects) for index in range(3)}
        space["o"], space["l"] = objects[0], [value(pick, objects) for _ in range(3)]
        space["d"] = {"p": value(pick, objects), "q": objects[1]}
        space["p"] = space["P"](value(pick, objects), objects[2])
        space["w"] = (space["l"], space["d"], value(pick, objects))
        space["get"], space["put"] = space["made"](value(pick, objects), space["l"])
        return cls(space, objects)

    def containers(self) -> list[Any]:
        """The lists and dicts in reach."""
        found = [self.space["l"], self.space["d"]]
        for o in self.objects:
            found += [one for one in vars(o).values() if isinstance(one, list | dict)]
        inside = [one for outer in found for one in outer if isinstance(one, list | dict)]
        return [*found, *inside]

    def change(self, seed: int) -> None:
        """Change something that may have been read."""
        pick = random.Random(seed)
        space, o = self.space, pick.choice(self.objects)
        cls, name = space[pick.choice("ABC")], pick.choice(NAMES)
        match pick.randrange(22):
            case 0 | 1 | 2:
                setattr(o, name, value(pick, self.objects))
            case 3:
                space[pick.choice(["g0", "g1", "g2"])] = value(pick, self.objects)
            case 4:
                setattr(cls, pick.choice(["k", "tag", "b"]), pick.choice([5.0, [4.0, 1.0], 2.0]))
            case 5 | 6 | 7 | 8:
                self._change_container(pick)
            case 9:
                if name in vars(o):
                    delattr(o, name)
            case 10:
                space["default"].__defaults__ = (pick.choice([1.5, 2.5]),)
            case 11:
                number = pick.choice([0.5, 1.5])
                cls.total = lambda self, more=number: more
            case 12:
                arrays = [one for o in self.objects for one in vars(o).values()]
                arrays = [one for one in arrays if isinstance(one, np.ndarray)]
                if arrays:
                    pick.choice(arrays)[0] += 1
            case 13:
                space["put"](value(pick, self.objects))
            case 14:
                other = pick.choice(self.objects)
                if vars(o).keys() & vars(other).keys() & {name}:
                    mine, its = getattr(o, name), getattr(other, name)
                    setattr(o, name, its)
                    setattr(other, name, mine)
            case 15:
                kinds = [space["A"], space["B"]]
                if type(o) in kinds:
                    o.__class__ = pick.choice(kinds)
            case 16:
                space["A"].prop = property(lambda self: 4.5)
            case 17 | 18 | 19 | 20:
                self._rebuild(pick)
            case _:
                space["o"] = o

    def _rebuild(self, pick: random.Random) -> None:
        """Put an equal object, built anew, where one was, and mostly change something in it."""
        holder = pick.choice([self.space, *map(vars, self.objects), *self.containers()])
        words = ["o", "l", "d", "p", "w", "g0", "g1", "g2"]
        if holder is not self.space:
            words = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
        kept = [word for word in words if not isinstance(holder[word], bool | int | float | str)]
        if not kept:
            return
        word = pick.choice(kept)
        holder[word] = new = copy.copy(holder[word])
        if isinstance(new, list | dict) and new and pick.random() < 0.3:
            new[pick.choice([*new] if isinstance(new, dict) else [0, -1])] = value(pick, [])
        elif isinstance(new, self.space["A"]) and pick.random() < 0.3:
            setattr(new, pick.choice(NAMES), value(pick, self.objects))
        elif isinstance(new, np.ndarray) and pick.random() < 0.3:
            new[0] += 1
        if pick.random() < 0.2:
            self.space["get"], self.space["put"] = self.space["made"](
                self.space["get"].__closure__[1].cell_contents, self.space["l"]
            )

    def _change_container(self, pick: random.Random) -> None:
        one, new = pick.choice(self.containers()), value(pick, self.objects)
        if isinstance(one, dict):
            if one and pick.random() < 0.3:
                one.pop(next(iter(one)))
            else:
                one[pick.choice(["p", "q", "rr", "n"])] = new
            return
        match pick.randrange(4):
            case 0:
                one.append(new)
            case 1 if one:
                one[pick.randrange(len(one))] = new
            case 2 if one:
                one.pop()
            case _:
                one.reverse()


class Found(NamedTuple):
    """The calls of one program: how many were recorded, how many of these without need, by reads
    and by the walk, what a check takes in all, and the first call that was wrong."""

    calls: int = 0
    recordings: int = 0
    needless: int = 0
    needless_by_walk: int = 0
    guards: int = 0
    guards_by_walk: int = 0
    seconds: float = 0.0
    seconds_by_walk: float = 0.0
    wrong: str = ""


def compare(seed: int, calls: int = 10, writes: bool = True, walks: bool = False) -> Found:
    """Call a random function, with changes in between, by kernels and as Python."""
    text = text_of(seed, writes)
    twin, mine = World.of(seed, text), World.of(seed, text)
    pick, x = random.Random(seed + 7), np.array([1.0, 2.0])
    kernels: list[Recorded] = []
    found = Found()
    last: Any = None
    for number in range(calls):
        if number and pick.random() < 0.8:
            change = pick.randrange(10**6)
            twin.change(change)
            mine.change(change)
        python = outcome_of(twin.space["f"], x)
        walk_holds = walks and last is not None and last[1]()
        kernel = serving(kernels)
        if kernel is None:
            walk = _walk_of(mine.space["f"]) if walks else None
            kernel = recorded(mine.space["f"], x)
            if kernel.holds():  # otherwise it is of a function that changes what it reads
                kernels.append(kernel)
            is_needless = last is not None and last[0].outcome == python
            found = found._replace(
                recordings=found.recordings + 1, needless=found.needless + is_needless
            )
            if walk is not None:
                found = _with_costs(found, kernel, walk)
                last = kernel, walk
            else:
                last = kernel, lambda: True
            how = "recorded"
        else:
            how = "STALE"
            if walks and kernel is last[0] and not walk_holds:
                found = found._replace(needless_by_walk=found.needless_by_walk + 1)
        found = found._replace(calls=found.calls + 1)
        if python != kernel.outcome:
            return found._replace(wrong=f"seed {seed}, call {number}, {how}: {text[len(HEAD) :]}")
    return found


def compare_compiled(seed: int, calls: int = 6, writes: bool = False) -> str:
    """Call a random function, with changes in between, compiled and as Python; the first call that
    is wrong."""
    text = text_of(seed, writes)
    twin, mine = World.of(seed, text), World.of(seed, text)
    pick, x = random.Random(seed + 7), np.array([1.0, 2.0])
    compiled = tj.function(mine.space["f"])
    for number in range(calls):
        if number and pick.random() < 0.8:
            change = pick.randrange(10**6)
            twin.change(change)
            mine.change(change)
        python = outcome_of(twin.space["f"], x)
        found = outcome_of(compiled, x)
        if found == "UnsupportedError":
            break  # NumPy's own float() of an attribute that changes is refused
        if python != found:
            return f"seed {seed}, call {number}: {text[len(HEAD) :]}{python} {found}"
    return ""


def _walk_of(function: Callable[..., Any]) -> Callable[[], bool]:
    try:
        guard = Captures([function]).guard()
    except TracejitError:
        return lambda: False
    return guard if guard is not None else lambda: True


def _with_costs(found: Found, kernel: Recorded, walk: Any) -> Found:
    reads = len(kernel.guard.conditions) if kernel.guard is not None else 0
    return found._replace(
        guards=found.guards + reads,
        guards_by_walk=found.guards_by_walk + len(getattr(walk, "conditions", ())),
        seconds=found.seconds + _seconds(kernel.holds),
        seconds_by_walk=found.seconds_by_walk + _seconds(walk),
    )


def _seconds(holds: Callable[[], bool], times: int = 20) -> float:
    start = time.perf_counter()
    for _ in range(times):
        holds()
    return (time.perf_counter() - start) / times


def main(count: int, first: int) -> None:
    """Compare so many programs, and print what they cost."""
    found = [compare(first + k, writes=k % 2 == 1, walks=True) for k in range(count)]
    wrong = [one.wrong for one in found if one.wrong]
    calls, recordings = sum(one.calls for one in found), sum(one.recordings for one in found)
    print(*wrong, sep="\n")  # noqa: T201
    print(f"{count} programs, {calls} calls, {recordings} recordings, {len(wrong)} wrong")  # noqa: T201
    for name in ("needless", "guards", "seconds"):
        by_walk = sum(getattr(one, f"{name}_by_walk") for one in found)
        print(name, sum(getattr(one, name) for one in found), "by the walk", by_walk)  # noqa: T201


if __name__ == "__main__":
    numbers = [*map(int, sys.argv[1:]), 0]
    main(numbers[0], numbers[1])
