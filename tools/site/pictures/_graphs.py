"""Draws the results of graphs of names that are in one sentence, and the leaves that the results lead back to."""

from __future__ import annotations

import itertools
import json
import logging
import re
import tempfile
from collections.abc import Sequence

from leafspan import Index, Passage
from leafspan.sources import LightRAG, LightRAGThread, PropertyGraph, lightrag_inputs
from tools.site.pictures._boxes import draw_boxes
from tools.site.pictures._drawing import Drawing
from tools.site.pictures._strips import LEGEND, draw_strips

QUESTION = "What did Antoine Lavoisier have to do with Joseph Priestley?"
NAME = re.compile(r"(?:[A-Z][a-zé]+ )+[A-Z][a-zé]+")


def names_in(text: str) -> list[str]:
    """The names in a text, in order, each once."""
    return list(dict.fromkeys(NAME.findall(text)))


def model(prompt: str) -> str:
    """Answer LightRAG's prompts like a language model."""
    if "high_level_keywords" in prompt:
        asked = re.findall(r"User Query: (.*)", prompt)[-1]
        return json.dumps({"high_level_keywords": [asked], "low_level_keywords": names_in(asked)})
    text = re.findall(r"```\n(.*?)\n```", prompt, re.DOTALL)[-1]
    lines = []
    for sentence in text.split(". "):
        names = names_in(sentence)
        lines += [f"entity<|#|>{name}<|#|>name<|#|>{name} is named." for name in names]
        lines += [
            f"relation<|#|>{one}<|#|>{other}<|#|>named together<|#|>{one} and {other} are in one sentence."
            for one, other in itertools.pairwise(names)
        ]
    return "\n".join([*lines, "<|COMPLETE|>"])


def light_rag(index: Index) -> Drawing:
    import lightrag
    import lightrag.utils

    from examples.light_rag import options

    logging.getLogger("lightrag").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:

        def make() -> lightrag.LightRAG:
            return lightrag.LightRAG(
                working_dir=folder, workspace="pictures", entity_extract_max_gleaning=0, **options(model)
            )

        with LightRAGThread(make) as graph:
            graph.run(lambda rag: rag.ainsert(**lightrag_inputs(index.scoped({"doc_id": "Oxygen"}))))
            passages = index.retrieve(QUESTION, LightRAG(graph, mode="local"), k=9)
    return drawn("LightRAG", index, passages)


def property_graph(index: Index) -> Drawing:
    from llama_index.core.graph_stores import SimplePropertyGraphStore
    from llama_index.core.graph_stores.types import EntityNode, Relation

    store = SimplePropertyGraphStore()
    for leaf in index.leaves("Oxygen"):
        found_in = {"triplet_source_id": leaf.id}
        names = names_in(leaf.text)
        store.upsert_nodes([EntityNode(name=name, label="name", properties=found_in) for name in names])
        store.upsert_relations(
            [
                Relation(label="named with", source_id=one, target_id=other, properties=found_in)
                for one, other in itertools.pairwise(names)
            ]
        )
    return drawn("PropertyGraph", index, index.retrieve(QUESTION, PropertyGraph(store), k=9))


def drawn(name: str, index: Index, passages: Sequence[Passage]) -> Drawing:
    """Draw the found entities and relations, and the leaves."""
    drawing = Drawing(f"{name}: {QUESTION}")
    drawing.heading(QUESTION)
    entities = [each for each in passages if each.kind == "entity"]
    relations = [each for each in passages if each.kind == "relation"]
    leaves = [each for each in passages if each.document_id]
    columns = [[f"entity: {each.text}" for each in entities], [f"relation: {each.text}" for each in relations]]
    lines = {
        (f"entity: {entity.text}", f"relation: {relation.text}"): True
        for entity in entities
        for relation in relations
        if entity.id.removeprefix("entity:") in relation.text
    }
    draw_boxes(drawing, columns, lines)
    drawing.y += 6
    draw_strips(drawing, index, leaves, most=1)
    drawing.legend(LEGEND)
    return drawing
