"""A whole run: from a scenario to its findings."""

from __future__ import annotations

import functools
import gc
import itertools
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leafspan import Index
from leafspan.engines.chroma import _chroma
from tests.simulation.choices import Choices, Point
from tests.simulation.documents import OPTIONS, VERSIONS, expected
from tests.simulation.embedded import Disk, stored_rows
from tests.simulation.history import History
from tests.simulation.locks import FileLocks
from tests.simulation.operations import Actor, Outcome, allowed_versions
from tests.simulation.records import Records
from tests.simulation.recovery import (
    check_doctor,
    check_forgotten,
    check_loss,
    check_reads,
    check_records,
    check_some_reads,
    check_trees,
    last_versions,
    other_versions,
)
from tests.simulation.replaced import replaced
from tests.simulation.scenario import WRITES, Operation, ProcessPlan, Scenario, whole_number
from tests.simulation.server import AsyncClient, Client, Server
from tests.simulation.world import Process, World

_MEMORY = Path("/dev/shm")
_TIMEOUT = 30.0


@dataclass(frozen=True)
class Report:
    """What a run has done and found.

    Attributes:
        scenario: The scenario.
        problems: What must not have been. Empty if all was well.
        counts: What was done, and how often.
        events: What happened at which point.
        log: All that was done, if that was asked for.
    """

    scenario: Scenario
    problems: tuple[str, ...]
    counts: Counter[str]
    events: Mapping[Point, int]
    log: tuple[str, ...]


def run_scenario(scenario: Scenario, *, verbose: bool = False) -> Report:
    """Run a scenario, and report what was found.

    Args:
        scenario: The scenario.
        verbose: Whether to log all that happens. Default: False.
    """
    _prepare()
    place = Path(tempfile.mkdtemp(prefix="simulation-", dir=_MEMORY if _MEMORY.is_dir() else None))
    # The garbage collector would run what is left of killed processes at any time.
    was_enabled = gc.isenabled()
    gc.disable()
    run = _Run(scenario, place, verbose=verbose)
    try:
        return run.report()
    finally:
        run.forget()
        if was_enabled:
            gc.enable()
        gc.collect()  # files that killed processes have left open
        shutil.rmtree(place, ignore_errors=True)


@functools.cache
def _prepare() -> None:
    """Make what all runs need, before anything is replaced; and let the collector forget all that was imported."""
    expected()
    gc.collect()
    gc.freeze()


class _Run:
    """One run."""

    def __init__(self, scenario: Scenario, place: Path, *, verbose: bool) -> None:
        self._scenario = scenario
        self._place = place
        choices = Choices(scenario.seed, scenario.rate, scenario.events)
        self._world = world = World(choices, scenario.actions, places=scenario.places, verbose=verbose)
        self._locks = FileLocks(world)
        self._history = History(world, self._records, self._may)
        self._server = self._disk = None
        if scenario.store == "server":
            self._server = Server(world, scenario.batch, self._history.watch)
            self._server.before = self._settle
        else:
            (place / "kb").mkdir()
            self._disk = Disk(world, place / "kb", scenario.batch, self._history.watch)
            self._history.token_announces = False
        self._operations: dict[int, Operation] = {each.number: each for each in scenario.first}
        for plan in scenario.processes:
            self._operations |= {each.number: each for thread in plan.threads for each in thread}
        self._outcomes: list[Outcome] = []
        self._begun: dict[int, tuple[Operation, int]] = {}
        self._actors: dict[int, Actor] = {}
        self._may_do_anything = False
        world.on_kill = self._restart

    def report(self) -> Report:
        """Run all of it."""
        world, scenario = self._world, self._scenario
        threshold = dict(_chroma._HNSW)
        _chroma._HNSW["sync_threshold"] = scenario.threshold
        try:
            copies = scenario.seed % 4 != 1
            put = replaced(world, self._locks, self._history, self._disk, copies=copies)
            with put, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", RuntimeWarning)
                self._start()
                world.run()
                if not world.problems:
                    self._recover()
                world.finish()
            for warning in warned:
                is_of_failure = str(warning.message).startswith("a segment cannot be stored with the index")
                if issubclass(warning.category, RuntimeWarning) and not is_of_failure:  # of damage, but nothing was damaged
                    world.problem(f"warns: {warning.message}")
            if not world.problems and scenario.has_trees:
                check_trees(world, self._history, self._records)
        finally:
            _chroma._HNSW.clear()
            _chroma._HNSW.update(threshold)
        problems = tuple(world.problems)
        return Report(scenario, problems, world.counts + Counter(steps=world.step), world.choices.made, tuple(world.log))

    def forget(self) -> None:
        """Let go of what the processes have open. What greenlets that were ended refer to, nobody collects."""
        self._actors.clear()
        vars(self._world).clear()

    # The run

    def _start(self) -> None:
        world = self._world
        if self._scenario.first:
            world.quiet = True
            first = ProcessPlan("0", False, (self._scenario.first,))
            self._begin(first)
            world.run()
            world.quiet = False
        for plan in self._scenario.processes:
            self._begin(plan)

    def _begin(self, plan: ProcessPlan) -> Process:
        """Start a process that carries out a plan."""
        world = self._world
        process = world.process(plan.name)
        process.memory["plan"] = plan
        process.memory["left"] = [list(thread) for thread in plan.threads]
        self._actors[process.number] = Actor(
            world,
            process,
            self._history,
            lambda: self._open(native=plan.native),
            native=plan.native,
            # Two indexes that are open behind a server are two writers, and must not write the same documents.
            opens_once=self._server is not None,
        )
        for thread in process.memory["left"]:
            world.start(process, self._body(process, thread))
        return process

    def _body(self, process: Process, left: list[Operation]) -> Callable[[], None]:
        def body() -> None:
            task = self._world.current
            assert task is not None
            while left:
                operation = left[0]
                task.operation, task.label, task.points = operation.number, str(operation), 0
                self._begun[operation.number] = (operation, self._world.step)
                self._world.point("before an operation")
                outcome = self._actors[process.number].do(operation)
                left.pop(0)
                del self._begun[operation.number]
                self._outcomes.append(outcome)
                if outcome.error is None:
                    self._check_done(outcome)
                if process.memory["plan"].brief:
                    self._end(process)
                    return

        return body

    def _end(self, process: Process) -> None:
        """End a process after an operation: a new one does the rest."""
        process.alive = False
        for held in list(process.holds):
            held.drop()
        self._restart(process)

    def _check_done(self, outcome: Outcome) -> None:
        """What must hold after an operation that has ended well."""
        operation = outcome.operation
        if self._disk is not None and (operation.kind in ("delete", "doctor") or (operation.kind == "add")):
            # It has finished what killed and failed writers had left, and told readers.
            self._history.announce(outcome.start)
        others = [each.operation for each in self._outcomes if each is not outcome and each.end > outcome.start]
        others += [each for each, _ in self._begun.values()]
        alone = not any(each.kind in WRITES for each in others)
        if operation.kind == "delete" and alone and not self._world.late:
            check_forgotten(self._world, operation, self._records)

    def _restart(self, process: Process) -> None:
        """After the end of a process: what it was at is interrupted, and the rest is done by a new one."""
        plan: ProcessPlan = process.memory["plan"]
        threads = []
        for left in process.memory["left"]:
            for operation in left[:1]:
                if operation.number in self._begun:
                    _, start = self._begun.pop(operation.number)
                    self._outcomes.append(Outcome(left.pop(0), start, self._world.step, KeyboardInterrupt()))
            threads.append(tuple(left))
        if any(threads):
            self._begin(replace(plan, threads=tuple(filter(None, threads))))

    # The end

    def _recover(self) -> None:
        """Do again what was interrupted, or let the doctor repair it; then look at everything."""
        world, scenario = self._world, self._scenario
        world.quiet = True
        while world.late:
            world.deliver()
        interrupted = [each.operation for each in self._outcomes if each.error is not None]
        possible = last_versions(self._history.documents(), self._outcomes)
        for id_, version in self._history.documents().items():
            if version not in possible.get(id_, {None}):
                world.problem(f"at the end {id_} has version {version}, should be one of {possible[id_]}")
        numbers = itertools.count(1_000)
        todo: list[Operation] = []
        if scenario.recovery == "same":
            todo = [replace(each, number=next(numbers)) for each in interrupted]
        elif scenario.recovery == "other":
            todo = list(other_versions(interrupted, numbers, every=scenario.store == "server"))
        repairs = scenario.recovery == "doctor" or (scenario.store == "server" and scenario.has_trees)
        build = Operation(next(numbers), "build")
        if scenario.has_trees:
            todo.append(build)
        last = self._continue(todo)
        self._alone(last, lambda index: check_doctor(world, index, repairs=repairs))
        if scenario.has_trees and repairs:
            last = self._continue([replace(build, number=next(numbers))])
        if world.problems:
            return
        check_records(world, self._history, self._records)
        if scenario.loses and not world.problems:
            last = self._lose_a_leaf(last, numbers)
        self._alone(last, lambda _: check_reads(self._actors[last.number], numbers, trees=scenario.has_trees))
        for process in [each for each in world.processes if each.alive and each is not last and each.name != "0"]:
            actor = self._actors[process.number]
            world.start(process, lambda actor=actor: check_some_reads(actor, numbers))
        world.run()

    def _lose_a_leaf(self, last: Process, numbers: Iterator[int]) -> Process:
        """Take away a leaf, or a summary of several documents: the doctor names it, and writing restores it.

        A document gets another version, since a restored one would have another than in a calm index. A summary of several
        documents gets the same one.
        """
        trees, leaves = self._records("kb.tree.leaves"), self._records("kb.leaves")
        layers = [id_ for id_ in trees.by_id if id_.startswith("leafspan:layer:")] if trees else []
        todo = []
        if trees is not None and layers:
            lost = min(layers)
            del trees.by_id[lost]
        elif leaves is not None and leaves.by_id:
            lost = min(leaves.by_id)
            del leaves.by_id[lost]
            stored_id, version, _ = lost.rsplit("#", 2)
            view, id_ = next(key for key, each in expected().ids.items() if each == stored_id)
            other = next(number for number in VERSIONS if expected().versions[stored_id][number].version != version)
            todo.append(Operation(next(numbers), "add", view, ((id_, other),)))
        else:
            return last
        if self._scenario.has_trees:
            todo.append(Operation(next(numbers), "build"))
        name = lost.rsplit("#", 2)[0]
        self._history.uncertain.add(name)
        self._alone(last, lambda index: check_loss(self._world, index, name))
        last = self._continue(todo)
        self._history.uncertain.clear()
        self._alone(last, lambda index: check_doctor(self._world, index, repairs=False))
        check_records(self._world, self._history, self._records)
        self._world.counts["lost leaves restored"] += 1
        return last

    def _continue(self, todo: list[Operation]) -> Process:
        """A new process that has done this."""
        self._operations |= {each.number: each for each in todo}
        process = self._begin(ProcessPlan("Z", False, (tuple(todo),)))
        self._world.run()
        return process

    def _alone(self, process: Process, work: Callable[[Index], None]) -> None:
        def body() -> None:
            task = self._world.current
            assert task is not None
            task.label = "at the end"
            try:
                work(self._open(native=False))
            except Exception as error:
                self._world.problem(f"at the end {type(error).__name__}: {error}")

        self._world.start(process, body)
        self._world.run()

    # What there is

    def _open(self, *, native: bool) -> Any:
        options: dict[str, Any] = {**OPTIONS, "timeout": _TIMEOUT}
        if self._server is None:
            path = self._place / "kb"
            return Index.aopen(path, **options) if native else Index.open(path, **options)
        # In every second run each process is on a machine of its own, and fetches what others have stored.
        task = self._world.current
        machine = task.process.name if task is not None and self._scenario.seed % 2 else ""
        options["cache_dir"] = self._place / f"cache{machine}"
        if native:
            return Index.aopen(client=AsyncClient(self._server), **options)
        return Index.open(client=Client(self._server), **options)

    def _records(self, name: str) -> Records | None:
        tables: Mapping[str, Any] = {}
        if self._server is not None:
            tables = self._server.collections
        elif self._disk is not None and name.endswith(".manifest"):
            return stored_rows(self._disk.path, name.removesuffix(".manifest"))
        elif self._disk is not None:
            tables = self._disk.tables
        return tables[name].records if name in tables else None

    def _may(self, document: str, version: str | None) -> bool:
        """Whether the operation at work may give a document this version."""
        operation = self._operation()
        if operation is None or version not in allowed_versions(operation).get(document, set()):
            return False
        if operation.kind == "sync" and version is None:
            return self._history.may_sync_away(operation.number, document)
        if operation.kind == "delete where":
            stored = expected().of_version(document, self._history.documents()[document])
            return stored is not None and stored.number >= operation.least
        return True

    def _operation(self) -> Operation | None:
        """The operation that is at work."""
        task = self._world.current
        number = self._world.author if self._world.author is not None else task.operation if task is not None else 0
        return self._operations.get(whole_number(number))

    def _settle(self) -> None:
        """Let those writes arrive that are late, of documents that the operation at work is about to write.

        Nobody can defend himself against a server that does two writes of the same record in another order than it got
        them, so the simulated one does not.
        """
        operation = self._operation()
        if self._world.author is not None or operation is None or operation.kind not in WRITES:
            return
        documents = allowed_versions(operation).keys()
        for place in reversed(range(len(self._world.late))):
            late = self._world.late[place]
            author = self._operations[whole_number(late.operation)]
            if author is not operation and (
                operation.kind in ("doctor", "build")
                or author.kind in ("doctor", "build")
                or documents & allowed_versions(author).keys()
            ):
                self._world.deliver(place)


__all__ = ["Report", "run_scenario"]
