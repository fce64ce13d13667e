"""A copy of what the store holds, in files of leafspan's own, for what Chroma does not search or searches slowly."""
