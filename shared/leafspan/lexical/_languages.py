"""The languages that leafspan can tell apart: their codes, and how their words are read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from math import exp
from typing import Any

PLAIN = "plain"  # the reading of languages without stemmer and stop words: each word is a term, without its accents
DEFAULT = "english"  # the reading of texts in an uncertain language

_OTHERS = "he hr is ka kk km lo mk ml sq sw te tl uk vi am gu kn my or pa si"
# ISO 639-1 codes with the name in Snowball, or in the package of stop words. A missing language is recognised as the most
# similar one in its script. Segments store the places of these names, so add new ones at the end.
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
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "lt": "lithuanian",
    "lv": "latvian",
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
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "th": "thai",
    "tr": "turkish",
    "ur": "urdu",
    "zh": "chinese",
    **dict.fromkeys(_OTHERS.split(), PLAIN),
}
READINGS = tuple(dict.fromkeys([*_NAMES.values(), PLAIN]))
"""All readings. Segments store the place of a reading, so the order must not change."""

_CODES = {name: code for code, name in _NAMES.items() if name != PLAIN}

# The first word of a letter's name in Unicode, with the languages that are written so. All others are written in Latin.
_SCRIPTS = {
    "ARABIC": ("ar", "fa", "ur"),
    "ARMENIAN": ("hy",),
    "BENGALI": ("bn",),
    "CJK": ("zh",),
    "CYRILLIC": ("bg", "kk", "mk", "ru", "sr", "uk"),
    "DEVANAGARI": ("hi", "mr", "ne"),
    "ETHIOPIC": ("am",),
    "GEORGIAN": ("ka",),
    "GREEK": ("el",),
    "GUJARATI": ("gu",),
    "GURMUKHI": ("pa",),
    "HANGUL": ("ko",),
    "HEBREW": ("he",),
    "HIRAGANA": ("ja",),
    "KANNADA": ("kn",),
    "KHMER": ("km",),
    "LAO": ("lo",),
    "MALAYALAM": ("ml",),
    "MYANMAR": ("my",),
    "ORIYA": ("or",),
    "SINHALA": ("si",),
    "TAMIL": ("ta",),
    "TELUGU": ("te",),
    "THAI": ("th",),
}
_LATIN = "LATIN"
_LETTERS_OF = {"CJK": 3, "HIRAGANA": 3, "HANGUL": 3, _LATIN: 1}
"""How many Latin letters a letter counts for, if not 2. Texts in other scripts quote names and terms in Latin."""

_SAMPLES, _SAMPLE = 8, 250  # parts of a long text, and characters of each
_SURE = 0.9  # a language with a lower probability is uncertain
_EXPECTED = 5.0  # added to the log-likelihood of the language that most of the index has
_RARE = 6.0  # subtracted for a language in Latin script with a plain reading, since few texts are in one of these
_MOST_REPEATED = 3  # times that a word counts
_LEAST = 10  # letters of different words; fewer have no certain language, and twice as many are needed among names
_OPENING, _CLOSING = "\"'(\\[«„“”‘¿¡|*_>#", "\"')\\]»”“’.,;:!?…*_|"
_WORD = re.compile(rf"(?<![^\s{_OPENING}])[^\W\d_]+(?:['’\-][^\W\d_]+)*(?=[{_CLOSING}]*(?:\s|\Z))")


def reading_of(code: str | None) -> str:
    """Return how the words of a text in this language are read, by its code."""
    return DEFAULT if code is None else _NAMES.get(code, DEFAULT)


def code_of(reading: int) -> str | None:
    """Return the code of the language with this reading, or None for ``PLAIN``, which several languages share."""
    return _CODES.get(READINGS[reading])


def known_code(value: object) -> str | None:
    """Return the code of a language that a user names: ``de``, ``de-AT`` or ``German``, or None if it is unknown."""
    if not isinstance(value, str):
        return None
    name = value.strip().lower()
    code = name.replace("_", "-").split("-")[0]
    return code if code in _NAMES else _CODES.get(name)


def find_language(text: str, *, expected: str | None = "en") -> str | None:
    """Return the code of a text's main language, or None if it is uncertain, as for a few words, names or numbers.

    The script decides first. Where several languages share it, the words decide. Words with digits or signs in them say
    nothing, and capitalised words little, since they may be names. Of a long text, eight samples are read.

    The language that most of the index has, ``expected``, wins over others that are little more likely. If it is unknown
    (None), a language must be more likely than any that may be expected.
    """
    if len(text) > _SAMPLES * _SAMPLE:
        step = (len(text) - _SAMPLE) / (_SAMPLES - 1)
        text = " ".join(text[(start := round(step * number)) : start + _SAMPLE] for number in range(_SAMPLES))
    text = unicodedata.normalize("NFC", text)
    script = _main_script(text)
    if script is None:
        return None
    languages = _languages_in(script)
    if len(languages) == 1:
        return languages[0]
    if script in (_LATIN, "CYRILLIC"):
        words = [word for word in _WORD.findall(text) if _script(word[0]) == script]
        in_lower_case = [word for word in words if word.islower()]
        is_prose = len(in_lower_case) * 3 >= len(words)
        if not is_prose:
            words = in_lower_case
    else:
        words, is_prose = text.split(), True
    # The same words in each line of a table are no further evidence.
    words = [word for word, count in Counter(words).items() for _ in range(min(count, _MOST_REPEATED))]
    if sum(map(len, {*words})) < (_LEAST if is_prose else 2 * _LEAST):
        return None
    return _most_likely(" ".join(words), languages, expected)


def _main_script(text: str) -> str | None:
    """Return the script of most letters, or None if no known script has any."""
    letters: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if letter.isalpha():
            letters[_script(letter)] += count
    if letters["KATAKANA"] or letters["HIRAGANA"]:
        letters["HIRAGANA"] += letters.pop("KATAKANA", 0)
        if letters["HIRAGANA"] * 10 > letters["CJK"]:  # a Chinese text may quote some Japanese
            letters["HIRAGANA"] += letters.pop("CJK", 0)
    counts = {script: count * _LETTERS_OF.get(script, 2) for script, count in letters.items() if _languages_in(script)}
    return max(counts, key=counts.__getitem__, default=None)


@lru_cache(1 << 14)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ")[0].split("-")[0]


@lru_cache
def _languages_in(script: str) -> tuple[str, ...]:
    if script != _LATIN:
        return _SCRIPTS.get(script, ())
    others = {code for codes in _SCRIPTS.values() for code in codes}
    return tuple(code for code in _NAMES if code not in others)


def _most_likely(words: str, languages: tuple[str, ...], expected: str | None) -> str | None:
    """Return the code of the language that the words are most likely in, or None if it is uncertain."""
    identifier = _identifier()
    features = identifier.instance2fv(words.encode(errors="ignore"))
    used = features.nonzero()[0]  # a few of 7,480, and BLAS would start threads for all of them
    chances = features[used] @ identifier.nb_ptc[used] + identifier.nb_pc
    of_all = dict(zip(map(str, identifier.nb_classes), chances.tolist(), strict=True))
    rare = {code for code in languages if _NAMES[code] == PLAIN} if "en" in languages else ()
    likely = {code: of_all[code] + _EXPECTED * (code == expected) - _RARE * (code in rare) for code in languages}
    best = max(likely, key=likely.__getitem__)
    if expected is None:
        likely[best] -= _EXPECTED
    return best if sum(exp(each - likely[best]) for each in likely.values()) <= 1 / _SURE else None


@lru_cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_pickled_model(MODEL_FILE)
    identifier.set_languages([code for code in _NAMES if code in identifier.nb_classes])
    return identifier
