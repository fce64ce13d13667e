"""A watch syncs after each change, never takes a half-written file or half a move, and goes on where it can."""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from leafspan import Document, Embedder, F, Files, Index, InvalidArgument, Synced, WriterBusy
from leafspan.embedding import EmbeddingCache
from leafspan.errors import EmptySource, InvalidDocument
from leafspan.files import Skipped
from leafspan.flows import Call
from leafspan.indexing import _watch
from tests.durability.versions import EMBEDDER, SPLITTER, embed
from tests.event_loop import wait_for_the_loop
from tests.private.views.test_writers import private
from tests.profiles import quick

Step = Callable[[], object]


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch, read_here: None) -> None:
    for name in ("_EVENTS", "_POLL", "_QUIET"):
        monkeypatch.setattr(_watch, name, 0.01)


@pytest.fixture
def polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_watch, "watch", None)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Bees\n\nBees dance.")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.open(tmp_path / "kb", embedder=EMBEDDER, splitter=SPLITTER, timeout=0.2) as opened:
        yield opened


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, polling: None) -> list[Step]:
    """Steps of another program, one in each pause of the watch. Then pauses take no time."""
    left: list[Step] = []

    def pause(seconds: float) -> Call:
        return Call(left.pop(0)) if left else Call(time.sleep, (0.001,))

    monkeypatch.setattr(_watch, "_pause", pause)
    monkeypatch.setattr(_watch, "_LONGEST", 60.0)
    return left


def changes(synced: Synced) -> dict[str, tuple[str, ...]]:
    """The names of the files that a sync added, replaced and deleted."""
    lists = {name: getattr(synced, name) for name in ("added", "replaced", "deleted")}
    return {name: tuple(id_.rpartition("docs/")[2] for id_ in ids) for name, ids in lists.items() if ids}


def files_of(index: Any) -> dict[str, str]:
    return {each.id.removeprefix("docs/"): index.get(each.id).text for each in index.documents()}


@pytest.mark.parametrize("how", ["watchfiles", "polling"])
def test_each_change_of_a_folder_is_a_sync(index: Index, docs: Path, how: str, request: pytest.FixtureRequest):
    if how == "polling":
        request.getfixturevalue("polling")
    watch = index.watch(str(docs))
    assert changes(next(watch)) == {"added": ("a.md",)}
    (docs / "b.md").write_text("Tea.")
    assert changes(next(watch)) == {"added": ("b.md",)}
    (docs / "b.md").write_text("Green tea.")
    assert changes(next(watch)) == {"replaced": ("b.md",)}
    (docs / "deep" / "er").mkdir(parents=True)
    (docs / "deep" / "er" / "c.md").write_text("Milk.")
    (docs / "a.md").unlink()
    assert changes(next(watch)) == {"added": ("deep/er/c.md",), "deleted": ("a.md",)}
    (docs / "deep").rename(docs / "steep")
    (docs / "b.md").rename(docs / "c.md")
    synced = next(watch)
    assert changes(synced) == {"added": ("c.md", "steep/er/c.md"), "deleted": ("b.md", "deep/er/c.md")}
    watch.close()
    assert index.sync(docs, dry_run=True).unchanged == synced.added


@pytest.mark.parametrize("how", quick(1, ["watchfiles", "polling"]))
def test_a_folder_that_goes_away_and_comes_back_is_watched_again(
    index: Index, docs: Path, how: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    if how == "polling":
        request.getfixturevalue("polling")
    warned: list[str] = []

    def warn(message: str, *_: object, **__: object) -> None:
        warned.append(message)
        docs.mkdir(exist_ok=True)
        (docs / f"new-{len(warned)}.md").write_text("Tea.")

    monkeypatch.setattr(_watch, "warn", warn)
    watch = index.watch(docs)
    next(watch)
    docs.rename(docs.parent / "gone")
    assert changes(next(watch)) == {"added": ("new-1.md",), "deleted": ("a.md",)}
    (docs / "new-1.md").unlink()
    assert changes(next(watch)) == {"added": ("new-2.md",), "deleted": ("new-1.md",)}
    missing, empty = warned
    assert missing.startswith(f"the watch goes on, but could not sync: there is no file or folder {str(docs)!r}")
    assert empty.startswith(f"the watch goes on, but could not sync: there are no documents in {str(docs)!r}")
    (docs / "c.md").write_text("Milk.")
    assert changes(next(watch)) == {"added": ("c.md",)}


def test_what_is_there_is_watched_while_another_folder_is_missing(index: Index, docs: Path, polling: None):
    other = docs.parent / "other"
    other.mkdir()
    (other / "b.md").write_text("Tea.")
    watch = index.watch([other, docs])
    assert changes(next(watch)) == {"added": ("other/b.md", "a.md")}
    other.rename(docs.parent / "away")
    (docs / "c.md").write_text("Milk.")
    with pytest.warns(RuntimeWarning, match=f"the watch goes on without '{other}', which is missing"):
        assert changes(next(watch)) == {"added": ("c.md",)}
    (docs / "a.md").unlink()
    assert changes(next(watch)) == {"deleted": ("a.md",)}
    (docs.parent / "away" / "b.md").write_text("Green tea.")
    (docs.parent / "away").rename(other)
    assert changes(next(watch)) == {"replaced": ("other/b.md",)}


def test_single_files_are_watched_also_if_they_are_replaced(index: Index, docs: Path):
    (docs / "b.md").write_text("Tea.")
    watch = index.watch([docs / "a.md", str(docs / "b.md")])
    assert changes(next(watch)) == {"added": ("a.md", "b.md")}
    for text in ("Bees fly.", "Bees rest."):
        (docs / "new").write_text(text)
        os.replace(docs / "new", docs / "a.md")
        assert changes(next(watch)) == {"replaced": ("a.md",)}


def vim(docs: Path) -> Iterator[object]:
    """``:w`` with ``backup``, which renames the file, and writes a new one."""
    yield (docs / ".a.md.swp").write_bytes(b"b0VIM 8.2")
    yield (docs / "4913").write_text("")
    yield (docs / "4913").unlink()
    yield (docs / "a.md").rename(docs / "a.md~")
    yield (docs / "a.md").write_text("New ")
    yield (docs / "a.md").write_text("New text.")
    yield (docs / "a.md~").unlink()
    yield (docs / ".a.md.swp").unlink()


def emacs(docs: Path) -> Iterator[object]:
    yield (docs / ".#a.md").symlink_to("me@host.1234:1")
    yield (docs / "#a.md#").write_text("New te")
    yield shutil.copy2(docs / "a.md", docs / "a.md~")
    yield (docs / "a.md").write_text("New text.")
    yield (docs / "#a.md#").unlink()
    yield (docs / ".#a.md").unlink()


def code(docs: Path) -> Iterator[object]:
    """Visual Studio Code truncates the file, and writes it in place."""
    with (docs / "a.md").open("r+b", buffering=0) as file:
        yield file.truncate(0)
        yield file.write(b"New ")
        yield file.write(b"text.")


def atomic(docs: Path) -> Iterator[object]:
    yield (docs / "a.md.tmp").write_text("New ")
    yield (docs / "a.md.tmp").write_text("New text.")
    yield os.replace(docs / "a.md.tmp", docs / "a.md")


def office(docs: Path) -> Iterator[object]:
    yield (docs / "~$a.md").write_bytes(b"\x02me")
    yield (docs / "~WRD0001.tmp").write_text("New text.")
    yield (docs / "a.md").rename(docs / "~WRL0002.tmp")
    yield (docs / "~WRD0001.tmp").rename(docs / "a.md")
    yield (docs / "~WRL0002.tmp").unlink()
    yield (docs / "~$a.md").unlink()


@pytest.mark.parametrize("editor", [vim, emacs, code, atomic, office])
def test_a_save_is_one_sync_of_one_file(index: Index, docs: Path, steps: list[Step], editor: Any):
    watch = index.watch(docs)
    next(watch)
    texts = []
    saving = editor(docs)
    steps += [lambda: next(saving, None)] * 12
    while files_of(index) != {"a.md": "New text."}:
        assert changes(synced := next(watch)) == {"replaced": ("a.md",)}
        assert synced.skipped == ()
        texts.append(index.get("docs/a.md").text)
    assert texts == ["New text."]


def test_an_open_office_file_is_no_skipped_file(index: Index, docs: Path):
    (docs / "~$report.docx").write_bytes(b"\x02me")
    synced = index.sync(docs)
    assert (synced.skipped, synced.left_out) == ((), {"hidden": 1})


def test_a_burst_is_one_sync(index: Index, docs: Path, steps: list[Step]):
    watch = index.watch(docs)
    next(watch)
    steps += [lambda name=f"{i}.md": (docs / name).write_text(name) for i in range(20)]  # type: ignore[misc]
    assert len(next(watch).added) == 20


def test_a_file_is_taken_when_it_is_complete_and_others_do_not_wait_for_it(
    index: Index, docs: Path, steps: list[Step], monkeypatch: pytest.MonkeyPatch
):
    (docs / "big.md").write_text("Old.")
    watch = index.watch(docs)
    next(watch)
    monkeypatch.setattr(_watch, "_LONGEST", -1.0)

    def write(**others: str) -> None:
        for name, text in {"big": "Part. ", "new": "x ", **others}.items():
            with (docs / f"{name}.md").open("a") as file:
                file.write(text)

    # A sync comes after each second step.
    steps += [write, write, lambda: write(b="Tea."), write, write, write]
    steps += [lambda: write() or (docs / "a.md").unlink(), write]  # type: ignore[func-returns-value]
    for expected in ({"added": ("b.md",)}, {"deleted": ("a.md",)}):
        assert changes(next(watch)) == expected
        assert index.get("docs/big.md").text == "Old."
    assert not steps
    assert changes(next(watch)) == {"replaced": ("big.md",), "added": ("new.md",)}
    assert files_of(index) == {"b.md": "Tea.", "big.md": "Old." + 8 * "Part. ", "new.md": 8 * "x "}


def test_a_moved_file_keeps_its_vectors_even_if_it_moves_between_a_look_and_the_sync(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
):
    embedded: Counter[str] = Counter()

    def counting(texts: Sequence[str]) -> Any:
        embedded.update(texts)
        return embed(texts)

    edits: list[Step] = []
    settled = _watch.Watch._settled

    def settled_then_edited(*arguments: Any) -> Any:
        seen = yield from settled(*arguments)
        while edits:
            edits.pop(0)()
        return seen

    monkeypatch.setattr(_watch.Watch, "_settled", settled_then_edited)
    embedder, cache = Embedder("counting", counting, counting), EmbeddingCache(tmp_path / "cache")
    with Index.open(tmp_path / "kb", embedder=embedder, splitter=SPLITTER, embedding_cache=cache) as index:
        watch = index.watch(docs)
        next(watch)
        (docs / "b.md").write_text("Tea.")
        edits += [lambda: (docs / "a.md").rename(docs / "z.md"), lambda: (docs / "b.md").write_text("Green tea.")]
        edits += [lambda: (docs / "c.md").write_text("Milk.")]
        synced = next(watch)
        assert changes(synced) == {"added": ("b.md", "c.md", "z.md"), "deleted": ("a.md",)}
        assert max(embedded.values()) == 1


def test_a_move_that_one_look_has_not_seen_waits_for_the_next_one(
    index: Index, docs: Path, steps: list[Step], monkeypatch: pytest.MonkeyPatch
):
    watch = index.watch(docs)
    next(watch)
    monkeypatch.setattr(_watch, "_LONGEST", -1.0)
    (docs / "a.md").rename(docs / ".between")  # as if the look had passed the new place before the move
    (docs / "c.md").write_text("Milk.")
    steps += [lambda: None, lambda: (docs / ".between").rename(docs / "z.md")]
    assert changes(next(watch)) == {"added": ("c.md",)}
    assert changes(next(watch)) == {"added": ("z.md",), "deleted": ("a.md",)}


def test_an_unreadable_file_is_reported_once(index: Index, docs: Path):
    watch = index.watch(docs)
    next(watch)
    (docs / "bad.md").write_bytes(b"\xff\xfe\xff")
    assert [each.path for each in next(watch).skipped] == ["docs/bad.md"]
    (docs / "b.md").write_text("Tea.")
    synced = next(watch)
    assert (changes(synced), [each.path for each in synced.skipped]) == ({"added": ("b.md",)}, ["docs/bad.md"])
    os.utime(docs / "b.md", (1, 1))  # no change of the index
    (docs / "bad.md").write_text("Good.")
    assert (changes(synced := next(watch)), synced.skipped) == ({"added": ("bad.md",)}, ())


def test_errors_of_the_first_sync_end_the_watch_and_so_do_bad_arguments(index: Index, docs: Path):
    for source in (Document("a", "Text."), [docs, Document("a", "Text.")], [], None):
        with pytest.raises(InvalidArgument, match="watch takes files and folders, got"):
            index.watch(source)
    with pytest.raises(InvalidArgument, match="allow_empty"):
        index.watch(docs, allow_empty=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidDocument, match="there is no file or folder"):
        next(index.watch(docs / "missing"))
    next(index.watch(docs))
    (docs / "a.md").unlink()
    with pytest.raises(EmptySource, match="there are no documents"):
        next(index.watch(docs))
    assert changes(next(index.watch(docs, allow_empty=True))) == {"deleted": ("a.md",)}


def test_a_strict_watch_ends_with_the_file(index: Index, docs: Path):
    watch = index.watch(Files(docs, strict=True))
    next(watch)
    (docs / "bad.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InvalidDocument, match=r"file 'docs/bad\.md' cannot be read"):
        next(watch)
    assert list(watch) == []


def test_a_busy_index_is_tried_again_soon(index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch):
    watch = index.watch(docs)
    next(watch)
    (docs / "b.md").write_text("Tea.")
    sync, tries = index._sync, []

    def busy_twice(*arguments: Any) -> Any:
        tries.append(arguments)
        if len(tries) < 3:
            raise WriterBusy("another writer is at work")
        return (yield from sync(*arguments))

    monkeypatch.setattr(watch.gi_frame.f_locals["self"], "_sync", busy_twice)
    with pytest.warns(RuntimeWarning, match="the watch goes on, but could not sync: another writer is at work") as warned:
        assert changes(next(watch)) == {"added": ("b.md",)}
    assert [each.filename for each in warned] == [__file__] * 2


def test_it_polls_if_the_system_refuses_to_tell_of_events(index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch):
    def refusing(*_: object, **__: object) -> Iterator[object]:
        raise OSError("OS file watch limit reached")
        yield

    monkeypatch.setattr(_watch, "watch", refusing)
    watch = index.watch(docs)
    next(watch)
    (docs / "b.md").write_text("Tea.")
    assert changes(next(watch)) == {"added": ("b.md",)}


def test_changes_without_events_are_seen_later(index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch):
    def silent(*_: object, **__: object) -> Iterator[object]:
        try:
            while True:
                yield set()
        finally:
            ended.append(True)

    ended: list[bool] = []
    monkeypatch.setattr(_watch, "watch", silent)
    monkeypatch.setattr(_watch, "_ANYWAY", 0.05)
    watch = index.watch(docs)
    next(watch)
    for name in ("b.md", "c.md"):
        (docs / name).write_text("Tea.")
        assert changes(next(watch)) == {"added": (name,)}
    watch.close()
    assert ended == [True]


def test_a_view_and_a_private_view_watch_too(index: Index, docs: Path, tmp_path: Path):
    view = index.scoped(F("tenant") == "ann")
    watch = view.watch(docs)
    assert changes(next(watch)) == {"added": ("a.md",)}
    (docs / "a.md").rename(docs / "b.md")
    assert changes(next(watch)) == {"added": ("b.md",), "deleted": ("a.md",)}
    assert files_of(view) == {"b.md": "# Bees\n\nBees dance."}
    (tmp_path / "other").mkdir()
    whole, hiding = private(tmp_path / "other")
    with whole:
        watch = hiding.watch(docs)
        assert changes(next(watch)) == {"added": ("b.md",)}
        (docs / "b.md").unlink()
        (docs / "c.md").write_text("Alice Smith keeps bees.")
        assert changes(next(watch)) == {"added": ("c.md",), "deleted": ("b.md",)}
        [leaf] = whole.leaves()
        assert re.fullmatch(r"PERSON\w+ keeps bees\.", leaf.text)


async def test_it_can_be_awaited_and_cancelled(index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch):
    loop = asyncio.get_running_loop()
    look = _watch.Watch._look
    monkeypatch.setattr(_watch.Watch, "_look", lambda self: (wait_for_the_loop(loop), look(self))[1])
    seen: asyncio.Queue[Synced] = asyncio.Queue()

    async def watching() -> None:
        async for synced in index.awatch(docs):
            seen.put_nowait(synced)

    task = asyncio.create_task(watching())
    assert changes(await seen.get()) == {"added": ("a.md",)}
    (docs / "b.md").write_text("Tea.")
    assert changes(await seen.get()) == {"added": ("b.md",)}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    watch = index.awatch(docs)
    assert (await anext(watch)).unchanged == ("docs/a.md", "docs/b.md")
    await watch.aclose()  # type: ignore[attr-defined]
    assert await anext(watch, None) is None


def edits(docs: Path, chance: random.Random) -> Iterator[object]:
    """Edits of a folder, as people, editors and programs make them."""
    for number in range(150):
        there = sorted(path for path in docs.rglob("*.md") if not path.name.startswith(("~", ".")))
        path = chance.choice(there)
        kind = chance.randrange(8)
        if kind == 0:
            yield (docs / f"new-{number}.md").write_text(f"New {number}.")
        elif kind == 1 and len(there) > 20:
            yield path.unlink()
        elif kind == 2:
            yield path.rename(path.with_name(f"moved-{number}.md"))
        elif kind == 3 and path.parent != docs:
            yield path.parent.rename(docs / f"folder-{number}")
        elif kind == 4:
            for part in range(30):
                (docs / f"burst-{number}-{part % 5}.md").write_text(f"Part {part}.")
            yield
        else:
            editor = chance.choice([vim, emacs, code, atomic, office])
            place = docs / f"edited-{number}"
            place.mkdir()
            path.rename(place / "a.md")
            yield from editor(place)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["watchfiles", "polling"])
def test_after_a_day_of_edits_the_index_equals_one_that_was_synced_at_the_end(
    index: Index, docs: Path, tmp_path: Path, how: str, request: pytest.FixtureRequest
):
    if how == "polling":
        request.getfixturevalue("polling")
    for number in range(500):
        place = docs / f"folder{number % 20}" / f"{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"Document {number} has a sentence. It has another one.")
    chance, ended = random.Random(1), threading.Event()

    def day() -> None:
        try:
            for _ in edits(docs, chance):
                time.sleep(chance.choice([0.0, 0.0, 0.01, 0.05]))
            ended.set()
        finally:
            (docs / "the-end.md").write_text("The end.")

    thread = threading.Thread(target=day, daemon=True)
    skipped: set[Skipped] = set()
    for number, synced in enumerate(index.watch(docs, progress=False)):
        if number == 0:
            thread.start()
        skipped.update(synced.skipped)
        if "docs/the-end.md" in synced.added:
            break
    assert ended.is_set()
    thread.join()
    assert (skipped, number > 2) == (set(), True)
    with Index.open(tmp_path / "kb2", embedder=EMBEDDER, splitter=SPLITTER) as fresh:
        fresh.sync(docs)
        assert files_of(index) == files_of(fresh)
        assert {leaf.id for leaf in index.leaves()} == {leaf.id for leaf in fresh.leaves()}
    assert index.repair() == []
