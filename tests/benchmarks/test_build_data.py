from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.build_data import build_covidqa, main
from benchmarks.question_sets import evenly_spaced, load_documents, load_questions, what_is_absent

FIRST, SECOND = "Steam engines turn heat into work.", "James Watt lived in Glasgow. Watt improved them."
OTHER = "Oxygen was found by Scheele."


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def lines(*records: dict) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ask(id_: str, text: str, *answers: tuple[int, str], **more: Any) -> dict:
    found = [{"answer_start": start, "text": answer} for start, answer in answers]
    return {"id": id_, "question": text, "answers": found, **more}


def article(title: str, *paragraphs: tuple[str, list[dict]]) -> dict:
    return {"title": title, "paragraphs": [{"context": text, "qas": questions} for text, questions in paragraphs]}


def span(document_id: str, text: str, answer: str) -> dict:
    """The answer at its first place in the text."""
    start = text.index(answer)
    return {"doc_id": document_id, "start": start, "end": start + len(answer), "text": answer}


def check_spans(folder: Path) -> None:
    """Every answer is the text at its place."""
    texts = {document["id"]: document["text"] for document in read(folder / "corpus.jsonl")}
    for question in read(folder / "queries.jsonl"):
        for answer in question.get("answers", []):
            assert texts[answer["doc_id"]][answer["start"] : answer["end"]] == answer["text"]


# squad


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """A set built of an article with questions, one without, and XQuAD's questions."""
    watt = [
        ask("1", " Where did Watt live? ", (20, "Glasgow"), (17, "in Glasgow"), (20, "Glasgow"), is_impossible=False),
        ask("2", "Where did Papin live?", is_impossible=True),
        ask("3", "Where did Watt live?", (20, "Glasgow"), is_impossible=False),
        ask("4", "Who lived?"),
    ]
    dev = {"data": [article("Steam_engine", (FIRST, []), (SECOND, watt)), article("Miscellaneous", ("Made up.", []))]}
    test = {"data": [article("Oxygen", (OTHER, [ask("5", "Who found it?")]))]}
    xquad = {
        "data": [
            article("Steam", (SECOND, [ask("6", "Where did Watt live?", (20, "Glasgow"))])),
            article("Oxygen", (OTHER, [ask("7", "Who found it?", (20, "Scheele"))])),
            article("Oxygen", ("Another text.", [ask("8", "Which?", (0, "Another"))])),
        ]
    }
    originals = [
        *("--squad", write(tmp_path / "dev.json", dev)),
        *("--articles", write(tmp_path / "test.json", test)),
        *("--xquad", write(tmp_path / "xquad.json", xquad)),
    ]
    assert main(["squad", "--data", str(tmp_path / "data"), *map(str, originals)]) == 0
    return tmp_path / "data" / "squad"


def test_squad_joins_the_paragraphs_of_each_article(squad):
    assert read(squad / "corpus.jsonl") == [
        {"id": "Steam_engine", "title": "Steam engine", "text": f"{FIRST}\n\n{SECOND}"},
        {"id": "Oxygen", "title": "Oxygen", "text": OTHER},
    ]


def test_squad_has_each_question_once_with_its_different_answers_in_the_order_of_the_text(squad):
    text = f"{FIRST}\n\n{SECOND}"
    assert read(squad / "queries.jsonl") == [
        {
            "id": "squad2-1",
            "text": "Where did Watt live?",
            "answer_mode": "any",
            "answers": [span("Steam_engine", text, "in Glasgow"), span("Steam_engine", text, "Glasgow")],
        },
        {
            "id": "xquad-7",
            "text": "Who found it?",
            "answer_mode": "any",
            "answers": [span("Oxygen", OTHER, "Scheele")],
        },
    ]
    check_spans(squad)


def test_squad_keeps_unanswerable_questions_apart(squad):
    assert read(squad / "unanswerable.jsonl") == [
        {"id": "squad2-2", "text": "Where did Papin live?", "answers": [], "near_doc": "Steam_engine"}
    ]


def test_squad_needs_no_more_than_the_official_file(tmp_path):
    dev = {"data": [article("Oxygen", (OTHER, [ask("7", "Who found it?", (20, "Scheele"))]))]}
    file = write(tmp_path / "dev.json", dev)
    assert main(["squad", "--data", str(tmp_path), "--squad", str(file)]) == 0
    assert [question["id"] for question in read(tmp_path / "squad" / "queries.jsonl")] == ["squad2-7"]
    assert not (tmp_path / "squad" / "unanswerable.jsonl").exists()


# covidqa

PAPER = "On masks \n\nA. Author\nLicense:cc-by\n\nText: Masks help. Masks of cloth help less."


def covid(tmp_path: Path, text: str, *questions: dict) -> Path:
    paragraph = {"context": text, "document_id": 630, "qas": list(questions)}
    return write(tmp_path / "covid.json", {"data": [{"paragraphs": [paragraph]}]})


def test_covidqa_takes_title_and_licence_from_the_text(tmp_path, capsys):
    file = covid(tmp_path, PAPER, ask("9", "Do masks help? ", (PAPER.index("Masks help"), "Masks help.")))
    assert main(["covidqa", "--data", str(tmp_path), "--covidqa", str(file)]) == 0
    assert read(tmp_path / "covidqa" / "corpus.jsonl") == [
        {"id": "covid-630", "title": "On masks", "text": PAPER, "licence": "cc-by"}
    ]
    assert read(tmp_path / "covidqa" / "queries.jsonl") == [
        {
            "id": "covidqa-9",
            "text": "Do masks help?",
            "answer_mode": "any",
            "answers": [span("covid-630", PAPER, "Masks help.")],
        }
    ]
    counts = "covidqa: 1 documents, 79 characters, 1 questions (1 with spans, 1 spans), 0 judged documents\n"
    assert capsys.readouterr().out == counts


def test_covidqa_says_where_a_text_states_no_licence(tmp_path):
    (document,) = build_covidqa(covid(tmp_path, "Untitled")).documents
    assert document["licence"] == "not stated in the text"


@pytest.mark.parametrize("off", [-1, 0, 2, 3])
def test_covidqa_moves_an_answer_to_the_nearest_place_where_it_stands(tmp_path, off):
    second = PAPER.rindex("Masks")
    built = build_covidqa(covid(tmp_path, PAPER, ask("9", "Which?", (second + off, "Masks"))))
    assert built.questions[0]["answers"] == [
        {"doc_id": "covid-630", "start": second, "end": second + len("Masks"), "text": "Masks"}
    ]


def test_covidqa_leaves_out_white_space_around_an_answer(tmp_path):
    start = PAPER.index(" of cloth ")
    built = build_covidqa(covid(tmp_path, PAPER, ask("9", "Of what?", (start, " of cloth "))))
    assert built.questions[0]["answers"] == [span("covid-630", PAPER, "of cloth")]


def test_covidqa_refuses_an_answer_that_is_nowhere_in_its_article(tmp_path):
    with pytest.raises(ValueError, match="the answer 'gloves' is not in covid-630"):
        build_covidqa(covid(tmp_path, PAPER, ask("9", "What?", (3, "gloves"))))


# scifact

SENTENCES = ["Mice were fed.", "They grew.", "So food helps."]


@pytest.fixture
def scifact(tmp_path: Path) -> tuple[Path, Path]:
    """A folder in BEIR's format, and the original release."""
    beir, original = tmp_path / "beir", tmp_path / "original"
    papers = [{"_id": "70", "title": "Food", "text": " ".join(SENTENCES), "metadata": {}}]
    papers.append({"_id": "8", "title": "Sleep", "text": "Mice slept.", "metadata": {}})
    write(beir / "corpus.jsonl", lines(*papers))
    claims = {10: "Food helps mice.", 9: "Food harms mice.", 2: "Sleep helps.", 3: "It is in no split."}
    write(beir / "queries.jsonl", lines(*({"_id": str(id_), "text": text} for id_, text in claims.items())))
    write(beir / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore\n10\t70\t1\n10\t8\t1\n2\t8\t1\n")
    write(beir / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\n9\t70\t1\n")
    abstracts = [{"doc_id": 70, "title": "Food", "abstract": SENTENCES}]
    abstracts.append({"doc_id": 8, "title": "Sleep", "abstract": ["Mice slept."]})
    write(original / "corpus.jsonl", lines(*abstracts))
    support = {"70": [{"sentences": [2], "label": "SUPPORT"}, {"sentences": [0, 1], "label": "SUPPORT"}]}
    train = [{"id": 10, "claim": claims[10], "evidence": support}, {"id": 2, "claim": claims[2], "evidence": {}}]
    write(original / "claims_train.jsonl", lines(*train))
    against = {"70": [{"sentences": [1], "label": "CONTRADICT"}]}
    write(original / "claims_dev.jsonl", lines({"id": 9, "claim": claims[9], "evidence": against}))
    return beir, original


def test_scifact_has_claims_in_the_order_of_their_numbers_with_the_sentences_of_their_rationales(tmp_path, scifact):
    beir, original = scifact
    assert main(["scifact", "--data", str(tmp_path), "--beir", str(beir), "--original", str(original)]) == 0
    text = " ".join(SENTENCES)
    assert read(tmp_path / "scifact" / "corpus.jsonl") == [
        {"id": "70", "title": "Food", "text": text},
        {"id": "8", "title": "Sleep", "text": "Mice slept."},
    ]
    assert read(tmp_path / "scifact" / "queries.jsonl") == [
        {"id": "2", "text": "Sleep helps.", "split": "train", "relevant": {"8": 1}},
        {
            "id": "9",
            "text": "Food harms mice.",
            "split": "test",
            "relevant": {"70": 1},
            "answer_mode": "any",
            "label": "CONTRADICT",
            "answers": [span("70", text, "They grew.")],
        },
        {
            "id": "10",
            "text": "Food helps mice.",
            "split": "train",
            "relevant": {"70": 1, "8": 1},
            "answer_mode": "any",
            "label": "SUPPORT",
            "answers": [span("70", text, sentence) for sentence in SENTENCES],
        },
    ]
    check_spans(tmp_path / "scifact")


def test_scifact_has_no_answers_without_the_original(tmp_path, scifact):
    assert main(["scifact", "--data", str(tmp_path), "--beir", str(scifact[0])]) == 0
    assert not any("answers" in question for question in read(tmp_path / "scifact" / "queries.jsonl"))


# cranfield

CRANFIELD = """\
.I 1
.T
a wing in
a slipstream .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
a wing in
a slipstream .
  an experimental study .
.I 2
.T
.A
.B
.W
"""


def cranfield(tmp_path: Path, judgements: str) -> list[str]:
    folder = tmp_path / "cran"
    write(folder / "cran.all.1400", CRANFIELD)
    write(folder / "cran.qry", ".I 001\n.W\nwhat about\nwings .\n.I 004\n.W\nand  slipstreams .\n")
    write(folder / "cranqrel", judgements)
    return ["cranfield", "--data", str(tmp_path), "--cranfield", str(folder)]


def test_cranfield_numbers_questions_by_position_and_grades_from_4_for_a_complete_answer(tmp_path):
    assert main(cranfield(tmp_path, "1 1 2\n1 2  4\n2 1 -1\n2 2 5\n\n")) == 0
    assert read(tmp_path / "cranfield" / "corpus.jsonl") == [
        {"id": "1", "title": "a wing in a slipstream .", "text": "a wing in\na slipstream .\n  an experimental study ."},
        {"id": "2", "title": "", "text": ""},
    ]
    assert read(tmp_path / "cranfield" / "queries.jsonl") == [
        {"id": "1", "text": "what about wings .", "relevant": {"1": 5 - 2, "2": 5 - 4}},
        {"id": "2", "text": "and slipstreams .", "relevant": {"1": 5 - 1}},
    ]


def test_cranfield_refuses_an_unknown_code(tmp_path):
    with pytest.raises(ValueError, match="a judgement must have a code from 1 to 5, or -1, got '1 1 7'"):
        main(cranfield(tmp_path, "1 1 7\n"))


# hotpotqa


def hop(id_: str, facts: list, context: dict[str, list[str]]) -> dict:
    paragraphs = [[title, sentences] for title, sentences in context.items()]
    return {"_id": id_, "question": f"{id_}?", "answer": "yes", "supporting_facts": facts, "context": paragraphs}


def hotpotqa(tmp_path: Path, *questions: dict, count: int = 100) -> list[dict]:
    file = write(tmp_path / "hotpot.json", list(questions))
    assert main(["hotpotqa", "--data", str(tmp_path), "--hotpotqa", str(file), "--questions", str(count)]) == 0
    return read(tmp_path / "hotpotqa" / "queries.jsonl")


HOT, COLD = ["Hot is a game.", " It came out in 2007."], ["Cold is another.", " It is older."]


def test_hotpotqa_needs_all_supporting_sentences_and_pools_the_paragraphs(tmp_path):
    questions = hotpotqa(
        tmp_path,
        hop("q1", [["Hot", 1], ["Cold", 0]], {"Hot": HOT, "Cold": COLD, "Noise": ["Noise."]}),
        hop("q2", [["Cold", 1], ["Cold", 1]], {"Cold": COLD}),
    )
    hot, cold = "Hot is a game. It came out in 2007.", "Cold is another. It is older."
    assert read(tmp_path / "hotpotqa" / "corpus.jsonl") == [
        {"id": "Hot", "title": "Hot", "text": hot},
        {"id": "Cold", "title": "Cold", "text": cold},
        {"id": "Noise", "title": "Noise", "text": "Noise."},
    ]
    assert questions == [
        {
            "id": "q1",
            "text": "q1?",
            "answer_mode": "all",
            "gold_answer": "yes",
            "answers": [span("Hot", hot, "It came out in 2007."), span("Cold", cold, "Cold is another.")],
        },
        {
            "id": "q2",
            "text": "q2?",
            "answer_mode": "all",
            "gold_answer": "yes",
            "answers": [span("Cold", cold, "It is older.")],
        },
    ]
    check_spans(tmp_path / "hotpotqa")


def test_hotpotqa_leaves_out_questions_whose_sentences_are_not_there(tmp_path):
    questions = hotpotqa(
        tmp_path,
        hop("behind", [["Hot", 2]], {"Hot": HOT}),
        hop("elsewhere", [["Cold", 0]], {"Hot": HOT}),
        hop("good", [["Hot", 0]], {"Hot": HOT}),
    )
    assert [question["id"] for question in questions] == ["good"]


def test_hotpotqa_takes_questions_evenly_spaced(tmp_path):
    every = [hop(f"q{number}", [["Hot", 0]], {"Hot": HOT}) for number in range(10)]
    questions = hotpotqa(tmp_path, *every, count=4)
    assert [question["id"] for question in questions] == ["q0", "q2", "q5", "q7"]  # 10 * 0, 1, 2, 3 // 4


def test_hotpotqa_refuses_two_texts_of_one_title(tmp_path):
    with pytest.raises(ValueError, match="two paragraphs with the title 'Hot' have different texts"):
        hotpotqa(tmp_path, hop("q1", [["Hot", 0]], {"Hot": HOT}), hop("q2", [["Hot", 0]], {"Hot": COLD}))


# what the benchmarks see


def test_what_was_built_is_what_the_benchmarks_load(squad):
    data = squad.parent
    assert what_is_absent(data, ["squad"]) is None
    assert [document["id"] for document in load_documents(data, "squad")] == ["Steam_engine", "Oxygen"]
    assert [question["id"] for question in load_questions(data, "squad")] == ["squad2-1", "xquad-7"]


def test_the_benchmarks_say_which_files_are_absent_and_how_to_make_them(squad):
    message = what_is_absent(squad.parent, ["squad", "covidqa"])
    assert message is not None
    assert str(squad.parent / "covidqa" / "corpus.jsonl") in message
    assert str(squad / "corpus.jsonl") not in message
    assert f"python benchmarks/build_data.py covidqa --data {squad.parent}" in message


def test_an_absent_original_is_named(tmp_path, capsys):
    assert main(["covidqa", "--data", str(tmp_path), "--covidqa", str(tmp_path / "nowhere.json")]) == 2
    assert f"there is no file {tmp_path / 'nowhere.json'}" in capsys.readouterr().err


def test_questions_are_spaced_evenly_from_the_first_on():
    assert evenly_spaced(range(10), 4) == [0, 2, 5, 7]
    assert evenly_spaced(range(3), 4) == range(3)
