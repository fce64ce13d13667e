"""A text is embedded only once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from llama_index.core.embeddings import BaseEmbedding

from leafspan import Document, Embedder, EmbeddingCache, F, Index, InvalidArgument
from leafspan.embedding import EmbedderIdentity, _checked, to_embedder
from leafspan.embedding._cache import Space, text_key
from leafspan.embedding._embedder import PROBE
from leafspan.errors import FunctionFailed
from tests.embedding.test_embedding import vector
from tests.profiles import examples

FILE = "embeddings-1.sqlite3"
MANY = [Document(f"d{number:03}", f"Document number {number}.") for number in range(300)]


class Service:
    """A model that counts what it embeds, and fails after ``fails_after`` texts."""

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.embedded: Counter[str] = Counter()
        self.fails_after = fails_after

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if self.fails_after is not None and self.embedded.total() >= self.fails_after:
            raise ValueError("the money is spent")
        self.embedded.update(text for text in texts if text != PROBE)
        return [vector(text) for text in texts]


class Hosted(Embeddings):
    """A model of LangChain that says what it is called."""

    def __init__(self, model: str, service: Service) -> None:
        self.model = model
        self.service = service

    def embed_documents(self, texts):
        return self.service(texts)

    def embed_query(self, text):
        return self.service([text])[0]


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "cache")


def texts_of(index: Index) -> set[str]:
    return {leaf.text for leaf in index.leaves()}


def stored(index: Index) -> dict[str, np.ndarray]:
    found = index.client.get_collection("kb.leaves", embedding_function=None).get(include=["embeddings"])
    return dict(zip(found["ids"], found["embeddings"], strict=True))


def test_an_add_that_failed_goes_on_without_embedding_anything_twice(tmp_path: Path, cache):
    service = Service(fails_after=200)
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=cache) as index:
        with pytest.raises(FunctionFailed, match="the money is spent"):
            index.add(MANY)
        assert index.count() == 0  # 300 leaves are one group, which is written when it is embedded
        assert service.embedded.total() == 256  # two batches of 128
        service.fails_after = None
        index.add(MANY)
        assert texts_of(index) == set(service.embedded)
    assert set(service.embedded.values()) == {1}


def test_it_is_on_unless_the_embedder_is_known_to_be_local(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    with Index.open(tmp_path / "a") as index:
        index.add(MANY[0])
    with Index.open(tmp_path / "b", embedder=Embedder("local", Service(), Service(), local=True)) as index:
        index.add(MANY[0])
    assert not list(tmp_path.glob("user/**/embeddings*"))
    with Index.open(tmp_path / "c", embedder=Service()) as index:
        index.add(MANY[0])
    assert [path.name for path in tmp_path.glob("user/**/embeddings*")] == [FILE]


@pytest.mark.parametrize(("wanted", "times"), [(None, 1), (True, 1), (False, 2)])
def test_it_can_be_turned_on_and_off(tmp_path: Path, wanted, times):
    service = Service()
    with Index.open(tmp_path, embedder=service, embedding_cache=wanted) as index:
        index.add(Document("a", "One."))
        index.delete(["a"])
        index.add(Document("a", "One."))
    assert service.embedded["One."] == times


def test_a_local_embedder_can_have_one(tmp_path: Path, cache):
    service = Service()
    with Index.open(
        tmp_path / "kb", embedder=Embedder("local", service, service, local=True), embedding_cache=cache
    ) as index:
        index.add(Document("a", "One."))
        index.delete(["a"])
        index.add(Document("a", "One."))
    assert service.embedded["One."] == 1


@pytest.mark.parametrize("wanted", ["on", 1, {"folder": "x"}])
def test_what_is_no_cache_is_refused(tmp_path: Path, wanted):
    with pytest.raises(InvalidArgument, match="embedding_cache must be True, False, an EmbeddingCache or None, got"):
        Index.open(tmp_path, embedding_cache=wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folder": 3}, r"folder must be a string or a pathlib\.Path, got 3"),
        ({"max_bytes": 0}, "max_bytes must be a whole number >= 1, got 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        EmbeddingCache(**options)


def test_questions_are_not_kept(tmp_path: Path, cache):
    service = Service()
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=cache) as index:
        index.add(Document("a", "One."))
        index.retrieve("Which one?")
        index.retrieve("Which one?")
    assert service.embedded["Which one?"] == 2


def test_no_text_is_in_the_file(tmp_path: Path, cache):
    with Index.open(tmp_path / "kb", embedder=Service(), embedding_cache=cache) as index:
        index.add(Document("a", "The unmistakable confession."))
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").iterdir())
    assert hashlib.sha256(b"The unmistakable confession.").digest() in kept
    assert b"unmistakable" not in kept


def test_the_file_is_for_its_user_alone(tmp_path: Path, cache):
    with Index.open(tmp_path / "kb", embedder=Service(), embedding_cache=cache) as index:
        index.add(Document("a", "One."))
    assert (tmp_path / "cache" / FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("there", ["a file", "a database", "nothing"])
def test_a_link_is_not_followed(tmp_path: Path, suffix: str, there: str):
    (tmp_path / "cache").mkdir()
    target = tmp_path / "target"
    if there == "a file":
        target.write_text("The will.")
    elif there == "a database":
        with closing(sqlite3.connect(target)) as database:
            database.execute("CREATE TABLE wills (text)")
    before = target.read_bytes() if target.exists() else None
    (tmp_path / "cache" / f"{FILE}{suffix}").symlink_to(target)
    service = Service()
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=EmbeddingCache(tmp_path / "cache")) as index:
        with pytest.warns(RuntimeWarning, match="links are not followed"):
            index.add(Document("a", "One."))
        assert index.retrieve("One.")
    assert (target.read_bytes() if target.exists() else None) == before
    assert (tmp_path / "cache" / f"{FILE}{suffix}").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="needs the modes of POSIX")
def test_a_folder_that_everybody_can_write_to_is_not_used(tmp_path: Path):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    index = Index.open(tmp_path / "kb", embedder=Service(), embedding_cache=EmbeddingCache(folder))
    with index, pytest.warns(RuntimeWarning, match="everybody can write to .*cache.*`chmod o-w` it"):
        index.add(Document("a", "One."))
    assert list(folder.iterdir()) == []


def test_vectors_are_the_same_with_it_and_without(tmp_path: Path, cache):
    def made(folder: str, wanted) -> dict[str, np.ndarray]:
        with Index.open(tmp_path / folder, embedder=Hosted("m", Service()), embedding_cache=wanted) as index:
            index.add([Document("a", "# Part\n\nOne.\n\n# Part\n\nOne.", "Title"), Document("b", "Two.")])
            return stored(index)

    without, first, second = made("a", False), made("b", cache), made("c", cache)
    assert without.keys() == first.keys() == second.keys()
    for id_, expected in without.items():
        assert np.array_equal(expected, first[id_])
        assert np.array_equal(expected, second[id_])


def test_a_model_with_a_name_is_not_asked_again_for_another_index(cache):
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    service = Service()
    for name in ("cached-1", "cached-2"):  # in memory, as in a notebook that is run again
        Index.open(client=client, name=name, embedder=Hosted("m", service), embedding_cache=cache).add(MANY)
    assert set(service.embedded.values()) == {1}


def test_a_function_is_asked_again_for_another_index_since_it_may_have_changed(tmp_path: Path, cache):
    def other(texts):  # gives the probe text the same vector
        return [vector(text) if text == PROBE else [9.0] * 16 for text in texts]

    service = Service()
    other.__qualname__ = "Service"
    with Index.open(tmp_path / "a", embedder=service, embedding_cache=cache) as index:
        index.add(Document("a", "One."))
    with Index.open(tmp_path / "b", embedder=other, embedding_cache=cache) as index:
        index.add(Document("a", "One."))
        assert stored(index).popitem()[1] == pytest.approx([1 / 4] * 16)


def test_a_model_without_a_name_that_is_paid_for_twice_says_so_once(tmp_path: Path, cache, caplog, monkeypatch):
    monkeypatch.setattr(_checked, "_warned", set())
    said = []
    for name in "abcb":
        with Index.open(tmp_path / name, embedder=Service(), embedding_cache=cache) as index:
            index.add(Document(name, "One."))
        said.append(len(caplog.records))
    assert said == [0, 1, 1, 1]
    assert "the embedder Service does not say which model it is" in caplog.text
    assert "embedder=leafspan.Embedder(..., model=...)" in caplog.text


def test_models_of_one_name_whose_vectors_differ_do_not_meet(tmp_path: Path, cache):
    class Other(Hosted):
        def embed_documents(self, texts):
            return [vector(f"other: {text}") for text in texts]

    Other.__qualname__ = "Hosted"
    with Index.open(tmp_path / "a", embedder=Hosted("m", Service()), embedding_cache=cache) as index:
        index.add(Document("a", "One."))
        first = stored(index).popitem()[1]
    with Index.open(tmp_path / "b", embedder=Other("m", Service()), embedding_cache=cache) as index:
        index.add(Document("a", "One."))
        assert not np.allclose(stored(index).popitem()[1], first)


def test_a_service_whose_numbers_vary_a_little_is_recognised(tmp_path: Path, cache):
    class Varying(Hosted):
        def embed_documents(self, texts):
            noise = len(self.service.embedded) * 1e-5
            return [[number + noise for number in each] for each in super().embed_documents(texts)]

    service = Service()
    for folder in ("a", "b"):
        with Index.open(tmp_path / folder, embedder=Varying("m", service), embedding_cache=cache) as index:
            index.add(MANY[:3])
    assert set(service.embedded.values()) == {1}


def test_a_view_finds_only_what_was_embedded_through_it(tmp_path: Path, cache):
    service = Service()
    with Index.open(tmp_path / "kb", embedder=Hosted("m", service), embedding_cache=cache) as index:
        index.add(Document("x", "One secret."))
        for tenant in ("a", "b", "a"):
            view = index.scoped(F("tenant") == tenant)
            view.add(Document("x", "One secret."))
            view.delete(["x"])
    assert service.embedded["One secret."] == 3  # the whole index, a and b, but a only once


def test_equal_texts_are_embedded_once(tmp_path: Path, cache):
    service = Service()
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=cache) as index:
        index.add([Document("a", "One."), Document("b", "One.")])
    assert service.embedded == {"One.": 1}


async def test_asyncio_uses_the_same_cache(tmp_path: Path, cache):
    service = Service()
    index = await Index.aopen(tmp_path / "kb", embedder=service, embedding_cache=cache)
    await index.aadd(MANY)
    index.delete([each.id for each in MANY])
    await asyncio.gather(*(index.aadd(each) for each in MANY[:5]))
    assert set(service.embedded.values()) == {1}


# the file


IDENTITY = EmbedderIdentity.of("model", np.array(vector(PROBE), dtype=np.float32))
SPACE = Space(IDENTITY, "")


def some(*numbers: int) -> dict[bytes, np.ndarray]:
    return {text_key(f"text {n}"): np.array(vector(f"text {n}"), dtype=np.float32) for n in numbers}


def same(found: dict[bytes, np.ndarray], expected: dict[bytes, np.ndarray]) -> bool:
    return found.keys() == expected.keys() and all(np.array_equal(found[key], expected[key]) for key in expected)


def test_what_is_kept_is_found_by_another_process(cache):
    cache.file().keep(SPACE, some(1, 2))
    assert same(cache.file().find(SPACE, list(some(2, 3, 1))), some(1, 2))


def test_more_texts_than_a_statement_takes_are_found(cache):
    cache.file().keep(SPACE, some(*range(1_200)))
    assert same(cache.file().find(SPACE, list(some(*range(1_200)))), some(*range(1_200)))


def test_a_file_that_is_no_database_is_thrown_away(cache, tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE).write_bytes(b"something else" * 1_000)
    file = cache.file()
    assert file.find(SPACE, list(some(1))) == {}
    file.keep(SPACE, some(1))
    assert same(file.find(SPACE, list(some(1))), some(1))


def test_a_file_with_other_tables_is_thrown_away(cache, tmp_path: Path):
    (tmp_path / "cache").mkdir()
    with sqlite3.connect(tmp_path / "cache" / FILE) as database:
        database.execute("CREATE TABLE vectors (something TEXT)")
    database.close()
    file = cache.file()
    assert file.find(SPACE, list(some(1))) == {}
    file.keep(SPACE, some(1))
    assert same(file.find(SPACE, list(some(1))), some(1))


def test_a_vector_that_was_moved_to_another_model_or_text_is_not_found(cache, tmp_path: Path):
    file = cache.file()
    other = Space(EmbedderIdentity.of("other", np.array(vector("other"), dtype=np.float32)), "")
    file.keep(SPACE, some(1, 2))
    file.keep(other, some(3))
    (one, two), (three,) = some(1, 2), some(3)
    database = sqlite3.connect(tmp_path / "cache" / FILE)
    with database:  # as damage could do it
        database.execute("UPDATE vectors SET text = ? WHERE text = ?", (b"x" * 32, one))
        database.execute("UPDATE vectors SET text = ? WHERE text = ?", (one, two))
        database.execute("UPDATE vectors SET space = 1 WHERE space = 2")
    database.close()
    assert file.find(SPACE, [one, two, three]) == {}


@examples(100, fast=10)
@given(st.data())
def test_a_damaged_file_never_gives_a_wrong_vector(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cache")
    file = EmbeddingCache(folder).file()
    kept = some(*range(40))
    file.keep(SPACE, kept)
    path = folder / FILE
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    for _ in range(data.draw(st.integers(0, 20))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    found = file.find(SPACE, list(kept))
    assert same(found, {key: kept[key] for key in found})
    file.keep(SPACE, kept)
    file.keep(SPACE, kept)  # if the first has thrown a damaged file away
    found = file.find(SPACE, list(kept))
    assert same(found, {key: kept[key] for key in found})


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path):
    file = EmbeddingCache(tmp_path, max_bytes=1_000_000).file()
    first, last = some(*range(1_000)), some(*range(7_000, 8_000))
    for start in range(0, 8_000, 1_000):
        file.keep(SPACE, some(*range(start, start + 1_000)))
        assert same(file.find(SPACE, list(first)), first)  # which is a use
        assert (tmp_path / FILE).stat().st_size <= 1_000_000
    assert same(file.find(SPACE, list(last)), last)
    assert file.find(SPACE, list(some(*range(1_000, 3_000)))) == {}


def test_a_limit_that_is_lowered_makes_the_file_smaller(tmp_path: Path):
    EmbeddingCache(tmp_path).file().keep(SPACE, some(*range(8_000)))
    assert (tmp_path / FILE).stat().st_size > 1_000_000
    EmbeddingCache(tmp_path, max_bytes=500_000).file().keep(SPACE, some(0))
    assert (tmp_path / FILE).stat().st_size <= 500_000


def test_a_limit_below_a_single_vector_keeps_nothing_and_is_no_error(tmp_path: Path):
    file = EmbeddingCache(tmp_path, max_bytes=1).file()
    file.keep(SPACE, some(1))
    assert file.find(SPACE, list(some(1))) == {}


def test_many_threads_share_it(cache):
    def work(start: int) -> None:
        file = cache.file()
        for number in range(start, start + 10):
            file.keep(SPACE, some(number))
            assert same(file.find(SPACE, list(some(number))), some(number))

    threads = [threading.Thread(target=work, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same(cache.file().find(SPACE, list(some(*range(40)))), some(*range(40)))


def test_a_new_file_that_another_process_sets_up_is_waited_for(cache, monkeypatch: pytest.MonkeyPatch):
    refused = []

    class Refusing(sqlite3.Connection):
        def executescript(self, script: str, /) -> sqlite3.Cursor:
            if len(refused) < 2:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                refused.append(error)
                raise error
            return super().executescript(script)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, **options, factory=Refusing))
    file = cache.file()
    file.keep(SPACE, some(1))
    assert same(file.find(SPACE, list(some(1))), some(1))
    assert len(refused) == 2


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_harms_nothing(tmp_path: Path):
    code = """
import sys
from leafspan import EmbeddingCache
from tests.embedding.test_cache import SPACE, some
file = EmbeddingCache(sys.argv[1]).file()
for start in range(0, 100_000, 50):
    file.keep(SPACE, some(*range(start, start + 50)))
    print(start, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True) as child:
        for _ in range(5):
            child.stdout.readline()
        child.kill()
    found = EmbeddingCache(tmp_path).file().find(SPACE, list(some(*range(250))))
    assert same(found, some(*range(250)))


def test_a_place_that_cannot_be_used_is_a_warning_and_no_error(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    service = Service()
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=EmbeddingCache(tmp_path / "file")) as index:
        with pytest.warns(RuntimeWarning, match=r"the embedding cache '.*' cannot be used, so texts are embedded again"):
            index.add(Document("a", "One."))
        assert index.count() == 1


def test_an_interruption_keeps_what_was_embedded_before(tmp_path: Path, cache):
    service = Service()

    def interrupted(texts):
        if service.embedded.total() >= 128:
            raise KeyboardInterrupt
        return service(texts)

    with (
        Index.open(tmp_path / "kb", embedder=interrupted, embedding_cache=cache) as index,
        pytest.raises(KeyboardInterrupt),
    ):
        index.add(MANY)
    with Index.open(tmp_path / "kb", embedder=service, embedding_cache=cache) as index:
        # The function has another name now, but it is the same index, and the same embedder to it.
        index.add(MANY)
    assert set(service.embedded.values()) == {1}


class Truncating(BaseEmbedding):
    """A model of LlamaIndex that sees only the first words of a text."""

    max_length: int

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(" ".join(text.split()[: self.max_length]))

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_the_same_model_with_other_settings_gets_vectors_of_its_own(tmp_path, cache):
    text = " ".join(f"word{number}" for number in range(30))
    stored = []
    for length in (16, 512):
        model = Truncating(model_name="bge", max_length=length)
        with Index.open(tmp_path / str(length), embedder=model, embedding_cache=cache, title_weight=0) as index:
            index.add(Document("a", text))
            stored.append(
                index.client.get_collection("kb.leaves", embedding_function=None).get(include=["embeddings"])["embeddings"]
            )
    assert not np.allclose(stored[0], stored[1])


def test_how_a_service_is_reached_is_no_setting_of_its_model():
    def settings(**more: object) -> str:
        return to_embedder(Truncating(model_name="bge", max_length=16, **more)).settings

    assert settings(embed_batch_size=7) == settings(embed_batch_size=8)
    assert to_embedder(Truncating(model_name="bge", max_length=17)).settings != settings()
