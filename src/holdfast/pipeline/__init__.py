"""The verbs, in reading order: start with compact.py."""
