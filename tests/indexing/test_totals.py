"""Counting an index adds up all documents once, and again only if the index has changed."""

from __future__ import annotations

import tempfile
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, Index
from leafspan.store._stored_rows import StoredRows
from tests.profiles import examples

TEXTS = ["Bees dance in the morning.", "Die Bienen tanzen am Morgen auf der Wiese.", "", "One. " * 100]


def is_right(index: Index) -> None:
    """Check that counts agree with the list of documents."""
    documents, stats = index.documents(), index.stats()
    assert index.count() == stats.documents == len(documents)
    assert stats.leaves == sum(each.leaves for each in documents)
    assert stats.words == sum(each.words for each in documents)
    assert stats.characters == sum(each.characters for each in documents)
    assert stats.languages == Counter(each.language for each in documents if each.language)


@examples(15, fast=5)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=6))
def test_counts_agree_with_the_documents_after_any_changes(changes):
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        view = index.scoped({"tenant": "acme"})
        for id_, number in changes:
            target = view if number % 2 else index
            if number == 4:
                target.delete([each.id for each in target.documents() if each.id == id_])
            else:
                target.add(Document(id_, TEXTS[number]))
            is_right(index)
            is_right(view)


def test_counts_are_added_up_once(index: Index, monkeypatch: pytest.MonkeyPatch):
    before = index.stats()
    monkeypatch.setattr(StoredRows, "values", None)  # nothing of a row is read
    assert (index.count(), index.stats()) == (before.documents, before)
