"""The file that counts changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from leafspan.engines.local._change_file import ChangeFile


def test_a_file_that_is_the_same_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    changes = ChangeFile(tmp_path / "changes")
    changes.advance()

    def opened(*arguments: object, **options: object) -> int:
        raise AssertionError("each time takes a descriptor until the index is closed")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opened)
        changes.follow()
    assert changes.count == ChangeFile(tmp_path / "changes").count


@pytest.mark.parametrize("how", ["deleted", "replaced", "emptied"])
def test_a_file_that_is_another_one_is_opened_again(tmp_path: Path, how: str):
    path = tmp_path / "changes"
    changes = ChangeFile(path)
    count = changes.count
    if how == "emptied":
        os.truncate(path, 0)
    else:
        path.unlink()
    if how == "replaced":
        ChangeFile(path)
    changes.follow()
    assert changes.count != count
    assert changes.count == ChangeFile(path).count


def test_a_count_of_the_database_that_is_not_as_it_was_written_is_not_known(tmp_path: Path):
    path = tmp_path / "changes"
    changes = ChangeFile(path)
    assert changes.database is None
    changes.database = 7
    assert ChangeFile(path).database == 7
    with path.open("r+b") as file:
        file.seek(3 * 8)
        file.write(bytes([8]))  # of the count; the checksum belongs to 7
    assert changes.database is None


def test_a_folder_is_in_use_while_a_writer_or_a_user_of_chromas_files_is_at_work(tmp_path: Path):
    changes = ChangeFile(tmp_path / "changes")
    for at_work in ("writing", "touching"):
        assert not changes.is_in_use
        setattr(changes, at_work, True)
        assert changes.is_in_use
        setattr(changes, at_work, False)
    assert not changes.is_in_use
