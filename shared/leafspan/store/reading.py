"""Reading an index: searches and fetches that only ever show whole documents of the version that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeVar

from leafspan.engine import Flow
from leafspan.store.catalogue import Catalogue, Selection, Viewpoint
from leafspan.store.collection import MOST_RESULTS, Collection
from leafspan.store.manifest import Row, unpack_rows
from leafspan.structure import STRUCTURE_KEY, unpack
from leafspan.values import Hit, Leaf

T = TypeVar("T")


class Gone(Exception):
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
        scope: Viewpoint | None = None,
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
        return everything.view(self.scope) if self.scope else everything

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The manifest's rows of these documents, or of all."""
        if self._known is None and self.scope is None:
            if ids is not None:
                return unpack_rows((yield from self._manifest.get(ids, ["metadatas"])))
            return unpack_rows((yield from self._manifest.scan(["metadatas"])))
        rows = (yield from self.catalogue()).rows
        return rows if ids is None else {id_: rows[id_] for id_ in ids if id_ in rows}

    def search(self, vectors: Any, count: int) -> Flow[list[list[StoredLeaf]]]:
        """The ``count`` leaves of the index nearest to each vector, best first; those that do not count are made up for.

        Raises:
            Gone: if a version is met that may have been replaced a moment ago.
        """

        def read(answer: Mapping[str, Any], shown: Mapping[str, str]) -> list[list[StoredLeaf]]:
            return [
                sorted(
                    (
                        _stored(shown[id_], text, metadata, _similarity(distance))
                        for id_, text, metadata, distance in zip(*columns, strict=True)
                        if id_ in shown
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
        return _hits(answer, (yield from self._which_count(ids, [""] * len(ids), within)))

    def fetch(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of these leaves.

        Raises:
            Gone: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["documents"])
        texts = {stored[id_]: record["document"] for id_, record in records.items() if record["document"] is not None}
        if len(texts) < len(set(ids)):
            raise Gone
        return texts

    def fetch_vectors(self, ids: Sequence[str]) -> Flow[dict[str, Any]]:
        """The vectors of these leaves.

        Raises:
            Gone: if one of them is no longer there.
        """
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["embeddings"])
        if len(records) < len(set(ids)):
            raise Gone
        return {stored[id_]: record["embedding"] for id_, record in records.items()}

    def fetch_leaves(self, ids: Sequence[str]) -> Flow[dict[str, StoredLeaf]]:
        """These leaves with text, place and metadata, as far as they are there, count, and are the view's."""
        records = yield from self.fetch_records(ids)
        return {id_: _stored(id_, text, metadata, 0.0) for id_, (text, metadata) in records.items()}

    def fetch_records(self, ids: Sequence[str]) -> Flow[dict[str, tuple[str, Mapping[str, Any]]]]:
        """Text and metadata of these, just as they are stored, as far as they are there, count, and are the view's."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._leaves.get(list(stored), ["documents", "metadatas"])
        shown = yield from self._which_count(list(records), [record["document"] for record in records.values()])
        return {shown[id_]: (r["document"], r["metadata"]) for id_, r in records.items() if id_ in shown}

    def doubt(self, leaf_id: str) -> None:
        """Look again, once, for a leaf that somebody else has seen and that is not here: it may have just been replaced.

        Raises:
            Gone: at the first time.
        """
        document_id, version, _ = leaf_id.rsplit("#", 2)
        if (document_id, version) not in self._stale:
            self._stale.add((document_id, version))
            raise Gone

    def leaf_ids(self) -> Flow[list[str]]:
        """The ids of all leaves that lie in the store, whether they count or not."""
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
        read: Callable[[Mapping[str, Any], Mapping[str, str]], list[list[T]]],
    ) -> Flow[list[list[T]]]:
        """What ``read`` makes of the ``count`` nearest that count; more are asked for where others are among them."""
        if self._is_empty:
            return [[] for _ in vectors]
        asked = count
        while True:
            answer = yield from self._leaves.query(vectors, asked, include)
            ids = _flat(answer["ids"])
            texts = _flat(answer["documents"]) if "documents" in include else [""] * len(ids)
            found = read(answer, (yield from self._which_count(ids, texts)))
            short = any(len(row) < count for row in found) and any(len(row) == asked for row in answer["ids"])
            if not short or asked >= MOST_RESULTS:
                return [row[:count] for row in found]
            asked = min(asked * 4, MOST_RESULTS)

    def _stored_ids(self, ids: Iterable[str]) -> Flow[dict[str, str]]:
        """From the id that each leaf is stored under to the one it is shown under; unknown documents are left out."""
        if self.scope is None:
            return {id_: id_ for id_ in ids}
        view = yield from self.catalogue()
        found = {}
        for id_ in ids:
            document_id, place = _split(id_)
            if (stored := view.stored_id(document_id)) is not None:
                found[f"{stored}#{place}"] = id_
        return found

    def _which_count(
        self, ids: Sequence[str], texts: Sequence[str | None], within: Selection | None = None
    ) -> Flow[dict[str, str]]:
        """Those of the leaves whose version counts, and that the view and the selection hold, with the ids they show."""
        versions = {id_: tuple(id_.rsplit("#", 2)[:2]) for id_ in ids}
        known = self._known is not None or self.scope is not None or within is not None
        everything = (yield from self.everything()) if known else None
        view = (yield from self.catalogue()) if known else None
        if everything is None:
            rows = yield from self.rows(list({document_id for document_id, _ in versions.values()}))
        else:
            rows = everything.rows
        shown, doubtful, stale = {}, set(), set()
        for id_, text in zip(ids, texts, strict=True):
            document_id, version = versions[id_]
            row = rows.get(document_id)
            # An embedded Chroma finds the vectors of leaves that another process has deleted, without their texts.
            if row is not None and row.version == version and text is not None:
                name = document_id if view is None or self.scope is None else view.shown_id(document_id)
                if name is not None and (within is None or document_id in within.ids):
                    shown[id_] = id_ if name == document_id else name + id_[len(document_id) :]
            elif (document_id, version) not in self._stale:
                doubtful.add((document_id, version))
            else:
                stale.add(document_id)
        # What does not count is the litter of a killed writer, unless somebody is writing right now.
        if doubtful and self._has_changed():
            self._stale |= doubtful
            raise Gone
        # What did not count a moment ago was, or is to be, another's: that one may have come in or gone since.
        if stale and everything is not None and self._has_changed():
            now = unpack_rows((yield from self._manifest.get(list(stale), ["metadatas"])))
            if any(_version(now, document_id) != _version(rows, document_id) for document_id in stale):
                raise Gone
        return shown


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for row in rows for item in row]


def _similarity(distance: float) -> float:
    return max(-1.0, min(1.0, 1.0 - distance))


def _split(leaf_id: str) -> tuple[str, str]:
    document_id, version, ordinal = leaf_id.rsplit("#", 2)
    return document_id, f"{version}#{ordinal}"


def _hits(answer: Mapping[str, Any], shown: Mapping[str, str]) -> list[list[Hit]]:
    return [
        sorted(
            (_hit(shown[id_], _similarity(each)) for id_, each in zip(ids, distances, strict=True) if id_ in shown),
            key=lambda hit: hit.order,
        )
        for ids, distances in zip(answer["ids"], answer["distances"], strict=True)
    ]


def _hit(leaf_id: str, score: float) -> Hit:
    document_id, version, ordinal = leaf_id.rsplit("#", 2)
    return Hit(document_id, version, int(ordinal), score)


def _version(rows: Mapping[str, Row], document_id: str) -> str | None:
    row = rows.get(document_id)
    return None if row is None else row.version


def _stored(id_: str, text: str, metadata: Mapping[str, Any], score: float) -> StoredLeaf:
    # Chroma gives them in another order each time, and hosts make texts and hashes of them.
    own = {key: metadata[key] for key in sorted(metadata)}
    return StoredLeaf(unpack(id_, own.pop(STRUCTURE_KEY)), text, own, score)
