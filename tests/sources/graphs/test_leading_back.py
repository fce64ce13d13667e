"""Chunks of whole documents become the spans of the index that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import MockEmbedding, PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.node_parser import SentenceSplitter

import leafspan
from leafspan import F, Index
from leafspan.sources import LightRAG, LightRAGThread, PropertyGraph, lightrag_inputs
from leafspan.sources.graphs._graph import _without_overlaps
from leafspan.strategies import HostResult
from leafspan.values import run_of_id
from tests.profiles import examples
from tests.sources.graphs.scripted import BEES, QUESTION, TEA, NamesOfTexts, maker, small_index


@pytest.fixture(scope="module")
def whole(sentences: Index, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightRAGThread]:
    """A LightRAG of whole documents, in chunks that overlap."""
    make = maker(tmp_path_factory.mktemp("whole"), chunk_token_size=24, chunk_overlap_token_size=8)
    with LightRAGThread(make) as thread:
        thread.run(lambda rag: rag.ainsert(**lightrag_inputs(sentences, whole=True)))
        yield thread


def chunks_of(thread: LightRAGThread) -> list[str]:
    return [each["text"] for each in LightRAG(thread).retrieve_data(QUESTION, "dict")["chunks"]]


def test_inputs_are_the_whole_documents(sentences: Index):
    inputs = lightrag_inputs(sentences, whole=True)
    assert dict(zip(inputs["ids"], inputs["input"], strict=True)) == {"bees": BEES.text, "tea": TEA.text}
    with pytest.raises(leafspan.InvalidArgument, match="whole must be True or False"):
        lightrag_inputs(sentences, whole="documents")  # type: ignore[arg-type]


def test_each_chunk_is_in_a_span_and_no_two_spans_overlap(sentences: Index, whole: LightRAGThread):
    chunks = chunks_of(whole)
    assert len(chunks) > 2
    found = sentences.retrieve(QUESTION, LightRAG(whole, kinds=["chunk"]))
    for each in found:
        assert each.kind == "text"
        assert sentences.get(each.document_id).text[each.start : each.end] == each.text
    returned = [(each.document_id, place) for each in found for place in range(each.start, each.end)]
    assert len(returned) == len(set(returned))
    for chunk in chunks:
        [document] = [each for each in (BEES, TEA) if chunk in each.text]
        start = document.text.index(chunk)
        assert {(document.id, start + place) for place in range(len(chunk))} <= set(returned)


async def test_the_same_is_found_asynchronously(sentences: Index, whole: LightRAGThread):
    strategy = LightRAG(whole)
    assert await sentences.aretrieve(QUESTION, strategy) == sentences.retrieve(QUESTION, strategy)


RUNS = st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 5))


def leaves_of(results: list[HostResult]) -> list[tuple[str, int]]:
    found = []
    for each in results:
        leaf, last = run_of_id(each.id)
        found += [(leaf.document_id, number) for number in range(leaf.ordinal, last + 1)]
    return found


@examples(200)
@given(st.lists(RUNS, max_size=8))
def test_no_leaf_is_lost_and_none_is_there_twice(runs: list[tuple[str, int, int]]):
    results = [HostResult(f"{name}#00000000#{first}-{first + more}", "", 1.0, {}, "chunk") for name, first, more in runs]
    left = _without_overlaps(results)
    assert leaves_of(left) == list(dict.fromkeys(leaves_of(results)))


def test_filters_and_views_hold_for_the_documents_of_chunks(sentences: Index, whole: LightRAGThread):
    strategy = LightRAG(whole, kinds=["chunk"])
    question = "What is tea, and what are bees?"
    food = F("topic") == "food"
    assert {each.document_id for each in sentences.retrieve(question, strategy)} == {"bees", "tea"}
    assert {each.document_id for each in sentences.retrieve(question, strategy, where=food)} == {"tea"}
    assert {each.document_id for each in sentences.scoped(food).retrieve(question, strategy)} == {"tea"}


def test_several_questions_at_once(sentences: Index, whole: LightRAGThread):
    strategy = LightRAG(whole)
    questions = [QUESTION, "What is tea?"]
    assert sentences.retrieve_many(questions, strategy) == [sentences.retrieve(each, strategy) for each in questions]


@pytest.mark.parametrize(
    "text", ["Bees\r\ndance.\n\n\tThey fly.", "Bees dance.  They  fly.", "…\u00a0Bees dance. They fly."]
)
def test_white_space_may_have_changed(text: str, tmp_path: Path):
    words = text.split()
    with Index.open(tmp_path / "kb") as index, LightRAGThread(maker(tmp_path / "graph")) as thread:
        index.add(leafspan.Document("bees", text))
        thread.run(lambda rag: rag.ainsert([" ".join(words)], ids=["bees"]))
        [found] = index.retrieve("dance of bees", LightRAG(thread, kinds=["chunk"]))
        assert (found.document_id, found.text, found.text.split()) == ("bees", text, words)


def test_without_the_document_a_chunk_stays_a_chunk(whole: LightRAGThread, tmp_path: Path):
    with Index.open(tmp_path / "empty") as index:
        assert {each.kind for each in index.retrieve(QUESTION, LightRAG(whole, kinds=["chunk"]))} == {"chunk"}
        index.add(leafspan.Document("other", "Nothing of this."))
        assert {each.kind for each in index.retrieve(QUESTION, LightRAG(whole, kinds=["chunk"]))} == {"chunk"}


def test_a_chunk_whose_text_has_changed_stays_a_chunk(whole: LightRAGThread, tmp_path: Path):
    with small_index(tmp_path / "kb") as index:
        index.add(leafspan.Document("bees", "Beekeepers wear gloves and veils when they open the hives."))
        found = index.retrieve(QUESTION, LightRAG(whole, kinds=["chunk"]))
        kinds = {each.kind: each for each in found if "decoded" in each.text}
        assert set(kinds) == {"chunk"}
        assert kinds["chunk"].metadata["source_ids"] == ["bees"]


@pytest.mark.parametrize("retriever", [False, True])
def test_chunks_of_llamaindexs_own_splitting_lead_back(sentences: Index, retriever: bool):
    documents = [LlamaIndexDocument(text=each.text, id_=each.id) for each in (BEES, TEA)]
    index: Any = PropertyGraphIndex.from_documents(
        documents,
        property_graph_store=SimplePropertyGraphStore(),
        kg_extractors=[NamesOfTexts()],
        transformations=[SentenceSplitter(chunk_size=20, chunk_overlap=0)],
        embed_model=MockEmbedding(8),
        use_async=False,
    )
    graph = index
    if retriever:
        from llama_index.core.indices.property_graph import VectorContextRetriever

        graph = VectorContextRetriever(
            index.property_graph_store, vector_store=index.vector_store, embed_model=MockEmbedding(8)
        )
    found = sentences.retrieve(QUESTION, PropertyGraph(graph))
    texts = [each for each in found if each.kind == "text"]
    assert texts
    assert "chunk" not in {each.kind for each in found}
    assert "relation" in {each.kind for each in found}
    for each in texts:
        assert sentences.get(each.document_id).text[each.start : each.end] == each.text
