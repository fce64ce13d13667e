"""Links in an index's folder are refused: somebody who can put a link there could have other files overwritten."""

from __future__ import annotations

from pathlib import Path

from leafspan.engines.chroma._database_file import DATABASE, entries, is_vector_folder
from leafspan.engines.chroma._vector_files import IDS, VECTORS
from leafspan.errors import StorageFailed

_OWN = ("leafspan.lock", "leafspan.files", "leafspan.changes", "leafspan.vectors", "leafspan.segments")


def check_links(folder: Path) -> None:
    """Check that a folder has no link where leafspan writes. The folder itself may be a link.

    Raises:
        StorageFailed: if there is a link.
    """
    vectors = [each for each in entries(folder) if is_vector_folder(each)]
    inside = [each / name for each in vectors for name in (*VECTORS, IDS)]
    for path in (*(folder / name for name in (DATABASE, *_OWN)), *vectors, *inside):
        if path.is_symlink():
            raise StorageFailed(
                f"{str(path)!r} is a link, and what is written to an index must not go elsewhere: put what it "
                "leads to in its place (the folder of the index itself may be a link)"
            )
