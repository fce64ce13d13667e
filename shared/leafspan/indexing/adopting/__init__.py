"""Moving in: an index of what is in a collection of LangChain, LlamaIndex or Chroma alone, with its vectors."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
