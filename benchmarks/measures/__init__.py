"""The measurements of ``make bench`` for all systems: a module for each kind."""
