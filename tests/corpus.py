"""A small corpus for tests: three documents of real sentences, and an index over them."""

from __future__ import annotations

from leafspan import Document, HierarchicalSplitter

HARBOUR = """# The harbour

The harbour was built in 1887 by a company of merchants. Its first pier was made of oak. Ships from nine countries landed there
in the first year. The pier burned down in 1902.

A new pier of iron was opened in 1904. It was longer than the old one by forty metres. Fishing boats used its northern side.

## Trade

Salt, timber and herring were the chief goods. Timber came from the forests in the east. Herring was sold as far as Vienna.

The railway reached the harbour in 1911. Goods trains left every evening. The trade in salt ended with the war.

## The lighthouse

The lighthouse stands on a rock off the western mole. Its lamp was lit by gas until 1923. A keeper lived in the tower with his
family. Today the light is electric and nobody lives there.
"""

BEES = """Honey bees live in colonies with a single queen. A colony may have fifty thousand workers in summer. Drones appear in spring.

Workers dance to tell each other where flowers are. The angle of the dance shows the direction of the sun. The length of the
dance shows the distance. Karl von Frisch decoded the dance and was awarded a Nobel prize in 1973.

In winter the bees form a cluster around the queen. They shiver to keep warm. The cluster eats the honey stored in autumn.
"""

TEA = """Green tea is heated soon after picking. The heat stops the leaves from turning brown. Black tea is left to oxidise fully.

Water for green tea should be below eighty degrees. Boiling water makes it bitter. Black tea wants water at the boil.
"""

DOCUMENTS = [
    Document("harbour", HARBOUR, "The harbour of Skarvik", {"topic": "places", "year": 1887, "tags": ["sea", "trade"]}),
    Document("bees", BEES, "Honey bees", {"topic": "animals", "year": 1973}),
    Document("tea", TEA, "Tea", {"topic": "food", "rating": 4.5, "checked": True}),
]
TEXTS = {document.id: document.text for document in DOCUMENTS}

SPLITTER = HierarchicalSplitter(leaf_words=12, parent_words=(40, 80))

QUESTIONS = [
    "Who decoded the dance of the bees?",
    "When did the old pier burn down?",
    "How hot should the water for green tea be?",
    "What goods were traded in the harbour?",
]
