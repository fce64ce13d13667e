"""References of passages to names in their metadata, and the leaves that these lead to."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leafspan.checks import shown
from leafspan.filters import F, Where
from leafspan.spans import unite
from leafspan.strategies._requests import ListLeaves, Load, Similarities, StrategyFlow
from leafspan.strategies._searching import query_vectors
from leafspan.trace import Trace
from leafspan.values import Candidate, Hit, Query, leaf_ids, run_of_id, scored

Asked = tuple[int, str]
"""A question's number and a referenced name: each pair is followed once."""

_VAIN = "FollowReferences: other passages already led to everything that its references lead to"


@dataclass(slots=True, eq=False)
class Referring:
    """A passage with what its references have led to."""

    found: Candidate  # the passage
    query: int  # number of the question that it was found for
    names: tuple[str, ...]  # the referenced names, without the passage's own and those that led to it
    origins: frozenset[str] = frozenset()  # the passage's own names, and the names that were followed to find it
    way: tuple[str, ...] = ()  # the notes on the references that led to it
    led_to: list[Referring] = field(default_factory=list)  # what its references have led to, in their order
    elsewhere: bool = False  # whether another passage's same reference was followed, and led to something there
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, found: Candidate, query: int, key: str, followed: frozenset[str] = frozenset()) -> Referring:
        """A passage that may refer to others by this metadata key; following the names ``followed`` found it."""
        value = found.metadata.get(key)
        given = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
        names = [each for each in dict.fromkeys(map(_text, given)) if each]
        notes = [f"FollowReferences: the reference {shown(each)} is no text" for each in given if not _text(each)]
        origins = followed | {_id(found), found.span.document_id}
        return cls(found, query, tuple(name for name in names if name not in origins), origins, notes=notes)

    def lead_to(self, name: str, found: Sequence[Candidate], key: str) -> None:
        """Add what a reference led to, with this passage's score and a note in the trace."""
        note = f"FollowReferences followed {name!r} from {_id(self.found)}, whose score {self.found.score:.3f} it has"
        for each in found:
            trace = each.trace + Trace(notes=(*self.notes, *self.way, note))
            child = Referring.of(replace(each, score=self.found.score, trace=trace), self.query, key, self.origins | {name})
            child.way = (*self.way, note)
            self.led_to.append(child)

    def replaced(self, keep: bool) -> Iterator[Candidate]:
        """The passages that replace this one, which comes first with ``keep``, or alone if no reference led anywhere."""
        others = [each for child in self.led_to for each in child.replaced(keep)]
        if keep or not (others or self.elsewhere):
            vain = (_VAIN,) if self.led_to and not others else ()
            yield replace(self.found, trace=self.found.trace + Trace(notes=(*self.notes, *vain)))
        yield from others


def _id(found: Candidate) -> str:
    return found.span.id if found.outside is None else found.outside.id


def _text(reference: object) -> str:
    """The referenced name, or "" if ``reference`` is not a name."""
    return reference if isinstance(reference, str) and reference.strip() else ""


def follow_once(
    passages: Sequence[Referring], results: Mapping[Asked, Sequence[Candidate] | str], seen: set[Asked], key: str
) -> list[Referring]:
    """Add to passages what their references led to, and return the added passages, whose references come next."""
    for passage in passages:
        found = {name: results[passage.query, name] for name in passage.names}
        for name, result in found.items():  # first, since passages added below get these notes
            if not result or isinstance(result, str):
                passage.notes.append(f"FollowReferences: the reference {name!r} {result or 'led to nothing'}")
        for name, result in found.items():
            if not result or isinstance(result, str):
                continue
            if (passage.query, name) in seen:
                passage.elsewhere = True
            else:
                seen.add((passage.query, name))
                passage.lead_to(name, result, key)
    return [each for passage in passages for each in passage.led_to]


def in_place(found: Sequence[Candidate]) -> list[Candidate]:
    """Each result once, at its first place. Overlapping results become one, at the first of their places."""
    first: dict[str, Candidate] = {}
    places: dict[str, int] = {}
    for place, each in enumerate(found):
        known = first.get(each.span.id)
        first[each.span.id] = each if known is None else replace(known, trace=known.trace + each.trace)
        for id_ in each.span.leaf_ids:
            places.setdefault(id_, place)
    return sorted(unite(first.values()), key=lambda each: min(places[id_] for id_ in each.span.leaf_ids))


def nearest_leaves_of(
    asked: Sequence[tuple[int, str]], queries: Sequence[Query], where: Where | None, most: int, instruction: str
) -> StrategyFlow[dict[tuple[int, str], list[Candidate]]]:
    """The leaves of each document or passage that are nearest to a query, in one comparison for all pairs.

    Documents are listed before they are read, so an id that the view or the filter hides leads to no leaf.
    """
    names = list(dict.fromkeys(name for _, name in asked))
    runs = {name: run for name in names if (run := run_of_id(name)) is not None}
    documents = F("doc_id").in_(list(dict.fromkeys([*names, *(leaf.document_id for leaf, _ in runs.values())])))
    listed: list[Hit] = yield ListLeaves(0, sys.maxsize, documents if where is None else where & documents)
    there = {hit.id for hit in listed}
    leaves: dict[str, list[str]] = {}
    for hit in listed:
        leaves.setdefault(hit.leaf.document_id, []).append(hit.id)
    for name, (first, last) in runs.items():
        if name not in leaves and first.ordinal <= last < first.ordinal + len(there):
            ids = leaf_ids(first.document_id, first.version, range(first.ordinal, last + 1))
            if all(id_ in there for id_ in ids):
                leaves[name] = ids
    pairs = [(number, name) for number, name in asked if name in leaves]
    if not pairs:
        return {}
    ids = list(dict.fromkeys(id_ for _, name in pairs for id_ in leaves[name]))
    numbers = list(dict.fromkeys(number for number, _ in pairs))
    vectors = yield from query_vectors([queries[number] for number in numbers], instruction)
    cosines = yield Similarities(vectors, tuple(ids))
    column = {id_: place for place, id_ in enumerate(ids)}
    row = {number: place for place, number in enumerate(numbers)}
    nearest: dict[tuple[int, str], list[tuple[str, float]]] = {}
    for number, name in pairs:
        compared = [(id_, float(cosines[row[number]][column[id_]])) for id_ in leaves[name]]
        nearest[number, name] = sorted(compared, key=lambda each: -each[1])[:most]  # ties keep the order of the text
    loaded = yield Load(tuple(dict.fromkeys(id_ for found in nearest.values() for id_, _ in found)))
    return {
        each: [scored(loaded[id_], cosine, "vector", rank) for rank, (id_, cosine) in enumerate(found, start=1)]
        for each, found in nearest.items()
    }
