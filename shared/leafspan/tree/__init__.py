"""RAPTOR trees: leaves clustered and summarised, layer by layer (Sarthi et al., ICLR 2024)."""

from leafspan.tree.abstractive import Abstractive
from leafspan.tree.bisecting import Bisecting
from leafspan.tree.building import FailedSummary, TreesBuilt
from leafspan.tree.clusters import Clusterer
from leafspan.tree.extractive import Extractive
from leafspan.tree.raptor_clusters import RaptorClusters
from leafspan.tree.summarizing import Summarizer

__all__ = [
    "Abstractive",
    "Bisecting",
    "Clusterer",
    "Extractive",
    "FailedSummary",
    "RaptorClusters",
    "Summarizer",
    "TreesBuilt",
]
