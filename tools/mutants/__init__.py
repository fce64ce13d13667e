"""Mutation testing: single changes are made to the code, one at a time, and the tests should notice each of them.

mutmut makes the changes. Its own runner does not fit here, for three reasons (seen with mutmut 3.8):

- It finds the tests of a function by running all tests once, and then runs every test that touches the function. A change
  that survives in `values.py` or in the writer would take most of the suite, minutes each time. Here a module is run
  against the tests of its room first, and only what survives against wider ones (`_tests_of.py`).
- It leaves out functions with decorators: properties, context managers, cached functions, a good part of this code.
- It takes a package to be at the root or in `src/`; tests would have to run in a copy that is laid out otherwise.

`_changes.py` makes the changes, `_trying.py` runs tests on each, `_notes.py` keeps results and knows which changes are
equivalent. `make mutants` runs it; CONTRIBUTING.md says how to use it.
"""
