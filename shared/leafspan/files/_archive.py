"""Files that are archives of other files: opened only if their declared unpacked size is sensible."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import Path

from leafspan.files._opening import MOST_BYTES, Unreadable, read_bytes

_MOST_ENTRIES = 20_000
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_OF_OFFICE = "[Content_Types].xml"
_XML = re.compile(r"\.(?:xml|rels)\Z", re.IGNORECASE)
_HEAD = 1_024  # bytes of a part in which a document type is declared


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open an archive. What reading its entries takes is left to the limits of the process."""
    content = read_bytes(path)
    if content.startswith(_COMPOUND):
        raise Unreadable("it is encrypted, or in the format of before 2007: save it again")
    data = io.BytesIO(content)
    try:
        archive = zipfile.ZipFile(data)
        entries = archive.infolist()
        if len(entries) > _MOST_ENTRIES:
            raise Unreadable(f"it has more than {_MOST_ENTRIES:,} files in it")
        if any(entry.flag_bits & 1 for entry in entries):
            raise Unreadable("it is encrypted")
        if any(entry.compress_type not in _PACKED for entry in entries):
            raise Unreadable("it has files in it that are neither stored nor deflated")
        if sum(entry.file_size for entry in entries) > MOST_BYTES:  # no entry is read any further than it declares
            raise Unreadable(f"it unpacks to more than {MOST_BYTES:,} bytes")
        for name in filter(_XML.search, archive.namelist() if _OF_OFFICE in archive.namelist() else ()):
            with archive.open(name) as file:
                if b"<!DOCTYPE" in file.read(_HEAD):
                    raise Unreadable(f"its part {name!r} declares a document type, as no Office file does")
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"it is no whole archive: {error}") from None
    data.seek(0)
    return archive


def bytes_of(archive: zipfile.ZipFile) -> io.BytesIO:
    """Return the bytes of an archive that was opened here."""
    assert isinstance(archive.fp, io.BytesIO)
    archive.fp.seek(0)
    return archive.fp
