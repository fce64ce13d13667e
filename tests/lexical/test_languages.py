"""Documents are read in their own language, and questions in those of the documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Analyzer, BM25Settings, Document, Hybrid, Index
from leafspan.lexical import Corpus, RankBM25, build_postings, find_language, known_code, merge_postings, reading_number
from leafspan.lexical._languages import READINGS, reading_of
from tests.profiles import examples

TEXTS = {
    "de": "Die Rückgabe der Ware ist innerhalb von dreißig Tagen nach der Lieferung möglich.",
    "en": "Goods can be returned within thirty days of the delivery.",
    "fr": "Les marchandises peuvent être retournées dans les trente jours suivant la livraison.",
    "tr": "Ürünler teslimattan sonraki otuz gün içinde iade edilebilir.",
    "ru": "Товары можно вернуть в течение тридцати дней после доставки.",
    "th": "สินค้าสามารถคืนได้ภายในสามสิบวันหลังจากการจัดส่ง",
    "zh": "货物可在交货后三十天内退回。",
    "ja": "商品は配達後30日以内に返品できます。",
}


@pytest.mark.parametrize("code", TEXTS)
def test_the_language_of_a_sentence_is_found(code):
    assert find_language(TEXTS[code]) == code


@pytest.mark.parametrize("text", ["", " ", "12.5 %", "Urlaub: 28 Tage", "x = f(y)", "\ud800"])
def test_a_text_of_few_words_has_no_certain_language(text):
    assert find_language(text) is None


def test_most_of_a_text_decides_and_its_length_does_not_matter():
    assert find_language(TEXTS["de"] * 3 + TEXTS["en"]) == "de"
    assert find_language(TEXTS["en"] + TEXTS["de"] * 10_000) == "de"


@given(st.text())
def test_any_text_has_a_language_or_none(text):
    assert find_language(text) is None or reading_of(find_language(text)) in READINGS


@pytest.mark.parametrize(
    ("value", "code"),
    {"de": "de", "DE": "de", "de-AT": "de", "pt_BR": "pt", "German": "de", "klingon": None, "": None, 5: None}.items(),
)
def test_users_name_languages_by_code_or_by_name(value, code):
    assert known_code(value) == code


def test_the_places_of_readings_are_stored_and_stay():
    assert READINGS[:6] == ("english", "arabic", "bulgarian", "plain", "catalan", "czech")
    assert len(READINGS) == len(set(READINGS)) < 256
    assert reading_number(Analyzer(), None) == 0
    assert reading_number(Analyzer("german"), "fr") == 0


def test_an_analyzer_reads_each_text_in_its_own_language():
    assert Analyzer()([TEXTS["de"], TEXTS["en"]]) == Analyzer("german")([TEXTS["de"]]) + Analyzer("english")([TEXTS["en"]])
    assert Analyzer(stem=False).reading("de") == Analyzer("german", stem=False)
    assert Analyzer("german").reading("fr") == Analyzer("german")


# An index of several languages


@pytest.fixture
def index(tmp_path):
    with Index.open(tmp_path / "kb") as opened:
        opened.add([Document(code, text) for code, text in TEXTS.items()])
        yield opened


def test_the_language_is_said_and_is_not_part_of_the_metadata(index):
    assert {each.id: each.language for each in index.documents()} == {code: code for code in TEXTS}
    assert index.stats().languages == dict.fromkeys(TEXTS, 1)
    assert index.get("de").metadata == {}
    assert all("language" not in passage.metadata for passage in index.retrieve("delivery"))


def test_filters_find_the_language(index):
    assert {each.document_id for each in index.retrieve("delivery", where={"language": "de"})} == {"de"}
    assert {each.document_id for each in index.scoped({"language": {"$in": ["de", "fr"]}}).retrieve("30")} <= {"de", "fr"}
    assert index.scoped({"language": "tr"}).stats().documents == 1
    index.delete(where={"language": "tr"})
    assert "tr" not in index.stats().languages


def test_the_users_own_value_wins(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(
            [
                Document("code", TEXTS["en"], metadata={"language": "python"}),
                Document("swiss", TEXTS["en"], metadata={"language": "de-CH"}),
            ]
        )
        assert [each.language for each in index.documents()] == ["en", "de"]
        assert index.retrieve("delivery", where={"language": "python"})
        assert not index.retrieve("delivery", where={"language": "en"})
        # The words of one were read as English, and those of the other as German.
        assert [each.document_id for each in index.retrieve("returning", BM25())] == ["code"]


@pytest.mark.parametrize("strategy", [BM25(), BM25(engine="rank-bm25", bm25=BM25Settings(variant="okapi")), Hybrid()])
@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Wie lange sind Rückgaben möglich?", "de"),
        ("How long are returns of goods possible?", "en"),
        ("Peut-on retourner la marchandise?", "fr"),
        ("Ürünü iade edebilir miyim?", "tr"),
        ("Как вернуть товар?", "ru"),
        ("คืนสินค้าได้ไหม", "th"),
        ("退回货物", "zh"),
    ],
)
def test_a_question_is_read_in_the_languages_of_the_documents(index, strategy, question, code):
    assert index.retrieve(question, strategy, k=1)[0].document_id == code


def test_a_name_is_found_in_documents_of_any_language(index):
    index.add(
        [Document("andere", f"{TEXTS['de']} Anfragen beantwortet Frau Petersons."), Document("others", TEXTS["en"] * 3)]
    )
    found = index.retrieve("How can I reach Ms Petersons about the delivery?", BM25(), k=3)
    assert "andere" in [each.document_id for each in found]


def test_matching_words_stand_out_in_each_language(index):
    found = index.retrieve("Sind Rückgaben möglich?", BM25(), k=1)
    (passage,) = found
    assert {passage.text[slice(*place)] for place in found.words(passage.text)} == {"Rückgabe", "möglich"}


# BM25 over several readings

_TERMS = st.lists(st.sampled_from("abc"), max_size=4)
_LEAVES = st.lists(st.tuples(_TERMS, st.sampled_from([0, 1, 7])), min_size=1, max_size=12)
_SETTINGS = BM25Settings()


def arrays_of(leaves):
    import numpy as np

    return build_postings([terms for terms, _ in leaves], readings=np.array([reading for _, reading in leaves], np.uint8))


@examples(100)
@given(_LEAVES, _LEAVES, st.fixed_dictionaries({0: _TERMS, 1: _TERMS, 7: _TERMS}))
def test_each_leaf_has_the_score_of_the_question_as_its_reading_has_it(first, second, questions):
    from collections import Counter

    import numpy as np

    corpus = Corpus([(arrays_of(first), None), (arrays_of(second), None)])
    bags = {reading: {term: float(times) for term, times in Counter(terms).items()} for reading, terms in questions.items()}
    found = corpus.score({reading: bags[reading] for reading in corpus.readings()}, settings=_SETTINGS)
    alone = {reading: corpus.score(terms, settings=_SETTINGS) for reading, terms in questions.items()}
    of_leaves = [reading for _, reading in first + second]
    expected = [alone[reading].scores[row] for row, reading in enumerate(of_leaves)]
    np.testing.assert_allclose(found.scores, expected)
    assert found.ideal == pytest.approx(max(alone[reading].ideal for reading in set(of_leaves)))
    merged = Corpus([(merge_postings([(arrays_of(first), None), (arrays_of(second), None)]), None)])
    again = merged.score({reading: bags[reading] for reading in merged.readings()}, settings=_SETTINGS)
    np.testing.assert_array_equal(again.scores, found.scores)


def test_rank_bm25_reads_a_question_for_each_reading_too():
    leaves = [(["a"], 0), (["a", "b"], 1), (["c"], 1), (["d"], 7), (["d"], 7), (["e"], 7)]
    corpus = RankBM25([(arrays_of(leaves), None)])
    okapi = BM25Settings(variant="okapi")
    found = corpus.score({0: {"a": 1}, 1: {"b": 1}, 7: {"c": 1}}, settings=okapi).scores
    assert [bool(score) for score in found] == [True, True, False, False, False, False]


def test_the_language_of_another_tenants_documents_changes_nothing(tmp_path):
    own = [Document("de", TEXTS["de"], metadata={"tenant": "a"}), Document("tr", TEXTS["tr"], metadata={"tenant": "a"})]
    other = [Document(code, TEXTS[code], metadata={"tenant": "b"}) for code in ("en", "fr", "ru", "th")]
    with Index.open(tmp_path / "both") as both, Index.open(tmp_path / "alone") as alone:
        both.add(own + other)
        alone.add(own)
        for strategy in (BM25(), BM25(scale=True), Hybrid()):
            for question in ("Wie lange ist die Rückgabe möglich?", "How long is it possible?", "30"):
                rows = [
                    [(each.id, each.score) for each in index.scoped({"tenant": "a"}).retrieve(question, strategy)]
                    for index in (both, alone)
                ]
                assert rows[0] == rows[1]
