"""Number formats of spreadsheets: values as a person sees them."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from math import isfinite

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|(?P<general>General)|(?P<clock>AM/PM|A/P)'
    r"|(?P<when>y+|m+|d+|h+|s+)(?P<fraction>(?<=s)\.0+)?|(?P<digits>[#0?][#0?,]*(?:\.[#0?]*)?(?:e[+-]?[#0?]+)?|\.[#0?]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[_*].|[^;"\\\[_*])*', re.DOTALL)
_LOCAL = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm"}  # what they show depends on the reader's country
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST = datetime(1899, 12, 30)  # the day 0 of spreadsheets
_MOST_DAYS = 2_958_466  # up to the year 9999
_CURRENCY = re.compile(r"\$([^-\]]+)(?:-.*)?")


def formatted(value: object, code: str) -> str:
    """Return a value in a number format as in English, such as ``"12.5 %"`` for .125 in ``"0.0 %"``."""
    if isinstance(value, bool):
        return str(value).upper()
    if code == "General" and isinstance(value, int | float):
        return general(value)
    if isinstance(value, timedelta):
        moment = _FIRST + timedelta(seconds=value.seconds, microseconds=value.microseconds)
        return _in_format(value.total_seconds(), code if _parts(code, 0)[1] else "[h]:mm:ss", moment)
    if isinstance(value, time):
        value = datetime.combine(_FIRST, value)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        default = "yyyy-mm-dd hh:mm:ss" if moment.time() != time() else "yyyy-mm-dd"
        code = _LOCAL.get(code, code)
        return _in_format((moment - _FIRST).total_seconds(), code if _parts(code, 0)[1] else default, moment)
    if isinstance(value, int | float):
        return _of_number(value, code)
    return "" if value is None else str(value)


def _of_number(value: float, code: str) -> str:
    if not isfinite(value):
        return str(value)
    if _parts(code, 0)[1] and 0 <= value < _MOST_DAYS:
        return formatted(_FIRST + timedelta(days=value), code)
    sections = _sections(code)
    number = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    tokens, _ = _parts(code, number)
    percents = sum(1 for kind, text in tokens if (kind, text) == ("other", "%"))
    digits = [text for kind, text in tokens if kind == "digits"]
    if any(text == "/" for kind, text in tokens if kind == "other") and digits:
        return general(value)  # in a format of fractions, such as 1/2
    size = abs(value) if number == 1 else value
    rest = _digits(size, percents, "".join(digits)) if digits else ""
    texts = []
    for kind, text in reversed(tokens):  # several groups of digits, such as 000-0000, are filled from the right
        if kind == "digits":
            digits.pop()
            texts.append(rest[-len(text) :] if digits else rest)
            rest = rest[: -len(text)]
        else:
            texts.append(general(size) if kind == "general" else "" if text == "@" else text)
    texts.reverse()
    if number == 0 and any(text == "@" for kind, text in tokens if kind == "other"):
        return general(value)
    return " ".join("".join(texts).split())


def general(value: float) -> str:
    """Return a number without a format."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return str(int(value))
    return f"{value:.15g}"


def _digits(value: float, percents: int, code: str) -> str:
    """Return a number in a format of digits, such as ``#,##0.00``."""
    whole, _, exponent = code.lower().partition("e")
    before, _, after = whole.partition(".")
    places, least = len(after.replace(",", "")), after.count("0")
    if exponent:
        mantissa, _, power = f"{value:.{places}e}".partition("e")
        return f"{mantissa}E{power[0] if power[0] == '-' or '+' in exponent else ''}{power[1:].zfill(exponent.count('0'))}"
    scaled = Decimal(repr(value) if isinstance(value, float) else value) * 100**percents
    scaled /= 1000 ** (len(before) - len(before.rstrip(",")))
    rounded = scaled.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP) if abs(scaled) < Decimal("1e24") else scaled
    sign, number = "-" if rounded < 0 else "", f"{abs(rounded):f}"
    integer, _, fraction = number.partition(".")
    while len(fraction) > least and fraction.endswith("0"):
        fraction = fraction[:-1]
    integer = integer.lstrip("0").zfill(before.count("0"))
    if "," in before.rstrip(","):
        integer = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", integer)
    return f"{sign}{integer}{'.' + fraction if fraction else ''}"


def _in_format(seconds: float, code: str, moment: datetime) -> str:
    """Return a date, a time or a duration in a format."""
    tokens, _ = _parts(code, 0)
    is_clock = any(kind == "clock" for kind, _ in tokens)
    texts: list[str] = []
    before = ""  # the unit of the previous part
    for place, (kind, text) in enumerate(tokens):
        if kind not in ("when", "elapsed", "clock"):
            texts.append("" if text == "@" else text)
            continue
        unit, _, fraction = text.lower().partition(".")
        letter, length = unit[0], len(unit)
        following = next((each[0].lower() for name, each in tokens[place + 1 :] if name in ("when", "elapsed")), "")
        if kind == "clock":
            texts.append(("AM", "PM")[moment.hour >= 12][: 1 if text.lower() == "a/p" else 2])
        elif kind == "elapsed":
            texts.append(str(int(seconds // {"h": 3600, "m": 60, "s": 1}[letter])).zfill(length))
        elif letter == "y":
            texts.append(str(moment.year) if length > 2 else f"{moment.year % 100:02}")
        elif letter == "m" and (before == "h" or following == "s"):
            texts.append(str(moment.minute).zfill(min(length, 2)))
        elif letter == "m":
            name = _MONTHS[moment.month - 1]
            texts.append(str(moment.month).zfill(length) if length < 3 else {3: name[:3], 4: name}.get(length, name[0]))
        elif letter == "d":
            name = _DAYS[moment.weekday()]
            texts.append(str(moment.day).zfill(length) if length < 3 else name[:3] if length == 3 else name)
        elif letter == "h":
            texts.append(str((moment.hour - 1) % 12 + 1 if is_clock else moment.hour).zfill(min(length, 2)))
        else:
            part = f".{moment.microsecond:06}"[: len(fraction) + 1] if fraction else ""
            texts.append(str(moment.second).zfill(min(length, 2)) + part)
        before = letter if kind != "clock" else before
    return " ".join("".join(texts).split())


@lru_cache(1000)
def _sections(code: str) -> list[str]:
    """Return the parts of a format for positive and negative numbers, zero, and texts."""
    code = code or "General"
    sections, start = [], 0
    while start <= len(code):
        match = _SECTION.match(code, start)
        assert match is not None
        sections.append(match[0])
        start = match.end() + 1
    return sections


@lru_cache(1000)
def _parts(code: str, section: int) -> tuple[list[tuple[str, str]], bool]:
    """Return the tokens of a part of a format, as (kind, text), and whether it is a date or a time."""
    tokens: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(_sections(code)[section]):
        kind = match.lastgroup or ""
        text = match[kind] if kind else " " if match[0][0] == "_" else ""
        if kind == "bracket":
            if text.lower().strip("hms") == "" and text:
                tokens.append(("elapsed", text))
            elif currency := _CURRENCY.fullmatch(text):
                tokens.append(("quoted", currency[1]))
            continue
        if match["when"]:
            kind, text = "when", match["when"] + (match["fraction"] or "")
        tokens.append((kind, text))
    return tokens, any(kind in ("when", "elapsed") for kind, _ in tokens)
