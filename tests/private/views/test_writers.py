"""The vault's records when writers are killed, interrupted or run at the same time: complete, and without leftovers."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, F, Index
from leafspan.errors import InvalidDocument, WrongKey
from leafspan.private import PrivateView, Vault, private_view
from tests.lateness import longer_and_longer
from tests.private.views.people import DOCUMENTS, KEY, KNOWN, SpyEmbedder, opened
from tests.profiles import THOROUGH

ROUNDS = 12 if THOROUGH else 1  # a process takes a second or two to start
THREADS, STEPS = (4, 6) if THOROUGH else (3, 2)


def entries(view: PrivateView) -> int:
    """The number of things that the vault knows."""
    with view.vault._file.reading() as database:
        return database.execute("SELECT count(*) FROM entries").fetchone()[0]


def records(view: PrivateView) -> dict[str, int]:
    """The masked ids of the documents that the vault has records of, and whether these are settled."""
    with view.vault._file.reading() as database:
        return dict(database.execute("SELECT document, settled FROM records ORDER BY document"))


def private(folder: Path, **options: Any) -> tuple[Index, PrivateView]:
    index = Index.open(folder / "kb", embedder=SpyEmbedder(), embedding_cache=False)
    vault = Vault.open(folder / "vault.db", KEY)
    return index, private_view(index, vault, known=KNOWN, finder=(), **options)


def test_a_deleted_person_is_forgotten(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        view.add([Document("a", "Alice Smith and Zoë Łuczak"), Document("b", "Alice Smith alone")])
        assert entries(view) == 2
        view.delete(["a"])
        assert records(view) == {"b": 1}
        assert view.vault.originals([view.vault.pseudonym("PERSON", "Zoë Łuczak")]) == {}
        view.delete(where=F("doc_id") == "b")
        assert (records(view), entries(view)) == ({}, 0)


def test_a_replaced_version_is_forgotten(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        view.add(Document("a", "Alice Smith"))
        view.add(Document("a", "Zoë Łuczak"))
        assert (records(view), entries(view)) == ({"a": 1}, 1)
        view.add(Document("a", "nobody"))
        assert (records(view), entries(view)) == ({}, 0)
        view.sync([Document("c", "Alice Smith", metadata={"x": 1})], within="everything")
        view.sync([Document("d", "Alice Smith", metadata={"x": 1})], within=F("x") == 1)
        assert records(view) == {"d": 1}


def test_a_dry_run_leaves_the_vault_as_it_is(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        view.add(Document("a", "Alice Smith", metadata={"x": 1}))
        before = view.vault.path.read_bytes()
        view.sync([Document("b", "Zoë Łuczak", metadata={"x": 1})], within=F("x") == 1, dry_run=True)
        view.delete(["a"], dry_run=True)
        assert view.vault.path.read_bytes() == before


def test_documents_of_the_same_id_in_two_views_are_two(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index:
        one, two = view.scoped(F("tenant") == "one"), view.scoped(F("tenant") == "two")
        one.add(Document("a", "Alice Smith"))
        two.add(Document("a", "ALICE SMITH"))
        assert (one.get("a").text, two.get("a").text) == ("Alice Smith", "ALICE SMITH")
        one.delete(["a"])
        assert two.get("a").text == "ALICE SMITH"
        assert sum(records(view).values()) == 1


def test_one_vault_may_serve_two_indexes(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index, Index.open(tmp_path / "other", embedder=SpyEmbedder(), embedding_cache=False) as other:
        beside = private_view(other, view.vault, known=KNOWN, finder=(), reveal=True)
        for each in (view, beside):
            each.add(Document("a", "Alice Smith"))
        view.delete(["a"])
        assert beside.clean() == 0
        assert beside.get("a").text == "Alice Smith"


def test_what_was_deleted_without_the_view_is_cleaned_up(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        view.add([Document("a", "Alice Smith"), Document("b", "Zoë Łuczak")])
        index.delete(["a"])
        assert records(view) == {"a": 1, "b": 1}
        assert view.clean() == 1
        assert records(view) == {"b": 1}
        assert asyncio.run(view.aclean()) == 0


def test_an_add_that_fails_leaves_nothing_for_long(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add(Document("a", "Alice Smith"))
        changed = [Document("a", "Zoë Łuczak"), Document("c", "Alice Smith"), Document("", "no id")]
        with pytest.raises(InvalidDocument):
            view.add(changed)
        with pytest.raises(InvalidDocument):
            view.add(iter(changed))
        assert view.get("a").text == "Alice Smith"
        view.add([])
        assert (records(view), entries(view)) == ({"a": 1}, 1)


def test_what_is_being_added_is_not_cleaned_up(tmp_path: Path):
    """Also if it takes long: another one deletes in the meantime."""
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add(Document("old", "Zoë Łuczak"))

        def slowly():
            yield Document("a", "Alice Smith")
            for number in range(300):
                yield Document(f"more {number}", "Alice Smith")
            view.delete(["old"])
            assert view.clean() == 0
            yield Document("z", "ALICE SMITH")

        view.add(slowly())
        assert view.get("a").text == "Alice Smith"
        assert view.get("z").text == "ALICE SMITH"
        assert len(records(view)) == 302
        assert all(records(view).values())


def test_threads_may_add_delete_and_ask_at_once(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)

    def work(number: int) -> None:
        for step in range(STEPS):
            id_ = f"{number}-{step}"
            view.add(Document(id_, f"Alice Smith wrote letter {id_}. ALICE SMITH again."))
            for passage in view.retrieve("Alice Smith", k=5):
                text = passage.text
                assert "PERSON0" not in text
            if step % 2:
                view.delete([id_])

    with index:
        with ThreadPoolExecutor(THREADS) as pool:
            for each in [pool.submit(work, number) for number in range(THREADS)]:
                each.result()
        assert len(view.documents()) == THREADS * STEPS // 2
        view.add([])
        assert len(records(view)) == THREADS * STEPS // 2
        for info in view.documents():
            assert view.get(info.id).text == f"Alice Smith wrote letter {info.id}. ALICE SMITH again."


def test_two_loops_may_add_at_once(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)

    async def main() -> None:
        await asyncio.gather(*(view.aadd(Document(f"{number}", f"Alice Smith {number}")) for number in range(8)))

    with index:
        asyncio.run(main())
        assert sorted(view.get(info.id).text for info in view.documents()) == [f"Alice Smith {n}" for n in range(8)]


def test_a_cancelled_add_leaves_a_vault_that_can_be_used(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)

    async def main() -> None:
        adding = asyncio.create_task(view.aadd(Document(f"{number}", f"Alice Smith {number}") for number in range(2000)))
        await asyncio.sleep(0.1)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding

    with index:
        asyncio.run(main())
        # Nobody waits for documents that are still being read, and what was masked of them may come after the next writer.
        for seconds in longer_and_longer(0.1):
            view.add(Document("after", "Zoë Łuczak"))
            kept = records(view)
            if sorted(kept) == sorted(info.id for info in view.documents()):
                break
            time.sleep(seconds)
        assert sorted(kept) == sorted(info.id for info in view.documents())
        assert all(kept.values())


def _churn(folder: str, ready: Any) -> None:
    """Adds, replaces and deletes documents until it is killed."""
    index, view = private(Path(folder))
    with index:
        ready.send("ready")
        for round_ in range(1000):
            name = ["Alice Smith", "ALICE SMITH", "Zoë Łuczak"][round_ % 3]
            view.add([Document(f"{number}", f"{name} has {number}, {round_}.") for number in range(4)])
            view.delete(["0", "1"])


def test_a_killed_writer_leaves_what_the_documents_need(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add([Document(f"{number}", f"Bob Quillfeather has {number}.") for number in range(4)])
    chance = random.Random(11)
    context = multiprocessing.get_context("spawn")
    for _ in range(ROUNDS):
        hears, says = context.Pipe()
        child = context.Process(target=_churn, args=(str(tmp_path), says))
        child.start()
        assert hears.poll(60)
        assert hears.recv() == "ready"
        time.sleep(chance.uniform(0.05, 0.5))
        child.kill()
        child.join(60)
        index, view = private(tmp_path, reveal=True)
        with index:
            for info in (
                each for each in view.documents() if each.id != "last"
            ):  # each document is readable before anything is repaired
                assert "PERSON0" not in view.get(info.id).text
                assert f"has {info.id}" in view.get(info.id).text
            view.delete(["nobody"])
            view.add(Document("last", "nobody"))
            there = {info.id for info in view.documents()} - {"last"}
            assert records(view) == dict.fromkeys(sorted(there), 1)


def _add_some(folder: str, first: int) -> None:
    index, view = private(Path(folder))
    with index:
        for number in range(first, first + 8):
            view.add(Document(f"{number}", f"Alice Smith {number}"))


@pytest.mark.slow
def test_two_processes_add_through_one_vault(tmp_path: Path):
    index, _ = private(tmp_path)
    index.close()
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_add_some, args=(str(tmp_path), first)) for first in (0, 100)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add([])
        assert sorted(view.get(info.id).text for info in view.documents()) == sorted(
            f"Alice Smith {first + number}" for first in (0, 100) for number in range(8)
        )
        assert set(records(view).values()) == {1}


def test_a_rotated_key_is_noticed_before_anything_is_written(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add(DOCUMENTS[:1])
        Vault.open(tmp_path / "vault.db", KEY).rotate("another-key-0123456789-abcdefghijklmn")
        with pytest.raises(WrongKey, match="was rotated: open it with the new key"):
            view.add(Document("new", "Alice Smith"))
        with pytest.raises(WrongKey, match="was rotated"):
            view.retrieve("harbour")
        assert [info.id for info in index.documents()] == ["letter"]
        again = private_view(
            index, Vault.open(tmp_path / "vault.db", "another-key-0123456789-abcdefghijklmn"), known=KNOWN, reveal=True
        )
        assert again.get("letter") == DOCUMENTS[0]
        assert again.add(DOCUMENTS[:1]).unchanged == 0  # this view also looks for patterns, so more is masked


def test_without_its_record_a_document_stays_masked(tmp_path: Path):
    index, view = private(tmp_path, reveal=True)
    with index:
        view.add(Document("a", "Alice Smith wrote."))
        fresh = private_view(index, Vault.open(tmp_path / "fresh.db", KEY), known=KNOWN, finder=(), reveal=True)
        assert fresh.get("a").text == f"{view.vault.pseudonym('PERSON', 'Alice Smith')} wrote."
        assert fresh.retrieve("wrote")[0].text == fresh.get("a").text


def test_an_index_and_its_vault_can_be_moved_together(tmp_path: Path):
    (tmp_path / "old").mkdir()
    index, view = private(tmp_path / "old", reveal=True)
    with index:
        view.add(Document("a", "Alice Smith"))
    (tmp_path / "old").rename(tmp_path / "new")
    index, view = private(tmp_path / "new", reveal=True)
    with index:
        assert view.add(Document("a", "Alice Smith")).unchanged == 1
        assert view.get("a").text == "Alice Smith"


def test_records_are_made_for_what_is_masked_only(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        view.add([Document("plain", "nobody", metadata={"x": [1, 2]}), Document("a", "Alice Smith")])
        assert records(view) == {"a": 1}
        assert index.get("plain") == Document("plain", "nobody", metadata={"x": [1, 2]})
        assert json.dumps(dict(index.get("a").metadata)).count("vault_record") == 1
        assert "vault_record" not in view.get("a").metadata
        with pytest.raises(InvalidDocument, match=r"'vault_record', which a private view sets$"):
            view.add(replace(DOCUMENTS[0], metadata={"vault_record": "x"}))


def test_an_index_in_memory_can_be_private(tmp_path: Path):
    import chromadb

    client = chromadb.EphemeralClient(settings=chromadb.Settings(anonymized_telemetry=False))
    index = Index.open(client=client, name=f"private-{tmp_path.name[-20:]}", embedder=SpyEmbedder())
    view = private_view(index, Vault.open(tmp_path / "vault.db", KEY), known=KNOWN, reveal=True)
    view.add(DOCUMENTS)
    assert view.get("letter") == DOCUMENTS[0]
    view.delete(["letter", "minutes"])
    assert len(records(view)) == 1
    _, unused = opened(tmp_path / "unused")
    assert unused.documents() == []


async def test_a_task_cancelled_while_it_waits_for_who_cleans_up_lets_others_clean_up(tmp_path: Path):
    index, view = private(tmp_path)
    with index:
        cleaning = view.vault.writers_lock()
        assert cleaning.take_alone()
        task = asyncio.create_task(view.aadd(Document("a", "Alice Smith")))
        await asyncio.sleep(0.2)  # by now it waits
        task.cancel()
        await asyncio.sleep(0)
        cleaning.release()  # so that it gets the lock, after it was cancelled
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaning.take_alone()
        cleaning.release()


def test_a_sync_skips_a_file_of_another_tenant_and_keeps_no_record_of_it(tmp_path: Path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "good.md").write_text("Alice Smith drinks tea.")
    (folder / "odd.md").write_text("---\ntenant: b\n---\nZoë Łuczak.")
    index, view = private(tmp_path)
    with index:
        scoped = view.scoped(F("tenant") == "a")
        synced = scoped.sync(folder)
        assert [len(synced.added), [each.path.rpartition("/")[2] for each in synced.skipped]] == [1, ["odd.md"]]
        assert [document.text.rpartition("PERSON")[2][-12:] for document in map(scoped.get, synced.added)] == [
            " drinks tea."
        ]
        assert len(records(view)) == 1
