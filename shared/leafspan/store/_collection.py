"""A Chroma collection as flows. The limits of Chroma's requests are known only here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import zip_longest
from typing import Any

from leafspan.embedding import without_extremes
from leafspan.errors import DamagedIndex, ServerTimeout
from leafspan.flows import Call, Flow, asked_whether_awaited
from leafspan.store._caller import Caller
from leafspan.store._files_use import Use
from leafspan.store._portions import Portions

MOST_RESULTS = 10_000
"""The most results of one query. Chroma fails somewhere above thirty thousand."""

_CHARACTERS = 4_000_000  # of one write: with the vectors of a thousand leaves less than the 40 MiB that a server takes
_STEP = 1_000  # leaves of one write. Chroma in this process lets no other Python code run meanwhile
_MOST_RECORDS = 30_000  # results of one request, over all of its vectors; Chroma fails above 32,766
_VALUES = 500  # metadata values in one filter
_FEW = 200  # vectors that are read at a time
_SAME = 1e-4  # distance of equal vectors, after rounding
_BLOCK = 8  # records that are not told apart if one of them has no vector
_PAGE = 5_000  # records of a page; a get of more than 32,766 ids fails as well


class Collection:
    """A Chroma collection whose methods are flows.

    Writes are divided into batches, and reads of many records into pages. Where Chroma would hold up an event loop while it
    writes, batches are divided into portions. Records are returned by id, in no particular order; missing ones are left
    out, as in Chroma.
    """

    def __init__(self, handle: Any, batch: int, *, caller: Caller | None = None, files: Use | None = None) -> None:
        self._handle = handle
        self._caller = caller or Caller.of(handle)
        self._files = files
        self._lacking: str | None = None
        self._portions: defaultdict[str, Portions] = defaultdict(Portions)  # by method
        self.batch = batch
        self.step = min(_STEP, batch)

    def written_by(self, files: Use) -> Collection:
        """The same collection, with this use of Chroma's files for each write."""
        twin = copy(self)
        twin._files = files
        return twin

    def lacking(self, why: str) -> Collection:
        """The same collection, whose vectors cannot be read; ``why`` is the message of the error."""
        twin = copy(self)
        twin._lacking = why
        return twin

    @property
    def name(self) -> str:
        """The collection's name in Chroma."""
        return str(self._handle.name)

    @property
    def metadata(self) -> dict[str, Any]:
        """The collection's own metadata, as it was when the handle was made."""
        return dict(self._handle.metadata or {})

    def query(self, vectors: Any, count: int, include: Sequence[str]) -> Flow[dict[str, Any]]:
        """The nearest records of each vector, as Chroma's columns."""
        import numpy as np

        vectors = without_extremes(np.asarray(vectors, dtype=np.float32))  # Chroma adds up their squares in 32 bits
        count = min(count, MOST_RESULTS)
        at_once = max(1, _MOST_RECORDS // count)
        columns: dict[str, Any] = {name: [] for name in ("ids", *include)}
        for start in range(0, len(vectors), at_once):
            some = vectors[start : start + at_once]
            answer = yield from self._read("query", {"query_embeddings": some, "n_results": count}, include)
            for name in columns:
                columns[name] += answer[name]
        return columns

    def get(self, ids: Sequence[str], include: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """The records with these ids, by id; ``include`` names their columns, such as ``documents``."""
        records: dict[str, dict[str, Any]] = {}
        for batch in _batches(list(dict.fromkeys(ids)), self.batch):
            answer = yield from self._read("get", {"ids": batch}, include)
            records.update(_records(answer, include))
        return records

    def scan(self, include: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """All records, by id."""
        answer = yield from self._read("get", {"limit": _PAGE}, include)
        if len(answer["ids"]) < _PAGE:
            return _records(answer, include)
        # Further pages would miss records if others are deleted meanwhile, so all ids are fetched at once.
        answer = yield self._call("get", {"include": []})
        return (yield from self.get(answer["ids"], include)) if include else _records(answer, include)

    def first(self, *include: str) -> Flow[dict[str, Any] | None]:
        """Any record; None if there is none."""
        records = _records((yield from self._read("get", {"limit": 1}, include)), include)
        return next(iter(records.values()), None)

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Those of these records that have no vector, along with some that stand next to them in the list."""
        try:
            found = yield from self.get(ids, ["embeddings"])
            return {id_ for id_, record in found.items() if record["embedding"] is None}
        except ServerTimeout:
            raise
        except Exception:  # Chroma fails if one of them has none, and does not say which
            if len(ids) <= _BLOCK:
                return set(ids)
        half = len(ids) // 2
        return (yield from self.without_vectors(ids[:half])) | (yield from self.without_vectors(ids[half:]))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Those of these records that a search by their own vector does not find. Records with equal vectors are alike.

        A vector of zeros, such as that of a text without a known word, is similar to nothing, so no search finds it.
        """
        lost = set()
        for batch in _batches(list(ids), _FEW):
            found = yield from self.get(batch, ["embeddings"])
            found = {id_: record for id_, record in found.items() if any(record["embedding"])}
            if not found:
                continue
            answer = yield from self.query([record["embedding"] for record in found.values()], 1, ["distances"])
            for id_, nearest, distances in zip(found, answer["ids"], answer["distances"], strict=True):
                if id_ not in nearest and not (distances and distances[0] <= _SAME):
                    lost.add(id_)
        return lost

    def find(self, key: str, values: Sequence[str]) -> Flow[dict[str, dict[str, Any]]]:
        """The records whose metadata has one of these values under the key, by id and without any columns."""
        records: dict[str, dict[str, Any]] = {}
        for batch in _batches(list(values), _VALUES):
            answer = yield self._call("get", {"where": {key: {"$in": batch}}, "include": []})
            records.update(_records(answer, []))
        return records

    def add(self, ids: Sequence[str], **columns: Any) -> Flow[None]:
        """Add records. Chroma leaves records that exist already as they are."""
        yield from self._write("add", ids, columns)

    def upsert(self, ids: Sequence[str], **columns: Any) -> Flow[None]:
        """Add or overwrite records."""
        yield from self._write("upsert", ids, columns)

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        """Delete records. Unknown ids are ignored."""
        yield from self._write("delete", ids, {})

    def modify(self, metadata: Mapping[str, Any]) -> Flow[None]:
        """Replace the collection's own metadata."""
        yield self._call("modify", {"metadata": dict(metadata)}, finish=True)

    def _read(self, method: str, options: dict[str, Any], include: Sequence[str]) -> Flow[dict[str, Any]]:
        """Chroma's answer with these columns."""
        answer: dict[str, Any] = yield self._call(method, {**options, "include": list(include)})
        return answer

    def _write(self, method: str, ids: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> Flow[None]:
        in_portions = bool(ids) and self._caller.in_process and (yield asked_whether_awaited())
        portions = self._portions[method] if in_portions else None
        start = 0
        while start < len(ids):
            size = portions.next(min(self.batch, len(ids) - start)) if portions else self.batch
            size = _fitting(columns, start, size)
            chosen = slice(start, start + size)
            some = {name: column[chosen] for name, column in columns.items()}
            call = self._call(method, {"ids": list(ids[chosen]), **some}, finish=True)
            yield call if portions is None else portions.measured(call, len(ids[chosen]))
            start += size

    def _call(self, method: str, options: dict[str, Any], *, finish: bool = False) -> Call:
        function = getattr(self._handle, method)
        doing = f"{method} records of {self.name!r}"
        if self._lacking is not None and (method == "query" or "embeddings" in options.get("include", ())):
            raise DamagedIndex(self._lacking)
        if finish and self._files is not None:
            return self._caller.call(doing, self._files.call, (function,), options, finish=True)
        return self._caller.call(doing, function, (), options, finish=finish)


def _fitting(columns: Mapping[str, Sequence[Any]], start: int, size: int) -> int:
    """The number of records from ``start`` on that one write takes: at most ``size``, and at least one."""
    texts, metadatas = ((columns.get(name) or ())[start : start + size] for name in ("documents", "metadatas"))
    total = 0
    for number, (text, metadata) in enumerate(zip_longest(texts, metadatas)):
        values = (metadata or {}).items()
        total += len(text or "") + sum(len(key) + len(str(value)) for key, value in values)
        if number and total > _CHARACTERS:
            return number
    return size


def _batches(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _records(answer: Mapping[str, Any], include: Sequence[str]) -> dict[str, dict[str, Any]]:
    names = [name.removesuffix("s") for name in include]
    columns = [answer[name] for name in include]
    return {id_: dict(zip(names, values, strict=True)) for id_, *values in zip(answer["ids"], *columns, strict=True)}
