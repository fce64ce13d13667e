"""Makes pseudonyms: a word for each entity, always the same word for the same entity."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from leafspan.text import WITHOUT_SPACES, fold

PSEUDONYM = re.compile(r"(?<![A-Za-z0-9])([A-Z][A-Z1-9]{0,31})0[A-Z2-7]{16}0(?![A-Za-z0-9])")
"""What a pseudonym looks like: its kind, 0, 80 bits in base 32, 0.

It is one word for every tokenizer and splitter, and ends with a digit, so that no stemmer cuts anything off.
"""

SEPARATORS = re.compile(r"[\s_\-\u2012-\u2015\u05be\u2800\u30fb]+")
"""Separators of a name's words in a folded text: white space, ``_``, hyphens, dashes, and the dot of Japanese names."""

_BYTES = 10
_NO_KIND = re.compile(r"[^A-Z1-9]")
_PUNCTUATION = re.compile(r"[^\w]|_")
# Writers put a blank into Japanese and Korean names, or leave it out.
_OPTIONAL_BLANK = re.compile(rf"(?<=[{WITHOUT_SPACES}]){SEPARATORS.pattern}(?=[{WITHOUT_SPACES}])")

_NUMBERS = frozenset(
    {
        "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "US_ITIN", "UK_NHS", "UK_NINO", "ES_NIF", "ES_NIE",
        "IT_FISCAL_CODE", "FI_PERSONAL_IDENTITY_CODE", "PL_PESEL", "SE_PERSONNUMMER", "IN_PAN", "IN_AADHAAR", "KR_RRN",
        "SG_NRIC_FIN", "MEDICAL_LICENSE", "MAC_ADDRESS",
    }
)  # fmt: skip
"""Kinds that are often written with or without spaces, dashes, dots or brackets."""


def pseudonym(key: bytes, kind: str, value: str) -> str:
    """Make the pseudonym of an entity: its kind, and an HMAC-SHA256 of kind and value, which needs the key.

    It keeps 80 bits: among a million entities, two share a pseudonym with a probability of 4 in 10 trillions.
    """
    digest = hmac.digest(key, f"pseudonym\0{kind}\0{normal_value(kind, value)}".encode(errors="surrogatepass"), sha256)
    return f"{shown_kind(kind)}0{base64.b32encode(digest[:_BYTES]).decode()}0"


def normal_value(kind: str, text: str) -> str:
    """Reduce the spellings of an entity to one, so that all of them get the same pseudonym."""
    plain = fold(text)
    if kind in _NUMBERS:
        return _PUNCTUATION.sub("", plain) or plain or text
    return SEPARATORS.sub(" ", _OPTIONAL_BLANK.sub("", plain)).strip() or plain or text


def shown_kind(kind: str) -> str:
    """The kind as pseudonyms write it: ``EMAILADDRESS`` for ``EMAIL_ADDRESS``."""
    plain = _NO_KIND.sub("", kind.upper()).lstrip("123456789")
    return plain[:32] or "ENTITY"


class Met(NamedTuple):
    """A word in a text that looks like a pseudonym."""

    start: int
    end: int
    word: str
    kind: str


def pseudonyms_in(text: str) -> Iterator[Met]:
    """The words in a text that look like pseudonyms, in order."""
    for match in PSEUDONYM.finditer(text):
        yield Met(match.start(), match.end(), match[0], match[1])
