"""Real files of every kind, and changes to them as damage or an attacker would make them."""

from __future__ import annotations

import io
import json
import random
import time
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from leafspan import Files, Index
from leafspan.files import SUFFIXES, _reader_process
from tests.office import archive, docx, epub, odp, ods, odt, pptx, xlsx
from tests.pdf import pdf

_OF_A_KIND, _LARGEST = 12, 300_000
_ROWS = [["Kind", "Price"], *[[f"Tea {n}", n / 3] for n in range(50)]]
_MAIL = (
    b"From: Ann <ann@x.org>\r\nTo: =?utf-8?q?Zo=C3=AB?= <z@x.org>\r\nSubject: Tea\r\nDate: Mon, 1 Jan 2024 10:00:00 +0100\r\n"
    b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html; charset=latin1'
    b"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>Caf=E9</p>\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n"
    b"From: b@x.org\r\nSubject: Re: Tea\r\n\r\nYes.\r\n--b--\r\n"
)
_MADE = {
    ".docx": docx([("Heading1", "Tea"), ("", "Leaves. " * 50)], rows=[["a", "b"], ["c", "d"]], title="Tea"),
    ".xlsx": xlsx({"S": _ROWS}),
    ".pptx": pptx([("Tea", "Leaves\nMore", "Notes")], rows=[["a", "b"], ["c", "d"]]),
    ".odt": odt([(1, "Tea"), (0, "Leaves. " * 50)]),
    ".ods": ods({"S": _ROWS}, empty_rows=1_000),
    ".odp": odp([("Tea", "Leaves")]),
    ".epub": epub({"a.xhtml": "<h1>Tea</h1><p>Leaves.</p>", "b.xhtml": "<table><tr><td rowspan=2>x<td>y</table>"}),
    ".pdf": pdf(["Tea.", "Leaves."], title="Tea"),
    ".eml": _MAIL,
    ".mbox": b"From x Mon\n" + _MAIL + b"\nFrom y Tue\n" + _MAIL,
    ".json": json.dumps({"tea": [{"kind": "green", "price": 1.5}] * 60}).encode(),
    ".jsonl": b'{"text": "Tea.", "price": 1}\n' * 20,
    ".csv": b"Kind;Price\n" + b'"Tea; green";"1,5"\n' * 20,
    ".tsv": b"Kind\tPrice\n" + b"Tea\t1\n" * 20,
    ".org": b"* TODO Tea :drink:\nLeaves.\n#+begin_src\nx\n#+end_src\n",
    ".adoc": b"= Tea\n\nLeaves.\n\n----\nx\n----\n\n== More ==\n",
    ".toml": b"[tea]\nkind = 'green'\n",
    ".md": b"---\ntitle: Tea\ntags: [a, b]\n---\n# Tea\n\n| a | b |\n|---|---|\n| c | d |\n\n```\nx\n```\n",
    ".rst": b"Tea\n===\n\n.. note::\n\n   Leaves.\n\n+---+---+\n| a | b |\n+---+---+\n\n.. _x: y\n\n1. a\n\n   - b\n",
    ".html": b"<title>Tea</title><main><h1>Tea</h1><table><tr><td colspan=2>a<tr><td>b<td>c</table><ul><li>d</ul></main>",
}
# What an attacker would write in the place of a number or a name, and what opens something.
_NASTY = (
    *(b"2000000000 -1 0 1e5000000 999999999999999999999 NaN utf-7 rot13 ../../.. &a; <!DOCTYPE ]]> --> <![CDATA[".split()),
    *(b"\" ' ( [ { < > | ` * _ \\ # : \0 \r \n".split(b" ")),
    *("\ud800".encode("utf-8", "surrogatepass"), "\u202e".encode(), b"\xff\xfe", b"PK\x03\x04"),
)


def real_files(folders: Iterable[str] = ()) -> dict[str, list[bytes]]:
    """Files of each kind in some folders, such as ``sys.path``, and small ones made here."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for suffix, data in _MADE.items():
        found[suffix].append(data)
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.*")) if folder.is_dir() else ():
            kind = found[path.suffix.lower()] if path.suffix.lower() in SUFFIXES else None
            if kind is not None and len(kind) < _OF_A_KIND and path.is_file() and 0 < path.stat().st_size < _LARGEST:
                kind.append(path.read_bytes())
    return dict(found)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A file with some changes: in its bytes, or within an archive's entries."""
    if zipfile.is_zipfile(io.BytesIO(data)) and chance.random() < 0.8:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
        name = chance.choice([*entries])
        content = entries[name]
        assert isinstance(content, bytes)
        entries[name] = _changed(content, chance)
        return archive(entries)
    return _changed(data, chance)


def wrong(index: Index, folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Sync files, and return what must not be: an exception, a file that is not accounted for, or more than the limits."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    limits, before, here = _reader_process.LIMITS, getrusage(RUSAGE_CHILDREN), time.process_time()
    try:
        synced = index.sync(Files(folder, checksum=True), progress=False, allow_empty=True)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        _reader_process._end_all()  # so that what it took is known
        for name in files:
            (folder / name).unlink()
    after, here = getrusage(RUSAGE_CHILDREN), time.process_time() - here
    ids = {*synced.added, *synced.replaced, *synced.unchanged, *(each.path for each in synced.skipped)}
    named = {Path(id_.partition("#")[0]).name for id_ in ids}
    # A mailbox without messages and a file of blank lines hold no document.
    found = [f"{name} is lost" for name in files if name not in named and Path(name).suffix not in (".jsonl", ".mbox")]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if seconds > (limits.seconds + 5) * len(files) or here > limits.seconds * len(files):
        found.append(f"{seconds:.0f} seconds of the process, and {here:.0f} here")
    largest = max(before.ru_maxrss, getrusage(RUSAGE_SELF).ru_maxrss) * 1024  # a new process begins as a copy of this one
    if after.ru_maxrss * 1024 > max(limits.memory, largest):
        found.append(f"{after.ru_maxrss * 1024:,} bytes of memory")
    return found


def _changed(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        data = chance.choice((_flip, _insert, _remove, _repeat, _swap, _number, _cut))(chance, data)
    return data


def _flip(chance: random.Random, data: bytes) -> bytes:
    place = chance.randrange(len(data) or 1)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def _insert(chance: random.Random, data: bytes) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(_NASTY) * chance.choice((1, 1, 3, 1_000)) + data[place:]


def _span(chance: random.Random, data: bytes) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, start + chance.randrange(min(len(data) - start, 2_000) + 1)


def _remove(chance: random.Random, data: bytes) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[end:]


def _repeat(chance: random.Random, data: bytes) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[start:end] * chance.choice((2, 10, min(1_000, 200_000 // (end - start or 1)))) + data[end:]


def _swap(chance: random.Random, data: bytes) -> bytes:
    (start, end), (other, after) = _span(chance, data), _span(chance, data)
    return data[:start] + data[other:after] + data[end:]


def _number(chance: random.Random, data: bytes) -> bytes:
    """Replace a number."""
    places = [place for place in range(len(data)) if data[place : place + 1].isdigit()][:5_000]
    if not places:
        return data
    start = chance.choice(places)
    end = next((place for place in range(start, len(data)) if not data[place : place + 1].isdigit()), len(data))
    return data[:start] + chance.choice(_NASTY[:6]) + data[end:]


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.2 else data
