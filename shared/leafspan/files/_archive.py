"""Files that are archives of other files: opened only if their unpacked size is sensible."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from leafspan.files._opening import MOST_BYTES, Unreadable, read_bytes

_MOST_ENTRIES = 20_000
_MOST_XML = 2**26  # bytes of all XML of a file, 64 MiB: libraries need many times as much memory
_CHUNK = 1 << 20
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
_XML = (".xml", ".rels", ".xhtml", ".html", ".htm")


def open_archive(path: Path, *, most_xml: int = _MOST_XML) -> zipfile.ZipFile:
    """Open an archive. Everything in it is unpacked once, piece by piece, to check that nothing is larger than declared.

    Raises:
        Unreadable: if it is not a whole archive, or unpacks to more than 256 MiB or to too much XML.
        OSError: if the file cannot be read.
    """
    content = read_bytes(path)
    if content.startswith(_COMPOUND):
        raise Unreadable("it is encrypted, or in the format of before 2007: save it again")
    data = io.BytesIO(content)
    try:
        archive = zipfile.ZipFile(data)
        entries = archive.infolist()
        if len(entries) > _MOST_ENTRIES:
            raise Unreadable(f"it has more than {_MOST_ENTRIES:,} files in it")
        unpacked = xml = 0
        for entry in entries:
            if entry.flag_bits & 1:
                raise Unreadable("it is encrypted")
            with archive.open(entry) as file:
                while piece := file.read(_CHUNK):
                    unpacked += len(piece)
                    xml += len(piece) if entry.filename.lower().endswith(_XML) else 0
                    if unpacked > MOST_BYTES or xml > most_xml:
                        most = most_xml if xml > most_xml else MOST_BYTES
                        raise Unreadable(f"it unpacks to more than {most:,} bytes{' of XML' if xml > most_xml else ''}")
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise Unreadable(f"it is no whole archive: {error}") from None
    data.seek(0)
    return archive


def bytes_of(archive: zipfile.ZipFile) -> io.BytesIO:
    """Return the bytes of an archive that was opened here."""
    assert isinstance(archive.fp, io.BytesIO)
    archive.fp.seek(0)
    return archive.fp
