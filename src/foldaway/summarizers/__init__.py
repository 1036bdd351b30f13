"""Summaries by a model: what it is asked, how its answer is read and checked, and by whom."""
