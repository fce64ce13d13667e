"""BEIR data sets and TREC files: written and read again, read by another tool, and with errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ir_measures
import pytest

from leafspan import Document, Hybrid, Index, InvalidArgument
from leafspan.lab import Question, read_beir, save_beir, save_trec
from tests.corpus import DOCUMENTS, QUESTIONS

ASKED = [
    Question(QUESTIONS[0], relevant={DOCUMENTS[0].id: 2, DOCUMENTS[1].id: 1}, id="q1"),
    Question("Wer tanzt? 日本", relevant=[DOCUMENTS[1].id], id="q2"),
]


def test_a_data_set_of_beir_is_read_as_it_was_written(tmp_path: Path):
    documents = [*DOCUMENTS, Document("odd\tid", 'A "quoted"\ntext.', "A title")]
    asked = [*ASKED, Question("Is it odd?", relevant={"odd\tid": 1}, id="q 3")]
    save_beir(tmp_path / "set", documents, asked, split="dev")
    found, questions = read_beir(tmp_path / "set", "dev")
    assert [(each.id, each.title, each.text) for each in found] == [(each.id, each.title, each.text) for each in documents]
    assert questions == asked
    assert (
        (tmp_path / "set/qrels/dev.tsv").read_text().startswith(f"query-id\tcorpus-id\tscore\nq1\t{DOCUMENTS[0].id}\t2\n")
    )


def test_judgements_of_nothing_are_left_out(tmp_path: Path):
    save_beir(tmp_path, DOCUMENTS, ASKED)
    with (tmp_path / "qrels/test.tsv").open("a") as file:
        file.write("q2\tother\t0\n")
    assert read_beir(tmp_path)[1] == ASKED


def test_another_tool_measures_the_runs(index: Index, tmp_path: Path):
    files = save_trec(tmp_path, ASKED, index, ["bm25", Hybrid()], k=10)
    assert set(files) == {"bm25", "Hybrid"}
    judged = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    assert len(judged) == 3
    for file in files.values():
        run = list(ir_measures.read_trec_run(str(file)))
        assert len({(each.query_id, each.doc_id) for each in run}) == len(run)
        [first, *_] = index.retrieve(QUESTIONS[0], "bm25" if file.stem == "bm25" else Hybrid(), k=10)
        assert (run[0].query_id, run[0].doc_id, run[0].score) == ("q1", first.document_id, first.score)
        assert 0 < ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, run)[ir_measures.nDCG @ 10] <= 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", None, r"must have corpus\.jsonl in UTF-8.*no such file"),
        ("corpus.jsonl", "{", r"corpus\.jsonl, line 1: it must be a JSON object"),
        ("corpus.jsonl", '{"_id": "a"}', r"line 1: it must be a JSON object with _id and text, got"),
        ("queries.jsonl", "[]", r"queries\.jsonl, line 1: it must be a JSON object with _id and text"),
        ("qrels/test.tsv", "query-id\nq1\td", r"test\.tsv, line 2: it must be a question, a document and a grade"),
        ("qrels/test.tsv", "query-id\nq1\td\tmuch", r"test\.tsv, line 2: it must be a question, a document and a grade"),
        (
            "qrels/test.tsv",
            "query-id\nq9\td\t1",
            r"test\.tsv, line 2: each judged question must be in queries\.jsonl, got 'q9'",
        ),
    ],
)
def test_what_is_wrong_in_a_data_set_is_named(tmp_path: Path, file: str, content: str | None, message: str):
    save_beir(tmp_path, DOCUMENTS, ASKED)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    with pytest.raises(InvalidArgument, match=message):
        read_beir(tmp_path)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("Who?", relevant={"a": 0.5}, id="q"), "grades must be whole numbers in these files, got 0.5 for 'q'"),
        (Question("Who dances?", relevant={"a": 1}), "ids in files of TREC must have no spaces, got 'Who dances"),
    ],
)
def test_what_these_files_cannot_have_is_refused(index: Index, tmp_path: Path, question: Question, message: str):
    with pytest.raises(InvalidArgument, match=message):
        save_trec(tmp_path / "new", [question], index, ["bm25"])
    assert not (tmp_path / "new").exists()


def test_folders_that_cannot_be_made_are_refused(index: Index, tmp_path: Path):
    (tmp_path / "file").touch()
    calls: list[Any] = [
        lambda: save_beir(tmp_path / "file", DOCUMENTS, ASKED),
        lambda: save_trec(tmp_path / "file", ASKED, index, ["bm25"]),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument, match="folder must be a folder that can be made"):
            call()
    with pytest.raises(InvalidArgument, match="k must be a whole number >= 1"):
        save_trec(tmp_path / "new", ASKED, index, ["bm25"], k=0)
