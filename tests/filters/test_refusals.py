"""A filter that breaks a rule is refused, and the error names the wrong part, wherever it is."""

from __future__ import annotations

import pytest

from leafspan import InvalidArgument
from leafspan.filters import to_filter

WRONG_IN_CHROMA = [
    {"$not": "x"},
    {"$and": "x"},
    {"$or": [7]},
    {"$nor": []},
    {"year": {"$about": 2000}},
    {"year": {"$in": 7}},
    {"year": {}},
]
WRONG_IN_HAYSTACK = [
    {"field": "meta.year", "operator": "==", "value": 1, "extra": 2},
    {"field": "meta.year", "operator": "=="},
    {"operator": "XOR", "conditions": []},
    {"operator": "AND", "conditions": "x"},
    {"operator": "AND", "conditions": ["x"]},
    {"field": "meta.year", "operator": "~", "value": 1},
    {"field": 7, "operator": "==", "value": 1},
    {"field": "meta.year", "operator": "in", "value": 7},
    {"field": "meta.year", "operator": ">", "value": "soon"},
]


@pytest.mark.parametrize("part", WRONG_IN_CHROMA, ids=str)
def test_what_is_wrong_in_a_filter_of_chroma_is_shown(part):
    for whole in (part, {"$and": [{"topic": "sea"}, part]}, {"$or": [{"$and": [part, {"a": 1}]}, {"b": 2}]}):
        with pytest.raises(InvalidArgument) as raised:
            to_filter(whole)
        assert f" in {part!r}" in str(raised.value)


@pytest.mark.parametrize("part", WRONG_IN_HAYSTACK, ids=str)
def test_what_is_wrong_in_a_filter_of_haystack_is_shown(part):
    right = {"field": "meta.topic", "operator": "==", "value": "sea"}
    for whole in (part, {"operator": "AND", "conditions": [right, part]}, {"operator": "NOT", "conditions": [part]}):
        with pytest.raises(InvalidArgument) as raised:
            to_filter(whole)
        assert f" in {part!r}" in str(raised.value)
