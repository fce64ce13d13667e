"""A filter's selection is the same as an array and as a set of ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import F
from leafspan.store import Catalogue, DocumentTable, Numbering, Row, _document_table
from tests.profiles import examples

IDS = [*"abcdefgh", "Zoë", "x/y.md#page=1", ""]


@examples(100)
@given(st.dictionaries(st.sampled_from(IDS), st.tuples(st.integers(0, 3), st.sampled_from(["v", None]), st.integers(0, 4))))
def test_a_selection_has_the_documents_that_match(drawn):
    rows = {id_: Row(id_, "", version, leaves, metadata={"n": n}) for id_, (n, version, leaves) in drawn.items()}
    selection = Catalogue(rows).select(F("n") >= 2)
    wanted = {id_ for id_, (n, version, _) in drawn.items() if n >= 2 and version is not None}
    assert {id_ for id_ in drawn if id_ in selection} == selection.ids == wanted
    assert selection.leaves == sum(drawn[id_][2] for id_ in wanted)


@given(st.lists(st.sampled_from(IDS), unique=True), st.lists(st.sampled_from(IDS), unique=True))
def test_documents_of_a_table_are_numbered(ids, others):
    numbering = Numbering(ids, [1] * len(ids))
    table = DocumentTable.of([(id_, "v", 1) for id_ in others])
    expected = [ids.index(id_) if id_ in ids else -1 for id_ in others]
    assert numbering.places_of(table).tolist() == expected
    assert [numbering.number_of(id_) for id_ in others] == [None if number < 0 else number for number in expected]


def test_ids_with_the_same_bits_are_compared_as_ids(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_document_table, "document_key", lambda id_: 7)
    rows = {id_: Row(id_, "", "v", 2, metadata={"n": n}) for n, id_ in enumerate("abc")}
    selection = Catalogue(rows).select(F("n") >= 1)
    assert (selection.chosen, selection.ids, selection.leaves) == (None, {"b", "c"}, 4)
    assert "b" in selection
    assert "a" not in selection
