"""A Chroma collection as a table whose methods are flows. Only this module knows the limits of Chroma's requests."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Collected
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from itertools import groupby
from typing import Any

from leafspan.embedding import without_extremes
from leafspan.engines._caller import Caller
from leafspan.engines._port import MOST_RESULTS, Field, Near, Notes, Record
from leafspan.engines._tables import FlowTable, checked, checked_rows, in_batches
from leafspan.engines.chroma._failures import caller_of
from leafspan.engines.chroma._files import Use
from leafspan.errors import ServerTimeout
from leafspan.flows import Call, Flow, driver_awaits, np

_MOST_RECORDS = 30_000  # results of one request, over all of its vectors: Chroma fails above 32,766
_VALUES = 500  # metadata values in one filter
_FEW = 200  # vectors per read
_SAME = 1e-4  # distance of equal vectors, after rounding
_BLOCK = 8  # records per read when searching for missing vectors
_PAGE = 5_000  # records of a page; Chroma fails if asked for more than 32,766 ids
_COLUMNS: Mapping[Field, str] = {"text": "documents", "metadata": "metadatas", "vector": "embeddings"}  # Chroma's names
_NO_VECTOR = [0.0]  # Chroma needs a vector for each record


class Collection(FlowTable):
    """A Chroma collection: see ``FlowTable``.

    leafspan divides writes into batches, and long reads into pages. Where a write of Chroma would block an event loop,
    leafspan divides the batches into portions.
    """

    most_characters = 4_000_000  # with the vectors of a thousand leaves below a server's limit of 40 MiB

    def __init__(self, handle: Any, batch: int, *, caller: Caller | None = None) -> None:
        self.id, self.name = str(handle.id), str(handle.name)
        self.notes: Notes = dict(handle.metadata or {})  # when the handle was made
        self._handle = handle
        self._caller = caller or caller_of(handle)
        self._files: Use | None = None
        self._portions: defaultdict[str, Portions] = defaultdict(Portions)  # by method
        self.batch = batch

    def written_by(self, files: Use) -> Collection:
        """Return the same collection, which uses Chroma's files this way for each write."""
        twin = copy(self)
        twin._files = files
        return twin

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        vectors = without_extremes(np.asarray(vectors, dtype=np.float32))  # Chroma sums squares in 32 bits
        count = min(count, MOST_RESULTS)
        at_once = max(1, _MOST_RECORDS // count)
        rows: list[list[Near]] = []
        for start in range(0, len(vectors), at_once):
            some = vectors[start : start + at_once]
            options = {"query_embeddings": some, "n_results": count}
            options["include"] = [*map(_COLUMNS.__getitem__, fields), "distances"]
            rows += yield self._call("query", options, read=partial(_rows, vectors=some, fields=fields))
        return rows

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        records = yield from self._read({"limit": _PAGE}, fields)
        if len(records) < _PAGE:
            return records
        # Pages by offset would miss records if others are deleted meanwhile, so leafspan fetches all ids at once.
        records = yield from self._read({}, ())
        return (yield from self.get(records, fields)) if fields else records

    def first(self, *fields: Field) -> Flow[Record | None]:
        """Return any record, or None if the collection is empty."""
        return next(iter((yield from self._read({"limit": 1}, fields)).values()), None)

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that have no vector, together with some of their neighbours in the list."""
        try:
            return (yield from super().without_vectors(ids))
        except ServerTimeout:
            raise
        except Exception:  # Chroma fails if a vector is missing, and does not say which
            if len(ids) <= _BLOCK:
                return set(ids)
        half = len(ids) // 2
        return (yield from self.without_vectors(ids[:half])) | (yield from self.without_vectors(ids[half:]))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Return the ids of these records that a search by their own vector does not find.

        No search finds a vector of zeros, such as the vector of a text without known words.
        """
        lost = set()
        for batch in in_batches(list(ids), _FEW):
            records = [each for each in (yield from self.get(batch, ["vector"])).values() if any(each.vector)]
            rows = (yield from self.nearest([each.vector for each in records], 1)) if records else []
            for each, row in zip(records, rows, strict=True):
                if not row or (row[0].record.id != each.id and row[0].similarity < 1 - _SAME):
                    lost.add(each.id)
        return lost

    def put_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """Write the vectors of stored records. Chroma keeps their other fields."""
        yield from self.put([Record(id_, vector=vector) for id_, vector in vectors.items()])

    def annotate(self, notes: Notes) -> Flow[None]:
        yield self._call("modify", {"metadata": dict(notes)}, finish=True)

    def _get(self, ids: Sequence[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return self._read({"ids": ids}, fields)

    def _find(self, key: str, values: Sequence[str]) -> Flow[set[str]]:
        ids: set[str] = set()
        for some in in_batches(values, _VALUES):
            ids.update((yield from self._read({"where": {key: {"$in": some}}}, ())))
        return ids

    def _put(self, records: Sequence[Record], new: bool) -> Flow[None]:
        # With "add", Chroma does not look for existing records, which is up to a sixth faster.
        for _, group in groupby(records, key=lambda each: (each.text is None, each.metadata is None)):
            yield from self._write("add" if new else "upsert", *_columns(list(group)))

    def _delete(self, ids: Sequence[str]) -> Flow[None]:
        return self._write("delete", ids, {})

    def _read(self, options: dict[str, Any], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        read = partial(_by_id, ids=options.get("ids"), fields=fields)
        options = {**options, "include": [_COLUMNS[each] for each in fields]}
        return (yield self._call("get", options, read=read))  # type: ignore[no-any-return]

    def _write(self, method: str, ids: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> Flow[None]:
        awaited = self._caller.in_process and (yield driver_awaits())
        portions = self._portions[method] if awaited else None
        start = 0
        while start < len(ids):
            size = portions.next(len(ids) - start) if portions else len(ids)
            chosen = slice(start, start + size)
            some = {name: column[chosen] for name, column in columns.items()}
            call = self._call(method, {"ids": list(ids[chosen]), **some}, finish=True)
            yield call if portions is None else portions.measured(call, len(ids[chosen]))
            start += size

    def _call(
        self, method: str, options: dict[str, Any], *, finish: bool = False, read: Callable[[Any], Any] | None = None
    ) -> Call:
        function = getattr(self._handle, method)
        doing = f"{method} records of {self.name!r}"
        if finish and self._files is not None:
            return self._caller.call(doing, self._files.call, (function,), options, finish=True)
        return self._caller.call(doing, function, (), options, finish=finish, read=read)


def _by_id(answer: Mapping[str, Any], ids: Collected[str] | None, fields: Collected[Field]) -> dict[str, Record]:
    return checked(_records(answer, fields), ids)


def _rows(answer: Mapping[str, Any], vectors: Any, fields: Collected[Field]) -> list[list[Near]]:
    rows = []
    for place, distances in enumerate(answer["distances"]):
        names = ["ids", *(_COLUMNS[each] for each in fields)]
        records = _records({name: answer[name][place] for name in names}, fields)
        rows.append([Near(each, 1.0 - distance) for each, distance in zip(records, distances, strict=True)])
    return checked_rows(rows, vectors)


def _records(answer: Mapping[str, Any], fields: Collected[Field]) -> list[Record]:
    """Return the records in Chroma's answer, which has a list for each column."""
    ids = answer["ids"]
    columns = (answer[_COLUMNS[each]] if each in fields else [None] * len(ids) for each in _COLUMNS)
    return [Record(*row) for row in zip(ids, *columns, strict=True)]


def _columns(records: Sequence[Record]) -> tuple[list[str], dict[str, Any]]:
    """Return the ids of records with the same fields, and their columns for Chroma."""
    vectors = [_NO_VECTOR if each.vector is None else each.vector for each in records]
    columns: dict[str, Any] = {"embeddings": np.asarray(vectors, dtype=np.float32)}
    if records[0].text is not None:
        columns["documents"] = [each.text for each in records]
    if records[0].metadata is not None:
        columns["metadatas"] = [each.metadata for each in records]
    return [each.id for each in records], columns


_SECONDS = 0.03  # target for one write; some take twice as long, when Chroma merges parts of its word index
_FEWEST = 50  # records. Below that, the fixed cost of a write dominates


class Portions:
    """The size of the next write, so that each takes about the same time.

    Chroma in this process blocks all other Python code while it writes. The time depends on the texts, on the number of
    vectors that are not in its files yet, and on the machine. So leafspan measures each write, and uses the faster one of
    the last two: the slower one may have waited for another process, or for other work of the machine.
    """

    def __init__(self) -> None:
        self._size = _FEWEST
        self._rates: tuple[float, ...] = ()  # records a second, of the last writes

    def next(self, remaining: int) -> int:
        """Return the number of records of the next write."""
        return -(-remaining // max(round(remaining / self._size), 1))

    def measured(self, call: Call, records: int) -> Call:
        function = call.function
        assert function is not None

        @wraps(function)
        def measured(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            result = function(*arguments, **options)
            self.note(records, time.perf_counter() - begun)
            return result

        return replace(call, function=measured)

    def note(self, records: int, seconds: float) -> None:
        if records < _FEWEST:
            return  # too small to predict larger ones
        self._rates = (*self._rates[-1:], records / max(seconds, 1e-6))
        self._size = int(min(max(max(self._rates) * _SECONDS, _FEWEST), 2 * self._size))
