"""Splits a text into words, each always written in one way, and finds other writings of a question's numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from leafspan.text import BROKEN_WORD, LETTERS_IN_A_ROW, fold, normalize, without_invisible

# Characters of scripts without spaces, or with particles joined to words: kana, ideographs with extensions, Hangul, and
# alphabets such as Thai.
_JOINED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    f"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff{LETTERS_IN_A_ROW}"
)
_ANY_JOINED = re.compile(f"[{_JOINED}]")
_JOINED_RUN = re.compile(f"([{_JOINED}]+)")
_PAIR = re.compile(f"[{_JOINED}]{{2}}")
_IN_ALPHABETS = re.compile(f"[{LETTERS_IN_A_ROW}]")
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_POSSESSIVE = re.compile(r"'s\b")
_DIGIT = re.compile(r"\d")

_SOFT = "\xac\xad"  # signs that are part of no word
_BREAK = "-\x00"  # marks a hyphen at the end of a line
_TOGETHER, HYPHENATED = "\x01", "\x02"  # between joined words, and before a word that a document writes with a hyphen

_LONGEST_NAME = 60  # characters of a name in camel case, or of a compound; longer runs are encoded data
_ORDINAL_ENDINGS = ("st", "nd", "rd", "th")
_CAMEL_PART = re.compile(r"U+(?=Ul)(?!U+l\Z)|U?l+|U+")  # U is a capital, l another letter; the s of DNAs starts no part
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)*+|\d++(?:\.\d+)*+"


def chunks(text: str) -> list[str]:
    """Return the text in pieces without white space, for ``words_of``. A word broken at a line's end is in one piece."""
    if "\n" in text or "\r" in text:
        text = BROKEN_WORD.sub(_break, text)
    return text.replace(", ", " ").replace(". ", " ").split()


def words_of(chunk: str, language: str, *, is_query: bool = False) -> list[str]:
    """Return the words of a piece of ``chunks``: the written words, followed by other words that should find it.

    A word is a run of letters and digits with their marks. Initials (``us`` for U.S.) and numbers (1000 for 1,000, or 2.5)
    are one word each. In Chinese, Japanese and Korean, each pair of neighbouring characters is a word, and so is an
    isolated character; in Thai, Lao, Burmese and Khmer, only pairs are. Further words:

    - A compound with a digit is also one word: ``ab123`` for AB-123 and AB_123, ``2020-01-15``, ``llama3.1:8b``. Letters
      and numbers within it are words, too: ``10`` and ``kg`` for 10kg, ``3.11`` for Python3.11.
    - A compound of letters in a document, and each two neighbours in it, have a mark: see ``other_writings``.
    - So are the parts of a name in camel case: ``http`` for HttpClient.
    - A word that a hyphen breaks at the end of a line is also one word without the hyphen.

    English words have no accents, and may contain an apostrophe. In other languages it mostly separates two words.
    """
    if chunk.startswith(HYPHENATED):
        return [_folded(chunk, language)]
    if _TOGETHER in chunk:
        return [_joined(_folded(chunk, language).split(_TOGETHER))]
    if _BREAK in chunk:
        parts = words_of(chunk.replace(_BREAK, "-"), language, is_query=is_query)
        words = [word for word in parts if not word.startswith(HYPHENATED)]  # the joined word follows without the mark
        return _with_more(words, words_of(chunk.replace(_BREAK, ""), language, is_query=is_query))
    english = language == "english"
    folded = _folded(chunk, language)
    if folded.isascii():
        is_word = folded.isalnum() and (folded.isalpha() or folded.isdecimal())
        words = [folded] if is_word else _in_piece(folded, english, is_query)
    else:
        words = []
        for index, piece in enumerate(_JOINED_RUN.split(folded)):
            if index % 2 == 0:  # every second piece is a run of such characters
                words += _in_piece(piece, english, is_query)
            elif len(piece) == 1:
                words.append(piece)
            else:
                words += [first + second for first, second in pairwise(piece)]
                words += "" if is_query else _IN_ALPHABETS.sub("", piece)
    if chunk[1:].islower() or chunk.isupper() or chunk.islower():
        return words
    return _with_more(words, [_folded(part, language) for part in _camel_parts(chunk, 3 if is_query else 2)])


def is_pair(word: str) -> bool:
    """Whether a word is one of the pairs of characters that ``words_of`` makes."""
    return _PAIR.fullmatch(word) is not None


def find_plain_words(text: str) -> list[str]:
    """Return a text's words in order, in any language, as letters and digits only.

    So initials, compounds and numbers with commas are several words, and a possessive 's is left out. It takes a fifth of
    the time.
    """
    if text.isascii():
        text = text.lower()
        if "'" in text:
            text = _POSSESSIVE.sub("", text)
        return text.translate(_PLAIN).split()
    if "\n" in text or "\r" in text:
        text = BROKEN_WORD.sub(lambda match: "" if match[1] in _SOFT else match[0], text)
    text = _POSSESSIVE.sub("", fold(text).replace("_", " "))
    if not _ANY_JOINED.search(text):
        return _patterns(False).plain_word.findall(text)
    words: list[str] = []
    for index, piece in enumerate(_JOINED_RUN.split(text)):
        if index % 2 == 0:
            words += _patterns(False).plain_word.findall(piece)
        else:
            words += [first + second for first, second in pairwise(piece)] or [piece]
    return words


def _folded(text: str, language: str) -> str:
    if language == "turkish":
        text = text.replace("İ", "i").replace("I", "ı")
    return fold(text, accents=language != "english")


def _break(match: re.Match[str]) -> str:
    if match[1] in _SOFT:
        return ""
    beside = match.string[match.start() - 1], match.string[match.end()]
    return "-" if any(map(str.isdigit, beside)) else _BREAK


def _with_more(words: list[str], more: Sequence[str]) -> list[str]:
    present = set(words)
    return words + [word for word in more if word not in present]


def _in_piece(piece: str, english: bool, is_query: bool) -> list[str]:
    """Return a piece's words in lower case, without characters of scripts without spaces."""
    joined = [] if is_query or "-" not in piece else _without_hyphens(piece)
    piece = piece.replace("_", "-")
    if not _DIGIT.search(piece):
        return _with_more(_of_letters(piece, english), joined)
    words = []
    for chain in _patterns(english).chain.findall(piece):
        words += _of_compound(chain, english) if _DIGIT.search(chain) else _of_letters(chain, english)
    return _with_more(words, joined)


def _of_letters(piece: str, english: bool) -> list[str]:
    """Return the words of a piece without a digit."""
    words = _patterns(english).word_of_letters.findall(piece)
    return [word if word.isalnum() else word.removesuffix("'s").replace(".", "") for word in words]


def _without_hyphens(piece: str) -> list[str]:
    """Return the compounds of letters in a piece, and each two neighbours in them, joined."""
    joined: dict[str, None] = {}
    for compound in _patterns(False).hyphenated.findall(piece):
        units = compound.split("-")
        if len(compound) <= _LONGEST_NAME:
            joined |= dict.fromkeys(f"{HYPHENATED}{''.join(some)}" for some in (*pairwise(units), units))
    return list(joined)


class OtherWriting(NamedTuple):
    """A chunk with one word, which some leaves have instead of neighbouring words of a question."""

    chunk: str  # the chunk, for ``words_of``
    words: Sequence[str]
    # Whether there is white space after the first word, and no digit. Then the first word must not be a stop word, so that
    # ``to day`` does not find today
    after_blank: bool = False


def other_writings(text: str) -> list[OtherWriting]:
    """Return other writings of words of a question.

    These are each word as it is found in documents that write it with a hyphen, and neighbouring words written together:
    two, or three if one of them has a digit or hyphens join them. So email finds e-mail, e-mail and e mail find email, and
    M8 X 40 finds M8X40.
    """
    patterns = _patterns(False)
    writings = []
    for run in patterns.apart.findall(fold(text, accents=True)):
        words, signs = patterns.word.findall(run), patterns.word.split(run)[1:-1]
        digits = [_DIGIT.search(word) is not None for word in words] if _DIGIT.search(run) else [False] * len(words)
        writings += [OtherWriting(f"{HYPHENATED}{word}", (word,)) for word in words if word.isalpha()]
        for place, some in enumerate(pairwise(words)):
            _add_joined(writings, some, any(digits[place : place + 2]), signs[place])
        for place in range(len(words) - 2):
            if (has_digit := any(digits[place : place + 3])) or signs[place] == signs[place + 1] == "-":
                _add_joined(writings, words[place : place + 3], has_digit, signs[place])
    return writings


def _add_joined(writings: list[OtherWriting], words: Sequence[str], has_digit: bool, sign: str) -> None:
    """Add words written together, unless this would make another number."""
    if has_digit and any(one[-1].isdecimal() and other[0].isdecimal() for one, other in pairwise(words)):
        return
    if sum(map(len, words)) <= _LONGEST_NAME:
        is_plain = all(word.isascii() and word.isalpha() for word in words)  # as most are: the chunk is the word itself
        writings.append(OtherWriting(("" if is_plain else _TOGETHER).join(words), words, not has_digit and sign != "-"))


def _of_compound(chain: str, english: bool) -> list[str]:
    """Return the words of a chain with a digit: letters and numbers, and their combination."""
    words: list[str] = []
    compounds = _patterns(english).compound.findall(chain)
    for compound in compounds:
        units = compound.split("-")
        for unit in units:
            words += _of_unit(unit, english)
        if len(units) > 1 and len(compound) <= _LONGEST_NAME and _DIGIT.search(compound):
            words.append(_joined(units))
    if len(compounds) > 1 and len(chain) <= _LONGEST_NAME:
        words.append(_joined(chain.split("-")))
    return words


def _of_unit(unit: str, english: bool) -> list[str]:
    """Return the words of a run of letters and numbers."""
    parts = _patterns(english).part.findall(unit)
    if len(parts) == 1:
        part = parts[0].replace(",", "")
        return [part.removesuffix("'s") if english else part]
    words = [unit.replace(",", "")]
    if len(parts) <= 3:
        for place, part in enumerate(parts):
            if part[0].isdecimal():
                if len(part) > 1 or (place == 0 and len(parts) == 2):  # the 5 of 5kg, but not the 5 of CD5
                    words.append(part.replace(",", ""))
            elif len(part) >= len(parts) and part not in _ORDINAL_ENDINGS:
                words.append(part)
    return words


def _joined(units: Sequence[str]) -> str:
    """Join a compound without hyphens, except between two digits, where removing one would make another number."""
    joined = units[0]
    for unit in units[1:]:
        joined += f"-{unit}" if joined[-1:].isdecimal() and unit[:1].isdecimal() else unit
    return joined.replace(",", "")


def _camel_parts(chunk: str, least: int) -> Iterator[str]:
    """Yield the parts of camel-case names, such as Http and Client of HttpClient; McGee, CoV and mRNA stay whole."""
    for name in _LETTERS.findall(normalize("NFC", without_invisible(chunk))):
        if len(name) > _LONGEST_NAME:
            continue
        parts, start = [], 0
        for shape in _CAMEL_PART.findall("".join("U" if letter.isupper() else "l" for letter in name)):
            part = name[start : start + len(shape)]
            start += len(shape)
            if len(part) > 2 or (len(part) == 2 and (part.isupper() or not name[0].isupper())):
                parts.append(part)
        if len(parts) >= (least if name[0].isupper() else 2):
            yield from parts


class _Patterns:
    """The patterns of words in lower case. They are made late, since it takes time to list all combining marks."""

    def __init__(self, english: bool) -> None:
        marks, apostrophe = _marks(), "'" if english else ""
        initials, letters = r"(?<!\w)[^\W\d](?:\.[^\W\d])+(?!\w)", rf"[\w{marks}]+"
        run, of_letters = rf"[\w{marks}]++", rf"(?:[^\W\d_][{marks}]*+)+"
        letter_run = rf"(?:(?!\d)[\w{marks}])++"
        word = rf"[^\W_][\w{marks}]*"
        if english:
            letters += f"(?:'{letters})*"
            letter_run += f"(?:'{letter_run})*+"
        unit = rf"(?:{_NUMBER}|{letter_run})++"
        # Words with single signs between them
        self.chain = re.compile(rf"{run}(?:(?:[-/:#+&@.\u2013{apostrophe}]|(?<=\d),(?=\d{{3}}(?!\d))){run})*+")
        self.word_of_letters = re.compile(f"{initials}|{letters}")
        self.hyphenated = re.compile(rf"(?<![\w.-]){of_letters}(?:-{of_letters})+(?![\w-])")
        self.word = re.compile(word)
        self.apart = re.compile(rf"{word}(?:[\s-]{word})*")  # words with white space or a hyphen between them
        self.compound = re.compile(rf"{unit}(?:-{unit})*+")
        self.part = re.compile(f"{_NUMBER}|{letter_run}")
        self.plain_word = re.compile(rf"[\w{marks}]+")


_patterns = lru_cache(_Patterns)


@lru_cache
def _marks() -> str:
    """Return combining marks, as ranges for a character class. Without them, Hindi words would be cut at each mark."""
    marks = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges = []
    for _, group in groupby(enumerate(marks), key=lambda place: place[1] - place[0]):
        run = [code for _, code in group]
        ranges.append(f"{chr(run[0])}-{chr(run[-1])}")
    return "".join(ranges)


# The words for 10 ** 3, 10 ** 6, 10 ** 9 and 10 ** 12, without accents. Other languages have the English ones.
_SCALES = {
    "english": ("thousand k", "million millions mn m", "billion billions bn b", "trillion trillions tn"),
    "french": ("mille", "million millions mio", "milliard milliards mds md", "billion billions"),
    "german": ("tausend tsd", "million millionen mio", "milliarde milliarden mrd", "billion billionen bio"),
    "italian": ("mila", "milione milioni mln", "miliardo miliardi mld", "bilione bilioni"),
}
_WITH_POINT = ("arabic", "chinese", "english", "hindi", "irish", "japanese", "korean", "plain", "porter", "thai")
_YEAR = r"(?:19|20)\d\d"
_QUARTERS = ("first", "second", "third", "fourth")
_QUARTER = re.compile(
    rf"\b(?P<part>q(?P<after>[1-4])|(?P<before>[1-4])q|(?P<ordinal>{'|'.join(_QUARTERS)})[ -](?:fiscal )?quarter)"
    rf"(?:[ '-]?(?:of |in )?(?:the )?(?:(?:fiscal|financial) (?:year )?|fy ?)?'?(?P<year>{_YEAR}|(?<=['\dqy])\d\d))?(?!\w)"
    rf"|\b(?:fy ?)?(?P<first>{_YEAR})[ -]?(?P<then>q[1-4])\b"
)
_FISCAL = re.compile(rf"\b(?:fy|(?:fiscal|financial)(?: year)?)[ -]?'?({_YEAR}|\d\d)(?![\w%]|[.,]\d)")


def other_numbers(text: str, language: str) -> Iterator[tuple[str, str, float]]:
    """Yield words that a leaf in a language may have, the words of the question that they replace, and their weight."""
    text = " ".join(fold(text).split())
    yield from _periods(text)
    scales = _SCALES.get(language, _SCALES["english"])
    powers = {word: 3 * place for place, words in enumerate(scales, 1) for word in words.split()}
    thousands, point = (",", r"\.") if language in _WITH_POINT else ("[. ']", ",")
    pattern = (
        r"(?<![\w.,:/'])(?<!\w-)((?:(?:us|[ac])?[$€£¥]|(?:usd|eur|gbp|chf)) ?)?"
        rf"((?:[1-9]\d{{0,2}}(?:{thousands}\d{{3}}){{1,4}}|0|[1-9]\d{{0,14}})(?:{point}\d{{1,3}})?)"
        rf"(?: ?(%|per ?cent\b)|[ -]?({'|'.join(powers)})\b)?(?!\w|[.,:/'-]\d)"
    )
    for match in re.finditer(pattern, text):
        currency, number, percent, scale = match.groups()
        value = Decimal(re.sub(thousands, "", number).replace(",", ".")) * 10 ** powers.get(scale, 0)
        is_amount = bool(currency or percent or (scale and len(scale) > 1))  # a single letter may be a unit
        if not is_amount and (scale or value < 1000 or re.fullmatch(_YEAR, number)):
            continue
        for power in {0, *powers.values()} if value >= 1000 else {0}:
            for chunk in _written(value.scaleb(-power), thousands):
                # A table may say elsewhere that it is in millions. A short number has many other meanings.
                in_a_unit = 0.5 if power and is_amount and sum(map(str.isdecimal, chunk)) > 2 else 0.0
                if in_a_unit or not power:
                    yield chunk, match[0], in_a_unit or 1.0
                for word in [word for word in powers if powers[word] == power]:
                    yield f"{chunk}{' ' * (len(word) > 1)}{word}", match[0], 1.0 - in_a_unit


def _written(value: Decimal, thousands: str) -> list[str]:
    """Return the writings of a number that is not too small and has few digits. It may end in zeros."""
    text = f"{value.normalize():,f}"
    digits = len(text.partition(".")[2])
    with_zeros = [text, *(f"{value:.{count}f}" for count in (1, 2) if digits < count)]
    with_comma = [text.translate({ord(","): mark, ord("."): ","}) for mark in ("", ".", " ")]
    return [] if digits > 3 or value < Decimal("0.1") else with_zeros if thousands == "," else with_comma


def _periods(text: str) -> Iterator[tuple[str, str, float]]:
    for match in _QUARTER.finditer(text):
        part, year = match["part"] or match["then"], match["year"] or match["first"]
        nth = match["after"] or match["before"] or (match["then"] or "")[1:] or _QUARTERS.index(match["ordinal"]) + 1
        for chunk in (f"q{nth}", f"{nth}q", f"{_QUARTERS[int(nth) - 1]} quarter"):
            yield chunk, part, 1.0
        for some in (f"20{year}"[-4:], year[-2:]) if year else ():
            for chunk in (f"20{some}"[-4:], f"q{nth}{some}", f"{nth}q{some}", f"{some}q{nth}", f"fy{some}q{nth}"):
                yield chunk, match[0], 1.0
    for match in _FISCAL.finditer(text):
        yield from ((one, match[0], 1.0) for one in (f"20{match[1]}"[-4:], f"fy{match[1][-2:]}", f"fy'{match[1][-2:]}"))
