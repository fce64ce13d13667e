from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leafspan
from leafspan import F, Index, InvalidArgument, MissingExtra, Query, SentenceWindow
from leafspan.errors import NotALeaf, SourceFailed
from leafspan.sources import LightRAG, LightRAGThread, lightrag_inputs
from tests.sources.graphs.scripted import ANSWER, BEES, QUESTION, maker, small_index


def leaf(index: Index, number: int, document: str = "bees") -> str:
    return index.leaves(document)[number].id


def entities(found: list[Any]) -> set[str]:
    return {each.metadata["name"] for each in found if each.kind == "entity"}


# Passages


def test_chunks_of_leaves_are_the_leaves(sentences: Index, light_rag: LightRAGThread):
    found = sentences.retrieve(QUESTION, LightRAG(light_rag, kinds=["chunk"]))
    assert {each.id for each in found} >= {leaf(sentences, 0), leaf(sentences, 1)}
    for each in found:
        document = sentences.get(each.document_id)
        assert document.text[each.start : each.end] == each.text
        assert each.kind == "text"


def test_entities_and_relations_are_passages_that_name_their_leaves(sentences: Index, light_rag: LightRAGThread):
    found = {each.id: each for each in sentences.retrieve(QUESTION, LightRAG(light_rag))}
    frisch = found["entity:Karl von Frisch"]
    assert frisch.text == "Karl von Frisch (thing): Karl von Frisch is mentioned."
    assert (frisch.kind, frisch.document_id, frisch.start, frisch.end) == ("entity", "", None, None)
    assert frisch.metadata["source_ids"] == [leaf(sentences, 0), leaf(sentences, 1)]
    relation = found["relation:Karl von Frisch--bees"]
    assert relation.text == "Karl von Frisch -- bees (goes with): Karl von Frisch goes with bees."
    assert relation.metadata["source_ids"] == [leaf(sentences, 0)]
    assert (relation.metadata["source"], relation.metadata["target"], relation.metadata["weight"]) == (
        "Karl von Frisch",
        "bees",
        1.0,
    )


def test_the_score_is_one_over_the_rank_within_a_kind_and_kinds_take_turns(sentences: Index, light_rag: LightRAGThread):
    found = sentences.retrieve(QUESTION, LightRAG(light_rag, kinds=["relation", "chunk"]))
    for kind in ("relation", "text"):
        scores = [each.score for each in found if each.kind == kind]
        assert scores == [1 / rank for rank in range(1, len(scores) + 1)]
    assert [each.kind for each in found[:4]] == ["relation", "text", "relation", "text"]
    assert found[0].trace.explain() == ["LightRAG found the relation (rank 1, score 1.000)"]


@pytest.mark.parametrize(
    ("mode", "finds"),
    [
        ("local", {"chunk", "entity", "relation"}),
        ("global", {"chunk", "entity", "relation"}),
        ("hybrid", {"chunk", "entity", "relation"}),
        ("mix", {"chunk", "entity", "relation"}),
        ("naive", {"chunk"}),
        ("bypass", set()),
    ],
)
def test_each_mode_finds_what_it_searches(light_rag: LightRAGThread, mode: Any, finds: set[str]):
    assert {each.kind for each in leafspan.retrieve(QUESTION, LightRAG(light_rag, mode=mode))} == finds


def test_local_starts_from_entities_and_global_from_relations(light_rag: LightRAGThread):
    # The scripted model gives all questions the same keywords for relations.
    local = leafspan.retrieve(QUESTION, LightRAG(light_rag, mode="local", params={"top_k": 1}))
    named = leafspan.retrieve("What is tea?", LightRAG(light_rag, mode="local", params={"top_k": 1}))
    assert entities(local) == {"Karl von Frisch"}
    assert entities(named) == {"tea"}
    over = [leafspan.retrieve(each, LightRAG(light_rag, mode="global")) for each in (QUESTION, "What is tea?")]
    assert entities(over[0]) == entities(over[1])


def test_keywords_can_be_given_so_that_no_model_is_asked(sentences: Index, tmp_path: Path):
    asked: list[str] = []

    def generate(prompt: str) -> str:
        asked.append(prompt)
        return "none"

    with LightRAGThread(maker(tmp_path, generate)) as thread:
        LightRAG(thread, params={"ll_keywords": ["tea"], "hl_keywords": ["food"]}).retrieve_data("What is that?")
    assert asked == []


def test_without_an_index_chunks_keep_the_ids_of_their_leaves(sentences: Index, light_rag: LightRAGThread):
    found = leafspan.retrieve(QUESTION, LightRAG(light_rag, kinds=["chunk"]))
    assert {each.kind for each in found} == {"chunk"}
    assert leaf(sentences, 0) in {each.id for each in found}
    assert {each.document_id for each in found} == {""}


def test_chunks_alone_can_be_widened(sentences: Index, light_rag: LightRAGThread):
    window = SentenceWindow(base=LightRAG(light_rag, kinds=["chunk"], params={"chunk_top_k": 1}))
    [found] = sentences.retrieve("What was decoded by Karl von Frisch?", window, k=1)
    assert found.id.startswith(leaf(sentences, 0))
    assert found.text == BEES.text[found.start : found.end]
    assert len(found.text) > len(sentences.leaves("bees")[0].text)


def test_entities_cannot_be_widened(light_rag: LightRAGThread):
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=LightRAG(light_rag))


def test_a_chunk_that_is_no_leaf_stays_a_chunk_and_cannot_be_widened(sentences: Index, tmp_path: Path):
    with LightRAGThread(maker(tmp_path)) as thread:
        thread.run(lambda rag: rag.ainsert(["The bees of Vienna dance."], ids=["elsewhere"]))
        strategy = LightRAG(thread, kinds=["chunk"])
        [found] = sentences.retrieve("bees of Vienna", strategy)
        assert (found.id, found.kind, found.text) == ("elsewhere-chunk-000", "chunk", "The bees of Vienna dance.")
        assert found.metadata["source_ids"] == ["elsewhere"]
        with pytest.raises(NotALeaf, match="number 1 is not: id 'elsewhere-chunk-000'"):
            sentences.retrieve("bees of Vienna", SentenceWindow(base=strategy))


def test_chunks_of_a_graph_that_was_inserted_by_hand_lead_back(sentences: Index, tmp_path: Path):
    here = leaf(sentences, 2)
    graph = {
        "chunks": [{"content": "Gloves and veils.", "source_id": here}],
        "entities": [{"entity_name": "Veil", "description": "A net.", "source_id": here}],
        "relationships": [],
    }
    with LightRAGThread(maker(tmp_path)) as thread:
        thread.run(lambda rag: rag.ainsert_custom_kg(graph))
        found = sentences.retrieve("gloves and veils", LightRAG(thread, params={"ll_keywords": ["Veil"]}))
    by_kind = {each.kind: each for each in found}
    assert by_kind["text"].id == here
    assert by_kind["entity"].metadata["source_ids"] == [here]


def test_a_filter_holds_for_leaves_and_leaves_out_what_has_no_such_metadata(sentences: Index, light_rag: LightRAGThread):
    found = sentences.retrieve("What is tea, and what are bees?", LightRAG(light_rag), where=F("topic") == "food")
    assert {each.document_id for each in found} == {"tea"}


def test_a_view_shows_only_its_own_leaves(sentences: Index, light_rag: LightRAGThread):
    found = sentences.scoped(F("topic") == "food").retrieve("What is tea, and what are bees?", LightRAG(light_rag))
    assert {(each.kind, each.document_id) for each in found} == {("text", "tea")}


def test_a_graph_of_leaves_that_were_replaced_since_is_an_error(light_rag: LightRAGThread, tmp_path: Path):
    with small_index(tmp_path / "kb") as index:
        index.add(leafspan.Document("bees", "Karl von Frisch decoded the dance of the bees, as is well known."))
        with pytest.raises(NotALeaf, match="is not in it"):
            index.retrieve(QUESTION, LightRAG(light_rag))


# Shapes


def test_data_comes_in_five_shapes(sentences: Index, light_rag: LightRAGThread):
    strategy = LightRAG(light_rag)
    passages = strategy.retrieve_data(QUESTION)
    assert {each.kind for each in passages} == {"chunk", "entity", "relation"}
    assert strategy.retrieve_data(QUESTION, "strings") == [each.text for each in passages]
    data = strategy.retrieve_data(QUESTION, "dict")
    assert {"name": "Karl von Frisch", "type": "thing"}.items() <= data["nodes"][0].items()
    assert ("Karl von Frisch", "bees") in {(edge["source"], edge["target"]) for edge in data["edges"]}
    assert {chunk["id"] for chunk in data["chunks"]} >= {leaf(sentences, 0), leaf(sentences, 1)}
    context = strategy.retrieve_data(QUESTION, "context")
    assert "Knowledge Graph Data" in context
    assert "Karl von Frisch decoded the dance" in context
    assert strategy.retrieve_data(QUESTION, "answer") == ANSWER


async def test_the_same_data_come_asynchronously(light_rag: LightRAGThread):
    strategy = LightRAG(light_rag)
    for shape in ("chunks", "strings", "dict", "context", "answer"):
        assert await strategy.aretrieve_data(QUESTION, shape) == strategy.retrieve_data(QUESTION, shape)


def test_bypass_only_answers(light_rag: LightRAGThread):
    strategy = LightRAG(light_rag, mode="bypass")
    assert strategy.retrieve_data("Say something", "answer") == ANSWER
    assert strategy.retrieve_data("Say something", "context") == ""
    assert strategy.retrieve_data("Say something") == []


@pytest.mark.parametrize("mode", ["local", "global", "hybrid", "naive", "mix"])
def test_an_empty_graph_has_nothing(sentences: Index, tmp_path: Path, mode: Any):
    with LightRAGThread(maker(tmp_path)) as thread:
        strategy = LightRAG(thread, mode=mode)
        assert sentences.retrieve(QUESTION, strategy) == []
        assert strategy.retrieve_data(QUESTION) == []
        assert strategy.retrieve_data(QUESTION, "strings") == []
        assert strategy.retrieve_data(QUESTION, "dict") == {"nodes": [], "edges": [], "chunks": []}
        assert strategy.retrieve_data(QUESTION, "context") == ""
        assert strategy.retrieve_data(QUESTION, "answer") == ""


# What is refused


def test_an_instance_must_be_one(tmp_path: Path):
    import lightrag

    for wrong in (None, "graph", lightrag.LightRAG, object()):
        with pytest.raises(InvalidArgument, match=r"instance must be a lightrag.LightRAG or a LightRAGThread, got"):
            LightRAG(wrong)


def test_an_instance_must_be_initialised(tmp_path: Path):
    with pytest.raises(InvalidArgument, match="instance must be initialised, got a LightRAG that is CREATED"):
        LightRAG(maker(tmp_path)())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "mixed"}, "mode must be one of .*did you mean 'mix'"),
        ({"kinds": []}, "kinds must be a list of 'chunk', 'entity', 'relation', got"),
        ({"kinds": "chunk"}, "kinds must be a list"),
        ({"kinds": ["chunk", "node"]}, "each of kinds must be one of 'chunk', 'entity', 'relation', got 'node'"),
        ({"kinds": ["chunk", "chunk"]}, "kinds must have each kind once"),
        ({"timeout": 0}, "timeout must be a number of seconds > 0, got 0"),
        ({"params": [1]}, "params must be a mapping"),
        ({"params": {"topk": 3}}, "options of lightrag.QueryParam, got 'topk'; did you mean 'top_k'"),
        ({"params": {"top_k": 0}}, r"params\['top_k'\] must be a whole number >= 1, got 0"),
        ({"params": {"enable_rerank": 1}}, r"params\['enable_rerank'\] must be True or False"),
        ({"params": {"ll_keywords": "tea"}}, r"params\['ll_keywords'\] must be a list, got 'tea'"),
        ({"params": {"mode": "naive"}}, "params must not have 'mode': it is an option of its own"),
        ({"params": {"stream": True}}, "params must not have 'stream'"),
    ],
)
def test_an_option_must_be_in_its_range(light_rag: LightRAGThread, options: dict[str, Any], message: str):
    with pytest.raises(InvalidArgument, match=message):
        LightRAG(light_rag, **options)


def test_a_question_must_be_a_text(sentences: Index, light_rag: LightRAGThread):
    strategy = LightRAG(light_rag)
    with pytest.raises(InvalidArgument, match="LightRAG needs the query as text"):
        sentences.retrieve(Query(vector=tuple([0.1] * 256)), strategy)
    with pytest.raises(InvalidArgument, match="question must be a text that is not blank"):
        strategy.retrieve_data("  ")
    with pytest.raises(InvalidArgument, match="shape must be one of"):
        strategy.retrieve_data(QUESTION, "raw")  # type: ignore[arg-type]


def test_what_lightrag_refuses_is_an_error(light_rag: LightRAGThread):
    with pytest.raises(SourceFailed, match="RAGQueryTooShortError"):
        leafspan.retrieve("ab", LightRAG(light_rag))


def test_a_language_model_that_fails_is_an_error(tmp_path: Path):
    def generate(prompt: str) -> str:
        raise OSError("the model is gone")

    with LightRAGThread(maker(tmp_path, generate)) as thread:
        for shape in ("chunks", "answer"):
            with pytest.raises(SourceFailed, match="the model is gone"):
                LightRAG(thread).retrieve_data(QUESTION, shape)


def test_a_failure_that_lightrag_reports_is_an_error():
    class Failing:
        _storages_status = _owning_loop = None

        async def aquery_data(self, question: str, param: Any) -> Any:
            return {"status": "failure", "message": "the tokenizer is missing", "data": {}}

        aquery_llm = aquery_data

    with LightRAGThread(Failing) as thread:
        for shape in ("chunks", "answer"):
            with pytest.raises(SourceFailed, match="but: the tokenizer is missing"):
                LightRAG(thread).retrieve_data(QUESTION, shape)


def test_a_question_without_keywords_has_nothing(tmp_path: Path):
    question = "And what of all those who were there before, and who were never asked?"
    with LightRAGThread(maker(tmp_path, lambda _: "{}")) as thread:
        strategy = LightRAG(thread)
        assert strategy.retrieve_data(question) == []
        assert strategy.retrieve_data(question, "answer") == strategy.retrieve_data(question, "context") == ""


def test_without_lightrag_the_extra_is_named(light_rag: LightRAGThread, monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "lightrag", None)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[lightrag\]" in the clone of leafspan'):
        LightRAG(light_rag, params={"top_k": 3})


def test_blank_leaves_are_not_given_to_lightrag():
    class Leaves:
        def leaves(self) -> list[Any]:
            passage = leafspan.Passage("a#00000000#0", "a", 0, 3, " \n ", 0.0, {}, leafspan.trace.Trace())
            return [passage]

    assert lightrag_inputs(Leaves()) == {"input": [], "ids": [], "file_paths": []}
