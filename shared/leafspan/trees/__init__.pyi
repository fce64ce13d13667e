"""RAPTOR trees: leaves clustered and summarised, layer by layer (Sarthi et al., ICLR 2024)."""

from ._abstractive import Abstractive, to_summarizer
from ._building import BuildOptions, build_trees
from ._clustering import Bisecting, Clusterer
from ._extractive import Extractive
from ._plan import FailedSummary, Plan, Summarizer, TreesBuilt
from ._records import check_summary
from ._summary_reader import Summaries, SummaryReader, count_trees, list_summaries, summary_passage
from ._trees import Trees, forget_documents

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
    "check_summary",
    "count_trees",
    "forget_documents",
    "list_summaries",
    "summary_passage",
    "to_summarizer",
]
