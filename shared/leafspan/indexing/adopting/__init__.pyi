"""Moving in: an index of what is in a collection of LangChain, LlamaIndex or Chroma alone, with its vectors."""

from ._adopt import adopt
from ._embedder import check_embedder
from ._plan import Plan, read_plan
from ._report import Adopted, SkippedRecord
from ._source import Source, open_source

__all__ = ["Adopted", "Plan", "SkippedRecord", "Source", "adopt", "check_embedder", "open_source", "read_plan"]
