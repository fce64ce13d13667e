"""RAPTOR trees: leaves clustered and summarised, layer by layer (Sarthi et al., ICLR 2024)."""

from ._abstractive import Abstractive
from ._bisecting import Bisecting
from ._building import BuildOptions, build_trees
from ._cleanup import forget_documents
from ._clusters import Clusterer, check_clusters
from ._contents import count_trees, list_summaries
from ._extractive import Extractive
from ._passages import document_of, summary_passage
from ._plan import Plan
from ._report import FailedSummary, TreesBuilt
from ._stored_summaries import check_summary
from ._summarizer import Summarizer
from ._summary_list import Summaries
from ._summary_reader import SummaryReader
from ._to_summarizer import to_summarizer
from ._trees import Trees

__all__ = [
    "Abstractive",
    "Bisecting",
    "BuildOptions",
    "Clusterer",
    "Extractive",
    "FailedSummary",
    "Plan",
    "Summarizer",
    "Summaries",
    "SummaryReader",
    "Trees",
    "TreesBuilt",
    "build_trees",
    "check_clusters",
    "check_summary",
    "count_trees",
    "document_of",
    "forget_documents",
    "list_summaries",
    "summary_passage",
    "to_summarizer",
]
