"""Mutation testing: make single changes to the code, one at a time. The tests should notice each change.

mutmut makes the changes. Its own runner does not fit here, for three reasons (seen with mutmut 3.8):

- It finds the tests of a function by running all tests once, and then runs every test that enters the function. For a
  change in `values.py` or in the writer that no test notices, this is most of the suite, and takes minutes each time. Here
  the tests of the module's room come first, and wider tests only if these notice nothing (`_tests_of.py`).
- It leaves out functions with decorators: properties, context managers, cached functions. This code has many of them.
- It expects a package at the root or in `src/`. The tests would have to run in a copy with another layout.

`_changes.py` makes the changes, `_trying.py` runs tests on each change, `_notes.py` keeps results and knows the equivalent
changes. `make mutants` runs it; CONTRIBUTING.md says how to use it.
"""
