"""Reading an index: searches and fetches that only return leaves of the current version of each document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeVar

from leafspan.documents import unpack_place
from leafspan.engine import Flow
from leafspan.reserved import STRUCTURE_KEY
from leafspan.store._catalogue import Catalogue, Selection, Visibility
from leafspan.store._collection import MOST_RESULTS, Collection
from leafspan.store._current_leaves import sort_out, version_of
from leafspan.store._manifest import Row, unpack_rows
from leafspan.values import Hit, Leaf, LeafId

T = TypeVar("T")


class StaleRead(Exception):
    """Something that was just read has been replaced, so reading must start again. Users never see this exception."""


class StoredLeaf(NamedTuple):
    """A leaf with all that is stored of it.

    Attributes:
        leaf: Its id, place and ancestors.
        text: Its text.
        metadata: Metadata of its document.
        score: Cosine similarity to the query, in [-1, 1]; 0 if there was no query.
    """

    leaf: Leaf
    text: str
    metadata: dict[str, object]
    score: float


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
        stay: Function that registers one more user of the reader.
        leave: Function that unregisters a user. The collections may be closed after the last one.
        stale: Stored (document, version) pairs that were not current when met before.
        scope: What is visible. Default: the whole index.
    """

    def __init__(
        self,
        leaves: Collection,
        manifest: Collection,
        *,
        known: Catalogue | None,
        load: Callable[[], Flow[Catalogue]],
        has_changed: Callable[[], bool],
        stay: Callable[[], None],
        leave: Callable[[], None],
        stale: set[tuple[str, str]],
        scope: Visibility | None = None,
        has_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        self._leaves = leaves
        self._manifest = manifest
        self._known = known
        self._load = load
        self._has_changed = has_changed
        self._has_lost = has_lost
        self._stale = stale
        self._met: dict[str, Row] = {}
        self.scope = scope
        self.stay = stay
        self.leave = leave

    def unscoped(self) -> Reader:
        """A reader of the whole index. It may be used as long as this one."""
        reader = copy(self)
        reader.scope = None
        reader._met = {}
        return reader

    @property
    def may_be_stale(self) -> bool:
        """Whether the index has changed since; True if that is not known."""
        return self._has_changed()

    def everything(self) -> Flow[Catalogue]:
        """The catalogue of the whole index, whatever the scope."""
        if self._known is None:
            self._known = yield from self._load()
        return self._known

    def catalogue(self) -> Flow[Catalogue]:
        """The catalogue of the documents that are visible."""
        everything = yield from self.everything()
        return everything.visible_to(self.scope) if self.scope else everything

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The rows of these documents in the manifest, by id; of all documents for None. Unknown ids are left out."""
        if self._known is None and self.scope is None:
            if ids is not None:
                return unpack_rows((yield from self._manifest.get(ids, ["metadatas"])))
            return unpack_rows((yield from self._manifest.scan(["metadatas"])))
        rows = (yield from self.catalogue()).rows
        return rows if ids is None else {id_: rows[id_] for id_ in ids if id_ in rows}

    def rows_met(self, ids: Iterable[str]) -> Flow[Mapping[str, Row]]:
        """Like ``rows``, but without asking again for documents of which this reader has met a leaf, and with these."""
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._met]
        if missing:
            self._met.update((yield from self.rows(missing)))
        return self._met

    def search(self, vectors: Any, count: int) -> Flow[list[list[StoredLeaf]]]:
        """The ``count`` visible leaves nearest to each vector, best first. Ties are ordered by document, then position.

        Raises:
            StaleRead: if a leaf is met that may just have been replaced.
        """

        def read(answer: Mapping[str, Any], current: Mapping[str, LeafId]) -> list[list[StoredLeaf]]:
            return [
                sorted(
                    (
                        _stored_leaf(current[id_], text, metadata, _similarity(distance))
                        for id_, text, metadata, distance in zip(*columns, strict=True)
                        if id_ in current
                    ),
                    key=lambda stored: (-stored.score, stored.leaf.document_id, stored.leaf.ordinal),
                )
                for columns in zip(*(answer[name] for name in _COLUMNS), strict=True)
            ]

        return self._query_until_enough(vectors, count, list(_COLUMNS[1:]), read)

    def search_hits(self, vectors: Any, count: int) -> Flow[list[list[Hit]]]:
        """Like ``search``, but only ids and scores are read."""
        return self._query_until_enough(vectors, count, ["distances"], _hits)

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
        return _hits(answer, (yield from self._current(ids, [""] * len(ids), within)))

    def fetch(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of these leaves.

        Raises:
            StaleRead: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["documents"])
        texts = {stored[id_]: record["document"] for id_, record in records.items() if record["document"] is not None}
        if len(texts) < len(set(ids)):
            raise StaleRead
        return texts

    def fetch_vectors(self, ids: Sequence[str]) -> Flow[dict[str, Any]]:
        """The vectors of these leaves.

        Raises:
            StaleRead: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["embeddings"])
        if len(records) < len(set(ids)):
            raise StaleRead
        return {stored[id_]: record["embedding"] for id_, record in records.items()}

    def fetch_leaves(self, ids: Sequence[str]) -> Flow[dict[str, StoredLeaf]]:
        """These leaves, by id. Those that are missing, not current or not visible are left out.

        Raises:
            StaleRead: if a leaf is met that may just have been replaced.
        """
        records = yield from self.fetch_records(ids)
        return {id_: _stored_leaf(LeafId.parse(id_), text, metadata, 0.0) for id_, (text, metadata) in records.items()}

    def fetch_records(self, ids: Sequence[str]) -> Flow[dict[str, tuple[str, Mapping[str, Any]]]]:
        """Like ``fetch_leaves``, but as (text, metadata), where the metadata is as it is stored."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["documents", "metadatas"])
        current = yield from self._current(list(records), [record["document"] for record in records.values()])
        return {str(current[id_]): (r["document"], r["metadata"]) for id_, r in records.items() if id_ in current}

    def doubt(self, id_: str) -> None:
        """Start reading again, once, because a leaf that a host retriever returned is missing: it may be replaced by now.

        Raises:
            StaleRead: at the first call for this version of the document.
        """
        leaf = LeafId.parse(id_)
        if (leaf.document_id, leaf.version) not in self._stale:
            self._stale.add((leaf.document_id, leaf.version))
            raise StaleRead

    def leaf_ids(self) -> Flow[list[str]]:
        """The stored ids of all leaves in the store, current or not."""
        records = yield from self._leaves.scan([])
        return list(records)

    @property
    def _is_empty(self) -> bool:
        return self._known is not None and not self._known.rows

    def _query_until_enough(
        self,
        vectors: Any,
        count: int,
        include: Sequence[str],
        read: Callable[[Mapping[str, Any], Mapping[str, LeafId]], list[list[T]]],
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
            found = read(answer, (yield from self._current(ids, texts)))
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
        if self._has_lost():
            raise StaleRead
        return answer

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

    def _current(
        self, ids: Sequence[str], texts: Sequence[str | None], within: Selection | None = None
    ) -> Flow[dict[str, LeafId]]:
        """The shown ids, by stored id, of the leaves that are current, visible and in the selection.

        Args:
            ids: Stored ids of the leaves.
            texts: Their texts; None marks one that has been deleted.
            within: The selection. Default: all documents.

        Raises:
            StaleRead: if a leaf that is not current may just have been replaced.
        """
        leaves = [_parsed(id_) for id_ in ids]
        from_catalogue = self._known is not None or self.scope is not None or within is not None
        if from_catalogue:
            rows = (yield from self.everything()).rows
        else:
            rows = yield from self.rows_met(leaf.document_id for leaf in leaves)
        shown_id = (yield from self.catalogue()).shown_id if self.scope is not None else None
        sorted_out = sort_out(ids, leaves, texts, rows=rows, shown_id=shown_id, within=within, stale=self._stale)
        # A leaf that is not current was left by a killed writer, unless another writer is at work right now.
        if sorted_out.doubtful and self._has_changed():
            self._stale |= sorted_out.doubtful
            raise StaleRead
        # A leaf that was not current before either may have become so since the catalogue was loaded, or its document
        # may have been replaced: the manifest knows.
        if sorted_out.stale and from_catalogue and self._has_changed():
            now = unpack_rows((yield from self._manifest.get(list(sorted_out.stale), ["metadatas"])))
            if any(version_of(now, id_) != version_of(rows, id_) for id_ in sorted_out.stale):
                raise StaleRead
        return sorted_out.current


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for row in rows for item in row]


def _parsed(id_: str) -> LeafId:
    """The id of a leaf. A record that leafspan has not written gets an id that no leaf has."""
    try:
        return LeafId.parse(id_)
    except ValueError:
        return LeafId(id_, "", 0)


def _similarity(distance: float) -> float:
    return max(-1.0, min(1.0, 1.0 - distance))


def _hits(answer: Mapping[str, Any], current: Mapping[str, LeafId]) -> list[list[Hit]]:
    return [
        sorted(
            (Hit(current[id_], _similarity(each)) for id_, each in zip(ids, distances, strict=True) if id_ in current),
            key=lambda hit: hit.order,
        )
        for ids, distances in zip(answer["ids"], answer["distances"], strict=True)
    ]


def _stored_leaf(id_: LeafId, text: str, metadata: Mapping[str, Any], score: float) -> StoredLeaf:
    # Chroma returns the keys in a different order each time, and host frameworks make texts and hashes of them.
    own = {key: metadata[key] for key in sorted(metadata)}
    return StoredLeaf(unpack_place(id_, own.pop(STRUCTURE_KEY)), text, own, score)
