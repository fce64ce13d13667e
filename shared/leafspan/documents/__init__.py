"""Documents and their leaves: what is accepted, how leaves are made, and how a leaf's place is stored."""

from leafspan.documents._accepting import check_document, read_documents, to_document
from leafspan.documents._leaves import find_sections, indexed_heads, indexed_texts, make_leaves
from leafspan.documents._metadata import clean_metadata, copy_metadata
from leafspan.documents._packed_place import FORMAT, pack_place, unpack_place
from leafspan.documents._settings import TREE_SETTINGS, IndexSettings, OpenOptions

__all__ = [
    "FORMAT",
    "TREE_SETTINGS",
    "IndexSettings",
    "OpenOptions",
    "check_document",
    "clean_metadata",
    "copy_metadata",
    "find_sections",
    "indexed_heads",
    "indexed_texts",
    "make_leaves",
    "pack_place",
    "read_documents",
    "to_document",
    "unpack_place",
]
