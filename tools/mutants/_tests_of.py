"""Chooses the tests for a changed module: first the tests of its room, then wider tests."""

from __future__ import annotations

from pathlib import Path

MODULES = (
    "checks",
    "text",
    "values.py",
    "spans",
    "lexical",
    "filters",
    "splitting",
    "documents",
    "strategies",
    "search",
    "store",
    "segments",
)
"""The modules and rooms to change: those without I/O, the store, the search and the segments."""

_HOSTS = "tests/hosts/test_scenarios.py"
# Tests of a room that also test other rooms, and other tests that may notice a change in the room.
_WIDER = {
    "spans": ("tests/strategies", "tests/retrieval", "tests/peers", _HOSTS),
    "lexical": ("tests/segments", "tests/store/test_scoped.py", "tests/strategies", "tests/peers/test_bm25_peers.py"),
    "filters": ("tests/store", "tests/peers", "tests/hosts/test_contract.py", _HOSTS),
    "splitting": ("tests/documents", "tests/indexing", "tests/test_index.py", "tests/peers", "tests/files"),
    "documents": (
        "tests/store",
        "tests/indexing",
        "tests/test_index.py",
        "tests/hosts/test_contract.py",
    ),
    "strategies": ("tests/retrieval", "tests/trees", "tests/config", "tests/peers", "tests/hosts"),
    "search": ("tests/store", "tests/segments", "tests/strategies", "tests/retrieval"),
    "store": ("tests/segments", "tests/indexing", "tests/search", "tests/trees", "tests/test_index.py", "tests/durability"),
    "trees": ("tests/strategies", "tests/durability/test_trees.py"),
    "segments": ("tests/search", "tests/store", "tests/indexing", "tests/durability/test_mirrors.py"),
}
# Modules whose tests have another name.
_ABOUT = {
    "lexical/_terms.py": ("ranking",),
    "lexical/_postings.py": ("ranking",),
    "lexical/_spelling.py": ("spelling",),
    "lexical/_tokens.py": ("analysis",),
    "spans/_word_budget.py": ("relevant_runs",),
    "spans/_packing.py": ("packing",),
    "strategies/scoring/__init__.py": ("neighbours",),
    "store/_scope.py": ("scoped",),
    "store/_store.py": ("reader",),
    "store/_current_leaves.py": ("reader",),
    "segments/_mirror.py": ("merging_segments", "snapshot"),
    "segments/_word_postings.py": ("mirror",),
    "segments/_leaf_copies.py": ("mirror",),
    "segments/_segment_folder.py": ("mirror",),
    "strategies/_hybrid_pool.py": ("hybrid",),
    "strategies/_multi_query.py": ("multi_query", "rewrite_query"),
    "strategies/_follow_references.py": ("follow_references",),
    "strategies/_router.py": ("router",),
    "strategies/_over_base.py": ("rerank", "decay"),
}
# Tests in other rooms that also test a module.
_ELSEWHERE = {
    "filters/_dialects.py": tuple(f"tests/peers/test_{each}_filters.py" for each in ("chroma", "haystack", "llamaindex")),
    "spans/_word_budget.py": ("tests/strategies/test_relevant_segments.py",),
    "strategies/_parents.py": ("tests/spans/test_merging.py", "tests/spans/test_parents.py"),
    "strategies/_sentence_window.py": ("tests/spans/test_windows.py",),
    "splitting/_cuts.py": ("tests/test_user_functions.py",),
    "documents/_chunks.py": ("tests/indexing/adopting/test_adopting.py",),
    "lexical/_rank_bm25_engine.py": ("tests/peers/test_bm25_peers.py",),
}
_OF_ALL = ("tests/spans", "tests/strategies", "tests/documents", "tests/store", "tests/test_index.py", "tests/retrieval")
_OWN = {
    "checks": (
        "tests/test_checks.py",
        "tests/test_hostile_values.py",
        "tests/test_user_functions.py",
        "tests/spans",
        "tests/strategies/scoring",
        "tests/lexical",
        "tests/filters",
    ),
    "text": ("tests/test_words.py", "tests/spans", "tests/splitting"),
    "values.py": (
        "tests/test_values.py",
        "tests/lab/pictures/test_reprs.py",
        "tests/spans",
        "tests/retrieval/test_what_passages_carry.py",
    ),
}


def own_tests(module: str, root: Path) -> list[str]:
    """The tests to run first: the file with the module's name, then the other tests of its room."""
    room = module.partition("/")[0]
    folders = [*_OWN.get(room, (f"tests/{room}",)), *_ELSEWHERE.get(module, ())]
    files = [str(file.relative_to(root)) for each in folders for file in _files(root / each)]
    return sorted(files, key=lambda file: not is_about(module, file))


def is_about(module: str, file: str) -> bool:
    """Whether a test file has the name of the module or of its subject."""
    name = Path(module).stem.strip("_")
    subject = Path(file).stem.removeprefix("test_")
    return name in subject or subject in _ABOUT.get(module, ()) or file in _ELSEWHERE.get(module, ())


def wider_tests(module: str, root: Path) -> list[str]:
    """The tests to run if the room's tests notice nothing."""
    room = module.partition("/")[0]
    wanted = _WIDER.get(room, _OF_ALL)
    return [str(file.relative_to(root)) for each in wanted for file in _files(root / each)]


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path] * path.exists()
