"""Options of strategies: they have the documented defaults, and errors name the option and its value."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pytest

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Ensemble,
    FollowReferences,
    Hybrid,
    InvalidArgument,
    ParentDocument,
    Query,
    RelevantSegments,
    Rerank,
    SentenceWindow,
    Tree,
    Vector,
    strategies,
)
from leafspan.strategies import RetrievalContext, Strategy, to_query

STRATEGIES = [kind for name in strategies.__all__ if isinstance(kind := getattr(strategies, name), type)]


def documented_defaults() -> Iterator[Any]:
    """Each option of a strategy whose default is documented as a value that depends on nothing else."""
    for kind in STRATEGIES:
        if not issubclass(kind, Strategy):
            continue
        _, _, options = (kind.__doc__ or "").partition("Args:\n")
        for about in re.split(r"\n    (?=    \w+: )", f"\n{options.partition(chr(10) * 2)[0]}"):
            option = re.match(r" +(\w+): ", about)
            default = re.search(r"Default:\s+(?:``(.+?)``|(\([^)]*\)|-?[\d.]*\d|True|False))(?=\.(?:\s|$))", about)
            if option and default:
                yield pytest.param(kind, option[1], default[1] or default[2], id=f"{kind.__name__}.{option[1]}")


@pytest.mark.parametrize(("kind", "option", "documented"), list(documented_defaults()))
def test_the_default_of_an_option_is_the_one_that_is_documented(kind: type, option: str, documented: str):
    [field] = [each for each in fields(kind) if each.name == option]
    default = field.default if field.default_factory is MISSING else field.default_factory()
    made = re.fullmatch(r"(\w+)\(\)", documented)
    assert default == (getattr(strategies, made[1])() if made else ast.literal_eval(documented))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BM25(k=0), "k must be a whole number >= 1, got 0"),
        (lambda: BM25(engine="rank_bm25"), "engine must be one of 'postings', 'rank-bm25', got 'rank_bm25'"),
        (lambda: Browse(offset=-1), "offset must be a whole number >= 0, got -1"),
        (lambda: Hybrid(summaries=1), "summaries must be True or False, got 1"),
        (
            lambda: Hybrid(min_answer_probability=2),
            "min_answer_probability must be a number in [0, 1], got 2",
        ),
        (lambda: Vector(instruction=5), "instruction must be a string, got 5"),
        (lambda: RetrievalContext(10, k=0), "k must be a whole number >= 1, got 0"),
        (lambda: RetrievalContext(0), "candidates must be a whole number >= 1, got 0"),
        (
            lambda: to_query(Query("tea", embedding_texts="tea")),
            "embedding_texts of a query must be a list of texts, got 'tea'",
        ),
    ],
)
def test_a_wrong_option_is_named_with_the_rule_and_what_it_was(make: Callable[[], object], message: str):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(message)}"):
        make()


TWO = np.int64(2)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (BM25(k=TWO), BM25(k=2)),
        (Vector(k=TWO), Vector(k=2)),
        (Browse(offset=TWO), Browse(offset=2)),
        (ParentDocument(level=TWO, max_parents=TWO), ParentDocument(level=2, max_parents=2)),
        (SentenceWindow(before=TWO, after=TWO, max_words=TWO), SentenceWindow(before=2, after=2, max_words=2)),
        (AutoMerging(fill_gaps=TWO, max_level=TWO, max_words=TWO), AutoMerging(fill_gaps=2, max_level=2, max_words=2)),
        (
            RelevantSegments(words=TWO, max_words=TWO, passage_words=TWO),
            RelevantSegments(words=2, max_words=2, passage_words=2),
        ),
        (
            Ensemble(retrievers=[BM25(), Vector()], min_candidates=TWO),
            Ensemble(retrievers=[BM25(), Vector()], min_candidates=2),
        ),
        (FollowReferences(depth=TWO, per_reference=TWO), FollowReferences(depth=2, per_reference=2)),
        (Rerank(depth=TWO, diversity=0.5), Rerank(depth=2, diversity=0.5)),
        (Tree(mode="traversal", top_k=TWO, start_layer=TWO), Tree(mode="traversal", top_k=2, start_layer=2)),
        (Tree(expand=TWO), Tree(expand=2)),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_a_whole_number_of_numpys_is_the_same_option_as_a_plain_one(given: Strategy, plain: Strategy):
    assert given == plain
    assert hash(given) == hash(plain)
    assert repr(given) == repr(plain)
    assert json.dumps(given.to_config()) == json.dumps(plain.to_config())
