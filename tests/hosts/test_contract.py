"""Tests for both LangChain and LlamaIndex. Tests for only one of them are in the file with its name."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Browse,
    Budget,
    Document,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    ParentDocument,
    Query,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.errors import NotALeaf, SourceFailed
from leafspan.lab import explain
from leafspan.strategies import Candidate, Filtered, RetrievalContext, StrategyFlow
from tests.corpus import DOCUMENTS, QUESTIONS, TEXTS
from tests.hosts.contract import HOSTS, RETRIEVERS, Host, Result, needed
from tests.profiles import paired

pytestmark = pytest.mark.parametrize("host", HOSTS, ids=repr)
every_retriever = pytest.mark.parametrize("name", RETRIEVERS)

BASED = ["ParentDocumentRetriever", "SentenceWindowRetriever", "AutoMergingRetriever", "MultiQueryRetriever"]
WORDS_AND_VECTORS = [BM25(), Vector()]
PHRASINGS = ["the dance of the bees", "what workers tell each other"]
WITHIN = F("topic") != "food"
ALL = 50  # more than there are


def documents(found: Sequence[Result]) -> set[str | None]:
    return {result.document for result in found}


def ids(found: Sequence[Result]) -> list[str]:
    return [result.id for result in found]


# Results


PLACE = ("doc_id", "start", "end", "start_line", "end_line")


async def test_results_carry_the_users_metadata_and_their_place(host: Host, shared_index: Index):
    [found] = await host.both(host.make("VectorRetriever", shared_index, k=1), QUESTIONS[1])
    assert set(found.metadata) == {"topic", "year", "tags", *PLACE, "title", "headings"}
    assert TEXTS["harbour"][found.metadata["start"] : found.metadata["end"]] == found.text
    assert (found.metadata["title"], found.metadata["headings"]) == ("The harbour of Skarvik", "The harbour")
    first, last = found.metadata["start_line"], found.metadata["end_line"]
    assert "\n".join(TEXTS["harbour"].splitlines()[first - 1 : last]).find(found.text.strip()) >= 0


async def test_the_users_own_metadata_wins_over_the_titles_headings_and_lines_of_a_result(host: Host, tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "# Bees\n\nThey dance.", "Bees", {"title": "Mine", "headings": 3, "end_line": "last"}))
        [found] = await host.both(host.make("VectorRetriever", index, k=1), "dance")
        own = {"title": "Mine", "headings": 3, "end_line": "last"}
        assert found.metadata == {**own, "doc_id": "a", "start": 0, "end": 19}
        [leaf] = map(host.seen, host.leaves(index))
        assert leaf == replace(found, score=None)


async def test_a_result_without_title_and_headings_has_no_such_keys(host: Host, tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "They dance."))
        [found] = await host.both(host.make("VectorRetriever", index, k=1), "dance")
        assert found.metadata == {"doc_id": "a", "start": 0, "end": 11, "start_line": 1, "end_line": 1}


@pytest.mark.parametrize("retriever", ["VectorRetriever", "BM25Retriever", "HybridRetriever"])
async def test_a_result_of_one_leaf_has_the_id_of_the_leaf(host: Host, shared_index: Index, retriever: str):
    leaves = {leaf.id: leaf.text for leaf in shared_index.leaves()}
    assert {host.seen(each).id for each in host.leaves(shared_index)} == set(leaves)
    found = await host.both(host.make(retriever, shared_index, k=3), QUESTIONS[1])
    assert [leaves[each.id] for each in found] == [each.text for each in found]


async def test_what_stands_around_a_result_of_the_host(host: Host, shared_index: Index):
    whole = shared_index.leaves("harbour")
    for retriever in ("VectorRetriever", "SentenceWindowRetriever", "ParentDocumentRetriever"):
        for found in host.raw(host.make(retriever, shared_index, k=1, where={"doc_id": "harbour"}), QUESTIONS[1]):
            around = shared_index.surroundings(found, before=99, after=99)
            assert (around.text, around.start, around.lines) == (TEXTS["harbour"], 0, (1, 17))
            assert await shared_index.asurroundings(found, before=99, after=99) == around
    assert around.id == f"{whole[0].id}-{len(whole) - 1}"


async def test_results_explain_themselves_when_asked_and_are_otherwise_the_same(host: Host, shared_index: Index):
    explained = await host.both(host.make("SentenceWindowRetriever", shared_index, explain=True), QUESTIONS[1])
    assert "widened to the neighbours: 0 before and 1 after" in explained[0].trace
    plain = await host.both(host.make("SentenceWindowRetriever", shared_index), QUESTIONS[1])
    assert plain == [replace(result, trace=None) for result in explained]


async def test_the_trace_says_how_a_misspelt_word_was_read(host: Host, shared_index: Index):
    for retriever in ("BM25Retriever", "HybridRetriever", "RelevantSegmentsRetriever"):
        [found] = await host.both(host.make(retriever, shared_index, k=1, explain=True), "Who decoded the dannce?")
        assert '"dannce" was read as "dance"' in found.trace


async def test_a_retriever_says_why_with_its_own_strategy_and_limits(host: Host, shared_index: Index):
    limits = {"k": 2, "where": F("topic") != "food", "min_score": 0.1}
    retriever = host.make("AutoMergingRetriever", shared_index, threshold=0.3, **limits)
    tea = {"document_id": "tea", "text": "Green tea"}
    explained = retriever.explanation(QUESTIONS[1], **tea)
    assert explained.lines == explain(shared_index, QUESTIONS[1], AutoMerging(threshold=0.3), **limits, **tea).lines
    assert {each.option for each in explained.obstacles} >= {"where", "min_score"}
    assert (await retriever.aexplanation(QUESTIONS[1], **tea)).lines == explained.lines
    [first, *_] = retriever.explanation(QUESTIONS[1]).passages
    assert first.id == (await host.both(retriever, QUESTIONS[1]))[0].id


def test_an_explanation_takes_what_names_a_piece_and_nothing_else(host: Host, shared_index: Index):
    retriever = host.make("HybridRetriever", shared_index)
    with pytest.raises(InvalidArgument, match="explanation has no option 'document'; did you mean 'document_id'"):
        retriever.explanation(QUESTIONS[1], document="tea")
    shops = [host.retriever("shop", lambda _question: []), host.retriever("mail", lambda _question: [])]
    elsewhere = host.make("EnsembleRetriever", None, retrievers=shops)
    with pytest.raises(InvalidArgument, match="a retriever must have an index to be explained, got one that searches"):
        elsewhere.explanation(QUESTIONS[1])


async def test_a_summary_says_what_it_covers_and_a_leaf_what_it_always_did(host: Host, forest: Index):
    found = await host.both(host.make("TreeRetriever", forest, mode="traversal", top_k=9), QUESTIONS[1])
    top, *others = found
    assert set(top.metadata) == {"layer", "covers"}
    whole = [[document.id, 0, len(document.text)] for document in sorted(DOCUMENTS, key=lambda each: each.id)]
    highest = max(result.metadata.get("layer", 0) for result in found)
    assert (top.metadata["layer"], top.metadata["covers"]) == (highest, whole)
    harbour = next(each for each in others if each.document == "harbour" and "layer" in each.metadata)
    own = {"topic", "year", "tags"}
    assert own | {"doc_id", "start", "end", "layer", "covers", "title"} <= set(harbour.metadata)
    assert "start_line" not in harbour.metadata
    assert harbour.metadata["covers"][0][:2] == ["harbour", harbour.metadata["start"]]
    assert harbour.metadata["covers"][-1][2] == harbour.metadata["end"]
    leaf = next(each for each in others if each.document == "harbour" and "layer" not in each.metadata)
    assert set(leaf.metadata) - {"headings"} == {*own, *PLACE, "title"}


# Options


BAD_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    # of every retriever
    ("HybridRetriever", {"index": "kb"}, "index must be an Index or a view of one, got 'kb'"),
    ("HybridRetriever", {"k": 0}, "k must be a whole number >= 1, got 0"),
    ("HybridRetriever", {"k": True}, "k must be a whole number >= 1, got True"),
    ("AutoMergingRetriever", {"k": -1}, "k must be a whole number >= 1, got -1"),
    ("VectorRetriever", {"k": "3"}, "k must be a whole number >= 1, got '3'"),
    ("BM25Retriever", {"candidates": 0}, "candidates must be a whole number >= 1, got 0"),
    ("BM25Retriever", {"candidates": 10_001}, "candidates must be <= 10000, got 10001"),
    ("BrowseRetriever", {"budget": 0}, "budget must be a whole number >= 1, got 0"),
    ("BrowseRetriever", {"budget": "many"}, "budget must be a whole number >= 1, got 'many'"),
    ("SpanRetriever", {"explain": "yes"}, "explain must be True or False, got 'yes'"),
    # of one strategy
    ("VectorRetriever", {"min_score": 1.5}, "min_score must be a number in [-1, 1], got 1.5"),
    ("VectorRetriever", {"instruction": 5}, "instruction must be a string, got 5"),
    (
        "BM25Retriever",
        {"engine": "rank_bm25"},
        "engine must be one of 'postings', 'rank-bm25', got 'rank_bm25'; did you mean 'rank-bm25'?",
    ),
    ("HybridRetriever", {"bm25": 5}, "bm25 must be BM25Settings, got 5"),
    ("HybridRetriever", {"weights": (1, -1)}, "weights must be a number > 0, got -1"),
    (
        "HybridRetriever",
        {"weights": (1, 0)},
        "weights must be two numbers > 0, of words and of vectors, got (1, 0): one of them alone is BM25() or Vector()",
    ),
    ("HybridRetriever", {"weights": 1}, "weights must be two numbers > 0, of words and of vectors, got 1"),
    (
        "EnsembleRetriever",
        {"retrievers": [Vector(), BM25()], "fusion": "relative score"},
        "fusion must be one of 'rrf', 'relative_score', 'distribution_based', 'maximum', got 'relative score'; "
        "did you mean 'relative_score'?",
    ),
    (
        "HybridRetriever",
        {"min_answer_probability": 1.5},
        "min_answer_probability must be a number in [0, 1], got 1.5",
    ),
    ("ParentDocumentRetriever", {"level": 0}, "level must be a whole number >= 1, got 0"),
    ("SentenceWindowRetriever", {"before": -1}, "before must be a whole number >= 0, got -1"),
    ("AutoMergingRetriever", {"threshold": 2}, "threshold must be a number in [0, 1], got 2"),
    ("AutoMergingRetriever", {"score": "median"}, "score must be one of 'mean', 'max', got 'median'; did you mean 'mean'?"),
    ("RelevantSegmentsRetriever", {"run_cost": -1}, "run_cost must be a number >= 0, got -1"),
    ("BrowseRetriever", {"offset": -1}, "offset must be a whole number >= 0, got -1"),
    ("SpanRetriever", {"strategy": 3}, "strategy must be a strategy such as Vector(), got 3"),
    (
        "SpanRetriever",
        {"strategy": {"type": "hybrid", "references": 2}},
        "references: references must be a number in [0, 1], got 2",
    ),
    (
        "SpanRetriever",
        {"strategy": Hybrid},
        "strategy must be a strategy such as Vector(), got <class 'leafspan.strategies._hybrid.Hybrid'>; "
        "did you forget the parentheses?",
    ),
    # of phrasings
    ("MultiQueryRetriever", {"count": 0}, "count must be a whole number >= 1, got 0"),
    (
        "MultiQueryRetriever",
        {"phrasings": [" "]},
        "a query must be a text that is not blank, or a vector of numbers, got ' '",
    ),
    (
        "MultiQueryRetriever",
        {"prompt": "Say it again."},
        "prompt must be a text with {question} and {count}, and no other fields (braces of its own doubled), "
        "got 'Say it again.'",
    ),
    (
        "MultiQueryRetriever",
        {"fusion": "relative_score"},
        "fusion must be one of 'rrf', 'maximum', got 'relative_score'",
    ),
    # of bases
    ("AutoMergingRetriever", {"base": 5}, "base must be a strategy or a HOST retriever, got 5"),
    (
        "SentenceWindowRetriever",
        {"base": Vector(summaries=True)},
        "base must be a strategy that finds single leaves, such as Hybrid(), got Vector(summaries=True)",
    ),
    # of ensembles
    (
        "EnsembleRetriever",
        {"retrievers": [Browse()]},
        "retrievers must be two or more strategies, got [Browse()]",
    ),
    ("EnsembleRetriever", {"retrievers": 5}, "retrievers must be two or more strategies, got 5"),
    ("EnsembleRetriever", {"retrievers": None}, "retrievers must be two or more strategies, got None"),
    ("EnsembleRetriever", {"retrievers": "ab"}, "retrievers must be two or more strategies, got 'ab'"),
    (
        "EnsembleRetriever",
        {"retrievers": [BM25(), 5]},
        "retriever 2 must be a strategy or a HOST retriever, got 5",
    ),
    (
        "EnsembleRetriever",
        {"weights": [1]},
        "weights must be a list of numbers, one for each of the 2 retrievers, got [1]",
    ),
    ("EnsembleRetriever", {"timeout": -1}, "timeout must be a number of seconds > 0, got -1"),
    ("EnsembleRetriever", {"names": ["a", "a"]}, "names must differ from each other, got ('a', 'a')"),
    (
        "EnsembleRetriever",
        {"on_failure": "ignore"},
        "on_failure must be one of 'raise', 'skip', got 'ignore'",
    ),
    # of routers
    (
        "RouterRetriever",
        {"retrievers": [BM25()]},
        "retrievers must be a mapping from names to strategies, got [BM25()]",
    ),
    (
        "RouterRetriever",
        {"retrievers": {"a": 5}},
        "retriever 'a' must be a strategy or a HOST retriever, got 5",
    ),
    ("RouterRetriever", {"retrievers": {1: BM25()}}, "a name in retrievers must be a text that is not blank, got 1"),
    ("RouterRetriever", {"most": 0}, "most must be a whole number >= 1, got 0"),
    ("RouterRetriever", {"choose": 5}, "choose must be a function from a question to names, got 5"),
    (
        "RouterRetriever",
        {"default": "word"},
        "default must be one of 'words', 'meaning', got 'word'; did you mean 'words'?",
    ),
    ("RouterRetriever", {"generate": len}, "RouterRetriever has no option 'generate'; here it is 'llm'"),
    # of references
    ("FollowReferencesRetriever", {"base": 5}, "base must be a strategy or a HOST retriever, got 5"),
    ("FollowReferencesRetriever", {"targets": {"a": 1}}, "target 'a' must be a strategy or a HOST retriever, got 1"),
    ("FollowReferencesRetriever", {"targets": 5}, "targets must be a mapping from names to strategies, got 5"),
    ("FollowReferencesRetriever", {"depth": 0}, "depth must be a whole number >= 1, got 0"),
    # of trees
    ("TreeRetriever", {"base": 5}, "base must be a strategy or a HOST retriever, got 5"),
    (
        "TreeRetriever",
        {"base": Browse()},
        "base must be a strategy that can search summaries, such as Hybrid(), got Browse()",
    ),
    ("TreeRetriever", {"mode": "up"}, "mode must be one of 'collapsed', 'traversal', got 'up'"),
    (
        "TreeRetriever",
        {"start_layer": 1},
        "start_layer and end_layer are for mode='traversal': a collapsed tree has no layers",
    ),
    ("TreeRetriever", {"expand": 0}, "expand must be a whole number >= 1, got 0"),
    (
        "TreeRetriever",
        {"mode": "traversal", "base": Filtered(Vector(), F("topic") == "food")},
        "base is not used for mode='traversal', and so its filter would not hold: give it to the call",
    ),
    # that there are not
    (
        "AutoMergingRetriever",
        {"treshold": 0.9},
        "AutoMergingRetriever has no option 'treshold'; did you mean 'threshold'?",
    ),
    (
        "HybridRetriever",
        {"referenes": 0.2},
        "HybridRetriever has no option 'referenes'; did you mean 'references'?",
    ),
    (
        "EnsembleRetriever",
        {"min_candidate": 5},
        "EnsembleRetriever has no option 'min_candidate'; did you mean 'min_candidates'?",
    ),
    ("VectorRetriever", {"filters": {"topic": "food"}}, "VectorRetriever has no option 'filters'; here it is 'where'"),
    ("VectorRetriever", {"filter": {"topic": "food"}}, "VectorRetriever has no option 'filter'; here it is 'where'"),
    ("MultiQueryRetriever", {"queries": ["a"]}, "MultiQueryRetriever has no option 'queries'; here it is 'phrasings'"),
    ("LightRAGRetriever", {"rag": 1}, "LightRAGRetriever has no option 'rag'; here it is 'instance'"),
    ("PropertyGraphRetriever", {"store": 1}, "PropertyGraphRetriever has no option 'store'; here it is 'graph'"),
    ("MultiQueryRetriever", {"generate": len}, "MultiQueryRetriever has no option 'generate'; here it is 'llm'"),
    ("SpanRetriever", {"threshold": 0.9}, "SpanRetriever has no option 'threshold'"),
    ("VectorRetriever", {"vectorstore": 1}, "VectorRetriever has no option 'vectorstore'; here it is 'index'"),
    ("VectorRetriever", {"score_threshold": 1}, "VectorRetriever has no option 'score_threshold'; here it is 'min_score'"),
    ("VectorRetriever", {"fetch_k": 1}, "VectorRetriever has no option 'fetch_k'; here it is 'candidates'"),
    (
        "VectorRetriever",
        {"vector_store_query_mode": "hybrid"},
        "VectorRetriever has no option 'vector_store_query_mode'; each kind of search has a retriever of its own, such as "
        "HybridRetriever or BM25Retriever",
    ),
    ("SpanRetriever", {"search_type": "bm25"}, "SpanRetriever has no option 'search_type'; here it is 'strategy'"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS, ids=[f"{n}, {o}" for n, o, _ in BAD_OPTIONS])
def test_bad_options_are_refused_with_the_same_message(host: Host, shared_index: Index, name, options, message):
    error = host.refusal(lambda: host.make(name, **{"index": shared_index, **needed(name), **options}))
    of_host = {"LangChain": "k must", "LlamaIndex": "similarity_top_k must"}[host.name]
    assert re.sub("^k must", of_host, message.replace("HOST", host.name)) == str(error)


def test_what_langchain_has_within_one_option_is_given_itself(host: Host, shared_index: Index):
    error = host.refusal(lambda: host.make("HybridRetriever", shared_index, search_kwargs={"k": 2}))
    limit = {"LangChain": "k", "LlamaIndex": "similarity_top_k"}[host.name]
    expected = f"give its content, such as HybridRetriever(index=index, {limit}=2)"
    assert str(error) == f"HybridRetriever has no option 'search_kwargs'; {expected}"


def test_a_strategy_can_be_named_or_described(host: Host, shared_index: Index):
    expected = host.ask(host.make("HybridRetriever", shared_index, weights=(0.5, 0.5)), QUESTIONS[0])
    for strategy in (Hybrid(weights=(0.5, 0.5)), {"type": "hybrid", "weights": [0.5, 0.5]}):
        assert host.ask(host.make("SpanRetriever", shared_index, strategy=strategy), QUESTIONS[0]) == expected
    by_name = host.ask(host.make("SpanRetriever", shared_index, strategy="hybrid"), QUESTIONS[0])
    assert by_name == host.ask(host.make("HybridRetriever", shared_index), QUESTIONS[0])
    error = host.refusal(lambda: host.make("SpanRetriever", shared_index, strategy="hybird"))
    assert str(error).startswith("strategy must be one of 'auto-merging', 'bm25', ")
    assert str(error).endswith(", got 'hybird'; did you mean 'hybrid'?")


def test_a_base_that_cannot_be_used_is_refused(host: Host, shared_index: Index):
    stub = host.retriever("Stub", lambda question: [])
    error = host.refusal(lambda: host.make("TreeRetriever", shared_index, base=stub))
    rule = "base must be a strategy that can search summaries, such as Hybrid(), got "
    assert str(error).startswith(rule + "HostRetriever(name='Stub', ask=")
    error = host.refusal(lambda: host.make("TreeRetriever", shared_index, base=AutoMerging()))
    assert str(error).startswith(rule + "AutoMerging()")


@pytest.mark.parametrize("llm", ["gpt", 5, len])
def test_a_model_that_is_none_of_the_hosts_is_refused(host: Host, shared_index: Index, llm):
    error = host.refusal(lambda: host.make("MultiQueryRetriever", shared_index, llm=llm))
    kind = {"LangChain": "Runnable from a prompt to a message or a text", "LlamaIndex": "LlamaIndex LLM"}[host.name]
    assert str(error) == f"llm must be a {kind}, got {llm!r}"


OTHER_NAMES = [
    ("reciprocal_rerank", "rrf"),
    ("reciprocal_rank_fusion", "rrf"),
    ("simple", "maximum"),
    ("concatenate", "maximum"),
    (FUSION_MODES.RECIPROCAL_RANK, "rrf"),
    (FUSION_MODES.SIMPLE, "maximum"),
]


@pytest.mark.parametrize("name", ["EnsembleRetriever", "MultiQueryRetriever"])
def test_a_fusion_may_have_the_name_of_another_framework(host: Host, shared_index: Index, name):
    for given, meant in OTHER_NAMES:
        retriever = host.make(name, shared_index, fusion=given, **needed(name))
        assert retriever.fusion == meant
        assert retriever._strategy() == host.make(name, shared_index, fusion=meant, **needed(name))._strategy()


def test_options_are_kept_as_the_strategy_has_them(host: Host, shared_index: Index):
    assert host.make("HybridRetriever", shared_index, weights=[3, 1]).weights == (3, 1)
    multi = host.make("MultiQueryRetriever", shared_index, phrasings="one more")
    assert multi.phrasings == (Query("one more"),)
    assert not hasattr(multi, "generate")


async def test_a_budget_may_count_something_else_than_words(host: Host, shared_index: Index):
    retriever = host.make("VectorRetriever", shared_index, budget=Budget(120, count=len))
    found = await host.both(retriever, QUESTIONS[0])
    assert len(found) > 1
    assert sum(len(result.text) for result in found) <= 120


@pytest.mark.parametrize(
    "where",
    [
        F("topic") == "food",
        {"topic": "food"},
        {"field": "meta.topic", "operator": "==", "value": "food"},
        MetadataFilters(filters=[MetadataFilter(key="topic", value="food")]),
    ],
    ids=["the builder", "Chroma", "Haystack", "LlamaIndex"],
)
async def test_a_filter_may_be_in_any_dialect(host: Host, shared_index: Index, where):
    found = await host.both(host.make("HybridRetriever", shared_index, where=where), QUESTIONS[0])
    assert documents(found) == {"tea"}


def test_what_is_no_filter_is_refused_when_the_retriever_is_made(host: Host, shared_index: Index):
    error = host.refusal(lambda: host.make("HybridRetriever", shared_index, where=5))
    assert str(error).startswith("where must be a filter made with F")
    error = host.refusal(lambda: host.make("HybridRetriever", shared_index, where="food"))
    assert str(error).startswith("where, given as a text, must be like (F(")


@every_retriever
async def test_a_retriever_of_a_view_shows_nothing_else(host: Host, shared_index: Index, name):
    view = shared_index.scoped(F("topic") == "places")
    for where in (None, F("topic").exists()):
        retriever = host.make(name, view, k=ALL, where=where, **needed(name))
        assert documents(await host.both(retriever, QUESTIONS[1])) == {"harbour"}
    other = host.make(name, view, where=F("topic") == "animals", **needed(name))
    assert await host.both(other, QUESTIONS[1]) == []


async def test_filtering_needs_no_question_and_goes_page_by_page(host: Host, shared_index: Index):
    pages = [await host.both(host.make("BrowseRetriever", shared_index, k=4, offset=offset), "") for offset in (0, 4, 8)]
    leaves = [leaf for document in ("bees", "harbour", "tea") for leaf in shared_index.leaves(document)]
    assert [result.text for page in pages for result in page] == [leaf.text for leaf in leaves[:12]]


# What a retriever is


def pickled(retriever):
    return pickle.loads(pickle.dumps(retriever))


def copy_of_model(retriever):
    return retriever.model_copy(deep=True) if hasattr(retriever, "model_copy") else copy.deepcopy(retriever)


@pytest.mark.parametrize(("name", "duplicate"), paired(RETRIEVERS, [pickled, copy.deepcopy, copy_of_model]))
def test_a_copy_opens_the_index_again_and_finds_the_same(host: Host, shared_index: Index, name, duplicate):
    retriever = host.make(name, shared_index, k=2, **needed(name))
    again = duplicate(retriever)
    assert again.index is not retriever.index
    assert host.ask(again, QUESTIONS[0]) == host.ask(retriever, QUESTIONS[0]) != []


@every_retriever
def test_a_shallow_copy_finds_the_same(host: Host, shared_index: Index, name):
    retriever = host.make(name, shared_index, k=2, **needed(name))
    assert host.ask(copy.copy(retriever), QUESTIONS[0]) == host.ask(retriever, QUESTIONS[0]) != []


@every_retriever
def test_a_retriever_is_shown_by_the_name_of_its_class(host: Host, shared_index: Index, name):
    assert name in repr(host.make(name, shared_index, **needed(name)))


STRATEGIES: list[tuple[str, dict[str, Any], Strategy]] = [
    ("VectorRetriever", {"min_score": 0.2}, Vector(min_score=0.2)),
    ("BM25Retriever", {"scale": True, "bm25": BM25Settings(k1=1.5)}, BM25(scale=True, bm25=BM25Settings(k1=1.5))),
    ("HybridRetriever", {"weights": (1, 1), "references": 0}, Hybrid(weights=(1, 1), references=0)),
    ("ParentDocumentRetriever", {"level": 2}, ParentDocument(level=2)),
    ("SentenceWindowRetriever", {"base": BM25(), "before": 2}, SentenceWindow(base=BM25(), before=2)),
    ("AutoMergingRetriever", {"base": Vector(), "threshold": 0.3}, AutoMerging(base=Vector(), threshold=0.3)),
    ("RelevantSegmentsRetriever", {"words": 40, "run_cost": 5}, RelevantSegments(words=40, run_cost=5)),
    (
        "EnsembleRetriever",
        {"retrievers": WORDS_AND_VECTORS, "weights": [2, 1], "names": ["words", "meaning"]},
        Ensemble(retrievers=WORDS_AND_VECTORS, weights=[2, 1], names=["words", "meaning"]),
    ),
    (
        "MultiQueryRetriever",
        {"phrasings": PHRASINGS, "fusion": "maximum"},
        MultiQuery(phrasings=PHRASINGS, fusion="maximum"),
    ),
    ("BrowseRetriever", {"offset": 3}, Browse(offset=3)),
    ("TreeRetriever", {"mode": "traversal", "top_k": 3}, Tree(mode="traversal", top_k=3)),
    ("SpanRetriever", {}, RelevantSegments()),
]


@pytest.mark.parametrize(("name", "options", "strategy"), STRATEGIES, ids=[name for name, _, _ in STRATEGIES])
async def test_the_retriever_of_a_strategy_gives_what_the_strategy_gives(
    host: Host, forest: Index, name, options, strategy
):
    named = host.make(name, forest, k=4, explain=True, **options)
    assert named._strategy() == strategy
    found = await host.both(named, QUESTIONS[0])
    any_ = host.make("SpanRetriever", forest, strategy=strategy, k=4, explain=True)
    assert await host.both(any_, QUESTIONS[0]) == found
    passages = forest.retrieve(QUESTIONS[0], strategy, k=4)
    assert [(p.id, p.text, p.score, p.trace.explain()) for p in passages] == [
        (result.id, result.text, result.score, result.trace) for result in found
    ]


def test_strategies_compose(host: Host, shared_index: Index):
    strict = host.make("SentenceWindowRetriever", shared_index, base=Vector(min_score=0.45), k=20)
    lenient = host.make("SentenceWindowRetriever", shared_index, k=20)
    assert strict._strategy() == SentenceWindow(base=Vector(min_score=0.45))
    assert 0 < len(host.ask(strict, QUESTIONS[0])) <= len(host.ask(lenient, QUESTIONS[0]))
    assert host.make("AutoMergingRetriever", shared_index)._strategy() == AutoMerging()


@dataclass(frozen=True)
class Upside(Strategy):
    """A strategy of a user's own: what ``base`` finds, with the worst first."""

    base: Strategy = field(default_factory=Vector)

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        results = yield from self.base.retrieve(queries, context.for_base)
        return [sorted((replace(each, score=-each.score) for each in row), key=lambda each: each.order) for row in results]


async def test_a_strategy_of_the_users_own_can_be_retrieved_by(host: Host, shared_index: Index):
    found = await host.both(host.make("SpanRetriever", shared_index, strategy=Upside(), k=3, candidates=8), QUESTIONS[0])
    assert ids(found) == [passage.id for passage in shared_index.retrieve(QUESTIONS[0], Upside(), k=3, candidates=8)]
    best_first = host.ask(host.make("VectorRetriever", shared_index, k=8), QUESTIONS[0])
    assert ids(found) == ids(best_first[:-4:-1])
    assert [result.score for result in found] == [-result.score for result in best_first[:-4:-1]]


async def test_a_strategy_of_the_users_own_can_be_a_base_and_one_of_several(host: Host, shared_index: Index):
    widened = host.make("SentenceWindowRetriever", shared_index, base=Upside(), candidates=8)
    assert ids(await host.both(widened, QUESTIONS[0])) == [
        passage.id for passage in shared_index.retrieve(QUESTIONS[0], SentenceWindow(base=Upside()), candidates=8)
    ]
    several = host.make("EnsembleRetriever", shared_index, retrievers=[Upside(), BM25()])
    assert several._strategy() == Ensemble(retrievers=[Upside(), BM25()])
    assert await host.both(several, QUESTIONS[0])


# Subclasses


async def test_a_subclass_may_have_an_init_of_its_own(host: Host, shared_index: Index):
    class Short(host.package.VectorRetriever):
        def __init__(self, index, **options):
            super().__init__(index=index, **{host.words.get("k", "k"): 2}, **options)

    expected = await host.both(host.make("VectorRetriever", shared_index, k=2, min_score=0.1), QUESTIONS[0])
    assert await host.both(Short(shared_index, min_score=0.1), QUESTIONS[0]) == expected
    assert len(expected) == 2
    window = host.make("SentenceWindowRetriever", shared_index, base=Short(shared_index))
    assert window._strategy() == SentenceWindow(base=Vector())


async def test_a_subclass_may_have_options_of_its_own(host: Host, shared_index: Index):
    kind = host.labelled("HybridRetriever")
    retriever = host.make(kind, shared_index, label="mine", weights=[3, 1], k=2)
    assert (retriever.label, retriever.weights) == ("mine", (3, 1))
    assert host.make(kind, shared_index).label == "none"
    expected = host.make("HybridRetriever", shared_index, weights=(3, 1), k=2)
    assert await host.both(retriever, QUESTIONS[0]) == await host.both(expected, QUESTIONS[0])
    error = host.refusal(lambda: host.make(kind, shared_index, weights=1))
    assert str(error) == "weights must be two numbers > 0, of words and of vectors, got 1"


async def test_a_subclass_with_results_of_its_own_is_asked(host: Host, shared_index: Index):
    backwards = host.make(host.backwards("VectorRetriever"), shared_index, k=3)
    found = await host.both(backwards, QUESTIONS[0])
    assert found == host.ask(host.make("VectorRetriever", shared_index, k=3), QUESTIONS[0])[::-1]
    window = host.make("SentenceWindowRetriever", shared_index, base=backwards, before=0, after=0)
    assert isinstance(window._strategy().base, HostRetriever)
    same = [QUESTIONS[0]]  # so that leaves and their order are kept as they are
    asked = host.make("MultiQueryRetriever", shared_index, base=backwards, phrasings=same)
    assert ids(await host.both(asked, QUESTIONS[0])) == ids(found)


# Bases of ours


async def test_our_own_retriever_can_be_the_base_with_its_scores(host: Host, shared_index: Index):
    for strategy, name in ((Vector(), "VectorRetriever"), (Hybrid(), "HybridRetriever")):
        inside = host.make("AutoMergingRetriever", shared_index, base=strategy, candidates=8)
        ours = host.make(name, shared_index, k=8)
        outside = host.make("AutoMergingRetriever", shared_index, base=ours, candidates=8)
        assert await host.both(outside, QUESTIONS[0]) == await host.both(inside, QUESTIONS[0])


def test_our_own_retriever_over_the_same_index_is_its_strategy(host: Host, shared_index: Index):
    words = host.make("BM25Retriever", shared_index, k=1)
    vectors = host.make("VectorRetriever", shared_index, where=WITHIN)
    ensemble = host.make("EnsembleRetriever", shared_index, retrievers=[words, vectors])
    assert ensemble._strategy() == Ensemble(retrievers=[BM25(), Filtered(Vector(), WITHIN)])
    hybrid = host.make("HybridRetriever", shared_index, k=1, candidates=1, budget=9)
    assert host.make("SentenceWindowRetriever", shared_index, base=hybrid)._strategy() == SentenceWindow()
    parents = host.make("ParentDocumentRetriever", shared_index)
    multi = host.make("MultiQueryRetriever", shared_index, base=parents, phrasings=["bees"])
    assert multi._strategy() == MultiQuery(base=ParentDocument(), phrasings=["bees"])
    own = host.make("SpanRetriever", shared_index, strategy=Upside())
    assert host.make("SentenceWindowRetriever", shared_index, base=own)._strategy() == SentenceWindow(base=Upside())


async def test_the_filter_and_the_limits_reach_our_own_retrievers(host: Host, shared_index: Index):
    ours = [host.make(name, shared_index, k=1) for name in ("BM25Retriever", "VectorRetriever")]
    limits = {"where": {"doc_id": "tea"}, "k": 4, "candidates": 9}
    found = await host.both(host.make("EnsembleRetriever", shared_index, retrievers=ours, **limits), QUESTIONS[0])
    inside = host.make("EnsembleRetriever", shared_index, retrievers=WORDS_AND_VECTORS, **limits)
    assert found == await host.both(inside, QUESTIONS[0])
    assert [result.document for result in found] == ["tea"] * 4


async def test_the_filter_of_our_own_retriever_holds_beside_the_others(host: Host, shared_index: Index):
    base = host.make("VectorRetriever", shared_index, where={"topic": {"$ne": "food"}})
    all_of_them = host.make("SentenceWindowRetriever", shared_index, base=base, k=ALL)
    assert documents(await host.both(all_of_them, QUESTIONS[2])) == {"bees", "harbour"}
    none = host.make("SentenceWindowRetriever", shared_index, base=base, where=F("doc_id") == "tea")
    assert await host.both(none, QUESTIONS[2]) == []


@pytest.mark.parametrize("name", ["ParentDocumentRetriever", "SentenceWindowRetriever", "AutoMergingRetriever"])
async def test_our_own_retriever_that_finds_spans_can_be_one_of_several_and_is_refused_as_a_base(
    host: Host, shared_index: Index, name
):
    spans = host.make(name, shared_index, where=WITHIN)
    error = host.refusal(lambda: host.make("SentenceWindowRetriever", shared_index, base=spans))
    assert str(error).startswith("base must be a strategy that finds single leaves, such as Hybrid(), got Filtered(")
    several = [spans, host.make("BM25Retriever", shared_index)]
    found = await host.both(host.make("EnsembleRetriever", shared_index, retrievers=several), QUESTIONS[0])
    assert found[0].document == "bees"


def test_our_own_retriever_over_an_equal_view_is_its_strategy_and_over_another_is_asked(
    host: Host, shared_index: Index, tmp_path
):
    view = shared_index.scoped(WITHIN)
    equal = host.make("VectorRetriever", shared_index.scoped(F("topic") != "food"))
    assert host.make("AutoMergingRetriever", view, base=equal)._strategy() == AutoMerging(base=Vector())
    with Index.open(tmp_path / "other") as another:
        for other in (shared_index, shared_index.scoped(F("topic") != "animals"), another):
            theirs = host.make("AutoMergingRetriever", view, base=host.make("VectorRetriever", other))
            assert isinstance(theirs._strategy().base, HostRetriever)


async def test_our_own_retriever_can_be_what_ranks_a_tree(host: Host, forest: Index):
    base = host.make("VectorRetriever", forest, k=1, where={"topic": {"$ne": "food"}})
    retriever = host.make("TreeRetriever", forest, base=base, keep_covered_summaries=True, k=ALL)
    assert retriever._strategy() == Tree(base=Filtered(Vector(), WITHIN), keep_covered_summaries=True)
    found = await host.both(retriever, QUESTIONS[2])
    assert {place[0] for result in found for place in result.metadata.get("covers", [])} == {"bees", "harbour"}
    assert documents(found) == {"bees", "harbour"}
    hybrid = host.make("HybridRetriever", forest)
    assert host.make("TreeRetriever", forest, base=hybrid)._strategy() == Tree() == Tree(base=Hybrid())


# Bases of the host's own


@pytest.mark.parametrize("name", BASED)
async def test_a_vector_search_of_the_host_over_the_leaves_can_be_the_base(host: Host, shared_index: Index, name):
    more = needed(name)
    inside = host.make(name, shared_index, base=Vector(), candidates=8, k=20, **more)
    outside = host.make(name, shared_index, base=host.vector_search(shared_index, 8), candidates=8, k=20, **more)
    for question in QUESTIONS:
        # The same leaves, scored by rank: what they are merged or widened into is the same, in another order.
        assert {*ids(await host.both(outside, question))} == {*ids(await host.both(inside, question))}


async def test_scores_of_a_base_count_where_it_has_them_and_ranks_where_not(host: Host, shared_index: Index):
    leaves = shared_index.leaves()
    first, second = leaves[0], leaves[5]

    async def scores(*pairs):
        results = [host.result(leaf.id, leaf.text, score) for leaf, score in pairs]
        base = host.retriever("Stub", lambda question: results)
        window = host.make("SentenceWindowRetriever", shared_index, base=base, before=0, after=0)
        return [result.score for result in await host.both(window, QUESTIONS[0])]

    assert await scores((first, 0.9), (second, 0.4)) == [0.9, 0.4]
    assert await scores((first, None), (second, None)) == [1 / 1, 1 / 2]
    assert await scores((first, 0.4), (second, 0.9)) == [1 / 1, 1 / 2]


async def test_leaves_can_feed_a_retriever_of_the_hosts_own_which_counts_by_rank(host: Host, shared_index: Index):
    leaves = [leaf for leaf in host.leaves(shared_index) if leaf.metadata["doc_id"] in ("tea", "bees")]
    tea, bees = leaves[-1], leaves[0]
    base = host.retriever("Stub", lambda question: [tea, bees])
    window = host.make("SentenceWindowRetriever", shared_index, base=base, before=0, after=0)
    found = await host.both(window, QUESTIONS[0])
    assert [(result.document, result.score) for result in found] == [("tea", 1 / 1), ("bees", 1 / 2)]


async def test_a_base_that_returns_anything_else_is_refused_by_name(host: Host, shared_index: Index):
    async def refused(base):
        retriever = host.make("AutoMergingRetriever", shared_index, base=base)
        with pytest.raises(NotALeaf) as caught:
            host.ask(retriever, QUESTIONS[0])
        with pytest.raises(NotALeaf) as again:
            await host.aask(retriever, QUESTIONS[0])
        assert str(again.value) == str(caught.value)
        return str(caught.value)

    strange = host.retriever("Stub", lambda question: [host.result("17", "No leaf of this index.")])
    assert (await refused(strange)).startswith(
        "the results of Stub must be leaves of this index, but number 1 is not: id '17', text 'No leaf of this index.'"
    )
    gone = host.retriever("Stub", lambda question: [host.result("bees#00000000#0", "Was a leaf once.")])
    assert (await refused(gone)).startswith(
        "the results of Stub must be leaves of this index, but 'bees#00000000#0' is not in it"
    )
    elsewhere = host.make("ParentDocumentRetriever", shared_index.scoped(F("year").exists()))
    assert (await refused(elsewhere)).startswith(
        "the results of ParentDocumentRetriever must be leaves of this index, but number 1"
    )


async def test_of_what_a_base_finds_other_documents_are_left_out(host: Host, shared_index: Index):
    base = host.vector_search(shared_index, 12)
    retriever = host.make("AutoMergingRetriever", shared_index, base=base, where={"topic": "food"})
    assert documents(await host.both(retriever, QUESTIONS[0])) == {"tea"}


async def test_a_base_that_finds_nothing_gives_nothing(host: Host, shared_index: Index):
    base = host.retriever("Stub", lambda question: [])
    assert await host.both(host.make("AutoMergingRetriever", shared_index, base=base), QUESTIONS[0]) == []


async def test_a_base_is_asked_every_phrasing(host: Host, shared_index: Index):
    asked = []

    def remember(question):
        asked.append(question)
        return []

    base = host.retriever("Remembering", remember)
    retriever = host.make("MultiQueryRetriever", shared_index, base=base, phrasings=["a", "b"])
    assert host.ask(retriever, "c") == []
    assert asked == ["c", "a", "b"]
    asked.clear()
    assert await host.aask(retriever, "c") == []
    assert sorted(asked) == ["a", "b", "c"]


# Ensembles


async def test_the_retrievers_of_an_ensemble_run_together(host: Host, shared_index: Index):
    first, second = shared_index.leaves()[:2]
    threads, tasks = threading.Barrier(2), asyncio.Barrier(2)

    def meeting(leaf):
        """A retriever that comes back when another one is asked, too."""
        results = [host.result(leaf.id, leaf.text)]

        def ask(question):
            threads.wait(60)
            return results

        async def aask(question):
            async with asyncio.timeout(60):
                await tasks.wait()
            return results

        return host.retriever("Meeting", ask, aask)

    several = [meeting(first), meeting(second)]
    retriever = host.make("EnsembleRetriever", shared_index, retrievers=several, rank_constant=0, weights=[3, 1])
    expected = [(first.text, 0.75 / 1), (second.text, 0.25 / 1)]
    for found in (await host.aask(retriever, "x"), await asyncio.to_thread(host.ask, retriever, "x")):
        assert [(result.text, result.score) for result in found] == expected


async def test_the_trace_of_an_ensemble_names_its_retrievers(host: Host, shared_index: Index):
    theirs = host.vector_search(shared_index, 9)
    kind = type(theirs).__name__
    options = {"names": ["meaning", "words"], "explain": True}
    retriever = host.make("EnsembleRetriever", shared_index, retrievers=[theirs, BM25()], **options)
    trace = (await host.both(retriever, QUESTIONS[0]))[0].trace
    assert any(line.startswith(f"{kind} found leaf") for line in trace)
    assert any("from meaning (rank" in line and "from words (rank" in line for line in trace)


async def test_an_ensemble_calls_the_hosts_retrievers_by_their_classes(host: Host, shared_index: Index):
    theirs = host.vector_search(shared_index, 9)
    of_a_view = host.make("BM25Retriever", shared_index.scoped(F("year") > 0), k=9)
    retriever = host.make("EnsembleRetriever", shared_index, retrievers=[theirs, of_a_view], explain=True)
    trace = (await host.both(retriever, QUESTIONS[0]))[0].trace
    assert any(f"from {type(theirs).__name__} (rank" in line and "from BM25Retriever (rank" in line for line in trace)


async def test_a_retriever_that_fails_is_left_out_when_asked(host: Host, shared_index: Index):
    def fail(question):
        raise ConnectionError("the line is dead")

    message = f"Broken failed on {QUESTIONS[0]!r} with ConnectionError: the line is dead"
    several = [host.retriever("Broken", fail), BM25()]
    impatient = host.make("EnsembleRetriever", shared_index, retrievers=several)
    with pytest.raises(SourceFailed, match=re.escape(message)):
        host.ask(impatient, QUESTIONS[0])
    with pytest.raises(SourceFailed, match=re.escape(message)):
        await host.aask(impatient, QUESTIONS[0])
    patient = host.make("EnsembleRetriever", shared_index, retrievers=several, on_failure="skip", explain=True)
    found = await host.both(patient, QUESTIONS[0])
    assert ids(found) == ids(host.ask(host.make("BM25Retriever", shared_index), QUESTIONS[0]))
    assert found[0].trace[-1] == f"retriever 1 (Broken) was left out: SourceFailed: {message}"


# Language models


async def test_phrasings_can_come_from_a_model_of_the_host(host: Host, shared_index: Index):
    prompts = []

    def write(prompt):
        prompts.append(prompt)
        return "\n".join(f"{number}. {text}" for number, text in enumerate(PHRASINGS, start=1))

    asked = host.make("MultiQueryRetriever", shared_index, llm=host.model(write), count=2)
    given = host.make("MultiQueryRetriever", shared_index, phrasings=PHRASINGS)
    assert await host.both(asked, QUESTIONS[0]) == await host.both(given, QUESTIONS[0])
    assert len(prompts) == 2
    assert all(QUESTIONS[0] in prompt and "2 other phrasings" in prompt for prompt in prompts)


async def test_a_model_that_fails_leaves_the_question_itself_and_a_note(host: Host, shared_index: Index):
    def fail(prompt):
        raise ConnectionError("the line is dead")

    retriever = host.make("MultiQueryRetriever", shared_index, llm=host.model(fail), explain=True)
    found = await host.both(retriever, QUESTIONS[0])
    assert ids(found) == ids(host.ask(host.make("HybridRetriever", shared_index), QUESTIONS[0]))
    for result in found:
        assert result.trace[-1] == "no phrasings were generated: ConnectionError: the line is dead"


# What the host does with our retrievers, and leafspan with its splitters


@every_retriever
def test_a_fusion_of_the_hosts_own_accepts_our_retrievers(host: Host, shared_index: Index, name):
    ours = host.make(name, shared_index, k=3, **needed(name))
    for mode, fusion in host.fusions.items():
        found = host.ask(fusion([ours, host.make("VectorRetriever", shared_index, k=3)]), QUESTIONS[0])
        assert found[0].document == "bees", mode
        assert len({*ids(found)}) == len(found)


def test_a_splitter_of_the_host_can_cut_the_leaves(host: Host, tmp_path):
    for name, splitter in host.splitters.items():
        with Index.open(tmp_path / name, splitter=splitter) as index:
            index.add(DOCUMENTS)
            for document in DOCUMENTS:
                assert "".join(leaf.text for leaf in index.leaves(document.id)) == document.text
            [found] = host.ask(host.make("AutoMergingRetriever", index, k=1), QUESTIONS[0])
            assert TEXTS[found.document][found.metadata["start"] : found.metadata["end"]] == found.text


def test_what_is_no_splitter_of_the_host_is_refused(host: Host):
    rule = {"LangChain": "text splitter must have split_text", "LlamaIndex": "node parser must be a NodeParser"}[host.name]
    with pytest.raises(InvalidArgument, match=f"^a {host.name} {rule}, got 5$"):
        host.package.splitter_from(5)
