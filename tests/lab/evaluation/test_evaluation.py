"""Strategies measured on questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Config, Document, HierarchicalSplitter, Hybrid, Index, InvalidArgument, Vector
from leafspan.lab.evaluation import Answer, Evaluation, Question, evaluate, read_questions, save_questions
from leafspan.lab.evaluation._evaluation import compare
from leafspan.lab.evaluation._spans import find_answers, first_words, span_scores
from tests.profiles import examples

TEXTS = {
    "bees": "Bees dance. They dance to show where flowers are. Karl von Frisch decoded the dance in 1927.",
    "wasps": "Wasps build nests of paper. They chew wood. Nests hang under roofs.",
}
QUESTIONS = [
    Question("Who decoded the dance?", answers=["Karl von Frisch"], id="who"),
    Question("What are nests made of?", answers=[Answer("wasps", 6, 26)], id="what"),
    Question("Which insects dance?", relevant={"bees": 1}, id="which"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    with Index.open(
        tmp_path_factory.mktemp("kb"), splitter=HierarchicalSplitter(leaf_words=8, parent_words=(16,))
    ) as index:
        index.add([Document(id_, text) for id_, text in TEXTS.items()])
        yield index


def test_strategies_are_measured_at_each_budget(index):
    result = evaluate(index, QUESTIONS, {"words": BM25(), "both": "hybrid"}, budgets=[9, 100])
    assert result.strategies == ("words", "both")
    assert result.measures == (
        *(f"{measure}@{budget}" for measure in ("recall", "precision", "iou") for budget in (9, 100)),
        "nDCG@10",
        "R@10",
        "RR",
    )
    assert result.mean("words", "recall@100") == 1
    # "What are nests made of?" has only one word in common with the answer, and with "Nests hang under roofs.", too.
    assert result.scores["words"]["recall@9"] == {"who": 1.0, "what": 0.0}
    # The leaf "Karl von Frisch decoded the dance in 1927." has 42 characters, 15 of them in the answer.
    assert result.scores["words"]["precision@9"]["who"] == pytest.approx(15 / 42)
    assert result.scores["words"]["RR"] == {"which": 1.0}


def test_a_configuration_takes_part_with_its_limits(index):
    settings = {
        "all": "bm25",
        "near": Config(strategy="bm25", min_score=1_000),
        "one": Config(strategy="bm25", candidates=1),
    }
    result = evaluate(index, [Question("dance paper", ["paper", "to show"], needs_all=True)], settings, budgets=[100])
    assert [result.mean(name, "recall@100") for name in settings] == [1, 0, 0]


def test_a_configuration_says_the_same_as_the_index_that_is_opened_with_it(index, tmp_path: Path):
    config = Config(strategy="hybrid", min_score=0.5, candidates=2, k=1, budget=3)
    with Index.open(tmp_path / "kb", config=config) as opened:
        opened.add([Document(id_, text) for id_, text in TEXTS.items()])
        by_index = evaluate(opened, QUESTIONS, {"mine": opened.default_strategy}, budgets=[9, 100])
    with Index.open(tmp_path / "kb") as plain:
        assert evaluate(plain, QUESTIONS, {"mine": config}, budgets=[9, 100]) == by_index


def test_strategies_of_a_list_have_the_names_of_the_strategies(index):
    given = ["bm25", Config(strategy=BM25()), Hybrid(), {"type": "vector"}]
    assert evaluate(index, QUESTIONS, given, budgets=[9]).strategies == ("bm25", "bm25 2", "hybrid", "vector")


@pytest.mark.parametrize("one", ["bm25", BM25(), Config(strategy="bm25")])
def test_one_strategy_may_stand_for_a_list_of_one(index, one):
    assert evaluate(index, QUESTIONS, one, budgets=[9]) == evaluate(index, QUESTIONS, ["bm25"], budgets=[9])


def test_a_table_marks_the_best():
    scores = {"a": {"recall@150": {"q": 1.0, "r": 0.0}}, "long name": {"recall@150": {"q": 1.0, "r": 1.0}}}
    result = Evaluation({"q": "?", "r": "?"}, (150,), scores)
    assert str(result) == (
        "2 questions\n\n"
        "|           |  recall@150 |\n"
        "|-----------|------------:|\n"
        "| a         |       0.500 |\n"
        "| long name |   **1.000** |"
    )


def test_nothing_is_marked_where_all_are_0():
    scores = {"a": {"abstention": {"q": 0.0}}, "b": {"abstention": {"q": 0.0}}}
    assert "*" not in Evaluation({"q": "?"}, (150,), scores).table()


def test_a_path_may_be_a_text(index, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    save_questions(str(path), QUESTIONS)
    assert read_questions(str(path)) == read_questions(path)
    assert evaluate(index, str(path), "bm25", budgets=[9]) == evaluate(index, path, "bm25", budgets=[9])
    with pytest.raises(InvalidArgument, match=r"questions must be a file in UTF-8, got 'Who decoded the dance\?': no such"):
        read_questions("Who decoded the dance?")
    for wrong in ("", "a" * 5_000, "a\0b"):
        with pytest.raises(InvalidArgument, match="questions must be a path"):
            read_questions(wrong)


def test_names_are_no_markup_in_a_table():
    names = ["a|b", "<b>*bold*</b>", "_private_", "top_k=[3]", "two\nlines"]
    table = Evaluation({"q": "?"}, (150,), {name: {"RR": {"q": 1.0}} for name in names}).table()
    assert [line.split(" | ")[0].strip("| ") for line in table.splitlines()[2:]] == [
        r"a\|b",
        r"\<b>\*bold\*\</b>",
        r"\_private\_",
        r"top_k=\[3]",
        "two␊lines",
    ]
    assert len({len(line) for line in table.splitlines()}) == 1


def test_a_comparison_names_the_questions_won_and_lost():
    scores = {"a": {"RR": {"q": 1.0, "r": 0.0, "s": 0.5}}, "b": {"RR": {"q": 0.5, "r": 0.25, "s": 0.5}}}
    found = Evaluation({"q": "?", "r": "?", "s": "?"}, (150,), scores).compare("a", "b")
    assert (found.wins, found.losses, found.ties) == (("q",), ("r",), 1)
    assert found.difference == pytest.approx((0.5 - 0.25) / 3)
    assert -0.25 <= found.low < found.difference < found.high <= 0.5
    assert str(found).startswith("RR: a less b is +0.083 (95 %: -")


def test_the_interval_matches_a_resampled_mean():
    # 30 of 100 questions won, none lost: the mean of a resample is binomial: 95 % lie within 21 and 39 of 100.
    scores = {"a": [1.0] * 30 + [0.0] * 70, "b": [0.0] * 100}
    found = compare("recall", "a", "b", scores, [str(number) for number in range(100)], seed=1)
    assert (found.low, found.high) == pytest.approx((0.21, 0.39), abs=0.011)
    assert "which chance does not explain" in str(found)


def test_equal_strategies_do_not_differ():
    found = compare("recall", "a", "b", {"a": [0.5, 1.0], "b": [0.5, 1.0]}, ["q", "r"], seed=0)
    assert (found.difference, found.low, found.high, found.ties) == (0, 0, 0, 2)
    assert "; 2 questions are too few" in str(found)
    assert "; 1 question is too few" in str(compare("recall", "a", "b", {"a": [1.0], "b": [1.0]}, ["q"], seed=0))


def test_an_evaluation_is_kept_in_a_file(index, tmp_path: Path):
    result = evaluate(index, QUESTIONS[:2], ["vector", "bm25"], budgets=[50])
    result.save(tmp_path / "eval.json")
    assert Evaluation.load(tmp_path / "eval.json") == result
    assert json.loads((tmp_path / "eval.json").read_text(encoding="utf-8"))["means"]["bm25"]["recall@50"] == 1
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"must be a file that Evaluation\.save has written$"):
        Evaluation.load(tmp_path / "other.json")
    with pytest.raises(
        InvalidArgument, match=r"an evaluation must be a file that can be read, got 'nope\.json': no such file"
    ):
        Evaluation.load("nope.json")


def test_a_file_that_cannot_be_written_is_an_error_that_says_why(tmp_path: Path):
    result = Evaluation({"q": "?"}, (150,), {"a": {"RR": {"q": 1.0}}})
    writers = [result.save, lambda path: save_questions(path, QUESTIONS), Config(k=3).save]
    for write in writers:
        with pytest.raises(
            InvalidArgument, match=r"cannot write to '.*nowhere/x': its folder does not exist; create it first"
        ):
            write(tmp_path / "nowhere" / "x")
        with pytest.raises(InvalidArgument, match=r"cannot write to .*: it is a folder"):
            write(tmp_path)


def test_a_plot_has_a_line_for_each_strategy(index, tmp_path: Path):
    figure = evaluate(index, QUESTIONS, [Vector(), Hybrid(), Hybrid(references=0)], budgets=[10, 50]).plot()
    [axes] = figure.axes
    assert [line.get_label() for line in axes.get_lines()] == ["vector", "hybrid", "hybrid 2"]
    figure.savefig(tmp_path / "plot.svg")
    graded = Evaluation({"q": "?"}, (150,), {"a": {"RR": {"q": 1.0}}})
    with pytest.raises(InvalidArgument, match="a plot needs questions with answers"):
        graded.plot()


def test_a_notebook_draws_a_table_and_a_plot_the_same_each_time(index):
    result = evaluate(index, QUESTIONS, [Vector(), Hybrid()], budgets=[10, 50])
    assert result._repr_markdown_() == str(result)
    drawn = result.plot()._repr_svg_()
    assert drawn.startswith("<svg")
    assert "<dc:date>" not in drawn
    assert result.plot()._repr_svg_() == drawn


def test_words_are_read_until_the_budget_is_used_up():
    places = [Answer("bees", 0, 11), Answer("wasps", 0, 27)]
    assert first_words(places, TEXTS, 2) == [Answer("bees", 0, 11)]
    assert first_words(places, TEXTS, 4) == [Answer("bees", 0, 11), Answer("wasps", 0, 11)]  # "Wasps build"
    assert first_words(places, TEXTS, 0) == []


def test_spans_are_scored_by_their_characters():
    answer = [[Answer("bees", 10, 20)]]
    assert span_scores(answer, [Answer("bees", 0, 40)], needs_all=False) == (1, 10 / 40, 10 / 40)
    assert span_scores(answer, [Answer("bees", 15, 35)], needs_all=False) == (0, 5 / 20, 5 / 25)
    assert span_scores(answer, [Answer("bees", 15, 30), Answer("bees", 0, 16)], needs_all=False) == (1, 10 / 30, 10 / 30)
    assert span_scores(answer, [], needs_all=False) == (0, 0, 0)
    assert span_scores(answer, [Answer("wasps", 10, 20)], needs_all=False) == (0, 0, 0)
    two = [[Answer("bees", 0, 10)], [Answer("bees", 50, 60), Answer("wasps", 0, 10)]]
    assert span_scores(two, [Answer("bees", 0, 10)], needs_all=False) == (1, 1, 1)
    assert span_scores(two, [Answer("bees", 0, 10)], needs_all=True) == (0, 1, 10 / 20)
    assert span_scores(two, [Answer("bees", 0, 10), Answer("wasps", 0, 20)], needs_all=True) == (1, 20 / 30, 20 / 30)


PLACES = st.builds(
    lambda id_, start, length: Answer(id_, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 30),
    st.integers(1, 20),
)


@examples(200)
@given(
    st.lists(st.lists(PLACES, min_size=1, max_size=2), min_size=1, max_size=3), st.lists(PLACES, max_size=4), st.booleans()
)
def test_scores_are_shares_and_more_text_never_loses_recall(answers, read, needs_all):
    scores = span_scores(answers, read, needs_all=needs_all)
    assert all(0 <= each <= 1 for each in scores)
    assert scores.iou <= scores.precision or not read
    more = span_scores(answers, [*read, Answer("a", 0, 50)], needs_all=needs_all)
    assert more.recall >= scores.recall
    everything = span_scores(answers, [Answer("a", 0, 50), Answer("b", 0, 50)], needs_all=needs_all)
    assert everything.recall == 1


def test_questions_come_from_lines_of_json(tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"id": 7, "text": "Who?", "answers": ["Karl", {"doc_id": "bees", "start": 0, "end": 4}], "answer_mode": "all"}\n'
        "\n"
        '{"text": "Which?", "relevant": ["bees"]}\n',
        encoding="utf-8",
    )
    assert read_questions(path) == [
        Question("Who?", ["Karl", Answer("bees", 0, 4)], needs_all=True, id="7"),
        Question("Which?", relevant={"bees": 1}),
    ]


@pytest.mark.parametrize(
    "relevant", [["bees", "wasps"], ("bees", "wasps"), iter(["bees", "wasps"]), {"bees": 1, "wasps": 1}]
)
def test_relevant_documents_may_be_a_list_of_ids(relevant):
    assert Question("Which?", relevant=relevant).relevant == {"bees": 1, "wasps": 1}


def test_one_relevant_document_may_be_its_id():
    assert Question("Which?", relevant="bees").relevant == {"bees": 1}
    assert read_questions([{"text": "Which?", "relevant": "bees"}]) == [Question("Which?", relevant="bees")]


@pytest.mark.parametrize("relevant", [3, [3], [["bees"]], None, b"bees"])
def test_relevant_documents_of_another_type_are_refused(relevant):
    with pytest.raises(InvalidArgument, match="relevant must be a list of ids, one id, or grades by id, got "):
        Question("Which?", relevant=relevant)


@pytest.mark.parametrize("answers", ["Karl", 3, [3], None, {"Karl": 1}, Answer("bees", 0, 4)])
def test_answers_of_another_type_are_refused(answers):
    with pytest.raises(InvalidArgument, match="answers must be a list of Answers or texts, got "):
        Question("Who?", answers=answers)


def test_a_question_that_was_given_no_answers_has_none():
    assert Question("Who?").has_no_answer
    assert (
        Question("Who?")
        == Question("Who?", answers=[], relevant=[])
        == read_questions([{"text": "Who?", "answers": []}])[0]
    )


def test_a_file_without_a_question_is_named(tmp_path: Path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    with pytest.raises(InvalidArgument, match=f"there must be a question, got no question in {str(path)!r}$"):
        read_questions(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: a question must be a JSON object such as"),
        ('{"text": }', r"line 2: a question must be a JSON object such as .*, expecting value at character 10$"),
        ("[]", "line 2: a question must be a JSON object such as"),
        ('{"a": 1}', r"line 2: a question must have text, and also answers or relevant, got keys \['a'\]$"),
        ('{"text": " "}', "line 2: a question must be a text that is not blank, got ' '"),
        (
            '{"text": "x"}',
            "line 2: a question must have answers or relevant documents, got neither for 'x'; an empty list of",
        ),
        (
            '{"question": "x", "answers": ["y"]}',
            "line 2: the keys of a question must be id, .*, got 'question'; did you mean 'text'",
        ),
        (
            '{"text": "x", "answer": "y"}',
            "line 2: the keys of a question must be .*, got 'answer'; did you mean 'answers'?",
        ),
        ('{"text": "x", "answers": ["y"], "answermode": "all"}', "got 'answermode'; did you mean 'answer_mode'?"),
        ('{"text": "x", "answers": [3]}', "line 2: an answer must be a text, or have doc_id, start and end .* got 3"),
        ('{"text": "x", "answers": [{"doc_id": "a", "start": 2, "end": 2}]}', "with 0 <= start < end"),
        ('{"text": "x", "answers": [""]}', "an answer must not be blank"),
        ('{"text": "x", "relevant": {"a": 0}}', "relevant must have a grade > 0 for each document"),
        ('{"text": "x", "answers": ["y"], "answer_mode": "some"}', "answer_mode must be 'any' or 'all', got 'some'"),
        ('{"text": "first", "answers": ["y"]}', "line 2: each question must have a different id, got 'first' as .*line 1"),
    ],
)
def test_a_line_that_is_no_question_is_named(line, message, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"text": "first", "answers": ["y"]}\n' + line, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=message):
        read_questions(path)


def test_other_keys_of_a_line_are_the_users_own():
    plain = {"text": "Who?", "answers": ["Karl"], "answer": "It was Karl.", "question": 3, "topic": "bees"}
    assert read_questions([plain]) == [Question("Who?", ["Karl"])]


def test_all_questions_that_cannot_be_judged_are_named_with_their_lines(index, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    lines = [{"text": "Who?", "answers": ["Karl von Frisch"]}, {"text": "When?", "answers": ["in 1928"]}]
    lines += [{"text": f"Which {number}?", "relevant": ["ants"]} for number in range(5)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(InvalidArgument) as caught:
        evaluate(index, path, ["bm25"])
    assert str(caught.value).startswith(f"{path}, line 2: an answer must be in a document of the index, got 'in 1928' for")
    assert f"{path}, line 6: a relevant document must be in the index, got 'ants' for 'Which 3?'" in str(caught.value)
    assert str(caught.value).endswith("; and 1 more such questions")


def test_a_question_that_nothing_answers_is_one_for_which_nothing_should_be_found(index, tmp_path: Path):
    save_questions(tmp_path / "questions.jsonl", [*QUESTIONS, Question("Who plays the violin?")])
    assert read_questions(tmp_path / "questions.jsonl")[-1].has_no_answer
    settings = {"any": "bm25", "sure": Config(strategy="bm25", min_score=1_000), "near": "vector"}
    result = evaluate(index, tmp_path / "questions.jsonl", settings, budgets=[9])
    assert result.measures[-1] == "abstention"
    assert [result.mean(name, "abstention") for name in settings] == [1, 1, 0]  # no leaf has a word of the question


def test_an_answer_must_stand_in_the_index(index):
    with pytest.raises(InvalidArgument, match="an answer must be in a document of the index, got 'Newton' for 'Who"):
        evaluate(index, [Question("Who?", ["Newton"])], ["bm25"])
    with pytest.raises(InvalidArgument, match="an answer must be in a document"):
        evaluate(index, [Question("Who?", [Answer("bees", 0, 1000)])], ["bm25"])


def test_an_answer_in_any_case_and_white_space_is_found_at_every_place():
    question = Question("?", ["the  DANCE", "dance"])
    assert find_answers(question, {"a": "The\ndance, a dance.", "b": "the dance"}) == [
        [Answer("a", 0, 9), Answer("b", 0, 9)],
        [Answer("a", 4, 9), Answer("a", 13, 18), Answer("b", 4, 9)],
    ]


@pytest.mark.parametrize(
    ("answer", "text", "found"),
    [
        ("8", "In 1868 there were 8 bees, 1,8 at 8.15, and then 8!", ["8 bees", "8!"]),
        ("wax", "Waxes, beeswax; wax-like wax.", ["wax-like", "wax."]),
        ("1,000", "11,000 or 1,000,000 or 1,000.", ["1,000."]),
        (".", "One. Two . 3.5", [". 3"]),
        ("$5", "US$5 and $55", ["$5 and"]),
        ("蜜蜂", "蜜蜂跳舞。", ["蜜蜂跳"]),
        ("8", "8月と18日", ["8月"]),
        ("bees d", "Some bees dance.", ["bees dance"]),  # more than one word: anywhere
    ],
)
def test_an_answer_of_one_word_is_no_part_of_a_word_or_number(answer, text, found):
    [places] = find_answers(Question("?", [answer]), {"a": text})
    assert [text[each.start :] for each in places] == [text[text.index(each) :] for each in found]


QUOTED = Question("What do they chew?", [Answer("wasps", 34, 38, "wood")])


def test_an_answer_of_a_document_that_has_changed_is_found_by_its_text():
    assert find_answers(QUOTED, {"wasps": "Wasps, too, build nests. They chew wood."}) == [
        [Answer("wasps", 35, 39, "wood")]
    ]
    unchanged = "Wood is what they chew, old wood: wood."
    assert find_answers(QUOTED, {"wasps": unchanged}) == [[Answer("wasps", 34, 38, "wood")]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"wasps": "They chew paper."},
            "characters 34 to 38 of 'wasps' for 'What do they chew.', but its text, 'wood', is gone",
        ),
        (
            {"wasps": "wood, wood"},
            "its text, 'wood', is there several times: write the answer as a text, or make the questions again",
        ),
        ({"bees": "wood"}, "but there is no such document: write the answer as a text, or make the questions again"),
    ],
)
def test_an_answer_that_is_not_found_again_is_named(texts, message):
    with pytest.raises(InvalidArgument, match=message):
        find_answers(QUOTED, texts)


@pytest.mark.parametrize("strategies", [[], {}, None, 3])
def test_strategies_must_be_some(index, strategies):
    with pytest.raises(InvalidArgument, match="strategies must be strategies by their names in the result, a list of some"):
        evaluate(index, QUESTIONS, strategies)


def test_questions_must_be_some(index):
    for nothing in ([], "questions.jsonl", {}, None):
        with pytest.raises(InvalidArgument, match=r"question"):
            evaluate(index, nothing, ["bm25"])
