"""Prepares documents for writing: splits and embeds them, and analyses their words. Workers do so in other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed, blend, embed_in_batches
from leafspan.errors import LeafspanError
from leafspan.flows import Call, Flow, run
from leafspan.indexing._split_document import SplitDocument, split_document
from leafspan.segments import WordPostings
from leafspan.store import Row
from leafspan.values import Document

_CHARACTERS = 100_000  # per task, about 400 leaves
_DOCUMENTS = 256


class ToPrepare(NamedTuple):
    """A new or changed document.

    Attributes:
        document: The document as it will be stored.
        hash: The hash of its content.
        old: Its existing row, if any.
        language: The code of its language, if it is certain.
    """

    document: Document
    hash: str
    old: Row | None
    language: str | None


class Prepared(NamedTuple):
    """Documents that are ready for writing.

    Attributes:
        documents: The documents, cut into leaves.
        vectors: A matrix for each document, with a row for each leaf.
        derived: What was derived from all of them for search, by name.
    """

    documents: Sequence[SplitDocument]
    vectors: Sequence[Any]
    derived: Mapping[str, Any]


@dataclass(frozen=True)
class Preparation:
    """What preparing documents takes. It can be sent to another process.

    Attributes:
        settings: The index's settings.
        embed: Embeds texts.
    """

    settings: IndexSettings
    embed: Embed


def prepare(how: Preparation, some: Sequence[ToPrepare]) -> Prepared:
    """Return documents that are ready for writing."""
    documents = [split_document(each.document, each.hash, how.settings, each.language, each.old) for each in some]
    vectors = run(vectors_of(documents, how.settings, how.embed))
    assert how.settings.analyzer is not None
    recipe = WordPostings(how.settings.analyzer)
    to_write = [split.with_vectors(matrix) for split, matrix in zip(documents, vectors, strict=True) if split.leaves]
    try:
        derived = {recipe.name: recipe.of(to_write)} if to_write else {}
    except LeafspanError:  # the writer tries again, and can do without it
        derived = {}
    return Prepared(documents, vectors, derived)


def vectors_of(
    documents: Sequence[SplitDocument],
    settings: IndexSettings,
    embed: Embed,
    embedding: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> Flow[list[Any]]:
    """Return a matrix for each document, with a row for each leaf.

    ``embedding`` gets the number of texts, and returns a function that counts embedded texts.
    """
    texts = [text for split in documents for text in split.texts]
    heads = [head for split in documents for head in split.heads]
    weight = settings.title_weight
    rows = {head: row for row, head in enumerate(dict.fromkeys(filter(None, heads)))} if weight else {}
    vectors = yield from embed_in_batches(embed, [*texts, *rows], embedding(len(texts) + len(rows)))
    if not texts:
        return [[] for _ in documents]
    head_of = [*map(rows.get, heads)]
    blended = iter((yield Call(blend, (vectors[: len(texts)], vectors[len(texts) :], head_of, weight))))
    return [list(islice(blended, len(split.leaves))) for split in documents]


def is_full(portion: Sequence[ToPrepare]) -> bool:
    """Whether these documents are enough work for a worker."""
    return len(portion) >= _DOCUMENTS or sum(len(each.document.text) for each in portion) >= _CHARACTERS
