"""What looks at retrieval: explanations, pictures, pages in a browser, evaluation and tuning."""

from .evaluation import Answer, Comparison, Evaluation, Question, evaluate, make_questions, read_questions, save_questions
from .explaining import Explanation, Obstacle, Standing, TimedRequest
from .tuning import Tuning

__all__ = [
    "Answer",
    "Comparison",
    "Evaluation",
    "Question",
    "evaluate",
    "make_questions",
    "read_questions",
    "save_questions",
    "Explanation",
    "Obstacle",
    "Standing",
    "TimedRequest",
    "Tuning",
]
