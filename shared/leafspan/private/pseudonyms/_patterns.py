"""Finds entities that follow a pattern, such as e-mail addresses and account numbers, with Presidio and without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import isclass
from threading import Lock
from typing import Any

from leafspan.checks import check_number, did_you_mean, short_repr, shown
from leafspan.errors import InvalidArgument, MissingExtra
from leafspan.private.pseudonyms._entities import Finder, Found
from leafspan.private.pseudonyms._known_terms import KnownTerms

DEFAULT_KINDS = (
    "EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "IP_ADDRESS", "MAC_ADDRESS", "CRYPTO", "MEDICAL_LICENSE",
    "US_SSN", "US_ITIN", "UK_NHS", "UK_NINO", "ES_NIF", "ES_NIE", "IT_FISCAL_CODE", "FI_PERSONAL_IDENTITY_CODE",
    "PL_PESEL", "SE_PERSONNUMMER", "IN_PAN", "IN_AADHAAR", "KR_RRN", "SG_NRIC_FIN",
)  # fmt: skip
"""The kinds that are searched by default: their patterns are strict, or have a check digit."""

_LONGEST_ADDRESS = 320  # characters of an e-mail address
_AT = re.compile(r"@")
_SPACE = re.compile(r"\s")
_MANY_DIGITS = re.compile(r"(?:\d\W{0,5}){5}\d")  # every phone number matches this
_NOT_IN_ADDRESSES = re.compile(r"[/=?&|{}!#$*^`~]")  # the standard allows these characters, but no real address has them
_ACCOUNT = re.compile(r"(?<![^\W_])[A-Za-z]{2}[ -]?\d{2}")  # every IBAN begins like this
_CAPITALS = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOADING = Lock()


class _PlainLetters(dict[int, str | int]):
    """Maps digits, spaces, dashes and letters of other widths, fonts or with accents to those in the patterns."""

    def __missing__(self, code: int) -> str | int:
        letter = chr(code).replace("\N{MINUS SIGN}", "-")
        spaced = {"Zs": " ", "Pd": "-"}.get(unicodedata.category(letter), "")
        plain = str(unicodedata.decimal(letter, spaced))
        if not plain and unicodedata.decomposition(letter).startswith(_SAME_LETTER):
            plain = "".join(each for each in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(each))
        self[code] = plain if len(plain) == 1 else code
        return self[code]


_SAME_LETTER = (*"0123456789", "<wide>", "<narrow>", "<small>", "<font>")  # without powers and footnotes
_PLAIN = _PlainLetters()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """A finder of entities that follow a pattern, by the recognisers of Microsoft's Presidio. It needs no language model.

    leafspan searches a text once for each kind. Scores are Presidio's scores of the patterns, without the words around an
    entity.

    Args:
        kinds: Kinds to find, by Presidio's names. Default: e-mail and IP addresses, numbers of phones, cards, accounts and
            medical licences, and national numbers that are checked or have a form of their own (``DEFAULT_KINDS``).
        min_score: Lowest score of an entity, in [0, 1]. Default: 0.4.
        regions: Countries of phone numbers that are written without the code of a country. Default: Presidio's eight.

    Raises:
        InvalidArgument: if an option is out of its range, or there is no such kind.
        MissingExtra: if Presidio is not installed.
    """

    kinds: Sequence[str] = DEFAULT_KINDS
    min_score: float = 0.4
    regions: Sequence[str] = ("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR")
    _recognizers: tuple[Any, ...] = field(default=(), init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        return short_repr(self)

    def __post_init__(self) -> None:
        for name in ("kinds", "regions"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(x, str) for x in value):
                raise InvalidArgument(f"{name} must be a list of texts, got {shown(value)}")
            object.__setattr__(self, name, tuple(value))
        check_number("min_score", self.min_score, at_least=0, at_most=1)
        classes = _classes()
        for kind in self.kinds:
            if kind not in classes:
                raise InvalidArgument(
                    f"kinds must be entities of Presidio that are found by patterns, got {shown(kind)}"
                    f"{did_you_mean(kind, classes)}"
                )
        object.__setattr__(self, "_recognizers", tuple(self._made(kind, classes[kind]) for kind in self.kinds))

    def _made(self, kind: str, recognizer: Any) -> Any:
        if kind == "PHONE_NUMBER":
            return recognizer(supported_regions=self.regions)
        if kind == "EMAIL_ADDRESS":
            # Presidio's own check of the domain uses the network, and refuses domains of internal networks.
            return _pattern_recognizer()(supported_entity=kind, patterns=recognizer.PATTERNS)
        made = recognizer()
        if type(made).validate_result is _pattern_recognizer().validate_result:
            # Without a check digit, the score is the pattern's score. Most patterns below the threshold are slow.
            made.patterns = [pattern for pattern in made.patterns if pattern.score >= self.min_score]
        return made

    def __call__(self, text: str) -> list[Found]:
        """See Finder."""
        text = text if text.isascii() else text.translate(_PLAIN)  # each character keeps its position
        entities = []
        for kind, recognizer in zip(self.kinds, self._recognizers, strict=True):
            if kind == "PHONE_NUMBER" and not _MANY_DIGITS.search(text):
                continue
            for offset, piece in _pieces(kind, text):
                for each in recognizer.analyze(piece, [kind], None):
                    if each.score >= self.min_score:
                        start = each.start + (_path_length(piece[each.start : each.end]) if kind == "EMAIL_ADDRESS" else 0)
                        entities.append(Found(offset + start, offset + each.end, kind))
        return entities


def _pieces(kind: str, text: str) -> Iterator[tuple[int, str]]:
    """The pieces of the text to search for a kind, each with its position."""
    if kind == "EMAIL_ADDRESS":
        yield from _around_at_signs(text)
        return
    yield 0, text
    # Presidio accepts only capitals; its check of the digits refuses false matches.
    if kind == "IBAN_CODE" and _ACCOUNT.search(text):
        yield 0, text.translate(_CAPITALS)


def _around_at_signs(text: str) -> Iterator[tuple[int, str]]:
    """The pieces of a text that may be e-mail addresses. The pattern would be very slow on a long run of letters."""
    done = 0
    for sign in _AT.finditer(text):
        if sign.start() >= done:
            before = _SPACE.split(text[max(done, sign.start() - _LONGEST_ADDRESS) : sign.start()])[-1]
            last = min(len(text), sign.end() + _LONGEST_ADDRESS)
            space = _SPACE.search(text, sign.end(), last)
            done = space.start() if space else last
            yield sign.start() - len(before), text[sign.start() - len(before) : done]


def _pattern_recognizer() -> Any:
    from presidio_analyzer import PatternRecognizer

    return PatternRecognizer


def _path_length(address: str) -> int:
    """The length of what precedes an address without a space, as in ``mails/ann@example.com`` or ``?to=ann@...``."""
    before = _NOT_IN_ADDRESSES.split(address.partition("@")[0])
    return len(address.partition("@")[0]) - len(before[-1]) if before[-1] else 0


@lru_cache(maxsize=1)
def _classes() -> dict[str, Any]:
    """Presidio's pattern recognisers, by the kind that each one finds."""
    with _LOADING:
        try:
            import presidio_analyzer
            from presidio_analyzer import predefined_recognizers as predefined
        except ImportError as error:
            raise MissingExtra.of(
                "finding entities by patterns needs Presidio", "pii", "or pass a finder of your own"
            ) from error
    classes: dict[str, Any] = {}
    for name in sorted(vars(predefined)):
        each: Any = getattr(predefined, name)
        if isclass(each) and issubclass(each, presidio_analyzer.PatternRecognizer):
            made: Any = each
            for kind in made().supported_entities:
                classes.setdefault(kind, made)
    classes["PHONE_NUMBER"] = predefined.PhoneRecognizer
    return classes


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
        results = self.analyzer.analyze(text=text, language=self.language, entities=kinds, score_threshold=self.min_score)
        return [Found(each.start, each.end, each.entity_type) for each in results]


def to_finders(finder: Any, terms: Mapping[str, Iterable[str | Sequence[str]]] | None) -> tuple[Finder, ...]:
    """Return the finders that a user wants."""
    things = [Patterns()] if finder is None else finder if isinstance(finder, list | tuple) else [finder]
    finders = ([] if terms is None else [KnownTerms(terms)]) + [_to_finder(each) for each in things]
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
