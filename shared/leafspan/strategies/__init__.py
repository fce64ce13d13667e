"""The strategies, as values: they hold no index, and can be compared, printed and composed.

What is listed here is also what someone needs to write a strategy of their own: see docs/write-a-strategy.md.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
