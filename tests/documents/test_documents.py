from __future__ import annotations

from pathlib import Path

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from leafspan import Document, Index


def test_documents_of_both_frameworks_and_mappings_are_taken(index: Index):
    done = index.add(
        [
            LangChainDocument(id="lc", page_content="From LangChain.", metadata={"title": "L", "page": 3, "none": None}),
            LlamaIndexDocument(id_="li", text="From LlamaIndex.", metadata={"title": "I", "tag": "x"}),
            {"id": "map", "text": "From a mapping.", "title": "M"},
        ]
    )
    assert done.added == ("lc", "li", "map")
    assert index.get("lc") == Document("lc", "From LangChain.", "L", {"title": "L", "page": 3})
    assert index.get("li") == Document("li", "From LlamaIndex.", "I", {"title": "I", "tag": "x"})
    assert index.get("map") == Document("map", "From a mapping.", "M", {})


def test_one_document_or_any_iterable_can_be_added(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        assert index.add(Document("a", "One.")).added == ("a",)
        assert index.add({"id": "b", "text": "Two."}).added == ("b",)
        assert index.add(LangChainDocument(id="c", page_content="Three.")).added == ("c",)
        assert index.add(LlamaIndexDocument(id_="d", text="Four.")).added == ("d",)
        assert index.add(Document(str(n), "Text.") for n in range(3)).added == ("0", "1", "2")
