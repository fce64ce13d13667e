"""The commands of the lab, which ``leafspan.cli`` finds by their names."""
