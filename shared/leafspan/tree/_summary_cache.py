"""Summaries that were made before, and need not be made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from leafspan.engine import Flow
from leafspan.store import Reader, Row, Scope, Store, Texts, read_consistently
from leafspan.tree._tree_record import TreeRecord
from leafspan.values import LeafId

_MARK = ":"  # ends the part of a key that says who may find it


class SummaryCache(Protocol):
    """Summaries that were made before, by key."""

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of those keys that are there."""
        ...

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Keep a text as long as its owner is there."""
        ...


class LanguageModelCache:
    """Every answer of a language model, kept as soon as it is there.

    Args:
        texts: Where they are kept, None if there are no trees yet.
        read_only: Whether nothing is to be written.
    """

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
    """The summaries above the documents' trees, which every build makes again unless it finds them here."""

    def __init__(self, store: Store | None, rows: Mapping[str, Row]) -> None:
        self._store = store
        layers = [row for row in rows.values() if row.version is not None and not TreeRecord.of(row).is_of_document]
        self._ids = {row.hash: str(LeafId(row.document_id, row.version or "", 0)) for row in layers}

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See SummaryCache."""
        wanted = {self._ids[key]: key for key in keys if key in self._ids}
        if not wanted or self._store is None:
            return {}
        records = yield from read_consistently(self._store, lambda reader: Reader.fetch_records(reader, list(wanted)))
        return {wanted[id_]: text for id_, (text, _) in records.items()}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See SummaryCache: the layers themselves are the cache."""
        yield from ()


def key_prefix(scope: Scope | None) -> str:
    """How the keys of a view begin: what one tenant has asked for must not tell another of its texts."""
    return view_name(scope) + _MARK


def view_name(scope: Scope | None) -> str:
    """The name of a view, which is stored with what belongs to it alone; empty for the whole index."""
    return scope.suffix if scope else ""


def view_of(key: str) -> str:
    """The name of the view that a key belongs to."""
    return key.partition(_MARK)[0]
