"""What leafspan is compared with, as its users set it up: a module for each framework, and one for engines.

Each module stores the leaves of a corpus, with the same ids, texts and vectors, and says how they are asked for.
"""
