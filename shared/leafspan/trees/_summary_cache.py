"""Caches of summaries, so that no summary is made twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from leafspan.flows import Flow
from leafspan.store import Reader, Row, Scope, Store, Texts, read_consistently
from leafspan.trees._tree_record import TreeRecord
from leafspan.values import LeafId

_SEPARATOR = ":"  # in a key, after the name of the view that may find it


class SummaryCache(Protocol):
    """Earlier summaries by key. A key identifies everything that a summary depends on."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of the cached keys."""
        ...

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Keep a text."""
        ...


class LanguageModelCache:
    """A cache of every answer of a language model, written as soon as the answer arrives."""

    def __init__(self, texts: Texts | None, *, read_only: bool) -> None:
        self._texts = texts
        self._read_only = read_only

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See SummaryCache."""
        return (yield from self._texts.get(keys)) if self._texts else {}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See SummaryCache."""
        if self._texts and not self._read_only:
            yield from self._texts.put(key, text, owner)


class LayerCache:
    """Uses stored summaries of several documents as the cache for summarizers without another cache.

    Without it, every build would make all layers above the documents' trees again.
    """

    def __init__(self, store: Store | None, rows: Mapping[str, Row]) -> None:
        self._store = store
        upper = [row for row in rows.values() if row.version is not None and not TreeRecord.of(row).is_of_document]
        self._ids = {row.hash: str(LeafId(row.document_id, row.version or "", 0)) for row in upper}

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See SummaryCache."""
        key_of = {self._ids[key]: key for key in keys if key in self._ids}
        if not key_of or self._store is None:
            return {}
        # Damaged summaries are made again.
        records = yield from read_consistently(
            self._store, lambda reader: Reader.fetch_records(reader, list(key_of)), leave_out=True
        )
        return {key_of[id_]: text for id_, (text, _) in records.items()}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """No write: the stored summaries are the cache."""
        yield from ()


def key_prefix(scope: Scope | None) -> str:
    """The first part of a view's keys.

    It keeps a tenant from finding another tenant's summary, which would reveal that both have the same texts.
    """
    return view_name(scope) + _SEPARATOR


def view_name(scope: Scope | None) -> str:
    """The name of a view, stored with the trees that only this view has; "" for the whole index."""
    return scope.suffix if scope else ""


def view_of(key: str) -> str:
    """The name of a key's view."""
    return key.partition(_SEPARATOR)[0]
