"""The index as it is stored in Chroma: leaves, manifest, and what a view shows. Only this package uses chromadb."""

from leafspan.store._as_written import check_record, read_place
from leafspan.store._catalogue import Catalogue, Selection, Visibility, shown_rows
from leafspan.store._checksums import bytes_are_as_written, pack_checksums
from leafspan.store._collection import MOST_RESULTS
from leafspan.store._connecting import has_index, open_store
from leafspan.store._consistent_reading import read_consistently
from leafspan.store._damage import REMEDY, DamageRule, Met, OnDamage
from leafspan.store._document_table import DocumentTable, document_key
from leafspan.store._embedder_record import EmbedderRecord
from leafspan.store._failures import chroma_failure
from leafspan.store._foreign import MADE_BY_LEAFSPAN, NODE_KEY, ForeignCollection, find_collection, open_chroma
from leafspan.store._forks import can_use_embedded_chroma
from leafspan.store._found_leaves import StoredLeaf
from leafspan.store._loose_row import LooseRow, read_loosely
from leafspan.store._manifest import HIDDEN_KEY, Damage, Row, grouped
from leafspan.store._open_files import check_not_too_many
from leafspan.store._passages import leaf_passage, outline_of
from leafspan.store._reader import Nearest, Reader
from leafspan.store._row_head import RowHead
from leafspan.store._scope import Scope
from leafspan.store._stale_read import MetDamage, StaleRead
from leafspan.store._store import Store
from leafspan.store._texts import Texts
from leafspan.store._verified_rows import VerifiedRows
from leafspan.store._waiting import WAITS
from leafspan.store._writer import Derived, DocumentToWrite, Writer

__all__ = [
    "HIDDEN_KEY",
    "WAITS",
    "REMEDY",
    "MADE_BY_LEAFSPAN",
    "MOST_RESULTS",
    "NODE_KEY",
    "Catalogue",
    "Damage",
    "DamageRule",
    "Derived",
    "DocumentTable",
    "DocumentToWrite",
    "EmbedderRecord",
    "ForeignCollection",
    "LooseRow",
    "Met",
    "MetDamage",
    "OnDamage",
    "Nearest",
    "Reader",
    "Row",
    "RowHead",
    "Scope",
    "Selection",
    "StaleRead",
    "Store",
    "StoredLeaf",
    "Texts",
    "VerifiedRows",
    "Visibility",
    "bytes_are_as_written",
    "Writer",
    "can_use_embedded_chroma",
    "check_not_too_many",
    "check_record",
    "chroma_failure",
    "document_key",
    "find_collection",
    "grouped",
    "has_index",
    "leaf_passage",
    "outline_of",
    "open_chroma",
    "open_store",
    "pack_checksums",
    "read_loosely",
    "read_place",
    "read_consistently",
    "shown_rows",
]
