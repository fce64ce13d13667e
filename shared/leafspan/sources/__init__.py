"""Retrievers that ask something other than an index of leaves: SQL databases and graphs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
