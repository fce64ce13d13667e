"""Retrieval over spans of leaves, in one Chroma index, for LangChain, LlamaIndex and plain Python.

What it offers stands in ``__init__.pyi``. A name is imported when it is first asked for, so that a process does not wait
for what it does not use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
