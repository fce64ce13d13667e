"""The operations of processes in a simulated world, and the laws for each result."""

from __future__ import annotations

import asyncio
import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from inspect import iscoroutine
from operator import mul
from typing import Any

from leafspan import BM25, AutoMerging, DocumentNotFound, F, Hybrid, Index, Passage, Tree, Vector
from leafspan.errors import ConcurrentUpdate, InvalidDocument, StorageFailed, WriterBusy
from leafspan.values import run_of_id
from leafspan.view import View
from tests.simulation.documents import (
    ALL,
    EQUAL,
    FIRST_EQUAL,
    GROUPS,
    WHOLE,
    Expected,
    Joining,
    Stored,
    document,
    embed,
    expected,
    first_words,
    pairs,
    refused_document,
    scope,
)
from tests.simulation.history import History
from tests.simulation.locks import ThreadLock
from tests.simulation.replaced import complete
from tests.simulation.scenario import Operation
from tests.simulation.world import Over, Process, World

_STRATEGIES: dict[str, Any] = {
    "vector": Vector(),
    "nearest": Vector(),
    "reaching": Vector(min_score=0.9999),
    "words": BM25(),
    "hybrid": Hybrid(),
    "merging": AutoMerging(max_words=None),
    "filtered": Vector(),
}
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Outcome:
    """What became of an operation.

    Attributes:
        operation: The operation.
        start: The step at which it began.
        end: The step at which it ended.
        error: What it raised, None if it has ended well.
    """

    operation: Operation
    start: int
    end: int
    error: BaseException | None


class Actor:
    """A process that has an index open.

    Args:
        world: The world.
        process: The process.
        history: The history of the index.
        open_index: Function that opens the index.
        native: Whether the process runs in an event loop.
        opens_once: Whether its threads share one index. If not, each thread opens its own.
    """

    def __init__(
        self,
        world: World,
        process: Process,
        history: History,
        open_index: Callable[[], Any],
        *,
        native: bool,
        opens_once: bool,
    ) -> None:
        self._world = world
        self._process = process
        self._history = history
        self._open = open_index
        self._native = native
        self._expected: Expected = expected()
        self._index: Index | None = None
        self._opens_once = opens_once
        self._opening: AbstractContextManager[Any] = ThreadLock(world) if opens_once else nullcontext()

    def do(self, operation: Operation) -> Outcome:
        """Do an operation, and check its result."""
        world = self._world
        start = world.tick()
        world.note(f"begins {operation}")
        self._history.begins(operation.number)
        world.counts["operations"] += 1
        error: BaseException | None = None
        try:
            result = self._call(operation)
        except Over:
            raise
        except (Exception, KeyboardInterrupt, asyncio.CancelledError) as raised:
            error = raised
            self._check_error(operation, raised, start)
        else:
            self._check(operation, result, start)
        world.tick()
        world.note(f"ends {operation}" + (f": {error!r}" if error else ""))
        return Outcome(operation, start, world.step, error)

    # Calls

    def _call(self, operation: Operation) -> Any:
        with self._opening:
            if self._index is None:
                self._index = self._done(self._open())
        view = scope(self._index, operation.view)
        return getattr(self, "_" + operation.kind.replace(" ", "_"))(view, operation)

    def _done(self, result: Any) -> Any:
        return complete(result) if iscoroutine(result) else result

    def _method(self, view: View, name: str) -> Callable[..., Any]:
        if not self._native:
            return getattr(view, name)  # type: ignore[no-any-return]
        method = getattr(view, "a_sync" if name == "sync" else f"a{name}")
        return lambda *arguments, **options: complete(method(*arguments, **options))

    def _offer(self, view: View, operation: Operation) -> Any:
        """Offer a document that must be refused."""
        try:
            return self._method(view, "add")(refused_document(operation.ids[0], operation.number))
        except InvalidDocument:
            self._world.counts["documents refused"] += 1
            return None

    def _documents_of(self, operation: Operation) -> list[Any]:
        return [document(operation.view, id_, version) for id_, version in operation.documents]

    def _add(self, view: View, operation: Operation) -> Any:
        return self._method(view, "add")(self._documents_of(operation))

    def _sync(self, view: View, operation: Operation) -> Any:
        return self._method(view, "sync")(self._source(operation), within=F("group") == operation.group, allow_empty=True)

    def _source(self, operation: Operation) -> Iterator[Any]:
        """The documents of an operation, read one after the other while others go on."""
        self._history.reads_source(operation.number)
        for each in self._documents_of(operation):
            self._world.point("a document of a source is read")
            yield each

    def _delete(self, view: View, operation: Operation) -> Any:
        ids = [self._expected.ids[operation.view, id_] if operation.view == WHOLE else id_ for id_ in operation.ids]
        return self._method(view, "delete")(ids)

    def _delete_where(self, view: View, operation: Operation) -> Any:
        where = F("group") == operation.group
        return self._method(view, "delete")(where=where & (F("v") >= operation.least) if operation.least else where)

    def _doctor(self, view: View, operation: Operation) -> Any:
        return self._method(view, "repair")()

    def _build(self, view: View, operation: Operation) -> Any:
        return self._method(view, "build_tree")(summarizer=Joining(), clusterer=pairs, across_documents=True)

    def _get(self, view: View, operation: Operation) -> Any:
        try:
            return self._method(view, "get")(operation.ids[0])
        except DocumentNotFound:
            return None

    def _retrieve(self, view: View, operation: Operation) -> Any:
        strategy = _STRATEGIES[operation.kind]
        where = None
        if operation.group or operation.least:
            where = F("group") == operation.group if operation.group else F("v") >= operation.least
        if operation.kind == "reaching":
            return self._method(view, "retrieve")(EQUAL, strategy)
        count = operation.count or ALL
        return self._method(view, "retrieve")(_query(operation), strategy, k=count, candidates=count, where=where)

    _vector = _reaching = _nearest = _words = _hybrid = _merging = _filtered = _retrieve

    def _tree(self, view: View, operation: Operation) -> Any:
        return self._method(view, "retrieve")("all tea", Tree(keep_covered_summaries=True), k=ALL, candidates=ALL)

    def _list_documents(self, view: View, operation: Operation) -> Any:
        return self._method(view, "documents")()

    def _documents(self, view: View, operation: Operation) -> Any:
        return self._method(view, "documents")()

    def _leaves(self, view: View, operation: Operation) -> Any:
        return self._method(view, "leaves")()

    def _summaries(self, view: View, operation: Operation) -> Any:
        return self._method(view, "summaries")()

    # Checks

    def _check_error(self, operation: Operation, error: BaseException, start: int) -> None:
        """Whether an operation may end with this error."""
        world = self._world
        chain: BaseException | None = error
        while chain is not None:
            if isinstance(chain, KeyboardInterrupt | asyncio.CancelledError) or getattr(chain, "simulated", False):
                world.counts["operations that failed"] += 1
                return
            chain = chain.__cause__ or chain.__context__
        at_work = [each for each in world.tasks if each.process.alive and (each.ended is None or each.ended > start)]
        if (
            isinstance(error, WriterBusy) and self._opens_once
        ):  # behind a server, only threads of a process wait for each other
            at_work = [each for each in at_work if each.process is self._process]
        if isinstance(error, WriterBusy | ConcurrentUpdate) and len(at_work) > 1:
            world.counts[type(error).__name__] += 1
            return
        if isinstance(error, StorageFailed) and "an earlier write" in str(error) and self._failed_since(start):
            world.counts["told of another thread's failure"] += 1
            return
        if isinstance(error, InvalidDocument) and "cannot be stored under this id" in str(error):
            return
        world.problem(f"{operation} raises {type(error).__name__}: {error}")

    def _failed_since(self, start: int) -> bool:
        """Whether the disk has failed for another thread of the process since this step: both have one client of Chroma."""
        return bool(self._process.memory.get("failed", -1) >= start)

    def _check(self, operation: Operation, result: Any, start: int) -> None:
        match operation.kind:
            case "add":
                reported = sorted([*result.added, *result.replaced])
                self._check_written(operation, reported, start)
                given = sorted(id_ for id_, _ in operation.documents)
                if len(reported) + result.unchanged != len(given) or not set(reported) <= set(given):
                    self._world.problem(f"{operation} reports {result}")
            case "sync":
                self._check_written(operation, [*result.added, *result.replaced], start)
                kept = {id_ for id_, _ in operation.documents}
                for id_ in self._covered(operation):
                    if id_ not in {self._expected.ids[operation.view, each] for each in kept}:
                        self._check_gone(operation, id_, start)
            case "delete":
                for id_ in operation.ids:
                    self._check_was(operation, self._expected.ids[operation.view, id_], None, start)
            case "delete where":
                for id_ in self._covered(operation):
                    self._check_gone(operation, id_, start)
            case "nearest":
                self._check_nearest(operation, result, start)
            case "get":
                stored_id = self._stored_id(operation.view, operation.ids[0])
                stored = None
                if result is not None:
                    stored = self._version_with(stored_id, result.text, result.metadata)
                    if stored is None:
                        self._world.problem(f"{operation} is no version of it: {result.text!r} {result.metadata!r}")
                        return
                self._saw(operation, stored_id, stored.version if stored else None, start)
            case "documents":
                found = {each.id: each for each in result}
                for shown, stored_id in self._expected.visible[operation.view].items():
                    info = found.pop(shown, None)
                    seen = None
                    if info is not None:
                        versions = self._expected.versions[stored_id].values()
                        seen = next((each for each in versions if each.metadata == info.metadata), None)
                        if seen is None or (seen.count, len(seen.text)) != (info.leaves, info.characters):
                            self._world.problem(f"{operation} shows {info}")
                            continue
                    self._saw(operation, stored_id, seen.version if seen else None, start)
                for id_ in found:
                    self._world.problem(f"{operation} shows {id_!r}, which it must not")
            case "summaries" | "tree":
                summaries = [each for each in result if each.summary is not None]
                self._check_summaries(operation, summaries, start)
                if operation.kind == "tree":
                    self._check_passages(operation, [each for each in result if each.summary is None], start)
            case "offer":
                if result is not None:
                    self._world.problem(f"{operation}: a document is accepted that Chroma's tables refuse")
            case "leaves" | "vector" | "reaching" | "words" | "hybrid" | "merging" | "filtered":
                self._check_passages(operation, result, start)
            case "doctor":
                for finding in result:
                    if not finding.repaired:
                        self._world.problem(f"the doctor cannot repair: {finding}")
            case "build":
                if result.failed:
                    self._world.problem(f"{operation} fails: {result.failed}")

    def _covered(self, operation: Operation) -> list[str]:
        """The stored ids of the documents that a sync or a filter covers."""
        return [
            stored_id
            for stored_id in self._expected.visible[operation.view].values()
            if self._group(stored_id) == operation.group
        ]

    def _group(self, stored_id: str) -> int:
        return next(GROUPS[key] for key, id_ in self._expected.ids.items() if id_ == stored_id)

    def _stored_id(self, view: str, shown: str) -> str:
        return self._expected.visible[view][shown]

    def _version_with(self, stored_id: str, text: str, metadata: Any) -> Stored | None:
        versions = self._expected.versions[stored_id].values()
        return next((each for each in versions if (each.text, each.metadata) == (text, metadata)), None)

    def _check_written(self, operation: Operation, reported: Sequence[str], start: int) -> None:
        """What was written was current at some time meanwhile; what was not, since it was there, may have been seen so."""
        for id_, number in operation.documents:
            stored_id = self._expected.ids[operation.view, id_]
            version = self._expected.versions[stored_id][number].version
            if id_ in reported or version not in self._history.legal(stored_id, start, self._world.step):
                self._check_was(operation, stored_id, version, start)

    def _check_was(self, operation: Operation, stored_id: str, version: str | None, start: int) -> None:
        current = self._history.current(stored_id, start, self._world.step)
        if version not in current:
            self._world.problem(f"{operation} has ended well, but {stored_id} was {current} and never {version}")

    def _check_gone(self, operation: Operation, stored_id: str, start: int) -> None:
        """What a filter or a sync covers is deleted, unless others have changed it meanwhile: then it may stay."""
        legal = self._history.legal(stored_id, start, self._world.step)
        if len(legal) == 1 and self._matches(operation, stored_id, self._expected.of_version(stored_id, *legal)):
            self._check_was(operation, stored_id, None, start)

    def _saw(self, operation: Operation, stored_id: str, version: str | None, start: int) -> None:
        """Whether a document may have been seen in this version, and no older one than before."""
        legal = self._history.legal(stored_id, start, self._world.step)
        if version not in legal:
            self._world.problem(f"{operation} shows version {version} of {stored_id}, may be {sorted(map(str, legal))}")
            return
        self._history.saw(self._process, stored_id, version, start)

    def _check_passages(self, operation: Operation, passages: Iterable[Passage], start: int) -> None:
        """Passages are pieces of one version of each document, and together all of it."""
        pieces = self._pieces(operation, passages)
        for stored_id in self._expected.visible[operation.view].values():
            self._check_whole(operation, stored_id, pieces.get(stored_id, []), start)

    def _check_nearest(self, operation: Operation, passages: Sequence[Passage], start: int) -> None:
        """Passages are leaves of one version of each document, and no leaf that must be found is nearer than one of them."""
        near = _nearness(_query(operation))
        pieces = self._pieces(operation, passages)
        found = {id_: {each.start: near(it.vectors[each.start]) for each, it in parts} for id_, parts in pieces.items()}
        scores = [score for leaves in found.values() for score in leaves.values()]
        if len(scores) > operation.count:
            self._world.problem(f"{operation} shows {len(scores)} leaves")
        farthest = min(scores) if len(scores) == operation.count else -1.0
        for stored_id in self._expected.visible[operation.view].values():
            legal = self._history.legal(stored_id, start, self._world.step)
            versions = {each.version for _, each in pieces.get(stored_id, [])}
            if len(versions) > 1:
                self._world.problem(f"{operation} shows {stored_id} in versions {sorted(versions)}")
                continue
            for version in versions:
                self._saw(operation, stored_id, version, start)
            stored = self._expected.of_version(stored_id, *(versions or legal)) if len(versions or legal) == 1 else None
            if stored and versions and not self._matches(operation, stored_id, stored):
                self._world.problem(f"{operation} shows {stored_id} v{stored.number}, which does not match")
            if stored is None or not self._matches(operation, stored_id, stored):
                continue
            for begin, vector in stored.vectors.items():
                if begin not in found.get(stored_id, {}) and near(vector) > farthest + _TOLERANCE:
                    self._world.problem(f"{operation} lacks {stored_id} from {begin} on, nearer than what it shows")

    def _pieces(self, operation: Operation, passages: Iterable[Passage]) -> dict[str, list[tuple[Passage, Stored]]]:
        """The passages of each document, by its stored id, with the version that each is a piece of."""
        visible = self._expected.visible[operation.view]
        pieces: dict[str, list[tuple[Passage, Stored]]] = defaultdict(list)
        for passage in passages:
            stored_id = visible.get(passage.document_id)
            if stored_id is None:
                self._world.problem(f"{operation} shows {passage.id}, which it must not")
                continue
            run = run_of_id(passage.id)
            stored = self._expected.of_version(stored_id, run[0].version if run else None)
            if stored is None or stored.text[passage.start : passage.end] != passage.text or not passage.text:
                self._world.problem(f"{operation}: {passage.id} ({passage.start}-{passage.end}) is wrong: {passage.text!r}")
                continue
            if dict(passage.metadata) != stored.metadata:
                self._world.problem(f"{operation}: {passage.id} carries {passage.metadata}")
            pieces[stored_id].append((passage, stored))
        return pieces

    def _check_whole(self, operation: Operation, stored_id: str, found: list[tuple[Passage, Stored]], start: int) -> None:
        versions = {each.version: each for _, each in found}
        if len(versions) > 1:
            self._world.problem(f"{operation} shows {stored_id} in versions {sorted(versions)}")
            return
        if found:
            (stored,) = versions.values()
            if not self._matches(operation, stored_id, stored):
                self._world.problem(f"{operation} shows {stored_id} v{stored.number}, which does not match")
            if "".join(each.text for each, _ in sorted(found, key=lambda it: it[0].start)) != stored.text:
                self._world.problem(f"{operation} shows {stored_id} in part: {[each.id for each, _ in found]}")
            self._saw(operation, stored_id, stored.version, start)
            return
        # Nothing of it: so it must have been possible that it was not there, or had no text, or did not match.
        legal = self._history.legal(stored_id, start, self._world.step)
        for version in legal:
            stored_version = self._expected.of_version(stored_id, version)
            if (
                stored_version is None
                or not stored_version.count
                or not self._matches(operation, stored_id, stored_version)
            ):
                return
        self._world.problem(f"{operation} lacks {stored_id}, which may be {sorted(map(str, legal))}")

    def _matches(self, operation: Operation, stored_id: str, stored: Stored | None) -> bool:
        """Whether a version of a document is among those to which an operation keeps. No version is."""
        of_group = not operation.group or self._group(stored_id) == operation.group
        of_version = stored is None or stored.number >= FIRST_EQUAL or operation.kind != "reaching"
        return of_group and of_version and (stored is None or stored.number >= operation.least)

    def _check_summaries(self, operation: Operation, summaries: Iterable[Passage], start: int) -> None:
        """Each summary is made of the leaves that it says it covers, and these were current."""
        visible = self._expected.visible[operation.view]
        for passage in summaries:
            assert passage.summary is not None
            words: list[str] = []
            for cover in passage.summary.covers:
                stored_id = visible.get(cover.document_id)
                if stored_id is None:
                    self._world.problem(f"{operation}: {passage.id} covers {cover.document_id}, which it must not show")
                    return
                stored = self._expected.of_version(stored_id, cover.version)
                legal = self._history.legal(stored_id, start, self._world.step)
                if stored is None or cover.version not in legal:
                    self._world.problem(f"{operation}: {passage.id} covers {cover}, where {stored_id} may be {legal}")
                    return
                words += first_words(stored.text[cover.start : cover.end])
            if sorted(words) != first_words(passage.text):
                self._world.problem(f"{operation}: {passage.id} covers {sorted(words)}, and says {passage.text!r}")


def _query(operation: Operation) -> str:
    """The question of an operation. Where few leaves are wanted, others are near each time."""
    return f"tea {operation.number}" if operation.count else "all tea"


def _nearness(query: str) -> Callable[[Sequence[float]], float]:
    """A function from a vector to its cosine similarity to a query's vector."""
    (one,) = embed([query]).tolist()

    def near(other: Sequence[float]) -> float:
        return sum(map(mul, one, other)) / math.hypot(*one) / math.hypot(*other)

    return near


@functools.cache
def allowed_versions(operation: Operation) -> dict[str, set[str | None]]:
    """The versions that an operation may give to documents, by stored id. None deletes."""
    every = expected()
    allowed: dict[str, set[str | None]] = defaultdict(set)
    if operation.kind in ("add", "sync"):
        for id_, version in operation.documents:
            stored_id = every.ids[operation.view, id_]
            allowed[stored_id].add(every.versions[stored_id][version].version)
    if operation.kind == "delete":
        for id_ in operation.ids:
            allowed[every.ids[operation.view, id_]].add(None)
    if operation.kind in ("sync", "delete where"):
        kept = {every.ids[operation.view, id_] for id_, _ in operation.documents}
        for stored_id in every.visible[operation.view].values():
            group = next(GROUPS[key] for key, id_ in every.ids.items() if id_ == stored_id)
            if group == operation.group and stored_id not in kept:
                allowed[stored_id].add(None)
    return allowed
