from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Document, Index, InvalidArgument
from leafspan.lexical import Analyzer, describe_analyzer, find_plain_words, to_terms
from leafspan.text import fold


def terms(text, **options):
    return Analyzer(**options)([text])[0]


def split_on_commas(text):
    return text.split(",")


def test_words_are_folded_stripped_of_stop_words_and_stemmed():
    assert terms("The Engines were RUNNING") == ["engin", "run"]


def test_stemming_and_stop_words_can_be_off():
    assert terms("The Engines", stem=False) == ["engines"]
    assert terms("The Engines", stop_words=False) == ["the", "engin"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COVID-19", ["covid", "19", "covid19"]),
        ("IL-6", ["il", "6", "il6"]),
        ("AB123 AB_123", ["ab123", "ab", "123", "ab", "123", "ab123"]),
        ("XJ-900/B", ["xj", "900", "xj900", "b", "xj900/b"]),
        ("v1.2.3 Python3.11", ["v1.2.3", "1.2.3", "python3.11", "python", "3.11"]),
        ("llama3.1:8b", ["llama3.1", "llama", "3.1", "8b", "8", "llama3.1:8b"]),
        ("10kg in 5kg", ["10kg", "10", "kg", "5kg", "5", "kg"]),
        ("1,250.50", ["1250.50"]),
        ("2024-01-15, 10-20", ["2024", "01", "15", "2024-01-15", "10", "20", "10-20"]),
        ("19th 1990s", ["19th", "19", "1990s", "1990"]),
        ("H1N1 CD4", ["h1n1", "cd4", "cd"]),
        ("HttpClientFactory", ["httpclientfactori", "http", "client", "factori"]),
        ("getHTTPResponse userID", ["gethttprespons", "get", "http", "respons", "userid", "user", "id"]),
        ("École NormaleSupérieure", ["ecol", "normalesuperieur", "normal", "superieur"]),
        ("McGee CoV mRNA DNAs PhD", ["mcgee", "cov", "mrna", "dnas", "phd"]),
        ("soft\u00adware un\u200bder", ["softwar"]),
        ("under\u00ad\nstandable", ["understand"]),
        ("under-\n  standable", ["standabl", "understand"]),
        ("AB-\r\n123", ["ab", "123", "ab123"]),
        ("a dash -\nhere", ["dash"]),
        ("Łódź København Øresund Wałęsa Kırıkkale", ["lodz", "kobenhavn", "oresund", "walesa", "kirikkal"]),
        ("the U.S. and the U.S.A", ["us", "usa"]),
        ("1,000 and 1000", ["1000", "1000"]),
        ("2.5 mg, 2.5mg", ["2.5", "mg", "2.5mg", "2.5", "mg"]),
        ("[1,2] 1.2.3", ["1", "2", "1.2.3"]),
        ("max_words", ["max", "word"]),
        ("John's O'Neill", ["john", "o'neil"]),
        ("it’s John’s", ["john"]),
        ("don't won't she'd", []),
        ("they won", ["won"]),
        ("caf\u00e9 cafe\u0301 cafe", ["cafe", "cafe", "cafe"]),
        ("ﬁnd CO₂ ＲＡＧ", ["find", "co2", "co", "rag"]),
        ("...!? -- ' _", []),
        ("", []),
    ],
)
def test_english_words_are_found(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都に", ["東京", "京都", "都に", "東", "京", "都", "に"]),
        ("猫", ["猫"]),
        ("RAG検索 by LLM", ["rag", "検索", "検", "索", "llm"]),
        ("ｶﾌｪ・カフェ", ["カフ", "フェ", "カ", "フ", "ェ"] * 2),
        ("한국어 문서", ["한국", "국어", "한", "국", "어", "문서", "문", "서"]),
    ],
)
@pytest.mark.parametrize("language", ["english", "german", "japanese"])
def test_chinese_japanese_and_korean_go_by_pairs_of_characters_in_any_language(text, expected, language):
    assert terms(text, language=language, stop_words=language == "english") == (
        expected if language == "english" or "by" not in text else ["rag", "検索", "検", "索", "by", "llm"]
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("ปี ๒๕๖๓ และ RAG", ["ปี", "๒๕๖๓", "แล", "ละ", "rag"]),  # digits make a number
        ("ราคา฿500", ["รา", "าค", "คา", "500"]),
        ("ພາສາ", ["ພາ", "າສ", "ສາ"]),
        ("မြန်", ["မြ", "ြန", "န်"]),
        ("កម្ព", ["កម", "ម្", "្ព"]),
        ("ก", ["ก"]),
        ("ไทย東京", ["ไท", "ทย", "ย東", "東京", "東", "京"]),
    ],
)
def test_alphabets_without_spaces_go_by_pairs_of_characters_alone(text, expected):
    assert terms(text) == expected
    assert set(Analyzer()([text], asked=True)[0]) <= set(expected)


def test_a_question_of_several_characters_is_about_pairs_of_them():
    assert Analyzer()(["東京都に", "猫", "猫 と犬"], asked=True) == [["東京", "京都", "都に"], ["猫"], ["猫", "と犬"]]


def test_words_of_other_languages_are_folded_and_stemmed():
    assert terms("Die Häuser und Straßen", language="german") == ["haus", "strass"]
    assert terms("STRASSE Straße", language="german") == ["strass", "strass"]
    assert terms("l'homme", language="french") == ["l", "homm"]
    assert terms("İSTANBUL istanbul ISPARTA ısparta", language="turkish", stem=False) == [
        "istanbul",
        "istanbul",
        "isparta",
        "isparta",
    ]
    assert terms("ISLIK ıslık", language="turkish", stem=False) == ["islik", "islik"]
    assert terms("ANKARALILAR AÇIKHAVA", language="turkish", stem=False) == ["ankaralilar", "acikhava"]  # no camel case
    assert terms("HttpIstemci", language="turkish", stem=False) == ["httpistemci", "http", "istemci"]
    assert terms("हिन्दी", language="hindi", stem=False) == ["हिन्दी"]
    assert terms("ΟΔΟΣ οδός", language="greek")[0] == terms("οδός", language="greek")[0]


@pytest.mark.parametrize("language", ["esperanto", "serbian", "tamil"])
def test_a_language_without_a_list_of_stop_words_leaves_no_word_out(language):
    assert terms("the la i", language=language, stem=False) == ["the", "la", "i"]


def test_an_unknown_language_is_an_error_that_lists_those_there_are():
    with pytest.raises(
        InvalidArgument, match=r"language must be one of 'auto', 'arabic', .*'english', .*'yiddish', got 'klingon'"
    ):
        Analyzer("klingon")
    with pytest.raises(InvalidArgument, match="stem must be True or False, got 'no'"):
        Analyzer(stem="no")


def test_options_make_an_equal_analyzer():
    analyzer = Analyzer("german", stem=False)
    assert Analyzer(**analyzer.options()) == analyzer
    assert describe_analyzer(analyzer) == "Analyzer(language=german, stem=False, stop_words=True)"


def test_an_analyzer_can_be_a_function():
    assert to_terms(split_on_commas, ["a,b", "c"]) == [["a", "b"], ["c"]]
    assert describe_analyzer(split_on_commas) == "tests.lexical.test_analysis:split_on_commas"
    assert to_terms(Analyzer(), ["Engines"]) == [["engin"]]


@pytest.mark.parametrize(
    ("given_back", "message"),
    [
        ("ab", "strings, got 'ab'"),
        (None, "strings, got None"),
        ((), r"strings, got \(\)"),
        (["a", 1], "strings alone, got 1"),
    ],
)
def test_a_function_that_gives_no_list_of_strings_is_an_error(given_back, message):
    with pytest.raises(InvalidArgument, match=f"must return a list of {message}; it was given 'text'"):
        to_terms(lambda text: given_back, ["text"])


@given(st.text(), st.text(), st.sampled_from(["english", "french", "turkish", "korean"]))
def test_a_text_gives_the_same_terms_wherever_it_stands(first, second, language):
    analyzer = Analyzer(language)
    assert analyzer([first, second]) == [*analyzer([first]), *analyzer([second])]
    if not re.search(r"[^\W_][-\u2010\u2011\xac\xad][ \t]*\Z", first):  # which would be a broken word
        assert analyzer([first + "\n" + second])[0] == analyzer([first])[0] + analyzer([second])[0]


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_the_short_way_for_ascii_finds_the_same_words(text):
    assert Analyzer(stem=False)([text + " ж"])[0] == [*Analyzer(stem=False)([text])[0], "ж"]


@pytest.mark.parametrize("language", ["french", "spanish", "portuguese", "italian", "swedish"])
@given(word=st.text(st.sampled_from("aeiousntrlcédàñóíêçöå"), min_size=2, max_size=12))
def test_a_word_is_found_without_its_accents(language, word):
    analyzer = Analyzer(language, stop_words=False)
    assert set(analyzer([fold(word)])[0]) <= set(analyzer([word])[0])


@given(
    word=st.text(st.sampled_from("abcxyzABCéł猫12")).filter(str.strip),
    invisible=st.text(st.sampled_from("\u00ad\u200b\u200d\u2060\ufeff\ufe0f"), max_size=2),
    language=st.sampled_from(["english", "german"]),
)
def test_invisible_characters_within_words_do_not_matter(word, invisible, language):
    analyzer = Analyzer(language)
    assert analyzer([invisible.join(word)]) == analyzer([word])


PARTS = ["a", "1,234", "1.2", "-", "_", "/", ".", ":", "'", "A", "xY", "12", "猫", "\u0301", "\n", "-\n", "\xad", " ", "é"]


@pytest.mark.parametrize("part", PARTS)
def test_no_text_takes_more_than_its_share_of_time(part):
    for other in ("", "b", "-", "1", "'", "U.", ","):
        text = (part + other) * (50_000 // len(part + other))
        before = time.process_time()
        Analyzer()([text])
        find_plain_words(text)
        assert time.process_time() - before < 1, other


@pytest.mark.parametrize(
    ("analyzer", "got"),
    [
        (lambda text: None, "got None"),
        (lambda text: text, 'got "The XJ-900'),
        (lambda text: 1 / 0, "which failed with ZeroDivisionError"),
        (lambda text: [1], "strings alone, got 1"),
    ],
    ids=["nothing", "a text", "an error", "numbers"],
)
def test_an_analyzer_that_gives_no_terms_is_refused_when_the_index_is_opened(tmp_path, analyzer, got):
    with pytest.raises(InvalidArgument, match=got):
        Index.open(tmp_path / "kb", analyzer=analyzer)
    assert not (tmp_path / "kb").exists()


def test_a_function_that_was_edited_since_finds_words_as_it_makes_them_now(tmp_path):
    def opened(terms) -> Index:
        def tokenizer(text: str) -> list[str]:
            return terms(text)

        return Index.open(tmp_path / "kb", analyzer=tokenizer)

    with opened(lambda text: text.split()) as index:
        index.add(Document("a", "The XJ-900 is here."))
        assert [found.document_id for found in index.retrieve("XJ-900", BM25())] == ["a"]
    with opened(lambda text: text.lower().split()) as index:
        assert [found.document_id for found in index.retrieve("xj-900", BM25())] == ["a"]
