"""Memories of other makers beside the built-in one: at most one, found by its name."""
