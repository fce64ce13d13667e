"""Known names, and numbers with a pattern, are found completely in any disguise, and restored exactly."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.private import Patterns
from leafspan.private.pseudonyms import Disguise, KnownTerms, Restoring, find_all, pseudonyms_in
from leafspan.private.pseudonyms._entities import normal_value, pseudonym
from tests.profiles import examples

NAMES = [
    "Alice Smith", "Ann", "İbrahim Işık", "ışık", "Ελένη Παπαδοπούλου", "Νίκος", "김철수", "한글", "Zoë Ångström", "Łódź",
    "Straße", "Müller-Lüdenscheidt", "O’Brien", "Ольга Йоркина", "राम कुमार", "สมชาย", "山田 太郎", "佐々木", "ジョン・ガルシア",
    "金", "محمد", "الحسن علي", "דוד", "בן גוריון", "Nguyễn Văn Thiệu", "#12, High St.",
]  # fmt: skip
KNOWN = KnownTerms({"PERSON": NAMES})
WITHOUT_BLANKS = {"김철수", "한글", "山田 太郎", "佐々木", "ジョン・ガルシア", "สมชาย"}
HIDDEN = "\u00ad\u034f\u115f\u17b4\u180b\u200b\u200c\u200d\u200e\u202e\u2060\u3164\ufe00\ufe0f\ufeff\uffa0\U000e0041\U000e0100\U000e01ef"
PREFIXES = {
    "م": ["و", "ف", "ب", "ك", "ل", "ال", "وال", "ولل"],
    "ا": ["و", "ب", "فك"],
    "ד": "והבכלמש",
    "ב": ["ו", "של", "ה"],
}


def disguise(*finders: Any) -> Disguise:
    return Disguise(finders, lambda kind, value: pseudonym(b"k" * 32, kind, value))


@given(
    name=st.sampled_from(NAMES),
    form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
    case=st.sampled_from([str, str.upper, str.lower, str.title, str.swapcase]),
    hidden=st.lists(st.text(st.sampled_from(HIDDEN), max_size=2), min_size=1, max_size=4),
    blank=st.sampled_from([" ", "\u00a0", "\u3000", "\n", "_", "-", "\u2011", "\u200b", "\u3164"]),
    prefix=st.integers(0, 8),
    before=st.sampled_from(["", "Ask ", "(", "猫", "\u200b"]),
    after=st.sampled_from(["", ".", " said", "’s", "猫", "さん", "은"]),
)
@examples(600)
@example("山田 太郎", "NFC", str, [""], "", 0, "", "")
@example("김철수", "NFD", str, [""], "", 0, "", "ㅠㅠ")
def test_a_disguised_name_is_masked_wholly_and_comes_back_to_the_letter(
    name: str,
    form: Literal["NFC", "NFD", "NFKC", "NFKD"],
    case: Any,
    hidden: Sequence[str],
    blank: str,
    prefix: int,
    before: str,
    after: str,
):
    if name in WITHOUT_BLANKS and blank != " ":
        parts = list(name.replace(" ", "").replace("・", ""))
        written = parts[0] + ("" if blank == "_" else blank) + "".join(parts[1:])
    else:
        written = name.replace(" ", blank)
    letters = unicodedata.normalize(form, case(written))
    written = "".join(letter + hidden[place % len(hidden)] for place, letter in enumerate(letters[:-1])) + letters[-1]
    if prefix and (prefixes := PREFIXES.get(name[0])):
        before += prefixes[prefix % len(prefixes)]
    text = before + written + after
    masked = disguise(KNOWN).text(text)
    assert Restoring(masked.places).text(masked.text) == text
    (place,) = [each for each in masked.places if each.kind]
    assert place.pseudonym == pseudonym(b"k" * 32, "PERSON", name)
    assert str(place.original).startswith(written)
    assert masked.text.replace(" ", "") == (
        before + place.pseudonym + (before + written + after)[len(before) + len(str(place.original)) :]
    ).replace(" ", "")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("가", "각", []),  # another syllable, not one that begins with the name
        ("가", unicodedata.normalize("NFD", "각"), []),
        ("가", "가을", ["가"]),
        ("각", "갂", []),
        ("たか", "たが", []),
        ("राम", "रामायण", []),
        ("राम", "राम, रामा", ["राम"]),
        ("Ann", "Annexion An\u00adnexion Ann\u00adexion", []),
        ("Ann A", "Anna AnnA", []),
        ("Ann A", "Ann\u200bA", ["Ann\u200bA"]),
        ("Alice Smith", "AliceSmith, Ali ce Smith", []),
        ("Alice\u200bSmith", "Alice Smith", ["Alice Smith"]),
        ("Ann", "Annさん、Ann은", ["Ann", "Ann"]),
        ("ああ", "ああああ", ["ああ", "ああ"]),
        ("李小龙", "李小\n龙", ["李小\n龙"]),
        ("محمد", "محمود ومحمدي", []),
        ("الحسن", "للحسن", ["للحسن"]),
        ("דוד", "לדוד ודודים", ["דוד"]),
        ("Zoë", "Zoe", ["Zoe"]),
        ("Zoe", "ZOË", ["ZOË"]),
        ("ı", "I i İ ı", ["I", "i", "İ", "ı"]),
    ],
)
def test_what_is_and_is_not_the_name(name: str, text: str, expected: list[str]):
    found = find_all([KnownTerms({"PERSON": [name]})], text)
    assert [text[each.start : each.end].strip("\u00ad\u200b") for each in found] == expected


@pytest.mark.parametrize("term", ["\u200b", " \u3164", "\u0301", "-"])
def test_a_term_without_anything_visible_is_blank(term: str):
    with pytest.raises(InvalidArgument, match="must be a text that is not blank"):
        KnownTerms({"PERSON": [term]})


NUMBERS = {
    "EMAIL_ADDRESS": "ann@example.com",
    "IBAN_CODE": "DE89370400440532013000",
    "CREDIT_CARD": "4111 1111 1111 1111",
    "US_SSN": "536-90-4399",
    "IP_ADDRESS": "192.168.17.4",
}


@given(
    kind=st.sampled_from(sorted(NUMBERS)),
    hidden=st.lists(st.text(st.sampled_from(HIDDEN), max_size=2), min_size=1, max_size=4),
    wide=st.booleans(),
)
@examples(300)
def test_a_disguised_number_is_masked_wholly_and_comes_back_to_the_letter(kind: str, hidden: Sequence[str], wide: bool):
    letters = [chr(ord(each) + 0xFEE0) if wide and each.isalnum() else each for each in NUMBERS[kind]]
    written = "".join(letter + hidden[place % len(hidden)] for place, letter in enumerate(letters[:-1])) + letters[-1]
    text = f"It is {written}, I think"
    masked = disguise(PATTERNS).text(text)
    assert Restoring(masked.places).text(masked.text) == text
    assert masked.text == f"It is {pseudonym(b'k' * 32, kind, NUMBERS[kind])}, I think"


PATTERNS = Patterns()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("٤١١١ ١١١١ ١١١١ ١١١١", "٤١١١ ١١١١ ١١١١ ١١١١"),
        ("𝟒𝟏𝟏𝟏 1111 1111 1111", "𝟒𝟏𝟏𝟏 1111 1111 1111"),
        ("4️⃣111 1111 1111 1111", "4️⃣111 1111 1111 1111"),
        ("4111 1111 1111 1111²", "4111 1111 1111 1111"),
        ("ann﹫example.com", "ann﹫example.com"),
        ("mu\u0308ller@example.com", "mu\u0308ller@example.com"),
        ("müller@example.com", "müller@example.com"),
    ],
)
def test_other_digits_and_letters_match_the_patterns(text: str, expected: str):
    (found,) = find_all([PATTERNS], text)
    assert text[found.start : found.end] == expected


@pytest.mark.parametrize(
    ("one", "other"), [("山田 太郎", "山田太郎"), ("IŞIK", "ışık"), ("ΕΛΕΝΗ", "Ελένη"), ("Al\u200bice", "alice")]
)
def test_a_model_that_finds_two_spellings_gives_them_one_pseudonym(one: str, other: str):
    assert normal_value("PERSON", one) == normal_value("PERSON", other)


def test_many_names_in_a_long_text_take_time_in_proportion():
    names = [f"First{number} Läst{number}" for number in range(10_000)]
    known = KnownTerms({"PERSON": names})
    text = " ".join(f"{name} ə" for name in names[:5_000]) + "\u200bAnn" * 25_000
    before = time.process_time()
    assert len(known(text)) == 5_000
    assert time.process_time() - before < 5


def test_masked_text_has_pseudonyms_as_words_of_their_own_within_scripts_without_spaces():
    masked = disguise(KNOWN).text("김철수는 ומבן גוריון")
    assert len(list(pseudonyms_in(masked.text))) == 2
