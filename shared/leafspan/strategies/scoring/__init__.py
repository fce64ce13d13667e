"""Fusion of ranked lists, scores from neighbours, probabilities from scores, diversity, and decay with age."""

from leafspan.strategies.scoring._calibration import (
    absence_weight,
    answer_probability,
    probability,
    relevances,
    same_absence,
    total_weight,
)
from leafspan.strategies.scoring._decay import SHAPES, Shape, decay_factor
from leafspan.strategies.scoring._diversity import Chosen, maximal_marginal_relevance
from leafspan.strategies.scoring._fusion import (
    distribution_based_fusion,
    maximum_fusion,
    min_max,
    reciprocal_rank_fusion,
    relative_score_fusion,
    sum_fusion,
    three_sigma,
)
from leafspan.strategies.scoring._neighbours import neighbour_bonuses
from leafspan.strategies.scoring._ranked_scores import scores_in_order

__all__ = [
    "SHAPES",
    "Chosen",
    "Shape",
    "absence_weight",
    "answer_probability",
    "decay_factor",
    "distribution_based_fusion",
    "maximum_fusion",
    "maximal_marginal_relevance",
    "min_max",
    "neighbour_bonuses",
    "probability",
    "reciprocal_rank_fusion",
    "relative_score_fusion",
    "relevances",
    "same_absence",
    "scores_in_order",
    "sum_fusion",
    "three_sigma",
    "total_weight",
]
