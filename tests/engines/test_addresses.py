"""The text of an index's place: which are addresses, and that no error and no folder shows a password."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from leafspan import Index, adopt
from leafspan.cli import app
from leafspan.engines import is_address
from leafspan.engines.postgres import _database as of_postgres
from leafspan.errors import InvalidArgument, LeafspanError
from tests.profiles import paired

NOWHERE = "127.0.0.1:1"
NO_ADDRESSES = [
    "qdrant://localhost:6333",
    "chroma://anna:sesame@localhost/kb",
    "s3://sesame@bucket/kb",
    "mysql://anna:sesame@localhost/kb",
    "sqlite:///kb.db",
    "jdbc:postgresql://localhost/kb?user=anna&password=sesame",
    "postgresql:anna:sesame@localhost/kb",
    "postgresql:/anna:sesame@localhost/kb",
    "postgresql+://anna:sesame@localhost/kb",
    "postgresqls://anna:sesame@localhost/kb",
    "host=localhost user=anna password=sesame",
    "Server=db;Pwd = sesame",
    "anna:sesame@localhost/kb",
    "anna:se/same/sesame@localhost/kb",
    " redis://:sesame@localhost",
]
WRONG = [
    "postgresql://anna:se/sesame@localhost/kb",
    "postgresql://anna:se@sesame@localhost/kb",
    "postgresql://anna:se@sesame/sesame@localhost/kb",
    "postgresql://anna:sesame/kb",
    "postgresql://anna@localhost/kb?password=se@sesame",
    "postgresql+psycopg://anna:%sesame@localhost/kb",
    "postgresql://anna:pw@localhost/kb?sesame=sesame",
    "http://anna:sesame@localhost/kb",
    "http://anna:se/sesame@localhost/kb",
    "http://anna:sesame/kb",
    "http://[anna:sesame@localhost/kb",
    "http://localhost/kb?token=sesame",
    "http://localhost/kb#sesame",
    "  https://anna:sesame@localhost/kb",
]


def everything_told(error: BaseException | None) -> str:
    """The messages of an error and of all errors below it, also hidden ones."""
    return "" if error is None else f"{error!r} {everything_told(error.__cause__)} {everything_told(error.__context__)}"


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("place", [*NO_ADDRESSES, *WRONG])
def test_what_is_no_address_of_ours_becomes_no_folder_and_no_error_shows_its_password(
    place: str, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    for use in (
        lambda: Index.open(kind(place)),
        lambda: Index.open(kind(place), read_only=True),
        lambda: Index.open("kb", cache_dir=kind(place), client=None) if kind is Path else Index.open(place, create=False),
        lambda: Index.open(kind(place), client=place),
        lambda: Index.open(client=place),
        lambda: adopt(kind(place), "kb"),
    ):
        with suppress(InvalidArgument):
            try:
                use()
            finally:
                told.append(everything_told(sys.exc_info()[1]))
    assert not [each for each in told if "sesame" in each]
    with pytest.raises(InvalidArgument, match=r"addresses|the address of an? (index|database) must be"):
        Index.open(kind(place))
    assert {each.name for each in tmp_path.iterdir()} <= {"kb"}


COMMANDS = [["show", "--kb"], ["sync", ".", "--kb"], ["copy", "kb"], ["mcp", "--kb"]]


@pytest.mark.parametrize(("place", "command"), paired([*NO_ADDRESSES, *WRONG], COMMANDS))
def test_no_command_prints_a_password(place: str, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Index.open("kb").close()
    result = CliRunner().invoke(app, [*command, place])
    assert result.exit_code == 2
    assert "sesame" not in result.output
    assert [each.name for each in tmp_path.iterdir()] == ["kb"]


@pytest.mark.parametrize("place", ["kb", "a:b", "./x@y", "C:\\kb\\anna@home", "C:/kb/anna@home", "year=2020/kb", "a/b:c@d"])
def test_other_names_are_folders(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert not is_address(place)
    with Index.open(place) as index:
        assert index.count() == 0
    assert Path(place).is_dir()


PARTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
DRIVERS = ["postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg", "postgresql+psycopg_async"]


@given(st.sampled_from(DRIVERS), PARTS, PARTS, PARTS.filter(lambda text: text == text.strip()), st.none() | st.just(5432))
def test_an_address_means_to_leafspan_what_it_means_to_sqlalchemy(
    driver: str, user: str, password: str, database: str, port: int | None
):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    url = sqlalchemy.URL.create(driver, user, password, "db.example.com", port, database)
    address = url.render_as_string(hide_password=False)
    assert is_address(address)
    found: Any = of_postgres._parts(address.partition("://")[2])
    assert (found["user"], found["password"], found["dbname"]) == (user, password, database)
    assert (found["host"], found.get("port")) == ("db.example.com", None if port is None else "5432")


@given(st.lists(st.sampled_from("/@:?#%&=[ +ä"), min_size=1, max_size=4))
@example(["/"])
@example(["@"])
@example(["@", "/"])
@example(["?", "@", "/"])
def test_no_error_shows_a_part_of_any_password(signs: list[str]):
    pytest.importorskip("psycopg")
    password = "sesame" + "sesame".join(signs) + "sesame"
    for address in (f"postgresql://anna:{password}@{NOWHERE}/kb", f"http://anna:{password}@{NOWHERE}/kb"):
        with pytest.raises(LeafspanError) as raised:
            Index.open(address, timeout=1)
        assert "sesame" not in everything_told(raised.value)


@pytest.mark.parametrize("blank", [" {}", "{}\n", "\t{} "])
@pytest.mark.parametrize(
    "address",
    [f"postgresql://anna:sesame@{NOWHERE}/kb", f"POSTGRES+psycopg://anna:sesame@{NOWHERE}/kb", f"HTTP://{NOWHERE}/kb"],
)
def test_blanks_around_an_address_are_ignored(address: str, blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("psycopg")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LeafspanError, match=r"could not connect in the .* at .*127\.0\.0\.1") as raised:
        Index.open(blank.format(address), timeout=1)
    assert "sesame" not in everything_told(raised.value)
    assert not list(tmp_path.iterdir())
