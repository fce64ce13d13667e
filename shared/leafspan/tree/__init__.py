"""RAPTOR trees: leaves clustered and summarised, layer by layer (Sarthi et al., ICLR 2024)."""

from leafspan.tree._abstractive import Abstractive
from leafspan.tree._bisecting import Bisecting
from leafspan.tree._building import BuildOptions, build_trees
from leafspan.tree._cleanup import forget_documents
from leafspan.tree._clusters import Clusterer
from leafspan.tree._contents import count_trees, list_summaries
from leafspan.tree._extractive import Extractive
from leafspan.tree._passages import document_of, summary_passage
from leafspan.tree._plan import Plan
from leafspan.tree._raptor_clusters import RaptorClusters
from leafspan.tree._report import FailedSummary, TreesBuilt
from leafspan.tree._stored_summaries import check_summary
from leafspan.tree._summarizer import Summarizer
from leafspan.tree._summary_list import Summaries
from leafspan.tree._summary_reader import SummaryReader
from leafspan.tree._to_summarizer import to_summarizer
from leafspan.tree._trees import Trees

__all__ = [
    "Abstractive",
    "Bisecting",
    "BuildOptions",
    "Clusterer",
    "Extractive",
    "FailedSummary",
    "Plan",
    "RaptorClusters",
    "Summarizer",
    "Summaries",
    "SummaryReader",
    "Trees",
    "TreesBuilt",
    "build_trees",
    "check_summary",
    "count_trees",
    "document_of",
    "forget_documents",
    "list_summaries",
    "summary_passage",
    "to_summarizer",
]
