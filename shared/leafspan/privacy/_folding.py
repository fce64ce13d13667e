"""Texts without what does not matter to a name: case, kinds of spaces, ways to write the same letter."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'"})
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_ZERO_WIDTH_SPACE = "\u200b"  # parts words, and is no white space to Python
# They only say how others are shown: soft hyphens, joiners, directions. PDFs and web pages have them within names.
INVISIBLE = frozenset("\u00ad\u034f\u061c\u180e\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufeff")
INVISIBLE |= frozenset(map(chr, range(0x2061, 0x2070)))
_PUNCTUATION = re.compile(r"[^\w]|_")

_NUMBERS = frozenset(
    {
        "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "US_ITIN", "UK_NHS", "UK_NINO", "ES_NIF", "ES_NIE",
        "IT_FISCAL_CODE", "FI_PERSONAL_IDENTITY_CODE", "PL_PESEL", "SE_PERSONNUMMER", "IN_PAN", "IN_AADHAAR", "KR_RRN",
        "SG_NRIC_FIN", "MEDICAL_LICENSE", "MAC_ADDRESS",
    }
)  # fmt: skip
"""Kinds that are often written with spaces, dashes, dots or brackets, or without."""


def folded(text: str) -> str:
    """The text in Unicode's compatibility form (NFKC), without case and what is not seen, with one kind of apostrophe."""
    visible = text if text.isascii() else "".join(each for each in text if each not in INVISIBLE)
    visible = visible.replace(_ZERO_WIDTH_SPACE, " ")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).translate(_APOSTROPHES)


def normal_value(kind: str, text: str) -> str:
    """What two ways to write the same entity have in common, so that they get the same pseudonym."""
    plain = folded(text)
    if kind in _NUMBERS:
        return _PUNCTUATION.sub("", plain) or plain
    return _SEPARATORS.sub(" ", plain).strip() or plain


def folded_with_places(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """The folded text, and for each of its characters the characters of ``text`` that it is made of, as (start, end).

    None in place of the list if each character stands where it stood.
    """
    if text.isascii():
        return text.lower(), None
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (unicodedata.combining(text[end]) or text[end] in INVISIBLE):
            # an accent, and what is not seen, belong to the letter before it
            end += 1
        part = _folded_part(text[start:end])
        parts.append(part)
        places += [(start, end)] * len(part)
        start = end
    return "".join(parts), places


@lru_cache(maxsize=1 << 14)
def _folded_part(text: str) -> str:
    return folded(text)
