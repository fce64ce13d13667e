"""The summarizer that chooses sentences, and asks no language model."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from leafspan.checks import check_number, keep_whole
from leafspan.embedding import Embed, normalize
from leafspan.flows import Flow, NDArray, np
from leafspan.text import count_words
from leafspan.trees._plan import Keep

Vectors: TypeAlias = "NDArray[np.float32]"


_BATCH = 512  # sentences embedded at a time
# A line with fewer words is a heading or a label; a line that ends with a full stop needs fewer words to be a sentence.
_MIN_WORDS_WITHOUT_STOP, _MIN_WORDS_WITH_STOP = 8, 4
_OPENING_MARKS = "\"'“‘«„([¿¡"  # a sentence may begin with these besides a letter or digit
_FULL_STOP = re.compile(r"""[.!?…。！？]["'”’»）)」』\]*_]*\Z""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractive:
    """Summaries made of sentences of the texts, which are chosen by their vectors. No language model is asked.

    The sentences closest to the group's centroid are chosen, one after the other, as long as one fits into ``max_words``.
    The centroid is the mean of the sentences' unit vectors. A sentence that repeats what the summary already has gets a
    lower score (maximal marginal relevance): its score is (1 - ``diversity``) times its cosine with the centroid, minus
    ``diversity`` times its highest cosine (at least 0) with a sentence chosen before. The chosen sentences are in their
    original order, with single spaces instead of white space. A repeated sentence counts once.

    Headings, labels, sentences of fewer than four words, and text that begins with a small letter, as the rest of a cut
    sentence does, are chosen only if there is nothing else. If every sentence is too long, the best one is cut between
    words. If no text has a letter or a digit, the summary is the first ``max_words`` of the texts.

    Args:
        max_words: Most words of a summary, >= 1. Default: 75.
        diversity: How much repetition lowers a sentence's score, in [0, 1]. At 0, only the centroid matters. Default: 0.4.
        max_input_words: Most words of a cluster that a clusterer makes for this summarizer, >= 1. A single longer text is
            summarised as well. Default: 2500.

    Raises:
        InvalidArgument: if an option is out of its range.

    Of equally good sentences, the first one is chosen. Sources: Radev et al., MEAD, Information Processing & Management
    2004, for the centroid; Rossiello et al., MultiLing 2017, for centroids of embeddings; Carbonell and Goldstein, SIGIR
    1998, for maximal marginal relevance.
    """

    asks: ClassVar[bool] = False

    max_words: int = 75
    diversity: float = 0.4
    max_input_words: int = 2_500

    def __post_init__(self) -> None:
        keep_whole(self, "max_words", 1)
        check_number("diversity", self.diversity, at_least=0, at_most=1)
        keep_whole(self, "max_input_words", 1)

    @property
    def identity(self) -> str:
        """What its summaries depend on, besides the texts and the embedder. The number is the version of the method."""
        return f"Extractive(1, max_words={self.max_words}, diversity={float(self.diversity)})"

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """Summarise each group of texts. Sentences of several groups are embedded in one batch. No group fails."""
        waiting: dict[int, list[str]] = {}
        missing: dict[str, None] = {}
        for place, texts in enumerate(groups):
            eligible = _eligible_sentences(texts)
            if not eligible:
                yield from keep(place, first_words(" ".join(" ".join(texts).split()), self.max_words))
                continue
            waiting[place] = eligible
            missing |= dict.fromkeys(eligible)
            if len(missing) >= _BATCH:
                yield from self._summarize(waiting, list(missing), embed, keep)
                waiting, missing = {}, {}
        yield from self._summarize(waiting, list(missing), embed, keep)
        return {}

    def _summarize(
        self, waiting: Mapping[int, Sequence[str]], texts: Sequence[str], embed: Embed, keep: Keep
    ) -> Flow[None]:
        """Summarise groups by their eligible sentences; ``texts`` has all of these."""
        vectors: dict[str, Vectors] = {}
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            vectors.update(zip(batch, normalize(np.asarray((yield from embed(batch)), dtype=np.float32)), strict=True))
        for place, eligible in waiting.items():
            yield from keep(place, self._summary(eligible, np.array([vectors[sentence] for sentence in eligible])))

    def _summary(self, eligible: Sequence[str], vectors: Vectors) -> str:
        """The summary made from some of these sentences, whose vectors have length 1."""
        sizes = np.array([size(sentence) for sentence in eligible])
        # Rounded, since the last bits of a vector depend on the other texts in its batch.
        relevance = np.round(vectors @ normalize(vectors.mean(axis=0, keepdims=True))[0], 5)
        redundancy = np.zeros(len(eligible))
        room = self.max_words
        fits = sizes <= room
        if not fits.any():
            return first_words(eligible[int(relevance.argmax())], room)
        chosen = []
        while fits.any():
            scores = (1 - self.diversity) * relevance - self.diversity * redundancy
            best = int(np.where(fits, scores, -np.inf).argmax())
            chosen.append(best)
            room -= int(sizes[best])
            redundancy = np.maximum(redundancy, np.round(vectors @ vectors[best], 5))
            fits[best] = False
            fits &= sizes <= room
        return " ".join(eligible[index] for index in sorted(chosen))


def _eligible_sentences(texts: Sequence[str]) -> list[str]:
    """The sentences that a summary may use, each once in any case; without whole sentences, headings and the like."""
    distinct: dict[str, str] = {}
    for text in texts:
        for sentence in sentences(text):
            words = " ".join(sentence.split())
            if any(map(str.isalnum, words)):
                distinct.setdefault(words.casefold(), words)
    return [sentence for sentence in distinct.values() if _is_whole(sentence)] or list(distinct.values())


def _is_whole(sentence: str) -> bool:
    """Whether this is a sentence, and not a heading, a label, or the rest of a cut sentence."""
    first = sentence.lstrip("-*+•– ")[:1]  # without the bullet of a list item
    if not (first.isalnum() or first in _OPENING_MARKS) or first.islower():
        return False
    return size(sentence) >= (_MIN_WORDS_WITH_STOP if _FULL_STOP.search(sentence) else _MIN_WORDS_WITHOUT_STOP)


# Possessive quantifiers keep the time linear in long runs of dots.
_END = re.compile(
    r"""(?<![.!?…])(?P<stop>[.!?…]++["'”’»)\]]*+)(?P<space>\s++)   # a full stop, with closing quotes and brackets
    | [。！？]++["'”’»）」』]*+\s*+
    | (?P<line>\n\s*+)""",
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Gen|Col|Lt|Sgt|Rev|Hon|Sr|Jr|vs|cf|ca|Fig|figs?|Eq|No|vol|pp?|e\.g|i\.e|et\sal))\Z"
)
_LONG_LINE = 50  # characters
_WORD_CHARACTERS = 12  # this many characters without a space count as one word, as in leaves


def sentences(text: str) -> list[str]:
    """The sentences of a text, without white space around them. Only white space is lost.

    A sentence ends at a full stop, unless it belongs to an abbreviation or a small letter follows. It also ends at the end
    of a line, unless the line has at least 50 characters and the next one begins with a letter or a digit, as in wrapped
    text.
    """
    pieces = []
    start = 0
    for match in _END.finditer(text):
        if _is_end(text, start, match):
            pieces.append(text[start : match.end()].strip())
            start = match.end()
    pieces.append(text[start:].strip())
    return [sentence for sentence in pieces if sentence]


def _is_end(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the sentence from ``start`` ends where ``_END`` matches."""
    following = text[match.end() : match.end() + 1]
    if match["line"] is not None:
        line = max(start, text.rfind("\n", 0, match.start()) + 1)
        return match["line"].count("\n") > 1 or match.start() - line < _LONG_LINE or not following.isalnum()
    if match["stop"] is None or match["space"].count("\n") > 1:
        return True
    if following.islower():
        return False
    return match["stop"] != "." or not _ABBREVIATION.search(text, max(start, match.start() - 8), match.start())


def size(text: str) -> int:
    """The length of a text in words. A run without spaces counts as a word for every twelve characters, as in leaves."""
    return max(count_words(text), len(text) // _WORD_CHARACTERS)


def first_words(text: str, limit: int) -> str:
    """The longest start of a text that ends with a word and has a size of at most ``limit``; a longer first word is cut."""
    text = text.strip()
    if size(text) <= limit:
        return text
    end = bisect_right(range(len(text)), limit, key=lambda length: size(text[:length])) - 1
    start = text[:end]
    # If the next character would be one word too many, a new word starts there, and no word is cut.
    cuts_word = count_words(text[: end + 1]) <= limit and not any(map(str.isspace, text[end - 1 : end + 1]))
    return start.rsplit(maxsplit=1)[0] if cuts_word else start.strip()


def first_sentences(text: str, limit: int) -> str:
    """The longest start of whole sentences with a size of at most ``limit``, or the first words of a longer sentence."""
    if size(text) <= limit:
        return text.strip()
    end = 0
    for sentence in sentences(text):
        next_end = text.index(sentence, end) + len(sentence)
        if size(text[:next_end].strip()) > limit:
            break
        end = next_end
    return text[:end].strip() or first_words(text, limit)
