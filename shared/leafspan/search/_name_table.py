"""The names of a view's documents. They are cached, and updated after a change."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress, groupby
from operator import itemgetter
from threading import Lock
from typing import NamedTuple

from leafspan.flows import NDArray, np
from leafspan.search._naming import is_name, locations_of, names_in, title_key
from leafspan.store import Catalogue, Row, RowHead, Visibility

MOST_NAMESAKES = 8  # the most documents that share a name; a name of more documents, such as "Untitled", names none of them
MOST_LOOKED_AT = 100  # the most documents with the same file name that are searched for one in the right folder
_FACTOR = 1_000_003  # any odd number
_VIEWS = 32  # number of views to cache names for
_SHARE_CHANGED = 16  # the table is made again when more than 1/16 of the documents have changed


class DocumentNames:
    """The names of documents, by view. They are made from the catalogue at first use, and not stored."""

    def __init__(self) -> None:
        self._by_view: OrderedDict[Hashable, _ViewNames] = OrderedDict()
        self._mutex = Lock()

    def close(self) -> None:
        with self._mutex:
            self._by_view.clear()

    def of(self, visible: Catalogue, scope: Visibility | None, aliases: str | None) -> Names:
        key = scope, aliases
        with self._mutex:
            cached = self._by_view.get(key)
        if cached is None or cached.catalogue is not visible:
            # Two threads may both do this: either result will do.
            cached = _made(visible, aliases) if cached is None else _brought_up_to_date(cached, visible, aliases)
        with self._mutex:
            self._by_view[key] = cached
            self._by_view.move_to_end(key)
            if len(self._by_view) > _VIEWS:
                self._by_view.popitem(last=False)
        return cached.names


class _ViewNames(NamedTuple):
    catalogue: Catalogue  # the catalogue that the names belong to
    names: Names
    table: NameTable  # the table of all documents at an earlier time
    versions: list[str]  # the version of each document in the table
    # Ids of the documents that were changed, added or deleted since the table was made
    changed: frozenset[str] = frozenset()


def named(row: Row | RowHead, aliases: str | None) -> NamedDocument:
    keys = {key for name in names_in(row.title, row.metadata, aliases) if is_name(key := title_key(name))}
    places = locations_of(row.document_id, row.metadata)
    return NamedDocument(row.document_id, keys, {text for place in places for text in (f"/{place.path}", place.name)})


def _made(catalogue: Catalogue, aliases: str | None) -> _ViewNames:
    versions: list[str] = []

    def documents() -> Iterator[NamedDocument]:
        for row in filter(_is_current, catalogue.heads()):
            versions.append(row.version or "")
            yield named(row, aliases)

    table = NameTable(documents())
    return _ViewNames(catalogue, Names(table), table, versions)


def _brought_up_to_date(old: _ViewNames, catalogue: Catalogue, aliases: str | None) -> _ViewNames:
    """Update names after a change. Only rows of documents that have changed since the table was made are unpacked."""
    newly = catalogue.changed_since(old.catalogue)
    changed = _differing(old, catalogue) if newly is None else old.changed | newly
    if len(changed) * _SHARE_CHANGED > len(old.versions):
        return _made(catalogue, aliases)
    rows = [row for id_ in sorted(changed) if (row := catalogue.rows.get(id_)) is not None and _is_current(row)]
    more = NameTable(named(row, aliases) for row in rows) if rows else None
    return old._replace(catalogue=catalogue, names=Names(old.table, changed, more), changed=changed)


def _differing(old: _ViewNames, catalogue: Catalogue) -> frozenset[str]:
    """The documents that have changed since the table was made. A document with the same version has the same names."""
    now = {id_: version for id_, version, leaves in catalogue.versions() if version is not None and leaves}
    before = dict(zip(old.table.ids, old.versions, strict=True))
    return frozenset(id_ for id_ in now.keys() | before.keys() if now.get(id_) != before.get(id_))


def _is_current(row: Row | RowHead) -> bool:
    """Whether a document can be mentioned: it must have a current version with leaves."""
    return row.version is not None and row.leaves > 0


class NamedDocument(NamedTuple):
    id: str
    names: Collection[str]  # the keys of its names (``title_key``)
    places: Collection[str] = ()  # its paths, and the last part of each


class NameTable:
    """The names and places of documents, as sorted arrays of hashes: some 50 bytes for each document.

    A hash has 64 bits. Callers compare the names themselves, so equal hashes do no harm.
    """

    def __init__(self, documents: Iterable[NamedDocument]) -> None:
        self.ids: list[str] = []
        names, named = array("q"), array("I")
        places, placed = array("q"), array("I")
        lengths: dict[int, int] = {}
        for number, document in enumerate(documents):
            self.ids.append(document.id)
            for name in document.names:
                names.append(hash(name))
                named.append(number)
                first, *second = name.split(" ", 2)[:2]
                beginning = _of_pair(hash(first), hash(second[0])) if second else hash(name)
                lengths[beginning] = lengths.get(beginning, 0) | 1 << name.count(" ")
            for place in document.places:
                places.append(hash(place))
                placed.append(number)
        self._names = _Column(names, named)
        self._places = _Column(places, placed)
        self._beginnings = np.fromiter(sorted(lengths), np.int64, len(lengths))
        self._lengths = np.fromiter((lengths[each] for each in sorted(lengths)), np.uint64, len(lengths))

    def called(self, name: str, most: int) -> list[str]:
        """The documents with this name, at most ``most`` + 1."""
        return [self.ids[number] for number in self._names.find(name, most + 1)]

    def at(self, place: str, most: int) -> list[str]:
        """The documents at this place, at most ``most`` + 1."""
        return [self.ids[number] for number in self._places.find(place, most + 1)]

    def are_names(self, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._names.have(hashes)

    @property
    def has_names(self) -> bool:
        return len(self._names) > 0

    @property
    def has_places(self) -> bool:
        return len(self._places) > 0

    def lengths(self, beginnings: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The lengths of the names that begin with these: bit n - 1 is set if a name has n words."""
        if not len(self._beginnings):
            return np.zeros(len(beginnings), np.uint64)
        places = np.minimum(self._beginnings.searchsorted(beginnings), len(self._beginnings) - 1)
        return np.where(self._beginnings[places] == beginnings, self._lengths[places], np.uint64(0))


class Names:
    """The names of documents: a table, and the changes since it was made."""

    def __init__(self, table: NameTable, outdated: Collection[str] = (), changed: NameTable | None = None) -> None:
        self._tables = (table,) if changed is None else (table, changed)
        self._outdated = frozenset(outdated)

    @property
    def has_names(self) -> bool:
        """Whether any document may have a name."""
        return any(table.has_names for table in self._tables)

    @property
    def has_places(self) -> bool:
        """Whether any document may have a place."""
        return any(table.has_places for table in self._tables)

    def called(self, name: str) -> list[str]:
        """The documents with this name, or an empty list if there are too many."""
        return self._documents(NameTable.called, name, MOST_NAMESAKES)

    def at(self, place: str) -> list[str]:
        """The documents at this place, or an empty list if there are too many."""
        return self._documents(NameTable.at, place, MOST_LOOKED_AT)

    def _documents(self, look_up: Callable[[NameTable, str, int], list[str]], key: str, most: int) -> list[str]:
        table, *changed = self._tables
        ids = [id_ for id_ in look_up(table, key, most + len(self._outdated)) if id_ not in self._outdated]
        ids += [id_ for each in changed for id_ in look_up(each, key, most)]
        return ids if len(ids) <= most else []

    def find(self, words: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """Find possible names in a text: the number of a word, and the names that may begin there, longest first."""
        if not words:
            return
        single = np.fromiter(map(hash, words), np.int64, len(words))
        beginnings = np.concatenate([single, single[:-1] * _FACTOR ^ single[1:]])  # wraps around like _of_pair
        lengths = reduce(np.bitwise_or, [table.lengths(beginnings) for table in self._tables])
        places = np.flatnonzero(lengths)
        keys: list[tuple[int, str]] = []
        for place, mask in zip(places.tolist(), lengths[places].tolist(), strict=True):
            start = place if place < len(words) else place - len(words)
            longest = min(mask.bit_length(), len(words) - start)
            sizes = [size for size in range(1, longest + 1) if mask >> size - 1 & 1]
            keys += [(start, " ".join(words[start : start + size])) for size in sizes]
        hashes = np.fromiter((hash(key) for _, key in keys), np.int64, len(keys))
        are_names = reduce(np.logical_or, [table.are_names(hashes) for table in self._tables])
        # Names of one word have other beginnings than longer names: sort them together.
        chosen = sorted(((start, -len(key), key) for start, key in compress(keys, are_names)), key=itemgetter(0, 1))
        for start, at_start in groupby(chosen, key=itemgetter(0)):
            yield start, [key for _, _, key in at_start]


def _of_pair(first: int, second: int) -> int:
    """The hash of a pair of words, from the words' hashes, as a number that fits into numpy's int64."""
    wrapped = first * _FACTOR & (1 << 64) - 1
    return (wrapped - (1 << 64) if wrapped >> 63 else wrapped) ^ second


class _Column:
    """Hashes of texts with the numbers of their documents, sorted by hash."""

    def __init__(self, hashes: Sequence[int], numbers: Sequence[int]) -> None:
        every = np.asarray(hashes, np.int64)
        order = np.argsort(every, kind="stable")
        self._hashes = every[order]
        self._numbers = np.asarray(numbers, np.uint32)[order]

    def __len__(self) -> int:
        return len(self._hashes)

    def have(self, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(self._hashes):
            return np.zeros(len(hashes), np.bool_)
        places = np.minimum(self._hashes.searchsorted(hashes), len(self._hashes) - 1)
        return self._hashes[places] == hashes  # type: ignore[no-any-return]

    def find(self, text: str, most: int) -> list[int]:
        """The numbers of at most ``most`` documents that have the text."""
        first = int(self._hashes.searchsorted(key := hash(text)))
        numbers: list[int] = []
        while first < len(self._hashes) and len(numbers) < most and self._hashes[first] == key:
            numbers.append(int(self._numbers[first]))
            first += 1
        return numbers
