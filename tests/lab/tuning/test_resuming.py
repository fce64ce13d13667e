"""A stopped tuning continues, and no other tuning can use its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafspan import Document, Index, InvalidArgument, lab
from leafspan.lab import Question
from leafspan.lab.tuning import _tune
from tests.lab.tuning.conftest import BUDGETS, CHAPTERS, PARTS, QUESTIONS, SPLITTER, TOO_LITTLE_ON_WORDS
from tests.profiles import quick


class Stopped(Exception):
    """What stops a tuning in these tests."""


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch):
    """The strategies that are measured on the questions to fit on, in their order; it stops before one too many."""

    class Measured(list):
        most = 1_000

    found = Measured()
    original = _tune.measure

    def noting(ask, judged, config, budgets, where, bar, *, once):
        if once:  # what is reported is measured as a call would ask for it
            if len(found) == found.most:
                raise Stopped
            found.append(config.strategy)
        return original(ask, judged, config, budgets, where, bar, once=once)

    monkeypatch.setattr(_tune, "measure", noting)
    return found


def tune(index, path, questions=QUESTIONS, strategy=TOO_LITTLE_ON_WORDS, **options):
    return lab.tune(index, questions, strategy, resume=path, **{"budgets": BUDGETS, "rounds": 1, **options})


def test_what_was_measured_is_not_measured_again(parts: Index, tmp_path: Path, measured):
    whole = tune(parts, None)
    expected = list(measured)
    assert len(expected) == len(set(map(repr, expected))) == whole.settings

    measured.clear()
    measured.most = 3
    with pytest.raises(Stopped):
        tune(parts, tmp_path / "tuning.json")
    assert measured == expected[:3]

    measured.clear()
    measured.most = 1_000
    assert tune(parts, tmp_path / "tuning.json") == whole
    assert measured == expected[3:]

    measured.clear()
    assert tune(parts, str(tmp_path / "tuning.json")) == whole
    assert measured == []
    assert [each.name for each in tmp_path.iterdir()] == ["tuning.json"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"questions": QUESTIONS[:42]}, "questions"),
        ({"questions": [*QUESTIONS[:47], Question("Where is fish kept?", relevant={"chapter 3": 1})]}, "questions"),
        ({"seed": 1}, "questions"),
        ({"strategy": "hybrid"}, "base"),
        ({"budgets": [12, 40]}, "options"),
        ({"where": {"x": {"$ne": 1}}}, "options"),
        ({"options": ["weights", "thresholds"]}, "options"),
    ],
)
def test_the_file_of_another_tuning_is_refused(parts: Index, tmp_path: Path, measured, options, what):
    measured.most = 1
    with pytest.raises(Stopped):
        tune(parts, tmp_path / "tuning.json")
    before = (tmp_path / "tuning.json").read_bytes()
    with pytest.raises(InvalidArgument, match=rf"resume must be the file of the same tuning, .*which has another .*{what}"):
        tune(parts, tmp_path / "tuning.json", **options)
    assert (tmp_path / "tuning.json").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    quick(
        1,
        [
            Document("h", "A new document."),
            Document(PARTS[3].id, PARTS[3].text.replace("top", "low")),
            Document(PARTS[3].id, PARTS[3].text, "A title"),
            Document(PARTS[3].id, PARTS[3].text, metadata={"year": 2020}),
        ],
    ),
)
def test_a_change_of_the_documents_makes_it_another_tuning(tmp_path: Path, measured, change: Document):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add([*PARTS, *CHAPTERS])
        questions = [Question(each.text, relevant={part.id: 1}) for each, part in zip(QUESTIONS, PARTS, strict=True)]
        measured.most = 1
        with pytest.raises(Stopped):
            tune(index, tmp_path / "tuning.json", questions)
        index.add(change)
        with pytest.raises(InvalidArgument, match="which has another index: name another file, or delete this one"):
            tune(index, tmp_path / "tuning.json", questions)


def test_a_file_that_is_something_else_is_left_alone(parts: Index, tmp_path: Path, measured):
    measured.most = 1
    with pytest.raises(Stopped):
        tune(parts, tmp_path / "good.json")
    good = json.loads((tmp_path / "good.json").read_text())
    for text in (
        "Dear diary",
        "[]",
        "{}",
        '{"format": 1, "run": 5, "scores": {}}',
        json.dumps({**good, "format": 99}),
        json.dumps({**good, "scores": {"{}": [1.0]}}),
        json.dumps({**good, "scores": {"{}": ["one"] * 24}}),
        json.dumps({**good, "scores": {"{}": [float("nan")] * 24}}),
        "[" * 100_000,
    ):
        (tmp_path / "mine.json").write_text(text)
        with pytest.raises(
            InvalidArgument, match=r"resume must be a new file or one that tune has written, got .*mine\.json"
        ):
            tune(parts, tmp_path / "mine.json")
        assert (tmp_path / "mine.json").read_text() == text


def test_a_file_that_cannot_be_read_or_written_is_an_error(parts: Index, tmp_path: Path):
    with pytest.raises(InvalidArgument, match="resume must be a file that can be read"):
        tune(parts, tmp_path)
    with pytest.raises(
        InvalidArgument, match=r"resume must be a file that can be written, got .*: no such file or directory"
    ):
        tune(parts, tmp_path / "nowhere" / "tuning.json")
