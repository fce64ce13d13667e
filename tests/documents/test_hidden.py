"""Metadata keys that are hidden from models: stored with the document, and known for each of its passages."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.schema import TextNode

from leafspan import Chunk, Document, Index, SentenceWindow, Vector, chunks_of
from leafspan.errors import InvalidDocument

TEA = Document("tea", "Green tea is steamed.", metadata={"path": "/srv/tea.md", "topic": "food"}, hidden=("path",))


def test_what_a_document_hides_is_kept_and_its_passages_say_so(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(TEA)
    with Index.open(tmp_path / "kb") as index:
        assert index.get("tea").hidden == ("path",)
        (passage,) = index.retrieve("tea", Vector())
        assert (passage.hidden, passage.metadata) == (("path",), TEA.metadata)
        assert index.surroundings(passage).hidden == ("path",)
        assert index.add(index.get("tea")).unchanged == 1
        assert index.repair(verify=True) == []


def test_a_document_that_hides_something_else_has_changed(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(TEA)
        assert index.add(Document("tea", TEA.text, metadata=TEA.metadata)).replaced == ("tea",)
        assert index.get("tea").hidden == ()


def test_what_is_made_of_a_hidden_key_by_flattening_is_hidden_and_what_is_not_there_is_none(tmp_path: Path):
    nested = Document("d", "Tea.", metadata={"file": {"path": "a", "size": 1}, "files": 2}, hidden=("file", "gone"))
    with Index.open(tmp_path / "kb") as index:
        index.add(nested, flatten_metadata=True)
        assert index.get("d").hidden == ("file.path", "file.size")


def test_nodes_of_a_document_hide_what_it_hides_and_what_their_parser_hides(tmp_path: Path):
    whole = LlamaIndexDocument(
        text="Green tea is steamed. Black tea is not. Water comes last.",
        id_="tea",
        metadata={"path": "/srv/tea.md", "topic": "food"},
        excluded_llm_metadata_keys=["path"],
    )
    parser = SentenceWindowNodeParser.from_defaults(window_size=1)
    (document,) = chunks_of(parser.get_nodes_from_documents([whole]))
    assert document.metadata == {"path": "/srv/tea.md", "topic": "food"}
    assert document.hidden == ("path", "window", "original_text")  # the last two are metadata of its chunks alone
    with Index.open(tmp_path / "kb") as index:
        index.add(document)
        (leaf,) = index.retrieve("Black tea", Vector(), k=1)
        assert leaf.metadata.keys() - leaf.hidden == {"topic"}
        assert index.retrieve("Black tea", SentenceWindow(), k=1)[0].hidden == document.hidden
        assert index.add(index.get("tea")).unchanged == 1


def test_what_one_chunk_hides_is_hidden_in_the_whole_document():
    nodes = [
        TextNode(text="Tea is hot.", metadata={"path": "a", "page": 1}, excluded_llm_metadata_keys=["path"]),
        TextNode(text="Tea is green.", metadata={"path": "a", "page": 2}, excluded_llm_metadata_keys=["page", "gone"]),
    ]
    (document,) = chunks_of(nodes, id="tea")
    assert document.hidden == ("path", "page")


def test_the_ids_of_chunks_are_hidden_but_not_a_chunk_id_of_the_users_own():
    def chunk(**metadata: object) -> LangChainDocument:
        return LangChainDocument("Tea is hot.", id="chunk 1", metadata={"source": "tea.md", "start_index": 0, **metadata})

    (document,) = chunks_of([chunk()])
    assert (document.chunks[0].metadata["chunk_id"], document.hidden) == ("chunk 1", ("chunk_id",))
    (document,) = chunks_of([chunk(chunk_id=7)])
    assert (document.chunks[0].metadata["chunk_id"], document.hidden) == (7, ())


def test_what_is_made_of_a_hidden_key_of_a_chunk_by_flattening_is_hidden(tmp_path: Path):
    chunk = Chunk(4, {"file": {"path": "a", "size": 1}})
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("d", "Tea.", chunks=(chunk,), hidden=("file",)), flatten_metadata=True)
        assert index.get("d").hidden == ("file.path", "file.size")


def test_a_title_can_be_hidden_whether_or_not_it_is_among_the_metadata(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("own", "Tea.", "A title", hidden=("title",)))
        index.add(
            LlamaIndexDocument(text="Tea!", id_="node", metadata={"title": "A"}, excluded_llm_metadata_keys=["title"])
        )
        index.add(Document("none", "Tea?", hidden=("title",)))
        assert {info.id: info.hidden for info in index.documents()} == {"own": ("title",), "node": ("title",), "none": ()}


@pytest.mark.parametrize("wrong", ["path", {"path": True}, [1], None])
def test_hidden_keys_are_a_list_of_texts(tmp_path: Path, wrong: object):
    with (
        Index.open(tmp_path / "kb") as index,
        pytest.raises(InvalidDocument, match="the hidden keys of document 'd' must be a list of strings, got"),
    ):
        index.add(Document("d", "Tea.", hidden=wrong))  # type: ignore[arg-type]
