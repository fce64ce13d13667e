"""The index as it is stored in Chroma: leaves, manifest, and what a view shows. Only this package uses chromadb."""

from leafspan.store._catalogue import Catalogue, Selection, Visibility, shown_rows
from leafspan.store._collection import MOST_RESULTS
from leafspan.store._connecting import open_store
from leafspan.store._consistent_reading import read_consistently
from leafspan.store._embedder_record import EmbedderRecord
from leafspan.store._failures import chroma_failure
from leafspan.store._manifest import Row, grouped
from leafspan.store._passages import leaf_passage
from leafspan.store._reader import Reader, StaleRead, StoredLeaf
from leafspan.store._scope import Scope
from leafspan.store._store import Store
from leafspan.store._texts import Texts
from leafspan.store._writer import DocumentToWrite, Writer

__all__ = [
    "MOST_RESULTS",
    "Catalogue",
    "DocumentToWrite",
    "EmbedderRecord",
    "Reader",
    "Row",
    "Scope",
    "Selection",
    "StaleRead",
    "Store",
    "StoredLeaf",
    "Texts",
    "Visibility",
    "Writer",
    "chroma_failure",
    "grouped",
    "leaf_passage",
    "open_store",
    "read_consistently",
    "shown_rows",
]
