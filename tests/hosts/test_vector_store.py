"""An index as a LangChain vector store: LangChain's own tests of vector stores, and additional ones."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers.document_compressors import EmbeddingsFilter
from langchain_classic.retrievers.self_query.base import SelfQueryRetriever
from langchain_community.document_transformers import EmbeddingsRedundantFilter
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.structured_query import Comparator, Comparison, StructuredQuery
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from langchain_tests.integration_tests import VectorStoreIntegrationTests
from llama_index.core import MockEmbedding

import leafspan
from langchain_ext import AutoMergingRetriever, HybridRetriever, RerankRetriever, SpanVectorStore, VectorRetriever
from leafspan import F, Index, InvalidArgument
from leafspan.errors import InvalidDocument
from leafspan.private import Vault, private_view
from tests.corpus import BEES, QUESTIONS, SPLITTER, TEA
from tests.private.views.people import KEY, SpyEmbedder

FAKE = DeterministicFakeEmbedding(size=5)
FOX = Document(id="fox", page_content="The fox sleeps at noon.", metadata={"tenant": "a"})
OWL = Document(id="owl", page_content="The owl sleeps by day.", metadata={"tenant": "b"})
LONG = Document(id="bees", page_content=BEES, metadata={"topic": "animals"})


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as opened:
        yield opened


@pytest.fixture
def store(kb: Index) -> SpanVectorStore:
    return SpanVectorStore(kb)


class _StandardTests(VectorStoreIntegrationTests):
    """LangChain's own tests."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Index]:
        with Index.open(tmp_path / "standard", embedder=self.get_embeddings()) as opened:
            yield opened


class TestOverAnIndex(_StandardTests):
    @pytest.fixture
    def vectorstore(self, opened: Index) -> VectorStore:
        return SpanVectorStore(opened)


@pytest.mark.slow
class TestWithoutSplitting(_StandardTests):
    @pytest.fixture
    def vectorstore(self, opened: Index) -> VectorStore:
        return SpanVectorStore(opened, split=False)


@pytest.mark.slow
class TestOverAPrivateView(_StandardTests):
    @pytest.fixture
    def vectorstore(self, opened: Index, tmp_path: Path) -> VectorStore:
        return SpanVectorStore(private_view(opened, Vault.open(tmp_path / "vault", KEY), reveal=True))


def test_a_long_document_is_found_by_its_passages_and_got_whole(store: SpanVectorStore):
    assert store.add_documents([LONG]) == ["bees"]
    passage = store.similarity_search(QUESTIONS[0], k=1)[0]
    assert passage.metadata["topic"] == "animals"
    assert BEES[passage.metadata["start"] : passage.metadata["end"]] == passage.page_content
    assert "score" not in passage.metadata
    whole, part = store.get_by_ids(["bees", passage.id])
    assert whole == LONG
    assert part == passage


def test_a_document_that_is_not_split_is_found_as_it_was_added(kb: Index):
    store = SpanVectorStore(kb, split=False)
    store.add_documents([LONG, Document(id="empty", page_content="")])
    assert store.similarity_search(QUESTIONS[0], k=5) == [LONG]
    assert store.get_by_ids(["empty"]) == [Document(id="empty", page_content="")]


def test_a_title_in_the_metadata_comes_back(store: SpanVectorStore):
    titled = Document(id="t", page_content="The fox sleeps.", metadata={"title": "Foxes"})
    store.add_documents([titled])
    assert store.similarity_search("foxes") == store.get_by_ids(["t"]) == [titled]


def test_documents_without_ids_can_be_added_again(store: SpanVectorStore, kb: Index):
    documents = [Document(page_content="one", metadata={"source": "a.txt"}), Document(page_content="two")]
    first = store.add_documents(documents)
    assert store.add_documents(documents) == first == [document.id for document in store.get_by_ids(first)]
    assert first[0].startswith("a.txt:")
    assert kb.count() == 2


def test_given_ids_take_the_place_of_own_ones(store: SpanVectorStore):
    assert store.add_documents([FOX, OWL], ids=["1", None]) == ["1", "owl"]
    assert store.add_texts(["one", "two"], ids=["x", "y"]) == ["x", "y"]
    assert store.get_by_ids(["y", "x", "x", "gone", "gone#90795de0#0"]) == [
        Document(id="y", page_content="two"),
        Document(id="x", page_content="one"),
    ]


async def test_texts_may_have_none_as_their_metadata(store: SpanVectorStore, tmp_path: Path):
    ids = store.add_texts(["one", "two", "three"], [{"n": 1}, None, {}], ids=["1", "2", "3"])
    assert [document.metadata for document in store.get_by_ids(ids)] == [{"n": 1}, {}, {}]
    assert store.add_texts(["three"], [None]) == store.add_texts(["three"]) == await store.aadd_texts(["three"], [None])
    made = SpanVectorStore.from_texts(["one"], metadatas=[None], path=tmp_path / "made")
    assert [document.metadata for document in made.similarity_search("one")] == [{}]
    made.index.close()


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"ids": ["a"]}, r"ids must have one for each of the 2 documents, got 1"),
        ({"ids": "ab"}, r"ids must be a list of strings, got 'ab'; did you mean \['ab'\]\?"),
        ({"metadatas": [{}]}, r"metadatas must have one for each of the 2 texts, got 1"),
        ({"metadatas": [{}, 5]}, r"each of metadatas must be a mapping, or None without metadata, got 5"),
        ({"idz": ["a", "b"]}, r"no option 'idz'; did you mean 'ids'\?"),
    ],
)
def test_what_does_not_fit_to_the_texts_is_an_error(store: SpanVectorStore, kb: Index, arguments, rule):
    with pytest.raises(InvalidArgument, match=rule):
        store.add_texts(["one", "two"], **arguments)
    assert kb.count() == 0


def test_what_cannot_be_stored_is_an_error_of_the_core(store: SpanVectorStore):
    with pytest.raises(InvalidDocument, match="non-empty string"):
        store.add_texts(["one"], ids=[""])
    with pytest.raises(InvalidDocument, match="non-empty string, got 7"):
        store.add_texts(["one"], ids=[7])
    with pytest.raises(InvalidDocument, match="flatten_metadata=True"):
        store.add_texts(["one"], [{"a": {"b": 1}}])
    assert store.add_texts(["one"], [{"a": {"b": 1}}], ids=["x"], flatten_metadata=True) == ["x"]
    with pytest.raises(InvalidDocument, match="have the id 'x'"):
        store.add_texts(["one", "two"], ids=["x", "x"])


def test_only_documents_are_deleted_and_only_those_that_were_named(store: SpanVectorStore, kb: Index):
    store.add_documents([LONG, FOX, OWL])
    passage = store.similarity_search(QUESTIONS[0], k=1)[0]
    with pytest.raises(InvalidArgument, match=r"got the passage id 'bees#.*: delete its document 'bees'"):
        store.delete(["fox", passage.id])
    with pytest.raises(InvalidArgument, match="give either ids or where"):
        store.delete()
    assert kb.count() == 3
    assert store.delete(["fox", "gone"]) is store.delete(where={"tenant": "b"}) is True
    assert [info.id for info in kb.documents()] == ["bees"]


def test_a_document_may_be_called_like_a_passage(store: SpanVectorStore):
    store.add_documents([Document(id="bees#90795de0#1", page_content="one")])
    assert store.get_by_ids(["bees#90795de0#1"])[0].page_content == "one"
    assert store.delete(["bees#90795de0#1"])
    assert store.get_by_ids(["bees#90795de0#1"]) == []


def test_scores_are_cosines_and_relevances_are_between_0_and_1(tmp_path: Path):
    vectors = {"east": [1.0, 0.0], "north": [0.0, 1.0], "west": [-1.0, 0.0]}
    with Index.open(tmp_path / "kb", embedder=lambda texts: [vectors.get(text, [0.6, 0.8]) for text in texts]) as opened:
        store = SpanVectorStore(opened)
        store.add_texts(list(vectors), ids=list(vectors))
        found = store.similarity_search_with_score("east", k=3)
        assert [(document.id, score) for document, score in found] == [
            ("east", pytest.approx(1)),
            ("north", pytest.approx(0)),
            ("west", pytest.approx(-1)),
        ]
        relevances = store.similarity_search_with_relevance_scores("east", k=3, score_threshold=0.0)
        assert [score for _, score in relevances] == [pytest.approx(1), pytest.approx(0), 0.0]
        by_vector = store.similarity_search_by_vector(np.array([0.0, 2.0]), k=1)
        assert [document.id for document in by_vector] == ["north"]
        with pytest.raises(InvalidArgument, match="2 dimensions, got 3"):
            store.similarity_search_by_vector([1.0, 0.0, 0.0])


@pytest.mark.parametrize("lambda_mult", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_maximal_marginal_relevance_matches_langchain(tmp_path: Path, lambda_mult: float):
    embedding = DeterministicFakeEmbedding(size=5)
    texts = [f"text {number}" for number in range(30)]
    theirs = InMemoryVectorStore.from_texts(texts, embedding, ids=texts)
    ours = SpanVectorStore.from_texts(texts, embedding, ids=texts, path=tmp_path / "kb")
    with ours.index:
        assert ours.embeddings is embedding
        for question in ("one", "two", "three"):
            options = {"k": 6, "fetch_k": 12, "lambda_mult": lambda_mult}
            expected = [each.id for each in theirs.max_marginal_relevance_search(question, **options)]
            assert [each.id for each in ours.max_marginal_relevance_search(question, **options)] == expected
            vector = embedding.embed_query(question)
            assert [each.id for each in ours.max_marginal_relevance_search_by_vector(vector, **options)] == expected
        assert len(ours.max_marginal_relevance_search("one", k=9, fetch_k=3)) == 3


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"ids": "b"},
        {"ids": ["c", "a", "gone"]},
        {"where": {"n": {"$gt": 1}}},
        {"where": {"n": 1}, "ids": ["b", "c"]},
        {"limit": 2},
        {"limit": 2, "offset": 1},
        {"limit": 0},
        {"offset": 9},
        {"include": ["documents"]},
        {"include": ["metadatas"]},
        {"include": []},
    ],
)
def test_documents_are_got_as_from_chroma(store: SpanVectorStore, asked: dict[str, Any]):
    texts, metadatas, ids = ["one", "two", "three"], [{"n": 1}, {"n": 2}, {"n": 3, "title": "3"}], ["a", "b", "c"]
    theirs = Chroma(client=chromadb.EphemeralClient(), collection_name=uuid4().hex, embedding_function=FAKE)
    theirs.add_texts(texts, metadatas, ids)
    store.add_texts(texts, metadatas, ids=ids)
    expected = theirs.get(**asked)
    theirs.delete_collection()
    if asked.get("limit") == 0:  # which means all to Chroma
        expected = {"ids": [], "documents": [], "metadatas": []}
    assert store.get(**asked) == {name: expected[name] for name in ("ids", "documents", "metadatas")}


def test_what_get_cannot_do_is_named_with_a_replacement(store: SpanVectorStore, kb: Index):
    store.add_documents([LONG, FOX, OWL])
    assert store.get()["ids"] == ["bees", "fox", "owl"]  # whole documents, not their leaves
    assert store.get("bees")["documents"] == [BEES]
    assert SpanVectorStore(kb.scoped(F("tenant") == "a")).get()["ids"] == ["fox"]
    with pytest.raises(
        InvalidArgument, match="get of SpanVectorStore has no option 'where_document'; no filter reads texts"
    ):
        store.get(where_document={"$contains": "fox"})
    with pytest.raises(
        InvalidArgument, match="include must have only documents and metadatas, got 'embeddings'; embed texts"
    ):
        store.get(include=["embeddings"])
    with pytest.raises(InvalidArgument, match="limit must be a whole number >= 0, got -1"):
        store.get(limit=-1)


def test_options_of_chroma_are_named_with_a_replacement(store: SpanVectorStore, kb: Index, tmp_path: Path):
    words = "no filter reads texts: find words with BM25Retriever, search_type='bm25' or the tool grep"
    containing = {"where_document": {"$contains": "fox"}}
    for search in (
        store.similarity_search,
        store.similarity_search_with_relevance_scores,
        store.max_marginal_relevance_search,
    ):
        with pytest.raises(InvalidArgument, match=f"a search of SpanVectorStore has no option 'where_document'; {words}"):
            search("fox", **containing)
    with pytest.raises(InvalidArgument, match=words):
        store.as_retriever(search_kwargs=containing).invoke("fox")
    with pytest.raises(InvalidArgument, match=words):
        store.as_retriever(search_type="hybrid", search_kwargs=containing)
    for options in ({"collection_name": "a"}, {"collection_name": "a", "embedding_function": FAKE, "index": kb}):
        with pytest.raises(
            InvalidArgument, match=r"no option 'collection_name'; open an index first: .*Index.open\(path, name="
        ):
            SpanVectorStore(**options)
    for make in (SpanVectorStore.from_texts, SpanVectorStore.from_documents):
        with pytest.raises(InvalidArgument, match="has no option 'collection_name'; here it is 'name'"):
            make([], None, path=tmp_path / "made", collection_name="a")
    with SpanVectorStore.from_texts(["one"], FAKE, path=tmp_path / "made", name="a").index as made:
        assert "'a'" in repr(made)


async def test_retrievers_of_the_host_find_what_ours_find(store: SpanVectorStore):
    store.add_documents([LONG, Document(id="tea", page_content=TEA, metadata={"topic": "tea"}), FOX, OWL])
    near = VectorRetriever(index=store.index, k=20)
    ours: dict[str, tuple[dict[str, Any], BaseRetriever]] = {
        "similarity": ({"k": 6}, VectorRetriever(index=store.index, k=6)),
        "mmr": (
            {"k": 6, "fetch_k": 20, "lambda_mult": 0.3},
            RerankRetriever(index=store.index, base=near, diversity=0.7, k=6),
        ),
        "similarity_score_threshold": (
            {"k": 6, "score_threshold": 0.2},
            VectorRetriever(index=store.index, k=6, min_score=0.2),
        ),
    }
    for kind, (options, own) in ours.items():
        for filter in (None, {"topic": "animals"}):
            retriever = store.as_retriever(search_type=kind, search_kwargs={**options, "filter": filter})
            for question in QUESTIONS:
                expected = own.invoke(question, where=filter)
                assert [each.page_content for each in retriever.invoke(question)] == [
                    each.page_content for each in expected
                ]
                assert [each.page_content for each in await retriever.ainvoke(question)] == [
                    each.page_content for each in expected
                ]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"fetch_k": 0}, "fetch_k must be a whole number >= 1"),
        ({"k": True}, "k must be a whole number"),
        ({"lambda_mult": 1.5}, r"lambda_mult must be a number in \[0, 1\]"),
        ({"where": {"a": 1}}, "no option 'where'; here it is 'filter'"),
    ],
)
def test_bad_options_of_a_search_are_named(store: SpanVectorStore, options, rule):
    with pytest.raises(InvalidArgument, match=rule):
        store.max_marginal_relevance_search("fox", **options)


def test_a_store_over_a_scoped_view_keeps_to_it(kb: Index):
    a, b = (SpanVectorStore(kb.scoped(F("tenant") == tenant)) for tenant in "ab")
    assert a.add_texts(["The fox sleeps."], ids=["same"]) == b.add_texts(["The owl sleeps."], ids=["same"]) == ["same"]
    assert [document.page_content for document in a.similarity_search("Who sleeps?")] == ["The fox sleeps."]
    assert a.similarity_search("Who sleeps?", filter={"tenant": "b"}) == []
    assert a.get_by_ids(["same"])[0].metadata == {"tenant": "a"}
    a.delete(["same"])
    assert a.get_by_ids(["same"]) == []
    assert len(b.get_by_ids(["same"])) == 1


def test_a_store_over_a_private_view_finds_pseudonyms_by_names(kb: Index, tmp_path: Path):
    store = SpanVectorStore(private_view(kb, Vault.open(tmp_path / "vault", KEY), known={"PERSON": ["Karl von Frisch"]}))
    store.add_texts(["Karl von Frisch decoded the dance."], ids=["frisch"])
    found = store.similarity_search("What did Karl von Frisch decode?")[0]
    assert "Frisch" not in str(found)
    assert "decoded the dance" in found.page_content
    assert "Frisch" not in str(store.get_by_ids([found.id]))
    store.delete([found.id])
    assert kb.count() == 0


def test_langchains_index_adds_changes_and_deletes(store: SpanVectorStore, kb: Index):
    records = InMemoryRecordManager("kb")
    records.create_schema()
    documents = [Document(page_content=text, metadata={"source": f"{text}.txt"}) for text in ("one", "two")]
    options = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
    assert index(documents, records, store, **options)["num_added"] == 2
    assert index(documents, records, store, **options)["num_skipped"] == 2
    changed = index([Document(page_content="three", metadata={"source": "one.txt"})], records, store, **options)
    assert (changed["num_added"], changed["num_deleted"]) == (1, 2)
    assert [info.metadata for info in kb.documents()] == [{"source": "one.txt"}]
    assert asyncio.run(aindex([], records, store, **options))["num_deleted"] == 1
    assert kb.count() == 0


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "hybrid"])
def test_a_self_query_retriever_asks_with_a_filter(store: SpanVectorStore, search_type: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of langchain-community as a whole
        from langchain_community.query_constructors.chroma import ChromaTranslator
    store.add_documents([FOX, OWL])
    asked = StructuredQuery(
        query="Who sleeps?", filter=Comparison(comparator=Comparator.EQ, attribute="tenant", value="b"), limit=None
    )
    retriever = SelfQueryRetriever(
        query_constructor=RunnableLambda(lambda _: asked),
        vectorstore=store,
        search_type=search_type,
        structured_query_translator=ChromaTranslator(),
    )
    assert [document.id.partition("#")[0] for document in retriever.invoke("Who of b sleeps?")] == ["owl"]


def test_a_retriever_of_langchain_searches_the_store(store: SpanVectorStore):
    store.add_documents([FOX, OWL])
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": {"tenant": "b"}})
    assert isinstance(retriever, VectorStoreRetriever)
    assert retriever.tags == ["SpanVectorStore", "IndexEmbeddings"]
    assert retriever.invoke("Who sleeps?") == [OWL]
    threshold = {"score_threshold": 0.99, "k": 2}
    with_threshold = store.as_retriever(search_type="similarity_score_threshold", search_kwargs=threshold)
    assert with_threshold.invoke(FOX.page_content) == [FOX]
    assert store.as_retriever(search_type="mmr").invoke("Who sleeps?") == store.search("Who sleeps?", "mmr")


async def test_a_retriever_of_ours_searches_the_index(store: SpanVectorStore):
    store.add_documents([LONG])
    options = {"k": 2, "filter": {"topic": "animals"}}
    retriever = store.as_retriever(search_type="hybrid", search_kwargs=options, tags=["mine"])
    assert isinstance(retriever, HybridRetriever)
    expected = HybridRetriever(index=store.index, k=2, where={"topic": "animals"}).invoke(QUESTIONS[0])
    assert (retriever.invoke(QUESTIONS[0]), retriever.tags) == (expected, ["mine"])
    assert store.search(QUESTIONS[0], "hybrid", **options) == expected
    assert await store.asearch(QUESTIONS[0], "hybrid", **options) == expected
    assert options == {"k": 2, "filter": {"topic": "animals"}}
    merging = store.as_retriever(search_type="auto-merging", search_kwargs={"threshold": 0.4})
    assert isinstance(merging, AutoMergingRetriever)
    assert merging.threshold == 0.4


def test_an_unknown_kind_of_search_is_named(store: SpanVectorStore):
    with pytest.raises(InvalidArgument, match="did you mean 'hybrid'"):
        store.as_retriever(search_type="hybird")
    with pytest.raises(InvalidArgument, match="HybridRetriever has no option 'lambda_mult'"):
        store.as_retriever(search_type="hybrid", search_kwargs={"lambda_mult": 0.5})
    with pytest.raises(InvalidArgument, match="HybridRetriever has no option 'index'"):
        store.as_retriever(search_type="hybrid", index=store.index)


@pytest.mark.parametrize("search_type", ["hybrid", "bm25", "relevant-segments", "auto-merging", "sentence-window", "tree"])
def test_a_retriever_of_ours_takes_the_names_of_langchain(store: SpanVectorStore, search_type: str):
    theirs = {"k": 2, "filter": {"topic": "animals"}, "score_threshold": 0.1, "fetch_k": 9}
    retriever: Any = store.as_retriever(search_type=search_type, search_kwargs=theirs)
    ours = (retriever.k, retriever.where, retriever.min_score, retriever.candidates)
    assert ours == (2, F("topic") == "animals", 0.1, 9)


@pytest.mark.parametrize(
    ("theirs", "ours", "value"),
    [("filter", "where", {"a": 1}), ("score_threshold", "min_score", 0.1), ("fetch_k", "candidates", 9)],
)
def test_an_option_is_given_by_one_of_its_names(store: SpanVectorStore, theirs: str, ours: str, value: object):
    with pytest.raises(InvalidArgument, match=f"search_kwargs must have either {theirs} or {ours}, got both"):
        store.as_retriever(search_type="hybrid", search_kwargs={theirs: value, ours: value})


@pytest.mark.parametrize(("option", "kind"), [("score_threshold", "similarity_score_threshold"), ("fetch_k", "mmr")])
def test_an_option_of_another_kind_of_search_says_of_which(store: SpanVectorStore, option: str, kind: str):
    retriever = store.as_retriever(search_kwargs={option: 1})
    with pytest.raises(InvalidArgument, match=f"has no option '{option}': that is for search_type='{kind}'"):
        retriever.invoke("Who sleeps?")


@pytest.mark.parametrize("vector", ["hello", ["hello"], [], None, [float("nan")]])
def test_what_is_no_vector_is_refused(store: SpanVectorStore, vector):
    store.add_documents(FOX)  # a single one
    with pytest.raises(InvalidArgument):
        store.similarity_search_by_vector(vector)
    with pytest.raises(InvalidArgument):
        store.similarity_search(["Who sleeps?"])


@pytest.mark.parametrize("index", [None, "kb", leafspan.Vector()])
def test_a_store_needs_an_index(index):
    with pytest.raises(InvalidArgument, match="index must be an Index or a view of one"):
        SpanVectorStore(index)


def test_a_store_of_texts_opens_an_index(tmp_path: Path):
    store = SpanVectorStore.from_documents([FOX, OWL], None, path=tmp_path / "kb", name="animals")
    with store.index:
        assert store.get_by_ids(["owl", "fox"]) == [OWL, FOX]
        assert store.embeddings.embed_query("fox") == pytest.approx(store.embeddings.embed_documents(["fox"])[0])
    with pytest.raises(InvalidDocument, match="reserved"):
        SpanVectorStore.from_texts(["one"], None, [{"doc_id": 1}], path=tmp_path / "other")
    with pytest.raises(InvalidArgument, match="path"):
        SpanVectorStore.from_texts(["one"], None)
    with pytest.raises(InvalidArgument, match="no option 'persist_directory'; here it is 'path'"):
        SpanVectorStore.from_texts(["one"], None, persist_directory="kb")


async def test_the_asynchronous_twins_find_and_do_the_same(tmp_path: Path):
    store = await SpanVectorStore.afrom_texts(
        [BEES, TEA], None, [{"n": 1}, {"n": 2}], ids=["bees", "tea"], path=tmp_path / "kb", splitter=SPLITTER
    )
    with store.index:
        question, vector = QUESTIONS[2], [1.0] * 256
        assert await store.aadd_texts(["The fox sleeps."], ids=["fox"]) == ["fox"]
        assert await store.asimilarity_search(question) == store.similarity_search(question)
        assert await store.asimilarity_search_with_score(question) == store.similarity_search_with_score(question)
        assert await store.asimilarity_search_by_vector(vector) == store.similarity_search_by_vector(vector)
        assert await store.amax_marginal_relevance_search(question) == store.max_marginal_relevance_search(question)
        diverse = store.max_marginal_relevance_search_by_vector(vector)
        assert await store.amax_marginal_relevance_search_by_vector(vector) == diverse
        ids = ["fox", diverse[0].id, "gone"]
        assert await store.aget_by_ids(ids) == store.get_by_ids(ids)
        with pytest.raises(InvalidArgument, match="got the passage id"):
            await store.adelete([store.similarity_search(question, k=1)[0].id])
        assert await store.adelete(["bees", "tea"])
        assert [document.id for document in await store.asimilarity_search(question)] == ["fox"]


@pytest.mark.parametrize("opened", [{}, {"embedder": "wordllama"}, {"embedder": DeterministicFakeEmbedding(size=5)}])
async def test_a_store_has_embeddings_for_the_filters_of_langchain_with_any_embedder(
    tmp_path: Path, opened: dict[str, Any]
):
    with Index.open(tmp_path / "kb", **opened) as kb:
        store = SpanVectorStore(kb)
        assert len(store.embeddings.embed_documents(["before", "any document"])) == 2
        store.add_documents([FOX, OWL])
        chosen = EmbeddingsFilter(embeddings=store.embeddings, k=1).compress_documents([FOX, OWL], OWL.page_content)
        assert [document.page_content for document in chosen] == [OWL.page_content]
        redundant = EmbeddingsRedundantFilter(embeddings=store.embeddings, similarity_threshold=0.999)
        alike = redundant.transform_documents([FOX, OWL, FOX])
        assert sorted(document.page_content for document in alike) == [FOX.page_content, OWL.page_content]
        assert store.embeddings.embed_documents([]) == await store.embeddings.aembed_documents([]) == []
        assert await store.embeddings.aembed_documents(["fox"]) == store.embeddings.embed_documents(["fox"])
        assert await store.embeddings.aembed_query("fox") == store.embeddings.embed_query("fox")


class Served:
    """An embedder with a method of a common name."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]


@pytest.mark.parametrize(
    "embedder",
    [lambda texts: Served().encode(texts), leafspan.Embedder.of(Served()), Served(), MockEmbedding(embed_dim=2)],
    ids=["function", "Embedder", "encode", "LlamaIndex"],
)
def test_a_store_has_the_embeddings_of_every_embedder(tmp_path: Path, embedder: Any):
    with Index.open(tmp_path / "kb", embedder=embedder) as kb:
        embeddings = SpanVectorStore(kb).embeddings
        expected = [[0.5, 0.5]] * 2 if isinstance(embedder, MockEmbedding) else [[3.0, 1.0], [5.0, 1.0]]
        assert embeddings.embed_documents(["fox", "foxes"]) == expected
        assert embeddings.embed_query("fox") == expected[0]


def test_the_embeddings_of_a_private_view_get_no_name(tmp_path: Path):
    embedder = SpyEmbedder()
    with Index.open(tmp_path / "kb", embedder=embedder) as kb:
        view = private_view(kb, Vault.open(tmp_path / "vault.db", KEY), known={"PERSON": ["Alice Smith"]})
        embeddings = SpanVectorStore(view).embeddings
        embeddings.embed_documents(["Alice Smith paid."])
        embeddings.embed_query("Who is Alice Smith?")
    assert any(" paid." in text for text in embedder.seen)
    assert not any("Alice" in text for text in embedder.seen)


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"ids": 3}, "ids must be a string or a list of strings, got 3"),
        ({"ids": [None]}, r"ids must be a string or a list of strings, got \[None\]"),
        ({"include": "documents"}, r"include must be a list, such as \['documents'\], got 'documents'"),
    ],
)
def test_get_refuses_what_is_no_list(tmp_path, asked, rule):
    with Index.open(tmp_path / "kb") as index, pytest.raises(InvalidArgument, match=rule):
        SpanVectorStore(index).get(**asked)


def test_get_takes_an_iterator_of_ids(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(text, id=id_) for id_, text in (("a", "Tea."), ("b", "Bees."), ("c", "Salt."))])
        assert SpanVectorStore(index).get(iter(["c", "a"]))["ids"] == ["a", "c"]
