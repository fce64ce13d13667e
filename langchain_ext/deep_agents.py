"""An index as read-only files, for LangChain's deep agents."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, TypeVar, Unpack
from urllib.parse import quote, unquote

from langchain_core.tools import StructuredTool

from langchain_ext.tools import to_tool
from leafspan import Document, InvalidArgument, LeafspanError, MissingExtra, Passage, View
from leafspan.errors import DocumentNotFound
from leafspan.hosting import (
    Call,
    Flow,
    ToolOptions,
    ToolResult,
    agent_tool,
    arun,
    check_flag,
    check_timeout,
    error_text,
    find_lines,
    line_expression,
    run,
    shown,
)
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
    by name and search them for an exact text or a regular expression. The tool of ``as_tool`` finds passages by words and
    meaning, with path and lines, so that the agent reads on in the file. Writing, editing and deleting are refused.

    Each document has one path. It encodes ``%``, backslashes, control characters, empty parts and the parts ``.`` and
    ``..`` of an id like a URL. The text of ``report.pdf`` is the file ``/report.pdf.txt``, since agents do not read PDFs,
    slides, pictures, sounds and films as texts.

    Args:
        index: The index, or a view of it, such as a tenant's: no file shows anything else.
        timeout: Seconds, > 0, after which ``grep`` stops and returns what it has found so far. None: never. Default: 15.
        regex: Whether ``grep`` takes regular expressions (RE2), and not exact texts. deepagents tells the model that its
            tool takes exact texts, so say it in your ``system_prompt``. Default: False.

    Raises:
        InvalidArgument: if an option is of a wrong type or out of its range.
    """

    def __init__(self, index: View, *, timeout: float | None = 15.0, regex: bool = False) -> None:
        if not isinstance(index, View):
            raise InvalidArgument(f"index must be an Index or a view of one, got {shown(index)}")
        check_timeout(timeout)
        check_flag("regex", regex)
        self._index = index
        self._timeout = timeout
        self._regex = regex

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
        """The lines that contain a text, or match a regular expression, in files below ``path`` whose names match ``glob``.

        Of a line with more than 500 characters, the result has the part around the match.
        """
        return _answer(self._grep(pattern, path, glob, max_count), GrepResult)

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Like ``grep``, without blocking the event loop."""
        return await _aanswer(self._grep(pattern, path, glob, max_count), GrepResult)

    def search(self, question: str, k: int = 5) -> GrepResult:
        """The passages that answer a question, best first: ``k`` at most, with path, first line and text."""
        return _answer(self._search(question, k), GrepResult)

    async def asearch(self, question: str, k: int = 5) -> GrepResult:
        """Like ``search``, without blocking the event loop."""
        return await _aanswer(self._search(question, k), GrepResult)

    def as_tool(self, *, folder: str = "/", **options: Unpack[ToolOptions]) -> StructuredTool:
        """The tool ``search`` for a deep agent: like ``as_tool``, but each passage has the path and lines of its file.

        It searches all files: permissions of the agent for paths do not limit it, but a view does.

        Args:
            folder: Where the agent has the files, such as the route of ``CompositeBackend``. Default: ``"/"``.
            options: As in ``as_tool``.
        """
        if not isinstance(folder, str) or not folder.startswith("/"):
            raise InvalidArgument(f'folder must be a path that begins with "/", got {shown(folder)}')
        tool = agent_tool(self._index, **options)

        def search(arguments: Mapping[str, Any]) -> Flow[ToolResult]:
            result = yield from tool.action(arguments)
            for each, passage in zip(result.content["passages"], result.passages, strict=True):
                if lines := (yield from self._lines(passage)):
                    each |= {"path": folder.rstrip("/") + _path(passage.document_id), "lines": list(lines)}
            return result

        places = "Each passage has the path of its file and its lines: read_file takes the path, and offset = line - 1."
        return to_tool(replace(tool, description=f"{tool.description} {places}", action=search))

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
        end = inf if self._timeout is None else time.monotonic() + self._timeout
        expression = line_expression(pattern, regex=self._regex)
        files = _matching((yield from self._sizes()), glob, path)
        ids = [_document_id(each["path"]) for each in files]
        lines, complete = yield from find_lines(self._index, ids, expression, sys.maxsize if most is None else most, end)
        matches = [
            GrepMatch(path=_path(each.document_id), line=each.number, text=each.text if each.is_whole else f"…{each.text}…")
            for each in lines
        ]
        return GrepResult(matches=matches, truncated=not complete)

    def _search(self, question: str, k: int) -> Flow[GrepResult]:
        passages = yield Call(self._index.retrieve, (question,), {"k": k}, native=self._index.aretrieve, what="search")
        matches: list[GrepMatch] = []
        for each in passages:
            if lines := (yield from self._lines(each)):
                matches.append(GrepMatch(path=_path(each.document_id), line=lines[0], text=each.text))
        return GrepResult(matches=matches)

    def _lines(self, passage: Passage) -> Flow[tuple[int, int] | None]:
        """The first and last line of a passage that are not blank, as ``read`` counts lines, or None without a place."""
        if passage.start is None:
            return None
        try:
            text = yield from self._text(_path(passage.document_id))
        except DocumentNotFound:  # somebody has deleted it meanwhile
            return None
        start = passage.start + len(passage.text) - len(passage.text.lstrip())
        end = passage.start + len(passage.text.rstrip())
        first = 1 + len(LINE_END.findall(text, 0, start))
        return first, first + len(LINE_END.findall(text, start, end))

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
        return await arun(flow, reads=True)
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
