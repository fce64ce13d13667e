"""The most frequent error messages, word by word: the rule, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack.components.preprocessors import DocumentSplitter
from langchain_core.messages import HumanMessage
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.node_parser import SentenceSplitter

from leafspan import (
    BM25,
    Browse,
    Budget,
    Decay,
    Document,
    F,
    Hybrid,
    Index,
    LeafspanError,
    Query,
    Rerank,
    Router,
    SentenceWindow,
    Vector,
    retrieve,
)
from tests.corpus import SPLITTER

MESSAGES: dict[str, tuple[Callable[[Index], Any], str]] = {
    "no path": (
        lambda index: Index.open(),
        'give either a path or a client, got neither: such as path="kb", a folder, which is made',
    ),
    "a path beside a client": (
        lambda index: Index.open("mine", client=object()),
        "give either a path or a client, got both: behind a client, the index has a name, name='mine', and no path",
    ),
    "a path of pathlib beside a client": (
        lambda index: Index.open(Path("mine"), client=object()),
        "give either a path or a client, got both: behind a client, the index has a name, name='mine', and no path",
    ),
    "a text that is added": (
        lambda index: index.add("notes"),
        "a document must not be a text alone, got 'notes': for a file or folder, pass pathlib.Path(...); for a text, a "
        "Document, which has an id beside it",
    ),
    "a text that is synced": (
        lambda index: index.sync("notes"),
        "a document must not be a text alone, got 'notes': for a file or folder, pass pathlib.Path(...); for a text, a "
        "Document, which has an id beside it",
    ),
    "texts that are synced": (
        lambda index: index.sync(["notes", "more"], within="everything"),
        "a document must not be a text alone, got 'notes': for a file or folder, pass pathlib.Path(...); for a text, a "
        "Document, which has an id beside it",
    ),
    "a path of another type": (lambda index: Index.open(3), "path must be a string or a pathlib.Path, got 3"),
    "an empty path": (
        lambda index: Index.open(""),
        "path must be a path, got an empty text; '.' is the current folder",
    ),
    "an impossible path": (
        lambda index: Index.open("a\0b"),
        r"path must be a path that a file system can have, got 'a\x00b'",
    ),
    "no index": (lambda index: Index.open("nowhere", create=False), "there is no index in 'nowhere'"),
    "a name": (
        lambda index: Index.open("kb", name="a b"),
        "name must be letters, digits, '_', '-' or single '.', start with a letter or digit, not end with '.', and have at "
        "most 495 characters, got 'a b'",
    ),
    "a name with two dots": (
        lambda index: Index.open("kb", name="a..b"),
        "name must be letters, digits, '_', '-' or single '.', start with a letter or digit, not end with '.', and have at "
        "most 495 characters, got 'a..b'",
    ),
    "the name of trees": (
        lambda index: Index.open("kb", name="kb.tree"),
        "name must have at most 495 characters and not end with '.tree', which is for trees, got 'kb.tree'",
    ),
    "a timeout": (lambda index: Index.open("kb", timeout=-1), "timeout must be a number of seconds >= 0, got -1"),
    "a long timeout": (
        lambda index: Index.open("kb", timeout=1e12),
        "timeout must be a number of seconds <= 1e+09, got 1000000000000.0",
    ),
    "a splitter": (
        lambda index: Index.open("kb", splitter=3),
        "splitter must be a function from a text to its cuts, got 3",
    ),
    "a splitter of LangChain": (
        lambda index: Index.open("kb", splitter=RecursiveCharacterTextSplitter(chunk_size=200)),
        "splitter must be a function from a text to its cuts, got RecursiveCharacterTextSplitter; pass "
        "langchain_ext.splitter_from(...) of it, or add the chunks that it makes: chunks_of(chunks)",
    ),
    "a splitter of LlamaIndex": (
        lambda index: Index.open("kb", splitter=SentenceSplitter()),
        "splitter must be a function from a text to its cuts, got SentenceSplitter; pass llamaindex_ext.splitter_from(...) "
        "of it, or add the chunks that it makes: chunks_of(chunks)",
    ),
    "a splitter of Haystack": (
        lambda index: Index.open("kb", splitter=DocumentSplitter()),
        "splitter must be a function from a text to its cuts, got DocumentSplitter; add the chunks that it makes: "
        "chunks_of(chunks)",
    ),
    "an embedder": (
        lambda index: Index.open("kb", embedder="bge"),
        "an embedder's name must be one of 'wordllama', 'minilm', 'e5', or 'package.module:attribute', got 'bge'; for "
        "another model give an object that embeds with it, such as LangChain's OpenAIEmbeddings(model=...) for a model of "
        "OpenAI's, or "
        "SentenceTransformer(...) for one from Hugging Face",
    ),
    "an id": (lambda index: index.add(Document("", "text")), "a document's id must be a non-empty string, got ''"),
    "an id of another type": (
        lambda index: index.add(Document(3, "text")),
        "a document's id must be a non-empty string, got 3",
    ),  # type: ignore[arg-type]
    "no text": (lambda index: index.add(Document("a", None)), "the text of document 'a' must be a string, got NoneType"),  # type: ignore[arg-type]
    "half a character": (
        lambda index: index.add(Document("a", "\ud800")),
        "the text of document 'a' must be valid Unicode: 'utf-8' codec can't encode character '\\ud800' in position 0: "
        "surrogates not allowed",
    ),
    "nested metadata": (
        lambda index: index.add(Document("a", "text", None, {"b": {"c": 1}})),
        "metadata 'b' of document 'a' must be a str, a finite int or float, a bool, a date, or a list of one of these types, "
        "got {'c': 1} of type dict; flatten_metadata=True stores its items under keys of their own",
    ),
    "two of one id": (
        lambda index: index.add([Document("a", "one"), Document("a", "two")]),
        "two different documents of one add have the id 'a', so one would replace the other: give each an id of its own, or "
        "put chunks of one text together with chunks_of",
    ),
    "get": (lambda index: index.get("b"), "there is no document 'b' in the index"),
    "get by a number": (lambda index: index.get(3), "document_id must be the id of a document, a string, got 3"),  # type: ignore[arg-type]
    "delete": (lambda index: index.delete(), "give either ids or where, got ids=None and where=None"),
    "delete one": (lambda index: index.delete("bees"), "ids must be a list of strings, got 'bees'; did you mean ['bees']?"),
    "delete all": (lambda index: index.delete(where={}), "where must have a condition that says what to delete, got {}"),
    "a blank query": (
        lambda index: index.retrieve(" "),
        "a query must be a text that is not blank, or a vector of numbers, got ' '",
    ),
    "a chain's mapping": (
        lambda index: index.retrieve({"query": "Who dances?"}),
        "a query must be a text that is not blank, or a vector of numbers, got {'query': 'Who dances?'}: pass the text "
        "itself, in a chain as itemgetter('query') | retriever",
    ),
    "a message": (
        lambda index: index.retrieve(HumanMessage("Who dances?")),
        "a query must be a text that is not blank, or a vector of numbers, got HumanMessage(content='Who dances?', "
        "additional_kwargs={}, response_metadata={}): pass its text, message.content",
    ),
    "k": (lambda index: index.retrieve("q", k=0), "k must be a whole number >= 1, got 0"),
    "k as a flag": (lambda index: index.retrieve("q", k=True), "k must be a whole number >= 1, got True"),
    "a very large k": (
        lambda index: index.retrieve("q", k=2**70),
        "k must be a whole number in [1, 9223372036854775808), got one of 71 bits",
    ),
    "candidates": (lambda index: index.retrieve("q", candidates=10**6), "candidates must be <= 10000, got 1000000"),
    "a budget": (lambda index: index.retrieve("q", budget=Budget(0)), "budget must be a whole number >= 1, got 0"),
    "a score": (lambda index: index.retrieve("q", min_score=float("nan")), "min_score must be a number, got nan"),
    "a strategy": (
        lambda index: index.retrieve("q", Hybrid),  # type: ignore[arg-type]
        "strategy must be a strategy such as Vector(), got <class 'leafspan.strategies._hybrid.Hybrid'>; did you forget the "
        "parentheses?",
    ),
    "a filter": (
        lambda index: index.retrieve("q", where=["year > 3"]),
        "where must be a filter made with F, its text, a mapping in the dialect of Chroma or Haystack, or LlamaIndex's "
        "MetadataFilters, got ['year > 3']",
    ),
    "a filter's text": (
        lambda index: index.retrieve("q", where="year > 3"),
        'where, given as a text, must be like (F("year") >= 2020) & ~F("tags").contains("draft"), got \'year\' in \'year > 3\'',
    ),
    "a text that compares no key": (
        lambda index: index.retrieve("q", where="cap == Ann"),
        'where, given as a text, must be like (F("year") >= 2020) & ~F("tags").contains("draft"), got \'cap\' in '
        "'cap == Ann'",
    ),
    "an order of texts": (
        lambda index: index.retrieve("q", where={"date": {"$gt": "2024-01-05"}}),
        "where: an order comparison needs a number, got '2024-01-05' in {'date': {'$gt': '2024-01-05'}}; texts, such as ISO "
        "dates, are compared by F('date') > '2024-01-05'",
    ),
    "an operator": (
        lambda index: index.retrieve("q", where={"year": {"$gte2": 3}}),
        "where: unknown operator '$gte2' in {'year': {'$gte2': 3}}; one of $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, "
        "$contains, $not_contains",
    ),
    "a value of a filter": (
        lambda index: index.retrieve("q", where=F("year") == None),  # noqa: E711
        "F('year'): a value must be a str, int, float, bool or date, got None",
    ),
    "a vector": (
        lambda index: index.retrieve(Query(vector=(1.0, 2.0)), Vector()),
        "a query's vector must have 256 dimensions, got 2",
    ),
    "words of a vector": (
        lambda index: index.retrieve(Query(vector=(1.0,) * 256), BM25()),
        "BM25 needs the query as text, got a vector only",
    ),
    "no index to search": (
        lambda index: retrieve("q", Vector()),
        "Vector must have an index to search, but this call has no index: give one as index=, or call index.retrieve",
    ),
    "a window": (lambda index: SentenceWindow(before=-1), "before must be a whole number >= 0, got -1"),
    "a reranker": (lambda index: Rerank(), "Rerank must have a function rerank, or a diversity > 0, got neither"),
    "a shape": (
        lambda index: Decay(shape="gausian"),  # type: ignore[arg-type]
        "shape must be one of 'exponential', 'gaussian', 'linear', got 'gausian'; did you mean 'gaussian'?",
    ),
    "a default": (
        lambda index: Router(retrievers={"words": BM25()}, descriptions={"words": "words"}, default="word"),
        "default must be one of 'words', got 'word'; did you mean 'words'?",
    ),
    "a scope": (lambda index: index.scoped({}), "a scope must have a filter that says what it shows, got {}"),
    "surroundings": (lambda index: index.surroundings("bees#0", before=-1), "before must be a whole number >= 0, got -1"),
    "layers": (lambda index: index.build_tree(max_layers=0), "max_layers must be a whole number >= 1, got 0"),
    "a sync": (
        lambda index: index.sync([Document("a", "text")]),
        "a sync of documents must say what they cover: give either within, a filter or 'everything', or source_key, got "
        "within=None and source_key=None",
    ),
    "a filter without a need": (
        lambda index: index.retrieve(None, Vector()),
        "a query must be a text that is not blank, or a vector of numbers, got None",
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index in the current folder, which no message changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("messages"))
        with Index.open("kb", splitter=SPLITTER) as opened:
            opened.add(Document("bees", "Bees dance."))
            yield opened
            assert [each.id for each in opened.documents()] == ["bees"]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message(index: Index, name: str):
    call, message = MESSAGES[name]
    with pytest.raises(LeafspanError) as caught:
        call(index)
    assert str(caught.value) == message


def test_an_index_needs_no_query_for_a_filter(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("bees", "Bees dance."))
        assert [passage.text for passage in index.retrieve(None, Browse())] == ["Bees dance."]
