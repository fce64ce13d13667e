"""A LangChain text splitter as the splitter of an index."""

from __future__ import annotations

from typing import Any

from leafspan import ChunkSplitter, InvalidArgument, Splitter
from leafspan.hosting import shown


def splitter_from(text_splitter: Any) -> Splitter:
    """Leaves where a LangChain ``TextSplitter`` starts its chunks; use it as ``Index.open(splitter=...)``.

    Overlaps are dropped, since leaves partition the text. All other text stays: text that the splitter leaves out between
    two chunks belongs to the first one.

    Raises:
        InvalidArgument: if ``text_splitter`` has no ``split_text``.
    """
    if not callable(getattr(text_splitter, "split_text", None)):
        raise InvalidArgument(f"a LangChain text splitter must have split_text, got {shown(text_splitter)}")
    kind = type(text_splitter).__name__
    size, overlap = getattr(text_splitter, "_chunk_size", None), getattr(text_splitter, "_chunk_overlap", None)
    name = f"{kind}(chunk_size={size}, chunk_overlap={overlap})"
    return ChunkSplitter(text_splitter.split_text, name, overlap if isinstance(overlap, int) else 0)
