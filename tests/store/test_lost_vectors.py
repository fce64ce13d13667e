"""Records of lost vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan.engines.chroma._lost_vectors import Loss, LostVectors


def test_a_loss_is_noted_until_it_is_forgotten_along_with_what_was_set_aside(tmp_path: Path):
    notes = LostVectors(tmp_path / "notes")
    assert (notes.of("5e9"), notes.find("kb.leaves"), notes.collections()) == (False, None, set())
    notes.note("5e9", "kb.leaves", 7)
    notes.note("0a1", "other.leaves", None)
    (tmp_path / "notes" / "5e9.damaged").mkdir()
    assert (notes.of("5e9"), notes.of("0a1"), notes.collections()) == (True, True, {"kb.leaves", "other.leaves"})
    loss = notes.find("kb.leaves")
    assert loss == Loss("5e9", "kb.leaves", 7)
    assert notes.find("other.leaves") == Loss("0a1", "other.leaves", None)
    notes.forget(loss)
    assert (notes.of("5e9"), notes.collections()) == (False, {"other.leaves"})
    assert [each.name for each in (tmp_path / "notes").iterdir()] == ["0a1.lost"]


def test_a_note_that_cannot_be_read_is_passed_over(tmp_path: Path):
    notes = LostVectors(tmp_path)
    notes.note("5e9", "kb.leaves", 7)
    (tmp_path / "0a1.lost").write_text("{")
    (tmp_path / "0a2.lost").write_text('{"missing": 7}')
    assert notes.collections() == {"kb.leaves"}
    assert not notes.of("0a1")


def test_a_note_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    notes = LostVectors(tmp_path)

    def full(path: Path, text: str) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            notes.note("5e9", "kb.leaves", 7)
    assert list(tmp_path.iterdir()) == []
    notes.note("5e9", "kb.leaves", 7)
    assert notes.of("5e9")
