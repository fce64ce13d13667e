"""Source code is split at its definitions, AsciiDoc and Org at their headings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Index
from leafspan.splitting import HierarchicalSplitter, layout_of
from leafspan.splitting._code import LANGUAGES

PYTHON = '''import x

# Brews.
@cached
class Tea:
    """A leaf."""
    é = 1

    def brew(self):
        return 1

    async def pour(self): ...

    y = 2

def drink(): ...

if x:
    drink()
'''

SOURCES = {
    "python": (PYTHON, [(1, "Tea"), (2, "brew"), (2, "pour"), (2, ""), (1, "drink"), (1, "")]),
    "javascript": (
        "import a from 'a'\n/** A leaf. */\nexport class Tea extends Leaf {\n  brew(x) {\n  }\n}\nfunction drink() {\n}\nrun()\n",
        [(1, "Tea"), (2, "brew"), (1, "drink"), (1, "")],
    ),
    "typescript": (
        "export interface Leaf {\n  a: string\n}\nnamespace Pot {\n  export function pour(): void {\n  }\n}\n",
        [
            (1, "Leaf"),
            (1, "Pot"),
            (2, "pour"),
        ],
    ),
    "tsx": ("export function Tea() {\n  return <b>tea</b>\n}\n", [(1, "Tea")]),
    "go": ("package a\n// A leaf.\ntype Tea struct {\n}\n\nfunc (t *Tea) Brew() int {\n}\n", [(1, "Tea"), (1, "Brew")]),
    "rust": (
        "/// A leaf.\n#[derive(X)]\npub struct Tea;\nimpl Leaf for Tea {\n  fn brew(&self) {}\n}\n",
        [
            (1, "Tea"),
            (1, "Tea"),
            (2, "brew"),
        ],
    ),
    "java": (
        "package a;\n/** A leaf. */\n@X\npublic class Tea {\n  Tea() {}\n  void brew() {\n  }\n}\n",
        [
            (1, "Tea"),
            (2, "Tea"),
            (2, "brew"),
        ],
    ),
    "c": (
        "struct tea { int x; };\nstruct tea cup;\n/* Brews. */\nstatic int *brew(int a) {\n}\nint pour(void);\n",
        [(1, "tea"), (1, ""), (1, "brew"), (1, "")],
    ),
    "cpp": (
        "namespace pot {\nclass Tea {\n  void brew() {}\n};\n}\nvoid pot::Tea::pour() {}\n",
        [(1, "pot"), (2, "Tea"), (3, "brew"), (1, "pot::Tea::pour")],
    ),
    "csharp": (
        "namespace Pot {\n  class Tea {\n    public int Brew() { return 1; }\n  }\n}\n",
        [
            (1, "Pot"),
            (2, "Tea"),
            (3, "Brew"),
        ],
    ),
    "ruby": (
        "module Pot\n  class Tea\n    def brew\n    end\n  end\nend\n",
        [
            (1, "Pot"),
            (2, "Tea"),
            (3, "brew"),
        ],
    ),
    "php": (
        "<?php\nclass Tea {\n  function brew() {}\n}\nfunction drink() {}\n",
        [(1, "Tea"), (2, "brew"), (1, "drink")],
    ),
}
MARKED = {
    "asciidoc": (
        "= Tea\n:author: x\n\n== Milk ==\n\n----\n== no\n----\n\n=== Cows\n",
        [(1, "Tea"), (2, "Milk"), (3, "Cows")],
    ),
    "org": (
        "#+TITLE: x\n* TODO Tea :a:b:\n** Milk\n#+begin_src c\n* no\n#+END_SRC\n*** Cows\n",
        [(1, "Tea"), (2, "Milk"), (3, "Cows")],
    ),
}


def test_each_language_has_a_source():
    assert set(SOURCES) == set(LANGUAGES)


@pytest.mark.parametrize("markup", [*SOURCES, *MARKED])
def test_definitions_are_headings(markup: str):
    text, expected = (SOURCES | MARKED)[markup]
    found = layout_of(text, markup).headings
    assert [(each.depth, each.text) for each in found] == expected
    assert all(each.text.split("::")[-1] in text[each.start : each.end] for each in found)


def test_the_comments_and_decorators_above_a_definition_belong_to_it():
    [tea, *_] = layout_of(PYTHON, "python").headings
    assert PYTHON[tea.start : tea.end] == "# Brews.\n@cached\nclass Tea:\n"


@pytest.mark.parametrize("markup", [*SOURCES, *MARKED])
@given(text=st.text("(){}:=*#<>;\"'\n ab/é-", max_size=60), data=st.data())
def test_any_text_can_be_split(markup: str, text: str, data: st.DataObject):
    source = (SOURCES | MARKED)[markup][0]
    place = data.draw(st.integers(0, len(source)))
    text = source[:place] + text + source[place:]
    layout = layout_of(text, markup)
    ends = [0]
    for heading in layout.headings:
        assert ends[-1] <= heading.start <= heading.end <= len(text)
        ends.append(heading.end)
    cuts = HierarchicalSplitter(leaf_words=4, parent_words=(12,)).cuts(text, layout)
    assert [cut.end for cut in cuts][-1:] == ([len(text)] if text else [])


def test_a_function_is_found_and_cited_by_its_lines(tmp_path: Path):
    (tmp_path / "tea.py").write_text(PYTHON)
    with Index.open(tmp_path / "kb") as index:
        index.sync(tmp_path)
        [passage] = index.retrieve("brew return", BM25(), k=1)
        assert (passage.title, passage.headings, passage.lines) == ("tea.py", ("Tea", "brew"), (9, 10))
