"""Nested filters: up to 100 levels work, and deeper ones are refused, in any dialect."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.vector_stores import FilterCondition, MetadataFilter, MetadataFilters

from leafspan import F, InvalidArgument, Where
from leafspan.filters import Columns, constant, to_filter, with_conditions
from leafspan.filters._expression import MOST_LEVELS, And, Or

A, B, C = F("a") == 1, F("b") == 2, F("c") == 3


def mixed(levels: int) -> Where:
    """A filter of this many levels: ``&``, ``|`` and ``~`` in turn."""
    made: Where = A
    while made.levels < levels:
        kind = made.levels % 3
        made = made & B if kind == 0 else made | C if kind == 1 else ~made
    return made


def test_levels_are_counted():
    assert A.levels == 1
    assert (A & B).levels == (A & B & C).levels == 2
    assert ((A & B) | C).levels == 3
    assert (~(A & B)).levels == 3
    assert (~~A).levels == 1


def test_a_filter_of_all_levels_works():
    deep = mixed(MOST_LEVELS)
    assert deep.levels == 100
    copied = pickle.loads(pickle.dumps(deep))
    assert copied == deep == copy.deepcopy(deep)
    assert hash(copied) == hash(deep)
    assert repr(deep).count("F(") > 60
    documents = [("x", {"a": 1}), ("y", {"b": 2}), ("z", {"a": 1, "b": 2, "c": 3})]
    assert Columns(documents).matching(deep).tolist() == [deep.matches(metadata, id_) for id_, metadata in documents]
    assert with_conditions(deep, lambda condition: condition) == deep
    assert constant(deep) is None


def test_a_filter_that_is_nested_too_deep_is_refused():
    with pytest.raises(InvalidArgument, match=r"at most 100 levels of &, \| and ~ inside each other, got 101"):
        mixed(MOST_LEVELS + 1)


@pytest.mark.parametrize("levels", [3_000, 50_000])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: {"$and": [inner, {"b": 1}]},
        lambda inner: {"$or": [{"$and": [inner, {"b": 1}]}, {"c": 1}]},
        lambda inner: {"$not": inner},
        lambda inner: {"operator": "NOT", "conditions": [inner]},
        lambda inner: {"operator": "AND", "conditions": [inner, {"field": "meta.a", "operator": "==", "value": 1}]},
        lambda inner: {"a": inner},
        lambda inner: {"a": {"$in": [inner]}},
        lambda inner: MetadataFilters.model_construct(filters=[inner], condition=FilterCondition.NOT),
    ],
)
def test_other_dialects_are_refused_as_well(wrap: Callable[[Any], Any], levels: int):
    deep: Any = MetadataFilter(key="a", value=1) if "Metadata" in type(wrap(None)).__name__ else {"a": 1}
    for _ in range(levels):
        deep = wrap(deep)
    with pytest.raises(InvalidArgument):
        to_filter(deep)


def test_negations_inside_each_other_take_no_longer_than_other_filters():
    """The code of a negation was made twice at each level, so that 40 levels would have taken days."""
    made: Where = A
    while made.levels < MOST_LEVELS - 1:
        made = ~(made & B)
    start = time.thread_time()
    repr(made)
    assert time.thread_time() - start < 1
    assert eval(repr(made)) == made


def test_many_parts_side_by_side_are_one_level():
    many = F("a").contains_any(range(5_000))
    assert isinstance(many, Or)
    assert (many.levels, len(many.parts)) == (2, 5_000)
    assert isinstance(to_filter({"$and": [{"a": n} for n in range(5_000)]}), And)
