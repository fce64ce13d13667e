"""Keys of metadata that no model is to be shown: stored with the document, and told of each of its passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import Document, Index, InvalidDocument, Vector

TEA = Document("tea", "Green tea is steamed.", metadata={"path": "/srv/tea.md", "topic": "food"}, hidden=("path",))


def test_what_a_document_hides_is_kept_and_told_of_its_passages(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(TEA)
    with Index.open(tmp_path / "kb") as index:
        assert index.get("tea").hidden == ("path",)
        (passage,) = index.retrieve("tea", Vector())
        assert (passage.hidden, passage.metadata) == (("path",), TEA.metadata)
        assert index.surroundings(passage).hidden == ("path",)
        assert index.add(index.get("tea")).unchanged == 1
        assert index.doctor(verify=True) == []


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


@pytest.mark.parametrize("wrong", ["path", {"path": True}, [1], None])
def test_hidden_keys_are_a_list_of_texts(tmp_path: Path, wrong: object):
    with (
        Index.open(tmp_path / "kb") as index,
        pytest.raises(InvalidDocument, match="the hidden keys of document 'd' must be a list of strings, got"),
    ):
        index.add(Document("d", "Tea.", hidden=wrong))  # type: ignore[arg-type]
