"""No masked text appears in the clear: on the disk, in requests to models, in traces, logs or errors."""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import logging
import pickle
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langchain_ext import MultiQueryRetriever, PIIAwareRetriever
from leafspan import (
    AutoMerging,
    Document,
    EmbeddingCache,
    F,
    Hybrid,
    Index,
    LeafspanError,
    MultiQuery,
    Query,
    SentenceWindow,
    Tree,
)
from leafspan.private import PIIAware, PrivateView, private_view
from leafspan.strategies import Filtered
from tests.everything import everything
from tests.private.views.people import (
    ALICE,
    CARD,
    DOCUMENTS,
    LANGCHAIN,
    PHONE,
    SECRETS,
    SpyEmbedder,
    is_in_the_clear,
    opened,
    write_files,
)

QUESTIONS = [
    "What did Alice Smith write to the council?",
    f"Who has the address {ALICE}?",
    "Where does ALICE   SMITH live, at 17 Marigold Lane?",
    f"Who called from {PHONE} and paid with {CARD}?",
    "What did Bob Quillfeather read?",
]


class SpyModel:
    """A language model that remembers its prompts, and answers with a name that it should not know."""

    def __init__(self, answer: str) -> None:
        self.seen: list[str] = []
        self.answer = answer

    def __call__(self, prompt: Any) -> str:
        self.seen += [prompt] if isinstance(prompt, str) else prompt
        return self.answer


class Witness:
    """Everything that was seen of an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = SpyEmbedder()
        self.model = SpyModel("A summary of what PERSON did.")
        self.writer = SpyModel("1. the letter of Alice Smith\n2. mail of alice.smith@example.com")
        self.log = io.StringIO()
        self.said: list[str] = []
        self.errors: list[str] = []
        self.found_while_open: list[tuple[str, str]] = []

    def provoke(self, call: Callable[[], Any], expected: type[Exception] = LeafspanError) -> None:
        """Make an error, and keep everything that it says."""
        with pytest.raises(expected) as caught:
            call()
        error: BaseException | None = caught.value
        while error is not None:
            self.errors += [str(error), repr(error), *getattr(error, "__notes__", ())]
            error = error.__cause__ or error.__context__
        # A traceback's lines of this file quote what the test itself calls.
        self.errors += traceback.format_exception_only(caught.value)


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    """An index that much was done with."""
    witness = Witness(tmp_path_factory.mktemp("private"))
    handler = logging.StreamHandler(witness.log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _use(witness, tmp_path_factory.mktemp("files"))
        yield witness
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _use(witness: Witness, files: Path) -> None:
    cache = EmbeddingCache(witness.folder / "cache")
    index, view = opened(witness.folder, embedder=witness.embedder, embedding_cache=cache)
    with index:
        view.add(DOCUMENTS)
        view.add(iter(LANGCHAIN))
        view.add({"id": ALICE, "text": "A mapping.", "metadata": {"nested": {"who": "Alice Smith"}}}, flatten_metadata=True)
        source = write_files(files)
        view.sync(source)
        (source / "Alice Smith.md").write_text("Alice Smith moved to 17 Marigold Lane.")
        view.sync(source)
        view.add(Document("gone", f"Alice Smith, {ALICE}"))
        view.delete(["gone"])
        tenant = view.scoped(F("owner") == "Alice Smith")
        tenant.add(Document("note", "A note of Zoë Łuczak about the pier."))
        witness.said += map(repr, tenant.documents())
        view.build_tree(summarizer=witness.model, across_documents=True)
        _ask(witness, view)
        _provoke_errors(witness, index, view)
        index.repair()
        witness.found_while_open = secrets_in_files(witness.folder)


def _ask(witness: Witness, view: PrivateView) -> None:
    strategies = [
        None,
        PIIAware(),
        PIIAware(base=SentenceWindow()),
        Hybrid(),
        AutoMerging(),
        Tree(),
        MultiQuery(generate=witness.writer, phrasings=["the mail of alice.smith@example.com"]),
        Filtered(Hybrid(), F("from") == ALICE),
    ]
    for question, strategy in itertools.product(QUESTIONS, strategies):
        for passage in view.retrieve(question, strategy, k=3):
            witness.said += [everything(passage), passage._repr_html_(), *passage.trace.explain()]
    view.retrieve_many([*QUESTIONS[:2], *QUESTIONS[3:]], Hybrid())
    view.retrieve(Query(QUESTIONS[0], embedding_texts=("Alice Smith wrote that the harbour is old.",)))
    view.retrieve("planks", where=(F("to").contains("Zoë Łuczak")) | (F("doc_id") == ALICE))
    witness.said += map(
        everything, [*view.documents(), *view.leaves(), *view.summaries(), view.get("letter"), view.get(ALICE)]
    )
    witness.said.append(everything(view.surroundings(view.retrieve("planks", Hybrid())[0])))
    several = MultiQueryRetriever(index=view, phrasings=["the mail of alice.smith@example.com"])
    for retriever in (PIIAwareRetriever(index=view, explain=True), several):
        witness.said += [repr(document) for document in retriever.invoke(QUESTIONS[0])]
    witness.said += [repr(view), view._repr_html_(), repr(view.vault), everything(view.stats())]


def _provoke_errors(witness: Witness, index: Index, view: PrivateView) -> None:
    long_text = "Alice Smith lives here. " * 5
    witness.provoke(lambda: view.get("Alice Smith"))
    witness.provoke(lambda: view.leaves(ALICE + "?"))
    witness.provoke(lambda: view.add(Document("Alice Smith", 3)))  # type: ignore[arg-type]
    witness.provoke(lambda: view.add(Document("a", "x", metadata={"who": {"name": "Alice Smith"}})))
    witness.provoke(lambda: view.add(Document("a", "x", metadata={"who": object.__new__(_Named)})))
    witness.provoke(lambda: view.add(Document("a", "x", metadata={"Alice Smith": 1, "alice  smith": 2})))
    witness.provoke(lambda: view.add(Document("a", "x", metadata={"Alice Smith": float("inf")})))
    witness.provoke(lambda: view.add(Document("a", "x", metadata={"entities": ["Alice Smith"]})))
    witness.provoke(lambda: view.add([Document("Alice Smith", "1"), Document("ALICE SMITH", "2")]))
    witness.provoke(lambda: view.add({"id": 7, "text": long_text}))
    witness.provoke(lambda: view.add({"page_content": "Alice Smith", "id": "x"}))
    witness.provoke(lambda: view.add("Alice Smith"))
    witness.provoke(lambda: view.add(Path("/nowhere/Alice Smith.md")))
    witness.provoke(lambda: view.add(Document("a", "\ud800 Alice Smith")))
    witness.provoke(lambda: view.sync([], within="Alice Smith"))
    witness.provoke(lambda: view.sync(DOCUMENTS, within=F("who") == "Alice Smith"))
    witness.provoke(lambda: view.delete("Alice Smith"))
    witness.provoke(lambda: view.delete(where={"who": {"$bad": "Alice Smith"}}))
    witness.provoke(lambda: view.delete(["x"], where={"who": "Alice Smith"}))
    witness.provoke(lambda: view.retrieve("x", where={"who": {"$bad": "Alice Smith"}}))
    witness.provoke(lambda: view.retrieve("x", where=long_text))
    witness.provoke(lambda: view.retrieve("x", where=F("who") > "Alice Smith"))
    witness.provoke(lambda: view.retrieve({"Alice Smith": 1}))  # type: ignore[arg-type]
    witness.provoke(lambda: view.retrieve("x", "Alice Smith"))  # type: ignore[arg-type]
    witness.provoke(lambda: view.retrieve_many([long_text, ""]))
    witness.provoke(lambda: view.surroundings("Alice Smith#90795de0#0"))
    witness.provoke(lambda: view.surroundings("Alice Smith"))
    witness.provoke(lambda: view.scoped({"who": {"$bad": "Alice Smith"}}))
    witness.provoke(lambda: private_view(index, view.vault, finder=(), known={"PERSON": ["Alice Smith", 3]}))
    witness.provoke(lambda: private_view(index, view.vault, finder=_failing).add(Document("a", "Alice Smith")))
    witness.provoke(lambda: private_view(index, view.vault, finder=_wrong).add(Document("a", "Alice Smith")))
    witness.provoke(lambda: pickle.dumps(view), TypeError)
    embed, witness.embedder.__class__.__call__ = witness.embedder.__class__.__call__, _dead  # type: ignore[method-assign]
    try:
        witness.provoke(lambda: view.add(Document("Alice Smith", "Alice Smith wrote a new text.")), RuntimeError)
        witness.provoke(lambda: view.retrieve("What is new of Zoë Łuczak?", Hybrid()), RuntimeError)
    finally:
        witness.embedder.__class__.__call__ = embed  # type: ignore[method-assign]


class _Named:
    def __repr__(self) -> str:
        return "the person Alice Smith"


def _failing(text: str) -> list[Any]:
    raise ValueError(f"cannot read {text}")


def _wrong(text: str) -> list[Any]:
    return [text]


def _dead(self: SpyEmbedder, texts: list[str]) -> Any:
    raise RuntimeError(f"the server is gone, no vectors for {texts}")


def forms(secret: str) -> Iterator[bytes]:
    """What a secret looks like in a file."""
    for text in {secret, secret.lower(), secret.upper()}:
        yield text.encode()
        yield text.encode("unicode-escape")
        yield text.encode("utf-16-le")
        yield text.encode("utf-16-be")
        for shift in range(3):  # base64 depends on where in the text it starts; its edges depend on the neighbours
            yield base64.b64encode(b"\0" * shift + text.encode())[(4 if shift else 0) : -4]


def contents(path: Path) -> Iterator[bytes]:
    """A file, and what is packed in it."""
    content = path.read_bytes()
    yield content
    for magic, unpack in ((b"\x1f\x8b", gzip.decompress), (b"\x78", zlib.decompress)):
        for start in _starts(content, magic):
            try:
                yield unpack(content[start:])
            except (OSError, EOFError, zlib.error):
                continue


def _starts(content: bytes, magic: bytes) -> Iterator[int]:
    start = content.find(magic)
    while start >= 0:
        yield start
        start = content.find(magic, start + 1)


def secrets_in_files(folder: Path) -> list[tuple[str, str]]:
    return [
        (path.name, secret)
        for path in folder.rglob("*")
        if path.is_file()
        for content in contents(path)
        for secret in SECRETS
        for form in forms(secret)
        if len(form) > 4 and form in content
    ]


def test_no_file_has_a_secret(witness: Witness):
    files = [path for path in witness.folder.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"chroma.sqlite3", "vault.db", "embeddings-1.sqlite3"} <= names
    assert any(path.parent.name != "kb" and "leafspan.segments" in path.parts for path in files)
    assert secrets_in_files(witness.folder) == []
    assert witness.found_while_open == []  # there were journals then
    assert is_in_the_clear(" ".join(str(path.relative_to(witness.folder)) for path in files)) == []


def test_a_secret_that_was_written_would_be_noticed(tmp_path: Path):
    index = Index.open(tmp_path / "kb", embedder=SpyEmbedder(), embedding_cache=False)
    with index:
        index.add(Document("letter", "Alice Smith wrote to the council."))
    assert ("chroma.sqlite3", "Alice Smith") in secrets_in_files(tmp_path)
    assert any(form in base64.b64encode(b"ab Alice Smith cd") for form in forms("Alice Smith"))
    assert any(form in "x Zoë Łuczak".encode("utf-16-le") for form in forms("Łuczak"))


def test_the_embedder_sees_no_secret(witness: Witness):
    assert len(witness.embedder.seen) > 30
    assert [text for text in witness.embedder.seen if is_in_the_clear(text)] == []
    assert any("PERSON0" in text for text in witness.embedder.seen)


def test_language_models_see_no_secret(witness: Witness):
    assert witness.model.seen
    assert witness.writer.seen
    assert [text for text in (*witness.model.seen, *witness.writer.seen) if is_in_the_clear(text)] == []
    assert any("PERSON0" in text for text in witness.writer.seen)


def test_results_traces_and_lists_have_no_secret(witness: Witness):
    assert len(witness.said) > 100
    assert [text for text in witness.said if is_in_the_clear(text)] == []


def test_errors_quote_no_secret(witness: Witness):
    assert len(witness.errors) > 90
    assert [text for text in witness.errors if is_in_the_clear(text)] == []
    assert [text for text in witness.errors if "Alic" in text or "Smith" in text] == []


def test_nothing_is_logged_in_the_clear(witness: Witness):
    assert is_in_the_clear(witness.log.getvalue()) == []
