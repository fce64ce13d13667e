"""RAPTOR trees: leaves clustered and summarised, layer by layer (Sarthi et al., ICLR 2024)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
