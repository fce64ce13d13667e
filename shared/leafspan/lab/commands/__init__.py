"""The lab's commands. ``leafspan.cli`` finds them by their names."""
