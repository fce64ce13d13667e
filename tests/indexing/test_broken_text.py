"""Texts with half of a surrogate pair are an error or replaced; and a sync's documents that cannot be stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as OfLangChain

from langchain_ext import HybridRetriever
from leafspan import Chunk, Document, Index, InvalidArgument, Query
from leafspan.errors import InvalidDocument
from leafspan.text import without_surrogates

BROKEN = "The bees \ud83d dance in the hive."
WHOLE = "The bees \ufffd dance in the hive."


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "kb", unicode_errors="replace") as opened:
        yield opened


@given(st.text(st.characters()))
def test_texts_keep_their_length_and_can_be_encoded(text):
    whole = without_surrogates(text)
    whole.encode()
    assert len(whole) == len(text)
    assert [new for old, new in zip(text, whole, strict=True) if old != new] == ["\ufffd"] * sum(
        "\ud800" <= each <= "\udfff" for each in text
    )


def test_by_default_it_is_an_error(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        with pytest.raises(InvalidDocument, match="the text of document 'bees' must be valid Unicode"):
            index.add(Document("bees", BROKEN))
        with pytest.raises(InvalidArgument, match="a query must be valid Unicode"):
            index.retrieve(BROKEN)


@pytest.mark.parametrize("wrong", ["ignore", "", None, True])
def test_there_are_two_choices(tmp_path, wrong):
    with pytest.raises(InvalidArgument, match="unicode_errors must be one of 'strict', 'replace'"):
        Index.open(tmp_path / "kb", unicode_errors=wrong)


def test_documents_of_any_kind_are_whole(index):
    chunked = Document(
        "chunks", BROKEN, "a \udc00 title", {"a\ud800": "b\ud800", "tags": ["\udfff"]}, (Chunk(9), Chunk(len(BROKEN)))
    )
    index.add([chunked, OfLangChain(BROKEN, id="host"), {"id": "plain\ud800", "text": BROKEN}])
    stored = index.get("chunks")
    assert (stored.text, stored.title) == (WHOLE, "a \ufffd title")
    assert stored.metadata == {"a\ufffd": "b\ufffd", "tags": ["\ufffd"]}
    assert [each.end for each in stored.chunks] == [9, len(WHOLE)]
    assert index.get("host").text == index.get("plain\ufffd").text == WHOLE
    assert index.add([chunked, OfLangChain(BROKEN, id="host")]).unchanged == 2


async def test_questions_are_whole_too(index):
    index.add(Document("bees", BROKEN))
    (direct,) = index.retrieve("Do bees \ud800 dance?")
    (several,) = index.retrieve_many([Query("Do bees \ud800 dance?")])[0]
    (later,) = await index.aretrieve("Do bees \ud800 dance?")
    (scoped,) = index.scoped({"language": "en"}).retrieve("Do bees \ud800 dance?")
    (host,) = HybridRetriever(index, k=1).invoke("Do bees \ud800 dance?")
    assert {direct.document_id, several.document_id, later.document_id, scoped.document_id} == {"bees"}
    assert host.metadata["doc_id"] == "bees"


# One bad document does not stop the others of a sync


def good(*ids):
    return [Document(id_, f"What {id_} says.") for id_ in ids]


@pytest.mark.parametrize("how", [{"within": "everything"}, {"source_key": "source"}])
def test_a_bad_document_is_skipped_and_what_the_index_has_of_it_stays(tmp_path, how):
    def documents(*ids):
        return [Document(each.id, each.text, metadata={"source": each.id}) for each in good(*ids)]

    with Index.open(tmp_path / "kb") as index:
        index.sync(documents("a", "b", "c"), **how)
        bad = Document("b", BROKEN, metadata={"source": "b"})
        synced = index.sync([*documents("a"), bad, *documents("d")], **how)
        assert (synced.added, synced.unchanged) == (("d",), ("a",))
        assert synced.deleted == (("c",) if "within" in how else ())
        ((path, reason),) = [(each.path, each.reason) for each in synced.skipped]
        assert path == "b"
        assert reason.startswith("the text of document 'b' must be valid Unicode")
        assert index.get("b").text == "What b says."
        assert index.sync([*documents("a", "d"), bad], **how, dry_run=True).deleted == ()


def test_nothing_is_deleted_if_the_id_is_what_is_wrong(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(good("a", "b"))
        synced = index.sync([*good("c"), Document("", "A text.")], within="everything")
        assert (synced.added, synced.deleted) == (("c",), ())
        assert [each.path for each in synced.skipped] == [""]
        assert index.count() == 3


def test_an_add_is_still_checked_as_a_whole(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        with pytest.raises(InvalidDocument):
            index.add([*good("a"), Document("b", BROKEN)])
        assert index.count() == 0


def test_with_replacement_a_sync_skips_nothing(index):
    synced = index.sync([Document("b", BROKEN)], within="everything")
    assert (synced.added, synced.skipped) == (("b",), ())
