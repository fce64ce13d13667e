"""Cuts a document into leaves as an index would, without an index."""

from __future__ import annotations

from leafspan.documents import IndexSettings, OpenOptions, content_hash
from leafspan.indexing import split_document
from leafspan.splitting import Splitter
from leafspan.values import Document, Leaf


def split_into_leaves(document: Document, splitter: Splitter) -> list[Leaf]:
    """The leaves that an index with this splitter would make, with the same texts, places and ids."""
    settings = IndexSettings.made(OpenOptions(splitter))
    return list(split_document(document, content_hash(document), settings).leaves)
