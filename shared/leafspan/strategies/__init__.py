"""The strategies, as values: they hold no index, and can be compared, printed and composed.

This room also lists what you need to write a strategy of your own: see docs/write-a-strategy.md.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
