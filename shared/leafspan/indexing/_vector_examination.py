"""Checks whether a search finds each leaf by its own vector, and repairs that."""

from __future__ import annotations

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.flows import Flow
from leafspan.indexing._examining import Finding
from leafspan.indexing._vectors_anew import make_vectors_anew
from leafspan.segments import Mirror
from leafspan.store import Reader, Store, read_consistently
from leafspan.values import LeafId

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


def examine_files(store: Store, *, repair: bool, timeout: float) -> Flow[list[Finding]]:
    """Return what is wrong with vector files, their copies and the database's log, and repair it.

    Raises:
        WriterBusy: if another writer holds the index, or another process the files, for longer than the timeout.
    """
    problems = yield from store.check_files(timeout, repair=repair)
    return [Finding(name, problem, repair) for name, problem in problems.items()]


def examine_vectors(
    store: Store, copy: Mirror | None, embed: Embed | None, settings: IndexSettings, *, repair: bool, timeout: float
) -> Flow[list[Finding]]:
    """Count the leaves without a vector, and those that a search by their own vector misses, and repair both.

    Raises:
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    findings = []
    remade = yield from make_vectors_anew(store, copy, embed, settings, timeout=timeout, repair=repair)
    findings += [Finding(id_, f"{count} leaves had no vector", True) for id_, count in sorted(remade.made.items())]
    remedy = "repair() with the embedder that made the index makes them again"
    for id_, count in sorted(remade.left.items()):
        findings.append(Finding(id_, f"{count} leaves have no vector; {remedy}", False))
    if remade.left:
        return findings
    lost, sample, every = yield from _not_found(store)
    most = max(2, int(_TOLERATED * sample))
    still = lost
    if lost and repair:
        # Take the vectors from the segments or the engine: an existing vector need not be embedded again.
        again = every if len(lost) > most else lost
        yield from make_vectors_anew(store, copy, None, settings, timeout=timeout, again=again)
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
    every = [id_ for _, row in sorted(catalogue.rows.items()) if row.version is not None for id_ in row.leaf_ids]
    sample = every[:: max(1, len(every) // _SAMPLE)]
    return (yield from store.not_found(sample)), len(sample), every
