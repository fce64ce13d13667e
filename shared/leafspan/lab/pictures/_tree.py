"""Draws trees of summaries, which open layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from htpy import Element, Node, details, div, header, li, p, section, span, summary, ul

from leafspan.lab.pictures._passage import covered_documents
from leafspan.lab.pictures._strip import block_of, runs_named, strip
from leafspan.lab.pictures._text import marked_text, name
from leafspan.text import visible
from leafspan.values import Passage

_MOST_ROOTS = 50
_MOST_NODES = 3_000  # of all trees together; with more, browsers slow down
_FIRST = 110  # characters of a folded node


def tree_picture(nodes: Sequence[Passage]) -> Element:
    """Draw summaries, folded, each with its children below it. A node with several parents is drawn below each parent."""
    by_id = {each.id: each for each in nodes}
    below = {child for each in nodes if each.summary is not None for child in each.summary.children}
    roots = [each for each in nodes if each.summary is not None and each.id not in below]
    roots.sort(key=lambda each: -(each.summary.layer if each.summary else 0))
    drawing = _Drawing(by_id)
    more = len(roots) - _MOST_ROOTS
    summaries = sum(each.summary is not None for each in nodes)
    return section(".ls-tree")[
        header(".ls-question")[p(".ls-count")[_counted(summaries, roots)]],
        [drawing.root(each) for each in roots[:_MOST_ROOTS]],
        more > 0 and p(".ls-more")[f"and {more:,} more trees"],
    ]


def _counted(summaries: int, roots: Sequence[Passage]) -> str:
    if not summaries:
        return "there are no summaries: index.build_tree() makes them"
    highest = max(each.summary.layer for each in roots if each.summary is not None) if roots else 1
    one = summaries == 1
    return f"{summaries:,} {'summary' if one else 'summaries'}, {highest} {'layer' if highest == 1 else 'layers'}"


class _Drawing:
    """Draws nodes up to a limit."""

    def __init__(self, nodes: Mapping[str, Passage]) -> None:
        self._nodes = nodes
        self._left = _MOST_NODES

    def root(self, node: Passage) -> Element:
        """A whole tree, with its document as a strip."""
        return div(".ls-document")[
            div(".ls-caption")[
                span(".ls-title")[name(node.title or node.document_id)]
                if node.document_id
                else node.summary is not None and covered_documents(node.summary.covers)
            ],
            ul(".ls-nodes")[self._node(node, frozenset())],
        ]

    def _node(self, node: Passage, above: frozenset[str]) -> Element:
        """A node and all nodes below it. A node is never drawn below itself, even if damaged data say so."""
        self._left -= 1
        above |= {node.id}
        if node.summary is None:
            return li(".ls-leaf")[
                span(".ls-layer")[_place(node)], " ", span(".ls-inline", dir="auto")[_one_line(node.text)]
            ]
        head: list[Node] = [
            span(".ls-layer")[f"layer {node.summary.layer}"],
            " ",
            span(".ls-first", dir="auto")[_one_line(node.text, _FIRST)],
        ]
        children = node.summary.children if self._left > 0 else ()
        drawn = [self._nodes[id_] for id_ in children if id_ in self._nodes and id_ not in above]
        unknown = len(node.summary.children) - len(drawn)
        return li[
            details(open=len(above) == 1)[
                summary[head],
                div(".ls-text", dir="auto")[marked_text(node.text)],
                _covered(node),
                p(".ls-place")[f"made from {_children(node.summary.children)}; covers {_place(node)}"],
                ul(".ls-nodes")[
                    [self._node(each, above) for each in drawn], unknown > 0 and li(".ls-leaf")[_not_drawn(unknown, node)]
                ],
            ]
        ]


def _covered(node: Passage) -> Node:
    """The part of its document that a summary covers, unless the summary covers all of it."""
    outline = node.outline
    if outline is None or sum(last - first + 1 for first, last in outline.runs) >= outline.leaves:
        return None
    return strip(outline, [block_of(node, None)], bare=True)


def _not_drawn(count: int, node: Passage) -> Node:
    what = "leaf" if node.summary is not None and node.summary.layer == 1 else "node"
    return span(".ls-more")[f"{count} {what if count == 1 else 'leaves' if what == 'leaf' else 'nodes'} not drawn"]


def _children(ids: Sequence[str]) -> str:
    return "1 node" if len(ids) == 1 else f"{len(ids)} nodes"


def _place(node: Passage) -> str:
    if node.summary is not None and not node.document_id:
        return f"{node.summary.size:,} leaves"
    runs = node.outline.runs if node.outline is not None else ()
    return runs_named(runs) if len(runs) <= 4 else f"{runs_named(runs[:4])} and more"


def _one_line(text: str, most: int = 400) -> str:
    line = " ".join(text[: 4 * most].split())
    return visible(line if len(line) <= most else f"{line[: most - 1]}…")
