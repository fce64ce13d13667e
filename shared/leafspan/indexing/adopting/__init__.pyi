"""Moving in: an index of what is in a collection of LangChain, LlamaIndex or Chroma alone, with its vectors."""

from ._adopt import Adopted, adopt, check_embedder
from ._plan import Plan, SkippedRecord, Source, open_source, read_plan

__all__ = ["Adopted", "Plan", "SkippedRecord", "Source", "adopt", "check_embedder", "open_source", "read_plan"]
