"""Reading files: finding them, naming them, turning them into documents, and reporting those that cannot be read."""

from leafspan.files._formats import SUFFIXES, is_recognized, is_report
from leafspan.files._opening import Unreadable, decode
from leafspan.files._reader_process import LimitedReading
from leafspan.files._reading import (
    FileReading,
    FileStatus,
    Skipped,
    Step,
    check_paths,
    file_status,
    files_at,
    in_limits,
    is_there,
    no_match,
    read_ahead,
    real_path,
)
from leafspan.files._record import (
    BadRecord,
    FileDocument,
    Parts,
    Record,
    packed,
    page_starts,
    place_between,
    place_in_file,
    without_names,
)
from leafspan.files._source import FileNames, Files, below_folder
from leafspan.files._text import is_code

__all__ = [
    "SUFFIXES",
    "BadRecord",
    "FileDocument",
    "FileNames",
    "FileReading",
    "FileStatus",
    "Files",
    "LimitedReading",
    "Parts",
    "Record",
    "Skipped",
    "Step",
    "Unreadable",
    "below_folder",
    "check_paths",
    "decode",
    "file_status",
    "files_at",
    "in_limits",
    "no_match",
    "packed",
    "page_starts",
    "place_between",
    "place_in_file",
    "is_code",
    "is_recognized",
    "is_report",
    "is_there",
    "read_ahead",
    "real_path",
    "without_names",
]
