"""Finds leaves without a vector, or that a search misses, and makes their vectors again: from segments or by embedding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from leafspan.documents import IndexSettings, indexed_heads, indexed_texts
from leafspan.embedding import Embed
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow, Progress
from leafspan.indexing._examining import Examination, Finding
from leafspan.indexing._writing import embed_leaves
from leafspan.segments import Mirror, vectors_in
from leafspan.store import Reader, Row, Store, StoredLeaf, grouped, read_consistently
from leafspan.values import Document, LeafId

_GROUP = 500  # leaves checked and written at a time
_CHECKED = 2_000  # restored vectors that are then searched for; searching takes longer than writing
_ROUNDS = 3
_MIN_FOR_PROGRESS = 2_000  # leaves; with fewer, no progress bar is shown
_SAMPLE = 1_000  # leaves, evenly spread, that are searched by their own vectors
# The share of them that may be missing, since an engine's search is approximate: of 30,000 random vectors of 256
# dimensions, the hardest to search, it misses 36 % in a whole index. A damaged graph finds almost none.
_TOLERATED = 0.5
_NOT_REACHED = (
    "their vectors are all there, and writing them again does not help, as where very many texts are equal: delete "
    "documents that repeat the same text, or add the documents to a new index"
)


def examine_database(store: Store) -> Flow[list[Finding]]:
    """Return what is wrong with the database's pages, which only a backup can repair. Empty for a server."""
    problem = yield from store.check_database()
    if problem is None:
        return []
    remedy = "put the whole folder back from a backup, or add the documents to a new one"
    return [Finding("chroma.sqlite3", f"the database is damaged ({problem}): {remedy}", False)]


def examine_files(store: Store, options: Examination) -> Flow[list[Finding]]:
    """Return what is wrong with vector files, their copies and the database's log, and repair it."""
    problems = yield from store.check_files(options.timeout, repair=options.repair)
    return [Finding(name, problem, options.repair) for name, problem in problems.items()]


def examine_vectors(
    store: Store, copy: Mirror | None, embed: Embed | None, settings: IndexSettings, options: Examination
) -> Flow[list[Finding]]:
    """Count the leaves without a vector, and those that a search by their own vector misses, and repair both."""
    repair, timeout = options.repair, options.timeout
    made, left = yield from rebuild_vectors(store, copy, embed, settings, timeout=timeout, repair=repair)
    findings = [Finding(id_, f"{count} leaves had no vector", True) for id_, count in sorted(made.items())]
    remedy = "repair() with the embedder that made the index makes them again"
    findings += [Finding(id_, f"{count} leaves have no vector; {remedy}", False) for id_, count in sorted(left.items())]
    if left:
        return findings
    lost, sample, every = yield from _not_found(store)
    most = max(2, int(_TOLERATED * sample))
    still = lost
    if lost and repair:
        # Take the vectors from the segments or the engine: an existing vector need not be embedded again.
        again = every if len(lost) > most else lost
        yield from rebuild_vectors(store, copy, None, settings, timeout=timeout, again=again)
        still, _, _ = yield from _not_found(store)
    if len(lost) > most:
        named = sorted({LeafId.parse(id_).document_id for id_ in lost})
        problem = f"searches by their own vectors missed {len(lost)} of {sample} leaves that were tried"
        is_repaired = repair and len(still) <= most
        remedy = "" if is_repaired else f"; {_NOT_REACHED if repair else 'repair() writes their vectors again'}"
        findings.append(Finding(named[0], f"{problem}, of {len(named)} documents{remedy}", is_repaired))
    return findings


def _not_found(store: Store) -> Flow[tuple[set[str], int, list[str]]]:
    """Return the leaves of a sample that their own vectors do not find, the size of the sample, and all leaves."""
    catalogue = yield from read_consistently(store, Reader.unpacked)
    every = [id_ for _, row in sorted(catalogue.rows.items()) if row.version is not None for id_ in row.record_ids]
    sample = every[:: max(1, len(every) // _SAMPLE)]
    return (yield from store.leaves.not_found(sample)), len(sample), every


def rebuild_vectors(
    store: Store,
    copy: Mirror | None,
    embed: Embed | None,
    settings: IndexSettings,
    *,
    timeout: float,
    repair: bool = True,
    again: Iterable[str] = (),
    most_embedded: int | None = None,
) -> Flow[tuple[Counter[str], Counter[str]]]:
    """Find leaves without a stored vector, and make their vectors again. After an interruption, the next call goes on.

    Return the number of leaves of each document that have a vector again, and of those that still lack one.
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
    made, left = Counter[str](), Counter[str]()
    checked: dict[str, Any] = {}
    with Progress(leaves, show=show, what="Looking at vectors", unit=" leaves") as progress:
        for group in grouped(rows, _GROUP):
            ids = [id_ for row in group for id_ in row.record_ids]
            for start in range(0, len(ids), _GROUP):
                some = ids[start : start + _GROUP]
                missing = yield from store.leaves.without_vectors(some)
                wanted = [id_ for id_ in some if id_ in missing or id_ in again]
                if not wanted:
                    continue
                leaves_wanted = list(map(LeafId.parse, wanted))
                copied = {} if snapshot is None else (yield Call(vectors_in, (snapshot, leaves_wanted))).records
                vectors = {record.id: record.vector for record in copied.values()}
                if stored := [id_ for id_ in wanted if id_ not in vectors and id_ not in missing]:
                    vectors |= yield from read_consistently(store, partial(Reader.fetch_vectors, ids=stored))
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
                    counts[LeafId.parse(id_).document_id] += 1
            progress.advance(len(ids))
        yield from _write_until_found(store, checked, timeout)
    if repair and not left:
        yield from store.vectors_found(catalogue)
    return made, left


def _write_until_found(store: Store, vectors: Mapping[str, Any], timeout: float) -> Flow[None]:
    """Write vectors again that a search by themselves misses: a graph can lose the way to a vector it has."""
    for _ in range(_ROUNDS):
        lost = yield from store.leaves.not_found(list(vectors))
        if not lost:
            break
        yield from write_vectors(store, {id_: vectors[id_] for id_ in lost}, timeout)


def embedded_again(
    store: Store, embed: Embed, settings: IndexSettings, group: Sequence[Row], ids: Sequence[str]
) -> Flow[dict[str, Any]]:
    """Return leaves' vectors by id, embedded from their texts as an ``add`` does. Leaves without a text are left out."""
    texts: dict[str, str] = {}
    heads: dict[str, str] = {}
    wanted = set(ids)
    for row in group:
        of_row = [id_ for id_ in row.record_ids if id_ in wanted]
        if of_row:
            texts |= {id_: text for id_, text in (yield from _texts(store, settings, row)).items() if id_ in wanted}
            heads |= dict(zip(row.record_ids, indexed_heads(row.title, row.sections, row.leaves), strict=True))
    of_texts = [heads[id_] for id_ in texts]
    vectors = yield from embed_leaves(list(texts.values()), of_texts, settings, embed)
    return dict(zip(texts, vectors, strict=True))


def _texts(store: Store, settings: IndexSettings, row: Row) -> Flow[dict[str, str]]:
    """Return the text to embed for each leaf of a document, or an empty mapping if leaves are missing."""
    if not settings.context_sentences:
        records = yield from read_consistently(store, partial(Reader.fetch_records, ids=row.record_ids))
        return {id_: text for id_, (text, _) in records.items()}
    ids = row.leaf_ids
    stored: Mapping[LeafId, StoredLeaf] = yield from read_consistently(store, partial(Reader.fetch_leaves, ids=ids))
    if len(stored) < row.leaves:
        return {}
    document = Document(row.document_id, "".join(stored[id_].text for id_ in ids))
    leaves = [stored[id_].leaf for id_ in ids]
    texts = indexed_texts(document, leaves, context_sentences=settings.context_sentences)
    return dict(zip(row.record_ids, texts, strict=True))


def write_vectors(store: Store, vectors: Mapping[str, Any], timeout: float) -> Flow[dict[str, Any]]:
    """Write vectors of leaves that still exist, and return the written ones."""
    documents = sorted({LeafId.parse(id_).document_id for id_ in vectors})
    with (yield from store.start_writing(timeout, documents)) as writer:
        current = {}
        for id_, vector in vectors.items():
            leaf = LeafId.parse(id_)
            row = writer.rows.get(leaf.document_id)
            if row is not None and row.version == leaf.version and leaf.ordinal < row.leaves:
                current[id_] = vector
        yield from writer.write_vectors(current)
        return current
