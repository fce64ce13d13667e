"""An index is re-embedded in a simulated world: the process is killed at any point, beside readers and a writer."""

from __future__ import annotations

import gc
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafspan import Document, Embedder, Index, Vector
from leafspan.errors import ConcurrentUpdate, IndexMismatch, WriterBusy
from tests.profiles import THOROUGH
from tests.simulation.choices import Choices, Point
from tests.simulation.documents import OPTIONS
from tests.simulation.replaced import replaced
from tests.simulation.running import _MEMORY, _prepare, _Run
from tests.simulation.scenario import STORES, Operation, Scenario
from tests.simulation.world import Process

OLD = OPTIONS["embedder"]
FIRST = (Operation(-1, "add", documents=(("a", 1), ("b", 1), ("c", 2))),)
REEMBEDDING, WRITING, READING = 1, 2, 3  # numbers of operations
MOST = 360  # points of a re-embedding, and a few more


def other(texts: list[str]) -> Any:
    """As many numbers as the present embedder has, and others."""
    numbers = [[zlib.crc32(f"other {number} {text}".encode()) % 1_000 / 500 - 1 for number in range(4)] for text in texts]
    return np.array(numbers, np.float32)


NEW = Embedder("other four", other, other, local=True)


class KilledOnce(Choices):
    """At one point of the reembedding its process is killed, and at others another process goes on."""

    def __init__(self, seed: int, place: int) -> None:
        super().__init__(seed, 0.2)
        self._kill = (REEMBEDDING, place)

    def at(self, point: Point) -> int:
        return 2 if point == self._kill else super().at(point) | 1 if super().at(point) else 0


class Reembedding:
    """One run: the reembedding, a writer that opens the index again when it must, and a reader that never does."""

    def __init__(self, store: str, place: int, folder: Path) -> None:
        scenario = Scenario(place, store, FIRST, (), 0.0, ("kill", "switch"), 3, 4, "same", False, "calls")
        self.run = _Run(scenario, folder, verbose=False)
        self.run._history._allowed = lambda document, version: True
        self.world = self.run._world
        self.added = {"a", "b", "c"}
        self.killed = False
        self._choices = KilledOnce(place, place)

    def opened(self, embedder: Embedder) -> Index:
        before = OPTIONS["embedder"]
        OPTIONS["embedder"] = embedder
        try:
            return self.run._open(native=False)  # type: ignore[no-any-return]
        finally:
            OPTIONS["embedder"] = before

    def is_new(self) -> bool:
        """Whether the new edition answers."""
        try:
            self.opened(NEW).retrieve("tea", Vector())
            return True
        except IndexMismatch:
            return False

    def check_answers(self, index: Index, embedder: Embedder, least: set[str]) -> None:
        """Check that all scores are by this embedder's vectors, and that all documents are there."""
        passages = index.retrieve("tea", Vector(), k=100, candidates=100)
        query, texts = embedder.documents(["tea"])[0], embedder.documents([each.text for each in passages])
        for each, vector in zip(passages, texts, strict=True):
            wanted = float(query @ vector / np.linalg.norm(query) / np.linalg.norm(vector))
            if abs(each.score - max(0.0, wanted)) > 1e-3 and abs(each.score - wanted) > 1e-3:
                self.world.problem(f"{each.id} has the score {each.score}, should have {wanted} by {embedder.name}")
        if missing := least - {each.document_id for each in passages}:
            self.world.problem(f"an answer lacks {missing}")

    def reembed(self) -> None:
        with suppress(WriterBusy, ConcurrentUpdate):
            self.opened(OLD).reembed(NEW, progress=False)

    def write(self) -> None:
        index = self.opened(NEW if self.is_new() else OLD)
        for number in range(3):
            document = Document(f"w{number}", f"w{number} tea\nmore tea {number}\n", metadata={"group": 1, "v": 1})
            for _ in range(5):
                try:
                    index.add(document)
                    self.added.add(document.id)
                    break
                except IndexMismatch:
                    index = self.opened(NEW if self.is_new() else OLD)
                except (WriterBusy, ConcurrentUpdate):
                    break

    def read(self) -> None:
        embedder = NEW if self.is_new() else OLD
        index = self.opened(embedder)
        try:
            self.check_answers(index, embedder, set())
        except IndexMismatch:  # the new edition has begun to answer before the first question
            self.read()
        else:
            for _ in range(4):
                self.check_answers(index, embedder, {"a", "b", "c"})

    def last(self) -> None:
        """What a new process makes of it: it goes on, and nothing is lost."""
        embedder = NEW if self.is_new() else OLD
        index = self.opened(embedder)
        self.check_answers(index, embedder, self.added)
        index.reembed(NEW, progress=False)
        self.check_answers(index, NEW, self.added)
        index.add(Document("last", "the last tea\n", metadata={"group": 1, "v": 1}))
        index.delete_spare()
        self.check_answers(index, NEW, {*self.added, "last"})
        for finding in index.check():
            self.world.problem(f"check finds {finding}")
        if index.count() != len(self.added) + 1:
            self.world.problem(f"there are {index.count()} documents, should be {len(self.added) + 1}")

    def start(self, name: str, number: int, work: Callable[[], None]) -> Process:
        process = self.world.process(name)
        process.memory |= {"plan": None, "left": []}

        def body() -> None:
            task = self.world.current
            assert task is not None
            task.operation, task.label, task.points = number, name, 0
            try:
                work()
            except Exception as error:
                self.world.problem(f"{type(error).__name__}: {error}")

        self.world.start(process, body)
        return process

    def report(self) -> tuple[str, ...]:
        world = self.world
        world.on_kill = lambda process: None
        with replaced(world, self.run._locks, self.run._history, self.run._disk), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.run._start()
            if self.run._server is not None:
                self.run._server.watch = lambda *_: None  # the history is of one edition
            world.choices = self._choices
            process = self.start("P", REEMBEDDING, self.reembed)
            if self.run._server is None:  # on a server, nobody may write during the last step
                self.start("W", WRITING, self.write)
            self.start("R", READING, self.read)
            world.run()
            self.killed = not process.alive
            world.quiet = True
            self.start("Z", 4, self.last)
            world.run()
            world.finish()
        return tuple(world.problems)


def run_killed_at(store: str, place: int) -> bool:
    """Whether the process was killed. It is not if the reembedding has fewer points."""
    _prepare()
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_MEMORY if _MEMORY.is_dir() else None))
    gc.disable()
    try:
        fresh = Reembedding(store, place, folder)
        assert fresh.report() == (), f"{store}: killed at point {place}"
        return fresh.killed
    finally:
        gc.enable()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("store", STORES)
def test_nothing_is_lost_or_mixed_wherever_it_is_killed(store: str) -> None:
    killed = [run_killed_at(store, place) for place in range(1, MOST, 1 if THOROUGH else 23)]
    assert any(killed)
    assert not all(killed)
