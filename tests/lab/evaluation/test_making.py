"""Questions that are made from the documents of an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import F, Index, InvalidArgument
from leafspan.errors import FunctionFailed
from leafspan.lab import evaluate, make_questions, read_questions, save_questions
from leafspan.lab.evaluation import Answer, Evaluation, Question

FACTS = [
    ("bees", "Honey bees dance to tell the others in the hive where rich flowers are found.\n\nThey make wax for combs."),
    ("rocks", "Granite is a hard rock which forms deep below volcanoes over millions of slow years."),
    ("note", "Short one."),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("made") / "kb") as index:
        index.add({"id": id_, "text": text, "metadata": {"size": len(text)}} for id_, text in FACTS)
        yield index


def answer_text(index: Index, answer: Answer | str) -> str:
    assert isinstance(answer, Answer)
    return index.get(answer.document_id).text[answer.start : answer.end]


def test_a_question_is_a_few_words_of_the_leaf_that_answers_it_in_their_order(index: Index):
    for each in make_questions(index, 10, words=4):
        [answer] = each.answers
        text = answer_text(index, answer).casefold()
        words = each.text.split()
        assert len(words) == 4
        assert [text.index(word) for word in words] == sorted(text.index(word) for word in words)
        assert text == text.strip()


def test_leaves_of_a_few_words_are_not_asked_for(index: Index):
    assert {each.answers[0].document_id for each in make_questions(index, 100)} == {"bees", "rocks"}
    with pytest.raises(InvalidArgument, match="made from leaves of 8 words or more, got no such leaf"):
        make_questions(index, where=F("size") < 20)


def test_the_same_seed_draws_the_same_questions(index: Index):
    assert make_questions(index, 5, seed=1) == make_questions(index, 5, seed=1)
    assert {each.text for each in make_questions(index, 5, seed=1)} != {
        each.text for each in make_questions(index, 5, seed=2)
    }


def test_only_documents_of_the_filter_are_asked_for(index: Index):
    made = make_questions(index, 100, where=F("size") < 100)
    assert {each.answers[0].document_id for each in made} == {"rocks"}


def test_a_language_model_can_write_them(index: Index):
    asked = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return f"\n  What does passage {len(asked)} tell?  \nIt tells much."

    made = make_questions(index, 2, llm=model)
    assert [each.text for each in made] == ["What does passage 1 tell?", "What does passage 2 tell?"]
    assert all(answer_text(index, each.answers[0]) in prompt for each, prompt in zip(made, asked, strict=True))


def test_a_language_model_of_a_host_can_write_them(index: Index):
    from langchain_core.language_models import FakeListChatModel
    from llama_index.core.llms import MockLLM

    assert make_questions(index, 1, llm=FakeListChatModel(responses=["Who dances?"]))[0].text == "Who dances?"
    assert make_questions(index, 1, llm=MockLLM())[0].text.startswith("Write one question")


def test_what_a_language_model_thinks_before_it_answers_is_no_question(index: Index):
    [made] = make_questions(index, 1, llm=lambda prompt: "<think>\nIt is about bees.\n</think>\n\nWho dances?")
    assert made.text == "Who dances?"


def test_what_a_language_model_does_wrong_is_an_error(index: Index):
    def failing(prompt: str) -> str:
        raise OSError("no line")

    with pytest.raises(FunctionFailed, match=r"the language model .*failing failed with OSError: no line"):
        make_questions(index, 1, llm=failing)
    with pytest.raises(FunctionFailed, match="must write a question, got ' '"):
        make_questions(index, 1, llm=lambda prompt: " ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be a whole number >= 1, got 0"),
        ({"words": 0}, "words must be a whole number >= 1, got 0"),
        ({"llm": 5}, "llm must be a LangChain chat model or LLM, .*, got 5"),
        ({"prompt": "Ask!"}, r"prompt must be a text with \{passage\}"),
    ],
)
def test_bad_options_are_refused(index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        make_questions(index, **options)


def test_they_can_be_kept_and_evaluated(index: Index, tmp_path: Path):
    made = make_questions(index, 10)
    save_questions(tmp_path / "questions.jsonl", made)
    assert read_questions(tmp_path / "questions.jsonl") == made
    assert all(answer_text(index, answer) == answer.text for each in made for answer in each.answers)
    found = evaluate(index, tmp_path / "questions.jsonl", ["bm25"], budgets=[100])
    assert found.mean("bm25", "recall@100") == 1.0


@pytest.mark.parametrize("words", [1, 5])
def test_an_evaluation_says_that_questions_made_of_words_of_their_answers_favour_words(index: Index, words: int):
    made = make_questions(index, 4, words=words)
    found = evaluate(index, made, ["vector", "bm25"], budgets=[100])
    assert found.quoting == len(made)
    assert f"The words of {len(made)} of these questions are all in their answers" in str(found)
    assert "do not choose a strategy by them" in found._repr_markdown_()


def test_an_evaluation_of_questions_in_other_words_says_nothing(index: Index, tmp_path: Path):
    made = make_questions(index, 2)
    own = [Question(f"{each.text} Why would anybody care?", each.answers) for each in made]
    for questions, quoting in ((own, 0), ([*own, made[0]], 1)):
        found = evaluate(index, questions, "bm25", budgets=[100])
        assert found.quoting == quoting
        assert "favour" not in str(found)
        found.save(tmp_path / "found.json")
        assert Evaluation.load(tmp_path / "found.json") == found
