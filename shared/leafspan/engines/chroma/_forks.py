"""Forked processes cannot use the Chroma that their parent has opened: they have its memory, and not its threads."""

from __future__ import annotations

import os
import sys

from leafspan.errors import ForkedProcess

_REMEDY = (
    "open indexes after the fork only (gunicorn without --preload), or start processes that are not forked "
    '(multiprocessing.set_start_method("spawn")), or let a server of Chroma hold the index; an index in a folder can be '
    "read here, but not written, as long as what is derived from it is complete: index.warm() in another process sees to it"
)
_users: list[int] = []  # the process that has used an embedded Chroma first


def use_embedded_chroma() -> None:
    """Note that this process uses an embedded Chroma.

    Raises:
        ForkedProcess: if its parent has used one before the fork. Chroma would wait for ever for the threads of the parent,
            also for another folder, and also if the parent had closed it.
    """
    if _users and _users[0] != os.getpid():
        raise ForkedProcess(
            f"this process was forked from process {_users[0]}, which had used Chroma in a folder or in memory: {_REMEDY}"
        )
    _users[:] = [os.getpid()]


def check_process(process: int) -> None:
    """Check that an index is used in the process that has opened it.

    Raises:
        ForkedProcess: if that was another process.
    """
    if os.getpid() != process:
        raise ForkedProcess(
            f"an index cannot be used in a forked process, this one was opened in process {process}: {_REMEDY}"
        )


def _note_what_the_parent_used() -> None:
    """In a forked process: note the embedded Chromas of the parent, also those that leafspan knows nothing of."""
    shared = getattr(sys.modules.get("chromadb.api.shared_system_client"), "SharedSystemClient", None)
    systems = list(getattr(shared, "_identifier_to_system", {}).values())
    embedded = [system for system in systems if "fastapi" not in str(system.settings.chroma_api_impl)]
    if not _users and embedded:
        _users[:] = [os.getppid()]
    for system in embedded:
        for component in list(getattr(system, "_instances", {}).values()):
            _keep_for_ever(getattr(component, "bindings", None))


def _keep_for_ever(thing: object) -> None:
    """Never delete an object. When Chroma's are deleted at the end of a process, they wait for their threads."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_what_the_parent_used)
