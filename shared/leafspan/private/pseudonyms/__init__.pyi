"""Pseudonyms in place of names, addresses and numbers, and the vault that maps them back."""

from ._disguise import Disguise, Notes, places_of
from ._documents import RECORD_KEY, Unmasking, mask_document
from ._found import Finder, Found, find_all
from ._keys import Key
from ._known_terms import KnownTerms
from ._patterns import DEFAULT_KINDS, Patterns
from ._places import Masked, Place, Restoring
from ._pseudonyms import PSEUDONYM, pseudonyms_in, shown_kind
from ._to_finders import Analyzed, to_finders
from ._vault import Record, Vault
from ._writers import WritersLock

__all__ = [
    "DEFAULT_KINDS",
    "PSEUDONYM",
    "RECORD_KEY",
    "Analyzed",
    "Disguise",
    "Finder",
    "Found",
    "Key",
    "KnownTerms",
    "Masked",
    "Notes",
    "Patterns",
    "Place",
    "Record",
    "Restoring",
    "Unmasking",
    "Vault",
    "WritersLock",
    "find_all",
    "mask_document",
    "places_of",
    "pseudonyms_in",
    "shown_kind",
    "to_finders",
]
