"""Views of an index with pseudonyms instead of names, and the vault that maps pseudonyms back."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
