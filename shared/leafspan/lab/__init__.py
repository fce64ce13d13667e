"""Tools that examine retrieval: explanations, pictures, pages in a browser, evaluation and tuning."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
