"""Documents whose sentences all name their document and version, and laws about these."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings

import leafspan
from leafspan import Document, DocumentNotFound, Embedder, HierarchicalSplitter, Index, Passage, Strategy
from leafspan.indexing.adopting import Adopted, _adopt
from leafspan.store._manifest import CHANGES_ID
from tests.rows import collection as stored_collection

SPLITTER = HierarchicalSplitter(leaf_words=12, parent_words=(40,))
ALL = 1_000  # more than the leaves of any index here
_SENTENCE = re.compile(r"Document (\S+) in version (\d+) ")


def embed(texts: Sequence[str]) -> np.ndarray:
    """Eight numbers from a text's hash."""
    rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], dtype=np.uint8) for text in texts]
    return np.asarray(rows, dtype=np.float32) - 127.5


EMBEDDER = Embedder("eight", embed, embed)


def document(name: str, version: int, sentences: int = 8) -> Document:
    """A document of one leaf a sentence."""
    lines = [f"Document {name} in version {version} says here its sentence number {i}." for i in range(sentences)]
    return Document(name, " ".join(lines), metadata={"version": version})


def open_index(place: Mapping[str, Any], *, timeout: float = 60.0) -> Index:
    """The index in a folder (``path``), or behind a server (``host``, ``port`` and ``name``)."""
    if "path" in place:
        return Index.open(place["path"], embedder=EMBEDDER, splitter=SPLITTER, timeout=timeout)
    client = chromadb.HttpClient(place["host"], place["port"], settings=Settings(anonymized_telemetry=False))
    return Index.open(client=client, name=place["name"], embedder=EMBEDDER, splitter=SPLITTER, timeout=timeout)


def adopt_collection(place: Mapping[str, Any], name: str, *, group: int) -> Adopted:
    """Adopt a collection that is in the same folder as the index (``path``), ``group`` records at a time."""
    usual, _adopt._GROUP = _adopt._GROUP, group
    try:
        return leafspan.adopt(place["path"], place["path"], collection=name, embedder=EMBEDDER, splitter=SPLITTER)
    finally:
        _adopt._GROUP = usual


def records(index: Index, name: str = "kb") -> dict[str, dict[str, Any]]:
    """All that lies in Chroma: leaves with texts, metadata and vectors, and the rows of the manifest."""
    found: dict[str, dict[str, Any]] = {}
    for collection in ("leaves", "manifest"):
        handle = stored_collection(index, f"{name}.{collection}")
        answer = handle.get(include=["documents", "metadatas", "embeddings"])
        columns = zip(answer["ids"], answer["documents"], answer["metadatas"], answer["embeddings"], strict=True)
        found[collection] = {id_: (text, metadata, list(map(float, vector))) for id_, text, metadata, vector in columns}
    for id_ in [each for each in found["manifest"] if each.startswith(CHANGES_ID)]:
        del found["manifest"][id_]  # others after every change, on purpose
    return found


def text_of(index: Index, name: str) -> str | None:
    """The document's text, or None."""
    try:
        return index.get(name).text
    except DocumentNotFound:
        return None


def broken(
    passages: Iterable[Passage], texts: Mapping[str, Mapping[int | None, str | None]], strategy: Strategy | None = None
) -> list[str]:
    """What is wrong with one result list, where ``texts`` are the versions that each document may be seen in.

    Every passage must be a piece of one of these, and all passages of a document pieces of the same one; together they must be the whole
    text, since enough were asked for. Only a document that may be absent (version None) may be missing.
    """
    wrong = []
    seen: dict[str, set[int]] = {}
    pieces: dict[str, dict[int, str]] = {}
    for passage in passages:
        name = passage.document_id
        versions = {(who, int(number)) for who, number in _SENTENCE.findall(passage.text)}
        if len(versions) != 1 or {who for who, _ in versions} != {name}:
            wrong.append(f"{passage.id} shows {versions}")
            continue
        ((_, version),) = versions
        text = texts.get(name, {}).get(version)
        if text is None:
            wrong.append(f"{passage.id} is of version {version}, not of one of {sorted(map(str, texts.get(name, {})))}")
        elif text[passage.start : passage.end] != passage.text:
            wrong.append(f"{passage.id} is not the text from {passage.start} to {passage.end}")
        if passage.metadata != {"version": version}:
            wrong.append(f"{passage.id} of version {version} carries {passage.metadata}")
        seen.setdefault(name, set()).add(version)
        pieces.setdefault(name, {})[passage.start] = passage.text
    for name, allowed in texts.items():
        if len(seen.get(name, ())) > 1:
            wrong.append(f"{name} is there in versions {seen[name]}")
        if name not in seen:
            if None not in allowed:
                wrong.append(f"{name} is missing, may be in {sorted(map(str, allowed))} ({strategy})")
        elif "".join(text for _, text in sorted(pieces[name].items())) not in allowed.values():
            wrong.append(f"{name} is there in part: {sorted(pieces[name])} ({strategy})")
    return wrong
