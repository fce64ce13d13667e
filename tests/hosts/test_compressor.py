"""``RelevantSegmentsCompressor``: what another retriever of LangChain found, cut to the sentences that answer."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import ValidationError

import leafspan
from langchain_ext import RelevantSegmentsCompressor
from leafspan import Index, RelevantSegments, Vector
from leafspan.errors import InvalidArgument
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from leafspan.text import count_words
from tests.profiles import examples

TEXT = example_documents()[0].text[:6_000]
QUESTION = "How long did it take?"
FAKE = DeterministicFakeEmbedding(size=8)


def chunks(text: str = TEXT, size: int = 400, overlap: int = 100, **metadata: object) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)
    return splitter.split_documents([Document(text, metadata={"source": "a", **metadata})])


def is_in(document: Document, text: str) -> bool:
    start = document.metadata["start_index"]
    part = text[start : start + len(document.page_content)]
    return document.page_content.split() == part.split()  # a splitter strips white space between chunks


def test_documents_are_cut_to_what_answers():
    text = "Tea grows on hills. " * 20 + "Karl von Frisch decoded the dance of the bees. " + "Ships carry salt. " * 20
    [found, *_] = RelevantSegmentsCompressor(budget=60).compress_documents(
        [Document(text, id="1", metadata={"source": "a"})], "Who decoded the dance of the bees?"
    )
    assert "Karl von Frisch decoded the dance of the bees." in found.page_content
    assert count_words(found.page_content) <= 60 < count_words(text) / 2
    assert found.metadata.keys() == {"source", "relevance_score"}
    assert found.id is None  # another text


@pytest.mark.parametrize("budget", [50, 200, 600])
def test_it_finds_what_relevant_segments_find_in_an_index(tmp_path, budget):
    with Index.open(tmp_path / "kb", context_sentences=0, title_weight=0) as index:
        index.add(leafspan.Document("000000000", TEXT))
        for question in EXAMPLE_QUESTIONS:
            expected = index.retrieve(question, RelevantSegments(base=Vector()), budget=budget, candidates=1_000)
            found = RelevantSegmentsCompressor(budget=budget).compress_documents([Document(TEXT)], question)
            assert [each.page_content for each in found] == [each.text.strip() for each in expected]
            assert [each.metadata["relevance_score"] for each in found] == pytest.approx(
                [each.score for each in expected], abs=1e-3
            )


def test_chunks_that_overlap_are_merged_and_a_segment_goes_on_in_the_next_one():
    parts = chunks()
    assert len(parts) > 10
    found = RelevantSegmentsCompressor(budget=10_000).compress_documents(list(reversed(parts)), QUESTION)
    assert all(is_in(each, TEXT) for each in found)
    assert sum(len(each.page_content.split()) for each in found) == len(TEXT.split())  # all text, and each word once
    assert max(len(each.page_content) for each in found) > 400
    assert parts == chunks()  # they are not changed


def test_chunks_of_other_texts_and_places_stay_apart():
    one, other = Document("Bees dance.", metadata={"start_index": 0, "source": "a"}), "Tea is hot."
    for metadata in (
        {"start_index": 12, "source": "b"},
        {"start_index": 40, "source": "a"},
        {"start_index": 5, "source": "a"},  # overlaps, but says something else there
        {"source": "a"},
    ):
        found = RelevantSegmentsCompressor().compress_documents([one, Document(other, metadata=metadata)], "Is tea hot?")
        assert [each.page_content for each in found] == ["Tea is hot.", "Bees dance."]
        assert found[0].metadata.items() >= metadata.items()
    found = RelevantSegmentsCompressor().compress_documents(
        [one, Document(other, metadata={**one.metadata, "start_index": 12})], "?"
    )
    assert [each.page_content for each in found] == ["Bees dance.\nTea is hot."]


def test_what_fits_comes_back_whole_with_its_id():
    document = Document("Bees dance.", id="7", metadata={"source": "a", "start_index": 4})
    [found] = RelevantSegmentsCompressor().compress_documents([document], "Do bees dance?")
    assert (found.id, found.page_content, found.metadata["start_index"]) == ("7", "Bees dance.", 4)


@pytest.mark.parametrize("documents", [[], [Document("")], [Document(" \n")]])
def test_nothing_comes_of_nothing(documents):
    assert RelevantSegmentsCompressor().compress_documents(documents, "tea") == []


async def test_it_compresses_in_a_retriever_of_langchain():
    store = InMemoryVectorStore.from_documents(chunks(), FAKE)
    for compressor in (
        RelevantSegmentsCompressor(budget=60),
        RelevantSegmentsCompressor(embedder=FAKE, budget=60),
        DocumentCompressorPipeline(
            transformers=[
                EmbeddingsFilter(embeddings=FAKE, k=4),
                RelevantSegmentsCompressor(budget=60, embedder="wordllama"),
            ]
        ),
    ):
        retriever = ContextualCompressionRetriever(
            base_compressor=compressor, base_retriever=store.as_retriever(search_kwargs={"k": 6})
        )
        found = retriever.invoke(QUESTION)
        assert 0 < sum(count_words(each.page_content) for each in found) <= 60
        assert all(is_in(each, TEXT) for each in found)
        assert await retriever.ainvoke(QUESTION) == found
        scores = [each.metadata["relevance_score"] for each in found]
        assert scores == sorted(scores, reverse=True)


@given(
    text=st.lists(
        st.sampled_from(["Bees dance. ", "Tea is hot. ", "Salt\n\n", "# A\n", "日本の茶。", "x" * 60 + " "]), max_size=40
    ).map("".join),
    size=st.integers(20, 80),
    overlap=st.integers(0, 15),
    budget=st.integers(1, 60),
)
@examples(60)
def test_nothing_is_changed_lost_or_repeated(text, size, overlap, budget):
    parts = chunks(text, size, overlap)
    every = "".join(text.split())
    for most in (budget, 10_000):
        found = RelevantSegmentsCompressor(embedder=FAKE, budget=most).compress_documents(parts, "bees")
        words = sum(count_words(each.page_content) for each in found)
        assert words <= most or len(found) == 1
        assert len("".join("".join(each.page_content.split()) for each in found)) <= len(every)
        assert all("".join(each.page_content.split()) in every for each in found)
        if most == 10_000:
            assert math.isclose(words, count_words(text), abs_tol=0)


@pytest.mark.parametrize("options", [{"budget": 0}, {"k": 3}, {"budget": "many"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValidationError):
        RelevantSegmentsCompressor(**options)


def test_a_wrong_embedder_is_refused():
    with pytest.raises(InvalidArgument, match="an embedder"):
        RelevantSegmentsCompressor(embedder="mine").compress_documents([Document("Tea.")], "tea")
    assert asyncio.run(RelevantSegmentsCompressor().acompress_documents([], "tea")) == []


@pytest.mark.parametrize("question", ["", " ", None, 3])
def test_a_blank_question_is_refused(question):
    with pytest.raises(InvalidArgument, match="query must be a text that is not blank, got"):
        RelevantSegmentsCompressor().compress_documents([Document("Tea is hot.")], question)
