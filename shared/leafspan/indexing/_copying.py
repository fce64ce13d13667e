"""Copying an index to another store: documents, leaves, vectors and summaries, exactly as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from leafspan.errors import ConcurrentUpdate, DamagedIndex, IndexMismatch, InvalidArgument
from leafspan.flows import Flow, Progress
from leafspan.indexing._recipe import COPIED_KEY, Recipe, count_texts, stored_documents
from leafspan.store import DocumentToWrite, Editions, Reader, Row, Store, Texts, grouped, read_consistently, record_embedder

_GROUP = 1_000  # leaves, or texts, read and written at a time
_ROUNDS = 5  # rounds in which a copy tries to catch up with writers of the source
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of a copy.

    Attributes:
        documents: Number of documents that the copy has.
        leaves: Number of their leaves.
        summaries: Number of summaries of the trees.
        written: Number of documents that this call wrote; the copy had the others already.
    """

    documents: int
    leaves: int
    summaries: int
    written: int


def check_copy(source: Store, target: Store) -> Flow[None]:
    """Check that an index can become a copy of another one."""
    if source.id == target.id:
        raise InvalidArgument("an index cannot be copied onto itself: choose another folder, database or name")
    if source.settings != target.settings:
        raise IndexMismatch(
            f"the index {target.described} was made with other settings (splitter, weights or analyzer) than "
            f"{source.described}: copy to a new one"
        )
    recorded, wanted = (yield from target.embedder()), (yield from source.embedder())
    if recorded is not None and recorded != wanted:
        raise IndexMismatch(f"the index {target.described} was made with another embedder: copy to a new one")
    rows, others = (yield from _rows(source)), (yield from _rows(target))
    added = {id_ for id_, row in others.items() if row.extra.get(COPIED_KEY) != source.id}
    if more := sorted(added - rows.keys()):
        named = ", ".join(map(repr, more[:_MOST_NAMED]))
        raise InvalidArgument(
            f"the index {target.described} has {len(more):,} documents that {source.described} has not, such as {named}: "
            "delete them there, or copy to a new one"
        )


def copy_store(
    source: Store, target: Store, recipe: Recipe | None = None, *, timeout: float, show: bool | None, what: str
) -> Flow[tuple[int, int, int]]:
    """Copy a store's content into another one that has no other writer. Documents that the source has not are deleted.

    Documents that change meanwhile are read again, until both stores have the same rows, which contain all checksums.
    With a recipe, they are made once from the source's documents, and the last number counts the embedded texts.
    """
    if recipe is None and (identity := (yield from source.embedder())) is not None:
        yield from record_embedder(target, identity, timeout=timeout)
    written = 0
    for _ in range(1 if recipe else _ROUNDS):
        wanted, missing, gone = yield from differences(source, target, recipe)
        if not missing and not gone:
            return len(wanted), sum(row.leaves for row in wanted.values()), written
        with Progress(sum(row.leaves for row in missing), show=show, what=what, unit=" leaves") as progress:
            for group in grouped(missing, min(_GROUP, target.batch)):
                ids = [row.document_id for row in group]
                if recipe is None:
                    documents = yield from read_consistently(source, partial(_documents, source=source, ids=ids))
                    written += len(documents)
                else:
                    prepared = yield from recipe.prepared(source, ids)
                    documents = yield from recipe.embedded(prepared)
                    written += count_texts(prepared, recipe)
                yield from _write(target, ids, documents, timeout)
                progress.advance(sum(row.leaves for row in group))
        if gone:
            ids = [row.document_id for row in gone]
            with (yield from target.start_writing(timeout, ids)) as writer:
                yield from writer.delete([writer.rows[id_] for id_ in ids if id_ in writer.rows])
    if recipe is not None:
        return len(wanted), sum(row.leaves for row in wanted.values()), written  # take_place compares again
    raise ConcurrentUpdate("documents were changed faster than they were copied: run it again when there are fewer writes")


def differences(
    source: Store, target: Store | None, recipe: Recipe | None
) -> Flow[tuple[Mapping[str, Row], list[Row], list[Row]]]:
    """Return the rows that a copy should have, which of these rows it lacks, and which rows it has too many."""
    key = (lambda row: row) if recipe is None else recipe.key
    wanted = {id_: _copied(row, source) for id_, row in (yield from _rows(source)).items()}
    copied = {} if target is None else (yield from _rows(target))
    missing = [row for id_, row in wanted.items() if id_ not in copied or key(copied[id_]) != key(row)]
    return wanted, missing, [row for id_, row in copied.items() if id_ not in wanted]


def take_place(source: Store, target: Store, recipe: Recipe, editions: Editions, timeout: float) -> Flow[bool]:
    """Let an edition answer the questions instead of another one, unless their documents differ by now."""
    with (yield from source.start_writing(timeout, None)) as writer:
        _, missing, gone = yield from differences(source, target, recipe)
        if missing or gone:
            return False
        if (yield from source.editions()).spare != editions.current:
            raise ConcurrentUpdate("another process has re-embedded the index meanwhile: open it again")
        yield from source.record_editions(editions)
        yield from writer.advance()
        return True


def copy_texts(source: Store, target: Store, *, timeout: float) -> Flow[None]:
    """Copy the texts that a store keeps beside its documents, such as summaries written by a language model."""
    own, copies = Texts(source, timeout), Texts(target, timeout)
    missing = sorted((yield from own.keys()) - (yield from copies.keys()))
    for start in range(0, len(missing), _GROUP):
        keys = missing[start : start + _GROUP]
        texts, owners = (yield from own.get(keys)), (yield from own.owners(keys))
        yield from copies.put_all({key: (text, owners.get(key, "")) for key, text in texts.items()})


def _rows(store: Store) -> Flow[dict[str, Row]]:
    """Return the rows of a store's documents, without documents that are being deleted."""
    catalogue = yield from read_consistently(store, Reader.unpacked)
    return {id_: replace(row, leftovers=()) for id_, row in sorted(catalogue.rows.items()) if row.version is not None}


def _copied(row: Row, source: Store) -> Row:
    return replace(row, leftovers=(), extra={**row.extra, COPIED_KEY: source.id})


def _documents(reader: Reader, *, source: Store, ids: Sequence[str]) -> Flow[list[DocumentToWrite]]:
    """Return documents with everything stored of them, without documents that are gone."""
    documents = yield from stored_documents(reader, ids)
    vectors = yield from reader.fetch_vectors([id_ for each in documents for id_ in each.row.record_ids])
    return [
        each._replace(row=_copied(each.row, source), vectors=[vectors[id_] for id_ in each.row.record_ids])
        for each in documents
    ]


def _write(target: Store, ids: Sequence[str], documents: Sequence[DocumentToWrite], timeout: float) -> Flow[None]:
    with (yield from target.start_writing(timeout, ids)) as writer:
        yield from writer.recover()
        yield from writer.replace(documents)
        for each in documents:
            if each.row.checksums and writer.rows[each.row.document_id] != each.row:
                raise DamagedIndex(
                    f"the copy of {each.row.document_id!r} has other checksums than the document: run repair()",
                    each.row.document_id,
                )
