"""The vault: who may open it, its state after a process is killed, and what its file reveals."""

from __future__ import annotations

import builtins
import multiprocessing
import os
import pickle
import random
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leafspan import InvalidArgument, LeafspanError, MissingExtra, WriterBusy
from leafspan.errors import DamagedVault, VaultNotFound, WrongKey
from leafspan.private import Key, Vault
from leafspan.private.pseudonyms import VaultRecord
from tests.lateness import ends_within

ONE, TWO = "first-key-0123456789-abcdefghijklmnop", "second-key-9876543210-zyxwvutsrqponml"
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def record(
    number: int, home: str = "home", person: str = "Alice Smith", word: str = "PERSON0AAAAAAAAAAAAAAAA0"
) -> VaultRecord:
    notes = {"text": [[number, word, person]]}
    return VaultRecord(
        f"record{number}", home, (f"doc{number}", f"doc{number}@x"), notes, {word: person}, f"doc{number}", "alias"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture
def vault(path: Path) -> Vault:
    made = Vault.open(path, ONE)
    made.save([record(1), record(2)])
    return made


# opening


def test_what_was_saved_is_there_after_opening_again(vault: Vault, path: Path):
    again = Vault.open(path, Key(ONE), create=False)
    assert again.notes(["record1", "unknown"]) == {"record1": {"text": [[1, "PERSON0AAAAAAAAAAAAAAAA0", "Alice Smith"]]}}
    assert again.originals(["PERSON0AAAAAAAAAAAAAAAA0", "X"]) == {"PERSON0AAAAAAAAAAAAAAAA0": "Alice Smith"}
    assert again.pseudonym("PERSON", "Alice") == vault.pseudonym("PERSON", "Alice")


def test_a_wrong_key_is_noticed_at_once_and_nothing_is_lost(vault: Vault, path: Path):
    before = path.read_bytes()
    with pytest.raises(WrongKey, match=r"vault\.db' was locked with another key; nothing was changed") as caught:
        Vault.open(path, TWO)
    assert TWO not in str(caught.value)
    assert path.read_bytes() == before
    assert Vault.open(path, ONE).notes(["record1"])


def test_two_vaults_with_one_key_have_different_pseudonyms(vault: Vault, tmp_path: Path):
    other = Vault.open(tmp_path / "other.db", ONE)
    assert other.pseudonym("PERSON", "Alice") != vault.pseudonym("PERSON", "Alice")


def test_a_missing_vault_is_made_or_an_error(tmp_path: Path):
    with pytest.raises(VaultNotFound, match="there is no vault"):
        Vault.open(tmp_path / "none.db", ONE, create=False)
    assert not list(tmp_path.iterdir())
    vault = Vault.open(tmp_path / "deep" / "er" / "vault.db", ONE)
    assert stat.S_IMODE(vault.path.stat().st_mode) == 0o600
    assert [each.name for each in vault.path.parent.iterdir()] == ["vault.db"]
    vault.path.unlink()
    with pytest.raises(VaultNotFound, match="there is no vault"):
        vault.notes(["record1"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": ""}, "path must be the path of a file"),
        ({"path": 7}, "path must be the path of a file"),
        ({"path": Path()}, "got the folder"),
        ({"key": "short"}, "a key must be at least 32"),
        ({"key": None}, "a key must be bytes or a text"),
        ({"create": 1}, "create must be True or False"),
        ({"timeout": -1}, "timeout must be a number of seconds >= 0"),
    ],
)
def test_options_are_checked(path: Path, options: dict, message: str):
    with pytest.raises(InvalidArgument, match=message):
        Vault.open(**{"path": path, "key": ONE, **options})


def test_a_vault_shows_no_key_and_cannot_be_pickled(vault: Vault):
    assert ONE not in repr(vault)
    with pytest.raises(TypeError, match="a Vault cannot be pickled"):
        pickle.dumps(vault)


def test_the_file_has_nothing_in_the_clear(vault: Vault, path: Path):
    content = path.read_bytes()
    assert b"Alice" not in content
    assert ONE.encode() not in content
    assert b"PERSON0AAAAAAAAAAAAAAAA0" in content


@pytest.mark.parametrize("there", [True, False])
def test_without_cryptography_the_error_says_what_to_type(
    vault: Vault, path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
):
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "cryptography":
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[pii\]" in the clone of leafspan'):
        Vault.open(path if there else path.with_name("new.db"), ONE)
    assert {each.name for each in path.parent.iterdir()} == {"vault.db", "vault.db.mark"}


# damage


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _nonsense(path: Path) -> None:
    path.write_bytes(os.urandom(9000))


def _without_header(path: Path) -> None:
    _execute(path, "DELETE FROM header")


def _other_database(path: Path) -> None:
    path.unlink()
    _execute(path, "CREATE TABLE other (x)")


def _changed_header(path: Path) -> None:
    _execute(path, "UPDATE header SET salt = zeroblob(16)")


def _execute(path: Path, statement: str, values: Any = ()) -> None:
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


@pytest.mark.parametrize("damage", [_cut, _empty, _nonsense, _without_header, _other_database, _changed_header])
def test_a_damaged_file_is_an_error_of_ours(vault: Vault, path: Path, damage: Callable[[Path], None]):
    damage(path)
    before = path.read_bytes()
    with pytest.raises(DamagedVault, match=r"is damaged, or not a vault: .*; restore it from a backup"):
        Vault.open(path, ONE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", [_cut, _nonsense, _empty, _without_header])
def test_so_is_one_that_is_damaged_while_it_is_open(vault: Vault, path: Path, damage: Callable[[Path], None]):
    damage(path)
    with pytest.raises(DamagedVault):
        vault.notes(["record1"])
    with pytest.raises(DamagedVault):
        vault.save([record(3)])


CHANGES = [
    "UPDATE records SET content = (SELECT content FROM records WHERE record = 'record2') WHERE record = 'record1'",
    "UPDATE records SET owner = 'doc2' WHERE record = 'record1'",
    "UPDATE records SET home = 'another'",
    "UPDATE records SET alias = 'x' WHERE record = 'record2'",
    "UPDATE records SET document = 'doc2'",
    "UPDATE records SET stored_ids = '[]'",
    "UPDATE records SET settled = 1",
    "UPDATE records SET settled = '0'",
    "UPDATE records SET record = 'record9' WHERE record = 'record2'",
    "DELETE FROM records WHERE record = 'record2'",
    "DELETE FROM records",
    "DELETE FROM uses",
    "UPDATE uses SET pseudonym = 'PERSON0BBBBBBBBBBBBBBBB0'",
    "INSERT INTO uses VALUES ('record3', 'PERSON0AAAAAAAAAAAAAAAA0')",
    "DELETE FROM entries",
    "UPDATE entries SET content = x'00'",
    "UPDATE entries SET pseudonym = 'PERSON0BBBBBBBBBBBBBBBB0'",
    "UPDATE header SET generation = 7",
    "UPDATE header SET format = 1",
    "UPDATE header SET vault = zeroblob(16)",
    "UPDATE header SET checksum = zeroblob(32)",
    "UPDATE header SET seal = zeroblob(68)",
    "CREATE TRIGGER t AFTER UPDATE ON records BEGIN DELETE FROM entries; END",
    "CREATE TABLE other (x)",
    "DROP INDEX by_alias",
]
USES: list[Callable[[Vault], Any]] = [
    lambda vault: vault.notes(["record1"]),
    lambda vault: vault.notes(["another"]),
    lambda vault: vault.originals(["PERSON0AAAAAAAAAAAAAAAA0"]),
    lambda vault: vault.masked_ids("home", ["x"]),
    lambda vault: vault.unsettled("home"),
    lambda vault: vault.rotate(TWO),
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("opened", [True, False])
def test_nothing_can_be_changed_without_the_key_unnoticed(vault: Vault, path: Path, change: str, opened: bool):
    vault.settle(["record1"], [])
    _execute(path, change)
    for use in USES if opened else [lambda _: Vault.open(path, ONE)]:
        with pytest.raises((DamagedVault, WrongKey)):
            use(vault)
    if opened:
        with pytest.raises((DamagedVault, WrongKey)):
            vault.save([record(3)])


def test_a_vault_of_another_format_says_what_to_do(vault: Vault, path: Path):
    _execute(path, "ALTER TABLE header DROP COLUMN seal")
    _execute(path, "UPDATE header SET format = 1")
    with pytest.raises(
        DamagedVault, match=r"must have format 2, got 1: use the version of leafspan that made it, or make a"
    ):
        Vault.open(path, ONE)


def test_what_is_written_after_a_change_does_not_hide_it(vault: Vault, path: Path):
    _execute(path, "DELETE FROM uses")
    other = object.__new__(Vault)  # as of a process that has not read since others wrote
    other.__dict__.update(vault.__dict__, _checked=None)
    other.save([record(3)])
    other.settle(["record1", "record3"], ["record2"])
    for reading in (other, vault):
        with pytest.raises(DamagedVault, match="rows of it were changed, added or deleted without its key"):
            reading.notes(["record1"])
        with pytest.raises(DamagedVault):
            reading.rotate(TWO)


def test_an_old_row_cannot_come_back(vault: Vault, path: Path):
    old = _all_rows(path)
    vault.settle(["record1"], [])
    vault.rotate(ONE)
    vault.save([record(3)])
    new = _all_rows(path)
    for table, rows in old.items():
        marks = ",".join("?" * len(rows[0]))
        for row in rows:
            shutil.copy(path, path.with_name("kept"))
            _execute(path, f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)
            if _all_rows(path) != new:
                with pytest.raises((DamagedVault, WrongKey)):
                    Vault.open(path, ONE)
            shutil.copy(path.with_name("kept"), path)
    assert Vault.open(path, ONE).notes(["record3"])


def _all_rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    database = sqlite3.connect(path)
    found = {
        name: database.execute(f"SELECT * FROM {name}").fetchall() for name in ("header", "entries", "records", "uses")
    }
    database.close()
    return found


@pytest.mark.parametrize("replace", [shutil.copyfile, os.replace])
@pytest.mark.parametrize("opened", [True, False])
def test_an_older_file_in_its_place_is_noticed(vault: Vault, path: Path, replace: Callable[..., Any], opened: bool):
    copy = shutil.copyfile(path, path.with_name("copy.db"))
    vault.save([record(3)])
    replace(copy, path)
    with pytest.raises(
        DamagedVault, match=r"older than it was: it was written 2 times, but this file has only 1 of these; if you"
    ):
        vault.notes(["record1"]) if opened else Vault.open(path, ONE)
    with pytest.raises(DamagedVault):
        vault.save([record(4)])
    path.with_name("vault.db.mark").unlink()  # as the message says
    assert set(Vault.open(path, ONE).notes(["record1", "record3"])) == {"record1"}


def test_a_vault_that_is_gone_is_not_made_again_empty(vault: Vault, path: Path):
    path.unlink()
    with pytest.raises(DamagedVault, match=r"is gone, and '.*vault\.db\.mark' shows that it existed; restore it"):
        Vault.open(path, ONE)
    assert not path.exists()


@pytest.mark.parametrize("mark", [b"x" * 40, b"x", bytes(40)])
def test_a_changed_mark_is_noticed(vault: Vault, path: Path, mark: bytes):
    path.with_name("vault.db.mark").write_bytes(mark)
    with pytest.raises(DamagedVault, match=r"vault\.db\.mark' was changed, or belongs to another vault than"):
        Vault.open(path, ONE)


def test_a_mark_that_a_killed_process_left_behind_the_vault_does_no_harm(vault: Vault, path: Path):
    behind = path.with_name("vault.db.mark").read_bytes()
    vault.save([record(3)])
    for mark in (behind, b""):
        path.with_name("vault.db.mark").write_bytes(mark)
        Vault.open(path, ONE).save([record(4)])
        assert Vault.open(path, ONE).notes(["record3"])


def test_any_flipped_byte_is_noticed_or_does_not_matter(vault: Vault, path: Path):
    expected, content = vault.notes(["record1"]), path.read_bytes()
    chance = random.Random(7)
    for number in range(150):
        place = chance.randrange(len(content))
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with suppress(DamagedVault, WrongKey):
            opened = vault if number % 2 else Vault.open(path, ONE, timeout=0)
            assert opened.notes(["record1"]) == expected
    path.write_bytes(content)
    assert vault.notes(["record1"]) == expected


def test_a_change_just_after_a_write_is_noticed(vault: Vault, path: Path):
    """Also within one step of the file system's clock, and by a writer that leaves SQLite's own counter as it is."""
    for number in range(10, 40):
        vault.save([record(number)])
        content = path.read_bytes()
        path.write_bytes(content.replace(b"record1", b"record0"))
        with pytest.raises(DamagedVault):
            vault.notes(["record1"])
        path.write_bytes(content)
        assert vault.notes(["record1"])


def test_a_write_costs_no_more_in_a_large_vault(path: Path):
    vault = Vault.open(path, ONE)
    rows = [0, 0]
    for step, size in enumerate((100, 10_000)):
        vault.save(record(number, word=f"PERSON0{number:A>16}0".replace("1", "B")) for number in range(step * 100, size))
        rows[step] = _rows_read(vault, partial(vault.save, [record(20_000 + step)]))
        vault.notes(["record1"])
        assert _rows_read(vault, lambda: vault.notes(["record1"])) < 100
    assert max(rows) < 100


def _rows_read(vault: Vault, use: Callable[[], Any]) -> int:
    """The number of rows that a use of a vault reads or changes the digest of."""
    from leafspan.private.pseudonyms import _seal

    original, made = _seal._digest, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_seal, "_digest", lambda *given: made.append(1) or original(*given))
        use()
    return len(made)


def test_a_file_that_may_not_be_read_is_an_error_of_ours(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(LeafspanError, match="cannot be made"):
        Vault.open(tmp_path / "file" / "vault.db", ONE)


# rotation


def test_after_a_rotation_only_the_new_key_opens_and_pseudonyms_stay(vault: Vault, path: Path):
    word, rows = vault.pseudonym("PERSON", "Alice"), _rows(path)
    copy = shutil.copy(path, path.with_name("copy.db"))
    vault.rotate(TWO)
    assert vault.pseudonym("PERSON", "Alice") == word
    assert vault.notes(["record1"])  # the one that rotated goes on
    vault.save([record(3)])
    with pytest.raises(WrongKey):
        Vault.open(path, ONE)
    again = Vault.open(path, TWO)
    assert again.pseudonym("PERSON", "Alice") == word
    assert set(again.notes(["record1", "record2", "record3"])) == {"record1", "record2", "record3"}
    assert not rows & _rows(path)  # everything was encrypted again, with another key
    assert Vault.open(copy, ONE).notes(["record1"])  # a copy of before opens with the old key, as is documented


def _rows(path: Path) -> set[bytes]:
    database = sqlite3.connect(path)
    found = {row[0] for row in database.execute("SELECT content FROM entries UNION SELECT content FROM records")}
    database.close()
    return found


def test_nothing_of_the_old_encryption_is_left_in_the_file(vault: Vault, path: Path):
    old = _rows(path)
    vault.rotate(TWO)
    content = path.read_bytes()
    assert [row for row in old if row in content] == []


def test_others_that_have_it_open_learn_it(vault: Vault, path: Path):
    other = Vault.open(path, ONE)
    vault.rotate(TWO)
    for use in (lambda: other.notes(["record1"]), lambda: other.save([record(3)]), lambda: other.rotate(ONE)):
        with pytest.raises(WrongKey, match="was rotated: open it with the new key"):
            use()
    assert vault.notes(["record3"]) == {}


def test_the_same_key_may_get_new_keys_below_it(vault: Vault, path: Path):
    other, old = Vault.open(path, ONE), _rows(path)
    vault.rotate(ONE)
    assert other.notes(["record1"])  # its key still opens
    assert not old & _rows(path)


def test_a_wrong_new_key_changes_nothing(vault: Vault, path: Path):
    before = path.read_bytes()
    with pytest.raises(InvalidArgument, match="a key must be at least 32"):
        vault.rotate("short")
    assert path.read_bytes() == before


def test_threads_may_work_while_the_key_is_rotated(vault: Vault):
    keys = [ONE, TWO]
    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(_work, vault, number) for number in range(3)]
        for number in range(6):
            vault.rotate(keys[(number + 1) % 2])
        for each in working:
            each.result()
    assert len(vault.notes([f"record{number}" for number in range(100, 130)])) == 30


def _work(vault: Vault, number: int) -> None:
    for step in range(10):
        vault.save([record(100 + number * 10 + step)])
        assert vault.notes(["record1"])


def _rotate_on_and_on(path: str, old: str, new: str, ready: Any) -> None:
    vault = Vault.open(path, old)
    ready.send("ready")
    while True:
        vault.rotate(new)
        vault.rotate(old)


@FORKS
def test_a_process_that_is_killed_while_it_rotates_leaves_one_key_that_opens_everything(vault: Vault, path: Path):
    vault.save(record(number, person="Bob " * 200) for number in range(10, 250))
    names = [f"record{number}" for number in range(10, 250)]
    chance, journals, journal = random.Random(3), 0, path.with_name("vault.db-journal")
    context = multiprocessing.get_context("fork")
    for turn in range(100):
        if turn >= 12 and journals:
            break
        key = next(key for key in (ONE, TWO) if _opens(path, key))
        hears, says = context.Pipe()
        child = context.Process(target=_rotate_on_and_on, args=(str(path), key, TWO if key == ONE else ONE, says))
        child.start()
        assert hears.poll(60)
        assert hears.recv() == "ready"
        time.sleep(chance.uniform(0, 0.06))
        while turn % 2 and not journal.exists():  # half of them are killed as soon as they are seen to write
            assert child.is_alive()
        child.kill()
        child.join(60)
        journals += journal.exists()
        (fitting,) = [each for each in (ONE, TWO) if _opens(path, each)]
        assert len(Vault.open(path, fitting).notes(names)) == 240
    assert journals  # some were killed in the middle of writing


def _opens(path: Path, key: str) -> bool:
    try:
        Vault.open(path, key)
    except WrongKey:
        return False
    return True


# who needs what


def test_what_no_document_needs_any_more_is_forgotten(vault: Vault, path: Path):
    vault.save([record(3, person="Bob", word="PERSON0BBBBBBBBBBBBBBBB0")])
    assert vault.unsettled("home").keys() == {"record1", "record2", "record3"}
    vault.settle(["record1", "record2"], ["record3"])
    assert vault.unsettled("home") == {}
    assert vault.originals(["PERSON0AAAAAAAAAAAAAAAA0", "PERSON0BBBBBBBBBBBBBBBB0"]) == {
        "PERSON0AAAAAAAAAAAAAAAA0": "Alice Smith"
    }
    vault.settle([], ["record1"])
    assert vault.originals(["PERSON0AAAAAAAAAAAAAAAA0"])  # the second one needs it
    vault.settle([], ["record2"])
    assert vault.originals(["PERSON0AAAAAAAAAAAAAAAA0"]) == {}
    assert b"PERSON0" not in path.read_bytes()  # overwritten, not only marked as free


def test_a_new_record_of_a_document_puts_the_others_of_it_in_question(vault: Vault):
    vault.settle(["record1", "record2"], [])
    vault.save([VaultRecord("new", "home", ("doc1",), {"text": []}, {}), VaultRecord("", "home", ("doc2",), {}, {})])
    assert vault.unsettled("home").keys() == {"new", "record1", "record2"}
    assert vault.unsettled("another index") == {}


# several processes


def _save(path: str, first: int) -> None:
    vault = Vault.open(path, ONE)
    for number in range(first, first + 20):
        vault.save([record(number)])


@FORKS
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_processes_share_a_vault(vault: Vault, path: Path, method: str):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=_save, args=(str(path), first)) for first in (100, 200)]
    for child in children:
        child.start()
    _save(str(path), 300)
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert len(vault.notes([f"record{first + number}" for first in (100, 200, 300) for number in range(20)])) == 60


def test_many_make_the_same_vault_at_once(path: Path):
    with ThreadPoolExecutor(8) as pool:
        vaults = list(pool.map(lambda _: Vault.open(path, ONE), range(8)))
    assert len({vault.pseudonym("PERSON", "Alice") for vault in vaults}) == 1
    assert [each.name for each in path.parent.iterdir()] == ["vault.db"]


def test_nobody_waits_longer_than_the_timeout(vault: Vault, path: Path):
    impatient = Vault.open(path, ONE, timeout=0.1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with ends_within(5):
        with pytest.raises(WriterBusy, match=r"longer than the timeout of 0\.1 s"):
            impatient.save([record(3)])
        with pytest.raises(WriterBusy):
            impatient.notes(["record1"])
    holder.close()
    impatient.save([record(3)])


def test_writers_share_a_lock_that_who_cleans_up_has_alone(vault: Vault):
    one, two, cleaning = vault.writers_lock(), vault.writers_lock(), vault.writers_lock()
    one.share(0)
    two.share(0)
    assert not cleaning.take_alone()
    one.release()
    assert not cleaning.take_alone()
    two.release()
    assert cleaning.take_alone()
    with pytest.raises(WriterBusy, match="is cleaned up longer than the timeout of 0 s"):
        one.share(0)
    threading.Timer(0.2, cleaning.release).start()
    one.share(20)
    one.release()
    one.release()  # does nothing more
