"""leafspan's strategies as LlamaIndex retrievers."""

from leafspan.errors import MissingExtra

try:
    import llama_index.core.retrievers as _host  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra('llamaindex_ext needs llama-index-core: pip install "leafspan[llamaindex]"') from error

from llamaindex_ext.auto_merging import AutoMergingRetriever
from llamaindex_ext.documents import leaf_nodes
from llamaindex_ext.node_parser import SpanNodeParser
from llamaindex_ext.parent_document import ParentDocumentRetriever
from llamaindex_ext.sentence_window import SentenceWindowRetriever
from llamaindex_ext.splitting import splitter_from
from llamaindex_ext.vector import VectorRetriever

__all__ = [
    "VectorRetriever",
    "ParentDocumentRetriever",
    "SentenceWindowRetriever",
    "AutoMergingRetriever",
    "SpanNodeParser",
    "leaf_nodes",
    "splitter_from",
]
