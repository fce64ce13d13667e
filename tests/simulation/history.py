"""The current version of each document at each time, by Chroma's manifest, and so what a reader may see."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.records import Records
from tests.simulation.world import Process, World

CHANGES_ID = "leafspan:changes"


@dataclass(slots=True)
class Change:
    """A document got another current version, or none.

    Attributes:
        step: When.
        version: The version.
        announced: When a writer next said that there are changes. None before the first time.
    """

    step: int
    version: str | None
    announced: int | None = None


@dataclass(slots=True)
class Sight:
    """A process has seen a version of a document.

    Attributes:
        ended: When it had.
        place: The earliest place in the history of the document at which it may have been.
    """

    ended: int
    place: int


class History:
    """The versions of all documents of an index. It looks at each write, and knows what must hold of it.

    Args:
        world: The world.
        records: Function from the name of a collection to its records.
        allowed: Function that says whether the operation at work may give a document a version.

    Attributes:
        token_announces: Whether it is the token that tells readers of a change, as behind a client.
        uncertain: Trees that have lost summaries, whose other ones may be deleted to be written again.
    """

    def __init__(
        self, world: World, records: Callable[[str], Records | None], allowed: Callable[[str, str | None], bool]
    ) -> None:
        self._world = world
        self._records = records
        self._allowed = allowed
        self._changes: dict[str, list[Change]] = defaultdict(lambda: [Change(0, None, 0)])
        self._tree_versions: dict[str, str | None] = {}
        self._seen: dict[tuple[int, str], list[Sight]] = defaultdict(list)
        self._unannounced: list[Change] = []
        self._sources: dict[int, tuple[int, int]] = {}
        self.token_announces = True
        self.uncertain: set[str] = set()

    def documents(self) -> dict[str, str | None]:
        """The current version of each document."""
        return {id_: changes[-1].version for id_, changes in self._changes.items()}

    def legal(self, document: str, start: int, end: int) -> set[str | None]:
        """The versions in which a reader between two steps may see a document.

        That are those that were current then, and those before them whose successor was not announced when it began.
        """
        changes = self._changes[document]
        versions: set[str | None] = set()
        for change, following in zip(changes, [*changes[1:], None], strict=True):
            if change.step > end:
                break
            announced = None if following is None else following.announced
            if announced is None or announced > start:
                versions.add(change.version)
        return versions

    def current(self, document: str, start: int, end: int) -> set[str | None]:
        """The versions that were current at some time between two steps."""
        changes = self._changes[document]
        versions: set[str | None] = set()
        for change, following in zip(changes, [*changes[1:], None], strict=True):
            if change.step <= end and (following is None or following.step >= start):
                versions.add(change.version)
        return versions

    def saw(self, process: Process, document: str, version: str | None, start: int) -> None:
        """Note what a process has seen, between a step and now. It must never see something older than before."""
        sights = self._seen[process.number, document]
        least = max((sight.place for sight in sights if sight.ended < start), default=0)
        places = [place for place, change in enumerate(self._changes[document]) if change.version == version]
        later = [place for place in places if place >= least]
        if not later:
            self._world.problem(f"{document} goes back to {version}, after version number {least} of its history")
            return
        sights.append(Sight(self._world.step, min(later)))

    def begins(self, operation: int) -> None:
        """Record that an operation begins now, by its number; and for now that it has read its source."""
        self._sources[operation] = (self._world.step, self._world.step)

    def reads_source(self, operation: int) -> None:
        """Record that an operation begins to read its source now, by its number."""
        self._sources[operation] = (self._sources[operation][0], self._world.step)

    def may_sync_away(self, operation: int, document: str) -> bool:
        """Whether a sync may delete a document: in a version that it had before the source was read.

        What others have added since then stays.
        """
        return self._changes[document][-1].version in self.legal(document, *self._sources[operation])

    def announce(self, until: int | None = None) -> None:
        """A writer has said that there are changes, or must have said so of those until a step."""
        for change in [each for each in self._unannounced if until is None or each.step <= until]:
            change.announced = self._world.step
            self._unannounced.remove(change)

    def watch(self, collection: str, method: str, options: Mapping[str, Any]) -> None:
        """Look at a write that has just been done."""
        index, _, kind = collection.rpartition(".")
        if kind == "manifest" and method == "upsert":
            for id_, metadata in zip(options["ids"], options["metadatas"], strict=True):
                if id_ == CHANGES_ID and self.token_announces:
                    self.announce()
                elif "row" in metadata:
                    row = json.loads(metadata["row"])
                    self._row(index, id_, row["version"], row["leaves"])
        elif kind == "manifest" and method == "delete":
            for id_ in options["ids"]:
                if self._version(index, id_) is not None:
                    self._world.problem(f"the row of {id_} is deleted while it has a current version")
                self._row(index, id_, None, 0)
        elif kind == "leaves" and method == "delete":
            for id_ in options["ids"]:
                document, version, _ = id_.rsplit("#", 2)
                if self._version(index, document) == version and document not in self.uncertain:
                    self._world.problem(f"leaf {id_} of a current version is deleted")

    def _version(self, index: str, document: str) -> str | None:
        return self._changes[document][-1].version if index == "kb" else self._tree_versions.get(document)

    def _row(self, index: str, document: str, version: str | None, leaves: int) -> None:
        if version == self._version(index, document):
            return
        records = self._records(f"{index}.leaves")
        there = {} if records is None else records.by_id
        missing = [n for n in range(leaves) if version is not None and f"{document}#{version}#{n}" not in there]
        if missing:
            self._world.problem(f"version {version} of {document} becomes current without its leaves {missing}")
        if index != "kb":
            self._tree_versions[document] = version
            return
        if not self._allowed(document, version):
            self._world.problem(f"{document} gets version {version} from an operation that has no business with it")
        change = Change(self._world.step, version)
        self._changes[document].append(change)
        self._unannounced.append(change)
