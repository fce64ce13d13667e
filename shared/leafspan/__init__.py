"""Retrieval over spans of leaves, in one index, for LangChain, LlamaIndex and plain Python.

``__init__.pyi`` lists the names. A name is imported when it is first used, so a process does not wait for the others.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
