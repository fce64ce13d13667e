"""Near misses, with and without their file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("scripts")

TOWNS = [f"{first}{last}" for first in ("Ar", "Bel", "Cas", "Dun", "El") for last in ("moor", "ford", "bury", "den")]
THINGS = ("bridge", "mill")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Forty documents, each with a question that it answers."""
    rows = [(f"{thing} of {town}", town, thing) for town in TOWNS for thing in THINGS]
    (tmp_path / "squad").mkdir()
    write(tmp_path, "corpus", [{"id": id_, "text": f"The {id_} opened long ago. {town} paid."} for id_, town, _ in rows])
    answers = [{"id": id_, "text": f"When did the {id_} open?", "answers": [{"doc_id": id_}]} for id_, _, _ in rows]
    write(tmp_path, "queries", answers)
    return tmp_path


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    (folder / "squad" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_without_their_file_near_misses_are_not_measured(data: Path, capsys: pytest.CaptureFixture[str]):
    import answerable

    assert list(answerable.report_near_misses(data, None)) == []
    said = capsys.readouterr().out
    assert f"near misses are not measured: {data / 'squad' / 'unanswerable.jsonl'} is absent." in said


def test_each_threshold_has_what_it_keeps_and_refuses(data: Path):
    import answerable

    write(
        data, "unanswerable", [{"id": "a", "text": "Who drew the mill of Armoor?"}, {"id": "b", "text": "Do bats sleep?"}]
    )
    figures = list(answerable.report_near_misses(data, None))
    assert [each.name for each in figures] == ["threshold", "near misses refused", "own kept"] * 4
    assert figures[0].value == 0.5
    assert figures[1].value in (0.5, 1.0)  # what is about something else is refused
    assert [each.bound for each in figures[2::3]] == [None, *(pytest.approx(keep - 0.05) for keep in (0.8, 0.9, 0.95))]
    assert all(each.value in [count / 20 for count in range(21)] for each in figures[2::3])
