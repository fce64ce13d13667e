"""Turns finders of any kind into functions: the default patterns, known terms, Presidio's analyzers, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.private.pseudonyms._found import Finder, Found
from leafspan.private.pseudonyms._known_terms import KnownTerms
from leafspan.private.pseudonyms._patterns import Patterns


@dataclass(frozen=True, slots=True)
class Analyzed:
    """A finder that asks an ``AnalyzerEngine`` of Presidio, with the models that it has.

    Args:
        analyzer: The analyzer.
        language: Language of the texts. Default: ``"en"``.
        min_score: Lowest score of an entity. Default: 0.4.
        kinds: Entities to look for. Default: all that the analyzer knows.
    """

    analyzer: Any
    language: str = "en"
    min_score: float = 0.4
    kinds: Sequence[str] | None = None

    def __call__(self, text: str) -> list[Found]:
        """See Finder."""
        kinds = None if self.kinds is None else list(self.kinds)
        found = self.analyzer.analyze(text=text, language=self.language, entities=kinds, score_threshold=self.min_score)
        return [Found(each.start, each.end, each.entity_type) for each in found]


def to_finders(finder: Any, known: Mapping[str, Iterable[str | Sequence[str]]] | None) -> tuple[Finder, ...]:
    """Return the finders that a user wants.

    Raises:
        InvalidArgument: if a finder is anything else, or there is neither a finder nor a known term.
        MissingExtra: if Presidio is needed, and not installed.
    """
    given = [Patterns()] if finder is None else finder if isinstance(finder, list | tuple) else [finder]
    finders = ([] if known is None else [KnownTerms(known)]) + [_to_finder(each) for each in given]
    if not finders:
        raise InvalidArgument("a private view needs entities to look for: pass a finder, or known terms")
    return tuple(finders)


def _to_finder(thing: Any) -> Callable[[str], Iterable[Any]]:
    if callable(getattr(thing, "analyze", None)) and not isinstance(thing, type):
        return Analyzed(thing)
    if not callable(thing) or isinstance(thing, type):
        hint = "; did you forget the parentheses?" if isinstance(thing, type) else ""
        raise InvalidArgument(
            "a finder must be a function from a text to (start, end, kind) of entities, or an AnalyzerEngine of Presidio, "
            f"got {type(thing).__name__}{hint}"
        )
    return thing  # type: ignore[no-any-return]
