"""From texts to the terms that are counted: by an analyzer of a language, or by a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from leafspan.checks import check_choice, check_flag
from leafspan.errors import InvalidArgument
from leafspan.lexical._tokens import find_words, spell

_CACHED_WORDS = 1 << 16
_UNSPACED = ("chinese", "japanese", "korean")  # neither stemmed nor stripped of stop words: they go by pairs of characters


@dataclass(frozen=True, slots=True)
class Analyzer:
    """Maps texts to their terms: their words in lower case, without stop words, cut down to their stems.

    ``language`` is one that Snowball has a stemmer for (Porter, 1980, and its successors), or one of Chinese, Japanese
    and Korean, whose text is understood beside any language. Stop words are those of the package ``stopwords``; a
    language without a list there keeps all words.

    Raises:
        InvalidArgument: if there is no such language.
    """

    language: str = "english"
    stem: bool = True
    stop_words: bool = True

    def __post_init__(self) -> None:
        check_choice("language", self.language, languages())
        check_flag("stem", self.stem)
        check_flag("stop_words", self.stop_words)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in the order of its words."""
        to_term = _to_term(self.language, self.stem, self.stop_words)
        return [[term for word in find_words(text, self.language) if (term := to_term(word))] for text in texts]

    def options(self) -> dict[str, Any]:
        """What makes an equal analyzer, as plain values."""
        return {"language": self.language, "stem": self.stem, "stop_words": self.stop_words}

    def describe(self) -> str:
        """What is recorded in an index that was made with this analyzer."""
        return f"Analyzer(language={self.language}, stem={self.stem}, stop_words={self.stop_words})"


# What an index may be told to count terms with: an Analyzer, or a function from one text to its terms.
Analysis = Analyzer | Callable[[str], list[str]]


def describe_analyzer(analyzer: Analysis) -> str:
    """How an analyzer is recorded in an index: two of one description are taken to give the same terms.

    An ``Analyzer`` names its options, a function its module and its qualified name.
    """
    if isinstance(analyzer, Analyzer):
        return analyzer.describe()
    name = getattr(analyzer, "__qualname__", None) or type(analyzer).__qualname__
    return f"{getattr(analyzer, '__module__', None) or type(analyzer).__module__}:{name}"


def to_terms(analyzer: Analysis, texts: Sequence[str]) -> list[list[str]]:
    """The terms of each text.

    Raises:
        InvalidArgument: if a function of the user's own gives anything but a list of strings.
    """
    if isinstance(analyzer, Analyzer):
        return analyzer(texts)
    found = []
    for text in texts:
        terms = analyzer(text)
        if not isinstance(terms, list):
            raise InvalidArgument(f"{describe_analyzer(analyzer)} must give a list of strings, got {type(terms).__name__}")
        odd = next((term for term in terms if not isinstance(term, str)), None)
        if odd is not None or None in terms:
            raise InvalidArgument(f"{describe_analyzer(analyzer)} must give a list of strings, got one that holds {odd!r}")
        found.append(terms)
    return found


@lru_cache
def languages() -> tuple[str, ...]:
    """The languages there are, in alphabetical order."""
    import Stemmer

    return tuple(sorted({*Stemmer.algorithms(), *_UNSPACED}))


@lru_cache
def _to_term(language: str, stem: bool, stop_words: bool) -> Callable[[str], str]:
    """From a word that was found to its term, which is empty for a stop word."""
    import Stemmer

    stopped = _stop_words(language) if stop_words else frozenset()
    stem_word = Stemmer.Stemmer(language, 0).stemWord if stem and language not in _UNSPACED else str
    one_at_a_time = Lock()  # a stemmer works in a buffer of its own

    @lru_cache(maxsize=_CACHED_WORDS)
    def to_term(word: str) -> str:
        word = spell(word)
        if word in stopped:
            return ""
        with one_at_a_time:
            return str(stem_word(word))

    return to_term


def _stop_words(language: str) -> frozenset[str]:
    """The language's stop words as they are found in a text."""
    from stopwords import AVAILABLE_LANGUAGES, get_stopwords

    if language in _UNSPACED or language not in AVAILABLE_LANGUAGES:
        return frozenset()
    return frozenset(spell(word) for line in get_stopwords(language) for word in find_words(line, language))
