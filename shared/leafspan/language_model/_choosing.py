"""Chooses retrievers by a language model: the prompt, and the names in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from leafspan.language_model._prompts import check_template

CHOOSING_PROMPT = """\
Below are sources that can be searched, each with its name and what is in it. Which of them can answer the question?
Write the name of the best one. If several are needed, write at most {count} names, the best one first, each on a line of
its own. Write nothing else.

{retrievers}

Question: {question}
"""

_FIELDS = {"retrievers": "- a: b", "question": "a question", "count": 1}
_AROUND = " \t\r\"'`*_.[](){}<>“”„‘’«»-–•"  # quotes, bullets, brackets and emphasis around a name
_NUMBER = re.compile(r"^\W*\d{1,2}[.)]\s+")


def check_choosing_prompt(prompt: object) -> None:
    """Check that a prompt is a template with ``{retrievers}``, ``{question}`` and ``{count}``."""
    check_template(prompt, _FIELDS)


def fill_choosing_prompt(prompt: str, question: str, descriptions: Mapping[str, str], count: int) -> str:
    """The prompt for one question."""
    lines = [f"- {name}: {about}" if about else f"- {name}" for name, about in descriptions.items()]
    return prompt.format(retrievers="\n".join(lines), question=question, count=count)


def read_names(answer: str, names: Sequence[str], most: int) -> list[str]:
    """The names in an answer of a language model, in the answer's order; empty if the answer is ambiguous.

    A name counts if it is alone in a line or between commas, also in quotes, in brackets, after a number, or on one side of
    a colon. Without such a name, names within sentences count, if the sentences mention at most ``most`` of them. Case does
    not matter, unless two names differ only in case.
    """
    parts = [part for line in answer.splitlines() for part in _parts(line)]
    alone = _known([each for part in parts for each in _spellings(part)], names)
    if alone:
        return alone[:most]
    longest_first = sorted(names, key=len, reverse=True)  # a name within a longer one does not count
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest_first)
    mentioned = _known(re.findall(pattern, answer, re.IGNORECASE), names)
    return mentioned if len(mentioned) <= most else []


def _known(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that equal one of the texts, each once; case may differ if no other name has the same letters."""
    folded = [_folded(name) for name in names]
    in_any_case = {key: name for key, name in zip(folded, names, strict=True) if folded.count(key) == 1}
    meant = [text if text in names else in_any_case.get(_folded(text)) for text in texts]
    return list(dict.fromkeys(name for name in meant if name is not None))


def _parts(line: str) -> list[str]:
    """A whole line, and its parts between commas and semicolons."""
    return list(dict.fromkeys([line, *re.split(r"[,;]", line)]))


def _spellings(part: str) -> list[str]:
    """The possible names in a part of an answer: the whole part, and the text before and after its colon."""
    text = _NUMBER.sub("", part)
    before, colon, _ = text.partition(":")
    _, _, after = text.rpartition(":")
    pieces = [part, text, *((before, after) if colon else ())]
    return [each for piece in pieces for each in (piece.strip(), piece.strip(_AROUND))]


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
