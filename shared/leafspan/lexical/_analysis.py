"""Turns a text into BM25's terms, with an analyzer for a language or a user's own function."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from threading import Lock
from typing import Any

from leafspan.checks import check_choice, check_flag, function_failed, shown, unusable
from leafspan.errors import FunctionFailed, InvalidArgument
from leafspan.lexical._languages import READINGS, find_language, reading_of
from leafspan.lexical._tokens import HYPHENATED, chunks, words_of
from leafspan.text import fold

_CACHED_CHUNKS = 1 << 17
_LONGEST_CACHED = 60  # characters
_RULE = "return a list of strings"
# Text in these languages is cut into pairs of characters, without stems and stop words.
_LANGUAGES_IN_PAIRS = ("chinese", "japanese", "korean", "thai")
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Analyzer:
    """The terms of texts: their words in lower case, without accents and stop words, reduced to their stems.

    A compound with a digit (AB-123), a name in camel case (HttpClient) and a word that a hyphen breaks at the end of a line
    have terms for the whole and for the parts.

    Args:
        language: The language of all texts, such as ``"german"``. ``"auto"`` reads each document in its own language,
            and a question in the documents' languages. A text whose language is not certain is read as English. Text in
            scripts without spaces is cut into pairs of characters, in every language. Default: ``"auto"``.
        stem: Whether to reduce words to their stems, if Snowball has a stemmer for the language. Default: True.
        stop_words: Whether to leave out the stop words that the package ``stopwords`` lists for the language. If it has no
            list, all words stay. Default: True.

    Raises:
        InvalidArgument: if there is no such language, or another option is not True or False.

    Source: Porter, An Algorithm for Suffix Stripping (1980), and Snowball, which continues it for other languages.
    """

    language: str = AUTO
    stem: bool = True
    stop_words: bool = True

    def __post_init__(self) -> None:
        check_choice("language", self.language, languages())
        check_flag("stem", self.stem)
        check_flag("stop_words", self.stop_words)

    def __call__(self, texts: Sequence[str], *, asked: bool = False) -> list[list[str]]:
        """Return the terms of each text, in the order of its words."""
        if self.language == AUTO:
            return [self.reading(find_language(text))([text], asked=asked)[0] for text in texts]
        terms = _terms(self.language, self.stem, self.stop_words, asked)
        return [[term for chunk in chunks(text) for term in terms[chunk]] for text in texts]

    def reading(self, code: str | None) -> Analyzer:
        """Return the analyzer for texts in a language, by its code: this one, unless its language is ``"auto"``."""
        return self if self.language != AUTO else Analyzer(reading_of(code), self.stem, self.stop_words)

    def options(self) -> dict[str, Any]:
        """Return the arguments that make an equal analyzer, as plain values."""
        return {"language": self.language, "stem": self.stem, "stop_words": self.stop_words}

    def describe(self) -> str:
        """Return the text that an index stores for this analyzer."""
        return f"Analyzer(language={self.language}, stem={self.stem}, stop_words={self.stop_words})"


Analysis = Analyzer | Callable[[str], list[str]]
"""How an index's texts become terms: an Analyzer, or a function from one text to its terms."""


def reading_number(analyzer: Analysis, code: str | None) -> int:
    """Return the number that segments store for an analyzer's reading of a language; 0 if it reads all alike."""
    if isinstance(analyzer, Analyzer) and analyzer.language == AUTO:
        return READINGS.index(reading_of(code))
    return 0


def read_as(analyzer: Analysis, reading: int) -> Analysis:
    if isinstance(analyzer, Analyzer) and analyzer.language == AUTO:
        return _read_as(analyzer, reading)
    return analyzer


@lru_cache(1024)  # checking its options takes longer than reading a question
def _read_as(analyzer: Analyzer, reading: int) -> Analyzer:
    return replace(analyzer, language=READINGS[reading])


def terms_of_chunks(analyzer: Analyzer) -> Mapping[str, list[str]]:
    """Return the terms of each piece of a question: see ``leafspan.lexical._tokens``."""
    return _terms(analyzer.language, analyzer.stem, analyzer.stop_words, True)


def terms_of_question(analyzer: Analysis, text: str, reading: int, main: int, own: int | None) -> list[str]:
    """Return the terms that a question has for leaves with a reading.

    Stop words of the index's main reading are left out, since they are rare in leaves with another reading. So are stop
    words of the question's own language, unless no other word is left.
    """
    read = read_as(analyzer, reading)
    if not isinstance(read, Analyzer) or not read.stop_words or read is analyzer:
        return to_terms(read, [text], are_queries=True)[0]
    for others in ((main, own), (main,)):
        also = frozenset(READINGS[other] for other in others if other is not None) - {read.language}
        terms = _terms(read.language, read.stem, True, True, also)
        if own_terms := [term for chunk in chunks(text) for term in terms[chunk]]:
            return own_terms
    return []


_PROBE = (
    "The XJ-900's price, in \u20ac: 1,234.50. Caf\u00e9-owners don't e-mail U.S. STATE_OF_ART na\u00efve 2-in-1 things!"
)


def probe_terms(analyzer: Analysis) -> list[str]:
    """Return the terms of a text that analyzers treat differently. They tell apart functions of the same name."""
    if isinstance(analyzer, Analyzer):
        return _probe(analyzer)
    try:
        (terms,) = to_terms(analyzer, [_PROBE])
    except FunctionFailed as error:
        cause = error.__cause__
        if isinstance(error, InvalidArgument) or cause is None:
            raise
        raise InvalidArgument(
            f"analyzer must be an Analyzer or a function from a text to a list of its terms, got {shown(analyzer)}, which "
            f"failed with {type(cause).__name__}: {cause}"
        ) from cause
    return terms


@lru_cache  # finding the language of the text takes milliseconds, and each ``add`` asks
def _probe(analyzer: Analyzer) -> list[str]:
    return analyzer([_PROBE])[0]


def describe_analyzer(analyzer: Analysis) -> str:
    """Return the text that an index stores for an analyzer: its options, or a function's module and qualified name."""
    if isinstance(analyzer, Analyzer):
        return analyzer.describe()
    name = getattr(analyzer, "__qualname__", None) or type(analyzer).__qualname__
    return f"{getattr(analyzer, '__module__', None) or type(analyzer).__module__}:{name}"


def to_terms(analyzer: Analysis, texts: Sequence[str], *, are_queries: bool = False) -> list[list[str]]:
    if isinstance(analyzer, Analyzer):
        return analyzer(texts, asked=are_queries)
    terms_of_texts = []
    for text in texts:
        try:
            terms = analyzer(text)
        except Exception as error:
            raise function_failed("the analyzer", analyzer, text, error) from error
        if not isinstance(terms, list):
            raise unusable("the analyzer", analyzer, _RULE, terms, text)
        wrong = [term for term in terms if not isinstance(term, str)]
        if wrong:
            raise unusable("the analyzer", analyzer, f"{_RULE} alone", wrong[0], text)
        terms_of_texts.append(terms)
    return terms_of_texts


@lru_cache
def languages() -> tuple[str, ...]:
    """Return the names of all languages, in alphabetical order after ``"auto"``."""
    import Stemmer

    return (AUTO, *sorted({*Stemmer.algorithms(), *READINGS}))


class _Terms(dict[str, list[str]]):
    """The terms of pieces of texts, without the stop words of some languages, computed when a piece first appears."""

    def __init__(
        self, language: str, stem: bool, stop_words: bool, is_query: bool, also: frozenset[str] = frozenset()
    ) -> None:
        import Stemmer

        super().__init__()
        self._language = language
        self._is_turkish = language == "turkish"
        self._is_query = is_query
        self._excluded = frozenset[str]().union(*map(_stop_words, {language, *also} if stop_words else ()))
        self._stemmer = Stemmer.Stemmer(language, 0) if stem and language in Stemmer.algorithms() else None
        self._lock = Lock()  # a stemmer has one buffer, so only one thread may use it at a time

    def __missing__(self, chunk: str) -> list[str]:
        bare = chunk.strip(string.punctuation)
        if len(bare) < len(chunk):
            terms = self[bare] if bare else []
        elif chunk[1:].islower() and chunk.removeprefix(HYPHENATED).isalpha() and chunk.isascii() and not self._is_turkish:
            lower = chunk.lower()  # in lower case, most words are found without looking for compounds
            terms = self[lower] if lower != chunk else self._of_words([chunk])
        else:
            terms = self._of_words(words_of(chunk, self._language, is_query=self._is_query))
        if len(chunk) <= _LONGEST_CACHED:
            if len(self) >= _CACHED_CHUNKS:
                self.clear()
            self[chunk] = terms
        return terms

    def _of_words(self, words: Iterable[str]) -> list[str]:
        terms = []
        for word in words:
            plain = fold(word)
            if plain in self._excluded:
                continue
            terms.append(term := fold(self._stem(word)))
            # Stemmers need accents, but writers omit them: the stem of the unaccented word is a term, too.
            if plain != word and plain.isascii() and (other := self._stem(plain)) != term:
                terms.append(other)
        return terms

    def _stem(self, word: str) -> str:
        if self._stemmer is None:
            return word
        with self._lock:
            return str(self._stemmer.stemWord(word))


_terms = lru_cache(_Terms)


def _stop_words(language: str) -> frozenset[str]:
    """Return the language's stop words, folded like a text's words."""
    from stopwords import AVAILABLE_LANGUAGES, get_stopwords

    if language in _LANGUAGES_IN_PAIRS or language not in AVAILABLE_LANGUAGES:
        return frozenset()
    return frozenset(fold(word) for line in get_stopwords(language) for word in words_of(line, language))


_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
_RUN = re.compile(r"\w+")
_LONGEST = 60  # characters; a longer run, such as Chinese without spaces, is not treated as a word


def matching_words(analyzer: Analyzer, question: str) -> Callable[[str], list[tuple[int, int]]]:
    """Return a function from a text to the places of the query's words, or of parts of compounds, as (start, end)."""

    @cache
    def terms_of_query(reading: Analyzer) -> frozenset[str]:
        return frozenset(reading([question], asked=True)[0])

    def places(text: str) -> list[tuple[int, int]]:
        reading = analyzer.reading(find_language(text))
        of_query = terms_of_query(reading)
        matches = [match for match in _WORD.finditer(text) if match.end() - match.start() <= _LONGEST]
        terms = terms_of(reading, {match[0] for match in matches})
        spans = []
        for match in matches:
            if terms[match[0]] and of_query.issuperset(terms[match[0]]):
                spans.append(match.span())
            elif not of_query.isdisjoint(terms[match[0]]):
                runs = list(_RUN.finditer(text, *match.span()))
                of_runs = terms_of(reading, {run[0] for run in runs})
                spans += [run.span() for run in runs if not of_query.isdisjoint(of_runs[run[0]])]
        return spans

    def terms_of(reading: Analyzer, words: Collection[str]) -> dict[str, list[str]]:
        return dict(zip(words, reading(list(words), asked=True), strict=True))

    return places
