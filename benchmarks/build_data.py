"""Builds the benchmarks' question sets from public releases that you download yourself. It downloads nothing.

    python benchmarks/build_data.py SET --data FOLDER ORIGINALS    (options of a set: build_data.py SET --help)

SET is squad, covidqa, scifact, cranfield or hotpotqa. The command makes the folder ``FOLDER/SET``, and prints its counts.
The originals and their licences:

- squad: the development set of SQuAD 2.0 (Rajpurkar et al., 2018), CC BY-SA 4.0, as ``--squad``. The figures in
  docs/measurements.md use another split of it, made for Stanford's course CS224N: in the GitHub repository
  chrischute/squad, dev-v2.0.json has questions (``--squad``), and test-v2.0.json more articles (``--articles``), whose
  questions have no answers. XQuAD (Artetxe et al., 2020), xquad.en.json in the GitHub repository google-deepmind/xquad,
  CC BY-SA 4.0, has questions about these articles (``--xquad``).
- covidqa: COVID-QA (Möller et al., 2020), 200423_covidQA.json in the GitHub repository deepset-ai/COVID-QA. Annotations:
  Apache-2.0. Articles: mostly CC BY, as their texts say.
- scifact: SciFact (Wadden et al., 2020) as the BEIR project distributes it (``--beir``). The original release, the folder
  ``data`` that the GitHub repository allenai/scifact describes, adds the sentences that support or contradict a claim
  (``--original``). Claims: CC BY 4.0. Abstracts: ODC-By 1.0.
- cranfield: the Cranfield collection (Cleverdon, 1967) as the University of Glasgow distributes it: cran.all.1400, cran.qry
  and cranqrel. It has no licence: use it for research, and do not distribute it.
- hotpotqa: the development set of HotpotQA (Yang et al., 2018) with distractors, CC BY-SA 4.0.

The files of a set have one JSON object on each line:

- ``corpus.jsonl``: ``id``, ``title`` and ``text`` of each document; in covidqa also its ``licence``.
- ``queries.jsonl``: ``id`` and ``text`` of each question. If answers are known, ``answers`` is a list of ``doc_id``,
  ``start``, ``end`` and ``text``, which is ``document[start:end]`` in Python characters. ``answer_mode`` is ``"any"`` if
  one answer is enough, or ``"all"``. If documents are judged, ``relevant`` has their grades by id.
- ``unanswerable.jsonl`` (squad only): questions without an answer; ``near_doc`` is the article that they seem to be about.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

_BLANK_LINE = "\n\n"

INVENTED_ARTICLE = "Miscellaneous"
"""An article of CS224N's split that is not in SQuAD."""

GRADES = {-1: 4, 1: 4, 2: 3, 3: 2, 4: 1}
"""Grades for Cleverdon's codes: 5 less the code. 1 is a complete answer, and 4 of minimum interest.

In some copies of the collection, -1 means 1. The code 5, of no interest, is left out.
"""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A question set with the lines of its files.

    Attributes:
        documents: The lines of ``corpus.jsonl``.
        questions: The lines of ``queries.jsonl``.
        unanswerable: The lines of ``unanswerable.jsonl``. Without lines, the file is not written.
    """

    documents: list[Record]
    questions: list[Record]
    unanswerable: list[Record] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write the files into a folder, which is made if it is absent."""
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / "corpus.jsonl", self.documents)
        _write_lines(folder / "queries.jsonl", self.questions)
        if self.unanswerable:
            _write_lines(folder / "unanswerable.jsonl", self.unanswerable)

    def counts(self) -> str:
        """The numbers of documents, questions and answers."""
        spans = [len(question.get("answers", [])) for question in self.questions]
        parts = [
            f"{len(self.documents):,} documents",
            f"{sum(len(document['text']) for document in self.documents):,} characters",
            f"{len(self.questions):,} questions ({sum(map(bool, spans)):,} with spans, {sum(spans):,} spans)",
            f"{sum(len(question.get('relevant', {})) for question in self.questions):,} judged documents",
        ]
        if self.unanswerable:
            parts.append(f"{len(self.unanswerable):,} unanswerable questions")
        return ", ".join(parts)


def build_squad(squad: Path, articles: Path | None = None, xquad: Path | None = None) -> QuestionSet:
    """Build SQuAD's articles, their paragraphs joined by a blank line, and the questions about them.

    Args:
        squad: SQuAD 2.0 file with questions and answers.
        articles: SQuAD file whose articles are added, without their questions. Default: none.
        xquad: XQuAD file whose questions are added if their paragraph is in one of the articles, word for word.
            Default: none.

    Returns:
        The set. The answers of a question are the annotators' different spans, in the order of the text. If an article has
        equal questions, only the first is taken.
    """
    documents: list[Record] = []
    places: dict[str, tuple[str, int]] = {}  # article and start of each paragraph
    for file in (squad, articles):
        for article in _read_squad(file) if file else ():
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            start = 0
            for context in contexts:
                places.setdefault(context, (article["title"], start))
                start += len(context) + len(_BLANK_LINE)
            title = article["title"].replace("_", " ")
            documents.append({"id": article["title"], "title": title, "text": _BLANK_LINE.join(contexts)})
    asked: dict[tuple[str, str, bool], Record] = {}  # by article, text and whether there is an answer
    for prefix, file in (("squad2", squad), ("xquad", xquad)):
        for context, each in _squad_questions(file) if file else ():
            if context not in places:
                continue
            document_id, start = places[context]
            question = {"id": f"{prefix}-{each['id']}", "text": each["question"].strip()}
            if each.get("is_impossible"):
                question |= {"answers": [], "near_doc": document_id}
            elif each["answers"]:
                found = [_answer(document_id, context, one["answer_start"], one["text"], start) for one in each["answers"]]
                question |= {"answer_mode": "any", "answers": _distinct(found)}
            else:
                continue
            asked.setdefault((document_id, question["text"], bool(question["answers"])), question)
    answerable = [question for question in asked.values() if question["answers"]]
    return QuestionSet(documents, answerable, [question for question in asked.values() if not question["answers"]])


def build_covidqa(covidqa: Path) -> QuestionSet:
    """Build the articles of COVID-QA, with their first line as title, and the questions about them.

    Args:
        covidqa: The file, in SQuAD's format; each paragraph is an article and has a ``document_id``.

    Returns:
        The set. White space at the ends of an answer is left out. An answer that is not at its place is moved to the
        nearest place where it is.

    Raises:
        ValueError: if an answer is not in its article.
    """
    ids: dict[str, str] = {}  # by text
    documents: list[Record] = []
    for article in _read_squad(covidqa):
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            licence = re.search(r"^License:[ \t]*(\S.*)$", text, re.MULTILINE)
            ids[text] = f"covid-{paragraph['document_id']}"
            documents.append(
                {
                    "id": ids[text],
                    "title": text.partition("\n")[0].strip(),
                    "text": text,
                    "licence": licence[1].strip() if licence else "not stated in the text",
                }
            )
    questions = [
        {
            "id": f"covidqa-{each['id']}",
            "text": each["question"].strip(),
            "answer_mode": "any",
            "answers": _distinct(_answer(ids[text], text, one["answer_start"], one["text"]) for one in each["answers"]),
        }
        for text, each in _squad_questions(covidqa)
    ]
    return QuestionSet(documents, questions)


def build_scifact(beir: Path, original: Path | None = None) -> QuestionSet:
    """Build SciFact's abstracts, with the claims in the order of their numbers.

    Args:
        beir: Folder in BEIR's format. ``qrels/train.tsv`` and ``qrels/test.tsv`` name the claims.
        original: Folder of the original release, with ``corpus.jsonl``, ``claims_train.jsonl`` and ``claims_dev.jsonl``.
            Default: none; then no claim has answers.

    Returns:
        The set. The answers of a claim are the sentences of its rationales, one by one.

    Raises:
        ValueError: if a rationale's sentence is not in the text of its abstract.
    """
    corpus = _read_lines(beir / "corpus.jsonl")
    documents = [{"id": str(each["_id"]), "title": each["title"], "text": each["text"]} for each in corpus]
    texts = {document["id"]: document["text"] for document in documents}
    claims = {str(each["_id"]): each["text"].strip() for each in _read_lines(beir / "queries.jsonl")}
    evidence = {} if original is None else _scifact_evidence(original, texts)
    questions: list[Record] = []
    for split in ("train", "test"):
        relevant: dict[str, dict[str, int]] = {}
        with (beir / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
        questions += [
            {"id": id_, "text": claims[id_], "split": split, "relevant": grades, **evidence.get(id_, {})}
            for id_, grades in relevant.items()
        ]
    return QuestionSet(documents, sorted(questions, key=lambda question: int(question["id"])))


def _scifact_evidence(original: Path, texts: Mapping[str, str]) -> dict[str, Record]:
    """Answers, mode and label of each claim that has a rationale, by its id."""
    sentences = {str(each["doc_id"]): each["abstract"] for each in _read_lines(original / "corpus.jsonl")}
    found: dict[str, Record] = {}
    for name in ("claims_train.jsonl", "claims_dev.jsonl"):
        for claim in _read_lines(original / name):
            rationales = [(id_, rationale) for id_, every in claim["evidence"].items() for rationale in every]
            if not rationales:
                continue
            answers = [
                _sentence(str(id_), texts[str(id_)], sentences[str(id_)], number, separator=" ")
                for id_, rationale in rationales
                for number in rationale["sentences"]
            ]
            label = rationales[0][1]["label"]
            found[str(claim["id"])] = {"answer_mode": "any", "label": label, "answers": _distinct(answers)}
    return found


def build_cranfield(cranfield: Path) -> QuestionSet:
    """Build the abstracts and questions of the Cranfield collection.

    Args:
        cranfield: Folder of ``cran.all.1400``, ``cran.qry`` and ``cranqrel``.

    Returns:
        The set. A question's id is its position, from 1, which the judgements use; ``cran.qry`` has another number.
        Grades range from 1 (minimum interest) to 4 (complete answer).

    Raises:
        ValueError: if a judgement has an unknown code.
    """
    documents = [
        {"id": number, "title": _one_line(fields.get("T", "")), "text": fields.get("W", "").strip()}
        for number, fields in _read_smart(cranfield / "cran.all.1400")
    ]
    relevant: dict[str, dict[str, int]] = {}
    for line in (cranfield / "cranqrel").read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        question_id, document_id, code = line.split()
        if int(code) == 5:
            continue
        if int(code) not in GRADES:
            raise ValueError(f"a judgement must have a code from 1 to 5, or -1, got {line!r}")
        relevant.setdefault(question_id, {})[document_id] = GRADES[int(code)]
    questions = [
        {"id": str(position), "text": _one_line(fields.get("W", "")), "relevant": relevant.get(str(position), {})}
        for position, (_, fields) in enumerate(_read_smart(cranfield / "cran.qry"), start=1)
    ]
    return QuestionSet(documents, questions)


def build_hotpotqa(hotpotqa: Path, count: int = 100) -> QuestionSet:
    """Build questions of HotpotQA, with their paragraphs as documents.

    Args:
        hotpotqa: The file ``hotpot_dev_distractor_v1.json``.
        count: Number of questions, evenly spaced over the file, >= 1. Default: 100.

    Returns:
        The set. The answers of a question are its supporting sentences, and all are needed; ``gold_answer`` is the short
        answer. Questions whose supporting sentences are not all in their paragraphs are left out.

    Raises:
        ValueError: if two paragraphs of the same title have different texts.
    """
    every = json.loads(hotpotqa.read_text(encoding="utf-8"))
    asked = [each for each in every if _is_supported(each)]
    if len(asked) > count:
        asked = [asked[number * len(asked) // count] for number in range(count)]
    texts: dict[str, str] = {}
    questions: list[Record] = []
    for each in asked:
        paragraphs = dict(each["context"])
        for title, sentences in paragraphs.items():
            text = "".join(sentences)
            if texts.setdefault(title, text) != text:
                raise ValueError(f"two paragraphs with the title {title!r} have different texts")
        answers = [
            _sentence(title, texts[title], paragraphs[title], number, separator="")
            for title, number in each["supporting_facts"]
        ]
        questions.append(
            {
                "id": each["_id"],
                "text": each["question"].strip(),
                "answer_mode": "all",
                "gold_answer": each["answer"],
                "answers": list({(answer["doc_id"], answer["start"]): answer for answer in answers}.values()),
            }
        )
    return QuestionSet([{"id": title, "title": title, "text": text} for title, text in texts.items()], questions)


def _is_supported(question: Mapping[str, Any]) -> bool:
    """Whether each supporting sentence is in its paragraph and not blank. Some numbers are beyond the last sentence."""
    paragraphs = dict(question["context"])
    return all(
        number < len(paragraphs.get(title, [])) and paragraphs[title][number].strip()
        for title, number in question["supporting_facts"]
    )


def _answer(document_id: str, text: str, start: int, answer: str, shift: int = 0) -> Record:
    """The answer, without white space at its ends, at the place in the text nearest to ``start``.

    ``shift`` is the start of the text within its document.
    """
    start += len(answer) - len(answer.lstrip())
    answer = answer.strip()
    if text[start : start + len(answer)] != answer:
        places = [match.start() for match in re.finditer(f"(?={re.escape(answer)})", text)]
        if not places:
            raise ValueError(f"the answer {answer!r} is not in {document_id}")
        start = min(places, key=lambda place: abs(place - start))
    return {"doc_id": document_id, "start": start + shift, "end": start + shift + len(answer), "text": answer}


def _sentence(document_id: str, text: str, sentences: Sequence[str], number: int, *, separator: str) -> Record:
    """The sentence with this number as an answer, in a text that joins all sentences."""
    start = sum(len(sentence) + len(separator) for sentence in sentences[:number])
    return _answer(document_id, text, start, sentences[number])


def _distinct(answers: Iterable[Record]) -> list[Record]:
    """The different answers, by document and place."""
    by_place = {(answer["doc_id"], answer["start"], answer["end"]): answer for answer in answers}
    return [by_place[place] for place in sorted(by_place)]


def _read_squad(path: Path) -> list[dict[str, Any]]:
    """The articles of a file in SQuAD's format."""
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    return [article for article in articles if article.get("title") != INVENTED_ARTICLE]


def _squad_questions(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each question of a file in SQuAD's format, with the paragraph that it is about."""
    for article in _read_squad(path):
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield paragraph["context"], question


def _read_smart(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Number and fields, by their letters, of each record of a file in the format of the SMART system."""
    number, letter = "", ""
    fields: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\.I\s+(\d+)\s*", line):
            if number:
                yield number, {name: "\n".join(lines) for name, lines in fields.items()}
            number, letter, fields = str(int(match[1])), "", {}
        elif match := re.fullmatch(r"\.([TABW])\s*", line):
            letter = match[1]
            fields.setdefault(letter, [])
        elif letter:
            fields[letter].append(line.rstrip())
    if number:
        yield number, {name: "\n".join(lines) for name, lines in fields.items()}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the set that the command line names.

    Returns:
        The exit status: 2 if an original is absent.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = parser.add_subparsers(dest="set", required=True, metavar="SET")

    def add(name: str, build: Callable[[argparse.Namespace], QuestionSet]) -> argparse.ArgumentParser:
        one = sets.add_parser(name, help=f"build {name}")
        one.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the question sets")
        one.set_defaults(build=build)
        return one

    one = add("squad", lambda each: build_squad(each.squad, each.articles, each.xquad))
    one.add_argument("--squad", type=Path, required=True, help="SQuAD 2.0 file with questions and answers, dev-v2.0.json")
    one.add_argument("--articles", type=Path, help="SQuAD file whose articles are added, without their questions")
    one.add_argument("--xquad", type=Path, help="XQuAD file with questions about these articles, xquad.en.json")
    one = add("covidqa", lambda each: build_covidqa(each.covidqa))
    one.add_argument("--covidqa", type=Path, required=True, help="COVID-QA file, 200423_covidQA.json")
    one = add("scifact", lambda each: build_scifact(each.beir, each.original))
    one.add_argument("--beir", type=Path, required=True, help="folder of corpus.jsonl, queries.jsonl and qrels")
    one.add_argument("--original", type=Path, help="folder of the original release; without it, no claim has answers")
    one = add("cranfield", lambda each: build_cranfield(each.cranfield))
    one.add_argument("--cranfield", type=Path, required=True, help="folder of cran.all.1400, cran.qry and cranqrel")
    one = add("hotpotqa", lambda each: build_hotpotqa(each.hotpotqa, each.questions))
    one.add_argument("--hotpotqa", type=Path, required=True, help="hotpot_dev_distractor_v1.json")
    one.add_argument("--questions", type=int, default=100, help="number of questions, evenly spaced (default: 100)")

    chosen = parser.parse_args(arguments)
    try:
        built = chosen.build(chosen)
    except FileNotFoundError as error:
        print(f"there is no file {error.filename}: download it first (see build_data.py --help)", file=sys.stderr)
        return 2
    built.write(chosen.data / chosen.set)
    print(f"{chosen.set}: {built.counts()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
