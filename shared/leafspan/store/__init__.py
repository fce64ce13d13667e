"""How an index is stored: its leaves, its manifest, and which documents a view shows."""

from leafspan.store._catalogue import Catalogue, Selection, Totals, Visibility, shown_rows
from leafspan.store._connecting import has_index, open_store
from leafspan.store._current_leaves import StoredLeaf
from leafspan.store._damage import (
    REMEDY,
    DamageFound,
    DamageRule,
    OnDamage,
    ReadHistory,
    bytes_are_as_written,
    check_record,
    pack_checksums,
    read_place,
)
from leafspan.store._document_table import DocumentColumns, DocumentTable, Numbering, document_key
from leafspan.store._manifest import HIDDEN_KEY, PARTS_KEY, LooseRow, Row, RowHead, grouped, read_loosely
from leafspan.store._naming import Editions, family
from leafspan.store._reader import Nearest, Reader, leaf_passage, outline_of
from leafspan.store._scope import Scope
from leafspan.store._store import Store, Texts, read_consistently, record_embedder
from leafspan.store._writer import Copied, DocumentToWrite

__all__ = [
    "HIDDEN_KEY",
    "PARTS_KEY",
    "Numbering",
    "REMEDY",
    "Catalogue",
    "Copied",
    "DamageRule",
    "DocumentColumns",
    "DocumentTable",
    "DocumentToWrite",
    "Editions",
    "LooseRow",
    "ReadHistory",
    "DamageFound",
    "OnDamage",
    "Nearest",
    "Reader",
    "Row",
    "RowHead",
    "Scope",
    "Selection",
    "Store",
    "Totals",
    "StoredLeaf",
    "Texts",
    "Visibility",
    "bytes_are_as_written",
    "check_record",
    "document_key",
    "family",
    "grouped",
    "has_index",
    "leaf_passage",
    "outline_of",
    "open_store",
    "pack_checksums",
    "read_loosely",
    "read_place",
    "read_consistently",
    "record_embedder",
    "shown_rows",
]
