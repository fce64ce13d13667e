"""All systems that keep leaves in a folder. The leaves are added to them in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus import Corpus, add_to_plain, plain_client, plain_collection

from leafspan import Document, Index
from peers import engines, langchain_peers, ours
from peers._asking import Asked, NotInstalled, installed
from peers.haystack_peers import Haystack
from peers.llamaindex_peers import Nodes
from peers.programs import LANCEDB, LANGCHAIN_CHROMA, LEAFSPAN, LLAMAINDEX_CHROMA, PLAIN_CHROMA, ZVEC, Program

CANDIDATES = 24
PLAIN = "plain Chroma"


@dataclass(frozen=True)
class Store:
    """A system that keeps leaves in its own folder.

    Attributes:
        name: Its name in tables.
        folder: Its folder.
        add: Stores documents, whose leaves have these positions.
        finish: Does the remaining work when all leaves are there, such as building an index.
        programs: The programs of new processes that ask it, by name.
    """

    name: str
    folder: Path
    add: Callable[[Sequence[Document], slice], Any]
    finish: Callable[[], Any]
    programs: dict[str, Program]


class Systems:
    """All systems over the same leaves: first to store leaves, and then to answer questions.

    Args:
        folder: A folder for all of them.
        corpus: The leaves.
        k: Number of passages that retrievers return. Default: 5.
    """

    def __init__(self, folder: Path, corpus: Corpus, *, k: int = 5) -> None:
        self.missing: list[NotInstalled] = []
        self._corpus, self._folder, self._k = corpus, folder, k
        self._index: Index | None = None
        self._plain = plain_collection(plain_client(folder / "plain"))
        self._langchain: langchain_peers.Stored | None = None
        self._nodes: Nodes | None = None
        self._zvec: engines.Zvec | None = None
        self._lancedb: engines.LanceDB | None = None

    def stores(self) -> Iterator[Store]:
        """The systems that keep leaves in a folder."""
        place, corpus = self._folder, self._corpus
        index = Index.open(place / "leafspan", embedder=corpus.embedder())
        programs = {f"leafspan {name}": program for name, program in LEAFSPAN.items()}
        add = lambda documents, _: index.add(documents, progress=False)  # noqa: E731
        yield Store("leafspan", place / "leafspan", add, index.close, programs)
        add_plain = lambda _, rows: add_to_plain(self._plain, corpus, rows)  # noqa: E731
        yield Store(PLAIN, place / "plain", add_plain, _nothing, {PLAIN: PLAIN_CHROMA})
        if self._has("LangChain Chroma", "langchain-chroma"):
            self._langchain = langchain_peers.Stored(place / "langchain", corpus)
            yield _peer("LangChain Chroma", place / "langchain", self._langchain, LANGCHAIN_CHROMA)
        if self._has("LlamaIndex", "llama-index-vector-stores-chroma"):
            self._nodes = Nodes(plain_client(place / "llamaindex"), corpus)
            yield _peer("LlamaIndex Chroma", place / "llamaindex", self._nodes, LLAMAINDEX_CHROMA)
        if self._has("zvec", "zvec"):
            (place / "zvec").mkdir()
            self._zvec = engines.Zvec(place / "zvec", corpus)
            yield _peer("zvec", place / "zvec", self._zvec, ZVEC)
        if self._has("LanceDB", "lancedb"):
            self._lancedb = engines.LanceDB(place / "lancedb", corpus)
            yield _peer("LanceDB", place / "lancedb", self._lancedb, LANCEDB)

    def asked(self) -> Iterator[Asked]:
        """All systems that answer questions, once everything is stored. Plain Chroma comes first."""
        corpus, k = self._corpus, self._k
        others = plain_client(self._folder / "others")
        yield engines.plain_chroma(self._plain)
        yield engines.plain_chroma(self._plain, k, f"plain Chroma, for {k}")
        self._index = Index.open(self._folder / "leafspan")
        yield from ours.through_langchain(self._index, k)
        yield from ours.in_one_search(self._index, k)
        if self._langchain:
            yield self._langchain.asked_by_vectors(k)
        if self._has("LangChain BM25Retriever", "langchain-community", "rank-bm25"):
            yield langchain_peers.by_words(langchain_peers.bm25(corpus, k))
            if self._langchain and self._has("LangChain EnsembleRetriever", "langchain-classic"):
                words = langchain_peers.bm25(corpus, CANDIDATES)
                yield langchain_peers.ensemble(words, self._langchain.vectors(CANDIDATES))
        if self._langchain and self._has("LangChain ParentDocumentRetriever", "langchain-classic"):
            yield langchain_peers.parents(others, corpus)
        if self._nodes:
            yield self._nodes.asked_by_vectors(k)
            yield self._nodes.auto_merging()
            yield self._nodes.windows(k)
            if self._has("LlamaIndex QueryFusionRetriever", "llama-index-retrievers-bm25"):
                yield self._nodes.fusion(k)
        if self._has("Haystack", "haystack-ai"):
            haystack = Haystack(corpus)
            yield haystack.auto_merging()
            yield haystack.windows(k)
        if self._zvec:
            yield self._zvec.asked()
        if self._lancedb:
            yield self._lancedb.asked(exact=True)
            yield self._lancedb.asked(exact=False)
        if self._has("bm25s", "bm25s"):
            yield engines.bm25s(corpus, corpus.texts)

    def close(self) -> None:
        """Close the index."""
        if self._index:
            self._index.close()

    def _has(self, name: str, *packages: str) -> bool:
        """Whether the packages are installed. If one is not, it is recorded as missing."""
        absent = installed(packages)
        if absent:
            self.missing.append(NotInstalled(name, absent))
        return absent is None


def _peer(name: str, folder: Path, peer: Any, program: Program) -> Store:
    finish = getattr(peer, "finish", _nothing)
    return Store(name, folder, lambda _, rows: peer.add(rows), finish, {name: program})


def _nothing() -> None:
    """Finish a system without remaining work."""
