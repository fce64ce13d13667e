"""Documents of real loaders and splitters: different ones stay apart, and adding the same ones again has no effect."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from haystack import Document as HaystackDocument
from haystack.components.preprocessors import DocumentSplitter
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import ImageDocument, ImageNode, TextNode

from leafspan import Document, Index, InvalidArgument
from leafspan.documents import content_hash, to_document
from leafspan.documents._frameworks import described, made_id
from leafspan.errors import InvalidDocument
from tests.pdf import pdf
from tests.profiles import examples

pytestmark = pytest.mark.filterwarnings("ignore:.*are pieces of longer texts:UserWarning")

TEXT = "".join(f"Sentence number {number} is about subject {number % 7}. " for number in range(60))


class TextLoaderLike:
    """Has the shape of a loader of LangChain."""

    def lazy_load(self):
        yield LangChainDocument(page_content="Tea.")


class SimpleDirectoryReaderLike:
    """Has the shape of a reader of LlamaIndex."""

    def load_data(self):
        return [LlamaIndexDocument(text="Tea.")]


class SomeDocuments:
    """Gives documents asynchronously."""

    async def __aiter__(self):
        yield LangChainDocument(page_content="Tea.")


@pytest.fixture(scope="module", autouse=True)
def _community_may_warn() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # langchain-community says at every import that it is being retired
        import langchain_community.document_loaders  # noqa: F401

        yield


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "kb") as index:
        yield index


def csv_rows(folder: Path) -> list[LangChainDocument]:
    from langchain_community.document_loaders import CSVLoader

    (folder / "tea.csv").write_text("name,water\ngreen,80\nblack,100\ngreen,80\n")
    return CSVLoader(str(folder / "tea.csv")).load()


def json_records(folder: Path) -> list[LangChainDocument]:
    from langchain_community.document_loaders import JSONLoader

    (folder / "tea.json").write_text(json.dumps([{"text": "Green tea."}, {"text": "Black tea."}, {"text": "Green tea."}]))
    return JSONLoader(str(folder / "tea.json"), jq_schema=".[].text").load()


def pdf_pages(folder: Path) -> list[LangChainDocument]:
    from langchain_community.document_loaders import PyPDFLoader

    (folder / "tea.pdf").write_bytes(pdf(["Green tea.", "Black tea.", "Green tea."]))
    return PyPDFLoader(str(folder / "tea.pdf")).load()


def chunks(folder: Path) -> list[LangChainDocument]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=40)
    return splitter.split_documents([LangChainDocument(page_content=TEXT, metadata={"source": "tea.txt"})])


def chunks_with_places(folder: Path) -> list[LangChainDocument]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=0, add_start_index=True)
    return splitter.split_documents([LangChainDocument(page_content="Tea. " * 60, metadata={"source": "tea.txt"})])


def files(folder: Path) -> list[LlamaIndexDocument]:
    (folder / "a").mkdir(exist_ok=True)
    for name in ("x.txt", "y.txt"):
        (folder / "a" / name).write_text("The same text in two files.")
    return SimpleDirectoryReader(str(folder / "a")).load_data()


def nodes(folder: Path) -> list:
    parser = SentenceSplitter(chunk_size=40, chunk_overlap=8)
    return parser.get_nodes_from_documents([LlamaIndexDocument(text="Tea is hot. " * 60, id_="tea")])


def nodes_of_files(folder: Path) -> list:
    return SentenceSplitter(chunk_size=40, chunk_overlap=8).get_nodes_from_documents(files(folder))


def unnamed(folder: Path) -> list[LlamaIndexDocument]:
    return [LlamaIndexDocument(text="Tea."), LlamaIndexDocument(text="Tea.", metadata={"kind": "green"})]


def haystack_documents(folder: Path) -> list[HaystackDocument]:
    return [HaystackDocument(content="Tea."), HaystackDocument(content="Tea.", meta={"kind": "green"})]


def haystack_chunks(folder: Path) -> list[HaystackDocument]:
    splitter = DocumentSplitter(split_by="word", split_length=30, split_overlap=5)
    return splitter.run([HaystackDocument(content=TEXT, meta={"kind": "tea"})])["documents"]


LOADERS = [
    csv_rows,
    json_records,
    pdf_pages,
    chunks,
    chunks_with_places,
    files,
    nodes,
    nodes_of_files,
    unnamed,
    haystack_documents,
    haystack_chunks,
]


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_all_documents_of_a_loader_are_added_and_adding_them_again_changes_nothing(empty: Index, tmp_path: Path, load):
    loaded = load(tmp_path)
    assert len(loaded) > 1
    added = empty.add(loaded)
    assert len(added.added) == empty.count() == len(loaded)
    texts = [each.get_content() if hasattr(each, "node_id") else getattr(each, "page_content", None) for each in loaded]
    texts = [text if text is not None else each.content for text, each in zip(texts, loaded, strict=True)]
    assert [empty.get(id_).text for id_ in added.added] == texts
    again = empty.add(load(tmp_path))  # as another process would, days later
    assert (again.added, again.replaced, again.unchanged) == ((), (), len(loaded))


def test_rows_that_are_added_one_by_one_all_stay(empty: Index, tmp_path: Path):
    for row in csv_rows(tmp_path):
        empty.add(row)
    assert empty.count() == 3


def test_a_made_id_says_the_source_and_the_place_there(tmp_path: Path):
    ids = [to_document(row).id for row in csv_rows(tmp_path)]
    assert [id_.rpartition(":")[0] for id_ in ids] == [f"{tmp_path / 'tea.csv'}"[-64:] + f":row={row}" for row in range(3)]
    page = to_document(LangChainDocument(page_content="x", metadata={"source": "a.pdf", "page": 2, "start_index": 40}))
    assert page.id.startswith("a.pdf:page=2:start_index=40:")
    assert made_id("x", {"source": "a.pdf"}, position={"page": 2}).startswith("a.pdf:page=2:")


def test_hashes_and_made_ids_stay_those_that_are_stored():
    """They are of JSON in ASCII. Where they change, all documents that were added before are added again."""
    document = Document("d", "Grüner Tee", "Getränke", {"k": "ü"})
    assert content_hash(document) == "b0e904faec6a3cb9906df9f5c7607967b17d54021ed1f5b4d3bb4fc0d10d7d33"
    assert made_id("Grüner Tee", {"source": "ü.txt"}) == "ü.txt:4415b05df7868ebc"


def test_what_says_no_source_and_no_place_is_not_described():
    assert described({}) == described({"author": "Ada"}) == ""
    assert described({"page": 2}) == "page=2"
    assert described({"page": 2}, "a.pdf") == described({"page": 2, "source": "a.pdf"}) == "a.pdf:page=2"


def test_equal_texts_with_other_metadata_are_two_documents(empty: Index):
    empty.add([LangChainDocument(page_content="Tea.", metadata={"shelf": shelf}) for shelf in (1, 2)])
    assert sorted(document.metadata["shelf"] for document in empty.documents()) == [1, 2]


def test_a_changed_text_of_the_same_source_replaces_nothing(empty: Index):
    for text in ("Tea is hot.", "Tea is cold."):
        empty.add(LangChainDocument(page_content=text, metadata={"source": "tea.txt"}))
    assert sorted(empty.get(document.id).text for document in empty.documents()) == ["Tea is cold.", "Tea is hot."]


def test_a_file_of_another_date_is_the_same_document(empty: Index):
    def loaded(day: str) -> LlamaIndexDocument:
        return LlamaIndexDocument(text="Tea.", metadata={"file_path": "tea.txt", "last_modified_date": day})

    (id_,) = empty.add(loaded("2026-01-01")).added
    assert empty.add(loaded("2026-01-02")).replaced == (id_,)
    assert empty.get(id_).metadata["last_modified_date"] == "2026-01-02"


@pytest.mark.parametrize(
    "key",
    [
        "created",
        "creationDate",
        "last_accessed",
        "lastAccessed",
        "last-accessed-at",
        "last_modified",
        "modified",
        "file.mtime",
        "updated_at",
        "fetched_at",
        "indexed_at",
    ],
)
def test_what_a_loader_says_of_the_day_is_no_part_of_an_id(empty: Index, key: str):
    def loaded(day: float) -> LangChainDocument:
        return LangChainDocument(page_content="Tea.", metadata={"source": "tea.md", key: day})

    (id_,) = empty.add(loaded(1.5)).added
    assert empty.add(loaded(2.5)).replaced == (id_,)
    assert empty.get(id_).metadata[key] == 2.5


@pytest.mark.parametrize("key", ["page", "created_at", "recreated", "unmodified", "author", "views"])
def test_what_a_loader_says_of_the_text_is_a_part_of_its_id(empty: Index, key: str):
    made = [LangChainDocument(page_content="Tea.", metadata={"source": "tea.md", key: value}) for value in (1, 2)]
    assert len(empty.add(made).added) == 2


def test_further_volatile_keys_are_named(empty: Index):
    def loaded(views: int) -> LangChainDocument:
        return LangChainDocument(page_content="Tea.", metadata={"source": "tea.md", "views": views, "likes": 1})

    (id_,) = empty.add(loaded(1), volatile_keys=["views"]).added
    assert empty.add(loaded(2), volatile_keys=("views", "other")).replaced == (id_,)
    synced = empty.sync([loaded(3)], source_key="source", volatile_keys=["views"])
    assert (synced.added, synced.replaced) == ((), (id_,))
    for wrong in ("views", [1], None, [""]):
        with pytest.raises(InvalidArgument, match="volatile_keys must be a list of metadata keys, got"):
            empty.add(loaded(4), volatile_keys=wrong)  # type: ignore[arg-type]


def test_a_pdf_that_was_saved_again_is_the_same_document(empty: Index, tmp_path: Path):
    def pages(day: str) -> list[LangChainDocument]:
        loaded = pdf_pages(tmp_path)
        return [LangChainDocument(page_content=p.page_content, metadata={**p.metadata, "moddate": day}) for p in loaded]

    added = empty.add(pages("2026-01-01")).added
    assert empty.add(pages("2026-02-02")).replaced == added


def test_pictures_without_a_text_are_distinguished(empty: Index):
    assert len(empty.add([ImageNode(image="a"), ImageNode(image="b")]).added) == 2


def test_what_has_no_text_is_added_once(empty: Index, tmp_path: Path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "empty.md").write_text("")
    adds = []
    for _ in range(3):
        read = SimpleDirectoryReader(tmp_path / "docs").load_data()
        nodes = SentenceSplitter().get_nodes_from_documents(read)
        given = LlamaIndexDocument(text="", metadata={"file_path": "a.md"})
        pictures = [ImageNode(image="a"), ImageDocument(image="b"), ImageNode(image_url="https://a.org/c.png")]
        adds.append([len(empty.add(things).added) for things in (read, nodes, given, pictures)])
    assert adds == [[1, 1, 1, 3], [0, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("thing", "remedy"),
    [
        (TextLoaderLike(), r"for a loader, pass loader.lazy_load\(\)"),
        (SimpleDirectoryReaderLike(), r"for a reader, pass reader.load_data\(\)"),
        (SomeDocuments(), r"collect it first: \[each async for each in it\]"),
    ],
    ids=["loader", "reader", "asynchronous iterator"],
)
def test_what_is_nearly_a_document_is_refused_with_what_to_do(empty: Index, thing, remedy):
    with pytest.raises(InvalidDocument, match=remedy):
        empty.add(thing)


def test_an_error_says_which_record_it_is_about(empty: Index):
    record = LangChainDocument(page_content="Tea.", metadata={"source": "x.json", "seq_num": 57, "nested": {"a": 1}})
    with pytest.raises(InvalidDocument, match=r"document 'x\.json:seq_num=57'"):
        empty.add(record)


def test_the_text_of_what_has_no_id_may_begin_with_what_an_id_must_not(empty: Index):
    text = "leafspan: one core, two hosts."
    (id_,) = empty.add([LangChainDocument(page_content=text), LlamaIndexDocument(text=text)]).added  # the same one twice
    assert empty.get(id_).text == text
    with pytest.raises(InvalidDocument, match="id must not begin with 'leafspan:', got 'leafspan:notes:"):
        empty.add(LangChainDocument(page_content=text, metadata={"source": "leafspan:notes"}))


def test_an_error_says_that_the_text_is_wrong_of_what_has_no_id(empty: Index):
    with pytest.raises(InvalidDocument, match=r"the text of document 'a\\ud800b\.\.\.' must be valid Unicode"):
        empty.add(LangChainDocument(page_content="a\ud800b"))


def test_ids_that_users_give_are_kept(empty: Index):
    given = "6f1c9b0e-7a55-4b52-9f0c-0d6d1c2f3a41"  # as random as one that LlamaIndex makes
    empty.add(
        [LlamaIndexDocument(text="Tea.", id_=given, metadata={"file_path": "tea.txt"}), TextNode(text="Tea.", id_="n")]
    )
    assert {document.id for document in empty.documents()} == {given, "n"}


def test_one_id_with_two_contents_in_one_add_is_an_error_that_says_what_to_do(empty: Index):
    with pytest.raises(InvalidDocument, match=r"two different documents of one add have the id 'a'.* chunks_of"):
        empty.add([Document("b", "First."), Document("a", "One."), Document("a", "Two.")])
    assert empty.count() == 0


def test_a_document_that_comes_twice_is_added_once(empty: Index):
    tea = LangChainDocument(page_content="Tea.", metadata={"source": "tea.txt"})
    assert len(empty.add([tea, tea, Document("a", "One."), Document("a", "One.")]).added) == 2


def test_nothing_of_a_long_list_is_written_if_a_later_document_cannot_be(empty: Index, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(empty._store, "batch", 100)  # so that three groups come before it
    many = [Document(str(number), "Text.") for number in range(300)]
    view = empty.scoped({"tenant": "a"})
    for wrong in (Document("7", "Other."), Document("x", "Text.", metadata={"tenant": "b"})):
        with pytest.raises(InvalidDocument):
            view.add([*many, wrong])
    assert empty.count() == 0


def test_dates_are_stored_as_iso_texts_and_can_be_compared(empty: Index):
    noon = dt.datetime(2026, 5, 31, 12, tzinfo=dt.UTC)
    empty.add({"id": "a", "text": "Tea.", "metadata": {"day": dt.date(2026, 5, 31), "at": noon, "all": [noon]}})
    assert empty.get("a").metadata == {
        "day": "2026-05-31",
        "at": "2026-05-31T12:00:00+00:00",
        "all": ["2026-05-31T12:00:00+00:00"],
    }


def test_nested_metadata_are_flattened_when_asked(empty: Index):
    document = HaystackDocument(content="Tea.", id="a", meta={"author": {"name": "Kit", "born": {"year": 1980}}, "n": 1})
    with pytest.raises(InvalidDocument, match="flatten_metadata=True"):
        empty.add(document)
    empty.add(document, flatten_metadata=True)
    assert empty.get("a").metadata == {"author.name": "Kit", "author.born.year": 1980, "n": 1}
    with pytest.raises(InvalidDocument, match=r"two values for 'a\.b'"):
        empty.add({"id": "x", "text": "x", "metadata": {"a.b": 1, "a": {"b": 2}}}, flatten_metadata=True)


def test_a_haystack_document_without_a_text_is_refused(empty: Index):
    with pytest.raises(InvalidDocument, match="must have a text as its content"):
        empty.add(HaystackDocument(meta={"kind": "picture"}))


_METADATA = st.dictionaries(
    st.sampled_from(["source", "page", "row", "start_index", "kind"]), st.integers(0, 2), max_size=3
)
_DOCUMENTS = st.builds(
    lambda text, metadata: LangChainDocument(
        page_content=text, metadata={k: f"{v}.txt" if k == "source" else v for k, v in metadata.items()}
    ),
    st.sampled_from(["Tea.", "Bees dance.", "Tea and bees."]),
    _METADATA,
)


@examples(60, fast=6)
@given(st.lists(_DOCUMENTS, max_size=8), st.data())
def test_any_grouping_of_adds_gives_the_same_index_as_all_at_once(
    tmp_path_factory: pytest.TempPathFactory, documents: Sequence[LangChainDocument], data: st.DataObject
):
    order = data.draw(st.permutations(documents))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(order)), max_size=3)))
    bounds = [0, *cuts, len(order)]
    with Index.open(tmp_path_factory.mktemp("once")) as once, Index.open(tmp_path_factory.mktemp("parts")) as parts:
        once.add(documents)
        for first, last in pairwise(bounds):
            parts.add(order[first:last])
        assert parts.documents() == once.documents()
        told_apart = {(each.page_content, json.dumps(each.metadata, sort_keys=True)) for each in documents}
        assert {
            (once.get(each.id).text, json.dumps(dict(each.metadata), sort_keys=True)) for each in once.documents()
        } == told_apart


class WhatWasAddedIsThere(RuleBasedStateMachine):
    """Documents are added with ids and without, named again, and deleted; a document that was not named again or deleted stays."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.index = Index.open(self.folder.name)
        self.there: dict[object, tuple[str, dict]] = {}  # by id, or by content

    @rule(documents=st.lists(_DOCUMENTS, max_size=4))
    def add_documents_of_a_loader(self, documents: list[LangChainDocument]) -> None:
        self.index.add(documents)
        for each in documents:
            self.there[each.page_content, json.dumps(each.metadata, sort_keys=True)] = (each.page_content, each.metadata)

    @rule(id_=st.sampled_from("abc"), text=st.sampled_from(["Tea.", "Bees dance."]))
    def add_a_named_document(self, id_: str, text: str) -> None:
        self.index.add(Document(id_, text))
        self.there[id_] = (text, {})

    @rule(id_=st.sampled_from("abc"))
    def delete_a_named_document(self, id_: str) -> None:
        assert self.index.delete([id_]) == ([id_] if self.there.pop(id_, None) else [])

    @invariant()
    def nothing_else_is_missing_and_nothing_is_there_twice(self) -> None:
        found = [(self.index.get(each.id).text, dict(each.metadata)) for each in self.index.documents()]
        assert sorted(found, key=repr) == sorted(self.there.values(), key=repr)

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()


TestWhatWasAddedIsThere = WhatWasAddedIsThere.TestCase
TestWhatWasAddedIsThere.settings = examples(60, fast=6, stateful_step_count=10)
