"""Chroma: clients, collections, failures, and files in a folder. Only this package uses chromadb."""

from leafspan.engines.chroma._chroma import (
    MADE_BY_LEAFSPAN,
    NODE_KEY,
    Chroma,
    Opened,
    check_process,
    connect,
    folder_of,
    fresh_client,
    how_to_make,
    use_embedded_chroma,
)
from leafspan.engines.chroma._collection import Collection
from leafspan.engines.chroma._database import RESTORE, check_pages, check_there, stored_vectors
from leafspan.engines.chroma._failures import CollectionGone, chroma_failure, refused_database
from leafspan.engines.chroma._files import FileDamage, Files
from leafspan.engines.chroma._foreign import ForeignCollection, find_collection, open_chroma

__all__ = [
    "MADE_BY_LEAFSPAN",
    "NODE_KEY",
    "RESTORE",
    "Chroma",
    "Collection",
    "CollectionGone",
    "FileDamage",
    "Files",
    "ForeignCollection",
    "Opened",
    "check_pages",
    "check_process",
    "check_there",
    "chroma_failure",
    "connect",
    "find_collection",
    "folder_of",
    "fresh_client",
    "how_to_make",
    "open_chroma",
    "refused_database",
    "stored_vectors",
    "use_embedded_chroma",
]
