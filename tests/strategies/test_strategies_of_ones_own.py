"""A user's own strategy: what it can see, and the errors if it breaks the protocol."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leafspan import AutoMerging, Hybrid, Index, InvalidArgument, ParentDocument, RelevantSegments, SentenceWindow, Strategy
from leafspan.strategies import CallFunction, LeafId, LexicalSearch, LoadTexts, RetrievalContext
from leafspan.trace import Trace
from tests.corpus import DOCUMENTS

QUESTION = "Who decoded the dance of the bees?"


def strategy(retrieve):
    """A strategy with this ``retrieve``."""
    return type("Mine", (Strategy,), {"retrieve": lambda self, queries, context: retrieve(queries, context)})()


def test_it_can_look_at_the_texts_of_what_was_found(shared_index: Index):
    seen = {}

    def retrieve(queries, context):
        rows = yield from Hybrid().retrieve(queries, context)
        seen.update((yield LoadTexts(tuple(each.id for row in rows for each in row))))
        return rows

    found = shared_index.retrieve(QUESTION, strategy(retrieve))
    texts = {document.id: document.text for document in DOCUMENTS}
    assert found
    for passage in found:
        assert (
            seen[LeafId.parse(passage.id.partition("-")[0])]
            == passage.text
            == texts[passage.document_id][passage.start : passage.end]
        )


def test_texts_of_leaves_that_were_not_loaded_are_fetched(shared_index: Index):
    (leaf, *_) = shared_index.leaves()
    seen = {}

    def retrieve(queries, context):
        seen.update((yield LoadTexts((LeafId.parse(leaf.id),))))
        return [[] for _ in queries]

    assert shared_index.retrieve(QUESTION, strategy(retrieve)) == []
    assert seen == {LeafId.parse(leaf.id): leaf.text}


def no_generator(queries, context):
    return []


def yields_another_strategy(queries, context):
    return (yield Hybrid().retrieve(queries, context))


def yields_a_list(queries, context):
    return (yield [LoadTexts(())])


def asks_for_an_engine_that_is_not_there(queries, context):
    return (yield LexicalSearch(("dance",), 5, None, engine="lucene"))


def returns_nothing(queries, context):
    yield from Hybrid().retrieve(queries, context)


def returns_too_few(queries, context):
    return (yield from Hybrid().retrieve(queries[:1], context))


def returns_one_flat_list(queries, context):
    rows = yield from Hybrid().retrieve(queries, context)
    return [each for row in rows for each in row][: len(queries)]


@pytest.mark.parametrize(
    ("retrieve", "message"),
    [
        (no_generator, r"Mine\.retrieve must be a generator of requests, got \[\]"),
        (
            yields_another_strategy,
            r"Mine\.retrieve must yield requests, and run another strategy by `yield from`, got <gen",
        ),
        (yields_a_list, r"Mine\.retrieve must yield requests, .* got \[LoadTexts"),
        (asks_for_an_engine_that_is_not_there, r"^engine must be one of 'postings', 'rank-bm25', got 'lucene'"),
        (returns_nothing, r"Mine\.retrieve must return a list of Candidates for each of the 2 queries, got None"),
        (returns_too_few, r"Mine\.retrieve must return a list of Candidates for each of the 2 queries, got \[\["),
        (returns_one_flat_list, r"Mine\.retrieve must return a list of Candidates for each of the 2 queries, got \[Cand"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_breaks_the_protocol_is_named(shared_index: Index, retrieve, message):
    with pytest.raises(InvalidArgument, match=message):
        shared_index.retrieve_many([QUESTION, "Where is the pier?"], strategy(retrieve))


def test_no_requests_at_once_have_no_answers(shared_index: Index):
    def retrieve(queries, context):
        assert (yield ()) == []
        return [[] for _ in queries]

    assert shared_index.retrieve(QUESTION, strategy(retrieve)) == []


@pytest.mark.parametrize("kind", [AutoMerging, ParentDocument, RelevantSegments, SentenceWindow])
def test_spans_of_a_base_that_calls_them_leaves_are_refused_and_not_lost(shared_index: Index, kind):
    def retrieve(queries, context):
        return (yield from SentenceWindow(before=1).retrieve(queries, context))

    with pytest.raises(
        InvalidArgument, match=r"the base Mine must find single leaves, got the span .* override finds_spans"
    ):
        shared_index.retrieve(QUESTION, kind(base=strategy(retrieve)))


def test_a_span_is_refused_even_if_nothing_tells_what_found_it(shared_index: Index):
    def retrieve(queries, context):
        rows = yield from SentenceWindow(before=1).retrieve(queries, context)
        return [[replace(found, trace=Trace()) for found in row] for row in rows]

    with pytest.raises(InvalidArgument, match="the base Mine must find single leaves, got the span"):
        shared_index.retrieve(QUESTION, AutoMerging(base=strategy(retrieve)))


async def test_a_function_without_a_coroutine_function_is_called_in_an_event_loop_too(shared_index: Index):
    seen = []

    def retrieve(queries, context):
        seen.append((yield CallFunction(str.upper, (queries[0].text,))))
        return [[] for _ in queries]

    assert await shared_index.aretrieve(QUESTION, strategy(retrieve)) == []
    assert seen == [QUESTION.upper()]


def test_a_class_in_place_of_a_strategy_is_recognised():
    with pytest.raises(
        InvalidArgument, match=r"base must be a strategy .* got <class .*; did you forget the parentheses\?"
    ):
        SentenceWindow(base=Hybrid)


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"candidates": 2.5}, {"k": 0}])
def test_a_context_has_whole_numbers(wrong):
    with pytest.raises(InvalidArgument, match="must be a whole number >= 1"):
        replace(RetrievalContext(24), **wrong)
