"""Pseudonyms in place of names, addresses and numbers, and the vault that maps them back."""

from ._disguise import Disguise, Notes, places_of
from ._documents import RECORD_KEY, Unmasking, mask_document
from ._entities import PSEUDONYM, Finder, Found, Masked, MaskedPlace, Restoring, find_all, pseudonyms_in, shown_kind
from ._known_terms import KnownTerms
from ._patterns import DEFAULT_KINDS, Analyzed, Patterns, to_finders
from ._seal import Key
from ._vault import Vault, VaultRecord
from ._vault_file import WritersLock

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
    "MaskedPlace",
    "VaultRecord",
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
