"""Small documents in several versions, in the whole index and in two scoped views, and what must be stored of each.

The first word of each leaf names its document, version and place. A summary is the first words of all leaves that
it covers. So every text shows whether it is what it should be.
"""

from __future__ import annotations

import functools
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from leafspan import Document, Embedder, F, Index
from leafspan.embedding import Embed
from leafspan.flows import Call, Flow
from leafspan.splitting import Cut
from leafspan.view import View
from tests.simulation.choices import Choices
from tests.simulation.server import Client, Server
from tests.simulation.world import World

VERSIONS = (1, 2, 3, 4)
ALL = 500
"""More than there are leaves."""

FIRST_EQUAL = 3
"""From this version on all texts of all documents have equal vectors."""

EQUAL = "v3s"
"""A text that has the same vector."""

WHOLE = ""
VIEWS = (WHOLE, "x", "y")
IDS = {WHOLE: ("a", "b", "c", "d"), "x": ("m", "n"), "y": ("m", "n")}
"""The ids of the documents that are added in each view."""

GROUPS = {
    ("", "a"): 1,
    ("", "b"): 1,
    ("", "c"): 2,
    ("", "d"): 2,
    ("x", "m"): 1,
    ("x", "n"): 1,
    ("y", "m"): 2,
    ("y", "n"): 2,
}
"""The group of each document. Behind a server a group has one writer at a time."""

_EQUAL = re.compile("v[34]s")
_FIRST_WORD = re.compile(r"\S+v\d+s\d+")


def scope(index: Index, view: str) -> View:
    """A view of the index."""
    return index.scoped(F("tenant") == view) if view else index


def document(view: str, id_: str, version: int) -> Document:
    """A version of a document, as it is added. The fourth version of c has no text."""
    who = f"{id_}{view}"
    leaves = 0 if (id_, version) == ("c", 4) else 1 + (zlib.crc32(who.encode()) + version * 3) % 5
    words = ("tea", "rain", "salt")
    text = "".join(f"{who}v{version}s{place} all {words[(place + version) % 3]}\n" for place in range(leaves))
    tenant = {"tenant": "x"} if (view, id_) == (WHOLE, "d") else {}
    return Document(id_, text, metadata={"v": version, "group": GROUPS[view, id_], **tenant})


def refused_document(id_: str, number: int) -> Document:
    """A document that Chroma's log would take, and its tables refuse."""
    many = [str(each) for each in range(6_000)]
    kinds = (
        dict.fromkeys(many, 1),
        {"many": many},
        {"nan": [1.0, float("nan")]},
        {"some": many[:3_000], "more": many[3_000:]},
    )
    return Document(id_, "tea\n", metadata=kinds[number % len(kinds)])


def lines(text: str) -> list[Cut]:
    """A splitter: a leaf for each line, a parent for each two."""
    ends = [place + 1 for place, character in enumerate(text) if character == "\n"]
    return [Cut(end, int(number % 2 == 1 or number == len(ends) - 1)) for number, end in enumerate(ends)]


def words_of(text: str) -> list[str]:
    """An analyzer."""
    return text.split()


@functools.lru_cache(maxsize=4096)
def _vector(text: str) -> tuple[float, ...]:
    if _EQUAL.search(text):
        text = EQUAL
    return tuple(((zlib.crc32(f"{number}{text}".encode()) & 0xFFFF) - 32767.5) / 32768 for number in range(4))


def embed(texts: Sequence[str]) -> Any:
    """Four numbers from each text's checksum."""
    return np.array([_vector(text) for text in texts], dtype=np.float32)


EMBEDDER = Embedder("four", embed, embed, local=True)

OPTIONS: dict[str, Any] = {
    "name": "kb",
    "embedder": EMBEDDER,
    "splitter": lines,
    "analyzer": words_of,
    "title_weight": 0.0,
    "embedding_cache": False,
}


def first_words(text: str) -> list[str]:
    """The words that say which leaves a leaf or summary is made of, sorted."""
    return sorted(set(_FIRST_WORD.findall(text)))


def _joined(texts: Sequence[str]) -> str:
    return " ".join(["sum", *first_words(" ".join(texts))])


class Joining:
    """A summarizer whose summaries are the first words of all leaves below. Its answers are kept as a model's are."""

    identity = "joining"
    max_words = 100
    max_input_words = 10_000
    asks = True

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Any) -> Flow[dict[int, Exception]]:
        for place, texts in enumerate(groups):
            summary = yield Call(_joined, (texts,))
            yield from keep(place, summary)
        return {}


def pairs(vectors: Any, sizes: Sequence[int], most: int) -> list[Iterable[int]]:
    """A clusterer: each two neighbours."""
    return [range(start, min(start + 2, len(sizes))) for start in range(0, len(sizes), 2)]


@dataclass(frozen=True)
class Stored:
    """What must be stored of a version of a document.

    Attributes:
        number: Number of the version.
        version: The version in the ids of its leaves.
        text: Its text.
        metadata: Its metadata, as passages show them.
        leaves: Records of its leaves by id, as (text, metadata, vector).
        row: Its row in the manifest, from JSON.
    """

    number: int
    version: str
    text: str
    metadata: Mapping[str, Any]
    leaves: Mapping[str, tuple[Any, Any, tuple[float, ...]]]
    row: Mapping[str, Any]

    @property
    def count(self) -> int:
        return len(self.leaves)

    @property
    def vectors(self) -> dict[int, tuple[float, ...]]:
        """The vector of each leaf, by where it begins in the text."""
        begins = accumulate((len(str(text)) for text, _, _ in self.leaves.values()), initial=0)
        return dict(zip(begins, (vector for _, _, vector in self.leaves.values()), strict=False))


@dataclass(frozen=True)
class Expected:
    """What must be stored, by stored id and number of the version, and which document that is.

    Attributes:
        versions: What must be stored.
        ids: Stored id of each document, by view and id.
        visible: For each view the stored ids by shown ids.
    """

    versions: Mapping[str, Mapping[int, Stored]]
    ids: Mapping[tuple[str, str], str]
    visible: Mapping[str, Mapping[str, str]]

    def of_version(self, stored_id: str, version: str | None) -> Stored | None:
        """What must be stored of the version with this hash; None if there is no such version."""
        return next((each for each in self.versions.get(stored_id, {}).values() if each.version == version), None)


def calm_index(batch: int = 100) -> tuple[Index, Server]:
    """An index behind a server where nothing happens."""
    server = Server(World(Choices(0, 0.0, {}), ("switch",)), batch, lambda *_: None)
    return Index.open(client=Client(server), **OPTIONS), server


@functools.cache
def expected() -> Expected:
    """What a calm index stores."""
    versions: dict[str, dict[int, Stored]] = {}
    ids: dict[tuple[str, str], str] = {}
    for view in VIEWS:
        for id_ in IDS[view]:
            for number in VERSIONS:
                index, server = calm_index()
                scope(index, view).add(document(view, id_, number))
                stored = _stored(server, number)
                stored_id = ids[view, id_] = stored.row["id"]
                versions.setdefault(stored_id, {})[number] = stored
    whole = {stored_id: stored_id for stored_id in versions}
    own = {view: {id_: ids[view, id_] for id_ in IDS[view]} for view in VIEWS}
    return Expected(versions, ids, {WHOLE: whole, "x": {**own["x"], "d": "d"}, "y": own["y"]})


def _stored(server: Server, number: int) -> Stored:
    manifest = server.collections["kb.manifest"].records.by_id
    ((stored_id, record),) = [(id_, each) for id_, each in manifest.items() if "row" in (each.metadata or {})]
    row = json.loads((record.metadata or {})["row"])
    leaves = {
        id_: (each.document, each.metadata, each.vector)
        for id_, each in server.collections["kb.leaves"].records.by_id.items()
    }
    text = "".join(str(each[0]) for each in leaves.values())
    return Stored(number, row["version"], text, row["metadata"], leaves, {**row, "id": stored_id})
