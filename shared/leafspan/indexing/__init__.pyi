"""Taking documents in, deleting and listing them, and looking whether an index is whole."""

from ._contents import (
    MOST_DIGITS,
    Citation,
    DocumentInfo,
    Stats,
    count_documents,
    get_document,
    index_stats,
    list_documents,
    list_leaves,
    place_cited,
    summaries_of,
    surrounding_text,
    value_counts,
)
from ._copying import Copied, check_copy, copy_store, copy_texts
from ._editions import Reembedded, Reembedding, delete_spare
from ._examining import Examination, Finding, examine
from ._ingest import Added, AddOptions, IngestRules, ingest
from ._known_files import FILE_KEY, moved_warning
from ._sync import Synced, SyncOptions, sync
from ._vector_repair import examine_database, examine_files, examine_vectors, rebuild_vectors
from ._verifying import verify
from ._watch import Watch
from ._writing import (
    Group,
    NewVersion,
    WriteTarget,
    check_splitter,
    delete_documents,
    delete_matching,
    finish,
    finish_interrupted,
    split_document,
    write_group,
)

__all__ = [
    "FILE_KEY",
    "MOST_DIGITS",
    "AddOptions",
    "Added",
    "Citation",
    "Copied",
    "DocumentInfo",
    "Examination",
    "Finding",
    "Group",
    "IngestRules",
    "NewVersion",
    "Reembedded",
    "Reembedding",
    "Stats",
    "SyncOptions",
    "Synced",
    "Watch",
    "WriteTarget",
    "check_copy",
    "check_splitter",
    "copy_store",
    "copy_texts",
    "delete_documents",
    "delete_matching",
    "delete_spare",
    "examine",
    "examine_database",
    "examine_files",
    "examine_vectors",
    "finish",
    "finish_interrupted",
    "get_document",
    "index_stats",
    "ingest",
    "count_documents",
    "list_documents",
    "list_leaves",
    "moved_warning",
    "place_cited",
    "rebuild_vectors",
    "split_document",
    "summaries_of",
    "surrounding_text",
    "sync",
    "value_counts",
    "verify",
    "write_group",
]
