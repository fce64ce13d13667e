"""leafspan's strategies as LangChain retrievers.

``__init__.pyi`` lists the names. A name is imported at its first use.
"""

import lazy_loader

from leafspan import MissingExtra

try:
    import langchain_core.retrievers as _host  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("langchain_ext needs langchain-core", "langchain") from error

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
# Without names that need an extra, so that "import *" works without the extra.
__all__ = [name for name in _names if name not in ("IndexBackend", "LeafspanStore", "RetrievalMiddleware")]
