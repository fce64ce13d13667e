"""The words of all leaves, as postings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leafspan.engine import Call, Flow
from leafspan.leaves import indexed_heads
from leafspan.lexical import Analysis, build_postings, describe_analyzer, merge_postings, to_terms
from leafspan.store import Reader, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror.mirrored import Part


class WordPostings:
    """Makes the postings of leaves: the terms of their title, their headings and their text."""

    task = "Indexing words"

    def __init__(self, analyzer: Analysis) -> None:
        self._analyzer = analyzer

    @property
    def name(self) -> str:
        """Different for analyzers that give different terms."""
        import Stemmer

        made_with = f"{describe_analyzer(self._analyzer)} {Stemmer.version()}"
        return f"words-{hashlib.sha256(made_with.encode()).hexdigest()[:8]}"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """See Recipe."""
        texts = yield from reader.fetch(ids)
        heads = [head for row in rows for head in indexed_heads(row.title, row.sections, row.leaves)]
        return (yield Call(self._build, ([f"{head}\n{texts[id_]}" for head, id_ in zip(heads, ids, strict=True)],)))  # type: ignore[no-any-return]

    def merge(self, parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
        """See Recipe."""
        return merge_postings(parts)

    def _build(self, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
        return build_postings(to_terms(self._analyzer, texts))
