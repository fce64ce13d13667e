"""Prompts for language models, and what their answers say."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from string import Formatter
from typing import Literal, TypeAlias

from leafspan.checks import shown
from leafspan.errors import InvalidArgument


def check_template(prompt: object, fields: Mapping[str, object], *, optional: Collection[str] = ()) -> None:
    """Check that a prompt is a template with these fields, and no others."""
    names = " and ".join(f"{{{field}}}" for field in fields if field not in optional)
    names += "".join(f", if wanted {{{field}}}" for field in fields if field in optional)
    rule = f"prompt must be a text with {names}, and no other fields (braces of its own doubled)"
    if not isinstance(prompt, str):
        raise InvalidArgument(f"{rule}, got {shown(prompt)}")
    try:
        present = {field for _, field, _, _ in Formatter().parse(prompt) if field is not None}
        if set(fields) - set(optional) <= present <= set(fields):
            prompt.format(**fields)
            return
    except ValueError as error:
        raise InvalidArgument(f"{rule}, got {shown(prompt)}: {error}") from None
    raise InvalidArgument(f"{rule}, got {shown(prompt)}")


# Reasoning models, such as DeepSeek-R1 and Qwen3, think aloud within these tags. If the chat template ends with the first
# tag, an answer has only the second one; if the answer was cut off, only the first.
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_BEGINNING = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_MOST_READ = 100_000  # characters


def without_reasoning(answer: str) -> str:
    """An answer of a language model without the thoughts before it, cut since an endless answer takes minutes to read."""
    ends = [end.end() for end in _END.finditer(answer)]
    if ends:
        return answer[ends[-1] : ends[-1] + _MOST_READ].strip()
    return "" if _BEGINNING.match(answer) else answer[:_MOST_READ]


DEFAULT_PROMPT = """\
Write {count} other phrasings of the question below. They are used to search documents that may answer it in other words.
Keep its meaning, its language, its names and its numbers; vary the rest. Write each on a line of its own, and nothing else.

Question: {question}
"""

# Matches "1.", "2)", "(3)", "-", "*" or a bullet, but not the start of "1.5 million", "1984." or "-40 degrees".
_MARK = re.compile(r"(?:\(?\d{1,2}[.)](?!\d)|[-–*•](?![\d*]))\s*")
_FENCE = re.compile(r"(```|~~~)[ \t]*\w*[ \t]*\r?\n(.*?)(?:\1|\Z)", re.DOTALL)
_EDGE_OF_FENCE = re.compile(r"(?:```|~~~)[ \t]*\w*")
_QUOTES = [('"', '"'), ("'", "'"), ("“", "”"), ("„", "“"), ("‘", "’"), ("«", "»"), ("`", "`"), ("**", "**")]


def check_prompt(prompt: object, *, needs_count: bool = True) -> None:
    """Check that a prompt is a template with ``{question}`` and ``{count}``."""
    check_template(prompt, {"question": "a question", "count": 1}, optional=() if needs_count else ("count",))


def read_phrasings(answer: str, *, without: Iterable[str], count: int) -> list[str]:
    """The phrasings in an answer: one in each line, without numbering and quotes, or the texts of a JSON list.

    Lines without a letter or digit are left out. So are lines that end with a colon or start a fence, which only introduce
    other lines, and repetitions of phrasings and of the texts ``without``, in any case. A JSON list may be inside a fence,
    or be the only list in an object.
    """
    seen = {_in_one_case(text) for text in without}
    phrasings: list[str] = []
    # An embedder rejects text that is not valid Unicode.
    valid = answer.encode(errors="ignore").decode()
    fenced = _FENCE.search(valid)
    listed = _in_json(fenced[2] if fenced else valid)
    lines = [line for line in valid.splitlines() if not _EDGE_OF_FENCE.fullmatch(line.strip())]
    for line in lines if listed is None else listed:
        if len(phrasings) == count:
            break
        text = _without_marks(line)
        if any(map(str.isalnum, text)) and not text.endswith(":") and _in_one_case(text) not in seen:
            seen.add(_in_one_case(text))
            phrasings.append(text)
    return phrasings


def _in_json(text: str) -> list[str] | None:
    """The texts of a JSON list, or of the only list in a JSON object; None if the text is neither."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lists = [each for each in (value.values() if isinstance(value, dict) else [value]) if isinstance(each, list)]
    if len(lists) != 1 or not all(isinstance(each, str) for each in lists[0]):
        return None
    return [" ".join(each.encode(errors="ignore").decode().split()) for each in lists[0]]


def _without_marks(line: str) -> str:
    """A line without the number, bullet or quotes around its text."""
    text = line.strip()
    if mark := _MARK.match(text):
        text = text[mark.end() :]
    for before, after in _QUOTES:
        if len(text) >= len(before + after) and text.startswith(before) and text.endswith(after):
            text = text[len(before) : -len(after)].strip()
    return text


def _in_one_case(text: str) -> str:
    """A text with its case and white space normalised, for comparison."""
    return " ".join(text.casefold().split())


Transformation: TypeAlias = Literal["rewrite", "hyde", "step-back", "decompose"]

PROMPTS: dict[Transformation, str] = {
    "rewrite": """\
Rewrite the question below so that a search of documents finds its answer: say plainly what is looked for, and leave out
everything else. Keep its meaning, its language, its names and its numbers. Write each version on a line of its own,
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


def read_whole(answer: str, *, without: Iterable[str], count: int) -> list[str]:
    """The whole answer as one text, unless it has no letter or digit."""
    passage = answer.encode(errors="ignore").decode().strip()  # without invalid Unicode, which an embedder rejects
    return [passage] if any(map(str.isalnum, passage)) else []


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
    lines = [f"- {name}: {about}" if about else f"- {name}" for name, about in descriptions.items()]
    return prompt.format(retrievers="\n".join(lines), question=question, count=count)


def read_names(answer: str, names: Sequence[str], most: int) -> list[str]:
    """The names in an answer of a language model, in the answer's order; empty if the answer is ambiguous.

    A name counts if it is alone in a line or between commas, also in quotes, in brackets, after a number, or on one side of
    a colon. Without such a name, names within sentences count, if the sentences mention at most ``most`` of them. Case does
    not matter, unless two names differ only in case.
    """
    parts = [part for line in answer.splitlines() for part in _parts(line)]
    alone = _equal_names([each for part in parts for each in _spellings(part)], names)
    if alone:
        return alone[:most]
    longest_first = sorted(names, key=len, reverse=True)  # a name within a longer one does not count
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest_first)
    mentioned = _equal_names(re.findall(pattern, answer, re.IGNORECASE), names)
    return mentioned if len(mentioned) <= most else []


def _equal_names(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that equal one of the texts, each once; case may differ if no other name has the same letters."""
    folded = [_in_one_case(name) for name in names]
    in_any_case = {key: name for key, name in zip(folded, names, strict=True) if folded.count(key) == 1}
    meant = [text if text in names else in_any_case.get(_in_one_case(text)) for text in texts]
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
