"""Names, addresses and other terms that the user knows, found in texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.privacy._folding import folded, folded_with_places
from leafspan.privacy._found import Found

_WORD = re.compile(r"[^\W_]+")
_SPLIT = re.compile(r"[\s_\-\u2010-\u2015]+")
_BETWEEN = r"[\s_\-\u2010-\u2015]+"
_WITHOUT_SPACES = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0eff\U00020000-\U0003ffff]")


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
        self._by_first_word: defaultdict[str, list[tuple[re.Pattern[str], str, str]]] = defaultdict(list)
        self._anywhere: list[tuple[re.Pattern[str], str, str]] = []
        for kind, spellings, value in _entries(terms):
            for spelling in spellings:
                self._add(kind, folded(spelling), value)

    def _add(self, kind: str, term: str, value: str) -> None:
        parts = [re.escape(part) for part in _SPLIT.split(term.strip()) if part]
        first = _WORD.match(term.strip())
        if _WITHOUT_SPACES.search(term):
            self._anywhere.append((re.compile(_BETWEEN.replace("+", "*").join(parts)), kind, value))
        elif first is None:
            self._anywhere.append((re.compile(_BETWEEN.join(parts) + r"(?![^\W_])"), kind, value))
        else:
            end = r"(?![^\W_])" if _WORD.match(term.strip()[-1]) else ""
            self._by_first_word[first[0]].append((re.compile(_BETWEEN.join(parts) + end), kind, value))

    def __call__(self, text: str) -> list[Found]:
        """See Finder."""
        plain, places = folded_with_places(text)
        found = [Found(*each) for each in self._matches(plain)]
        if places is None:
            return found
        return [each._replace(start=places[each.start][0], end=places[each.end - 1][1]) for each in found]

    def _matches(self, text: str) -> Iterator[tuple[int, int, str, str]]:
        for word in _WORD.finditer(text):
            for pattern, kind, value in self._by_first_word.get(word[0], ()):
                if match := pattern.match(text, word.start()):
                    yield match.start(), match.end(), kind, value
        for pattern, kind, value in self._anywhere:
            yield from ((match.start(), match.end(), kind, value) for match in pattern.finditer(text))


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
            if not texts or not all(isinstance(text, str) and _SPLIT.sub("", text) for text in texts):
                raise InvalidArgument(
                    f"a known term of kind {kind!r} must be a text that is not blank, or a list of such, got "
                    f"{'a blank text' if isinstance(thing, str) else type(thing).__name__}"
                )
            yield kind, texts, texts[0]
