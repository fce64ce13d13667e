"""Mail: a message is a document. Its subject is the title, and its people and date are metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from leafspan.errors import MissingExtra
from leafspan.files._html import markdown_of
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._record import BadRecord, Record
from leafspan.files._source import Files

if TYPE_CHECKING:
    from email.message import EmailMessage

_MOST_MESSAGES = 100_000
_BEGINNING = re.compile(rb"^From [^\r\n]*\r?\n(?=[!-9;-~]+:)", re.MULTILINE)  # start of a message in a mailbox
_PEOPLE = ("from", "to", "cc")
_LONGEST_HEADER = 20_000  # characters
_HEADERS = ("from", "to", "subject", "date", "message-id", "received")
_ORIGINAL = re.compile(r"^-{2,} ?(?:Original Message|Forwarded message|Ursprüngliche Nachricht) ?-{2,}", re.MULTILINE)


def read_eml(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """See Reader. Quoted messages come after the message's own words, under a heading."""
    yield _record(read_bytes(path), "")


def read_mbox(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """See Reader. Each message of the mailbox is a document, identified by its number."""
    data = read_bytes(path)
    found = [match.span() for match in islice(_BEGINNING.finditer(data), _MOST_MESSAGES + 1)]
    if not found:
        raise Unreadable("it is no mailbox: no message begins in it")
    for number, ((_, begin), (end, _)) in enumerate(pairwise([*found, (len(data), 0)]), start=1):
        if number > _MOST_MESSAGES:
            yield BadRecord(f"the messages from {number:,} on are left out")
            return
        try:
            yield _record(data[begin:end], f"message={number}")
        except Unreadable as error:
            yield BadRecord(f"message {number}: {error}")


def _record(data: bytes, part: str) -> Record:
    from email import message_from_bytes, policy  # takes 15 ms, and most folders have no mail

    try:
        message = message_from_bytes(data, policy=policy.default)
        left_out = [f"the header {name!r} of {length:,} characters is left out" for name, length in _long_headers(message)]
        body = message.get_body(("plain", "html"))
        text = "" if body is None else str(body.get_content())
        is_html = body is not None and body.get_content_subtype() == "html"
        subject = " ".join(str(message["subject"] or "").split())
        metadata: dict[str, object] = {key: " ".join(str(message[key]).split()) for key in _PEOPLE if message[key]}
        if message["date"]:
            metadata["date"] = _date(str(message["date"]))
        names = [each.get_filename() for each in message.iter_attachments()]
    except MissingExtra:
        raise
    except Exception as error:  # the library raises any exception, such as LookupError for an unknown encoding
        raise Unreadable(f"it is no mail that can be read: {error}") from None
    if not any(message[name] for name in _HEADERS):
        raise Unreadable(f"it is no mail: it must have one of the headers {', '.join(_HEADERS)}")
    text = markdown_of(text)[0] if is_html else text.replace("\r\n", "\n")
    own, quoted = _apart(text)
    parts = [own.strip(), f"# Quoted\n\n{quoted.strip()}" if quoted.strip() else ""]
    if attached := ", ".join(" ".join(name.split()) for name in names if name):
        parts.insert(1, f"Attached: {attached}")
    return Record(
        "\n\n".join(filter(None, parts)) + "\n", subject or None, metadata, part=part, left_out=left_out, parts=()
    )


def _long_headers(message: EmailMessage) -> Iterator[tuple[str, int]]:
    """Remove headers so long that parsing would take the library hours and all memory."""
    for part in message.walk():
        for name, value in list(part.raw_items()):
            if len(value) > _LONGEST_HEADER:
                del part[name]
                yield name, len(value)


def _date(text: str) -> str:
    """Return the date in ISO 8601, so that filters can compare it, or unchanged if it is not a valid date."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).isoformat()
    except ValueError:
        return " ".join(text.split())


def _apart(text: str) -> tuple[str, str]:
    """Split a message's words from the history that it quotes below them. Quotes between its words stay."""
    original = _ORIGINAL.search(text)
    text, below = (text[: original.start()], text[original.start() :]) if original else (text, "")
    lines = text.split("\n")
    first = len(lines)
    while first and (not lines[first - 1].strip() or lines[first - 1].startswith(">")):
        first -= 1
    if not any(line.startswith(">") for line in lines[first:]):
        return text, below
    if first and lines[first - 1].rstrip().endswith(":"):  # the line that names the quoted writer
        while first and lines[first - 1].strip():
            first -= 1
    return "\n".join(lines[:first]), "\n".join([*lines[first:], below])
