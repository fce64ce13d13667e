"""Windows beside LlamaIndex's SentenceWindowNodeParser, which copies the text of each window into its nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document as LlamaDocument
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.schema import NodeWithScore

from leafspan import Document
from leafspan.documents import make_leaves
from leafspan.spans import windows_around
from leafspan.splitting import Cut
from tests.profiles import examples
from tests.word_trees import hit

SENTENCES = ["One a. ", "Two b. ", "Three c.\n\n", "Four d. ", "Five e."]


def nodes_of(sentences, size):
    parser = SentenceWindowNodeParser.from_defaults(sentence_splitter=lambda _: list(sentences), window_size=size)
    return parser.get_nodes_from_documents([LlamaDocument(text="".join(sentences))])


def replaced(nodes):
    """The texts that LlamaIndex's postprocessor puts instead of the nodes' texts."""
    processor = MetadataReplacementPostProcessor(target_metadata_key="window")
    return [item.node.text for item in processor.postprocess_nodes([NodeWithScore(node=node) for node in nodes])]


def windows(sentences, ordinals, size):
    """The texts of our windows around these sentences, the first of them the best."""
    ends = [len("".join(sentences[: i + 1])) for i in range(len(sentences))]
    text = "".join(sentences)
    leaves = make_leaves(Document("a", text), "00000000", [Cut(end) for end in ends])
    hits = [hit(leaves[ordinal], 1 / (rank + 1)) for rank, ordinal in enumerate(ordinals)]
    return [
        text[leaves[w.span.first].start : leaves[w.span.last].end] for w in windows_around(hits, before=size, after=size)
    ]


@examples(100)
@given(
    st.lists(st.from_regex(r"[a-z]{1,5}\.[ \n]{1,2}", fullmatch=True), min_size=1, max_size=8), st.data(), st.integers(1, 4)
)
def test_the_window_of_a_hit_has_the_words_of_llamaindexs(sentences, data, size):
    ordinal = data.draw(st.sampled_from(range(len(sentences))))
    [theirs] = replaced([nodes_of(sentences, size)[ordinal]])
    [ours] = windows(sentences, [ordinal], size)

    assert ours.split() == theirs.split()
    assert ours in "".join(sentences)


# Where they differ, and LlamaIndex is at fault.


def test_a_window_is_the_text_as_it_stands_where_llamaindex_puts_blanks_in():
    assert replaced([nodes_of(SENTENCES, 1)[2]]) == ["Two b.  Three c.\n\n Four d. "]
    assert windows(SENTENCES, [2], 1) == ["Two b. Three c.\n\nFour d. "]


def test_two_neighbours_have_one_window_where_llamaindex_gives_most_of_the_text_twice():
    nodes = nodes_of(SENTENCES, 1)

    assert [text.split() for text in replaced([nodes[1], nodes[2]])] == [
        ["One", "a.", "Two", "b.", "Three", "c."],
        ["Two", "b.", "Three", "c.", "Four", "d."],
    ]
    assert windows(SENTENCES, [1, 2], 1) == ["One a. Two b. Three c.\n\nFour d. "]


def test_a_window_is_chosen_with_the_question_where_llamaindex_stores_each_text_once_for_every_neighbour():
    nodes = nodes_of(["word. "] * 9, 3)

    # Two windows of each of 4, 5 and 6 sentences at the ends, three of 7 in the middle.
    assert sum(node.metadata["window"].count("word.") for node in nodes) == 2 * (4 + 5 + 6) + 3 * 7
    assert [len(text.split()) for text in (windows(["word. "] * 9, [4], size)[0] for size in (0, 1, 2, 3))] == [1, 3, 5, 7]


def test_hits_are_never_changed_where_llamaindex_overwrites_the_text_of_its_node():
    node = nodes_of(SENTENCES, 1)[2]
    text = node.text
    replaced([node])
    assert node.text != text

    [leaf] = make_leaves(Document("a", "One a."), "00000000", [Cut(6)])
    found = hit(leaf, 0.5)
    windows_around([found], before=1, after=1)
    assert found == hit(leaf, 0.5)


def test_a_window_of_nothing_is_the_hit_where_llamaindex_refuses_it():
    with pytest.raises(ValueError, match="greater than 0"):
        nodes_of(SENTENCES, 0)
    assert windows(SENTENCES, [2], 0) == ["Three c.\n\n"]
