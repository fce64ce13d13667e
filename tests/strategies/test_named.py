"""The names that identify the results of several strategies."""

from __future__ import annotations

import pytest

from leafspan import BM25, Hybrid, InvalidArgument, Vector
from leafspan.strategies import name_strategies, to_strategy


def test_strategies_are_named_as_in_a_configuration_and_those_with_one_name_by_their_number():
    assert name_strategies("strategies", [BM25(), "vector", Hybrid()]) == {
        "bm25": BM25(),
        "vector": Vector(),
        "hybrid": Hybrid(),
    }
    two = [Hybrid(), BM25(), Hybrid(references=0)]
    assert list(name_strategies("strategies", two)) == ["hybrid", "bm25", "hybrid 2"]
    assert list(name_strategies("strategies", two, between="-")) == ["hybrid", "bm25", "hybrid-2"]


@pytest.mark.parametrize("wrong", ["hybird", 5])
def test_what_is_no_strategy_is_refused(wrong: object):
    with pytest.raises(InvalidArgument, match=rf"^each of strategies must be .*, got {wrong!r}"):
        name_strategies("strategies", [BM25(), wrong])


def test_names_that_need_options_are_not_offered():
    with pytest.raises(InvalidArgument) as raised:
        name_strategies("strategies", ["nothing"])
    offered = str(raised.value).partition("one of ")[2].partition(", got")[0].split(", ")
    assert {"'hybrid'", "'tree'", "'follow-references'"} <= {*offered}
    assert not {"'at-least'", "'filtered'", "'sql'", "'rerank'", "'multi-query'", "'rewrite-query'"} & {*offered}
    for name in offered:
        to_strategy("strategy", name.strip("'"))
    with pytest.raises(InvalidArgument, match="did you mean 'multi-query'"):
        to_strategy("strategy", "multiquery")
