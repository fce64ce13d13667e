"""What ``make bench`` measures of all systems: a module for each kind of measurement."""
