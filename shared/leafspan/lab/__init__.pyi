"""What looks at retrieval: explanations, pictures, pages in a browser, evaluation and tuning."""

from .evaluation import (
    Answer,
    Comparison,
    Evaluation,
    Question,
    Threshold,
    Tuning,
    atune,
    choose_threshold,
    evaluate,
    make_questions,
    near_duplicates,
    read_beir,
    read_questions,
    save_beir,
    save_questions,
    save_trec,
    tune,
    without_near_duplicates,
)
from .explaining import Explanation, Obstacle, Standing, TimedRequest, aexplain, explain
from .pictures import report
from .serving import serve

__all__ = [
    "explain",
    "aexplain",
    "Explanation",
    "Obstacle",
    "Standing",
    "TimedRequest",
    "evaluate",
    "Evaluation",
    "Comparison",
    "Question",
    "Answer",
    "make_questions",
    "read_questions",
    "save_questions",
    "read_beir",
    "save_beir",
    "save_trec",
    "tune",
    "atune",
    "Tuning",
    "near_duplicates",
    "without_near_duplicates",
    "choose_threshold",
    "Threshold",
    "serve",
    "report",
]
