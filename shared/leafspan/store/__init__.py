"""Leaves and their manifest in Chroma. Only the modules of this package know chromadb."""

from leafspan.store.catalogue import Catalogue, Selection, Viewpoint, shown_rows
from leafspan.store.connecting import open_store
from leafspan.store.manifest import Row, grouped
from leafspan.store.reading import Gone, Reader, StoredLeaf
from leafspan.store.store import Store
from leafspan.store.writing import Coming, Writer

__all__ = [
    "Catalogue",
    "Coming",
    "Gone",
    "Reader",
    "Row",
    "Selection",
    "Store",
    "StoredLeaf",
    "Viewpoint",
    "Writer",
    "grouped",
    "open_store",
    "shown_rows",
]
