"""More leaves than Chroma takes or gives at once: 5,461 in a write, 32,766 in a read."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import Document, Vector
from tests.durability.versions import open_index

SENTENCES = 6_000
SMALL = [400] * 68


def long_document(name: str, sentences: int) -> Document:
    return Document(name, " ".join(f"Sentence {i} of the document {name} is one leaf, no more." for i in range(sentences)))


@pytest.mark.slow
def test_an_index_of_more_leaves_than_chroma_takes_or_gives_at_once(tmp_path: Path) -> None:
    documents = [long_document(f"d{i:02}", sentences) for i, sentences in enumerate(SMALL)]
    large = long_document("large", SENTENCES)
    leaves = sum(SMALL) + SENTENCES
    assert leaves > 32_766
    with open_index({"path": str(tmp_path / "kb")}) as index:
        added = index.add([*documents, large])
        assert len(added.added) == len(SMALL) + 1
        assert index._store.batch < SENTENCES
        assert [info.leaves for info in index.documents()] == [*SMALL, SENTENCES]
        assert index.get("large").text == large.text
        assert len(index.leaves()) == leaves
        assert "".join(leaf.text for leaf in index.leaves("large")) == large.text
        assert len(index.retrieve("anything", Vector(), k=10)) == 10
        assert index.repair() == []
        assert index.add(Document("large", large.text, title="Replaced")).replaced == ("large",)
        assert index.get("large").text == large.text
        assert index.delete(["large", "d00"]) == ["large", "d00"]
        assert index.count() == len(SMALL) - 1
        assert index.stats().leaves == sum(SMALL) - 400
        assert index.repair() == []
