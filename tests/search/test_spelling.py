"""A word of a question that no leaf has is read as a similar word that leaves have, and nothing else is changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import process_time

import chromadb
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from leafspan import BM25, Analyzer, AutoMerging, BM25Settings, Document, F, Hybrid, Index, MultiQuery, Strategy, View
from leafspan.embedding import is_english
from leafspan.lab import explain
from leafspan.lexical import Corpus, _languages, build_postings, find_plain_words, in_other_words, respelt
from leafspan.lexical._spelling import edits
from leafspan.strategies import RelevantSegments
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER

ENGLISH, GERMAN = Analyzer("english"), Analyzer("german")
LEAVES = [
    "Register the vessel in the harbour office before the voyage.",
    "The register of voyages is kept by the harbourmaster.",
    "Phagocytes destroy microorganisms. Macrophages are phagocytes.",
    "A voyager embarked at Skarvik with a barometer and a sextant.",
    "Telegraph operators transcribed the communications.",
]
WORDS = sorted({word.strip(".,") for leaf in LEAVES for word in leaf.split()})


def corpus_of(leaves: Iterable[str], analyzer: Analyzer = ENGLISH) -> Corpus:
    return Corpus([(build_postings(analyzer(list(leaves))), None)])


CORPUS = corpus_of(LEAVES)


def read(question: str, leaves: Sequence[str] = LEAVES, analyzer: Analyzer = ENGLISH) -> dict[str, str]:
    """What the words of a question are read as."""
    corpus = CORPUS if leaves is LEAVES else corpus_of(leaves, analyzer)
    words = set(find_plain_words(" ".join(leaves)))

    def leaves_with(terms: Iterable[str]) -> dict[str, int]:
        return {term: count for term, count in corpus.frequencies(list(terms))[0].items() if count}

    return respelt(question, analyzer, [analyzer], corpus, leaves_with, is_english, lambda terms: words)


def test_a_word_is_read_as_one_at_one_edit_in_its_case():
    assert read("Who regster a vesel? Regsiter it, or voyyage.") == {
        "regster": "register",  # a letter is missing
        "vesel": "vessel",
        "Regsiter": "Register",  # two letters are swapped
        "voyyage": "voyage",  # one too many
    }
    assert read("barameter") == {"barameter": "barometer"}  # another letter
    assert in_other_words('regsiter or "regsiter"', {"regsiter": "register"}) == 'register or "regsiter"'


def test_a_long_question_or_word_takes_no_long_time():
    began = process_time()
    voyages = ["voyage"[:place] + letter + "voyage"[place:] for place in range(1, 5) for letter in "bdfhjkmpqz"]
    words = read(" ".join(voyages))
    assert words == dict.fromkeys(voyages[:20], "voyage")
    for text in ("«" * 50_000, "“" * 50_000, "'" * 50_000, "voy-" * 20_000, "v" * 100_000, "voyyage" * 9_000):
        assert read(text) == {}
    assert process_time() - began < 5


def test_a_long_stem_may_have_two_errors_but_not_in_its_first_letters():
    assert read("phagicites or phegicytes") == {"phagicites": "phagocytes"}
    assert read("sextnat septnat") == {"sextnat": "sextant"}  # a short one may have one


@given(st.lists(st.sampled_from([*WORDS, *map(str.upper, WORDS), *map(str.title, WORDS)]), max_size=8))
def test_a_question_whose_words_are_in_the_index_stays(words: list[str]):
    assert read(" ".join(words)) == {}


CODES = [
    "regster1",
    "AB-regster",
    "regster_id",
    "@regster",
    "regster.py",
    "https://regster.org",
    "REGSTER",
    "regSter",
    "C:\\regster",
]
QUOTED = ['"the regster"', "“regster”", "„regster“", "«regster»", "`regster`", "'a regster'"]


@given(st.lists(st.sampled_from([*CODES, *QUOTED, *WORDS, "1904", "12.5", "q3"]), min_size=1))
@example([*CODES, *QUOTED])
def test_codes_numbers_and_quoted_words_stay(parts: list[str]):
    question = " ".join(each for each in parts if each != "AB-regster")
    assert read(question) == {}
    assert read(f"{question} voyge") == {"voyge": "voyage"}


@given(st.text("aeghiorstvyz", min_size=4, max_size=9))
def test_what_a_word_is_read_as_is_at_one_edit_or_two_and_leaves_have_it(word: str):
    for written, other in read(word).items():
        assert written == word
        assert CORPUS.frequencies(ENGLISH([other])[0])[0] != {} or other in ("from", "with")
        begun = {other[:length] for length in range(4, len(other) + 1)}
        assert not begun.isdisjoint(edits(word)) or (len(word) >= 8 and not {*edits(word)}.isdisjoint(edits(other)))


@given(st.sampled_from([word for word in WORDS if len(word) > 5]), st.data())
def test_a_word_at_one_edit_of_a_word_of_the_index_is_read_as_some_word_of_it(word: str, data: st.DataObject):
    near = [each for each in edits(word.lower()) if len(each) > 4 and each[0] == word[0].lower()]
    wrong = data.draw(st.sampled_from(sorted(near)))
    assume(not is_english(wrong) and not is_english(ENGLISH([wrong])[0][0] if ENGLISH([wrong])[0] else "the"))
    assume(not any(CORPUS.has(term) for term in ENGLISH([wrong])[0]))
    assert wrong in read(wrong)


def test_of_several_words_the_most_frequent_one_is_used_then_an_english_one_then_the_first_edit():
    vowels = ["zarbil", "zerbil", "zerbil", "zorbil"]
    assert read("zurbil", vowels) == {"zurbil": "zerbil"}  # two leaves
    assert read("zurbil", vowels[2:]) == {"zurbil": "zerbil"}  # one each
    assert read("zaunnt", ["zannt zaunt"]) == {"zaunnt": "zannt"}  # letters that are too many, from the first on
    assert read("hapiness", ["happiness"]) == {"hapiness": "happiness"}
    assert read("thiese", ["thief"]) == {"thiese": "these"}  # leaves have it, though no terms of it


def test_an_english_word_is_read_as_one_that_occurs_not_as_another_word_of_its_stem():
    assert read("wellbeing", ["A well is deep. Being there is all."]) == {}
    assert read("thief antibiotc", ["Thieves steal antibiotics."]) == {"thief": "thieves", "antibiotc": "antibiotics"}
    assert read("antibiotc", ["Antibiotics: which antibiotic helps?"]) == {"antibiotc": "antibiotic"}
    assert read("Kessler maintanence", ["Two kessels, one kessel", "maintenance"]) == {}
    assert read("decooded", ["decoding"]) == {}
    assert read("decooded", ["decoded"]) == {"decooded": "decoded"}


def test_a_name_is_not_read_as_another_one_with_other_letters():
    leaves = ["Meier and Anderson saw Zantec, Slovakia and Iran.", "Meier, a receptor, and prednisone"]
    assert read("Did Maier or Andersen see Zantac, Slovenia and Iraq? Zantac", leaves) == {}
    assert read("Did Meeir or Andrson see Zanttec?", leaves) == {
        "Meeir": "Meier",
        "Andrson": "Anderson",
        "Zanttec": "Zantec",
    }
    assert read("prednisolone iraq", leaves) == {}
    assert read("deceptor teceptor", leaves) == {}  # the first letter stays
    german = ["Der Meier sah Berge."]
    assert read("Maier Meeier", german, GERMAN) == {"Meeier": "Meier"}


def test_an_english_word_stays_and_so_does_another_form_in_another_language():
    assert read("reading", ["leading"]) == {}
    german = ["Der Vorsitzende eröffnete die Sitzungen."]
    assert read("Vorsizende", german, GERMAN) == {"Vorsizende": "Vorsitzende"}
    assert read("Sitzunger Sitzungens", german, GERMAN) == {}  # their last letters differ
    assert read("Регистр", german, GERMAN) == {}
    assert read("аворитет", ["авторитет"], Analyzer("russian")) == {"аворитет": "авторитет"}


def test_a_word_occurs_in_texts_titles_and_headings_of_documents_that_the_view_shows(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(
            Document(
                "a", "# The sextants\n\nA well is deep. Being there is all. Voyages.", "Karl von Früsch", metadata={"t": 1}
            )
        )
        index.add(Document("b", "A voyage with a sextant", "", {"t": 2}))
        for strategy in (BM25(), Hybrid()):
            [*found] = index.retrieve("Did frsch improve wellbeing with sextnats?", strategy)
            assert found[0].trace.notes == ('"frsch" was read as "frusch"', '"sextnats" was read as "sextants"')
            own = index.scoped(F("t") == 1).retrieve("voyyage deep sextnat", strategy)
            assert own[0].trace.notes == ('"voyyage" was read as "voyages"', '"sextnat" was read as "sextants"')
            assert index.retrieve("voyyage", strategy)[0].trace.notes == ('"voyyage" was read as "voyage"',)


def strategies() -> list[Strategy]:
    return [BM25(), Hybrid(), RelevantSegments(), AutoMerging(base=BM25(scale=True)), Hybrid(summaries=True)]


@pytest.mark.parametrize("strategy", strategies(), ids=repr)
def test_the_results_are_those_of_the_right_question_and_the_trace_says_so(shared_index: Index, strategy: Strategy):
    right = shared_index.retrieve(QUESTIONS[0], strategy, k=4)
    wrong = shared_index.retrieve("Who decooded the dannce of the beess?", strategy, k=4)
    assert [(each.id, each.score) for each in wrong] == [(each.id, each.score) for each in right]
    for each in wrong:
        assert each.trace.notes == tuple(
            f'"{word}" was read as "{other}"'
            for word, other in (("decooded", "decoded"), ("dannce", "dance"), ("beess", "bees"))
        )
    assert not any(each.trace.notes for each in right)


def test_each_phrasing_is_read_and_an_explanation_says_so(shared_index: Index):
    several = MultiQuery(phrasings=["the dannce of the bees", "the iron harbor"])
    notes = {note for each in shared_index.retrieve("x", several, k=9) for note in each.trace.notes}
    assert notes == {'"dannce" was read as "dance"', '"harbor" was read as "harbour"'}
    explanation = explain(shared_index, "Who decoded the dannce?", document_id="bees", text="decoded the dance")
    assert explanation.returned
    assert '   - "dannce" was read as "dance"' in explain(shared_index, "Who decoded the dannce?").lines


@pytest.mark.parametrize("strategy", [*strategies(), Hybrid(min_answer_probability=0.9999999)], ids=repr)
def test_an_explanation_is_that_of_the_question_as_it_is_read_and_says_so(shared_index: Index, strategy: Strategy):
    notes = ('"decooded" was read as "decoded"', '"dannce" was read as "dance"')
    for document in ("bees", "harbour"):
        right = explain(shared_index, "Who decoded the dance?", strategy, document_id=document)
        wrong = explain(shared_index, "Who decooded the dannce?", strategy, document_id=document)
        assert (right.notes, wrong.notes) == ((), notes)
        assert wrong.standings == right.standings
        assert [line for line in wrong.lines if not any(note in line for note in notes)] == [*right.lines]
        assert all(any(note in line for line in wrong.to_dict()["sentences"]) for note in notes)
    assert not explain(shared_index, "Who decoded the dance?", strategy).notes
    nothing = explain(shared_index, "Who decooded the dannce?", Hybrid(min_answer_probability=0.9999999))
    assert (nothing.passages, nothing.lines[:2]) == ((), notes)


def test_a_strategy_may_search_the_words_as_they_are(shared_index: Index):
    for kind in (BM25, Hybrid):
        asked = "the dannce of bees"
        assert shared_index.retrieve(asked, kind(), k=1)[0].trace.notes
        assert not shared_index.retrieve(asked, kind(spelling=False), k=1)[0].trace.notes
    assert shared_index.retrieve("dannce", BM25(spelling=False)) == []
    okapi = BM25(engine="rank-bm25", bm25=BM25Settings(variant="okapi"))
    assert shared_index.retrieve("dannce", okapi, k=1)[0].trace.notes


def test_what_a_misspelt_question_needs_is_there_after_warming_up(shared_index: Index):
    _languages._identifier.cache_clear()
    shared_index.warm()
    assert _languages._identifier.cache_info().currsize == 1


def test_what_a_question_is_read_as_follows_the_index_and_the_view(tmp_path: Path):
    """It is remembered by question, as long as neither documents nor views have changed."""

    def notes(view: View) -> set[str]:
        return {note for each in view.retrieve("the vesel", BM25()) for note in each.trace.notes if "was read as" in note}

    said = {'"vesel" was read as "vessel"'}
    with Index.open(tmp_path / "kb") as index:
        index.add(
            [Document("a", "Register the vessel.", metadata={"y": 1}), Document("b", "The voyage.", metadata={"y": 2})]
        )
        first, second = index.scoped(F("y") == 1), index.scoped(F("y") == 2)
        assert [notes(view) for view in (index, first, second, index, second)] == [said, said, set(), said, set()]
        index.add(Document("a", "Register the vessel.", metadata={"y": 2}))
        assert [notes(view) for view in (index, second)] == [said, said]
        index.add(Document("c", "The vesel is a unit.", metadata={"y": 3}))
        assert [notes(view) for view in (index, second)] == [set(), said]


def test_only_leaves_decide_what_is_misspelt(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(
            [Document(str(number), f"The zarbil left the harbour {number} times. It came back.") for number in range(4)]
        )
        index.build_tree(summarizer=lambda texts: "A zerbil of the harbour.", across_documents=True)
        found = index.retrieve("the zarbil in the harbour", BM25(summaries=True), k=20)
        assert {each.kind for each in found} == {"text", "summary"}
        assert not any(each.trace.notes for each in found)


def test_a_question_in_another_language_stays(shared_index: Index):
    asked = "Wer hat den Tanz der Bienen entschlüsselt, und wann wurde der Hafen gebaut? Pireer, dannec!"
    assert not any(each.trace.notes for each in shared_index.retrieve(asked, Hybrid(), k=9))


def test_only_leafspans_own_analyzers_read_words_in_another_way(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, analyzer=str.split) as index:
        index.add(DOCUMENTS)
        assert index.retrieve("dannce", BM25()) == []
        index.delete([each.id for each in DOCUMENTS])
        assert index.retrieve("dannce", BM25()) == []


@pytest.mark.parametrize("kind", ["folder", "client"])
def test_a_view_reads_no_word_that_only_other_documents_have(kind: str, tmp_path: Path):
    options = {"client": chromadb.EphemeralClient(), "name": "spelling"} if kind == "client" else {"path": tmp_path / "kb"}
    with Index.open(**options, splitter=SPLITTER) as index:  # type: ignore[arg-type]
        index.scoped(F("tenant") == "b").add(
            [Document("b", "Registers of the merger. Registration in Skarvik."), *DOCUMENTS]
        )
        own = index.scoped(F("tenant") == "a")
        own.add(Document("a", "The vessel left the harbour at dawn."))
        views: list[View] = [own, index.scoped(F("tenant") == "a", share_statistics=True)]
        for view in views:
            for strategy in (BM25(), Hybrid()):
                [found] = view.retrieve("Which regster has the vesel of the mreger?", strategy, k=1)
                assert found.trace.notes == ('"vesel" was read as "vessel"',)
        assert index.retrieve("regster", BM25(), k=1)[0].trace.notes == ('"regster" was read as "registers"',)
        index.delete(["b"])
        index.scoped(F("tenant") == "b").delete(["b"])
        assert index.retrieve("regster", BM25(), k=1) == []
