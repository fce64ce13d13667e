"""The languages that leafspan can tell apart: their codes, and how their words are read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

PLAIN = "plain"
"""The reading of languages without stemmer and stop words: each word is a term, without its accents."""

DEFAULT = "english"
"""The reading of texts in an uncertain language."""

# ISO 639-1 codes with the name in Snowball, or in the package of stop words. A missing language is recognised as the most
# similar one. Segments store the places of these names, so add new ones at the end.
_NAMES = {
    "en": "english",
    "ar": "arabic",
    "bg": "bulgarian",
    "bn": PLAIN,
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "gl": "galician",
    "he": PLAIN,
    "hi": "hindi",
    "hr": PLAIN,
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "is": PLAIN,
    "it": "italian",
    "ja": "japanese",
    "ka": PLAIN,
    "kk": PLAIN,
    "km": PLAIN,
    "ko": "korean",
    "lo": PLAIN,
    "lt": "lithuanian",
    "lv": "latvian",
    "mk": PLAIN,
    "ml": PLAIN,
    "mr": "marathi",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sk": "slovak",
    "sl": "slovenian",
    "sq": PLAIN,
    "sr": "serbian",
    "sv": "swedish",
    "sw": PLAIN,
    "ta": "tamil",
    "te": PLAIN,
    "th": "thai",
    "tl": PLAIN,
    "tr": "turkish",
    "uk": PLAIN,
    "ur": "urdu",
    "vi": PLAIN,
    "zh": "chinese",
}
READINGS = tuple(dict.fromkeys([*_NAMES.values(), PLAIN]))
"""All readings. Segments store the place of a reading, so the order must not change."""

_CODES = {name: code for code, name in _NAMES.items() if name != PLAIN}
_SURE = 0.9  # a language with a lower probability is uncertain
_SAMPLE = 500  # characters at the start, in the middle and at the end of a text


def reading_of(code: str | None) -> str:
    """Return how the words of a text in this language are read, by its code."""
    return DEFAULT if code is None else _NAMES.get(code, DEFAULT)


def known_code(value: object) -> str | None:
    """Return the code of a language that a user names: ``de``, ``de-AT`` or ``German``, or None if it is unknown."""
    if not isinstance(value, str):
        return None
    name = value.strip().lower()
    code = name.replace("_", "-").split("-")[0]
    return code if code in _NAMES else _CODES.get(name)


def find_language(text: str) -> str | None:
    """Return the code of a text's main language, or None if it is uncertain, as for a few words or numbers."""
    if len(text) > 3 * _SAMPLE:
        middle = (len(text) - _SAMPLE) // 2
        text = f"{text[:_SAMPLE]} {text[middle : middle + _SAMPLE]} {text[-_SAMPLE:]}"
    code, probability = _identifier().classify(text.encode(errors="ignore"))
    return str(code) if probability >= _SURE else None


@lru_cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_pickled_model(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_NAMES))
    return identifier
