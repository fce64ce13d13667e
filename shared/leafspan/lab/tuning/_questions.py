"""Collects a tuning's questions, divides them, and finds their answers."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.indexing import DocumentInfo
from leafspan.lab.evaluation import Judged, Question, placed_questions, questions_about
from leafspan.lab.tuning._corpus import Corpus
from leafspan.lab.tuning._options import FEWEST_QUESTIONS, TuneOptions
from leafspan.retrieval import Limits
from leafspan.strategies import Browse

Questions = str | Path | Iterable[Question | Mapping[str, Any]] | None
"""A file of questions, or a list of questions, or None to make questions from the documents."""

_MADE = 200  # questions that are made if the user passes no questions


def placed_in(corpus: Corpus, questions: Questions, options: TuneOptions) -> Flow[dict[str, Question]]:
    """The questions by their places in a file or list."""
    if questions is not None:
        return (yield Call(placed_questions, (questions,)))  # type: ignore[no-any-return]
    [leaves] = yield from corpus.passages([None], Browse(), Limits.of(where=options.where))
    made = yield Call(questions_about, (leaves, _MADE), {"seed": options.seed})
    return placed_questions(made)


def divided(questions: list[Question], options: TuneOptions) -> tuple[list[Question], list[Question]]:
    """Divide the questions, at random, into those to fit on and those to report on, with the same share of each kind.

    Raises:
        InvalidArgument: if there are too few questions, or nothing answers any of them.
    """
    if "thresholds" not in options.options and all(each.has_no_answer for each in questions):
        raise InvalidArgument(
            "questions to tune on must have answers or relevant documents, got only questions that nothing answers, which "
            "can tune only thresholds"
        )
    random.Random(options.seed).shuffle(questions)
    kinds: dict[tuple[bool, bool], list[Question]] = {}
    for each in questions:
        kinds.setdefault((bool(each.answers), bool(each.relevant)), []).append(each)
    # Sorted by kind, so that taking every n-th question takes the same share of each kind.
    ordered = [each for kind in sorted(kinds) for each in kinds[kind]]
    share = options.held_out
    held_out = [each for place, each in enumerate(ordered) if int((place + 1) * share) > int(place * share)]
    ids = {each.id for each in held_out}
    fitting = [each for each in ordered if each.id not in ids]
    if min(len(fitting), len(held_out)) < FEWEST_QUESTIONS:
        needed = math.ceil(round(FEWEST_QUESTIONS / min(share, 1 - share), 6))
        raise InvalidArgument(
            f"there must be at least {FEWEST_QUESTIONS} questions to fit on and {FEWEST_QUESTIONS} to report on, got "
            f"{len(fitting)} and {len(held_out)}: give {needed} or more"
        )
    return fitting, held_out


def judged_in(corpus: Corpus, placed: Mapping[str, Question], options: TuneOptions) -> Flow[tuple[Judged, str]]:
    """The questions with their answers in the documents, and a text that changes with the index."""
    infos = yield from corpus.documents()
    stats = yield from corpus.stats()
    texts: dict[str, str] = {}
    if options.resume is not None or any(each.answers for each in placed.values()):
        for each in infos:
            texts[each.id] = (yield from corpus.get(each.id)).text
    judged = yield Call(Judged.of, (placed, [each.id for each in infos], texts))
    made_with = (stats.embedder, stats.splitter, stats.context_sentences, stats.title_weight, stats.analyzer, corpus.bm25)
    return judged, (yield Call(_state, (made_with, infos, texts)))


def _state(made_with: tuple[object, ...], infos: Sequence[DocumentInfo], texts: Mapping[str, str]) -> str:
    """A text that changes with the index's options and documents."""
    documents = [(each.id, each.title, sorted(each.metadata.items())) for each in infos]
    content = repr((made_with, sorted(documents, key=lambda each: each[0]), sorted(texts.items())))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
