"""An index as a LlamaIndex vector store, beside LlamaIndex's own stores."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    Node,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
    VectorStoreQuery,
)
from llama_index.vector_stores.chroma import ChromaVectorStore

import leafspan
from leafspan import F, Index, InvalidArgument, LeafspanError
from leafspan.errors import InvalidDocument
from leafspan.private import Vault, private_view
from llamaindex_ext import HybridRetriever, SpanNodeParser, SpanVectorStore
from tests import warm
from tests.corpus import BEES, QUESTIONS, SPLITTER
from tests.private.views.people import KEY, KNOWN, is_in_the_clear
from tests.profiles import examples

WORDS = ["fox", "owl", "tea", "salt", "noon", "harbour", "dance", "honey"]
_DIRECTIONS = dict(zip(WORDS, np.random.default_rng(7).normal(size=(len(WORDS), 8)), strict=True))


def embed(texts: list[str]) -> list[list[float]]:
    return [list(sum((_DIRECTIONS[word] for word in WORDS if word in text), np.full(8, 0.1))) for text in texts]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "kb", embedder=embed, splitter=SPLITTER) as opened:
        yield opened


@pytest.fixture
def store(kb: Index) -> SpanVectorStore:
    return SpanVectorStore(kb)


def text(id_: str, words: str, source: str | None = None, **metadata: Any) -> TextNode:
    related = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
    return TextNode(id_=id_, text=words, metadata=metadata, relationships=related, embedding=embed([words])[0])


FOX = text("fox", "The fox sleeps at noon.", "animals", topic="animals", year=2020)
OWL = text("owl", "The owl sleeps at noon.", "animals", topic="animals", year=2024)
TEA = text("tea", "The tea is hot at noon.", "drinks", topic="food")
THREE = [FOX, OWL, TEA]


def asked(question: str | None = "Is it noon?", k: int = 10, **options: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_str=question, similarity_top_k=k, **options)


def by(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=FilterOperator(operator))])


# Nodes


def everything() -> list[BaseNode]:
    """Nodes of all classes, with every field that they may have."""
    document = Document(id_="file", text="Of a file.", metadata={"title": "Foxes", "path": "a\\nb"})
    full = TextNode(
        id_="full",
        text="The fox\nsleeps.",
        metadata={"b": None, "a": [1, 2], "nested": {"x": {"y": "z\n"}, "empty": []}, "title": "Foxes", "quoted": '"\\"'},
        excluded_embed_metadata_keys=["a"],
        excluded_llm_metadata_keys=["b", "title"],
        metadata_template="{key}={value}",
        metadata_separator="; ",
        text_template="{content} ({metadata_str})",
        mimetype="text/markdown",
        start_char_idx=3,
        end_char_idx=19,
        relationships={
            NodeRelationship.SOURCE: document.as_related_node_info(),
            NodeRelationship.PREVIOUS: RelatedNodeInfo(node_id="p"),
            NodeRelationship.NEXT: RelatedNodeInfo(node_id="n", metadata={"own": "of the next"}, hash="h"),
            NodeRelationship.PARENT: RelatedNodeInfo(node_id="parent"),
            NodeRelationship.CHILD: [RelatedNodeInfo(node_id="1"), RelatedNodeInfo(node_id="2")],
        },
    )
    return [
        full,
        document,
        IndexNode(id_="index", text="The owl.", index_id="full", obj=TextNode(id_="inner", text="The inner node.")),
        ImageNode(id_="image", text="A picture of tea.", image_path="tea.png", metadata={"topic": "food"}),
        Node(
            id_="node",
            text_resource=MediaResource(text="Salt.", mimetype="text/x-salt"),
            image_resource=MediaResource(path="a"),
        ),
        TextNode(id_="empty", text=""),
        Document(id_="blank", text=""),
    ]


@pytest.mark.parametrize("split", [False, True])
async def test_nodes_of_all_classes_come_back_as_they_were(kb: Index, split: bool):
    store, nodes = SpanVectorStore(kb, split=split), everything()
    assert store.add(nodes) == [node.node_id for node in nodes]
    assert nodes == everything()  # unchanged
    back = store.get_nodes([node.node_id for node in nodes])
    assert [(type(node), node) for node in back] == [(type(node), node) for node in nodes]
    assert [node.hash for node in back] == [node.hash for node in nodes]
    assert sorted(await store.aget_nodes(), key=str) == sorted(nodes, key=str)
    found = store.query(asked("Of a fox, an owl, tea or salt?"))
    assert sorted(found.nodes or (), key=str) == sorted(nodes[:5], key=str)  # a text without words is not found
    assert found.ids == [node.node_id for node in found.nodes or ()]
    assert kb.get("index").metadata["reference"] == "full"


def test_what_is_kept_of_a_node_is_hidden_from_models_and_from_other_retrievers(store: SpanVectorStore, kb: Index):
    store.add(everything())
    assert set(kb.get("full").hidden) == {"_node", "_node_type", "ref_doc_id", "title"}
    for found in HybridRetriever(kb).retrieve("Of a fox, an owl, tea or salt?"):
        assert not {"_node", "_node_type", "ref_doc_id"} & {*found.metadata, *found.node.excluded_llm_metadata_keys}


def test_no_text_is_stored_twice(store: SpanVectorStore, kb: Index):
    file = Document(id_="file", text="The fox sleeps.", metadata={"about": "foxes"})
    part = TextNode(id_="part", text="The fox", metadata={"about": "foxes"})
    part.relationships[NodeRelationship.SOURCE] = file.as_related_node_info()
    store.add([file, part])
    for id_ in ("file", "part"):
        kept = str(kb.get(id_).metadata["_node"])
        assert ("fox " in kept, kept.count("foxes")) == (False, 1)
    assert store.get_nodes(["file", "part"]) == [file, part]


def test_a_node_of_a_known_id_replaces_the_other(store: SpanVectorStore, kb: Index):
    store.add(THREE)
    store.add([text("fox", "The fox eats honey.", "fables")])
    assert [node.get_content() for node in store.get_nodes(["fox"])] == ["The fox eats honey."]
    assert store.add([text("new", "One."), FOX, text("new", "Two.")]) == ["new", "fox", "new"]
    assert (kb.count(), store.get_nodes(["new"])[0].get_content()) == (4, "Two.")
    assert (store.add([]), kb.count()) == ([], 4)


def test_what_cannot_be_kept_is_refused_and_nothing_is_added(store: SpanVectorStore, kb: Index):
    picture = ImageNode(id_="p", image_path="tea.png")
    of_bytes = Document(id_="b", text="A picture.", image_resource=MediaResource(data=b"abc", mimetype="image/png"))
    for node, rule in ((picture, "must have a text"), (of_bytes, "by a path or url, got bytes")):
        with pytest.raises(InvalidArgument, match=rule):
            store.add([FOX, node])
    with pytest.raises(InvalidDocument, match=r"'score' of document .* is reserved"):
        store.add([FOX, text("s", "One.", score=1)])
    assert kb.count() == 0


def test_of_a_longer_node_passages_are_found_if_the_index_cuts_it(kb: Index):
    store = SpanVectorStore(kb, split=True)
    long = text("long", BEES, "file", topic="animals")
    store.add([long])
    passage = (store.query(asked(QUESTIONS[0], k=1, mode="sparse")).nodes or [])[0]
    assert isinstance(passage, TextNode)
    assert {"topic": "animals", "doc_id": "long", "start": passage.start_char_idx}.items() <= passage.metadata.items()
    assert not {"_node", "_node_type", "ref_doc_id"} & {*passage.metadata, *passage.excluded_llm_metadata_keys}
    assert passage.text == BEES[passage.start_char_idx : passage.end_char_idx] != BEES
    assert store.get_nodes([passage.node_id, "long"]) == [passage, long.model_copy(update={"embedding": None})]
    whole = SpanVectorStore(kb)
    whole.add([long])  # again, as one leaf
    assert whole.query(asked(QUESTIONS[0])).nodes == whole.get_nodes(["long"])
    with pytest.raises(InvalidArgument, match="passage id"):
        store.delete_nodes([passage.node_id])


def test_what_was_added_to_the_index_itself_is_found_too(store: SpanVectorStore, kb: Index):
    kb.add(leafspan.Document("own", "The fox sleeps.", "Foxes", {"topic": "animals"}, hidden=("topic",)))
    [found] = store.query(asked(doc_ids=["own"])).nodes or []
    assert (found.metadata["doc_id"], found.ref_doc_id) == ("own", "own")
    [whole] = store.get_nodes(["own"])
    assert (whole.metadata, whole.excluded_llm_metadata_keys) == ({"title": "Foxes", "topic": "animals"}, ["topic"])
    store.delete("own")
    assert kb.count() == 0


# LlamaIndex's own stores


def peers() -> list[Any]:
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(uuid.uuid4().hex, metadata={"hnsw:space": "cosine"})
    return [SimpleVectorStore(), ChromaVectorStore(chroma_collection=collection)]


TEXTS, NUMBERS = ["a", "b", "ab", "AB"], [0, 1, 2, 1.5]
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "word": st.sampled_from(TEXTS),
        "number": st.sampled_from(NUMBERS),
        "tags": st.lists(st.sampled_from(TEXTS), min_size=1),
    },
)


@st.composite
def singles(draw: Any) -> MetadataFilter:
    operator = draw(st.sampled_from(FilterOperator))
    key = draw(st.sampled_from(["word", "number"]))
    values = TEXTS if key == "word" else NUMBERS
    value: Any = draw(st.sampled_from(values))
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        value = draw(st.lists(st.sampled_from(TEXTS), max_size=3)) if key == "word" else [1, 2]
    elif operator in (FilterOperator.ANY, FilterOperator.ALL):
        key, value = "tags", draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=2))
    elif operator in (FilterOperator.CONTAINS, FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        key, value = "tags" if operator is FilterOperator.CONTAINS else "word", draw(st.sampled_from(TEXTS))
    elif operator is FilterOperator.IS_EMPTY:
        value = None
    return MetadataFilter(key=key, value=value, operator=operator)


def test_filters_find_what_they_find_in_llamaindexs_simple_store(store: SpanVectorStore):
    @examples(100, fast=25)
    @given(
        st.lists(METADATA, min_size=1, max_size=5),
        st.lists(singles(), min_size=1, max_size=3),
        st.sampled_from(FilterCondition),
    )
    def law(metadata: list[dict[str, Any]], parts: list[Any], condition: FilterCondition) -> None:
        nodes = [text(str(number), f"noon {number}", **each) for number, each in enumerate(metadata)]
        simple = SimpleVectorStore()
        simple.add(nodes)
        store.clear()
        store.add(nodes)
        filters = MetadataFilters(filters=parts, condition=condition)
        theirs = simple.query(VectorStoreQuery(query_embedding=embed(["noon"])[0], similarity_top_k=9, filters=filters)).ids
        assert sorted(store.query(asked(k=9, filters=filters)).ids or ()) == sorted(theirs or ())
        assert sorted(node.node_id for node in store.get_nodes(filters=filters)) == sorted(theirs or ())

    law()


@pytest.mark.parametrize("peer", [0, 1], ids=["simple", "chroma"])
@pytest.mark.parametrize("key", ["ref_doc_id", "doc_id", "document_id"])
def test_filters_on_the_source_are_as_in_llamaindexs_stores(store: SpanVectorStore, key: str, peer: int):
    theirs = peers()[peer]
    for each in (theirs, store):
        each.add([*THREE, text("lone", "It is noon.")])
    operators: list[tuple[str, Any]] = [("==", "animals"), ("!=", "animals"), ("in", ["drinks", "x"]), ("nin", ["drinks"])]
    for operator, value in operators + [("is_empty", None), ("text_match", "nimal")] * (peer == 0):
        filters = by(key, value, operator)
        vector = embed(["noon"])[0]
        expected = theirs.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=9, filters=filters)).ids
        assert sorted(store.query(asked(filters=filters)).ids or ()) == sorted(expected)


def test_nested_filters_are_as_in_llamaindexs_chroma_store(store: SpanVectorStore):
    chroma = peers()[1]
    for each in (chroma, store):
        each.add(THREE)
    for outer in (FilterCondition.AND, FilterCondition.OR):
        new = MetadataFilters(
            filters=[*by("year", 2021, ">").filters, *by("topic", "food").filters], condition=FilterCondition.OR
        )
        filters = MetadataFilters(filters=[new, *by("topic", "animals").filters], condition=outer)
        expected = chroma.query(
            VectorStoreQuery(query_embedding=embed(["noon"])[0], similarity_top_k=9, filters=filters)
        ).ids
        assert sorted(store.query(asked(filters=filters)).ids or ()) == sorted(expected) != []


def test_the_nearest_nodes_are_those_of_llamaindexs_simple_store(store: SpanVectorStore):
    nodes = [text(f"{a}-{b}", f"{a} {b}") for a in WORDS for b in WORDS if a < b]
    simple = SimpleVectorStore()
    for each in (simple, store):
        each.add(nodes)
    for question in ("the fox and the owl at noon", "salt and honey in the tea"):
        vector = embed([question])[0]
        theirs = simple.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=6))
        for query in (asked(question, k=6), VectorStoreQuery(query_embedding=vector, similarity_top_k=6)):
            ours = store.query(query)
            assert ours.ids == theirs.ids
            assert ours.similarities == pytest.approx(theirs.similarities, abs=1e-5)
        for threshold, same in ((0.3, 2), (0.5, 2), (1.0, 6)):  # LlamaIndex compares with the result before only
            query = asked(question, k=6, mode="mmr")
            query.query_embedding = vector
            expected = (simple.query(query, mmr_threshold=threshold).ids or [])[:same]
            assert (store.query(query, mmr_threshold=threshold, mmr_prefetch_k=len(nodes)).ids or [])[:same] == expected
            assert (store.query(query, mmr_threshold=threshold, mmr_prefetch_factor=5).ids or [])[:same] == expected


@pytest.mark.parametrize("peer", [0, 1], ids=["simple", "chroma"])
def test_the_same_nodes_are_deleted_as_in_llamaindexs_stores(store: SpanVectorStore, kb: Index, peer: int):
    for delete, left in (
        (lambda each: each.delete("animals"), ["tea"]),
        (lambda each: each.delete("gone"), ["fox", "owl", "tea"]),
        (lambda each: each.delete_nodes(["owl", "gone"]), ["fox", "tea"]),
        (lambda each: each.delete_nodes(["owl", "tea"], by("topic", "animals")), ["fox", "tea"]),
        (lambda each: each.clear(), []),
    ):
        theirs = peers()[peer]
        store.clear()
        for each in (theirs, store):
            each.add(THREE)
            delete(each)
        found = theirs.query(VectorStoreQuery(query_embedding=embed(["noon"])[0], similarity_top_k=9)).ids
        assert sorted(store.query(asked()).ids or ()) == sorted(found) == left
    store.clear()
    store.add(THREE)
    store.delete_nodes(filters=by("topic", "food"))
    store.delete_nodes([])
    assert [info.id for info in kb.documents()] == ["fox", "owl"]


def test_varied_results_come_from_four_times_as_many(store: SpanVectorStore):
    store.add([text(f"{a}-{b}", f"{a} {b}") for a in WORDS for b in WORDS if a < b])
    query = asked("the fox and the owl at noon", k=3, mode="mmr")
    near = store.query(asked(query.query_str, k=3))
    assert store.query(query) == store.query(query, mmr_prefetch_factor=4) == store.query(query, mmr_prefetch_k=12)
    assert store.query(query).ids != near.ids
    assert sorted(store.query(query, mmr_prefetch_k=1).ids or ()) == sorted(near.ids or ())
    query.mmr_threshold = 1.0
    assert store.query(query).ids == near.ids


# LlamaIndex's programs


@pytest.mark.parametrize("awaited", [False, True])
async def test_an_ingestion_pipeline_adds_changes_and_deletes(store: SpanVectorStore, kb: Index, awaited: bool):
    pipeline = IngestionPipeline(
        transformations=[SpanNodeParser(leaf_words=12, parent_words=()), store.embed_model],
        vector_store=store,
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    )

    async def run(**texts: str) -> dict[str | None, str]:
        documents = [Document(id_=id_, text=text, metadata={"topic": id_}) for id_, text in texts.items()]
        if awaited:
            await pipeline.arun(documents=documents)
        else:
            pipeline.run(documents=documents)
        nodes = sorted(store.get_nodes(), key=lambda node: getattr(node, "start_char_idx", 0))
        return {source: "".join(node.get_content() for node in nodes if node.ref_doc_id == source) for source in texts}

    assert await run(bees=BEES, fox="The fox.") == {"bees": BEES, "fox": "The fox."}
    assert kb.count() > 4
    assert await run(fox="The fox eats.") == {"fox": "The fox eats."}
    assert kb.count() == 1
    [node] = store.get_nodes()
    assert (node.embedding, node.metadata) == (None, {"topic": "fox"})


def test_a_document_that_was_not_parsed_is_its_own_source(store: SpanVectorStore, kb: Index):
    pipeline = IngestionPipeline(transformations=[MockEmbedding(embed_dim=1)], vector_store=store)
    pipeline.run(documents=[Document(id_="fox", text="The fox.")])
    assert store.get_nodes() == [Document(id_="fox", text="The fox.")]
    assert store.query(asked(doc_ids=["fox"])).ids == ["fox"]
    store.delete("fox")
    assert kb.count() == 0


def test_an_embedding_of_another_model_is_not_used(store: SpanVectorStore):
    nodes = [node.model_copy(update={"embedding": [1.0, 2.0]}) for node in THREE]
    index = VectorStoreIndex(
        nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=MockEmbedding(embed_dim=3)
    )
    retriever = index.as_retriever(similarity_top_k=1)
    [found] = retriever.retrieve("What is hot tea?")
    assert (found.node_id, found.score) == (
        "tea",
        pytest.approx(store.query(asked("What is hot tea?", k=1)).similarities[0]),
    )
    bundle = QueryBundle("What is hot tea?")
    retriever.retrieve(bundle)
    assert bundle.embedding is None  # the host has not embedded it
    bundle = QueryBundle("What is hot tea?", embedding=[1.0, 2.0])
    assert [each.node_id for each in retriever.retrieve(bundle)] == ["tea"]


async def test_the_embed_model_embeds_as_the_index_does(store: SpanVectorStore, kb: Index):
    model = store.embed_model
    texts = ["the fox", "the owl"]
    assert model.get_text_embedding_batch(texts) == await model.aget_text_embedding_batch(texts)
    assert model.get_text_embedding("the fox") == pytest.approx(embed(["the fox"])[0])
    assert model.get_query_embedding("the fox") == await model.aget_query_embedding("the fox")
    assert await model.aget_text_embedding("the fox") == pytest.approx(embed(["the fox"])[0])
    assert (model.class_name(), "index" in model.to_dict(), store.client) == ("IndexEmbedding", False, kb)
    assert "embed" in model.model_name
    store.add(THREE)
    vector = model.get_query_embedding("What is hot tea?")
    assert store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=3)) == store.query(
        asked("What is hot tea?", k=3)
    )


def test_the_embed_model_embeds_questions_as_questions(tmp_path: Path):
    class OfTwoKinds:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [0.0, 1.0]

    with Index.open(tmp_path / "kb", embedder=OfTwoKinds()) as kb:
        model = SpanVectorStore(kb).embed_model
        assert (model.get_query_embedding("fox"), model.get_text_embedding("fox")) == ([0.0, 1.0], [1.0, 0.0])


async def test_an_index_of_llamaindex_is_filled_changed_and_asked(store: SpanVectorStore, kb: Index, tmp_path: Path):
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex(THREE, storage_context=context, embed_model=store.embed_model)
    index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
    index.insert_nodes([text("salt", "The salt is cheap at noon.", "prices")])
    await index.ainsert_nodes([text("honey", "The honey is cheap at noon.", "prices")])
    for mode in ("default", "sparse", "text_search", "hybrid", "mmr"):
        retriever = index.as_retriever(
            similarity_top_k=2, vector_store_query_mode=mode, filters=by("topic", "animals"), doc_ids=["animals"]
        )
        found = retriever.retrieve("Where does the fox sleep at noon?")
        assert [each.node_id for each in found] == ["fox", "owl"]
        assert found == await retriever.aretrieve("Where does the fox sleep at noon?")
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=1, vector_store_query_mode="hybrid")
    [source] = engine.query("What is the price of salt?").source_nodes
    assert (source.node.node_id, source.node.ref_doc_id) == ("salt", "prices")
    index.delete_ref_doc("animals")
    index.delete_nodes(["tea"])
    await index.adelete_ref_doc("gone")
    assert [info.id for info in kb.documents()] == ["honey", "salt"]
    context.persist(str(tmp_path / "context"))
    assert len(store.get_nodes()) == 2
    await store.aclear()
    assert kb.count() == 0


def test_index_nodes_beside_texts_hide_no_text(store: SpanVectorStore):
    summary = IndexNode(id_="summary", text="Who is there at noon?", index_id="fox")
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex([*THREE, summary], storage_context=context, embed_model=store.embed_model)
    assert {each.node_id for each in index.as_retriever(similarity_top_k=9).retrieve("Is it noon?")} == {
        "fox",
        "owl",
        "tea",
        "summary",
    }
    explicit = VectorIndexRetriever(index, node_ids=["fox", "summary", "gone"], similarity_top_k=9)
    assert {each.node_id for each in explicit.retrieve("Is it noon?")} == {"fox", "summary"}


async def test_the_awaited_methods_do_the_same(store: SpanVectorStore, kb: Index):
    assert await store.async_add(THREE) == ["fox", "owl", "tea"]
    assert await store.aquery(asked(node_ids=["owl"])) == store.query(asked(node_ids=["owl"]))
    assert await store.aget_nodes(["tea"], by("topic", "food")) == store.get_nodes(["tea"], by("topic", "food"))
    assert await store.aget_nodes(filters=MetadataFilters(filters=[])) == store.get_nodes()
    await store.adelete("drinks")
    await store.adelete_nodes(["owl"])
    assert [info.id for info in kb.documents()] == ["fox"]


# Modes and errors


def test_alpha_is_the_share_of_the_vectors(store: SpanVectorStore):
    store.add(THREE)
    question = "What is hot?"
    for alpha, mode in ((0, "sparse"), (1.0, "default")):
        assert store.query(asked(question, mode="hybrid", alpha=alpha)) == store.query(asked(question, mode=mode))
    low, high = (store.query(asked(question, mode="hybrid", alpha=alpha)).similarities for alpha in (0.1, 0.9))
    assert low != high
    assert store.query(asked(question, mode="hybrid", alpha=0.3)) == store.query(asked(question, mode="hybrid"))


def test_numbers_of_results_of_a_mode_come_first(store: SpanVectorStore):
    store.add(THREE)
    numbers, modes = {"sparse_top_k": 2, "hybrid_top_k": 1}, ("default", "sparse", "text_search", "hybrid")
    counts = {mode: len(store.query(asked(mode=mode, **numbers)).ids or ()) for mode in modes}
    assert counts == {"default": 3, "sparse": 2, "text_search": 2, "hybrid": 1}
    assert store.query(asked(doc_ids=[], node_ids=[])) == store.query(asked())


@pytest.mark.parametrize(
    ("query", "options", "rule"),
    [
        (asked(mode="svm"), {}, "mode must be one of 'default', 'sparse', 'text_search', 'hybrid', 'mmr', got 'svm'"),
        (VectorStoreQuery(), {}, "a query must be a text that is not blank, or a vector of numbers, got None"),
        (asked("  "), {}, "must be a text that is not blank"),
        (VectorStoreQuery(query_embedding=[1.0]), {}, "a query's vector must have 8 dimensions, got 1"),
        (VectorStoreQuery(query_embedding=[1.0] * 8, mode="sparse"), {}, "BM25 needs the query as text"),  # type: ignore[arg-type]
        (asked(k=0), {}, "similarity_top_k must be a whole number >= 1, got 0"),
        (asked(mode="hybrid", alpha=2), {}, r"alpha must be a number in \[0, 1\], got 2"),
        (asked(mode="mmr"), {"mmr_threshold": 2}, r"mmr_threshold must be a number in \[0, 1\], got 2"),
        (asked(mode="mmr"), {"mmr_prefetch_factor": "x"}, "mmr_prefetch_factor must be a number >= 1, got 'x'"),
        (asked(mode="mmr"), {"mmr_treshold": 1}, "no option 'mmr_treshold'; did you mean 'mmr_threshold'?"),
        (asked(), {"mmr_threshold": 1}, "mode 'default' of SpanVectorStore has no option 'mmr_threshold'"),
        (asked(filters={"a": 1}), {}, "filters must be LlamaIndex's MetadataFilters, got {'a': 1}"),
        (asked(doc_ids="ab"), {}, "doc_ids must be a list of strings, got 'ab'"),
        (asked(node_ids=[1]), {}, r"node_ids must be a list of strings, got \[1\]"),
        ("fox", {}, "query must be a VectorStoreQuery, got 'fox'"),
    ],
)
async def test_a_query_that_cannot_be_asked_is_an_error_of_leafspan(store: SpanVectorStore, query, options, rule):
    store.add([FOX])
    with pytest.raises(InvalidArgument, match=rule):
        store.query(query, **options)
    with pytest.raises(InvalidArgument, match=rule):
        await store.aquery(query, **options)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda store: store.add("fox"), "nodes must be a list of LlamaIndex nodes, got 'fox'"),
        (lambda store: store.add(FOX), "nodes must be a list of LlamaIndex nodes, got TextNode"),
        (lambda store: store.add([FOX, leafspan.Document("a", "b")]), "nodes must be a list of LlamaIndex nodes"),
        (lambda store: store.add([FOX], batch=3), "add of SpanVectorStore has no option 'batch'"),
        (lambda store: store.delete(None), "ref_doc_id must be a string, got None"),
        (lambda store: store.delete("a", batch=3), "delete of SpanVectorStore has no option 'batch'"),
        (lambda store: store.delete_nodes(), "give node_ids or filters, got neither: to delete all nodes, use clear()"),
        (lambda store: store.delete_nodes("fox"), r"ids must be a list of strings, got 'fox'; did you mean \['fox'\]\?"),
        (lambda store: store.delete_nodes("fox", by("a", 1)), "node_ids must be a list of strings, got 'fox'"),
        (lambda store: store.delete_nodes(filters=MetadataFilters(filters=[])), "where must have a condition"),
        (lambda store: store.get_nodes([1]), "ids must be a list of strings"),
        (lambda _: SpanVectorStore(None), "index must be an Index or a view of one, got None"),  # type: ignore[arg-type]
        (lambda _: SpanVectorStore("kb"), "index must be an Index or a view of one, got 'kb'"),  # type: ignore[arg-type]
        (lambda store: SpanVectorStore(store.index, split=1), "split must be True or False, got 1"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_named_and_nothing_changes(store: SpanVectorStore, kb: Index, call, rule):
    store.add([OWL])
    with pytest.raises(InvalidArgument, match=rule):
        call(store)
    assert [info.id for info in kb.documents()] == ["owl"]


def test_an_empty_index_finds_nothing_and_a_closed_one_says_so(store: SpanVectorStore, kb: Index):
    result = store.query(asked())
    assert (result.nodes, result.similarities, result.ids, store.get_nodes()) == ([], [], [], [])
    kb.close()
    for call in (lambda: store.query(asked()), lambda: store.add([FOX]), store.clear, store.get_nodes):
        with pytest.raises(LeafspanError, match="this index is closed"):
            call()


# Other writers and tenants

_WRITER = """
import sys
from leafspan import Document, Index
with Index.open(sys.argv[1]) as index:
    index.add(Document("theirs", "The owl sleeps.", None, {"by": "them"}))
    index.delete(["ours"])
"""


def test_what_another_process_adds_and_deletes_is_seen(tmp_path: Path):
    with Index.open(tmp_path / "kb") as kb:
        store = SpanVectorStore(kb)
        store.add([TextNode(id_="ours", text="The fox sleeps.")])
        warm.run([sys.executable, "-c", _WRITER, tmp_path / "kb"], check=True, timeout=120)
        assert store.get_nodes() == [TextNode(id_="theirs", text="The owl sleeps.", metadata={"by": "them"})]
        assert [node.get_content() for node in store.query(asked("Who sleeps?")).nodes or ()] == ["The owl sleeps."]


SAME = [text("same", "Our salt at noon.", "file"), text("second", "Our tea at noon.", "file", topic="food")]
OTHERS = [text("same", "Their honey at noon.", "file"), text("third", "Their tea at noon.", "file", topic="food")]
VERBS = {
    "query": lambda store: store.query(asked()),
    "words": lambda store: store.query(asked(mode="sparse")),
    "hybrid": lambda store: store.query(asked(mode="hybrid")),
    "varied": lambda store: store.query(asked(mode="mmr")),
    "by source": lambda store: store.query(asked(doc_ids=["file"])),
    "by node": lambda store: store.query(asked(node_ids=["same", "third"])),
    "by their tenant": lambda store: store.query(asked(filters=by("tenant", "b"))),
    "by no tenant": lambda store: store.query(asked(filters=by("tenant", "a", "!="))),
    "get": lambda store: store.get_nodes(["same", "third", "third#90795de0#0"]),
    "get all": lambda store: store.get_nodes(),
    "get filtered": lambda store: store.get_nodes(filters=by("topic", "food")),
    "add": lambda store: store.add([text("third", "Ours.", "file")]),
    "add theirs": lambda store: store.add([text("third", "Ours.", tenant="b")]),
    "delete": lambda store: store.delete("file"),
    "delete nodes": lambda store: store.delete_nodes(["same", "third"]),
    "delete filtered": lambda store: store.delete_nodes(filters=by("tenant", "a", "!=")),
    "delete both": lambda store: store.delete_nodes(["third", "same"], by("topic", "food")),
    "clear": lambda store: store.clear(),
}


def test_through_a_view_nothing_of_another_tenant_is_seen_or_changed(tmp_path: Path):
    def observed(index: Index, verb: Any) -> tuple[object, ...]:
        a, b = (SpanVectorStore(index.scoped(F("tenant") == tenant)) for tenant in "ab")
        a.clear()
        a.add(SAME)
        before = b.get_nodes()
        try:
            result = verb(a)
        except LeafspanError as error:
            result = (type(error), str(error))
        assert b.get_nodes() == before
        return result, a.get_nodes(), a.query(asked())

    with Index.open(tmp_path / "mixed", embedder=embed) as mixed, Index.open(tmp_path / "alone", embedder=embed) as alone:
        SpanVectorStore(mixed.scoped(F("tenant") == "b")).add(OTHERS)
        for name, verb in VERBS.items():
            assert observed(mixed, verb) == observed(alone, verb), name


def test_a_private_view_stores_no_name(kb: Index, tmp_path: Path):
    vault = Vault.open(tmp_path / "vault", KEY)
    masked, clear = (SpanVectorStore(private_view(kb, vault, known=KNOWN, reveal=reveal)) for reveal in (False, True))
    related = RelatedNodeInfo(node_id="mails/Alice Smith", metadata={"to": "Zoë Łuczak"})
    node = TextNode(
        id_="letter of Alice Smith",
        text="Alice Smith wrote a letter.",
        metadata={
            "lines": "one\nAlice Smith\tBob Quillfeather",
            "deep": {"by": "\nBob Quillfeather", "card": 4111111111111111},
        },
        relationships={NodeRelationship.SOURCE: related},
    )
    clear.add([node])
    [info] = kb.documents()
    assert not is_in_the_clear(str([info.id, info.metadata, [*info.metadata.values()], kb.get(info.id).text]))
    assert "\\n" not in str(info.metadata["_node"])  # which would hide the name after it
    assert clear.get_nodes() == clear.query(asked("Who wrote a letter?")).nodes == [node]
    [hidden] = masked.query(asked("What did Alice Smith write?")).nodes or []
    assert not is_in_the_clear(str(hidden.to_dict()))
    assert "wrote a letter" in hidden.get_content()
    masked.delete("mails/Alice Smith")
    assert kb.count() == 0


def test_a_filter_that_all_nodes_match_gets_all(store: SpanVectorStore):
    store.add([TextNode(text="A fox.", id_="fox", metadata={"p": 1}), TextNode(text="An owl.", id_="owl")])
    nothing = MetadataFilters(filters=[MetadataFilter(key="p", operator=FilterOperator.NIN, value=[])])
    for filters in (nothing, MetadataFilters(filters=[])):
        assert [node.node_id for node in store.get_nodes(filters=filters)] == ["fox", "owl"]
