"""Reading an index: searches and fetches that only ever show whole documents of the version that counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from leafspan.engine import Flow
from leafspan.store.collection import MOST_RESULTS, Collection
from leafspan.store.manifest import Row, unpack_rows
from leafspan.structure import STRUCTURE_KEY, unpack
from leafspan.values import Leaf


class Gone(Exception):
    """Something that was just seen has been replaced; whoever reads must start again. Never leaves the package."""


class StoredLeaf(NamedTuple):
    """A leaf as it lies in the store, with its similarity to what was searched."""

    leaf: Leaf
    text: str
    metadata: dict[str, object]
    score: float


class Reader:
    """What one reader sees: collections that stay open for it, and what the manifest says.

    ``rows`` is the whole manifest where it is held in memory, else None: it is then asked for the documents at hand.
    ``stale`` are (document, version) pairs that did not count when they were met before. Whoever is done calls ``leave``.
    """

    def __init__(
        self,
        leaves: Collection,
        manifest: Collection,
        *,
        rows: Mapping[str, Row] | None,
        has_changed: Callable[[], bool],
        leave: Callable[[], None],
        stale: set[tuple[str, str]],
    ) -> None:
        self._leaves = leaves
        self._manifest = manifest
        self._rows = rows
        self._has_changed = has_changed
        self._stale = stale
        self.leave = leave

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The manifest's rows of these documents, or of all."""
        if self._rows is not None:
            return self._rows if ids is None else {id_: self._rows[id_] for id_ in ids if id_ in self._rows}
        if ids is None:
            records = yield from self._manifest.scan(["metadatas"])
        else:
            records = yield from self._manifest.get(ids, ["metadatas"])
        return unpack_rows(records)

    def search(self, vectors: Any, count: int, where: Mapping[str, Any] | None) -> Flow[list[list[StoredLeaf]]]:
        """The ``count`` leaves nearest to each vector, best first; leaves that do not count are left out and made up for.

        Raises:
            Gone: if a version is met that may have been replaced a moment ago.
        """
        if self._rows is not None and not self._rows and not where:
            return [[] for _ in vectors]
        asked = count
        while True:
            answer = yield from self._leaves.query(vectors, asked, where)
            ids = [id_ for row in answer["ids"] for id_ in row]
            counts = yield from self._which_count(ids, [text for row in answer["documents"] for text in row])
            found = [
                sorted(
                    (
                        _stored(id_, text, metadata, max(-1.0, min(1.0, 1.0 - distance)))
                        for id_, text, metadata, distance in zip(*columns, strict=True)
                        if id_ in counts
                    ),
                    key=lambda stored: (-stored.score, stored.leaf.document_id, stored.leaf.ordinal),
                )[:count]
                for columns in zip(*(answer[name] for name in _COLUMNS), strict=True)
            ]
            short = any(len(row) < count for row in found) and any(len(row) == asked for row in answer["ids"])
            if not short or asked >= MOST_RESULTS:
                return found
            asked = min(asked * 4, MOST_RESULTS)

    def fetch(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of these leaves.

        Raises:
            Gone: if one of them is no longer there.
        """
        records = yield from self._leaves.get(ids, ["documents"])
        texts = {id_: record["document"] for id_, record in records.items() if record["document"] is not None}
        if len(texts) < len(set(ids)):
            raise Gone
        return texts

    def fetch_leaves(self, ids: Sequence[str]) -> Flow[dict[str, StoredLeaf]]:
        """These leaves with text, place and metadata, as far as they are there and count."""
        records = yield from self._leaves.get(ids, ["documents", "metadatas"])
        counts = yield from self._which_count(list(records), [record["document"] for record in records.values()])
        return {id_: _stored(id_, r["document"], r["metadata"], 0.0) for id_, r in records.items() if id_ in counts}

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

    def _which_count(self, ids: Sequence[str], texts: Sequence[str | None]) -> Flow[set[str]]:
        """Those of the leaves whose version is the one that counts."""
        versions = {id_: tuple(id_.rsplit("#", 2)[:2]) for id_ in ids}
        rows = yield from self.rows(list({document_id for document_id, _ in versions.values()}))
        counts, doubtful, stale = set(), set(), set()
        for id_, text in zip(ids, texts, strict=True):
            document_id, version = versions[id_]
            row = rows.get(document_id)
            # An embedded Chroma finds the vectors of leaves that another process has deleted, without their texts.
            if row is not None and row.version == version and text is not None:
                counts.add(id_)
            elif (document_id, version) not in self._stale:
                doubtful.add((document_id, version))
            else:
                stale.add(document_id)
        # What does not count is the litter of a killed writer, unless somebody is writing right now.
        if doubtful and self._has_changed():
            self._stale |= doubtful
            raise Gone
        # What did not count a moment ago was, or is to be, another's: that one may have come in or gone since.
        if stale and self._rows is not None and self._has_changed():
            now = unpack_rows((yield from self._manifest.get(list(stale), ["metadatas"])))
            if any(_version(now, document_id) != _version(rows, document_id) for document_id in stale):
                raise Gone
        return counts


_COLUMNS = ("ids", "documents", "metadatas", "distances")


def _version(rows: Mapping[str, Row], document_id: str) -> str | None:
    row = rows.get(document_id)
    return None if row is None else row.version


def _stored(id_: str, text: str, metadata: Mapping[str, Any], score: float) -> StoredLeaf:
    own = dict(metadata)
    return StoredLeaf(unpack(id_, own.pop(STRUCTURE_KEY)), text, own, score)
