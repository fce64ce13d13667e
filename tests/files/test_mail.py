"""What a reader of mail shows of a message is in its text, in order."""

from __future__ import annotations

import base64
import re
import time
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.documents import check_document
from leafspan.files import FileDocument, FileReading, Files

HEAD = "From: Ann <ann@x.org>\nSubject: Tea\nMIME-Version: 1.0\n"
PLAIN, HTML = "Content-Type: text/plain\n\n", "Content-Type: text/html\n\n"
PICTURE = "Content-Type: image/png; name=cup.png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo="
FILE = 'Content-Type: {}; charset=utf-8\nContent-Disposition: attachment; filename="{}"\n\n'


def read(folder: Path, data: str | bytes, name: str = "a.eml") -> list[FileDocument]:
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    reading = FileReading(check_document, folder)
    found = list(reading.read(Files(folder / name)))
    assert reading.skipped == ()
    return found


def mixed(*parts: str, kind: str = "mixed", boundary: str = "B") -> str:
    return (
        f"Content-Type: multipart/{kind}; boundary={boundary}\n\n"
        + "".join(f"--{boundary}\n{part}\n" for part in (*parts, "")).removesuffix("\n\n").removesuffix(f"--{boundary}")
        + f"--{boundary}--\n"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (mixed(PLAIN + "Before.", PICTURE, PLAIN + "After."), "Before.\n\nAfter.\n\nAttached: cup.png\n"),
        (
            mixed(HTML + "<p>Before.</p>", PICTURE.replace("; name=cup.png", ""), HTML + "<p>After.</p>"),
            "Before.\n\nAfter.\n\nAttached: image/png\n",
        ),
        (mixed(PLAIN + " \n", HTML + "<p>Tea at five.</p>", kind="alternative"), "Tea at five.\n"),
        (
            mixed(PLAIN + "See the web page.", HTML + "<p>" + "Tea at five. " * 9 + "</p>", kind="alternative"),
            ("Tea at five. " * 9).strip() + "\n",
        ),
        (mixed(PLAIN + "Tea at five.", HTML + "<p>Tea at <b>five</b>.</p>", kind="alternative"), "Tea at five.\n"),
        (mixed(HTML + "<p>Tea at <b>five</b>.</p>", PLAIN + "Tea at five.", kind="alternative"), "Tea at five.\n"),
        (  # as Apple Mail writes it
            mixed(
                PLAIN + "Before.\nAfter.",
                mixed(HTML + "<p>Before.</p>", PICTURE, HTML + "<p>After.</p>", boundary="C"),
                kind="alternative",
            ),
            "Before.\nAfter.\n\nAttached: cup.png\n",
        ),
        (
            mixed(PLAIN + "See below.", FILE.format("text/plain", "notes.txt") + "Heat water."),
            "See below.\n\n# Attached: notes.txt\n\nHeat water.\n",
        ),
        (
            mixed(PLAIN + "See below.", FILE.format("application/octet-stream", "notes.md") + "Heat\nwater."),
            "See below.\n\n# Attached: notes.md\n\nHeat\nwater.\n",
        ),
        (
            mixed(PLAIN + "See below.", FILE.format("text/html", "a.html") + "<p>Heat <i>water</i>."),
            "See below.\n\n# Attached: a.html\n\nHeat water.\n",
        ),
        (mixed(PLAIN + "Come.", FILE.format("text/calendar", "invite.ics") + "BEGIN:VCALENDAR"), "Come.\n\nAttached: invite.ics\n"),
        (
            mixed(PLAIN + "See.\n\nBob wrote:\n> Tea?", "Content-Type: message/rfc822\n\nFrom: Eve <e@x.org>\nSubject: Milk\n\nIt is sour."),
            "See.\n\n# Quoted\n\nBob wrote:\n> Tea?\n\n# Attached: Milk\n\nFrom: Eve <e@x.org>\n\nIt is sour.\n",
        ),
        (
            mixed("\nSubject: One\n\nFirst.", "\nSubject: Two\n\nSecond.", kind="digest"),
            "# Attached: One\n\nFirst.\n\n# Attached: Two\n\nSecond.\n",
        ),
        (
            mixed(PLAIN + "See.", FILE.format("application/octet-stream", "old.eml") + "Subject: Milk\n\nIt is sour."),
            "See.\n\n# Attached: Milk\n\nIt is sour.\n",
        ),
        (mixed(PLAIN + "Signed.", "Content-Type: application/pgp-signature\n\nxyz", kind="signed"), "Signed.\n"),
        ("Content-Type: multipart/mixed\n\nNo boundary.", "No boundary.\n"),
    ],
)  # fmt: skip
def test_what_is_shown_is_in_the_text(tmp_path: Path, body: str, text: str):
    [found] = read(tmp_path, HEAD + body)
    assert (found.title, found.text) == ("Tea", text)


@st.composite
def messages(draw: st.DrawFn, depth: int = 3) -> tuple[MIMEMultipart | MIMEText | MIMEMessage, list[str], list[str]]:
    """A part of a message, with the words shown in it and the words attached to it, each in order."""
    kind = draw(
        st.sampled_from(["plain", "html", "file", *(["mixed", "related", "alternative", "message"] if depth else [])])
    )
    word = f"w{draw(st.integers(0, 10**9))}"
    if kind in ("plain", "html", "file"):
        text = MIMEText(f"<p>{word}</p>" if kind == "html" else word, "html" if kind == "html" else "plain", "utf-8")
        if kind == "file":
            text.add_header("Content-Disposition", "attachment", filename="a.txt")
        return (text, [], [word]) if kind == "file" else (text, [word], [])
    inner = draw(st.lists(messages(depth - 1), min_size=1, max_size=3))
    shown, attached = ([word for each in inner for word in each[part]] for part in (1, 2))
    if kind == "alternative":
        whole = MIMEMultipart("alternative")
        whole.attach(MIMEText(" ", "plain"))
        shown, attached = inner[0][1], [*inner[0][2]]
        whole.attach(inner[0][0])
        return whole, shown, attached
    whole = MIMEMultipart("mixed" if kind == "message" else kind)
    for part, *_ in inner:
        whole.attach(part)
    if kind == "message":
        whole["Subject"] = word
        return MIMEMessage(whole), [], [word, *shown, *attached]
    return whole, shown, attached


@given(messages())
def test_no_text_of_any_message_is_lost(tmp_path_factory: pytest.TempPathFactory, made):
    part, shown, attached = made
    whole = MIMEMultipart()
    whole["Subject"] = "Tea"
    whole.attach(part)
    [found] = read(tmp_path_factory.mktemp("mail"), whole.as_bytes())
    assert re.findall(r"w\d+", found.text) == [*shown, *attached]


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("", "süß".encode(), "süß"),
        ("", b"s\xfc\xdf", "süß"),
        ("iso-8859-1", b"\x93tea\x94 \x80 5", "“tea” € 5"),
        ("us-ascii", b"\x93tea\x94", "“tea”"),
        ("x-unknown", "süß".encode(), "süß"),
        ("utf8mb4", b"s\xfc\xdf", "süß"),
        ("iso-8859-9", b"\xfe\x80", "ş€"),
        ("gb2312", "\u4e2d\u56fd\u9555".encode("gbk"), "\u4e2d\u56fd\u9555"),
        ("ks_c_5601-1987", "똠방".encode("cp949"), "똠방"),
        ("shift_jis", "①茶".encode("cp932"), "①茶"),
        ("windows-874", "ชา".encode("cp874"), "ชา"),
        ("utf-8", b"tea \xff caf\xc3\xa9", "tea \ufffd café"),
        ("x-sjis", "お茶".encode("cp932"), "お茶"),
    ],
)  # fmt: skip
def test_a_text_is_in_the_encoding_that_it_declares_as_browsers_read_it(
    tmp_path: Path, charset: str, data: bytes, text: str
):
    head = HEAD.encode() + b"Content-Type: text/plain" + (f"; charset={charset}" if charset else "").encode()
    assert read(tmp_path, head + b"\n\n" + data)[0].text == text + "\n"
    encoded = b"\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)
    assert read(tmp_path, head + encoded)[0].text == text + "\n"
    subject = f"Subject: =?{charset or 'utf-8'}?b?{base64.b64encode(data).decode()}?="
    if charset:
        assert read(tmp_path, subject + "\n\n")[0].title == text
    page = f'<meta charset="{charset}"><p>'.encode() + data
    if charset and charset not in ("x-unknown", "utf8mb4"):
        assert read(tmp_path, page, "a.html")[0].text == text + "\n"
        declared = f'<?xml version="1.0" encoding="{charset}"?><html><p>'.encode() + data
        assert read(tmp_path, declared, "a.xhtml")[0].text.endswith(text + "\n")
    html = HEAD.encode() + b"Content-Type: text/html\n\n" + page
    assert read(tmp_path, html)[0].text == text + "\n"


@pytest.mark.parametrize(
    ("header", "title"),
    [
        ("=?utf-8?q?Tea_for?= =?utf-8?q?_Zo=C3=AB?=", "Tea for Zoë"),
        ("=?utf-8?b?Wm/Dqw==?= =?utf-8?b?IEI=?=", "Zoë B"),
        ("=?utf-8?b?Wm/Dqw?=", "Zoë"),
        ("=?utf-8?q?Zo=C3?=\n =?utf-8?q?=AB?= and Bob", "Zoë and Bob"),
        ("Tea =?iso-8859-1?q?f=FCr?= Zoe", "Tea für Zoe"),
        ("=?utf-8?q?a?= =?iso-8859-1?q?=FC?=", "aü"),
        ("Tea für Zoë", "Tea für Zoë"),
        ("Tea =?= for ?= two", "Tea =?= for ?= two"),
        ("=?utf-8*en?q?tea?=", "tea"),
    ],
)
def test_a_subject_is_decoded(tmp_path: Path, header: str, title: str):
    assert read(tmp_path, f"Subject: {header}\n\nText.")[0].title == title


def test_a_mailbox_shows_lines_that_begin_with_from_as_they_were_written(tmp_path: Path):
    [found] = read(tmp_path, "From x\nSubject: Tea\n\nHello.\n>From here on, tea.\n\n", "a.mbox")
    assert found.text == "Hello.\nFrom here on, tea.\n"


@pytest.mark.parametrize("unit", ["(", "=?a?q?", "=?", "(a)", "a@b (c), ", ";", "=?utf-8?q?a?= ", '"'])
def test_headers_take_time_that_grows_with_their_length(tmp_path: Path, unit: str):
    message = f"From: ann@x.org\nTo: {unit * (19_000 // len(unit))}\nSubject: {unit * 100_000}\n\nTea."
    (tmp_path / "a.eml").write_text(message)
    before = time.process_time()
    [found] = FileReading(check_document, tmp_path).read(Files(tmp_path))
    assert time.process_time() - before < 2
    assert found.text == "Tea.\n"


def test_a_message_made_by_the_library_is_read_back(tmp_path: Path):
    message = EmailMessage()
    message["Subject"], message["To"] = "Tee für Zoë", "Zoë <zoe@x.org>"
    message.set_content("Grüße, Ann")
    message.add_alternative("<p>Grüße, <b>Ann</b></p>", subtype="html")
    message.add_attachment("Wasser kochen", filename="Gebräu.txt")
    [found] = read(tmp_path, bytes(message))
    assert (found.title, found.metadata["to"]) == ("Tee für Zoë", "Zoë <zoe@x.org>")
    assert found.text == "Grüße, Ann\n\n# Attached: Gebräu.txt\n\nWasser kochen\n"


@pytest.mark.parametrize(
    "date", ["Mon, 5 Feb 2024 10:00:00 +9999999999999999999", "Mon, 5 Feb 99999999999 10:00:00 +0000", "5th"]
)
def test_a_date_that_is_no_date_stays_as_it_is_written(tmp_path: Path, date: str):
    assert read(tmp_path, f"Subject: Tea\nDate: {date}\n\nText.")[0].metadata["date"] == date
