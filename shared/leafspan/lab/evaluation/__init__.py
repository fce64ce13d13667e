"""Evaluates strategies on the user's own questions."""

from leafspan.lab.evaluation._evaluate import BUDGETS, evaluate
from leafspan.lab.evaluation._evaluation import Comparison, Evaluation
from leafspan.lab.evaluation._exchange import read_beir, save_beir, save_trec
from leafspan.lab.evaluation._making import make_questions
from leafspan.lab.evaluation._near_duplicates import near_duplicates, without_near_duplicates
from leafspan.lab.evaluation._plot import check_can_plot
from leafspan.lab.evaluation._questions import (
    Answer,
    Question,
    plain_question,
    questions_in_lines,
    read_questions,
    save_questions,
)
from leafspan.lab.evaluation._threshold import Threshold, choose_threshold
from leafspan.lab.evaluation._tuning import Tuning, atune, tune

__all__ = [
    "BUDGETS",
    "Answer",
    "Comparison",
    "Evaluation",
    "Question",
    "Threshold",
    "Tuning",
    "atune",
    "check_can_plot",
    "choose_threshold",
    "evaluate",
    "make_questions",
    "near_duplicates",
    "plain_question",
    "questions_in_lines",
    "read_beir",
    "read_questions",
    "save_beir",
    "save_questions",
    "save_trec",
    "tune",
    "without_near_duplicates",
]
