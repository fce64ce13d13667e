"""Documents of a host's vector store, by the id of a document or of a passage."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from leafspan.checks import check_flag, shown
from leafspan.documents import checked_keys, is_single, to_document
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.values import Chunk, Document, Passage, run_of_id
from leafspan.view import View

T = TypeVar("T")


def to_documents(
    given: Iterable[object],
    ids: Iterable[str | None] | None,
    *,
    split: bool,
    flatten_metadata: bool,
    volatile_keys: Collection[str] = (),
) -> list[Document]:
    """The documents to store for what a host adds."""
    check_flag("flatten_metadata", flatten_metadata)
    things = [given] if is_single(given) else list(given)
    listed = [None] * len(things) if ids is None else _listed(ids)
    if len(listed) != len(things):
        raise InvalidArgument(f"ids must have one for each of the {len(things)} documents, got {len(listed)}")
    documents, keys = [], checked_keys(volatile_keys)
    for thing, id_ in zip(things, listed, strict=True):
        document = to_document(thing, flatten_metadata=flatten_metadata, volatile_keys=keys)
        whole = (Chunk(len(document.text)),) if document.text and not split else document.chunks
        documents.append(replace(document, id=document.id if id_ is None else id_, chunks=whole))
    return documents


def with_ids(view: View, ids: Iterable[str]) -> list[Document | Passage]:
    """The existing documents and passages with these ids, in the order of the ids."""
    found = [_with_id(view, id_) for id_ in _distinct(ids)]
    return [each for each in found if each is not None]


async def awith_ids(view: View, ids: Iterable[str]) -> list[Document | Passage]:
    """Like ``with_ids``."""
    found = await asyncio.gather(*(_awith_id(view, id_) for id_ in _distinct(ids)))
    return [each for each in found if each is not None]


def _with_id(view: View, id_: str) -> Document | Passage | None:
    try:
        return view.get(id_)
    except DocumentNotFound:
        if not _is_of_leaves(id_):
            return None
    try:
        return replace(view.surroundings(id_, before=0, after=0), outline=None)  # the passage has the requested id
    except (DocumentNotFound, InvalidArgument):  # replaced, or never there
        return None


async def _awith_id(view: View, id_: str) -> Document | Passage | None:
    try:
        return await view.aget(id_)
    except DocumentNotFound:
        if not _is_of_leaves(id_):
            return None
    try:
        return replace(await view.asurroundings(id_, before=0, after=0), outline=None)
    except (DocumentNotFound, InvalidArgument):
        return None


def delete(view: View, ids: Iterable[str] | None, where: object) -> None:
    """Delete documents by their ids or by a filter. Missing ids are ignored."""
    listed = None if ids is None else _distinct(ids)
    if passages := [id_ for id_ in listed or () if _is_of_leaves(id_)]:
        _check_are_documents(passages, view.delete(passages, dry_run=True))
    view.delete(listed, where=where)


async def adelete(view: View, ids: Iterable[str] | None, where: object) -> None:
    """Like ``delete``."""
    listed = None if ids is None else _distinct(ids)
    if passages := [id_ for id_ in listed or () if _is_of_leaves(id_)]:
        _check_are_documents(passages, await view.adelete(passages, dry_run=True))
    await view.adelete(listed, where=where)


def _check_are_documents(ids: Sequence[str], there: Sequence[str]) -> None:
    """Check that each id that looks like a passage's id is a document's id."""
    wrong = next((id_ for id_ in ids if id_ not in there), None)
    if wrong is not None:
        of = wrong.rsplit("#", 2)[0]
        raise InvalidArgument(
            f"ids must be document ids, got the passage id {shown(wrong)}: delete its document {shown(of)}"
        )


def _is_of_leaves(id_: str) -> bool:
    run = run_of_id(id_)
    return run is not None and not run[0].is_summary


def _distinct(ids: Iterable[str]) -> list[str]:
    listed = _listed(ids)
    if not all(isinstance(id_, str) for id_ in listed):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(listed)}")
    return list(dict.fromkeys(listed))


def _listed(ids: Iterable[T]) -> list[T]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        meant = f"; did you mean [{shown(ids)}]?" if isinstance(ids, str) else ""
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}{meant}")
    return list(ids)
