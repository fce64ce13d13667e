"""Mail: a message is a document. Its subject is the title, and its people and date are metadata."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from leafspan.errors import MissingExtra
from leafspan.files._html import markdown_of
from leafspan.files._opening import Unreadable, declared_in_html, decode_declared, in_one_line, parsing, read_bytes
from leafspan.files._record import BadRecord, Record
from leafspan.files._source import Files
from leafspan.splitting import LINE_END
from leafspan.text import count_words

if TYPE_CHECKING:
    from email.message import Message

_MOST_MESSAGES = 100_000
_BEGINNING = re.compile(rb"^From [^\r\n]*\r?\n(?=[!-9;-~]+:)", re.MULTILINE)  # start of a message in a mailbox
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_PEOPLE = ("from", "to", "cc")
_READ = (*_PEOPLE, "subject", "date")
_LONGEST_HEADER = 20_000  # characters
_HEADERS = ("from", "to", "cc", "subject", "date", "message-id", "received")
_ENCODED_WORDS = re.compile(r"(?:=\?[^?\s]*\?[bBqQ]\?[^?]*\?=\s*)+")
_KIND_OF = {
    ".eml": "message/rfc822",
    **dict.fromkeys((".htm", ".html"), "text/html"),
    **dict.fromkeys((".csv", ".log", ".md", ".text", ".tsv", ".txt"), "text/plain"),
}
# Subtypes of text that no reader of mail shows as text.
_NO_WORDS = frozenset(
    ["calendar", "css", "directory", "enriched", "javascript", "rfc822-headers", "richtext", "rtf", "vcard", "x-amp-html"]
)
_FEW_WORDS = 30  # a shorter plain text may only say that there is HTML
_ORIGINAL = re.compile(r"^-{2,} ?(?:Original Message|Forwarded message|Ursprüngliche Nachricht) ?-{2,}", re.MULTILINE)


def read_eml(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """Read a message. Quoted messages come after the message's own words, under a heading."""
    yield _record(read_bytes(path), "")


def read_mbox(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """Read a mailbox. Each message is a document, identified by its number."""
    data = read_bytes(path)
    starts = [match.span() for match in islice(_BEGINNING.finditer(data), _MOST_MESSAGES + 1)]
    if not starts:
        raise Unreadable("it is no mailbox: no message begins in it")
    for number, ((_, begin), (end, _)) in enumerate(pairwise([*starts, (len(data), 0)]), start=1):
        if number > _MOST_MESSAGES:
            yield BadRecord(f"the messages from {number:,} on are left out")
            return
        try:
            yield _record(_ESCAPED.sub(rb"\1", data[begin:end]), f"message={number}")
        except Unreadable as error:
            yield BadRecord(f"message {number}: {error}")


def _record(data: bytes, part: str) -> Record:
    from email import message_from_bytes  # takes 15 ms, and most folders have no mail
    from email.utils import parsedate_to_datetime

    with parsing("it is no mail that can be read"):
        message = message_from_bytes(data)
        headers = _headers(message)
        long = [name for name in _READ if len(headers.get(name, "")) > _LONGEST_HEADER]
        left_out = [f"the header {name.title()!r} of {len(headers.pop(name)):,} characters is left out" for name in long]
        headers = {name: _decoded(value) for name, value in headers.items() if name in _HEADERS}
        text = "\n\n".join(_sections(message, 1)) + "\n"
    if not any(headers.get(name) for name in _HEADERS):
        raise Unreadable(f"it is no mail: it must have one of the headers {', '.join(_HEADERS)}")
    metadata: dict[str, object] = {key: headers[key] for key in _PEOPLE if headers.get(key)}
    if date := headers.get("date"):
        metadata["date"] = date
        with suppress(ValueError, OverflowError):  # it is not a valid date
            metadata["date"] = parsedate_to_datetime(date).isoformat()  # so that filters can compare it
    return Record(text, headers.get("subject") or None, metadata, part=part, left_out=left_out, parts=())


def _sections(message: Message, depth: int) -> Iterator[str]:
    """Yield a message's own words, the names of its attachments, what it quotes, and the attached texts and messages."""
    own, names, below = list[str](), list[str](), list[str]()
    for part in _shown(message):
        kind, name = _kind(part), _decoded(part.get_filename() or "")
        if kind in ("message/rfc822", "message/global"):
            inner = _attached_message(part)
            headers = {key: _decoded(value[:_LONGEST_HEADER]) for key, value in _headers(inner).items()}
            below.append(f"{'#' * min(depth, 6)} Attached: {headers.get('subject') or name or 'a message'}")
            below.append("\n".join(f"{key.title()}: {headers[key]}" for key in (*_PEOPLE, "date") if headers.get(key)))
            below += _sections(inner, depth + 1)
        elif _is_words(part):
            own.append(_text(part))
        elif _is_text(part):
            below += [f"{'#' * min(depth, 6)} Attached: {name or 'a text'}", _text(part)]
        elif name or part.get_content_maintype() in ("audio", "image", "video"):
            names.append(name or kind)
    words, quoted = _apart("\n\n".join(text.strip() for text in own if text.strip()))
    attached = f"Attached: {', '.join(names)}" if names else ""
    heading = f"{'#' * min(depth, 6)} Quoted" if quoted.strip() else ""
    for section in (words, attached, heading, quoted, *below):
        if section.strip():
            yield section.strip()


def _shown(part: Message) -> list[Message]:
    """Return the parts that a reader of mail shows or names, in order. Of alternative texts, it shows one."""
    children: Any = part.get_payload()
    if part.get_content_maintype() != "multipart" or not isinstance(children, list):
        return [part]
    shown = [_shown(child) for child in children]
    chosen = _chosen(shown) if part.get_content_subtype() == "alternative" else None
    return [each for number, some in enumerate(shown) for each in some if chosen in (None, number) or not _is_words(each)]


def _chosen(alternatives: Sequence[Sequence[Message]]) -> int:
    """Return the number of the plain text, or of the last richer one if the plain text is blank or only points to it."""
    texts = [[part for part in shown if _is_words(part)] for shown in alternatives]

    def words(number: int) -> int:
        return sum(count_words(_text(part)) for part in texts[number])

    candidates = [number for number, some in enumerate(texts) if some]
    rich = [number for number in candidates if any(_kind(part) != "text/plain" for part in texts[number])]
    plain = max((number for number in candidates if number not in rich), key=words, default=None)
    if plain is None or not rich:
        return rich[-1] if rich else plain or 0
    with suppress(MissingExtra, Unreadable):
        if (few := words(plain)) < _FEW_WORDS and 2 * few < words(rich[-1]):
            return rich[-1]
    return plain


def _is_words(part: Message) -> bool:
    """Whether it is shown as a part of the message itself."""
    return _is_text(part) and part.get_content_disposition() != "attachment"


def _is_text(part: Message) -> bool:
    kind = _kind(part)
    return kind.startswith("text/") and kind.removeprefix("text/") not in _NO_WORDS


def _kind(part: Message) -> str:
    kind = part.get_content_type()
    if kind == "application/octet-stream":
        return _KIND_OF.get(PurePath(part.get_filename() or "").suffix.lower(), kind)
    return "text/plain" if kind.startswith("multipart/") else kind


def _text(part: Message) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    is_html = _kind(part) == "text/html"
    text = decode_declared(data, [part.get_content_charset(), declared_in_html(data) if is_html else None])
    return markdown_of(text)[0] if is_html else LINE_END.sub("\n", text)


def _attached_message(part: Message) -> Message:
    from email import message_from_bytes

    payload: Any = part.get_payload()
    if not isinstance(payload, list):
        data = part.get_payload(decode=True)
        return message_from_bytes(data if isinstance(data, bytes) else b"")
    inner: Message = payload[0]
    is_encoded = str(part["content-transfer-encoding"]).strip().lower() == "base64"
    return message_from_bytes(a2b_base64(str(inner.get_payload()))) if is_encoded else inner


def _headers(message: Message) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in reversed([*message.raw_items()])}


def _decoded(header: str) -> str:
    """Return a header's text in one line."""
    text = decode_declared(header.encode("utf-8", "surrogateescape"), [])
    return in_one_line(_ENCODED_WORDS.sub(_of_encoded_words, text))


def _of_encoded_words(match: re.Match[str]) -> str:
    """Decode consecutive encoded words (RFC 2047). A character's bytes may be in two of them."""
    from email.errors import HeaderParseError
    from email.header import decode_header

    try:
        words = decode_header(match[0])
    except HeaderParseError:  # of broken base64
        return match[0]
    return "".join(decode_declared(data, [(charset or "").partition("*")[0]]) for data, charset in words)


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
