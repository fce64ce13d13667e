"""Prompts with which a language model rewrites a question, and the texts in its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from leafspan.language_model._phrasing import read_phrasings

Transformation: TypeAlias = Literal["rewrite", "hyde", "step-back", "decompose"]

PROMPTS: dict[Transformation, str] = {
    "rewrite": """\
Rewrite the question below so that a search of documents finds its answer: say plainly what is looked for, and leave out
whatever else was said. Keep its meaning, its language, its names and its numbers. Write each version on a line of its own,
and nothing else. Number of versions: {count}.

Question: {question}
""",
    "hyde": """\
Write what a document that answers the question below may say: a passage of three or four sentences in the language of the
question, in the style of such a document. If you do not know the answer, invent one. Write each passage on a line of its
own, and nothing else. Number of passages: {count}.

Question: {question}
""",
    "step-back": """\
Write a question that is more general than the one below: about the principle, the concept or the background that must be
known to answer it. Keep its language. Write each such question on a line of its own, and nothing else. Number of questions:
{count}.

Question: {question}
""",
    "decompose": """\
Divide the question below into simpler ones that can be looked up one by one, and whose answers together answer it. Each
must be understood by itself: repeat names instead of pronouns. Keep its language. Write each on a line of its own, and
nothing else. Most questions: {count}.

Question: {question}
""",
}
"""The default prompt of each transformation."""


def read_texts(how: Transformation, answer: str, *, known: Iterable[str], count: int) -> list[str]:
    """The texts in an answer, at most ``count``: one in each line, or the whole answer for a single passage."""
    if how != "hyde" or count > 1:
        return read_phrasings(answer, known=known, count=count)
    passage = answer.encode(errors="ignore").decode().strip()  # without invalid Unicode, which an embedder rejects
    return [passage] if any(map(str.isalnum, passage)) else []
