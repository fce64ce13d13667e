"""Makes foreign texts safe to display: control characters and invisible characters become visible."""

from __future__ import annotations

import re
from importlib import import_module

_CONTROL_PICTURES = 0x2400  # the symbol for the control character 0, and so on

# C0, DEL and C1; changes of the writing direction; line separators; characters without width or ink, which make two
# names look alike; tags; halves of characters.
_UNSAFE = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_IN_NAMES = re.compile(f"[{_UNSAFE}]")
# Persian, the scripts of India and many emoji need the joiners; tabs and line ends are part of a text.
_IN_TEXTS = re.compile(f"(?![\n\t\u200c\u200d\xad])[{_UNSAFE}]")


def visible(text: str, *, lines: bool = False) -> str:
    """The text with a symbol or a backslash escape for each control character and invisible character."""
    if lines:
        return _IN_TEXTS.sub(_shown, text.replace("\r\n", "\n"))
    return _IN_NAMES.sub(_shown, text)


def escaped_in_json(text: str) -> str:
    """JSON with these characters escaped, so that it prints safely and still has the same values."""
    return _IN_NAMES.sub(lambda match: match[0] if match[0] == "\n" else _json_escape(match[0]), text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


_MARKUP = re.compile(r"[\\`*\[<&|~$]|(?<!\w)_|_(?!\w)")  # _ within a word is no markup; notebooks set $ as a formula


def name_in_markdown(name: str) -> str:
    """A name on one line of Markdown, also in a cell of a table."""
    return _MARKUP.sub(r"\\\g<0>", visible(name))


def display(kind: str, value: object) -> str | None:
    """The value as HTML. None without the extra that draws it, so that the notebook shows its ``repr``."""
    try:
        draw = getattr(import_module("leafspan.lab.pictures"), f"show_{kind.lower()}")  # show_document, show_passage, ...
    except ImportError:  # MissingExtra
        return None
    html: str = draw(value)
    return html
