"""``chunks_of`` joins chunks of other splitters into documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from string import ascii_letters

import numpy as np
import pytest
from haystack import Document as HaystackDocument
from haystack.components.preprocessors import DocumentSplitter
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes

from leafspan import AutoMerging, Chunk, Document, F, Index, ParentDocument, SentenceWindow, Vector, chunks_of
from leafspan.documents._chunks import Piece, metadata_key, put_together
from leafspan.errors import InvalidDocument
from tests.profiles import examples

TEXT = "\n\n".join(
    f"Paragraph {number} tells of tea. It has a second sentence, on subject {number % 5}." for number in range(30)
)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "kb") as index:
        yield index


def langchain_chunks(size: int = 120, overlap: int = 30, *, places: bool = True) -> list[LangChainDocument]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=places)
    return splitter.split_documents([LangChainDocument(page_content=TEXT, metadata={"source": "tea.txt", "kind": "green"})])


def test_chunks_of_langchain_become_the_leaves_of_one_document(empty: Index):
    chunks = langchain_chunks()
    (document,) = chunks_of(chunks)
    assert document.text == TEXT
    assert document.metadata == {"source": "tea.txt", "kind": "green"}
    (id_,) = empty.add(document).added
    starts = [chunk.metadata["start_index"] for chunk in chunks]
    assert [(leaf.start, leaf.end) for leaf in empty.leaves(id_)] == list(pairwise([*starts, len(TEXT)]))
    assert all(
        chunk.page_content.startswith(leaf.text.rstrip()[:20])
        for chunk, leaf in zip(chunks, empty.leaves(id_), strict=True)
    )


def test_windows_and_merging_work_across_chunks(empty: Index):
    empty.add(chunks_of(langchain_chunks(overlap=0)))
    (window,) = empty.retrieve("Paragraph 7", SentenceWindow(before=1, after=1), k=1)
    assert window.text.count("Paragraph") >= 3
    assert window.text == TEXT[window.start : window.end]
    merged = empty.retrieve("Paragraph tea", AutoMerging(threshold=0), k=1)[0]
    assert merged.end - merged.start > 120  # longer than any chunk


def test_nodes_of_llamaindex_become_the_leaves_of_the_document_they_were_split_from(empty: Index):
    whole = LlamaIndexDocument(text=TEXT, id_="tea", metadata={"kind": "green"})
    (document,) = chunks_of(SentenceSplitter(chunk_size=40, chunk_overlap=10).get_nodes_from_documents([whole]))
    assert (document.id, document.text, document.metadata) == ("tea", TEXT, {"kind": "green"})


def test_of_hierarchical_nodes_the_lowest_count():
    whole = LlamaIndexDocument(text=TEXT, id_="tea")
    nodes = HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 64], chunk_overlap=0).get_nodes_from_documents([whole])
    (document,) = chunks_of(nodes)
    assert len(document.chunks) == len(get_leaf_nodes(nodes))
    assert document.text == TEXT
    (without_parents,) = chunks_of(get_leaf_nodes(nodes))  # whose places are unknown then
    assert without_parents.text.split() == TEXT.split()


def test_chunks_of_haystack_become_the_leaves_of_one_document():
    whole = HaystackDocument(content=TEXT, meta={"kind": "green"})
    chunks = DocumentSplitter(split_by="word", split_length=30, split_overlap=5).run([whole])["documents"]
    (document,) = chunks_of(chunks)
    assert (document.id, document.text) == (whole.id, TEXT)
    assert document.metadata["kind"] == "green"
    assert [chunk.metadata["chunk_id"] for chunk in document.chunks] == [chunk.id for chunk in chunks]


def test_chunks_without_places_follow_each_other_and_share_what_they_share(empty: Index):
    chunks = langchain_chunks(places=False)
    (document,) = chunks_of(chunks, overlap=30)
    assert document.text.split() == TEXT.split()
    assert len(document.chunks) == len(chunks)


def test_a_text_that_two_chunks_share_comes_once():
    (document,) = chunks_of(["Tea is hot", "hot and green", "It is old."], id="tea", overlap=3)
    assert document.text == "Tea is hot and green\nIt is old."
    assert [chunk.end for chunk in document.chunks] == [len("Tea is "), len("Tea is hot and green\n"), len(document.text)]
    (document,) = chunks_of(["Tea is hot", "hot and green"], id="tea", overlap=2)  # so the word is there twice
    assert document.text == "Tea is hot\nhot and green"


@examples(100)
@given(length=st.integers(2, 20), data=st.data())
def test_chunks_without_places_make_the_text_that_they_were_cut_from(length: int, data: st.DataObject):
    overlap = data.draw(st.integers(1, length - 1))
    starts = range(0, len(ascii_letters) - overlap, length - overlap)
    chunks = [ascii_letters[start : start + length] for start in starts]
    (document,) = chunks_of(chunks, id="letters", overlap=overlap)
    assert document.text == ascii_letters
    assert [chunk.end for chunk in document.chunks] == [*starts[1:], len(ascii_letters)]


def test_a_place_of_minus_one_is_none_which_langchain_writes_where_it_has_not_found_a_chunk():
    pieces = [
        LangChainDocument(page_content=text, metadata={"source": "tea.txt", "start_index": -1})
        for text in ("Tea is hot.", "It is green.")
    ]
    (document,) = chunks_of(pieces)
    assert document.text == "Tea is hot.\nIt is green."


@pytest.mark.parametrize(
    "kept",
    [np.int64, np.uint16, float, np.float32, str, lambda start: f"{start}.0"],
    ids=["numpy", "unsigned", "float", "numpy's float", "text", "text of a float"],
)
def test_places_are_those_that_they_were_after_numpy_json_or_csv(kept):
    chunks = langchain_chunks(overlap=20)
    changed = [
        piece(each.page_content, **{**each.metadata, "start_index": kept(each.metadata["start_index"])}) for each in chunks
    ]
    (document,), (expected,) = chunks_of(changed[::-1]), chunks_of(chunks)
    assert document.text == expected.text == TEXT
    assert [chunk.end for chunk in document.chunks] == [chunk.end for chunk in expected.chunks]


@pytest.mark.parametrize("none", [-1, "-1", -1.0, None, float("nan"), "", " "], ids=repr)
def test_a_place_that_is_missing_says_nothing(none):
    (document,) = chunks_of([piece(text, source="tea.txt", start_index=none) for text in ("Tea is hot.", "It is green.")])
    assert document.text == "Tea is hot.\nIt is green."


@pytest.mark.parametrize("key", ["start_index", "split_idx_start"])
@pytest.mark.parametrize("start", [12.5, "12.5", "chapter 2", True, -2, float("inf"), [3], "1_2", "\u0663"], ids=repr)
def test_a_place_that_is_no_whole_number_is_an_error(key, start):
    with pytest.raises(
        InvalidDocument, match=f"{key} of a chunk must be .* whole number >= 0 .*, got {re.escape(repr(start))};"
    ):
        chunks_of([piece("Tea is hot.", source="tea.txt", **{key: start})])


def test_a_document_may_have_anything_as_its_start_index(empty: Index):
    empty.add(piece("Tea is hot.", start_index="chapter 2"))
    assert [document.metadata for document in empty.documents()] == [{"start_index": "chapter 2"}]


def test_texts_with_an_id_are_chunks_too():
    (document,) = chunks_of(["Tea is hot.", "Tea is green. ", "Tea is old."], id="tea")
    assert document == Document(
        "tea", "Tea is hot.\nTea is green. Tea is old.", None, {}, (Chunk(12), Chunk(26), Chunk(37))
    )
    with pytest.raises(InvalidDocument, match="need the id of their document"):
        chunks_of(["Tea."])


def test_what_only_some_chunks_say_is_in_their_results_and_not_in_filters(empty: Index):
    pages = [
        LangChainDocument(page_content=f"Page {page} tells of tea.", metadata={"page": page, "by": "Kit"})
        for page in (1, 2)
    ]
    empty.add(chunks_of(pages, id="tea"))
    assert empty.get("tea").metadata == {"by": "Kit"}
    [alone] = empty.retrieve("Page 2", Vector(), k=1)
    assert alone.metadata == {"by": "Kit", "page": 2}
    [wider] = empty.retrieve("Page 2", ParentDocument(), k=1)
    assert wider.metadata == {"by": "Kit"}  # it is on two pages
    assert [leaf.metadata for leaf in empty.leaves("tea")] == [{"by": "Kit", "page": 1}, {"by": "Kit", "page": 2}]
    assert empty.retrieve("tea", where=F("page") == 1) == []


def test_a_chunk_cannot_take_its_document_to_another_tenant(empty: Index):
    acme = empty.scoped(F("tenant") == "acme")
    acme.add(Document("tea", "Tea is hot.", chunks=(Chunk(11, {"tenant": "other", "page": 1}),)))
    assert [leaf.metadata for leaf in empty.leaves()] == [{"tenant": "acme", "page": 1}]


def test_a_document_comes_back_with_its_chunks_and_adding_it_again_changes_nothing(empty: Index):
    (document,) = chunks_of(langchain_chunks())
    empty.add(document)
    assert empty.get(document.id) == document
    assert empty.add(empty.get(document.id)).unchanged == 1


def test_chunks_in_any_order_make_the_same_document():
    chunks = langchain_chunks()
    assert chunks_of(chunks[::-1]) == chunks_of(chunks)


def test_chunks_of_several_documents_are_kept_apart():
    def pieces(name: str) -> list[LangChainDocument]:
        splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=0, add_start_index=True)
        return splitter.split_documents([LangChainDocument(page_content=f"{name} {TEXT}", metadata={"source": name})])

    a, b = chunks_of([*pieces("a"), *pieces("b")])
    assert (a.text, b.text) == (f"a {TEXT}", f"b {TEXT}")
    assert a.id != b.id


def test_a_missing_chunk_leaves_white_space_so_that_places_stay():
    chunks = langchain_chunks(overlap=0)
    (document,) = chunks_of([chunks[0], *chunks[2:]])
    assert len(document.text) == len(TEXT)
    assert document.text[chunks[2].metadata["start_index"] :] == TEXT[chunks[2].metadata["start_index"] :]


def test_chunks_of_different_texts_are_an_error():
    pieces = [LangChainDocument(page_content=text, metadata={"start_index": 0}) for text in ("Tea is hot.", "Bees dance.")]
    with pytest.raises(InvalidDocument, match="must be the same where they overlap, but the one at character 0 is not"):
        chunks_of(pieces)


def piece(text: str, **metadata: object) -> LangChainDocument:
    return LangChainDocument(page_content=text, metadata=metadata)


def test_chunks_of_which_only_some_say_where_they_start_are_an_error():
    pieces = [piece("Tea is hot.", source="a", start_index=0), piece("hot. It is green.", source="a", start_index=-1)]
    with pytest.raises(InvalidDocument, match=r"1 of 2 chunks of one text say at which character they start .* overlap="):
        chunks_of(pieces)


def test_chunks_without_places_and_without_a_source_need_an_id():
    sections = [piece("Tea is hot.", header="Introduction"), piece("Bees dance.", header="Introduction")]  # of two texts
    with pytest.raises(InvalidDocument, match=r"must name its text, by a source in its metadata, or chunks_of"):
        chunks_of(sections)
    assert [document.text for document in chunks_of(sections, id="both")] == ["Tea is hot.\nBees dance."]


def test_chunks_of_the_same_values_under_other_keys_are_of_two_texts():
    assert metadata_key({"author": "Ada"}) != metadata_key({"editor": "Ada"})
    assert metadata_key({"author": "Ada", "start_index": 0}) == metadata_key({"author": "Ada", "start_index": 40})


def test_chunks_without_places_are_parted_by_chunks_of_another_text_between_them():
    pieces = [
        piece("One.", source="f", header="A"),
        piece("Two.", source="f", header="B"),
        piece("Three.", source="f", header="A"),
    ]
    assert [document.text for document in chunks_of(pieces)] == ["One.", "Three.", "Two."]


def test_a_source_id_of_the_users_own_puts_no_chunks_of_langchain_together():
    pieces = [piece("Tea is hot.", source_id="wiki", url="tea"), piece("Bees dance.", source_id="wiki", url="bees")]
    assert [document.metadata["url"] for document in chunks_of(pieces)] == ["tea", "bees"]


def test_a_chunk_id_of_the_users_own_is_kept():
    (document,) = chunks_of([LangChainDocument(id="c1", page_content="Tea.", metadata={"source": "a", "chunk_id": 7})])
    assert document.chunks[0].metadata == {"chunk_id": 7}


def test_equal_chunks_at_one_place_that_say_different_things_are_an_error():
    pieces = [piece("To be done.", start_index=0, section="A"), piece("To be done.", start_index=0, section="B")]
    with pytest.raises(InvalidDocument, match="must not differ only in their metadata, got two at character 0"):
        chunks_of(pieces, id="x")


def test_true_is_not_one_among_chunks():
    (document,) = chunks_of([piece("Tea.", done=True), piece("Bees.", done=1)], id="x")
    assert document.metadata == {}
    assert [type(chunk.metadata["done"]) for chunk in document.chunks] == [bool, int]


def test_a_line_end_stood_before_a_chunk_that_begins_as_a_block_of_markdown():
    text = "# Guide\n\nIntro text.\n## Install\nRun pip install now.\n## Use\nCall it with care.\n"
    splitter = RecursiveCharacterTextSplitter(chunk_size=36, chunk_overlap=0, add_start_index=True)
    (document,) = chunks_of(splitter.split_documents([piece(text, source="guide.md")]))
    assert document.text == text.rstrip()


def test_nobody_knows_the_lines_of_a_text_that_was_put_together(empty: Index):
    empty.add(chunks_of(langchain_chunks()))
    assert {leaf.lines for leaf in empty.leaves()} == {None}


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (None, "chunks must be an iterable of chunks, got None"),
        ([piece("x", start_index=10**13)], "must start at most 10,000,000 characters behind the one before"),
        (
            [LangChainDocument.model_construct(page_content="x", metadata={1: 2, "source": "a"}, id=None)],
            "metadata keys must be",
        ),
    ],
)
def test_what_cannot_be_put_together_is_refused(chunks, message):
    with pytest.raises(InvalidDocument, match=message):
        chunks_of(chunks)


def test_one_chunk_alone_and_empty_ones_are_no_harm():
    (one,) = chunks_of(piece("Tea is hot.", source="a"))
    assert one.text == "Tea is hot."
    (document,) = chunks_of(["Tea.", "", "Bees."], id="x")
    assert (document.text, len(document.chunks)) == ("Tea.\nBees.", 2)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ((Chunk(5), Chunk(3), Chunk(11)), "must be Chunks with ascending ends, got Chunk"),
        ((Chunk(5),), "the last chunk of document 'tea' must end at the end of the text, 11, got 5"),
        ((5, 11), "must be Chunks with ascending ends, got 5"),
        ((Chunk(11, {"doc_id": "x"}),), "metadata key 'doc_id' of document 'tea' is reserved"),
    ],
)
def test_chunks_that_do_not_partition_the_text_are_refused(empty: Index, chunks, message):
    with pytest.raises(InvalidDocument, match=message):
        empty.add(Document("tea", "Tea is hot.", chunks=chunks))


@examples(200)
@given(
    st.text(st.sampled_from("ab. \n"), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(1, 30)), min_size=1, max_size=8),
)
def test_chunks_with_places_make_the_text_that_they_were_cut_from(text: str, places: list[tuple[int, int]]):
    cut = [(min(start, len(text) - 1), length) for start, length in [(0, 1), *places]]
    chunks = [
        LangChainDocument(page_content=text[start : start + length], metadata={"start_index": start})
        for start, length in cut
    ]
    (document,) = chunks_of(chunks)
    held = {place for start, length in cut for place in range(start, min(start + length, len(text)))}
    assert len(document.text) == max(held) + 1
    assert all(document.text[place] == text[place] for place in held)
    assert all(document.text[place].isspace() for place in set(range(max(held))) - held)
    assert document.chunks[-1].end == len(document.text)


def test_pieces_of_a_known_text_are_slices_of_it():
    def put(*pieces):
        return put_together("tea", [Piece(text, start, {}) for text, start in pieces], text="Tea is hot. It is green.")

    document = put(("Tea is hot.", 0), ("hot. It is", 7))
    assert (document.text, [chunk.end for chunk in document.chunks]) == ("Tea is hot. It is green.", [7, 24])
    for wrong in (("Tea is cold.", 0), ("green. Or black.", 18)):
        with pytest.raises(InvalidDocument, match="chunks of one text must be the same where they overlap"):
            put(wrong)


PAGES = {
    "LangChain": [
        LangChainDocument(page_content=f"Page {page}", metadata={"file_path": "g.pdf", "page": page}) for page in (1, 2)
    ],
    "LlamaIndex": [
        LlamaIndexDocument(text=f"Page {page}", metadata={"file_path": "g.pdf", "page": page}) for page in (1, 2)
    ],
    "Haystack": [HaystackDocument(content=f"Page {page}", meta={"file_path": "g.pdf", "page": page}) for page in (1, 2)],
}


@pytest.mark.parametrize("host", PAGES)
def test_pages_of_a_loader_become_one_document_with_an_id_and_one_each_without(host: str):
    (guide,) = chunks_of(PAGES[host], id="guide")
    assert (guide.id, guide.text.split(), guide.metadata) == ("guide", ["Page", "1", "Page", "2"], {"file_path": "g.pdf"})
    assert [chunk.metadata["page"] for chunk in guide.chunks] == [1, 2]
    assert [page.metadata for page in chunks_of(PAGES[host])] == [{"file_path": "g.pdf", "page": page} for page in (1, 2)]


def _split_three(text: str) -> dict[str, list[object]]:
    """Three pieces of a text, by each framework's splitter."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=0, add_start_index=True)
    nodes = SentenceSplitter(chunk_size=60, chunk_overlap=0).get_nodes_from_documents([LlamaIndexDocument(text=text)])
    haystack = DocumentSplitter(split_by="word", split_length=9, split_overlap=0)
    haystack.warm_up()
    return {
        "langchain": [*splitter.split_documents([LangChainDocument(text, metadata={"source": "bees.md"})])],
        "llamaindex": [*nodes],
        "haystack": [*haystack.run([HaystackDocument(content=text)])["documents"]],
    }


@pytest.mark.parametrize("framework", ["langchain", "llamaindex", "haystack"])
def test_pieces_that_are_added_as_documents_of_their_own_are_a_hint_at_chunks_of(tmp_path: Path, framework: str):
    pieces = _split_three("Bees dance to show where flowers are. " * 20)[framework]
    with Index.open(tmp_path) as index:
        with pytest.warns(
            UserWarning, match=rf"{len(pieces)} of the documents are pieces .*: add leafspan.chunks_of\(pieces\)"
        ):
            index.add(pieces)
        index.add(chunks_of(pieces))  # says nothing, and warnings are errors here
        index.add(pieces[0])


def test_whole_documents_and_pages_are_no_pieces(tmp_path: Path):
    pages = [LangChainDocument(f"Page {page}.", metadata={"source": "a.pdf", "page": page}) for page in range(3)]
    nodes = [LlamaIndexDocument(text=f"Text {number}.", id_=f"t{number}") for number in range(3)]
    with Index.open(tmp_path) as index:
        index.add([*pages, *nodes])
