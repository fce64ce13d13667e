"""Pseudonyms, the vault that maps them back, and views of an index through them."""

from ._pii_aware import PIIAware
from .pseudonyms import Analyzed, Found, Key, Patterns, Vault
from .views import PrivateView, private_view

__all__ = ["PIIAware", "Analyzed", "Found", "Key", "Patterns", "Vault", "PrivateView", "private_view"]
