"""Another process: four threads ask an index while a fifth imports a package for the first time.

It prints as JSON how often they asked, and the errors of all five.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from importlib import import_module
from importlib.machinery import SourceFileLoader
from typing import Any

from leafspan import Index

_ASKING = 4  # threads
_AFTERWARDS = 0.3  # seconds to go on asking after the import


def import_beside_questions(
    path: str, package: str, *, delay: float, slowly: float, open_in_threads: bool
) -> dict[str, Any]:
    """What the threads met.

    Args:
        path: Folder of the index.
        package: What the fifth thread imports.
        delay: Seconds after which it begins.
        slowly: Seconds that the import of each module takes longer, so that more modules are half made at a time.
        open_in_threads: Whether each thread opens the index, instead of sharing one.
    """
    shared = None if open_in_threads else Index.open(path)
    errors: list[str] = []
    asked = [0] * _ASKING
    is_over = threading.Event()
    usual = SourceFileLoader.exec_module

    def exec_slowly(loader: SourceFileLoader, module: Any) -> None:
        time.sleep(slowly)
        usual(loader, module)

    def ask(number: int) -> None:
        try:
            index = shared or Index.open(path)
            while not is_over.is_set() or not asked[number]:
                index.retrieve("fruit", k=3)
                asked[number] += 1
        except Exception as error:
            errors.append(f"asking: {error!r}")

    def import_it() -> None:
        time.sleep(delay)
        try:
            import_module(package)
        except Exception as error:
            errors.append(f"importing: {error!r}")

    SourceFileLoader.exec_module = exec_slowly  # type: ignore[method-assign]
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(_ASKING)]
    importing = threading.Thread(target=import_it)
    for thread in (*threads, importing):
        thread.start()
    importing.join()
    time.sleep(_AFTERWARDS)
    is_over.set()
    for thread in threads:
        thread.join()
    return {"asked": sum(asked), "errors": errors}


if __name__ == "__main__":
    print(json.dumps(import_beside_questions(**json.loads(sys.argv[1]))))
