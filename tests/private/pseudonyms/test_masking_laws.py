"""Masked text comes back exactly, wherever it is cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document
from leafspan.errors import InvalidDocument
from leafspan.private.pseudonyms import (
    Disguise,
    Found,
    MaskedPlace,
    Restoring,
    Unmasking,
    find_all,
    mask_document,
    pseudonyms_in,
)
from leafspan.private.pseudonyms._entities import pseudonym
from leafspan.values import Chunk
from tests.profiles import examples

KEY = b"k" * 32
ALPHABET = st.sampled_from("ab é\u0301ßÅ😀\r\n\t_-'.0Z中文")
TEXTS = st.text(ALPHABET, max_size=40) | st.text(max_size=30)


def name(kind: str, value: str) -> str:
    return pseudonym(KEY, kind, value)


@st.composite
def texts_with_entities(draw: Any) -> tuple[str, list[Found]]:
    """A text, and any pieces of it, which may overlap."""
    text = draw(TEXTS)
    places = st.integers(0, len(text))
    kinds = st.sampled_from(["PERSON", "EMAIL_ADDRESS", "Straße 5", "…"])
    ranges = draw(st.lists(st.tuples(places, places, kinds), max_size=6))
    return text, [Found(min(a, b), max(a, b), kind) for a, b, kind in ranges if a != b]


def disguise_of(found: list[Found], whole: str) -> Disguise:
    """Finds these in that text, and nothing in any other."""
    return Disguise((lambda text: found if text == whole else [],), name)


@given(texts_with_entities())
@examples(1000)
def test_the_whole_text_comes_back(case: tuple[str, list[Found]]):
    text, found = case
    masked = disguise_of(found, text).text(text)
    assert Restoring(masked.places).text(masked.text) == text


@given(texts_with_entities())
@examples(500)
def test_nothing_that_was_found_stands_in_the_masked_text(case: tuple[str, list[Found]]):
    text, found = case
    masked = disguise_of(found, text).text(text)
    inside = {index for each in found for index in range(each.start, each.end)}
    kept = [character for index, character in enumerate(text) if index not in inside or character.isspace()]
    bare = list(masked.text)
    for place in reversed(masked.places):
        del bare[place.start : place.end]
    # Only white space at the ends of what overlaps may be left of an entity.
    assert len(bare) <= len(kept)
    assert [character for character in bare if not character.isspace()] == [
        character for character in kept if not character.isspace()
    ]


@given(texts_with_entities(), st.lists(st.integers(0, 400), max_size=8))
@examples(1000)
def test_each_piece_matches_the_original_at_its_characters(case: tuple[str, list[Found]], cuts: list[int]):
    """Also if the masked text is cut within a pseudonym. The pieces, joined, are the original."""
    text, found = case
    masked = disguise_of(found, text).text(text)
    restoring = Restoring(masked.places)
    ends = sorted({0, len(masked.text), *(cut % (len(masked.text) + 1) for cut in cuts)})
    pieces = [
        (restoring.outward(start), restoring.outward(end), restoring.text(masked.text[start:end], start))
        for start, end in pairwise(ends)
    ]
    for start, end, piece in pieces:
        assert text[start:end] == piece
    assert "".join(piece for _, _, piece in pieces) == text


@given(texts_with_entities(), st.integers(0, 400))
@examples(500)
def test_positions_outside_of_pseudonyms_go_there_and_back(case: tuple[str, list[Found]], position: int):
    text, found = case
    masked = disguise_of(found, text).text(text)
    restoring = Restoring(masked.places)
    place = position % (len(masked.text) + 1)
    within = any(each.start < place < each.end for each in masked.places)
    beside_blank = any(not each.original and each.start <= place <= each.end for each in masked.places)
    if not within and not beside_blank:  # both sides of a blank that was added are the same place in the original
        assert restoring.inward(restoring.outward(place)) == place
    assert restoring.outward(len(masked.text)) == len(text)
    assert restoring.masked_length(len(text)) == len(masked.text)


@given(texts_with_entities())
@examples(300)
def test_every_pseudonym_in_a_masked_text_is_a_word_of_its_own(case: tuple[str, list[Found]]):
    text, found = case
    masked = disguise_of(found, text).text(text)
    assert [each.pseudonym for each in masked.places if each.kind] == [each.word for each in pseudonyms_in(masked.text)]


@given(texts_with_entities())
@examples(300)
def test_masking_a_masked_text_again_changes_nothing(case: tuple[str, list[Found]]):
    text, found = case
    masked = disguise_of(found, text).text(text)
    everything = Disguise((lambda text: [Found(0, len(text), "ALL")] if text else [],), name)
    again = disguise_of(found, text).text(masked.text)
    assert masked.text in (again.text, text)
    kept = [each.word for each in pseudonyms_in(masked.text)]
    assert [each.word for each in pseudonyms_in(everything.text(masked.text).text) if each.kind != "ALL"] == kept


@st.composite
def documents(draw: Any) -> tuple[Document, list[str]]:
    """A document, with terms that must be found in all of its parts."""
    terms = draw(st.lists(st.text(ALPHABET, min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=4))
    texts = st.lists(st.sampled_from(terms) | st.text(ALPHABET, max_size=6), max_size=8).map("".join)
    values = texts | st.integers(-9, 9) | st.booleans() | st.floats(0, 1) | st.lists(texts, min_size=1, max_size=3)
    metadatas = st.dictionaries(texts.filter(lambda key: key and key != "doc_id"), values, max_size=4)
    text = draw(texts)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text))), max_size=4)) | {len(text)}) if text else []
    chunks = [Chunk(cut, draw(metadatas)) for cut in cuts if cut <= len(text)] if draw(st.booleans()) else []
    title = draw(st.none() | texts)
    return Document(draw(texts.filter(bool)), text, title, draw(metadatas), tuple(chunks)), terms


def finder_of(terms: list[str]) -> Any:
    def find(text: str) -> list[Found]:
        starts = [(term, start) for term in terms for start in range(len(text)) if text.startswith(term, start)]
        return [Found(start, start + len(term), "TERM") for term, start in starts]

    return find


@given(documents())
@examples(500)
def test_a_document_comes_back_with_everything_in_it(case: tuple[Document, list[str]]):
    document, terms = case
    disguise = Disguise((finder_of(terms),), name)
    keys_of = [[disguise.text(key).text for key in each.metadata] for each in (document, *document.chunks)]
    if any(len(set(keys)) < len(keys) for keys in keys_of):  # such as 0 and 0-, if both are terms: they are one name
        with pytest.raises(InvalidDocument, match="after masking: rename one of them"):
            mask_document(document, disguise, "entities")
        return
    masked, notes = mask_document(document, disguise, "entities")
    restored = Unmasking(notes.parts, lambda place: True, everything=True).document(masked)
    metadata = {key: value for key, value in restored.metadata.items() if key != "entities"}
    expected = replace(document, metadata={key: value for key, value in document.metadata.items() if value != []})
    keys = {disguised(key, terms) for key in document.metadata}
    if len(keys) == len(document.metadata) and all(
        len({disguised(key, terms) for key in chunk.metadata}) == len(chunk.metadata) for chunk in document.chunks
    ):
        assert replace(restored, metadata=metadata) == expected


def disguised(text: str, terms: list[str]) -> str:
    return Disguise((finder_of(terms),), name).text(text).text


def test_of_entities_that_overlap_the_longest_counts_and_the_rest_is_masked_too():
    text = "Anna Maria Smith"
    found = find_all([lambda _: [(0, 10, "FIRST"), (5, 16, "LAST")]], text)
    assert found == [Found(0, 4, "FIRST"), Found(5, 16, "LAST")]


def test_of_equally_long_entities_the_first_counts_and_then_the_first_finder():
    assert find_all([lambda _: [(1, 3, "B"), (0, 2, "A")]], "abcd") == [Found(0, 2, "A"), Found(2, 3, "B")]
    assert find_all([lambda _: [(0, 2, "A")], lambda _: [(0, 2, "B")]], "abcd") == [Found(0, 2, "A")]


def test_what_only_looks_like_a_pseudonym_stays_where_it_is():
    text = "the part PERSON0ABCDEFGHIJKLMNOP0 of Ann"
    masked = Disguise((lambda text: [(37, 40, "PERSON")] if text.endswith("Ann") else [],), name).text(text)
    assert masked.text == f"the part PERSON0ABCDEFGHIJKLMNOP0 of {name('PERSON', 'Ann')}"
    assert masked.places == (MaskedPlace(37, name("PERSON", "Ann"), "Ann"),)
    assert Restoring(masked.places).text(masked.text) == text


def test_a_count_up_to_many_positions_reads_each_original_once():
    read: list[str] = []
    restoring = Restoring(MaskedPlace(20 * number, "EMAIL0AAAAAAAAAAAAAAAA0", "a\nb" * number) for number in range(50))

    def count(original: str) -> int:
        read.append(original)
        return original.count("\n")

    assert [restoring.count(count, end) for end in range(1000)] == [sum(range((end + 19) // 20)) for end in range(1000)]
    assert len(read) == 50
