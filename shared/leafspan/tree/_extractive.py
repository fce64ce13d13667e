"""Summaries made of the sentences that say most, with no language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leafspan.checks import check_number, check_whole
from leafspan.embedding import Embed, normalize
from leafspan.engine import Flow
from leafspan.tree._sentences import first_words, sentences, size
from leafspan.tree._summarizer import Keep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_BATCH = 512
_HELD = 8_192
# A line with neither so many words nor a full stop at its end is a heading or a label; with a full stop, few are enough.
_WORDS_OF_A_LINE, _WORDS_OF_A_SENTENCE = 8, 4
_OPENS = "\"'“‘«„([¿¡"  # what a sentence may begin with besides a letter or digit
_HAS_END = re.compile(r"""[.!?…。！？]["'”’»）)」』\]*_]*\Z""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractive:
    """Summaries of up to ``max_words`` words, made of sentences of the texts, chosen by their vectors.

    Chosen are the sentences closest to the group's centroid, the mean of its sentences' unit vectors (Radev et al.,
    Information Processing & Management 2004, MEAD; Rossiello et al., MultiLing 2017, with embeddings), each less what the
    summary says already, by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): the best has the highest
    (1 - ``diversity``) times its cosine with the centroid, less ``diversity`` times its highest cosine (at least 0) with a
    sentence chosen before. Only what still fits is looked at; of equals the first. They stand in their original order, with
    single spaces for white space. A repeated sentence counts once.

    Headings, labels, sentences of under four words and what begins with a small letter, the rest of a cut sentence, are
    chosen only where there is nothing else; only where every sentence is too long is the best one cut, between words. What
    has no words at all is cut to its first ``max_words``.

    ``max_input_words`` is for whoever makes the groups; longer ones are summarised too.

    Raises:
        InvalidArgument: if ``max_words`` or ``max_input_words`` is not positive, or ``diversity`` is not in [0, 1].
    """

    max_words: int = 75
    diversity: float = 0.4
    max_input_words: int = 2_500

    def __post_init__(self) -> None:
        check_whole("max_words", self.max_words, 1)
        check_number("diversity", self.diversity, at_least=0, at_most=1)
        check_whole("max_input_words", self.max_input_words, 1)

    @property
    def identity(self) -> str:
        """See Summarizer; the number changes with the method."""
        return f"Extractive(1, max_words={self.max_words}, diversity={float(self.diversity)})"

    @property
    def asks(self) -> bool:
        """See Summarizer: never."""
        return False

    def prompt_words(self, words: int) -> int:
        """See Summarizer."""
        return 0

    def summarizing(self, groups: Sequence[Sequence[str]], embed: Embed, keep: Keep) -> Flow[dict[int, Exception]]:
        """See Summarizer; sentences of several groups are embedded in one batch, and no group fails by itself."""
        vectors: dict[str, Vectors] = {}
        waiting: list[tuple[int, list[str]]] = []
        missing: dict[str, None] = {}
        for place, texts in enumerate(groups):
            candidates = _candidates(texts)
            if not candidates:
                yield from keep(place, first_words(" ".join(" ".join(texts).split()), self.max_words))
                continue
            waiting.append((place, candidates))
            missing |= dict.fromkeys(sentence for sentence in candidates if sentence not in vectors)
            if len(missing) >= _BATCH:
                yield from self._finishing(waiting, missing, vectors, embed, keep)
        yield from self._finishing(waiting, missing, vectors, embed, keep)
        return {}

    def _finishing(
        self,
        waiting: list[tuple[int, list[str]]],
        missing: dict[str, None],
        vectors: dict[str, Vectors],
        embed: Embed,
        keep: Keep,
    ) -> Flow[None]:
        """Embeds the missing sentences and summarises the waiting groups, and empties both."""
        import numpy as np

        texts = list(missing)
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            vectors.update(zip(batch, normalize(np.asarray((yield from embed(batch)), dtype=np.float32)), strict=True))
        for place, candidates in waiting:
            yield from keep(place, self._summary(candidates, np.array([vectors[sentence] for sentence in candidates])))
        waiting.clear()
        missing.clear()
        # Leaves that belong to several clusters come again, mostly soon.
        if len(vectors) > _HELD:
            vectors.clear()

    def _summary(self, candidates: Sequence[str], vectors: Vectors) -> str:
        """The summary out of these sentences, whose vectors have length 1."""
        import numpy as np

        sizes = np.array([size(sentence) for sentence in candidates])
        # Rounded, since the last bits of a vector depend on what it was embedded with.
        relevance = np.round(vectors @ normalize(vectors.mean(axis=0, keepdims=True))[0], 5)
        redundancy = np.zeros(len(candidates))
        left = self.max_words
        free = sizes <= left
        if not free.any():
            return first_words(candidates[int(relevance.argmax())], left)
        chosen = []
        while free.any():
            worth = (1 - self.diversity) * relevance - self.diversity * redundancy
            best = int(np.where(free, worth, -np.inf).argmax())
            chosen.append(best)
            left -= int(sizes[best])
            redundancy = np.maximum(redundancy, np.round(vectors @ vectors[best], 5))
            free[best] = False
            free &= sizes <= left
        return " ".join(candidates[index] for index in sorted(chosen))


def _candidates(texts: Sequence[str]) -> list[str]:
    """The sentences of a group to choose from, each once whatever its case; none where no text has a letter or digit."""
    found: dict[str, str] = {}
    for text in texts:
        for sentence in sentences(text):
            words = " ".join(sentence.split())
            if any(map(str.isalnum, words)):
                found.setdefault(words.casefold(), words)
    return [sentence for sentence in found.values() if _is_whole(sentence)] or list(found.values())


def _is_whole(sentence: str) -> bool:
    """Whether it is a sentence rather than a heading, a label, or the rest of one that was cut."""
    first = sentence.lstrip("-*+•– ")[:1]  # behind what marks an item of a list
    if not (first.isalnum() or first in _OPENS) or first.islower():
        return False
    return size(sentence) >= (_WORDS_OF_A_SENTENCE if _HAS_END.search(sentence) else _WORDS_OF_A_LINE)
