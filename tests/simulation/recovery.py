"""Laws for the end of a run: after all interrupted work is repeated, nothing is lost or left over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from leafspan import Index
from leafspan.errors import LeafspanError
from tests.simulation.documents import VERSIONS, Joining, calm_index, document, expected, pairs, scope
from tests.simulation.history import CHANGES_ID, History
from tests.simulation.operations import Actor, Outcome, allowed_versions
from tests.simulation.records import Record, Records
from tests.simulation.scenario import Operation
from tests.simulation.world import World

_TOLERANCE = 1e-5


def last_versions(documents: dict[str, str | None], outcomes: Iterable[Outcome]) -> dict[str, set[str | None]]:
    """The versions that each document may have at the end, by what was done to it.

    A write counts unless one that began after its end has ended well. What has failed or was killed may have been done.
    """
    writes: dict[str, list[tuple[Outcome, set[str | None]]]] = {}
    for outcome in outcomes:
        for id_, versions in allowed_versions(outcome.operation).items():
            writes.setdefault(id_, []).append((outcome, versions))
    possible: dict[str, set[str | None]] = {}
    for id_ in documents:
        done = writes.get(id_, [])
        # One that keeps to some versions may have left the document as it was.
        latest = max((each.start for each, _ in done if each.error is None and not each.operation.least), default=-1)
        left = [(each, versions) for each, versions in done if each.end >= latest]
        possible[id_] = {version for _, versions in left for version in versions}
        if latest < 0:
            possible[id_].add(None)
    return possible


def other_versions(interrupted: Iterable[Operation], numbers: Iterator[int], *, every: bool) -> Iterator[Operation]:
    """Additions of other versions of the documents that interrupted writes were about.

    Args:
        interrupted: What was interrupted.
        numbers: Numbers for the additions.
        every: Whether each of these documents must be written, as behind a server. In a folder, the next writer finishes
            what is left of all documents, so that one is enough.
    """
    keys = {stored_id: key for key, stored_id in expected().ids.items()}
    for operation in interrupted:
        for stored_id, versions in allowed_versions(operation).items():
            view, id_ = keys[stored_id]
            known = expected().versions[stored_id]
            other = next(number for number in VERSIONS if known[number].version not in versions)
            yield Operation(next(numbers), "add", view, ((id_, other),))
            if not every:
                return


def check_forgotten(world: World, operation: Operation, records: Callable[[str], Records | None]) -> None:
    """Nothing is left of deleted documents, neither in leaves nor in summaries and texts made of them."""
    for id_ in operation.ids:
        words = re.compile(rf"\b{id_}{operation.view}v\d")
        for name in ("kb.leaves", "kb.tree.leaves", "kb.tree.texts"):
            for record_id, record in _records(records(name)).items():
                if words.search(record.document or ""):
                    world.problem(f"{operation} has ended well, and {record_id} in {name} still is {record.document!r}")


def check_doctor(world: World, index: Index, *, repairs: bool) -> None:
    """Let the doctor look, or repair and look again: everything must be whole then."""
    if repairs:
        for finding in index.repair(verify=True):
            world.counts["repaired"] += 1
            if not finding.repaired:
                world.problem(f"at the end the doctor cannot repair: {finding}")
    for finding in index.check(verify=True):
        world.problem(f"at the end the doctor finds: {finding}")


def check_loss(world: World, index: Index, lost: str) -> None:
    """Let the doctor look at a document or tree that has lost a leaf: it names that, and cannot repair it."""
    findings = {each.document_id: each.repaired for each in index.repair(verify=True)}
    if findings != {lost: False}:
        world.problem(f"a leaf of {lost} was lost, and the doctor finds {findings}")


def check_records(world: World, history: History, records: Callable[[str], Records | None]) -> None:
    """What is stored is what an undisturbed index stores of the same versions."""
    leaves = _records(records("kb.leaves"))
    rows = _records(records("kb.manifest"))
    rows = {id_: row for id_, row in rows.items() if not id_.startswith(CHANGES_ID)}
    every = expected()
    wanted = set()
    for stored_id, version in history.documents().items():
        if version is None:
            if stored_id in rows:
                world.problem(f"at the end {stored_id} still has a row: {rows[stored_id].metadata}")
            continue
        stored = every.of_version(stored_id, version)
        row = rows.pop(stored_id, None)
        if stored is None or row is None:
            world.problem(f"at the end {stored_id} has version {version}, and the row {row}")
            continue
        unpacked = json.loads((row.metadata or {})["row"])
        if {**unpacked, "id": stored_id} != stored.row:
            world.problem(f"at the end the row of {stored_id} is {unpacked}, should be {stored.row}")
        for id_, (text, metadata, vector) in stored.leaves.items():
            wanted.add(id_)
            found = leaves.get(id_)
            if found is None or _text_and_metadata(found) != (text, metadata):
                world.problem(f"at the end leaf {id_} is {found}")
            elif max(abs(a - b) for a, b in zip(found.vector, vector, strict=True)) > _TOLERANCE:
                world.problem(f"at the end leaf {id_} has the vector {found.vector}")
    for id_ in leaves.keys() - wanted:
        world.problem(f"at the end leaf {id_} belongs to nothing")
    for id_ in rows.keys() - history.documents().keys():
        world.problem(f"at the end there is a row for {id_}")


def _text_and_metadata(record: Record) -> tuple[str | None, Mapping[str, object] | None]:
    """The text and the metadata of a leaf, wherever the index keeps its text."""
    if record.document is not None or record.metadata is None:
        return record.document, record.metadata
    _, place, text = record.metadata["leafspan"].split("\n", 2)  # the first line says when it was written
    return text, {**record.metadata, "leafspan": place}


def check_reads(actor: Actor, numbers: Iterator[int], *, trees: bool) -> None:
    """Read everything; each read checks itself."""
    every = expected()
    for shown in every.visible["x"]:
        actor.do(Operation(next(numbers), "get", "x", ids=(shown,)))
    for kind in ("vector", "words", "filtered", *(("summaries", "tree") if trees else ())):
        actor.do(Operation(next(numbers), kind))
    actor.do(Operation(next(numbers), "words", "y"))


def check_some_reads(actor: Actor, numbers: Iterator[int]) -> None:
    """Read in two ways that change from one process to the next: enough to see whether it has noticed all changes."""
    number = next(numbers)
    kinds = ("vector", "words", "filtered", "documents", "leaves")
    for place in range(2):
        actor.do(Operation(next(numbers), kinds[(number + place) % len(kinds)]))


def check_trees(world: World, history: History, records: Callable[[str], Records | None]) -> None:
    """The trees are those that a calm index has of the same documents. Not to be called while things are replaced."""
    every = expected()
    index, server = calm_index()
    for (view, id_), stored_id in every.ids.items():
        stored = every.of_version(stored_id, history.documents().get(stored_id))
        if stored is not None:
            scope(index, view).add(document(view, id_, stored.number))
    index.build_tree(summarizer=Joining(), clusterer=pairs, across_documents=True)
    for name in ("kb.tree.leaves", "kb.tree.manifest", "kb.tree.texts"):
        found, calm = (
            _records(records(name)),
            _records(server.collections[name].records if name in server.collections else None),
        )
        for id_ in found.keys() | calm.keys():
            if id_.startswith(CHANGES_ID):
                continue
            if id_ not in calm:
                world.problem(f"at the end {name} has {id_}, which no undisturbed build leaves")
            elif id_ not in found:
                world.problem(f"at the end {name} lacks {id_}")
            elif (found[id_].document, found[id_].metadata) != (calm[id_].document, calm[id_].metadata):
                world.problem(f"at the end {id_} in {name} is {found[id_]}, should be {calm[id_]}")


def _records(records: Records | None) -> dict[str, Record]:
    return {} if records is None else dict(records.by_id)


__all__ = [
    "LeafspanError",
    "check_doctor",
    "check_loss",
    "check_reads",
    "check_records",
    "check_some_reads",
    "check_trees",
    "last_versions",
]
