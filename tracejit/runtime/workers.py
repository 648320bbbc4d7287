"""Worker threads that share the tiles of one kernel: they replace `in_turn` of a generated module.

A module with tiles calls `in_turn(tile, rows, step, *arrays)`, a plain loop of its own that returns
the results of tile(start, stop, *arrays) for each `step` rows, in order. A kernel that may use
threads has another one in its place. The tiles lie in a row: the caller takes them from its front,
the workers from its back, until none is left. Each tile is computed once, by the same statements,
and stands in its own place in the answer, so the bits do not depend on who took it.

Nobody waits for a worker that has not begun: where another call has it, or the system gives it no
processor, the caller takes all tiles itself. So no call waits for one that waits for it, whatever
the user's threads and signal handlers do. A tile runs in a copy of the caller's context, which
holds `np.errstate`.

An interruption, by a signal handler that raises or by MemoryError, leaves all as it was. A worker
is registered, and has its part in a job, by a hold on its own stack. A call raises MemoryError
where a tile has no answer when all are done: it may have been computed in part, in place. A worker
that an interrupted call did not wait for writes to arrays that it holds itself.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from operator import itemgetter
from queue import SimpleQueue
from typing import Any, TypeAlias
from weakref import ref

from tracejit.runtime.holds import Hold

SECONDS_TO_END = 0.1
"""The longest time in seconds that a fork waits for idle workers to end."""


def in_turn_on(threads: int) -> Callable[..., list[Any]]:
    """An `in_turn` that uses up to so many threads, the caller's among them. It raises what the
    first of the tiles raises that do."""

    def in_turn(tile: Callable[..., Any], rows: int, step: int, *arrays: Any) -> list[Any]:
        return _pools[0].run(Job(tile, rows, step, arrays), threads)

    return in_turn


Tickets: TypeAlias = deque[tuple[Hold, Callable[[], None]]]


class Job:
    """The tiles of one call, by number: `waiting` are those that nobody has taken. A worker takes
    part by one of the `tickets`, each a hold with what is to be called. `begun` are locks, each
    locked until its ticket is gone."""

    def __init__(
        self, tile: Callable[..., Any], rows: int, step: int, arrays: tuple[Any, ...]
    ) -> None:
        """All tiles of `rows` rows are waiting; no rows are one tile."""
        self.tile, self.rows, self.step, self.arrays = tile, rows, step, arrays
        self.count = -(-max(rows, 1) // step)
        self.waiting = deque(range(self.count))
        self.answers: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.tickets: Tickets = deque()
        self.begun: list[threading.Lock] = []

    def add_ticket(self) -> None:
        """Let one worker more take part, in a copy of this context."""
        here: Any
        lock = locked()
        work = partial(contextvars.copy_context().run, self.take_from_back)
        for here in map(ref, (Hold(),)):
            here().end = lock.release
            self.begun.append(lock)
            self.tickets.append((here(), work))

    def take_from_front(self) -> None:
        """Compute what is waiting; after one that raises nothing counts any more."""
        for number in taken(self.waiting.popleft):
            if not self._compute(number):
                self.waiting.clear()

    def take_from_back(self) -> None:
        """Compute what is waiting; before one that raises another may raise, which comes first."""
        try:
            for number in taken(self.waiting.pop):
                self._compute(number)
        except BaseException as error:  # of no tile: it comes last
            self.errors[self.count] = error

    def close(self) -> None:
        """Let nobody begin any more, and wait for those who have."""
        self.waiting.clear()
        self.tickets.clear()
        wait_for(self.begun)

    def result(self) -> list[Any]:
        """The results of the tiles, in order. Raises the error of the first tile that failed."""
        if self.errors:
            error = self.errors[min(self.errors)]
            self.errors.clear()
            try:
                raise error
            finally:
                del error  # it holds this frame
        if len(self.answers) < self.count:
            raise MemoryError("a thread that computed a part of this call has ended")
        return [self.answers[number] for number in range(self.count)]

    def _compute(self, number: int) -> bool:
        try:
            start = number * self.step
            stop = min(start + self.step, self.rows)
            self.answers[number] = self.tile(start, stop, *self.arrays)
        except BaseException as error:
            self.errors[number] = error
            return False
        return True


class Worker(threading.Thread):
    """A thread that helps with one job after the other, of those that are offered."""

    def __init__(self, pool: Pool) -> None:
        """Start a worker of `pool`, which registers itself when it runs."""
        super().__init__(name="tracejit worker", daemon=True)
        self.is_idle = False
        self._pool = pool

    def run(self) -> None:
        """Take part while there are jobs; no more workers do than were ever asked for at once."""
        here: Any
        crew = self._pool.crew
        for here in map(ref, (Hold(),)):
            here().end = partial(crew.pop, self, None)
            crew[self] = None
            goes_on = self in islice(list(crew), self._pool.most)
            while goes_on:
                goes_on = self._take_part()

    def _take_part(self) -> bool:
        """Take part in a job if one was offered, and return whether it was. Afterwards nothing of
        the job is held here."""
        self.is_idle = True
        tickets = self._pool.offers.get()
        self.is_idle = False
        if tickets is not None:
            help_by(tickets)
        return tickets is not None


class Pool:
    """The workers of a process, each started when it is needed first: the `crew`, in the order of
    their registration. `most` is how many were ever asked for at once. The tickets of a job are
    offered once for each; None ends a worker."""

    def __init__(self) -> None:
        """Begin without workers."""
        self.offers: SimpleQueue[Tickets | None] = SimpleQueue()
        self.crew: dict[Worker, None] = {}
        self.most = 0

    def run(self, job: Job, threads: int) -> list[Any]:
        """Run the tiles of a new job on up to `threads` threads, and return their answers."""
        try:
            for _ in range(self._staffed(min(threads, job.count) - 1)):
                job.add_ticket()
                self.offers.put(job.tickets)
            job.take_from_front()
        finally:
            job.close()
        return job.result()

    def end_idle(self) -> None:
        """End the workers that have nothing to do: they start again when they are needed. One that
        gets a job just now ends after it."""
        idle = [worker for worker in list(self.crew) if worker.is_idle]
        for _ in idle:
            self.offers.put(None)
        deadline = time.monotonic() + SECONDS_TO_END
        for worker in idle:
            worker.join(max(deadline - time.monotonic(), 0.0))

    def _staffed(self, count: int) -> int:
        """Start workers until there are `count`. Return how many there are: fewer if one cannot
        start."""
        self.most = max(self.most, count)
        try:
            for _ in range(count - len(self.crew)):
                Worker(self).start()
        except RuntimeError:
            return len(self.crew)
        return count


def help_by(tickets: Tickets) -> None:
    """Take part in a job, if it has a ticket left."""
    try:
        for work in map(itemgetter(1), (tickets.pop(),)):  # the iterator holds the ticket
            work()
    except IndexError:
        return  # of the deque; what is called raises nothing


def taken(take: Callable[[], Any]) -> Iterator[Any]:
    """Take items with `take` out of a deque until it is empty; other threads take from it too."""
    while True:
        try:
            one = take()
        except IndexError:
            return
        yield one


def locked() -> threading.Lock:
    """A lock that is taken."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def wait_for(locks: list[threading.Lock]) -> None:
    """Wait until all are released. An interruption is raised then: what a worker writes to must not
    be let go of before."""
    interruption: BaseException | None = None
    for lock in locks:
        while lock.locked():
            interruption = _interrupted(lock) or interruption
    if interruption is not None:
        raise interruption


def _interrupted(lock: threading.Lock) -> BaseException | None:
    """Wait until a lock is released, or for the interruption that comes before."""
    try:
        with lock:
            return None
    except BaseException as error:
        return error


_pools = [Pool()]


def _end_before_fork() -> None:
    """Leave no thread behind that Python 3.12 and newer would warn of."""
    _pools[0].end_idle()


def _begin_in_child() -> None:
    """In a forked child there are no workers."""
    _pools[0] = Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_before_fork, after_in_child=_begin_in_child)
