from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from leafspan import Document, Index, InvalidDocument
from leafspan.documents import read_documents


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


def test_text_and_markdown_files_are_read(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.md").write_bytes("\ufeff# The title\r\n\r\nText.\r\n".encode())
    (tmp_path / "deep" / "b.txt").write_text("Plain text.")
    (tmp_path / "ignored.pdf").write_bytes(b"%PDF")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.txt").write_text("Not meant to be found.")
    a, b = read_documents(tmp_path)
    assert (a.id, a.title, a.text) == ((tmp_path / "a.md").as_posix(), "The title", "# The title\r\n\r\nText.\r\n")
    assert (b.title, b.metadata) == ("b", {"source": (tmp_path / "deep" / "b.txt").as_posix()})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", b"%PDF", r"files must be text or Markdown \(.md, .markdown, .txt, .text\), got"),
        ("a.txt", b"\xff\xfe\xfa", "must be UTF-8"),
        ("a.txt", None, "there is no file"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidDocument, match=message):
        list(read_documents(tmp_path / name))


def test_one_document_or_any_iterable_can_be_added(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        assert index.add(Document("a", "One.")).added == ("a",)
        assert index.add({"id": "b", "text": "Two."}).added == ("b",)
        assert index.add(LangChainDocument(id="c", page_content="Three.")).added == ("c",)
        assert index.add(LlamaIndexDocument(id_="d", text="Four.")).added == ("d",)
        assert index.add(Document(str(n), "Text.") for n in range(3)).added == ("0", "1", "2")
