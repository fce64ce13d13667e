"""An index as it looks through pseudonyms: what goes in is masked, what comes out is masked or restored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
