"""Names, addresses and other terms that the user knows, found in texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leafspan.errors import InvalidArgument
from leafspan.privacy._folding import folded, folded_with_places
from leafspan.privacy._found import Found
from leafspan.text import WITHOUT_SPACES

_WORD = re.compile(r"[^\W_]+")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")
_WITHOUT_SPACES = re.compile(f"[{WITHOUT_SPACES}]")


class _Term(NamedTuple):
    """A term: what stands before its first and after its last word, its kind, and the first spelling of the same thing."""

    before: str
    after: str
    kind: str
    value: str


class KnownTerms:
    """A finder of terms that are known. Case, Unicode's form of letters, and white space, ``_`` or ``-`` do not matter.

    Terms are found as whole words: ``Smith`` in ``Smith's``, and not in ``Smithson``. In scripts without spaces they are
    found anywhere.

    Args:
        terms: Terms by kind: ``{"PERSON": ["Alice Smith", ["Robert Jones", "Bob Jones"]]}``. A list stands for one thing,
            whose spellings get the same pseudonym.

    Raises:
        InvalidArgument: if it is anything else, or a term is blank.
    """

    def __init__(self, terms: Mapping[str, Iterable[str | Sequence[str]]]) -> None:
        if not isinstance(terms, Mapping):
            raise InvalidArgument(f"known terms must be lists of texts by kind, got {type(terms).__name__}")
        self.kinds = frozenset(str(kind) for kind in terms)
        self._by_words: defaultdict[str, list[_Term]] = defaultdict(list)
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)  # in words, by the first word
        self._anywhere: list[tuple[re.Pattern[str], str, str]] = []
        for kind, spellings, value in _entries(terms):
            for spelling in spellings:
                self._add(kind, folded(spelling).strip(), value)

    def _add(self, kind: str, term: str, value: str) -> None:
        words = list(_WORD.finditer(term))
        if not words or _WITHOUT_SPACES.search(term):
            parts = [re.escape(part) for part in _SEPARATORS.split(term) if part]
            pattern = re.compile(_SEPARATORS.pattern.replace("+", "*").join(parts))
            self._anywhere.append((pattern, kind, value))
            return
        start, end = words[0].start(), words[-1].end()
        self._by_words[_canonical(term[start:end])].append(_Term(term[:start], term[end:], kind, value))
        self._lengths[words[0][0]].add(len(words))

    def __call__(self, text: str) -> list[Found]:
        """See Finder."""
        plain, places = folded_with_places(text)
        found = list(self._matches(plain))
        if places is None:
            return found
        return [each._replace(start=places[each.start][0], end=places[each.end - 1][1]) for each in found]

    def _matches(self, text: str) -> Iterator[Found]:
        words = list(_WORD.finditer(text))
        for number, word in enumerate(words):
            for length in self._lengths.get(word[0], ()):
                if number + length > len(words):
                    continue
                start, end = word.start(), words[number + length - 1].end()
                for term in self._by_words.get(_canonical(text[start:end]), ()):
                    if text.endswith(term.before, 0, start) and text.startswith(term.after, end):
                        yield Found(start - len(term.before), end + len(term.after), term.kind, term.value)
        for pattern, kind, value in self._anywhere:
            yield from (Found(match.start(), match.end(), kind, value) for match in pattern.finditer(text))


def _canonical(words: str) -> str:
    return _SEPARATORS.sub(" ", words)


def _entries(terms: Mapping[str, Any]) -> Iterator[tuple[str, list[str], str]]:
    """For each thing its kind, its spellings, and the first of these."""
    for kind, things in terms.items():
        if not isinstance(kind, str) or not kind.strip():
            raise InvalidArgument(f"the kind of known terms must be a text such as 'PERSON', got {type(kind).__name__}")
        if isinstance(things, str) or not isinstance(things, Iterable):
            raise InvalidArgument(f"the known terms of kind {kind!r} must be a list of texts, got {type(things).__name__}")
        for thing in things:
            spellings = [thing] if isinstance(thing, str) else thing
            texts = list(spellings) if isinstance(spellings, Iterable) else []
            if not texts or not all(isinstance(text, str) and _SEPARATORS.sub("", text) for text in texts):
                raise InvalidArgument(
                    f"a known term of kind {kind!r} must be a text that is not blank, or a list of such, got "
                    f"{'a blank text' if isinstance(thing, str) else type(thing).__name__}"
                )
            yield kind, texts, texts[0]
