"""Two spellings of a word are equal after folding, and no text takes quadratic time."""

from __future__ import annotations

import itertools
import time
import unicodedata
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.text import INVISIBLE, fold, fold_with_places, normalize, without_invisible

NAMES = ["İbrahim Işık", "Ελένη", "한글", "Łódź", "Øresund", "Ångström", "क़लम", "ガラス", "דָּוִד", "مُحَمَّد"]
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("İbrahim", "ibrahim"),
        ("IŞIK", "ışık"),
        ("ΕΛΕΝΗ", "Ελένη"),
        ("Łódź", "LODZ"),
        ("København", "kobenhavn"),
        ("Wałęsa", "walesa"),
        ("Kırıkkale", "KIRIKKALE"),
        ("Straße", "STRASSE"),
        ("O’Brien", "O'Brien"),
        ("AB\u2011123", "ab-123"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("soft\u00adware", "software"),
    ],
)
def test_ways_to_write_a_word_are_folded_to_the_same_text(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(
    name=st.sampled_from(NAMES),
    form=st.sampled_from(FORMS),
    upper=st.booleans(),
    between=st.text(st.sampled_from("\u00ad\u200b\u200d\u3164\u17b4\ufe0f\U000e0100\U000e0041"), max_size=3),
)
def test_case_form_and_invisible_characters_do_not_matter(name: str, form: str, upper: bool, between: str) -> None:
    disguised = between.join(unicodedata.normalize(form, name.upper() if upper else name))  # type: ignore[arg-type]
    assert fold(disguised) == fold(name)
    assert fold_with_places(disguised)[0] == fold_with_places(name)[0]


@given(st.text())
def test_folding_again_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(fold(text, accents=True), accents=True) == fold(text, accents=True)


@given(st.text())
def test_each_folded_character_comes_from_a_place_of_the_text(text: str) -> None:
    folded, places = fold_with_places(text)
    if places is None:
        assert len(folded) == len(text)
    else:
        assert len(places) == len(folded)
        assert all(0 <= start < end <= len(text) for start, end in places)
        assert all(before == after or before[1] <= after[0] for before, after in itertools.pairwise(places))


@given(
    st.lists(st.text(st.sampled_from("aกかกक\u0e38\u0e48\u3099\u094d\u093c\u0301\u0316\u200b"), max_size=8)).map("".join)
)
def test_both_ways_to_fold_agree_on_which_texts_are_the_same(text: str) -> None:
    for form in FORMS:
        assert fold_with_places(unicodedata.normalize(form, text))[0] == unicodedata.normalize("NFD", fold(text))


@given(st.text(st.characters(min_codepoint=0xA0, max_codepoint=0x2FFFF), min_size=60))
def test_texts_with_many_letters_are_folded_like_their_parts(text: str) -> None:
    assert fold(text) == unicodedata.normalize("NFC", fold_with_places(text)[0])


@given(st.text(), st.sampled_from(FORMS))
def test_texts_with_few_marks_in_a_row_are_normalized_as_by_python(text: str, form: str) -> None:
    assert normalize(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


def test_what_is_not_seen_is_left_out() -> None:
    assert without_invisible("a\u00adb\u200bc\ufeff") == "abc"
    assert not INVISIBLE.search("abc é 猫 \n")


MANY_MARKS = [
    "a" + "\u0300\u0316" * 20_000,
    "\u3099\u0e38\u0e48\u0f71\u094d" * 10_000,  # marks that no folding drops
    "\u0e48\u0e38" * 20_000,
    ("e" + "\u0345\u0301") * 20_000,
    "\u1100\u1161\u11a8" * 20_000,
    "".join(each for each in map(chr, range(0x80, 0x20000)) if not 0xD800 <= ord(each) < 0xE000),
]


@pytest.mark.parametrize(
    "work",
    [fold, partial(fold, accents=True), fold_with_places, without_invisible, *(partial(normalize, form) for form in FORMS)],
)
@pytest.mark.parametrize("text", MANY_MARKS)
def test_no_text_takes_longer_than_in_proportion(work, text: str) -> None:
    work(text[:1000])
    before = time.process_time()
    work(text)
    assert time.process_time() - before < 2  # 8 s by unicodedata.normalize
