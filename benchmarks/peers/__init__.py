"""The systems that leafspan is compared with, as their users set them up: a module for each framework, one for engines.

Each module stores the leaves of a corpus, with the same ids, texts and vectors, and defines how to ask for them.
"""
