"""Documents are read in their own language, and questions in the documents' languages."""

from collections import Counter

import numpy as np
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


SCRIPTS = {
    "am": "ሁሉም ሰዎች ነፃ ሆነው ይወለዳሉ",
    "bn": "সমস্ত মানুষ স্বাধীনভাবে জন্মগ্রহণ করে",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι",
    "gu": "બધા માનવીઓ મુક્ત જન્મે છે",
    "he": "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם",
    "hy": "Բոլոր մարդիկ ծնվում են ազատ",
    "ja": "すべての人間は、生れながらにして自由である",
    "ka": "ყველა ადამიანი იბადება თავისუფალი",
    "km": "មនុស្សទាំងអស់កើតមកមានសេរីភាព",
    "kn": "ಎಲ್ಲಾ ಮಾನವರೂ ಸ್ವತಂತ್ರರಾಗಿಯೇ ಜನಿಸಿದ್ದಾರೆ",
    "ko": "모든 인간은 태어날 때부터 자유로우며",
    "lo": "ມະນຸດທຸກຄົນເກີດມາມີອິດສະຫຼະ",
    "ml": "മനുഷ്യരെല്ലാവരും സ്വതന്ത്രരായി ജനിക്കുന്നു",
    "my": "လူတိုင်းသည် လွတ်လပ်စွာ မွေးဖွားလာသူများ ဖြစ်သည်",
    "or": "ସମସ୍ତ ମନୁଷ୍ୟ ଜନ୍ମକାଳରୁ ସ୍ୱାଧୀନ",
    "pa": "ਸਾਰੇ ਮਨੁੱਖ ਆਜ਼ਾਦ ਜਨਮ ਲੈਂਦੇ ਹਨ",
    "si": "සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත",
    "ta": "மனிதப் பிறவியினர் அனைவரும் சுதந்திரமாகப் பிறக்கின்றனர்",
    "te": "మానవులందరూ స్వేచ్ఛగా జన్మించారు",
}


@pytest.mark.parametrize("code", SCRIPTS)
def test_the_script_decides_first(code):
    assert find_language(SCRIPTS[code]) == code
    assert find_language(f"{SCRIPTS[code]} (HTTP, IBM PC-DOS 3.3)") == code  # also among some names in Latin
    assert find_language(SCRIPTS[code], expected="de") == find_language(SCRIPTS[code], expected=None) == code


def test_a_text_in_an_unknown_script_has_no_language():
    assert find_language("ᎠᏂᎦᏚᎴᎩ ᎠᏂᏴᏫ ᎤᎾᏓᏠᎯᏍᏛ") is None


@pytest.mark.parametrize(
    "text",
    [
        # tables, names and numbers, which are no evidence
        "| 5.125% Senior Notes due December 2024 | 421.9 | 458.9 |\n| 4.00% Senior Notes due December 2027 | 420.4 | 431.5 |",
        "Authors: Chan, Jasper Fuk-Woo; Kok, Kin-Hang; Zhu, Zheng; Chu, Hin; To, Kelvin Kai-Wang; Yuan, Shuofeng",
        "Germany\n 3M Real Estate GmbH & Co KG\nGermany\n Dyneon GmbH\nHong Kong\n 3M Hong Kong Limited\nIndia\n 3M India Limited",
        "Gunnlaugsson, Geir; Hauksdóttir, Íris Eva; Bygbjerg, Ib Christian; Pinkowski Tersbøl, Britt",
        "https://www.bag.admin.ch/bag/de/home/das-bag/aktuell/medienmitteilungen.msg-id-78454.html",
        "2019-04-30 12:00:01 ERROR org.apache.kafka.clients.NetworkClient:763 - node -1",
    ],
)
def test_tables_names_numbers_and_addresses_are_no_evidence_of_another_language(text):
    assert find_language(text) in (None, "en")
    assert find_language(f"{text}\n{'The notes were issued by the company, and they are due in ten years. ' * 2}") == "en"


def test_a_text_with_foreign_names_is_in_the_language_of_its_sentences():
    text = (
        "Boris Nikolayevich Yeltsin met Leonid Kuchma and Stanislav Shushkevich in Viskuli. Ngugi wa Thiong'o and Wangari "
        "Maathai wrote to Jomo Kenyatta, and they were answered by Daniel arap Moi."
    )
    assert find_language(text) == "en"


def test_the_language_of_an_index_decides_where_a_texts_is_uncertain():
    text = "Kaffee und Tee"
    assert find_language(text, expected="de") == "de"
    assert find_language(text, expected=None) is None
    assert find_language(TEXTS["fr"], expected="de") == find_language(TEXTS["fr"], expected=None) == "fr"


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
        # The words of one were read as English, and the words of the other as German.
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


def test_a_document_of_uncertain_language_is_read_like_most_of_the_others(tmp_path):
    doubtful = Document("doubtful", "Kaffee und Tee")
    german = [Document(f"{number}", f"{TEXTS['de']} {number}.") for number in range(3)]
    with Index.open(tmp_path / "kb") as index:
        index.add([*german, doubtful])
        assert index.documents()[-1].language == "de"
        index.delete(["doubtful"])
        index.add(doubtful)
        assert index.documents()[-1].language == "de"
    with Index.open(tmp_path / "two") as index:
        index.add([*german, doubtful], workers=2)
        assert index.documents()[-1].language == "de"
    with Index.open(tmp_path / "three") as index:
        index.add([Document(each.id, each.text, metadata={"tenant": "a"}) for each in german])
        index.scoped({"tenant": "b"}).add(doubtful)  # another tenant's documents decide nothing
        assert index.scoped({"tenant": "b"}).documents()[0].language != "de"


PARAGRAPHS = [
    "The treaty was signed in the spring by the ministers of both countries, and it was never ratified.",
    "What the bees do in the winter is to keep the queen warm, and to live on the honey of the summer.",
    "The bridge is the longest of the region. It was built in the years after the flood.",
    "Of the many kinds of tea, the green one is the least fermented, and it is the most bitter.",
    "The library has a copy of the first edition, which was given to it by the widow of the author.",
    "When the volcano erupted, the village at the foot of the mountain was covered in ash.",
]
QUESTIONS = [
    "What is the name of the longest bridge?",
    "Who was the author of the treaty?",
    "What is it that was in the ash?",
]


@pytest.mark.parametrize("code", ["tl", "sw", "de", "fi", "vi"])
@pytest.mark.parametrize("engine", ["postings", "rank-bm25"])
def test_a_document_marked_with_a_wrong_language_changes_no_order_and_gains_nothing_for_stop_words(tmp_path, code, engine):
    bm25 = BM25(engine=engine, bm25=BM25Settings(variant="okapi" if engine == "rank-bm25" else "lucene"))
    documents = [Document(f"{number}", text) for number, text in enumerate(PARAGRAPHS)]
    other = Document("other", "The one and the other were in the house, and what is of the one is of the other.")
    wrong = Document(other.id, other.text, metadata={"language": code})
    with Index.open(tmp_path / "without") as without, Index.open(tmp_path / "with") as index:
        without.add(documents)
        index.add([*documents, wrong])
        for question in QUESTIONS:
            for strategy in (bm25, BM25()):
                expected = [(each.id, each.score) for each in without.retrieve(question, strategy)]
                found = [(each.id, each.score) for each in index.retrieve(question, strategy)]
                assert found == expected  # the other one has only stop words in common with the questions


def test_a_question_of_stop_words_still_finds(tmp_path):
    with Index.open(tmp_path / "english") as index:
        index.add([*(Document(f"{number}", text) for number, text in enumerate(PARAGRAPHS)), Document("de", TEXTS["de"])])
        index.add(Document("taxis", "The company Über was sued by the taxi drivers of the city."))
        index.add(Document("band", "The Who are a band. They were formed in London, and are known for their concerts."))
        for strategy in (BM25(), Hybrid()):
            assert index.retrieve("über", strategy, k=1)[0].document_id == "taxis"
        assert index.retrieve("The Who", k=1)[0].document_id == "band"
    with Index.open(tmp_path / "german") as index:
        index.add([Document(f"{number}", f"{TEXTS['de']} {number}.") for number in range(3)])
        index.add(Document("konzert", "Wir waren gestern bei dem Konzert von The Who in der Halle, und es war sehr laut."))
        assert index.retrieve("The Who", BM25(), k=1)[0].document_id == "konzert"


# BM25 over several readings

_TERMS = st.lists(st.sampled_from("abc"), max_size=4)
_LEAVES = st.lists(st.tuples(_TERMS, st.sampled_from([0, 1, 7])), min_size=1, max_size=12)
_SETTINGS = BM25Settings()


def arrays_of(leaves):
    return build_postings([terms for terms, _ in leaves], readings=np.array([reading for _, reading in leaves], np.uint8))


@examples(100)
@given(_LEAVES, _LEAVES, st.fixed_dictionaries({0: _TERMS, 1: _TERMS, 7: _TERMS}))
def test_each_leaf_has_the_score_of_the_question_as_its_reading_has_it(first, second, questions):
    corpus = Corpus([(arrays_of(first), None), (arrays_of(second), None)])
    bags = {reading: {term: float(times) for term, times in Counter(terms).items()} for reading, terms in questions.items()}
    leaves = first + second
    found = corpus.score({reading: bags[reading] for reading in corpus.readings()}, settings=_SETTINGS)
    alone = {
        reading: Corpus([(arrays_of([leaf for leaf in leaves if leaf[1] == reading]), None)]).score(
            {None: bags[reading]}, settings=_SETTINGS
        )
        for reading in corpus.readings()
    }
    main = next((alone[each].ideal for each in corpus.readings() if alone[each].ideal > 0), 0.0)
    assert found.ideal == pytest.approx(main)
    for reading, of_reading in alone.items():
        rows = [row for row, leaf in enumerate(leaves) if leaf[1] == reading]
        scale = main / of_reading.ideal if of_reading.ideal else 1.0
        np.testing.assert_allclose(found.scores[rows], of_reading.scores * scale)
    merged = Corpus([(merge_postings([(arrays_of(first), None), (arrays_of(second), None)]), None)])
    again = merged.score({reading: bags[reading] for reading in merged.readings()}, settings=_SETTINGS)
    np.testing.assert_array_equal(again.scores, found.scores)


@examples(100)
@given(
    st.lists(st.tuples(_TERMS, st.sampled_from([0, 1])), min_size=1, max_size=12),
    st.lists(st.tuples(_TERMS, st.just(7)), min_size=1, max_size=12),
    st.fixed_dictionaries({0: _TERMS, 1: _TERMS, 7: _TERMS}),
    st.sampled_from([BM25Settings(variant=variant) for variant in ("lucene", "okapi", "bm25l", "bm25+")]),
    st.sampled_from([None, 0, 1, 7]),
)
def test_leaves_in_another_language_change_the_scores_of_the_others_by_one_factor(leaves, more, questions, settings, own):
    bags = {reading: dict(Counter(terms)) for reading, terms in questions.items()}

    def scores_of(some):
        corpus = Corpus([(arrays_of(some), None)])
        asked = {reading: bags[reading] for reading in corpus.readings()}
        return corpus.score_with_nodes(asked, settings=settings, own=own)

    before, nodes_before, _ = scores_of(leaves)
    after, nodes_after, _ = scores_of(leaves + more)
    some = len(leaves)
    factor = after.ideal / before.ideal if before.ideal and after.ideal else 1.0
    if before.ideal:
        np.testing.assert_allclose(after.scores[:some], before.scores * factor, atol=1e-12)
        for one, other in zip(nodes_before, nodes_after, strict=True):
            np.testing.assert_allclose(other.scores[: len(one.scores)], one.scores * factor, atol=1e-12)
    if own in (0, 1) and before.ideal:
        assert before.ideal == after.ideal or not any(bags[own].values())


def test_rank_bm25_reads_a_question_for_each_reading_too():
    leaves = [(["a"], 0), (["a", "b"], 1), (["c"], 1), (["d"], 1), (["d"], 7), (["d"], 7), (["e"], 7)]
    leaves += [(["x"], 0), (["y"], 0)]
    corpus = RankBM25([(arrays_of(leaves), None)])
    okapi = BM25Settings(variant="okapi")
    asked = {0: {"a": 1}, 1: {"b": 1}, 7: {"c": 1}}
    found = corpus.score(asked, settings=okapi).scores
    assert [bool(score) for score in found] == [True, True, False, False, False, False, False, False, False]
    np.testing.assert_allclose(found, Corpus([(arrays_of(leaves), None)]).score(asked, settings=okapi).scores)


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
