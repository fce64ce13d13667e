"""Watching files: a sync at once, and one after each change."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any
from warnings import warn

from leafspan.checks import shown
from leafspan.errors import EmptySource, InvalidArgument, InvalidDocument, WriterBusy
from leafspan.files import Files, FileStatus, file_status, files_at
from leafspan.flows import Call, Flow, arun, run
from leafspan.indexing._sync import Synced, SyncOptions, as_files

try:
    from watchfiles import watch
except ImportError:  # without the extra
    watch = None  # type: ignore[assignment]

# All in seconds.
_EVENTS, _POLL = 0.2, 0.5  # between two questions for events, and between two looks at the files without events
_QUIET = 0.3  # without a change: then a file is complete, and a burst is over
_LONGEST = 1.0  # of a burst that is synced as a whole
_ANYWAY = 10.0  # until a look without an event, since network folders send no events
_AT_ONCE: Any = {"debounce": 1, "step": 1, "rust_timeout": 1, "yield_on_timeout": True, "ignore_permission_denied": True}

Sync = Callable[[object, SyncOptions], Flow[Synced]]


class Watch:
    """Syncs files whenever they have changed, and then were left alone for a moment.

    A sync takes the files as two looks have seen them. It leaves out files that have changed since, such as half-written
    ones, and never takes only one side of a move. The next sync takes them.
    """

    def __init__(self, source: Any, sync: Sync, allow_empty: bool, workers: int | None, progress: bool | None) -> None:
        things = source if isinstance(source, list | tuple) else [source]
        files = as_files([Files(each) if isinstance(each, str) else each for each in things])
        if files is None:
            raise InvalidArgument(f"watch takes files and folders, got {shown(source)}")
        self._files = files
        self._named = [path for each in files for path in each.named]
        self._sync = sync
        self._options = SyncOptions(allow_empty=allow_empty, workers=workers, progress=progress)
        self._watched = len(files)  # how many of them were there at the last sync
        self._last: Synced | None = None
        self._taken: Mapping[Path, FileStatus] = {}  # the files as the last sync took them
        self._events: Any = None  # of watchfiles
        self._folders: list[object] = []  # identities of what the events are of
        self._looked, self._took = 0.0, 0.0  # when the last look began, and how long it took

    def syncs(self) -> Iterator[Synced]:
        while True:
            yield run(self._next())

    async def asyncs(self) -> AsyncIterator[Synced]:
        while True:
            yield await arun(self._next())

    def _next(self) -> Flow[Synced]:
        """Return the next sync that changed something, or skipped something else. The first one comes at once."""
        while True:
            first = self._last is None
            seen = (yield Call(self._look)) if first else (yield from self._next_change())
            settled = yield from self._settled(seen)
            if settled == self._taken and not first:
                continue
            files = [each for each in self._files if first or all(map(os.path.exists, each.named))] or self._files
            if len(files) < self._watched:
                missing = next(path for path in self._named if not os.path.exists(path))
                warn(f"the watch goes on without {shown(str(missing))}, which is missing", RuntimeWarning, stacklevel=4)
            self._watched = len(files)
            try:
                synced = yield from self._sync(files, replace(self._options, seen=settled))
            except (EmptySource, InvalidDocument, WriterBusy) as error:
                if first or (isinstance(error, InvalidDocument) and all(map(os.path.exists, self._named))):
                    raise
                warn(f"the watch goes on, but could not sync: {error}", RuntimeWarning, stacklevel=4)
                self._looked = -inf  # look again without an event
                self._taken = self._taken if isinstance(error, WriterBusy) else settled
                continue
            last, self._last, self._taken = self._last, synced, settled
            if last is None or synced.added or synced.replaced or synced.deleted or synced.skipped != last.skipped:
                return synced

    def _next_change(self) -> Flow[dict[Path, FileStatus]]:
        """Return the files as soon as one has changed since the last sync."""
        while True:
            yield _pause(max(_POLL if self._events is None else _EVENTS, 2 * self._took))
            if (yield Call(self._may_have_changed, finish=True)):
                seen: dict[Path, FileStatus] = yield Call(self._look)
                if seen != self._taken:
                    return seen

    def _settled(self, seen: dict[Path, FileStatus]) -> Flow[dict[Path, FileStatus]]:
        """Return the files to sync, once no file has changed for a moment. Files that go on changing stay as they were."""
        began = time.monotonic()
        while True:
            yield _pause(_QUIET - self._took)
            before, seen = seen, (yield Call(self._look))
            changing = {path for path, _ in before.items() ^ seen.items()}
            if not changing or time.monotonic() > began + _LONGEST:
                break
        self._looked = -inf if changing else self._looked  # look again without an event
        inodes = {seen[path][-1] for path in changing & seen.keys()}  # which a move keeps
        changing |= {path for path, old in self._taken.items() if path not in seen and old[-1] in inodes}
        kept = {path: status for path, status in seen.items() if path not in changing}
        return kept | {path: status for path, status in self._taken.items() if path in changing}

    def _look(self) -> dict[Path, FileStatus]:
        """Return all files of the source."""
        began = self._looked = time.monotonic()
        seen: dict[Path, FileStatus] = {}
        for path, files in ((path, each) for each in self._files for path in each.named):
            with suppress(OSError):  # a folder above must not be searched: the sync says so
                items = (item for item in files_at(path, files) if isinstance(item, Path))
                seen.update((item, status) for item in items if (status := file_status(item)))
        self._took = time.monotonic() - began
        return seen

    def _may_have_changed(self) -> bool:
        """Whether there were events since the last call. Without watchfiles, files may always have changed."""
        folders, happened = self._folders, True
        try:
            self._folders = [os.path.isdir(path) and os.stat(path)[1:3] for path in self._named]  # inodes and devices
            if self._folders != folders:  # one was replaced, mounted or deleted, and events come from the earlier one
                is_told = watch is not None and all(self._folders)
                self._events = watch(*self._named, watch_filter=None, **_AT_ONCE) if is_told else None
            happened = self._events is None or bool(next(self._events))
        except (OSError, RuntimeError):  # such as too many folders for the operating system
            self._events = None
        return happened or self._folders != folders or time.monotonic() > self._looked + _ANYWAY


def _pause(seconds: float) -> Call:
    return Call(time.sleep, (max(0.0, seconds),), native=asyncio.sleep)
