"""Segments: copies of the stored documents in the form that queries read. They can always be made again."""

from leafspan.segments._leaf_copies import RecordCopy, VectorCopy, are_same, records_in, vectors_at, vectors_in
from leafspan.segments._mirror import Mirror, Recipe
from leafspan.segments._segment import Segment, new_file
from leafspan.segments._shared_mirror import SharedMirror, Shelf
from leafspan.segments._snapshot import MirrorSnapshot, OpenSegment
from leafspan.segments._stored_arrays import collect, in_parts
from leafspan.segments._word_postings import WordPostings

__all__ = [
    "Mirror",
    "MirrorSnapshot",
    "OpenSegment",
    "RecordCopy",
    "Segment",
    "SharedMirror",
    "Shelf",
    "collect",
    "Recipe",
    "VectorCopy",
    "WordPostings",
    "are_same",
    "in_parts",
    "new_file",
    "records_in",
    "vectors_at",
    "vectors_in",
]
