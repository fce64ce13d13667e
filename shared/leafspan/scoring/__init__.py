"""Fusion of ranked lists, scores from neighbouring leaves, and probabilities from scores."""

from leafspan.scoring._calibration import EMBEDDER, answer_probability, probability, total_weight
from leafspan.scoring._fusion import (
    distribution_based_fusion,
    maximum_fusion,
    min_max,
    reciprocal_rank_fusion,
    relative_score_fusion,
    sum_fusion,
    three_sigma,
)
from leafspan.scoring._neighbours import neighbour_bonuses

__all__ = [
    "EMBEDDER",
    "answer_probability",
    "distribution_based_fusion",
    "maximum_fusion",
    "min_max",
    "neighbour_bonuses",
    "probability",
    "reciprocal_rank_fusion",
    "relative_score_fusion",
    "sum_fusion",
    "three_sigma",
    "total_weight",
]
