"""Reads an index, and makes passages. Searches and fetches only return leaves of each document's current version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import lines_of, unpack_place
from leafspan.engines import MOST_RESULTS, Field, FlowTable, Near, Record, StaleRead
from leafspan.files import place_in_file
from leafspan.flows import Flow
from leafspan.spans import best_hit
from leafspan.store._catalogue import Selection, Visibility
from leafspan.store._current_leaves import Current, StoredLeaf, hits_of, parsed
from leafspan.store._damage import DamageRule, ReadHistory, check_record, check_text, text_is_as_written
from leafspan.store._folder import FolderCollection
from leafspan.store._manifest import PARTS_KEY, Row
from leafspan.store._rows_file import RowsInFile
from leafspan.store._visible_documents import IndexState, VisibleDocuments
from leafspan.store._writer import Copies
from leafspan.trace import EMPTY_TRACE, Trace
from leafspan.values import Ancestor, Hit, LeafId, Outline, Passage, Span

T = TypeVar("T")


class Nearest(NamedTuple, Generic[T]):
    """The nearest visible leaves of each vector, and how many leaves the engine returned, including replaced ones."""

    rows: list[list[T]]
    returned: list[int]


class Reader(VisibleDocuments):
    """Reads the visible documents of an index at one moment. All ids, in arguments and in results, are shown ids."""

    def __init__(
        self,
        leaves: FlowTable | FolderCollection,
        manifest: FlowTable | FolderCollection | RowsInFile,
        state: IndexState,
        history: ReadHistory,
        *,
        scope: Visibility | None = None,
        rule: DamageRule | None = None,
        copies: Copies | None = None,
    ) -> None:
        super().__init__(manifest, state, history, scope=scope, rule=rule)
        self._leaves = leaves
        self._copies = copies

    def for_mirrors(self) -> Reader:
        """A reader of the whole index that leaves damaged documents out. It is valid as long as this reader."""
        reader = self.leaving_out()
        reader.scope = None
        reader._read = {}
        return reader

    def as_stored(self) -> Reader:
        """A copy of this reader that reads all leaves from the engine instead of a copy of them."""
        reader = copy(self)
        reader._copies = None
        return reader

    def leaving_out(self) -> Reader:
        """A copy of this reader that always leaves damaged documents out."""
        reader = copy(self)
        reader._leaves_out = True
        return reader

    def raising(self) -> Reader:
        """A copy of this reader that always raises for damaged documents: for fetches by id."""
        reader = copy(self)
        reader._leaves_out = False
        return reader

    @property
    def has_copies(self) -> bool:
        """Whether a copy of the leaves is read, so that reading some of them twice costs little."""
        return self._copies is not None and self._everything is not None

    def search(self, vectors: Any, count: int) -> Flow[Nearest[StoredLeaf]]:
        """The ``count`` visible leaves nearest to each vector, best first. Ties are ordered by document, then position."""

        def read(rows: Sequence[Sequence[Near]], current: Current) -> list[list[StoredLeaf]]:
            problems: dict[str, str] = {}
            leaves = [
                sorted(
                    current.stored_leaves(row, problems),
                    key=lambda stored: (-stored.score, stored.leaf.document_id, stored.leaf.ordinal),
                )
                for row in rows
            ]
            self._check(problems)
            return leaves

        return self._query_until_enough(vectors, count, ["text", "metadata"], read)

    def search_hits(self, vectors: Any, count: int) -> Flow[Nearest[Hit]]:
        """The hits of ``search``: ids and scores only, without texts."""
        return self._query_until_enough(vectors, count, [], hits_of)

    @property
    def searches_among(self) -> bool:
        return self._leaves.searches_among

    def nearest(
        self, vectors: Any, count: int, within: Selection, *, among: Sequence[str] | None = None
    ) -> Flow[list[list[Hit]]]:
        """The nearest leaves of a selection for each vector, best first. Reads only ids and scores.

        If the selection's leaves are given as ``among``, the engine compares only these.
        """
        if self._is_empty:
            return [[] for _ in vectors]
        stored = None if among is None else list((yield from self._stored_ids(among)))
        rows = yield from self._query(vectors, count, [], stored)
        ids = [near.record.id for row in rows for near in row]
        return hits_of(rows, (yield from self._current(ids, [""] * len(ids), within, queried=True)))

    def fetch(self, ids: Sequence[LeafId]) -> Flow[dict[LeafId, str]]:
        """The texts of these leaves, by id. A leaf that no longer exists is a StaleRead, a changed one a DamagedIndex."""
        stored = yield from self._stored_leaves(ids)
        copies = yield from self._whole_in_copy(stored, ["text"])
        texts = {stored[leaf]: record.text or "" for leaf, record in copies.items()}
        problems: dict[str, str] = {}
        others = {str(leaf): shown for leaf, shown in stored.items() if leaf not in copies}
        if others:
            rows = yield from self._rows_of(others)
            records = yield from self._records(others, ["text"])
        for id_, shown in others.items():
            prefix, _, ordinal = id_.rpartition("#")
            row, record = rows.get(prefix), records.get(id_)
            text = None if record is None else record.text
            if text is not None:
                texts[shown] = text
            if row is None or (text and text_is_as_written(row.checksums, int(ordinal), text)):
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
        """The vectors of these leaves, by id. A leaf that no longer exists is a StaleRead, a lost vector a DamagedIndex."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._records(stored, ["vector"])
        vectors = {stored[id_]: record.vector for id_, record in records.items() if record.vector is not None}
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

    def fetch_leaves(self, ids: Sequence[LeafId]) -> Flow[dict[LeafId, StoredLeaf]]:
        """These leaves, by id, without those that do not exist, are not current or are not visible."""
        stored = yield from self._stored_leaves(ids)
        copies = yield from self._whole_in_copy(stored, ["text", "metadata"])
        leaves = {}
        for leaf, (_, text, metadata, _) in copies.items():
            shown, own = stored[leaf], dict(metadata or {})
            place = unpack_place(shown, own.pop(STRUCTURE_KEY), checked=True)
            leaves[shown] = StoredLeaf(shown, place, text or "", own, 0.0)
        if others := [str(shown) for leaf, shown in stored.items() if leaf not in copies]:
            records, current = yield from self._fetch(others)
            problems: dict[str, str] = {}
            neighbours = (Near(record, 0.0) for record in records.values())
            leaves.update((each.id, each) for each in current.stored_leaves(neighbours, problems))
            self._check(problems)
        return leaves

    def fetch_records(self, ids: Sequence[str]) -> Flow[dict[str, tuple[str, Mapping[str, Any]]]]:
        """These leaves and summaries, by id, as (text, stored metadata)."""
        records, current = yield from self._fetch(ids)
        problems: dict[str, str] = {}
        contents: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for id_, shown in current.leaves.items():
            _, text, metadata, _ = records[id_]
            try:
                check_record(current.row(id_), shown, text or "", metadata)
            except ValueError as error:
                problems[id_] = str(error)
            contents[str(shown)] = text or "", metadata or {}
        self._check(problems)
        return contents

    def _fetch(self, ids: Sequence[str]) -> Flow[tuple[dict[str, Record], Current]]:
        """Read the records of these leaves with texts and metadata, and find the current ones."""
        stored = yield from self._stored_ids(ids)
        records = yield from self._records(stored, ["text", "metadata"])
        current = yield from self._current(list(records), [record.text for record in records.values()])
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

    def _whole_in_copy(self, leaves: Iterable[LeafId], fields: Collection[Field]) -> Flow[dict[LeafId, Record]]:
        """The records that the copy has undamaged, by the leaf's stored id. The leaves are current."""
        if self._copies is None or self._everything is None:
            return {}
        records, checked = yield from self._copies.read((yield from self.everything()), leaves, fields)
        return records if len(checked) == len(records) else {leaf: records[leaf] for leaf in checked}

    def _records(self, ids: Iterable[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        """The records of leaves, by stored id, from the copy if it has them undamaged, or else from the engine."""
        if self._copies is None or self._everything is None:
            return (yield from self._leaves.get(list(ids), fields))
        everything = yield from self.everything()
        copies, _ = yield from self._copies.read(everything, map(parsed, ids), fields)
        records = {record.id: record for record in copies.values()}
        missing = [id_ for id_ in ids if id_ not in records and not _is_beyond(everything.rows, id_)]
        if missing:
            records |= yield from self._leaves.get(missing, fields)
        return records

    def stored_records(self, ids: Sequence[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        return self._leaves.get(ids, fields)

    def leaf_ids(self) -> Flow[list[str]]:
        """The ids of all leaves in the store, current or not."""
        return list((yield from self._leaves.scan([])))

    def _query_until_enough(
        self,
        vectors: Any,
        count: int,
        fields: Collection[Field],
        read: Callable[[Sequence[Sequence[Near]], Current], list[list[T]]],
    ) -> Flow[Nearest[T]]:
        """The ``count`` nearest current leaves of each vector; ``read`` makes the results.

        If too few of the nearest leaves are current, the engine is asked for more.
        """
        if self._is_empty:
            return Nearest([[] for _ in vectors], [0] * len(vectors))
        limit = count
        while True:
            rows = yield from self._query(vectors, limit, fields)
            records = [near.record for row in rows for near in row]
            texts = [record.text for record in records] if "text" in fields else [""] * len(records)
            current = yield from self._current([record.id for record in records], texts, queried=True)
            results = read(rows, current)
            short = any(len(row) < count for row in results) and any(len(row) == limit for row in rows)
            if not short or limit >= MOST_RESULTS:
                return Nearest([row[:count] for row in results], list(map(len, rows)))
            limit = min(limit * 4, MOST_RESULTS)

    def _query(
        self, vectors: Any, count: int, fields: Collection[Field], among: Sequence[str] | None = None
    ) -> Flow[list[list[Near]]]:
        rows = yield from self._leaves.nearest(vectors, count, fields, among=among)
        self._outdated = set(self._read)
        return rows


def _is_beyond(rows: Mapping[str, Row], id_: str) -> bool:
    """Whether the id is after a document's last leaf, as a neighbour of the last leaf would be."""
    leaf = parsed(id_)
    row = rows.get(leaf.document_id)
    return row is not None and row.version == leaf.version and leaf.ordinal >= row.leaves


def leaf_passage(
    span: Span,
    texts: Mapping[LeafId, str],
    row: Row,
    metadata: Mapping[str, object],
    *,
    score: float = 0.0,
    trace: Trace | None = None,
    ancestors: Sequence[Ancestor] = (),
) -> Passage:
    """Make a passage of a span. Leaves partition the text, so one leaf's place gives the place of every other leaf."""
    pieces = [texts[id_] for id_ in span.leaf_ids]
    ordinal, place = span.anchor
    start = place - sum(len(piece) for piece in pieces[: ordinal - span.first])
    text = "".join(pieces)
    lines, parts = lines_of(row.lines, span.first, text), row.extra.get(PARTS_KEY)
    best = best_hit(span, trace) if parts and trace else None
    lines_of_best = None if best is None else lines_of(row.lines, best, pieces[best - span.first])
    return Passage(
        span.id,
        span.document_id,
        start,
        start + len(text),
        text,
        score,
        dict(metadata),
        trace or EMPTY_TRACE,
        title=row.title,
        headings=row.headings([(span.first, span.last)]),
        lines=lines if parts is None else None,
        place=None if parts is None or lines is None else place_in_file(parts, lines, lines_of_best),
        outline=outline_of(row, ((span.first, span.last),), pieces, ancestors),
        hidden=row.hidden,
    )


def outline_of(
    row: Row, runs: tuple[tuple[int, int], ...], pieces: Iterable[str] = (), ancestors: Iterable[Ancestor] = ()
) -> Outline:
    """The shape of a document, from its row and the pieces' texts."""
    return Outline(
        row.leaves,
        row.characters,
        row.sections,
        runs,
        tuple(accumulate(map(len, pieces))),
        tuple([(node.first, node.last) for node in ancestors]),
    )
