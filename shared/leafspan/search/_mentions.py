"""Finds the documents that leaves mention: by title, by an alias, by a link or by a path."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from leafspan.flows import Call, Flow
from leafspan.lexical import find_plain_words
from leafspan.search._name_table import MOST_NAMESAKES, DocumentNames, Names
from leafspan.search._naming import (
    Link,
    Location,
    capitalised_words,
    find_links,
    leads_to,
    locations_of,
    locations_to_try,
    names_in,
    stands_in,
    title_key,
)
from leafspan.search._words import LexicalIndex
from leafspan.store import Catalogue, Reader
from leafspan.strategies import FindMentions, Mention
from leafspan.values import LeafId

LEAST_RARITY = 0.3  # the rarity below which a name is too common to be a mention


def find_mentions(
    reader: Reader, names: DocumentNames, words: LexicalIndex, request: FindMentions, texts: Mapping[LeafId, str]
) -> Flow[dict[LeafId, list[Mention]]]:
    """The documents that leaves mention, by leaf id. A leaf does not mention its own document.

    Only documents that the reader sees have names. So a view never reveals other documents, and other documents never make
    a name ambiguous in the view.
    """
    visible = yield from reader.whole_catalogue(request.where)
    looking = _Looking(visible, names, reader, request)
    in_leaves: list[_NameInLeaf] = yield Call(
        looking.look_through, ([(id_, texts[id_]) for id_ in request.ids],), computes=True
    )
    by_name = {
        each.written: sum(visible.rows[id_].leaves for id_ in each.namesakes) for each in in_leaves if each.namesakes
    }
    rarities: dict[str, float] = {}
    if by_name:
        counted = yield from words.rarities(reader, list(by_name.items()))
        rarities = dict(zip(by_name, counted, strict=True))
    mentions: dict[LeafId, dict[str, Mention]] = {}
    for each in in_leaves:
        strength = rarities[each.written] if each.namesakes else 1.0
        if strength < LEAST_RARITY:
            continue
        of_leaf = mentions.setdefault(each.leaf, {})
        for id_ in each.documents:
            row = visible.rows[id_]
            assert row.version is not None
            if id_ not in of_leaf or of_leaf[id_].strength < strength:
                of_leaf[id_] = Mention(id_, row.version, row.leaves, each.written, strength)
    return {leaf: list(by_document.values()) for leaf, by_document in mentions.items()}


class _NameInLeaf(NamedTuple):
    leaf: LeafId
    written: str  # the name, or the link's target
    documents: Sequence[str]  # the documents that it names, if they match the filter and are not the leaf's own document
    namesakes: Sequence[str] = ()  # all documents with this name. Empty for a link


class _Looking:
    """Looks for the names of a view's documents in texts."""

    def __init__(self, visible: Catalogue, names: DocumentNames, reader: Reader, request: FindMentions) -> None:
        self._visible = visible
        self._names = names
        self._scope = reader.scope
        self._aliases = request.aliases
        self._matching = None if request.where is None else visible.select(request.where)

    def look_through(self, texts: Sequence[tuple[LeafId, str]]) -> list[_NameInLeaf]:
        """Find mentions in leaves, given as (id, text)."""
        names = self._names.of(self._visible, self._scope, self._aliases)
        in_leaves: list[_NameInLeaf] = []
        if names.has_names:
            in_leaves += self._by_name(names, texts)
        for leaf, text in texts:
            if names.has_places or "[[" in text:
                in_leaves += self._by_link(names, leaf, find_links(text))
        return [each for each in in_leaves if each.documents]

    def _by_name(self, names: Names, texts: Sequence[tuple[LeafId, str]]) -> Iterator[_NameInLeaf]:
        words: list[str] = []
        starts = []
        for _, text in texts:
            starts.append(len(words))
            words += [*find_plain_words(text), ""]  # so that no name continues in the next text
        capitalised: dict[LeafId, set[str]] = {}
        behind = 0
        for start, keys in names.find(words):
            if start < behind:  # a part of a longer name
                continue
            leaf, text = texts[bisect_right(starts, start) - 1]
            for key in keys:
                namesakes = self._called(names, key)
                if not namesakes:
                    continue
                written = next(iter(namesakes.values()))
                if " " not in key and written[0].isupper() and not stands_in(written, text):
                    # A single word is a name only if it is capitalised like one: "Notes" or "NOTES", but not "notes".
                    if leaf not in capitalised:
                        capitalised[leaf] = capitalised_words(text)
                    if key not in capitalised[leaf]:
                        continue
                behind = start + 1 + key.count(" ")
                yield _NameInLeaf(leaf, written, self._others(leaf, list(namesakes)), list(namesakes))
                break

    def _by_link(self, names: Names, leaf: LeafId, links: Sequence[Link]) -> Iterator[_NameInLeaf]:
        own = self._visible.rows.get(leaf.document_id)
        own_places = [] if own is None else locations_of(own.document_id, own.metadata)
        for link in links:
            documents: list[str] = []
            if link.is_wiki:
                documents = list(self._called(names, title_key(link.target)))
            if not documents and names.has_places:
                whole, ending = locations_to_try(link.target, own_places)
                for place in whole:
                    documents = [
                        id_
                        for id_ in names.at(f"/{place.path}")
                        if any(place.fits(each) and each.path == place.path for each in self._places(id_))
                    ]
                    if documents:
                        break
                if not documents and ending is not None:
                    documents = [
                        id_ for id_ in names.at(ending.name) if any(leads_to(ending, each) for each in self._places(id_))
                    ]
            if len(documents) <= MOST_NAMESAKES:
                yield _NameInLeaf(leaf, link.target, self._others(leaf, documents))

    def _called(self, names: Names, key: str) -> dict[str, str]:
        """The documents with a name, and how each of them spells it."""
        written = {}
        for id_ in names.called(key):
            row = self._visible.rows[id_]
            for name in names_in(row.title, row.metadata, self._aliases):
                if title_key(name) == key:
                    written[id_] = name
                    break
        return written

    def _places(self, document_id: str) -> list[Location]:
        return locations_of(document_id, self._visible.rows[document_id].metadata)

    def _others(self, leaf: LeafId, documents: Sequence[str]) -> list[str]:
        """The documents that match the filter and are not the leaf's own document."""
        others = [id_ for id_ in documents if id_ != leaf.document_id]
        if self._matching is None:
            return others
        return [id_ for id_ in others if self._visible.stored_id(id_) in self._matching]
