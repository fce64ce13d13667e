"""The scheduler of a simulated world: its processes with their threads, its clock, and what happens to them.

Each thread of a process is a greenlet, and only one runs at a time. At every *point* (before a call of a flow, in the
middle of what Chroma does, where a lock is waited for) the world asks ``Choices`` what happens: nothing, another thread goes
on, this process is killed, and so on. A killed process is never resumed: it stands where it was, no ``finally`` runs, and the
locks of the operating system that it held are free. Time passes only when all threads wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from greenlet import GreenletExit, getcurrent, greenlet

from tests.simulation.choices import Choices, Point

STALLED = 1_000.0  # seconds for which a stopped process does nothing, more than any timeout
CALLS, READS, WRITES = PLACES = ("calls", "reads", "writes")
"""Where things can happen: between two calls; where Chroma or a file is read; where it is written, or an operation begins.

What happens between two calls, nobody else notices before the next one that reads or writes. So where things happen only at
the latter, runs are more different from each other; and where readers are left alone, all of a reading is done at a step of a
writer.
"""

MOST_STEPS = 40_000  # of a run: more means that something never ends


class Failure(Exception):
    """A failure that was put in."""


class Cancelled(BaseException):
    """Stands for KeyboardInterrupt: the user interrupts what runs."""


class Over(BaseException):
    """The world has ended: what is left of killed processes must do nothing."""


class Held(Protocol):
    """What a process holds of the operating system."""

    def drop(self) -> None:
        """Let go of it, since its process has died."""
        ...


@dataclass(frozen=True)
class LateWrite:
    """A write that the server does long after its client has given up.

    Attributes:
        what: What is written.
        operation: Number of the operation that has asked for it.
        effect: Function that does it.
    """

    what: str
    operation: int
    effect: Callable[[], None]


@dataclass(eq=False)
class Process:
    """A process, with memory of its own.

    Attributes:
        name: Its name.
        number: Its number among all processes that ever were.
        alive: Whether it was not killed.
        stalled: Time until which it is stopped.
        holds: What it holds of the operating system.
        globals: Values that modules of leafspan keep for each process, by module and name.
        memory: What its operations keep, such as the open index.
    """

    name: str
    number: int
    alive: bool = True
    stalled: float = 0.0
    holds: list[Held] = field(default_factory=list)
    globals: dict[tuple[str, str], Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Task:
    """A thread of a process that carries out one operation after the other.

    Attributes:
        process: Its process.
        operation: Number of the operation that it is at.
        label: What the operation is.
        points: Number of points that the operation has passed.
        wake: Time at which it goes on. None if it is ready.
        condition: What it waits for, besides the time. None for nothing.
        ended: Step after which it had nothing left to do. None: it goes on.
        mutexes: Locks within the process that it waits for.
    """

    process: Process
    body: Callable[[], None]
    operation: int = -1
    label: str = ""
    points: int = 0
    wake: float | None = None
    condition: Callable[[], bool] | None = None
    ended: int | None = None
    greenlet: greenlet = field(init=False)


class World:
    """All processes of one run.

    Args:
        choices: What happens at each point.
        actions: The names of what can happen, each as often as it is likely.
        places: Where things happen: one of ``PLACES``, or those after it.
        verbose: Whether to keep a log of all that happens.
    """

    def __init__(
        self, choices: Choices, actions: tuple[str, ...], *, places: str = PLACES[0], verbose: bool = False
    ) -> None:
        self.choices = choices
        self.actions = actions
        self._places = PLACES[PLACES.index(places) :]
        self.now = 0.0
        self.step = 0  # effects and choices so far, which is what histories are counted in
        self.over = False
        self.quiet = False  # whether nothing may happen any more, since what is left is being checked
        self.counts: Counter[str] = Counter()
        self.log: list[str] = []
        self.problems: list[str] = []
        self.processes: list[Process] = []
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.late: list[LateWrite] = []  # what will take effect later
        self.author: int | None = None  # number of the operation whose late write takes effect right now
        self.on_switch: Callable[[Process | None, Process], None] = lambda old, new: None
        self.on_kill: Callable[[Process], None] = lambda process: None
        self._verbose = verbose
        self._hub = getcurrent()
        self._hub_points = 0
        self._loaded: Process | None = None

    # What happens

    def note(self, text: str) -> None:
        """Put a line into the log."""
        if self._verbose:
            who = self.current.process.name if self.current else "-"
            number = self.current.operation if self.current else ""
            self.log.append(f"{self.step:5} {self.now:8.2f} {who:>4} #{number} {text}")

    def problem(self, text: str) -> None:
        """Report something that must not be."""
        label = f"{self.current.process.name}, {self.current.label}: " if self.current else ""
        self.problems.append(f"step {self.step}: {label}{text}")
        self.note(f"PROBLEM {text}")

    def tick(self) -> int:
        """Count one step, and return its number."""
        self.step += 1
        return self.step

    def choose(self, place: str) -> int:
        """What is chosen for the point at which the current task is: 0 for nothing."""
        task = self.current
        if task is None or self.quiet or place not in self._places:
            return 0
        task.points += 1
        return self.choices.at((task.operation, task.points))

    def action(self, place: str = WRITES) -> tuple[str, int]:
        """The action for the point at which the current task is, and a number that says more; ``("", 0)`` for none."""
        choice = self.choose(place)
        if not choice:
            return "", 0
        return self.actions[choice % len(self.actions)], choice // len(self.actions)

    def point(self, where: str, place: str = WRITES) -> None:
        """A point at which others may go on, or this process may end. The place is one of ``PLACES``."""
        if self.over:
            raise Over
        task = self.current
        if task is None:
            return
        self.tick()
        action, number = self.action(place)
        if action:
            self.happen(action, number, where)

    def happen(self, action: str, number: int, where: str) -> None:
        """Let something happen that may happen anywhere."""
        task = self.current
        assert task is not None
        if action == "kill":
            self.kill(task.process, where)
        elif action == "stall":
            self.counts["stalls"] += 1
            self.note(f"stalls at {where}")
            task.process.stalled = self.now + STALLED * (0.01 if number % 2 else 1)
            task.wake = self.now
            self._to_hub()
        elif action == "late" and self.late:
            self.deliver(number)
        elif action == "switch" or action in ("fail", "lose", "interrupt", "late", "refuse"):
            others = [each for each in self._ready() if each is not task]
            if others:
                self.counts["switches"] += 1
                chosen = others[number % len(others)]
                self.note(f"{where}: {chosen.process.name} #{chosen.operation} goes on")
                self._next = chosen
                self._to_hub()

    _next: Task | None = None

    def deliver(self, number: int = 0) -> None:
        """Let a late write take effect."""
        late = self.late.pop(number % len(self.late))
        self.counts["late writes"] += 1
        self.note(f"arrives late: {late.what}")
        self.tick()
        self.author = late.operation
        try:
            late.effect()
        finally:
            self.author = None

    def kill(self, process: Process, where: str) -> None:
        """Kill a process. If it is the current one, this never returns."""
        self.counts["kills"] += 1
        self.note(f"killed at {where}")
        process.alive = False
        for held in list(process.holds):
            held.drop()
        process.holds.clear()
        self.on_kill(process)
        if self.current is not None and self.current.process is process:
            self._to_hub()
            raise Over  # only when the world ends

    # Waiting

    def sleep(self, seconds: float) -> None:
        """Wait for this many seconds of the world's time."""
        if self.over:
            raise Over
        task = self.current
        self.tick()
        if task is None:
            self.now += seconds
            return
        task.wake = self.now + seconds
        self._to_hub()

    def wait_for(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until a condition holds, at most for this number of seconds (None: for ever). Returns whether it holds."""
        if self.over:
            raise Over
        task = self.current
        if condition():
            return True
        if task is None:
            raise AssertionError("nobody else is there to wait for")
        task.condition = condition
        task.wake = None if seconds is None else self.now + seconds
        self._to_hub()
        return condition()

    # Running

    def process(self, name: str) -> Process:
        """A new process."""
        made = Process(name, len(self.processes))
        self.processes.append(made)
        return made

    def start(self, process: Process, body: Callable[[], None]) -> Task:
        """A new thread of a process."""
        task = Task(process, body)
        task.greenlet = greenlet(self._run_body, parent=self._hub)
        self.tasks.append(task)
        return task

    def run(self) -> None:
        """Run all tasks until no task can go on."""
        while not self.over:
            task = self._choose_task()
            if task is None:
                return
            self._resume(task)
            if self.step > MOST_STEPS:
                self.problem(f"still not done after {MOST_STEPS} steps")
                return

    def finish(self) -> None:
        """End the world: let go of what killed processes have left where they stood."""
        self.over = True
        for task in self.tasks:
            if task.ended is None and task.greenlet:
                with suppress(BaseException):
                    task.greenlet.throw(GreenletExit)

    def load(self, process: Process) -> None:
        """Make a process the one whose memory modules have."""
        if self._loaded is not process:
            self.on_switch(self._loaded, process)
            self._loaded = process

    def _run_body(self, task: Task) -> None:
        try:
            task.body()
        finally:
            task.ended = self.step

    def _resume(self, task: Task) -> None:
        task.wake = task.condition = None
        self.load(task.process)
        self.current = task
        try:
            if task.greenlet:
                task.greenlet.switch()
            else:
                task.greenlet.switch(task)
        finally:
            self.current = None
            # Modules keep the memory of the process that ran last, which may have been killed.

    def _to_hub(self) -> None:
        task = self.current
        self._hub.switch()
        if self.over:
            raise Over
        self.current = task

    def _ready(self) -> list[Task]:
        return [
            each
            for each in self.tasks
            if each.ended is None
            and each.process.alive
            and each.process.stalled <= self.now
            and (
                (each.wake is None and each.condition is None)
                or (each.wake is not None and each.wake <= self.now)
                or (each.condition is not None and each.condition())
            )
        ]

    def _choose_task(self) -> Task | None:
        chosen, self._next = self._next, None
        ready = self._ready()
        if chosen in ready:
            return chosen
        if not ready:
            waiting = [
                t.process.stalled if t.process.stalled > self.now else t.wake
                for t in self.tasks
                if t.ended is None and t.process.alive and (t.wake is not None or t.process.stalled > self.now)
            ]
            if not waiting:
                stuck = [t for t in self.tasks if t.ended is None and t.process.alive]
                if stuck:
                    names = ", ".join(f"{t.process.name} ({t.label})" for t in stuck)
                    self.problems.append(f"step {self.step}: waits for ever: {names}")
                return None
            self.now = max(self.now, min(waiting))
            ready = self._ready()
        if len(ready) == 1 or self.quiet:
            return ready[0]
        self._hub_points += 1
        return ready[self.choices.at((-1, self._hub_points)) % len(ready)]


__all__ = [
    "CALLS",
    "PLACES",
    "READS",
    "WRITES",
    "Cancelled",
    "Choices",
    "Failure",
    "Over",
    "Point",
    "Process",
    "Task",
    "World",
]
