"""Summaries that were made before, and need not be made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leafspan.engine import Flow
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.store import Reader, Row, Store
from leafspan.store.texts import Texts
from leafspan.values import leaf_id

_MARK = ":"  # ends the part of a key that says who may find it


class KeptTexts:
    """Every answer of a language model, kept as soon as it is there; ``texts`` is None where there are no trees yet."""

    def __init__(self, texts: Texts | None, *, only_look: bool) -> None:
        self._texts = texts
        self._only_look = only_look

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See Kept."""
        return (yield from self._texts.get(keys)) if self._texts else {}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See Kept."""
        if self._texts and not self._only_look:
            yield from self._texts.put(key, text, owner)


class KeptLayers:
    """The summaries above the documents' trees, which every build makes anew where it cannot find them here."""

    def __init__(self, store: Store | None, rows: Mapping[str, Row]) -> None:
        self._store = store
        layers = [row for row in rows.values() if is_layer(row) and row.version is not None]
        self._ids = {row.hash: leaf_id(row.document_id, row.version or "", 0) for row in layers}

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """See Kept."""
        wanted = {self._ids[key]: key for key in keys if key in self._ids}
        if not wanted or self._store is None:
            return {}
        records = yield from reading(self._store, lambda reader: Reader.fetch_records(reader, list(wanted)))
        return {wanted[id_]: text for id_, (text, _) in records.items()}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """See Kept."""
        yield from ()


def key_prefix(scope: Scope | None) -> str:
    """How the keys of a view begin: what one tenant has asked for must not tell another of its texts."""
    return view_name(scope) + _MARK


def view_name(scope: Scope | None) -> str:
    """What is noted with what belongs to a view alone."""
    return scope.suffix if scope else ""


def view_of(key: str) -> str:
    """The name of the view that may find what is kept under this key."""
    return key.partition(_MARK)[0]


def is_layer(row: Row) -> bool:
    """Whether this is the row of a summary of several documents."""
    return "children" in row.more
