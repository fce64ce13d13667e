"""Nonsense in any public argument gives a result or an error of leafspan's, never another error."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import inspect
import itertools
import math
import uuid
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from pydantic import ValidationError

import langchain_ext
import leafspan
import llamaindex_ext
from leafspan import BM25, Document, F, Files, Index, InvalidArgument, LeafspanError, Query, Strategy, Vector, View
from leafspan.private import Key, Vault, private_view
from tests.corpus import DOCUMENTS, SPLITTER


class BadRepr:
    """Something that cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no repr")


def nested(levels: int, wrap: Callable[[Any], Any], inner: Any = 1) -> Any:
    for _ in range(levels):
        inner = wrap(inner)
    return inner


def nonsense() -> Iterator[Any]:
    """Values that somebody passes by mistake, or on purpose."""
    yield from (
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**63,
        10**400,
        2**20_000,  # more digits than Python writes
        0.0,
        -0.0,
        0.5,
        1e308,
        math.nan,
        math.inf,
        -math.inf,
        1j,
    )
    yield from (
        np.int64(3),
        np.float32(0.5),
        np.bool_(True),
        np.str_("a"),
        np.array([]),
        np.array([1.0, math.nan]),
        np.array(3),
    )
    yield from (
        "",
        " ",
        "\n\t",
        "a",
        "\0",
        "a\0b",
        "\ud800",
        "a\udcffb",
        "\u202eb",
        "a" * 100_000,
        "#",
        "$and",
        "..",
        "../../x",
    )
    yield from ("leafspan:x", "a#0", "a#b#c", "a#00000000#0", "a#00000000#-1", "a#00000000#3-1", "doc_id", "😀", "1" * 5000)
    yield from (b"", b"a", b"\xff", bytearray(b"a"), object(), object, Exception, int, len, lambda *_: 1 / 0, print, ...)
    yield from (
        [],
        [None],
        [[]],
        [1, "a"],
        [""],
        ["\ud800"],
        ["a", 1],
        ["a"] * 3,
        [math.nan],
        [[1.0], "a"],
        [b"a"],
        (),
        ("a",),
    )
    yield from (
        {},
        {"a": 1},
        {1: 2},
        {2**20_000: -(2**20_000)},
        {"$and": 3},
        {"": 1},
        {"a": {"$in": 3}},
        {"a": {"$eq": object()}},
        {"\ud800": "\ud800"},
        {None: 1},
    )
    yield from (
        set(),
        {"a"},
        frozenset([1]),
        range(3),
        iter(["a"]),
        (each for each in [1]),
        itertools.repeat("x", 3),
        map(str, [3]),
    )
    yield from (
        Document("x", "y"),
        Query("a"),
        Query(),
        Query("\ud800"),
        Vector(),
        Vector,
        F,
        F("a"),
        F("a") == 1,
        Files("nowhere"),
    )
    yield from (
        Path("nowhere"),
        Path("\ud800"),
        datetime.date.max,
        datetime.datetime.min,
        decimal.Decimal("NaN"),
        uuid.UUID(int=0),
    )
    yield from (BadRepr(), [BadRepr()], {"a": BadRepr()}, 10**4301, -(2**70), "٣", "１", "1e5", "nan", "²")
    yield nested(3_000, lambda inner: [inner])
    yield nested(3_000, lambda inner: {"a": inner})
    yield nested(3_000, lambda inner: {"$and": [inner]}, {"a": 1})
    yield nested(3_000, lambda inner: {"$not": {"$or": [inner, {"b": 2}]}}, {"a": 1})
    yield nested(3_000, lambda inner: {"operator": "NOT", "conditions": [inner]})


def label(value: object) -> str:
    try:
        return f"{type(value).__name__} {repr(value)[:60]}"
    except Exception:
        return f"a {type(value).__name__}"


def keyed(value: Any) -> dict[Any, int]:
    """Metadata with this key, if it can be one."""
    return {value: 1} if isinstance(value, Hashable) and not isinstance(value, Document) else {}


def consumed(result: Any) -> Any:
    """What a call gives, when it is awaited or walked through."""
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def others(calls: Iterator[tuple[str, Callable[[], Any]]]) -> list[str]:
    """What is neither a result nor an error of leafspan's."""
    wrong = []
    for name, call in calls:
        try:
            consumed(call())
        except LeafspanError as error:
            message = str(error)
            if not message or len(message) > 4_000:
                wrong.append(f"{name}: a message of {len(message)} characters")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:160]}")
    return wrong


def check(calls: Iterator[tuple[str, Callable[[], Any]]]) -> None:
    wrong = others(calls)
    assert not wrong, "\n".join(wrong)


def every(name: str, call: Callable[[Any], Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    for value in nonsense():  # made again: some can be walked through once
        yield f"{name}({label(value)})", lambda value=value: call(value)


READING: dict[str, Callable[[View, Any], Any]] = {
    "get": lambda view, value: view.get(value),
    "aget": lambda view, value: view.aget(value),
    "leaves": lambda view, value: view.leaves(value),
    "summaries": lambda view, value: view.summaries(value),
    "surroundings": lambda view, value: view.surroundings(value),
    "surroundings before": lambda view, value: view.surroundings(view.leaves()[0].id, before=value),
    "surroundings after": lambda view, value: view.surroundings(view.leaves()[0].id, after=value),
    "surroundings words": lambda view, value: view.surroundings(view.leaves()[0], words=value),
    "retrieve": lambda view, value: view.retrieve(value),
    "retrieve words": lambda view, value: view.retrieve(value, BM25()),
    "retrieve by filter": lambda view, value: view.retrieve(value, leafspan.Browse()),
    "retrieve strategy": lambda view, value: view.retrieve("bees", value),
    "retrieve k": lambda view, value: view.retrieve("bees", BM25(), k=value),
    "retrieve candidates": lambda view, value: view.retrieve("bees", BM25(), candidates=value),
    "retrieve budget": lambda view, value: view.retrieve("bees", BM25(), budget=value),
    "retrieve where": lambda view, value: view.retrieve("bees", BM25(), where=value),
    "retrieve where key": lambda view, value: view.retrieve("bees", BM25(), where=F(value).exists()),
    "retrieve where equal": lambda view, value: view.retrieve("bees", BM25(), where=F("a") == value),
    "retrieve where less": lambda view, value: view.retrieve("bees", BM25(), where=F("a") < value),
    "retrieve where in": lambda view, value: view.retrieve("bees", BM25(), where=F("a").in_(value)),
    "retrieve where contains": lambda view, value: view.retrieve("bees", BM25(), where=~F("a").contains_any(value)),
    "retrieve where text": lambda view, value: view.retrieve("bees", BM25(), where=F("a").text_match(value)),
    "retrieve where doc_id": lambda view, value: view.retrieve("bees", Vector(), where=F("doc_id") == value),
    "retrieve min_score": lambda view, value: view.retrieve("bees", BM25(), min_score=value),
    "retrieve vector": lambda view, value: view.retrieve(Query(vector=value), Vector()),
    "retrieve texts": lambda view, value: view.retrieve(Query("a", embedding_texts=value), Vector()),
    "aretrieve": lambda view, value: view.aretrieve(value),
    "scoped": lambda view, value: view.scoped(value).retrieve("bees", BM25()),
    "scoped statistics": lambda view, value: view.scoped(F("a") == 1, share_statistics=value).retrieve("bees", BM25()),
    "scoped get": lambda view, value: view.scoped(F("a") == 1).get(value),
    "as_strategy": lambda view, value: leafspan.retrieve("bees", view.as_strategy(k=value)),
    "as_strategy of": lambda view, value: view.as_strategy(value),
    "as_strategy where": lambda view, value: view.as_strategy(where=value),
    "delete dry run": lambda view, value: view.delete(value, dry_run=True),
    "delete dry run where": lambda view, value: view.delete(where=value, dry_run=True),
    "delete dry_run": lambda view, value: view.delete(["nothing"], dry_run=value),
    "build_tree layers": lambda view, value: view.build_tree(max_layers=value),
    "build_tree clusterer": lambda view, value: view.build_tree(clusterer=value),
    "build_tree summarizer": lambda view, value: view.build_tree(summarizer=value),
    "build_tree across": lambda view, value: view.build_tree(across_documents=value),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", READING)
def test_reading(shared_index: Index, name: str):
    check(every(name, lambda value: READING[name](shared_index, value)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", READING)
def test_reading_a_private_view(shared_index: Index, tmp_path: Path, name: str):
    vault = Vault.open(tmp_path / "vault", Key("0123456789abcdefghijklmnopqrstuvwxyz"))
    private = private_view(shared_index, vault, finder=lambda text: [], known={"PERSON": ["Karl von Frisch"]})
    check(every(name, lambda value: READING[name](private, value)))


WRITING: dict[str, Callable[[Index, Any], Any]] = {
    "add": lambda index, value: index.add(value),
    "aadd": lambda index, value: index.aadd(value),
    "add a list": lambda index, value: index.add([value, value]),
    "add id": lambda index, value: index.add(Document(value, "text")),
    "add text": lambda index, value: index.add(Document("id", value)),
    "add title": lambda index, value: index.add(Document("id", "text", value)),
    "add metadata": lambda index, value: index.add(Document("id", "text", None, value)),
    "add metadata value": lambda index, value: index.add(Document("id", "text", None, {"key": value})),
    "add metadata key": lambda index, value: index.add({"id": "id", "text": "text", "metadata": keyed(value)}),
    "add flat metadata": lambda index, value: index.add(Document("id", "text", None, {"a": value}), flatten_metadata=True),
    "add chunks": lambda index, value: index.add(Document("id", "text", None, {}, value)),
    "add chunk end": lambda index, value: index.add(Document("id", "text", None, {}, (leafspan.Chunk(value, {}),))),
    "add chunk metadata": lambda index, value: index.add(Document("id", "text", None, {}, (leafspan.Chunk(4, value),))),
    "add mapping": lambda index, value: index.add({"id": value, "text": value, "title": value}),
    "add volatile": lambda index, value: index.add([], volatile_keys=value),
    "add a volatile key": lambda index, value: index.add([], volatile_keys=[value]),
    "add flatten": lambda index, value: index.add([], flatten_metadata=value),
    "add scoped": lambda index, value: index.scoped(F("a") == 1).add(Document(value, "text")),
    "add in a scope": lambda index, value: index.scoped(F("a") == value).add(Document("id", "text")),
    "sync": lambda index, value: index.sync(value, within="everything", allow_empty=True),
    "sync within": lambda index, value: index.sync([], within=value),
    "sync key": lambda index, value: index.sync([Document("id", "text", None, {"a": 1})], source_key=value),
    "sync options": lambda index, value: index.sync([], within="everything", dry_run=value, allow_empty=value),
    "delete": lambda index, value: index.delete(value),
    "adelete": lambda index, value: index.adelete(value),
    "delete ids": lambda index, value: index.delete([value]),
    "delete where": lambda index, value: index.delete(where=value),
    "check": lambda index, value: index.check(quick=value),
    "repair": lambda index, value: index.repair(verify=value),
    "build_tree": lambda index, value: index.build_tree(clusterer=value),
    "build_tree by": lambda index, value: index.build_tree(summarizer=value),
    "add progress": lambda index, value: index.add([], progress=value),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", WRITING)
def test_writing(tmp_path: Path, name: str):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS[0])
        check(every(name, lambda value: WRITING[name](index, value)))
        assert index.repair() == []


OPENING: dict[str, Callable[[Path, Any], Any]] = {
    "path": lambda folder, value: Index.open(value, create=False),
    "client": lambda folder, value: Index.open(client=value),
    "aopen client": lambda folder, value: Index.aopen(client=value),
    "name": lambda folder, value: Index.open(folder, name=value, create=False),
    "new name": lambda folder, value: Index.open(folder, name=value).close(),
    "name of a client": lambda folder, value: Index.open(client=chromadb.EphemeralClient(), name=value, create=False),
    "adopt": lambda folder, value: leafspan.adopt(value, folder, dry_run=True),
    "adopt name": lambda folder, value: leafspan.adopt(folder, folder, name=value, dry_run=True),
    "adopt collection": lambda folder, value: leafspan.adopt(folder, folder, collection=value, dry_run=True),
    "private": lambda folder, value: private_view(Index.open(folder, create=False), value),
} | {
    option: lambda folder, value, option=option: Index.open(folder, **{"create": False, option: value}).close()
    for option in (
        *("embedder", "splitter", "context_sentences", "title_weight", "analyzer", "bm25", "cache", "embedding_cache"),
        *("timeout", "create"),
    )
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", OPENING)
def test_opening(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS[0])
    check(every(name, lambda value: OPENING[name](tmp_path / "kb", value)))


MAKING = {
    name: getattr(leafspan, name)
    for name in leafspan.__all__
    if isinstance(getattr(leafspan, name), type)
    and not issubclass(getattr(leafspan, name), BaseException | View)
    and name not in {"Vault", "LightRAGThread", "Strategy", "Summarizer", "Clusterer", "Splitter", "Where"}
}
"""Classes that a user makes values of, by name."""


def options_of(made: Any) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [each.name for each in inspect.signature(made).parameters.values() if each.kind in kinds]


OF_GRAPHS = {"LightRAG", "PropertyGraph"}  # they need a graph

NEEDED: dict[str, dict[str, Any]] = {
    "Ensemble": {"retrievers": [BM25(), Vector()]},
    "Router": {"retrievers": {"a": BM25()}, "descriptions": {"a": "words"}},
    "FollowReferences": {"targets": {"a": BM25()}},
    "Rerank": {"rerank": lambda question, texts: [1.0] * len(texts)},
    "MultiQuery": {"phrasings": ["ants"]},
    "RewriteQuery": {"how": lambda question: question},
    "SQL": {"database": "sqlite://", "generate": lambda prompt: "SELECT 1"},
    "HostRetriever": {"name": "host", "ask": lambda question: [], "aask": lambda question: []},
}
"""Options without which a strategy cannot be made."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, made in MAKING.items() if issubclass(made, Strategy) and name not in OF_GRAPHS]
)
def test_options_of_strategies(shared_index: Index, name: str):
    """Those that a strategy takes are used in a retrieval."""
    made, needed = MAKING[name], NEEDED.get(name, {})

    def use(option: str, value: Any) -> None:
        strategy = made(**{**needed, option: value})
        if option not in {"database", "embedder", "instance", "graph"}:
            shared_index.retrieve("bees and honey", strategy, k=2)

    for option in options_of(made):
        check(every(f"{name} {option}", lambda value, option=option: use(option, value)))


@pytest.mark.slow
@pytest.mark.parametrize("module", [langchain_ext, llamaindex_ext], ids=lambda module: module.__name__)
@pytest.mark.parametrize("name", ["VectorRetriever", "HybridRetriever", "SentenceWindowRetriever", "TreeRetriever"])
def test_options_of_retrievers(shared_index: Index, module: Any, name: str):
    """Pydantic wraps what the core raises into an error of its own."""
    made = getattr(module, name)
    options = [option for option in options_of(made) if option not in {"args", "kwargs", "callbacks", "callback_manager"}]
    own = {"name", "tags", "metadata", "verbose", "object_map", "objects"}  # the host's

    def use(option: str, value: Any) -> None:
        try:
            made(**{"index": shared_index, option: value})
        except ValidationError as error:
            raise InvalidArgument(str(error)[:1_000]) from error

    for option in set(options) - own:
        check(every(f"{name} {option}", lambda value, option=option: use(option, value)))
