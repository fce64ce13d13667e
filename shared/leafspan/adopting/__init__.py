"""Moving in: an index of what is in a collection of LangChain, LlamaIndex or Chroma alone, with its vectors."""

from leafspan.adopting._adopt import adopt
from leafspan.adopting._embedder import check_embedder
from leafspan.adopting._plan import Plan, read_plan
from leafspan.adopting._report import Adopted, SkippedRecord
from leafspan.adopting._source import Source, open_source

__all__ = ["Adopted", "Plan", "SkippedRecord", "Source", "adopt", "check_embedder", "open_source", "read_plan"]
