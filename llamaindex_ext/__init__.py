"""leafspan's strategies as LlamaIndex retrievers.

``__init__.pyi`` lists the names. A name is imported at its first use.
"""

import lazy_loader

from leafspan import MissingExtra

try:
    import llama_index.core.retrievers as _host  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("llamaindex_ext needs llama-index-core", "llamaindex") from error

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
