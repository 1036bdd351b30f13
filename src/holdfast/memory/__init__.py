"""Persistent memory: what outlives every compaction and every session."""
