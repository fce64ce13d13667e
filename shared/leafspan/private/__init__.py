"""Pseudonyms, the vault that maps them back, and views of an index through them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
