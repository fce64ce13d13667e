"""Makes questions from an index's documents, for an evaluation without questions of users."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

from leafspan.checks import check_whole, function_failed, shown, unusable
from leafspan.errors import InvalidArgument
from leafspan.flows import Progress
from leafspan.lab.evaluation._questions import Answer, Question
from leafspan.language_model import check_template, find_language_model, without_reasoning
from leafspan.retrieval import Passages
from leafspan.strategies import Browse
from leafspan.values import Passage
from leafspan.view import View

QUESTION_PROMPT = """\
Write one question that a reader could ask, and that the passage below answers. Use words of your own where you can. Do not
mention the passage. Write nothing but the question.

Passage:
{passage}
"""

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_STOP_WORD = 1_000_000  # times as frequent as in all leaves
_FEWEST_WORDS = 8
"""Fewest words of a leaf that a question is made of. Shorter leaves are mostly headings."""


def make_questions(
    index: View,
    count: int = 50,
    *,
    llm: object = None,
    prompt: str = QUESTION_PROMPT,
    words: int = 5,
    where: object = None,
    seed: int = 0,
    progress: bool | None = None,
) -> list[Question]:
    """Make questions about randomly chosen leaves. The text and place of the leaf are the answer.

    Without a language model, a question is a few random words of the leaf. Words that are frequent in the leaf, but in few
    other leaves, are chosen more often, as if somebody remembered a few words of the text. Such questions favour words over
    meaning. They show whether a setting of the splitter or analyzer loses text. To choose weights of BM25 and vectors, use
    questions of real users, or a language model.

    Args:
        index: The index or view.
        count: Largest number of questions, >= 1. There are fewer if fewer leaves have eight words. Default: 50.
        llm: A LangChain chat model or LLM, a LlamaIndex LLM, or a function from a prompt to a text. Default: none.
        prompt: The prompt for ``llm``, with ``{passage}`` where the leaf's text goes.
        words: Words of a question that is made without a language model, >= 1. Default: 5.
        where: Filter on the documents. Default: all documents.
        seed: Seed of the random choice. Default: 0.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if an option is out of its range, or no leaf is long enough.
        FunctionFailed: if the language model fails, or writes no question.

    Source: Azzopardi, de Rijke and Balog, Building Simulated Queries for Known-Item Topics, SIGIR 2007.
    """
    count = check_whole("count", count, 1)
    words = check_whole("words", words, 1)
    check_template(prompt, {"passage": "a text"})
    generate = _to_generate(llm)
    leaves = index.retrieve(None, Browse(), where=where)
    if generate is None:
        return questions_about(leaves, count, words=words, seed=seed)
    drawn = _drawn(leaves, count, random.Random(seed))
    made: dict[str, Question] = {}
    bar = Progress(len(drawn), show=progress, what="making", unit=" questions")
    try:
        for leaf in drawn:
            text = _answer_of(generate, llm, prompt.format(passage=leaf.text))
            made.setdefault(text, Question(text, [_place(leaf)]))
            bar.advance(1)
    finally:
        bar.close()
    return list(made.values())


def questions_about(leaves: Sequence[Passage], count: int, *, words: int = 5, seed: int = 0) -> list[Question]:
    """Make questions about some of these leaves without a language model: see ``make_questions``."""
    drawing = random.Random(seed)
    drawn = _drawn(leaves, count, drawing)
    spread = Counter(word for each in leaves for word in set(_words(each.text)))
    for word in _stop_words(leaves, list(spread)):  # they are drawn if a leaf has no other words
        spread[word] = len(leaves) * _STOP_WORD
    made: dict[str, Question] = {}
    for leaf in drawn:
        text = " ".join(_telling(leaf.text, words, spread, len(leaves), drawing))
        made.setdefault(text, Question(text, [_place(leaf)]))
    return list(made.values())


def _drawn(leaves: Sequence[Passage], count: int, drawing: random.Random) -> list[Passage]:
    """Draw leaves that are long enough, at random."""
    long_enough = [each for each in leaves if len(_WORD.findall(each.text)) >= _FEWEST_WORDS]
    if not long_enough:
        raise InvalidArgument(f"questions are made from leaves of {_FEWEST_WORDS} words or more, got no such leaf")
    return drawing.sample(long_enough, min(count, len(long_enough)))


def _to_generate(llm: object) -> Callable[[str], str] | None:
    if llm is None:
        return None
    model = find_language_model(llm)
    if model is not None:
        return model.generate
    if callable(llm) and not isinstance(llm, type):
        return llm
    rule = "llm must be a LangChain chat model or LLM, a LlamaIndex LLM, or a function from a prompt to a text"
    raise InvalidArgument(f"{rule}, got {shown(llm)}")


def _answer_of(generate: Callable[[str], str], llm: object, prompt: str) -> str:
    """The question that a language model writes: the first line of its answer that is not blank."""
    try:
        answer = generate(prompt)
    except Exception as error:
        raise function_failed("the language model", llm, prompt, error) from error
    said = without_reasoning(answer) if isinstance(answer, str) else ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        raise unusable("the language model", llm, "write a question", answer, prompt)
    return lines[0]


def _place(leaf: Passage) -> Answer:
    assert leaf.start is not None
    text = leaf.text.strip()
    start = leaf.start + leaf.text.index(text)
    return Answer(leaf.document_id, start, start + len(text), text)


def _stop_words(leaves: Sequence[Passage], words: list[str]) -> list[str]:
    """The words from which the index's analyzer makes no terms. None if the analyzer is a function of the user's own."""
    analyzer = leaves.analyzer if isinstance(leaves, Passages) else None
    return [] if analyzer is None else [word for word, terms in zip(words, analyzer(words), strict=True) if not terms]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _telling(text: str, count: int, spread: Counter[str], leaves: int, drawing: random.Random) -> Sequence[str]:
    """A few different words of a leaf in their order. Words that identify the leaf are more likely."""
    often = Counter(_words(text))
    weights = {word: times * math.log1p(leaves / spread[word]) for word, times in often.items()}
    # Each word gets a random key; the words with the best keys are a weighted sample (Efraimidis and Spirakis, 2006).
    keys = {word: drawing.random() ** (1 / weight) for word, weight in weights.items()}
    chosen = set(sorted(keys, key=lambda word: -keys[word])[:count])
    return [word for word in often if word in chosen]
