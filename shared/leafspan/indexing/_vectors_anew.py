"""Makes lost vectors again: from their copy in the segments, or else by embedding the texts again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from leafspan.documents import IndexSettings, indexed_heads, indexed_texts
from leafspan.embedding import Embed, blend, embed_in_batches
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow, Progress
from leafspan.segments import Mirror, vectors_in
from leafspan.store import Reader, Row, Store, StoredLeaf, grouped, read_consistently
from leafspan.values import Document, LeafId

_GROUP = 500  # leaves checked and written at a time
_CHECKED = 2_000  # restored vectors that are then searched for; searching takes longer than writing
_ROUNDS = 3
_MIN_FOR_PROGRESS = 2_000  # leaves; with fewer, no progress bar is shown


@dataclass(frozen=True, slots=True)
class Remade:
    """Leaves that had no vector, as the number of leaves of each document."""

    made: Mapping[str, int]  # leaves that have a vector again
    left: Mapping[str, int]  # leaves that still have no vector


def make_vectors_anew(
    store: Store,
    copy: Mirror | None,
    embed: Embed | None,
    settings: IndexSettings,
    *,
    timeout: float,
    repair: bool = True,
    again: Iterable[str] = (),
    most_embedded: int | None = None,
) -> Flow[Remade]:
    """Find leaves without a stored vector, and make their vectors again. After an interruption, the next call goes on.

    With ``most_embedded``, no text is embedded if the vectors of more texts are missing in the segments.
    """
    again = set(again)
    if repair and store.lost_vectors() is not None:
        (yield from store.start_writing(timeout, None)).stop()  # each writer first writes what the segments have
        if most_embedded is not None and (store.lost_vectors() or 0) > most_embedded:
            embed = None
    catalogue = yield from read_consistently(store, Reader.unpacked)
    rows = [row for _, row in sorted(catalogue.rows.items()) if row.version is not None and row.leaves]
    snapshot = None if copy is None else (yield from copy.existing(catalogue))
    leaves = sum(row.leaves for row in rows)
    show = None if leaves >= _MIN_FOR_PROGRESS else False
    progress = Progress(leaves, show=show, what="Looking at vectors", unit=" leaves")
    made: dict[str, int] = {}
    left: dict[str, int] = {}
    checked: dict[str, Any] = {}
    try:
        for group in grouped(rows, _GROUP):
            ids = [id_ for row in group for id_ in row.leaf_ids]
            for some in _pieces(ids):
                missing = yield from store.without_vectors(some)
                wanted = [id_ for id_ in some if id_ in missing or id_ in again]
                if not wanted:
                    continue
                copied = {} if snapshot is None else (yield Call(vectors_in, (snapshot, wanted))).records
                vectors = {id_: record.vector for id_, record in copied.items()}
                if there := [id_ for id_ in wanted if id_ not in vectors and id_ not in missing]:
                    vectors |= yield from read_consistently(store, partial(Reader.fetch_vectors, ids=there))
                rest = [id_ for id_ in wanted if id_ not in vectors]
                if rest and embed is not None and repair:
                    try:
                        vectors |= yield from embedded_again(store, embed, settings, group, rest)
                    except IndexMismatch:  # not the embedder that made the index
                        embed = None
                if repair and vectors:
                    vectors = yield from write_vectors(store, vectors, timeout)
                    checked |= vectors if len(checked) < _CHECKED else {}
                for id_ in wanted:
                    counts = made if repair and id_ in vectors else left
                    document_id = LeafId.parse(id_).document_id
                    counts[document_id] = counts.get(document_id, 0) + 1
            progress.advance(len(ids))
        yield from _write_until_found(store, checked, timeout)
    finally:
        progress.close()
    if repair and not left:
        yield from store.vectors_found(catalogue)
    return Remade(made, left)


def _write_until_found(store: Store, vectors: Mapping[str, Any], timeout: float) -> Flow[None]:
    """Write vectors again that a search by themselves misses: a graph can lose the way to a vector it has."""
    for _ in range(_ROUNDS):
        lost = yield from store.not_found(list(vectors))
        if not lost:
            break
        yield from write_vectors(store, {id_: vectors[id_] for id_ in lost}, timeout)


def _pieces(ids: Sequence[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while some := list(islice(remaining, _GROUP)):
        yield some


def embedded_again(
    store: Store, embed: Embed, settings: IndexSettings, group: Sequence[Row], ids: Sequence[str]
) -> Flow[dict[str, Any]]:
    """Return leaves' vectors by id, embedded from their texts as an ``add`` does. Leaves without a text are left out."""
    texts: dict[str, str] = {}
    heads: dict[str, str] = {}
    wanted = set(ids)
    for row in group:
        of_row = [id_ for id_ in row.leaf_ids if id_ in wanted]
        if of_row:
            texts |= {id_: text for id_, text in (yield from _texts(store, settings, row)).items() if id_ in wanted}
            heads |= dict(zip(row.leaf_ids, indexed_heads(row.title, row.sections, row.leaves), strict=True))
    if not texts:
        return {}
    weight = settings.title_weight
    head_rows = (
        {head: n for n, head in enumerate(dict.fromkeys(heads[id_] for id_ in texts if heads[id_]))} if weight else {}
    )
    vectors = yield from embed_in_batches(embed, [*texts.values(), *head_rows])
    head_of = [head_rows.get(heads[id_]) for id_ in texts]
    matrix = yield Call(blend, (vectors[: len(texts)], vectors[len(texts) :], head_of, weight))
    return dict(zip(texts, matrix, strict=True))


def _texts(store: Store, settings: IndexSettings, row: Row) -> Flow[dict[str, str]]:
    """Return the text to embed for each leaf of a document, or an empty mapping if leaves are missing."""
    if not settings.context_sentences:
        records = yield from read_consistently(store, partial(Reader.fetch_records, ids=row.leaf_ids))
        return {id_: text for id_, (text, _) in records.items()}
    stored: Mapping[str, StoredLeaf] = yield from read_consistently(store, partial(Reader.fetch_leaves, ids=row.leaf_ids))
    if len(stored) < row.leaves:
        return {}
    document = Document(row.document_id, "".join(stored[id_].text for id_ in row.leaf_ids))
    leaves = [stored[id_].leaf for id_ in row.leaf_ids]
    texts = indexed_texts(document, leaves, context_sentences=settings.context_sentences)
    return dict(zip(row.leaf_ids, texts, strict=True))


def write_vectors(store: Store, vectors: Mapping[str, Any], timeout: float) -> Flow[dict[str, Any]]:
    """Write vectors of leaves that still exist, and return the written ones."""
    writer = yield from store.start_writing(timeout, sorted({LeafId.parse(id_).document_id for id_ in vectors}))
    try:
        current = {}
        for id_, vector in vectors.items():
            leaf = LeafId.parse(id_)
            row = writer.rows.get(leaf.document_id)
            if row is not None and row.version == leaf.version and leaf.ordinal < row.leaves:
                current[id_] = vector
        yield from writer.write_vectors(current)
        return current
    finally:
        writer.stop()
