"""Evaluating strategies on one's own questions."""

from leafspan.evaluation._comparison import Comparison
from leafspan.evaluation._evaluate import evaluate
from leafspan.evaluation._evaluation import Evaluation
from leafspan.evaluation._questions import Answer, Question, read_questions

__all__ = ["Answer", "Comparison", "Evaluation", "Question", "evaluate", "read_questions"]
