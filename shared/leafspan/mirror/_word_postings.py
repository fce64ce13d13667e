"""A recipe for a mirror of all words, as postings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.documents import indexed_heads
from leafspan.engine import Call, Flow
from leafspan.lexical import Analysis, build_postings, describe_analyzer, merge_postings, to_terms
from leafspan.store import Reader, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror._snapshot import MaskedArrays

_BATCH = 1_000  # texts to read at a time


class WordPostings:
    """The recipe for a mirror of the leaves' words: postings of the terms of title, headings and text.

    Args:
        analyzer: How texts become terms.
    """

    task = "Indexing words"

    def __init__(self, analyzer: Analysis) -> None:
        self._analyzer = analyzer

    @property
    def name(self) -> str:
        """See Recipe. Analyzers that make different terms have different names."""
        import Stemmer

        analysis = f"{describe_analyzer(self._analyzer)} {Stemmer.version()}"
        return f"words-{hashlib.sha256(analysis.encode()).hexdigest()[:8]}"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """See Recipe."""
        heads = [head for row in rows for head in indexed_heads(row.title, row.sections, row.leaves)]
        terms: list[list[str]] = []
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            texts = yield from reader.fetch(some)
            terms += yield Call(self._terms, (heads[start : start + _BATCH], [texts[id_] for id_ in some]))
        return (yield Call(build_postings, (terms,)))  # type: ignore[no-any-return]

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        """See Recipe."""
        return merge_postings(parts)

    def _terms(self, heads: Sequence[str], texts: Sequence[str]) -> list[list[str]]:
        return to_terms(self._analyzer, [f"{head}\n{text}" for head, text in zip(heads, texts, strict=True)])
