"""Reading an index: searches and fetches that only ever show whole documents of the version that counts."""

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
    """Something that was just seen has been replaced; whoever reads must start again. Never leaves the package."""


class StoredLeaf(NamedTuple):
    """A leaf as it lies in the store, with its similarity to what was searched."""

    leaf: Leaf
    text: str
    metadata: dict[str, object]
    score: float


class Reader:
    """What one reader sees: collections that stay open for it, and what the manifest says, through ``scope`` if any.

    ``known`` is the catalogue where it is held in memory; else the manifest is asked for the documents at hand, and
    ``load`` gives the catalogue where all must be known. All ids that go in and come out are those that the view shows.
    ``stale`` are stored (document, version) pairs that did not count when they were met before. Whoever is done calls
    ``leave``; ``stay`` lets another one in, who leaves for himself.
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
    ) -> None:
        self._leaves = leaves
        self._manifest = manifest
        self._known = known
        self._load = load
        self._has_changed = has_changed
        self._stale = stale
        self.scope = scope
        self.stay = stay
        self.leave = leave

    def unscoped(self) -> Reader:
        """A reader of everything, that stays as long as this one does."""
        reader = copy(self)
        reader.scope = None
        return reader

    @property
    def overtaken(self) -> bool:
        """Whether somebody has written since; True where that cannot be told."""
        return self._has_changed()

    def everything(self) -> Flow[Catalogue]:
        """The catalogue of the whole index, whatever the scope."""
        if self._known is None:
            self._known = yield from self._load()
        return self._known

    def catalogue(self) -> Flow[Catalogue]:
        """The catalogue as the view sees it."""
        everything = yield from self.everything()
        return everything.visible_to(self.scope) if self.scope else everything

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The manifest's rows of these documents, or of all."""
        if self._known is None and self.scope is None:
            if ids is not None:
                return unpack_rows((yield from self._manifest.get(ids, ["metadatas"])))
            return unpack_rows((yield from self._manifest.scan(["metadatas"])))
        rows = (yield from self.catalogue()).rows
        return rows if ids is None else {id_: rows[id_] for id_ in ids if id_ in rows}

    def search(self, vectors: Any, count: int) -> Flow[list[list[StoredLeaf]]]:
        """The ``count`` current leaves nearest to each vector, best first.

        Raises:
            StaleRead: if a version is met that may have been replaced a moment ago.
        """

        def read(answer: Mapping[str, Any], current: Mapping[str, LeafId]) -> list[list[StoredLeaf]]:
            return [
                sorted(
                    (
                        _stored(current[id_], text, metadata, _similarity(distance))
                        for id_, text, metadata, distance in zip(*columns, strict=True)
                        if id_ in current
                    ),
                    key=lambda stored: (-stored.score, stored.leaf.document_id, stored.leaf.ordinal),
                )
                for columns in zip(*(answer[name] for name in _COLUMNS), strict=True)
            ]

        return (yield from self._enough(vectors, count, list(_COLUMNS[1:]), read))

    def search_hits(self, vectors: Any, count: int) -> Flow[list[list[Hit]]]:
        """Like ``search``, but nothing else of the leaves is read."""
        return (yield from self._enough(vectors, count, ["distances"], _hits))

    def nearest(self, vectors: Any, asked: int, within: Selection) -> Flow[list[list[Hit]]]:
        """Of the ``asked`` leaves nearest to each vector those of the selection, best first, without reading them."""
        if self._is_empty:
            return [[] for _ in vectors]
        answer = yield from self._leaves.query(vectors, asked, ["distances"])
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
        """These leaves with text, place and metadata, as far as they are there, current and visible."""
        records = yield from self.fetch_records(ids)
        return {id_: _stored(LeafId.parse(id_), text, metadata, 0.0) for id_, (text, metadata) in records.items()}

    def fetch_records(self, ids: Sequence[str]) -> Flow[dict[str, tuple[str, Mapping[str, Any]]]]:
        """Text and metadata of these, just as they are stored, as far as they are there, current and visible."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["documents", "metadatas"])
        current = yield from self._current(list(records), [record["document"] for record in records.values()])
        return {str(current[id_]): (r["document"], r["metadata"]) for id_, r in records.items() if id_ in current}

    def doubt(self, id_: str) -> None:
        """Look again, once, for a leaf that somebody else has seen and that is not here: it may have just been replaced.

        Raises:
            StaleRead: the first time.
        """
        leaf = LeafId.parse(id_)
        if (leaf.document_id, leaf.version) not in self._stale:
            self._stale.add((leaf.document_id, leaf.version))
            raise StaleRead

    def leaf_ids(self) -> Flow[list[str]]:
        """The ids of all leaves that lie in the store, current or not."""
        records = yield from self._leaves.scan([])
        return list(records)

    @property
    def _is_empty(self) -> bool:
        return self._known is not None and not self._known.rows

    def _enough(
        self,
        vectors: Any,
        count: int,
        include: Sequence[str],
        read: Callable[[Mapping[str, Any], Mapping[str, LeafId]], list[list[T]]],
    ) -> Flow[list[list[T]]]:
        """What ``read`` makes of the ``count`` nearest that are current; more are asked for if others are among them."""
        if self._is_empty:
            return [[] for _ in vectors]
        asked = count
        while True:
            answer = yield from self._leaves.query(vectors, asked, include)
            ids = _flat(answer["ids"])
            texts = _flat(answer["documents"]) if "documents" in include else [""] * len(ids)
            found = read(answer, (yield from self._current(ids, texts)))
            short = any(len(row) < count for row in found) and any(len(row) == asked for row in answer["ids"])
            if not short or asked >= MOST_RESULTS:
                return [row[:count] for row in found]
            asked = min(asked * 4, MOST_RESULTS)

    def _stored_ids(self, ids: Iterable[str]) -> Flow[dict[str, str]]:
        """From the id that each leaf is stored under to the one it is shown under; unknown documents are left out."""
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
        """Those of the stored leaves that are current, visible, and in the selection, each with the id it is shown under.

        Raises:
            StaleRead: if what is not current may just have been replaced.
        """
        leaves = [_parsed(id_) for id_ in ids]
        everything, visible = None, None
        if self._known is not None or self.scope is not None or within is not None:
            everything = yield from self.everything()
            visible = yield from self.catalogue()
            rows = everything.rows
        else:
            rows = yield from self.rows(list({leaf.document_id for leaf in leaves}))
        sorted_out = sort_out(
            ids,
            leaves,
            texts,
            rows=rows,
            shown_id=None if visible is None or self.scope is None else visible.shown_id,
            within=within,
            stale=self._stale,
        )
        # What is not current was left by a killed writer, unless somebody is writing right now.
        if sorted_out.doubtful and self._has_changed():
            self._stale |= sorted_out.doubtful
            raise StaleRead
        # What was not current a moment ago was, or will be, of another version: that may have come or gone since.
        if sorted_out.stale and everything is not None and self._has_changed():
            now = unpack_rows((yield from self._manifest.get(list(sorted_out.stale), ["metadatas"])))
            if any(version_of(now, id_) != version_of(rows, id_) for id_ in sorted_out.stale):
                raise StaleRead
        return sorted_out.current


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for row in rows for item in row]


def _parsed(id_: str) -> LeafId:
    """The id of a leaf; of a record that somebody else has put there, one that no document has."""
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


def _stored(id_: LeafId, text: str, metadata: Mapping[str, Any], score: float) -> StoredLeaf:
    # Chroma gives them in another order each time, and hosts make texts and hashes of them.
    own = {key: metadata[key] for key in sorted(metadata)}
    return StoredLeaf(unpack_place(id_, own.pop(STRUCTURE_KEY)), text, own, score)
