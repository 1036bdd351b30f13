"""Prompt caching and what it costs: marks, keys, prices, and whether a compaction pays.

Hints for the provider and arithmetic only: nothing here removes a word from a transcript.
"""
