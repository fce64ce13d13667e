"""Documents whose texts are nearly the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChain

from leafspan import Document, F, Index, InvalidArgument
from leafspan.errors import InvalidDocument
from leafspan.lab import near_duplicates, without_near_duplicates
from leafspan.lab.evaluation._near_duplicates import _sequences
from tests.profiles import examples

WORDS = [f"word{number}" for number in range(2_000)]


class View:
    """In the place of a view: its leaves are whole documents."""

    def __init__(self, texts):
        self._texts = texts

    def leaves(self):
        return [Leaf(name, text) for name, text in self._texts.items()]


class Leaf:
    def __init__(self, document_id, text):
        self.document_id, self.text = document_id, text


def text_of(seed, words=300):
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def changed(text, places):
    words = text.split()
    for place in places:
        words[place] = "another"
    return " ".join(words)


def test_copies_and_small_changes_are_named(tmp_path):
    policy = "Staff may work from home two days a week. They tell their team on Monday. The office opens at eight. " * 2
    with Index.open(tmp_path / "kb") as index:
        index.add(
            [
                Document("b", policy + "It closes at six."),
                Document("a", policy.upper() + "It closes; at SIX!", "Another title", {"n": 1}),
                Document("c", "The ferry leaves at nine. It takes bicycles."),
                Document("d", "The ferry leaves at ten. It takes no bicycles."),
                Document("blank", " "),
                Document("blank too", "\n"),
                Document("ja", "東京は日本の首都です。人口は約千四百万人です。" * 2),
                Document("ja 2", "東京は、日本の首都です。人口は約千四百万人です。" * 2),
            ]
        )
        assert near_duplicates(index) == [["a", "b"], ["ja", "ja 2"]]
        assert near_duplicates(index.scoped(F("n").exists())) == []


def test_the_share_of_sequences_decides():
    text = text_of(1)  # 296 sequences of five words
    one, two = changed(text, [50]), changed(text, [50, 150])  # each changed word is in five of them
    assert 291 / 301 > 0.95 > 286 / 306 > 0.9
    assert near_duplicates(View({"text": text, "one": one}), threshold=291 / 301) == [["one", "text"]]
    assert near_duplicates(View({"text": text, "one": one}), threshold=291 / 301 + 1e-9) == []
    assert near_duplicates(View({"text": text, "two": two}), threshold=0.95) == []
    assert near_duplicates(View({"text": text, "one": one, "two": two}), threshold=0.95) == [["one", "text", "two"]]


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 299), max_size=2)), min_size=2, max_size=12), st.randoms()
)
def test_groups_are_of_one_text_and_do_not_depend_on_the_order(copies, shuffled):
    texts = {str(number): changed(text_of(seed), places) for number, (seed, places) in enumerate(copies)}
    expected: dict[int, list[str]] = {}
    for name, (seed, _) in zip(texts, copies, strict=True):
        expected.setdefault(seed, []).append(name)
    # Four changes of a pair are in at most 20 of 296 sequences: 276 / 316 is far above 0.7.
    found = near_duplicates(View(texts), threshold=0.7)
    assert all(any(set(group) <= set(of_one) for of_one in expected.values()) for group in found)
    assert found == sorted(map(sorted, found))
    names = list(texts)
    shuffled.shuffle(names)
    assert near_duplicates(View({name: texts[name] for name in names}), threshold=0.7) == found


def test_nearly_all_of_many_pairs_are_found():
    texts = {}
    for number in range(200):
        text = text_of(number, 120)
        texts[f"{number}"], texts[f"{number}+"] = text, changed(text, [20, 80])  # 106 / 126 = 0.84
    assert len(near_duplicates(View(texts))) == 200


def test_sequences_of_short_texts():
    assert [len(_sequences(text)) for text in ("", "...", "one", "a b c d e", "a b c d e f", "a a a a a a a")] == [
        0,
        0,
        1,
        1,
        2,
        1,
    ]


@pytest.mark.parametrize("wrong", [0.6, 1.1, "0.8", None, True])
def test_the_threshold_is_a_share(tmp_path, wrong):
    with pytest.raises(InvalidArgument, match=r"threshold must be .*0\.7"):
        near_duplicates(View({}), threshold=wrong)


def test_documents_that_are_nearly_the_same_are_left_out(tmp_path):
    text, skipped = text_of(1), []
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("old", text), Document("other", text_of(2))])
        new = [
            Document("copy", changed(text, [50])),
            Document("old", changed(text, [150])),  # replaces the one of this id
            Document("new", text_of(3)),
            Document("new too", text_of(3)),
            Document("blank", " "),
            Document("blank too", " "),
            LangChain(page_content=text_of(2), id="a copy from elsewhere"),
        ]
        kept = without_near_duplicates(new, index, on_skip=lambda id, original: skipped.append((id, original)))
        added = index.add(kept)
        assert (added.added, added.replaced) == (("new", "blank", "blank too"), ("old",))
        assert skipped == [("copy", "old"), ("new too", "new"), ("a copy from elsewhere", "other")]
        assert near_duplicates(index) == []
        # A document that takes another's place no longer counts with its old text.
        moved = [Document("old", text_of(4)), Document("again", text)]
        assert [each.id for each in without_near_duplicates(moved, index)] == ["old", "again"]
        assert [each.id for each in without_near_duplicates(moved, index.scoped(F("n").exists()))] == ["old", "again"]


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 299), max_size=1)), max_size=12))
def test_what_is_left_are_no_near_duplicates_and_nothing_else_is_lost(copies):
    texts = [Document(str(number), changed(text_of(seed), places)) for number, (seed, places) in enumerate(copies)]
    kept = list(without_near_duplicates(texts, View({}), threshold=0.7))
    assert len(kept) == len({seed for seed, _ in copies})
    assert near_duplicates(View({each.id: each.text for each in kept}), threshold=0.7) == []


def test_wrong_values_are_refused_before_anything_is_read():
    with pytest.raises(InvalidArgument, match=r"threshold must be .*0\.7"):
        without_near_duplicates([], View({}), threshold=0.5)
    with pytest.raises(InvalidDocument):
        list(without_near_duplicates([3], View({})))
