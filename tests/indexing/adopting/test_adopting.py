"""An adopted collection keeps its documents, ids, metadata and vectors; and what cannot be adopted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from haystack import Document as HaystackDocument
from haystack.components.preprocessors import DocumentSplitter
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceWindowNodeParser, get_leaf_nodes
from llama_index.core.schema import NodeRelationship, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.chroma import ChromaVectorStore

import leafspan
from leafspan import BM25, AutoMerging, Document, F, Index, IndexNotFound, InvalidArgument, SentenceWindow, Vector
from leafspan.checks import STRUCTURE_KEY
from leafspan.checks._stored_values import RESERVED_KEYS
from leafspan.engines.chroma import ForeignCollection
from leafspan.errors import IndexMismatch
from leafspan.indexing.adopting import Adopted
from tests.indexing.adopting.collections import (
    LangChainEmbedder,
    LlamaIndexEmbedder,
    chroma,
    langchain_store,
    llamaindex_index,
    plain_collection,
    text,
    vectors,
)
from tests.profiles import examples

TEXTS = {"tale.txt": text(30, seed=1), "song.txt": text(12, seed=2)}


@pytest.fixture
def client(tmp_path: Path) -> Any:
    return chroma(tmp_path / "chroma")


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return tmp_path / "kb"


def files(folder: Path) -> dict[str, bytes]:
    """The files of a Chroma without SQLite's, which Chroma may write whenever it is opened."""
    found = {path: path for path in folder.rglob("*") if path.is_file()}
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if "sqlite3" not in path.name}


def everything(collection: Any) -> dict[str, Any]:
    """The records of a collection by id."""
    answer = collection.get(include=["documents", "metadatas", "embeddings"])
    columns = zip(answer["ids"], answer["documents"], answer["metadatas"], answer["embeddings"], strict=True)
    return {id_: (document, metadata, list(vector)) for id_, document, metadata, vector in columns}


def assert_same_vectors(index: Index, records: dict[str, Any]) -> None:
    """Each leaf has the vector of the record that it was. Chroma itself scales vectors to length 1, which rounds them."""
    answer = index.client.get_collection("kb.leaves", embedding_function=None).get(include=["metadatas", "embeddings"])
    columns = zip(answer["ids"], answer["metadatas"], answer["embeddings"], strict=True)
    stored = {metadata.get("chunk_id", id_.rsplit("#", 2)[0]): vector for id_, metadata, vector in columns}
    assert stored.keys() == records.keys()
    for id_, (_, _, vector) in records.items():
        assert np.allclose(stored[id_], vector, atol=1e-6)


def test_chunks_of_langchain_with_places_become_the_leaves_of_one_document(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    records = everything(store._collection)
    report = leafspan.adopt(store, kb)
    assert (report.records, report.leaves, report.alone, report.skipped) == (len(records), len(records), 0, ())
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        tale = next(info for info in index.documents() if info.metadata["source"] == "tale.txt")
        assert tale.id.startswith("tale.txt:")
        assert index.get(tale.id).text.split() == TEXTS["tale.txt"].split()
        for leaf in index.leaves(tale.id):
            document, metadata, _ = records[leaf.metadata["chunk_id"]]
            assert leaf.start == metadata["start_index"] == leaf.metadata["start_index"]
            assert document.startswith(leaf.text.rstrip())
        assert_same_vectors(index, records)
        (window,) = index.retrieve("Sentence 7 of text 1", SentenceWindow(before=1, after=1), k=1)
        assert window.text.split() == TEXTS["tale.txt"][window.start : window.end].split()
        assert index.repair() == []


def test_chunks_of_langchain_without_places_become_documents_of_their_own_under_their_ids(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS, add_start_index=False)
    records = everything(store._collection)
    report = leafspan.adopt(store, kb)
    assert sorted(report.added) == sorted(records)
    assert report.alone == report.leaves == len(records)
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        assert {leaf.document_id: leaf.text for leaf in index.leaves()} == {
            id_: document for id_, (document, _, _) in records.items()
        }
        assert_same_vectors(index, records)


def test_nodes_of_llamaindex_become_the_leaves_of_the_document_they_were_split_from(client: Any, kb: Path):
    collection = client.create_collection("nodes", embedding_function=None)
    source = llamaindex_index(collection, TEXTS)
    records = everything(collection)
    report = leafspan.adopt(source, kb)
    assert report.added == ("tale.txt", "song.txt")
    assert (report.leaves, report.skipped) == (len(records), ())
    with Index.open(kb, embedder=LlamaIndexEmbedder()) as index:
        assert index.get("tale.txt").text.split() == TEXTS["tale.txt"].split()
        assert index.get("tale.txt").metadata == {"kind": "tale"}  # and nothing of LlamaIndex's own
        starts = {id_: json.loads(metadata["_node_content"])["start_char_idx"] for id_, (_, metadata, _) in records.items()}
        assert {leaf.metadata["chunk_id"]: leaf.start for leaf in index.leaves()} == starts
        assert_same_vectors(index, records)


def hiding_nodes(client: Any) -> ChromaVectorStore:
    """A vector store with a node for each sentence of a document, which hides its path, and its parser what it adds."""
    whole = LlamaIndexDocument(
        text="Green tea is steamed. Black tea is not. Water comes last.",
        id_="tea",
        metadata={"path": "/srv/tea.md", "topic": "food"},
        excluded_llm_metadata_keys=["path"],
    )
    nodes = SentenceWindowNodeParser.from_defaults(window_size=1).get_nodes_from_documents([whole])
    for node, vector in zip(nodes, vectors([node.get_content() for node in nodes]), strict=True):
        node.embedding = vector
    store = ChromaVectorStore(chroma_collection=client.create_collection("nodes", embedding_function=None))
    store.add(nodes)
    return store


def test_what_nodes_of_llamaindex_hide_from_models_stays_hidden_and_so_do_the_ids_of_records(client: Any, kb: Path):
    leafspan.adopt(hiding_nodes(client), kb)
    with Index.open(kb) as index:
        assert set(index.get("tea").hidden) == {"path", "window", "original_text", "chunk_id"}
        for leaf in index.leaves():
            assert leaf.metadata.keys() - leaf.hidden == {"topic"}


def test_a_node_that_becomes_a_document_of_its_own_hides_what_it_hid_by_its_new_name_too(client: Any, kb: Path):
    report = leafspan.adopt(hiding_nodes(client), kb, join=False, rename={"path": "place"})
    with Index.open(kb) as index:
        for id_ in report.added:
            document = index.get(id_)
            assert document.metadata["place"] == "/srv/tea.md"
            assert set(document.hidden) == {"place", "window", "original_text"}


@pytest.mark.parametrize("given", ["vector store", "storage context", "collection"])
def test_nodes_of_llamaindex_may_come_as_vector_store_or_collection_too(client: Any, kb: Path, given: str):
    collection = client.create_collection("nodes", embedding_function=None)
    source = llamaindex_index(collection, TEXTS)
    things = {"vector store": source.vector_store, "storage context": source.storage_context, "collection": collection}
    assert leafspan.adopt(things[given], kb).added == ("tale.txt", "song.txt")


def hierarchy(client: Any, chunk_overlap: int = 0) -> tuple[ChromaVectorStore, SimpleDocumentStore]:
    """A vector store with the lowest nodes of a hierarchy, and a docstore with all of them, as auto-merging wants it."""
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 64], chunk_overlap=chunk_overlap)
    nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text=TEXTS["tale.txt"], id_="tale.txt")])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    leaves = get_leaf_nodes(nodes)
    for node, vector in zip(leaves, vectors([leaf.text for leaf in leaves]), strict=True):
        node.embedding = vector
    store = ChromaVectorStore(chroma_collection=client.create_collection("nodes", embedding_function=None))
    store.add(leaves)
    return store, docstore


def test_a_docstore_says_where_the_nodes_of_a_hierarchy_stand(client: Any, kb: Path):
    store, docstore = hierarchy(client)
    report = leafspan.adopt(StorageContext.from_defaults(vector_store=store, docstore=docstore), kb)
    assert report.added == ("tale.txt",)
    assert report.leaves == report.records == store._collection.count()
    with Index.open(kb) as index:
        assert index.get("tale.txt").text.split() == TEXTS["tale.txt"].split()
        assert all(leaf.text.strip() == TEXTS["tale.txt"][leaf.start : leaf.end].strip() for leaf in index.leaves())
        (merged,) = index.retrieve("tells of", AutoMerging(threshold=0, max_words=None), k=1)
        assert merged.document_id == "tale.txt"


def test_without_a_docstore_each_parent_of_nodes_is_a_document(client: Any, kb: Path):
    store, docstore = hierarchy(client)
    report = leafspan.adopt(store, kb)
    parents = {id_ for id_, node in docstore.docs.items() if node.child_nodes}
    assert set(report.added) == parents
    with Index.open(kb) as index:
        assert {info.id: index.get(info.id).text.split() for info in index.documents()} == {
            id_: docstore.docs[id_].text.split() for id_ in parents
        }


def test_nodes_that_have_others_below_them_are_skipped_where_these_are_there_too(client: Any, kb: Path):
    store, docstore = hierarchy(client)
    parents = [node for node in docstore.docs.values() if node.child_nodes]
    for node, vector in zip(parents, vectors([node.text for node in parents]), strict=True):
        node.embedding = vector
    store.add(parents)
    report = leafspan.adopt(store, kb)
    assert report.added == ("tale.txt",)
    assert {record.id for record in report.skipped} == {node.node_id for node in parents}
    assert {record.reason for record in report.skipped} == {"the LlamaIndex nodes below it have its text, and are adopted"}


def test_a_docstore_with_the_source_documents_gives_the_exact_text(client: Any, kb: Path):
    collection = client.create_collection("nodes", embedding_function=None)
    source = llamaindex_index(collection, TEXTS)
    docstore = SimpleDocumentStore()
    docstore.add_documents([LlamaIndexDocument(text=text, id_=name) for name, text in TEXTS.items()])
    report = leafspan.adopt(source.vector_store, kb, docstore=docstore)
    with Index.open(kb) as index:
        assert {name: index.get(name).text for name in report.added} == TEXTS


def test_a_source_document_that_has_changed_since_does_not_count(client: Any, kb: Path):
    collection = client.create_collection("nodes", embedding_function=None)
    source = llamaindex_index(collection, TEXTS)
    docstore = SimpleDocumentStore()
    docstore.add_documents([LlamaIndexDocument(text="Something else.", id_=name) for name in TEXTS])
    leafspan.adopt(source.vector_store, kb, docstore=docstore)
    with Index.open(kb) as index:
        assert index.get("tale.txt").text.split() == TEXTS["tale.txt"].split()


def test_a_source_document_of_which_few_nodes_are_left_is_not_put_into_their_leaves(client: Any, kb: Path):
    collection = client.create_collection("nodes", embedding_function=None)
    source = llamaindex_index(collection, TEXTS)
    docstore = SimpleDocumentStore()
    docstore.add_documents([LlamaIndexDocument(text=text, id_=name) for name, text in TEXTS.items()])
    starts = {id_: json.loads(m["_node_content"])["start_char_idx"] for id_, (_, m, _) in everything(collection).items()}
    collection.delete(ids=[id_ for id_, start in starts.items() if start])
    kept = everything(collection)
    assert len(kept) == len(TEXTS)
    report = leafspan.adopt(source.vector_store, kb, docstore=docstore)
    assert report.added == ("tale.txt", "song.txt")
    with Index.open(kb) as index:
        assert {leaf.text for leaf in index.leaves()} == {document for document, _, _ in kept.values()}


def test_chunks_of_haystack_become_the_leaves_of_one_document(client: Any, kb: Path):
    whole = HaystackDocument(content=TEXTS["tale.txt"], meta={"kind": "tale"})
    chunks = DocumentSplitter(split_by="word", split_length=30, split_overlap=5).run([whole])["documents"]
    collection = client.create_collection("haystack", embedding_function=None)
    kept = [{key: value for key, value in chunk.meta.items() if key != "_split_overlap"} for chunk in chunks]
    texts = [chunk.content for chunk in chunks]
    collection.add(ids=[chunk.id for chunk in chunks], documents=texts, metadatas=kept, embeddings=vectors(texts))
    assert leafspan.adopt(collection, kb).added == (whole.id,)
    with Index.open(kb) as index:
        assert index.get(whole.id).text == TEXTS["tale.txt"]


def test_records_of_chroma_alone_keep_ids_texts_metadata_and_vectors(client: Any, kb: Path):
    collection = plain_collection(client, [text(1, seed) for seed in range(20)])
    records = everything(collection)
    report = leafspan.adopt(collection, kb)
    assert report == Adopted(20, tuple(records), (), 0, 20, 20, (), ())
    with Index.open(kb) as index:
        assert {leaf.document_id: (leaf.text, leaf.metadata) for leaf in index.leaves()} == {
            id_: (document, metadata) for id_, (document, metadata, _) in records.items()
        }
        assert_same_vectors(index, records)
        found = index.retrieve("Sentence", Vector(), where=F("number") == 7)
        assert [passage.document_id for passage in found] == ["record 7"]
        assert [passage.document_id for passage in index.retrieve("Sentence of text 7", BM25(), k=1)] == ["record 7"]


def test_adopting_again_changes_nothing_and_what_was_added_since_is_adopted(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    first = leafspan.adopt(store, kb)
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        before = everything(index.client.get_collection("kb.leaves", embedding_function=None))
    again = leafspan.adopt(store, kb)
    assert (again.added, again.replaced, again.unchanged) == ((), (), len(first.added))
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        assert everything(index.client.get_collection("kb.leaves", embedding_function=None)) == before
    end = len(TEXTS["tale.txt"])
    more = [
        LangChainDocument(page_content=" The end.", metadata={"source": "tale.txt", "start_index": end}),
        LangChainDocument(page_content="A new one.", metadata={"source": "new.txt", "start_index": 0}),
    ]
    store.add_documents(more)
    later = leafspan.adopt(store, kb)
    assert [id_.split(":")[0] for id_ in later.added] == ["new.txt"]
    assert [id_.split(":")[0] for id_ in later.replaced] == ["tale.txt"]
    assert later.unchanged == 1


def leaves_and_records(kb: Path, report: Adopted) -> tuple[int, int]:
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        return len(index.leaves()), report.records - len(report.skipped)


def test_records_that_would_be_in_two_documents_are_skipped(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    first = leafspan.adopt(store, kb)
    handle = client.get_collection("langchain")
    every = handle.get(include=["metadatas"])
    handle.update(ids=every["ids"], metadatas=[{**metadata, "tag": "x"} for metadata in every["metadatas"]])
    again = leafspan.adopt(store, kb)
    assert (again.added, again.replaced, again.leaves, len(again.skipped)) == ((), (), 0, first.records)
    assert "the index has it in document" in again.skipped[0].reason
    assert "delete that document and adopt again" in again.skipped[0].reason
    assert leaves_and_records(kb, first) == (first.leaves, first.records)


def test_what_the_collection_has_lost_stays_in_the_index(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    first = leafspan.adopt(store, kb)
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        before = {info.id: index.get(info.id) for info in index.documents()}
        lost = index.leaves(first.added[0])[1].metadata["chunk_id"]
    store.delete([lost])
    again = leafspan.adopt(store, kb)
    assert (again.added, again.replaced) == ((), ())
    [reason] = {record.reason for record in again.skipped}
    assert reason.startswith(f"the index has 1 more records in document {first.added[0]!r}, not here any more: ")
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        assert {info.id: index.get(info.id) for info in index.documents()} == before


def test_a_document_that_was_corrected_in_the_index_is_not_replaced(client: Any, kb: Path):
    collection = client.create_collection("mine")
    collection.add(["n1"], documents=["Tea is hto."], embeddings=LangChainEmbedder().embed_documents(["Tea is hto."]))
    assert leafspan.adopt(collection, kb, embedder=LangChainEmbedder()).added == ("n1",)
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        index.add(Document("n1", "Tea is hot."))
    again = leafspan.adopt(collection, kb, embedder=LangChainEmbedder())
    assert [record.id for record in again.skipped] == ["n1"]
    assert "another document 'n1', which was not adopted from this collection" in again.skipped[0].reason
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        assert index.get("n1").text == "Tea is hot."


def test_a_document_that_has_lost_a_leaf_is_restored_by_adopting_again(client: Any, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    leafspan.adopt(store, kb)
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        expected = {info.id: index.get(info.id) for info in index.documents()}
        lost = index.leaves()[3].id
        index.client.get_collection("kb.leaves", embedding_function=None).delete(ids=[lost])
        assert [finding.repaired for finding in index.repair()] == [False]
    assert len(leafspan.adopt(store, kb).replaced) == 1
    with Index.open(kb, embedder=LangChainEmbedder()) as index:
        assert {info.id: index.get(info.id) for info in index.documents()} == expected
        assert index.repair() == []


def test_a_dry_run_reports_the_same_and_writes_nothing(client: Any, tmp_path: Path, kb: Path):
    store = langchain_store({"client": client}, TEXTS)
    before = files(tmp_path)
    expected = leafspan.adopt(store, kb, dry_run=True)
    assert leafspan.adopt(store, tmp_path / "chroma", dry_run=True) == expected
    assert not kb.exists()
    assert files(tmp_path) == before
    assert leafspan.adopt(store, kb) == expected
    again = leafspan.adopt(store, kb, dry_run=True)
    assert (again.added, again.unchanged) == ((), len(expected.added))


def test_the_index_may_be_in_the_same_chroma_which_keeps_the_collection_as_it_is(client: Any, tmp_path: Path):
    store = langchain_store({"client": client}, TEXTS)
    before = everything(store._collection)
    leafspan.adopt(store, tmp_path / "chroma")
    assert everything(chroma(tmp_path / "chroma").get_collection("langchain", embedding_function=None)) == before
    with Index.open(tmp_path / "chroma", embedder=LangChainEmbedder()) as index:
        assert index.count() == len(TEXTS)


def test_a_folder_and_a_client_are_sources_too(client: Any, tmp_path: Path, kb: Path):
    plain_collection(client, ["Tea is hot.", "Bees dance."], "facts")
    assert leafspan.adopt(tmp_path / "chroma", kb).leaves == 2  # the only collection there
    plain_collection(client, ["Tea is green."], "more")
    with pytest.raises(IndexNotFound, match=r"collection must say which .* there are 'facts', 'more'"):
        leafspan.adopt(client, kb)
    assert leafspan.adopt(client, kb, collection="facts").unchanged == 2
    with pytest.raises(IndexNotFound, match=r"there is no Chroma collection 'tea' in .* there are 'facts', 'more'"):
        leafspan.adopt(tmp_path / "chroma", kb, collection="tea")
    with pytest.raises(IndexNotFound, match="there is no Chroma in"):
        leafspan.adopt(tmp_path / "nowhere", kb)
    assert not (tmp_path / "nowhere").exists()


def test_a_collection_in_memory_becomes_an_index_in_memory():
    client = chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))
    collection = plain_collection(client, ["Tea is hot.", "Bees dance."], "adopt-in-memory")
    assert leafspan.adopt(collection, client=client, name="adopted-in-memory").leaves == 2
    index = Index.open(client=client, name="adopted-in-memory", create=False)
    assert [passage.text for passage in index.retrieve("dance", Vector(), k=1)] == ["Bees dance."]


async def test_the_asynchronous_twin_adopts_through_chromas_asynchronous_client(chroma_server, tmp_path: Path):
    host, port = chroma_server
    client = await chromadb.AsyncHttpClient(host, port, settings=chromadb.Settings(anonymized_telemetry=False))
    name = f"async-{tmp_path.name}"
    collection = await client.create_collection(name, embedding_function=None)
    texts = ["Tea is hot.", "Bees dance."]
    await collection.add(ids=["tea", "bees"], documents=texts, embeddings=vectors(texts))
    report = await leafspan.aadopt(collection, client=client, name=f"{name}-kb")
    assert report.added == ("tea", "bees")
    index = await Index.aopen(client=client, name=f"{name}-kb", create=False)
    assert [passage.text for passage in await index.aretrieve("dance", Vector(), k=1)] == ["Bees dance."]
    assert (await leafspan.aadopt(client, client=client, name=f"{name}-kb", collection=name)).unchanged == 2


@pytest.fixture
def odd(client: Any) -> Any:
    """A collection with records that cannot be taken."""
    collection = client.create_collection("odd", embedding_function=None)
    texts = ["Tea is hot.", "Bees dance.", "Ships sail.", ""]
    collection.add(
        ids=["tea", "reserved", "leafspan:x", "empty"],
        documents=texts,
        embeddings=vectors(["Tea is hot.", "Bees dance.", "Ships sail.", "x"]),
        metadatas=[{"by": "Kit"}, {"start": 5}, {"by": "Kit"}, {"by": "Kit"}],
    )
    collection.add(ids=["image"], embeddings=vectors(["an image"]))
    return collection


def test_what_cannot_be_taken_is_reported_with_the_reason(odd: Any, kb: Path):
    report = leafspan.adopt(odd, kb)
    assert report.added == ("tea", "reserved")
    assert {record.id: record.reason for record in report.skipped} == {
        "leafspan:x": "a document's id must not begin with 'leafspan:', got 'leafspan:x'",
        "empty": "it has no text",
        "image": "it has no text",
    }
    assert report.reasons["it has no text"] == ["empty", "image"]


@pytest.mark.parametrize("field", ["metadata", "text"])
def test_a_record_that_is_deleted_while_the_collection_is_read_is_reported(
    client: Any, kb: Path, monkeypatch: pytest.MonkeyPatch, field: str
):
    collection = plain_collection(client, ["Tea is hot.", "Bees dance."])
    original = ForeignCollection.get

    def late(self: ForeignCollection, ids: Any, fields: Any) -> Any:
        if fields[0] == field:
            collection.delete(ids=["record 0"])
        return original(self, ids, fields)

    monkeypatch.setattr(ForeignCollection, "get", late)
    report = leafspan.adopt(collection, kb)
    assert [(record.id, record.reason) for record in report.skipped] == [
        ("record 0", "it was deleted while the collection was read")
    ]
    assert (report.records, report.added) == (2, ("record 1",))


RESERVED = sorted(RESERVED_KEYS - {STRUCTURE_KEY})


def test_a_reserved_metadata_key_skips_no_record(client: Any, kb: Path):
    collection = client.create_collection("reserved", embedding_function=None)
    texts = ["Tea is hot.", "Bees dance."]
    metadatas = [{**dict.fromkeys(RESERVED, "x"), "by": "Kit"}, {"by": "Kit"}]
    collection.add(ids=["tea", "bees"], documents=texts, embeddings=vectors(texts), metadatas=metadatas)
    report = leafspan.adopt(collection, kb, rename={"start": "start_time"})
    assert (report.added, report.skipped) == (("tea", "bees"), ())
    others = sorted(set(RESERVED) - {"start"})
    assert [note for note in report.notes if "reserved" in note] == [
        f"the metadata key {key!r} is reserved, and is 'adopted_{key}' in the index: rename it for another name"
        for key in others
    ]
    with Index.open(kb) as index:
        renamed = {f"adopted_{key}": "x" for key in others}
        assert index.get("tea").metadata == {**renamed, "start_time": "x", "by": "Kit"}
    assert leafspan.adopt(collection, kb, rename={"start": "start_time"}).unchanged == 2


def test_a_record_with_a_reserved_key_and_its_new_name_is_skipped_alone(client: Any, kb: Path):
    collection = client.create_collection("both", embedding_function=None)
    texts = ["Tea is hot.", "Bees dance."]
    metadatas = [{"score": 1, "adopted_score": 2}, {"score": 1}]
    collection.add(ids=["tea", "bees"], documents=texts, embeddings=vectors(texts), metadatas=metadatas)
    report = leafspan.adopt(collection, kb)
    assert report.added == ("bees",)
    assert report.reasons == {
        "its metadata key 'score' is reserved, and it has its new name, too: rename it to something else": ["tea"]
    }


def test_reserved_metadata_keys_can_be_given_another_name(odd: Any, kb: Path):
    report = leafspan.adopt(odd, kb, rename={"start": "start_time"})
    assert "reserved" in report.added
    with Index.open(kb) as index:
        assert index.get("reserved").metadata == {"start_time": 5}


@pytest.mark.parametrize("rename", [{"start": "end"}, {"start": ""}, {"a": "x", "b": "x"}, ["start"]])
def test_new_names_of_metadata_keys_are_checked(odd: Any, kb: Path, rename: Any):
    with pytest.raises(InvalidArgument, match="rename must"):
        leafspan.adopt(odd, kb, rename=rename)
    assert not kb.exists()


def test_records_that_differ_where_they_should_be_the_same_become_documents_of_their_own(client: Any, kb: Path):
    collection = client.create_collection("two", embedding_function=None)
    texts = ["Tea is hot.", "hot. It is green.", "Bees dance."]
    collection.add(
        ids=["a", "b", "c"],
        documents=texts,
        embeddings=vectors(texts),
        metadatas=[{"start_index": start} for start in (0, 7, 0)],  # of two texts, and nothing says which one
    )
    report = leafspan.adopt(collection, kb)
    assert (set(report.added), report.alone) == ({"a", "b", "c"}, 3)
    assert "3 records say their place in a text, but differ where they overlap" in report.notes[-1]
    with Index.open(kb) as index:
        assert {info.id: index.get(info.id).text for info in index.documents()} == dict(zip("abc", texts, strict=True))


def test_a_place_that_cannot_be_true_is_not_believed(client: Any, kb: Path):
    collection = client.create_collection("far", embedding_function=None)
    texts = ["Tea is hot.", "Bees dance.", "Ships sail."]
    starts = [0, 10**12, -1]  # LangChain writes -1 where it has not found a chunk in its text
    metadatas = [{"start_index": start} for start in starts]
    collection.add(ids=["a", "b", "c"], documents=texts, embeddings=vectors(texts), metadatas=metadatas)
    report = leafspan.adopt(collection, kb)
    assert (set(report.added), report.leaves, report.alone) == ({"a", "b", "c"}, 3, 3)


def test_of_two_records_at_one_place_the_longer_is_taken_and_the_other_reported(client: Any, kb: Path):
    collection = client.create_collection("twice", embedding_function=None)
    texts = ["Tea is hot.", "Tea is hot. It is green."]
    collection.add(ids=["a", "b"], documents=texts, embeddings=vectors(texts), metadatas=[{"start_index": 0}] * 2)
    report = leafspan.adopt(collection, kb)
    assert report.leaves == 1
    assert [(record.id, record.reason) for record in report.skipped] == [
        ("a", "its text is in the text of another record, which starts at the same character")
    ]


def test_a_record_with_a_chunk_id_of_its_own_keeps_it_and_becomes_a_document_of_its_own(client: Any, kb: Path):
    collection = client.create_collection("named", embedding_function=None)
    metadatas = [{"start_index": 0, "chunk_id": "mine"}]
    collection.add(ids=["a"], documents=["Tea."], embeddings=vectors(["Tea."]), metadatas=metadatas)
    assert leafspan.adopt(collection, kb).added == ("a",)
    with Index.open(kb) as index:
        assert index.get("a").metadata == {"chunk_id": "mine", "start_index": 0}


def test_an_id_that_is_a_document_too_is_not_taken_twice(client: Any, kb: Path):
    collection = client.create_collection("nodes", embedding_function=None)
    llamaindex_index(collection, {"tale.txt": TEXTS["tale.txt"]})
    collection.add(ids=["tale.txt"], documents=["Tea."], embeddings=vectors(["Tea."]))
    report = leafspan.adopt(collection, kb)
    assert report.added == ("tale.txt",)
    assert [(record.id, record.reason) for record in report.skipped] == [
        ("tale.txt", "its id belongs to a document that other records are pieces of")
    ]


def test_filters_see_metadata_of_single_chunks_only_if_these_are_not_joined(client: Any, tmp_path: Path):
    collection = client.create_collection("pages", embedding_function=None)
    texts = ["Tea is hot. ", "Bees dance."]
    metadatas = [{"source_id": "book", "split_idx_start": start, "page": page} for start, page in ((0, 1), (12, 2))]
    collection.add(ids=["a", "b"], documents=texts, embeddings=vectors(texts), metadatas=metadatas)
    joined = leafspan.adopt(collection, tmp_path / "joined")
    assert joined.added == ("book",)
    assert "filters do not see the metadata 'page'" in joined.notes[1]
    assert leafspan.adopt(collection, tmp_path / "apart", join=False).added == ("a", "b")
    with Index.open(tmp_path / "joined") as index:
        assert [leaf.metadata["page"] for leaf in index.leaves("book")] == [1, 2]
        assert index.retrieve("dance", Vector(), where=F("page") == 2) == []
    with Index.open(tmp_path / "apart") as index:
        assert [passage.text for passage in index.retrieve("dance", Vector(), where=F("page") == 2)] == ["Bees dance."]


def test_another_embedder_than_the_collections_is_an_error_and_leaves_nothing_behind(client: Any, kb: Path):
    texts = [text(1, seed) for seed in range(20)]
    collection = plain_collection(client, texts)
    backwards = lambda texts: [vector[::-1] for vector in vectors(texts)]  # noqa: E731
    with pytest.raises(
        IndexMismatch,
        match=r"lambda.* did not make the vectors of the collection .*: of 8 texts that were embedded again, the cosines",
    ):
        leafspan.adopt(collection, kb, embedder=backwards)
    shorter = lambda texts: [vector[:64] for vector in vectors(texts)]  # noqa: E731
    with pytest.raises(
        IndexMismatch, match=r"the collection 'plain' have 256 dimensions, the vectors of .*lambda.* have 64"
    ):
        leafspan.adopt(collection, kb, embedder=shorter)
    assert not kb.exists()


def test_an_index_of_another_embedder_is_not_adopted_into(client: Any, kb: Path):
    shorter = lambda texts: [vector[:64] for vector in vectors(texts)]  # noqa: E731
    with Index.open(kb, embedder=shorter) as index:
        index.add({"id": "tea", "text": "Tea is hot."})
    with pytest.raises(IndexMismatch, match="the index was made with the embedder"):
        leafspan.adopt(plain_collection(client, ["Bees dance."]), kb)


def test_the_embedder_of_the_adoption_is_the_indexs(client: Any, kb: Path):
    leafspan.adopt(langchain_store({"client": client}, TEXTS), kb)
    with Index.open(kb, create=False) as index:
        assert index.stats().embedder == "LangChainEmbedder"


@pytest.mark.parametrize(
    ("space", "factor", "note"),
    [
        ("l2", 1.0, "ranks by 'l2', an index by cosine, but all vectors have length 1: the order is the same"),
        ("l2", 2.0, "ranks by 'l2', an index by cosine, and 3 of 3 vectors do not have length 1: the order of results"),
        ("ip", 2.0, "ranks by 'ip', an index by cosine, and 3 of 3 vectors do not have length 1: the order of results"),
        ("cosine", 2.0, None),
    ],
)
def test_the_report_says_where_another_distance_changes_the_order(client: Any, kb: Path, space, factor, note):
    texts = ["Tea is hot.", "Bees dance.", "Ships sail."]
    options: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"space": space}}}
    collection = client.create_collection("spaced", **options)
    collection.add(
        ids=list("abc"),
        documents=texts,
        embeddings=[[factor * value for value in vector] for vector in vectors(texts)],
    )
    notes = leafspan.adopt(collection, kb).notes
    assert (note in notes[0]) if note else notes == ()


def test_a_vector_of_zeros_is_taken_and_reported(client: Any, kb: Path):
    collection = plain_collection(client, ["Tea is hot.", "Bees dance."])
    collection.add(ids=["zero"], documents=["Ships sail."], embeddings=[[0.0] * 256])
    report = leafspan.adopt(collection, kb)
    assert report.leaves == 3
    assert "1 vectors are zero" in report.notes[0]
    with Index.open(kb) as index:
        assert index.retrieve("ships", BM25(), k=1)[0].document_id == "zero"


@pytest.mark.parametrize("documents", [[], [{"id": "tea", "text": "Tea is hot."}]], ids=["empty", "with a document"])
@pytest.mark.parametrize("name", ["kb.leaves", "kb.manifest"])
def test_the_collections_of_an_index_are_not_adopted(tmp_path: Path, name: str, documents: list[Any]):
    client = chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))
    with Index.open(client=client) as index:
        index.add(documents)
        with pytest.raises(InvalidArgument, match=f"'{name}' belongs to an index already: open it with Index.open"):
            leafspan.adopt(client, tmp_path / "other", collection=name)
    client.delete_collection("kb.leaves")
    client.delete_collection("kb.manifest")


@pytest.mark.parametrize("documents", [[], [{"id": "tea", "text": "Tea is hot."}]], ids=["empty", "with a document"])
def test_the_leaves_of_an_index_in_a_folder_are_not_adopted(tmp_path: Path, kb: Path, documents: list[Any]):
    with Index.open(kb) as index:
        index.add(documents)
    with pytest.raises(InvalidArgument, match=r"'kb\.leaves' belongs to an index already: open it with Index\.open"):
        leafspan.adopt(kb, tmp_path / "other", collection="kb.leaves")
    with pytest.raises(IndexNotFound, match="no collections except an index's own: open the index itself"):
        leafspan.adopt(kb, tmp_path / "other")


def test_other_things_are_no_source(tmp_path: Path, client: Any):
    with pytest.raises(InvalidArgument, match=r"source must be a Chroma of LangChain, .* got int"):
        leafspan.adopt(5, tmp_path / "kb")
    with pytest.raises(InvalidArgument, match="collection must only be given with a folder or a client, got 'plain'"):
        leafspan.adopt(plain_collection(client, ["Tea."]), tmp_path / "kb", collection="plain")
    with pytest.raises(InvalidArgument, match="docstore must be a docstore of LlamaIndex, got 5"):
        leafspan.adopt(client, tmp_path / "kb", docstore=5)
    with pytest.raises(InvalidArgument, match="give either a path or a client"):
        leafspan.adopt(client)


def test_an_empty_collection_becomes_an_empty_index(client: Any, kb: Path):
    assert leafspan.adopt(client.create_collection("none", embedding_function=None), kb) == Adopted(
        0, (), (), 0, 0, 0, (), ()
    )
    with Index.open(kb, create=False) as index:
        assert index.count() == 0


RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["Tea is hot.", "is hot. ", "Bees dance.", "Tea", ""]),
        st.sampled_from([None, -1, 0, 4, 30, True]),
        st.sampled_from([None, "a", "record 0"]),  # a source that chunks share, one of which is the id of a record
        st.sampled_from([{}, {"page": 1}, {"page": 2}, {"start": 1}, {"chunk_id": "x", "page": 1}]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
def memory() -> Any:
    return chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))


_numbers = iter(range(10**9))


@examples(100, fast=10)
@given(RECORDS)
def test_every_record_is_a_leaf_or_is_reported_and_adopting_twice_equals_once(memory: Any, records: list[Any]):
    number = next(_numbers)
    collection = memory.create_collection(f"any-{number}", embedding_function=None)
    for place, (words, start, source, metadata, is_node) in enumerate(records):
        id_ = f"record {place}"
        own = {
            **metadata,
            **({} if start is None else {"start_index": start}),
            **({} if source is None else {"of": source}),
        }
        if is_node:
            node = TextNode(text=words, id_=id_, metadata=own, start_char_idx=start if type(start) is int else None)
            if source is not None:
                node.relationships[NodeRelationship.SOURCE] = LlamaIndexDocument(id_=source, text="").as_related_node_info()
            node.embedding = vectors([words or "x"])[0]
            ChromaVectorStore(chroma_collection=collection).add([node])
        else:
            embeddings = vectors([words or "x"])
            collection.add(ids=[id_], documents=[words], embeddings=embeddings, metadatas=[own] if own else None)
    before = everything(collection)
    report = leafspan.adopt(collection, client=memory, name=f"kb-{number}")
    assert report.records == len(records) == report.leaves + len(report.skipped)
    index = Index.open(client=memory, name=f"kb-{number}", create=False)
    leaves = index.leaves()
    assert len(leaves) == report.leaves
    taken = {id_ if (id_ := leaf.metadata.get("chunk_id")) in before else leaf.document_id: leaf for leaf in leaves}
    assert taken.keys() == before.keys() - {record.id for record in report.skipped}
    assert all(before[id_][0] in index.get(leaf.document_id).text for id_, leaf in taken.items())
    again = leafspan.adopt(collection, client=memory, name=f"kb-{number}")
    assert (again.added, again.replaced) == ((), ())
    assert again.unchanged == len(report.added)
    assert everything(collection) == before
    assert index.repair() == []
