"""An index as read-only files, for LangChain's deep agents."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import quote, unquote

from leafspan import Document, InvalidArgument, LeafspanError, MissingExtra, View
from leafspan.errors import DocumentNotFound
from leafspan.hosting import Call, Flow, arun, check_timeout, error_text, run, shown
from leafspan.splitting import LINE_END

try:
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra.of("IndexBackend needs deepagents", "deepagents") from error

_CODED = re.compile(r"^/|/$|(?<=/)/|(?:^|(?<=/))\.\.?(?=/|$)|[%\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Agents take files with these endings for pictures, sounds, films and pages, and not for texts.
_NOT_TEXT = re.compile(
    r"[^/]\.(png|jpe?g|webp|gif|hei[cf]|mp4|mpe?g|mov|avi|flv|webm|wmv|3gpp|mkv|wav|mp3|aiff|aac|ogg|flac|pdf|pptx?)$", re.I
)
_READ_ONLY = "the documents of the index are read-only"


class IndexBackend(BackendProtocol):
    """The documents of an index as read-only files, for ``create_deep_agent`` and its ``CompositeBackend``.

    The document ``notes/tea.md`` is the file ``/notes/tea.md``. An agent can list the files, read them by lines, find them
    by name and search them for an exact text. Passages, and the tools of ``as_tools``, give the same line numbers, so an
    agent can search by meaning and read on in the file. Writing, editing and deleting are refused.

    Each document has one path. It encodes ``%``, backslashes, control characters, empty parts and the parts ``.`` and
    ``..`` of an id like a URL. The text of ``report.pdf`` is the file ``/report.pdf.txt``, since agents do not read PDFs,
    slides, pictures, sounds and films as texts.

    Args:
        index: The index, or a view of it, such as a tenant's: no file shows anything else.
        timeout: Seconds, > 0, after which ``grep`` stops and returns what it has found so far. None: never. Default: 15.

    Raises:
        InvalidArgument: if an option is of a wrong type or out of its range.
    """

    def __init__(self, index: View, *, timeout: float | None = 15.0) -> None:
        if not isinstance(index, View):
            raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")
        check_timeout(timeout)
        self._index = index
        self._timeout = timeout

    def ls(self, path: str) -> LsResult:
        """The files and folders directly in a folder."""
        return _answer(self._ls(path), LsResult)

    async def als(self, path: str) -> LsResult:
        """Like ``ls``, without blocking the event loop."""
        return await _aanswer(self._ls(path), LsResult)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """The lines of a document from ``offset`` on, which counts from 0."""
        return _answer(self._read(file_path, offset, limit), ReadResult)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Like ``read``, without blocking the event loop."""
        return await _aanswer(self._read(file_path, offset, limit), ReadResult)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """The files whose names match a pattern, such as ``*.md`` or ``notes/**/*.md``."""
        return _answer(self._glob(pattern, path), GlobResult)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Like ``glob``, without blocking the event loop."""
        return await _aanswer(self._glob(pattern, path), GlobResult)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """The lines that contain an exact text, in files below ``path`` whose names match ``glob``."""
        return _answer(self._grep(pattern, path, glob, max_count), GrepResult)

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Like ``grep``, without blocking the event loop."""
        return await _aanswer(self._grep(pattern, path, glob, max_count), GrepResult)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The texts of documents in UTF-8."""
        return [_answer(self._download(path), partial(FileDownloadResponse, path)) for path in paths]

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Like ``download_files``, without blocking the event loop."""
        return [await _aanswer(self._download(path), partial(FileDownloadResponse, path)) for path in paths]

    def write(self, file_path: str, content: str) -> WriteResult:
        """Return an error: the files are read-only."""
        return WriteResult(error=f"cannot write {file_path}: {_READ_ONLY}")

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Return an error: the files are read-only."""
        return EditResult(error=f"cannot edit {file_path}: {_READ_ONLY}")

    def delete(self, file_path: str) -> DeleteResult:
        """Return an error: the files are read-only."""
        return DeleteResult(error=f"cannot delete {file_path}: {_READ_ONLY}")

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Return an error: the files are read-only."""
        return [FileUploadResponse(path=path, error="permission_denied") for path, _ in files]

    def _ls(self, path: str) -> Flow[LsResult]:
        return LsResult(entries=_listed((yield from self._sizes()), path))

    def _read(self, path: str, offset: int, limit: int) -> Flow[ReadResult]:
        return _window((yield from self._text(path)), offset, limit)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        return GlobResult(matches=_matching((yield from self._sizes()), pattern, path))

    def _grep(self, pattern: str, path: str | None, glob: str | None, most: int | None) -> Flow[GrepResult]:
        if not pattern:  # each line contains it
            return GrepResult(error="pattern must have at least one character, got ''")
        end = None if self._timeout is None else time.monotonic() + self._timeout
        matches: list[GrepMatch] = []
        for each in _matching((yield from self._sizes()), glob, path):
            if end is not None and time.monotonic() > end:
                return GrepResult(matches=matches, truncated=True)
            try:
                text = yield from self._text(each["path"])
            except DocumentNotFound:
                continue  # somebody has deleted it meanwhile
            for number, line in enumerate(LINE_END.split(text), 1) if pattern in text else ():
                if pattern in line:
                    if most is not None and len(matches) >= most:
                        return GrepResult(matches=matches, truncated=True)
                    matches.append(GrepMatch(path=each["path"], line=number, text=line))
        return GrepResult(matches=matches, truncated=False)

    def _download(self, path: str) -> Flow[FileDownloadResponse]:
        try:
            return FileDownloadResponse(path, (yield from self._text(path)).encode())
        except DocumentNotFound:
            return FileDownloadResponse(path, error="file_not_found")

    def _sizes(self) -> Flow[dict[str, int]]:
        documents = yield Call(self._index.documents, native=self._index.adocuments, what="list")
        return {_path(each.id): each.characters for each in documents}

    def _text(self, path: str) -> Flow[str]:
        document_id = _document_id(path)
        if (only := _path(document_id)) != f"/{path.removeprefix('/')}":  # or rules for paths could be circumvented
            raise DocumentNotFound(f"there is no file {shown(path)}; the document {shown(document_id)} is {shown(only)}")
        document: Document = yield Call(self._index.get, (document_id,), native=self._index.aget, what="read")
        return document.text


Result = TypeVar("Result")


def _answer(flow: Flow[Result], refused: Callable[..., Result]) -> Result:
    """The result; an error is a result, too."""
    try:
        return run(flow)
    except (LeafspanError, InvalidGlobPatternError) as error:
        return refused(error=error_text(error))


async def _aanswer(flow: Flow[Result], refused: Callable[..., Result]) -> Result:
    """Like ``_answer``."""
    try:
        return await arun(flow)
    except (LeafspanError, InvalidGlobPatternError) as error:
        return refused(error=error_text(error))


def _path(document_id: str) -> str:
    """The path of a document. Different ids have different paths, and no path leads out of its folder."""
    path = "/" + _CODED.sub(lambda match: quote(match[0], safe="").replace(".", "%2E"), document_id)
    if _NOT_TEXT.search(path):
        return f"{path}.txt"
    shorter = path.removesuffix(".txt")
    return f"{shorter}%2Etxt" if shorter != path and _NOT_TEXT.search(shorter) else path


def _document_id(path: str) -> str:
    """The id of the document with this path."""
    coded = path.removeprefix("/")
    shorter = coded.removesuffix(".txt")
    return unquote(shorter if _NOT_TEXT.search(shorter) else coded)


def _folder(path: str | None) -> str:
    """The folder with a final slash."""
    return "/" + "".join(f"{part}/" for part in (path or "").split("/") if part)


def _file(path: str, size: int) -> FileInfo:
    return FileInfo(path=path, is_dir=False, size=size)


def _listed(sizes: Mapping[str, int], path: str) -> list[FileInfo]:
    folder = _folder(path)
    entries: dict[str, FileInfo] = {}
    for each, size in sizes.items():
        if each.startswith(folder):
            name, slash, _ = each.removeprefix(folder).partition("/")
            below = f"{folder}{name}{slash}"
            entries[below] = FileInfo(path=below, is_dir=True, size=0) if slash else _file(each, size)
    return [entries[each] for each in sorted(entries)]


def _matching(sizes: Mapping[str, int], pattern: str | None, path: str | None) -> list[FileInfo]:
    """The file at the path, or the files below it, with matching names; without a pattern, all files."""
    matches = compile_grep_include_glob(pattern) if pattern else lambda name: True
    folder = _folder(path)
    alone = folder.removesuffix("/")
    names = {each: each.removeprefix(folder) for each in sizes if each.startswith(folder)}
    if alone in sizes:
        names[alone] = alone.rpartition("/")[2]
    paths = sorted(each for each, name in names.items() if matches(name) or matches(_document_id(name)))
    return [_file(each, sizes[each]) for each in paths]


def _window(text: str, offset: int, limit: int) -> ReadResult:
    """Some lines of a text, each with a final line feed."""
    offset, limit = max(0, int(offset)), max(0, int(limit))
    if not text.strip():
        return ReadResult(file_data={"content": text, "encoding": "utf-8"})
    if limit == 0:
        return ReadResult(file_data={"content": "", "encoding": "utf-8"}, no_lines_requested=True)
    lines = LINE_END.split(text)
    if not lines[-1]:
        lines.pop()  # no line follows the last line end
    if offset >= len(lines):
        return ReadResult(error=f"offset must be less than the {len(lines)} lines of the document, got {offset}")
    end = min(offset + limit, len(lines))
    content = "\n".join(lines[offset:end]) + ("\n" if end < len(lines) or text.endswith(("\n", "\r")) else "")
    return ReadResult(
        file_data={"content": content, "encoding": "utf-8"},
        total_lines=len(lines),
        start_line=offset + 1,
        end_line=end,
        next_offset=end if end < len(lines) else None,
    )
