"""Reading an index: searches and fetches that only return leaves of the current version of each document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from leafspan.engine import Flow
from leafspan.errors import DamagedIndex
from leafspan.filters import Where
from leafspan.store._as_written import check_record, check_text
from leafspan.store._catalogue import Catalogue, Selection, Visibility
from leafspan.store._checksums import text_is_as_written
from leafspan.store._collection import MOST_RESULTS
from leafspan.store._current_leaves import sort_out, version_of
from leafspan.store._damage import DamageRule, Met
from leafspan.store._found_leaves import Current, StoredLeaf, hits_of, parsed
from leafspan.store._last_change import LastChange
from leafspan.store._late_collection import ReadableCollection
from leafspan.store._manifest import CHANGES_ID, Damage, Row, unpack_rows, unpack_token
from leafspan.store._stale_read import StaleRead
from leafspan.values import Hit, LeafId

T = TypeVar("T")

CopiedRecords = Callable[[Catalogue, Iterable[str], Sequence[str]], Flow[dict[str, dict[str, Any]]]]
"""Reads columns of leaves by their stored ids from a copy, as records of Chroma. Those that it does not have as they were
written are left out; a record that was compared with the checksums is marked as ``checked``."""

_DOUBTS = 3  # attempts that find a leaf damaged, where another writer may be at work, until it counts as damaged


class MetDamage(StaleRead):
    """A damaged document was met, and reading goes on without it, from the start."""


class Reader:
    """What is visible of an index at one moment. All ids, in arguments and in results, are shown ids.

    Each user of a reader calls ``leave`` when done with it.

    Args:
        leaves: Collection of the leaves, which stays open until the reader is left.
        manifest: Collection of the manifest, which stays open as well.
        known: The catalogue of the whole index, if it is in memory. If it is None, the manifest is asked for each document
            that is met.
        load: Flow that loads the catalogue, for reading that needs to know all documents.
        has_changed: Function that says whether the index has changed since; True if that is not known.
        has_lost: Function that says whether what is current in ``known`` may have lost leaves meanwhile, since a writer of
            this process has replaced or deleted a document. Default: never.
        has_moved_on: Flow that says whether the index may have changed since a catalogue was read, where other processes
            can delete leaves that are found with it. Default: they cannot.
        stay: Function that registers one more user of the reader.
        leave: Function that unregisters a user. The collections may be closed after the last one.
        met: Stored (document, version) pairs that were not current when met before, and what else was met.
        scope: What is visible. Default: the whole index.
        rule: What to do about damaged documents. Default: they are errors.
        last: The last change that was seen, where the manifest is asked for each document. Default: none.
        copied: Flow that reads leaves from a copy of them, where there is one. Default: none.
        is_loaded: Function that says whether Chroma has loaded the vectors as they are now. Default: it has.
    """

    def __init__(
        self,
        leaves: ReadableCollection,
        manifest: ReadableCollection,
        *,
        known: Catalogue | None,
        load: Callable[[], Flow[Catalogue]],
        has_changed: Callable[[], bool],
        stay: Callable[[], None],
        leave: Callable[[], None],
        met: Met,
        scope: Visibility | None = None,
        rule: DamageRule | None = None,
        has_lost: Callable[[], bool] = lambda: False,
        has_moved_on: Callable[[Catalogue], Flow[bool]] | None = None,
        last: LastChange | None = None,
        copied: CopiedRecords | None = None,
        is_loaded: Callable[[], bool] = lambda: True,
    ) -> None:
        self._copied = copied
        self._is_loaded = is_loaded
        self._leaves = leaves
        self._manifest = manifest
        self._known = known
        self._load = load
        self._has_changed = has_changed
        self._has_lost = has_lost
        self._has_moved_on = has_moved_on
        self._met = met
        self._doubted: set[tuple[str, str]] = set()  # in this attempt
        self._read: dict[str, Row] = {}
        self._outdated: set[str] = set()  # of these, those that were read before the last query
        self._last = last or LastChange()
        self._before = self._last.token
        self._rule = rule or DamageRule()
        self._leaves_out = self._rule.leave_out
        self.scope = scope
        self.stay = stay
        self.leave = leave

    def for_mirrors(self) -> Reader:
        """A reader of the whole index that goes on without damaged documents. It may be used as long as this one."""
        reader = self.leaving_out()
        reader.scope = None
        reader._read = {}
        return reader

    def of_chroma(self) -> Reader:
        """A reader of the same that reads all leaves from Chroma, though there is a copy of them."""
        reader = copy(self)
        reader._copied = None
        return reader

    def leaving_out(self) -> Reader:
        """A reader of the same that goes on without damaged documents, whatever the rule."""
        reader = copy(self)
        reader._leaves_out = True
        return reader

    def raising(self) -> Reader:
        """A reader of the same that raises for damaged documents, whatever the rule: for those asked for by their ids."""
        reader = copy(self)
        reader._leaves_out = False
        return reader

    @property
    def may_be_stale(self) -> bool:
        """Whether the index has changed since; True if that is not known."""
        return self._has_changed()

    @property
    def is_loaded(self) -> bool:
        """Whether Chroma has loaded the vectors as they are now, so that a search does not wait for that."""
        return self._is_loaded()

    @property
    def has_copies(self) -> bool:
        """Whether leaves are read from a copy of them, so that reading some twice costs little."""
        return self._copied is not None and self._known is not None

    def everything(self) -> Flow[Catalogue]:
        """The catalogue of the whole index, whatever the scope."""
        if self._known is None:
            self._known = yield from self._load()
        return self._known.without(self._damaged)

    def catalogue(self) -> Flow[Catalogue]:
        """The catalogue of the documents that are visible. Damaged ones are in it without a current version."""
        everything = yield from self.everything()
        return everything.visible_to(self.scope) if self.scope else everything

    def unpacked(self) -> Flow[Catalogue]:
        """Like ``catalogue``, with all rows at hand: for who goes on with them after reading."""
        return (yield from self.catalogue()).unpacked()

    def whole_catalogue(self, where: Where | None = None) -> Flow[Catalogue]:
        """Like ``catalogue``, for reading that would lack what damaged documents have.

        Args:
            where: Filter on the documents that are read. Default: all.

        Raises:
            DamagedIndex: if a visible document that may match is known to be damaged, unless reading goes on without it.
        """
        visible = yield from self.catalogue()
        if visible.damaged and not self._leaves_out:
            lacking = {
                id_: damage.problem
                for id_, damage in visible.damaged.items()
                if where is None or damage.in_row or where.matches(visible.rows[id_].metadata, id_)
            }
            if lacking:
                raise self._rule.error(lacking)
        return visible

    @property
    def left_out(self) -> dict[str, str]:
        """What is wrong with the visible documents that were left out, by shown id, as far as it is known by now."""
        if self._known is not None:
            everything = self._known.without(self._damaged)
            damaged = (everything.visible_to(self.scope) if self.scope else everything).damaged
        else:
            damaged = {id_: row.damage for id_, row in self._read.items() if row.damage is not None}
        return {id_: damage.problem for id_, damage in sorted(damaged.items())}

    def error(self, damaged: Mapping[str, str]) -> DamagedIndex:
        """The error for what is wrong with documents, by shown id."""
        return self._rule.error(damaged)

    def warn_of_left_out(self) -> dict[str, str]:
        """What was left out, as above. A warning tells of each document once. Empty where damage is an error instead."""
        if not self._leaves_out:
            return {}
        if left_out := self.left_out:
            self._rule.warn(left_out)
        return left_out

    @property
    def _damaged(self) -> Mapping[tuple[str, str], Damage]:
        """The (document, version) pairs that reading goes on without."""
        met = self._met.damaged
        known = self._known.met if self._known is not None else {}
        return {**known, **met} if known and met else known or met

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The rows of these documents in the manifest, by id; of all documents for None. Unknown ids are left out.

        They are as they are stored: damaged ones say so, but not those of which leaves are damaged.
        """
        if self._known is None and self.scope is None:
            if ids is not None:
                return unpack_rows((yield from self._manifest.get(ids, ["metadatas"])))
            return unpack_rows((yield from self._manifest.scan(["metadatas"])))
        yield from self.everything()
        assert self._known is not None
        known = self._known.visible_to(self.scope) if self.scope else self._known
        if ids is None:
            return known.unpacked().rows
        return {id_: row for id_ in ids if (row := known.rows.get(id_)) is not None}

    def rows_met(self, ids: Iterable[str]) -> Flow[Mapping[str, Row]]:
        """Like ``rows``, but without asking again for documents of which this reader has met a leaf, and with these."""
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._read]
        if missing:
            self._read_rows((yield from self.rows(missing)))
        return self._read

    def search(self, vectors: Any, count: int) -> Flow[list[list[StoredLeaf]]]:
        """The ``count`` visible leaves nearest to each vector, best first. Ties are ordered by document, then position.

        Raises:
            StaleRead: if a leaf is met that may just have been replaced.
        """

        def read(answer: Mapping[str, Any], current: Current) -> list[list[StoredLeaf]]:
            problems: dict[str, str] = {}
            found = [
                sorted(
                    current.stored_leaves(zip(*columns, strict=True), problems),
                    key=lambda stored: (-stored.score, stored.leaf.document_id, stored.leaf.ordinal),
                )
                for columns in zip(*(answer[name] for name in _COLUMNS), strict=True)
            ]
            self._check(problems)
            return found

        return self._query_until_enough(vectors, count, list(_COLUMNS[1:]), read)

    def search_hits(self, vectors: Any, count: int) -> Flow[list[list[Hit]]]:
        """Like ``search``, but only ids and scores are read."""
        return self._query_until_enough(vectors, count, ["distances"], hits_of)

    def nearest(self, vectors: Any, asked: int, within: Selection) -> Flow[list[list[Hit]]]:
        """The leaves of a selection that are among the nearest to each vector, best first. Only ids and scores are read.

        Args:
            vectors: Matrix with a row for each query.
            asked: Number of nearest leaves to ask Chroma for, before the others are left out.
            within: The selection.

        Raises:
            StaleRead: if a leaf is met that may just have been replaced.
        """
        if self._is_empty:
            return [[] for _ in vectors]
        answer = yield from self._query(vectors, asked, ["distances"])
        ids = _flat(answer["ids"])
        return hits_of(answer, (yield from self._current(ids, [""] * len(ids), within, queried=True)))

    def fetch(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of these leaves.

        Raises:
            DamagedIndex: if one of them is not as it was written, or missing.
            StaleRead: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._whole_in_copy(stored, ["documents"])
        texts = {stored[id_]: record["document"] for id_, record in records.items()}
        problems: dict[str, str] = {}
        others = {id_: shown for id_, shown in stored.items() if id_ not in records}
        if others:
            rows = yield from self._rows_of(others)
            # Only the place says how long a text without a checksum is.
            columns = ["documents"] if all(row.checksums for row in rows.values()) else ["documents", "metadatas"]
            records = yield from self._records(others, columns)
        for id_, shown in others.items():
            prefix, _, ordinal = id_.rpartition("#")
            row, record = rows.get(prefix), records.get(id_)
            text = None if record is None else record["document"]
            if text is not None:
                texts[shown] = text
            if row is None or (text and row.checksums and text_is_as_written(row.checksums, int(ordinal), text)):
                continue
            try:
                check_text(row, LeafId.parse(id_), record)
            except ValueError as error:
                problems[id_] = str(error)
        self._check(problems)
        if len(texts) < len(set(ids)):
            raise StaleRead
        return texts

    def fetch_vectors(self, ids: Sequence[str]) -> Flow[dict[str, Any]]:
        """The vectors of these leaves.

        Raises:
            DamagedIndex: if one of them is missing, or has another length than the others.
            StaleRead: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["embeddings"])
        vectors = {stored[id_]: record["embedding"] for id_, record in records.items() if record["embedding"] is not None}
        lengths = Counter(map(len, vectors.values()))
        if len(vectors) < len(set(ids)) or len(lengths) > 1:
            rows = yield from self._rows_of(stored)
            ((most, _),) = lengths.most_common(1) or [(0, 0)]
            self._check(
                {
                    id_: f"the vector of its leaf {LeafId.parse(id_).ordinal} is missing, or has another length"
                    for id_, shown in stored.items()
                    if id_.rpartition("#")[0] in rows and (shown not in vectors or len(vectors[shown]) != most)
                }
            )
            raise StaleRead
        return vectors

    def fetch_leaves(self, ids: Sequence[str]) -> Flow[dict[str, StoredLeaf]]:
        """These leaves, by id. Those that are not there, not current or not visible are left out.

        Raises:
            DamagedIndex: if one of them is not as it was written, or missing.
            StaleRead: if a leaf is met that may just have been replaced.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._whole_in_copy(stored, ["documents", "metadatas"])
        current = Current({id_: LeafId.parse(stored[id_]) for id_ in records}, {})
        checked = records.keys()
        if others := [shown for id_, shown in stored.items() if id_ not in records]:
            more, current_others = yield from self._fetch(others)
            records = records | more
            current = Current({**current.leaves, **current_others.leaves}, current_others.rows)
        problems: dict[str, str] = {}
        rows = ((id_, record["document"], record["metadata"], 1.0) for id_, record in records.items())
        leaves = {each.id: each for each in current.stored_leaves(rows, problems, checked)}
        self._check(problems)
        return leaves

    def fetch_records(self, ids: Sequence[str]) -> Flow[dict[str, tuple[str, Mapping[str, Any]]]]:
        """Like ``fetch_leaves``, but as (text, metadata), where the metadata is as it is stored. Also for summaries."""
        records, current = yield from self._fetch(ids)
        problems: dict[str, str] = {}
        found = {}
        for id_, shown in current.leaves.items():
            text, metadata = records[id_]["document"], records[id_]["metadata"]
            try:
                check_record(current.row(id_), shown, text, metadata)
            except ValueError as error:
                problems[id_] = str(error)
            found[str(shown)] = text, metadata
        self._check(problems)
        return found

    def refuse(self, problems: Mapping[str, str]) -> Flow[None]:
        """Say what is wrong with leaves or summaries that were fetched, by their shown ids.

        Raises:
            DamagedIndex: if there are any, unless reading goes on without their documents.
            StaleRead: if they may just have been replaced, or reading starts again without their documents.
        """
        if problems:
            stored = yield from self._stored_ids(problems)
            self._check({id_: problems[shown] for id_, shown in stored.items()})

    def _fetch(self, ids: Sequence[str]) -> Flow[tuple[dict[str, dict[str, Any]], Current]]:
        """The records of these leaves, with texts and metadatas, and which of them are current."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._records(stored, ["documents", "metadatas"])
        current = yield from self._current(list(records), [record["document"] for record in records.values()])
        if len(records) < len(stored):
            missing = [id_ for id_ in stored if id_ not in records]
            rows = yield from self._rows_of(missing)
            leaves = [(id_, leaf) for id_ in missing if (leaf := LeafId.parse(id_)) and id_.rpartition("#")[0] in rows]
            self._check(
                {
                    id_: f"its {'summary' if leaf.is_summary else 'leaf'} {leaf.ordinal} is missing"
                    for id_, leaf in leaves
                    if 0 <= leaf.ordinal < rows[id_.rpartition("#")[0]].leaves
                }
            )
        return records, current

    def _whole_in_copy(self, ids: Iterable[str], columns: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """The records of leaves that the copy has as they were written, by stored id. So they are current, too."""
        if self._copied is None or self._known is None:
            return {}
        records = yield from self._copied((yield from self.everything()), ids, columns)
        return {id_: record for id_, record in records.items() if record["checked"]}

    def _records(self, ids: Iterable[str], columns: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """The records of leaves, by stored id: from the copy, as far as it has them as they were written, else Chroma."""
        if self._copied is None or self._known is None:
            return (yield from self._leaves.get(list(ids), columns))
        everything = yield from self.everything()
        records = yield from self._copied(everything, ids, columns)
        missing = [id_ for id_ in ids if id_ not in records and not _is_beyond(everything.rows, id_)]
        if missing:
            records |= yield from self._leaves.get(missing, columns)
        return records

    def doubt(self, id_: str) -> None:
        """Start reading again, once, because a leaf that a host retriever returned is missing: it may be replaced by now.

        Raises:
            StaleRead: at the first call for this version of the document.
        """
        leaf = LeafId.parse(id_)
        if (leaf.document_id, leaf.version) not in self._met:
            self._met.add((leaf.document_id, leaf.version))
            raise StaleRead

    def stored_records(self, ids: Sequence[str], columns: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """The records of leaves with these stored ids, as they are stored, by id. The columns are those of Chroma."""
        return self._leaves.get(ids, columns)

    def stored_rows(self, ids: Sequence[str]) -> Flow[dict[str, Any]]:
        """The metadata of the records that the manifest has of these documents, as they are stored, by stored id."""
        records = yield from self._manifest.get(ids, ["metadatas"])
        return {id_: record["metadata"] for id_, record in records.items()}

    def leaf_ids(self) -> Flow[list[str]]:
        """The stored ids of all leaves in the store, current or not."""
        records = yield from self._leaves.scan([])
        return list(records)

    @property
    def _is_empty(self) -> bool:
        return self._known is not None and not self._known.rows

    def _rows_of(self, ids: Iterable[str]) -> Flow[dict[str, Row]]:
        """The rows of the documents of leaves, by their stored ids without ordinals, of those whose version is current.

        Raises:
            DamagedIndex: if one of the documents is known to be damaged, unless reading goes on without it.
        """
        parts = {prefix: prefix.rpartition("#") for prefix in {id_.rpartition("#")[0] for id_ in ids}}
        if self._known is not None or self.scope is not None:
            rows = (yield from self.everything()).rows
        else:
            rows = yield from self.rows_met(document_id for document_id, _, _ in parts.values())
        found = {prefix: (rows.get(document_id), version) for prefix, (document_id, _, version) in parts.items()}
        self._refuse({row.document_id: row.damage for row, _ in found.values() if row and row.damage})
        return {prefix: row for prefix, (row, version) in found.items() if row is not None and row.version == version}

    def _check(self, problems: Mapping[str, str]) -> None:
        """Say what is wrong with leaves of current versions, by their stored ids.

        A leaf is deleted only after the index has counted a change. So it is damaged if there was none, or if it is found
        so again and again, and always of the same version.

        Raises:
            DamagedIndex: if there are any, unless reading goes on without their documents.
            StaleRead: if they may just have been replaced, or reading starts again without their documents.
        """
        if not problems:
            return
        damaged: dict[tuple[str, str], Damage] = {}
        for id_, problem in problems.items():
            leaf = LeafId.parse(id_)
            damaged.setdefault((leaf.document_id, leaf.version), Damage(problem, in_row=False))
        if self._has_changed():
            self._met.doubt(damaged.keys() - self._doubted)
            self._doubted |= damaged.keys()
            if any(self._met.doubts[pair] < _DOUBTS for pair in damaged):
                raise StaleRead
        self._refuse({document_id: each for (document_id, _), each in damaged.items()})
        if damaged.keys() <= self._damaged.keys():
            raise StaleRead  # reading is to come to an end
        self._met.damaged = {**self._met.damaged, **damaged}
        if self._known is not None:
            self._known.met = {**self._known.met, **damaged}
        raise MetDamage

    def _refuse(self, damaged: Mapping[str, Damage]) -> None:
        """Raise the error for damaged documents, by their stored ids, if they are visible, and are not to be left out."""
        if damaged and not self._leaves_out:
            shown = {self._shown_id(id_): each.problem for id_, each in damaged.items()}
            if known := {id_: problem for id_, problem in shown.items() if id_ is not None}:
                raise self._rule.error(known)

    def _shown_id(self, document_id: str) -> str | None:
        if self.scope is None:
            return document_id
        assert self._known is not None
        return self._known.without(self._damaged).visible_to(self.scope).shown_id(document_id)

    def _query_until_enough(
        self,
        vectors: Any,
        count: int,
        include: Sequence[str],
        read: Callable[[Mapping[str, Any], Current], list[list[T]]],
    ) -> Flow[list[list[T]]]:
        """The ``count`` nearest current leaves of each vector, as ``read`` makes them of Chroma's answer.

        If too few of the nearest leaves are current, Chroma is asked for more.
        """
        if self._is_empty:
            return [[] for _ in vectors]
        asked = count
        while True:
            answer = yield from self._query(vectors, asked, include)
            ids = _flat(answer["ids"])
            texts = _flat(answer["documents"]) if "documents" in include else [""] * len(ids)
            found = read(answer, (yield from self._current(ids, texts, queried=True)))
            short = any(len(row) < count for row in found) and any(len(row) == asked for row in answer["ids"])
            if not short or asked >= MOST_RESULTS:
                return [row[:count] for row in found]
            asked = min(asked * 4, MOST_RESULTS)

    def _query(self, vectors: Any, count: int, include: Sequence[str]) -> Flow[dict[str, Any]]:
        """Chroma's answer to a query.

        Raises:
            StaleRead: if leaves may be missing in it that were deleted just before.
        """
        answer = yield from self._leaves.query(vectors, count, include)
        self._outdated = set(self._read)
        if self._has_lost():
            raise StaleRead
        return answer

    def _is_behind(self) -> Flow[bool]:
        """Whether leaves may have been deleted since the catalogue was read."""
        if self._has_moved_on is None or self._known is None:
            return False
        return (yield from self._has_moved_on(self._known))

    def _stored_ids(self, ids: Iterable[str]) -> Flow[dict[str, str]]:
        """The shown id of each leaf, by stored id. Leaves of unknown documents are left out."""
        if self.scope is None:
            return {id_: id_ for id_ in ids}
        visible = yield from self.catalogue()
        found = {}
        for id_ in ids:
            leaf = LeafId.parse(id_)
            if (stored := visible.stored_id(leaf.document_id)) is not None:
                found[str(leaf._replace(document_id=stored))] = id_
        return found

    def _rows_after_query(self, ids: Iterable[str]) -> Flow[Mapping[str, Row]]:
        """Like ``rows_met``, for documents of which a query has found leaves.

        A version may have become current after the query, which then has found some of its leaves at most: the others
        were not there yet. So if the index has changed since the reader was made, a version counts only if it is found
        current twice, with a query between.

        For the same reason rows are read again if they were read before the query: by then, a version that was current
        may have lost leaves.

        Raises:
            StaleRead: if a version is found current for the first time, or is no longer current.
        """
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._read or id_ in self._outdated]
        if missing:
            records = yield from self._manifest.get([*missing, CHANGES_ID], ["metadatas"])
            self._last.token = unpack_token(records)
            before = {id_: version_of(self._read, id_) for id_ in self._outdated.intersection(missing)}
            for id_ in before:
                del self._read[id_]
            rows = self._read_rows(unpack_rows(records))
            if any(version_of(rows, id_) != version for id_, version in before.items()):
                raise StaleRead
            self._outdated -= before.keys()
            if self._last.token != self._before:
                current = {(id_, rows[id_].version) for id_ in missing if id_ in rows}
                if new := current - self._met.current:
                    self._met.current |= new
                    raise StaleRead
        return self._read

    def _read_rows(self, rows: Mapping[str, Row]) -> Mapping[str, Row]:
        """Keep these rows, damaged ones as such; all that are kept."""
        self._read.update(Catalogue(rows).without(self._damaged).rows if self._damaged else rows)
        return self._read

    def _current(
        self,
        ids: Sequence[str],
        texts: Sequence[str | None],
        within: Selection | None = None,
        *,
        queried: bool = False,
    ) -> Flow[Current]:
        """The leaves that are current, visible and in the selection.

        Args:
            ids: Stored ids of the leaves.
            texts: Their texts; None marks one that has been deleted.
            within: The selection. Default: all documents.
            queried: Whether a query has found them, so that of a document with leaves among them others may be gone.
                Default: False.

        Raises:
            DamagedIndex: if a document is known to be damaged, or a text is missing, unless reading goes on without it.
            StaleRead: if a leaf that is not current may just have been replaced.
        """
        leaves = [parsed(id_) for id_ in ids]
        from_catalogue = self._known is not None or self.scope is not None or within is not None
        if from_catalogue:
            rows = (yield from self.everything()).rows
        else:
            rows = yield from self._rows_after_query(leaf.document_id for leaf in leaves)
        shown_id = (yield from self.catalogue()).shown_id if self.scope is not None else None
        sorted_out = sort_out(ids, leaves, texts, rows=rows, shown_id=shown_id, within=within, stale=self._met)
        self._refuse({id_: damage for id_ in sorted_out.damaged if (damage := rows[id_].damage)})
        if sorted_out.textless:
            self._check({id_: f"the text of its leaf {id_.rpartition('#')[2]} is missing" for id_ in sorted_out.textless})
        # A leaf that is not current was left by a killed writer, unless another writer is at work right now.
        if sorted_out.doubtful and self._has_changed():
            self._met |= sorted_out.doubtful
            raise StaleRead
        # A leaf that was not current before either may have become so since the catalogue was loaded, or its document
        # may have been replaced: the manifest knows.
        asked = set(sorted_out.stale)
        # And one that was current may have lost leaves before the query, which then has found the others only.
        if queried and from_catalogue and sorted_out.current and (yield from self._is_behind()):
            asked |= {LeafId.parse(id_).document_id for id_ in sorted_out.current}
        if asked and from_catalogue and self._has_changed():
            now = unpack_rows((yield from self._manifest.get(list(asked), ["metadatas"])))
            if any(version_of(now, id_) != version_of(rows, id_) for id_ in asked):
                raise StaleRead
        return Current(sorted_out.current, rows)


def _is_beyond(rows: Mapping[str, Row], id_: str) -> bool:
    """Whether the id is that of a leaf after the last one of a document, such as a neighbour that was asked for."""
    leaf = parsed(id_)
    row = rows.get(leaf.document_id)
    return row is not None and row.version == leaf.version and leaf.ordinal >= row.leaves


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for row in rows for item in row]
