"""``add`` and ``delete``, which agents get only if the user asks for these tools."""

from __future__ import annotations

import pytest

from leafspan import Document, F, InvalidArgument, RetrievalTimeout
from leafspan.agents import agent_tools
from leafspan.errors import InvalidDocument


def test_tools_change_nothing_unless_an_option_allows_it(shared_index):
    tools = agent_tools(shared_index)
    assert [tool.name for tool in tools] == ["search", "read", "outline", "grep"]
    assert not any(tool.writes for tool in tools)


def test_a_document_is_added_replaced_and_deleted(index):
    *_, add, delete = agent_tools(index, writable=True)
    assert (add.name, add.writes, delete.name, delete.deletes) == ("add", True, "delete", True)
    note = {"document_id": "note", "text": "# Note\n\nBuy tea.", "title": "A note", "metadata": {"year": 2026}}
    assert add.call(note).content == {"document_id": "note", "done": "added"}
    assert index.get("note") == Document("note", "# Note\n\nBuy tea.", "A note", {"year": 2026})
    assert add.call(note).content["done"] == "unchanged"
    assert add.call({**note, "text": "Buy coffee."}).content["done"] == "replaced"
    assert delete.call({"document_id": "note"}).content == {"deleted": ["note"]}
    assert delete.call({"document_id": "note"}).content == {"deleted": []}


def test_a_text_that_looks_like_a_path_stays_a_text(index, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    *_, add, _ = agent_tools(index, writable=True)
    add.call({"document_id": "note", "text": str(tmp_path / "secret.txt")})
    assert index.get("note").text == str(tmp_path / "secret.txt")


def test_what_is_added_through_a_scope_is_of_that_scope(index):
    *_, add, delete = agent_tools(index.scoped(F("tenant") == "a"), writable=True)
    add.call({"document_id": "tea", "text": "Tea of a."})
    assert index.get("tea").text != "Tea of a."
    assert index.scoped(F("tenant") == "a").get("tea").metadata == {"tenant": "a"}
    with pytest.raises(InvalidDocument, match="tenant"):
        add.call({"document_id": "tea", "text": "Tea of b.", "metadata": {"tenant": "b"}})
    assert delete.call({"document_id": "bees"}).content == {"deleted": []}
    assert index.get("bees")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [({"score": 1}, "score"), ({"a": {"b": 1}}, "metadata 'a'"), ({"doc_id": "x"}, "doc_id")],
)
def test_metadata_that_cannot_be_stored_are_refused(index, metadata, message):
    *_, add, _ = agent_tools(index, writable=True)
    with pytest.raises(InvalidDocument, match=message):
        add.call({"document_id": "note", "text": "Tea.", "metadata": metadata})


def test_metadata_must_be_an_object(index):
    *_, add, _ = agent_tools(index, writable=True)
    with pytest.raises(InvalidArgument, match=r"metadata must be an object, got \[1\]"):
        add.call({"document_id": "note", "text": "Tea.", "metadata": [1]})


async def test_the_asynchronous_twins_do_the_same(index):
    *_, add, delete = agent_tools(index, writable=True)
    assert (await add.acall({"document_id": "note", "text": "Tea."})).content["done"] == "added"
    assert (await delete.acall({"document_id": "note"})).content == {"deleted": ["note"]}


def test_a_change_that_is_late_says_that_nobody_knows_whether_it_was_made(index):
    *_, add, _ = agent_tools(index, writable=True, timeout=1e-6)
    with pytest.raises(RetrievalTimeout, match="add must be done within its timeout, and may still be done later"):
        add.call({"document_id": "note", "text": "Tea."})
