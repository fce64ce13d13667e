"""Makes an index from a collection of LangChain, LlamaIndex or Chroma, and keeps its vectors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
