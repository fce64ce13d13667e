"""Forked processes cannot use a Chroma that their parent has opened: they have its memory, but not its threads."""

from __future__ import annotations

import os
import sys

from leafspan.errors import ForkedProcess

_REMEDY = (
    "open indexes after the fork only (gunicorn without --preload), or start processes that are not forked "
    '(multiprocessing.set_start_method("spawn")), or let a server of Chroma hold the index; an index in a folder can be '
    "read here, but not written, as long as what is derived from it is complete: index.warm() in another process sees to it"
)
_users: list[int] = []  # the first process that used an embedded Chroma


def use_embedded_chroma() -> None:
    """Register this process as a user of an embedded Chroma.

    Raises:
        ForkedProcess: if the parent process used an embedded Chroma before the fork. Chroma would wait for ever for the
            parent's threads, even for another folder, and even if the parent had closed it.
    """
    if _users and _users[0] != os.getpid():
        raise ForkedProcess(
            f"this process was forked from process {_users[0]}, which had used Chroma in a folder or in memory: {_REMEDY}"
        )
    _users[:] = [os.getpid()]


def check_process(process: int) -> None:
    """Check that an index is used in the process that opened it.

    Raises:
        ForkedProcess: if another process opened it.
    """
    if os.getpid() != process:
        raise ForkedProcess(
            f"an index cannot be used in a forked process, this one was opened in process {process}: {_REMEDY}"
        )


def _note_what_the_parent_used() -> None:
    """In a forked process: register the parent's embedded Chromas, including those that leafspan did not open."""
    shared = getattr(sys.modules.get("chromadb.api.shared_system_client"), "SharedSystemClient", None)
    systems = list(getattr(shared, "_identifier_to_system", {}).values())
    embedded = [system for system in systems if "fastapi" not in str(system.settings.chroma_api_impl)]
    if not _users and embedded:
        _users[:] = [os.getppid()]
    for system in embedded:
        for component in list(getattr(system, "_instances", {}).values()):
            _keep_for_ever(getattr(component, "bindings", None))


def _keep_for_ever(thing: object) -> None:
    """Never delete an object. Chroma's objects wait for their threads when Python deletes them at exit."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_what_the_parent_used)
