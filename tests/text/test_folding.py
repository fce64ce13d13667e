"""Two ways to write the same word are equal once they are folded, and no text takes quadratic time."""

from __future__ import annotations

import itertools
import time
import unicodedata

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


@given(st.text(), st.sampled_from(FORMS))
def test_texts_with_few_marks_in_a_row_are_normalized_as_by_python(text: str, form: str) -> None:
    assert normalize(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


def test_what_is_not_seen_is_left_out() -> None:
    assert without_invisible("a\u00adb\u200bc\ufeff") == "abc"
    assert not INVISIBLE.search("abc é 猫 \n")


@pytest.mark.parametrize("work", [fold, fold_with_places, lambda text: normalize("NFKC", text)])
def test_a_run_of_marks_takes_time_in_proportion(work) -> None:
    text = "a" + "\u0300\u0316" * 20_000
    before = time.process_time()
    work(text)
    assert time.process_time() - before < 2  # 8 s by unicodedata.normalize
