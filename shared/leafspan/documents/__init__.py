"""Documents and their leaves: accepting documents, making leaves, and storing a leaf's place."""

from leafspan.documents._accepting import (
    check_document,
    content_hash,
    distinct,
    is_single,
    read_documents,
    to_document,
    with_any_metadata,
)
from leafspan.documents._chunks import CHUNK_ID, Piece, chunks_of, metadata_key, place_of, put_together, shared_by_chunks
from leafspan.documents._frameworks import ForeignDocument, checked_keys, made_id
from leafspan.documents._leaves import (
    find_sections,
    indexed_heads,
    indexed_texts,
    lines_of,
    make_leaves,
    moved_down,
    ordinal_and_firsts,
    pack_lines,
    pack_place,
    titles_of_leaves,
    unpack_place,
)
from leafspan.documents._metadata import clean_metadata, copy_metadata, language_of, title_in, with_language
from leafspan.documents._settings import FORMAT, TREE_SETTINGS, IndexSettings, OpenOptions

__all__ = [
    "CHUNK_ID",
    "FORMAT",
    "TREE_SETTINGS",
    "ForeignDocument",
    "IndexSettings",
    "OpenOptions",
    "Piece",
    "check_document",
    "checked_keys",
    "chunks_of",
    "clean_metadata",
    "content_hash",
    "copy_metadata",
    "distinct",
    "find_sections",
    "indexed_heads",
    "indexed_texts",
    "is_single",
    "language_of",
    "lines_of",
    "made_id",
    "make_leaves",
    "metadata_key",
    "moved_down",
    "pack_lines",
    "ordinal_and_firsts",
    "pack_place",
    "place_of",
    "put_together",
    "read_documents",
    "shared_by_chunks",
    "title_in",
    "titles_of_leaves",
    "to_document",
    "unpack_place",
    "with_any_metadata",
    "with_language",
]
