"""Other writings of the amounts, fiscal years and quarters of a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from leafspan.text import fold

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
