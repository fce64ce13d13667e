"""Which parts of a filter a document does not match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import F, Where
from leafspan.filters import failing_parts

METADATA = {"year": 1973, "topic": "bees", "tags": []}


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        (F("year") == 1973, []),
        (F("year") > 2000, [(F("year") > 2000, {"year": 1973})]),
        (F("lang") == "de", [(F("lang") == "de", {"lang": None})]),
        (F("tags").exists(), [(F("tags").exists(), {"tags": None})]),  # an empty list counts as missing
        (F("doc_id") == "tea", [(F("doc_id") == "tea", {"doc_id": "b"})]),
        ((F("year") > 1900) & (F("topic") == "tea"), [(F("topic") == "tea", {"topic": "bees"})]),
        (
            (F("year") > 2000) | (F("topic") == "tea"),
            [(F("year") > 2000, {"year": 1973}), (F("topic") == "tea", {"topic": "bees"})],
        ),
        (~(F("year") > 1900), [(~(F("year") > 1900), {"year": 1973})]),
        (
            ~((F("year") > 1900) & (F("topic") == "bees")),
            [(~((F("year") > 1900) & (F("topic") == "bees")), {"year": 1973, "topic": "bees"})],
        ),
    ],
)
def test_the_smallest_parts_that_do_not_match_come_with_what_the_document_has(where: Where, parts: list):
    assert failing_parts(where, METADATA, "b") == parts


conditions = st.sampled_from([F("a") == 1, F("a") > 3, F("b") == "x", F("c").exists(), F("b").in_(["x", "y"])])
filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda both: both[0] & both[1]),
        st.tuples(inner, inner).map(lambda both: both[0] | both[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=6,
)
metadata = st.fixed_dictionaries({}, optional={"a": st.integers(0, 5), "b": st.sampled_from("xyz"), "c": st.booleans()})


@given(filters, metadata)
def test_there_are_some_exactly_if_the_document_does_not_match_and_none_of_them_does(where: Where, values: dict):
    parts = failing_parts(where, values)
    assert bool(parts) is not where.matches(values)
    assert not any(part.matches(values) for part, _ in parts)
