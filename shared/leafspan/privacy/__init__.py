"""Pseudonyms in place of names, addresses and numbers, and the vault that maps them back."""

from leafspan.privacy._disguise import Disguise, Notes, places_of
from leafspan.privacy._documents import RECORD_KEY, Unmasking, mask_document
from leafspan.privacy._found import Finder, Found, find_all
from leafspan.privacy._keys import Key
from leafspan.privacy._known_terms import KnownTerms
from leafspan.privacy._patterns import DEFAULT_KINDS, Patterns
from leafspan.privacy._places import Masked, Place, Restoring
from leafspan.privacy._pseudonyms import PSEUDONYM, pseudonyms_in, shown_kind
from leafspan.privacy._to_finders import Analyzed, to_finders
from leafspan.privacy._vault import Record, Vault
from leafspan.privacy._writers import WritersLock

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
