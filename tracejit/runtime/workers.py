"""Threads that share the tiles of one kernel: what stands for `in_turn` of a generated module.

A module with tiles calls `in_turn(tile, rows, step, *arrays)`, a plain loop of its own that answers
what tile(start, stop, *arrays) answers for each `step` rows, in order. A kernel that may use
threads has another one in its place. The tiles lie in a row: the caller takes them from its front,
the workers from its back, until none is left. Each tile is computed once, by the same statements,
and stands in its own place in the answer, so the bits do not depend on who took it.

Nobody waits for a worker that has not begun: where another call has it, or the system gives it no
processor, the caller takes all tiles itself. So no call waits for one that waits for it, whatever
the user's threads do. A tile runs in a copy of the caller's context, which holds `np.errstate`.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


def in_turn_on(threads: int) -> Callable[..., list[Any]]:
    """An `in_turn` that uses up to so many threads, the caller's among them. It raises what the
    first of the tiles raises that do."""

    def in_turn(tile: Callable[..., Any], rows: int, step: int, *arrays: Any) -> list[Any]:
        return _pools[0].run(Job(tile, rows, step, arrays), threads)

    return in_turn


class Ticket(NamedTuple):
    """The right of one worker to take tiles of a job, in a context; `done` is locked until it has
    computed its last."""

    context: contextvars.Context
    done: threading.Lock


class Job:
    """The tiles of one call, by number: `waiting` are those that nobody has taken."""

    def __init__(
        self, tile: Callable[..., Any], rows: int, step: int, arrays: tuple[Any, ...]
    ) -> None:
        """All tiles of `rows` rows are waiting; no rows are one tile."""
        self.tile, self.rows, self.step, self.arrays = tile, rows, step, arrays
        count = -(-max(rows, 1) // step)
        self.waiting = deque(range(count))
        self.answers: list[Any] = [None] * count
        self.errors: dict[int, BaseException] = {}
        self.tickets: deque[Ticket] = deque()

    def take_from_front(self) -> None:
        """Compute what is waiting; after one that raises nothing counts any more."""
        for number in taken(self.waiting.popleft):
            if not self._compute(number):
                self.waiting.clear()

    def take_from_back(self) -> None:
        """Compute what is waiting; before one that raises another may raise, which comes first."""
        for number in taken(self.waiting.pop):
            self._compute(number)

    def let_go(self) -> list[Any]:
        """What the tiles answer. A worker that has not begun yet keeps nothing of it alive."""
        answers, self.answers, self.arrays = self.answers, [], ()
        return answers

    def _compute(self, number: int) -> bool:
        try:
            start = number * self.step
            stop = min(start + self.step, self.rows)
            self.answers[number] = self.tile(start, stop, *self.arrays)
        except BaseException as error:
            self.errors[number] = error
            return False
        return True


class Worker:
    """A thread that helps with one job after the other."""

    def __init__(self, idle: deque[Worker]) -> None:
        """Start it. Who takes it out of `idle` gives it one job; then it stands there again."""
        self._idle = idle
        self._job: Job | None = None
        self._go = threading.Lock()
        self._go.acquire()
        self._thread = threading.Thread(target=self._run, name="tracejit worker", daemon=True)
        self._thread.start()

    def help(self, job: Job | None) -> None:
        """Take part in a job by one of its tickets, if there still is one; end, without a job."""
        self._job = job
        self._go.release()

    def end(self) -> None:
        """End the thread."""
        self.help(None)
        self._thread.join()

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            self._go.acquire()
            goes_on = self._take_part()

    def _take_part(self) -> bool:
        """Whether there was a job. When it is done nothing of it is held here."""
        job, self._job = self._job, None
        if job is None:
            return False
        ticket = next(taken(job.tickets.pop), None)
        if ticket is None:
            self._idle.append(self)
            return True
        try:
            ticket.context.run(job.take_from_back)
        finally:
            del job
            self._idle.append(self)
            ticket.done.release()
        return True


class Pool:
    """The workers of a process, each started when it is needed first."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._idle: deque[Worker] = deque()
        self._started = 0

    def run(self, job: Job, threads: int) -> list[Any]:
        """What the tiles of a new job answer, computed on up to so many threads."""
        helpers = self._helpers(min(threads, len(job.answers)) - 1)
        tickets = [Ticket(contextvars.copy_context(), locked()) for _ in helpers]
        job.tickets.extend(tickets)
        try:
            for worker in helpers:
                worker.help(job)
            job.take_from_front()
        finally:
            job.waiting.clear()
            unused = [ticket.done for ticket in taken(job.tickets.pop)]
            wait_for([ticket.done for ticket in tickets if ticket.done not in unused])
            answers = job.let_go()
        if job.errors:
            error = job.errors[min(job.errors)]
            job.errors.clear()
            try:
                raise error
            finally:
                del error  # it holds this frame
        return answers

    def end_idle(self) -> None:
        """End the workers that have nothing to do: they start again when they are needed."""
        for worker in taken(self._idle.pop):
            worker.end()
            with self._lock:
                self._started -= 1

    def _helpers(self, count: int) -> list[Worker]:
        """Up to `count` workers that have nothing to do; there are as many as were ever asked for
        at once."""
        found: list[Worker] = []
        for _ in range(count):
            worker = next(taken(self._idle.pop), None) or self._new(count)
            if worker is None:
                break
            found.append(worker)
        return found

    def _new(self, limit: int) -> Worker | None:
        """A new worker, unless there are so many, or the system refuses a thread."""
        with self._lock:
            if self._started >= limit:
                return None
            self._started += 1
        try:
            return Worker(self._idle)
        except RuntimeError:
            with self._lock:
                self._started -= 1
            return None


def taken(take: Callable[[], Any]) -> Iterator[Any]:
    """What `take` takes out of a deque until it is empty; others take from it at the same time."""
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
