"""Leaves and their manifest in Chroma. Only the modules of this package know chromadb."""

from leafspan.store.connecting import open_store
from leafspan.store.manifest import Row
from leafspan.store.reading import Gone, Reader
from leafspan.store.store import Store
from leafspan.store.writing import Writer

__all__ = ["Gone", "Reader", "Row", "Store", "Writer", "open_store"]
