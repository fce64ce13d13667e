"""A scenario: the operations of a run, their processes, and possible events in between. All follow from one number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, repeat

from tests.simulation.choices import Point
from tests.simulation.documents import GROUPS, IDS, VERSIONS, VIEWS, WHOLE
from tests.simulation.world import PLACES

STORES = ("folder", "server")

READS = (
    "get",
    "vector",
    "reaching",
    "nearest",
    "words",
    "hybrid",
    "merging",
    "filtered",
    "documents",
    "leaves",
    "tree",
    "summaries",
)
WRITES = ("add", "offer", "delete", "delete where", "sync", "doctor", "build")


@dataclass(frozen=True)
class Operation:
    """Something that a process does.

    Attributes:
        number: Its number, which tells it apart from all others.
        kind: What is done: one of ``READS`` or ``WRITES``.
        view: The view in which it is done.
        documents: The documents that are added, as (id, version).
        ids: The ids of documents that are read or deleted.
        group: The group of documents that a sync covers, or the one to which a filter keeps. 0 for all.
        least: The least version to which a filter keeps. 0 for all.
        count: Number of leaves that are wanted. 0 for all.
    """

    number: int
    kind: str
    view: str = WHOLE
    documents: tuple[tuple[str, int], ...] = ()
    ids: tuple[str, ...] = ()
    group: int = 0
    least: int = 0
    count: int = 0

    def __str__(self) -> str:
        what = [f"{id_} v{version}" for id_, version in self.documents] + list(self.ids)
        count = f"{self.count} " if self.count else ""
        where = f" in {self.view}" if self.view else ""
        group = f" of group {self.group}" if self.group else ""
        least = f" from v{self.least}" if self.least else ""
        return f"#{self.number} {self.kind} {count}{', '.join(what)}{group}{least}{where}".replace("  ", " ")


@dataclass(frozen=True)
class ProcessPlan:
    """What a process does.

    Attributes:
        name: Its name.
        native: Whether it runs in an event loop, with an asynchronous client where there is a server.
        threads: What each of its threads does, one operation after the other.
        brief: Whether each operation is done by a new process, which opens the index for it.
    """

    name: str
    native: bool
    threads: tuple[tuple[Operation, ...], ...]
    brief: bool = False


@dataclass(frozen=True)
class Scenario:
    """All that decides a run.

    Attributes:
        seed: The number that it was made from.
        store: ``"folder"`` or ``"server"``.
        first: What is there at the beginning.
        processes: What is done.
        rate: Share of points at which something happens.
        actions: What can happen, each as often as it is likely.
        batch: Most records of one write.
        threshold: Records after which an embedded Chroma writes its files.
        recovery: How all is made whole at the end: ``"doctor"`` repairs it; or what was interrupted is done again, with the
            ``"same"`` versions of documents or with ``"other"`` ones.
        loses: Whether a leaf or summary is lost at the end, which the doctor names and writing restores.
        places: Where things happen: see ``PLACES``.
        events: What happens at which point. None: what follows from the seed.
    """

    seed: int
    store: str
    first: tuple[Operation, ...]
    processes: tuple[ProcessPlan, ...]
    rate: float
    actions: tuple[str, ...]
    batch: int
    threshold: int
    recovery: str
    loses: bool
    places: str
    events: Mapping[Point, int] | None = field(default=None, compare=False)

    @property
    def has_trees(self) -> bool:
        """Whether trees are built."""
        later = [each for plan in self.processes for thread in plan.threads for each in thread]
        return any(each.kind == "build" for each in (*self.first, *later))


_BESIDE = 10_000  # more than there are operations


def number_beside(number: int, place: int) -> int:
    """The number of what an operation does beside itself, in a thread of its own.

    Args:
        number: Number of the operation.
        place: Place of the thread among those that it starts together.
    """
    return number + _BESIDE * (place + 1) * (-1 if number < 0 else 1)


def whole_number(number: int) -> int:
    """The number of the operation that something is a part of."""
    return abs(number) % _BESIDE * (-1 if number < 0 else 1)


def scenario_of(seed: int, store: str | None = None) -> Scenario:
    """The scenario of a seed.

    Args:
        seed: The seed.
        store: ``"folder"`` or ``"server"``. None for one that follows from the seed.
    """
    chance = random.Random(seed)
    store = store or chance.choice(STORES)
    chance = random.Random(f"{seed} {store}")
    if seed % 8 in (3, 5):
        return _read_beside_a_writer(seed, store, chance)
    if seed % 8 == 1:
        return _write_the_same(seed, store, chance)
    maker = _Maker(chance, store)
    first = maker.first()
    processes = tuple(maker.plan(number) for number in range(maker.count))
    # Each run has only some of all events, so that none hides what others would find.
    actions = ["switch"] * chance.choice((2, 6, 12))
    for action, share in (("kill", 0.6), ("fail", 0.35), ("lose", 0.35), ("interrupt", 0.25), ("stall", 0.15)):
        if chance.random() < share:
            actions += [action] * chance.choice((1, 2))
    if store == "server" and chance.random() < 0.2:
        actions += ["late"] * 2
    if store == "folder" and chance.random() < 0.4:
        actions += ["refuse"] * 2
    return Scenario(
        seed,
        store,
        first,
        processes,
        rate=chance.choice((0.01, 0.03, 0.08, 0.2)),
        actions=tuple(actions),
        batch=chance.choice((3, 5, 100)),
        threshold=chance.choice((4, 8, 20, 1_000)),
        recovery=chance.choice(("doctor", "same", "other")),
        loses=chance.random() < 0.2,
        places=chance.choice(("calls", "calls", "reads")),
    )


def _read_beside_a_writer(seed: int, store: str, chance: random.Random) -> Scenario:
    """Documents come and go while other processes read: few other scenarios get so close."""
    numbers = iter(range(1, 1_000))
    ids = IDS[WHOLE][:2]  # of one group, which has one writer
    there = IDS[WHOLE][2 * chance.randrange(2) :]  # at first
    # A version that comes and goes between all attempts of a reading looks as if it were damaged.
    versions = cycle(chance.sample(VERSIONS, len(VERSIONS)))
    deletions = chance.choice((0.15, 0.4))
    # Each run has few ways of reading, so that one follows often on another one. Some look a document up, and then search:
    # there, whole readings are done between the steps of a writer, and else a writer does steps within a reading.
    looks_up = chance.random() < 0.5
    searches = chance.sample(("vector", "vector", "nearest", "nearest", "words", "hybrid", "merging", "filtered"), 2)
    kinds = cycle(("get", "words")) if looks_up else map(chance.choice, repeat(searches))

    def writing() -> Operation:
        if chance.random() < deletions:
            return Operation(next(numbers), "delete", ids=ids)
        version = next(versions)
        return Operation(next(numbers), "add", documents=tuple((id_, version) for id_ in ids))

    def reading() -> Operation:
        kind = next(kinds)
        return Operation(next(numbers), kind, ids=(chance.choice(ids),) if kind == "get" else (), **_asked(kind, chance))

    return Scenario(
        seed,
        store,
        (Operation(-1, "add", documents=tuple((id_, chance.choice(VERSIONS)) for id_ in there)),),
        (
            ProcessPlan("P", chance.random() < 0.3, (tuple(writing() for _ in range(8)),)),
            *(
                ProcessPlan(name, chance.random() < 0.3, (tuple(reading() for _ in range(12)),), chance.random() < 0.2)
                for name in "QRS"[: chance.choice((1, 2, 3))]
            ),
        ),
        rate=0.5 if looks_up else chance.choice((0.15, 0.25, 0.35)),
        actions=("switch",) * 12 + chance.choice(((), ("stall",), ("kill",))),
        batch=chance.choice((2, 2, 3)),  # most documents are written by several calls
        threshold=1_000,
        recovery="same",
        loses=False,
        places="writes" if looks_up else chance.choice(("calls", "reads", "reads")),
    )


def _write_the_same(seed: int, store: str, chance: random.Random) -> Scenario:
    """Several writers at once add, replace, delete and sync the same few documents, of one group."""
    numbers = iter(range(1, 1_000))
    documents = [(view, id_) for (view, id_), group in GROUPS.items() if group == 1]

    def some(view: str, least: int) -> tuple[tuple[str, int], ...]:
        ids = [id_ for where, id_ in documents if where == view]
        return tuple((id_, chance.choice(VERSIONS)) for id_ in chance.sample(ids, chance.randint(least, len(ids))))

    def writing() -> Operation:
        view = chance.choice((WHOLE, WHOLE, "x"))
        kind = chance.choice((*["add"] * 4, *["sync"] * 3, "delete where", "delete"))
        if kind == "sync":
            return Operation(next(numbers), kind, view, some(view, 0), group=1)
        if kind == "delete where":
            return Operation(next(numbers), kind, view, group=1, least=chance.choice((0, 2, 3)))
        if kind == "delete":
            return Operation(next(numbers), kind, view, ids=tuple(id_ for id_, _ in some(view, 1)))
        return Operation(next(numbers), kind, view, some(view, 1))

    threads = [tuple(writing() for _ in range(4)) for _ in range(3)]
    # Behind a server a document has one writer at a time: threads of a process wait for each other.
    groups = [(each,) for each in threads] if store == "folder" else [tuple(threads)]
    return Scenario(
        seed,
        store,
        tuple(Operation(-1 - place, "add", view, some(view, 0)) for place, view in enumerate((WHOLE, "x"))),
        tuple(ProcessPlan(name, chance.random() < 0.3, group) for name, group in zip("PQR", groups, strict=False)),
        rate=chance.choice((0.03, 0.1, 0.25)),
        actions=("switch",) * 10 + chance.choice(((), (), ("kill",), ("fail", "lose"))),
        batch=chance.choice((2, 3, 5, 100)),
        threshold=chance.choice((4, 8, 20, 1_000)),
        recovery=chance.choice(("doctor", "same", "other")),
        loses=False,
        places=chance.choice(PLACES),
    )


class _Maker:
    """Makes the operations of a scenario."""

    def __init__(self, chance: random.Random, store: str) -> None:
        self._chance = chance
        self._store = store
        self._numbers = iter(range(1, 1_000))
        self.count = chance.choice((1, 2, 2, 3))
        self._few = chance.random() < 0.5  # whether few documents are fought for
        self._trees = chance.random() < 0.25
        # Behind a server, each group of documents has one writer, and the trees have one; the third process only reads.
        self._writers = self.count if store == "folder" else 1 if self._trees else min(self.count, 2)
        self._alone = self._writers == 1

    def first(self) -> tuple[Operation, ...]:
        """What is added before anything happens."""
        chance = self._chance
        operations = []
        for view in VIEWS:
            ids = [id_ for id_ in IDS[view] if chance.random() < (0.6 if view == WHOLE else 0.2)]
            if ids:
                documents = tuple((id_, chance.choice(VERSIONS)) for id_ in ids)
                operations.append(Operation(-len(operations) - 1, "add", view, documents))
        if self._trees and chance.random() < 0.5:
            operations.append(Operation(-9, "build"))
        return tuple(operations)

    def plan(self, number: int) -> ProcessPlan:
        """What a process does."""
        chance = self._chance
        writes = chance.choice((0.3, 0.6, 0.9)) if number < self._writers else 0.0
        threads = []
        for _ in range(chance.choice((1, 1, 1, 2))):
            operations = []
            for _ in range(chance.choice((1, 2, 3, 4))):
                operations.append(self._write(number) if chance.random() < writes else self._read())
            threads.append(tuple(operations))
        return ProcessPlan("PQR"[number], chance.random() < 0.3, tuple(threads))

    def _write(self, process: int) -> Operation:
        chance = self._chance
        number = next(self._numbers)
        kinds = ["add"] * 6 + ["delete"] * 2 + ["delete where", "sync", "sync", "offer"]
        if self._store == "folder" or self._alone:
            kinds += ["doctor"]
        if self._trees and (self._store == "folder" or process == 0):
            kinds += ["build"] * 3
        kind = chance.choice(kinds)
        group = chance.choice((1, 2)) if self._store == "folder" or self._alone else process + 1
        view = chance.choice((WHOLE, WHOLE, WHOLE, "x", "y"))
        ids = [id_ for id_ in IDS[view] if GROUPS[view, id_] == group]
        if not ids:
            view, ids = WHOLE, [id_ for id_ in IDS[WHOLE] if GROUPS[WHOLE, id_] == group]
        if self._few:
            ids = ids[:1]
        if kind in ("doctor", "build"):
            return Operation(number, kind)
        if kind == "offer":
            return Operation(number, kind, view, ids=tuple(ids[:1]))
        if kind == "delete where":
            return Operation(number, kind, view, group=group, least=chance.choice((0, 2, 3)))
        if kind == "delete":
            return Operation(number, kind, view, ids=tuple(chance.sample(ids, chance.randint(1, len(ids)))))
        if kind == "sync":
            chosen = chance.sample(ids, chance.randint(0, len(ids)))
            return Operation(number, kind, view, tuple((id_, chance.choice(VERSIONS)) for id_ in chosen), group=group)
        if self._store == "folder" and chance.random() < 0.4 and not self._few:
            ids = list(IDS[view])
        chosen = chance.sample(ids, chance.randint(1, len(ids)))
        return Operation(number, kind, view, tuple((id_, chance.choice(VERSIONS)) for id_ in chosen))

    def _read(self) -> Operation:
        chance = self._chance
        kinds = [*READS[:-2], "get", "vector", "filtered", *(READS[-2:] if self._trees else ())]
        kind = chance.choice(kinds)
        view = chance.choice((WHOLE, WHOLE, WHOLE, "x", "y"))
        ids = (chance.choice(IDS[view] if not self._few else IDS[view][:1] + IDS[view][-1:]),) if kind == "get" else ()
        return Operation(next(self._numbers), kind, view, ids=ids, **_asked(kind, chance))


def _asked(kind: str, chance: random.Random) -> dict[str, int]:
    """What a reading asks for."""
    if kind == "nearest":
        return {"count": chance.choice((1, 2, 3, 5)), **chance.choice(({}, {}, {"group": 1}, {"least": 2}))}
    if kind == "filtered":
        return chance.choice(({"group": 1}, {"group": 2}, {"least": 2}))
    return {}


__all__ = ["READS", "STORES", "WRITES", "Operation", "ProcessPlan", "Scenario", "scenario_of"]
