"""Taking documents in, deleting and listing them, and looking whether an index is whole."""

from leafspan.indexing._contents import DocumentInfo, Stats, get_document, index_stats, list_documents, list_leaves
from leafspan.indexing._deleting import delete_documents, delete_matching
from leafspan.indexing._doctor import Examination, Finding, examine
from leafspan.indexing._ingest import Added, ingest
from leafspan.indexing._intake import Intake
from leafspan.indexing._known_files import FILE_KEY
from leafspan.indexing._split_document import SplitDocument, check_splitter, split_document
from leafspan.indexing._surroundings import Reach, surrounding_text
from leafspan.indexing._sync import Synced, SyncOptions, sync
from leafspan.indexing._vector_examination import examine_database, examine_vector_files, examine_vectors
from leafspan.indexing._vectors_anew import make_vectors_anew
from leafspan.indexing._verifying import verify
from leafspan.indexing._view_picture import facts_of, view_picture
from leafspan.indexing._write_group import finish, finish_interrupted, write_group

__all__ = [
    "FILE_KEY",
    "Added",
    "DocumentInfo",
    "Examination",
    "Finding",
    "Intake",
    "Reach",
    "SplitDocument",
    "Stats",
    "SyncOptions",
    "Synced",
    "check_splitter",
    "delete_documents",
    "delete_matching",
    "examine",
    "examine_database",
    "examine_vector_files",
    "examine_vectors",
    "facts_of",
    "finish",
    "finish_interrupted",
    "get_document",
    "index_stats",
    "ingest",
    "list_documents",
    "list_leaves",
    "make_vectors_anew",
    "split_document",
    "surrounding_text",
    "sync",
    "verify",
    "view_picture",
    "write_group",
]
