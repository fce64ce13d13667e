from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Document, Index, InvalidArgument
from leafspan.lexical import Analyzer, describe_analyzer, to_terms


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
        ("COVID-19", ["covid", "19"]),
        ("IL-6", ["il", "6"]),
        ("the U.S. and the U.S.A", ["us", "usa"]),
        ("1,000 and 1000", ["1000", "1000"]),
        ("2.5 mg, 2.5mg", ["2.5", "mg", "2.5", "mg"]),
        ("[1,2] 1.2.3", ["1", "2", "1.2.3"]),
        ("max_words", ["max", "word"]),
        ("John's O'Neill", ["john", "o'neil"]),
        ("it’s John’s", ["john"]),
        ("don't won't she'd", []),
        ("they won", ["won"]),
        ("caf\u00e9 cafe\u0301 cafe", ["cafe", "cafe", "cafe"]),
        ("ﬁnd CO₂ ＲＡＧ", ["find", "co2", "rag"]),
        ("...!? -- ' _", []),
        ("", []),
    ],
)
def test_english_words_are_found(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都に", ["東京", "京都", "都に"]),
        ("猫", ["猫"]),
        ("RAG検索 by LLM", ["rag", "検索", "llm"]),
        ("ｶﾌｪ・カフェ", ["カフ", "フェ", "カフ", "フェ"]),
        ("한국어 문서", ["한국", "국어", "문서"]),
    ],
)
@pytest.mark.parametrize("language", ["english", "german", "japanese"])
def test_chinese_japanese_and_korean_go_by_pairs_of_characters_in_any_language(text, expected, language):
    assert terms(text, language=language, stop_words=language == "english") == (
        expected if language == "english" or "by" not in text else ["rag", "検索", "by", "llm"]
    )


def test_words_of_other_languages_are_folded_and_stemmed():
    assert terms("Die Häuser und Straßen", language="german") == ["haus", "strass"]
    assert terms("STRASSE Straße", language="german") == ["strass", "strass"]
    assert terms("l'homme", language="french") == ["l", "homm"]
    assert terms("İSTANBUL istanbul ISPARTA ısparta", language="turkish", stem=False) == [
        "istanbul",
        "istanbul",
        "ısparta",
        "ısparta",
    ]
    assert terms("ISLIK", language="turkish", stem=False) == ["ıslık"]
    assert terms("हिन्दी", language="hindi", stem=False) == ["हिन्दी"]
    assert terms("ΟΔΟΣ οδός", language="greek")[0] == terms("οδός", language="greek")[0]


@pytest.mark.parametrize("language", ["esperanto", "serbian", "tamil"])
def test_a_language_without_a_list_of_stop_words_leaves_no_word_out(language):
    assert terms("the la i", language=language, stem=False) == ["the", "la", "i"]


def test_an_unknown_language_is_an_error_that_lists_those_there_are():
    with pytest.raises(InvalidArgument, match=r"language must be one of 'arabic', .*'english', .*'yiddish', got 'klingon'"):
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
    assert analyzer([first + "\n" + second])[0] == analyzer([first])[0] + analyzer([second])[0]


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_the_short_way_for_ascii_finds_the_same_words(text):
    assert Analyzer(stem=False)([text + " ж"])[0] == [*Analyzer(stem=False)([text])[0], "ж"]


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
