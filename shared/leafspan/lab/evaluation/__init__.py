"""Evaluates strategies on the user's own questions."""

from leafspan.lab.evaluation._comparison import Comparison, compare
from leafspan.lab.evaluation._evaluate import BUDGETS, checked_budgets, evaluate
from leafspan.lab.evaluation._evaluation import Evaluation
from leafspan.lab.evaluation._exchange import read_beir, save_beir, save_trec
from leafspan.lab.evaluation._making import make_questions, questions_about
from leafspan.lab.evaluation._measuring import ABSTENTION, Ask, Judged, Scores, evaluation_of, measure
from leafspan.lab.evaluation._plot import check_can_plot
from leafspan.lab.evaluation._questions import Answer, Question, plain_question, save_questions
from leafspan.lab.evaluation._reading import placed_questions, questions_in_lines, read_questions

__all__ = [
    "ABSTENTION",
    "BUDGETS",
    "Answer",
    "Ask",
    "Comparison",
    "Evaluation",
    "Judged",
    "Question",
    "Scores",
    "check_can_plot",
    "checked_budgets",
    "compare",
    "evaluate",
    "evaluation_of",
    "make_questions",
    "measure",
    "placed_questions",
    "plain_question",
    "questions_about",
    "questions_in_lines",
    "read_beir",
    "read_questions",
    "save_beir",
    "save_questions",
    "save_trec",
]
