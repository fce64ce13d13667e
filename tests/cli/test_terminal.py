"""Texts of documents cannot command a terminal, change its writing direction, or pass for leafspan's messages."""

from __future__ import annotations

import json
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import leafspan as leafspan_package
from leafspan import Document, Index, InvalidArgument
from leafspan.cli import app
from leafspan.text import escaped_in_json, visible

HOSTILE = "a\x1b[2Jb\x9b31mc\x7fd\u202ee\u2066f\u200bg\u2028h\x85i\rj\U000e0041k\ufeffl\u061cm\x00n\nkb: 0 deleted"
SAFE_LINE_ENDS = {"\n", "\t"}


def is_dangerous(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} or (
        unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
    )


def dangerous(text: str) -> set[str]:
    return {character for character in text if is_dangerous(character)} - SAFE_LINE_ENDS


@given(st.text())
def test_no_command_is_left_in_a_name(text):
    shown = visible(text)
    assert not dangerous(shown)
    assert "\n" not in shown
    assert "\t" not in shown


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F)])
def test_each_command_is_shown(code):
    assert visible(chr(code)) != chr(code)
    assert visible(f"a{chr(code)}b").startswith("a")


def test_what_is_shown():
    assert visible("\x1b[31m") == "␛[31m"
    assert visible("\x9b\x7f\u202e\u2066") == "\\x9b␡\\u202e\\u2066"
    assert visible("one\ntwo") == "one␊two"
    assert visible("café 日本 😀") == "café 日本 😀"


def test_a_text_keeps_its_lines_and_the_joiners_that_scripts_need():
    text = "می\u200cخواهم\n👩\u200d🔬\tend\r\nlast"
    assert visible(text, lines=True) == text.replace("\r\n", "\n")
    assert visible("a\u202eb\rc", lines=True) == "a\\u202eb␍c"


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_is_the_same_value_and_has_no_command(value):
    written = escaped_in_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(written) == value
    assert not dangerous(written)


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    with Index.open(tmp_path / "kb") as index:
        index.add(Document(HOSTILE, f"Bees dance. {HOSTILE}", HOSTILE, {HOSTILE: HOSTILE}))
    return tmp_path / "kb"


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "--json"],
        ["query", "Who dances?", "--explain"],
        ["query", "Who dances?", "--json"],
        ["tree", "build"],
        ["tree", "show", "--leaves"],
        ["tree", "show", HOSTILE.replace("\0", "")],
        ["delete", HOSTILE.replace("\0", ""), "--dry-run"],
        ["delete", "--where", "{}", "--dry-run"],
        ["delete", "--where", json.dumps({"year": {"$gt": 0}, HOSTILE: {"$ne": "x"}}), "--dry-run"],
        ["delete", "--where", json.dumps({HOSTILE: {HOSTILE: 1}}), "--dry-run"],
        ["query", "Who?", "--strategy", HOSTILE],
        ["repair"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40].encode("ascii", "replace").decode(),
)
def test_no_command_writes_one(kb: Path, arguments: list[str]):
    runner = CliRunner()
    runner.invoke(app, ["tree", "build", "--kb", str(kb)])
    done = runner.invoke(app, [*arguments, "--kb", str(kb)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not dangerous(done.output)
    if arguments[0] != "query":  # a text may have lines
        assert "\nkb: 0 deleted" not in done.output


def test_names_of_files_are_shown(tmp_path: Path):
    name = "a\x1b[2J\u202eb\x9bc.md"
    (tmp_path / name).write_bytes(b"\xff\xfe\xff")
    (tmp_path / "b.md").write_text("Bees dance.")
    done = CliRunner().invoke(app, ["index", str(tmp_path), "--kb", str(tmp_path / "kb")])
    assert "skipped" in done.output
    assert not dangerous(done.output)


def test_a_warning_is_one_line_without_a_place_in_the_code(monkeypatch: pytest.MonkeyPatch):
    said = []

    def warn(*_: object, **__: object) -> None:
        for file in (leafspan_package.__file__, "elsewhere.py"):
            said.append(warnings.formatwarning("vectors were\x1b damaged", RuntimeWarning, file, 3))
        raise InvalidArgument("enough")

    usual = warnings.formatwarning
    monkeypatch.setattr(leafspan_package.Index, "open", warn)
    CliRunner().invoke(app, ["show"])
    assert said[0] == "warning: " + visible("vectors were\x1b damaged") + "\n"
    assert "\x1b" not in said[0]
    assert said[1].startswith("elsewhere.py:3: RuntimeWarning: ")
    assert warnings.formatwarning is usual
