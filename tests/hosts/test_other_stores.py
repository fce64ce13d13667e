"""A host's retrievers over other stores, as sources of strategies that take any retriever."""

from __future__ import annotations

import warnings

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode

import langchain_ext
import llamaindex_ext
from leafspan import Index, InvalidArgument, Vector
from leafspan.errors import NotALeaf
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.hosts.contract import HOSTS, Host

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community is being retired
    from langchain_community.retrievers import BM25Retriever, TFIDFRetriever

TEXTS = ["Bees dance to tell where flowers are.", "Green tea is heated.", "Salt was traded at the harbour."]


@pytest.fixture(params=HOSTS, ids=repr)
def host(request) -> Host:
    return request.param


def two_of(host: Host):
    """Two retrievers of the host's own, which share the result ``1``; the second has no scores."""
    first = host.retriever("First", lambda q: [host.result("1", TEXTS[0], 0.9), host.result("2", TEXTS[1], 0.4)])
    second = host.retriever("Second", lambda q: [host.result("3", TEXTS[2]), host.result("1", TEXTS[0])])
    return first, second


async def test_an_ensemble_needs_no_index_for_retrievers_of_other_stores(host: Host):
    ensemble = host.package.EnsembleRetriever(retrievers=two_of(host), explain=True)
    found = await host.both(ensemble, QUESTIONS[0])
    assert [(result.id, result.text) for result in found] == [("1", TEXTS[0]), ("3", TEXTS[2]), ("2", TEXTS[1])]
    assert found[0].score == pytest.approx((1 / 61 + 1 / 62) / 2)
    assert found[0].trace[-1] == (
        "the document: rrf gave 0.016 = 0.008 from First (rank 1, weight 0.50) + 0.008 from Second (rank 2, weight 0.50)"
    )


async def test_an_ensemble_fuses_an_index_and_another_store(host: Host, shared_index: Index):
    ensemble = host.make("EnsembleRetriever", shared_index, retrievers=[Vector(), *two_of(host)], k=6)
    found = await host.both(ensemble, QUESTIONS[0])
    assert {"1", "2", "3"} < {result.id for result in found}
    assert {result.document for result in found if "#" in result.id} <= {"bees", "tea", "harbour"}


async def test_phrasings_ask_another_store(host: Host):
    multi = host.package.MultiQueryRetriever(base=two_of(host)[0], phrasings=["another"])
    assert [result.id for result in await host.both(multi, "one")] == ["1", "2"]


async def test_another_store_is_asked_something_else(host: Host):
    asked = []

    def ask(question):
        asked.append(question)
        return [host.result("1", TEXTS[0], 0.9)]

    retriever = host.package.RewriteQueryRetriever(
        base=host.retriever("Store", ask), llm=host.model(lambda prompt: "bees\nflowers"), how="decompose"
    )
    [found] = await host.both(retriever, "one")
    assert (found.id, found.score) == ("1", pytest.approx((1 / 61 + 1 / 61 + 1 / 61) / 3))
    assert set(asked) == {"one", "bees", "flowers"}


async def test_results_of_another_store_are_reordered(host: Host):
    store = two_of(host)[0]
    by_length = host.package.RerankRetriever(base=store, rerank=lambda question, texts: [-len(text) for text in texts])
    assert [(result.id, result.score) for result in await host.both(by_length, "one")] == [("2", -20), ("1", -37)]
    diverse = host.package.RerankRetriever(base=store, diversity=0.1)
    assert [result.id for result in await host.both(diverse, TEXTS[1])] == ["2", "1"]


async def test_results_of_another_store_grow_old_without_a_date(host: Host):
    retriever = host.package.DecayRetriever(base=two_of(host)[0], missing=0.5, explain=True)
    found = await host.both(retriever, "one")
    assert [(result.id, result.score) for result in found] == [("1", 0.45), ("2", 0.2)]
    assert found[0].trace[-1] == "Decay: no date gave the factor 0.500, and the score 0.900 became 0.450"


def test_what_needs_leaves_refuses_other_results_by_name(host: Host, shared_index: Index):
    window = host.make("SentenceWindowRetriever", shared_index, base=two_of(host)[0])
    with pytest.raises(NotALeaf, match=r"the results of First must be leaves of this index, but number 1 is not: id '1'"):
        host.ask(window, QUESTIONS[0])


def test_a_retriever_that_loses_the_ids_of_its_leaves_is_refused_for_that(shared_index: Index):
    leaves = TFIDFRetriever.from_documents(langchain_ext.leaf_documents(shared_index))
    assert leaves.invoke(QUESTIONS[0])[0].id is None
    window = langchain_ext.SentenceWindowRetriever(index=shared_index, base=leaves)
    message = (
        r"the results of TFIDFRetriever must be leaves .* number 1 is not: no id, text '.*; leafspan knows leaves by id"
    )
    with pytest.raises(NotALeaf, match=message):
        window.invoke(QUESTIONS[0])


def test_what_searches_leaves_says_that_it_needs_an_index(host: Host):
    with pytest.raises(InvalidArgument, match="Vector must have an index to search, but this call has no index"):
        host.ask(host.package.EnsembleRetriever(retrievers=[Vector(), two_of(host)[0]]), QUESTIONS[0])
    with pytest.raises(InvalidArgument, match="must have an index to search"):
        host.ask(host.package.SpanRetriever(), QUESTIONS[0])


def test_documents_of_langchain_come_back_as_they_were():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(id=str(n), page_content=text, metadata={"n": n}) for n, text in enumerate(TEXTS)])
    words = BM25Retriever.from_texts(TEXTS, metadatas=[{"n": n} for n in range(3)])  # which drops ids
    rare = TFIDFRetriever.from_texts(TEXTS, metadatas=[{"n": n} for n in range(3)])
    ensemble = langchain_ext.EnsembleRetriever(retrievers=[store.as_retriever(), words, rare])
    found = ensemble.invoke("harbour salt")
    assert sorted((document.id, document.page_content, document.metadata["n"]) for document in found) == [
        (str(n), text, n) for n, text in enumerate(TEXTS)
    ]
    assert all(set(document.metadata) == {"n", "score"} for document in found)
    nameless = langchain_ext.EnsembleRetriever(retrievers=[words, rare]).invoke("harbour salt")
    assert len({document.id for document in nameless}) == 3
    assert all(document.id.startswith("text-") for document in nameless)


def test_nodes_of_llamaindex_come_back_as_they_were():
    index = VectorStoreIndex(
        [TextNode(id_=str(n), text=text, metadata={"n": n}) for n, text in enumerate(TEXTS)],
        embed_model=MockEmbedding(embed_dim=4),
    )
    host = HOSTS[1]
    image = ImageNode(id_="picture", text="A picture.", image_url="http://example.org/a.png")
    pictures = host.retriever("Pictures", lambda q: [NodeWithScore(node=image, score=0.5)])
    ensemble = llamaindex_ext.EnsembleRetriever(retrievers=[index.as_retriever(similarity_top_k=3), pictures])
    found = ensemble.retrieve("harbour salt")
    assert {node.node_id for node in found} == {"0", "1", "2", "picture"}
    assert next(node.node for node in found if node.node_id == "picture") is image
    assert {tuple(node.metadata) for node in found if node.node_id != "picture"} == {("n",)}


def test_another_index_of_ours_is_another_store(host: Host, shared_index: Index, tmp_path):
    with Index.open(tmp_path / "other") as other:
        other.add({"id": "moths", "text": "Moths fly at night. Bees do not."})
        elsewhere = host.make("VectorRetriever", other)
        ensemble = host.make("EnsembleRetriever", shared_index, retrievers=[Vector(), elsewhere], k=4)
        found = host.ask(ensemble, "moths and bees")
        moths = [result for result in found if result.document == "moths"]
        assert len(moths) == 1
        assert (moths[0].metadata["start"], moths[0].metadata["end"]) == (0, len(moths[0].text))


def test_results_of_another_index_are_none_of_this_one_even_with_the_same_ids(host: Host, shared_index: Index, tmp_path):
    leaf = shared_index.leaves("tea")[0]
    with Index.open(tmp_path / "copy", splitter=SPLITTER) as copy:
        copy.add(DOCUMENTS)
        elsewhere = host.make("VectorRetriever", copy, where={"topic": "food"}, k=1)
        view = shared_index.scoped({"topic": "food"})
        for searched in (shared_index, view):
            ensemble = host.make("EnsembleRetriever", searched, retrievers=[elsewhere, elsewhere], explain=True)
            (result,) = host.ask(ensemble, "How is green tea made?")
            assert result.document == "tea"
            assert result.id.rpartition("#")[0] == leaf.id.rpartition("#")[0]
            assert result.trace[0].startswith("VectorRetriever found the document")
        hidden = host.make("EnsembleRetriever", shared_index.scoped({"topic": "animals"}), retrievers=[elsewhere] * 2)
        assert host.ask(hidden, "How is green tea made?") == []


def test_a_view_of_the_same_index_finds_leaves_of_it(host: Host, shared_index: Index):
    part = host.make("VectorRetriever", shared_index.scoped({"topic": "food"}), k=2)
    windows = host.make("SentenceWindowRetriever", shared_index, base=part)
    assert {result.document for result in host.ask(windows, QUESTIONS[0])} == {"tea"}


def test_a_store_and_an_index_are_refused_with_what_makes_a_retriever_of_them(host: Host, shared_index: Index):
    stores = {"LangChain": InMemoryVectorStore(DeterministicFakeEmbedding(size=4)), "LlamaIndex": vector_index()}
    for thing, method in ((stores[repr(host)], "as_retriever"), (shared_index, "as_strategy")):
        error = host.refusal(lambda thing=thing: host.package.RewriteQueryRetriever(base=thing, how=str.upper))
        assert str(error).startswith(f"base must be a strategy or a {host!r} retriever, got ")
        assert str(error).endswith(f"; its {method}() makes one")


def vector_index() -> VectorStoreIndex:
    nodes = [TextNode(text=text, id_=str(number)) for number, text in enumerate(TEXTS)]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))


async def test_the_vector_of_another_store_is_no_vector_of_ours(shared_index: Index):
    theirs = vector_index().as_retriever(similarity_top_k=3)  # writes its vector into the bundle that it is asked
    ours = llamaindex_ext.VectorRetriever(shared_index, similarity_top_k=1)
    both = llamaindex_ext.EnsembleRetriever(retrievers=[theirs, ours])
    asked = QueryBundle(QUESTIONS[0])
    expected = {"0", "1", "2", ours.retrieve(QUESTIONS[0])[0].node_id}
    assert {found.node_id for found in both.retrieve(asked)} == expected
    assert {found.node_id for found in await both.aretrieve(asked)} == expected
    chosen = llamaindex_ext.RouterRetriever(retrievers={"a": theirs, "b": ours}, choose=lambda question: ["a", "b"])
    assert {found.node_id for found in chosen.retrieve(asked)} == expected
    assert asked.embedding is None
