"""Windows beside Haystack's SentenceWindowRetriever, over the same pieces of the same texts."""

import pytest
from haystack import Document as HaystackDocument
from haystack.components.retrievers import SentenceWindowRetriever as HaystackSentenceWindow
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document
from leafspan.documents import make_leaves
from leafspan.spans import windows_around
from leafspan.splitting import Cut
from leafspan.values import LeafId
from tests.profiles import examples
from tests.word_trees import hit

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
SCORES = st.permutations(range(60))


@st.composite
def cut_documents(draw):
    """One or two documents and, by their ids, their leaves, cut anywhere."""
    documents, leaves = {}, {}
    for id_ in draw(st.sampled_from(["a", "ab"])):
        documents[id_] = Document(id_, draw(TEXTS))
        length = len(documents[id_].text)
        ends = draw(st.sets(st.integers(1, length))) | {length}
        leaves[id_] = make_leaves(documents[id_], "00000000", [Cut(end) for end in sorted(ends)])
    return documents, leaves


def pieces(document, leaves):
    """Haystack's documents for the leaves of one of ours."""
    return [
        HaystackDocument(
            id=leaf.id,
            content=document.text[leaf.start : leaf.end],
            meta={"source_id": document.id, "split_id": leaf.ordinal, "split_idx_start": leaf.start},
        )
        for leaf in leaves
    ]


def windows_of_haystack(documents, leaves, hits, size):
    """The text of a window for each hit, in their order."""
    by_id = {piece.id: piece for id_ in documents for piece in pieces(documents[id_], leaves[id_])}
    store = InMemoryDocumentStore()
    store.write_documents(list(by_id.values()))
    return HaystackSentenceWindow(store, window_size=size).run([by_id[found.leaf.id] for found in hits])["context_windows"]


def windows_of_ours(documents, leaves, hits, size):
    """The text of each window, best first."""
    return [text_of(window, documents, leaves) for window in windows_around(hits, before=size, after=size)]


def text_of(window, documents, leaves):
    within = leaves[window.span.document_id]
    return documents[window.span.document_id].text[within[window.span.first].start : within[window.span.last].end]


@examples(100)
@given(cut_documents(), st.data(), st.integers(1, 5))
def test_the_window_of_a_hit_has_the_text_of_haystacks(cut, data, size):
    documents, leaves = cut
    found = [hit(data.draw(st.sampled_from([leaf for some in leaves.values() for leaf in some])), 0.5)]

    assert windows_of_ours(documents, leaves, found, size) == windows_of_haystack(documents, leaves, found, size)


@examples(100)
@given(cut_documents(), st.data(), st.integers(1, 3))
def test_hits_far_apart_have_the_windows_of_haystack(cut, data, size):
    documents, leaves = cut
    # Two windows neither meet nor touch if one leaf more than both lies between the hits.
    step = 2 * size + 2
    far_apart = [leaf for some in leaves.values() for leaf in some[data.draw(st.integers(0, step - 1)) :: step]]
    scores = data.draw(SCORES)
    hits = sorted((hit(leaf, score) for leaf, score in zip(far_apart, scores, strict=False)), key=lambda found: found.order)

    assert windows_of_ours(documents, leaves, hits, size) == windows_of_haystack(documents, leaves, hits, size)


@examples(100)
@given(cut_documents(), st.data(), st.integers(1, 3))
def test_all_text_of_haystacks_windows_is_there_and_none_of_it_twice(cut, data, size):
    documents, leaves = cut
    chosen = data.draw(
        st.lists(st.sampled_from([leaf for some in leaves.values() for leaf in some]), unique_by=lambda leaf: leaf.id)
    )
    hits = [hit(leaf, score) for leaf, score in zip(chosen, data.draw(SCORES), strict=False)]
    windows = windows_around(hits, before=size, after=size)

    for found, theirs in zip(hits, windows_of_haystack(documents, leaves, hits, size), strict=True):
        holding = [
            window
            for window in windows
            if window.span.document_id == found.span.document_id
            and window.span.first <= found.span.first <= window.span.last
        ]
        assert len(holding) == 1
        assert theirs in text_of(holding[0], documents, leaves)
    places = [
        (window.span.document_id, place) for window in windows for place in range(window.span.first, window.span.last + 1)
    ]
    assert len(places) == len(set(places))


# Where they differ, and Haystack is at fault.

ALPHABET = Document("a", "abcdefghijklmnopqrst")
PAIRS = make_leaves(ALPHABET, "00000000", [Cut(end) for end in range(2, 21, 2)])


def both(hits, size):
    arguments = ({"a": ALPHABET}, {"a": PAIRS}, hits, size)
    return windows_of_haystack(*arguments), windows_of_ours(*arguments)


def test_two_neighbours_have_one_window_where_haystack_gives_most_of_the_text_twice():
    theirs, ours = both([hit(PAIRS[3], 0.9), hit(PAIRS[4], 0.7)], 1)

    assert theirs == ["ef" + "gh" + "ij", "gh" + "ij" + "kl"]
    assert ours == ["ef" + "gh" + "ij" + "kl"]


def test_windows_that_touch_are_one_where_haystack_gives_two():
    theirs, ours = both([hit(PAIRS[1], 0.9), hit(PAIRS[4], 0.7)], 1)

    assert theirs == ["abcdef", "ghijkl"]
    assert ours == ["abcdef" + "ghijkl"]


def test_the_documents_of_haystacks_windows_come_once_a_window_and_without_the_scores_of_the_hits():
    store = InMemoryDocumentStore()
    store.write_documents(pieces(ALPHABET, PAIRS))
    found = [HaystackDocument(content=piece.content, meta=piece.meta, score=0.9) for piece in pieces(ALPHABET, PAIRS)[3:5]]
    documents = HaystackSentenceWindow(store, window_size=1).run(found)["context_documents"]

    assert [document.content for document in documents] == ["ef", "gh", "ij", "gh", "ij", "kl"]
    assert [document.score for document in documents] == [None] * 6
    assert [window.score for window in windows_around([hit(PAIRS[3], 0.9), hit(PAIRS[4], 0.7)], before=1, after=1)] == [0.9]


def test_a_window_within_another_changes_nothing_where_haystack_corrupts_the_text():
    parts = [(0, 15), (5, 8), (10, 20)]
    chunks = [HaystackDocument(content=ALPHABET.text[a:b], meta={"split_idx_start": a}) for a, b in parts]

    # After the second chunk it goes on from character 8, though it had come to 15.
    assert HaystackSentenceWindow.merge_documents_text(chunks) == "abcdefghijklmno" + "klmnopqrst"
    # At the start of a text, the window of the first leaf lies within the second leaf's.
    theirs, ours = both([hit(PAIRS[0], 0.9), hit(PAIRS[1], 0.7)], 2)
    assert theirs == ["abcdef", "abcdefgh"]
    assert ours == ["abcdefgh"]


def test_every_window_is_the_text_as_it_stands_where_haystack_glues_over_a_chunk_that_is_missing():
    store = InMemoryDocumentStore()
    chunks = pieces(ALPHABET, PAIRS)
    store.write_documents(chunks[:3] + chunks[4:])
    windows = HaystackSentenceWindow(store, window_size=2).run([chunks[4]])["context_windows"]

    assert windows == ["ef" + "ij" + "kl" + "mn"]
    # Ours names the leaves that make up the window, so that none can be missing unnoticed.
    [window] = windows_around([hit(PAIRS[4], 0.9)], before=2, after=2)
    assert window.span.leaf_ids == [LeafId("a", "00000000", ordinal) for ordinal in (2, 3, 4, 5, 6)]


def test_a_window_of_nothing_is_the_hit_where_haystack_refuses_it():
    with pytest.raises(ValueError, match="window_size parameter must be greater than 0"):
        HaystackSentenceWindow(InMemoryDocumentStore(), window_size=0)
    with pytest.raises(ValueError, match="window_size parameter must be greater than 0"):
        both([hit(PAIRS[3], 0.9)], 0)

    assert windows_of_ours({"a": ALPHABET}, {"a": PAIRS}, [hit(PAIRS[3], 0.9)], 0) == ["gh"]


@pytest.mark.parametrize(("before", "after"), [(0, 1), (2, 0), (1, 2)])
def test_a_window_may_be_lopsided_where_haystacks_is_the_same_on_both_sides(before, after):
    [window] = windows_around([hit(PAIRS[4], 0.9)], before=before, after=after)
    [theirs] = both([hit(PAIRS[4], 0.9)], max(before, after))[0]

    assert text_of(window, {"a": ALPHABET}, {"a": PAIRS}) == ALPHABET.text[8 - 2 * before : 10 + 2 * after]
    assert theirs == ALPHABET.text[8 - 2 * max(before, after) : 10 + 2 * max(before, after)]
