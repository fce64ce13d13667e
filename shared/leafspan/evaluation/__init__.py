"""Evaluating strategies on one's own questions."""

from leafspan.evaluation._comparison import Comparison
from leafspan.evaluation._evaluate import BUDGETS, evaluate
from leafspan.evaluation._evaluation import Evaluation
from leafspan.evaluation._making import make_questions
from leafspan.evaluation._questions import Answer, Question, plain_question, save_questions
from leafspan.evaluation._reading import read_questions

__all__ = [
    "BUDGETS",
    "Answer",
    "Comparison",
    "Evaluation",
    "Question",
    "evaluate",
    "make_questions",
    "plain_question",
    "read_questions",
    "save_questions",
]
