"""Reads and writes documents, questions, judgements and runs in BEIR's and TREC's files, for other evaluation tools."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafspan.checks import check_path, check_text, check_whole, reason_of, shown, write_file
from leafspan.errors import InvalidArgument
from leafspan.lab.evaluation._questions import Question
from leafspan.strategies import StrategyLike
from leafspan.values import Document

if TYPE_CHECKING:
    from leafspan.view import View

_HEAD = ["query-id", "corpus-id", "score"]


def read_beir(folder: str | Path, split: str = "test") -> tuple[list[Document], list[Question]]:
    """Read the documents and questions of a data set in the format of BEIR, a collection of test data sets.

    Args:
        folder: Folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/{split}.tsv``.
        split: Name of the file with judgements (which document is relevant to which question). Default: ``"test"``.

    Returns:
        The documents, and the questions with a relevant document, in the order of the files. Judgements of 0 are left out.

    Raises:
        InvalidArgument: if a file is missing or a line is wrong. The message says which.
    """
    check_path("folder", folder)
    check_text("split", split)
    folder = Path(folder)
    documents = [
        Document(str(each["_id"]), str(each["text"]), title=str(each.get("title") or "") or None)
        for each in _objects(folder / "corpus.jsonl", "_id", "text")
    ]
    texts = {str(each["_id"]): str(each["text"]) for each in _objects(folder / "queries.jsonl", "_id", "text")}
    relevant: dict[str, dict[str, float]] = {}
    for place, (question, document, grade) in _judgements(folder / "qrels" / f"{split}.tsv"):
        if question not in texts:
            raise InvalidArgument(f"{place}: each judged question must be in queries.jsonl, got {shown(question)}")
        if grade > 0:
            relevant.setdefault(question, {})[document] = grade
    return documents, [Question(texts[id_], relevant=grades, id=id_) for id_, grades in relevant.items()]


def save_beir(
    folder: str | Path, documents: Iterable[Document], questions: Iterable[Question], split: str = "test"
) -> None:
    """Write documents and questions as a data set in BEIR's format. Existing files are replaced.

    Args:
        folder: Folder for the files, which is made if needed.
        documents: The documents. Their ids, titles and texts are written.
        questions: The questions. Their ids, texts and relevant documents are written. Questions without relevant documents
            get no judgement.
        split: Name of the judgements. Default: ``"test"``.

    Raises:
        InvalidArgument: if a grade is not a whole number, which BEIR requires.
    """
    check_path("folder", folder)
    check_text("split", split)
    folder, questions = Path(folder), list(questions)
    rows = [(each.id, id_, _grade(grade, each)) for each in questions for id_, grade in each.relevant.items()]
    _made(folder / "qrels")
    corpus = ({"_id": each.id, "title": each.title or "", "text": each.text} for each in documents)
    write_file(folder / "corpus.jsonl", _as_lines(corpus))
    write_file(folder / "queries.jsonl", _as_lines({"_id": each.id, "text": each.text} for each in questions))
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows([_HEAD, *rows])
    write_file(folder / "qrels" / f"{split}.tsv", written.getvalue())


def save_trec(
    folder: str | Path, questions: Iterable[Question], view: View, strategies: Sequence[StrategyLike], *, k: int = 100
) -> dict[str, Path]:
    """Write judgements and the strategies' results as TREC files, for ``trec_eval``, ir_measures or ranx.

    A document has the rank and score of its best passage.

    Args:
        folder: Folder for the files, which is made if needed: ``qrels``, and ``{name}.run`` for each strategy.
        questions: The questions, with relevant documents. Their ids must have no spaces, since TREC separates by spaces.
        view: The index, or a view of it.
        strategies: The strategies, or their names.
        k: Largest number of passages for a question, >= 1. Default: 100.

    Returns:
        The files of the runs, by the names of their strategies.

    Raises:
        InvalidArgument: if an id has a space, a grade is not a whole number, or an option has the wrong type.
    """
    check_path("folder", folder)
    check_whole("k", k, 1)
    folder, questions = Path(folder), list(questions)
    judged = [
        f"{_word(each.id)} 0 {_word(id_)} {_grade(grade, each)}"
        for each in questions
        for id_, grade in each.relevant.items()
    ]
    write_file(_made(folder) / "qrels", "".join(f"{line}\n" for line in judged))
    files: dict[str, Path] = {}
    for strategy in strategies:
        name = strategy if isinstance(strategy, str) else type(strategy).__name__
        answers = view.retrieve_many([each.text for each in questions], strategy, k=k)
        lines = [
            f"{_word(question.id)} Q0 {_word(id_)} {rank} {score!r} {name}"
            for question, passages in zip(questions, answers, strict=True)
            for rank, (id_, score) in enumerate(_best(passages), 1)
        ]
        files[name] = folder / f"{name}.run"
        write_file(files[name], "".join(f"{line}\n" for line in lines))
    return files


def _best(passages: Iterable[Any]) -> list[tuple[str, float]]:
    """The passages' documents with their best scores, best first."""
    scores: dict[str, float] = {}
    for each in passages:
        if each.document_id:
            scores[each.document_id] = max(each.score, scores.get(each.document_id, each.score))
    return sorted(scores.items(), key=lambda pair: -pair[1])


def _objects(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except ValueError as error:
            raise InvalidArgument(f"{path}, line {number}: it must be a JSON object: {reason_of(error)}") from error
        if not isinstance(plain, dict) or not all(isinstance(plain.get(key), str | int) for key in keys):
            wanted = f"a JSON object with {' and '.join(keys)}"
            raise InvalidArgument(f"{path}, line {number}: it must be {wanted}, got {shown(plain)}")
        yield plain


def _judgements(path: Path) -> Iterator[tuple[str, tuple[str, str, float]]]:
    for number, row in enumerate(csv.reader(_lines(path), delimiter="\t"), 1):
        if number == 1 or not row:
            continue
        try:
            question, document, grade = row
            yield f"{path}, line {number}", (question, document, float(grade))
        except ValueError as error:
            raise InvalidArgument(
                f"{path}, line {number}: it must be a question, a document and a grade, separated by tabs, got {shown(row)}"
            ) from error


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeError) as error:
        what = f"a data set of BEIR must have {path.name} in UTF-8, got {shown(str(path))}"
        raise InvalidArgument(f"{what}: {reason_of(error)}") from error


def _as_lines(objects: Iterable[dict[str, str]]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


def _made(folder: Path) -> Path:
    """Make the folder if needed, and return it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"folder must be a folder that can be made, got {shown(str(folder))}: {reason_of(error)}"
        ) from error
    return folder


def _grade(grade: float, question: Question) -> int:
    if grade != int(grade):
        raise InvalidArgument(f"grades must be whole numbers in these files, got {grade} for {shown(question.id)}")
    return int(grade)


def _word(id_: str) -> str:
    if not id_ or id_.split() != [id_]:
        raise InvalidArgument(f"ids in files of TREC must have no spaces, got {shown(id_)}: give the question an id=")
    return id_
